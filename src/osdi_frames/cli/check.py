"""``osdi-frames check``: every problem of an archive, and every key that no table reads."""

import json
import shutil
import sys
from collections.abc import Iterator
from textwrap import fill
from typing import Any, Final

import click
import pandas as pd

from osdi_frames.cli import Status
from osdi_frames.cli.options import as_json, print_json, progress, runs, sources, store
from osdi_frames.messages import counted, printable
from osdi_frames.problems import Place, ProblemKind
from osdi_frames.shortcuts import open as open_archive

#: So many keys that no table reads are listed, unless all are asked for.
_KEYS: Final = 10


def _lines(rows: pd.DataFrame, width: int, *, every: bool) -> Iterator[str]:
    """Yield problems with their counts and first places, and below a heading keys that no table reads.

    The place of a key is shown where the line has room for it, or with `every`.
    """
    above = ""
    for row in rows.to_dict("records"):
        file, line = (None if pd.isna(row[key]) else row[key] for key in ("source_file", "source_line"))
        is_left, place = row["severity"] == "info", printable(f"({Place(file, line)})")
        what = printable(f"{row['count']:>6} ×  {row['detail']}")
        if not is_left:
            what = printable(f"{row['severity']:<7}  {row['count']:>6} ×  {row['problem']}: {row['detail']}")
        elif above != (above := f"info: {row['problem']}"):
            yield above
        if len(what) + 2 + len(place) <= width:
            yield f"{what}  {place}"
            continue
        indent = " " * (10 if is_left else 20)
        yield fill(what, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
        if every or not is_left:
            yield f"{indent}{place}"


@runs("osdi-frames check data")
@sources
@click.option("--all", "every", is_flag=True, help="List all keys that no table reads, not ten.")
@as_json
@store
@progress
def command(source: tuple[str, ...], *, every: bool, as_json: bool, **settings: Any) -> None:
    """List every problem in SOURCE, and keys that no table reads.

    The exit status is 1 if there is an error, something that no table can take.
    """
    inspection = open_archive(list(source), **settings).inspect()
    found = inspection.problems
    counts = found.groupby("severity")["count"].sum()
    errors, warnings, left = (int(counts.get(severity, 0)) for severity in ("error", "warning", "info"))
    others = int(
        found.loc[found["problem"].eq(ProblemKind.OTHER_TYPE) & found["severity"].eq("info"), "count"].sum()
    )
    if as_json:
        problems = json.loads(found.to_json(orient="records"))
        listed = {"errors": errors, "warnings": warnings, "problems": problems}
        print_json(inspection.counts | listed)
    else:
        width = shutil.get_terminal_size().columns
        click.echo(fill(str(inspection), width, subsequent_indent="  "))
        is_left = found["severity"] == "info"
        for line in _lines(found[~is_left | (is_left.cumsum() <= _KEYS) | every], width, every=every):
            click.echo(line)
        if (more := int(is_left.sum()) - _KEYS) > 0 and not every:
            click.echo(f"… and {more:,} more, by --all")
        said = (
            f"{counted(errors, 'error')}, {counted(warnings, 'warning')}, "
            f"{counted(left - others, 'key')} that no table reads, {counted(others, 'element')} of other types "
            "(info: they stay in the archive)"
        )
        click.echo(fill(said, width, subsequent_indent="  "))
    sys.exit(Status.FAILED if errors else Status.DONE)
