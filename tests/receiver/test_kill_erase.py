"""An erasure is killed: what is about others is whole, and the next erasure finishes."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from osdi_frames.receiver import erase, verify
from osdi_frames.receiver.worker import Worker

from .test_archive import ANN, AT, BOB, lines, write

_ERASE = """
import os, signal, sys, threading
from osdi_frames.receiver import erase

count, seconds = int(sys.argv[2]), float(sys.argv[3])
seen = 0

def kill_at(event, arguments):
    global seen
    if event in ("open", "os.rename", "os.remove"):
        seen += 1
        if seen == count and seconds:
            threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
        elif seen == count:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill_at)
erase(sys.argv[1], persons=["ann-1"])
print(seen)
"""


def _content(path: Path) -> bytes:
    if path.suffix != ".zst":
        return path.read_bytes()
    with pa.input_stream(str(path), compression="zstd") as stream:
        return stream.read()


def _erase(archive: Path, *, count: int = 0, seconds: float = 0.0) -> tuple[int, bytes]:
    """Erase in a process that is killed some seconds after it opens, renames or removes files for the nth time.

    Return its status, and how often it did so.
    """
    command = [sys.executable, "-c", _ERASE, str(archive), str(count), str(seconds)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    return ran.returncode, ran.stdout


def _kill_again_and_again(tmp_path: Path, *, times: int, segments: int) -> None:
    """Kill erasures of one archive, sealed or not, with a receiver that owns it and without."""
    write(tmp_path / "open", [f"[{ANN},{BOB}]".encode()] * segments + [f"{ANN} and more".encode()] * 5)
    shutil.copytree(tmp_path / "open", tmp_path / "sealed")
    erase(tmp_path / "sealed", persons=["nobody"])
    calls = []
    for made in ("open", "sealed"):
        shutil.copytree(tmp_path / made, tmp_path / f"{made}-whole")
        calls.append(int(_erase(tmp_path / f"{made}-whole")[1]))
    chance = random.Random(11)
    halfway = 0
    for number in range(times):
        archive = tmp_path / f"archive-{number}"
        shutil.copytree(tmp_path / ("sealed" if number % 2 else "open"), archive)
        with contextlib.ExitStack() as running:
            if number % 2:
                receiver = running.enter_context(contextlib.closing(Worker(archive, "main", segment_bytes=1)))
                receiver.deliveries.append([], day=AT[:10])
            count = chance.randint(1, int(0.8 * calls[number % 2]))
            seconds = chance.choice([0.0, chance.uniform(0, 0.002)])
            assert _erase(archive, count=count, seconds=seconds)[0] == -signal.SIGKILL
            assert verify(archive).damages == []
            halfway += 0 < verify(archive).erased < segments + 5
            bodies = {entry.sequence: entry.body.decode() for entry in lines(archive)}
            assert len(bodies) == segments
            assert set(bodies.values()) <= {f"[{ANN},{BOB}]", f"[{BOB}]"}
            done = erase(archive, persons=["ann-1"])
        assert not done.left
        assert verify(archive).damages == []
        assert [entry.body.decode() for entry in lines(archive)] == [f"[{BOB}]"] * segments
        files = [path for path in archive.rglob("*") if path.is_file()]
        assert not any(path.name.endswith(".partial") for path in files)
        assert not any(b"ann-1" in _content(path) for path in files)
        shutil.rmtree(archive)
    print(f"{times} erasures killed, {halfway} of them halfway; nothing lost, nothing left")


def test_a_killed_erasure_loses_nothing_and_the_next_one_finishes_it(tmp_path):
    _kill_again_and_again(tmp_path, times=4, segments=20)


@pytest.mark.long
def test_30_killed_erasures_lose_nothing_and_the_next_ones_finish_them(tmp_path):
    _kill_again_and_again(tmp_path, times=30, segments=60)
