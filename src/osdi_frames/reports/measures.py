"""Measures: what a report computes of each group of rows, with the columns, the unit and the total of each.

The columns are brought to one dtype each. The headline figures are computed of all rows: one number of RSVPs, and how
it compares with the attendances that were read. RSVPs are the service's own totals of the events that count; where no
event counts, they are the attendances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype, is_integer_dtype, is_numeric_dtype

from osdi_frames.errors import InvalidColumn, MissingColumn, counted, nearest
from osdi_frames.messages import shorten
from osdi_frames.tables.schema import NO_DATE, NONE

Convert: TypeAlias = Callable[[pd.Series], pd.Series]
Grouped: TypeAlias = "pd.api.typing.DataFrameGroupBy[Any, Any]"
Made: TypeAlias = Mapping[str, pd.Series]
Compute: TypeAlias = Callable[[Grouped, Made], pd.Series]
"""Takes the rows by the number of their group, and the measures before; returns a value per group."""

Unit: TypeAlias = Literal["number", "decimal", "change", "share", "change share", "time", "text", "mark"]

#: Whether an act is its person's first, and brought them.
IS_NEW: Final = "is_new"

_FORMATS: Final[Mapping[Unit, str]] = {
    "number": ",",
    "decimal": ",.1f",
    "change": "+,",
    "share": ".1%",
    "change share": "+,.1%",
    "time": "%Y-%m-%d",
    "text": "",
    "mark": "",
}

UTC: Final = "datetime64[us, UTC]"
LOCAL: Final = "datetime64[us]"

_LARGEST: Final = 2**63 - 1
_HALF: Final = 2.0**62  # below it, a sum of floats is exact enough


def take(
    frame: pd.DataFrame,
    needs: Mapping[str, Convert],
    *,
    keys: Iterable[str] = (),
    report: str,
    reader: str = "",
) -> pd.DataFrame:
    """Take the columns that are counted.

    Rows are numbered from 0; `keys` must be there, too.

    An error names the `reader` of such a frame; where keys alone are missing, columns with similar names.
    """
    keys = list(keys)
    missing = [name for name in dict.fromkeys([*keys, *needs]) if name not in frame.columns]
    if missing:
        mistyped = len(frame.columns) and keys and missing[-1] in keys  # the keys are the first
        hint = nearest(missing[0], map(str, frame.columns)) if mistyped else reader
        what = f"{report} needs {', '.join(map(shorten, missing))}, which the frame does not have"
        raise MissingColumn("; ".join(filter(None, [what, hint])))
    return pd.DataFrame({name: converted(frame[name], to, report=report) for name, to in needs.items()})


def zone_note(frame: pd.DataFrame, needs: Mapping[str, Convert]) -> str:
    """Return a note on the columns whose times count as UTC, though some have no zone."""
    named = [
        name
        for name, convert in needs.items()
        if convert is utc and name in frame and _lacks_zone(frame[name])
    ]
    return f"without a time zone, so counted as UTC: {', '.join(named)}" if named else ""


def _lacks_zone(column: pd.Series) -> bool:
    if is_datetime64_any_dtype(column.dtype):
        return column.dt.tz is None and bool(column.notna().any())
    times = column.dropna().astype("str")
    return not times.str.contains(r"\d:\d\d.*(?:Z|[+-]\d\d(?::?\d\d)?)$").all()


def refuse_lacking(frame: pd.DataFrame, columns: Iterable[str], *, name: str, report: str) -> None:
    """Raise MissingColumn if a report's other frame lacks some."""
    if missing := [column for column in columns if column not in frame.columns]:
        raise MissingColumn(f"{report}: {name} needs {', '.join(missing)}")


def converted(column: pd.Series, convert: Convert, *, report: str) -> pd.Series:
    """Bring a column to its dtype, rows numbered from 0."""
    try:
        return convert(column.reset_index(drop=True))
    except (TypeError, ValueError, OverflowError) as error:
        reason = str(error).partition("\n")[0].removesuffix(" You might want to try:")
        raise InvalidColumn(
            f"{report} cannot use the column {shorten(str(column.name))}: {shorten(reason)}"
        ) from None


