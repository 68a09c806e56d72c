"""RSVPs: one number of them everywhere, what it has in common with attendances, and who of them came."""

import json
import re

import pandas as pd
import pytest
from matplotlib.figure import Figure

import osdi_frames as of
from osdi_frames.reports import REPORTS
from tests.commands import run
from tests.test_counted import attended, event

CAME = {"status": "attended"}
#: Reports that have RSVPs; others take their time.
ONLY = ["rsvps_by_campaign", "attendances_by_source", "attendances_by_month"]


def rsvps(count, event=1, start=0, **fields):
    return [attended(start + number, event, **fields) for number in range(count)]


# -------------------------------------------------------------------------------------- what is counted

STATUSES = [
    *rsvps(3, 1, status="accepted"),
    *rsvps(2, 1, 10, **CAME),
    *rsvps(1, 1, 20, status="declined"),
    *rsvps(1, 1, 21, status="tentative"),
    *rsvps(1, 1, 22),
]


def test_what_was_not_accepted_and_what_is_of_an_event_that_does_not_count_is_no_rsvp():
    of_events = [*rsvps(2, 2, 30), *rsvps(1, 3, 40, status="declined")]
    events = [event(1, total_accepted=6), event(2, status="cancelled"), event(3, **{"platform:hidden": True})]
    made = of.report([*events, *STATUSES, *of_events], reports=[*ONLY, "changes"])
    assert made["attendances_by_source"]["rsvps"].tolist() == [6]
    assert made["attendances_by_source"].attrs["caveat"] == ""
    assert made["attendances_by_source"].attrs["note"] == (
        "not counted: 2 attendances of cancelled events, 3 unaccepted attendances; "
        "include= (--include cancelled,unaccepted) counts them"
    )
    archive = of.open([*events, *STATUSES, *of_events])
    counted = of.attendances_by_source(archive.attendances(), actions=archive.actions())
    pd.testing.assert_frame_equal(counted, made["attendances_by_source"])
    included = of.attendances_by_source(archive.attendances(), include=["cancelled", "unaccepted"])
    assert included["rsvps"].tolist() == [11]


def test_each_reason_leaves_attendances_out_unless_it_is_included():
    whole = of.open(STATUSES).attendances().assign(excluded=None).astype({"excluded": "str"})
    for reason in ("gone", "cancelled", "hidden", "test", "unaccepted"):
        frame = whole.assign(excluded=whole["excluded"].where(whole.index > 1, reason))
        assert of.attendances_by_source(frame)["rsvps"].sum() == len(frame) - 2
        assert of.attendances_by_source(frame, include=reason)["rsvps"].sum() == len(frame)
        assert f"--include {reason}" in of.attendances_by_source(frame).attrs["note"]


# ------------------------------------------------------------------------------------------- who came


def test_those_who_attended_are_counted_where_there_are_any(tmp_path):
    source = [*STATUSES, *rsvps(1, 1, 50, **CAME, **{"platform:referrer_data": {"source": "mail"}})]
    made = of.write_report(
        [event(1, total_accepted=7), *source], tmp_path / "out", reports=ONLY, formats=["csv"]
    )
    by_source = made["attendances_by_source"]
    assert by_source[["rsvps", "attended"]].to_numpy().tolist() == [[6, 2], [1, 1]]
    assert by_source["attended_share"].tolist() == [2 / 6, 1.0]
    assert made["attendances_by_month"][["attended", "people"]].to_numpy().tolist() == [[3, 7]]
    written = pd.read_csv(tmp_path / "out" / "attendances_by_source.csv")
    assert written["attended"].tolist() == [2, 1]
    assert made.summary["attended"] == 3
    assert str(made).splitlines()[-1] == "attended: 3 of 7 RSVPs of events with check-ins (42.9%)"
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert (
        '<dt>Attended</dt><dd class="figure">3</dd><dd>42.9% of 7 RSVPs of events with check-ins</dd>' in html
    )
    section = html.split('id="attendances_by_source"')[1].split("</section>")[0]
    total = section.split("data-total")[1]
    assert re.findall("<t[dh][^>]*>(?:<bdi>)?([^<]*)", total)[:5] == ["Total", "7", "3", "7", "42.9%"]
    axes = of.plots.attendances_by_source(by_source, ax=Figure().subplots())
    assert [text.get_text() for text in axes.texts] == ["6 · 2 attended", "1 · 1 attended"]
    assert "those who attended" in axes.get_xlabel()


