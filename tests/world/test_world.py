"""Whatever way its data comes, an archive says what is true of a world."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.errors import SourceWarning
from osdi_frames.reports.declared import STANDARD
from osdi_frames.store import temporary
from tests.people import (
    check_activity,
    check_attribution,
    check_comparison,
    check_engagement,
    check_goals,
    check_growth,
    check_hosts,
    check_repeats,
    check_retention,
    check_steps,
)
from tests.supporters import check_levels, check_supporters
from tests.world import acts, figures, parts
from tests.world.documents import KEYS as KEYS_OF_PULLS
from tests.world.documents import PARENTS, START, TABLES, State
from tests.world.history import World
from tests.world.truth import Row, Truth

#: What identifies a row of each table.
KEYS = {table: (f"{kind}_id",) for kind, table in TABLES.items()} | {
    "event_people": ("event_id", "role"),
    "signature_tags": ("signature_id", "tag"),
    "signature_emails": ("signature_id", "position"),
    "signature_custom_fields": ("signature_id", "name"),
}

#: What identifies an act without an id, where it stands on a page that has several.
CONTENT = "created_date", "person_id", "petition_id", "event_id"

#: What an act has by its place in the order of all.
NUMBERED = "number", "participation", "is_first", "is_new"

# --- how a world is drawn ----------------------------------------------------------------------------------

WAITS = st.sampled_from([timedelta(seconds=1), timedelta(hours=1), timedelta(days=1), timedelta(days=40)])
#: Few people act on few things, so that much happens to each.
PEOPLE, PETITIONS, EVENTS = (
    st.sampled_from(ids.split()) for ids in ("p1 p1 p2 p4", "t1 t1 t2", "e1 e1 e2 e3")
)
PLACES = st.sampled_from([place for place in figures.PLACES if any(place)])
TOWNS = PLACES.map(lambda place: (*place, f"Town of {place}")) | PLACES.map(lambda place: (*place, None))
#: Statuses in other spellings, and one that nobody knows.
SPELLED = "Confirmed", "Checked-in", "no_show", "WAITLISTED", "perhaps"
#: The data of a person: each part is left out, empty, has an entry without its value, has a part of others, or all.
DATA = {
    "given_name": st.sampled_from(["Ann", "ann ", "Bo", ""]),
    "family_name": st.sampled_from(["Cruz", "Díaz"]),
    "emails": st.sampled_from(
        [
            ["a@new.example"],
            [],
            ["b@new.example", "A@new.example"],
            ["p1@old.example"],
            ["", "b@new.example", ""],
        ]
    ),
    "phones": st.sampled_from([["15551"], [], ["15552"], [None]]),
    "places": st.lists(TOWNS, max_size=2),
    "languages_spoken": st.sampled_from([["en"], [], ["es", "en"]]),
    "custom_fields": st.dictionaries(st.sampled_from("ab"), st.sampled_from(["1", "2", None]), min_size=1),
}
ENTERED = st.fixed_dictionaries({}, optional=DATA)
GROUPS, CODES, STATUSES = map(
    st.sampled_from,
    (
        [None, "river", "lake"],
        [*figures.CODES],
        ["accepted", "declined", "tentative", "attended", None, *SPELLED],
    ),
)
CAME_FROM = {
    "source": CODES,
    "referrer": CODES,
    "website": st.sampled_from([*figures.WEBSITES]),
    "sponsor": GROUPS,
}
CAME_FROM |= {"add_tags": st.sampled_from([None, ["new"], [], ["new", "old"]])}
EVENT = {
    "status": st.sampled_from(["confirmed", "cancelled", "tentative", "Canceled", "rejected"]),
    "hidden": st.booleans(),
    "capacity": st.sampled_from([None, 10, 0]),
    "place": PLACES,
    "sponsor": GROUPS,
    "start_date": st.sampled_from([datetime(2026, 1, 31, 9), datetime(2026, 5, 1, 20)]),  # noqa: DTZ001
}
#: An act becomes another person's, as people are merged.
MERGED = {"person_id": st.sampled_from(["p1", "p2", "p3"])}
#: When somebody was created, by another group: before they did anything, at about the same time, later.
CREATED = st.sampled_from([timedelta(days=-400), timedelta(0), timedelta(hours=26), timedelta(days=40)]).map(
    lambda after: START + after
)
CHANGES: dict[str, Any] = {
    "person": st.fixed_dictionaries({}, optional=DATA | {"created_date": CREATED}),
    "event": st.fixed_dictionaries({}, optional=EVENT),
    "attendance": st.fixed_dictionaries({"status": STATUSES}, optional=MERGED),
    "signature": st.fixed_dictionaries({"comments": st.just("Hear, hear")}, optional=MERGED),
    "petition": st.just({"title": "Changed"}),
    "event_campaign": st.just({"title": "Changed"}),
}


def act(
    world: World,
    kind: str,
    person: str,
    parent: str,
    entered: State,
    values: State,
    way: Any,
    slow: timedelta,
) -> str:
    world.act(kind, person, parent, entered, **values)
    if way == "never":
        world.outbox.pop()
    elif way != "later":
        world.deliver(bare=way == "bare", again=way if isinstance(way, list) else (), slow=slow)
        if way == "twice":  # by two webhooks
            world.deliver()
            world.test()
        world.outbox.clear()
    said = {key: value for key, value in values.items() if value is not None}
    return f"{person} makes {kind} of {parent}, entering {entered}; {said}; delivered {way}, {slow} slow"


def change(world: World, kind: str, which: int, values: State) -> str:
    keys = [key for key in world.things if key[0] == kind]
    for key in keys[which % len(keys) :][:1] if keys else ():
        world.change(*key, **values)
    return f"{kind} {which} becomes {values}"


def delete(world: World, which: int, for_group: bool) -> str:
    """Delete something, acts above all, or bring it back: for all, or for the key of a group alone."""
    acts = [key for key in world.things if key[0] in PARENTS]
    keys = [*acts, *world.things, *acts, *acts]
    key = keys[which % len(keys)]
    is_gone = world.hide(key, for_group=for_group)
    return f"{key[1]} is {'gone' if is_gone else 'there again'} for {'a group' if for_group else 'all'}"


def page(world: World, kind: str, which: set[int], v1: bool, form: str, hides: list[str]) -> str:
    listed = world.listed(kind)
    keys = [*dict.fromkeys(listed[number % len(listed)] for number in which if listed)]
    if kind == "person" or v1 or "single" in form:  # what it is, is seen by its address
        hides = [part for part in hides if part != "links"]
    if keys:
        world.page(keys, v1=v1, form=form, hides=hides)
    return f"{form} of {[own_id for _, own_id in keys]}{' in v1' if v1 else ''}, without {hides}"


def pull(
    world: World, names: list[str], way: str, key: str, v1: bool, ago: timedelta, read: str, amid: Any
) -> str:
    """Pull; after the collection `read` was read something happens, or that one is cut short."""
    said = [f"pull ({way} {read}) of {names} by {key!r}{' in v1' if v1 else ''}"]
    world.pull(
        names,
        key=key,
        v1=v1,
        campaigns={"one campaign": ("c1",), "no campaign": ()}.get(way),
        since=world.now - ago if way == "since" else None,
        lacks=read if way == "lacking" else None,
        killed=way == "killed",
        amid={read: lambda: said.append(amid[0](world, *amid[1:]))} if way == "meanwhile" else {},
    )
    return "; then ".join(said)


ACTED = ENTERED, st.fixed_dictionaries(CAME_FROM | {"status": STATUSES})
WAYS = st.sampled_from(["at once", "later", "bare", "twice", "never"]) | st.lists(
    WAITS, min_size=1, max_size=2
)
SLOW = st.sampled_from([timedelta(), timedelta(), timedelta(seconds=90)])
SIGN = st.tuples(st.just(act), st.just("signature"), PEOPLE, PETITIONS, *ACTED, WAYS, SLOW)
RSVP = st.tuples(st.just(act), st.just("attendance"), PEOPLE, EVENTS, *ACTED, WAYS, SLOW)
WHICH, KINDS, EVERY = st.integers(0, 30), st.sampled_from([*TABLES]), [*TABLES.values()]
CHANGE = st.one_of(st.tuples(st.just(change), st.just(kind), WHICH, some) for kind, some in CHANGES.items())
DELETE = st.tuples(st.just(delete), WHICH, st.sampled_from([False, False, True]))
FORMS = st.sampled_from(["page", "single", "bare page", "bare single"])
HIDDEN = st.lists(
    st.sampled_from(["identifiers", "referrer", "sponsor", "links", "link to the person"]), max_size=1
)
PAGE = st.tuples(st.just(page), KINDS, st.sets(WHICH, min_size=1, max_size=3), st.booleans(), FORMS, HIDDEN)
PULLED = (
    st.sampled_from([*KEYS_OF_PULLS, "first", "first"]),
    st.booleans(),
    WAITS,
    st.sampled_from(EVERY),
    SIGN | RSVP | DELETE,
)
FULL = st.tuples(st.just(pull), st.just(EVERY), st.sampled_from(["whole", "meanwhile"]), *PULLED)
PARTS = st.sampled_from([["signatures"], ["attendances"], ["people"], []])
OTHERS = st.sampled_from(["since", "one campaign", "no campaign", "lacking", "killed"])
PART = st.tuples(st.just(pull), PARTS, st.just("whole"), *PULLED)
PART |= st.tuples(st.just(pull), st.just(EVERY), OTHERS, *PULLED)
STEPS = st.lists(
    st.tuples(WAITS, st.one_of(SIGN, RSVP, FULL, PAGE, DELETE, CHANGE, PART)), min_size=1, max_size=6
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a history, and how its documents lie in a folder."""
    world = World(draw(st.sampled_from(["platform", "action_network"])), draw(st.sampled_from(":::_")))
    for wait, (happens, *drawn) in chain.from_iterable(draw(st.lists(STEPS, max_size=8))):
        at = world.tick(wait)
        world.history.append(f"{at:%Y-%m-%d %H:%M:%S} {happens(world, *drawn)}")
    documents = world.all_documents
    repeats = draw(st.lists(st.sampled_from(documents), max_size=3)) if documents else []
    world.place(lambda units: draw(st.permutations(units)), repeats)
    return world


