"""A filter keeps the rows that a join of the unfiltered tables keeps, whatever else is read, and however."""

import json
import warnings
from datetime import timedelta

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames.errors import InvalidArgument, SourceWarning, UnknownValue
from osdi_frames.tables import TABLES

SERVICE = "https://service.example/api/v2"
EVERY = [*TABLES]
#: Tables of which the archives made by chance have rows.
WITH_ROWS = [
    *("events", "event_reminders", "event_identifiers", "event_campaigns", "attendances", "petitions"),
    *("signatures", "signature_tags", "signature_emails", "forms", "submissions"),
    *("uploads", "upload_tags", "people", "taggings", "actions", "supporters"),
]


def with_children(*names):
    """Return main tables with those of their entries."""
    return [name for name in EVERY if any(TABLES[name].element == TABLES[main].element for main in names)]


OF_PEOPLE = ["taggings", "uploads"]
OF_ACTIONS = ["actions", "supporters", "supporter_amounts"]
ACTED = ["people", *OF_PEOPLE, *OF_ACTIONS]
#: The tables that each filter leads to; a period leads to all.
LED_TO = {
    "campaign": with_children("event_campaigns", "events", "attendances", *ACTED),
    "status": with_children("events", "attendances", *ACTED),
    "petition": with_children("petitions", "signatures", *ACTED),
}
ACTS = ["attendances", "signatures", "submissions", "donations", "outreaches", "responses"]
DATES = {"events": "start_date", **dict.fromkeys([*ACTS, *OF_PEOPLE], "created_date"), "actions": "date"}
OF_EVENTS = ["hosted", "rsvped", "attended"]


def led_to(filters, tables=EVERY):
    """Return those of some tables that all filters lead to, in order."""
    return [name for name in tables if all(name in LED_TO.get(by, EVERY) for by in filters)]


def joined(tables, filters):
    """Filter unfiltered tables as an analyst does: by columns, by joins, and by dates at last."""
    if not filters:
        return tables
    kept = {name: tables[name] for name in led_to(filters, tables)}
    actions = kept["actions"]
    for by, column in {"campaign": "event_campaign_id", "status": "status"}.items():
        if by in filters:
            kept["events"] = among(kept["events"], column, filters[by])
            if "event_campaigns" in kept:
                kept["event_campaigns"] = among(kept["event_campaigns"], column, filters[by])
            ids = kept["events"]["event_id"].dropna()
            kept["attendances"] = among(kept["attendances"], "event_id", ids)
            actions = among(actions[actions["action"].isin(OF_EVENTS)], "subject_id", ids)
    if "petition" in filters:
        for name in ("petitions", "signatures"):
            kept[name] = among(kept[name], "petition_id", filters["petition"])
        actions = among(actions[actions["action"] == "signed"], "subject_id", filters["petition"])
    kept["actions"] = actions
    for name in DATES.keys() & kept.keys():
        kept[name] = in_period(kept[name], DATES[name], filters)
    kept["people"] = among(kept["people"], "person_id", kept["actions"]["person_id"].dropna())
    if filters.keys() - {"since", "until"}:
        for name in OF_PEOPLE:
            kept[name] = among(kept[name], "person_id", kept["actions"]["person_id"].dropna())
    if "supporters" in kept:
        kept["supporters"] = of.supporters(kept["actions"], kept["people"])
    if "supporter_amounts" in kept:
        kept["supporter_amounts"] = of.supporter_amounts(kept["actions"])
    for name in kept:
        main = next((of for of in kept if TABLES[of].element == TABLES[name].element), name)
        if main != name:
            keys = [column.name for column in TABLES[name].keys]
            kept[name] = kept[name][rows(kept[name], keys).isin(rows(kept[main], keys))]
    return {name: frame.reset_index(drop=True) for name, frame in kept.items()}


def among(frame, column, values):
    return frame[frame[column].isin([*values])]


def rows(frame, columns):
    texts = zip(*(frame[name].astype("str").fillna("") for name in columns), strict=True)
    return pd.Series([" ".join(row) for row in texts], index=frame.index, dtype="str")


def in_period(frame, column, filters):
    zone = frame[column].dt.tz
    for by, sign in (("since", 1), ("until", -1)):
        if by in filters:
            bound = pd.Timestamp(filters[by], tz=zone) + timedelta(days=by == "until")
            frame = frame[frame[column] >= bound if sign > 0 else frame[column] < bound]
    return frame


