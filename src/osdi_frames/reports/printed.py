"""A report as text, for the terminal and for scripts that mail it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from textwrap import fill
from typing import Final

import pandas as pd

from osdi_frames.messages import beginning, counted, printable
from osdi_frames.reports.acts import UNKNOWN_NEW
from osdi_frames.reports.declared import MOVED
from osdi_frames.reports.glance import glance
from osdi_frames.reports.measures import show, show_key
from osdi_frames.reports.movers import movers_first
from osdi_frames.reports.report import Report
from osdi_frames.reports.result import ReportResult
from osdi_frames.reports.titles import labelled, words

#: The reports whose tables the first screen shows, as many of those that were made as there is room for, most telling
#: first.
_FIRST: Final = (
    *("rsvps_by_campaign", "signatures_by_petition", "signatures_by_source"),
    *("attendances_by_source", "acts_by_title"),
)
_ROWS: Final = 3  # of a table
_AROUND: Final = 3  # lines of a table of the first screen besides its rows
_NOT_INSPECTED: Final = "is anything wrong? osdi-frames check SOURCE lists what does not fit"
#: The columns that a narrow table leaves out first; then those at its right.
_DETAILS: Final = (
    "place",
    "limited_rsvps",
    "capacity",
    "seats_left",
    "first_start",
    "last_start",
    "first",
    "last",
)
_END: Final = 10  # characters of the end of a label that is shortened
_SHORTEST: Final = 24  # characters of a label, however narrow the terminal is


def first_screen(made: ReportResult, lines: Iterable[str], now: datetime, *, width: int, height: int) -> str:
    """Return what a report says at a glance, some tables, and the names of the others, for one screen of a terminal.

    `lines` are the headline and the notes, `now` is the present, `width` the characters of a line, `height` the
    number of lines.
    """
    said, wrapped = glance(made, now), partial(fill, width=width, subsequent_indent="  ")
    headline, *notes = (line for line in lines if not line.startswith(UNKNOWN_NEW))
    attention = (f"! {text}" for text in said.attention)
    shown = [*map(wrapped, [headline, *attention, *said.sentences, *said.to_come, *notes])]
    reports = {declared.name: (declared, frame) for declared, frame in made.reports if len(frame)}
    others = [name for name in dict.fromkeys([*_FIRST, *reports]) if name in reports]
    end = _end(made, others, wrapped)
    while others and height - "\n".join([*shown, *end]).count("\n") - _AROUND >= _ROWS:
        declared, frame = reports[others.pop(0)]
        text, *cut = _laid_out(declared, frame, top=_ROWS, width=width)
        shown += ["", f"{declared.heading}{_cut(*cut)}", text]
        end = _end(made, others, wrapped)
    return "\n".join([*shown, *end])


def _end(made: ReportResult, others: list[str], wrapped: Callable[[str], str]) -> list[str]:
    """Return the last lines of the first screen: the names of the reports that it does not show, and a hint."""
    named = wrapped(f"others, by --report NAME or all by --all: {_together(others)}")
    return [*(["", named] if others else []), *([] if made.inspection else [_NOT_INSPECTED])]


def _together(names: Iterable[str]) -> str:
    """Return names of reports, those by several keys as a shell would write them.

    >>> _together(["changes", "signatures_by_month", "signatures_by_website"])
    'changes, signatures_by_{month,website}'
    """
    keys = defaultdict[str, list[str]](list)
    for name in sorted(names):
        counted_of, _, key = name.partition("_by_")
        keys[counted_of].append(key)
    listed = []
    for counted_of, several in keys.items():
        by = [key for key in several if key]
        listed += [counted_of] * ("" in several)
        listed += [f"{counted_of}_by_{by[0] if len(by) == 1 else '{' + ','.join(by) + '}'}"] if by else []
    return ", ".join(listed)


def as_text(report: Report, frame: pd.DataFrame, *, top: int, width: int | None = None) -> str:
    """Return a report's heading, its caveats, `top` rows of its table, and its caption."""
    said = [frame.attrs["caveat"], report.caption]
    if width:
        said = [
            "\n".join(fill(line, width, subsequent_indent="  ") for line in text.splitlines())
            for text in said
        ]
    lines = [report.heading, said[0], table(report, frame, top=top, width=width), said[1]]
    return "\n".join(filter(None, lines))


def table(report: Report, frame: pd.DataFrame, *, top: int, width: int | None = None) -> str:
    """Return the first `top` rows of a report as a text table, or the last ones if it is over time.

    Where columns do not fit into `width`, the last line counts those that are left out.
    """
    text, more, columns = _laid_out(report, frame, top=top, width=width)
    rest = [f"and {more:,} {'before' if report.is_over_time else 'more'}"] if more else []
    rest += [f"without {counted(columns, 'column')}"] if columns else []
    return f"{text}\n… {', '.join(rest)}" if rest else text


def _cut(rows: int, columns: int) -> str:
    """Return what a table lacks, to stand after its heading.

    >>> _cut(0, 0), _cut(9, 1)
    ('', ', without 9 rows and 1 column')
    """
    lacks = [counted(rows, "row")] * bool(rows) + [counted(columns, "column")] * bool(columns)
    return f", without {' and '.join(lacks)}" if lacks else ""


def _laid_out(report: Report, frame: pd.DataFrame, *, top: int, width: int | None) -> tuple[str, int, int]:
    """Return `top` rows of a report as a text table, and how many rows and columns it lacks."""
    frame = labelled(movers_first(frame) if report.name in MOVED else frame)
    shown = frame.tail(top) if report.is_over_time else frame.head(top)
    levels, measures = shown.index.nlevels, dict[str, list[str]]()
    for measure in report.shown(frame):
        values = (beginning(printable(show(value, measure.unit))) for value in shown[measure.name])
        justify = str.ljust if measure.unit == "text" else str.rjust
        measures[str(measure.name)] = _aligned([str(measure.name), *values], justify)
    room = None if width is None else width - levels * (_SHORTEST + 2)
    left_out = _fitting(measures, report.count, room)
    if width is not None:  # the labels have what is left
        room = max(_SHORTEST, (width - sum(len(cells[0]) + 2 for cells in measures.values())) // levels - 2)
    labels = [
        _aligned(
            [words(name), *(_label(value, room) for value in shown.index.get_level_values(at))], str.ljust
        )
        for at, name in enumerate(shown.index.names)
    ]
    columns = zip(*labels, *measures.values(), strict=True)
    text = "\n".join("  ".join(cells).rstrip() for cells in columns)
    return text, len(frame) - len(shown), len(left_out)


def _fitting(columns: dict[str, list[str]], kept: str, room: int | None) -> list[str]:
    """Take out details, and then the last columns, as long as the others do not fit, but one; return their names."""
    left_out: list[str] = []
    names = [*columns]
    for name in [*(name for name in _DETAILS if name in names), *reversed(names)]:
        if room is None or sum(len(cells[0]) + 2 for cells in columns.values()) <= room:
            break
        if name in columns and name != kept:
            del columns[name]
            left_out.append(name)
    return left_out


def _aligned(cells: list[str], justify: Callable[[str, int], str]) -> list[str]:
    width = max(map(len, cells))
    return [justify(cell, width) for cell in cells]


def _label(value: object, most: int | None) -> str:
    """Return a label; one that is too long loses its middle, since its end can be the id that tells it from others."""
    text = printable(show_key(value))
    if most is None or len(text) <= most:
        return beginning(text)
    return f"{text[: most - _END - 1]}…{text[-_END:]}"
