"""The sandbox as a process of its own, which can be killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from osdi_frames import sandbox
from tests.forks import Program

COMMAND = "import sys; sys.argv.insert(1, 'sandbox'); from osdi_frames.cli import main; main()"


@dataclass
class Process:
    """A running command and the sandbox that it serves."""

    process: Program
    running: sandbox.Running
    printed: list[str]

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        with self.process:
            self.process.kill()


def start(*arguments: object, file_limit: int | None = None) -> Process:
    """Start ``osdi-frames sandbox`` and read where it serves; no file of it grows over `file_limit` bytes."""
    limit = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({file_limit},) * 2); "
        if file_limit
        else ""
    )
    process = Program(limit + COMMAND, *arguments)
    printed = [process.stdout.readline().rstrip() for _ in range(4)]
    return Process(process, sandbox.Running("127.0.0.1", urlsplit(printed[0].split()[1]).port), printed)


@contextmanager
def served(db: Path, *arguments: object) -> Iterator[Process]:
    """Serve a database on a free port while the context lasts, and stop it as a person would."""
    started = start("--db", db, "--port", 0, *arguments)
    with started.process:
        try:
            yield started
        finally:
            started.process.terminate()
