"""Files for a spreadsheet: Excel, and CSV with a byte-order mark."""

import json
import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.utils.escape import unescape

import osdi_frames as of
from osdi_frames.errors import InvalidArgument, ProblemsWarning
from osdi_frames.output import workbook
from tests.commands import run

EVENT = {
    "identifiers": ["action_network:e1"],
    "title": "=1+1",
    "description": "https://example.org",
    "total_accepted": 3,
    "start_date": "2026-05-01T18:00:00Z",
    "created_date": "2026-04-01T10:00:00+02:00",
    "location": {"location": {"latitude": 37.8}},
}


def cells(path):
    """Return the rows of the one sheet of a file."""
    (sheet,) = openpyxl.load_workbook(path).worksheets
    return [list(row) for row in sheet.iter_rows()]


def test_an_excel_export_keeps_texts_as_texts_and_names_utc(tmp_path):
    assert of.export(EVENT, tmp_path / "out", tables=["events"], format="xlsx") == {"events": 1}
    head, row = cells(tmp_path / "out" / "events.xlsx")
    found = {name.value: cell for name, cell in zip(head, row, strict=True)}
    assert (found["title"].value, found["title"].data_type) == ("=1+1", "s")
    assert found["created_date (UTC)"].value == pd.Timestamp("2026-04-01 08:00")
    assert found["start_date"].value == pd.Timestamp("2026-05-01 18:00")
    assert found["total_accepted"].value == 3
    assert found["location_latitude"].value == 37.8
    assert found["identifiers"].value == '["action_network:e1"]'
    assert found["end_date"].value is None
    assert found["description"].hyperlink is None
    assert [column.name for column in of.open(EVENT).scan("events").schema] == [
        name.value.removesuffix(" (UTC)") for name in head
    ]


TIMES = st.datetimes(max_value=datetime.fromisoformat("9999-12-31")).map(
    lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)
)
BERLIN = ZoneInfo("Europe/Berlin")
BOUNDS = [datetime.fromisoformat(f"{year}-01-01") for year in (1950, 2030)]
ODD = [
    "=1+1",
    "@SUM(1)",
    "\x00",
    "_x0041_",
    " a ",
    "a\r\nb\t",
    "\U0001f600",
    "https://example.org",
    "5",
    "TRUE",
    "2026-05-01",
    "",
]
#: Of each kind of column its dtype, and the values that it can have.
COLUMNS = {
    "text": (
        "str",
        st.sampled_from(ODD)
        | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"), max_size=5),
    ),
    "integer": ("Int64", st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)),
    "float": ("float64", st.floats(allow_nan=False, width=32)),
    "truth": ("boolean", st.booleans()),
    "amount": (pd.ArrowDtype(pa.decimal128(20, 2)), st.decimals(-(10**16), 10**16, places=2)),
    "clock": ("datetime64[us]", TIMES),
    "day": (pd.ArrowDtype(pa.date32()), st.dates()),
    "utc": ("datetime64[us, UTC]", TIMES.map(lambda time: time.replace(tzinfo=UTC))),
    "berlin": (
        "datetime64[us, Europe/Berlin]",
        st.datetimes(*BOUNDS, timezones=st.just(UTC)).map(lambda time: time.replace(microsecond=0)),
    ),
    "list": ("object", st.lists(st.sampled_from(ODD), max_size=2)),
}


@st.composite
def frames(draw):
    """Return a frame with columns of some kinds, and its values by column."""
    count = draw(st.integers(0, 4))
    values = {"row": [*range(count)]}  # a row without values is none in a sheet
    for kind in draw(st.lists(st.sampled_from([*COLUMNS]), min_size=1, unique=True)):
        values[kind] = draw(st.lists(st.none() | COLUMNS[kind][1], min_size=count, max_size=count))
    columns = {
        kind: pd.Series(some, dtype=COLUMNS[kind][0]) for kind, some in values.items() if kind != "row"
    }
    return pd.DataFrame({"row": values["row"], **columns}), values


