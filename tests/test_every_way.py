"""Every way of reading gives the same cells, whatever is odd or missing in the documents."""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import osdi_frames as of
from tests import reference
from tests.strategies import documents
from tests.test_reference import read, same
from tests.workers import workers

Rows = list[dict[str, Any]]

CONSTANT = re.compile(r'"(NaN|-?Infinity)"(?!:)')


def written(document: Any, indent: int | None, *, bare: bool) -> str:
    """Write a document, with the texts that are constants of other readers as these, if they are to be `bare`."""
    text = json.dumps(document, indent=indent)
    return CONSTANT.sub(r"\1", text) if bare else text


def rows_of(frame: pd.DataFrame, schema: pa.Schema) -> Rows:
    return pa.Table.from_pandas(frame, schema, preserve_index=False).to_pylist()


def exported(folder: Path, table: str) -> Rows:
    """Read an exported table, a file or a folder of files."""
    files = sorted([*folder.glob(f"{table}.parquet"), *folder.glob(f"{table}/*.parquet")])
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def ways(source: Path, table: str, some: list[str], **options: bool) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of a table by each way to read them; in part they are those of some of its columns."""
    archive = of.open(source, on_error="skip")
    whole = archive.scan(table, **options).read_all()
    yield "scan", whole.to_pylist()
    yield "scan in part", archive.scan(table, some, **options).read_all().to_pylist()
    yield "table", rows_of(archive.table(table, **options), whole.schema)
    yield "tables", rows_of(archive.tables(**options)[table], whole.schema)
    found = archive.tables({"signature_emails": ["address"], table: some}, **options)
    yield "tables in part", rows_of(found[table], whole.select(some).schema)
    with workers():
        frame = archive.dask(table, **options, npartitions=3).compute()
        yield "Dask", rows_of(frame, whole.schema)
        for engine in (None, "dask"):
            folder = source.with_suffix(f".{engine}")
            archive.export(folder, tables=[table], engine=engine, **options)
            yield f"export, engine={engine}", exported(folder, table)
    if not options["dedupe"]:
        parts = archive.partitions(count=3)
        rows = [row for part in parts for row in part.scan(table, dedupe=False).read_all().to_pylist()]
        yield "partitions", rows


def in_any_order(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


def every_way_is_as_the_reference(
    made: list[Any],
    table: str,
    some: list[str],
    *,
    indent: int | None = None,
    bare: bool = False,
    dedupe: bool = False,
    people: bool = True,
) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", of.errors.ProblemsWarning)
        warnings.simplefilter("ignore", of.errors.SourceWarning)
        path, texts = Path(folder, "a.json"), [written(document, indent, bare=bare) for document in made]
        path.write_text("".join(f"{text}\n" for text in texts))
        placed, line = [], 1
        for document, text in zip(made, texts, strict=True):
            value = json.loads(written(document, None, bare=False))
            placed.append(reference.Document(str(path), line, value))
            line += text.count("\n") + 1
        expected = reference.read(placed, table, dedupe=dedupe, people=people)
        for way, found in ways(path, table, some, dedupe=dedupe, people=people):
            columns = some if way.endswith("in part") else expected[:1] and expected[0]
            rows = [{name: row[name] for name in columns} for row in expected]
            if "ask" in way and of.tables.TABLES[table].rows:
                # Of several partitions, rows stand with those of the version that they come from.
                found, rows = in_any_order(found), in_any_order(rows)
            try:
                same(found, rows)
            except AssertionError as error:
                error.add_note(way)
                raise
        assert "osdi-frames" not in " ".join(of.check(path)["detail"])


def every_way_is_as_the_reference_of_any(data: st.DataObject, table: str, made: list[Any]) -> None:
    columns = st.lists(st.sampled_from(list(of.describe(table)["column"])), min_size=1, unique=True)
    every_way_is_as_the_reference(
        made,
        table,
        data.draw(columns),
        indent=data.draw(st.sampled_from([None, 1])),
        bare=data.draw(st.booleans()),
        dedupe=data.draw(st.booleans()),
        people=data.draw(st.booleans()),
    )


TABLES = st.sampled_from(list(reference.TABLES))
MADE = st.lists(documents(), min_size=1, max_size=12)


@settings(max_examples=2)
@given(data=st.data(), table=TABLES, made=MADE)
def test_every_way_of_reading_gives_the_same_cells(data: st.DataObject, table: str, made: list[Any]) -> None:
    every_way_is_as_the_reference_of_any(data, table, made)


@pytest.mark.long
@settings(max_examples=1000)
@given(data=st.data(), table=TABLES, made=MADE)
def test_every_way_of_reading_gives_the_same_cells_of_any_documents(
    data: st.DataObject, table: str, made: list[Any]
) -> None:
    every_way_is_as_the_reference_of_any(data, table, made)


#: What stands before the entries of lists: nothing, or a value that is not an object.
MISPLACED = [None, 7, "x@example.org", []]
LISTS = {
    "email_addresses": {"address": "b@example.org"},
    "phone_numbers": {"number": "15105550100"},
    "postal_addresses": {"region": "CA", "postal_code": "94607"},
}
CELLS = {"email": "b@example.org", "phone": "15105550100"}
CELLS |= {"location_region": "CA", "location_postal_code": "94607"}


def signature(before: Any) -> Any:
    lists = {name: [before, entry] for name, entry in LISTS.items()}
    return [{"osdi:signature": {"created_date": "no time", "person": lists}}]


def test_the_first_object_of_a_list_is_read_whatever_stands_before_it() -> None:
    source = [signature(before) for before in MISPLACED]
    every_way_is_as_the_reference(source, "signatures", [*CELLS])
    children = ("signature_emails", "signature_phones", "signature_addresses")
    found = read(source, {"signatures": CELLS} | {key: ["position"] for key in children}, dedupe=False)
    assert found.pop("signatures") == [CELLS] * len(MISPLACED)
    assert [*found.values()] == [[{"position": 1}] * len(MISPLACED)] * len(children)


@pytest.mark.parametrize("before", MISPLACED, ids=json.dumps)
@pytest.mark.parametrize("at", [0, 1])
def test_an_entry_that_is_no_object_is_an_error_wherever_it_stands(before: Any, at: int) -> None:
    entries: list[Any] = [LISTS["email_addresses"]]
    entries.insert(at, before)
    source = [{"osdi:signature": {"person": {"email_addresses": entries}}}]
    if before is None:
        assert of.read_signatures(source)["email"].tolist() == ["b@example.org"]
    else:
        with pytest.raises(of.errors.BadDocument, match=f"not an object.*email_addresses.{at}"):
            of.read_signatures(source, columns=["email"])
    assert ("not an object" in set(of.check(source)["problem"])) is (before is not None)
