"""What reports and exports count: the filters, what is left out by default, doubtful dates, and growth."""

import json
import re
import shutil
from datetime import UTC, date, datetime, timedelta

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames.errors import InvalidArgument, SourceWarning, UnknownValue
from osdi_frames.tables import TABLES
from tests.pulls import write_pull

SENT_TEST = [{"osdi:signature": {"platform:referrer_data": {}, "add_tags": ["t"]}, "idempotency_key": "same"}]


def signed(number, petition="p", day="2026-05-04T10:00:00Z", **fields):
    signature = {
        "identifiers": [f"platform:{number}"],
        "created_date": day,
        "_links": {"osdi:petition": {"href": f"https://x.example/petitions/{petition}"}},
        "add_tags": [f"tag-{number}"],
    }
    return [{"osdi:signature": signature | fields, "idempotency_key": str(number)}]


def event(number, campaign="c", day="2026-05-01T18:00:00Z", **fields):
    known = {"identifiers": [f"platform:{number}"], "title": "t", "total_accepted": 1, "start_date": day}
    return known | {"platform:event_campaign_id": campaign, "reminders": [{"minutes": number}]} | fields


COUNTS = {"events": "rsvps_by_campaign", "signatures": "signatures_by_petition"}


def counted(source, **options):
    made = of.report(source, reports=[*COUNTS.values()], **options)
    return {name: int(made[report][name].sum()) for name, report in COUNTS.items() if report in made}


EXPORTED = ["events", "event_reminders", "signatures", "signature_tags", "signature_identifiers"]


def exported(source, folder, **filters):
    of.export(source, folder, tables=EXPORTED, **filters)
    return {path.stem: len(pd.read_parquet(path)) for path in folder.glob("*.parquet")}


UNCOUNTED = [
    event(1),
    event(2, status="cancelled"),
    event(3, **{"platform:hidden": True}),
    event(4, status="confirmed", **{"platform:hidden": False}),
    signed(1),
    SENT_TEST,
    SENT_TEST,
    [{"osdi:attendance": {"person": {"given_name": "Sample"}}, "idempotency_key": "another"}],
]

# ------------------------------------------------------------------------------------------- left out


def test_reports_leave_test_sends_and_cancelled_and_hidden_events_out_and_say_so(tmp_path):
    made = of.write_report(UNCOUNTED, tmp_path / "out")
    assert made["rsvps_by_campaign"]["events"].tolist() == [2]
    assert made["signatures_by_source"]["signatures"].tolist() == [1]
    of_events = (
        "not counted: 1 cancelled event, 1 hidden event; include= (--include cancelled,hidden) counts them"
    )
    assert made["rsvps_by_campaign"].attrs["note"] == of_events
    assert made["signatures_by_source"].attrs["note"].startswith("not counted: 1 test signature;")
    everything = (
        "not counted: 1 cancelled event, 1 hidden event, 1 test signature, 1 test attendance; "
        "include= (--include cancelled,hidden,test) counts them"
    )
    assert str(made).splitlines()[1] == everything
    on_the_page = everything.partition(";")[0].replace("not", "Not", 1)
    assert (
        f"{on_the_page} (they can be counted in another report)<"
        in (tmp_path / "out" / "report.html").read_text()
    )
    assert pd.read_parquet(tmp_path / "out" / "rsvps_by_month.parquet").attrs["note"] == of_events


def test_what_is_included_is_counted():
    assert counted(UNCOUNTED, include="test") == {"events": 2, "signatures": 2}
    assert counted(UNCOUNTED, include=("cancelled", "hidden")) == {"events": 4, "signatures": 1}
    everything = of.report(UNCOUNTED, include=["test", "cancelled", "hidden"])
    assert (everything.summary["events"], everything.summary["signatures"]) == (4, 2)
    assert "not counted" not in str(everything)


def test_readers_return_every_row_with_the_reason_why_reports_leave_it_out():
    archive = of.open(UNCOUNTED)
    read = archive.tables({"events": ["excluded"], "signatures": ["excluded"], "event_reminders": None})
    assert read["events"]["excluded"].fillna("").tolist() == ["", "cancelled", "hidden", ""]
    assert read["signatures"]["excluded"].fillna("").tolist() == ["", "test"]
    assert len(read["event_reminders"]) == 4
    assert archive.attendances(["excluded"])["excluded"].tolist() == ["test"]
    both = event(5, status="cancelled", **{"platform:hidden": True})
    assert of.read_events(both)["excluded"].tolist() == ["cancelled"]


