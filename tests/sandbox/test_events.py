"""Events in v2 and v1: fields, location, reminders, sponsor, links, one store (interface 2.1 to 2.5, 2.8, 9)."""

from __future__ import annotations

import pytest

from osdi_frames import sandbox

from .conftest import event_id
from .schemas import assert_valid, event_v1, event_v2

#: Fields that a caller sets: the name in v2, in v1 (interface 9), and a value.
EDITABLE = [
    ("origin_system", "originating_system", "Another System"),
    ("title", "summary", "Picnic by the river"),
    ("description", "description", "<p>Bring <b>food</b></p>"),
    ("instructions", "platform:event_instructions", "<p>Meet at the gate</p>"),
    ("start_date", "start", "2026-05-01T18:30:00Z"),
    ("name", None, "internal name"),
    ("browser_url", None, "https://example.org/picnic"),
    ("end_date", None, "2026-05-01T21:00:00Z"),
]
V2 = {v2: value for v2, _, value in EDITABLE}
V1 = {v1: value for _, v1, value in EDITABLE if v1}
#: Fields that the service makes.
CONSTANT = {
    "total_accepted": 99,
    "platform:event_campaign_id": "c1",
    "status": "cancelled",
    "transparence": "transparent",
    "visibility": "private",
    "reminders": [{"method": "sms", "minutes": 5}],
}
NOT_EDITABLE_V2 = CONSTANT | {
    "created_date": "1999-01-01T00:00:00Z",
    "modified_date": "1999-01-01T00:00:00Z",
    "featured_image_url": "https://example.org/banner.png",
    "guests_can_invite_others": False,
    "capacity": 5,
    "platform:hidden": True,
    "platform:sponsor": {"title": "Somebody else", "browser_url": "https://example.org"},
}
NOT_EDITABLE_V1 = CONSTANT | {
    "created_at": "1999-01-01T00:00:00Z",
    "modified_at": "1999-01-01T00:00:00Z",
    "url": "https://example.org/picnic",
    "osdi:organizer": {"given_name": "Mallory"},
    "guestsCanInviteOthers": False,
    "platform:sponsor": {"summary": "Somebody else", "url": "https://example.org"},
}


def shown(client, event):
    return client.get(f"/events/{event_id(event)}").raise_for_status().json()


def changed(client, event, **body):
    return client.put(f"/events/{event_id(event)}", json=body).raise_for_status().json()


def made_by_hand(running, caller, **fields):
    """Make an event in the user interface; return its id."""
    body = {"title": "Rally", "origin_system": "The service"} | fields
    return running.admin("POST", "events", account=caller.account, events=[body])["event_ids"][0]


@pytest.mark.contract(
    "2.1 origin_system, name, title, description, instructions, browser_url, start_date, end_date",
    "2.8 originating_system, summary, description, platform:event_instructions, start",
)
def test_editable_fields_come_back_as_they_were_posted_and_put(person):
    for create, client, fields in ((person.create, person.v2, V2), (person.create_v1, person.v1, V1)):
        made = create(**fields)
        later = {name: value.replace("2026", "2027") for name, value in fields.items()}
        assert made | fields == made
        for name, value in later.items():
            after = changed(client, made, **{name: value})
            assert after[name] == value
        assert after | later == after


@pytest.mark.contract(
    "2.1 created_date, modified_date, featured_image_url, total_accepted, capacity",
    "2.1 platform:event_campaign_id, status, transparence, visibility, platform:hidden",
    "2.1 guests_can_invite_others, reminders, platform:sponsor",
    "2.8 created_at, modified_at, url, osdi:organizer, total_accepted, platform:event_campaign_id",
    "2.8 platform:sponsor",
    "3 confirmed, tentative, cancelled",
    "4 rule 1",
    "7 3",
)
def test_fields_that_the_service_makes_are_ignored_in_post_and_put(person):
    """Interface 2.1, 2.3, 2.8, 3, 4 rule 1, 7.3: they are never refused."""
    for create, client, fields in (
        (person.create, person.v2, NOT_EDITABLE_V2),
        (person.create_v1, person.v1, NOT_EDITABLE_V1),
    ):
        untouched, made = create(), create(**fields)
        for answered in (made, changed(client, made, **fields)):
            for name in fields:
                assert answered.get(name) != fields[name], name
                assert name.endswith(("_date", "_at")) or answered.get(name) == untouched.get(name), name
        for state in ("confirmed", "tentative", "cancelled"):
            assert changed(client, made, status=state)["status"] == "confirmed"