def coded(column: pd.Series) -> tuple[NDArray[Any], pd.Index]:
    """Return the numbers of a column's texts, and the texts.

    A missing one is -1.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories.astype("str")
    return pd.factorize(column.astype("str"))


def identity(column: pd.Series) -> pd.Series:
    """Convert ids to numbers; blank is missing."""
    if is_integer_dtype(column.dtype):
        return column
    codes, texts = coded(column)
    blank = np.append(texts.str.strip() == "", True)
    return pd.Series(codes).mask(blank[codes])


def whole(column: pd.Series) -> pd.Series:
    """Convert to whole numbers that may be missing.

    Their sum fits 64 bits: pandas would wrap.
    """
    with np.errstate(invalid="ignore"):  # a float beyond 64 bits is an error, and not also a warning
        counts: pd.Series = column.astype("Int64")
    if counts.astype("float64").abs().sum() > _HALF and sum(map(abs, counts.dropna().tolist())) > _LARGEST:
        raise OverflowError("the sum of its values does not fit 64 bits")
    return counts


def utc(column: pd.Series) -> pd.Series:
    """Convert times to UTC.

    Those without a zone are taken for UTC.
    """
    return _parsed(column, utc=True).astype(UTC)


def local(column: pd.Series) -> pd.Series:
    """Convert to wall clocks (interface 2.1).

    A zone is dropped, the hour never shifted.
    """
    times: pd.Series = _parsed(column).dt.tz_localize(None)
    return times.astype(LOCAL)


def time(column: pd.Series) -> pd.Series:
    """Convert times with a zone to UTC.

    Those without one stay wall clocks.
    """
    times = column if is_datetime64_any_dtype(column.dtype) else _parsed(column)
    return times.astype(LOCAL) if times.dt.tz is None else times.astype(UTC)


def text(column: pd.Series) -> pd.Series:
    """Convert to texts."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype("str")
    codes, texts = coded(column)  # pandas would convert each row
    return pd.Series(texts.array.take(codes, allow_fill=True), column.index)


def maybe(column: pd.Series) -> pd.Series:
    """Convert to true, false or missing."""
    return column.astype("boolean")


def whether(column: pd.Series) -> pd.Series:
    """Convert to true or false; a missing one is false."""
    return maybe(column).fillna(False).astype("bool")


def _parsed(column: pd.Series, *, utc: bool = False) -> pd.Series:
    if is_numeric_dtype(column.dtype) and column.notna().any():
        raise TypeError("numbers are no times")  # pandas would take them for nanoseconds
    return pd.to_datetime(column, utc=utc, format="ISO8601")


@dataclass(frozen=True, slots=True)
class Shown:
    """A column of a report as it is shown.

    Its total stands for several rows, where anything can: distinct people have none, and a rate, for which it names
    two columns, is that of their sums.
    """

    name: str
    unit: Unit = "number"
    total: Literal["sum", "min", "max"] | tuple[str, str] | None = "sum"
    dtype: str = "int64"  # rows that count nothing have 0 where it is this one
    is_rare: bool = False
    """Whether it is shown only where a tenth of the rows have it."""


#: Whether a count is as it was in the report before, where small counts are hidden.
KEPT: Final = Shown("kept", "mark", None, "boolean")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(Shown):
    """A column of a report, computed and shown."""

    meaning: str
    """Its sentence in the documentation."""
    compute: Compute
    needs: Mapping[str, Convert] = field(default_factory=dict)
    """The columns that it reads."""
    uses: Mapping[str, Convert] = field(default_factory=dict)
    """Those that it reads where a frame has them."""
    is_optional: bool = False
    """Whether a frame may lack them: the report then leaves the column out."""
    unprotected: bool = False
    """Whether small counts can be computed from it: `suppress` leaves it out."""
    needs_any: str = ""
    """The count that some row must have: a report without any leaves the column out."""


def show(value: Any, unit: Unit) -> str:
    """Return a value as terminal and page show it.

    >>> show(1234, "number"), show(0.125, "share"), show(pd.Timestamp("2026-05-01 18:00"), "time"), show(pd.NA, "share")
    ('1,234', '12.5%', '2026-05-01', '–')
    >>> show(True, "mark"), show(False, "mark"), show(pd.NA, "mark")
    ('=', '', '')
    >>> show(7, "change"), show(0, "change"), show(0.0, "change share")
    ('+7', '±0', '±0.0%')
    """
    if unit == "mark":
        return "=" if pd.notna(value) and value else ""
    if pd.isna(value):
        return "–"
    text = f"{value:{_FORMATS[unit]}}"
    return text.replace("+", "±") if "change" in unit and value == 0 else text


