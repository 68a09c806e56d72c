"""Signatures and their webhooks (interface 2.4, 2.7, 4, 6)."""

from __future__ import annotations

import pytest

from osdi_frames import sandbox
from osdi_frames.sandbox.delivery import OVER_AN_HOUR, TIME_LIMIT
from tests.clocks import wait_for

from .schemas import assert_valid, collection, delivery, signature

PERSON = {
    "given_name": "Zoë",
    "family_name": "O'Brien",
    "email_addresses": [
        {"primary": True, "address": "zoe@example.org", "status": "subscribed"},
        {"address": "z@example.net"},
    ],
    "phone_numbers": [
        {"primary": True, "number": "+15105550100", "number_type": "Mobile", "status": "subscribed"}
    ],
    "postal_addresses": [
        {
            "primary": True,
            "address_lines": ["1 Main St"],
            "locality": "Oakland",
            "postal_code": "94607",
            "region": "CA",
            "country": "US",
            "location": {"latitude": 37.8, "longitude": -122.27, "accuracy": "Rooftop"},
        }
    ],
    "languages_spoken": ["en", "es"],
    "custom_fields": {"shirt": "XL", "pets": ""},
}


@pytest.fixture
def petition(running, group):
    """Make a petition of the group."""
    return running.admin("POST", "petitions", title="Clean water", account=group.account)


@pytest.fixture
def hook(running, group, receiver):
    """Register a webhook for all petitions of the group."""
    return running.admin("POST", "webhooks", url=receiver.url, account=group.account)


def messages(running, hook, state=None):
    """Return the messages to one webhook."""
    listed = running.admin("GET", f"messages?state={state}" if state else "messages")
    return [message for message in listed if message["webhook_id"] == hook["webhook_id"]]


def sign(caller, petition, **body):
    body = {"person": PERSON} | body
    return caller.v2.post(f"/petitions/{petition['id']}/signatures", json=body).raise_for_status().json()


@pytest.mark.contract(
    "2.7 identifiers, created_date, modified_date, comments, platform:referrer_data, person, add_tags",
    "2.7 _links, self, osdi:person, osdi:petition, platform:sponsor",
    "4 POST <webhook_url>",
    "6 event type, emission",
)
def test_a_signature_is_delivered_with_what_was_entered(running, group, petition, hook, receiver):
    """Interface 2.7: an array of objects keyed osdi:signature, with sponsor (under url) and idempotency_key; 4, 6."""
    entered = {"comments": "Now! <b>", "add_tags": ["a", "b"]}
    data, identifier = {"source": "email", "website": "example.org"}, f"crm:{group.key}"
    signed = sign(group, petition, identifiers=[identifier], referrer_data=data, **entered)
    wait_for(lambda: receiver.got)
    [[element]] = receiver.deliveries()
    assert_valid([element], delivery())
    assert receiver.got[0].headers["Content-Type"] == "application/json"
    assert element["platform:sponsor"] == {"title": "Clean Water", "url": "https://group.example.org"}
    delivered, links = element["osdi:signature"], signed["_links"]
    own = links["self"]["href"].rpartition("/")[2]
    assert delivered | entered | {"platform:referrer_data": data} == delivered
    assert delivered["identifiers"] == [f"platform:{own}", identifier]
    assert delivered["created_date"] == delivered["modified_date"] == signed["created_date"]
    assert delivered["person"] | PERSON == delivered["person"]
    assert delivered["_links"] | links == links
    base = f"{running.base_url}/petitions/{petition['id']}"
    assert (links["osdi:petition"]["href"], links["self"]["href"]) == (base, f"{base}/signatures/{own}")
    for name in ("self", "osdi:person", "osdi:petition"):
        assert group.v2.get(links[name]["href"]).status_code == 200