@pytest.mark.contract("2.1 location", "4 rule 1", "7 3")
def test_invalid_values_are_ignored(person):
    """Interface 2.1, 4 rule 1, 7.3."""
    before = person.create(**V2)
    for value in (7, None, True, [1], {"a": 1}):
        for name in (*V2, "identifiers", "location"):
            after = changed(person.v2, before, **{name: value})
            assert after | {"modified_date": 0} == before | {"modified_date": 0}, (name, value)


@pytest.mark.contract("2.1 title, origin_system", "2.8 originating_system, summary")
def test_a_post_without_a_required_field_is_refused_with_its_name(person):
    for client, names in (
        (person.v2, ("title", "origin_system")),
        (person.v1, ("summary", "originating_system")),
    ):
        for name in names:
            for value in (None, "", "  ", 7):
                body = dict.fromkeys(names, "A") | {name: value}
                for sent in (body, {key: body[key] for key in body if key != name}):
                    answer = client.post("/events", json=sent)
                    assert answer.status_code == 400
                    assert name in answer.json()["error"]
    assert person.v2.get("/events").json()["total_records"] == 0


@pytest.mark.contract("2.1 identifiers", "2.8 identifiers")
def test_identifiers_begin_with_the_service_s_own_and_keep_the_posted(person):
    """Interface 2.1 identifiers: entries `[system name]:[id]`, the service's own under its prefix."""
    for create, own in ((person.create, f"crm:{person.key}"), (person.create_v1, f"erp:{person.key}")):
        made = create(identifiers=[own, "no colon", ":", "system:", 7, "platform:made-up"])
        assert made["identifiers"] == [f"platform:{event_id(made)}", own]


@pytest.mark.contract("2.1 created_date, modified_date")
def test_created_and_modified_date_are_utc_and_modified_moves(person):
    made = person.create()
    assert made["created_date"] == made["modified_date"]
    after = changed(person.v2, made, title="New")
    assert after["created_date"] == made["created_date"] <= after["modified_date"]


@pytest.mark.contract("2.1 start_date, end_date")
def test_start_is_kept_as_the_wall_clock_that_was_posted(person):
    """Interface 2.1 start_date, end_date: local to the event's location, so never shifted."""
    for sent, kept in (
        ("2026-05-01T18:30:00", "2026-05-01T18:30:00Z"),
        ("2026-05-01T18:30:00-07:00", "2026-05-01T18:30:00Z"),
        ("2026-05-01T18:30:00.750Z", "2026-05-01T18:30:00Z"),
        ("2026-05-01", "2026-05-01T00:00:00Z"),
        ("2026-02-30T10:00:00Z", None),
        ("soon", None),
    ):
        made = person.create(start_date=sent, end_date=sent)
        assert (made.get("start_date"), made.get("end_date")) == (kept, kept)


@pytest.mark.contract(
    "2.1 featured_image_url, capacity, platform:hidden, platform:event_campaign_id",
    "9 title and name, browser_url and featured_image_url, start_date and end_date",
    "9 capacity and platform:hidden",
)
def test_what_only_the_user_interface_sets_is_shown_and_v2_only_fields_are_not_in_v1(running, person):
    campaign = running.admin("POST", "campaigns", title="Spring", account=person.account)["id"]
    of_v2 = {
        "name": "internal",
        "end_date": "2026-05-01T21:00:00Z",
        "featured_image_url": "https://example.org/banner.png",
        "capacity": 40,
        "platform:hidden": True,
    }
    both = {"platform:event_campaign_id": campaign}
    made = made_by_hand(running, person, **of_v2, **both, browser_url="https://example.org/rally")
    v2, v1 = (client.get(f"/events/{made}").json() for client in (person.v2, person.v1))
    assert v2 | of_v2 | both == v2
    assert v2["browser_url"] == v1["url"] == "https://example.org/rally"
    assert v1 | both == v1
    assert not {*of_v2} & v1.keys()
    assert_valid(v2, event_v2())
    assert_valid(v1, event_v1())