def show_key(value: Any) -> str:
    """Return a value of an index as it is shown.

    Of a time this is the day, and the minute where it is not the first.

    >>> show_key("email"), show_key(pd.Timestamp("2026-05-01T18:00:59Z")), show_key(pd.NaT), show_key(pd.NA)
    ('email', '2026-05-01 18:00', '(no date)', '(none)')
    """
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d}" if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"
    if value is pd.NaT:
        return NO_DATE
    return NONE if pd.isna(value) else str(value)


def count_rows(name: str, meaning: str = "how many") -> Measure:
    """Count the rows of each group."""
    return Measure(name, meaning=meaning, compute=lambda rows, _: rows.size())


def _date(name: str, meaning: str, column: str, convert: Convert, which: Literal["min", "max"]) -> Measure:
    return Measure(
        name,
        "time",
        which,
        LOCAL if convert is local else UTC,
        meaning=meaning,
        compute=lambda rows, _: rows[column].agg(which),
        needs={column: convert},
    )


def _share_of(count: str) -> Measure:
    def compute(_: Grouped, before: Made) -> pd.Series:
        return before[count] / max(before[count].sum(), 1)

    return Measure(
        "share", "share", dtype="float64", meaning=f"of all {count} of the frame, 0 to 1", compute=compute
    )


def _attended_of(rows: Grouped, before: Made) -> pd.Series:
    if "event_id" not in rows.obj.columns:
        return before["rsvps"]
    is_counted = _of_events_with_check_ins(rows.obj["attended"], rows.obj["event_id"])
    return is_counted.groupby(rows.obj["group"]).sum()


def _of_events_with_check_ins(came: pd.Series, event: pd.Series) -> pd.Series:
    """Return which attendances are of events at which anybody attended.

    Where the event is not known, those who came are.
    """
    return came | event.isin(event[came].dropna())


def _cumulative(count: str) -> Measure:
    return Measure(
        "cumulative",
        total="max",
        meaning=f"{count} up to the end of the period",
        compute=lambda _, before: before[count].cumsum(),
        unprotected=True,
    )


def _new(rows: Grouped, before: Made) -> pd.Series:
    index, is_new = before["people"].index, rows.obj[IS_NEW]
    if len(is_new) and is_new.isna().all():
        return pd.Series(pd.NA, index)
    people: pd.Series = rows.obj[is_new.fillna(False)].groupby("group")["person_id"].nunique()
    return people.reindex(index, fill_value=0)


def _limited(rows: Grouped, _: Made) -> pd.Series:
    limited: pd.Series = rows.obj["total_accepted"].where(rows.obj["capacity"].notna())
    return limited.groupby(rows.obj["group"]).sum(min_count=1)


_LIMITED: Final = {"total_accepted": whole, "capacity": whole}
RSVPS: Final = Measure(
    "rsvps",
    meaning="the sum of total_accepted; missing counts 0",
    compute=lambda rows, _: rows["total_accepted"].sum(),
    needs={"total_accepted": whole},
)
PEOPLE: Final = Measure(
    "people",
    total=None,
    meaning="how many distinct person_id; a row without one is nobody's",
    compute=lambda rows, _: rows["person_id"].nunique(),
    needs={"person_id": identity},
    unprotected=True,
)
#: Of them those whom an act of the row brought: only where the acts of an archive say so.
NEW: Final = Measure(
    "new",
    dtype="Int64",
    is_rare=True,
    meaning="of them, those who were not on the list before: this was their first act (see `Archive.actions`);\n  "
    "missing where this is known of nobody",
    compute=_new,
    needs={"person_id": identity, IS_NEW: maybe},
    is_optional=True,
    unprotected=True,
)
SIGNATURES: Final = count_rows("signatures")
ATTENDANCES: Final = count_rows("rsvps", "how many attendances")
#: Those who came, of the attendances: only where there are any.
ATTENDED: Final = (
    Measure(
        "attended",
        meaning="how many of them attended; no column where nobody did",
        compute=lambda rows, _: rows["attended"].sum(),
        needs={"attended": whether},
        unprotected=True,
        needs_any="attended",
    ),
    Measure(
        "attended_of",
        meaning="how many of them are of events at which anybody attended; where the frame lacks event_id, all;\n"
        "  no column where nobody did",
        compute=_attended_of,
        needs={"attended": whether},
        uses={"event_id": identity},
        unprotected=True,
        needs_any="attended",
    ),
    Measure(
        "attended_share",
        "share",
        ("attended", "attended_of"),
        "float64",
        meaning="attended over attended_of, the rate of those who came; missing where there is no such event,\n"
        "  no column where nobody did",
        compute=lambda _, before: before["attended"] / before["attended_of"].where(before["attended_of"] > 0),
        unprotected=True,
        needs_any="attended",
    ),
)
#: Times of single acts: as many different ones as there are in a month, so many acts it has at least.
_DATES: Final = (
    replace(_date("first", "the first created_date (UTC)", "created_date", utc, "min"), unprotected=True),
    replace(_date("last", "the last created_date (UTC)", "created_date", utc, "max"), unprotected=True),
)