@pytest.mark.contract(
    "2.7 person.created_date and person.modified_date, person.family_name",
    "2.7 person.postal_addresses, person.email_addresses, person.phone_numbers",
    "2.7 person.languages_spoken, person.custom_fields",
    "6 payload",
)
def test_a_payload_has_only_the_fields_that_the_person_entered(group, petition, hook, receiver):
    """Interface 2.7 person and its sub-fields, 6: also when the record knows more."""
    sign(group, petition)
    for number, entered in enumerate((*PERSON, None), start=2):
        body = {entered: PERSON[entered]} if entered else {}
        sign(group, petition, person=body)
        wait_for(lambda: len(receiver.got) == number)  # noqa: B023 (waited for here)
        person = receiver.elements()[-1]["osdi:signature"]["person"]
        assert person.keys() == {"created_date", "modified_date", *body}
        assert person | body == person


@pytest.mark.contract("9 webhook payload")
def test_a_signature_by_link_has_no_fields_of_the_person_and_one_over_v1_has_v2_names(
    running, group, petition, hook, receiver
):
    """Interface 2.7 person, platform:referrer_data: a missing source is none in the API, and not delivered; 9."""
    link = {"href": f"{running.base_url}/people/{group.person_id}"}
    body, path = {"_links": {"osdi:person": link}}, f"/petitions/{petition['id']}/signatures"
    signed = group.v2.post(path, json=body).raise_for_status().json()
    assert signed["platform:referrer_data"] == {"source": "none", "website": "api"}
    group.v1.post(path, json={"person": PERSON}).raise_for_status()
    wait_for(lambda: len(receiver.got) == 2)
    of_v2, of_v1 = (element["osdi:signature"] for element in receiver.elements())
    assert of_v2["person"].keys() == {"created_date", "modified_date"}
    assert of_v2["_links"]["osdi:person"] == link
    assert "platform:referrer_data" not in of_v2
    assert_valid(receiver.deliveries()[1], delivery())
    assert "/api/v2/" in of_v1["_links"]["self"]["href"]


@pytest.mark.contract("2.4 title")
def test_the_sponsor_is_the_referring_group_when_its_code_was_used(running, group, petition, hook, receiver):
    """Interface 2.4, 2.7 platform:sponsor, referrer: and that group's own webhooks get it, too."""
    founder = running.admin("POST", "people", given_name="Referring")["person_id"]
    code = f"code-{group.key}"
    other = running.admin("POST", "groups", title="Referring", founder=founder, referrer_code=code)
    theirs = running.admin("POST", "webhooks", url=f"{receiver.url}/theirs", account=other["account_id"])
    sign(group, petition, referrer_data={"referrer": code})
    wait_for(lambda: len(receiver.got) == 2)
    assert {message["webhook_id"] for message in running.admin("GET", "messages")} >= {theirs["webhook_id"]}
    for element in receiver.elements():
        assert element["platform:sponsor"]["title"] == "Referring"
        assert element["osdi:signature"]["platform:referrer_data"] == {"referrer": code}
    link = receiver.elements()[0]["osdi:signature"]["_links"]["osdi:petition"]["href"]
    key = running.admin("POST", "keys", account=other["account_id"])["key"]
    assert (
        group.v2.get(link, headers={"OSDI-API-Token": key}).status_code == 404
    )  # no permission on that petition


@pytest.mark.contract("2.7 source, referrer, website")
def test_a_referrer_must_be_a_valid_code(running, group, petition):
    """Interface 2.7 source, referrer, website: an unknown code is ignored, the others are kept."""
    person_s = f"ada-{group.key}"
    running.admin("POST", "people", given_name="Ada", referrer_code=person_s)
    sent = {"source": "email", "referrer": "made-up", "website": "example.org"}
    signed = sign(group, petition, **{"platform:referrer_data": sent})
    assert signed["platform:referrer_data"] == {"source": "email", "website": "example.org"}
    signed = sign(group, petition, referrer_data={"referrer": person_s})
    assert signed["platform:referrer_data"]["referrer"] == person_s


