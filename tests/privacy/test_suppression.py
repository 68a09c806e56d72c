"""Small counts: what is shown of a report, with its totals, leaves every hidden count open."""

import io
import json
import re
from dataclasses import replace
from functools import cache
from html import unescape
from urllib.parse import unquote

import numpy as np
import openpyxl
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

import osdi_frames as of
from osdi_frames.cli.report import command
from osdi_frames.errors import InvalidArgument, InvalidColumn
from osdi_frames.reports import NONE, REPORTS, Report, suppress
from osdi_frames.reports.declared import KEYED

BELOW = 5


def signed(counts, people=None):
    """Give a frame with so many signatures of each source, each by another person unless `people` says how many."""
    rows = [
        {"source": source, "person_id": f"{source}{number % (people or {}).get(source, count)}"}
        for source, count in counts.items()
        for number in range(count)
    ]
    frame = pd.DataFrame(rows, columns=["source", "person_id"])
    return frame.assign(created_date=pd.Timestamp("2026-05-01T10:00Z"))


def counted(counts):
    return of.signatures_by_source(signed(counts))


def bounds(report, total):
    """Give the smallest and the largest value of a hidden count: at least 1, and at most the smallest shown."""
    hidden = report["signatures"].isna()
    shown = report.loc[~hidden, "signatures"]
    most = min(shown[shown > 0].min(), total) if (shown > 0).any() else total
    rest, others = total - shown.sum(), hidden.sum() - 1
    return max(1, rest - others * most), min(most, rest - others)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=12))
def test_a_hidden_row_is_open_with_all_others_and_the_total_known(values):
    counts = {f"s{number}": value for number, value in enumerate(values)}
    report = suppress(counted(counts), below=BELOW)
    hidden = report["signatures"].isna()
    shown = report["signatures"].dropna()
    assert (shown >= BELOW).all()
    assert shown.to_dict() == {name: counts[name] for name in shown.index}
    assert report[hidden].isna().all(axis=None)
    assert report.empty == (sum(values) < BELOW or max(values) == 1)
    assert report.empty or hidden.any() == (min(values) < BELOW)
    if hidden.any():
        smallest, largest = bounds(report, sum(values))
        assert smallest < largest
        assert sum(values) - shown.sum() >= BELOW


def test_a_report_of_which_the_total_says_all_has_no_rows_but_its_columns():
    report = suppress(counted(dict.fromkeys("abcdefg", 1)))
    assert report.empty
    assert report.columns.tolist() == ["signatures", "share"]
    assert report.index.name == "source"


def test_the_second_hidden_row_is_the_smallest_of_the_others():
    report = suppress(counted({"email": 30, "web": 12, "flyer": 9, "ann": 2}))
    assert report["signatures"].dropna().to_dict() == {"email": 30, "web": 12}


def test_many_signatures_of_one_person_are_hidden():
    report = suppress(of.signatures_by_source(signed({"a": 30, "b": 20, "c": 10}, people={"b": 1})))
    assert report["signatures"].dropna().index.tolist() == ["a"]


def test_hidden_rows_come_last_in_the_order_of_their_labels():
    report = suppress(counted({"z": 6, "b": 1, "a": 9, "y": 4, "x": 6}))
    assert report.index.tolist() == ["a", "x", "z", "b", "y"]


def test_zero_is_shown_and_periods_stay_in_order():
    frame = signed({"a": 20, "b": 3, "c": 9})
    months = {"a": "2026-01-05", "b": "2026-03-05", "c": "2026-05-05"}
    frame["created_date"] = pd.to_datetime(frame["source"].map(months), utc=True)
    report = suppress(of.signatures_by_month(frame))
    assert report.index.tolist() == ["2026-01", "2026-02", "2026-03", "2026-04", "2026-05"]
    assert report["signatures"].fillna(-1).tolist() == [20, 0, -1, 0, -1]


def test_columns_that_reveal_small_counts_next_to_others_are_left_out():
    for report, columns in (
        (of.signatures_by_source(signed({"a": 9})), ["signatures", "share"]),
        (of.signatures_by_month(signed({"a": 9})), ["signatures"]),
        (
            of.rsvps_by_campaign(of.read_events({"total_accepted": 9, "capacity": 10})),
            ["events", "rsvps", "limited_events", "capacity", "first_start", "last_start"],
        ),
    ):
        assert suppress(report).columns.tolist() == columns


def test_of_a_report_without_small_counts_all_rows_are_shown():
    report = counted({"a": 30, "b": 20})
    pd.testing.assert_frame_equal(suppress(report), report[["signatures", "share"]], check_dtype=False)