OF_EVENTS: Final = (
    count_rows("events"),
    RSVPS,
    Measure(
        "limited_events",
        is_rare=True,
        meaning="how many events have a capacity (interface 2.1)",
        compute=lambda rows, _: rows["capacity"].count(),
        needs=_LIMITED,
    ),
    Measure(
        "limited_rsvps",
        is_rare=True,
        meaning="the RSVPs of those events",
        compute=_limited,
        needs=_LIMITED,
        unprotected=True,
    ),
    Measure(
        "capacity",
        dtype="Int64",
        is_rare=True,
        meaning="the capacity of those events; missing when there are none",
        compute=lambda rows, _: rows["capacity"].sum(min_count=1),
        needs=_LIMITED,
    ),
    Measure(
        "fill_rate",
        "share",
        ("limited_rsvps", "capacity"),
        "float64",
        is_rare=True,
        meaning="limited_rsvps over capacity; missing when there is none, or 0, or no such event has a total_accepted",
        compute=lambda rows, before: (
            _limited(rows, before) / before["capacity"].where(before["capacity"] > 0)
        ),
        needs=_LIMITED,
        unprotected=True,
    ),
    _date("first_start", "wall clock at the place of the event", "start_date", local, "min"),
    _date("last_start", "wall clock at the place of the event", "start_date", local, "max"),
)
OF_SIGNATURES: Final = (SIGNATURES, PEOPLE, NEW, _share_of("signatures"), *_DATES)
OF_ATTENDANCES: Final = (ATTENDANCES, *ATTENDED, PEOPLE, NEW, _share_of("rsvps"), *_DATES)
#: Of what was known of each event at each pull.
KNOWN_RSVPS: Final = replace(RSVPS, needs={"event_id": identity, "fetched_at": utc, **RSVPS.needs})
#: Of growth, whose rows have a column for each value that the events are grouped by.
BY_PULL: Final = (
    replace(
        KNOWN_RSVPS,
        meaning="of all events, as they were last known",
        compute=lambda rows, _: rows.sum().sum(axis=1),
        total=None,
    ),
    Measure(
        "new_rsvps",
        dtype="Int64",
        meaning="since the pull before; missing for the first",
        compute=lambda _, before: before["rsvps"].diff(),
    ),
)
SIGNATURES_OVER_TIME: Final = (SIGNATURES, PEOPLE, NEW, _cumulative("signatures"))
ATTENDANCES_OVER_TIME: Final = (ATTENDANCES, *ATTENDED, PEOPLE, NEW, _cumulative("rsvps"))


Tables: TypeAlias = Mapping[str, pd.DataFrame]
"""The rows that count, of each table that is reported."""

_FIGURES: Final[Mapping[str, Mapping[str, Callable[[pd.DataFrame], int]]]] = {
    "events": {"events": len, "rsvps": lambda events: int(events["total_accepted"].sum())},
    "attendances": {
        "attendances": len,
        "attended": lambda attendances: int(attendances["attended"].sum()),
        "rsvp_people": lambda attendances: attendances["person_id"].nunique(),
    },
    "signatures": {"signatures": len, "people": lambda signatures: signatures["person_id"].nunique()},
}


def are_attendances(tables: Tables) -> bool:
    """Return whether the RSVPs are those read one by one."""
    return _size(tables, "attendances") > 0 and not _size(tables, "events")


def _size(tables: Tables, name: str) -> int:
    return len(tables[name]) if name in tables else 0


