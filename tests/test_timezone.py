"""Periods, hours and bounds of days are of one clock, whichever way a figure is asked for: plain Python says which."""

from __future__ import annotations

import ast
import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.errors import InvalidArgument, MissingColumn, UnknownValue
from osdi_frames.reports import Period
from tests.commands import run

SOURCE = Path(of.__file__).parent
NEW_YORK, HAVANA = "America/New_York", "America/Havana"
#: Zones without a midnight once a year, with half hours, beyond the date line, with a day that never was, and UTC.
ZONES = st.sampled_from(
    [NEW_YORK, HAVANA, "America/Santiago", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "UTC"]
)
#: Days around one that Apia passed over, and around midnights that Havana and Santiago have not, or twice; and others.
DAYS = st.sampled_from(
    [date(2011, 12, 30), date(2026, 3, 8), date(2026, 9, 6), date(2026, 11, 1)]
) | st.dates(date(2024, 1, 1), date(2026, 12, 31))
#: Minutes from the midnight of a day: most are of this day, or of the next.
MINUTES = st.integers(-1500, 1500) | st.integers(-20_000, 20_000)
INSTANTS = st.builds(lambda day, minutes: after(day, minutes), DAYS, MINUTES)
TIMES = st.builds(
    lambda day, minutes: [after(day, each) for each in minutes],
    DAYS,
    st.lists(MINUTES, min_size=1, max_size=6),
)
NOW = datetime(2026, 5, 13, 3, 30, tzinfo=UTC)  # of New York the 12th


def after(day: date, minutes: int) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=minutes)


def clock(time: datetime, zone: str) -> datetime:
    """Return the wall clock of an instant."""
    return time.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def start(time: datetime, freq: str) -> datetime:
    """Return the wall clock at which the period of another begins."""
    day = time.replace(hour=0, minute=0, second=0)
    return {
        "h": time.replace(minute=0, second=0),
        "D": day,
        "W": day - timedelta(days=day.weekday()),
        "M": day.replace(day=1),
        "Y": day.replace(day=1, month=1),
    }[freq]


def signatures(times: list[datetime]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "created_date": pd.to_datetime(times, utc=True).as_unit("us"),
            "person_id": [str(number) for number in range(len(times))],
            "petition_id": "park",
            "source": "email",
        }
    )


def acts(times: list[datetime], action: str = "signed") -> pd.DataFrame:
    named = {"created_date": "date", "petition_id": "subject_id"}
    return signatures(times).rename(columns=named).assign(action=action, number=1, is_new=False)


def shown(index: pd.Index) -> list[datetime]:
    """Return the starts of periods by their own clock."""
    return [label.replace(tzinfo=None).to_pydatetime() for label in index]


def archive(times: list[datetime], timezone: str | None = None) -> of.Archive:
    delivery = [
        {
            "osdi:signature": {
                "identifiers": [f"platform:{number}"],
                "created_date": time.isoformat(),
                "_links": {"osdi:person": {"href": f"/people/{number}"}},
                "platform:referrer_data": {"source": "email"},
            }
        }
        for number, time in enumerate(times)
    ]
    return of.open(delivery, timezone=timezone)