def test_every_way_to_a_number_gives_the_same_one(little):
    archive = of.open(little)
    reported = archive.report(reports=["rsvps_by_campaign", "signatures_by_source", "changes"])
    events, signatures, campaigns = archive.events(), archive.signatures(), archive.campaigns()
    assert len(events) > reported["rsvps_by_campaign"]["events"].sum() == reported.summary["events"]
    pd.testing.assert_frame_equal(of.rsvps_by_campaign(events, campaigns), reported["rsvps_by_campaign"])
    made = of.signatures_by_source(signatures, actions=archive.actions())
    pd.testing.assert_frame_equal(made, reported["signatures_by_source"])
    made = of.rsvps_by_campaign(events, include=["cancelled", "hidden"])
    assert made["events"].sum() == len(events)
    note = reported["signatures_by_source"].attrs["note"]
    assert of.signatures_by_source(signatures).attrs["note"] == note


def test_a_frame_without_the_reasons_is_counted_whole_and_says_so():
    events = of.read_events(UNCOUNTED).drop(columns="excluded")
    made = of.rsvps_by_campaign(events)
    assert made["events"].tolist() == [4]
    assert made.attrs["note"] == "counted whole: the frame has no column excluded"


def test_the_last_version_of_an_event_decides_whether_its_growth_is_counted():
    versions = [
        {"fetched_at": f"2026-05-0{day}T06:00:00Z", "body": event(1, total_accepted=day, status=status)}
        for day, status in enumerate(["confirmed", "cancelled"], start=1)
    ]
    snapshots = of.read_events(
        [*versions, {"fetched_at": "2026-05-02T06:00:00Z", "body": event(2)}], dedupe=False
    )
    assert of.rsvps_by_pull(snapshots)["rsvps"].tolist() == [1]
    assert of.rsvps_by_pull(snapshots, include="cancelled")["rsvps"].tolist() == [1, 3]


def test_who_asks_for_cancelled_events_by_status_gets_them():
    assert counted(UNCOUNTED, status="cancelled") == {"events": 1}


def test_a_signature_with_a_date_or_referrer_data_is_no_test_send():
    fields = [
        {"created_date": "2026-01-01T00:00:00Z"},
        {"modified_date": "2026-01-01T00:00:00Z"},
        {"platform:referrer_data": {"source": "x"}},
        {"action_network:referrer_data": {"website": "x"}},
    ]
    source = [[{"osdi:signature": each, "idempotency_key": str(n)}] for n, each in enumerate(fields)]
    assert counted(source) == {"events": 0, "signatures": len(fields)}


def test_an_export_writes_everything_without_filters(tmp_path):
    rows = exported(UNCOUNTED, tmp_path / "out")
    assert (rows["events"], rows["signatures"], rows["signature_tags"]) == (4, 2, 2)


# -------------------------------------------------------------------------------------------- filters

ARCHIVE = [
    event(1, "c", "2026-04-30T23:59:59Z"),
    event(2, "c", "2026-05-01T00:00:00Z"),
    event(3, "d", "2026-05-31T23:59:59Z", status="tentative"),
    event(4, "d", None),
    event(5, "e", "2026-06-01T00:00:00Z"),
    signed(1, "p", "2026-04-30T23:59:59Z"),
    signed(2, "p", "2026-05-01T01:00:00+02:00"),
    signed(3, "q", "2026-05-31T23:59:59.9Z"),
    signed(4, "r", "2026-06-01T00:00:00Z"),
]


