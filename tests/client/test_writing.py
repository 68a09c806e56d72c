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
from osdi_frames.tables.fields import LOCATION

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


@pytest.mark.parametrize("given", ["v2", "v1"])
@pytest.mark.parametrize("names", [V2, V1], ids=["to v2", "to v1"])
def test_either_versions_names_are_taken_and_those_of_the_service_sent(given, names):
    event = {(name if given == "v2" else NAMES[name]): value for name, value in VALUES.items()}
    sent = new_event(event | {"location": {"postal_code": "94607"}}, names=names, strict=True)
    expected = {(name if names is V2 else NAMES[name]): value for name, value in ON_WIRE.items()}
    assert sent == expected | {"location": {"postal_code": "94607"}}


def test_a_prefix_is_taken_in_any_spelling_and_sent_in_the_services_own():
    sent = changes({"action_network:event_instructions": "x"}, names=V1, strict=True)
    assert sent == {"platform:event_instructions": "x"}


@pytest.mark.parametrize(
    "field",
    ["created_date", "modified_at", "total_accepted", "status", "platform:event_campaign_id", "capacity",
     "action_network:sponsor", "guestsCanInviteOthers", "reminders", "visibility", "featured_image_url"],
)  # fmt: skip
def test_a_field_that_the_service_would_ignore_is_refused_by_name_or_left_out(field):
    with pytest.raises(InvalidField, match=field):
        changes({"title": "A", field: 7}, names=V2, strict=True)
    assert changes({"title": "A", field: 7}, names=V2, strict=False) == {"title": "A"}


@pytest.mark.parametrize("field", ["name", "end_date", "browser_url", "url"])
def test_a_field_that_v1_lacks_or_ignores_is_refused_there(field):
    value = AT if field == "end_date" else "x"
    with pytest.raises(InvalidField, match=field):
        changes({field: value}, names=V1, strict=True)
    changes({field: value}, names=V2, strict=True)


def test_a_field_that_nobody_has_is_refused_with_the_nearest():
    with pytest.raises(InvalidField, match=r"'descripton'; nearest: description"):
        changes({"descripton": "x"}, names=V2, strict=True)


@pytest.mark.parametrize(
    "location",
    [{"language": "en"}, {"location": {"latitude": 1.0}}, {"zip": "1"}, {"address_lines": ["a", "b"]}],
)
def test_a_part_of_the_location_that_the_service_would_ignore_is_refused(location):
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


@pytest.mark.parametrize(
    "moment",
    [AT, pd.Timestamp(AT), "2026-05-01T18:30:00", "2026-05-01T18:30:00Z", "2026-05-01 18:30"],
    ids=["datetime", "timestamp", "text", "text with Z", "text with a space"],
)
def test_times_are_written_as_wall_clock(moment):
    assert changes({"end_date": moment}, names=V2, strict=True) == {"end_date": "2026-05-01T18:30:00Z"}


@pytest.mark.parametrize(
    "moment",
    [AT.replace(tzinfo=UTC), AT.replace(tzinfo=timezone(timedelta(hours=2))), "2026-05-01T18:30:00-07:00",
     pd.Timestamp("2026-05-01T18:30", tz="America/New_York")],
    ids=["UTC", "offset", "text with offset", "timestamp with zone"],
)  # fmt: skip
def test_a_time_with_a_zone_is_refused_with_the_reason(moment):
    with pytest.raises(InvalidField, match="start is the wall clock at the place of the event"):
        changes({"start": moment}, names=V2, strict=True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("start_date", "tomorrow"),
        ("start_date", date(2026, 5, 1)),
        ("start_date", pd.NaT),
        ("start_date", 1777660200),
        ("start_date", AT.replace(microsecond=5)),
        ("title", 7),
        ("title", float("nan")),
        ("title", "half \ud800"),
        ("identifiers", "desk:1"),
        ("identifiers", ["desk"]),
        ("identifiers", [7]),
        ("location", "Oakland"),
        ("location", {"locality": 7}),
        ("location", {"country": "Germany"}),
        ("location", {"country": ""}),
    ],
)
def test_a_value_that_a_field_cannot_hold_is_refused_by_name(field, value):
    with pytest.raises(InvalidField, match=field):
        changes({field: value}, names=V2, strict=True)


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