PERIOD = st.fixed_dictionaries(
    {},
    optional={
        "since": st.sampled_from([date(2026, 1, 1), date(2026, 1, 2), date(2026, 2, 1)]),
        "until": st.sampled_from([date(2026, 2, 9), date(2026, 4, 30)]),
    },
)
CAMPAIGN = {"campaign": st.sampled_from(["c1", "c2"])}
STATUS = {"status": st.sampled_from(["cancelled", "confirmed", "tentative"])}
OF_EVENTS = st.fixed_dictionaries(CAMPAIGN, optional=STATUS) | st.fixed_dictionaries(STATUS)
OF_PETITION = st.fixed_dictionaries({"petition": st.sampled_from(["t1", "t2"])})
FILTERS = st.builds(lambda some, period: some | period, OF_EVENTS | OF_PETITION | st.just({}), PERIOD)
WAYS_TO_READ = {
    "people": st.sampled_from([True, True, False]),
    "filters": FILTERS,
    "kept": st.sampled_from(["", "by the handle", "in a store"]),
    "readings": st.sampled_from([1, 5]),
}

#: Where nothing has a receipt, dates count up to the present: the world has been then.
AFTER_ALL = datetime(2100, 1, 1, tzinfo=UTC)

# --- how it is compared ------------------------------------------------------------------------------------


