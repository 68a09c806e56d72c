"""The wall clock at a place, as UTC: right, or marked."""

import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.errors import InvalidColumn, MissingColumn, MissingExtra, UnknownValue
from osdi_frames.local_time import local_to_utc, utc_to_local

ADDED = ["timezone", "start_utc", "end_utc", "start_ambiguity", "end_ambiguity"]

#: Latitude and longitude of places whose clocks have histories of their own.
PLACES = {
    "America/New_York": (40.71, -74.01),
    "America/Phoenix": (33.45, -112.07),
    "Australia/Lord_Howe": (-31.55, 159.08),
    "Europe/Dublin": (53.35, -6.26),
    "Africa/Casablanca": (33.57, -7.59),
    "Asia/Kolkata": (22.57, 88.36),
    "Asia/Kathmandu": (27.72, 85.32),
    "Pacific/Apia": (-13.83, -171.77),
    "Pacific/Kiritimati": (1.98, -157.48),
    "America/St_Johns": (47.56, -52.71),
    "Antarctica/Troll": (-72.01, 2.53),
    "Etc/GMT+3": (30.0, -40.0),
}


def frame(*rows: tuple[str | None, str | None, float | None, float | None]) -> pd.DataFrame:
    names = ["start_date", "end_date", "location_latitude", "location_longitude"]
    made = pd.DataFrame(list(rows), columns=names)
    times = {
        name: pd.to_datetime(made[name], format="ISO8601").astype("datetime64[us]") for name in names[:2]
    }
    return made.assign(**times).astype(dict.fromkeys(names[2:], "float64"))


def in_new_york(start: str) -> pd.Series:
    return local_to_utc(frame((start, None, *PLACES["America/New_York"]))).loc[0]


def test_a_summer_evening_in_new_york_is_four_hours_behind_utc():
    row = in_new_york("2026-07-01 18:30")
    assert row.timezone == "America/New_York"
    assert row.start_utc == pd.Timestamp("2026-07-01 22:30", tz="UTC")
    assert pd.isna(row.start_ambiguity)


@pytest.fixture(scope="module")
def of_the_sample(little: Path) -> pd.DataFrame:
    return of.read_events(little)


def test_the_times_of_a_sample_archive_are_those_of_zoneinfo(of_the_sample):
    events = local_to_utc(of_the_sample)
    placed = events.dropna(subset=["start_utc"])
    assert len(placed) > 30
    assert placed.timezone.nunique() > 1
    for start, zone, moment in zip(placed.start_date, placed.timezone, placed.start_utc, strict=True):
        assert start.to_pydatetime().replace(tzinfo=ZoneInfo(zone)) == moment.to_pydatetime()


def test_what_is_skipped_or_shown_twice_is_marked_and_has_no_moment():
    for start, doubt in {
        "2026-03-08 01:59:59": "",
        "2026-03-08 02:00:00": "gap",
        "2026-03-08 02:59:59": "gap",
        "2026-03-08 03:00:00": "",
        "2026-11-01 00:59:59": "",
        "2026-11-01 01:00:00": "fold",
        "2026-11-01 01:59:59": "fold",
        "2026-11-01 02:00:00": "",
    }.items():
        row = in_new_york(start)
        assert ("" if pd.isna(row.start_ambiguity) else row.start_ambiguity) == doubt, start
        assert pd.isna(row.start_utc) == bool(doubt), start


def test_a_day_that_a_country_skipped_is_a_gap():
    samoa = local_to_utc(frame(("2011-12-30 12:00", "2011-12-31 12:00", *PLACES["Pacific/Apia"]))).loc[0]
    assert samoa.start_ambiguity == "gap"
    assert samoa.end_utc == pd.Timestamp("2011-12-30 22:00", tz="UTC")


def test_the_note_on_settling_what_is_marked_takes_the_later_of_a_fold_and_the_end_of_a_gap():
    settled = [
        row.start_date.tz_localize(row.timezone, ambiguous=False, nonexistent="shift_forward")
        for row in (in_new_york("2026-11-01 01:30"), in_new_york("2026-03-08 02:30"))
    ]
    assert [f"{moment.tz_convert('UTC'):%m-%d %H:%M}" for moment in settled] == ["11-01 06:30", "03-08 07:00"]