def test_an_event_as_it_was_read_can_be_sent_back_when_not_strict(stocked):
    with stocked() as served, served.client() as client:
        event_id = served.add(1, start_date="2026-05-01T18:30:00Z")[0]
        body = next(client.pages())["_embedded"]["osdi:events"][0]
        with pytest.raises(InvalidField):
            client.update_event(event_id, body)
        row = client.update_event(event_id, body | {"title": "Back"}, strict=False)
        assert (row.title[0], row.start_date[0]) == ("Back", pd.Timestamp(AT))


def test_every_field_is_declared_once():
    for fields in (EVENT_FIELDS, LOCATION):
        names = [name for field in fields for name in V2.accepted(field)]
        assert len(names) == len(set(names))


# -- what would do nothing, or something else, is refused before anything is sent --


@pytest.fixture(scope="module")
def shared():
    with sandbox.serve() as running, Stocked(running).client() as client:
        yield Stocked(running), client


@pytest.fixture
def one_event(shared):
    served, client = shared
    event_id = served.add(
        1, description="old", start_date="2026-05-01T18:30:00Z", location={"venue": "Hall"}
    )[0]
    served.forget()
    return served, client, event_id


@pytest.mark.parametrize("field", ["description", "name", "instructions", "browser_url"])
def test_none_empties_a_text(one_event, field):
    _, client, event_id = one_event
    client.update_event(event_id, {field: "something"})
    row = client.update_event(event_id, {field: None})
    assert row[field][0] in ("", None) or pd.isna(row[field][0])


@pytest.mark.parametrize(
    "changed",
    [
        {"start_date": None},
        {"end_date": None},
        {"identifiers": None},
        {"location": None},
        {"location": {}},
        {"location": {"address_lines": None}},
        {"location": {"country": None}},
    ],
    ids=str,
)
def test_what_cannot_be_emptied_is_refused_before_anything_is_sent(one_event, changed):
    served, client, event_id = one_event
    with pytest.raises(InvalidField, match=r"cannot be emptied|is empty"):
        client.update_event(event_id, changed)
    assert not served.asked()


def test_a_part_of_the_location_is_emptied_by_none(one_event):
    _, client, event_id = one_event
    row = client.update_event(event_id, {"location": {"venue": None}})
    assert row.location_venue[0] == "" or pd.isna(row.location_venue[0])


def test_what_a_new_event_does_not_have_is_left_out():
    event = {"title": "A", "origin_system": "B", "description": None, "start_date": None, "location": None}
    assert new_event(event, names=V2, strict=True) == {"title": "A", "origin_system": "B"}


@pytest.mark.parametrize("creator", ["nobody", "platform:nobody"])
def test_an_unknown_creator_is_refused_before_the_event_is_sent(one_event, creator):
    served, client, _ = one_event
    event = {"title": "A", "origin_system": "B"}
    with pytest.raises(InvalidField, match="creator is not known"):
        client.create_event(event, creator=creator)
    elsewhere = {"osdi:creator": {"href": "https://elsewhere.example/api/v2/people/sandbox-founder"}}
    with pytest.raises(InvalidField, match="creator is not known"):
        client.create_event(event | {"_links": elsewhere})
    assert {request["method"] for request in served.asked()} == {"GET"}
    assert len(client.create_event(event, creator=creator, strict=False)) == 1


@pytest.mark.parametrize("identifier", ["my system:1", "my system:a b", "a:b:c"])
def test_an_identifier_whose_system_has_a_space_is_taken(shared, identifier):
    _, client = shared
    row = client.create_event({"title": "A", "origin_system": "B", "identifiers": [identifier]})
    assert identifier in row.identifiers[0]
    for bad in ("x", ":1", " :1", "x:"):
        with pytest.raises(InvalidField, match="system:id"):
            client.create_event({"title": "A", "origin_system": "B", "identifiers": [bad]})


def test_an_event_of_v1_is_created_without_a_postal_code_as_the_contracts_sample_is(stocked):
    with stocked() as served, served.client(speaks="v1") as client:
        row = client.create_event({"summary": "Picnic", "originating_system": "Desk"})
        assert (row.title[0], row.api_version[0]) == ("Picnic", "v1")
        assert len(served.truth()) == 1


# -- back from the frame --


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
        after = client.events().set_index("event_id").loc[list(before.event_id)]
        assert list(after.title) == ["New", before.title[1], "Third"]
        assert list(after.location_venue) == ["Hall", "Park", "Hall"]
        assert set(after.location_locality) == {"Oakland"}
        assert set(after.description) == {"stays"}


