"""Commands as whole processes; what they write goes to the folder ``out`` of the working directory."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_COMMAND = Path(sys.executable).with_name("osdi-frames")


def _run(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def report(path: str) -> str:
    """Print the reports."""
    return _run(_COMMAND, "report", path, "--include", "test", "--no-progress")


def report_stored(path: str) -> str:
    """Print the reports of an archive of which a store has everything."""
    return _run(_COMMAND, "report", path, "--store", "kept", "--include", "test", "--no-progress")


@contextmanager
def report_stored_within(path: str) -> Iterator[None]:
    """Let the store parse the archive before the time is taken."""
    report_stored(path)
    yield


def report_again(path: str) -> str:
    """Print the reports of an archive of which a store has everything, also what a report has resolved."""
    return report_stored(path)


@contextmanager
def report_again_within(path: str) -> Iterator[None]:
    """Let the store parse and resolve the archive before the time is taken."""
    report_stored(path)
    report_stored(path)
    yield


def report_grown(path: str) -> str:
    """Print the reports of an archive of which a store has all files but the last."""
    return report_stored(path)


@contextmanager
def report_grown_within(path: str) -> Iterator[None]:
    """Let the store parse all files but the last before the time is taken."""
    *before, _ = sorted(Path(path).iterdir())
    _run(_COMMAND, "report", *before, "--store", "kept", "--include", "test", "--no-progress")
    yield


def report_out(path: str) -> str:
    """Print the reports, and write them as a page, CSV and Parquet."""
    return _run(_COMMAND, "report", path, "--out", "out", "--include", "test", "--no-progress")


def report_answer(printed: str) -> dict[str, int]:
    """Read the totals from the first line."""
    signatures, people = re.search(r"([\d,]+) signatures of ([\d,]+) people", printed).groups()
    return {"signatures": int(signatures.replace(",", "")), "people": int(people.replace(",", ""))}


report_out_answer = report_stored_answer = report_again_answer = report_grown_answer = report_answer


def check(path: str) -> str:
    """List every problem."""
    return _run(_COMMAND, "check", path, "--no-progress")


def check_answer(printed: str) -> dict[str, int]:
    """Read the number of errors from the last line."""
    return {"errors": int(re.search(r"^(\d+) errors", printed, re.MULTILINE)[1])}


def export(path: str) -> str:
    """Write all tables as Parquet."""
    return _run(_COMMAND, "export", path, "out", "--no-progress")


def export_answer(_printed: str) -> dict[str, int]:
    """Count what the table of signatures holds."""
    from pyarrow import parquet

    people = parquet.read_table("out/signatures.parquet", columns=["person_id"])["person_id"]
    return {"signatures": len(people), "people": len(people.drop_null().unique())}


def list_commands(_path: str) -> str:
    """List the commands."""
    return _run(_COMMAND, "--help")


def import_osdi_frames(_path: str) -> str:
    """Import what reads."""
    return _run(sys.executable, "-c", "from osdi_frames import open, read_events, read_signatures")


def import_pandas(_path: str) -> str:
    """Import pandas alone."""
    return _run(sys.executable, "-c", "import pandas")
