"""Programs in processes that are copied from a prepared one: a start costs a tenth of what the imports take."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        *("__main__", __name__, "duckdb", "matplotlib.pyplot", "pandas", "pyarrow.parquet", "uvicorn"),
        *("osdi_frames.archive", "osdi_frames.cli", "osdi_frames.receiver"),
    ]
)


class Fork:
    """A function in a process of its own, with the interface of `subprocess.Popen`."""

    def __init__(self, target: Callable[..., None], *args: Any) -> None:
        self._process = _CONTEXT.Process(target=_interruptible, args=(target, *args))
        self._process.start()
        assert self._process.pid
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        assert self._process.exitcode is not None, "it still runs"
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Program(Fork):
    """The text of a program, as ``python -c`` runs it, with pipes for input and output.

    A `fresh` one imports the package itself.
    """

    def __init__(
        self,
        text: str,
        *arguments: object,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> None:
        (stdin, self._in), (self._out, stdout), (self._err, stderr) = (
            _CONTEXT.Pipe(duplex=False) for _ in range(3)
        )
        words = [str(argument) for argument in arguments]
        ends = [stdin, stdout, stderr]
        super().__init__(_run, text, words, str(cwd or Path.cwd()), dict(env or os.environ), fresh, ends)
        for end in ends:
            end.close()
        self.stdin = os.fdopen(os.dup(self._in.fileno()), "w")
        self.stdout, self.stderr = (os.fdopen(os.dup(end.fileno())) for end in (self._out, self._err))
        for end in (self._in, self._out, self._err):
            end.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self.wait()

    def communicate(self, said: str = "") -> tuple[str, str]:
        """Say something, and return what the program prints until it ends."""
        errors: list[str] = []
        reading = threading.Thread(target=lambda: errors.append(self.stderr.read()))
        reading.start()
        with contextlib.suppress(BrokenPipeError):
            self.stdin.write(said)
            self.stdin.close()
        printed = self.stdout.read()
        reading.join()
        self.wait()
        return printed, errors[0]


def run(text: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    with Program(text, *arguments, **options) as program:
        printed = program.communicate()
    return subprocess.CompletedProcess([text, *arguments], program.wait(), *printed)


def _interruptible(target: Callable[..., None], *args: Any) -> None:
    # A shell in the background lets its children ignore SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    target(*args)


def _run(
    text: str, words: list[str], cwd: str, environment: dict[str, str], fresh: bool, ends: list[Connection]
) -> None:
    for number, end in enumerate(ends):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace")
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = ["-c", *words]
    if fresh:
        for name in [name for name in sys.modules if name.partition(".")[0] == "osdi_frames"]:
            del sys.modules[name]
    exec(text, {"__name__": "__main__"})  # noqa: S102 (the text of a test)