def test_the_collection_has_every_signature(group, petition):
    """Interface 2.7: GET and POST of petitions/<id>/signatures; 2.6."""
    signed = [
        sign(
            group,
            petition,
            person={"email_addresses": [{"address": f"{number}{group.key}@example.org"}]},
            comments=str(number),
        )
        for number in range(3)
    ]
    page = group.v2.get(f"/petitions/{petition['id']}/signatures").json()
    assert_valid(page, collection("osdi:signatures", signature()))
    assert [one["comments"] for one in page["_embedded"]["osdi:signatures"]] == ["2", "1", "0"]
    assert page["_embedded"]["osdi:signatures"][0] == signed[2]
    person = signed[0]["_links"]["osdi:person"]["href"]
    assert group.v2.get(f"{person}/signatures").json()["_embedded"]["osdi:signatures"] == signed[:1]


def test_a_repeated_signature_replaces_the_one_of_the_same_person(group, petition, hook, receiver):
    """Interface 2.7: one signature for a person and a petition, under its first id; each signing is delivered."""
    signer = {"email_addresses": [{"address": f"{group.key}@example.org"}]}
    first = sign(group, petition, person=signer, comments="old", referrer_data={"source": "email"})
    again = sign(group, petition, person=signer)
    assert again["_links"]["self"] == first["_links"]["self"]
    assert "comments" not in again
    assert again["platform:referrer_data"] == {"source": "none", "website": "api"}
    page = group.v2.get(f"/petitions/{petition['id']}/signatures").json()
    assert page["_embedded"]["osdi:signatures"] == [again]
    assert group.v2.get(f"/petitions/{petition['id']}").json()["total_signatures"] == 1
    wait_for(lambda: len(receiver.got) == 2)


# triggers (6)


@pytest.mark.contract("6 trigger")
def test_triggers_are_one_petition_or_all_with_uploads_or_without(running, group, petition, receiver):
    """Interface 6: one request for each webhook whose trigger matches."""
    other = running.admin("POST", "petitions", title="Other", account=group.account)
    triggers = {
        "one": {"petition": petition["id"]},
        "all": {"account": group.account},
        "uploads": {"account": group.account, "uploads": True},
    }
    for name, trigger in triggers.items():
        running.admin("POST", "webhooks", url=f"{receiver.url}/{name}", **trigger)
    sign(group, petition, comments="first")
    sign(group, other, comments="other")
    running.admin(
        "POST", "uploads", petition=petition["id"], signatures=[{"comments": "uploaded", "person": {}}]
    )
    wait_for(lambda: len(receiver.got) == 6)
    delivered = {
        (request.path.rpartition("/")[2], element["osdi:signature"]["comments"])
        for request, [element] in zip(receiver.got, receiver.deliveries(), strict=True)
    }
    everywhere = {("one", "first"), ("all", "first"), ("uploads", "first")}
    assert delivered == everywhere | {("all", "other"), ("uploads", "other"), ("uploads", "uploaded")}


@pytest.mark.contract("6 no webhook of event endpoints")
def test_events_and_attendances_emit_nothing(running, group, hook, receiver):
    """Interface 6: the event endpoints emit no webhook."""
    made = group.create()
    group.v2.post(made["_links"]["osdi:attendances"]["href"], json={"person": PERSON}).raise_for_status()
    assert messages(running, hook) == []
    assert receiver.got == []


# delivery (2.7, 6)


@pytest.mark.contract("2.7 idempotency_key", "6 idempotency_key")
def test_the_idempotency_key_is_the_same_over_retries_and_another_for_each_message(
    group, petition, hook, receiver
):
    """Interface 2.7 idempotency_key, 6: unique per message, identical across its retries."""
    receiver.statuses[:] = [500, 302, 201]
    sign(group, petition)
    wait_for(lambda: len(receiver.got) == 4)
    assert len({request.body for request in receiver.got}) == 1
    sign(group, petition)
    wait_for(lambda: len(receiver.got) == 5)
    assert len({element["idempotency_key"] for element in receiver.elements()}) == 2