@pytest.mark.parametrize(
    ("filters", "events", "signatures"),
    [
        ({"since": "2026-05"}, {2, 3, 5}, {3, 4}),
        ({"since": "2026-05", "until": "2026-05"}, {2, 3}, {3}),
        ({"since": "2026-05-01", "until": date(2026, 5, 31)}, {2, 3}, {3}),
        ({"until": "2026-05-01"}, {1, 2}, {1, 2}),
        ({"until": "2026"}, {1, 2, 3, 5}, {1, 2, 3, 4}),
        ({"since": "2026-05-01 00:00:01"}, {3, 5}, {3, 4}),
        ({"since": datetime(2026, 6, 1, tzinfo=UTC)}, {5}, {4}),
        ({"petition": "p"}, None, {1, 2}),
        ({"petition": ["p", "q"]}, None, {1, 2, 3}),
        ({"campaign": "d"}, {3, 4}, None),
        ({"status": "tentative"}, {3}, None),
        ({"campaign": "d", "since": "2026"}, {3}, None),
        ({"campaign": None, "since": None, "petition": ()}, {1, 2, 3, 4, 5}, {1, 2, 3, 4}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_filter_keeps_elements_and_the_rows_of_their_child_tables(filters, events, signatures):
    led_to = {"event": events is not None, "signature": signatures is not None}
    tables = [name for name in EXPORTED if led_to[TABLES[name].element.name]]
    frames = of.open(ARCHIVE).where(**filters).tables(tables)
    if events is not None:
        assert {int(id_) for id_ in frames["events"]["event_id"]} == events
        assert {int(minute) for minute in frames["event_reminders"]["minutes"]} == events
    if signatures is not None:
        assert {int(tag.removeprefix("tag-")) for tag in frames["signature_tags"]["tag"]} == signatures
        assert len(frames["signatures"]) == len(frames["signature_identifiers"]) == len(signatures)
        assert list(frames["signature_tags"]) == list(of.read_table([], "signature_tags"))


def test_a_report_counts_what_the_filters_keep():
    assert counted(ARCHIVE, since="2026-05", until="2026-05") == {"events": 2, "signatures": 1}
    assert counted(ARCHIVE, campaign="d", since="2026") == {"events": 1}


def test_an_export_takes_filters_and_says_what_they_leave_out(tmp_path):
    left_out = "left out: petitions, signatures, forms, .* \\(the filter by campaign does not lead to them\\)"
    with pytest.warns(SourceWarning, match=left_out):
        rows = of.export(ARCHIVE, tmp_path / "out", campaign="d", since="2026")
    assert {"events": 1, "event_reminders": 1, "event_identifiers": 1, "people": 0}.items() <= rows.items()
    assert "signatures" not in rows
    assert "signature_tags" not in rows
    with pytest.raises(
        InvalidArgument, match="does not lead to signatures; it leads to events, event_reminders,"
    ):
        of.export(ARCHIVE, tmp_path / "out", tables=["signatures"], campaign="d")


def test_the_newest_version_decides_whether_an_event_is_kept():
    old = event(1, status="confirmed", modified_date="2026-01-01T00:00:00Z")
    new = event(1, status="tentative", modified_date="2026-02-01T00:00:00Z")
    for versions in ([old, new], [new, old]):
        assert counted(versions, status="tentative")["events"] == 1
        with pytest.warns(SourceWarning, match="no event in the source passes the filters"):
            assert counted(versions, status="confirmed")["events"] == 0


def test_with_every_version_exported_a_child_row_follows_its_own_version(tmp_path):
    versions = [event(1, reminders=[{"minutes": 1}]), event(1, "d", reminders=[{"minutes": 2}])]
    of.export(versions, tmp_path / "out", tables=["events", "event_reminders"], campaign="d", dedupe=False)
    assert pd.read_parquet(tmp_path / "out" / "event_reminders.parquet")["minutes"].tolist() == [2]


def test_filters_are_said_in_the_note_the_page_and_the_terminal(tmp_path):
    only = {"reports": ["rsvps_by_campaign", "signatures_by_source"], "since": "2026-05"}
    made = of.write_report(ARCHIVE, tmp_path / "out", campaign="d", formats=(), **only)
    assert made["rsvps_by_campaign"].attrs["note"] == (
        "only: since 2026-05 (events by start_date); campaign d (events)"
    )
    made = of.report(ARCHIVE, petition="q", **only)
    note = "only: since 2026-05 (signatures by created_date); petition q (signatures)"
    assert made["signatures_by_source"].attrs["note"] == note
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Only: since 2026-05 (events by start_date); campaign d (events)" in page
    line = "only: since 2026-05 (events by start_date, attendances by created_date); campaign d (events, attendances)"
    assert str(of.report(ARCHIVE, since="2026-05", campaign="d")).splitlines()[1] == line


def attended(number, event=1, **fields):
    known = {"identifiers": [f"platform:a{number}"], "created_date": "2026-05-04T10:00:00Z"}
    links = {"osdi:person": {"href": f"https://x.example/people/p{number}"}}
    links |= {"osdi:event": {"href": f"https://x.example/events/{event}"}} if event else {}
    return [{"osdi:attendance": known | {"_links": links} | fields, "idempotency_key": f"a{number}"}]


@pytest.mark.parametrize(
    ("filters", "headline", "left_out"),
    [
        ({"campaign": "d"}, "2 events with 2 RSVPs", "signatures"),
        ({"petition": "p"}, "2 signatures of 0 people", "events, attendances"),
        ({"status": "tentative"}, "1 event with 1 RSVP", "signatures"),
    ],
    ids=["campaign", "petition", "status"],
)
def test_what_a_filter_does_not_lead_to_is_not_reported_and_a_line_says_so(filters, headline, left_out):
    acts = [attended(1, 3), attended(2, 3, status="declined"), attended(3), attended(4, 9), attended(5, None)]
    reading = of.report([*ARCHIVE, *acts], **filters)
    reported = {declared.table for declared, _ in reading.reports if declared.table != "actions"}
    assert {"events", "attendances", "signatures"} - reported == {*left_out.split(", ")}
    first, only, *others = str(reading).splitlines()
    assert (first, only.partition(":")[0]) == (headline, "only")
    (name,) = filters
    assert others[0] == f"not reported: {left_out} (the filter by {name} does not lead to them)"
    unplaced = f"not known: the {name} of 2 attendances; they are left out"
    assert (unplaced in others) == (name != "petition")
    if name != "petition":
        assert reading["attendances_by_source"]["rsvps"].sum() == 1
    dated = ("activity", *(name for name, frame in reading.items() if "period" in frame.attrs))
    assert {frame.attrs["caveat"] for name, frame in reading.items() if name not in dated} == {""}


LEADING = ["rsvps_by_campaign", "attendances_by_source", "signatures_by_petition"]


def test_the_page_has_only_what_a_filter_applies_to(tmp_path):
    place = {"location": {"location": {"latitude": 37.8, "longitude": -122.3}}}
    source = [event(1, **place), event(2, "d", **place), signed(1), signed(2, "q"), attended(1)]
    for filters, kept in (
        ({"petition": "p"}, ["Signatures", "Signers"]),
        ({"campaign": "c"}, ["Events", "RSVPs"]),
    ):
        made = of.write_report(source, tmp_path / "out", reports=LEADING, formats=["csv"], **filters)
        html = (tmp_path / "out" / "report.html").read_text()
        assert re.findall(r"<dt>(\w+)</dt><dd class=\"figure\">[01]</dd>", html) == kept
        assert ('id="event_map"' in html) == ("campaign" in filters)
        assert {path.stem for path in (tmp_path / "out").glob("*.csv")} == set(made)
        assert "Not reported: " in html


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"petition": "pp"}, "no petition is 'pp'; nearest: p"),
        ({"petition": ["p", "zzz"]}, "no petition is 'zzz'; there are: p, q, r"),
        ({"campaign": "x", "since": "2027"}, "no campaign is 'x'; there are: c, d, e"),
        ({"status": "confrmed"}, "no status is 'confrmed'; nearest: confirmed"),
    ],
    ids=["nearest", "one-of-two", "with-a-period", "status"],
)
def test_an_id_that_occurs_nowhere_is_an_error_that_names_the_nearest(filters, message, tmp_path):
    with pytest.raises((UnknownValue, LookupError), match=message):
        of.export(ARCHIVE, tmp_path / "out", tables=["people"], **filters)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("picnic", r"nearest: c \(The Spring Picnic\)$"),
        ("xyz", r"there are: c \(The Spring Picnic\), d \(e-mail\), e$"),
        ("nn@example", r"nearest: d \(e-mail\)$"),
    ],
    ids=["a word of the title", "neither", "an address in a title"],
)
def test_a_campaign_that_occurs_nowhere_is_an_error_that_names_titles(asked, message):
    titles = {"c": "The Spring Picnic", "d": "ann@example.org"}
    campaigns = [{"identifiers": [f"platform:{id_}"], "title": title} for id_, title in titles.items()]
    source = [*ARCHIVE, {"_embedded": {"action_network:event_campaigns": campaigns}}]
    with pytest.raises(UnknownValue, match=message):
        of.report(source, campaign=asked)


