"""``osdi-frames check``: every problem of an archive, and every key that no table reads."""

import json
import sys
from typing import Any

import click
import pandas as pd

from osdi_frames.cli import Status
from osdi_frames.cli.options import as_json, print_json, progress, runs, sources, store
from osdi_frames.messages import counted, printable
from osdi_frames.problems import Place, ProblemKind
from osdi_frames.shortcuts import open as open_archive


@runs("osdi-frames check data")
@sources
@as_json
@store
@progress
def command(source: tuple[str, ...], *, as_json: bool, **settings: Any) -> None:
    """List every problem in SOURCE, and every key that no table reads.

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
        click.echo(str(inspection))
        for row in found.to_dict("records"):
            file, line = (None if pd.isna(row[key]) else row[key] for key in ("source_file", "source_line"))
            what = f"{row['severity']:<7}  {row['count']:>6} ×  {row['problem']}: {row['detail']}"
            click.echo(printable(f"{what}  ({Place(file, line)})"))
        click.echo(
            f"{counted(errors, 'error')}, {counted(warnings, 'warning')}, "
            f"{counted(left - others, 'key')} that no table reads, {counted(others, 'element')} of other types "
            "(info: they stay in the archive)"
        )
    sys.exit(Status.FAILED if errors else Status.DONE)