@given(TIMES, ZONES, st.sampled_from("hDWMY"))
@example([datetime(2011, 12, 30, 9, tzinfo=UTC), datetime(2011, 12, 30, 11, tzinfo=UTC)], "Pacific/Apia", "D")
@example([datetime(2026, 3, 8, 4, tzinfo=UTC), datetime(2026, 3, 8, 6, tzinfo=UTC)], HAVANA, "D")
@example([datetime(2026, 11, 1, 5, tzinfo=UTC), datetime(2026, 11, 1, 6, tzinfo=UTC)], NEW_YORK, "h")
def test_every_report_of_periods_counts_by_the_wall_clock(times, zone, freq):
    expected = Counter(start(clock(time, zone), freq) for time in times)
    rows, done = signatures(times), acts(times)
    for made in (
        of.signatures_over_time(rows, freq=freq, timezone=zone)["signatures"],
        of.attendances_over_time(rows.assign(attended=False), freq=freq, timezone=zone)["rsvps"],
        of.engagement(done, freq, timezone=zone)["actions"],
        of.growth(done.assign(is_new=True), "source", freq, timezone=zone)["email"],
        of.retention(done, freq, timezone=zone, until="2030-01-01")["people"],
    ):
        assert isinstance(made.index, pd.DatetimeIndex)
        assert str(made.index.tz) == zone
        assert made.index.is_unique
        assert made.index.is_monotonic_increasing
        labels = shown(made.index)
        if freq != "h":  # the first hour of a day without a midnight is its second
            labels = [start(label, freq) for label in labels]
        assert {label: count for label, count in zip(labels, made, strict=True) if count} == expected
    if freq in "DWMY":
        form = {"M": "%Y-%m", "Y": "%Y"}.get(freq, "%Y-%m-%d")
        by_name = of.signatures_by(rows, Period("created_date", freq), timezone=zone)["signatures"]
        found = {name: count for name, count in by_name.items() if count and name[0] not in "ab"}
        named = {begin.strftime(form): count for begin, count in expected.items()}
        assert found.items() <= named.items()
    grouped = of.signatures_by(rows, pd.Grouper(key="created_date", freq="D"), timezone=zone)["signatures"]
    days = Counter(clock(time, zone).date() for time in times)
    assert {
        label.date(): count for label, count in zip(shown(grouped.index), grouped, strict=True) if count
    } == days


@given(TIMES, ZONES)
def test_hours_are_of_the_wall_clock(times, zone):
    made = of.weekday_hours(signatures(times), timezone=zone)
    expected = Counter((f"{clock(time, zone):%A}", clock(time, zone).hour) for time in times)
    assert {key: count for key, count in made.stack().items() if count} == expected


@given(TIMES, ZONES, st.dates(date(2026, 3, 1), date(2026, 11, 3)), st.integers(0, 40))
@example([datetime(2026, 3, 8, 5, 30, tzinfo=UTC)], HAVANA, date(2026, 3, 8), 0)
@settings(max_examples=8)
def test_bounds_of_days_are_of_the_wall_clock(times, zone, since, days):
    until = since + timedelta(days=days)
    opened = archive(times, zone).where(since=since, until=until.isoformat())
    kept = [time for time in times if since <= clock(time, zone).date() <= until]
    read = opened.tables({"signatures": ["created_date"], "actions": ["date"]})
    assert sorted(read["signatures"]["created_date"]) == sorted(kept)
    assert sorted(read["actions"]["date"]) == sorted(kept)
    assert str(read["signatures"]["created_date"].dtype) == "datetime64[us, UTC]"
    if kept:
        assert opened.report(reports=["signatures_by_source"]).summary["signatures"] == len(kept)


@given(TIMES, ZONES, st.dates(date(2026, 3, 1), date(2026, 11, 3)), st.integers(1, 30))
def test_compared_periods_are_days_of_the_wall_clock(times, zone, last, days):
    length = timedelta(days=days)
    now = sum(last - length < clock(time, zone).date() <= last for time in times)
    before = sum(last - 2 * length < clock(time, zone).date() <= last - length for time in times)
    expected = [[before, now]] if before or now else []
    for until in (last, last.isoformat(), after(last, 24 * 60).replace(tzinfo=None)):
        for rows in (signatures(times), acts(times)):
            made = of.compare(rows, f"{days}D", until=until, timezone=zone)
            assert made[["before", "now"]].to_numpy().tolist() == expected
        made = of.changes(acts(times), f"{days}D", until=until, timezone=zone)
        assert made.loc[made.index == "signed", ["before", "now"]].to_numpy().tolist() == expected


