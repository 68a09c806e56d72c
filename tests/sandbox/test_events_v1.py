"""Events in v1: names, required postal code, embedded people, and the same store as v2 (interface 2.8, 9)."""

from __future__ import annotations

import pytest

from .conftest import event_id
from .schemas import assert_valid, event_v1, event_v2

EDITABLE = {
    "originating_system": "Another System",
    "summary": "Picnic by the river",
    "description": "<p>Bring <b>food</b></p>",
    "platform:event_instructions": "<p>Meet at the gate</p>",
    "start": "2026-05-01T18:30:00Z",
}

NOT_EDITABLE = {
    "created_at": "1999-01-01T00:00:00Z",
    "modified_at": "1999-01-01T00:00:00Z",
    "url": "https://example.org/picnic",
    "osdi:organizer": {"given_name": "Mallory"},
    "total_accepted": 99,
    "platform:event_campaign_id": "c1",
    "status": "cancelled",
    "transparence": "transparent",
    "visibility": "private",
    "guestsCanInviteOthers": False,
    "reminders": [{"method": "sms", "minutes": 5}],
    "platform:sponsor": {"summary": "Somebody else", "url": "https://example.org"},
}

# interface 9: v1 name, v2 name, value
RENAMED = [
    ("originating_system", "origin_system", "Another System"),
    ("summary", "title", "Picnic by the river"),
    ("description", "description", "<p>food</p>"),
    ("platform:event_instructions", "instructions", "Meet at the gate"),
    ("start", "start_date", "2026-05-01T18:30:00Z"),
]


@pytest.mark.parametrize("name", EDITABLE)
@pytest.mark.contract("2.8 originating_system, summary, description, platform:event_instructions, start")
def test_an_editable_field_comes_back_as_it_was_posted_and_put(person, name):
    made = person.create_v1(**{name: EDITABLE[name]})
    assert made[name] == EDITABLE[name]
    changed = person.v1.put(f"/events/{event_id(made)}", json={name: EDITABLE[name].replace("2026", "2027")})
    assert changed.json()[name] == EDITABLE[name].replace("2026", "2027")


@pytest.mark.parametrize("name", NOT_EDITABLE)
@pytest.mark.contract(
    "2.8 created_at, modified_at, url, osdi:organizer, total_accepted, platform:event_campaign_id",
    "2.8 platform:sponsor",
    "4 rule 1",
)
def test_a_field_that_the_service_makes_is_ignored_in_post_and_put(person, name):
    """Interface 2.8, 4 rule 1: not editable fields are ignored."""
    untouched = person.create_v1().get(name)
    made = person.create_v1(**{name: NOT_EDITABLE[name]})
    changed = person.v1.put(f"/events/{event_id(made)}", json={name: NOT_EDITABLE[name]}).json()
    for answered in (made, changed):
        assert answered.get(name) != NOT_EDITABLE[name]
        if not name.endswith("_at"):
            assert answered.get(name) == untouched


@pytest.mark.contract(
    "2.8 status, transparence, visibility, guestsCanInviteOthers, reminders, reminders.method",
    "2.8 reminders.minutes",
)
def test_constants_are_always_the_same(person):
    made = person.create_v1()
    assert (made["status"], made["transparence"], made["visibility"]) == ("confirmed", "opaque", "public")
    assert made["guestsCanInviteOthers"] is True
    assert made["reminders"] == [{"method": "email", "minutes": 1440}]
    assert made["total_accepted"] == 0
    assert made["created_at"] == made["modified_at"]


@pytest.mark.parametrize("name", ["summary", "originating_system"])
@pytest.mark.contract("2.8 originating_system, summary")
def test_a_post_without_a_required_field_is_refused_with_its_name(person, name):
    """Interface 2.8: summary and originating_system are required on POST."""
    body = {"summary": "A", "originating_system": "B"}
    del body[name]
    answer = person.v1.post("/events", json=body)
    assert answer.status_code == 400
    assert name in answer.json()["error"]


@pytest.mark.contract("2.8 location.postal_code", "9 location")
def test_a_location_needs_its_postal_code(person):
    """Interface 2.8 location, location.postal_code; 9: required in v1, by no v2 event."""
    body = {"summary": "A", "originating_system": "B", "location": {"venue": "City Hall"}}
    answer = person.v1.post("/events", json=body)
    assert answer.status_code == 400
    assert "location.postal_code" in answer.json()["error"]
    assert person.create(location={"venue": "City Hall"})["location"]["venue"] == "City Hall"


