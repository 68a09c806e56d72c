"""What is sent: in the names of the version, only what counts there, times as the contract has them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osdi_frames import sandbox
from osdi_frames.client.writing import EVENT_FIELDS, Writer
from osdi_frames.errors import InvalidField, ServiceWarning, UnknownColumn
from osdi_frames.tables.fields import LOCATION_FIELDS

from .conftest import Stocked

V2, V1 = Writer("v2", ("platform", "action_network")), Writer("v1", ("platform", "action_network"))
AT = datetime(2026, 5, 1, 18, 30)  # noqa: DTZ001 (a wall clock)

NAMES = {
    "identifiers": "identifiers",
    "title": "summary",
    "origin_system": "originating_system",
    "description": "description",
    "instructions": "platform:event_instructions",
    "start_date": "start",
}
VALUES: dict[str, Any] = {
    "identifiers": ["desk:1"],
    "title": "Picnic",
    "origin_system": "Desk",
    "description": "<b>x</b>",
    "instructions": "Bring a hat",
    "start_date": AT,
}
ON_WIRE = VALUES | {"start_date": "2026-05-01T18:30:00Z"}


def new_event(event: dict[str, Any], *, names: Writer, strict: bool) -> dict[str, Any]:
    return replace(names, strict=strict, is_new=True).event(event)


def changes(changed: dict[str, Any], *, names: Writer, strict: bool) -> dict[str, Any]:
    return replace(names, strict=strict).event(changed)


def test_either_versions_names_are_taken_and_those_of_the_service_sent():
    place = {"location": {"postal_code": "94607"}}
    renamed = {NAMES[name]: value for name, value in VALUES.items()}
    sent = {V2: ON_WIRE | place, V1: {NAMES[name]: value for name, value in ON_WIRE.items()} | place}
    for names, expected in sent.items():
        for event in (VALUES | place, renamed | place):
            assert new_event(event, names=names, strict=True) == expected
    # A prefix is taken in any spelling, and sent in the service's own.
    instructions = changes({"action_network:event_instructions": "x"}, names=V1, strict=True)
    assert instructions == {"platform:event_instructions": "x"}


def test_a_field_that_the_service_would_ignore_is_refused_by_name_or_left_out():
    for field in (
        *(
            "created_date",
            "modified_at",
            "total_accepted",
            "status",
            "platform:event_campaign_id",
            "capacity",
        ),
        *("action_network:sponsor", "guestsCanInviteOthers", "reminders", "visibility", "featured_image_url"),
    ):
        with pytest.raises(InvalidField, match=field):
            changes({"title": "A", field: 7}, names=V2, strict=True)
        assert changes({"title": "A", field: 7}, names=V2, strict=False) == {"title": "A"}
    for field in ("name", "end_date", "browser_url", "url"):  # v1 lacks or ignores these
        value = {field: AT if field == "end_date" else "x"}
        with pytest.raises(InvalidField, match=field):
            changes(value, names=V1, strict=True)
        changes(value, names=V2, strict=True)
    with pytest.raises(InvalidField, match=r"'descripton'; nearest: description"):
        changes({"descripton": "x"}, names=V2, strict=True)


def test_a_part_of_the_location_that_the_service_would_ignore_is_refused():
    for location in (
        {"language": "en"},
        {"location": {"latitude": 1.0}},
        {"zip": "1"},
        {"address_lines": ["a", "b"]},
    ):
        with pytest.raises(InvalidField, match=r"location\."):
            changes({"location": location}, names=V2, strict=True)
        sent = changes({"location": location | {"venue": "Hall"}}, names=V2, strict=False)
        assert sent["location"].pop("venue") == "Hall"
        assert sent["location"] in ({}, {"address_lines": ["a"]})


def test_required_fields_are_named_before_anything_is_sent():
    with pytest.raises(InvalidField, match=r"origin_system, title$"):
        new_event({"description": "x"}, names=V2, strict=True)
    with pytest.raises(InvalidField, match=r"originating_system, summary$"):
        new_event({"title": " "}, names=V1, strict=True)
    with pytest.raises(InvalidField, match="missing or empty: title"):
        changes({"title": None}, names=V2, strict=True)
    with pytest.raises(InvalidField, match="nothing to change"):
        changes({}, names=V2, strict=True)


def test_times_are_written_as_wall_clock_and_refused_with_a_zone():
    for moment in (AT, pd.Timestamp(AT), "2026-05-01T18:30:00", "2026-05-01T18:30:00Z", "2026-05-01 18:30"):
        assert changes({"end_date": moment}, names=V2, strict=True) == {"end_date": "2026-05-01T18:30:00Z"}
    zoned = [AT.replace(tzinfo=zone) for zone in (UTC, timezone(timedelta(hours=2)))]
    for moment in (*zoned, "2026-05-01T18:30:00-07:00", pd.Timestamp(AT, tz="America/New_York")):
        with pytest.raises(InvalidField, match="start is the wall clock at the place of the event"):
            changes({"start": moment}, names=V2, strict=True)


def test_a_value_that_a_field_cannot_hold_is_refused_by_name():
    blanks = [
        " ",
        ":",
        " : ",
        "desk:",
        "desk: ",
        "desk:\t\n",
        ":1",
        " :1",
        "\u00a0:1",
        "desk:\u200b\u2060",
        "x",
    ]
    for field, values in {
        "start_date": ["tomorrow", date(2026, 5, 1), pd.NaT, 1777660200, AT.replace(microsecond=5), None],
        "end_date": [None],
        "title": [7, float("nan"), "half \ud800"],
        "identifiers": ["desk:1", [7], None, *(["desk:0", blank] for blank in blanks)],
        "location": [
            *("Oakland", None, {}, {"locality": 7}, {"country": "Germany"}, {"country": ""}),
            *({"address_lines": None}, {"country": None}),
        ],
    }.items():
        for value in values:
            with pytest.raises(InvalidField, match=field):
                changes({field: value}, names=V2, strict=True)
    for identifier in ("my system:1", "my system:a b", "a:b:c"):
        changes({"identifiers": [identifier]}, names=V2, strict=True)


def test_one_field_under_two_names_must_say_the_same():
    assert changes({"title": "A", "summary": "A"}, names=V2, strict=True) == {"title": "A"}
    with pytest.raises(InvalidField, match="contradicts"):
        changes({"title": "A", "summary": "B"}, names=V2, strict=True)


def test_the_creator_can_be_set_and_other_links_cannot():
    event = {"title": "A", "origin_system": "B"}
    link = {"osdi:creator": {"href": "https://example.org/api/v2/people/1"}}
    assert new_event(event | {"_links": link}, names=V2, strict=True)["_links"] == link
    with pytest.raises(InvalidField, match="osdi:organizer"):
        new_event(event | {"_links": {"osdi:organizer": {}}}, names=V2, strict=True)
    with pytest.raises(InvalidField, match="people"):
        new_event(event | {"_links": {"osdi:creator": "1"}}, names=V2, strict=True)
    with pytest.raises(InvalidField, match="_links"):
        changes({"_links": link}, names=V2, strict=True)


def test_what_a_new_event_does_not_have_is_left_out():
    event = {"title": "A", "origin_system": "B", "description": None, "start_date": None, "location": None}
    assert new_event(event, names=V2, strict=True) == {"title": "A", "origin_system": "B"}


def test_every_field_is_declared_once():
    for fields in (EVENT_FIELDS, LOCATION_FIELDS):
        names = [name for field in fields for name in V2.accepted(field)]
        assert len(names) == len(set(names))


# -- against the service --


@pytest.fixture(scope="module")
def shared():
    with sandbox.serve() as running, Stocked(running).client() as client:
        yield Stocked(running), client


@pytest.fixture
def one_event(shared):
    served, client = shared
    (event_id,) = served.add(1, start_date="2026-05-01T18:30:00Z", location={"venue": "Hall"})
    served.forget()
    return served, client, event_id


def test_an_event_as_it_was_read_can_be_sent_back_when_not_strict(one_event):
    _, client, event_id = one_event
    body = client._transport.send("GET", f"{client.base_url}/events/{event_id}").body
    with pytest.raises(InvalidField):
        client.update_event(event_id, body)
    row = client.update_event(event_id, body | {"title": "Back"}, strict=False)
    assert (row.title[0], row.start_date[0]) == ("Back", pd.Timestamp(AT))


def test_none_empties_a_text_and_what_cannot_be_emptied_is_refused_before_anything_is_sent(one_event):
    served, client, event_id = one_event
    texts = ("description", "name", "instructions", "browser_url")
    client.update_event(event_id, dict.fromkeys(texts, "something"))
    row = client.update_event(event_id, dict.fromkeys(texts) | {"location": {"venue": None}})
    assert all(row[field][0] == "" or pd.isna(row[field][0]) for field in (*texts, "location_venue"))
    served.forget()
    for changed in ({"start_date": None}, {"location": {}}, {"location": {"country": None}}):
        with pytest.raises(InvalidField, match=r"cannot be emptied|is empty"):
            client.update_event(event_id, changed)
    assert not served.asked()


def test_an_unknown_creator_is_refused_before_the_event_is_sent(one_event):
    served, client, _ = one_event
    event = {"title": "A", "origin_system": "B"}
    elsewhere = {"osdi:creator": {"href": "https://elsewhere.example/api/v2/people/sandbox-founder"}}
    for more, creator in (({}, "nobody"), ({}, "platform:nobody"), ({"_links": elsewhere}, None)):
        with pytest.raises(InvalidField, match="creator is not known"):
            client.create_event(event | more, creator=creator)
    assert {request["method"] for request in served.asked()} == {"GET"}
    assert len(client.create_event(event, creator="nobody", strict=False)) == 1


@pytest.mark.parametrize("speaks", ["v2", "v1"])
def test_a_creator_that_the_service_ignored_is_said(stocked, speaks):
    with stocked() as served, served.client(speaks=speaks) as client:
        event_id = served.add(1)[0]
        person = {"email_addresses": [{"address": "ann@example.org"}]}
        served.running.admin("POST", "attendances", event=event_id, person=person)
        (page,) = client.pages(f"events/{event_id}/attendance{'s' if speaks == 'v2' else ''}")
        ((attendance,),) = page["_embedded"].values()
        other = attendance["_links"]["osdi:person"]["href"].rpartition("/")[2]
        event = {"title": "A", "origin_system": "B"}
        with pytest.warns(ServiceWarning, match=f"ignored the creator '{other}': .* has 'sandbox-founder'"):
            row = client.create_event(event, creator=other)
        assert list(row.creator_id) == ["sandbox-founder"]
        no_person = {"osdi:creator": {"href": f"{client.base_url}/events/{event_id}"}}
        with pytest.warns(ServiceWarning, match="ignored the creator"):
            client.create_event(event | {"_links": no_person})
        # What is allowed to be ignored, and what is not ignored, is not said.
        client.create_event(event, creator=other, strict=False)
        assert list(client.create_event(event, creator="sandbox-founder").creator_id) == ["sandbox-founder"]


# -- rows of a frame --


def test_rows_of_a_frame_are_updated_and_what_is_missing_stays(stocked):
    with stocked() as served, served.client() as client:
        served.add(3, description="stays", location={"venue": "Hall", "locality": "Oakland"})
        before = client.events().sort_values("title", ignore_index=True)
        frame = before[["event_id", "title"]].set_index(pd.Index([10, 20, 30]))
        frame["title"] = ["New", None, "Third"]
        frame["location_venue"] = [None, "Park", None]
        frame["start_date"] = [pd.NaT, pd.Timestamp(AT), pd.NaT]
        served.forget()
        planned = client.update_events(frame, dry_run=True)
        assert not served.asked()
        assert planned.sent.to_dict() == {
            10: '{"title": "New"}',
            20: '{"start_date": "2026-05-01T18:30:00Z", "location": {"venue": "Park"}}',
            30: '{"title": "Third"}',
        }
        assert set(planned.status) == {"not sent"}
        result = client.update_events(frame)
        assert list(result.index) == [10, 20, 30]
        assert list(result.event_id) == list(before.event_id)
        assert set(result.status) == {"updated"}
        assert result.error.isna().all()
        after = served.truth().set_index("event_id").loc[list(before.event_id)]
        assert list(after.title) == ["New", before.title[1], "Third"]
        assert list(after.location_venue) == ["Hall", "Park", "Hall"]
        assert set(after.location_locality) == {"Oakland"}
        assert set(after.description) == {"stays"}


@pytest.mark.parametrize("speaks", ["v2", "v1"])
def test_a_frame_as_it_was_read_goes_back_whole_or_is_created_anew(stocked, speaks):
    fields = {"description": "old", "start_date": "2026-05-01T18:30:00Z", "identifiers": ["desk:1"]}
    with stocked() as served, served.client(speaks=speaks) as client:
        served.add(1, **fields, location={"address_lines": ["1 Elm St"], "postal_code": "94607"})
        served.add(1, browser_url="https://a.example/b", location={"venue": "Hall", "postal_code": "94607"})
        before, events = served.truth(), client.events()
        if speaks == "v1":
            del events["browser_url"]  # which v1 does not let a client set
        result = client.update_events(events)
        assert list(result.status) == ["updated"] * 2, list(result.error)
        same = ["modified_date"]
        pd.testing.assert_frame_equal(served.truth().drop(columns=same), before.drop(columns=same))
        result = client.create_events(events.drop(columns="identifiers"))
        assert list(result.status) == ["created"] * 2, list(result.error)
        copies = served.truth().set_index("event_id").loc[list(result.event_id)]
    for column in ("title", "origin_system", "start_date", "location_address"):
        assert list(copies[column]) == list(events[column])
    assert len({*result.event_id, *events.event_id}) == 4


def test_a_row_with_an_identifier_of_an_earlier_row_s_event_is_refused(one_event):
    served, client, event_id = one_event
    identifiers = [["desk:1"], ["desk:2", "desk:1"], ["platform:9", "desk:3"], ["desk:5"], ["desk:5"]]
    frame = pd.DataFrame(
        {"title": ["A", "B", "C", "", "E"], "origin_system": "Desk", "identifiers": identifiers},
        index=list("abcde"),
    )
    planned = client.create_events(frame, dry_run=True)
    assert not served.asked()
    assert list(planned.status) == ["not sent", "refused", "not sent", "refused", "not sent"]
    assert planned.error["b"] == "the identifier 'desk:1' is that of the row 'a', too; it is unique"
    result = client.create_events(frame)
    assert list(result.status) == ["created", "refused", "created", "refused", "created"]
    assert list(result.error.dropna()) == list(planned.error.dropna())
    assert [request["status"] for request in served.asked()] == [200] * 3
    ids = [event_id, result.event_id["a"], f"platform:{event_id}"]
    again = client.update_events(
        pd.DataFrame({"event_id": ids, "identifiers": [["desk:7"]] * 3}), dry_run=True
    )
    assert list(again.status) == ["not sent", "refused", "not sent"]


def test_a_dry_run_refuses_what_sending_would_refuse_or_the_service(stocked):
    with stocked() as served, served.client(speaks="v1") as client:
        changes = pd.DataFrame(
            {
                "event_id": ["..", " ", None, "platform:", "a", "b"],
                "title": ["A", "B", "C", "D", " ", "F"],
                "location_postal_code": [None, None, None, None, None, "  "],
            }
        )
        planned = client.update_events(changes, dry_run=True)
        assert list(planned.status) == ["refused", "refused", "refused", "not sent", "refused", "refused"]
        for error, what in zip(
            planned.error.dropna(),
            ("is no id", "is no id", "event_id is missing", "summary", "location.postal_code"),
            strict=True,
        ):
            assert what in error
        new = pd.DataFrame(
            {"title": "A", "origin_system": "B", "location_locality": ["Oakland", "Oakland"],
             "location_postal_code": [None, "94607"]}
        )  # fmt: skip
        planned = client.create_events(new, dry_run=True)
        assert list(planned.status) == ["refused", "not sent"]
        assert planned.error[0] == "required, and missing or empty: location.postal_code"
        assert not served.asked()
        assert list(client.create_events(new).status) == ["refused", "created"]
        # Without a location an event needs no postal code, as the sample of the contract shows.
        assert client.create_event({"summary": "A", "originating_system": "B"}).api_version[0] == "v1"


MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 1, 1)) | st.none()  # noqa: DTZ001 (wall clocks)


def rows(*odd: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Make rows in which what is odd can stand, too."""
    texts = st.sampled_from(["", " ", "<b>x</b>", "\u200b", "a\nb", "é" * 300, None, float("nan"), *odd])
    names = ("name", "description", "instructions", "browser_url", "location_locality", "location_venue")
    return st.fixed_dictionaries(
        {name: st.sampled_from(["Picnic", "\u200b", *odd]) for name in ("title", "origin_system")},
        optional={
            **dict.fromkeys((*names, "location_address"), texts),
            "location_postal_code": st.sampled_from(["94607", *odd]),
            "location_country": st.sampled_from(["US", "de", None, *odd]),
            "identifiers": st.lists(st.sampled_from(["desk:{}", "platform:{}", "a b:c:{}", *map(str, odd)])),
            "start_date": MOMENTS,
            "end_date": MOMENTS,
        },
    )


