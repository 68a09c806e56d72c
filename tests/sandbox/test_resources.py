"""Resources other than events: keys, fields, counts, filters and links of each collection, in both versions."""

from __future__ import annotations

from . import schemas
from .conftest import event_id
from .schemas import assert_valid, collection
from .test_collections import pages

ADA = {"given_name": "Ada", "email_addresses": [{"address": "ada@example.org"}]}


COLLECTIONS = {
    "event_campaigns": ("platform:event_campaigns", schemas.event_campaign(), None, 1),
    "petitions": ("osdi:petitions", schemas.petition(), None, 1),
    "events/{event}/attendances": ("osdi:attendances", schemas.attendance(), "osdi:attendance", 2),
    "petitions/{petition}/signatures": ("osdi:signatures", schemas.signature(), None, 2),
    "people": ("osdi:people", schemas.person(), None, 4),
    "tags": ("osdi:tags", schemas.tag(), None, 1),
    "event_campaigns/{campaign}/events": ("osdi:events", schemas.event_v2(), None, 2),
}


def test_a_collection_has_the_keys_and_fields_of_its_resource_and_each_row_is_the_resource_alone(stocked):
    for path, (name, item, link_array, count) in COLLECTIONS.items():
        page = stocked.read(path)
        assert_valid(page, collection(name, item, link_array=link_array))
        rows = page["_embedded"][name]
        assert len(rows) == count
        assert page["_links"][link_array or name] == [row["_links"]["self"] for row in rows]
        for row in rows:
            assert stocked.v2.get(row["_links"]["self"]["href"]).json() == row


EMPTY = {
    **dict.fromkeys(("lists", "messages", "queries", "wrappers", "unique_id_lists"), "osdi"),
    "campaigns": "platform",
}


def test_a_collection_of_which_nothing_is_kept_is_an_empty_page_and_its_resources_are_unknown(person):
    """Clients that list everything come to an end; what an address with an id leads to is not there."""
    for name in EMPTY:
        key = f"{EMPTY[name]}:{name}"
        for client in (person.v2, person.v1):
            page = client.get(f"/{name}?page=2").raise_for_status().json()
            version = "v2" if client is person.v2 else "v1"
            assert_valid(page, collection(key, {}, version=version))
            assert (page["total_records"], page["_embedded"]) == (0, {key: []})
            assert key in client.get("").json()["_links"]
            assert client.get(f"/{name}/x").status_code == 404
            assert client.post(f"/{name}", json={"title": "A", "origin_system": "B"}).status_code == 405
        for inside in ("forms/x/submissions", "fundraising_pages/x/donations", "lists/x/items"):
            assert person.v2.get(f"/{inside}").status_code == 404
        if name == "campaigns":
            assert person.v2.get(f"/{name}", params={"filter": "title eq 'A'"}).status_code == 200


def test_every_link_of_every_resource_resolves_in_both_versions(stocked):
    for client in (stocked.v2, stocked.v1):
        segment = "attendances" if client is stocked.v2 else "attendance"
        paths = [*COLLECTIONS, "tags"]
        for path in (path.format(**stocked.ids).replace("attendances", segment) for path in paths):
            page = client.get(f"/{path}").raise_for_status().json()
            [rows] = page["_embedded"].values()
            for name, link in rows[0]["_links"].items():
                if name != "curies":
                    assert client.get(link["href"]).status_code == 200, (path, name)


def test_counts_are_those_of_the_collections_and_acts_name_person_and_parent(stocked):
    """Campaigns count their events and those events' RSVPs, petitions their signatures; acts embed nobody."""
    campaign, events = (
        stocked.read("event_campaigns/{campaign}"),
        stocked.rows("event_campaigns/{campaign}/events"),
    )
    assert campaign["total_events"] == len(events) == 2
    assert campaign["total_rsvps"] == sum(one["total_accepted"] for one in events) == 3
    petition = stocked.read("petitions/{petition}")
    assert petition["total_signatures"] == len(stocked.rows("petitions/{petition}/signatures")) == 2
    # as deployments do: personal data in a page of petitions, which no table may take up
    assert petition["_embedded"]["osdi:creator"]["given_name"] == "Greta"
    for path, parent in (
        ("events/{event}/attendances", "event"),
        ("petitions/{petition}/signatures", "petition"),
    ):
        for one in stocked.rows(path):
            assert one["_links"]["osdi:person"]["href"].endswith(f"/people/{one['platform:person_id']}")
            assert one[f"platform:{parent}_id"] == stocked.ids[parent]
            assert not {"person", "add_tags", "_embedded"} & one.keys()


