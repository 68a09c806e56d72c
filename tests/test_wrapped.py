"""Deliveries and pages inside of other JSON, of texts, logs and tables are found (design rule 5)."""

from __future__ import annotations

import base64
import io
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames.errors import BadDocument, InvalidSource, ProblemsWarning
from osdi_frames.sources.log_lines import is_log, logged
from osdi_frames.sources.wrapped import DEPTH


def delivery(number: int) -> list[Any]:
    person = {"email_addresses": [{"address": f"ann{number}@example.org"}]}
    signature = {
        "identifiers": [f"action_network:s{number}"],
        "created_date": "2026-03-02T17:07:31Z",
        "person": person,
    }
    return [{"osdi:signature": signature, "idempotency_key": f"m{number}"}]


TEXT = json.dumps(delivery(1))
AT = "2026-03-11T16:05:38Z"
EVENT = {"identifiers": ["action_network:e1"], "title": "March", "total_accepted": 5}
PAGE = {
    "total_pages": 1,
    "per_page": 25,
    "page": 1,
    "total_records": 1,
    "_embedded": {"osdi:events": [EVENT]},
}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


#: What is around a delivery, what `check` says of it, and when it was received.
WRAPPED: dict[str, tuple[Any, str, str | None]] = {
    "body as text": ({"received_at": AT, "body": TEXT}, "text: body", AT),
    "payload of a row": ({"id": 1, "received": AT, "payload": TEXT}, "text: payload", AT),
    "row with a created date": ({"id": 1, "created_date": AT, "payload": TEXT}, "text: payload", AT),
    "gateway": (
        {"routeKey": "POST /", "requestContext": {"time": "11/Mar/2026:16:05:38 +0000"}, "body": TEXT},
        "text: body",
        AT,
    ),
    "gateway with base64": (
        {
            "requestContext": {"requestTimeEpoch": 1773245138000},
            "body": encoded(TEXT),
            "isBase64Encoded": True,
        },
        "base64: body",
        AT,
    ),
    "queue": (
        {"Records": [{"messageId": "a", "body": TEXT, "attributes": {"SentTimestamp": "1773245138000"}}]},
        "text: (hidden)[].body",
        AT,
    ),
    "topic through a queue": (
        {"Records": [{"body": json.dumps({"Type": "Notification", "Message": TEXT, "Timestamp": AT})}]},
        "text: (hidden)[].body.(hidden)",
        AT,
    ),
    "stream": (
        {"Records": [{"kinesis": {"data": encoded(TEXT), "approximateArrivalTimestamp": 1773245138.0}}]},
        "base64: (hidden)[].kinesis.data",
        AT,
    ),
    "push": (
        {"message": {"data": encoded(TEXT), "publishTime": AT}, "subscription": "s"},
        "base64: message.data",
        AT,
    ),
    "items of a workflow": ([{"json": {"headers": {}, "body": delivery(1)}}], "json: [].json.body", None),
    "request catcher": (
        {"data": [{"content": TEXT, "created_at": "2026-03-11 16:05:38"}], "total": 1, "per_page": 50},
        "text: data[].content",
        AT,
    ),
    "form": ({"time": AT, "body": f"token=x&payload={quote_plus(TEXT)}"}, "form: body.payload", AT),
    "text of a text": ({"time": AT, "body": json.dumps(json.dumps(delivery(1)))}, "text: body", AT),
    "log as JSON": ({"time": AT, "log": f"posted: {TEXT}\n", "stream": "stdout"}, "log: log", AT),
    "an element without its list": ({"time": AT, "data": delivery(1)[0]}, "json: data", AT),
    "below envelopes": (
        {"received_at": AT, "body": {"created_at": "2020-01-01 00:00:00", "data": delivery(1)}},
        "json: body.data",
        AT,
    ),
}