def test_the_rate_of_those_who_came_is_of_the_events_at_which_anybody_did():
    of_next = {"created_date": "2026-06-01T10:00:00Z"}
    came, ahead = rsvps(1, 1, **CAME) + rsvps(2, 1, 10), rsvps(4, 2, 20, **of_next)
    made = of.report([event(1), event(2), *came, *ahead], reports=ONLY)
    by_month = made["attendances_by_month"]
    assert by_month[["rsvps", "attended", "attended_of"]].to_numpy().tolist() == [[3, 1, 3], [4, 0, 0]]
    assert by_month["attended_share"].fillna(-1).tolist() == [1 / 3, -1]
    assert made["attendances_by_source"]["attended_share"].tolist() == [1 / 3]
    assert str(made).splitlines()[-1] == "attended: 1 of 3 RSVPs of events with check-ins (33.3%)"
    frame = of.open([*came, *ahead]).attendances()
    unknown = frame.assign(event_id=None)
    assert of.attendances_by_source(unknown)[["attended", "attended_of"]].to_numpy().tolist() == [[1, 1]]
    without = of.attendances_by_source(frame.drop(columns="event_id"))
    assert without["attended_of"].tolist() == without["rsvps"].tolist() == [7]
    assert without["attended_share"].tolist() == [1 / 7]


def test_where_nobody_attended_nothing_says_so():
    made = of.report([event(1, total_accepted=3), *rsvps(3)], reports=ONLY)
    assert not {"attended", "attended_share"} & {
        *made["attendances_by_source"],
        *made["attendances_by_month"],
    }
    assert "attended" not in made.summary
    assert str(made).splitlines() == ["1 event with 3 RSVPs; 0 signatures of 0 people"]
    empty = of.attendances_by_source(of.open([]).attendances())
    assert list(empty) == ["rsvps", "people", "share", "first", "last"]


def test_months_without_rsvps_have_no_rate():
    days = ["2026-03-01T10:00:00Z", "2026-05-01T10:00:00Z"]
    frame = of.open([attended(n, created_date=day, **CAME) for n, day in enumerate(days)]).attendances()
    made = of.attendances_over_time(frame, freq="MS")
    assert made["attended"].tolist() == [1, 0, 1]
    assert made["attended_share"].isna().tolist() == [False, True, False]


def test_small_counts_of_those_who_attended_are_in_no_output(tmp_path):
    source = [event(1, total_accepted=30), *rsvps(24), *rsvps(6, 1, 30, **CAME)]
    made = of.write_report(source, tmp_path / "out", reports=ONLY, formats=(), min_count=5)
    frames = [frame for name, frame in made.items() if name.startswith(("rsvps_by_s", "attendances"))]
    assert all(not {"attended", "attended_of", "attended_share"} & {*frame} for frame in frames)
    assert made.summary["attended"] is None
    assert "Attended, Attended of, Attended share" in str(made)
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Attended</dt>" not in html
    alone = of.attendances_by_source(of.open(source).attendances())
    assert list(of.reports.suppress(alone)) == ["rsvps", "share"]


# -------------------------------------------------------------------------------------- one number