def test_start_and_end_are_distinguished():
    row = local_to_utc(frame(("2026-10-31 23:00", "2026-11-01 01:30", *PLACES["America/New_York"]))).loc[0]
    assert row.start_utc == pd.Timestamp("2026-11-01 03:00", tz="UTC")
    assert (row.end_ambiguity, pd.isna(row.end_utc), pd.isna(row.start_ambiguity)) == ("fold", True, True)


def test_times_from_before_standard_time_go_by_the_sun():
    assert in_new_york("1883-07-04 12:00").start_utc == pd.Timestamp("1883-07-04 16:56:02", tz="UTC")


def test_at_sea_it_is_the_nautical_zone():
    row = local_to_utc(frame(("2026-07-01 12:00", None, *PLACES["Etc/GMT+3"]))).loc[0]
    assert (row.timezone, row.start_utc.hour) == ("Etc/GMT+3", 15)


def test_without_possible_coordinates_there_is_neither_zone_nor_moment():
    inf = float("inf")
    places = [
        (None, None),
        (40.71, None),
        (None, -74.01),
        (91, 0),
        (-90.01, 0),
        (0, 180.01),
        (inf, 0),
        (0, -inf),
    ]
    found = local_to_utc(frame(*(("2026-07-01 12:00", "2026-07-01 13:00", *place) for place in places)))
    assert found[ADDED].isna().all(axis=None)


def test_the_ends_of_the_earth_have_a_zone():
    places = [(90, 0), (-90, 0), (0, 180), (0, -180), (0, 0)]
    found = local_to_utc(frame(*(("2026-07-01 12:00", None, *place) for place in places)))
    assert found[["timezone", "start_utc"]].notna().all(axis=None)


def test_an_event_without_a_time_has_a_zone_and_no_moment():
    row = local_to_utc(frame((None, None, *PLACES["Asia/Kolkata"]))).loc[0]
    assert row.timezone == "Asia/Kolkata"
    assert row[ADDED[1:]].isna().all()


def test_a_placeholder_at_the_end_of_the_calendar_does_not_stop_the_others():
    ends = ("9999-12-31 23:59:59", "0001-01-01 00:00:00")
    rows = [(end, "2026-07-01 12:00", *place) for end in ends for place in PLACES.values()]
    found = local_to_utc(frame(*rows))
    assert found.start_utc.isna().all()
    assert found.end_utc.notna().all()


def assert_right_or_marked(found: pd.DataFrame) -> None:
    """Back in its zone a moment shows the wall clock; what zoneinfo can take for two moments is marked."""
    clocks = found.start_date.dt.to_pydatetime()
    for clock, zone, moment, doubt in zip(
        clocks, found.timezone, found.start_utc, found.start_ambiguity, strict=True
    ):
        first, second = (clock.replace(tzinfo=ZoneInfo(zone), fold=fold).utcoffset() for fold in (0, 1))
        if first == second:
            assert pd.isna(doubt)
            assert moment.to_pydatetime().astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0) == clock
        else:
            assert pd.isna(moment)
            assert doubt == ("gap" if first < second else "fold")


# By default of clocks that are put on by half an hour, that lost a day, and that go by Ramadan.
@pytest.mark.parametrize(
    "zone",
    [
        zone
        if zone in ("Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca")
        else pytest.param(zone, marks=pytest.mark.long)
        for zone in PLACES
    ],
)
def test_every_half_hour_of_a_year_is_right_or_marked(zone):
    latitude, longitude = PLACES[zone]
    clocks = pd.date_range(
        "2011-01-01", "2012-01-01", freq="30min", unit="us"
    )  # the year of Samoa's lost day
    year = pd.DataFrame({"start_date": clocks, "end_date": pd.NaT})
    found = local_to_utc(year.assign(location_latitude=latitude, location_longitude=longitude))
    assert set(found.timezone) == {zone}
    assert_right_or_marked(found)


CLOCKS = st.datetimes(datetime.fromisoformat("1850-01-01"), datetime.fromisoformat("2199-12-31"))
SOMEWHERE = st.sampled_from(list(PLACES.values())) | st.tuples(st.floats(-90, 90), st.floats(-180, 180))


