"""macOS and Windows: what Linux alone has is done another way there, and what cannot work says so."""

import asyncio
import errno
import hashlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import osdi_frames as of
from osdi_frames import listening, receiver, sandbox
from osdi_frames.sources import file_kinds, files
from tests import forks, systems

#: What works on Windows works without what macOS lacks, too: its own runs are long.
each_system = pytest.mark.parametrize("system", ["windows", pytest.param("macos", marks=pytest.mark.long)])


def command(system: str, *words: object, cwd: Path) -> str:
    """Run a command on a system, and return what it printed; it has to succeed."""
    ended = systems.run(system, systems.COMMAND, *words, cwd=cwd)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def contents(folder: Path) -> dict[str, str]:
    """Return the hash of each file of a folder, hidden ones too, by its path there."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


WRITE = """
import sys
import osdi_frames as of
from osdi_frames import sample
archive = of.open(sys.argv[1])
for again in (False, True):
    archive.export("tables", tables=["events"], format="csv", overwrite=again)
    sample.write("sample", signatures=2, events=1, overwrite=again)
"""


@pytest.fixture(scope="module")
def written(little, tmp_path_factory):
    """Return what is written on this system."""
    folder = tmp_path_factory.mktemp("here")
    assert forks.run(WRITE, little, cwd=folder).returncode == 0
    return contents(folder)


@each_system
def test_exports_and_samples_are_the_same_and_are_replaced(system, little, tmp_path, written):
    ended = systems.run(system, WRITE, little, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path) == written  # and no draft is left


@each_system
def test_an_archive_is_pulled_and_read(system, tmp_path):
    with sandbox.serve() as running:
        headers = {"OSDI-API-Token": running.group_key}
        body = {"title": "Picnic", "origin_system": "Tests"}
        httpx.post(f"{running.base_url}/events", json=body, headers=headers).raise_for_status()
        pull = ["pull", running.base_url, "pulled"]
        environment = {"OSDI_API_KEY": running.group_key}
        with systems.start(
            system, systems.COMMAND, *pull, cwd=tmp_path, env=os.environ | environment
        ) as process:
            _, stderr = process.communicate()
        assert process.returncode == 0, stderr
    assert of.read_events(tmp_path / "pulled")["title"].tolist() == ["Picnic"]
    assert "1 event" in command(system, "report", "pulled", cwd=tmp_path)


@each_system
def test_the_sandbox_is_served(system):
    program = """
from osdi_frames import sandbox
with sandbox.serve() as running:
    print(running.admin("POST", "petitions", title="Clean water")["title"])
"""
    assert systems.run(system, program).stdout == "Clean water\n"


DRAFT = """
from osdi_frames import durable
from pathlib import Path
with durable.draft(Path(sys.argv[1])) as folder:
    print(folder, flush=True)
    input()
    print(folder.is_dir())
"""


@each_system
def test_a_run_does_not_clear_the_draft_of_another_that_still_writes(system, tmp_path):
    with systems.start(system, DRAFT, tmp_path / "out") as first:
        assert Path(first.stdout.readline().strip()).is_dir()
        with systems.start(system, DRAFT, tmp_path / "out") as second:
            second.communicate("\n")
        assert first.communicate("\n")[0] == "True\n"
    assert list(tmp_path.iterdir()) == []


@each_system
def test_the_draft_of_a_process_that_was_killed_is_cleared(system, tmp_path):
    with systems.start(system, DRAFT, tmp_path / "out") as killed:
        killed.stdout.readline()
        killed.kill()
    assert list(tmp_path.iterdir()) != []
    with systems.start(system, DRAFT, tmp_path / "out") as second:
        second.communicate("\n")
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_leaves_the_cache_of_the_disk_where_fsync_does_not_empty_it(tmp_path):
    """As on macOS; of a file and of the folder that has its name."""
    program = """
from osdi_frames import durable
from pathlib import Path
emptied.clear()
durable.write_file(Path(sys.argv[1]), b"text")
print(emptied.count(fcntl.F_FULLFSYNC))
"""
    assert systems.run("macos", program, tmp_path / "a.txt").stdout == "2\n"


@pytest.mark.parametrize(("error", "is_raised"), [(errno.ENOTSUP, False), (errno.EIO, True)])
def test_a_disk_that_fails_to_empty_its_cache_is_an_error_unless_it_has_no_such_command(
    error, is_raised, tmp_path
):
    program = """