def test_an_id_outside_of_the_period_is_no_error():
    with pytest.warns(SourceWarning, match="no event in the source passes the filters"):
        assert counted(ARCHIVE, campaign="c", since="2026-06") == {"events": 0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"since": "someday"}, "since is a year, a month, a day or a time"),
        ({"until": "2026-13"}, "not '2026-13'"),
        ({"since": "2026-06", "until": "2026-05"}, "since 2026-06 is after until 2026-05"),
        ({"petition": [7]}, "petition is a text or a list of texts"),
        (
            {"include": ["tests"]},
            "include takes gone, cancelled, hidden, test, unaccepted, not 'tests'; nearest: test",
        ),
    ],
    ids=["no-time", "no-month", "order", "number", "include"],
)
def test_a_filter_that_cannot_be_says_what_would_be_right(options, message):
    with pytest.raises(InvalidArgument, match=message):
        of.report(ARCHIVE, **options)


# ------------------------------------------------------------------------------------- doubtful dates


def test_check_lists_the_dates_that_reports_put_before_and_after_all_others():
    days = ["2026-05-01T18:00:00Z", "2025-05-01T18:00:00Z", "9999-12-31T00:00:00Z", "0001-01-01T00:00:00Z"]
    events = [event(number, day=day) for number, day in enumerate([*days, days[2]])]
    found = of.check([*events, signed(1, day="1970-01-01T00:00:00Z"), *(signed(n) for n in range(2, 9))])
    doubtful = found[found["problem"].str.startswith("doubtful date")]
    assert set(doubtful["severity"]) == {"warning"}
    assert dict(zip(doubtful["detail"], doubtful["count"], strict=True)) == {
        "event: start_date = 0001-01-01": 1,
        "event: start_date = 9999-12-31": 2,
        "signature: created_date = 1970-01-01": 1,
    }
    assert doubtful["source_line"].tolist() == [3, 4, 6]
    by_month = of.report(events)["rsvps_by_month"]["events"]
    assert by_month[["before 2025-05", "after 2026-05"]].tolist() == [1, 2]


