"""What is sent: in the names of the version, only what counts there, times as the contract has them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pytest

from osdi_frames.client.writing import EVENT, LOCATION, FieldNames, changes, new_event
from osdi_frames.errors import InvalidField, MissingField, UneditableField
from osdi_frames.sandbox.fields import EVENT as SERVICE

V2, V1 = FieldNames("v2", ("platform", "action_network")), FieldNames("v1", ("platform", "action_network"))
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


@pytest.mark.parametrize("names", [V2, V1], ids=["v2", "v1"])
def test_what_counts_is_what_the_sandbox_takes(names):
    settable = {
        getattr(field, names.version).replace("<p>", "platform")
        for field in SERVICE
        if names.version in field.set_by
    }
    ours = {names.sent(field) for field in EVENT if field.kind and names.version in field.editable} - {
        None,
        "_links",
    }
    assert ours == settable


@pytest.mark.parametrize(
    "field",
    ["created_date", "modified_at", "total_accepted", "status", "platform:event_campaign_id", "capacity",
     "action_network:sponsor", "guestsCanInviteOthers", "reminders", "visibility", "featured_image_url"],
)  # fmt: skip
def test_a_field_that_the_service_would_ignore_is_refused_by_name_or_left_out(field):
    with pytest.raises(UneditableField, match=field):
        changes({"title": "A", field: 7}, names=V2, strict=True)
    assert changes({"title": "A", field: 7}, names=V2, strict=False) == {"title": "A"}


@pytest.mark.parametrize("field", ["name", "end_date", "browser_url", "url"])
def test_a_field_that_v1_lacks_or_ignores_is_refused_there(field):
    value = AT if field == "end_date" else "x"
    with pytest.raises(UneditableField, match=field):
        changes({field: value}, names=V1, strict=True)
    changes({field: value}, names=V2, strict=True)


def test_a_field_that_nobody_has_is_refused_with_the_nearest():
    with pytest.raises(UneditableField, match=r"'descripton'; nearest: description"):
        changes({"descripton": "x"}, names=V2, strict=True)


@pytest.mark.parametrize(
    "location",
    [{"language": "en"}, {"location": {"latitude": 1.0}}, {"zip": "1"}, {"address_lines": ["a", "b"]}],
)
def test_a_part_of_the_location_that_the_service_would_ignore_is_refused(location):
    with pytest.raises(UneditableField, match=r"location\."):
        changes({"location": location}, names=V2, strict=True)
    sent = changes({"location": location | {"venue": "Hall"}}, names=V2, strict=False)
    assert sent["location"].pop("venue") == "Hall"
    assert sent["location"] in ({}, {"address_lines": ["a"]})


def test_required_fields_are_named_before_anything_is_sent():
    with pytest.raises(MissingField, match=r"origin_system, title$"):
        new_event({"description": "x"}, names=V2, strict=True)
    with pytest.raises(MissingField, match=r"originating_system, summary, location.postal_code$"):
        new_event({"title": " "}, names=V1, strict=True)
    with pytest.raises(MissingField, match="cannot be emptied: title"):
        changes({"title": None}, names=V2, strict=True)
    with pytest.raises(MissingField, match="nothing to change"):
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
    with pytest.raises(UneditableField, match="osdi:organizer"):
        new_event(event | {"_links": {"osdi:organizer": {}}}, names=V2, strict=True)
    with pytest.raises(InvalidField, match="people"):
        new_event(event | {"_links": {"osdi:creator": "1"}}, names=V2, strict=True)
    with pytest.raises(UneditableField, match="_links"):
        changes({"_links": link}, names=V2, strict=True)


def test_an_event_as_it_was_read_can_be_sent_back_when_not_strict(stocked):
    with stocked() as served, served.client() as client:
        event_id = served.add(1, start_date="2026-05-01T18:30:00Z")[0]
        body = next(client.pages())["_embedded"]["osdi:events"][0]
        with pytest.raises(UneditableField):
            client.update_event(event_id, body)
        row = client.update_event(event_id, body | {"title": "Back"}, strict=False)
        assert (row.title[0], row.start_date[0]) == ("Back", pd.Timestamp(AT))


def test_every_field_is_declared_once():
    for fields in (EVENT, LOCATION):
        names = [name for field in fields for name in V2.accepted(field)]
        assert len(names) == len(set(names))
