"""A report of an archive at a glance: the figures of the last period, sentences about them, and what needs attention.

Where small counts are hidden, the reports on change are not made, and nothing here has their figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from osdi_frames.arrow import same_texts
from osdi_frames.clock import on_clock
from osdi_frames.messages import counted, printable, status
from osdi_frames.reports.columns import Clock, zone_for
from osdi_frames.reports.declared import COUNTED_ACTS
from osdi_frames.reports.exclusion import ACT
from osdi_frames.reports.known import Known, latest_time
from osdi_frames.reports.measures import show_key
from osdi_frames.reports.result import ReportResult
from osdi_frames.reports.titles import heading
from osdi_frames.tables import TABLES
from osdi_frames.tables.schema import NONE

_TILES: Final = 6
_DAYS: Final = 5  # with events to come
_AHEAD: Final = pd.Timedelta(days=1)  # the wall clock of an event can be ahead of the present
_OLD: Final = pd.Timedelta(days=14)  # without an act for longer, a pull or a delivery may be missing
#: What acts are called with the title of what they are about: one, and several.
_ACTS_ON: Final[Mapping[str, tuple[str, str]]] = {
    "signed": ("signature is of", "signatures are of"),
    "rsvped": ("RSVP is to", "RSVPs are to"),
    "attended": ("person came to", "people came to"),
    "submitted": ("answer is to", "answers are to"),
    "donated": ("gift is to", "gifts are to"),
    "wrote": ("letter is of", "letters are of"),
    "responded": ("answer is to", "answers are to"),
    "hosted": ("person hosts", "people host"),
}


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure of the last period, its change since the period before, and its counts in the periods up to it."""

    name: str
    count: int
    change: int
    by_chance: bool
    counts: list[int]


@dataclass(frozen=True, slots=True)
class Glance:
    """What a report says at a glance."""

    period: str
    """The two periods that are compared; empty without any."""
    tiles: list[Tile]
    sentences: list[str]
    to_come: list[str]
    """The next days with events, a sentence each."""
    attention: list[str]
    """What may be wrong or missing, as sentences."""