@pytest.mark.contract(
    "2.1 total_accepted, status, transparence, visibility, guests_can_invite_others, reminders",
    "2.3 method, minutes",
    "2.8 status, transparence, visibility, guestsCanInviteOthers, reminders, reminders.method",
    "2.8 reminders.minutes",
    "8 1440 minutes",
)
def test_constants_are_always_the_same_and_absent_fields_left_out(person):
    v2, v1 = person.create(), person.create_v1()
    assert v2["guests_can_invite_others"] is v1["guestsCanInviteOthers"] is True
    assert v1["created_at"] == v1["modified_at"]
    for made in (v2, v1):
        assert (made["status"], made["transparence"], made["visibility"]) == ("confirmed", "opaque", "public")
        assert made["reminders"] == [{"method": "email", "minutes": 1440}]
        assert made["total_accepted"] == 0
        assert not {"name", "description", "end_date", "capacity", "platform:sponsor"} & made.keys()


@pytest.mark.contract(
    "2.1 platform:sponsor",
    "2.4 title, browser_url",
    "2.8 platform:sponsor.summary, platform:sponsor.url",
    "5 individual or group",
)
def test_a_group_key_adds_the_sponsor_and_an_individual_key_none(person, group):
    title, url = "Clean Water", "https://group.example.org"
    assert group.create()["platform:sponsor"] == {"title": title, "browser_url": url}
    assert group.create_v1()["platform:sponsor"] == {"summary": title, "url": url}
    assert "platform:sponsor" not in person.create()


# 2.2 and 2.8: location


def located(person, **location):
    return person.create(location=location)["location"]


@pytest.mark.contract("2.2 an event without location data", "2.8 the sample without postal_code")
def test_without_a_location_the_answer_has_the_contract_s_defaults(person):
    """Interface 2.2; 2.8: the v1 POST sample omits location.postal_code and is answered with 200."""
    expected = {"region": "", "country": "US", "language": "en", "location": {"accuracy": "Approximate"}}
    assert person.create()["location"] == person.create_v1()["location"] == located(person) == expected


@pytest.mark.contract(
    "2.2 venue, postal_code, address_lines, locality, region, language, location",
    "2.2 location.latitude, location.longitude, location.accuracy",
    "2.8 location, location.venue, location.address_lines, location.locality, location.region",
    "2.8 location.language, location.location, location.location.latitude",
    "2.8 location.location.longitude, location.location.accuracy",
    "8 first address line",
)
def test_a_location_is_overwritten_from_geocoding(person):
    """Interface 2.2, 2.8: what was entered stays of venue, postal code and the first address line."""
    place = {"latitude": 37.8044, "longitude": -122.2712, "accuracy": "Rooftop"}
    lies = {"locality": "Atlantis", "region": "XX", "language": "tlh", "location": {"latitude": 0}}
    kept = {"venue": "City Hall", "postal_code": "94607-1234", "address_lines": ["1 Main St"]}
    sent = kept | {"address_lines": ["1 Main St", "Apt 2"]} | lies
    expected = kept | {"locality": "Oakland", "region": "CA", "country": "US", "language": "en"}
    for location in (located(person, **sent), person.create_v1(location=sent)["location"]):
        assert location == expected | {"location": place}
    for lines in ({}, {"address_lines": [" "]}):
        assert located(person, postal_code="94607", **lines)["location"] == place | {
            "accuracy": "Approximate"
        }
    assert located(person, address_lines=["1 Main St"])["location"] == {"accuracy": "Approximate"}


