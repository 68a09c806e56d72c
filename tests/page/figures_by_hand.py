"""What each figure of the page is: computed with pandas from the things that `by_hand` reads.

A table is the cells of each row by its labels, and a function that counts several rows as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pandas as pd

Labels = tuple[str, ...]
Cells = list[str]
NONE = "(none)"
#: What somebody did, and whether that is one participation of its subject, one each day, or each time.
ACTIONS = {
    "signature": ("signed", "once"),
    "attendance": ("rsvped", "once"),
    "submission": ("submitted", "a day"),
    "donation": ("donated", "each"),
    "outreach": ("wrote", "a day"),
    "response": ("responded", "once"),
}
#: Acts of one time are in this order.
ORDER = ["hosted", "signed", "rsvped", "attended", "submitted", "donated", "wrote", "responded"]
#: Statuses of attendances that are no RSVP.
UNACCEPTED = {
    *("declined", "tentative", "needs action", "cancelled", "waitlisted"),
    *("rejected", "refunded", "deleted", "no show"),
}
DAY = pd.Timedelta(days=1)


@dataclass(frozen=True)
class Table:
    """The cells of each row, and what those of several rows together are."""

    rows: dict[Labels, Cells]
    together: Callable[[list[Labels]], Cells] | None = None


def number(value: Any) -> str:
    return "–" if pd.isna(value) else f"{int(value):,}"


def share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole > 0 else "–"


def days(times: pd.Series) -> Cells:
    """Return the first and the last day."""
    return ["–" if pd.isna(time) else f"{time:%Y-%m-%d}" for time in (times.min(), times.max())]


def code(text: Any) -> str:
    """Return a source or referrer as all of its spellings are compared."""
    text = text.strip().casefold().replace("_", "-") if isinstance(text, str) else ""
    return NONE if text in ("", "none") else text


def host(text: Any) -> str:
    """Return the host of a website, which the service writes with or without the rest of the address."""
    if code(text) in (NONE, "api"):
        return NONE
    address = text if "//" in text else f"//{text}"
    return (urlsplit(address).hostname or text).removeprefix("www.")


def regions(rows: pd.DataFrame) -> list[pd.Series]:
    """Return countries and regions; of the names that people type for a region one is that of a state."""
    region = rows["region"].map(text)
    state = region.mask((rows["country"] == "US") & (region == "Washington"), "WA")
    return [rows["country"].map(text), state]


def month(time: Any) -> str:
    return "(no date)" if pd.isna(time) else f"{time:%Y-%m}"


def text(value: Any) -> str:
    return value if isinstance(value, str) and value else NONE


def titles(table: pd.DataFrame) -> dict[str, str]:
    """Return the title of each thing, with the beginning of its id where several have one title."""
    several = table["title"].duplicated(keep=False)
    marked = table["title"] + " (" + table["id"].str[:8] + ")"
    return dict(zip(table["id"], table["title"].mask(several, marked), strict=True))


# --- What counts


def counted_events(events: pd.DataFrame) -> pd.DataFrame:
    is_hidden = events["hidden"].eq(True)
    return events[~is_hidden & events["status"].ne("cancelled")]


def counted_attendances(attendances: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """Return the attendances that are RSVPs to events that count; who came, and to which of these anybody came."""
    status = attendances["status"].fillna("").str.lower()
    attended = status.eq("attended")
    uncounted = set(events["id"]) - set(counted_events(events)["id"])
    is_counted = ~attendances["event_id"].isin(uncounted) & ~status.isin(UNACCEPTED)
    rows = attendances.assign(attended=attended)[is_counted]
    checked_in = rows["event_id"][rows["attended"]].unique()
    return rows.assign(of_check_in=rows["event_id"].isin(checked_in))


def counted_signatures(signatures: pd.DataFrame) -> pd.DataFrame:
    """Return the signatures that no "send test" made: those have no date and no referrer."""
    is_dated = signatures["created_date"].notna() | signatures["modified_date"].notna()
    is_referred = signatures[["source", "referrer", "website"]].notna().any(axis=1)
    return signatures[is_dated | is_referred]


def all_acts(things: dict[str, pd.DataFrame], subjects: dict[str, str]) -> pd.DataFrame:
    """Return one row an act that counts, in order of time, with the number of the person's acts and participations."""
    events = counted_events(things["event"])
    hosted = events[events["creator_id"].notna()]
    parts = [
        hosted.assign(person_id=hosted["creator_id"], subject=hosted["id"], action="hosted", source=None)
    ]
    rows_of = things | {
        "attendance": counted_attendances(things["attendance"], things["event"]),
        "signature": counted_signatures(things["signature"]),
    }
    for kind, (action, _) in ACTIONS.items():
        parts.append(rows_of[kind].assign(subject=rows_of[kind][f"{subjects[kind]}_id"], action=action))
    came = rows_of["attendance"][rows_of["attendance"]["attended"]]
    start = came["event_id"].map(things["event"].set_index("id")["start_date"]).fillna(came["modified_date"])
    start = start.where(start > came["created_date"], came["created_date"])  # nobody came before they said so
    parts.append(came.assign(subject=came["event_id"], action="attended", created_date=start))
    columns = ["id", "person_id", "subject", "action", "source", "created_date", "seen", "amount", "currency"]
    acts = pd.concat([part.reindex(columns=columns) for part in parts], ignore_index=True)
    acts = acts.rename(columns={"created_date": "date", "person_id": "person"})
    acts["rank"] = acts["action"].map(ORDER.index)
    acts = acts.sort_values(["date", "person", "rank", "subject", "id"], ignore_index=True)
    title = pd.concat([things[kind].set_index("id")["title"] for kind in subjects.values()])
    acts["title"] = acts["subject"].map(title).map(text)
    acts["source"] = acts["source"].map(code)
    acts["month"] = acts["date"].dt.tz_localize(None).dt.to_period("M")
    acts["is_first"] = acts["person"].notna() & ~acts["person"].duplicated()
    acts["takes_part"] = takes_part(acts, {"rsvped": "event", "attended": "event"})
    created = acts["person"].map(things["person"].set_index("id")["created_date"])
    acts["is_new"] = acts["is_first"] & (created - acts["date"]).abs().le(DAY)
    # Of somebody who was created longer after, as by an import, it is not known.
    acts["is_known"] = acts["is_first"] & created.le(acts["date"] + DAY)
    return acts