from osdi_frames import durable
from pathlib import Path
def fails(descriptor, command):
    raise OSError(int(sys.argv[2]), "fails")
fcntl.fcntl = fails
try:
    durable.write_file(Path(sys.argv[1]), b"text")
except OSError as error:
    print(error.errno)
"""
    ended = systems.run("macos", program, tmp_path / "a.txt", error)
    assert ended.stdout == (f"{error}\n" if is_raised else ""), ended.stderr
    assert (tmp_path / "a.txt").exists() is not is_raised


@pytest.mark.parametrize(
    "words",
    [["receive", "received", "--port", "0"], ["archive", "erase", "received", "--person", "p"]],
    ids=["receive", "erase"],
)
def test_what_does_not_work_on_windows_says_so_and_writes_nothing(words, tmp_path):
    (tmp_path / "received" / "main" / ".quarantine").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    ended = systems.run("windows", systems.COMMAND, *words, cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr == (
        "osdi-frames: the receiver runs on Linux and macOS, not on Windows, which has no locks that processes"
        " share; run it in WSL, or on a server\n"
    )
    assert sorted(tmp_path.rglob("*")) == before


async def receive_one(archive: Path) -> None:
    app = receiver.create_app(archive, tokens=["a-token-that-is-long-enough"])
    signed = [{"osdi:signature": {"identifiers": ["platform:1"], "created_date": "2026-05-01T10:00:00Z"}}]
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport) as client:
        answer = await client.post("http://127.0.0.1/a-token-that-is-long-enough", json=signed)
    assert answer.status_code == 200


def test_an_archive_of_the_receiver_is_verified_and_read_on_windows(tmp_path):
    asyncio.run(receive_one(tmp_path / "received"))
    printed = command("windows", "archive", "verify", "received", cwd=tmp_path)
    assert "1 delivery" in printed
    assert "0 damaged places" in printed
    assert "1 signature" in command("windows", "report", "received", cwd=tmp_path)


def test_a_port_is_listened_on_by_one_program_where_reuse_would_share_it(monkeypatch):
    """As on Windows, where another program could take a port that is set to be reused."""
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_KEEPALIVE, raising=False)
    with listening.listen("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE) == 1
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 0
        with pytest.raises(OSError, match="--port takes another one") as taken:
            listening.listen("127.0.0.1", listener.getsockname()[1])
        assert taken.value.errno == errno.EADDRINUSE


def test_output_in_an_encoding_without_some_characters_shows_them_as_escapes(tmp_path):
    """As in a file or a pipe on Windows."""
    signature = {"identifiers": ["platform:1"], "platform:referrer_data": {"source": "caf\u00e9\u2013"}}
    (tmp_path / "a.json").write_text(
        json.dumps([{"osdi:signature": signature | {"created_date": "2026-05-01"}}])
    )
    words = [sys.executable, "-m", "osdi_frames", "report", tmp_path / "a.json"]
    environment = os.environ | {"PYTHONIOENCODING": "cp437"}
    there = subprocess.run(words, capture_output=True, check=True, env=environment).stdout
    assert b"caf\x82\\u2013" in there


def test_an_address_of_a_file_begins_with_its_drive_where_there_are_drives(monkeypatch):
    assert files.local_path("file:///C:/my%20data") == "/C:/my data"
    monkeypatch.setattr(os, "sep", "\\")
    assert files.local_path("file:///C:/my%20data") == "C:/my data"


@pytest.mark.parametrize(
    ("name", "suffix"),
    [(r"C:\data\a.json", ".json"), (r"C:\data.d\export", ""), (r"data\.hidden\a.json", ".json")],
)
def test_backslashes_part_names_where_they_part_paths(monkeypatch, name, suffix):
    monkeypatch.setattr(os, "sep", "\\")
    assert file_kinds.suffix(files.slashed(name)) == suffix
    assert file_kinds.is_readable(files.slashed(name)) == (name == r"C:\data\a.json")
