"""Files for a spreadsheet: Excel, and CSV with a byte-order mark."""

import numpy as np
import openpyxl
import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames.errors import InvalidArgument

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


def test_an_excel_file_holds_what_the_frame_holds(little, tmp_path):
    events = of.read_events(little)
    of.write_excel(events, tmp_path / "events.xlsx")
    back = pd.read_excel(tmp_path / "events.xlsx")
    assert back["event_id"].tolist() == events["event_id"].tolist()
    assert back["total_accepted"].sum() == events["total_accepted"].sum()
    assert (back["created_date (UTC)"] == events["created_date"].dt.tz_localize(None)).all()
    assert (back["start_date"] == events["start_date"]).sum() == events["start_date"].notna().sum()


def test_an_excel_file_of_a_report_has_its_index(tmp_path):
    of.write_excel(of.rsvps_by_month(of.read_events(EVENT)), tmp_path / "a.xlsx")
    head, row = cells(tmp_path / "a.xlsx")
    assert [cell.value for cell in head][:3] == ["month", "events", "rsvps"]
    assert [cell.value for cell in row][:3] == ["2026-05", 1, 3]
    assert (tmp_path / "a.xlsx").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a.xlsx"]


def test_odd_values_stay_what_they_are(tmp_path):
    odd = pd.DataFrame(
        {
            "large": pd.array([2**62 + 1, 1, None], "Int64"),
            "time": np.array(["0500-01-01", "9999-12-31", "NaT"], "datetime64[us]"),
            "number": [float("inf"), 0.5, None],
            "text": ["x" * 40_000, "\x00", "@SUM(1)"],
            "truth": pd.array([True, False, None], "boolean"),
        }
    )
    of.write_excel(odd, tmp_path / "a.xlsx")
    rows = [[cell.value for cell in row] for row in cells(tmp_path / "a.xlsx")]
    assert rows[1][:3] == [str(2**62 + 1), "0500-01-01 00:00:00", "inf"]
    assert (len(rows[1][3]), rows[1][3][-1]) == (32_767, "…")
    assert rows[1][4:] == [True]
    assert rows[3] == [None, None, None, "@SUM(1)", None]


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