def check(archive, filters, names, expected):
    """Compare tables that are read in one pass with the join of the unfiltered ones."""
    with warnings.catch_warnings(action="ignore", category=SourceWarning):  # nothing was found of a type
        found = archive.where(**filters).tables(names)
    for name in names:
        assert_frame_equal(found[name], expected[name], obj=f"{name} of {filters}")


# ----------------------------------------------------------------------------------- archives by chance


def resource(kind, number, /, **fields):
    return {"identifiers": [f"platform:{kind}{number}"], "title": f"{kind} {number}", **fields}


def day(number):
    return number and f"2026-05-{number:02}T10:00:00Z"


def linked(**ids):
    plurals = {"person": "people"}
    return {
        f"osdi:{kind}": {"href": f"{SERVICE}/{plurals.get(kind, f'{kind}s')}/{own}"}
        for kind, own in ids.items()
        if own
    }


def act(kind, number, created, links, **fields):
    known = {
        "identifiers": [f"platform:{kind}{number}"],
        "created_date": day(created),
        "_links": linked(**links),
    }
    return [{f"osdi:{kind}": known | fields, "idempotency_key": f"{kind}{number}"}]


DAYS = st.one_of(st.none(), st.integers(1, 9))
PEOPLE = st.sampled_from([None, "person0", "person1", "person2", "person3"])
STATUSES = st.sampled_from([None, "confirmed", "tentative", "cancelled"])


@st.composite
def archives(draw):
    """Return documents of events with versions, acts, taggings, people, and what they refer to, in any order."""

    def several(least, most, *values):
        return enumerate(draw(st.lists(st.tuples(*values), min_size=least, max_size=most)))

    found = []
    campaigns = st.sampled_from([None, "c", "d"])
    for number, (campaign, status, start, host, moves) in several(
        1, 4, campaigns, STATUSES, DAYS, PEOPLE, campaigns
    ):
        for version, of_campaign in enumerate([campaign, moves] if moves else [campaign]):
            event = resource("event", number, start_date=day(start), status=status, total_accepted=1)
            event |= {"platform:event_campaign_id": of_campaign, "reminders": [{"minutes": number}]}
            event |= {"created_date": day(2), "modified_date": day(2 + version)}
            found.append(
                event | {"_links": {"osdi:creator": linked(person=host).get("osdi:person")} if host else {}}
            )
    events = st.sampled_from([None, "event0", "event1", "event2", "event9"])
    came = st.sampled_from([None, "accepted", "attended", "declined"])
    for number, (event, person, created, status) in several(1, 6, events, PEOPLE, DAYS, came):
        found.append(act("attendance", number, created, {"event": event, "person": person}, status=status))
    petitions = st.sampled_from([None, "p", "q"])
    for number, (petition, person, created) in several(1, 5, petitions, PEOPLE, DAYS):
        links, person_of = {"petition": petition, "person": person}, {"given_name": f"Name {number}"}
        person_of["email_addresses"] = [{"address": f"{number % 2}@x.example"}]
        found.append(act("signature", number, created, links, add_tags=[f"t{number}"], person=person_of))
    for number, (person, created) in several(0, 2, PEOPLE, DAYS):
        found.append(act("submission", number, created, {"form": "f", "person": person}))
    for number, (person, created) in several(0, 3, PEOPLE, DAYS):
        upload = {"created_date": day(created), "_links": linked(person=person), "add_tags": [f"u{number}"]}
        upload["identifiers"] = [f"platform:upload{number}"]
        found.append([{"action_network:upload": upload, "idempotency_key": f"u{number}"}])
    taggings = [
        resource("tagging", number, created_date=day(created), _links=linked(tag="t", person=person))
        for number, (person, created) in several(0, 3, PEOPLE, DAYS)
    ]
    people = [
        resource("person", number, created_date=day(created)) for number, (created,) in several(0, 4, DAYS)
    ]
    named = {
        "osdi:petitions": [{"identifiers": [f"platform:{own}"], "title": own} for own in "pqz"],
        "action_network:event_campaigns": [
            {"identifiers": [f"platform:{own}"], "title": own} for own in "cdx"
        ],
        "osdi:taggings": taggings,
        "osdi:people": people,
    }
    found += [{"_embedded": {collection: some}} for collection, some in named.items() if some]
    return draw(st.permutations(found))