def is_open(values, hidden, row, column):
    """Look for another table of counts with the same sums, by one more or less in a circle through a hidden count."""
    for sign in (1, -1):
        if sign < 0 and not values[row, column]:
            continue
        # From the column back to the row by hidden counts: those against the sign have to be more than 0.
        reached, waiting = {("column", column)}, [("column", column)]
        while waiting:
            kind, place = waiting.pop()
            cells = hidden[:, place] if kind == "column" else hidden[place]
            for other in np.flatnonzero(cells):
                cell = (other, place) if kind == "column" else (place, other)
                is_less = (kind == "column") == (sign > 0)
                target = ("row" if kind == "column" else "column", int(other))
                if cell == (row, column) or (is_less and not values[cell]) or target in reached:
                    continue
                reached.add(target)
                waiting.append(target)
        if ("row", row) in reached:
            return True
    return False


TABLES = st.integers(2, 6).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([0, 0, 1, 3, 5, 8, 20]), min_size=width, max_size=width),
        min_size=2,
        max_size=6,
    )
)


@settings(max_examples=30)
@given(TABLES)
def test_a_hidden_count_is_open_with_the_totals_of_its_row_and_its_column_known(rows):
    values = np.array(rows)
    times = pd.date_range("2026-01-01", periods=len(values), freq="MS", tz="UTC", name="created_date")
    names = pd.Index([f"s{number}" for number in range(values.shape[1])], name="source")
    report = suppress(pd.DataFrame(values, times, names), below=BELOW)
    hidden = report.isna().to_numpy()
    assert hidden[(values > 0) & (values < BELOW)].all()
    shown = report.to_numpy(dtype="float64", na_value=-1)
    assert (shown[~hidden] == values[~hidden]).all()
    for row, column in np.argwhere(values):
        if not np.delete(np.delete(values, row, 0), column, 1).any():
            return  # all counts stand in one row and one column, whose totals they are
    assert all(is_open(values, hidden, row, column) for row, column in np.argwhere(hidden))


def test_columns_of_values_are_not_taken_for_those_of_other_reports():
    report = of.signatures_over_time(signed({"gifts": 9, "amount": 8, "new": 7}), by="source")
    assert suppress(report).to_numpy().tolist() == [[9, 8, 7]]


def snapshots(*pulls):
    """Give the rows of pulls, each the RSVPs of campaigns."""
    return pd.DataFrame(
        [
            (name, name, count, pd.Timestamp(f"2026-05-{day:02}T06:00Z"))
            for day, pull in enumerate(pulls, 1)
            for name, count in pull.items()
        ],
        columns=["event_id", "event_campaign_id", "total_accepted", "fetched_at"],
    )


def test_pulls_between_which_a_count_grew_by_little_are_hidden():
    pulls = snapshots({"a": 10, "b": 20}, {"a": 22, "b": 30}, {"a": 23, "b": 31}, {"a": 40, "b": 60})
    report = suppress(of.reports.rsvps_by_pull(pulls))
    assert report["rsvps"].fillna(-1).tolist() == [30, -1, 54, 100]
    assert report["new_rsvps"].isna().tolist() == [True, True, True, False]
    spread = suppress(of.rsvps_over_time(pulls))
    assert spread["a"].fillna(-1).tolist() == [10, -1, 23, 40]


def test_a_campaign_with_few_rsvps_is_hidden_with_another():
    report = suppress(of.rsvps_over_time(snapshots({"a": 10, "b": 20, "c": 2}, {"a": 22, "b": 30, "c": 2})))
    assert report.isna().all().to_dict() == {"b": False, "a": True, "c": True}


def test_a_pull_that_differs_by_little_from_the_total_of_all_events_is_hidden():
    """It is the last pull; and the one before a hidden one."""
    for counts, other, shown in (((20, 30), 3, [20, -1]), ((7, 1), 5, [-1, -1])):
        early = [{**event("a", count, 37.0), "identifiers": ["platform:a"]} for count in counts]
        pulls = [
            {"fetched_at": f"2026-05-0{day}T06:00:00Z", "body": body} for day, body in enumerate(early, 1)
        ]
        report = reported([*pulls, event("b", other, 37.0)], "rsvps_by_pull")["rsvps_by_pull"]
        assert report["rsvps"].fillna(-1).tolist() == shown
        assert report["new_rsvps"].isna().all()


def test_a_bound_that_is_no_count_is_refused():
    for below in (0, -1, "5", 2.5):
        with pytest.raises(InvalidArgument, match="smallest count"):
            suppress(counted({"a": 1}), below=below)


def reported(source, *names, more=()):
    """Make some reports with hidden counts."""
    return of.report(
        source, reports=[*(report for report in KEYED if report.name in names), *more], min_count=5
    )


