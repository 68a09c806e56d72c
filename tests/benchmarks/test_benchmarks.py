"""The benchmarks run, and their contestants agree; how fast they are is no test."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from . import archives
from .answers import digest
from .lines import cluster_lines, lines
from .measure import contestant, disagreement

COUNT = 300
READINGS = {line.name: line for line in lines(COUNT) if "by_duckdb.totals" not in str(line) and line.agreeing}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Return what makes an archive, once, and its path."""
    folder = tmp_path_factory.mktemp("archives")

    def made(name):
        if not archives.path_of(folder, name).exists():
            archives.make(folder, name)
        return str(archives.path_of(folder, name))

    return made


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if "store" in name else ()) for name in READINGS]
)
def test_all_who_read_an_archive_agree(name, archive, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = {}
    for who, reading in READINGS[name].agreeing.items():
        function, answer, within = contestant(reading.call)
        path = archive(reading.archive)
        with within(path):
            answers[who] = digest(answer(function(path)))
    assert len(answers) > 1
    assert disagreement(answers) is None


def run(folder: Path) -> dict:
    command = [sys.executable, "-m", "tests.benchmarks", "--deliveries", str(COUNT), "--runs", "1"]
    command += ["--out", str(folder / "out"), "--keep", str(folder / "keep")]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert ran.returncode == 0, ran.stderr
    assert (folder / "out" / "benchmarks.png").stat().st_size > 1000
    return json.loads((folder / "out" / "benchmarks.json").read_text())


@pytest.mark.long
def test_every_line_is_measured(tmp_path):
    declared = [*lines(COUNT), *cluster_lines(COUNT, COUNT)]
    measured = run(tmp_path)["lines"]
    assert [line["line"] for line in measured] == [line.name for line in declared]
    assert measured[0]["targets"][0]["measured"] > 0


@pytest.mark.parametrize("column", ["source", "created_date", "add_tags"])
def test_one_other_value_is_another_answer(column):
    row = {"self_url": "a", "source": "x", "created_date": "2026-05-01T00:00:00Z", "add_tags": ["t"]}
    other = {"source": "y", "created_date": "2026-05-01T00:00:01Z", "add_tags": ["t", "u"]}
    one, two = (digest(pa.Table.from_pylist([values])) for values in (row, row | {column: other[column]}))
    assert {name for name in one if one[name] != two[name]} == {column}