# --------------------------------------------------------------------------------------------- growth


def pulled(folder, day, rsvps, *, why=""):
    """Write a pull of events with their totals, fetched seconds apart."""
    began = datetime(2026, 5, day, 6, tzinfo=UTC)
    pages = [
        {"fetched_at": str(began + timedelta(seconds=second)), "body": event(number, total_accepted=count)}
        for second, (number, count) in enumerate(rsvps.items())
    ]
    write_pull(folder, began, {"pages.ndjson": pages}, lasted=timedelta(minutes=5), why=why)


def test_growth_between_pulls_is_in_report_page_and_files(tmp_path):
    pulled(tmp_path / "in" / "1", 1, {1: 3, 2: 4})
    pulled(tmp_path / "in" / "2", 8, {1: 9, 2: 4, 3: 2})
    only = {"reports": ["rsvps_by_pull"], "formats": ["csv"]}
    made = of.write_report(tmp_path / "in", tmp_path / "out", **only)["rsvps_by_pull"]
    assert made.index.tolist() == [
        pd.Timestamp("2026-05-01 06:05", tz="UTC"),
        pd.Timestamp("2026-05-08 06:05", tz="UTC"),
    ]
    assert made["rsvps"].tolist() == [7, 15]
    assert made["new_rsvps"].tolist() == [pd.NA, 8]
    html = (tmp_path / "out" / "report.html").read_text()
    assert "RSVPs by the service&#39;s totals at each pull</h3>" in html
    assert ">2026-05-08 06:05<" in html
    assert pd.read_csv(tmp_path / "out" / "rsvps_by_pull.csv")["rsvps"].tolist() == [7, 15]