@settings(max_examples=12)
@given(st.lists(st.tuples(SOMEWHERE, CLOCKS), min_size=1, max_size=8))
def test_any_time_anywhere_is_right_or_marked(placed):
    assert_right_or_marked(local_to_utc(frame(*((str(clock), None, *place) for place, clock in placed))))


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([5, 5, 5]),
        pd.Index(["c", "a", "b"], name="event_id"),
        pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)]),
        pd.date_range("2026-01-01", periods=3),
    ],
    ids=["repeated", "named", "of levels", "of times"],
)
def test_any_index_stays_and_the_frame_is_left_as_it_was(index):
    events = frame(
        ("2026-07-01 12:00", None, *PLACES["Asia/Kolkata"]),
        ("2026-07-01 12:00", None, None, None),
        ("2026-03-08 02:30", None, *PLACES["America/New_York"]),
    ).set_axis(index)
    before = events.copy()
    found = local_to_utc(events)
    pd.testing.assert_frame_equal(events, before)
    pd.testing.assert_index_equal(found.index, index)
    assert found.timezone.isna().tolist() == [False, True, False]
    assert found.start_utc.isna().tolist() == [False, True, True]
    assert found.columns.tolist() == [*events.columns, *ADDED]


def test_called_again_it_gives_the_same():
    events = local_to_utc(frame(("2026-07-01 12:00", None, *PLACES["Europe/Dublin"])))
    pd.testing.assert_frame_equal(local_to_utc(events), events)


def test_the_dtypes_are_the_same_whatever_rows_come():
    rows = [("2026-11-01 01:30", "2026-11-01 04:30", *PLACES["America/New_York"]), (None, None, None, None)]
    for events in (frame(*rows), frame(*rows[1:]), frame(), of.read_events([])):
        added = local_to_utc(events)[ADDED]
        assert added.dtypes.astype(str).to_dict() == {
            "timezone": "str",
            "start_utc": "datetime64[us, UTC]",
            "end_utc": "datetime64[us, UTC]",
            "start_ambiguity": "str",
            "end_ambiguity": "str",
        }
        assert len(added) == len(events)


READERS = {
    "pandas": pd.read_parquet,
    "arrow": lambda path: pd.read_parquet(path, dtype_backend="pyarrow"),
    "polars": lambda path: pl.read_parquet(path).to_pandas(),
}


def test_events_read_back_from_parquet_give_the_same(of_the_sample, tmp_path):
    added = local_to_utc(of_the_sample)[ADDED]
    of_the_sample.to_parquet(tmp_path / "events.parquet")
    for name, read in READERS.items():
        found = local_to_utc(read(tmp_path / "events.parquet"))
        pd.testing.assert_frame_equal(found[ADDED], added, obj=name)
    added.to_parquet(tmp_path / "times.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "times.parquet"), added)


def test_a_zone_that_someone_put_on_the_wall_clock_does_not_shift_it():
    events = frame(("2026-07-01 18:30", None, *PLACES["America/New_York"]))
    as_utc = events.assign(start_date=events.start_date.dt.tz_localize("UTC"))
    pd.testing.assert_frame_equal(local_to_utc(as_utc)[ADDED], local_to_utc(events)[ADDED])


def test_a_frame_that_lacks_columns_raises_an_error_that_names_them():
    with pytest.raises(
        MissingColumn, match="local_to_utc needs end_date, location_latitude, which the frame"
    ):
        local_to_utc(pd.DataFrame({"start_date": [], "location_longitude": []}))


def test_a_latitude_that_is_no_number_is_named():
    with pytest.raises(InvalidColumn, match=r"local_to_utc cannot use the column location_latitude: .*north"):
        local_to_utc(frame((None, None, None, None)).assign(location_latitude="north"))


def test_without_the_extra_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tzfpy", None)
    with pytest.raises(MissingExtra, match=r"pip install 'osdi-frames\[geo\]'"):
        local_to_utc(frame())


def test_every_zone_of_the_map_is_in_the_time_zone_data():
    from tzfpy import timezonenames

    assert all(ZoneInfo(name).key == name for name in timezonenames())


# -- from UTC to the wall clock --

MOMENTS = st.integers(0, 2**31 - 10**6).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
#: Hours around those at which clocks of the places are put back.
TURNS = st.integers(0, 8 * 24).map(
    lambda hours: datetime(2026, 10, 30, tzinfo=UTC) + timedelta(hours=hours / 2)
)
ACTS = st.lists(
    st.tuples(MOMENTS | TURNS | st.none(), st.sampled_from([*PLACES, None])), min_size=1, max_size=20
)


def acts(rows: list[tuple[datetime | None, str | None]]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "created_date": pd.Series([moment for moment, _ in rows], dtype="datetime64[us, UTC]"),
            "location_latitude": [PLACES[name][0] if name else None for _, name in rows],
            "location_longitude": [PLACES[name][1] if name else None for _, name in rows],
        }
    ).astype({"location_latitude": "float64", "location_longitude": "float64"})