@pytest.mark.parametrize("blank", ["", "  ", "\t\u3000"], ids=["empty", "spaces", "other white space"])
@pytest.mark.contract("2.8 location.postal_code")
def test_a_blank_postal_code_counts_as_missing(person, blank):
    """Interface 2.8 location.postal_code: refused on POST as a blank title is, ignored on PUT."""
    body = {"summary": "A", "originating_system": "B", "location": {"postal_code": blank, "venue": "Hall"}}
    answer = person.v1.post("/events", json=body)
    assert answer.status_code == 400
    assert "location.postal_code" in answer.json()["error"]
    made = person.create_v1(location={"postal_code": "94607"})
    changed = person.v1.put(f"/events/{event_id(made)}", json={"location": body["location"]}).json()
    assert (changed["location"]["postal_code"], changed["location"]["venue"]) == ("94607", "Hall")
    assert (
        person.create(location={"postal_code": blank})["location"]["postal_code"] == blank
    )  # none is required


@pytest.mark.contract("2.8 the sample without postal_code")
def test_without_any_location_a_post_is_answered_as_the_sample_is(person):
    """Interface 2.8: the v1 POST sample omits location.postal_code and is answered with 200."""
    assert person.create_v1()["location"]["country"] == "US"


@pytest.mark.contract(
    "2.8 location, location.venue, location.address_lines, location.locality, location.region",
    "2.8 location.language, location.location, location.location.latitude",
    "2.8 location.location.longitude, location.location.accuracy",
)
def test_location_is_overwritten_from_geocoding(person):
    """Interface 2.8 location.venue, address_lines, locality, region, language, location.*: as in v2."""
    lies = {"locality": "Atlantis", "region": "XX", "language": "tlh"}
    sent = {"venue": "City Hall", "postal_code": "94607", "address_lines": ["1 Main St", "Apt 2"], **lies}
    location = person.create_v1(location=sent)["location"]
    assert location == {
        "venue": "City Hall",
        "address_lines": ["1 Main St"],
        "locality": "Oakland",
        "region": "CA",
        "postal_code": "94607",
        "country": "US",
        "language": "en",
        "location": {"latitude": 37.8044, "longitude": -122.2712, "accuracy": "Rooftop"},
    }


@pytest.mark.parametrize(
    ("postal_code", "entered", "answered"),
    [("94607", "FR", "US"), ("H2X 1Y4", "US", "CA"), ("75001", "FR", "FR"), ("00000", "ZZ", "ZZ")],
    ids=["of another country", "of another country, default", "of the country", "unknown"],
)
@pytest.mark.contract("2.8 location.country", "9 location")
def test_the_country_is_that_of_the_postal_code(person, postal_code, entered, answered):
    """Interface 2.8 location.country, 9: overwritten from geocoding in v1, kept in v2."""
    location = {"postal_code": postal_code, "country": entered}
    assert person.create_v1(location=location)["location"]["country"] == answered
    assert person.create(location=location)["location"]["country"] == entered


@pytest.mark.contract("2.8 osdi:organizer, an embedded person", "9 creator and organizer")
def test_the_creator_and_organizer_are_embedded_people(person):
    """Interface 2.8 osdi:creator, osdi:organizer: under _embedded, the organizer the same as the creator; 9."""
    for made in (person.create_v1(), person.v1.get(f"/events/{event_id(person.create())}").json()):
        creator = made["_embedded"]["osdi:creator"]
        assert (creator["given_name"], creator["family_name"]) == ("Ada", "Baker")
        assert creator["identifiers"] == [f"platform:{person.person_id}"]
        assert made["_embedded"]["osdi:organizer"] == creator
        assert_valid(made, event_v1())


@pytest.mark.contract("2.8 links of an embedded person")
def test_every_link_of_an_embedded_person_resolves(person):
    """Interface 2.8: self, question_answers, attendance, signatures, submissions, donations."""
    links = person.create_v1()["_embedded"]["osdi:creator"]["_links"]
    assert len(links) == 6
    for name, link in links.items():
        assert person.v1.get(link["href"]).status_code == 200, name


