"""What complete pulls prove to be gone: what worlds of `tests/world` seldom have."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osdi_frames.resolving.gone import gone_since
from osdi_frames.resolving.resolver import excluded
from osdi_frames.tables import TABLES
from osdi_frames.tables.attendances import ATTENDANCE
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.signatures import SIGNATURE
from tests.pulls import PATHS, manifest_of
from tests.world.history import PROOFS
from tests.world.history import TABLES as TABLES_OF

ADDRESS = "https://example.org/api/v2"
START = datetime(2026, 5, 1, tzinfo=UTC)
UTC_TYPE = pa.timestamp("us", "UTC")


def at(hour):
    return None if hour is None else START + timedelta(hours=hour)


def pull(begins, *, hours=0.5, names=PATHS, **fields):
    """Make the manifest of a pull, of everything unless `names` says of what."""
    folder = Path("pulled", f"{begins}")
    return manifest_of(folder, at(begins), lasted=timedelta(hours=hours), names=names, **fields)


def rows(table, *seen, **columns):
    """Make rows of a main table, last fetched at some hours."""
    element, count = TABLES[table].element, len(seen)
    parents = {"signatures": "petition_id", "attendances": "event_id"}
    values = {
        f"{element.name}_id": [f"{number}" for number in range(count)],
        "self_url": [f"{ADDRESS}/{table}/{number}" for number in range(count)],
        "source_file": ["pulled/0/pages-0001.ndjson.gz"] * count,
        "fetched_at": [at(hour) for hour in seen],
    }
    if table in parents:
        values |= {parents[table]: ["parent"] * count, "received_at": [None] * count}
    values |= columns
    types = {"fetched_at": UTC_TYPE, "received_at": UTC_TYPE}
    return pa.table({name: pa.array(some, types.get(name, pa.string())) for name, some in values.items()})


def hours(table, some, pulls, parents=("parent",)):
    """Return the hours since which rows are gone, None of those that are not."""
    found = gone_since(TABLES[table].element, some, pulls, parents=pa.array(parents, pa.string()))
    assert found.type == UTC_TYPE
    return [moment and (moment - START) / timedelta(hours=1) for moment in found.to_pylist()]


@pytest.mark.parametrize("table", ["events", "signatures"])
def test_where_nothing_was_pulled_nothing_is_gone_and_no_column_is_needed(table):
    assert hours(table, rows(table, 1, None).select([]), []) == [None, None]
    assert hours(table, rows(table), [pull(5)]) == []


def test_a_pull_proves_nothing_of_a_kind_unless_all_lists_that_it_needs_are_whole():
    for kind, needed in PROOFS.items():
        table, whole = TABLES_OF[kind], pull(5)
        assert hours(table, rows(table, 1), [whole]) == [5.5], kind
        assert hours(table, rows(table, 1), [replace(whole, address="https://other.example/v2")]) == [None]
        for name in needed:
            for change in ({"complete": False}, {"since": at(-99)}):
                lists = [replace(done, **change) if done.name == name else done for done in whole.collections]
                lacking = replace(whole, collections=tuple(lists))
                assert hours(table, rows(table, 1), [lacking]) == [None], (kind, name, change)
        others = pull(5, names=[name for name in PATHS if name != table])
        assert hours(table, rows(table, 1), [others]) == [None], kind


def test_a_service_is_a_host_and_a_port_in_either_version_whatever_the_spelling():
    urls = [
        "https://Example.org:443/api/v1/events/1",
        "http://example.org/api/v2/events/1",
        "https://user@example.org",
        "https://example.org:8443/api/v2/events/1",
        "events/1",
        "https://[",
        "https://example.org:port/",
    ]
    some = rows("events", *[1] * len(urls), self_url=urls)
    assert hours("events", some, [pull(5)]) == [5.5, None, 5.5, None, None, None, None]


def test_without_an_address_a_row_belongs_to_the_service_of_the_pull_that_it_was_read_from():
    files = ["pulled/0/a.json", "pulled/0/inside/a.zip!b.json", "pulled/a.json", "elsewhere/0/a.json", None]
    some = rows("events", *[1] * len(files), self_url=[None] * len(files), source_file=files)
    pulls = [pull(0), pull(5)]
    assert hours("events", some, pulls) == [5.5, 5.5, None, None, None]
    foreign = pull(0, address="https://example.com/api/v2")
    assert hours("events", some, [foreign, pull(5)]) == [None] * 5


def test_what_has_no_id_is_not_looked_for():
    assert hours("signatures", rows("signatures", 1, signature_id=[None]), [pull(5)]) == [None]


@pytest.mark.parametrize("table", ["signatures", "attendances"])
def test_of_a_petition_or_event_that_the_key_may_not_list_nothing_is_gone(table):
    name = {"signatures": "petition_id", "attendances": "event_id"}[table]
    some = rows(table, 1, 1, 1, **{name: ["known", "other", None]})
    assert hours(table, some, [pull(5)], parents=["known", None]) == [5.5, None, None]
    assert hours(table, some, [pull(5)], parents=[]) == [None] * 3


def test_a_key_proves_nothing_of_what_another_key_lists():
    ours, theirs = ({"key_digest": digest} for digest in ("aaaaaaaa", "bbbbbbbb"))
    pulls = [pull(0, **ours), pull(1, **theirs), pull(5, **theirs), pull(9, **ours)]
    files = [f"pulled/{begins}/a.json" for begins in (0, 1, 1)] + ["received/a.ndjson"]
    some = rows("events", 0.2, 1.2, 5.2, 1, source_file=files)
    assert hours("events", some, pulls) == [9.5, 5.5, None, None]
    assert hours("events", some, pulls[::3]) == [9.5] * 4  # of one key alone: its own, whoever delivered it


@given(
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["a", "b"]), st.booleans()), max_size=6),
    st.lists(st.tuples(st.none() | st.integers(0, 12), st.sampled_from(["a", "b"])), max_size=8),
)
def test_any_pulls_and_rows_are_compared_as_the_rule_says(made, seen):
    pulls = [
        pull(begins, hours=0.1 * number, address=f"https://{host}", why="a page is missing" if lacks else "")
        for number, (begins, host, lacks) in enumerate(made)
    ]
    urls = [f"https://{host}/api/v2/people/1" for _, host in seen]
    some = rows("people", *(hour for hour, _ in seen), self_url=urls)
    expected = []
    for hour, host in seen:
        later = [
            (begins, begins + 0.1 * number)
            for number, (begins, other, lacks) in enumerate(made)
            if not lacks and other == host and hour is not None and begins > hour
        ]
        first = min(begins for begins, _ in later) if later else None
        expected.append({round(ends, 3) for begins, ends in later if begins == first})
    for got, among in zip(hours("people", some, pulls), expected, strict=True):
        assert (got is None) == (not among)
        assert got is None or round(got, 3) in among


# -- the column excluded --


def reasons(element, events=None, **columns):
    types = {
        "hidden": pa.bool_(),
        "attended": pa.bool_(),
        "gone_since": UTC_TYPE,
        "created_date": UTC_TYPE,
        "modified_date": UTC_TYPE,
    }
    table = pa.table({name: pa.array(some, types.get(name, pa.string())) for name, some in columns.items()})
    return excluded(element, table, events).to_pylist()


def test_of_several_reasons_the_first_is_given():
    now = at(1)
    assert reasons(
        EVENT,
        status=["cancelled", "cancelled", "confirmed", "confirmed", None],
        hidden=[True, True, True, False, None],
        gone_since=[now, None, None, None, None],
    ) == ["gone", "cancelled", "hidden", None, None]


def test_a_test_send_is_one_before_all():
    referred = dict.fromkeys(("source", "referrer", "website", "email_referrer", "mobile_message_referrer"))
    columns = {name: [None, None] for name in referred} | {"modified_date": [None, None]}
    dates = [None, at(1)]
    found = reasons(SIGNATURE, created_date=dates, gone_since=[at(1)] * 2, **columns)
    assert found == ["test", "gone"]


def test_an_attendance_has_the_reason_of_its_event_unless_it_has_its_own():
    events = pa.table({"event_id": ["a", "b", "c", None], "excluded": ["gone", "cancelled", None, "hidden"]})
    found = reasons(
        ATTENDANCE,
        events,
        event_id=["a", "b", "c", "d", None, "b"],
        status=["accepted"] * 5 + ["declined"],
        attended=[False] * 6,
    )
    assert found == ["gone", "cancelled", None, None, None, "unaccepted"]
    empty = pa.table({"event_id": pa.array([], pa.string()), "excluded": pa.array([], pa.string())})
    assert reasons(ATTENDANCE, empty, event_id=["a"], status=[None], attended=[False]) == [None]