def differences(
    folder: Path,
    world: World,
    *,
    people: bool = True,
    filters: parts.Filters | None = None,
    kept: str = "",
    readings: int = 1,
    thorough: bool = True,
) -> list[str]:
    """Return what an archive says differently: of what, in which column, got, expected.

    Of several readings the first two lack every second file, the next one parses these, another keeps resolved rows,
    and the last one shows them, where anything is kept.
    """
    world.write(folder / "archive")
    store = folder / "store" if kept == "in a store" else None
    archive = of.open(folder / "archive", store=store, keep=kept == "by the handle")
    truth = Truth(world, people=people)
    with warnings.catch_warnings(action="ignore", category=SourceWarning):
        for number in range(readings):
            with without_some(folder / "archive") if number < readings - 3 else nullcontext():
                frames = archive.tables([*KEYS, "actions", "supporters"], people=people)
        reports = archive.report(now=AFTER_ALL) if people else {}
    done = acts.actions(truth)
    supporters = frames.pop("supporters")
    found = differing(frames, truth.tables | {"actions": done}, folder / "archive")
    if filters and not found:
        of_part = in_part(archive, folder / "archive", truth, done, filters)
        found += [f"where {filters}: {each}" for each in of_part]
    if found:
        return found
    pd.testing.assert_frame_equal(supporters, of.supporters(frames["actions"], frames["people"]))
    if thorough:
        check_people_reports(done, frames["actions"])
    if people:
        check_analyses(reports, frames["actions"])
        found += differing_reports(reports, figures.reports(truth, done))
    return [*dict.fromkeys(found)]


@contextmanager
def without_some(archive: Path) -> Iterator[None]:
    """Let readings find no more than every second file of an archive."""
    some = sorted(path for path in archive.rglob("*") if path.is_file())[1::2]
    aside = [path.rename(f"{path}.aside") for path in some]
    yield
    for path, name in zip(aside, some, strict=True):
        path.rename(name)