def test_attendances_are_also_under_the_campaign_of_their_event_and_under_their_person(stocked):
    direct = stocked.rows("events/{event}/attendances")
    assert stocked.rows("event_campaigns/{campaign}/events/{event}/attendances") == direct
    assert stocked.rows(f"people/{direct[0]['platform:person_id']}/attendances") == direct[:1]
    elsewhere = f"/event_campaigns/{stocked.ids['petition']}/events/{stocked.ids['event']}/attendances"
    assert stocked.v2.get(elsewhere).status_code == 404


def test_an_rsvp_that_is_repeated_replaces_the_first_one(person):
    made = person.create()
    path, mail = f"/events/{event_id(made)}/attendances", {"source": "mail", "website": "x"}
    first = person.v2.post(path, json={"person": ADA, "referrer_data": {"source": "poster"}}).json()
    again = person.v2.post(path, json={"person": ADA, "platform:referrer_data": mail}).json()
    assert first["platform:referrer_data"] == {"source": "poster", "website": "api"}
    assert again["platform:referrer_data"] == mail
    assert person.v2.get(path).json()["_embedded"]["osdi:attendances"] == [again]
    assert again["_links"]["self"] == first["_links"]["self"]
    assert person.v2.get(f"/events/{event_id(made)}").json()["total_accepted"] == 1


def test_a_put_checks_an_attendee_in_and_nothing_else_is_a_status(person):
    path = f"/events/{event_id(person.create())}/attendances"
    attendance = person.v2.post(path, json={"person": ADA, "status": "attended"}).json()
    here = attendance["_links"]["self"]["href"]
    assert attendance["status"] == "accepted"
    assert person.v2.put(here, json={"status": "attended"}).json()["status"] == "attended"
    assert person.v2.put(here, json={"status": "asleep"}).json()["status"] == "attended"


# per_page and filter


def test_per_page_is_kept_by_next_and_never_above_the_page_size(stocked):
    for asked, given in (("2", 2), ("5", 5), ("25", 5), ("9" * 30, 5)):
        assert stocked.read("people", per_page=asked)["per_page"] == given
        read = list(pages(stocked.v2, f"/people?per_page={asked}"))
        assert sum(len(page["_embedded"]["osdi:people"]) for page in read) == 4
        assert len(read) == (2 if given == 2 else 1)


def test_an_impossible_per_page_is_refused(stocked):
    for asked in ("0", "x", "-1", ""):
        answer = stocked.v2.get("/people", params={"per_page": asked})
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("per_page must be a number")


def test_a_filter_chooses_from_every_collection_that_has_one(stocked):
    for path, text, count in (
        ("people", "email_address eq 'ADA@example.org'", 1),
        ("people", "given_name eq 'Ada' and created_date gt '2020-01-01'", 3),
        ("people", "region eq 'CA'", 0),
        ("petitions", "title eq 'Clean water' and origin_system eq 'osdi-frames sandbox'", 1),
        ("event_campaigns", "title gt 'A' and modified_date lt '2000-01-01'", 0),
        ("events/{event}/attendances", "created_date gt '2000-01-01'", 2),
        ("events/{event}/attendances", "identifier eq 'platform:nobody'", 0),
        ("petitions/{petition}/signatures", "modified_date gt '2000-01-01'", 2),
        ("events", "identifier eq 'platform:{event}'", 1),
    ):
        assert len(stocked.rows(path, filter=text.format(**stocked.ids))) == count


def test_a_filter_that_is_not_documented_is_refused(stocked):
    for path, text in (
        ("tags", "name eq 'volunteer'"),
        ("people", "title eq 'x'"),
        ("petitions", "start_date gt '2026-01-01'"),
        ("event_campaigns", "email_address eq 'x'"),
        ("events/{event}/attendances", "status eq 'accepted'"),
        ("petitions/{petition}/signatures", "comments eq 'x'"),
    ):
        answer = stocked.v2.get(f"/{path.format(**stocked.ids)}", params={"filter": text})
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("filter: ")


def test_a_filter_has_at_most_500_comparisons(person):
    for clauses, status in ((500, 200), (501, 400), (2000, 400)):
        text = " and ".join(["title gt 'A'"] * clauses)
        answer = person.v2.get("/events", params={"filter": text})
        assert answer.status_code == status


# people


def sign_up(caller, **person):
    return caller.v2.post("/people", json={"person": person}).raise_for_status().json()


