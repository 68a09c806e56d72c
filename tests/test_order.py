"""Any order of the files and any number of repeats give the same rows; which row is kept, case by case."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import osdi_frames as of
from tests.layouts import lines

#: Not every archive has elements of every table.
pytestmark = pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")


def signature(own: str | None = "s1", *, modified: str | None = None, **keys: Any) -> dict[str, Any]:
    value = keys if own is None else {"identifiers": [f"platform:{own}"]} | keys
    return value if modified is None else value | {"modified_date": modified}


def delivery(*values: dict[str, Any], key: str | None = None, at: str | None = None) -> Any:
    """Return a delivery of signatures under one key of a message; in an envelope if it says when it came."""
    siblings = {} if key is None else {"idempotency_key": key}
    body = [{"osdi:signature": value} | siblings for value in values]
    return body if at is None else {"received_at": at, "body": body}


def rows_of(documents: Sequence[Any], *, dedupe: Any = True) -> list[str]:
    """Return the comments of the signatures that are kept: what tells them apart here."""
    return of.read_signatures(list(documents), columns=["comments"], dedupe=dedupe)["comments"].tolist()


MONDAY, TUESDAY, SUNDAY = "2026-05-04T00:00:00Z", "2026-05-05T00:00:00Z", "2026-05-10T00:00:00Z"


# --- one signature, one row (design rule 3) ------------------------------------------------------------


def test_retries_of_a_message_are_one_row() -> None:
    once = delivery(signature(comments="a", modified=MONDAY), key="k1")
    for dedupe in (True, "message"):
        assert rows_of([once, once, once], dedupe=dedupe) == ["a"]


def test_the_elements_of_a_batch_share_a_key_and_are_all_kept() -> None:
    batch = delivery(signature("s1", comments="a"), signature("s2", comments="b"), key="k1")
    for dedupe in (True, "message"):
        assert rows_of([batch, batch], dedupe=dedupe) == ["a", "b"]


def test_the_elements_of_a_batch_without_any_id_are_distinguished_by_their_position() -> None:
    batch = delivery(signature(None, comments="a"), signature(None, comments="b"), key="k1")
    for dedupe in (True, "message"):
        assert rows_of([batch, batch], dedupe=dedupe) == ["a", "b"]


def test_the_same_signature_of_two_webhooks_is_one_row_but_two_messages() -> None:
    first = delivery(signature(comments="a", modified=MONDAY), key="k1", at=MONDAY)
    second = delivery(signature(comments="a", modified=MONDAY), key="k2", at=TUESDAY)
    assert rows_of([first, second]) == ["a"]
    assert rows_of([first, second], dedupe="message") == ["a", "a"]


def test_newest_is_by_the_moment_and_not_by_the_text() -> None:
    earlier = delivery(signature(comments="earlier", modified="2026-05-04T23:00:00+10:00"), key="k1")
    later = delivery(signature(comments="later", modified="2026-05-04T14:00:00Z"), key="k2")
    assert rows_of([earlier, later]) == rows_of([later, earlier]) == ["later"]


def test_one_that_names_no_time_gives_way_to_one_that_does() -> None:
    without, dated = (
        delivery(signature(comments="a"), key="k1"),
        delivery(signature(comments="b", modified=MONDAY)),
    )
    assert rows_of([without, dated]) == rows_of([dated, without]) == ["b"]


def test_without_a_key_the_signature_and_its_time_decide() -> None:
    monday = delivery(signature(comments="a", modified=MONDAY))
    tuesday = delivery(signature(comments="b", modified=TUESDAY))
    documents = [monday, tuesday, monday, tuesday]
    assert rows_of(documents) == ["b"]
    assert sorted(rows_of(documents, dedupe="message")) == ["a", "b"]


def test_what_has_no_identity_at_all_is_kept() -> None:
    documents = [delivery(signature(None, comments="a")), delivery(signature(None, comments="a"))]
    for dedupe in (True, "message", False):
        assert rows_of(documents, dedupe=dedupe) == ["a", "a"]


def test_a_signature_is_the_same_by_its_link_where_it_has_no_identifier() -> None:
    link = {"_links": {"self": {"href": "https://example.org/api/v2/petitions/q1/signatures/s1"}}}
    by_link = delivery(signature(None, comments="a", modified=MONDAY, **link), key="k1")
    by_identifier = delivery(signature("s1", comments="b", modified=TUESDAY), key="k2")
    assert rows_of([by_link, by_identifier]) == ["b"]


def test_send_test_under_its_one_key_collapses_and_takes_no_other_signature_along() -> None:
    test = delivery(signature("test", comments="test", **{"platform:referrer_data": {}}), key="k0")
    real = delivery(signature("s1", comments="real"), key="k1")
    for dedupe in (True, "message"):
        assert sorted(rows_of([test, real, test, test], dedupe=dedupe)) == ["real", "test"]


def test_dedupe_of_nothing_keeps_every_delivery_in_the_order_of_reading() -> None:
    documents = [delivery(signature(comments=name), key="k1") for name in "abca"]
    assert rows_of(documents, dedupe=False) == list("abca")


def test_the_tags_are_those_of_the_newest_version_that_lists_any_or_none() -> None:
    old = delivery(signature(add_tags=["a", "b"], modified=MONDAY), key="k1")
    without = delivery(signature(modified=TUESDAY), key="k2")
    none = delivery(signature(add_tags=[], modified=SUNDAY), key="k3")
    for documents in itertools.permutations([old, without]):
        tags = of.read_table(list(documents), "signature_tags")
        assert tags[["idempotency_key", "tag"]].to_numpy().tolist() == [["k2", "a"], ["k2", "b"]]
    assert of.read_table([none, old, without], "signature_tags").empty
    assert len(of.read_table([old, without, none], "signature_tags", dedupe=False)) == 2


def test_events_are_no_messages() -> None:
    with pytest.raises(ValueError, match="dedupe='message' is about webhook messages"):
        of.read_events([], dedupe="message")


# --- any order, any repeats ----------------------------------------------------------------------------


@st.composite
def archives(draw: st.DrawFn) -> list[list[Any]]:
    """Return the documents of some files; no two versions of a thing are equally new and differ."""
    moments = itertools.count()
    made = []

    def moment() -> str:
        number = next(moments)
        return f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"

    for _ in range(draw(st.integers(1, 12))):
        number, time = draw(st.integers(0, 3)), moment()
        text = draw(st.sampled_from(["a", "b", None]))
        kind = draw(st.sampled_from(["event", "signature", *LISTED, "osdi:attendance"]))
        if kind in LISTED or kind == "osdi:attendance":
            resource = {
                "identifiers": [f"platform:{number}"],
                "modified_date": time,
                "title": text,
                "given_name": text,
                "status": text,
                "platform:event_id": text,
            }
            entry = [{kind: resource, "idempotency_key": f"k{time}"}]
            made.append({"_embedded": {kind: [resource]}} if kind in LISTED else entry)
        elif kind == "event":
            event = {
                "identifiers": [f"platform:e{number}"],
                "modified_date": time,
                "total_accepted": draw(st.integers(0, 99)),
                "platform:event_campaign_id": text,
                "reminders": [{"minutes": draw(st.integers(1, 3))}],
            }
            made.append({"_embedded": {"osdi:events": [event]}} if draw(st.booleans()) else event)
        else:
            own = [draw(st.sampled_from(["s0", "s1", "s2"]))]
            if draw(st.booleans()):
                own = ["s3", "s4"]
            blocks = {
                "created_date": time,
                "add_tags": [text or "c"],
                "referrer_data": {"source": text},
                "person": {"modified_date": time, "given_name": text, "custom_fields": {text or "c": time}},
                "_links": {"osdi:person": {"href": f"https://example.org/api/v2/people/{number}"}},
            }
            left = {key: blocks[key] for key in sorted(draw(st.sets(st.sampled_from(sorted(blocks)))))}
            values = [signature(row, modified=time, **left) for row in own]
            made.append(delivery(*values, key=f"k{time}", at=time if draw(st.booleans()) else None))
    cuts = sorted(draw(st.lists(st.integers(0, len(made)), max_size=3)))
    return [made[start:end] for start, end in itertools.pairwise([0, *cuts, len(made)])]


#: The keys of other collections.
LISTED = "platform:event_campaigns", "osdi:petitions", "osdi:attendances", "osdi:people"

#: What the rows of each table are put in order by, to compare them whatever order they were read in.
KEYS = {
    "events": ["event_id"],
    "event_reminders": ["event_id", "position"],
    "event_campaigns": ["event_campaign_id"],
    "petitions": ["petition_id"],
    "attendances": ["attendance_id"],
    "people": ["person_id"],
    "signatures": ["signature_id"],
    "signature_tags": ["signature_id", "tag"],
}


def contents(source: Any) -> dict[str, pd.DataFrame]:
    """Return the tables of an archive, without where they were read, and the totals."""
    found = {}
    for table, keys in KEYS.items():
        frame = of.read_table(source, table).drop(columns=["source_file", "source_line"], errors="ignore")
        found[table] = frame.sort_values(keys, ignore_index=True)
    found["rsvps"] = of.rsvps_by_campaign(found["events"])
    found["sources"] = of.signatures_by_source(found["signatures"])
    return found


def write_files(folder: Path, files: Sequence[list[Any]], names: Sequence[int]) -> list[Path]:
    folder.mkdir()
    paths = [folder / f"{name:02}.ndjson" for name in names]
    for path, documents in zip(paths, files, strict=True):
        path.write_bytes(lines(documents))
    return paths


def any_order_and_any_repeats_give_the_same(data: st.DataObject, files: list[list[Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder, "a"), files, range(len(files)))
        expected = contents(paths)
        shuffled = data.draw(st.permutations(range(len(files))), label="names of the files")
        copies = data.draw(st.lists(st.sampled_from(files), max_size=3), label="copies")
        names = [*shuffled, *range(len(files), len(files) + len(copies))]
        again = write_files(Path(folder, "b"), [*files, *copies], names)
        repeated = [*data.draw(st.permutations(again), label="order of the list"), again[0]]
        for name, found in contents(repeated).items():
            assert_frame_equal(found, expected[name])


@settings(max_examples=2)
@given(data=st.data(), files=archives())
def test_any_order_of_files_and_any_repeats_of_them_give_the_same_frames_and_totals(
    data: st.DataObject, files: list[list[Any]]
) -> None:
    any_order_and_any_repeats_give_the_same(data, files)


@pytest.mark.long
@settings(max_examples=150)
@given(data=st.data(), files=archives())
def test_any_order_of_many_archives_and_any_repeats_of_them_give_the_same_frames_and_totals(
    data: st.DataObject, files: list[list[Any]]
) -> None:
    any_order_and_any_repeats_give_the_same(data, files)


def test_the_order_of_a_list_of_paths_does_not_matter_even_among_ties(tmp_path: Path) -> None:
    files = [[delivery(signature(comments=name, modified=MONDAY), key=name)] for name in "abc"]
    paths = write_files(tmp_path / "in", files, range(3))
    for order in itertools.permutations(paths):
        frame = of.read_signatures([*order, order[0]])
        assert frame["comments"].tolist() == ["c"]  # the last by name


def test_a_path_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (path,) = write_files(tmp_path / "in", [[delivery(signature(None))]], [0])
    assert (
        len(of.read_signatures([path, path, tmp_path, str(tmp_path / "*" / "*.ndjson")], dedupe=False)) == 1
    )