def differing(frames: Mapping[str, pd.DataFrame], tables: Mapping[str, list[Row]], folder: Path) -> list[str]:
    found: list[str] = []
    for name in frames:
        where = {"of": str(folder)} if "source_file" in frames[name] else {}
        rows = rows_of(frames[name].assign(**where))
        is_ordered, keys = name == "actions", KEYS.get(name, ())
        got, expected = (
            [*enumerate(with_settled_ties(some))] if is_ordered else labelled(some, keys)
            for some in (rows, tables[name])
        )
        found += compared(name, got, expected, in_order=is_ordered)
    return found


def differing_reports(
    reports: Mapping[str, pd.DataFrame], expected: Mapping[str, list[figures.Line]]
) -> list[str]:
    keyed = [name for name in reports if name not in {report.name for report in STANDARD if report.function}]
    if {*keyed} != {*expected}:
        return [f"reports: got {keyed}, expected {[*expected]}"]
    found: list[str] = []
    for name, lines in expected.items():
        got = list(zip(map(plain, reports[name].index), rows_of(reports[name]), strict=True))
        found += compared(name, got, lines, in_order=True)
    return found


def with_settled_ties(did: list[Row]) -> list[Row]:
    """Return acts, those that nothing puts in order, as they have no ids, in the order of what else they say."""
    known = "date", "person_id", "action", "subject_id", "source", "referrer", "website"
    settled = []
    for _, ties in groupby(did, key=lambda row: [row[name] for name in known]):
        places = [*ties]
        said = [{name: row[name] for name in row if name not in NUMBERED} for row in places]
        said.sort(
            key=lambda row: repr([row[name] for name in ("excluded", "title", "received_at", *acts.PLACE)])
        )
        settled += [
            row | {name: place[name] for name in NUMBERED} for row, place in zip(said, places, strict=True)
        ]
    return settled


def in_part(
    archive: of.Archive, folder: Path, truth: Truth, done: list[Row], filters: parts.Filters
) -> list[str]:
    """Return what a part of an archive says differently, and the tables that it has though no filter leads to them."""
    moments = {"since": timedelta(0), "until": timedelta(days=1)}
    bounds = {
        name: datetime.combine(filters[name], time(0), UTC) + later
        for name, later in moments.items()
        if name in filters
    }
    tables, part = parts.part(truth, done, {**filters, **bounds}), archive.where(**filters)
    try:
        with warnings.catch_warnings(action="ignore", category=SourceWarning):
            frames = part.tables([*tables], people=truth.fills)
    except of.errors.UnknownValue:
        return ["a value is refused that occurs"] if parts.occur(truth, filters) else []
    found = differing(frames, tables, folder)
    for name in {*KEYS} - {*tables}:
        with pytest.raises(of.errors.InvalidArgument):
            part.table(name)
    if truth.fills and not found:
        with warnings.catch_warnings(action="ignore", category=SourceWarning):
            reports = part.report(now=AFTER_ALL)
        found += differing_reports(reports, parts.reports(truth, done, tables, filters))
    return found


def check_people_reports(done: list[Row], actions: pd.DataFrame) -> None:
    """Check the reports on people and change, of acts that are those of the world."""
    check_engagement(done, actions)
    check_retention(done, actions, None)
    check_repeats(done, actions)
    check_hosts(done, actions)
    check_steps(done, actions, ["signed", "rsvped", "attended"], 30)
    check_attribution(done, actions, "rsvped", 90)
    check_growth(done, actions)
    check_supporters(done, actions, None)
    check_levels(done, actions, None)
    check_comparison(done, actions, 7, None)
    check_activity(done, actions, 7, None)
    check_goals(done, actions, 3, None)