@pytest.mark.contract("2.8 v1 links", "9 attendance links")
def test_v1_links_and_curies_are_those_of_v1(running, person):
    """Interface 2.8: self, osdi:attendance, osdi:creator, osdi:organizer, platform:embed, curies; 9."""
    made = person.create_v1()
    links, here = made["_links"], f"{running.base_url_v1}/events/{event_id(made)}"
    assert links["self"] == {"href": here}
    assert links["osdi:attendance"] == {"href": f"{here}/attendance"}
    assert links["platform:embed"] == {"href": f"{here}/embed"}
    creator = {"href": f"{running.base_url_v1}/people/{person.person_id}"}
    assert links["osdi:creator"] == links["osdi:organizer"] == creator
    assert all(curie["href"].endswith("/v1/{rel}") for curie in links["curies"])
    assert not {"osdi:attendances", "osdi:record_attendance_helper"} & links.keys()


@pytest.mark.contract("2.8 platform:sponsor.summary, platform:sponsor.url")
def test_the_sponsor_has_its_v1_names(group):
    assert group.create_v1()["platform:sponsor"] == {
        "summary": "Clean Water",
        "url": "https://group.example.org",
    }


@pytest.mark.parametrize(("v1", "v2", "value"), RENAMED, ids=[pair[0] for pair in RENAMED])
@pytest.mark.contract("9 origin_system, title and name, instructions, start_date and end_date")
def test_a_field_set_in_one_version_is_read_in_the_other_under_its_name(person, v1, v2, value):
    """Interface 9: one store, two names."""
    made = person.create_v1(**{v1: value})
    assert person.v2.get(f"/events/{event_id(made)}").json()[v2] == value
    made = person.create(**{v2: value})
    assert person.v1.get(f"/events/{event_id(made)}").json()[v1] == value


@pytest.mark.contract(
    "9 created_date and modified_date, browser_url and featured_image_url",
    "9 guests_can_invite_others, platform:sponsor",
)
def test_times_sponsor_and_guests_have_the_names_of_each_version(running, group):
    """Interface 9: created_at, modified_at, url, guestsCanInviteOthers, platform:sponsor."""
    body = {"title": "Picnic", "origin_system": "Tests", "browser_url": "https://example.org/picnic"}
    made = running.admin("POST", "events", account=group.account, events=[body])["event_ids"][0]
    v2, v1 = (client.get(f"/events/{made}").json() for client in (group.v2, group.v1))
    assert (v1["created_at"], v1["modified_at"]) == (v2["created_date"], v2["modified_date"])
    assert v1["url"] == v2["browser_url"]
    assert v1["guestsCanInviteOthers"] is v2["guests_can_invite_others"] is True
    assert list(v1["platform:sponsor"].values()) == list(v2["platform:sponsor"].values())
    assert_valid(v1, event_v1())
    assert_valid(v2, event_v2())


@pytest.mark.contract(
    "9 title and name, browser_url and featured_image_url, start_date and end_date",
    "9 capacity and platform:hidden",
)
def test_v2_only_fields_are_not_in_v1(running, person):
    """Interface 9: no name, end_date, featured_image_url, capacity, platform:hidden in v1."""
    body = {
        "title": "Rally",
        "origin_system": "Tests",
        "name": "internal",
        "end_date": "2026-05-01T21:00:00Z",
        "featured_image_url": "https://example.org/banner.png",
        "capacity": 40,
        "platform:hidden": False,
    }
    made = running.admin("POST", "events", account=person.account, events=[body])["event_ids"][0]
    assert person.v2.get(f"/events/{made}").json() | body == person.v2.get(f"/events/{made}").json()
    v1 = person.v1.get(f"/events/{made}").json()
    assert not {*body} & v1.keys()
    assert_valid(v1, event_v1())


def test_a_changed_person_is_embedded_as_changed(running, person, callers):
    """Interface 2.8 osdi:creator: the representation follows the person's record."""
    address = f"{person.key}@example.org"
    zed = running.admin("POST", "people", given_name="Zed", email_addresses=[{"address": address}])
    caller = callers(zed["account"])
    made = caller.create_v1()
    assert made["_embedded"]["osdi:creator"]["given_name"] == "Zed"
    attendee = {"given_name": "Zora", "email_addresses": [{"address": address}]}
    person.v2.post(f"/events/{event_id(person.create())}/attendances", json={"person": attendee})
    again = caller.v1.get(f"/events/{event_id(made)}").json()
    assert again["_embedded"]["osdi:creator"]["given_name"] == "Zora"


@pytest.mark.contract("2.8 identifiers")
def test_identifiers_begin_with_the_service_s_own_and_keep_the_posted(person):
    """Interface 2.8 identifiers: merged next to the native one."""
    made = person.create_v1(identifiers=[f"crm:{person.key}", "no colon", 7])
    assert made["identifiers"] == [f"platform:{event_id(made)}", f"crm:{person.key}"]