@given(TIMES, ZONES)
@example([datetime(2012, 1, 27, 9, tzinfo=UTC), datetime(2011, 12, 30, 10, tzinfo=UTC)], "Pacific/Apia")
def test_goals_are_reached_at_the_rate_of_28_days_of_the_wall_clock(times, zone):
    last = max(clock(time, zone) for time in times).date()
    recent = sum(last - timedelta(days=28) < clock(time, zone).date() for time in times)
    for chosen in (None, last.isoformat()):
        made = of.goals(signatures(times), {"park": len(times)}, until=chosen, timezone=zone).loc["park"]
        assert made["per_week"] == recent / 4
        assert made["reached"] == max(times)
        assert str(made["reached"].tz) == zone


def test_the_newest_complete_week_ends_on_the_clock_of_the_zone():
    sunday = [datetime(2026, 5, 11, 3, 59, tzinfo=UTC)]  # of New York the 10th
    later = [datetime(2026, 5, 12, tzinfo=UTC)]
    made = of.compare(signatures(sunday + later), "W", timezone=NEW_YORK)
    assert made.attrs["periods"]["now"] == "2026-05-04 to 2026-05-10"
    assert made["now"].tolist() == [1]
    assert of.compare(signatures(sunday + later), "W").empty


def test_who_came_to_an_event_came_by_its_wall_clock():
    came = acts([datetime(2026, 5, 1, 0, 30, tzinfo=UTC)], "attended")
    signed = acts([datetime(2026, 5, 1, 0, 30, tzinfo=UTC)])
    for rows, month in ((came, "2026-05"), (signed, "2026-04")):
        made = of.engagement(rows, timezone=NEW_YORK)
        assert f"{made.index[0]:%Y-%m}" == month
        in_month = of.compare(rows, "M", by="subject_id", until=month, timezone=NEW_YORK)
        assert in_month["now"].tolist() == [1]
        assert of.weekday_hours(rows, timezone=NEW_YORK).sum().to_dict()[0 if month == "2026-05" else 20] == 1
    start = {"id": "e", "title": "March", "start_date": "2026-05-01T00:30:00Z", "total_accepted": 1}
    link = {"osdi:event": {"href": "/events/e"}, "osdi:person": {"href": "/people/ann"}}
    attendance = {
        "attended": True,
        "status": "accepted",
        "created_date": "2026-04-02T00:00:00Z",
        "_links": link,
    }
    opened = of.open([start, [{"osdi:attendance": attendance}]], timezone=NEW_YORK)
    acted = opened.where(since="2026-05", until="2026-05").actions()
    assert acted["action"].tolist() == ["attended"]
    assert opened.where(until="2026-04-01").actions()["action"].tolist() == ["rsvped"]


def test_a_time_with_a_zone_is_a_bound_by_the_clock_of_the_archive():
    for at in ("2026-05-01T02:30Z", "2026-05-01T02:30:00Z", TIME):
        opened = archive([TIME - timedelta(minutes=1), TIME, TIME + timedelta(minutes=1)], NEW_YORK)
        assert f"{opened.where(since=at).filters['since']}".startswith("2026-04-30 22:30")
        assert len(opened.where(since=at).signatures()) == 2
        assert len(opened.where(until=at).signatures()) == 2
        assert len(opened.where(since=at, until="2026-04-30").signatures()) == 2
    with pytest.raises(InvalidArgument):
        opened.where(since="2026-13-01T02:30Z")


TIME = datetime(2026, 5, 1, 2, 30, tzinfo=UTC)  # of New York the 30th of April