def shown(kind, value):
    """Return what a cell of a value is."""
    match kind, value:
        case ("list", list()):
            return json.dumps(value, ensure_ascii=False)
        case ("integer", int()) if abs(value) > 2**53:
            return str(value)
        case ("float", float()):
            return str(value) if abs(value) > 2**53 else float(f"{value:.16G}")
        case ("amount", Decimal()):
            return float(value) if len(value.normalize().as_tuple().digits) <= 15 else str(value)
        case (_, date()):
            time = value.astimezone(BERLIN) if kind == "berlin" else value
            time = time.replace(tzinfo=None) if isinstance(time, datetime) else time
            midnight = datetime.combine(time, datetime.min.time())
            return str(time) if time.year < 1900 else time if isinstance(time, datetime) else midnight
    return value


@given(drawn=st.lists(frames(), min_size=1, max_size=3))
@settings(max_examples=40)
def test_a_workbook_holds_what_the_frames_hold(drawn):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.xlsx")
        path.write_text("an earlier one")
        of.write_excel({f"Sheet of {number}": frame for number, (frame, _) in enumerate(drawn)}, path)
        book = openpyxl.load_workbook(path)
        assert [one.name for one in Path(folder).iterdir()] == ["a.xlsx"]
        assert path.stat().st_mode & 0o777 == 0o600
    assert book.sheetnames == [f"Sheet of {number}" for number in range(len(drawn))]
    zones = {"utc": "utc (UTC)", "berlin": "berlin (Europe/Berlin)"}
    for sheet, (_, values) in zip(book, drawn, strict=True):
        head, *rows = sheet.iter_rows()
        assert [cell.value for cell in head] == [zones.get(kind, kind) for kind in values]
        for row, expected in zip(rows, zip(*values.values(), strict=True), strict=True):
            for cell, kind, value in zip(row, values, expected, strict=True):
                found = unescape(cell.value) if isinstance(cell.value, str) else cell.value
                assert found == shown(kind, value)
                assert isinstance(found, bool) == isinstance(value, bool)
                assert cell.data_type != "f"
                assert cell.hyperlink is None
                is_date = isinstance(value, date) and value.year > 1900
                assert ("yyyy" in cell.number_format) == is_date


def test_a_report_is_a_workbook_with_shares_in_percent_and_its_notes(little_of_all, tmp_path):
    made = of.report(little_of_all)
    made.to_excel(tmp_path / "week.xlsx")
    book = openpyxl.load_workbook(tmp_path / "week.xlsx")
    assert book.sheetnames == [*made, "notes"]
    formats = {"share": "0.0%", "change share": "+0.0%;-0.0%;0.0%", "decimal": "#,##0.0"}
    seen = set()
    for declared, frame in made.reports:
        head, *rows = book[declared.name].iter_rows()
        names = [str(cell.value).removesuffix(" (UTC)") for cell in head]
        assert names[: len(frame.index.names) + len(frame.columns)] == [
            *frame.index.names,
            *map(str, frame.columns),
        ]
        assert len(rows) == len(frame)
        units = {measure.name: measure.unit for measure in declared.shown(frame)}
        for row in rows:
            for name, cell in zip(names, row, strict=True):
                if cell.value is not None and units.get(name) in formats:
                    seen.add(units[name])
                    assert cell.number_format == formats[units[name]]
                    assert isinstance(cell.value, int | float)
    assert {"share", "change share"} <= seen
    assert book["engagement"]["A2"].number_format == "yyyy-mm-dd"
    notes = [cell.value for cell in book["notes"]["B"]]
    assert notes[1:3] == str(made).splitlines()[:2]
    of.write_excel({"Sources": made["signatures_by_source"]}, tmp_path / "a.xlsx")
    (sheet,) = openpyxl.load_workbook(tmp_path / "a.xlsx")
    shares = [column for column in sheet.iter_cols() if column[0].value == "share"]
    assert {cell.number_format for cell in shares[0][1:]} == {"0.0%"}


