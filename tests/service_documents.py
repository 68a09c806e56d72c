"""Whole documents of every kind, with ``<p>`` where the prefix of the service stands."""

from typing import Any

PREFIXES = "platform", "action_network", "change_desk"

V2 = {
    "identifiers": ["<p>:e1", "foreign:77"],
    "origin_system": "FreeEvents",
    "created_date": "2026-03-20T21:04:31Z",
    "modified_date": "2026-03-21T08:00:00+02:00",
    "name": "march-internal",
    "title": "March",
    "description": "<b>Come</b>",
    "instructions": "Bring water",
    "browser_url": "https://example.org/events/march",
    "featured_image_url": "https://example.org/march.png",
    "start_date": "2026-07-01T10:00:00Z",
    "end_date": "2026-07-01T12:30:00Z",
    "location": {
        "venue": "Town hall",
        "address_lines": ["1 Main St", "Room 4"],
        "locality": "Oakland",
        "region": "CA",
        "postal_code": "94607",
        "country": "US",
        "language": "en",
        "location": {"latitude": 37.8, "longitude": -122.25, "accuracy": "Rooftop"},
    },
    "total_accepted": 12,
    "<p>:event_campaign_id": "c1",
    "status": "confirmed",
    "transparence": "opaque",
    "visibility": "public",
    "guests_can_invite_others": True,
    "capacity": 40,
    "<p>:hidden": False,
    "reminders": [{"method": "email", "minutes": 1440}, {"method": "sms", "minutes": 60}],
    "<p>:sponsor": {"title": "Progress", "browser_url": "https://example.org/groups/progress"},
    "_links": {
        "self": {"href": "https://example.org/api/v2/events/e1"},
        "osdi:attendances": {"href": "https://example.org/api/v2/events/e1/attendances"},
        "osdi:record_attendance_helper": {"href": "https://example.org/api/v2/events/e1/attendances"},
        "osdi:creator": {"href": "https://example.org/api/v2/people/p1"},
        "osdi:organizer": {"href": "https://example.org/api/v2/people/p2"},
        "<p>:event_campaign": {"href": "https://example.org/api/v2/event_campaigns/c1"},
        "<p>:embed": {"href": "https://example.org/api/v2/events/e1/embed"},
        "curies": [{"name": "osdi", "href": "https://example.org/docs/{rel}", "templated": True}],
    },
}

PERSON = {
    "given_name": "Ada",
    "family_name": "Ruiz",
    "identifiers": ["<p>:p1"],
    "created_at": "2025-01-02T03:04:05Z",
    "modified_at": "2025-02-02T03:04:05Z",
    "originating_system": "FreeEvents",
    "email_addresses": [
        {"primary": False, "address": "a@example.org"},
        {"primary": True, "address": "ada@example.org"},
    ],
    "postal_addresses": [
        {
            "primary": True,
            "address_lines": ["2 Side St"],
            "locality": "Oakland",
            "region": "CA",
            "postal_code": "94608",
            "country": "US",
            "language": "en",
            "location": {"latitude": 37.9, "longitude": -122.5, "accuracy": "Approximate"},
        }
    ],
    "_links": {"self": {"href": "https://example.org/api/v1/people/p1"}},
}

V1 = {
    "identifiers": ["<p>:e2"],
    "originating_system": "OldEvents",
    "created_at": "2018-03-20T21:04:31Z",
    "modified_at": "2018-03-21T21:04:31Z",
    "summary": "Picnic",
    "description": "Food",
    "<p>:event_instructions": "Bring cake",
    "url": "https://example.org/events/picnic",
    "start": "2018-07-01T10:00:00Z",
    "location": {"address_lines": ["3 Park Rd"], "postal_code": "10001", "location": {"latitude": 40.7}},
    "total_accepted": 0,
    "status": "tentative",
    "transparence": "opaque",
    "visibility": "private",
    "guestsCanInviteOthers": True,
    "reminders": [{"method": "email", "minutes": 1440}],
    "<p>:sponsor": {"summary": "Elders", "url": "https://example.org/groups/elders"},
    "_embedded": {"osdi:creator": PERSON},
    "osdi:organizer": PERSON,
    "_links": {
        "self": {"href": "https://example.org/api/v1/events/e2"},
        "osdi:attendance": {"href": "https://example.org/api/v1/events/e2/attendance"},
        "<p>:embed": {"href": "https://example.org/api/v1/events/e2/embed"},
    },
}