@pytest.mark.contract("2.2 country", "2.8 location.country", "9 location")
def test_the_country_chooses_the_place_and_in_v1_is_that_of_the_postal_code(person):
    """Interface 2.2 country: defaults to US; 2.8, 9: overwritten from geocoding in v1, kept in v2."""
    assert located(person, postal_code="75001")["locality"] == "Addison"
    assert located(person, postal_code="75001", country="fr")["locality"] == "Paris"
    for postal_code, entered, answered in (
        ("94607", "FR", "US"),
        ("H2X 1Y4", "US", "CA"),
        ("75001", "FR", "FR"),
        ("00000", "ZZ", "ZZ"),
    ):
        location = {"postal_code": postal_code, "country": entered}
        assert person.create_v1(location=location)["location"]["country"] == answered
        assert person.create(location=location)["location"]["country"] == entered
    for invalid in ("USA", "", "U", "1A", "ÅÄ", 7, None):  # is ignored (4 rule 1), and geocoding goes on
        location = located(person, country=invalid, postal_code="94607")
        assert (location["country"], location["locality"]) == ("US", "Oakland")


def test_an_unknown_place_keeps_its_words_and_gets_no_coordinates(person):
    """Interface 2.2 location: nothing is made up for a place that the gazetteer lacks."""
    location = located(person, locality="Atlantis", region="XX", postal_code="00000", country="ZZ")
    assert (location["locality"], location["region"], location["country"]) == ("Atlantis", "XX", "ZZ")
    assert location["location"] == {"accuracy": "Approximate"}


@pytest.mark.contract("2.8 location.postal_code", "9 location")
def test_v1_needs_the_postal_code_of_a_location(person):
    """Interface 2.8: refused on POST as a blank title is, ignored on PUT; 9: required by no v2 event."""
    known = person.create_v1(location={"postal_code": "94607"})
    for blank in ({}, {"postal_code": ""}, {"postal_code": "  "}, {"postal_code": "\t\u3000"}):
        body = {"summary": "A", "originating_system": "B", "location": {"venue": "Hall", **blank}}
        answer = person.v1.post("/events", json=body)
        assert answer.status_code == 400
        assert "location.postal_code" in answer.json()["error"]
        after = changed(person.v1, known, location=body["location"])["location"]
        assert (after["postal_code"], after["venue"]) == ("94607", "Hall")
        assert located(person, **body["location"]) | body["location"] == located(person, **body["location"])


def test_a_put_of_one_part_of_the_location_keeps_the_others_and_geocodes_anew(person):
    """Interface 2.2, 4: what was entered last decides; a postal code that fits the city stays."""
    for client in (person.v2, person.v1):
        made = person.create(location={"venue": "Hall", "postal_code": "94607"})

        def put(made=made, client=client, **location):
            return changed(client, made, location=location)["location"]

        assert put(locality="oakland")["postal_code"] == "94607"
        moved = put(locality="Chicago")
        assert (moved["venue"], moved["locality"], moved["region"]) == ("Hall", "Chicago", "IL")
        assert "postal_code" not in moved
        assert put(postal_code="94607")["locality"] == "Oakland"
    made = person.create(location={"postal_code": "94607"})
    assert changed(person.v2, made, location={"postal_code": "60614"})["location"]["locality"] == "Chicago"
    lost = changed(person.v2, made, location={"postal_code": "00000"})["location"]
    assert "locality" not in lost
    assert lost["location"] == {"accuracy": "Approximate"}


# 2.5 and 2.8: links, and people


@pytest.mark.contract(
    "2.5 self, osdi:attendances, osdi:record_attendance_helper, osdi:creator, osdi:organizer",
    "2.5 platform:embed, curies",
    "2.8 v1 links",
    "9 attendance links",
)
def test_links_of_an_event_lead_where_the_contract_says(running, person):
    for version, made, base in (
        ("v2", person.create(), running.base_url),
        ("v1", person.create_v1(), running.base_url_v1),
    ):
        here, links = f"{base}/events/{event_id(made)}", made["_links"]
        curies, creator = links.pop("curies"), {"href": f"{base}/people/{person.person_id}"}
        attendances = {"osdi:attendance": {"href": f"{here}/attendance"}}
        if version == "v2":
            link = {"href": f"{here}/attendances"}
            attendances = {"osdi:attendances": link, "osdi:record_attendance_helper": link}
        assert links == {
            "self": {"href": here},
            "osdi:creator": creator,
            "osdi:organizer": creator,
            "platform:embed": {"href": f"{here}/embed"},
            **attendances,
        }
        assert [curie["name"] for curie in curies] == ["osdi", "platform"]
        assert all(one["href"].endswith(f"/{version}/{{rel}}") and one["templated"] is True for one in curies)