SINCE, UNTIL = (
    st.integers(1, 5).map(lambda n: f"2026-05-0{n}"),
    st.integers(5, 9).map(lambda n: f"2026-05-0{n}"),
)
PERIOD = st.fixed_dictionaries({}, optional={"since": SINCE, "until": UNTIL})
SOME = {
    "campaign": st.sampled_from([["c"], ["d"], ["c", "d"], ["x"]]),
    "status": st.sampled_from([["tentative"], ["confirmed", "cancelled"]]),
    "petition": st.sampled_from([["p"], ["p", "q"], ["z"]]),
}
OF_ONE = st.fixed_dictionaries({}, optional={name: SOME[name] for name in ("campaign", "status")})
FILTERED = st.builds(
    lambda period, one: period | one,
    PERIOD,
    st.one_of(OF_ONE, st.fixed_dictionaries({"petition": SOME["petition"]})),
)


@given(documents=archives(), filters=FILTERED, data=st.data())
@settings(max_examples=8, phases=[Phase.generate])  # to shrink a failure takes minutes
def test_a_filtered_table_is_the_join_of_the_unfiltered_ones_whatever_else_is_read(documents, filters, data):
    archive = of.open(documents)
    expected, names = joined(archive.tables(WITH_ROWS), filters), led_to(filters, WITH_ROWS)
    some = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    acts = [[name] for name in ("attendances", "signatures", "people", "taggings") if name in names]
    check(archive, filters, data.draw(st.one_of(st.just(names), some, st.sampled_from(acts))), expected)


@pytest.mark.long
@given(documents=archives(), filters=FILTERED)
@settings(max_examples=300)
def test_every_table_alone_is_the_join_of_the_unfiltered_ones(documents, filters):
    archive = of.open(documents)
    expected = joined(archive.tables(), filters)
    for name in led_to(filters):
        check(archive, filters, [name], expected)


# ------------------------------------------------------------------------------------------ one by one

EVENTS = [
    resource("event", number, start_date=day(number), **{"platform:event_campaign_id": campaign})
    for number, campaign in enumerate(["c", "c", "d"], start=1)
]
CAME = [
    act("attendance", number, created, {"event": event, "person": f"person{number}"})
    for number, (event, created) in enumerate(
        [("event1", 5), ("event2", 6), ("event3", 5), ("event9", 5), (None, 5)]
    )
]
SIGNED = [act("signature", 0, 1, {"petition": "p", "person": "person0"})]
CAMPAIGNS = {
    "_embedded": {
        "action_network:event_campaigns": [
            {"identifiers": [f"platform:{own}"], "title": f"Campaign {own}"} for own in "cx"
        ]
    }
}
DOCUMENTS = [CAMPAIGNS, *CAME, *EVENTS, *SIGNED]


def test_an_attendance_belongs_to_a_campaign_whose_event_is_read_later_in_the_same_pass():
    archive = of.open(DOCUMENTS).where(campaign="c")
    assert archive.attendances(["event_id"])["event_id"].tolist() == ["event1", "event2"]
    assert sorted(archive.people(["person_id"])["person_id"]) == ["person0", "person1"]
    assert archive.scan("attendances", ["person_id"]).read_all()["person_id"].to_pylist() == [
        "person0",
        "person1",
    ]


def test_what_is_left_out_counts_for_numbers_and_firsts():
    actions = (
        of.open(DOCUMENTS)
        .where(campaign="c", since="2026-05-05")
        .actions(["person_id", "number", "is_first"])
    )
    assert actions.to_numpy().tolist() == [["person0", 2, False], ["person1", 1, True]]


def test_a_period_holds_for_each_table_by_its_own_date_and_keeps_what_others_refer_to():
    tables = of.open(DOCUMENTS).where(since="2026-05-03").tables(["events", "attendances", "event_campaigns"])
    assert tables["events"]["event_id"].tolist() == ["event3"]
    assert tables["attendances"]["event_id"].fillna("").tolist() == [
        "event1",
        "event2",
        "event3",
        "event9",
        "",
    ]
    assert tables["event_campaigns"]["event_campaign_id"].tolist() == ["c", "x"]


def test_a_campaign_without_events_has_no_attendances_and_one_that_occurs_nowhere_is_an_error():
    archive = of.open(DOCUMENTS)
    for name in ("events", "attendances", "people", "actions"):
        assert archive.where(campaign="x").table(name).empty
        with pytest.raises(
            UnknownValue, match=r"no campaign is 'y'; there are: c \(Campaign c\), d, x \(Campaign x\)"
        ):
            archive.where(campaign="y").table(name)