def takes_part(acts: pd.DataFrame, kinds: dict[str, str]) -> pd.Series:
    """Return which acts are another participation: the first of a person and subject, or day, or each."""
    once = dict(ACTIONS.values())
    often = acts["action"].map(once).fillna("once")
    kind = acts["action"].replace(kinds)
    day = acts["date"].dt.strftime("%Y-%m-%d").where(often == "a day", "")
    same = pd.DataFrame({"person": acts["person"], "kind": kind, "subject": acts["subject"], "day": day})
    is_another = often.eq("each") | acts["subject"].isna() | ~same.duplicated()
    return is_another & acts["person"].notna()


# --- The headline


def headline(things: dict[str, pd.DataFrame], acts: pd.DataFrame) -> list[Cells]:
    """Return the name, figure and note of each figure at the top of the page."""
    events, signatures = counted_events(things["event"]), counted_signatures(things["signature"])
    attendances = counted_attendances(things["attendance"], things["event"])
    _, attended, of, in_percent = came(attendances)
    times = [events["start_date"], signatures["created_date"], attendances["created_date"], acts["date"]]
    every = pd.concat(times)
    campaigns = events["event_campaign_id"].nunique()
    return [
        ["Events", number(len(events)), span(events["start_date"])],
        ["RSVPs", number(events["total_accepted"].sum()), f"{campaigns} campaigns"],
        ["Attended", attended, f"{in_percent} of {of} RSVPs of events with check-ins"],
        ["Signatures", number(len(signatures)), span(signatures["created_date"])],
        ["Signers", number(signatures["person_id"].nunique()), "people who signed, each counted once"],
        ["Period", f"{every.min().year}–{every.max().year}", span(every)],
    ]


def span(times: pd.Series) -> str:
    """Return the first and the last day in words."""
    return " – ".join(f"{time.day} {time:%b} {time.year}" for time in (times.min(), times.max()))


def not_counted(things: dict[str, pd.DataFrame]) -> str:
    """Return the sentence on what is not counted; an event that is cancelled and hidden is cancelled."""
    events, attendances = things["event"], things["attendance"]
    is_cancelled = events["status"].eq("cancelled")
    is_hidden = events["hidden"].eq(True) & ~is_cancelled
    tests = len(things["signature"]) - len(counted_signatures(things["signature"]))
    of = [attendances["event_id"].isin(events["id"][each]).sum() for each in (is_cancelled, is_hidden)]
    return (
        f"Not counted: {is_cancelled.sum()} cancelled events, {is_hidden.sum()} hidden events, {tests} test signatures,"
        f" {of[0]} attendances of cancelled events, {of[1]} attendances of hidden events"
    )