@pytest.mark.contract("2.5 platform:event_campaign, curies", "2.8 links of an embedded person")
def test_every_link_of_an_event_and_of_its_embedded_person_resolves(running, person):
    """Interface 2.5: also platform:event_campaign and what the curies stand for; 2.8: the six of a person."""
    campaign = running.admin("POST", "campaigns", title="Spring", account=person.account)["id"]
    made = made_by_hand(running, person, **{"platform:event_campaign_id": campaign})
    for client in (person.v2, person.v1):
        event = client.get(f"/events/{made}").json()
        assert "platform:event_campaign" in event["_links"]
        for name, link in event["_links"].items():
            href = link[0]["href"].replace("{rel}", "events") if name == "curies" else link["href"]
            assert client.get(href).status_code == 200, name
    of_creator = event["_embedded"]["osdi:creator"]["_links"]
    assert len(of_creator) == 6
    assert {person.v1.get(link["href"]).status_code for link in of_creator.values()} == {200}


def test_the_prefix_is_a_setting(callers):
    """Interface 2.1: the service's own prefix, in identifiers, fields, links and curies."""
    with sandbox.serve(sandbox.create_app(prefix="action_network")) as running:
        made = callers("group:sandbox", at=running).create(identifiers=["platform:7"])
        assert made["identifiers"] == [f"action_network:{event_id(made)}", "platform:7"]
        assert_valid(made, event_v2("action_network"))


@pytest.mark.contract("2.8 osdi:organizer, an embedded person", "9 creator and organizer")
def test_the_creator_and_organizer_are_embedded_people_in_v1_as_they_are_now(running, person, callers):
    """Interface 2.8 osdi:creator, osdi:organizer: under _embedded, the organizer the same as the creator; 9."""
    for made in (person.create_v1(), shown(person.v1, person.create())):
        creator = made["_embedded"]["osdi:creator"]
        assert (creator["given_name"], creator["family_name"]) == ("Ada", "Baker")
        assert creator["identifiers"] == [f"platform:{person.person_id}"]
        assert made["_embedded"]["osdi:organizer"] == creator
        assert_valid(made, event_v1())
    emails = [{"address": f"{person.key}@example.org"}]
    zed = running.admin("POST", "people", given_name="Zed", email_addresses=emails)
    caller = callers(zed["account"])
    made = caller.create_v1()
    assert made["_embedded"]["osdi:creator"]["given_name"] == "Zed"
    attendee = {"person": {"given_name": "Zora", "email_addresses": emails}}
    person.v2.post(f"/events/{event_id(person.create())}/attendances", json=attendee)
    assert shown(caller.v1, made)["_embedded"]["osdi:creator"]["given_name"] == "Zora"


# 9: one store, two names


@pytest.mark.contract(
    "9 origin_system, title and name, instructions, start_date and end_date",
    "9 created_date and modified_date, browser_url and featured_image_url",
    "9 guests_can_invite_others, platform:sponsor",
)
def test_a_field_set_in_one_version_is_read_in_the_other_under_its_name(running, group):
    of_v1 = shown(group.v2, group.create_v1(**V1))
    of_v2 = shown(group.v1, group.create(**{v2: value for v2, v1, value in EDITABLE if v1}))
    for v2, v1, value in EDITABLE:
        assert v1 is None or of_v1[v2] == of_v2[v1] == value
    made = made_by_hand(running, group, browser_url="https://example.org/picnic")
    v2, v1 = (client.get(f"/events/{made}").json() for client in (group.v2, group.v1))
    assert (v1["created_at"], v1["modified_at"]) == (v2["created_date"], v2["modified_date"])
    assert v1["url"] == v2["browser_url"] == "https://example.org/picnic"
    assert v1["guestsCanInviteOthers"] is v2["guests_can_invite_others"] is True
    assert list(v1["platform:sponsor"].values()) == list(v2["platform:sponsor"].values())
