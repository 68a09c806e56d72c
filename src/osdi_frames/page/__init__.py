"""The standard reports as files: CSV, Parquet, and a page to forward to those who open no notebook.

The page is one HTML file. It asks nothing of any network, carries its style and its script in
itself, and its content security policy forbids all else: it opens from a disk, an e-mail or a web server.

It holds counts only: reports, and the places of events, coordinates rounded to about a kilometre; of an inspection
the names of keys, never a value, a file's name or an address. A person's name used as a source is shown:
nothing distinguishes it from other text.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import pyarrow as pa
from markupsafe import Markup
from matplotlib.axes import Axes

from osdi_frames import plots
from osdi_frames.errors import counted
from osdi_frames.output.files import FileForm, write_tables
from osdi_frames.page import figures, tables
from osdi_frames.parsing.check import Inspection
from osdi_frames.plots.functions import plot_of
from osdi_frames.problems import ProblemKind
from osdi_frames.reports import Report
from osdi_frames.reports.archive_report import ReportResult
from osdi_frames.reports.measures import show
from osdi_frames.tables import element_types

#: What a line that names what is not counted, or is one row, says to those who call functions or commands.
_HOW_TO_INCLUDE, _HOW_TO_PART = re.compile("; include=.*"), re.compile("; spelling=.*")
_PLACES = ["location_latitude", "location_longitude"]
_DECIMALS = 2  # of a degree: about a kilometre
_DISCS = 300  # more would make the page slow: they are then a picture in the plot
_HEIGHT = 3.8  # inches of a plot over time
_OUTCOMES = {"error": "left out", "warning": "mended", "info": "not read"}


@dataclass(frozen=True, slots=True)
class Section:
    """A report in the page: plot, table, or both."""

    name: str
    heading: str
    caveats: Sequence[str] = ()
    plot: Markup | None = None
    table: tables.Table | None = None


def write(result: ReportResult, folder: Path, *, forms: Iterable[FileForm], now: datetime | None) -> None:
    """Write the page, and the files of each report."""
    html = render(result, now=now or datetime.now(UTC))
    (folder / "report.html").write_text(html, encoding="utf-8")
    rows = {
        name: pa.Table.from_pandas(frame.reset_index(), preserve_index=False)
        for name, frame in result.items()
    }
    schemas = {name: table.schema for name, table in rows.items()}
    for form in forms:
        write_tables(schemas, rows.items(), folder, form)


def render(made: ReportResult, *, now: datetime) -> str:
    """Return the page of some reports, as text.

    Each report is a table, with a bar for each count, or a plot if it is over time. A table shows 200 rows at
    most, and the others as one, so that its sums are those of the report. `now` has a time zone, or is shown
    without.

    >>> import osdi_frames as of
    >>> made = of.report({"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"})
    >>> render(made, now=datetime(2026, 5, 2, tzinfo=UTC)).startswith("<!doctype html>")
    True
    """
    parts: dict[str, list[Section]] = {}
    for declared, report in made.reports:
        sections = parts.setdefault(declared.read_from, [])
        if len(made.tables[declared.read_from]):
            sections.append(_of_report(declared, report))
    events = made.tables.get("events", pd.DataFrame())
    if set(_PLACES) <= set(events.columns) and events[_PLACES].notna().all(axis=1).any():
        parts.setdefault("events", []).append(_map(events, sized=made.below is None))
    return _document(
        cards=_cards(made),
        parts=parts,
        reading=None if made.inspection is None else _of_inspection(made.inspection, made.others),
        notes=[
            tables.visible(_HOW_TO_INCLUDE.sub(" (they can be counted in another report)", note))
            for note in made.notes
        ],
        made=made,
        attended="attended" in made.summary.keys() - made.hidden,
        now=now,
    )


def _cards(made: ReportResult) -> list[tuple[str, str, str]]:
    """Return the headline figures: name, figure and note.

    Where small counts are hidden, no day is shown on which somebody acted.
    """
    summary = made.summary
    figures = {name: "few" if count is None else f"{count:,}" for name, count in summary.items()}
    cards, days = [], []
    if made.rsvps_are_attendances:
        days += (made_on := _acted(made, "attendances"))
        cards.append(("RSVPs", figures["rsvps"], "".join(map(_dates, made_on))))
        if summary["rsvp_people"] is not None:
            cards.append(("People", figures["rsvp_people"], "who RSVPed, each counted once"))
    elif "events" in made.tables:
        events = made.tables["events"]
        days.append(events["start_date"])
        campaigns = counted(events["event_campaign_id"].nunique(), "campaign")
        cards += [("Events", figures["events"], _dates(days[-1])), ("RSVPs", figures["rsvps"], campaigns)]
    if attended := summary.get("attended"):
        attendances = len(made.tables["attendances"])
        share = f"{show(attended / attendances, 'share')} of {counted(attendances, 'attendance')}"
        cards.append(("Attended", figures["attended"], share))
    if "signatures" in made.tables and not (made.rsvps_are_attendances and summary["signatures"] == 0):
        days += (signed := _acted(made, "signatures"))
        cards.append(("Signatures", figures["signatures"], "".join(map(_dates, signed))))
        if summary["people"] is not None:
            cards.append(("People", figures["people"], "who signed, each counted once"))
    if not days:
        return cards
    both = pd.concat([times.dropna() for times in days])
    years = [str(day.year) for day in _span(both)]
    return [*cards, ("Period", "–".join(dict.fromkeys(years)) or "–", _dates(both))]


def _acted(made: ReportResult, table: str) -> list[pd.Series]:
    """Return when somebody acted, unless small counts are hidden."""
    return [] if made.below else [made.tables[table]["created_date"].dt.tz_localize(None)]


def _span(times: pd.Series) -> list[pd.Timestamp]:
    return [day for day in (times.min(), times.max()) if pd.notna(day)]


def _dates(times: pd.Series) -> str:
    # A date breaks nowhere.
    dates = [f"{day.day}\u00a0{day:%b}\u00a0{day.year}" for day in _span(times)]
    return " – ".join(dict.fromkeys(dates)) or "no date"


def _of_inspection(found: Inspection, others: Mapping[str, int]) -> dict[str, Any]:
    """Return what was found, with counts of problems.

    Keys that no table reads are counted apart.
    """
    by_key = found.by_key[found.by_key["problem"] != ProblemKind.OTHER_TYPE]
    counts = by_key.groupby("severity")["count"].sum()
    unread = int(counts.get("info", 0))
    outcome = by_key["severity"].map(_OUTCOMES).mask(by_key["problem"] == ProblemKind.QUARANTINE, "not read")
    listed = by_key.assign(outcome=outcome).rename(columns={"key": "where"})
    table = tables.of_counts(listed[["problem", "where", "outcome", "count"]]) if len(listed) else None
    return {
        "found": found,
        "others": others,
        "plurals": {element.name: element.plural for element in element_types()},
        "problems": int(counts.sum()) - unread,
        "unread": unread,
        "table": table,
    }


def _of_report(declared: Report, report: pd.DataFrame) -> Section:
    draw = partial(plot_of(declared), report)
    label = f"Plot of {declared.heading}; the table below holds its figures."
    plot = figures.picture(draw, height=_HEIGHT, label=label) if declared.is_over_time else None
    table = tables.of_report(declared, report)
    caveats = [_HOW_TO_PART.sub(".", line) for line in report.attrs.get("caveat", "").splitlines()]
    return Section(declared.name, declared.heading, caveats, plot, table)


def _map(events: pd.DataFrame, *, sized: bool) -> Section:
    """Draw where events take place, coordinates rounded.

    Discs show their RSVPs, unless small counts are hidden.
    """
    rounded = events.round(dict.fromkeys(_PLACES, _DECIMALS))

    def draw(ax: Axes) -> None:
        plots.event_map(rounded, ax=ax, sized=sized)
        for discs in ax.collections:
            discs.set_rasterized(len(events) > _DISCS)

    size = " as large as its RSVPs" if sized else ""
    label = f"Map of the events by longitude and latitude, each place a disc{size}."
    picture = figures.picture(draw, height=5.0, label=label)
    return Section("event_map", "Events on the map", plot=picture)


def _document(**parts: Any) -> str:
    """Return the document with its template's values.

    All text is escaped that is not the page's own.
    """
    files = resources.files(__package__)
    # No loader: the template comes from the package, which may be a zip file.
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style, script = ((files / name).read_text("utf-8") for name in ("page.css", "page.js"))
    # What the page does not need is forbidden: everything but its own style, script and images.
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return environment.from_string((files / "page.html.jinja").read_text("utf-8")).render(
        policy=policy,
        style=Markup(style),  # noqa: S704 (the package's own)
        script=Markup(script),  # noqa: S704 (the package's own)
        version=metadata.version("osdi-frames"),
        counted=counted,
        **parts,
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
