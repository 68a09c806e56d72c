"""The command `osdi-frames receive`."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from osdi_frames.cli.receive import _kept_tokens, command
from osdi_frames.durable import try_lock
from osdi_frames.errors import ArchiveLocked, InvalidArgument
from osdi_frames.receiver import verify, worker
from osdi_frames.receiver.worker import Worker
from tests.clocks import GUARD, wait_for

from .process import HTTP, SOURCE, Receiver, stored
from .sender import delivery

_MAIN = """
import functools, sys
from osdi_frames.cli import main, receive
# As in tests of serve.
receive.ReceiverLimits = functools.partial(receive.ReceiverLimits, answer_seconds=1200, probe_seconds=1200)
sys.argv.insert(1, "receive")
main()
"""
_RECEIVE = [sys.executable, "-c", _MAIN, "--port", "0"]
_TOKENS = ("one-token-that-is-long-enough", "two-token-that-is-long-enough")


def _start(archive: Path, *options: str, **environment: str) -> Receiver:
    return Receiver(archive, words=[*options, str(archive)], environment=environment)


def _post(receiver: Receiver, token: str) -> int:
    return HTTP.post(f"http://127.0.0.1:{receiver.port}/{token}", content=delivery(1)).status_code


def _invoke(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_without_a_token_one_is_made_kept_and_never_shown(tmp_path):
    archive = tmp_path / "archive"
    with _start(archive) as receiver:
        (token,) = (archive / ".tokens").read_text().split()
        assert _post(receiver, token) == 200
        receiver.stop()
    with _start(archive) as receiver:
        assert _post(receiver, token) == 200
        receiver.stop()
    assert len(token) >= 40
    assert stat.S_IMODE((archive / ".tokens").stat().st_mode) == 0o600
    assert token not in receiver.log.read_text()
    assert stored(archive).total() == 2


@pytest.mark.parametrize("umask", ["000", "777"])
def test_what_is_written_is_the_owner_s_alone_whatever_the_umask_and_a_folder_keeps_its_mode(tmp_path, umask):
    archive = tmp_path / "archive"
    archive.mkdir()
    archive.chmod(0o755)
    program = ["sh", "-c", f'umask {umask} && exec "$0" "$@"', *_RECEIVE, str(archive)]
    with Receiver(archive, program=program) as receiver:
        (token,) = (archive / ".tokens").read_text().split()
        assert _post(receiver, token) == 200
        assert HTTP.post(f"http://127.0.0.1:{receiver.port}/{token}", content=b"no JSON").status_code == 200
        receiver.stop()
    erasing = "from osdi_frames.cli.archive import command; command()"
    program = ["sh", "-c", f'umask {umask} && exec "$0" "$@"', sys.executable, "-c", erasing, "erase"]
    subprocess.run([*program, str(archive), "--person", "person-1"], check=True)
    modes: dict[bool, set[int]] = {True: set(), False: set()}
    for path in archive.rglob("*"):
        modes[path.is_dir()].add(stat.S_IMODE(path.stat().st_mode))
    assert modes == {True: {0o700}, False: {0o600}}
    assert stat.S_IMODE(archive.stat().st_mode) == 0o755


def test_a_quiet_receiver_logs_warnings_only(tmp_path):
    archive, log = tmp_path / "archive", tmp_path / "log"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    command = [*_RECEIVE, "--port", str(port), "--quiet", str(archive)]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as receiver:
        while receiver.poll() is None:
            with contextlib.suppress(httpx.ConnectError):
                assert HTTP.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
                break
            time.sleep(0.05)
        address = f"http://127.0.0.1:{port}/{(archive / '.tokens').read_text().strip()}"
        assert HTTP.post(address, content=delivery(1)).status_code == 200
        assert log.read_text() == ""
        (segment,) = archive.glob("main/2*/*.ndjson")
        segment.unlink()
        assert HTTP.post(address, content=delivery(2)).status_code == 503
        receiver.terminate()
    warnings = log.read_text().splitlines()
    assert warnings
    assert all(" WARNING " in line or " ERROR " in line for line in warnings)


def test_workers_that_start_at_once_keep_one_token(tmp_path):
    begin = threading.Barrier(8)

    def start(archive: Path) -> tuple[str, ...]:
        begin.wait()
        return tuple(_kept_tokens(archive, "main"))

    with ThreadPoolExecutor(8) as pool:
        for number in range(10):
            archive = tmp_path / "new" / str(number)
            assert set(pool.map(start, [archive] * 8)) == {((archive / ".tokens").read_text().strip(),)}
            assert [path.name for path in archive.iterdir()] == [".tokens"]


def test_two_tokens_of_the_environment_are_valid(tmp_path):
    with _start(tmp_path / "archive", OSDI_FRAMES_TOKENS=" ".join(_TOKENS)) as receiver:
        assert [_post(receiver, token) for token in (*_TOKENS, "three-token-that-is-long-too")] == [
            200,
            200,
            404,
        ]
    assert not (tmp_path / "archive" / ".tokens").exists()


def test_the_largest_body_can_be_set(tmp_path):
    with _start(tmp_path / "archive", "--token", _TOKENS[0], "--max-body", "100") as receiver:
        assert _post(receiver, _TOKENS[0]) == 413


def test_a_second_owner_is_refused_with_a_clear_error(tmp_path):
    owner = Worker(tmp_path, "main", segment_bytes=1)
    for options in (["--token", _TOKENS[0]], []):
        refused = _invoke(tmp_path, "--port", 0, *options)
        assert isinstance(refused.exception, ArchiveLocked)
        assert str(refused.exception).endswith("give this one a name of its own with --worker")
    owner.close()
    assert [path.name for path in tmp_path.iterdir()] == ["main"]  # and no token was made


#: Erases a person, and waits before the first rename, of a segment that is sealed, until it receives a line.
_ERASE = """
import sys
from osdi_frames.receiver import erase
waits = [True]
def wait(event, arguments):
    if event == "os.rename" and waits:
        waits.clear()
        print("sealing", flush=True)
        sys.stdin.readline()