def glance(made: ReportResult, now: datetime) -> Glance:
    """Return what a report says at a glance; `now` is the present."""
    said = (_people, _first_time, _most, _rising, _newer, _new, _hosts)
    sentences = [sentence for of_report in said for sentence in of_report(made)]
    to_come, attention = [*_to_come(made)], [*_attention(made, now)]
    if not {"activity", "changes"} <= made.keys():
        return Glance("", [], sentences, to_come, attention)
    changes, weeks = made["changes"], made["activity"]
    half = weeks[len(weeks) // 2 :]
    often = (
        half.drop(columns=["people", "first time", "new people"])
        .sum()
        .sort_values(ascending=False, kind="stable")
    )
    names = ["people", "first time", *often.index][:_TILES]
    tiles = [_tile(str(name), changes, half[name].tolist()) for name in names]
    return Glance(changes.attrs["period"], tiles, sentences, to_come, attention)


def _tile(name: str, changes: pd.DataFrame, counts: list[int]) -> Tile:
    # Where nobody did so in either period, there is no row.
    row = _rows(changes).get(name, {"now": 0, "change": 0, "by_chance": True})
    return Tile(heading(name), row["now"], row["change"], by_chance=row["by_chance"], counts=counts)


def _rows(report: pd.DataFrame) -> dict[Any, dict[str, Any]]:
    rows: dict[Any, Any] = report.astype(object).to_dict("index")
    return rows


def _people(made: ReportResult) -> Iterator[str]:
    """Yield how many people took part, against the period before."""
    if "changes" not in made:
        return
    periods = made["changes"].attrs["periods"]
    row = _rows(made["changes"]).get("people")
    if row is None:
        yield f"Nobody who is known took part {periods['now']}."
        return
    chance = ", which chance alone can make" if row["by_chance"] and row["change"] else ""
    people = counted(row["now"], "person", "people")
    yield f"{people} took part {periods['now']}, {_than(row['change'])} before{chance}."


def _first_time(made: ReportResult) -> Iterator[str]:
    """Yield which source brought most of those who took part for the first time, and how many of them are new."""
    if not {"changes", "growth_by_source"} <= made.keys():
        return
    brought = made["growth_by_source"]
    first, new, unknown = (int(brought[name].sum()) for name in ("first", "now", "unknown"))
    if not first:
        return
    yield f"{first:,} of them took part for the first time{_by_source(brought['first'])}."
    if unknown == first:
        yield "Whether they are new is not known."
        return
    old, known = first - new - unknown, []
    if new:
        known.append(f"{counted(new, 'is', 'are')} known to be new{_by_source(brought['now'])}")
    if old:
        known.append(f"{counted(old, 'was', 'were')} listed before")
    if unknown:
        known.append(f"of {unknown:,} it is not known whether they are new")
    yield f"Of the {first:,}, {'; '.join(known)}."


def _most(made: ReportResult) -> Iterator[str]:
    """Yield what the most acts were about."""
    titles = _rows(made["changes_by_title"]) if "changes_by_title" in made else {}
    named = {key: row for key, row in titles.items() if key[1] != NONE and row["now"]}
    if not named:
        return
    action, title = max(named, key=lambda key: named[key]["now"])
    count, change = named[action, title]["now"], named[action, title]["change"]
    acts = f"{count:,} {_ACTS_ON[action][count != 1]}"
    yield f"{acts} {printable(str(title))}, {_than(change)} before."


def _rising(made: ReportResult) -> Iterator[str]:
    """Yield the source that brought most more acts, if that is more than chance alone can make."""
    if "changes_by_source" not in made:
        return
    rising = {
        source: row
        for source, row in _rows(made["changes_by_source"]).items()
        if source != NONE and row["change"] > 0 and not row["by_chance"]
    }
    if not rising:
        yield "No source brought more acts than chance alone can make."
        return
    source = max(rising, key=lambda source: rising[source]["change"])
    most, without = rising[source], _rows(made["changes_by_source"]).get(NONE, {"change": 0})
    rose = f"rose most, from {most['before']:,} to {most['now']:,} acts"
    if without["change"] >= most["change"]:
        rose += f"; without a source, {without['before']:,} to {without['now']:,}"
    yield f"{printable(str(source))} {rose}."


def _newer(made: ReportResult) -> Iterator[str]:
    """Yield which days after the last period are not compared."""
    if "changes" in made and (newer := made["changes"].attrs["newer"]):
        yield f"{newer}."


def _new(made: ReportResult) -> Iterator[str]:
    """Yield which source brought most of the people who are new to the list."""
    if "growth_by_source" in made and (count := int((new := made["growth_by_source"]["new"]).sum())):
        unknown = made["growth_by_source"].attrs["unknown"]
        rest = f"; of {unknown:,} it is not known" if unknown else ""
        yield f"In all, {counted(count, 'is', 'are')} known to be new{_by_source(new, without=False)}{rest}."


def _by_source(people: pd.Series, *, without: bool = True) -> str:
    """Return how many of the people came by the source that brought most of them, and how many without any.

    >>> _by_source(pd.Series({"email": 3, NONE: 1}))
    ' (3 by email, 1 without a source)'
    """
    named, others = people.drop(NONE, errors="ignore"), int(people.get(NONE, 0))
    parts = [f"{named.max():,} by {printable(str(named.idxmax()))}"] if named.any() else []
    parts += [f"{others:,} without a source"] if others and without else []
    return f" ({', '.join(parts)})" if parts else ""


def _to_come(made: ReportResult) -> Iterator[str]:
    """Yield each of the next days with events, and how full these are."""
    if "upcoming" not in made:
        return
    events = made["upcoming"]
    days = list(events.groupby(events["start_date"].dt.normalize()))
    number = ", ".join(name for name, _ in _kinds(events)) or "no event"
    later = f"; {events.attrs['later']:,} later" if events.attrs["later"] else ""
    yield f"To come until {events.attrs['period'].split()[-1]}: {number}{later}."
    most = _DAYS if len(days) > _DAYS + 1 else len(days)
    for day, rows in days[:most]:
        yield f"{day:%a} {day.day} {day:%b}: {'; '.join(_on_a_day(rows))}."
    if rest := days[most:]:
        count = counted(sum(len(rows) for _, rows in rest), "event")
        yield f"Then {count} on {counted(len(rest), 'day')} more."


def _kinds(events: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the confirmed events, and those of each other status, with their number as text."""
    confirmed = events[events["status"].isna()]
    if len(confirmed):
        yield counted(len(confirmed), "event"), confirmed
    more = "more " if len(confirmed) else ""
    for name, rows in events.groupby("status"):
        yield f"{len(rows):,} {more}{status(str(name))}", rows


def _on_a_day(events: pd.DataFrame) -> Iterator[str]:
    """Yield how full the events of a day are, by their status."""
    for number, rows in _kinds(events):
        yield f"{number}, {_full(rows)}"
    if events["fill_rate"].isna().all():
        yield "no capacity given"


def _full(events: pd.DataFrame) -> str:
    """Return the RSVPs of events, how many seats are taken, and of how many events this is known."""
    rsvps, limited = counted(int(events["rsvps"].sum()), "RSVP"), events[events["fill_rate"].notna()]
    if limited.empty:
        return rsvps
    taken = f"{limited['rsvps'].sum():,} of {limited['capacity'].sum():,} seats taken"
    return taken if len(limited) == len(events) else f"{rsvps}, {taken} at {len(limited):,} of them"


def _hosts(made: ReportResult) -> Iterator[str]:
    """Yield how many people host events, without naming anybody, and what names them."""
    if len(counts := _hosted(made).drop_duplicates()["person_id"].value_counts()):
        people, most = counted(len(counts), "person", "people"), counted(int(counts.iloc[0]), "event")
        yield f"In all, {people} hosted, one of them {most} (names: --report hosts)."


def _hosted(made: ReportResult) -> pd.DataFrame:
    """Return who hosts which events, the columns person_id and subject_id, if it was read and may be shown."""
    acts, columns = made.tables.get(COUNTED_ACTS.table, pd.DataFrame()), ["person_id", "subject_id"]
    if made.below is not None or not {"action", *columns} <= {*acts.columns}:
        return pd.DataFrame(columns=columns)
    return acts.loc[acts["action"] == "hosted", columns]


def _than(change: int) -> str:
    """Return a change in words.

    >>> _than(86), _than(-1), _than(0)
    ('86 more than', '1 fewer than', 'as many as')
    """
    return f"{abs(change):,} {'more' if change > 0 else 'fewer'} than" if change else "as many as"


def _attention(made: ReportResult, now: datetime) -> Iterator[str]:
    """Yield what is incomplete, doubtful, old or unknown."""
    for text in made.incomplete:
        yield f"{text[:1].upper()}{text[1:]}."
    if made.below is None:
        if COUNTED_ACTS.table in made.tables:
            yield from _of_dates(made.tables[COUNTED_ACTS.table], now)
        yield from _of_statuses(made)
    if made.inspection is None:
        return
    by_key = made.inspection.by_key
    errors = int(by_key.loc[by_key["severity"] == "error", "count"].sum())
    if errors:
        yield f"{counted(errors, 'problem')} of what was read: something may be missing."


def _of_dates(actions: pd.DataFrame, now: datetime) -> Iterator[str]:
    """Yield how old the newest act is, and which dates are doubtful."""
    zone = zone_for(actions, None, "date")
    present = on_clock(pd.Timestamp(now), zone)
    known = Known.of(
        Clock.of(actions, "date", report="report").times,
        latest_time([actions], now, zone, report="report"),
        ACT,
    )
    if pd.notna(known.newest) and (age := present - known.newest) > _OLD:
        yield f"The newest act is {counted(age.days, 'day')} old, of {show_key(known.newest.normalize())}."
    if known.newest > present + _AHEAD:
        days = (
            f"until {show_key(known.newest.normalize())}, after the present, {show_key(present.normalize())}"
        )
        yield f"Acts are counted {days}."
    if known.note:
        yield f"{known.note[:1].upper()}{known.note[1:]}."


def _of_statuses(made: ReportResult) -> Iterator[str]:
    """Yield how many counted rows have a status that no declaration knows, and the most frequent of these."""
    for name, rows in made.tables.items():
        element = TABLES[name].element
        if not element.statuses or "status" not in rows:
            continue
        counts = rows["status"].dropna().astype("str").value_counts()
        known = same_texts(pa.array(counts.index, pa.string()), element.known_statuses).to_pylist()
        if len(unknown := counts.drop(known)):
            number = counted(int(unknown.sum()), f"{element.name} has", f"{name} have")
            which = "the unknown status" if len(unknown) == 1 else "unknown statuses, as"
            are = "it is" if unknown.sum() == 1 else "they are"
            yield f"{number} {which} {status(unknown.index[0])}; {are} counted."
