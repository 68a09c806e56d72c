"""A receiver as a process of its own, and what it has written."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

import osdi_frames
from osdi_frames.cli import main, receive
from osdi_frames.receiver import ReceiverLimits, envelope, serve
from osdi_frames.receiver.segments import segments
from osdi_frames.receiver.worker import worker_folders
from osdi_frames.sources.files import QUARANTINE
from tests.clocks import GUARD, wait_for
from tests.forks import Fork

from .sender import TOKEN

#: Time limits that no machine is too slow for; tests of a limit set it.
PATIENT = dict.fromkeys(("head_seconds", "body_seconds", "answer_seconds", "probe_seconds"), 10 * GUARD)
#: Sends requests, each over a connection of its own; a TLS context without certificates spares 20 ms of each.
HTTP = httpx.Client(
    verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), limits=httpx.Limits(max_keepalive_connections=0)
)
SOURCE = str(Path(osdi_frames.__file__).parents[1])
SERVE = """
import json, logging, sys
from osdi_frames.receiver import ReceiverLimits, serve
logging.basicConfig(level=logging.INFO)
serve(sys.argv[1], tokens=[sys.argv[2]], port=0, limits=ReceiverLimits(**json.loads(sys.argv[3])))
"""


def _print_into(log: Path) -> None:
    with log.open("ab") as output:
        for standard in (1, 2):
            os.dup2(output.fileno(), standard)


def _command(log: Path, words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run ``osdi-frames receive``, with time limits that no machine is too slow for."""
    _print_into(log)
    os.environ.update(environment)
    receive.ReceiverLimits = functools.partial(ReceiverLimits, answer_seconds=1200, probe_seconds=1200)
    sys.argv = ["osdi-frames", "receive", "--port", "0", *words]
    main()


def _serve(archive: Path, log: Path, limits: dict[str, Any]) -> None:
    _print_into(log)
    logging.basicConfig(level=logging.INFO)
    serve(archive, tokens=[TOKEN], port=0, limits=ReceiverLimits(**limits))


class Receiver:
    """A running receiver, of `words` one of the command; a `fresh` one imports all that it needs when it starts."""

    process: Fork | subprocess.Popen[bytes]

    def __init__(
        self,
        archive: Path,
        *,
        log: Path | None = None,
        program: Sequence[str] | None = None,
        words: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        fresh: bool = False,
        **limits: Any,
    ) -> None:
        self.archive = archive
        self.log = log or archive.with_name(archive.name + ".log")
        limits = PATIENT | limits
        if fresh:
            program = [sys.executable, "-c", SERVE, str(archive), TOKEN, json.dumps(limits)]
        with self.log.open("ab") as output:
            start = output.tell()
            if words is not None:
                self.process = Fork(_command, self.log, words, dict(environment or {}))
            elif program is None:
                self.process = Fork(_serve, archive, self.log, limits)
            else:
                self.process = subprocess.Popen(
                    program,
                    stdout=subprocess.DEVNULL,
                    stderr=output,
                    env=os.environ | {"PYTHONPATH": SOURCE} | dict(environment or {}),
                )
        self.port = self._listening_on(start)

    def _listening_on(self, start: int) -> int:
        started = re.compile(r"running on http://127\.0\.0\.1:(\d+)(?s:.*)startup complete")

        def found() -> re.Match[str] | None:
            return started.search(self.log.read_bytes()[start:].decode())

        wait_for(lambda: found() or self.process.poll() is not None, interval=0.005)
        if listening := found():
            return int(listening[1])
        raise AssertionError(f"the receiver did not start: {self.log.read_text()}")

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()

    @property
    def threads(self) -> dict[str, int]:
        """The ids of its own threads; numpy has others."""
        first, *_, sealer, writer = sorted(
            int(task.name) for task in Path(f"/proc/{self.process.pid}/task").iterdir()
        )
        return {"loop": first, "writer": writer, "sealer": sealer}

    @property
    def peak_memory(self) -> int:
        """The most bytes it had resident so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(GUARD)
        assert "Traceback" not in self.log.read_text()


@contextlib.contextmanager
def tracing(thread: int, *options: str, output: Path = Path("/dev/null")) -> Iterator[None]:
    """Have strace look at a thread, or tamper with its calls, as long as it lives and this lasts."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    command = ["strace", "-qq", "-o", str(output), "-p", str(thread), *options]
    tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_tracer(thread)
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait()


def wait_for_tracer(thread: int) -> None:
    status = Path(f"/proc/{thread}/status")
    wait_for(lambda: "TracerPid:\t0" not in status.read_text(), interval=0.005)


def stored(archive: Path, *, log: str = "") -> Counter[bytes]:
    """Count the bodies that an archive holds, exactly as they were received."""
    try:
        return _stored(archive, log)
    except FileNotFoundError:  # a receiver has just removed a segment that was emptied
        return _stored(archive, log)


def _stored(archive: Path, log: str) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for folder in worker_folders(archive):
        # A receiver may be sealing: of a segment in both forms, the sealed one comes last.
        listed = {segment.first: segment for segment in segments(folder / log)}
        for segment in listed.values():
            entries = (envelope.read(line.removesuffix(b"\n")) for line in segment.lines())
            found.update(entry.exact for entry in entries if entry)
    return found


def quarantined(archive: Path) -> Counter[bytes]:
    """Count the bodies that an archive holds in quarantine."""
    return stored(archive, log=QUARANTINE)