sys.addaudithook(wait)
print(erase(sys.argv[1], persons=["person-1"]).elements)
"""


def test_a_receiver_that_starts_while_an_erasure_holds_the_archive_waits_for_it(tmp_path):
    archive = tmp_path / "archive"
    with _start(archive, "--token", _TOKENS[0]) as receiver:
        assert _post(receiver, _TOKENS[0]) == 200
        receiver.kill()
    command = [sys.executable, "-c", _ERASE, str(archive)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as erasing:
        assert erasing.stdout.readline() == "sealing\n"

        def go_on_once_it_waits() -> None:
            said = "an erasure holds the archive; waiting for it, 60 s at most"
            wait_for(lambda: said in receiver.log.read_text())
            erasing.stdin.write("\n")
            erasing.stdin.flush()

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(go_on_once_it_waits)
            with _start(archive, "--token", _TOKENS[0]) as receiver:
                waiting.result()
                assert _post(receiver, _TOKENS[0]) == 200
                receiver.stop()
        assert erasing.stdout.readline() == "1\n"
    assert stored(archive) == {b"[]": 1, delivery(1): 1}
    assert verify(archive).damages == []


def test_an_erasure_is_waited_for_no_longer_than_a_minute(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(worker, "ERASURE_SECONDS", 0.2)
    Worker(tmp_path, "main", segment_bytes=1).close()
    with contextlib.closing(Worker(tmp_path, "main", segment_bytes=1, erases=True)):
        descriptor = try_lock(tmp_path / "main" / ".erasing")
        for _ in range(2):
            with pytest.raises(ArchiveLocked, match="or an erasure does"):
                Worker(tmp_path, "main", segment_bytes=1)
        os.close(descriptor)
    assert [record.message.partition(": ")[2] for record in caplog.records] == [
        "an erasure holds the archive; waiting for it, 0.2 s at most"
    ] * 2


def test_a_port_that_is_taken_is_named(tmp_path, taken_port):
    refused = _invoke(tmp_path, "--port", taken_port, "--token", _TOKENS[0])
    assert isinstance(refused.exception, OSError)
    assert f"127.0.0.1:{taken_port}: Address already in use; --port takes another one" in str(
        refused.exception
    )


def test_a_receiver_that_cannot_start_leaves_nothing_that_it_made(tmp_path, taken_port):
    archive = tmp_path / "new" / "archive"
    assert isinstance(_invoke(archive, "--port", taken_port).exception, OSError)
    assert "a worker's name" in str(_invoke(archive, "--port", 0, "--worker", "a b").exception)
    assert "a token has" in str(_invoke(archive, "--port", 0, "--token", "short").exception)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_receiver_ends_with_status_130_and_says_what_it_stored(tmp_path):
    with _start(tmp_path, "--token", _TOKENS[0]) as receiver:
        assert _post(receiver, _TOKENS[0]) == 200
        receiver.process.send_signal(signal.SIGINT)
        assert receiver.process.wait(timeout=GUARD) == 130
    log = receiver.log.read_text()
    assert "stopped; deliveries stored: 1, answered 503: 0" in log
    assert "Aborted" not in log


def test_a_token_or_a_name_that_will_not_do_is_refused(tmp_path):
    bad_token = _invoke(tmp_path, "--port", 0, "--token", "short")
    bad_name = _invoke(tmp_path, "--port", 0, "--token", _TOKENS[0], "--worker", "../other")
    for bad, said in ((bad_token, "a token has"), (bad_name, "a worker's name")):
        assert isinstance(bad.exception, InvalidArgument)
        assert said in str(bad.exception)


def test_the_help_shows_an_example():
    assert "osdi-frames receive archive --host 0.0.0.0" in _invoke("--help").output


def test_without_the_extra_the_error_says_what_to_install_and_the_archive_can_still_be_checked():
    program = (
        "import sys; sys.modules['starlette'] = None\n"
        "from osdi_frames import receiver, errors\n"
        "print(receiver.verify.__name__, receiver.erase.__name__)\n"
        "try: receiver.create_app\n"
        "except errors.MissingExtra as error: print(error)\n"
        "from osdi_frames.cli import group\n"
        "group(['receive', '--help'], prog_name='osdi-frames')\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": SOURCE},
        check=True,
    )
    assert ran.stdout.splitlines()[0] == "verify erase"
    assert "pip install 'osdi-frames[serve]'" in ran.stdout
    assert "Example:" in ran.stdout
