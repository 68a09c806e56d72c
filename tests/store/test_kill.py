"""A store survives SIGKILL at any moment: the next reading gives what a fresh one gives."""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from osdi_frames.receiver import erase
from osdi_frames.tables import TABLES
from tests.receiver.test_archive import signature
from tests.receiver.test_archive import write as receive

from .test_histories import findings

#: Read twice with a store of small segments, so that resolved rows are kept, or erase with it; be killed at the nth
#: file that is opened, renamed or removed.
_DO = """
import os, signal, sys
import osdi_frames as of
from osdi_frames.receiver import erase
from osdi_frames.store import matching, store

archive, kept, person, count = *sys.argv[1:4], int(sys.argv[4])
matching.SEGMENT_BYTES, store.RESOLVED_BYTES = 2000, 0
seen = 0

def kill_at(event, arguments):
    global seen
    if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir") and kept in str(arguments[0]):
        seen += 1
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill_at)
if person:
    erase(archive, persons=[person], store=kept)
else:
    for _ in range(2):
        of.read_signatures(archive, store=kept)
print(seen)
"""


def do(archive: Path, kept: Path, person: str, count: int) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", _DO, str(archive), str(kept), person, str(count)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def someone(number: int) -> bytes:
    return f"[{signature(f'person-{number}', f'p{number}@example.org')}]".encode()


def names_in(kept: Path) -> str:
    return str([pq.read_table(path).to_pylist() for path in kept.rglob("*.parquet")])


def kill_again_and_again(folder: Path, tables: list[str], *, times: int, seed: int) -> None:
    """Let an archive grow, and erase from it, in processes of which so many are killed."""
    chance = random.Random(seed)
    archive, kept = folder / "archive", folder / "kept"
    killed = 0
    for turn in itertools.count():
        if killed == times:
            return
        new = [someone(100 * turn + number) for number in range(5)]
        receive(archive, new, segment_bytes=1500, worker="main" if turn % 2 else "other")
        person = f"person-{100 * turn - 97}" if turn % 3 == 2 else ""
        ended = do(archive, kept, person, chance.randint(1, 60))
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
        killed += ended.returncode != 0
        if person:
            erase(archive, persons=[person], store=kept)
            assert f"'{person}'" not in names_in(kept)
        expected, found = findings(archive, tables), findings(archive, tables, store=kept)
        assert expected[1] == found[1]
        for one, other in zip(expected[0], found[0], strict=True):
            pd.testing.assert_frame_equal(one, other)
        assert not [*kept.glob(".draft-*")]


def test_a_store_survives_kills(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, ["signatures", "signature_emails", "people"], times=2, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_a_store_survives_a_hundred_kills(tmp_path: Path, seed: int) -> None:
    kill_again_and_again(tmp_path, [*TABLES], times=25, seed=seed)