def test_a_delivery_inside_of_other_json_is_read_with_the_time_of_its_wrapper(tmp_path: Path) -> None:
    for name, (wrapper, _, _) in WRAPPED.items():
        (tmp_path / f"{name}.ndjson").write_text(f"\n{json.dumps(wrapper)}\n")
    archive = of.open(tmp_path)
    rows = archive.signatures(dedupe=False).set_index("source_file")
    assert len(rows) == len(WRAPPED)
    for name, (_, _, at) in WRAPPED.items():
        row = rows.loc[str(tmp_path / f"{name}.ndjson")]
        assert row[["signature_id", "email", "source_line"]].tolist() == ["s1", "ann1@example.org", 2], name
        assert pd.isna(row["received_at"]) if at is None else row["received_at"] == pd.Timestamp(at), name
    listed = archive.check()
    unwrapped = listed[listed["problem"] == "unwrapped"]
    assert {*unwrapped["severity"]} == {"info"}
    said = Counter(said for _, said, _ in WRAPPED.values())
    assert dict(zip(unwrapped["detail"], unwrapped["count"], strict=True)) == said
    assert "error" not in {*listed["severity"]}


LOG = f"""[2026-03-11 16:05:38] INFO: Raw body: {TEXT}
2026-03-12 16:05:38,120 INFO posted {json.dumps(delivery(2))} status=200
192.0.2.1 - - [13/Mar/2026:16:05:38 +0000] "POST / HTTP/1.1" {json.dumps(delivery(3))}
time="2026-03-14T16:05:38Z" level=info body={json.dumps(json.dumps(delivery(4)))}
"""


def test_deliveries_behind_the_prefix_of_log_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "hook.log"
    path.write_text(LOG)
    found = of.open(path).signatures()
    assert found["signature_id"].tolist() == ["s1", "s2", "s3", "s4"]
    assert found["received_at"].dt.day.tolist() == [11, 12, 13, 14]
    assert found["source_line"].tolist() == [1, 2, 3, 4]


def test_what_a_log_holds_besides_and_a_torn_line_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "hook.log"
    fifth = json.dumps(delivery(5))
    torn = f"2026-03-15 10:00:00 posted {fifth[:-40]}\n{fifth[3:]}\n"
    path.write_text(f"2026-03-10 10:00:00 started\n{LOG}{torn}")
    with pytest.warns(ProblemsWarning, match="skipped 3 problems"):
        tables = of.open(path, on_error="skip").tables()
    assert (len(tables["signatures"]), len(tables["people"])) == (4, 4)
    listed = of.check(path).query("severity == 'error'")
    assert listed[["source_line", "count"]].values.tolist() == [[1, 2], [7, 1]]


def test_a_large_log_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "hook.log"
    path.write_text(LOG * 300)
    limits = of.Limits(document_bytes=10_000)
    assert len(of.open(path, limits=limits).signatures(["signature_id"], dedupe=False)) == 1_200


def test_a_page_inside_of_other_json_is_read_as_fetched(tmp_path: Path) -> None:
    for wrapper in (
        {"status": 200, "date": AT, "data": PAGE},
        {"timestamp": AT, "response": json.dumps(PAGE)},
        {"data": {"received_at": AT, "other:page": PAGE, "osdi:page": "as of a delivery"}},
    ):
        path = tmp_path / "a.json"
        path.write_text(json.dumps(wrapper, indent=1))
        found = of.open(path).events()
        assert found[["event_id", "total_accepted"]].values.tolist() == [["e1", 5]]
        assert found["fetched_at"].tolist() == [pd.Timestamp(AT)]


FRAME = pd.DataFrame({"received": [AT, None, AT], "payload": [TEXT, None, json.dumps(delivery(2), indent=1)]})


@pytest.mark.parametrize(
    ("name", "write", "lines"),
    [
        ("a.csv", lambda frame, path: frame.to_csv(path, index=False), [2, 4]),
        ("a.CSV", lambda frame, path: frame.to_csv(path, index=False, sep=";", encoding="utf-8-sig"), [2, 4]),
        ("a.parquet", lambda frame, path: frame.to_parquet(path), [1, 3]),
        (
            "b.parquet",
            lambda frame, path: frame.assign(received=pd.to_datetime(frame["received"])).to_parquet(path),
            [1, 3],
        ),
    ],
)
def test_a_table_of_a_warehouse_is_read_row_by_row(
    name: str, write: Callable[[pd.DataFrame, Path], None], lines: list[int], tmp_path: Path
) -> None:
    write(FRAME, tmp_path / name)
    stores = [None, tmp_path / "store"] if name in ("a.csv", "a.parquet") else [None]
    for archive in (of.open(tmp_path / name, store=store) for store in stores):
        found = archive.signatures()
        assert found[["signature_id", "source_line"]].values.tolist() == [["s1", lines[0]], ["s2", lines[1]]]
        assert (found["received_at"] == AT).all()
    parts = of.open(tmp_path / name).partitions(count=2)
    assert sum(len(part.signatures()) for part in parts) == 2