def test_every_door_gives_the_same_figures(tmp_path, monkeypatch):
    source = tmp_path / "a.json"
    source.write_text(json.dumps(archive([TIME, TIME + timedelta(days=9)]).source))
    handle = of.open(source, timezone=NEW_YORK)
    expected = {"2026-04": 1, "2026-05": 1}
    plain, known = of.open(source).signatures(), handle.signatures()
    own = plain.assign(created_date=plain["created_date"].dt.tz_convert(NEW_YORK))
    stored = of.open(source, timezone=NEW_YORK, store=tmp_path / "kept")
    known.to_parquet(tmp_path / "known.parquet")
    cluster = handle.dask("signatures")
    for frame, given_zone in (
        (known, None),
        (known[known["source"].notna()].assign(a=1), None),
        (pd.read_parquet(tmp_path / "known.parquet"), None),
        (plain, NEW_YORK),
        (own, None),
        (stored.signatures(), None),
        (stored.signatures(), None),  # what was kept
        (cluster, None),
        (handle.tables(["signatures"])["signatures"], None),
        (of.read_signatures(source, timezone=NEW_YORK), None),
    ):
        assert of.signatures_by_month(frame, timezone=given_zone)["signatures"].to_dict() == expected
        weeks = of.signatures_over_time(frame, freq="W", timezone=given_zone)
        assert weeks.equals(of.signatures_over_time(plain, freq="W", timezone=NEW_YORK))
    assert of.signatures_by_month(own, timezone="UTC")["signatures"].to_dict() == {"2026-05": 2}
    assert of.signatures_by_month(plain)["signatures"].to_dict() == {"2026-05": 2}
    for made in (handle.report(), stored.report(), of.report(source, timezone=NEW_YORK)):
        assert made["signatures_by_month"]["signatures"].to_dict() == expected
        assert made["engagement"].equals(of.engagement(of.open(source).actions(), timezone=NEW_YORK))
    monkeypatch.delenv("OSDI_TIMEZONE", raising=False)
    for words, environment, months in (
        (["--timezone", NEW_YORK], {}, expected),
        ([], {"OSDI_TIMEZONE": NEW_YORK}, expected),
        (["--timezone", "UTC"], {"OSDI_TIMEZONE": NEW_YORK}, {"2026-05": 2}),
        ([], {}, {"2026-05": 2}),
    ):
        done = run("report", source, "--json", *words, **environment)
        rows = json.loads(done.stdout)["reports"]["signatures_by_month"]
        assert {row["month"]: row["signatures"] for row in rows} == months
        out = tmp_path / f"out-{len(words)}{len(environment)}"
        done = run(
            "export", source, out, "--table", "signatures", "--partition-by", "month", *words, **environment
        )
        folders = {path.name.removeprefix("month=") for path in (out / "signatures").iterdir()}
        assert (done.returncode, folders) == (0, {*months})
        if months == expected:
            zone = (
                pq.read_table(next((out / "signatures").rglob("*.parquet")))
                .schema.field("created_date")
                .type.tz
            )
            assert zone == "UTC"


def test_files_and_the_page_show_the_clock_of_the_zone(tmp_path):
    of.write_report(archive([TIME]).source, tmp_path / "a", timezone=NEW_YORK, formats=["csv"], now=NOW)
    page = (tmp_path / "a/report.html").read_text()
    assert page.count(f"of signatures: {NEW_YORK}.") == 1
    assert "2026-05-12 23:30 EDT" in page
    assert "30\u00a0Apr\u00a02026" in page
    assert "1\u00a0May\u00a02026" not in page
    assert "2026-04-01T00:00:00-0400" in (tmp_path / "a/engagement.csv").read_text().replace(".000000", "")
    of.write_report(archive([TIME]).source, tmp_path / "b", now=NOW)
    assert (tmp_path / "b/report.html").read_text().count("of signatures: UTC.") == 1
    made = of.signatures_by_source(archive([TIME], NEW_YORK).signatures())
    assert made["first"].iloc[0].isoformat() == "2026-04-30T22:30:00-04:00"


RELATIVE = {
    "today": lambda today: (today, today),
    "yesterday": lambda today: (today - timedelta(days=1),) * 2,
    "7d": lambda today: (today - timedelta(days=7),) * 2,
    "last-week": lambda today: tuple(today - timedelta(days=today.weekday() + less) for less in (7, 1)),
    "last-month": lambda today: (
        (today.replace(day=1) - timedelta(days=1)).replace(day=1),
        today.replace(day=1) - timedelta(days=1),
    ),
    "last-year": lambda today: (date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)),
}