@settings(max_examples=12)
@given(ACTS, st.sampled_from([None, "America/New_York"]))
def test_a_wall_clock_is_that_of_zoneinfo_and_marked_where_it_shows_a_time_twice(rows, default):
    made = utc_to_local(acts(rows), timezone=default)
    for (moment, name), row in zip(rows, made.itertuples(), strict=True):
        zone = name or default
        assert row.timezone == zone if zone else pd.isna(row.timezone)
        if moment is None or zone is None:
            assert pd.isna(row.local_time)
            assert pd.isna(row.local_ambiguity)
            continue
        clock = moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        assert row.local_time == clock
        both = {clock.replace(fold=fold, tzinfo=ZoneInfo(zone)).utcoffset() for fold in (0, 1)}
        assert row.local_ambiguity == "fold" if len(both) > 1 else pd.isna(row.local_ambiguity)


@settings(max_examples=12)
@given(ACTS)
def test_the_hours_of_the_week_count_every_row_with_a_wall_clock(rows):
    made = of.weekday_hours(utc_to_local(acts(rows), timezone="Asia/Kathmandu"))
    clocks = [
        moment.astimezone(ZoneInfo(name or "Asia/Kathmandu")) for moment, name in rows if moment is not None
    ]
    expected = Counter((f"{clock:%A}", clock.hour) for clock in clocks)
    assert {(day, hour): count for (day, hour), count in made.stack().items() if count} == expected
    assert made.shape == (7, 24)
    missing = len(rows) - len(clocks)
    assert (f"without a local time: {missing} row" in made.attrs["note"]) == bool(missing)


def test_acts_without_coordinates_need_the_name_of_a_zone():
    actions = pd.DataFrame({"date": pd.to_datetime(["2026-05-02T01:00Z"])})
    with pytest.raises(MissingColumn, match="location_latitude"):
        utc_to_local(actions)
    assert str(utc_to_local(actions, timezone="Asia/Kolkata").local_time[0]) == "2026-05-02 06:30:00"
    for name in ("Europe/Nowhere", "../etc/passwd", "", 3):
        with pytest.raises(UnknownValue, match="is no time zone"):
            utc_to_local(actions, timezone=name)
    with pytest.raises(MissingColumn, match=r"local_time, which osdi_frames\.utc_to_local\(frame\) adds"):
        of.weekday_hours(actions)


# --------------------------------------------------------------------- zones that events name, and vague places

NEW_YORK = dict(zip(("location_latitude", "location_longitude"), PLACES["America/New_York"], strict=True))
IN_KANSAS = {
    "location_latitude": 37.09024,
    "location_longitude": -95.712891,
    "location_accuracy": "Approximate",
}
NO_TOWN = dict.fromkeys(("location_locality", "location_region", "location_postal_code"))


def at_seven(**fields) -> pd.DataFrame:
    start = pd.to_datetime(["2026-07-01 19:00"]).astype("datetime64[us]")
    return pd.DataFrame(
        {"start_date": start, "end_date": pd.NaT} | {name: [value] for name, value in fields.items()}
    )