def mail(address):
    return {"email_addresses": [{"address": address}]}


def phone(number):
    return {"phone_numbers": [{"number": number}]}


def test_the_signup_helper_makes_a_person_and_matches_by_e_mail(person):
    address = f"{person.key}@example.org"
    made = sign_up(person, given_name="Zoë", custom_fields={"a": "1"}, **mail(address))
    assert_valid(made, schemas.person())
    assert made["email_addresses"] == [{"status": "subscribed", "address": address, "primary": True}]
    changed = sign_up(person, custom_fields={"b": "2"}, **mail(address.upper()))
    assert changed["_links"]["self"] == made["_links"]["self"]
    assert (changed["given_name"], changed["custom_fields"]) == ("Zoë", {"a": "1", "b": "2"})
    listed = person.read("people", filter=f"email_address eq '{address}'")
    assert listed["_embedded"]["osdi:people"] == [changed]
    assert "total_records" not in listed


def test_a_person_is_known_by_a_phone_number_where_there_is_no_other_e_mail_address(stocked):
    made = sign_up(stocked, given_name="Zoë", **phone("+1 (510) 555-0142"))
    again = sign_up(stocked, family_name="Baker", **phone("15105550142"))
    assert (again["given_name"], again["family_name"]) == ("Zoë", "Baker")
    mailed = sign_up(stocked, **phone("15105550142"), **mail("zoe@example.org"))
    by_mail = sign_up(stocked, **mail("ZOE@example.org"))
    body = {"person": phone("15105550142")}
    acts = [
        stocked.v2.post(f"/{path.format(**stocked.ids)}", json=body).json()["_links"]["osdi:person"]
        for path in ("petitions/{petition}/signatures", "events/{event}/attendances")
    ]
    assert [*(one["_links"]["self"] for one in (again, mailed, by_mail)), *acts] == [
        made["_links"]["self"]
    ] * 5
    # Two people with different e-mail addresses stay two; the number is that of the one who had it first.
    other = sign_up(stocked, **phone("15105550142"), **mail("second@example.org"))
    assert other["_links"]["self"] != made["_links"]["self"]
    assert sign_up(stocked, **phone("1-510-555-0142"))["_links"]["self"] == made["_links"]["self"]


def test_the_signup_helper_needs_an_e_mail_address_or_a_phone_number(person):
    for body in ({}, {"person": {"given_name": "Zoë"}}, ADA, {"person": {"email_addresses": [{}]}}):
        answer = person.v2.post("/people", json=body)
        assert answer.status_code == 400
        assert "e-mail address or a phone number" in answer.json()["error"]


def test_a_phone_is_unsubscribed_and_an_address_in_the_us_unless_the_body_says_otherwise(person):
    numbers = [{"number": "15105550100"}, {"number": "15105550101", "status": "subscribed", "primary": True}]
    addresses = [{"postal_code": "94607"}, {"country": "FR"}]
    made = sign_up(person, phone_numbers=numbers, postal_addresses=addresses)
    statuses = [(one["status"], one["primary"]) for one in made["phone_numbers"]]
    assert statuses == [("unsubscribed", False), ("subscribed", True)]
    assert [one["country"] for one in made["postal_addresses"]] == ["US", "FR"]


def test_a_put_changes_a_person_of_the_key_but_not_to_the_address_of_another(person, group):
    first, second = (sign_up(person, **mail(f"{name}{person.key}@example.org")) for name in "ab")
    here = first["_links"]["self"]["href"]
    changed = person.v2.put(here, json={"family_name": "Baker"}).json()
    assert (changed["family_name"], changed["email_addresses"]) == ("Baker", first["email_addresses"])
    taken = person.v2.put(here, json={"family_name": "Cole", "email_addresses": second["email_addresses"]})
    assert (taken.status_code, taken.json()) == (200, changed)
    assert group.v2.get(here).json() == changed
    assert group.v2.put(here, json={"family_name": "Dole"}).status_code == 404


def test_people_who_act_are_on_the_list_of_the_key_and_of_no_other(person, group):
    made = person.create()
    body = {"person": mail(f"{person.key}@example.org")}
    attendance = person.v2.post(f"/events/{event_id(made)}/attendances", json=body).json()
    [listed] = person.rows("people")
    assert listed["_links"]["self"] == attendance["_links"]["osdi:person"]
    assert group.rows("people") == []


# tags and the entry point