def test_a_table_that_a_filter_does_not_lead_to_is_refused_by_name_and_left_out_otherwise():
    archive = of.open(DOCUMENTS).where(campaign="c")
    for read in (
        archive.signatures,
        archive.petitions,
        lambda: archive.scan("tags"),
        lambda: archive.dask("forms"),
    ):
        with pytest.raises(InvalidArgument, match=r"by campaign does not lead to \w+; it leads to events, "):
            read()
    with pytest.warns(
        SourceWarning, match=r"left out: petitions, signatures, .*by campaign does not lead to them"
    ):
        assert [*archive.tables()] == led_to({"campaign"})
    with pytest.raises(InvalidArgument, match="by petition and campaign leads to no table: ask"):
        archive.where(petition="p")


def test_titles_in_a_report_are_not_filtered():
    for filters in ({"status": "tentative"}, {"since": "2026-05-03"}):
        events = [{**event, "status": "tentative"} for event in EVENTS]
        made = of.report([CAMPAIGNS, *events], **filters, reports=["rsvps_by_campaign"])["rsvps_by_campaign"]
        assert made["title"].to_dict().get("c", "Campaign c") == "Campaign c"
        assert made["title"].isna().to_dict()["d"]


def test_a_report_counts_the_people_without_an_id_who_acted_in_its_part():
    signed = [
        act(
            "signature",
            number,
            1,
            {"petition": petition},
            person={"email_addresses": [{"address": f"{who}@x.example"}]},
        )
        for number, (petition, who) in enumerate(["pa", "pa", "pb", "qc"])
    ]
    assert (
        "2 people without an id, known by the e-mail address alone" in of.report(signed, petition="p").notes
    )


def test_statuses_are_those_of_events_in_any_spelling():
    events = [
        resource("event", number, status=status, total_accepted=1)
        for number, status in enumerate(["Confirmed", "tentative"])
    ]
    archive = of.open([*events, act("attendance", 1, 2, {"event": "event0"}, status="tentative")])
    assert archive.where(status="confirmed").events()["event_id"].tolist() == ["event0"]
    assert archive.where(status="CONFIRMED").attendances()["status"].tolist() == ["tentative"]


def test_without_deduplication_any_version_of_an_event_decides():
    moved = {**EVENTS[2], "platform:event_campaign_id": "c", "modified_date": day(9)}
    archive = of.open([*CAME, *EVENTS, moved]).where(campaign="d")
    assert archive.attendances(["event_id"], dedupe=False)["event_id"].tolist() == ["event3"]
    assert archive.attendances(["event_id"], dedupe="message")["event_id"].tolist() == ["event3"]
    assert archive.events(["event_id"], dedupe=False)["event_id"].tolist() == ["event3"]
    assert archive.attendances(["event_id"]).empty
    for name in ("people", "taggings", "actions", "supporters"):
        with pytest.raises(InvalidArgument, match=r"(by|of) resolved acts"):
            archive.table(name, dedupe=False)


def test_a_partition_has_no_rows_that_are_kept_by_those_of_others(tmp_path):
    for number, document in enumerate(DOCUMENTS):
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    parts = of.open(tmp_path).where(campaign="c").partitions(count=3)
    with warnings.catch_warnings(action="ignore", category=SourceWarning):
        assert sum(len(part.events()) for part in parts) == 2
    for name in ("attendances", "people", "actions", "supporters"):
        with pytest.raises(InvalidArgument, match=f"keeps {name} by rows that other partitions can have"):
            parts[0].table(name)
    assert "attendances" not in {*parts[1].contents.types.get("table", [])}


def test_filters_of_the_sample_are_joins_of_its_tables(little_of_all, tmp_path):
    every = of.open(little_of_all).tables()
    campaign = every["events"]["event_campaign_id"].value_counts().index[:1]
    petition = every["signatures"]["petition_id"].value_counts().index[:1]
    by_campaign, by_petition = {"campaign": campaign}, {"petition": petition, "since": "2025-06-01"}
    for filters, store in (by_campaign, None), (by_petition, tmp_path / "store"):
        expected = joined(every, filters)
        assert len(expected["people"])
        check(of.open(little_of_all, store=store), filters, led_to(filters), expected)
