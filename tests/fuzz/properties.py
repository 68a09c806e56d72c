"""What must hold of every archive, whatever is in it; `examine` returns what does not, by the public API."""

from __future__ import annotations

import json
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import osdi_frames as of
from osdi_frames.store import store
from tests import reference

from .oracle import Reading, entries_of, files_of, reading_of, shown_name

Row = dict[str, Any]
LARGE = "events", "signatures"
store.RESOLVED_BYTES = 0  # these archives are small
SMALL = [table for table in reference.TABLES if table not in LARGE]


def examine(folder: Path, turn: int) -> list[str]:
    """Return what is wrong, each as ``category: detail``; `turn` chooses the tables."""
    failures: list[str] = []
    readings = {file: reading_of(file) for file in files_of(folder)}
    checked = {file: checking(file, failures) for file in readings if Path(file).is_file()}
    whole = checking(str(folder), failures)
    if any(problems is None for problems in (whole, *checked.values())):
        return failures
    unread = [path for path, listed in entries_of(folder).items() if listed is False]
    reported(readings, checked, whole, unread, failures)
    agree(str(folder), LARGE[turn % 2], whole, failures)
    if checked and turn % 3 == 0:
        file = list(checked)[turn % len(checked)]
        agree(file, LARGE[(turn + 1) % 2], checked[file], failures)
    rows_agree(folder, LARGE[turn % 2], readings, failures, dedupe=turn % 4 == 3)
    with_others_agree(str(folder), LARGE[turn % 2], failures)
    a_store_agrees(str(folder), LARGE[turn % 2], whole, failures)
    if turn % 2:
        rows_agree(folder, SMALL[turn // 2 % len(SMALL)], readings, failures)
    return failures


def guarded(call: Callable[[], Any], what: str, failures: list[str]) -> tuple[Any, bool] | None:
    """Return a call's result or OsdiError, and whether it warned; all else is a failure."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except of.errors.OsdiError as error:
            result = error
        except Exception as error:  # noqa: BLE001 (any error is what is looked for)
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.name}"
            failures.append(f"crash: {what}: {type(error).__name__} at {place}: {str(error)[:200]!r}")
            return None
    own = (of.errors.ProblemsWarning, of.errors.SourceWarning)
    failures += [
        f"warning: {what}: {warning.message}" for warning in caught if not issubclass(warning.category, own)
    ]
    return result, any(issubclass(warning.category, of.errors.ProblemsWarning) for warning in caught)


def checking(source: str, failures: list[str]) -> Any:
    found = guarded(lambda: of.check(source), "check", failures)
    if found is not None and isinstance(found[0], Exception):
        failures.append(f"crash: check raises {found[0]!r}")
        return None
    return found and found[0]


def scanned(
    source: str,
    table: str,
    failures: list[str],
    *,
    dedupe: bool = True,
    on_error: Any = "raise",
    **options: Any,
) -> tuple[Any, bool] | None:
    def call() -> list[Row]:
        archive = of.open(source, on_error=on_error, **options)
        return list(archive.scan(table, dedupe=dedupe).read_all().to_pylist())

    return guarded(call, f"{on_error} {table}", failures)


def reported(
    readings: dict[str, Reading], checked: dict[str, Any], whole: Any, unread: list[str], failures: list[str]
) -> None:
    """Find damage that is not listed as an error, what is ambiguous or not read and not listed, files not named."""
    for file, reading in readings.items():
        found = checked.get(file, whole)
        if reading.errors and "error" not in set(found.severity):
            failures.append(f"silent: no error is listed for {reading.errors[0]}")
        elif reading.notices and not len(found):
            failures.append(f"silent: nothing is listed for {reading.notices[0]}")
        names = [str(file_name) for file_name in found.source_file]
        if file in checked and file.isprintable() and not all(name.startswith(file) for name in names):
            failures.append(f"unnamed: a problem of {file} names {names}")
    counts = [
        int(found["count"][found["problem"] == "a file that is not read"].sum())
        for found in (whole, *checked.values())
    ]
    if counts[0] != sum(counts[1:]) + len(unread):
        failures.append(f"unread: {counts[0]} of {sum(counts[1:])} members and {unread}")
    severities = {severity for found in checked.values() for severity in found.severity}
    severities |= {"warning"} if unread else set()
    if checked.keys() == readings.keys() and severities != set(whole.severity):
        failures.append(f"disagree: check of files {severities}, of the folder {set(whole.severity)}")


def agree(source: str, main: str, checked: Any, failures: list[str]) -> None:
    """Find a table that raises and does not warn, or the reverse, or not as `check` lists errors."""
    errors = checked[checked.severity == "error"].to_dict("records")
    for table in (main, *(table for table in reference.TABLES if table != main)):
        raised = scanned(source, table, failures, dedupe=False)
        if raised is None:
            return
        raises = isinstance(raised[0], Exception)
        if raises and not errors:
            failures.append(f"disagree: {table} raises {raised[0]}, check lists no error")
        if table == main:
            skipped = scanned(source, table, failures, dedupe=False, on_error="skip")
            if skipped is not None and skipped[1] != raises:
                failures.append(f"disagree: {table} raises: {raises}, skip warns: {skipped[1]}")
        if raises or not errors:
            return
    failures.append(f"disagree: no table raises, check lists {errors[0]}")


def a_store_agrees(source: str, table: str, checked: Any, failures: list[str]) -> None:
    """Find rows and problems that are others while a store is made, or when it is read, or resolved rows are shown."""
    expected = scanned(source, table, failures, on_error="skip")
    with tempfile.TemporaryDirectory() as folder:
        for when in ("made", "read", "read again"):
            found = scanned(source, table, failures, on_error="skip", store=Path(folder, "store"))
            if repr(found) != repr(expected):  # of NaN, too
                failures.append(f"disagree: {table} of a store that is {when}")
        problems = guarded(lambda: of.open(source, store=Path(folder, "store")).check(), "check", failures)
        if problems is not None and not checked.equals(problems[0]):
            failures.append("disagree: check of a store")


def rows_agree(
    folder: Path,
    table: str,
    readings: dict[str, Reading],
    failures: list[str],
    *,
    dedupe: bool = False,
) -> None:
    """Find rows and cells of what is clear that are not those of the reference."""
    clear = not any(reading.unclear or reading.unclear_lines for reading in readings.values())
    if not clear and table not in LARGE:
        return
    dedupe = dedupe and clear
    found = scanned(str(folder), table, failures, dedupe=dedupe, on_error="skip")
    if found is None or isinstance(found[0], Exception):
        failures += [f"crash: skip {table} raises {found[0]!r}"] if found else []
        return
    documents = [document for reading in readings.values() for document in reading.documents]
    compared = found[0], reference.read(documents, table, dedupe=dedupe)
    if not clear:
        compared = tuple([row for row in rows if is_clear(row, readings)] for rows in compared)
    if difference := differing(*compared):
        failures.append(f"rows: {table}, dedupe={dedupe}: {difference}")


def with_others_agree(source: str, table: str, failures: list[str]) -> None:
    """Find cells of a table that are others where all tables are read, whatever is damaged."""

    def together() -> list[Row]:
        frame = of.open(source, on_error="skip").tables(dedupe=False)[table]
        return list(
            pa.Table.from_pandas(frame, of.open([]).scan(table).schema, preserve_index=False).to_pylist()
        )

    both = scanned(source, table, failures, dedupe=False, on_error="skip"), guarded(together, table, failures)
    rows = [found[0] for found in both if found and not isinstance(found[0], Exception)]
    if len(rows) < 2:
        failures += [f"crash: {table}, alone or with others, raises"] if all(both) else []
    elif difference := differing(*rows):
        failures.append(f"ways: {table}: alone or with others, {difference}")


def is_clear(row: Row, readings: dict[str, Reading]) -> bool:
    name = row["source_file"]
    shown = {shown_name(file): reading for file, reading in readings.items()}
    owners = [reading for file, reading in shown.items() if name == file or name.startswith(f"{file}!")]
    return all(owner.is_clear(name, row["source_line"]) for owner in owners)


def differing(found: list[Row], expected: list[Row]) -> str:
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=False)):
        for name in ours:
            if comparable(name, ours[name]) != comparable(name, theirs[name]):
                return f"row {number}, {name}: {ours[name]!r:.200} is {theirs[name]!r:.200} to the reference"
    return "" if len(found) == len(expected) else f"{len(found)} rows, {len(expected)} to the reference"


def comparable(name: str, value: Any) -> Any:
    # The same JSON can be written in several ways: 1e16 and 10000000000000000.0.
    return json.loads(value) if name == "custom_fields" and value is not None else value
