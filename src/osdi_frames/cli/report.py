"""``osdi-frames report``: the reports of an archive, as tables and files."""

import json
import shutil
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill
from typing import Any

import click
import pandas as pd

from osdi_frames.cli.options import (
    as_json,
    bom,
    listed,
    note,
    positive,
    print_json,
    reading,
    runs,
    sources,
    with_options,
)
from osdi_frames.clock import is_utc, moment
from osdi_frames.messages import counted, quoted, quoted_path
from osdi_frames.output.files import FORMATS, Format
from osdi_frames.reports.declared import OF_ARCHIVES, UPCOMING
from osdi_frames.reports.exclusion import REASONS
from osdi_frames.reports.printed import as_text, first_screen
from osdi_frames.shortcuts import report, write_report
from osdi_frames.shown_report import ShownReport

#: Lines of the first screen of 40, between the command and the next prompt; and those that say what was written.
_SCREEN, _OF_FILES = 38, 3
_NAMES = {"csv": "CSV", "parquet": "Parquet", "xlsx": "Excel"}


def _goals(_ctx: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, int]:
    """Read petitions with the number of signatures each is to have."""
    found = {}
    for given in value:
        petition, equals, count = given.rpartition("=")
        if not equals or not count.isdecimal():
            raise click.BadParameter(f"{quoted(given)} is not as in --goal 'Save the park=5000'")
        found[petition] = int(count)
    return found


def _as_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose times keep their zone in JSON, where pandas makes UTC of them."""
    for name in frame.select_dtypes("datetimetz"):
        if not is_utc(frame[name].dt.tz):
            texts = [
                None if pd.isna(time) else time.isoformat(timespec="milliseconds") for time in frame[name]
            ]
            frame[name] = pd.Series(texts, frame.index, dtype="str")
    return frame


def _values(found: ShownReport, notes: list[str]) -> dict[str, Any]:
    """Return the figures, notes and rows of a report as JSON."""
    values = {
        name: json.loads(_as_texts(frame.reset_index()).to_json(orient="records", date_format="iso"))
        for name, frame in found.items()
    }
    caveats = {name: frame.attrs["caveat"] for name, frame in found.items()}
    return {"summary": found.summary, "notes": notes, "caveats": caveats, "reports": values}


def _text(
    found: ShownReport,
    lines: Sequence[str],
    *,
    every: bool,
    names: Collection[str],
    top: int,
    now: Any,
    height: int,
) -> str:
    """Return the first screen, or the reports that are asked for; `lines` are the headline and the notes."""
    width = shutil.get_terminal_size().columns
    if not every and not names:
        return first_screen(found, lines, moment(now) or datetime.now(UTC), width=width, height=height)
    reports = [
        as_text(declared, frame, top=top, width=width) for declared, frame in found.reports if len(frame)
    ]
    if not every:
        made = [declared.name for declared, frame in found.reports if len(frame)]
        reports += [f"{name}: {_why_not(found, name, now)}" for name in names if name not in made]
        return "\n\n".join(reports)
    if empty := [declared.heading for declared, frame in found.reports if frame.empty]:
        reports.append(f"nothing to report: {'; '.join(empty)}")
    wrapped = (fill(line, width, subsequent_indent="  ") for line in lines)
    return "\n\n".join(["\n".join(wrapped), *reports])


def _why_not(found: ShownReport, name: str, now: Any) -> str:
    """Return why a report that was asked for has no rows."""
    if found.below and not next(declared for declared in OF_ARCHIVES if declared.name == name).is_published:
        return "not made with --min-count, since it would reveal small counts"
    if name == UPCOMING.name:
        return (
            f"nothing to report on {moment(now) or datetime.now(UTC):%Y-%m-%d}; --now reports of another day"
        )
    return "nothing to report"


@runs("osdi-frames report data --out report")
@sources
@click.option("--out", type=click.Path(file_okay=False), help="Folder for a page, CSV and Parquet.")
@click.option("--all", "every", is_flag=True, help="Print every report, with the notes on what is counted.")
@click.option(
    "--report", "names", multiple=True, metavar="NAME", help="Make this report alone; repeat it for several."
)
@click.option(
    "--top",
    default=10,
    type=positive,
    help="Rows of each report to print with --all and --report; files have all.",
)
@click.option("--min-count", type=positive, help="Hide smaller counts of people, and what reveals them.")
@click.option("--show-addresses", is_flag=True, help="Show e-mail addresses within sources and referrers.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(FORMATS),
    show_default="csv, parquet",
    help="The files of each report; repeat it for several.",
)
@bom
@click.option("--title", help="The heading of the page.")
@click.option(
    "--excel", type=click.Path(dir_okay=False), help="A file: one workbook, with a sheet for each report."
)
@click.option(
    "--exact",
    "spelling",
    flag_value="exact",
    default="merged",
    show_default=False,
    help="Keep spellings of a source, referrer, website, region or country apart.",
)
@click.option("--include", callback=listed, multiple=True, help=f"Count also {','.join(REASONS)}, or some.")
@click.option(
    "--exclude-source",
    "exclude_sources",
    multiple=True,
    metavar="PATTERN",
    help="Leave out acts with a source or referrer like this, as partner-*; repeat it for several.",
)
@click.option(
    "--compare",
    default="W",
    help="The period that is compared with the one before: 7D, W (from Monday), M, Q, Y.",
)
@click.option(
    "--goal",
    "goals",
    multiple=True,
    callback=_goals,
    metavar="PETITION=COUNT",
    help="How many signatures a petition is to have, by its id or title; repeat it for several.",
)
@as_json
@reading
def command(
    source: tuple[str, ...],
    *,
    out: str | None,
    excel: str | None,
    every: bool,
    names: tuple[str, ...],
    top: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Print what happened in SOURCE, in one screen; all reports, on what changed, events, signatures and people.

    What "send test" sent, what is gone, cancelled and hidden events with their attendances, and attendances that
    were not accepted are not counted unless --include names them.
    With --out they are also written: as report.html, one file with plots and tables to open in a browser or to
    forward, and as CSV and Parquet. An earlier report in the same folder is replaced; if the folder contains other
    files, or a file was changed since, nothing is written.
    """
    formats: tuple[Format, ...] = options.pop("formats")
    bom, title = options.pop("bom"), options.pop("title")
    if not out and (formats or bom or title):
        raise click.UsageError("--format, --bom and --title are about files: name their folder with --out")
    if names:
        options["reports"] = names
    if out:
        formats = formats or ("csv", "parquet")
        found = write_report(list(source), out, formats=formats, bom=bom, title=title, **options)
    else:
        found = report(list(source), **options)
    if excel:
        found.to_excel(excel)
    lines = with_options(str(found)).splitlines()
    if as_json:
        print_json(_values(found, notes=lines[1:]))
    else:
        height = _SCREEN - _OF_FILES * bool(out)
        click.echo(_text(found, lines, every=every, names=names, top=top, now=options["now"], height=height))
    say = note if as_json else click.echo
    if excel:
        say(f"\nwritten to {quoted_path(excel)}")
    if out:
        count = counted(len(found.reports), "report")
        kinds = " and ".join(_NAMES[name] for name in formats)
        say(
            f"\nwritten to {quoted_path(out)}: {count}, each as {kinds}, and report.html"
            f"\nopen {quoted_path(str(Path(out, 'report.html')))}"
        )