@given(INSTANTS, ZONES, st.sampled_from([*RELATIVE]), st.integers(-40, 400))
@settings(max_examples=30)
def test_relative_days_are_counted_from_a_present_in_the_zone(now, zone, word, days):
    first, last = RELATIVE[word](clock(now, zone).date())
    opened = of.open([], timezone=zone)
    since, until = (
        opened.where(since=word, now=now).filters["since"],
        opened.where(until=word, now=now).filters["until"],
    )
    assert opened.where(since=since, until=until).filters == {"since": since, "until": until}
    assert pd.Period(since).start_time.date() == first
    assert pd.Period(until).end_time.date() == last
    rows = signatures([now - timedelta(days=days)])
    day = clock(now - timedelta(days=days), zone).date()
    length = (last - first).days + 1
    made = of.compare(rows, f"{length}D", until=word, now=now, timezone=zone)
    assert (made["now"].tolist() == [1]) == (first <= day <= last)


def test_a_present_can_be_given_to_commands_too(tmp_path):
    source = tmp_path / "a.json"
    source.write_text(json.dumps(archive([TIME, NOW]).source))
    words = ["--since", "yesterday", "--timezone", NEW_YORK, "--now", "2026-05-13 12:00"]
    done = run("export", source, tmp_path / "out", "--table", "signatures", *words)
    assert "since 2026-05-12 (signatures by created_date)" in done.stdout
    assert "1 row" in done.stdout
    done = run("report", source, "--until", "last-month", *words[2:])
    assert "until 2026-04 (" in done.stdout
    assert of.report(source, until="last-month", timezone=NEW_YORK, now=NOW).summary["signatures"] == 1
    done = run("report", source, "--now", "soon")
    assert (done.returncode, "now is a time" in done.stderr) == (1, True)


def test_a_zone_that_is_none_is_an_error_with_the_nearest(tmp_path):
    nearest = "'America/New_Yrok' is no time zone; nearest: America/New_York, "
    rows = signatures([TIME])
    for call in (
        lambda zone: of.open([], timezone=zone),
        lambda zone: of.signatures_by_month(rows, timezone=zone),
        lambda zone: of.compare(rows, timezone=zone),
        lambda zone: of.weekday_hours(rows, timezone=zone),
        lambda zone: of.goals(rows, {"park": 3}, timezone=zone),
    ):
        with pytest.raises(UnknownValue, match=nearest):
            call("America/New_Yrok")
        with pytest.raises(UnknownValue, match="'' is no time zone, as 'America/New_York' is"):
            call("")
    done = run("report", tmp_path, "--timezone", "America/New_Yrok")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert nearest in done.stderr
    with pytest.raises(InvalidArgument, match=r"7d, yesterday or last-month, not '7 parsecs'"):
        of.open([]).where(since="7 parsecs")
    with pytest.raises(MissingColumn, match="the timezone of date or created_date"):
        of.weekday_hours(rows)


def test_only_commands_read_the_zone_of_the_environment(monkeypatch):
    monkeypatch.setenv("OSDI_TIMEZONE", NEW_YORK)
    handle = archive([TIME])
    assert handle.report()["signatures_by_month"].index.tolist() == ["2026-05"]
    assert handle.signatures().attrs == {}
    reading = [
        path.relative_to(SOURCE).parts[0]
        for path in SOURCE.rglob("*.py")
        if any(
            isinstance(node, ast.Constant) and node.value == "OSDI_TIMEZONE"
            for node in ast.walk(ast.parse(path.read_text()))
        )
    ]
    assert reading == ["cli"]


def test_counts_that_were_published_of_another_zone_are_not_kept(tmp_path):
    source = archive([TIME + timedelta(minutes=number) for number in range(9)]).source
    for zone, months in ((None, ["2026-05"]), (NEW_YORK, ["2026-04"])):
        made = of.write_report(source, tmp_path / "out", min_count=5, now=NOW, timezone=zone)
        report = made["signatures_by_month"]
        assert report.index.tolist() == months
        assert not report.get("kept", pd.Series(dtype=bool)).fillna(False).any()