# --- Tables by the values of columns


def grouped(rows: pd.DataFrame, keys: Iterable[pd.Series], measure: Callable[..., Cells]) -> Table:
    """Return a table with a row for each value of some keys; several rows together are the measure of all of theirs."""
    labels = pd.Series([*zip(*keys, strict=True)], rows.index, dtype="object")
    cells = {label: measure(some, alone=True) for label, some in rows.groupby(labels, sort=False)}
    return Table(cells, lambda several: measure(rows[labels.isin(several)], alone=False))


def of_events(rows: pd.DataFrame, *, alone: bool) -> Cells:
    limited = rows[rows["capacity"].notna()]
    rsvps, seats = limited["total_accepted"].sum(), limited["capacity"].sum(min_count=1)
    counts = [len(rows), rows["total_accepted"].sum(), len(limited), rsvps, seats]
    return [*map(number, counts), share(rsvps, seats), *days(rows["start_date"])]


def came(rows: pd.DataFrame) -> Cells:
    """Return the RSVPs, who came, the RSVPs of events at which anybody came, and the share."""
    attended, of = rows["attended"].sum(), rows["of_check_in"].sum()
    return [*map(number, (len(rows), attended, of)), share(attended, of)]


def people(rows: pd.DataFrame, alone: bool) -> Cells:
    """Return the people, which are no sum, and those whom the rows brought."""
    return [number(rows["person_id"].nunique()) if alone else "–", number(rows["brought"].sum())]


def with_brought(rows: pd.DataFrame, acts: pd.DataFrame, action: str) -> pd.DataFrame:
    """Return rows with whether each is the first act of a person who is new."""
    return rows.assign(brought=rows["id"].isin(acts["id"][acts["is_new"] & (acts["action"] == action)]))


def of_attendances(every: pd.DataFrame) -> Callable[..., Cells]:
    def measure(rows: pd.DataFrame, *, alone: bool) -> Cells:
        parts = (came(rows), people(rows, alone), [share(len(rows), len(every))], days(rows["created_date"]))
        return [cell for part in parts for cell in part]

    return measure


def of_signatures(every: pd.DataFrame) -> Callable[..., Cells]:
    def measure(rows: pd.DataFrame, *, alone: bool) -> Cells:
        shares = [share(len(rows), len(every)), *days(rows["created_date"])]
        return [number(len(rows)), *people(rows, alone), *shares]

    return measure


def by_month(every: pd.DataFrame, first: Callable[[pd.DataFrame], Cells]) -> Callable[..., Cells]:
    """Return the measure of a month; `Cumulative` is the number up to its end."""
    months = every["created_date"].map(month)

    def measure(rows: pd.DataFrame, *, alone: bool) -> Cells:
        until = (months <= months[rows.index].max()).sum()
        return [*first(rows), *people(rows, alone), number(until)]

    return measure


# --- What changed


def compared(before: int, now: int, *, alone: bool = True) -> Cells:
    """Return two counts, the change, its share, and whether 0 is in the 95% interval of a difference of such counts."""
    change = now - before
    in_percent = f"{change / before:+,.1%}" if before else "–"
    is_chance = alone and abs(change) <= 1.96 * math.sqrt(before + now)
    shown = [f"{change:+,}" if change else "±0", in_percent if change or not before else "±0.0%"]
    return [number(before), number(now), *shown, "yes" if is_chance else ""]


@dataclass(frozen=True)
class Weeks:
    """The last complete week of acts, from Monday, and the one before."""

    start: pd.Timestamp

    @classmethod
    def of(cls, acts: pd.DataFrame) -> Weeks:
        known = acts["date"][acts["date"] <= acts["seen"].max() + DAY]
        monday = known.max().normalize() - known.max().weekday() * DAY
        return cls(monday - 14 * DAY)

    def both(self, dates: pd.Series) -> list[pd.Series]:
        """Return which dates are in the week before, and which in the last one."""
        starts = [self.start, self.start + 7 * DAY]
        return [(dates >= start) & (dates < start + 7 * DAY) for start in starts]


def weekly(acts: pd.DataFrame, count: int) -> dict[str, list[int]]:
    """Return the people and acts of each of so many weeks, the last two of which are compared."""
    end = Weeks.of(acts).start + 14 * DAY
    starts = [end - 7 * DAY * before for before in range(count, 0, -1)]
    weeks = [acts[(acts["date"] >= start) & (acts["date"] < start + 7 * DAY)] for start in starts]
    counts = {
        "people": [week["person"].nunique() for week in weeks],
        "first time": [week["is_first"].sum() for week in weeks],
        "new people": [week["is_new"].sum() for week in weeks],
    }
    return counts | {action: [(week["action"] == action).sum() for week in weeks] for action in ORDER}