@pytest.fixture
def two_events(stocked):
    """Serve two events that have together what a client can set."""
    fields = {"description": "old", "start_date": "2026-05-01T18:30:00Z", "identifiers": ["desk:1"]}
    with stocked() as served:
        served.add(1, **fields, location={"address_lines": ["1 Elm St"], "postal_code": "94607"})
        served.add(1, browser_url="https://a.example/b", location={"venue": "Hall"})
        yield served


@pytest.mark.parametrize("speaks", ["v2", "v1"])
def test_a_frame_as_it_was_read_goes_back_whole_and_changes_nothing(two_events, speaks):
    with two_events.client(speaks=speaks) as client:
        before = two_events.truth()
        events = client.events()
        if speaks == "v1":
            del events["browser_url"]  # which v1 does not let a client set
        result = client.update_events(events)
    assert list(result.status) == ["updated"] * 2, list(result.error)
    same = ["modified_date"]
    pd.testing.assert_frame_equal(two_events.truth().drop(columns=same), before.drop(columns=same))


# -- what a client can know is said before anything is sent, and by a dry run --


def test_of_two_rows_with_one_identifier_the_second_is_refused_before_anything_is_sent(stocked):
    with stocked() as served, served.client() as client:
        frame = pd.DataFrame(
            {
                "title": ["A", "B", "C", "", "E"],
                "origin_system": "Desk",
                "identifiers": [
                    ["desk:1"],
                    ["desk:2", "desk:1"],
                    ["platform:9", "desk:3"],
                    ["desk:5"],
                    ["desk:5"],
                ],
            },
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


def test_an_identifier_of_an_earlier_row_s_event_is_refused(two_events):
    with two_events.client() as client:
        ids = list(client.events().event_id)
        frame = pd.DataFrame({"event_id": [*ids, f"platform:{ids[0]}"], "identifiers": [["desk:1"]] * 3})
        result = client.update_events(frame, dry_run=True)
    assert list(result.status) == ["not sent", "refused", "not sent"]
    assert "'desk:1' is that of the row 0" in result.error[1]


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


@pytest.mark.parametrize(
    "identifier",
    [" ", ":", " : ", "desk:", "desk: ", "desk:\t\n", ":1", " :1", "\u00a0:1", "desk:\u200b\u2060"],
)
def test_identifiers_of_blanks_are_refused(shared, identifier):
    served, client = shared
    served.forget()
    event = {"title": "A", "origin_system": "B"}
    with pytest.raises(InvalidField, match="system:id"):
        client.create_event(event | {"identifiers": ["desk:0", identifier]})
    result = client.create_events(pd.DataFrame([event | {"identifiers": [identifier]}]))
    assert list(result.status) == ["refused"]
    assert not served.asked()


@pytest.mark.parametrize("speaks", ["v2", "v1"])
def test_a_creator_that_the_service_ignored_is_said(stocked, speaks):
    with stocked() as served, served.client(speaks=speaks) as client:
        event_id = served.add(1)[0]
        person = {"email_addresses": [{"address": "ann@example.org"}]}
        served.running.admin("POST", "attendances", event=event_id, person=person)
        (other,) = {page["platform:person_id"] for page in attendances_of(served, event_id)}
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


@settings(max_examples=20)
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
        for row, (event_id, sent) in zip(rows, result[["event_id", "sent"]].to_numpy(), strict=True):
            if pd.isna(event_id):
                continue
            assert pd.isna(sent) is False
            taken = client.event(event_id).iloc[0]
            for column in ("title", "origin_system", "description", "instructions", "start_date"):
                if row.get(column) is not None and not pd.isna(row[column]):
                    assert taken[column] == row[column] or (row[column] == "" and pd.isna(taken[column]))
            assert {text for text in row["identifiers"] if not text.startswith("platform:")} <= {
                *taken.identifiers
            }


def attendances_of(served: Stocked, event_id: str) -> list[dict[str, Any]]:
    with served.client() as client:
        pages = list(client.pages(f"events/{event_id}/attendances"))
    return [attendance for page in pages for attendance in page["_embedded"]["osdi:attendances"]]


def test_rows_are_created_as_events_of_their_own(stocked):
    with stocked() as served, served.client() as client:
        served.add(2, start_date="2026-05-01T18:30:00Z", location={"address_lines": ["1 Elm St"]})
        events = client.events()
        result = client.create_events(events)
        assert set(result.status) == {"created"}, list(result.error)
        assert not set(result.event_id) & set(events.event_id)
        copies = client.events().set_index("event_id").loc[list(result.event_id)]
        for column in ("title", "origin_system", "start_date", "location_address"):
            assert list(copies[column]) == list(events[column])


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