SIGNATURE = {
    "identifiers": ["<p>:s1", "foreign:9"],
    "created_date": "2026-05-01T00:00:01Z",
    "modified_date": "2026-05-01T00:00:02Z",
    "comments": "For the river",
    "<p>:referrer_data": {"source": "facebook", "referrer": "group-progress", "website": "example.net"},
    "person": {
        "created_date": "2024-05-01T00:00:01Z",
        "modified_date": "2026-05-01T00:00:01Z",
        "given_name": "Zoë",
        "family_name": "O'Neil",
        "email_addresses": [
            {"primary": False, "address": "first@example.org", "status": "unsubscribed"},
            {"primary": True, "address": "zoe@example.org", "status": "subscribed"},
        ],
        "phone_numbers": [
            {"primary": True, "number": "15105550100", "number_type": "Mobile", "status": "subscribed"}
        ],
        "postal_addresses": [
            {"primary": False, "postal_code": "10001", "region": "NY"},
            {
                "primary": True,
                "address_lines": ["4 Hill St"],
                "locality": "Oakland",
                "postal_code": "94609",
                "region": "CA",
                "country": "US",
                "location": {"latitude": 37.5, "longitude": -122.75, "accuracy": "Approximate"},
            },
        ],
        "languages_spoken": ["en", "es"],
        "custom_fields": {"volunteer": "1", "size": "M"},
    },
    "add_tags": ["river", "new"],
    "_links": {
        "self": {"href": "https://example.org/api/v2/petitions/q1/signatures/s1"},
        "osdi:person": {"href": "https://example.org/api/v2/people/p9"},
        "osdi:petition": {"href": "https://example.org/api/v2/petitions/q1"},
    },
}

REFERRER_DATA = SIGNATURE["<p>:referrer_data"] | {"email_referrer": "m1", "mobile_message_referrer": "t1"}

#: As API pages have it: the ids in fields of their own, and no person.
SIGNATURE_OF_A_PAGE = {
    "identifiers": ["<p>:s2"],
    "created_at": "2026-04-01T00:00:01Z",
    "modified_at": "2026-04-01T00:00:02Z",
    "<p>:person_id": "p9",
    "<p>:petition_id": "q1",
    "<p>:referrer_data": REFERRER_DATA,
    "_links": {"self": {"href": "https://example.org/api/v1/petitions/q1/signatures/s2"}},
}

ATTENDANCE = {
    **{key: value for key, value in SIGNATURE.items() if key != "comments"},
    "identifiers": ["<p>:a1", "foreign:10"],
    "status": "accepted",
    "<p>:event_id": "e1",
    "<p>:person_id": "p9",
    "<p>:referrer_data": REFERRER_DATA,
    "_links": {
        "self": {"href": "https://example.org/api/v2/events/e1/attendances/a1"},
        "osdi:person": {"href": "https://example.org/api/v2/people/p9"},
        "osdi:event": {"href": "https://example.org/api/v2/events/e1"},
    },
}

EVENT_CAMPAIGN = {
    "identifiers": ["<p>:c1"],
    "origin_system": "The service",
    "created_date": "2026-01-01T00:00:01Z",
    "modified_date": "2026-01-02T00:00:02Z",
    "name": "days-internal",
    "title": "Days of action",
    "description": "<b>Host</b>",
    "host_pitch": "Why host?",
    "host_instructions": "Bring chairs",
    "host_url": "https://example.org/campaigns/days/new",
    "total_events": 3,
    "total_rsvps": 40,
    "browser_url": "https://example.org/campaigns/days",
    "featured_image_url": "https://example.org/days.png",
    "tag_list": ["days", "river"],
    "<p>:hidden": False,
    "<p>:sponsor": {"title": "Progress", "url": "https://example.org/groups/progress"},
    "_links": {
        "self": {"href": "https://example.org/api/v2/event_campaigns/c1"},
        "osdi:events": {"href": "https://example.org/api/v2/event_campaigns/c1/events"},
        "<p>:embed": {"href": "https://example.org/api/v2/event_campaigns/c1/embed"},
    },
}

_TITLED = {
    key: value
    for key, value in EVENT_CAMPAIGN.items()
    if not key.startswith(("host_", "total_", "modified_", "created_"))
}
PETITION = _TITLED | {
    "identifiers": ["<p>:q1"],
    "created_at": "2026-01-01T00:00:01Z",
    "modified_at": "2026-01-02T00:00:02Z",
    "petition_text": "Dear mayor",
    "total_signatures": 7,
    "_embedded": {"osdi:creator": PERSON},
    "_links": {
        "self": {"href": "https://example.org/api/v1/petitions/q1"},
        "osdi:signatures": {"href": "https://example.org/api/v1/petitions/q1/signatures"},
        "osdi:creator": {"href": "https://example.org/api/v1/people/p1"},
        "<p>:embed": {"href": "https://example.org/api/v1/petitions/q1/embed"},
    },
}

API = "https://example.org/api/v2"


def _form(plural: str, acts: str, **own: Any) -> dict[str, Any]:
    """Return what people act on, as forms are: found by its id, with the number of its acts."""
    links = {"self": f"{plural}/b1", f"osdi:{acts}": f"{plural}/b1/{acts}", "osdi:creator": "people/p1"}
    return {
        **{key: value for key, value in _TITLED.items() if key not in ("identifiers", "_links")},
        "identifiers": ["<p>:b1"],
        "created_date": "2026-01-01T00:00:01Z",
        "modified_date": "2026-01-02T00:00:02Z",
        "call_to_action": "Sign up",
        f"total_{acts}": 7,
        **own,
        "_links": {key: {"href": f"{API}/{path}"} for key, path in links.items()}
        | {"<p>:embed": {"href": f"{API}/{plural}/b1/embed"}},
    }