def headline_figures(tables: Tables) -> dict[str, int]:
    """Count events, RSVPs, attendances, signatures, and people.

    Those of attendances are left out where there are none, and `attended` where nobody is.
    """
    read = {name: tables[name] for name in _FIGURES if name in tables}
    found = {name: count(rows) for table, rows in read.items() for name, count in _FIGURES[table].items()}
    if are_attendances(tables):
        found["rsvps"] = found["attendances"]
    if not found.get("attendances"):
        return {name: count for name, count in found.items() if name not in _FIGURES["attendances"]}
    return {name: count for name, count in found.items() if count or name != "attended"}


def hidden_figures(tables: Tables, below: int) -> frozenset[str]:
    """Return the headline figures to hide.

    They are small, or reveal how few people acted twice, how few came, or how few RSVPs one count alone has.
    """
    found, hidden = headline_figures(tables), {"attended"}
    for acts, people in (("signatures", "people"), ("attendances", "rsvp_people")):
        number, persons = found.get(acts, 0), found.get(people, 0)
        if 0 < number < below or 0 < persons < below:
            hidden |= {acts, people}
        elif 0 < number - persons < below:
            hidden.add(people)
    if are_attendances(tables):
        return frozenset(hidden | ({"rsvps"} if "attendances" in hidden else set()))
    is_small = 0 < found.get("rsvps", 0) < below
    return frozenset(hidden | {"attendances", "rsvp_people"} | ({"rsvps"} if is_small else set()))


def rsvp_notes(tables: Tables, *, of_period: bool, below: int | None) -> list[str]:
    """Return lines on RSVPs: totals, attendances, attended.

    Where small counts are hidden, they have no numbers.
    """
    if not _size(tables, "attendances"):
        return []
    compared = "" if are_attendances(tables) else _compared(tables, of_period=of_period)
    if below is not None:
        return [_WITHOUT_NUMBERS] if compared else []
    return [line for line in (compared, _attended_line(tables["attendances"])) if line]


def _attended_line(attendances: pd.DataFrame) -> str:
    """Count who attended, and of how many RSVPs."""
    attended, of = check_ins(attendances)
    rate = show(attended / max(of, 1), "share")
    return f"attended: {attended:,} of {counted(of, 'RSVP')} of events with check-ins ({rate})" if of else ""


def check_ins(attendances: pd.DataFrame) -> tuple[int, int]:
    """Count who attended, and RSVPs of events where anybody did."""
    came = whether(attendances["attended"])
    return int(came.sum()), int(_of_events_with_check_ins(came, attendances["event_id"]).sum())


#: What is said where small counts are hidden: how many RSVPs one of both lacks may be few.
_WITHOUT_NUMBERS: Final = "RSVPs are the service's totals; the attendances in this archive are not the same."


def _compared(tables: Tables, *, of_period: bool) -> str:
    """Return what the totals and the attendances have in common.

    Nothing, if they are the same. Within a period they are not about the same RSVPs: events are filtered by another
    date.
    """
    events, attendances = tables["events"], tables["attendances"]
    total, number = int(events["total_accepted"].sum()), len(attendances)
    rsvps = f"{counted(total, 'RSVP')} by the service's totals"
    if of_period:
        read = f"{counted(number, 'attendance')} in this archive"
        return f"{rsvps}, of events by start_date; {read}, by created_date." if total != number else ""
    totals = events.groupby("event_id")["total_accepted"].sum().astype("int64")
    of_event = attendances["event_id"].value_counts()
    of_event = of_event.set_axis(of_event.index.astype("str")).reindex(totals.index, fill_value=0)
    both = totals.clip(upper=of_event)
    common, besides = int(both.sum()), int(of_event.sum() - both.sum())
    if common == total == number:
        return ""
    said = [rsvps, *([_in_common(common, total, both, totals)] if total else [])]
    others = (
        (besides, "that the totals do not count"),
        (number - common - besides, "of events that it lacks"),
    )
    if more := [f"{counted(some, 'attendance')} {which}" for some, which in others if some]:
        said.append(f"{'it also' if common else 'this archive'} has {' and '.join(more)}")
    return f"{'; '.join(said)}."


def _in_common(common: int, total: int, both: pd.Series, totals: pd.Series) -> str:
    """Return how many RSVPs, of how many events, are attendances."""
    if not common:
        return "none of them is in this archive as an attendance"
    some = "all" if common == total else f"{common:,}"
    are = "is in this archive as an attendance" if common == 1 else "are in this archive as attendances"
    begun, all_ = int((both > 0).sum()), int((totals > 0).sum())
    return f"{some} of them {are}" + (f", from {begun:,} of {counted(all_, 'event')}" if begun < all_ else "")