def test_a_part_pull_is_not_drawn_as_growth(tmp_path):
    pulled(tmp_path / "in" / "1", 1, {1: 3, 2: 4})
    pulled(tmp_path / "in" / "2", 8, {1: 9}, why="a page is missing")
    pulled(tmp_path / "in" / "3", 15, {1: 10, 2: 4})
    reading = of.report(tmp_path / "in", reports=["rsvps_by_pull"])
    assert reading["rsvps_by_pull"]["rsvps"].tolist() == [7, 14]
    assert "1 pull not complete, not drawn as growth" in str(reading)
    shutil.rmtree(tmp_path / "in" / "3")
    with pytest.warns(UserWarning, match="the newest pull is not complete"):
        assert "rsvps_by_pull" not in of.report(tmp_path / "in", reports=["rsvps_by_pull"])


def test_growth_says_how_many_events_are_in_no_pull(tmp_path):
    only = ["rsvps_by_pull", "rsvps_by_campaign"]
    pulled(tmp_path / "in" / "1", 1, {1: 3, 2: 4})
    pulled(tmp_path / "in" / "2", 8, {1: 9, 2: 4})
    assert of.report(tmp_path / "in", reports=only)["rsvps_by_pull"].attrs["caveat"] == ""
    (tmp_path / "in" / "export.json").write_text(json.dumps(event(3, total_accepted=7)))
    made = of.report(tmp_path / "in", reports=only)
    assert made["rsvps_by_pull"]["rsvps"].iloc[-1] == made["rsvps_by_campaign"]["rsvps"].sum() - 7 == 13
    assert made["rsvps_by_pull"].attrs["caveat"] == (
        "Without the 7 RSVPs of 1 event that is in no complete pull."
    )
    assert made["rsvps_by_campaign"].attrs["caveat"] == ""
    protected = of.report(tmp_path / "in", reports=only, min_count=5)["rsvps_by_pull"]
    assert protected.attrs["caveat"] == "Without 1 event that is in no complete pull."
    newer = event(1, total_accepted=11, modified_date="2026-06-01T00:00:00Z")
    (tmp_path / "in" / "newer.json").write_text(json.dumps(newer))
    made = of.report(tmp_path / "in", reports=only)
    assert made.summary["rsvps"] == made["rsvps_by_pull"]["rsvps"].iloc[-1] + 7 + 2
    assert made["rsvps_by_pull"].attrs["caveat"].endswith("\nRSVPs since the last complete pull: +2.")


def test_growth_counts_the_events_that_the_report_counts(tmp_path):
    states = [
        {"fetched_at": f"2026-05-0{day}T06:00:00Z", "body": event(number, campaign, total_accepted=day)}
        for day in (1, 2)
        for number, campaign in ((1, "c"), (2, "d"))
    ]
    only = ["rsvps_by_pull"]
    assert of.report(states, reports=only)["rsvps_by_pull"]["rsvps"].tolist() == [2, 4]
    assert of.report(states, reports=only, campaign="d")["rsvps_by_pull"]["rsvps"].tolist() == [1, 2]


def test_one_pull_is_no_growth():
    pulled_once = [{"fetched_at": "2026-05-01T06:00:00Z", "body": event(1)}]
    assert "rsvps_by_pull" not in of.report(pulled_once, reports=["rsvps_by_pull"])


# -------------------------------------------------------------------------------- other element types


def test_other_element_types_are_counted_by_type_apart_from_undeclared_keys(tmp_path):
    donated = [[{"osdi:donation": {"amount": "27"}, "idempotency_key": key}] for key in "ab"]
    others = [*donated, [{"platform:call": {}}]]
    only = {"reports": ["rsvps_by_campaign"], "formats": ()}
    reading = of.write_report([event(1, mood="good"), *others], tmp_path / "out", **only)
    assert str(reading).splitlines()[-1] == "in no report: 2 osdi:donation, 1 platform:call"
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Elements in no report: 2 osdi:donation, 1 platform:call.</li>" in html
    assert "Problems: 0. Keys that no table reads, listed below: 1.</li>" in html
    assert '<caption id="reading-caption">Keys that no table reads</caption>' in html
