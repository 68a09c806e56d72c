"""Frames that reports count: as the readers make them, as other libraries do, and any."""

from __future__ import annotations

from datetime import timedelta

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from osdi_frames import reports

EVENTS = {
    "event_id": "str",
    "event_campaign_id": "str",
    "location_region": "str",
    "total_accepted": "Int64",
    "capacity": "Int64",
    "hidden": "boolean",
    "start_date": "datetime64[us]",
    "fetched_at": "datetime64[us, UTC]",
}
SIGNATURES = {
    "source": "str",
    "referrer": "str",
    "website": "str",
    "petition_id": "str",
    "person_id": "str",
    "created_date": "datetime64[us, UTC]",
}
RSVP_REPORT = {
    "events": "int64",
    "rsvps": "int64",
    "limited_events": "int64",
    "limited_rsvps": "int64",
    "capacity": "Int64",
    "fill_rate": "float64",
    "first_start": "datetime64[us]",
    "last_start": "datetime64[us]",
}
SIGNATURE_REPORT = {
    "signatures": "int64",
    "people": "int64",
    "share": "float64",
    "first": "datetime64[us, UTC]",
    "last": "datetime64[us, UTC]",
}
MONTHLY = pd.Grouper(key="start_date", freq="MS")


def frame(columns: dict[str, str], rows: list[dict[str, object]]) -> pd.DataFrame:
    """Make a frame as the readers do: every column, every dtype, whatever the rows have."""
    return pd.DataFrame(
        {name: pd.Series([row.get(name) for row in rows], dtype=dtype) for name, dtype in columns.items()}
    )


def events(*rows: dict[str, object]) -> pd.DataFrame:
    return frame(EVENTS, list(rows))


def signatures(*rows: dict[str, object]) -> pd.DataFrame:
    return frame(SIGNATURES, list(rows))


def event(campaign: str | None, total: int | None = 0, **more: object) -> dict[str, object]:
    return {"event_campaign_id": campaign, "total_accepted": total, **more}


def seen(event_id: str, campaign: str | None, total: int | None, at: str) -> dict[str, object]:
    return event(campaign, total, event_id=event_id, fetched_at=pd.Timestamp(at, tz="UTC"))


def signed(source: str | None, person: str | None = None, at: str | None = None) -> dict[str, object]:
    return {"source": source, "person_id": person, "created_date": pd.Timestamp(at, tz="UTC") if at else None}


# ---------------------------------------------------------------------------------- frames, whoever made them


def objects(table: pd.DataFrame) -> pd.DataFrame:
    table = table.astype(object)
    return table.where(table.notna(), None)


def categories(table: pd.DataFrame) -> pd.DataFrame:
    text = table.select_dtypes("str").columns
    table = table.astype(dict.fromkeys(text, "category"))
    return table.assign(**{name: table[name].cat.add_categories("never seen") for name in text})


def floats_and_nanoseconds(table: pd.DataFrame) -> pd.DataFrame:
    to = {
        "Int64": "float64",
        "datetime64[us]": "datetime64[ns]",
        "datetime64[us, UTC]": "datetime64[ns, UTC]",
    }
    return table.astype({name: to[str(dtype)] for name, dtype in table.dtypes.items() if str(dtype) in to})


