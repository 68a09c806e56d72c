"""What the page shows of a report: headline figures, and sections with plots and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes

from osdi_frames import plots
from osdi_frames.clock import name_of, zone_of
from osdi_frames.errors import MissingExtra
from osdi_frames.frames import TIMEZONE
from osdi_frames.local_time import utc_to_local
from osdi_frames.messages import counted
from osdi_frames.page import figures, tables
from osdi_frames.reports.acts import UNKNOWN_NEW
from osdi_frames.reports.columns import Clock
from osdi_frames.reports.declared import COUNTED_ACTS
from osdi_frames.reports.headline import check_ins
from osdi_frames.reports.hours import weekday_hours
from osdi_frames.reports.measures import show
from osdi_frames.reports.report import Report
from osdi_frames.reports.result import ReportResult

#: What a line that says which spellings are one row tells those who call functions or commands.
_HOW_TO_PART: Final = re.compile("; spelling=.*")
MAP_COLUMNS: Final = ["location_latitude", "location_longitude"]
#: The report that is the curve at the top of the page.
CURVE: Final = "activity"
_DECIMALS: Final = 2  # of a degree: about a kilometre
_DISCS: Final = 300  # more would make the page slow: they are then a picture in the plot
_HEIGHT: Final = 2.8  # inches of a plot over time
_CURVE: Final = 2.0  # inches of the curve at the top
_AXIS: Final = 0.9  # inches of what stands below other plots
#: Inches of each row of other plots, and how many rows can be read.
_ROWS: Final = {
    "retention": (0.19, 24),
    "attribution": (0.32, 10),
    "funnel": (0.4, 20),
    "repeats": (0.25, 20),
}


@dataclass(frozen=True, slots=True)
class Section:
    """A report in the page: plot, table, or both.

    `period` stands above them, `caveats` below.
    """

    name: str
    heading: str
    caveats: Sequence[str] = ()
    plot: Markup | None = None
    table: tables.PageTable | None = None
    period: str = ""


Parts: TypeAlias = Mapping[str, Sequence[Section]]
"""The sections of each part, by its heading."""


def parts(made: ReportResult, *, rows: int = tables.ROWS, draws: bool = True) -> Parts:
    """Return the sections of a report, what changed first.

    A table has so many rows at most; without `draws` there are tables alone. A part without sections is one of which
    nothing was read.
    """
    found: dict[str, list[Section]] = {}
    for declared, report in made.reports:
        if declared.name == CURVE:
            continue
        sections = found.setdefault((declared.part or declared.read_from).capitalize(), [])
        if len(made.tables[declared.read_from]) and (len(report) or declared.function is None):
            sections.append(_of_report(declared, report, rows, made.notes, draws=draws))
    for part, section in _figures(made) if draws else ():
        found.setdefault(part, []).append(section)
    return found


def curve(made: ReportResult) -> Markup | None:
    """Draw the acts of the last periods, if any were counted."""
    if CURVE not in made:
        return None
    label = (
        "Acts by period, and in grey those of as many periods before; the CSV file activity has the figures."
    )
    return figures.picture(partial(plots.activity, made[CURVE]), height=_CURVE, label=label)


def points(counts: Sequence[int]) -> str:
    """Return the points of a small curve that is 100 wide and 24 high, with a margin for its line.

    >>> points([0, 5, 10])
    '0,23 50,12 100,1'
    """
    highest, last = max([*counts, 1]), max(len(counts) - 1, 1)
    return " ".join(
        f"{at * 100 / last:.4g},{23 - 22 * count / highest:.3g}" for at, count in enumerate(counts)
    )


def _of_report(
    declared: Report, report: pd.DataFrame, rows: int, notes: Sequence[str], *, draws: bool
) -> Section:
    period, caveat = report.attrs.get("period", ""), report.attrs.get("caveat", "")
    said = [_HOW_TO_PART.sub("", line) for line in caveat.splitlines() if line != period]
    if "new" in report:
        said += [note for note in notes if note.startswith(UNKNOWN_NEW) and declared.read_from in note]
    caveats = [*map(sentence, said), *filter(None, [declared.caption])]
    table = tables.of_report(declared, report, rows=rows)
    plot = _plot(declared, report) if draws else None
    return Section(declared.name, declared.heading, caveats, plot, table, period)


def sentence(text: str) -> str:
    """Return a text as a sentence.

    >>> sentence("28 people began late"), sentence("nothing.")
    ('28 people began late.', 'Nothing.')
    """
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def _plot(declared: Report, report: pd.DataFrame) -> Markup | None:
    """Draw a report over time, or on people; other reports have bars in their tables.

    Of cohorts the last are drawn, as far as the table goes.
    """
    draw, height = plots.drawing(declared), _HEIGHT
    if draw is None or not (declared.is_over_time or declared.part == "people"):
        return None
    if declared.name in _ROWS:
        row, most = _ROWS[declared.name]
        height = _AXIS + row * min(len(report), most)
        if declared.name == "retention":
            report = report[[column.name for column in declared.shown(report)]].tail(most)
        else:
            draw = partial(draw, top=most)
    label = f"Plot of {declared.heading}; the table below holds its figures."
    return figures.picture(partial(draw, report), height=height, label=label)


def _figures(made: ReportResult) -> list[tuple[str, Section]]:
    """Return maps, and the hours of the week, of rows that have places.

    Where small counts are hidden, discs of events are of one size, and people have no places.
    """
    sections = []
    events, signatures = (made.tables.get(name, pd.DataFrame()) for name in ("events", "signatures"))
    if _are_placed(events):
        sized = made.below is None
        size = " as large as its RSVPs" if sized else ""
        label = f"Map of the events by longitude and latitude, each place a disc{size}."
        rounded = events.round(dict.fromkeys(MAP_COLUMNS, _DECIMALS))
        section = _map(
            "event_map", "Events on the map", label, partial(plots.event_map, sized=sized), rounded
        )
        sections.append(("Events", section))
    if made.below is None and _are_placed(signatures):
        label = (
            "Map of the signatures by longitude and latitude, each place a disc as large as its signatures."
        )
        section = _map("signature_map", "Signatures on the map", label, plots.signature_map, signatures)
        sections.append(("Signatures", section))
        sections += [("Signatures", section) for section in _hours(signatures)]
    return sections


def _are_placed(rows: pd.DataFrame) -> bool:
    return {*MAP_COLUMNS} <= {*rows.columns} and bool(rows[MAP_COLUMNS].notna().all(axis=1).any())


def _map(name: str, heading: str, label: str, plot: Callable[..., Axes], rows: pd.DataFrame) -> Section:
    """Draw where events take place, or people are."""

    def draw(ax: Axes) -> None:
        plot(rows, ax=ax)
        for discs in ax.collections:
            discs.set_rasterized(len(rows) > _DISCS)

    return Section(name, heading, plot=figures.picture(draw, height=5.0, label=label))


def _hours(signatures: pd.DataFrame) -> list[Section]:
    """Draw when people sign, by their wall clock, if the extra that knows time zones is installed."""
    try:
        counts = weekday_hours(utc_to_local(signatures))
    except MissingExtra:
        return []
    label = "Signatures by weekday and hour, where people are; weekday_hours has the figures."
    plot = figures.picture(partial(plots.weekday_hours, counts), height=_HEIGHT, label=label)
    caveats = counts.attrs["note"].splitlines()[-1:]
    return [Section("weekday_hours", "When people sign, by their own clock", caveats, plot)]


def cards(made: ReportResult) -> list[tuple[str, str, str]]:
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
    if summary.get("attended"):
        attended, rsvps = check_ins(made.tables["attendances"])
        share = f"{show(attended / rsvps, 'share')} of {counted(rsvps, 'RSVP')} of events with check-ins"
        cards.append(("Attended", figures["attended"], share))
    if "signatures" in made.tables and not (made.rsvps_are_attendances and summary["signatures"] == 0):
        days += (signed := _acted(made, "signatures"))
        cards.append(("Signatures", figures["signatures"], "".join(map(_dates, signed))))
        if summary["people"] is not None:
            cards.append(("Signers", figures["people"], "people who signed, each counted once"))
    days += [*_acted(made, "attendances"), *_acted(made, COUNTED_ACTS.table)]
    return [*cards, *_period(days, [note for _, _, note in cards])]


def _period(days: Sequence[pd.Series], notes: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the card of the period of all that is counted, unless another card notes the same dates."""
    if not days or (dates := _dates(every := pd.concat([times.dropna() for times in days]))) in notes:
        return []
    years = [str(day.year) for day in _span(every)]
    return [("Period", "–".join(dict.fromkeys(years)) or "–", dates)]


def _acted(made: ReportResult, table: str) -> list[pd.Series]:
    """Return when somebody acted, unless small counts are hidden."""
    if made.below or table not in made.tables:
        return []
    column = "date" if table == COUNTED_ACTS.table else "created_date"
    return [Clock.of(made.tables[table], column, report="report").times]


def zone(made: ReportResult) -> str:
    """Return the zone that days, months and hours are of."""
    frames = made.tables.values()
    return name_of(zone_of(next((frame.attrs.get(TIMEZONE) for frame in frames), None)))


def _span(times: pd.Series) -> list[pd.Timestamp]:
    return [day for day in (times.min(), times.max()) if pd.notna(day)]


def _dates(times: pd.Series) -> str:
    # A date breaks nowhere.
    dates = [f"{day.day}\u00a0{day:%b}\u00a0{day.year}" for day in _span(times)]
    return " – ".join(dict.fromkeys(dates)) or "no date"
