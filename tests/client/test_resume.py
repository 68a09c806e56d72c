"""Killed with SIGKILL at any moment and called again, a pull reads what is missing, and nothing is lost or doubled."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pandas.testing import assert_frame_equal

from osdi_frames import Client
from osdi_frames.client.folder import Batches, locked, read_pages
from osdi_frames.errors import ArchiveLocked
from osdi_frames.pulls import manifests
from osdi_frames.shortcuts import read_table
from tests.clocks import GUARD, wait_for

from .conftest import Pulls, Stocked, comparable


def killed_pull(pulls: Pulls, served: Stocked, folder: Path, pages: int) -> bool:
    """Pull in a process of its own, and kill it when it has asked for so many pages; return whether it was complete."""

    def complete() -> bool:
        begun = manifests(folder)
        return bool(begun) and begun[-1].complete

    with pulls.killed(served, folder):
        wait_for(lambda: len(served.asked_for_events()) >= pages or complete())
    served.hear_out()
    return complete()


def kept(folder: Path) -> list[int]:
    """Return the numbers of the pages of events on disk that are whole, the file that still grows included."""
    numbers = []
    for path in sorted(folder.glob("*/*pages-*")):
        with gzip.open(path) as lines, suppress(EOFError):
            for line in lines:
                envelope = json.loads(line)
                if urlsplit(envelope["url"]).path == "/api/v2/events":
                    numbers.append(envelope["body"]["page"])
    return numbers


def read(folder: Path) -> list[dict[str, Any]]:
    """Return every envelope that is kept in finished files."""
    return [envelope for name in Batches(folder).names() for envelope in read_pages(folder, name)]


def kill_and_resume(
    pulls: Pulls, served: Stocked, folder: Path, *, pages: int, kills: int, seed: int
) -> None:
    """Kill pulls at random moments until there were so many kills, each resumed by the next."""
    chance = random.Random(seed)
    truth = served.truth()
    done = killed = 0
    while killed < kills:
        before = len(kept(folder / str(done)))
        served.running.admin("DELETE", "requests")
        (folder / str(done)).mkdir(exist_ok=True)
        ended = killed_pull(pulls, served, folder / str(done), chance.randint(0, pages - before + 1))
        asked = len(served.asked_for_events())
        assert asked <= pages - before, (asked, before)
        numbers = kept(folder / str(done))
        assert len(numbers) == len(set(numbers)) >= before
        killed += not ended
        if ended:
            assert_frame_equal(comparable(read_table(folder / str(done), "events")), truth)
            done += 1
    with served.client() as client:
        manifest = client.pull(folder / str(done))
    assert manifest.complete
    assert sorted(kept(folder / str(done))) == list(range(1, pages + 1))
    assert_frame_equal(comparable(read_table(folder / str(done), "events")), truth)


def test_a_pull_that_is_killed_goes_on_and_asks_for_less(pulls, stocked, tmp_path):
    with stocked(pages=40, per_page=5) as served:
        served.running.inject("latency", seconds=0.03)
        kill_and_resume(pulls, served, tmp_path, pages=40, kills=4, seed=7)


@pytest.mark.long
def test_a_pull_that_is_killed_at_a_hundred_moments(pulls, stocked, tmp_path):
    with stocked(pages=50, per_page=25) as served:
        served.running.inject("latency", seconds=0.03)
        kill_and_resume(pulls, served, tmp_path, pages=50, kills=100, seed=11)


def test_an_interrupted_pull_does_not_wait_for_a_service_that_is_silent_and_says_how_to_go_on(tmp_path):
    program = (
        "from osdi_frames.cli import main, pull; import functools, signal; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell in the background ignores it
        "pull.Client = functools.partial(pull.Client, timeout=0.5, retries=10**6, backoff=0.01); main()"
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v2"
        process = subprocess.Popen(
            [sys.executable, "-c", program, "pull", url, str(tmp_path)],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OSDI_API_KEY": "any"},
        )
        with process:
            silent.accept()[0].close()
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(timeout=GUARD) == 130
            finally:
                process.kill()
            said = process.stderr.read()
    assert said.lstrip().startswith(f"osdi-frames: stopped\nwhat was read stays in {tmp_path}")
    assert said.endswith("pull again to go on\n")
    assert manifests(tmp_path)[0].why == "events: interrupted; not read"


def test_a_torn_page_is_cut_off_and_those_before_it_stay(tmp_path):
    whole = tmp_path / "pages-0001.ndjson.gz"
    part = tmp_path / ".pages-0001.ndjson.gz.part"
    with closing(Batches(tmp_path)) as batches:
        batches.keep(b'{"page": 1}\n')
    page = whole.read_bytes()
    for torn in range(1, len(page), 4):
        whole.unlink()
        part.write_bytes(page * 2 + page[:torn])
        with closing(Batches(tmp_path)):
            assert not part.exists()
        assert read(tmp_path) == [{"page": 1}, {"page": 1}]


def test_a_full_disk_tears_no_page(tmp_path):
    # A limit on the size of files stands for the disk; the process gets EFBIG where a disk says ENOSPC.
    program = """