# The page, the files and the terminal


def delivery(source, number):
    signature = {
        "identifiers": [f"platform:{source}-{number}"],
        "created_date": "2026-05-01T10:00:00Z",
        "platform:referrer_data": {"source": source},
        "_links": {"osdi:person": {"href": f"https://a.example/people/{source}-{number}"}},
    }
    return [{"osdi:signature": signature, "idempotency_key": f"{source}-{number}"}]


def event(campaign, rsvps, latitude):
    return {
        "identifiers": [f"platform:{campaign}"],
        "start_date": "2026-05-01T18:00:00Z",
        "platform:event_campaign_id": campaign,
        "total_accepted": rsvps,
        "location": {
            "country": "US",
            "region": "CA",
            "location": {"latitude": latitude, "longitude": -122.0},
        },
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "a.ndjson"
    signatures = [
        delivery(name, n) for name, count in {"mail": 31, "web": 17, "flyer": 3}.items() for n in range(count)
    ]
    events = [event("river", 4117, 37.0), event("forest", 1009, 38.0), event("meadow", 3, 39.0)]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in [*signatures, *events]))
    return path


def test_every_output_of_a_report_shows_the_suppressed_one(source, tmp_path):
    arguments = [str(source), "--min-count", "5", "--out", str(tmp_path / "out"), "--format", "parquet"]
    workbook = tmp_path / "week.xlsx"
    ran = CliRunner().invoke(
        command, [*arguments, "--format", "csv", "--format", "xlsx", "--excel", str(workbook)]
    )
    assert ran.exit_code == 0, ran.output
    assert "counts of people below 5 are hidden (–)" in ran.output
    line = next(line for line in ran.output.splitlines() if line.startswith("flyer"))
    assert line.split() == ["flyer", "–", "–"]
    html = (tmp_path / "out" / "report.html").read_text()
    assert "counts of people below 5 are hidden" in html.lower()
    assert "Total of what is shown" in html
    assert "1,009" not in html
    parquet = pd.read_parquet(tmp_path / "out" / "signatures_by_source.parquet").set_index("source")
    csv = pd.read_csv(tmp_path / "out" / "signatures_by_source.csv").set_index("source")
    (header, *rows) = openpyxl.load_workbook(tmp_path / "out" / "signatures_by_source.xlsx").active.values
    excel = pd.DataFrame(rows, columns=header).set_index("source")
    sheets = openpyxl.load_workbook(workbook)
    assert {*sheets.sheetnames} <= {"notes", "news", *(report.name for report in KEYED)}
    (_, *rows) = sheets["signatures_by_source"].values
    assert [row[:2] for row in rows] == [("mail", 30), ("flyer", None), ("web", None)]
    for frame in (parquet, csv, excel):
        assert frame["signatures"].dropna().to_dict() == {"mail": 30}
        assert frame.loc[["flyer", "web"]].isna().all(axis=None)
    again = json.loads(CliRunner().invoke(command, [*arguments[:3], "--json"]).output)["reports"]
    assert [row["signatures"] for row in again["signatures_by_source"]] == [30, None, None]