KNOWN = [event(1, total_accepted=3), event(2, total_accepted=2), event(3, total_accepted=0)]
TOTALS = "5 RSVPs by the service's totals; "
COMPARED = {
    "all of them": (rsvps(3) + rsvps(2, 2, 10), ""),
    "no attendances": ([], ""),
    "some of them": (rsvps(2) + rsvps(1, 2, 10), f"{TOTALS}3 of them are in this archive as attendances."),
    "one": (rsvps(1), f"{TOTALS}1 of them is in this archive as an attendance, from 1 of 2 events."),
    "those of some events": (
        rsvps(3),
        f"{TOTALS}3 of them are in this archive as attendances, from 1 of 2 events.",
    ),
    "more than the total": (
        rsvps(4) + rsvps(2, 2, 10),
        (
            f"{TOTALS}all of them are in this archive as attendances; "
            "it also has 1 attendance that the totals do not count."
        ),
    ),
    "as many, but others": (
        rsvps(4) + rsvps(1, 2, 10),
        (
            f"{TOTALS}4 of them are in this archive as attendances; "
            "it also has 1 attendance that the totals do not count."
        ),
    ),
    "others": (
        rsvps(1, 3) + rsvps(2, 9, 10),
        (
            f"{TOTALS}none of them is in this archive as an attendance; "
            "this archive has 1 attendance that the totals do not count and 2 attendances of events that it lacks."
        ),
    ),
}


@pytest.mark.parametrize("case", COMPARED)
def test_one_line_compares_the_totals_of_the_service_with_the_attendances(case):
    attendances, line = COMPARED[case]
    headline, *lines = str(of.report([*KNOWN, *attendances], reports=ONLY)).splitlines()
    assert headline == "3 events with 5 RSVPs; 0 signatures of 0 people"
    assert lines == [line] * bool(line)


def test_the_page_has_the_line_that_compares_totals(tmp_path):
    attendances, line = COMPARED["others"]
    of.write_report([*KNOWN, *attendances], tmp_path / "out", reports=ONLY, formats=())
    html = (tmp_path / "out" / "report.html").read_text("utf-8").replace("&#39;", "'")
    assert html.count("by the service's totals") == 1
    assert f"<p><bdi>{line}</bdi></p>" in html


def test_without_totals_the_line_names_the_attendances_alone():
    made = of.report([event(3, total_accepted=0), attended(1, 3), *rsvps(2, 9, 10)], reports=ONLY)
    assert str(made).splitlines()[1] == (
        "0 RSVPs by the service's totals; this archive has 1 attendance that the totals do not count "
        "and 2 attendances of events that it lacks."
    )


def test_the_number_of_rsvps_is_the_same_on_terminal_page_json_files_and_frames(tmp_path):
    source, number = [*KNOWN, *rsvps(3), *rsvps(2, 2, 10)], 5
    (tmp_path / "in.json").write_text(json.dumps(source))
    printed = run("report", tmp_path / "in.json", "--out", tmp_path / "out", "--json")
    assert json.loads(printed.stdout)["summary"]["rsvps"] == number
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert f'<dt>RSVPs</dt><dd class="figure">{number}</dd>' in html
    assert "by the service" not in html
    assert not (tmp_path / "out" / "rsvps_by_pull.csv").exists()  # attendances say when the RSVPs were
    by = ["rsvps_by_campaign", "rsvps_by_region", "rsvps_by_month", "attendances_by_source"]
    for name in [*by, "attendances_by_referrer", "attendances_by_month"]:
        assert pd.read_csv(tmp_path / "out" / f"{name}.csv")["rsvps"].sum() == number, name
    archive = of.open(source)
    events, attendances = archive.events(), archive.attendances()
    assert of.rsvps_by(events, "status")["rsvps"].sum() == number
    assert of.attendances_by(attendances, "status")["rsvps"].sum() == number
    assert events.total_accepted[events.excluded.isna()].sum() == number == attendances.excluded.isna().sum()


def test_reports_of_attendances_say_so_in_their_heading():
    headings = {report.heading for report in REPORTS if report.table == "attendances"}
    assert all(heading.startswith("Attendances") for heading in headings)
    assert not any("ttendances" in report.heading for report in REPORTS if report.table != "attendances")