@settings(max_examples=8)
@given(
    rows=st.lists(rows() | rows(" ", "desk: ", "\ud800", 7), min_size=1, max_size=4),
    speaks=st.sampled_from(["v2", "v1"]),
)
def test_what_a_dry_run_does_not_refuse_the_service_takes_as_it_is(shared, rows, speaks):
    served, _ = shared
    for row in rows:
        row.update({"identifiers": [text.format(uuid4()) for text in row.get("identifiers", ())]})
        if speaks == "v1":
            row.update(dict.fromkeys(("name", "end_date", "browser_url")))  # which it does not have
    with served.client(speaks=speaks) as client:
        frame = pd.DataFrame(rows, dtype=object)
        planned = client.create_events(frame, dry_run=True)
        assert set(planned.status) <= {"refused", "not sent"}
        result = client.create_events(frame)
        assert set(result.status) <= {"refused", "created"}, list(result.error)
        assert list(result.error.dropna()) == list(planned.error.dropna())
        truth = served.truth().set_index("event_id")
        for row, (event_id, sent) in zip(rows, result[["event_id", "sent"]].to_numpy(), strict=True):
            if pd.isna(event_id):
                continue
            assert pd.isna(sent) is False
            taken = truth.loc[event_id]
            for column in ("title", "origin_system", "description", "instructions", "start_date"):
                if row.get(column) is not None and not pd.isna(row[column]):
                    assert taken[column] == row[column] or (row[column] == "" and pd.isna(taken[column]))
            assert {text for text in row["identifiers"] if not text.startswith("platform:")} <= {
                *taken.identifiers
            }


