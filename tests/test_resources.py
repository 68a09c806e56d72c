"""Campaigns, petitions, attendances and people: where they are found, and what of them is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

import osdi_frames as of
from tests.service_documents import (
    ATTENDANCE,
    EVENT_CAMPAIGN,
    RESPONSE,
    SIBLINGS,
    SIGNATURE,
    SIGNATURE_OF_A_PAGE,
)
from tests.strategies import spelled

MONDAY, TUESDAY = "2026-05-04T00:00:00Z", "2026-05-05T00:00:00Z"


def page(key: str, *entries: Any) -> dict[str, Any]:
    return {"total_pages": 1, "_embedded": {key: list(entries)}}


@pytest.mark.parametrize("prefix", ["platform", "action_network", "change_desk"])
def test_a_collection_is_found_under_the_prefix_of_the_service(prefix):
    found = of.read_table(
        spelled(page("<p>:event_campaigns", EVENT_CAMPAIGN), prefix), "event_campaigns", prefix="change_desk"
    )
    assert found[["event_campaign_id", "title", "sponsor_title"]].values.tolist() == [
        ["c1", "Days of action", "Progress"]
    ]


def test_a_collection_of_an_unknown_prefix_is_another_type():
    unknown = spelled(page("<p>:event_campaigns", EVENT_CAMPAIGN), "change_desk")
    with pytest.warns(of.errors.SourceWarning, match="change_desk:event_campaigns, which no table declares"):
        assert of.read_table(unknown, "event_campaigns").empty
    assert of.check(unknown)[["problem", "detail"]].values.tolist() == [
        ["other type", "change_desk:event_campaigns"]
    ]


def test_attendances_are_found_under_either_key_and_under_both():
    one, two = ({"identifiers": [f"platform:{name}"], "status": "accepted"} for name in "ab")
    for keys in (["osdi:attendances"], ["osdi:attendance"], ["osdi:attendances", "osdi:attendance"]):
        embedded = {key: [one, two | {"status": 7}] for key in keys}
        rows = of.read_table({"_embedded": embedded}, "attendances", dedupe=False)
        assert rows["attendance_id"].tolist() == ["a", "b"] * len(keys)
        assert rows["element"].tolist() == list(range(2 * len(keys)))


def test_a_misfit_in_a_collection_of_the_services_own_is_named_and_the_others_are_read():
    entries = [{"identifiers": [f"platform:{n}"], "total_rsvps": n or "lots"} for n in range(3)]
    found = page("platform:event_campaigns", *entries)
    with pytest.warns(of.ProblemsWarning):
        read = of.read_table(found, "event_campaigns", on_error="skip")
    assert read["total_rsvps"].fillna(-1).tolist() == [-1, 1, 2]
    assert of.check(found)["detail"].tolist() == ['event_campaign: total_rsvps = "xxxx"']


def test_a_single_resource_is_recognised_by_its_address(tmp_path):
    kinds = {
        "event_campaigns/c1": ("event_campaigns", "event_campaign_id"),
        "petitions/c1/": ("petitions", "petition_id"),
        "events/e1/attendances/c1?x=1": ("attendances", "attendance_id"),
        "petitions/p1/signatures/c1": ("signatures", "signature_id"),
        "people/c1": ("people", "person_id"),
        "forms/f1/submissions/c1": ("submissions", "submission_id"),
        "donations/c1": ("donations", "donation_id"),
        "fundraising_pages/c1": ("fundraising_pages", "fundraising_page_id"),
        "advocacy_campaigns/v1/outreaches/c1": ("outreaches", "outreach_id"),
        "surveys/y1/responses/c1": ("responses", "response_id"),
        "tags/t1/taggings/c1": ("taggings", "tagging_id"),
        "tags/c1": ("tags", "tag_id"),
    }
    (tmp_path / "a.ndjson").write_text(
        "\n".join(
            json.dumps({"title": "x", "_links": {"self": {"href": f"https://example.org/api/v2/{address}"}}})
            for address in kinds
        )
    )
    for (table, column), frame in zip(
        kinds.values(), of.open(tmp_path).tables([table for table, _ in kinds.values()]).values(), strict=True
    ):
        assert frame[column].tolist() == ["c1"], table
    assert set(of.check(tmp_path)["problem"]) <= {"undeclared key"}


def test_a_delivery_of_signatures_and_attendances_is_read_into_both_tables():
    elements = [{"osdi:signature": SIGNATURE} | SIBLINGS, {"osdi:attendance": ATTENDANCE} | SIBLINGS]
    delivery = spelled({"received_at": MONDAY, "body": elements}, "platform")
    tables = of.open(delivery).tables(["signatures", "attendances"])
    (signature,), (attendance,) = (table.to_dict("records") for table in tables.values())
    assert (signature["signature_id"], signature["element"]) == ("s1", 0)
    assert (attendance["attendance_id"], attendance["element"]) == ("a1", 1)
    assert (attendance["event_id"], attendance["person_id"], attendance["status"]) == ("e1", "p9", "accepted")
    for name in ("given_name", "email", "location_locality", "add_tags", "idempotency_key", "sponsor_title"):
        assert attendance[name] == signature[name]


@pytest.mark.parametrize("escaped", [False, True], ids=["plain", "escaped"])
def test_a_response_is_read_under_each_key_of_its_type_and_its_unknown_keys_are_listed(tmp_path, escaped):
    """In one delivery with what queries read, whichever key of the type is in it."""
    keys = ["action_network:response", "platform:response", "osdi:response", "desk:response"]
    for number, key in enumerate(keys):
        response = RESPONSE | {"identifiers": [f"platform:d{number}"], "mood": 1}
        elements = [{"osdi:signature": SIGNATURE} | SIBLINGS, {key: response} | SIBLINGS]
        text = json.dumps(spelled(elements, "platform"))
        escapes = key.replace(":", "\\u003a").replace("r", "\\u0072")
        (tmp_path / f"{number}.json").write_text(text.replace(key, escapes) if escaped else text)
    tables = of.open(tmp_path, prefix="desk").tables(["signatures", "responses", "people"])
    responses = tables["responses"]
    assert sorted(responses["response_id"]) == ["d0", "d1", "d2", "d3"]
    assert {*responses["survey_id"]} == {"b1"}
    assert {*responses["element"]} == {1}
    assert tables["signatures"]["signature_id"].tolist() == ["s1"]
    assert tables["people"]["person_id"].tolist() == ["p9"]
    listed = of.check(tmp_path, prefix="desk").query("problem == 'undeclared key'")
    assert listed[["detail", "count"]].values.tolist() == [["response: mood", len(keys)]]


def test_a_signature_of_an_api_page_has_its_ids_and_dates_without_links():
    read = of.read_signatures(page("osdi:signatures", spelled(SIGNATURE_OF_A_PAGE, "platform")))
    row = read.astype(str).iloc[0]
    assert (row.petition_id, row.person_id) == ("q1", "p9")
    assert (row.created_date, row.modified_date) == ("2026-04-01 00:00:01+00:00", "2026-04-01 00:00:02+00:00")
    assert (row.email_referrer, row.mobile_message_referrer) == ("m1", "t1")


def test_of_equally_new_versions_the_delivery_is_kept_and_a_newer_page_before_it():
    own = {"identifiers": ["platform:a"], "modified_date": MONDAY, "status": "accepted"}
    delivery = {"received_at": MONDAY, "body": [{"osdi:attendance": own | {"person": {"given_name": "Ada"}}}]}
    same = {"fetched_at": TUESDAY, "body": page("osdi:attendances", own)}
    newer = {
        "fetched_at": TUESDAY,
        "body": page("osdi:attendances", own | {"status": "attended", "modified_date": TUESDAY}),
    }
    for documents in ([delivery, same], [same, delivery]):
        assert of.read_table(documents, "attendances")["given_name"].tolist() == ["Ada"]
    for documents in ([delivery, same, newer], [newer, same, delivery]):
        assert of.read_table(documents, "attendances")["status"].tolist() == ["attended"]


MADE_OVER_THE_API = {
    "title": "March",
    "origin_system": "CRM",
    "total_accepted": 1,
    "platform:hidden": False,
    "_links": {"self": {"href": "https://Example.org:443/api/v2/events/a"}},
}
CAMPAIGN = {"platform:event_campaign": {"href": "https://example.org/api/v2/event_campaigns/c1"}}


BY_HAND = [
    {"capacity": 40},
    {"featured_image_url": "https://example.com/a.png"},
    {"platform:hidden": True},
    {"origin_system": "Platform"},
    {"origin_system": "Action Network"},
    {"origin_system": "action_network"},
    {"browser_url": "https://example.org/events/march"},
    {"browser_url": "HTTP://a:b@EXAMPLE.org:8080?event=march"},
    {"browser_url": "//example.org/events/march"},
    {"url": "https://crm.example.com/march"},
]
OVER_THE_API = [
    {"platform:event_campaign_id": "c1"},
    {"_links": MADE_OVER_THE_API["_links"] | CAMPAIGN},
    {"browser_url": "https://crm.example.com/march"},
    {"browser_url": "https://example.org.example.com/march"},
    {"browser_url": "https://example.com/?of=https://example.org/"},
    {"browser_url": "march"},
    {"browser_url": "https://example.org/march", "_links": {}},
    {"browser_url": "march", "_links": {"self": {"href": "events/a"}}},
    {"origin_system": "The Platform"},
]


def labels_of(events):
    events = [event | {"identifiers": [f"platform:{number}"]} for number, event in enumerate(events)]
    return of.read_events(events)["targeting_label"].fillna("").tolist()


def test_an_event_that_shows_that_it_was_made_in_the_user_interface_has_no_targeting_label():
    """Interface 1.2 and 1.5, 2.1 and 2.8: what the API cannot set, a page of the service, or its name as origin."""
    event = MADE_OVER_THE_API
    assert labels_of([event, event | {"total_accepted": 0}]) == ["[1, (CRM) Event], (March)", ""]
    assert labels_of([event | shown for shown in BY_HAND]) == [""] * len(BY_HAND)


def test_an_event_that_shows_nothing_that_only_the_user_interface_makes_has_its_targeting_label():
    """Interface 1.5; deployments make events in a campaign over the API, too (4)."""
    events = [MADE_OVER_THE_API | shown for shown in OVER_THE_API]
    assert labels_of(events) == [f"[1, ({event['origin_system']}) Event], (March)" for event in events]


def test_the_service_s_name_as_origin_is_that_of_the_prefix_which_a_reading_is_given():
    event = MADE_OVER_THE_API | {"origin_system": "My Deployment!"}
    [label] = of.read_events([event])["targeting_label"]
    assert label == "[1, (My Deployment!) Event], (March)"
    assert of.read_events([event], prefix="my_deployment")["targeting_label"].isna().all()