FORM = _form("forms", "submissions")
FUNDRAISING_PAGE = _form("fundraising_pages", "donations", total_amount=5000.25, currency="USD")
ADVOCACY_CAMPAIGN = _form("advocacy_campaigns", "outreaches", type="email", targets="U.S. Senate")
SURVEY = _form("surveys", "responses")
SURVEY["_links"]["<p>:responses"] = SURVEY["_links"].pop("osdi:responses")


def _act(of: str, plural: str, link: str, **own: Any) -> dict[str, Any]:
    """Return an act that leads to what it is about, as an attendance does."""
    links = {"self": f"{of}s/b1/{plural}/d1", "osdi:person": "people/p9", link: f"{of}s/b1"}
    return {
        **{key: value for key, value in SIGNATURE.items() if key not in ("comments", "_links")},
        "identifiers": ["<p>:d1", "foreign:11"],
        "<p>:person_id": "p9",
        f"<p>:{of}_id": "b1",
        "<p>:referrer_data": REFERRER_DATA,
        **own,
        "_links": {key: {"href": f"{API}/{path}"} for key, path in links.items()},
    }


SUBMISSION = _act("form", "submissions", "osdi:form")
DONATION = _act(
    "fundraising_page",
    "donations",
    "osdi:fundraising_page",
    amount="12.50",
    currency="USD",
    recipients=[{"display_name": "Progress", "amount": "7.50"}, {"display_name": "River", "amount": 5}],
    payment={"method": "Credit Card", "reference_number": "n1", "authorization_stored": False},
) | {"<p>:recurrence": {"recurring": True, "period": "Monthly"}}
OUTREACH = _act(
    "advocacy_campaign",
    "outreaches",
    "osdi:advocacy_campaign",
    type="email",
    subject="The river",
    message="Please act",
    duration=90.5,
    targets=[
        {"title": "Mayor", "given_name": "Dee", "family_name": "Fox", "ocdid": "ocd-division/country:us"},
        {"title": "Senator"},
    ],
)
RESPONSE = _act("survey", "responses", "<p>:survey")

TAG = {
    **{key: EVENT_CAMPAIGN[key] for key in ("created_date", "modified_date")},
    "identifiers": ["<p>:t1"],
    "name": "river",
    "_links": {
        "self": {"href": f"{API}/tags/t1"},
        "osdi:taggings": {"href": f"{API}/tags/t1/taggings"},
    },
}
TAGGING = {
    **{key: EVENT_CAMPAIGN[key] for key in ("created_date", "modified_date")},
    "identifiers": ["<p>:g1"],
    "<p>:tag_id": "t1",
    "<p>:person_id": "p9",
    "item_type": "osdi:person",
    "_links": {
        "self": {"href": f"{API}/tags/t1/taggings/g1"},
        "osdi:tag": {"href": f"{API}/tags/t1"},
        "osdi:person": {"href": f"{API}/people/p9"},
    },
}

#: What elements of deliveries hold, by its key.
DELIVERED = {
    "osdi:signature": SIGNATURE,
    "osdi:attendance": ATTENDANCE,
    "osdi:submission": SUBMISSION,
    "osdi:donation": DONATION,
    "osdi:outreach": OUTREACH,
    "<p>:response": RESPONSE,
}

#: A person as people have it, with what only their collection tells of them.
WHOLE_PERSON = SIGNATURE["person"] | {
    "identifiers": ["<p>:p9"],
    "origin_system": "The service",
    "_links": {"self": {"href": "https://example.org/api/v2/people/p9"}},
}
WHOLE_PERSON["postal_addresses"] = PERSON["postal_addresses"]

#: What collections hold, by the key of their rows.
RESOURCES = {
    "osdi:signatures": SIGNATURE_OF_A_PAGE,
    "osdi:attendances": ATTENDANCE,
    "osdi:attendance": ATTENDANCE,
    "<p>:event_campaigns": EVENT_CAMPAIGN,
    "osdi:petitions": PETITION,
    "osdi:people": WHOLE_PERSON,
    "osdi:forms": FORM,
    "osdi:submissions": SUBMISSION,
    "osdi:fundraising_pages": FUNDRAISING_PAGE,
    "osdi:donations": DONATION,
    "osdi:advocacy_campaigns": ADVOCACY_CAMPAIGN,
    "osdi:outreaches": OUTREACH,
    "<p>:surveys": SURVEY,
    "<p>:responses": RESPONSE,
    "osdi:tags": TAG,
    "osdi:taggings": TAGGING,
}

SIBLINGS = {
    "<p>:sponsor": {"title": "Progress", "url": "https://example.org/groups/progress"},
    "idempotency_key": "5f70",
}
