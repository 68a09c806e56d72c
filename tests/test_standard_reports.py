"""The standard set of reports is what `osdi-frames report` makes, and reads no column in vain."""

import inspect
import json
import re
from datetime import UTC, datetime

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames.cli.report import command
from osdi_frames.errors import InvalidArgument, MissingColumn, SourceWarning, UnknownReport
from osdi_frames.reports import REPORTS, STANDARD, make
from osdi_frames.reports.declared import KEYED


@pytest.fixture(scope="module")
def frames(little_of_all) -> dict[str, pd.DataFrame]:
    snapshots = of.read_events(little_of_all, dedupe=False).dropna(subset="fetched_at")
    tables = of.open(little_of_all).tables(["events", "signatures", "attendances"])
    return tables | {"snapshots": snapshots}


@pytest.mark.parametrize("report", KEYED, ids=lambda report: report.name)
def test_every_report_counts_every_row_of_the_columns_that_it_declares(report, frames):
    made = make(report, frames[report.table][list(report.columns)])
    if report.kind == "growth":
        newest = frames["snapshots"].sort_values("fetched_at").groupby("event_id")["total_accepted"].last()
        assert (
            made[report.count].iloc[-1]
            == newest.sum()
            == made["new_rsvps"].sum() + made[report.count].iloc[0]
        )
        return
    total = (
        frames["events"]["total_accepted"].sum() if report.table == "events" else len(frames[report.table])
    )
    assert made[report.count].sum() == total


@pytest.mark.parametrize("table", ["events", "signatures", "attendances"])
def test_every_declared_column_is_needed_by_a_report(frames, table):
    for column in {column for report in KEYED if report.table == table for column in report.columns}:
        lacking = frames[table].drop(columns=column)
        with pytest.raises(MissingColumn, match=column):
            [make(report, lacking) for report in KEYED if report.table == table]


def test_the_function_of_a_report_takes_and_documents_what_is_declared():
    general = {
        "events": of.rsvps_by,
        "snapshots": of.rsvps_over_time,
        "attendances": of.attendances_by,
        "signatures": of.signatures_by,
    }
    for report in REPORTS:
        function = getattr(of, report.name)
        arguments = inspect.signature(function).parameters
        assert function.__module__.startswith("osdi_frames.reports.")
        assert f"def {report.name}(" in inspect.getsource(function)
        assert next(iter(arguments)) == report.table
        assert report.titled.argument in arguments
        assert ("by" in arguments) == (report.by is None)
        assert ("actions" in arguments) == any(measure.name == "new" for measure in report.measures)
        words = {*re.findall(r"\w+", f"{function.__doc__} {general[report.table].__doc__}")}
        columns = () if report.name == "rsvps_over_time" else [measure.name for measure in report.measures]
        assert {*columns, *arguments} <= words, report.name


def test_a_filter_by_since_leaves_no_comparison_with_a_period_that_it_cuts(data):
    archive = of.open(data)
    made, whole = archive.where(since="2026-07-14").report(), archive.where(since="2026-07-06").report()
    assert not {"changes", "changes_by_source", "changes_by_title"} & made.keys()
    assert whole["changes"].equals(archive.report()["changes"])
    assert made["activity"].index.tolist() == [pd.Timestamp("2026-07-20", tz="UTC")]
    assert len(whole["activity"]) == 3
    with pytest.warns(of.errors.SourceWarning, match="no event and no signature"):
        assert "news" not in archive.where(since="2999").report()


@pytest.mark.filterwarnings("ignore:no event and no signature")
@pytest.mark.parametrize("part", ["events", "attendances.ndjson.zst"])
def test_columns_and_types_of_a_report_are_the_same_whatever_rows_come(part, data, reported):
    made = of.report(data / part)
    of_those_who_came = ["attended", "attended_of", "attended_share"]
    lacking = [] if "attended" in made.summary else of_those_who_came
    for name, frame in made.items():
        if name in ("retention", "rsvps_by_pull"):  # a column for each period; only where no attendances are
            continue
        expected = reported[name]
        if name != "activity":  # which has a column for each action
            expected = expected.drop(columns=lacking, errors="ignore")
        assert frame.reset_index().dtypes.equals(expected.reset_index().dtypes)


NAMES = [declared.name for declared in STANDARD]


def test_standard_reports_can_be_asked_for_by_name_and_come_in_that_order(data):
    made = of.report(data / "attendances.ndjson.zst", reports=[*reversed(NAMES)])
    assert list(made) == [name for name in reversed(NAMES) if name in made]
    assert {"attendances_by_source", "changes", "engagement", "retention"} <= set(made)
    alone = of.report(data / "attendances.ndjson.zst", reports=["engagement", "attendances_by_source"])
    assert list(alone) == ["engagement", "attendances_by_source"]
    assert_frame_equal(made["engagement"], alone["engagement"])


def test_a_report_that_was_not_made_is_an_error_that_names_the_nearest():
    made = of.report({"title": "March", "total_accepted": 12})
    assert "rsvps_by_pull" not in made
    with pytest.raises(UnknownReport, match=r"no report 'rsvps_by_pull' .* nearest: rsvps_by_month, "):
        made["rsvps_by_pull"]