def large_strings(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype(dict.fromkeys(table.select_dtypes("str").columns, pd.ArrowDtype(pa.large_string())))


def dictionaries(table: pd.DataFrame) -> pd.DataFrame:
    dtype = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    return table.astype(dict.fromkeys(table.select_dtypes("str").columns, dtype))


def duplicate_labels(table: pd.DataFrame) -> pd.DataFrame:
    return table.set_axis(pd.Index([7] * len(table)))


# DuckDB's own df() calls DataFrame.drop(inplace=True), which pandas 3.1 deprecates.
by_duckdb = pytest.mark.filterwarnings("ignore:The inplace keyword")


def through_duckdb(table: pd.DataFrame) -> pd.DataFrame:
    with duckdb.connect() as connection:
        return connection.from_arrow(pa.Table.from_pandas(table, preserve_index=False)).df()


FORMS = {
    "objects": objects,
    "categories": categories,
    "floats and nanoseconds": floats_and_nanoseconds,
    "arrow": lambda table: table.convert_dtypes(dtype_backend="pyarrow"),
    "nullable": lambda table: table.convert_dtypes(),
    "large strings": large_strings,
    "arrow dictionaries": dictionaries,
    "duplicate labels": duplicate_labels,
    "filtered": lambda table: pd.concat([table, table]).iloc[len(table) :],
    "polars": lambda table: pl.from_pandas(table).to_pandas(),
    "polars as arrow": lambda table: pl.from_pandas(table).to_pandas(use_pyarrow_extension_array=True),
    "duckdb": through_duckdb,
}

EVENT_REPORTS = {
    "rsvps_by_campaign": reports.rsvps_by_campaign,
    "rsvps_by region": lambda table: reports.rsvps_by(table, "location_region"),
    "rsvps_by hidden": lambda table: reports.rsvps_by(table, "hidden"),
    "rsvps_by capacity": lambda table: reports.rsvps_by(table, "capacity"),
    "rsvps_by start": lambda table: reports.rsvps_by(table, "start_date"),
    "rsvps_by month": lambda table: reports.rsvps_by(table, MONTHLY),
    "rsvps_by campaign and month": lambda table: reports.rsvps_by(table, ["event_campaign_id", MONTHLY]),
    "rsvps_by region and hidden": lambda table: reports.rsvps_by(table, ["location_region", "hidden"]),
}
SIGNATURE_REPORTS = {
    "signatures_by_source": reports.signatures_by_source,
    "signatures_by_referrer": reports.signatures_by_referrer,
    "signatures_by_website": reports.signatures_by_website,
    "signatures_by two": lambda table: reports.signatures_by(table, ["petition_id", "source"]),
    "signatures_by created": lambda table: reports.signatures_by(table, "created_date"),
    "signatures_over_time": reports.signatures_over_time,
    "signatures_over_time weekly by source": lambda table: reports.signatures_over_time(
        table, "source", freq="W"
    ),
}

LABELS = st.sampled_from([None, "", " ", "none", "None", "(none)", "a", "b", "B", "a_b", "a-b", "é", "=1"])
IDS = st.sampled_from([None, "", "1", "2", "3"])
DAYS = st.integers(0, 100).map(
    lambda days: pd.Timestamp("2026-01-01") + timedelta(days=days, hours=days % 24)
)
COUNTS = st.none() | st.integers(0, 1000)
EVENT = st.fixed_dictionaries(
    {
        "event_id": st.sampled_from(["1", "2", "3", "4"]),
        "event_campaign_id": LABELS,
        "location_region": LABELS,
        "total_accepted": COUNTS,
        "capacity": COUNTS,
        "hidden": st.none() | st.booleans(),
        "start_date": st.none() | DAYS,
        "fetched_at": DAYS.map(lambda day: day.tz_localize("UTC")),
    }
)
SIGNATURE = st.fixed_dictionaries(
    {
        "source": LABELS,
        "referrer": LABELS,
        "website": LABELS,
        "petition_id": LABELS,
        "person_id": IDS,
        "created_date": st.none() | DAYS.map(lambda day: day.tz_localize("UTC")),
    }
)
EVENT_FRAMES = st.lists(EVENT, max_size=12).map(lambda rows: frame(EVENTS, rows))
SIGNATURE_FRAMES = st.lists(SIGNATURE, max_size=12).map(lambda rows: frame(SIGNATURES, rows))


FEW = settings(max_examples=4)  # each example makes every report
FEWER = settings(max_examples=2)  # in every form of its frame


def same(report: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert_frame_equal(report, expected, check_freq=False)
