"""The error of a full disk, or of a limit of the size of files, names the file that was written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import forks
from tests.layouts import lines
from tests.receiver.test_archive import ANN, BOB
from tests.receiver.test_archive import write as receive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")

#: A limit of the size of files stands for the disk: EFBIG is said where a disk says ENOSPC.
_LIMITED = """
import resource, sys
import pandas as pd
import osdi_frames as of
from osdi_frames.cli import run

sys.dont_write_bytecode = True  # no compiled module is cut off
limit, *sys.argv[1:] = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit),) * 2)
if sys.argv[1] == "write_csv":
    of.write_csv(pd.DataFrame({"a": range(9999)}), sys.argv[2])
else:
    run()
"""


def limited(size: int, *command: object) -> subprocess.CompletedProcess[str]:
    return forks.run(_LIMITED, size, *command)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full") / "a.ndjson"
    days = [f"2026-05-{1 + n % 30:02}T10:00:00Z" for n in range(60)]
    path.write_bytes(lines([{"osdi:signature": {"created_date": day}}] for day in days))
    return path


#: The size of files, a command, and the file that its error names.
COMMANDS = {
    "Parquet": (8192, ("export", "A", "out", "--table", "signatures"), "out/signatures.parquet"),
    "CSV": (6000, ("export", "A", "out", "--format", "csv", "--table", "signatures"), "out/signatures.csv"),
    "Excel": (
        8192,
        ("export", "A", "out", "--format", "xlsx", "--table", "signatures"),
        "out/signatures.xlsx",
    ),
    "partitions": (
        8192,
        ("export", "A", "out", "--table", "signatures", "--partition-by", "month"),
        "out/signatures",
    ),
    "report": (8192, ("report", "A", "--out", "out"), "out"),
    "page": (20_000, ("report", "A", "--out", "out"), "out/report.html"),
    "sample": (8192, ("sample", "out", "--signatures", "200", "--events", "20"), "out"),
    "one file": (8192, ("write_csv", "out/a.csv"), "out/a.csv"),
    "documents that are parsed": (1024, ("check", "A"), "/proc/self/fd/"),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long) if name in ("report", "sample") else name
        for name in COMMANDS
    ],
)
def test_a_command_names_the_file_that_could_not_be_written(
    name: str, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, words, named = COMMANDS[name]
    monkeypatch.chdir(tmp_path)
    ran = limited(size, *(archive if word == "A" else word for word in words))
    assert ran.returncode == 1
    last = ran.stderr.splitlines()[-1]
    assert (
        f"File too large: '{tmp_path if named[0] != '/' else ''}{'/' if named[0] != '/' else ''}{named}"
        in last
    )
    assert name == "one file" or "Traceback" not in ran.stderr
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".out")]


def test_an_erasure_names_the_segment_that_could_not_be_written(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    bodies = [f"[{BOB.replace('bob-2', str(number) * 40)},{ANN}]".encode() for number in range(200)]
    receive(archive, bodies, segment_bytes=1 << 20)
    ran = limited(1024, "archive", "erase", archive, "--person", "ann-1")
    assert ran.returncode == 1
    assert f"File too large: '{archive}/main/" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_store_says_that_it_cannot_be_written_and_the_command_goes_on(
    archive: Path, tmp_path: Path
) -> None:
    ran = limited(8192, "check", archive, "--store", tmp_path / "kept")
    assert ran.returncode == 0
    assert f"the store {tmp_path / 'kept'} cannot be written (File too large)" in ran.stderr