def test_what_changed_is_printed_and_written_with_its_periods_and_rounded_shares(tmp_path):
    """31 signed in the first week of May, 32 in the second: 3.2% more."""
    days = [4 + number % 7 for number in range(31)] + [11 + number % 7 for number in range(32)] + [18]
    source = [
        [
            {
                "osdi:signature": {
                    "identifiers": [f"platform:{n}"],
                    "created_date": f"2026-05-{day:02}T10:00:00Z",
                }
            }
        ]
        for n, day in enumerate(days)
    ]
    made = of.write_report(
        source, tmp_path / "out", formats=["csv", "parquet"], now=datetime(2026, 5, 19, tzinfo=UTC)
    )
    assert "2026-05-11 to 2026-05-17, against 2026-05-04 to 2026-05-10\n" in made.text("changes")
    assert re.search(r"signed +31 +32 +\+1 +\+3.2%", made.text("changes"))
    csv = pd.read_csv(tmp_path / "out" / "changes.csv", index_col="figure").loc["signed"]
    assert csv[["before_period", "now_period", "change_share"]].tolist() == [
        "2026-05-04 to 2026-05-10",
        "2026-05-11 to 2026-05-17",
        0.032,
    ]
    exact = pd.read_parquet(tmp_path / "out" / "changes.parquet").set_index("figure")
    assert exact.loc["signed", "change_share"] == 1 / 31


def test_where_everything_is_excluded_the_warning_says_so():
    test = [{"osdi:signature": {"identifiers": ["platform:t"]}, "idempotency_key": "t"}]
    event = {"title": "March", "status": "cancelled", "start_date": "2026-05-01T18:00:00Z"}
    with pytest.warns(
        SourceWarning, match="no event and no signature in the source counts; not counted: 1 cancelled"
    ):
        of.report([test, {"_embedded": {"osdi:events": [event]}}])


# Partner codes

CODES = st.sampled_from([None, "web", "Partner-7", "partner_7", "PARTNER-", "[x]", "ally"])
PATTERNS = st.lists(st.sampled_from(["partner-*", "Partner?7", "[[]x]", "ally", "*", "nobody"]), max_size=3)
ACTS = st.lists(st.tuples(st.sampled_from(["signature", "attendance"]), CODES, CODES), min_size=1, max_size=8)


def acts_with_codes(acts):
    """Give a delivery of each act, by people who act twice."""
    return [
        [
            {
                f"osdi:{kind}": {
                    "identifiers": [f"platform:{number}"],
                    "created_date": f"2026-05-0{number + 1}T10:00:00Z",
                    "platform:referrer_data": {"source": source, "referrer": referrer},
                    "_links": {"osdi:person": {"href": f"/people/{number // 2}"}},
                }
            }
        ]
        for number, (kind, source, referrer) in acts
    ]


@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")
@settings(max_examples=5)
@given(ACTS, PATTERNS)
def test_acts_of_excluded_sources_are_counted_nowhere(acts, patterns):
    """Patterns are those of a shell, here found by regular expressions written by hand."""
    spelled = {"partner-*": "partner-.*", "Partner?7": "partner.7", "[[]x]": r"\[x\]", "*": ".*"}
    is_like = re.compile("|".join(spelled.get(pattern, pattern) for pattern in patterns) or "(?!)")
    numbered = [*enumerate(acts)]
    left = [
        (number, act)
        for number, act in numbered
        if not any(code and is_like.fullmatch(code.lower()) for code in act[1:])
    ]
    names = ["changes_by_source", "repeats", *(report.name for report in KEYED)]
    made = of.report(acts_with_codes(numbered), exclude_sources=patterns, reports=names)
    expected = of.report(acts_with_codes(left), reports=names)
    assert made.summary == expected.summary
    for name in expected:
        assert_frame_equal(
            made[name].drop(columns="new", errors="ignore"),
            expected[name].drop(columns="new", errors="ignore"),
        )
    counts = [
        int(count) for note in made.notes for count in re.findall(r"(\d+) \w+ with a source like", note)
    ]
    assert sum(counts) == len(acts) - len(left)


def test_a_line_names_excluded_sources_and_those_that_are_nobodys(tmp_path):
    file = tmp_path / "acts.json"
    file.write_text(
        json.dumps(
            acts_with_codes(enumerate([("signature", "Partner-7", None)] * 3 + [("signature", "web", None)]))
        )
    )
    asked = ["--exclude-source", "partner-*", "--exclude-source", "ally"]
    ran = CliRunner().invoke(command, [str(file), *asked])
    assert ran.exit_code == 0, ran.output
    assert (
        "not counted: 3 signatures with a source like 'partner-*'\nno act was left out for a source like 'ally'"
        in ran.output
    )
    hidden = CliRunner().invoke(command, [str(file), *asked, "--min-count", "5"]).output
    assert "not counted: signatures with a source like 'partner-*'\n" in hidden
    frame = of.read_signatures(file)
    frame.loc[frame["source"] == "Partner-7", "excluded"] = "partner"
    assert of.signatures_by_source(frame).attrs["note"] == "not counted: 3 partner signatures"
    for wrong in ([5], [""]):
        with pytest.raises(InvalidArgument, match="list of patterns"):
            of.report(file, exclude_sources=wrong)