def test_a_row_without_a_document_among_others_is_an_error(tmp_path: Path) -> None:
    pd.DataFrame({"payload": [TEXT, "torn"], "id": [1, 2]}).to_csv(tmp_path / "a.csv")
    with pytest.raises(BadDocument, match=r"a\.csv:3: .*nothing that the service sends is in it"):
        of.open(tmp_path / "a.csv").signatures()


def test_a_column_of_payloads_is_a_source() -> None:
    column = FRAME["payload"]
    texts = column.dropna().tolist()
    sources: list[Any] = [column, column.map(json.loads, na_action="ignore"), column.dropna().map(encoded)]
    for source in (*sources, column.to_numpy(), texts, iter(texts)):
        archive = of.open(source)
        assert archive.signatures(["signature_id"])["signature_id"].tolist() == ["s1", "s2"]
        assert "ann" not in repr(archive)
    assert archive.signatures(["signature_id"])["signature_id"].tolist() == [
        "s1",
        "s2",
    ]  # of an iterator, again


def test_a_table_without_documents_and_a_report_of_the_service_are_refused(tmp_path: Path) -> None:
    pd.DataFrame({"custom_fields": ['{"x": "1"}'], "tags": ["[]"]}).to_csv(tmp_path / "a.csv")
    with pytest.raises(
        InvalidSource, match=r'exported table.*pandas\.read_csv reads it.*open\(frame\["payload"\]\)'
    ):
        of.open(tmp_path / "a.csv").signatures()
    (tmp_path / "b.csv").write_text("email,Timestamp (ET)\nann@example.org,2026-03-02 12:07:31 EST\n")
    with pytest.raises(InvalidSource, match=r"report that the service exports.*pandas\.read_csv"):
        of.open(tmp_path / "b.csv").signatures()
    with pytest.raises(InvalidSource, match=r'open\(frame\["payload"\]\)'):
        of.open(FRAME).signatures()  # type: ignore[arg-type]


def test_a_search_ends_at_its_depth_and_is_linear() -> None:
    for levels, count in ((DEPTH, 1), (DEPTH + 1, 0)):
        wrapper: Any = delivery(1)
        for _ in range(levels):
            wrapper = {"x": wrapper}
        assert len(of.open([wrapper], on_error="skip").check().query("problem == 'unwrapped'")) == count
    text = json.dumps({"a": ["[" * 1000, "{" * 1000, '{"' * 500, "A" * 10_000, "%5B" * 1000, '"' * 999] * 20})
    tracemalloc.start()
    with pytest.raises(BadDocument):
        of.open(io.BytesIO(text.encode())).signatures()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * len(text)


@pytest.mark.parametrize("line", ["a" * 10**6, 'a {"' * 10**6, "a " + "[" * 10**6, "a " + "[ " * 10**6])
def test_a_search_for_json_in_a_line_is_linear(line: str) -> None:
    """A quadratic one would take hours."""
    assert not is_log(line.encode())
    assert logged(line, 0) is None


def test_the_person_of_an_act_whose_type_is_not_clear_is_not_read_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"stream": "signatures", "record": delivery(1)[0]["osdi:signature"]}))
    with pytest.raises(BadDocument, match="nothing that the service sends is in it"):
        of.open(path).people()


def test_values_of_a_wrapper_are_quoted_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"ann@example.org": {"payload": TEXT}, "to": "bob@example.org"}))
    assert "@" not in of.check(path)["detail"].str.cat()
    path.write_text(json.dumps({"ann@example.org": {"payload": TEXT[:-5]}, "to": "bob@example.org"}))
    with pytest.raises(BadDocument) as stopped:
        of.open(path).signatures()
    assert "@" not in str(stopped.value)