def test_a_period_is_about_another_date_of_each_table_and_the_line_says_which(tmp_path):
    source = [*KNOWN, *rsvps(3), *rsvps(1, 2, 10, created_date="2026-07-01T10:00:00Z")]
    (tmp_path / "in.json").write_text(json.dumps(source))
    said = run("report", tmp_path / "in.json", "--until", "2026-06", "--all").stdout.replace("\n  ", " ")
    lines = said.splitlines()
    assert lines[1:3] == [
        "only: until 2026-06 (events by start_date, attendances and signatures by created_date)",
        "5 RSVPs by the service's totals, of events by start_date; 3 attendances in this archive, by created_date.",
    ]


# ---------------------------------------------------------------------------- attendances without events


def test_an_archive_of_attendances_alone_is_headlined_by_them(tmp_path, recwarn):
    made = of.write_report([*rsvps(3), *rsvps(1, 2, 10, **CAME)], tmp_path / "out", formats=())
    assert not recwarn.list
    assert str(made).splitlines() == [
        "4 RSVPs of 4 people",
        "attended: 1 of 1 RSVP of events with check-ins (100.0%)",
    ]
    assert made.summary == {
        "events": 0,
        "rsvps": 4,
        "attendances": 4,
        "attended": 1,
        "rsvp_people": 4,
        "signatures": 0,
        "people": 0,
    }
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    cards = re.findall(r'<dt>(\w+)</dt><dd class="figure">(.*?)</dd>', html)
    assert cards == [
        ("RSVPs", "4"),
        ("People", "4"),
        ("Attended", "1"),
    ]  # a period would repeat the dates of the RSVPs
    assert "<dd>The attendances in the archive, in which no event is counted.</dd>" in html


def test_attendances_and_signatures_without_events_are_both_in_the_headline():
    signed = [{"osdi:signature": {"created_date": "2026-05-04T10:00:00Z"}, "idempotency_key": "s"}]
    assert str(of.report([*rsvps(2), signed], reports=ONLY)) == "2 RSVPs of 2 people; 1 signature of 0 people"


def test_attendances_of_events_that_do_not_count_are_no_headline():
    with pytest.warns(of.errors.SourceWarning, match="no event and no signature"):
        made = of.report([event(1, status="cancelled"), *rsvps(2)], reports=ONLY)
    assert made.summary["rsvps"] == 0


# -------------------------------------------------------------------------------------- small counts


@pytest.mark.parametrize("count", [3, 28, 29])
def test_how_few_rsvps_are_attendances_or_not_is_not_published(count):
    source = [event(1, total_accepted=20), event(2, total_accepted=10)]
    attendances = [*rsvps(min(count, 20)), *rsvps(count - 20, 2, 50)]
    made = of.report([*source, *attendances], reports=ONLY, min_count=5)
    assert str(made).splitlines()[1] == (
        "RSVPs are the service's totals; the attendances in this archive are not the same."
    )
    assert (made.summary["rsvps"], made.summary["attendances"], made.summary["rsvp_people"]) == (
        30,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("source", "headline"),
    [
        (rsvps(3), "few RSVPs"),
        (rsvps(9), "5 RSVPs of 5 people"),
        ([attended(n, _links={"osdi:person": {"href": f"people/{n % 7}"}}) for n in range(9)], "5 RSVPs"),
    ],
    ids=["few", "many", "few who RSVPed twice"],
)
def test_small_counts_are_not_in_a_headline_of_attendances(source, headline, tmp_path):
    made = of.write_report(source, tmp_path / "out", reports=ONLY, formats=(), min_count=5)
    assert str(made).splitlines()[0] == headline
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert ("People</dt>" in html.split('id="events"')[0]) == headline.endswith("people")
    assert "2026" not in html.split('id="headline"')[1].split("</section>")[0]
