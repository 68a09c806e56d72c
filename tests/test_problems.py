"""Nothing disappears in silence: what stops a reading, what skipping keeps, what `check` lists (design rule 5)."""

from __future__ import annotations

import gzip
import io
import json
import re
import warnings
import zlib
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames.errors import BadDocument, ProblemsWarning
from osdi_frames.problems import ProblemKind
from tests.layouts import compact, lines, zstd
from tests.problem_readings import GOOD, SIGNED, event, listed, message, signature, skipped


class Misfit(NamedTuple):
    """A value that does not fit: where it is put, what is said of it, which column it leaves missing."""

    table: str
    document: Any
    where: str
    problem: str
    shown: str
    column: str


LONG = "9" * 100
MISFITS = {
    "capacity is text": Misfit(
        "events", event(capacity="lots"), "capacity", "not an integer", '"xxxx"', "capacity"
    ),
    "an integer with a fraction": Misfit(
        "events", event(capacity=1.7), "capacity", "not an integer", "9.9", "capacity"
    ),
    "an integer as text with a fraction": Misfit(
        "events", event(capacity="1.7"), "capacity", "not an integer", '"9.9"', "capacity"
    ),
    "an integer beyond 64 bits": Misfit(
        "events", event(capacity=2**63), "capacity", "not an integer of 64 bits", "9" * 19, "capacity"
    ),
    "an integer beyond 64 bits as text": Misfit(
        "events", event(capacity=LONG), "capacity", "not an integer of 64 bits", f'"{LONG[:59]}…', "capacity"
    ),
    "true where an integer is declared": Misfit(
        "events", event(capacity=True), "capacity", "not an integer", "true", "capacity"
    ),
    "latitude is text": Misfit(
        "events",
        event(location={"location": {"latitude": "x", "longitude": 2.5}}),
        "location.location.latitude",
        "not a number",
        '"x"',
        "location_latitude",
    ),
    "a number too large": Misfit(
        "events",
        event(location={"location": {"latitude": 10**400}}),
        "location.location.latitude",
        "not a number of 64 bits",
        f"{'9' * 60}…",
        "location_latitude",
    ),
    "a day that is none": Misfit(
        "events",
        event(created_date="2026-02-30T00:00:00Z"),
        "created_date",
        "not a datetime",
        '"9999-99-99x99:99:99x"',
        "created_date",
    ),
    "an hour that is none, in local time": Misfit(
        "events",
        event(start_date="2026-02-03T25:00:00Z"),
        "start_date",
        "not a datetime",
        '"9999-99-99x99:99:99x"',
        "start_date",
    ),
    "a number for a datetime": Misfit(
        "events", event(created_date=20260203), "created_date", "not a datetime", "99999999", "created_date"
    ),
    "yes for true": Misfit(
        "events",
        event(guests_can_invite_others="yes"),
        "guests_can_invite_others",
        "not true or false",
        '"xxx"',
        "guests_can_invite_others",
    ),
    "an object where text is declared": Misfit(
        "events", event(title={"en": "March"}), "title", "not text", '{"en": "xxxxx"}', "title"
    ),
    "a list where text is declared": Misfit(
        "events", event(title=["March"]), "title", "not text", '["xxxxx"]', "title"
    ),
    "text where an object is declared": Misfit(
        "events", event(location="Oakland"), "location", "not an object", '"xxxxxxx"', "location_locality"
    ),
    "text where a list is declared": Misfit(
        "signatures", signature(add_tags="river"), "add_tags", "not a list", '"xxxxx"', "add_tags"
    ),
    "text where custom fields are declared": Misfit(
        "signatures",
        signature(person={"custom_fields": "x"}),
        "person.custom_fields",
        "not an object",
        '"x"',
        "custom_fields",
    ),
    "an object among tags": Misfit(
        "signatures", signature(add_tags=["a", {"b": 1}]), "add_tags[1]", "not text", '{"b": 9}', "comments"
    ),
    "an object where the key of a message is declared": Misfit(
        "signatures",
        [signature()[0] | {"idempotency_key": {}}],
        "../idempotency_key",
        "not text",
        "{}",
        "idempotency_key",
    ),
    "latitude of the second address": Misfit(
        "signature_addresses",
        signature(person={"postal_addresses": [{}, {"location": {"latitude": "x"}}]}),
        "person.postal_addresses[1].location.latitude",
        "not a number",
        '"x"',
        "location_latitude",
    ),
    "a number for a reminder": Misfit(
        "event_reminders", event(reminders=[{}, 7]), "reminders[1]", "not an object", "9", "minutes"
    ),
}