@pytest.mark.contract("6 retries and success")
def test_only_200_counts_and_after_three_retries_a_message_is_set_aside(clocked, clock, receiver):
    """Interface 6: the receiver status that counts as success; the retry schedule; both are choices."""
    receiver.statuses[:] = [500, 204, 404, 503]
    clocked.admin("POST", "webhooks", url=receiver.url)
    petition = clocked.admin("POST", "petitions", title="Clean water")["id"]
    clocked.admin("POST", "signatures", petition=petition, person={})
    for attempts, seconds in enumerate(OVER_AN_HOUR, 1):
        wait_for(lambda: clocked.admin("GET", "messages")[0]["attempts"] == attempts)  # noqa: B023 (waited for here)
        [message] = clocked.admin("GET", "messages?state=waiting")
        assert message["due"] == clock.seconds() + seconds
        assert len(receiver.got) == attempts
        clock.advance(seconds)
    wait_for(lambda: clocked.admin("GET", "dead-letters"))
    [dead] = clocked.admin("GET", "dead-letters")
    assert (dead["attempts"], dead["last_failure"]) == (4, "answered 503")
    assert len(receiver.got) == 4


def test_an_answer_after_the_time_limit_is_a_failure(receiver):
    """Interface 6: 200 within 500 ms is success."""
    assert TIME_LIMIT == 0.5
    receiver.answers.clear()
    with sandbox.serve(sandbox.create_app(retry_after=[0.01] * 100)) as alone:
        alone.admin("POST", "webhooks", url=receiver.url)
        petition = alone.admin("POST", "petitions", title="Clean water")["id"]
        alone.admin("POST", "signatures", petition=petition, person={})
        wait_for(lambda: alone.admin("GET", "messages")[0]["attempts"])
        assert alone.admin("GET", "messages")[0]["last_failure"] == "no answer within 0.5 s"
        receiver.answers.set()
        wait_for(lambda: alone.admin("GET", "messages?state=delivered"))
    assert len(receiver.got) >= 2


def test_a_receiver_that_is_not_there_is_retried_and_given_up(running, group, petition):
    """Interface 6: a connection that fails is a failed delivery."""
    nowhere = running.admin("POST", "webhooks", url="http://127.0.0.1:1/hook", account=group.account)
    sign(group, petition)
    wait_for(lambda: messages(running, nowhere, "dead"))


def test_a_webhook_needs_an_http_address(running):
    """Interface 6: how a webhook is configured is not shown."""
    for url in ("", "ftp://x", "http://", "http://a b/", "http://x:99999/", "http://x/\r\nA: b", 7):
        with pytest.raises(ValueError, match="url"):
            running.admin("POST", "webhooks", url=url)


def test_a_test_delivery_lacks_dates_and_has_always_the_same_key(running, hook, receiver):
    """Interface 2.7: what deployments send when asked for a test, which a reader must survive."""
    for _ in range(2):
        running.admin("POST", f"webhooks/{hook['webhook_id']}/test")
    wait_for(lambda: len(receiver.got) == 2)
    first, second = receiver.elements()
    assert first == second
    assert first["osdi:signature"]["platform:referrer_data"] == {}
    assert not {"created_date", "modified_date"} & first["osdi:signature"].keys()


def test_an_individual_s_petition_has_the_person_as_sponsor(running, person, receiver):
    """Interface 2.7 platform:sponsor: always a sibling of the signature; whom it names for a person is a choice."""
    petition = running.admin("POST", "petitions", title="Mine", account=person.account)
    running.admin("POST", "webhooks", url=receiver.url, account=person.account)
    sign(person, petition)
    wait_for(lambda: receiver.got)
    assert receiver.elements()[0]["platform:sponsor"]["title"] == "Ada Baker"
    assert_valid(receiver.deliveries()[0], delivery())