def changes(acts: pd.DataFrame) -> Table:
    counts = weekly(acts, 2)
    return Table({(shown(figure),): compared(*both) for figure, both in counts.items() if any(both)})


def shown(action: str) -> str:
    return "RSVPed" if action == "rsvped" else action


def changes_by(acts: pd.DataFrame, *names: str) -> Table:
    before, now = Weeks.of(acts).both(acts["date"])

    def measure(rows: pd.DataFrame, *, alone: bool) -> Cells:
        counts = (is_in.reindex(rows.index).sum() for is_in in (before, now))
        return compared(*counts, alone=alone)

    rows = acts[before | now]
    return grouped(rows, [rows[name].map(shown) for name in names], measure)


def news(things: dict[str, pd.DataFrame], acts: pd.DataFrame) -> Table:
    """Return the events and petitions that were made since the last complete week began."""
    rows = {}
    for kind, table in (("event", counted_events(things["event"])), ("petition", things["petition"])):
        new = table[table["created_date"] >= Weeks.of(acts).start + 7 * DAY]
        for title, date in zip(new["title"], new["created_date"], strict=True):
            rows[(title,)] = [kind, "new", f"{date:%Y-%m-%d}"]
    return Table(rows)


def days_to_come(events: pd.DataFrame, today: pd.Timestamp) -> list[str]:
    """Return the sentences on the next 14 days, and on the first five of them with events."""

    def several(count: float, noun: str) -> str:
        return f"{count:.0f} {noun}{'' if count == 1 else 's'}"

    def kinds(some: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
        by_status = sorted(some.groupby("status"), key=lambda pair: pair[0] != "confirmed")
        more = "more " if (some["status"] == "confirmed").any() else ""
        return [
            (several(len(rows), "event") if status == "confirmed" else f'{len(rows)} {more}"{status}"', rows)
            for status, rows in by_status
        ]

    rows = events[events["start_date"].between(today, today + 14 * DAY, inclusive="left")]
    by_day = [*rows.groupby(rows["start_date"].dt.floor("D"))]
    later = (events["start_date"] >= today + 14 * DAY).sum()
    number = ", ".join(which for which, _ in kinds(rows))
    said = [f"To come until {today + 13 * DAY:%Y-%m-%d}: {number}{f'; {later} later' if later else ''}."]
    most = len(by_day) if len(by_day) < 7 else 5
    for day, of_day in by_day[:most]:
        parts = []
        for which, some in kinds(of_day):
            seats, rsvps = some[some["capacity"] > 0], several(some["total_accepted"].sum(), "RSVP")
            taken = f"{seats['total_accepted'].sum():.0f} of {seats['capacity'].sum():.0f} seats taken"
            of_some = f"{rsvps}, {taken} at {len(seats)} of them" if len(seats) else rsvps
            parts.append(f"{which}, {taken if len(seats) == len(some) else of_some}")
        parts += [] if (of_day["capacity"] > 0).any() else ["no capacity given"]
        said.append(f"{day:%a} {day.day} {day:%b}: {'; '.join(parts)}.")
    if rest := by_day[most:]:
        said.append(
            f"Then {several(sum(len(some) for _, some in rest), 'event')} on {several(len(rest), 'day')} more."
        )
    return said


def upcoming(events: pd.DataFrame, today: pd.Timestamp) -> Table:
    """Return the events of fourteen days, from a day on."""
    rows = events[(events["start_date"] >= today) & (events["start_date"] < today + 14 * DAY)]

    def cells(event: Any) -> Cells:
        parts = (event.venue, event.locality, event.region)
        place = ", ".join(part for part in parts if isinstance(part, str) and part)
        left = event.capacity - event.total_accepted
        seats = number(left if pd.isna(left) else max(left, 0))
        start, taken = f"{event.start_date:%a %Y-%m-%d %H:%M}", share(event.total_accepted, event.capacity)
        status = "–" if event.status == "confirmed" else event.status
        return [start, place, number(event.total_accepted), number(event.capacity), taken, seats, status]

    found = {(event.title,): cells(event) for event in rows.itertuples()}
    return Table(found, lambda _: ["–", "–", number(rows["total_accepted"].sum()), "–", "–", "–", "–"])