def test_tags_are_made_once_and_helpers_add_and_remove_known_ones(stocked):
    [tag] = stocked.rows("tags")
    assert stocked.v2.post("/tags", json={"name": "volunteer"}).json() == tag
    assert stocked.v2.post("/tags", json={}).status_code == 400
    assert (
        len(stocked.v2.get(tag["_links"]["osdi:taggings"]["href"]).json()["_embedded"]["osdi:taggings"]) == 2
    )
    ada = stocked.v2.post("/people", json={"person": ADA, "add_tags": ["volunteer", "unknown"]}).json()

    def taggings():
        return stocked.v2.get(ada["_links"]["osdi:taggings"]["href"]).json()["_embedded"]["osdi:taggings"]

    [tagging] = taggings()
    assert tagging["item_type"] == "osdi:person"
    assert tagging["_links"]["osdi:tag"] == tag["_links"]["self"]
    stocked.v2.post("/people", json={"person": ADA, "remove_tags": ["volunteer"]})
    assert taggings() == []
    link = {"_links": {"osdi:person": ada["_links"]["self"]}}
    assert stocked.v2.post(tag["_links"]["osdi:taggings"]["href"], json=link).status_code == 200
    assert len(taggings()) == 1


def test_a_tagging_can_be_deleted_and_nothing_else(stocked):
    for under in ("tag", "person"):
        ada = stocked.v2.post("/people", json={"person": ADA, "add_tags": ["volunteer"]}).json()
        taggings = ada["_links"]["osdi:taggings"]["href"]
        [tagging] = stocked.v2.get(taggings).json()["_embedded"]["osdi:taggings"]
        here = tagging["_links"]["self"]["href"]
        address = here if under == "tag" else f"{taggings}/{here.rpartition('/')[2]}"
        tag = tagging["_links"]["osdi:tag"]["href"]
        before = stocked.v2.get(f"{tag}/taggings").json()["total_records"]
        assert stocked.v2.delete(address, headers={"OSDI-API-Token": "wrong"}).status_code == 403
        answer = stocked.v2.delete(address)
        assert (answer.status_code, answer.json()) == (
            200,
            {"notice": "This tagging was successfully deleted."},
        )
        assert stocked.v2.get(taggings).json()["total_records"] == 0
        assert stocked.v2.get(f"{tag}/taggings").json()["total_records"] == before - 1
        assert stocked.v2.delete(address).status_code == 404
        assert stocked.v2.get(tag).status_code == 200
        for other in (tag, ada["_links"]["self"]["href"], "/events/x"):
            assert stocked.v2.delete(other).status_code == 405
        assert "DELETE" in stocked.v2.patch(here).headers["Allow"]


def test_the_entry_point_answers_any_key_and_names_tags_for_a_valid_one(running, person):
    for slash in ("", "/"):
        answers = {}
        for key in (person.key, "wrong"):
            answer = person.v2.get(f"{running.base_url}{slash}", headers={"OSDI-API-Token": key})
            assert answer.status_code == 200
            answers[key] = answer.json()
        links = answers[person.key]["_links"]
        assert answers[person.key]["namespace"] == "platform"
        assert answers[person.key]["max_page_size"] == 25
        assert links.keys() - answers["wrong"]["_links"].keys() == {"osdi:tags"}
        for name in links.keys() - {"curies"}:
            assert person.v2.get(links[name]["href"]).status_code == 200, name


# modified_date


def test_what_changes_nothing_does_not_move_modified_date(tmp_path, callers):
    """Interface 2.1 modified_date: a pull since a time sees what changed, and no more."""
    from datetime import UTC, datetime, timedelta

    from osdi_frames import sandbox

    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    with sandbox.serve(sandbox.create_app(now=lambda: clock[0])) as running:
        caller = callers("group:sandbox", at=running)
        made = caller.create(location={"postal_code": "94607"}, identifiers=["crm:1"])
        signup = {"person": ADA}
        ada = caller.v2.post("/people", json=signup).json()
        clock[0] += timedelta(hours=1)
        same = {
            "title": made["title"],
            "location": {"postal_code": "94607"},
            "identifiers": ["crm:1"],
            "capacity": 7,
        }
        for body in ({}, same, {"title": 7}, {"total_accepted": 99}):
            assert caller.v2.put(f"/events/{event_id(made)}", json=body).json() == made
        assert caller.v2.post("/people", json=signup).json() == ada
        assert caller.v2.put(ada["_links"]["self"]["href"], json={}).json() == ada
        moved = caller.v2.put(f"/events/{event_id(made)}", json={"title": "New"}).json()
        assert moved["modified_date"] == "2026-01-01T01:00:00Z"
