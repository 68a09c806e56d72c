"""Cases, each made by its seed and examined in a process of its own limits, and smaller ones of those that fail."""

from __future__ import annotations

import json
import random
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from tests.clocks import cpu_seconds

from . import building, making

MEMORY = 6 << 30  # bytes of address space; DuckDB reserves more than it uses
MOST = 1 << 30  # bytes in use at the peak of a case

Spec = dict[str, Any]


class Worker:
    """A process that examines one folder after the other; it is started again after a crash or hang.

    A case hangs when it has worked for some seconds, or has done nothing for so many idle ones.
    """

    def __init__(self, *, seconds: float = 30, idle: float = 4) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._seconds = seconds
        self._idle = idle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def examine(self, spec: Spec, turn: int) -> list[str]:
        """Write the files of a case and return what is wrong with their reading."""
        folder = Path(tempfile.mkdtemp(prefix="osdi-fuzz-"))
        try:
            source = building.write(spec, folder)
            return self._ask({"folder": str(source), "turn": turn})
        finally:
            shutil.rmtree(folder)

    def _ask(self, question: Spec) -> list[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz", "--worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                cwd=Path(__file__).parents[2], preexec_fn=limited,
            )  # fmt: skip
            self.process.stdout.readline()  # it has started
        self.process.stdin.write(json.dumps(question).encode() + b"\n")
        self.process.stdin.flush()
        if not self._answers():
            self.__exit__()
            return ["hang"]
        answer = self.process.stdout.readline()
        if not answer:
            status = self.process.wait()
            self.process = None
            return [f"crash: the process ended with status {status}"]
        return list(json.loads(answer))

    def _answers(self) -> bool:
        """Wait for the answer: as long as the process works, up to a limit of its own time."""
        start = before = cpu_seconds(self.process.pid)
        while not select.select([self.process.stdout], [], [], self._idle)[0]:
            now = cpu_seconds(self.process.pid)
            if now == before or now - start > self._seconds:
                return False
            before = now
        return True


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def work() -> None:
    """Answer the questions of a `Worker` on standard input and output."""
    from .properties import examine

    answers = sys.stdout
    sys.stdout = sys.stderr
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew
        failures = examine(Path(question["folder"]), question["turn"])
        peak = next(
            int(line.split()[1]) << 10
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("VmHWM")
        )
        if peak > MOST:
            failures.append(f"memory: {peak >> 20} MB")
        print(json.dumps(failures), file=answers, flush=True)


def case(seed: int, number: int, **options: Any) -> Spec:
    return making.make(random.Random(f"{seed}:{number}"), **options)


def kind_of(failure: str) -> str:
    """Return what two failures of one cause have in common, roughly."""
    return failure[: failure.find(" ", failure.find(": ") + 5)]


def smaller(worker: Worker, spec: Spec, turn: int, kind: str, seconds: float) -> Spec:
    """Return a smaller case that fails in the same way: files, documents and values left out while it does."""
    until = time.monotonic() + seconds
    shrunk = True
    while shrunk:
        shrunk = False
        for reduced in making.with_one_thing_less(spec):
            if time.monotonic() > until:
                return spec
            if any(kind_of(failure) == kind for failure in worker.examine(reduced, turn)):
                spec, shrunk = reduced, True
                break
    return spec


def run(worker: Worker, seed: int, seconds: float, **options: Any) -> Iterator[tuple[int, Spec, list[str]]]:
    """Examine cases for a time; return each with its number and what is wrong."""
    until, number = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        spec = case(seed, number, **options)
        yield number, spec, worker.examine(spec, number)
        number += 1


def save(spec: Spec, failures: list[str], turn: int, folder: Path) -> None:
    """Write a case's specification, files and failures into a new folder."""
    folder.mkdir(parents=True)
    (folder / "case.json").write_text(json.dumps({"turn": turn, "failures": failures, **spec}, indent=1))
    building.write(spec, folder / "files")