def test_small_totals_are_hidden_in_the_headline(tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_text(
        "".join(f"{json.dumps(each)}\n" for each in [delivery("mail", 1), event("river", 2, 37.0)])
    )
    ran = CliRunner().invoke(command, [str(path), "--min-count", "5", "--out", str(tmp_path / "out")])
    assert ran.output.splitlines()[0] == "1 event with few RSVPs; few signatures"
    html = (tmp_path / "out" / "report.html").read_text()
    assert '<dt>RSVPs</dt><dd class="figure">few</dd>' in html
    assert "What was read" not in html


def test_the_headline_shows_the_totals_of_other_tables_than_the_hidden_ones():
    attended = [{"osdi:attendance": {"created_date": "2026-05-04T10:00:00Z"}, "idempotency_key": "1"}]
    reading = of.report([attended, event("river", 20, 37.0)], min_count=5)
    assert reading["attendances_by_source"].isna().all(axis=None)
    hidden = {"attendances": None, "rsvp_people": None}
    assert reading.summary == {"events": 1, "rsvps": 20, **hidden, "signatures": 0, "people": 0}


def by(*keys):
    subject = next(report.subject for report in KEYED if report.table == "signatures")
    return Report(subject, f"signatures_by_{keys[-1]}_too", "By key", by=list(keys))


def test_a_report_by_two_columns_is_shown_next_to_those_by_each(source):
    both = by("source", "referrer")
    made = reported(source, "signatures_by_source", "signatures_by_referrer", more=[both])
    assert made[both.name]["signatures"].dropna().to_dict() == {("mail", NONE): 30}
    assert made["signatures_by_source"]["signatures"].dropna().to_dict() == {"mail": 30}


def placed(*places):
    """Give signatures of people in places, each so many."""
    deliveries = []
    for (country, region), count in places:
        for number in range(count):
            [item] = delivery("mail", f"{country}{region}{number}")
            address = {"country": country, "region": region}
            item["osdi:signature"]["person"] = {"postal_addresses": [address]}
            deliveries.append([item])
    return deliveries


def test_a_region_that_is_the_only_one_of_its_country_is_hidden_with_the_country():
    """The country has the count of the region, and the next region would have that of its country."""
    source = placed((("US", "CA"), 30), (("US", "NV"), 20), (("MX", "BC"), 7), (("CA", "ON"), 2))
    made = reported(source, "signatures_by_region", more=[by("location_country")])
    assert made["signatures_by_location_country_too"]["signatures"].dropna().to_dict() == {"US": 50}
    regions = made["signatures_by_region"]["signatures"].dropna()
    assert regions.to_dict() == {("US", "CA"): 30, ("US", "NV"): 20}


def test_a_small_region_is_hidden_with_another_of_its_country():
    source = placed((("US", "CA"), 30), (("US", "NV"), 20), (("US", "OR"), 2), (("MX", "BC"), 7))
    made = reported(source, "signatures_by_region", more=[by("location_country")])
    assert made["signatures_by_location_country_too"]["signatures"].to_dict() == {"US": 50, "MX": 5}
    regions = made["signatures_by_region"]["signatures"].dropna()
    assert regions.to_dict() == {("US", "CA"): 30, ("MX", "BC"): 5}


def test_a_campaign_is_hidden_with_one_that_has_a_region_in_common():
    """The next larger one is the forest, but its 8 RSVPs are those of Nevada."""
    river, forest, meadow = event("river", 100, 37.0), event("forest", 8, 37.0), event("meadow", 3, 37.0)
    forest["location"] = {**forest["location"], "region": "NV"}
    made = reported([river, forest, meadow], "rsvps_by_campaign", "rsvps_by_region")
    assert made["rsvps_by_campaign"]["rsvps"].dropna().to_dict() == {"forest": 5}
    assert made["rsvps_by_region"]["rsvps"].to_dict() == {("US", "CA"): 100, ("US", "NV"): 5}


def test_a_report_with_a_column_per_value_is_refused(source):
    over_time = next(report for report in REPORTS if report.name == "signatures_over_time")
    with pytest.raises(InvalidColumn, match="signatures_over_time has a column per value"):
        of.report(source, reports=[replace(over_time, by="source")], min_count=5)


def test_the_map_of_the_page_says_nothing_of_rsvps(source, tmp_path):
    maps = []
    for below in (None, 5):
        of.write_report(source, tmp_path / "out", min_count=below, reports=KEYED[:1])
        html = (tmp_path / "out" / "report.html").read_text()
        (image,) = re.findall(r'<img src="[^"]*" alt="Map of[^"]*"', html)
        maps.append(unquote(unescape(image)))
    assert ["RSVPs" in image for image in maps] == [True, False]


def test_a_plot_of_a_suppressed_report_shows_no_hidden_count_and_no_total_of_them():
    report = suppress(counted({"mail": 31, "web": 17, "flyer": 3}))
    axes = of.plots.signatures_by_source(report, ax=Figure().subplots())
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["31", "hidden", "hidden"]
    assert axes.get_xlabel() == "signatures (without small counts): 31 in all"


def test_every_report_can_be_suppressed_drawn_and_written(little_of_all, tmp_path):
    frame_of = cache(lambda table, dedupe: of.read_table(little_of_all, table, dedupe=dedupe))
    drawn = set()
    for report in REPORTS:
        frame = frame_of(report.read_from, report.kind != "growth")
        if report.kind == "growth":
            frame = frame.dropna(subset=["fetched_at", "event_id"])
        by = ["location_region"] if report.by is None and report.kind == "groups" else []
        joined = [frame_of(report.joined.table, True)] if report.joined else []
        shown = suppress(getattr(of.reports, report.name)(frame, *by, *joined), below=10)
        counts = shown.select_dtypes("number")[[report.count]] if report.count in shown else shown
        assert not (counts == 1).any(axis=None), report.name
        if report.kind not in drawn:
            getattr(of.plots, report.name)(shown, ax=Figure().subplots())
            drawn.add(report.kind)
        of.write_csv(shown, tmp_path / "a.csv")
        assert io.StringIO((tmp_path / "a.csv").read_text()).readline()
