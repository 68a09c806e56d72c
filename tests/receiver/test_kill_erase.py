"""An erasure is killed: what is about others is whole, and the next erasure finishes."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from osdi_frames.receiver import erase, verify
from osdi_frames.receiver.worker import Worker

from .test_archive import ANN, AT, BOB, lines, write

SEGMENTS = 60
_ERASE = """
import sys
from osdi_frames.receiver import erase
print("begins", flush=True)
erase(sys.argv[1], persons=["ann-1"])
"""


def _content(path: Path) -> bytes:
    if path.suffix != ".zst":
        return path.read_bytes()
    with pa.input_stream(str(path), compression="zstd") as stream:
        return stream.read()


def _erase(archive: Path, *, seconds: float | None = None) -> tuple[int, float]:
    """Erase in a process that is killed after some seconds; return its status, and how long it ran."""
    command = [sys.executable, "-c", _ERASE, str(archive)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        began = time.monotonic()
        if seconds is not None:
            time.sleep(seconds)
            process.kill()
        process.wait()
        return process.returncode, time.monotonic() - began


def _kill_again_and_again(tmp_path: Path, *, times: int) -> None:
    """Kill erasures of one archive, sealed or not, with a receiver that owns it and without."""
    write(tmp_path / "made", [f"[{ANN},{BOB}]".encode()] * SEGMENTS + [ANN.encode()] * 5)
    chance = random.Random(11)
    killed = halfway = 0
    shutil.copytree(tmp_path / "made", tmp_path / "timed")
    _, whole = _erase(tmp_path / "timed")
    for number in range(times):
        archive = tmp_path / f"archive-{number}"
        shutil.copytree(tmp_path / "made", archive)
        with contextlib.ExitStack() as running:
            if number % 2:
                erase(archive, persons=["nobody"])  # which seals everything
                receiver = running.enter_context(contextlib.closing(Worker(archive, "main", segment_bytes=1)))
                receiver.deliveries.append([], day=AT[:10])
            killed += _erase(archive, seconds=chance.uniform(0, 0.8 * whole))[0] == -signal.SIGKILL
            assert verify(archive).damages == []
            halfway += 0 < verify(archive).erased < SEGMENTS + 5
            bodies = {entry.sequence: entry.body.decode() for entry in lines(archive)}
            assert len(bodies) == SEGMENTS
            assert set(bodies.values()) <= {f"[{ANN},{BOB}]", f"[{BOB}]"}
            done = erase(archive, persons=["ann-1"])
        assert done.complete
        assert verify(archive).damages == []
        assert [entry.body.decode() for entry in lines(archive)] == [f"[{BOB}]"] * SEGMENTS
        files = [path for path in archive.rglob("*") if path.is_file()]
        assert not any(path.name.endswith(".partial") for path in files)
        assert not any(b"ann-1" in _content(path) for path in files)
        shutil.rmtree(archive)
    print(f"{times} erasures, {killed} killed, {halfway} of them halfway; nothing lost, nothing left")
    assert killed > times / 2


def test_a_killed_erasure_loses_nothing_and_the_next_one_finishes_it(tmp_path):
    _kill_again_and_again(tmp_path, times=4)


@pytest.mark.long
def test_30_killed_erasures_lose_nothing_and_the_next_ones_finish_them(tmp_path):
    _kill_again_and_again(tmp_path, times=30)