def test_the_zone_that_an_event_names_is_used_before_that_of_its_place():
    for fields, zone in (
        ({"timezone": "America/Denver"} | NEW_YORK, "America/Denver"),
        ({"timezone": " America/Denver "} | IN_KANSAS | NO_TOWN, "America/Denver"),
        ({"timezone": "Eastern Time (US & Canada)"} | NEW_YORK, "America/New_York"),
        ({"timezone": None} | NEW_YORK, "America/New_York"),
        (IN_KANSAS | NO_TOWN | {"location_region": "KS"}, "America/Chicago"),
        (IN_KANSAS | NO_TOWN | {"location_postal_code": "67301"}, "America/Chicago"),
        (NEW_YORK | NO_TOWN | {"location_accuracy": "Rooftop"}, "America/New_York"),
        (IN_KANSAS, "America/Chicago"),
    ):
        row = local_to_utc(at_seven(**fields)).loc[0]
        assert row.timezone == zone, fields
        assert row.start_utc == pd.Timestamp("2026-07-01 19:00", tz=zone), fields
        assert pd.isna(row.start_ambiguity), fields


def test_the_middle_of_a_country_is_no_place_with_a_zone():
    vague = at_seven(**IN_KANSAS, **NO_TOWN | {"location_region": " "})
    row = local_to_utc(vague).loc[0]
    assert row[["timezone", "start_utc", "end_utc", "end_ambiguity"]].isna().all()
    assert row.start_ambiguity == "place"
    settled = local_to_utc(vague, timezone="America/Denver").loc[0]
    assert settled.start_utc == pd.Timestamp("2026-07-02 01:00", tz="UTC")
    assert pd.isna(settled.start_ambiguity)
    signed = vague.assign(created_date=pd.Timestamp("2026-07-01", tz="UTC"))
    assert utc_to_local(signed).loc[0, ["timezone", "local_ambiguity"]].fillna("").tolist() == ["", "place"]
    assert utc_to_local(signed, timezone="UTC").loc[0, "local_time"] == pd.Timestamp("2026-07-01")
    with pytest.raises(UnknownValue, match="is no time zone"):
        local_to_utc(vague, timezone="Denver")


def test_an_event_that_names_its_zone_has_it_in_the_column_timezone():
    event = {
        "identifiers": ["platform:1"],
        "title": "Vigil",
        "start_date": "2026-10-05T19:00:00Z",
        "timezone_identifier": "America/Denver",
    }
    events = of.read_events(event)
    assert list(events.columns).index("timezone") == list(events.columns).index("end_date") + 1
    assert local_to_utc(events)["start_utc"].tolist() == [pd.Timestamp("2026-10-06 01:00", tz="UTC")]
    assert of.check(event).empty


# -------------------------------------------------------------------------- times of callers without a zone


@pytest.mark.parametrize(
    ("times", "is_noted"),
    [
        (["2026-05-01 10:00", "2026-05-02"], True),
        (pd.to_datetime(["2026-05-01", None]), True),
        (["2026-05-01T10:00:00Z", None], False),
        (["2026-05-01T10:00:00-05:00", "2026-05-01 10:00+00"], False),
        (pd.to_datetime(["2026-05-01", None], utc=True), False),
        ([None, None], False),
    ],
    ids=["texts", "times", "texts of UTC", "texts with offsets", "UTC", "none"],
)
def test_reports_say_that_times_without_a_zone_count_as_utc(times, is_noted):
    note = "without a time zone, so counted as UTC: "
    signed = pd.DataFrame({"source": "a", "person_id": "p", "created_date": times, "excluded": None})
    acts = signed.assign(date=signed["created_date"], action="signed", subject_id="s", number=1)
    made = [of.signatures_by_source(signed), of.signatures_over_time(signed), of.engagement(acts)]
    assert [f"{note}created_date" in each.attrs["note"] for each in made[:2]] == [is_noted] * 2
    assert (f"{note}date" in made[2].attrs["note"]) == is_noted
    goals = of.goals(signed.assign(petition_id="p"), {"p": 5}, until="2026-06-01")
    assert (f"{note}created_date" in goals.attrs["note"]) == is_noted
    if signed["created_date"].notna().any():
        assert (
            f"{note}created_date" in of.compare(signed.drop(columns="person_id")).attrs["note"]
        ) == is_noted
