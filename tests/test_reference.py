"""What `scan` reads is what a plain walk over ``json.loads`` reads, cell by cell, however it is laid out."""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.document_forms import Form
from osdi_frames.engine import Engine, refused
from osdi_frames.errors import BadDocument
from osdi_frames.parsing import group as parsing
from osdi_frames.parsing import queries
from tests import reference
from tests.fuzz.oracle import documents_at
from tests.layouts import LAYOUTS, write
from tests.one_pass import scanned
from tests.reference import Document
from tests.service_documents import ATTENDANCE, DELIVERED, PREFIXES, RESOURCES, SIBLINGS, SIGNATURE, V1, V2
from tests.strategies import documents, spelled, with_one_odd_value, wrapped

TABLES = list(reference.TABLES)


def tables_of(kind: str) -> list[str]:
    return [table for table in TABLES if reference.kind_of(table) == kind]


#: The sample has what is done, and what it is done on; no tickets, and tags of signatures only.
TAGS = (*(f"{act}_tags" for act in reference.ACTS if act != "signature"), "upload_tags")
NOT_IN_THE_SAMPLE = ("people", "attendance_tickets", *TAGS)


def read(source: Any, tables: Any, **settings: Any) -> dict[str, list[dict[str, Any]]]:
    """Read tables and leave problems aside: the reference is silent of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", of.errors.ProblemsWarning)
        warnings.simplefilter("ignore", of.errors.SourceWarning)
        found = scanned(source, tables, on_error="skip", **settings)
    return {name: rows.to_pylist() for name, rows in found.items()}


def same(found: list[dict[str, Any]], expected: list[dict[str, Any]], table: str = "") -> None:
    """Compare cell by cell; what differs is named by row and column."""
    assert len(found) == len(expected), table
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        assert ours.keys() == theirs.keys()
        differing = {
            name: (ours[name], theirs[name])
            for name in ours
            if comparable(name, ours[name]) != comparable(name, theirs[name])
        }
        assert not differing, f"{table} row {number}: (scan, reference) {differing}"


def comparable(name: str, value: Any) -> Any:
    # The same JSON can be spelled in several ways: 1e16 and 10000000000000000.0.
    return json.loads(value) if name == "custom_fields" and value is not None else value


#: Element types, and how they are deduplicated. What a resource without a clear type is depends on the types asked for.
WAYS = st.sampled_from(
    [
        (kind, dedupe)
        for kind, declared in reference.KINDS.items()
        for dedupe in (True, False, *(["message"] if declared.delivered else []))
    ]
)
PREFIX = st.sampled_from([None, "change_desk"])


def documents_read_as_the_reference_reads_them(
    made: list[Any], tables: Iterable[str], **options: Any
) -> None:
    texts = [json.loads(json.dumps(document)) for document in made]
    places = [Document(None, number, text) for number, text in enumerate(texts, 1)]
    # With the page it is a list of documents, whatever they are, and no delivery.
    for table, found in read([*texts, {"page": 1}], tables, **options).items():
        same(found, reference.read(places, table, **options))


DOCUMENTS = st.lists(documents() | wrapped(), min_size=1, max_size=12)


@given(made=DOCUMENTS, way=WAYS, prefix=PREFIX)
@example(made=["\ud800"], way=("event", True), prefix=None)  # a text that cannot be the name of a file
def test_documents_read_as_the_reference_reads_them(made: list[Any], way: Any, prefix: str | None) -> None:
    documents_read_as_the_reference_reads_them(made, tables_of(way[0]), dedupe=way[1], prefix=prefix)


#: Whole addresses, and pieces that a parser of addresses has to keep apart.
ADDRESSES = st.sampled_from(
    ["https://example.org/a", "http://a:b@EXAMPLE.org:80/b?c", "//example.org", "march"]
)
PIECES = st.sampled_from(
    ["https:", "//", "/", "?", "#", "@", ":", "[::1]", "[", "]", "example.org", "É", "\n"]
)
NAMES = st.sampled_from(["Platform", "action_network", "Action Network!", "Change Desk", "CRM", "", "7"])
SHOWN = st.fixed_dictionaries(
    {"title": NAMES, "total_accepted": st.integers(0, 2)},
    optional={
        **dict.fromkeys(("origin_system", "originating_system"), NAMES),
        **dict.fromkeys(("browser_url", "url"), ADDRESSES | st.lists(PIECES, max_size=8).map("".join)),
        "_links": ADDRESSES.map(lambda href: {"self": {"href": href}}),
        "capacity": st.none() | st.just(40),
        "platform:hidden": st.booleans(),
        "platform:event_campaign_id": st.just("c1"),
    },
)


@settings(max_examples=4)
@given(events=st.lists(SHOWN, min_size=10, max_size=30), prefix=PREFIX)
def test_targeting_labels_are_read_as_the_reference_reads_them(events: list[Any], prefix: str | None) -> None:
    page = {"_embedded": {"osdi:events": events}}
    documents_read_as_the_reference_reads_them([page], ["events"], dedupe=False, prefix=prefix)


@pytest.mark.long
@settings(max_examples=1000)
@given(made=DOCUMENTS, way=WAYS, prefix=PREFIX)
def test_any_documents_read_as_the_reference_reads_them(
    made: list[Any], way: Any, prefix: str | None
) -> None:
    documents_read_as_the_reference_reads_them(made, tables_of(way[0]), dedupe=way[1], prefix=prefix)


def plain_and_mended_read_the_same(document: Any) -> None:
    """Compare what is read of a document as it is, where that is possible, and of what is written of it to mend it."""
    source = [document, {"page": 1}]
    expected = read(source, TABLES, dedupe=False)
    parse = queries.parse_documents

    def refuse(engine: Engine, form: Form, structure: Any, documents: pa.Table) -> pa.Table:
        if documents["misfits"].null_count:  # it is none of the mended
            raise refused()[0]("anything misplaced")
        return parse(engine, form, structure, documents)

    for has_shape in (False, True):  # where Python finds nothing in what the query refuses, all is mended
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(queries, "parse_documents", refuse)
            patch.setattr(parsing, "has_shape", lambda *_, answer=has_shape: answer)
            for table, found in read(source, TABLES, dedupe=False).items():
                same(found, expected[table])


@settings(max_examples=4)
@given(document=documents())
def test_plain_and_mended_documents_read_the_same(document: Any) -> None:
    plain_and_mended_read_the_same(document)


@pytest.mark.long
@pytest.mark.parametrize("kind", reference.KINDS)
def test_plain_and_mended_documents_with_odd_values_read_the_same(kind: str) -> None:
    for document in odd_documents(kind, start=len(kind), step=23):
        plain_and_mended_read_the_same(document)


#: Lines of documents in which something is unusual besides a date, which AT stands for.
UNUSUAL = {
    "a value that is no element, of another type in a page":
        '{"_embedded": {"osdi:signatures": [null], "osdi:events": [{"identifiers": ["platform:1"], AT}]}}',
    "a value that is no list, of another type in a page":
        '{"_embedded": {"osdi:signatures": 7, "osdi:events": [{"identifiers": ["platform:1"], AT}]}}',
    "a value that is no element, of another type in a delivery":
        '[{"osdi:donation": 7}, {"osdi:signature": {"identifiers": ["platform:1"], AT}}]',
    "the total of a page with two collections":
        '{"total_records": 500, "_links": {"self": {"href": "https://h.example/api/v2/all"}}, "_embedded": '
        '{"osdi:petitions": [{"identifiers": ["platform:p"]}], "osdi:events": [{"identifiers": ["platform:1"], AT}]}}',
    "a custom field that occurs twice":
        '[{"osdi:signature": {"identifiers": ["platform:1"], AT, "person": {"custom_fields": {"a": 1, "a": 2}}}}]',
    "a key inside of a custom field that occurs twice":
        '[{"osdi:signature": {"identifiers": ["platform:1"], AT, '
        '"person": {"custom_fields": {"a": {"b": 1, "b": 2}}}}}]',
    "two values that do not fit, of two types in a page":
        '{"_embedded": {"osdi:signatures": [{"identifiers": ["platform:1"], AT}]}}\n'
        '{"_embedded": {"osdi:events": [{"capacity": "x"}], "osdi:signatures": [{"created_date": "x"}]}}',
}  # fmt: skip


@pytest.mark.parametrize("lines", UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_unusual_is_read_the_same_in_clean_and_in_mended_documents(
    lines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean, mended = tmp_path / "clean" / "a.ndjson", tmp_path / "mended" / "a.ndjson"
    for path, date in (clean, "2026-01-01T00:00:00Z"), (mended, "2026-01-01"):
        path.parent.mkdir()
        path.write_text(lines.replace("AT", f'"created_date": "{date}"'))
    found = []
    for path, many in (clean, 99), (mended, 99), (mended, 1):
        monkeypatch.setattr(parsing, "_MANY", many)
        monkeypatch.chdir(path.parent)
        readings = [["events"], ["signatures"], ["signature_custom_fields"], TABLES]
        rows = [read(path.name, tables, dedupe=False) for tables in readings]
        errors = [first_problem(path.name, tables) for tables in readings]
        problems = of.check(path.name).query("severity != 'info'").astype(str).to_dict("list")
        found.append((rows, errors, problems))
    assert found[1] == found[0]
    assert found[2] == found[0]


def values_and_documents_are_mended_the_same(made: list[Any]) -> None:
    """Compare what is read, and which problems are found, whether single values are mended or all documents rewritten.

    Each document is there alone, and with others as the entries of one.
    """
    source = [*made, *together(made), {"page": 1}]
    found = []
    for many in (1, len(source) + 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parsing, "_MANY", many)
            found.append(
                (read(source, TABLES, dedupe=False), of.check(source), first_problem(source, TABLES))
            )
    (tables, problems, error), (expected, expected_problems, expected_error) = found
    for table, rows in tables.items():
        same(rows, expected[table])
    pd.testing.assert_frame_equal(problems, expected_problems)
    assert error == expected_error


def first_problem(source: Any, tables: Iterable[str]) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", of.errors.SourceWarning)
            scanned(source, tables, dedupe=False)
    except BadDocument as error:
        return str(error)
    return ""


def together(made: list[Any]) -> list[Any]:
    """Return documents with the elements of five others each, of the same kind."""
    deliveries = [document for document in made if isinstance(document, list)]
    joined: list[Any] = [[*chain.from_iterable(some)] for some in zip(*[iter(deliveries)] * 5, strict=False)]
    pages: defaultdict[str, list[Any]] = defaultdict(list)
    for document in made:
        if isinstance(document, dict) and isinstance(embedded := document.get("_embedded"), dict):
            for key, entries in embedded.items():
                pages[key] += entries if isinstance(entries, list) else []
    pages["osdi:events"] += [one for one in made if isinstance(one, dict) and "total_accepted" in one]
    return joined + [
        {"_embedded": {key: [*some]}}
        for key, entries in pages.items()
        for some in zip(*[iter(entries)] * 5, strict=False)
    ]


@pytest.mark.parametrize("kind", reference.KINDS)
def test_single_values_are_mended_as_documents_are(kind: str) -> None:
    values_and_documents_are_mended_the_same(odd_documents(kind, start=len(kind), step=61))


@pytest.mark.long
@pytest.mark.parametrize("kind", reference.KINDS)
def test_any_single_values_are_mended_as_documents_are(kind: str) -> None:
    values_and_documents_are_mended_the_same(odd_documents(kind))


def odd_documents(kind: str, *, start: int = 0, step: int = 1) -> list[Any]:
    pages = [{"_embedded": {key: [value]}} for key, value in RESOURCES.items()]
    collections = reference.KINDS[kind].collections
    kinds: list[Any] = [kind_page for kind_page in pages if collections[0] in kind_page["_embedded"]]
    if kind == "event":
        kinds = [V1, V2]
    elif kind == "signature":
        kinds = [[{"osdi:signature": SIGNATURE} | SIBLINGS]]
    else:
        keys = (key for key in DELIVERED if key.endswith(f":{kind}"))
        kinds += [[{key: DELIVERED[key]} | SIBLINGS] for key in keys]
    return [
        odd for kind in kinds for odd in with_one_odd_value(spelled(kind, "platform"), start=start, step=step)
    ]


@pytest.mark.parametrize("kind", reference.KINDS)
def test_an_odd_value_at_a_place_reads_as_the_reference_reads_it(kind: str) -> None:
    made = odd_documents(kind, start=len(kind), step=89)
    documents_read_as_the_reference_reads_them(made, tables_of(kind), dedupe=False)


@pytest.mark.long
@pytest.mark.parametrize("kind", reference.KINDS)
def test_any_odd_value_at_any_place_reads_as_the_reference_reads_it(kind: str) -> None:
    documents_read_as_the_reference_reads_them(odd_documents(kind), tables_of(kind), dedupe=False)


def the_archive_reads_as_the_reference_reads_it(folder: Path) -> dict[str, list[dict[str, Any]]]:
    sources = documents_at(folder)
    found, expected = read(folder, TABLES), reference.read_files(sources, TABLES)
    for table in TABLES:
        same(found[table], expected[table], table)
    for table, rows in read(folder, ["events", "signatures"], dedupe=False).items():
        same(rows, reference.read(sources, table, dedupe=False))
    for table, rows in read(folder, ["signatures"], dedupe="message").items():
        same(rows, reference.read(sources, table, dedupe="message"))
    return expected


def test_an_archive_reads_as_the_reference_reads_it(little: Path) -> None:
    the_archive_reads_as_the_reference_reads_it(little)


@pytest.mark.long
def test_the_sample_archive_reads_as_the_reference_reads_it_and_has_rows_of_every_table(data: Path) -> None:
    expected = the_archive_reads_as_the_reference_reads_it(data)
    assert {table for table in TABLES if not expected[table]} <= {*NOT_IN_THE_SAMPLE}


def some_of_everything() -> list[Any]:
    """Return documents of every kind: pages, single events, deliveries, envelopes, and some with odd values."""
    odd = [*with_one_odd_value(V1, step=797), *with_one_odd_value(V2, step=797)]
    odd_signatures = [
        [{"osdi:signature": signature} | SIBLINGS] for signature in with_one_odd_value(SIGNATURE, step=797)
    ]
    page = {"total_pages": 1, "_embedded": {"osdi:events": [V2, V1]}}
    signatures = {"_embedded": {"osdi:signatures": [SIGNATURE, SIGNATURE]}}
    stamped = {"received_at": "2026-06-01T10:00:00+02:00", "body": [{"osdi:signature": SIGNATURE}]}
    fetched = {"fetched_at": "2026-06-01T10:00:00Z", "url": "https://example.org", "body": page}
    other = [{"osdi:attendance": {}}, *({key: value} | SIBLINGS for key, value in DELIVERED.items())]
    resources = {"_embedded": {key: [value, value] for key, value in RESOURCES.items()}}
    attended = {"received_at": "2026-06-01T10:00:00Z", "body": [{"osdi:attendance": ATTENDANCE} | SIBLINGS]}
    whole = [resources, attended, *RESOURCES.values()]
    made = [page, V1, signatures, stamped, fetched, other, *whole, *odd, *odd_signatures]
    return [spelled(document, PREFIXES[number % 2]) for number, document in enumerate(made)]


def test_every_layout_reads_as_the_reference_reads_it_and_as_the_objects_do(tmp_path: Path) -> None:
    made = some_of_everything()
    for layout, files in LAYOUTS.items():
        write(files(made), tmp_path / layout)
        assert [document.value for document in documents_at(tmp_path / layout)] == made, layout
    places = documents_at(tmp_path)
    for table, rows in read(tmp_path, ["events", "signatures", "attendances"], dedupe=False).items():
        same(rows, reference.read(places, table, dedupe=False))


@pytest.mark.parametrize("layout", ["lines, gz", "glued, pretty", "zip", "tar.gz", "zip in tar in zip"])
def test_an_open_file_reads_as_its_path_does(layout: str, tmp_path: Path) -> None:
    write(LAYOUTS[layout](some_of_everything()[::3]), tmp_path)
    (path,) = tmp_path.iterdir()
    columns = {"signatures": ["signature_id", "comments", "source_line"]}
    with path.open("rb") as file:
        found = read(file, columns, dedupe=False)["signatures"]
        assert found
        same(found, read(path, columns, dedupe=False)["signatures"])
        assert not file.closed


def test_parsed_objects_read_as_the_reference_reads_them() -> None:
    made = some_of_everything()
    places = [Document(None, number, document) for number, document in enumerate(made, 1)]
    for table, found in read(made, ["events", "signatures"]).items():
        same(found, reference.read(places, table))


def test_one_page_and_one_delivery_are_sources_by_themselves() -> None:
    page, _, _, stamped, *_ = some_of_everything()
    for source in (page, stamped, stamped["body"]):
        for table, found in read(source, ["events", "signatures"]).items():
            same(found, reference.read([Document(None, 1, source)], table))


@pytest.mark.parametrize(
    ("kind", "turn"),
    [
        pytest.param(kind, turn, marks=pytest.mark.long if (number + 2 * turn) % 6 else ())
        for number, kind in enumerate(reference.KINDS)
        for turn in range(3)
    ],
)
def test_some_columns_read_as_they_do_among_all(kind: str, turn: int) -> None:
    made, tables = odd_documents(kind, step=241), tables_of(kind)
    some = {table: list(of.describe(table)["column"])[turn::3][::-1] for table in tables}
    found, whole = read(made, some, dedupe=False), read(made, tables, dedupe=False)
    for table, columns in some.items():
        assert not found[table] or list(found[table][0]) == columns
        same(found[table], [{name: row[name] for name in columns} for row in whole[table]])


def test_an_entry_that_is_no_text_is_no_row_whatever_columns_are_read() -> None:
    source = [[{"osdi:signature": SIGNATURE | {"add_tags": [{"a": 1}, "new"]}}]]
    for columns in (["element"], ["tag"], None):
        assert len(read(source, {"signature_tags": columns})["signature_tags"]) == 1


def test_the_columns_are_those_that_the_dictionary_names_in_its_order() -> None:
    for table, rows in scanned([], TABLES).items():
        assert rows.schema.names == list(of.describe(table)["column"])


@pytest.mark.parametrize("between", ["", "\n", "\n\n"], ids=["glued", "lines", "blank lines"])
def test_a_file_larger_than_what_is_read_at_a_time_reads_whole_with_its_lines(
    between: str, tmp_path: Path
) -> None:
    count, filling = 18, "é" * 500_000  # about a megabyte each; 16 MiB are read at a time
    page = json.dumps({"total_accepted": 1, "description": filling}, indent=1, ensure_ascii=False)
    path = tmp_path / "large.json"
    path.write_text(between.join([page] * 9 + ['{"torn": \n'] + [page] * 9), "utf-8")
    found = read(path, {"events": ["total_accepted", "source_line"]})["events"]
    height = 3 + len(between)
    torn = 9 * height + 1
    before = [1 + number * height for number in range(9)]
    after = [torn + 1 + len(between) + number * height for number in range(9)]
    assert [row["source_line"] for row in found] == before + after
    assert len(found) == count


def test_lines_of_a_large_file_are_counted_over_all_that_is_read_at_a_time(tmp_path: Path) -> None:
    line = json.dumps({"total_accepted": 1, "description": "é" * 100_000}, ensure_ascii=False)
    path = tmp_path / "large.ndjson"
    path.write_text("\n".join([line] * 60), "utf-8")  # about 12 MB; 4 MiB are read at a time
    found = read(path, {"events": ["source_line"]})["events"]
    assert [row["source_line"] for row in found] == list(range(1, 61))


@pytest.mark.parametrize("comments", ["plain", "[as a list begins, so the document is read precisely"])
@pytest.mark.parametrize(("mark", "chosen"), [(1, "a"), (1.0, "a"), (True, "b"), ("true", "b")])
def test_an_entry_is_primary_by_true_alone_however_its_document_is_read(mark, chosen, comments):
    emails = [{"address": "a"}, {"address": "b", "primary": mark}]
    signature = {"comments": comments, "person": {"email_addresses": emails}}
    assert (
        of.read_signatures([{"osdi:signature": signature}], columns=["email", "comments"]).email[0] == chosen
    )