def test_one_bad_row_does_not_keep_the_others_from_being_sent(stocked):
    with stocked() as served, served.client() as client:
        ids = served.add(2)
        frame = pd.DataFrame({"event_id": [ids[0], "nobody", None, ids[1]], "title": ["A", "B", "C", ""]})
        result = client.update_events(frame)
        assert list(result.status) == ["updated", "failed", "refused", "refused"]
        assert "answered 404" in result.error[1]
        assert "event_id is missing" in result.error[2]
        assert "required, and missing or empty: title" in result.error[3]
        assert result.event_id[3] == ids[1]


def test_after_a_key_that_is_refused_nothing_more_is_sent(stocked):
    with stocked() as served, served.client(key="nobody's") as client:
        frame = pd.DataFrame({"title": ["A", "B", "C"], "origin_system": "Desk"})
        result = client.create_events(frame)
        assert list(result.status) == ["failed", "not sent", "not sent"]
        assert len(served.asked()) == 1


def test_a_column_that_no_event_has_is_refused_with_the_nearest(stocked):
    with stocked() as served, served.client() as client:
        with pytest.raises(UnknownColumn, match="nearest: title"):
            client.create_events(pd.DataFrame({"titel": ["A"]}))
        with pytest.raises(UnknownColumn, match="event_id"):
            client.update_events(pd.DataFrame({"title": ["A"]}))
        assert not served.asked()