def test_small_counts_stay_hidden(tmp_path):
    signed = [
        [
            {
                "osdi:signature": {
                    "platform:referrer_data": {"source": "email" if n else "rare"},
                    "created_date": f"2026-05-{n + 1:02}T10:00:00Z",
                    "_links": {"osdi:person": {"href": f"/people/{n}"}},
                }
            }
        ]
        for n in range(20)
    ]
    made = of.report(signed, min_count=5, reports=["signatures_by_source"])
    made.to_excel(tmp_path / "a.xlsx")
    head, *rows = openpyxl.load_workbook(tmp_path / "a.xlsx")["signatures_by_source"].iter_rows(
        values_only=True
    )
    back = pd.DataFrame(rows, columns=head).set_index("source")["signatures"]
    frame = made["signatures_by_source"]["signatures"]
    assert frame.isna().any()
    assert back.isna().tolist() == frame.isna().tolist()
    assert back.dropna().tolist() == frame.dropna().tolist()


def test_the_command_writes_a_workbook(little, tmp_path):
    ran = run("report", little, "--excel", tmp_path / "week.xlsx")
    assert ran.stdout.endswith(f"written to {tmp_path / 'week.xlsx'}\n")
    assert openpyxl.load_workbook(tmp_path / "week.xlsx").sheetnames[-1] == "notes"


def test_what_a_sheet_cannot_hold_is_an_error_or_listed(tmp_path, monkeypatch):
    frame = pd.DataFrame({"text": ["x" * 40_000, "\U0001f600" * 20_000, "y" * 32_767]})
    with pytest.warns(ProblemsWarning, match=r"^2 texts in text cut: a cell holds 32,767 characters$"):
        of.write_excel(frame, tmp_path / "a.xlsx")
    found = [row[0].value for row in cells(tmp_path / "a.xlsx")[1:]]
    assert found == ["x" * 32_766 + "…", "\U0001f600" * 16_383 + "…", "y" * 32_767]
    wrong = ["", "x" * 32, "\U0001f600" * 16, "a/b", "a[b", "a:b", "'a", "history", "a\nb", 5]
    for sheets in [*([name] for name in wrong), ["a", "A"]]:
        with pytest.raises(InvalidArgument, match=r"a sheet cannot be called|two sheets are called 'A'"):
            of.write_excel(dict.fromkeys(sheets, frame.head(0)), tmp_path / "a.xlsx")
    for name in ("_COLUMNS", "_ROWS"):
        monkeypatch.setattr(workbook, name, 3)
    with pytest.raises(InvalidArgument, match="more than 3 columns"):
        of.write_excel(pd.DataFrame([range(4)]), tmp_path / "a.xlsx")
    with pytest.raises(InvalidArgument, match="more rows than a sheet holds"):
        of.write_excel(frame.tail(1).iloc[[0, 0, 0]], tmp_path / "a.xlsx")
    assert found == [row[0].value for row in cells(tmp_path / "a.xlsx")[1:]]


def test_report_writes_excel_where_it_is_asked_for(tmp_path):
    of.write_report(EVENT, tmp_path / "out", formats=["xlsx"], reports=["rsvps_by_month"])
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "rsvps_by_month.xlsx"} <= names
    assert not any(name.endswith((".csv", ".parquet")) for name in names)


def test_a_byte_order_mark_is_written_where_it_is_asked_for_and_pandas_reads_both(tmp_path):
    event = EVENT | {"title": "Fête"}
    for bom in (True, False):
        out = tmp_path / str(bom)
        of.export(event, out, tables=["events"], format="csv", bom=bom)
        assert (out / "events.csv").read_bytes().startswith(b"\xef\xbb\xbf") is bom
        assert pd.read_csv(out / "events.csv")["title"].tolist() == ["Fête"]
    of.write_csv(of.read_events(event), tmp_path / "a.csv", bom=True)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "True" / "events.csv").read_bytes()


def test_excel_files_are_not_partitioned(tmp_path):
    with pytest.raises(InvalidArgument, match="written as Parquet or as CSV"):
        of.export(EVENT, tmp_path / "out", tables=["events"], format="xlsx", partition_by="month")
    assert list(tmp_path.iterdir()) == []