def full_key(misfit: Misfit) -> str:
    """Return the key as a message names it, from the document on."""
    if isinstance(misfit.document, dict):
        return misfit.where
    is_sibling = misfit.where.startswith("../")
    return f"[0].{misfit.where[3:]}" if is_sibling else f"[0].osdi:signature.{misfit.where}"


@pytest.mark.parametrize(
    "name", ["capacity is text", "an object among tags", "an object where the key of a message is declared"]
)
def test_a_misfit_stops_with_its_file_line_key_and_value(name: str, tmp_path: Path) -> None:
    misfit, path = MISFITS[name], tmp_path / "a.ndjson"
    path.write_bytes(lines([GOOD, misfit.document, SIGNED]))
    assert message(path, misfit.table) == f"{path}:2: {misfit.problem}: {full_key(misfit)} = {misfit.shown}"


def test_skipping_keeps_the_row_of_each_misfit_without_the_value(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    whole = [json.dumps(misfit.document) for misfit in MISFITS.values()]
    path.write_text(
        "\n".join(text.replace("platform:bad", f"platform:{at}") for at, text in enumerate(whole))
    )
    with pytest.warns(ProblemsWarning) as caught:
        frames = of.open(path, on_error="skip").tables({misfit.table for misfit in MISFITS.values()})
    said = f"skipped {len(MISFITS)} problems, the first: {path}:1: not an integer: "
    assert str(caught[0].message).startswith(said)
    for at, misfit in enumerate(MISFITS.values()):
        own = "event_id" if misfit.table.startswith("event") else "signature_id"
        rows = frames[misfit.table][frames[misfit.table][own] == str(at)]
        assert len(rows), misfit
        assert rows[misfit.column].isna().all(), misfit


@pytest.mark.parametrize(
    ("keys", "version"),
    [
        ({"start": True}, "v1"),
        ({"summary": {}}, "v1"),
        ({"start": True, "title": {}}, "v2"),
        ({"summary": "March", "title": []}, "v2"),
    ],
)
def test_the_key_of_a_misfit_tells_the_version_as_any_other_key_does(keys: Any, version: str) -> None:
    bad = event(**keys)
    for source in (bad, [GOOD, bad], {"_embedded": {"osdi:events": [GOOD, bad]}}):
        rows, _ = skipped(source, "events")
        assert rows[-1]["api_version"] == version


def test_check_lists_of_a_document_what_it_lists_of_it_alone(tmp_path: Path) -> None:
    whole = tmp_path / "all"
    whole.mkdir()
    alone = []
    for number, more in enumerate(
        ['"x": 1, "x": NaN', f'"x": {"9" * 5000}', '"location": 7', '"title": 1, "x": 1e999']
    ):
        path = whole / f"{number}.json"
        path.write_text(f'{{"title": "March", "total_accepted": 1, {more}}}')
        alone.append(of.check(path))
    columns = ["severity", "problem", "detail"]
    listed = of.check(whole)[columns].drop_duplicates().sort_values(columns, ignore_index=True)
    expected = pd.concat(alone)[columns].drop_duplicates().sort_values(columns, ignore_index=True)
    pd.testing.assert_frame_equal(listed, expected)
    assert (listed["problem"] == ProblemKind.ODD_NUMBER).sum() == 3


def test_check_lists_each_misfit_by_its_key(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(lines([GOOD, *(misfit.document for misfit in MISFITS.values()), SIGNED]))
    expected = []
    for line, misfit in enumerate(MISFITS.values(), 2):
        kind = "event" if isinstance(misfit.document, dict) else "signature"
        detail = f"{kind}: {misfit.where.replace('[1]', '[]')} = {misfit.shown}"
        expected.append((str(path), line, "error", misfit.problem, detail, 1))
        if misfit is MISFITS["a number too large"]:  # which others refuse wherever it stands
            expected.append((str(path), line, "warning", ProblemKind.ODD_NUMBER, misfit.shown, 1))
    assert sorted(listed(path)) == sorted(expected)


def test_a_misfit_in_an_embedded_event_and_in_a_batch_is_named_by_its_position() -> None:
    page = {"_embedded": {"osdi:events": [GOOD, event(capacity="lots")]}}
    assert (
        message(page, "events") == '<objects>:1: not an integer: _embedded.osdi:events[1].capacity = "xxxx"'
    )
    enveloped = {"received_at": "2026-01-01T00:00:00Z", "body": [*SIGNED, *signature(comments=[])]}
    assert message(enveloped, "signatures") == "<objects>:1: not text: body[1].osdi:signature.comments = []"


@pytest.mark.parametrize(
    ("moment", "form"), [("yesterday", '"xxxxxxxxx"'), (12, "99"), ({"seconds": 1}, '{"seconds": 9}')]
)
def test_a_time_of_an_envelope_that_is_none_is_a_problem(moment: Any, form: str) -> None:
    enveloped = {"received_at": moment, "body": SIGNED}
    assert message(enveloped, "signatures") == f"<objects>:1: not a datetime: received_at = {form}"
    with pytest.warns(ProblemsWarning, match="skipped 1 problem"):
        assert of.read_signatures(enveloped, on_error="skip")["received_at"].isna().all()
    assert of.check(enveloped)["problem"].tolist() == ["not a datetime"]


def test_equal_misfits_are_counted_with_the_first_place(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(lines([GOOD, event(capacity="lots"), event(capacity="lots")]))
    assert listed(path) == [(str(path), 2, "error", "not an integer", 'event: capacity = "xxxx"', 2)]


def test_columns_can_come_from_a_generator() -> None:
    read = of.read_events({"title": "March", "total_accepted": 12}, columns=(name for name in ["title"]))
    assert read.to_dict("list") == {"title": ["March"]}


def test_columns_that_are_not_asked_for_stop_nothing() -> None:
    assert of.open(event(capacity="lots")).scan("events", columns=["title"]).read_all().num_rows == 1


#: Documents that hold nothing for a table, though something is wrong: name → document, table, problem, detail.
UNRECOGNISED = {
    "text is no document": ("archive", "signatures", "not a page, an event or a delivery", '"xxxxxxx"'),
    "an object of nothing that is known": (
        {"a": 1},
        "events",
        "not a page, an event or a delivery",
        '{"a": 9}',
    ),
    "an element without a type key": (
        [{"idempotency_key": "5f"}],
        "signatures",
        "an element without a type key",
        '[0] = {"idempotency_key": "9x"}',
    ),
    "an element that is no object": ([7], "signatures", "not an object", "[0] = 9"),
    "a signature that is no object": (
        [{"osdi:signature": 7}],
        "signatures",
        "not an object",
        "[0].osdi:signature = 9",
    ),
    "embedded events that are no list": (
        {"_embedded": {"osdi:events": {"a": 1}}},
        "events",
        "not a list",
        '_embedded.osdi:events = {"a": 9}',
    ),
    "an embedded event that is no object": (
        {"_embedded": {"osdi:events": [None, GOOD]}},
        "events",
        "not an object",
        "_embedded.osdi:events[0] = null",
    ),
}


def test_unrecognised_documents_stop_are_passed_over_and_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(lines([*(document for document, *_ in UNRECOGNISED.values()), GOOD, SIGNED]))
    expected = [(line, *said) for line, (_, _, *said) in enumerate(UNRECOGNISED.values(), 1)]
    assert message(path, "events") == f"{path}:1: {expected[0][1]}: {expected[0][2]}"
    assert sorted(listed(path)) == [
        (str(path), line, "error", problem, detail, 1) for line, problem, detail in expected
    ]
    for line, table in enumerate(("events", "signatures"), len(expected) + 1):
        rows, _ = skipped(path, table)
        assert rows[-1]["source_line"] == line


#: Lines that are no documents, and how that is said.
UNREADABLE = {
    "not JSON": (b'{"total_accepted": 1', "not JSON", "Expecting ',' delimiter at column 21"),
    "text": (b"archive", "not JSON", "Expecting value at column 1"),
    "a comma too many": (b'{"total_accepted": 1,}', "not JSON", None),
    "not UTF-8": (b'{"title": "\xff"}', "not UTF-8", "invalid start byte at byte 11"),
    "nested too deep": (b"[" * 100_000, "not JSON", "nested too deep"),
}


def test_lines_that_are_no_documents_stop_are_passed_over_and_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    broken = [line for line, *_ in UNREADABLE.values()]
    path.write_bytes(b"\n".join([compact(GOOD), *broken, compact(SIGNED), b""]))
    _, problem, detail = next(iter(UNREADABLE.values()))
    assert message(path, "events") == f"{path}:2: {problem}: {detail}"
    for table in ("events", "signatures"):
        rows, _ = skipped(path, table)
        assert [row[f"{table[:-1]}_id"] for row in rows] == ["good"]
    found = {row[1]: row for row in listed(path)}
    for line, (_, problem, detail) in enumerate(UNREADABLE.values(), 2):
        assert found[line][:4] == (str(path), line, "error", problem)
        assert detail is None or found[line][4] == detail


@pytest.mark.parametrize("times", [1, 1000])
def test_broken_lines_are_all_counted_and_those_that_are_alike_listed_once(
    times: int, tmp_path: Path
) -> None:
    path = tmp_path / "indented.ndjson"
    path.write_text("[1,\n  2,\n" * times)
    _, warning = skipped(path, "events")
    reason = "Expecting value at column 4"
    assert warning.startswith(f"skipped {3 * times:,} problems, the first: {path}:1: not JSON: {reason}; ")
    assert listed(path) == [
        (str(path), 1, "error", "not JSON", reason, 2 * times),
        (str(path), 2, "error", "not a page, an event or a delivery", "9", times),
    ]


def test_of_a_document_of_many_lines_the_line_that_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('\n{"a":\n\n [1 2]}')
    with pytest.raises(
        BadDocument, match=r"a\.json:2: not JSON: Expecting ',' delimiter 2 lines below, at column 5"
    ):
        of.read_events(path)


def test_a_torn_document_among_glued_ones_leaves_those_around_it(tmp_path: Path) -> None:
    path = tmp_path / "glued.json"
    path.write_text(f'{json.dumps(GOOD, indent=1)}\n{{"total_accepted":\n{json.dumps(SIGNED, indent=1)}')
    rows, _ = skipped(path, "signatures")
    assert [row["source_line"] for row in rows] == [9]
    assert [row[:4] for row in listed(path)] == [(str(path), 8, "error", "not JSON")]


def many(count: int) -> list[Any]:
    return [
        {"identifiers": [f"platform:e{number}"], "total_accepted": number * 7919} for number in range(count)
    ]


def test_of_a_truncated_file_all_whole_lines_are_read(tmp_path: Path) -> None:
    whole = lines(many(2000))
    packed = gzip.compress(whole)
    packed = packed[: len(packed) * 2 // 3]
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(packed)
    assert message(path, "events").startswith(f"{path}")
    rows, _ = skipped(path, "events")
    good = len(rows)
    assert good == zlib.decompressobj(wbits=31).decompress(packed).count(b"\n") > 100
    assert [row["event_id"] for row in rows] == [f"e{number}" for number in range(good)]
    assert [row["source_line"] for row in rows] == list(range(1, good + 1))
    found = {problem: line for _, line, _, problem, _, _ in listed(path)}
    assert found.pop("unreadable file") is None
    assert found.get("not JSON", good + 1) == good + 1


def test_a_dangling_link_is_a_problem_with_its_name(tmp_path: Path) -> None:
    link = tmp_path / "a.json"
    link.symlink_to(tmp_path / "gone.json")
    (tmp_path / "b.json").write_bytes(compact(GOOD))
    assert message(tmp_path, "events") == f"{link}: unreadable file: No such file or directory"
    rows, _ = skipped(tmp_path, "events")
    assert len(rows) == 1
    assert [row[:4] for row in listed(tmp_path)] == [(str(link), None, "error", "unreadable file")]


def test_half_of_a_surrogate_pair_is_mended_and_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(r'{"id": "e", "total_accepted": 1, "title": "a\ud800b"}')
    assert of.open(path).scan("events", columns=["title"]).read_all().to_pylist() == [{"title": "a\ufffdb"}]
    detail = 'event: title = "xxx"'
    assert listed(path) == [(str(path), 1, "warning", "a lone surrogate, read as U+FFFD", detail, 1)]


def test_an_archive_without_problems_warns_of_none(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(lines([GOOD, SIGNED]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert of.open(tmp_path, on_error="skip").scan("events").read_all().num_rows == 1
    assert listed(tmp_path) == []


def test_a_segment_that_is_sealed_after_it_was_listed_is_read_all_the_same(tmp_path: Path) -> None:
    first, second = tmp_path / "1.ndjson", tmp_path / "2.ndjson"
    first.write_text(json.dumps(GOOD) + "\n")
    second.write_text(json.dumps(GOOD | {"identifiers": ["platform:other"]}) + "\n")
    reader = of.open(tmp_path).scan("events", columns=["event_id"])  # lists the files
    (tmp_path / "2.ndjson.zst").write_bytes(zstd(second.read_bytes()))
    second.unlink()
    assert reader.read_all()["event_id"].to_pylist() == ["good", "other"]


def test_a_number_that_is_none_of_json_is_text_where_text_is_declared() -> None:
    """So it is whatever else the document holds, and whoever reads it: the query or the mending."""
    spellings = ["NaN", "-Infinity", "1E400"]
    text = "\n".join(
        f'{{"title": {each}, "start_date": "2026-01-01", "capacity": {capacity}, "x": [{each}]}}'
        for each in spellings
        for capacity in ("1", '"lots"')
    )
    rows, _ = skipped(io.BytesIO(text.encode()), "events")
    assert [row["title"].lower()[:4] for row in rows] == [
        each.lower()[:4] for each in spellings for _ in range(2)
    ]
    assert [row["capacity"] for row in rows] == [1, None] * 3


ODD_NUMBERS = ["NaN", "-Infinity", "1E400", "9" * 400]
MORE = ["", '"capacity": 7.0', '"identifiers": [null]', '"title": 1', '"capacity": "x"']


def with_odd_number(envelope: str, more: str, spelling: str) -> str:
    text = ", ".join(filter(None, [f'"title": {spelling}', '"total_accepted": 1', more]))
    return f"{envelope}{{{text}}}{'}' if ':' in envelope else ''}"


def test_a_number_that_is_none_of_json_is_listed_whatever_else_is_in_its_document() -> None:
    made = {
        number: [
            with_odd_number(envelope, more, number) for envelope in ("", '{"body": ', "[{}]") for more in MORE
        ]
        for number in ODD_NUMBERS
    }
    text = "\n".join(chain.from_iterable(made.values()))
    found = {row[4]: row for row in listed(io.BytesIO(text.encode())) if row[3] == ProblemKind.ODD_NUMBER}
    for number, some in made.items():
        shown = re.sub("[0-9]", "9", number[:60]) + "…" * (len(number) > 60)
        assert found[shown][2:] == ("warning", ProblemKind.ODD_NUMBER, shown, len(some))


def test_a_number_is_the_same_text_in_a_custom_field_as_in_the_comments() -> None:
    numbers = ["1e16", "1E16", "0.1e-7", "1e300", "-0.0", "1.10", "10000000000000000"]
    fields = (
        f'"comments": {number}, "person": {{"custom_fields": {{"size": {number}}}}}' for number in numbers
    )
    text = "[" + ", ".join('{"osdi:signature": {' + some + "}}" for some in fields) + "]"
    read = of.open(io.BytesIO(text.encode())).tables(["signatures", "signature_custom_fields"], dedupe=False)
    assert read["signature_custom_fields"]["value"].tolist() == read["signatures"]["comments"].tolist()
    assert len(read["signatures"]) == len(numbers)