import os, resource, signal, sys
from contextlib import closing
from pathlib import Path
from osdi_frames.client.folder import Batches, read_pages
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
with closing(Batches(folder)) as batches:
    batches.keep(b'{"page": 1}\\n')
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    try:
        batches.keep(b'{"page": "%s"}\\n' % os.urandom(400).hex().encode())
    except OSError as error:
        print(error.strerror, Path(error.filename).name)
    batches.keep(b'{"page": 2}\\n')
print([page for name in batches.names() for page in read_pages(folder, name)])
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == ["File too large pages-0001.ndjson.gz", "[{'page': 1}, {'page': 2}]"]


def test_batches_are_files_of_a_hundred_pages(tmp_path):
    with closing(Batches(tmp_path)) as batches:
        for page in range(250):
            batches.keep(b'{"page": %d}\n' % page)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        f"pages-000{number}.ndjson.gz" for number in (1, 2, 3)
    ]
    assert [envelope["page"] for envelope in read(tmp_path)] == list(range(250))


def test_a_file_that_was_taken_away_makes_no_later_one_be_written_over(tmp_path):
    for page in (1, 2):
        with closing(Batches(tmp_path)) as batches:
            batches.keep(b'{"page": %d}\n' % page)
    (tmp_path / "pages-0001.ndjson.gz").unlink()
    with closing(Batches(tmp_path)) as batches:
        batches.keep(b'{"page": 3}\n')
    assert read(tmp_path) == [{"page": 2}, {"page": 3}]


def test_a_pull_that_could_not_be_proved_is_completed_by_the_next(stocked, tmp_path):
    with stocked(pages=3, per_page=2) as served, served.client() as client:
        served.running.inject("repeat_row", page=2, instead=True)
        assert not client.pull(tmp_path).complete
        served.forget()
        assert client.pull(tmp_path).complete
        assert len(manifests(tmp_path)) == 1


def test_another_address_is_another_pull_and_without_resume_one_begins_anew(stocked, tmp_path):
    with stocked(pages=3, per_page=2) as served, served.client(retries=0) as client:
        served.running.inject("status", page=2)
        with pytest.raises(OSError, match="500"):
            client.pull(tmp_path)
        served.forget()
        with Client(served.running.base_url_v1, served.running.group_key, rate=None) as v1:
            manifest = v1.pull(tmp_path)
        assert (manifest.complete, manifest.version, manifest.collections[0].pages) == (True, "v1", 3)
        served.forget()
        assert client.pull(tmp_path, resume=False).complete
        assert len(served.asked_for_events()) == 3


# -- the lock, and who may read what a pull writes --


def test_of_several_at_once_one_pulls(tmp_path):
    all_have_tried = threading.Barrier(8)

    def enter(_: int) -> bool:
        with suppress(ArchiveLocked), locked(tmp_path):
            all_have_tried.wait(GUARD)
            return True
        all_have_tried.wait(GUARD)
        return False

    for _ in range(2):
        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(enter, range(8))) == 1


def test_a_killed_pull_has_not_ended_by_its_manifest_and_does_not_keep_the_next_one_out(
    pulls, stocked, sleeping, tmp_path
):
    with stocked(pages=10, per_page=2) as served:
        served.running.inject("latency", page=2)
        with pulls.killed(served, tmp_path):
            wait_for(lambda: sleeping.seconds)
        recorded = json.loads(next(tmp_path.glob("*/.manifest.json")).read_text())
        assert recorded["complete"] is False
        assert recorded["why"][0].startswith("not finished")
        sleeping.wake()
        served.forget()
        with served.client() as client:
            assert client.pull(tmp_path).complete


def test_what_a_pull_writes_is_its_owners_alone_whatever_the_umask(stocked, tmp_path):
    with stocked(pages=3, per_page=2) as served, served.client() as client:
        for umask in (0o000, 0o022, 0o277):
            there = tmp_path / oct(umask)
            there.mkdir(mode=0o755)
            there.chmod(0o755)
            before = os.umask(umask)
            try:
                client.pull(there / "new" / "deep")
            finally:
                os.umask(before)
            assert there.stat().st_mode & 0o777 == 0o755
            modes = {path: path.stat().st_mode & 0o777 for path in there.rglob("*")}
            assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
            files = [mode for path, mode in modes.items() if path.is_file()]
            assert files == [0o600] * 3  # pages, manifest, lock