def newcomers(actions: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return how many new people acts brought by some columns: in all, and in the last week of `activity`.

    Of this week the people who took part for the first time, and those of whom it is not known whether they are new,
    are counted beside.
    """
    known = actions["is_new"].map({True: "new", False: "old"}).astype("str").fillna("unknown")
    everyone, weeks = actions.assign(is_new=True, known=known), of.activity(actions, "W", count=2).index
    by_day = of.growth(everyone, [*keys, "known"], "D")
    of_week = [
        any(start <= day < start + pd.DateOffset(weeks=1) for start in weeks[-1:]) for day in by_day.index
    ]
    found = pd.DataFrame({"in all": by_day.sum(), "now": by_day[of_week].sum()}).reset_index("known")
    is_new, is_unknown = (found["known"] == name for name in ("new", "unknown"))
    counts = {
        "new": found["in all"].where(is_new, 0),
        "now": found["now"].where(is_new, 0),
        "first": found["now"],
        "unknown": found["now"].where(is_unknown, 0),
    }
    table = pd.DataFrame(counts).groupby(level=[*range(len(keys))]).sum()
    table = table[table.any(axis=1)].sort_values("new", ascending=False, kind="stable")
    return table.rename_axis(keys[0] if len(keys) == 1 else keys)


def check_analyses(reports: Mapping[str, pd.DataFrame], actions: pd.DataFrame) -> None:
    """Check that the report of an archive has those of its acts, and those alone that say something."""
    made = {
        "activity": of.activity(actions, "W"),
        "changes": of.changes(actions, "W"),
        "changes_by_source": of.compare(actions, "W"),
        "changes_by_title": of.compare(actions, "W", by=["action", "title"]),
        "engagement": of.engagement(actions),
        "retention": of.retention(actions),
        "repeats": of.repeats(actions),
        "growth_by_title": newcomers(actions, ["action", "title"]),
        "growth_by_source": newcomers(actions, ["source"]),
        "people_by_level": of.people_by_level(actions),
        "acts_by_title": of.acts_by(actions[actions["action"].isin(["wrote", "submitted", "responded"])]),
        "amounts_by_title": of.amounts_by(actions, ["action", "title"]),
        "attribution": of.attribution(actions, touch="both"),
        "funnel": of.funnel(actions),
    }
    assert {*reports} & {*made} == {
        name for name, frame in made.items() if len(frame) and (name != "funnel" or frame["people"].iloc[1])
    }
    for name in {*reports} & {*made}:
        pd.testing.assert_frame_equal(reports[name], made[name], check_column_type=False)


def compared(
    name: str, got: list[figures.Line], expected: list[figures.Line], *, in_order: bool = False
) -> list[str]:
    """Compare lines by their labels; those of reports in order, and in all columns."""
    labels = [label for label, _ in got], [label for label, _ in expected]
    if (labels[0] if in_order else sorted(labels[0], key=repr)) != (
        labels[1] if in_order else sorted(labels[1], key=repr)
    ):
        return [f"{name}: got {labels[0]}, expected {labels[1]}"]
    found, rows = [], dict(got)
    for label, line in expected:
        for column in dict.fromkeys([*line, *(rows[label] if in_order else ())]):
            if column not in rows[label]:
                found.append(f"{name} {column}: got no such column")
            elif column not in line or rows[label][column] != line[column]:
                found.append(
                    f"{name} {label} {column}: got {rows[label][column]!r}, expected {line.get(column)!r}"
                )
    return found


def labelled(rows: list[Row], keys: tuple[str, ...]) -> list[figures.Line]:
    """Return rows by what identifies them: without an id, by where they stand, or by what they say."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        names = keys if row[keys[0]] else ("source_file", "source_line", "element", *keys[1:])
        found.setdefault(tuple(row.get(name) for name in names), []).append(row)
    for some in found.values():
        some.sort(
            key=lambda row: repr(
                [row.get(name) for name in ("idempotency_key", "element", *CONTENT, "address", "value")]
            )
        )
    return [((*label, number), row) for label, some in found.items() for number, row in enumerate(some)]


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Return rows of plain values; files are named below the folder in the column `of`."""
    rows = [
        {name: plain(value) for name, value in row.items()} for row in frame.astype(object).to_dict("records")
    ]
    for row in rows:
        if (folder := row.pop("of", None)) and row["source_file"]:
            row["source_file"] = Path(row["source_file"]).relative_to(folder).as_posix()
    return rows


def plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    return None if pd.isna(value) else value.to_pydatetime() if isinstance(value, pd.Timestamp) else value


def agrees(world: World, **reading: Any) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(temporary, "KEPT_BYTES", 0)  # worlds are small
        found = differences(Path(folder), world, **reading)
    pulls = [
        f"{pull.folder}: {pull.started} to {pull.finished} proves {sorted(pull.proves)} to {pull.key!r}"
        for pull in world.pulls
    ]
    documents = sorted((*place, each.text) for each in world.all_documents for place in each.places)
    lines = [f"{file}:{line} {text}" for file, line, text in documents]
    assert not found, "\n".join(["", *found, "", *world.history, "", *pulls, *lines])


@settings(max_examples=8, phases=[Phase.generate])  # to shrink a failure takes minutes: the long form does
@given(world=worlds(), **WAYS_TO_READ)
def test_an_archive_says_what_is_true(world: World, **reading: Any) -> None:
    agrees(world, **reading, thorough=False)


@pytest.mark.long
@settings(max_examples=2000)
@given(world=worlds(), **WAYS_TO_READ)
def test_any_archive_says_what_is_true(world: World, **reading: Any) -> None:
    agrees(world, **reading)
