"""JSON Schemas written from the contract's tables: nothing that is not in a table, everything of its type."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLOAT: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FROM_1: Schema = {"type": "integer", "minimum": 1}
BOOLEAN: Schema = {"type": "boolean"}
DATETIME: Schema = {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"}
IDENTIFIERS: Schema = {"type": "array", "items": {"type": "string", "pattern": "^[^:]+:"}, "minItems": 1}


def closed(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Describe an object with these keys and no others."""
    properties = required | (optional or {})
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def each(schema: Schema, *names: str) -> dict[str, Schema]:
    """Describe several keys alike."""
    return dict.fromkeys(names, schema)


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


TEXTS = array(TEXT)
LINK = closed({"href": {"type": "string", "pattern": "^http://127.0.0.1:"}})

# 2.2
POINT = each(FLOAT, "latitude", "longitude")
LOCATION = closed(
    {
        **each(TEXT, "region", "country"),
        "language": {"const": "en"},
        "location": closed({"accuracy": {"enum": ["Rooftop", "Approximate"]}}, POINT),
    },
    {**each(TEXT, "venue", "locality", "postal_code"), "address_lines": TEXTS | {"maxItems": 1}},
)
# 2.3
REMINDER = closed({"method": {"const": "email"}, "minutes": {"const": 1440}})
STATES = {
    "status": {"const": "confirmed"},
    "transparence": {"const": "opaque"},
    "visibility": {"enum": ["public", "private"]},
}


def curies(prefix: str, version: str) -> Schema:
    """Describe curies (2.5)."""
    href = {"type": "string", "pattern": rf"/{version}/\{{rel\}}$"}
    entry = closed({"name": {"enum": ["osdi", prefix]}, "href": href, "templated": {"const": True}})
    return array(entry) | {"minItems": 2, "maxItems": 2}


def event_links(prefix: str, version: str, *attendances: str) -> Schema:
    names = ("self", *attendances, "osdi:creator", "osdi:organizer", f"{prefix}:embed")
    required = each(LINK, *names) | {"curies": curies(prefix, version)}
    return closed(required, {f"{prefix}:event_campaign": LINK})


def event_v2(prefix: str = "platform") -> Schema:
    """Describe a v2 event (2.1 to 2.5)."""
    required = {
        "identifiers": IDENTIFIERS,
        **each(TEXT, "origin_system", "title"),
        **each(DATETIME, "created_date", "modified_date"),
        "location": LOCATION,
        "total_accepted": COUNT,
        **STATES,
        "guests_can_invite_others": {"const": True},
        f"{prefix}:hidden": BOOLEAN,
        "reminders": array(REMINDER),
        "_links": event_links(prefix, "v2", "osdi:attendances", "osdi:record_attendance_helper"),
    }
    optional = {
        **each(TEXT, "name", "description", "instructions", "browser_url", "featured_image_url"),
        **each(DATETIME, "start_date", "end_date"),
        f"{prefix}:event_campaign_id": TEXT,
        "capacity": {"type": "integer"},
        f"{prefix}:sponsor": closed(each(TEXT, "title", "browser_url")),
    }
    return closed(required, optional)


POSTAL_ADDRESS = closed(
    {},
    {
        "primary": BOOLEAN,
        "address_lines": TEXTS,
        **each(TEXT, "locality", "region", "postal_code", "country", "language"),
        "location": closed({}, POINT | {"accuracy": TEXT}),
    },
)
# 2.7, sub-fields of a person that can be entered
ENTERED = {
    **each(TEXT, "given_name", "family_name"),
    "email_addresses": array(closed({}, {"primary": BOOLEAN, **each(TEXT, "address", "status")})),
    "phone_numbers": array(closed({}, {"primary": BOOLEAN, **each(TEXT, "number", "number_type", "status")})),
    "postal_addresses": array(POSTAL_ADDRESS),
    "languages_spoken": TEXTS,
    "custom_fields": {"type": "object", "additionalProperties": TEXT},
    "identifiers": IDENTIFIERS | {"minItems": 0},
}


def with_entered(required: dict[str, Schema]) -> Schema:
    """Describe a person with these fields, and those that were entered."""
    return closed(required, {name: schema for name, schema in ENTERED.items() if name not in required})


def person_v1() -> Schema:
    """Describe a person embedded in a v1 event (2.8)."""
    relations = ("question_answers", "attendance", "signatures", "submissions", "donations")
    return with_entered(
        {
            "identifiers": IDENTIFIERS,
            **each(DATETIME, "created_at", "modified_at"),
            "originating_system": TEXT,
            "_links": closed(each(LINK, "self", *(f"osdi:{name}" for name in relations))),
        }
    )


def event_v1(prefix: str = "platform") -> Schema:
    """Describe a v1 event (2.8)."""
    required = {
        "identifiers": IDENTIFIERS,
        **each(TEXT, "originating_system", "summary"),
        **each(DATETIME, "created_at", "modified_at"),
        "location": LOCATION,
        "total_accepted": COUNT,
        **STATES,
        "guestsCanInviteOthers": {"const": True},
        "reminders": array(REMINDER),
        "_links": event_links(prefix, "v1", "osdi:attendance"),
        "_embedded": closed(each(person_v1(), "osdi:creator", "osdi:organizer")),
    }
    optional = {
        **each(TEXT, "description", f"{prefix}:event_instructions", "url", f"{prefix}:event_campaign_id"),
        "start": DATETIME,
        f"{prefix}:sponsor": closed(each(TEXT, "summary", "url")),
    }
    return closed(required, optional)


def collection(
    name: str, item: Schema, *, version: str = "v2", prefix: str = "platform", link_array: str | None = None
) -> Schema:
    """Describe a page of a collection (2.6); that of people has no totals."""
    links = {"self": LINK, link_array or name: array(LINK), "curies": curies(prefix, version)}
    totals = {} if name == "osdi:people" else each(COUNT, "total_pages", "total_records")
    numbers = each(FROM_1, "per_page", "page")
    embedded = closed({name: array(item)})
    return closed({**totals, **numbers, "_links": closed(links, {"next": LINK}), "_embedded": embedded})


MADE = {"identifiers": IDENTIFIERS, **each(DATETIME, "created_date", "modified_date")}
REFERRER_DATA = closed(
    {}, each(TEXT, "source", "referrer", "website", "email_referrer", "mobile_message_referrer")
)


def linked(prefix: str, *names: str) -> Schema:
    """Describe the links of a resource of v2 that stands alone or in a collection: these, self and curies."""
    return closed({**each(LINK, "self", *names), "curies": curies(prefix, "v2")})


def act(name: str, parent: str, prefix: str = "platform") -> Schema:
    """Describe an act as the API answers it: the person is linked, never embedded."""
    required = {
        **MADE,
        **own_fields(name, prefix),
        **each(TEXT, f"{prefix}:person_id", f"{prefix}:{parent}_id"),
        f"{prefix}:referrer_data": REFERRER_DATA,
        "_links": linked(prefix, "osdi:person", f"{'platform' if parent == 'survey' else 'osdi'}:{parent}"),
    }
    comments = {"comments": required.pop("comments")} if "comments" in required else {}
    return closed(required, comments)


def signature(prefix: str = "platform") -> Schema:
    return act("signature", "petition", prefix)


def attendance(prefix: str = "platform") -> Schema:
    return act("attendance", "event", prefix)


def person(prefix: str = "platform", *, alone: bool = True) -> Schema:
    """Describe a person; one who is embedded has no curies."""
    relations = ("attendances", "signatures", "submissions", "donations", "outreaches", "taggings")
    links = (*(f"osdi:{name}" for name in relations), f"{prefix}:responses")
    own = {**MADE, "origin_system": TEXT, "custom_fields": ENTERED["custom_fields"]}
    return with_entered(
        own | {"_links": linked(prefix, *links) if alone else closed(each(LINK, "self", *links))}
    )


def published(
    prefix: str, links: tuple[str, ...], required: dict[str, Schema], *texts: str, creator: bool = True
) -> Schema:
    """Describe what organizers publish besides events, with its creator embedded."""
    names = (*links, *(["osdi:creator"] if creator else []), f"{prefix}:embed")
    embedded = {"_embedded": closed({"osdi:creator": person(prefix, alone=False)})}
    own = {**MADE, **each(TEXT, "origin_system", "title"), f"{prefix}:hidden": BOOLEAN, **required}
    optional = {
        **each(TEXT, "name", "description", "browser_url", "featured_image_url", *texts),
        f"{prefix}:sponsor": closed(each(TEXT, "title", "url")),
    }
    return closed({**own, "_links": linked(prefix, *names), **(embedded if creator else {})}, optional)


def petition(prefix: str = "platform") -> Schema:
    links = "osdi:signatures", "osdi:record_signature_helper"
    made = published(prefix, links, {"total_signatures": COUNT}, "petition_text")
    made["properties"]["target"] = array(closed({"name": TEXT}))
    return made


def event_campaign(prefix: str = "platform") -> Schema:
    host = ("host_pitch", "host_instructions", "host_url")
    totals = each(COUNT, "total_events", "total_rsvps")
    return published(prefix, ("osdi:events",), totals, *host, creator=False)


def form(prefix: str = "platform") -> Schema:
    links = "osdi:submissions", "osdi:record_submission_helper"
    return published(prefix, links, {"total_submissions": COUNT}, "call_to_action")


def fundraising_page(prefix: str = "platform") -> Schema:
    """Describe a fundraising page: its total is a number."""
    links = "osdi:donations", "osdi:record_donation_helper"
    required = {"total_donations": COUNT, "total_amount": FLOAT, "currency": TEXT}
    return published(prefix, links, required, "call_to_action")


def advocacy_campaign(prefix: str = "platform") -> Schema:
    """Describe an advocacy campaign: its targets are a text."""
    links = "osdi:outreaches", "osdi:record_outreach_helper"
    required = {"total_outreaches": COUNT, "type": {"enum": ["email", "phone"]}}
    return published(prefix, links, required, "call_to_action", "targets")


def survey(prefix: str = "platform") -> Schema:
    links = f"{prefix}:responses", f"{prefix}:record_response_helper"
    return published(prefix, links, {"total_responses": COUNT}, "call_to_action")


AMOUNT: Schema = {"type": "string", "pattern": r"^[0-9]+\.[0-9]{2}$"}


def own_fields(act: str, prefix: str) -> dict[str, Schema]:
    """Describe the fields that only one kind of act has."""
    return {
        "signature": {"comments": TEXT},
        "attendance": {"status": TEXT},
        "donation": {
            "amount": AMOUNT,
            "currency": TEXT,
            "recipients": array(closed({"display_name": TEXT, "amount": AMOUNT})),
            "payment": closed({**each(TEXT, "method", "reference_number"), "authorization_stored": BOOLEAN}),
            f"{prefix}:recurrence": closed({"recurring": BOOLEAN}, {"period": TEXT}),
        },
        "outreach": {
            "type": {"enum": ["email", "phone"]},
            **each(TEXT, "subject", "message"),
            "targets": array(closed({"title": TEXT}, {"given_name": TEXT})),
        },
    }.get(act, {})


def tag(prefix: str = "platform") -> Schema:
    return closed({**MADE, "name": TEXT, "_links": linked(prefix, "osdi:taggings")})


def delivered(name: str, parent: str, prefix: str) -> Schema:
    """Describe what a webhook delivers of an act: what was entered, the person inline (2.7)."""
    dates = each(DATETIME, "created_date", "modified_date")
    rel = prefix if parent == "survey" else "osdi"
    required = {**MADE, "person": closed(dates, ENTERED), **own_fields(name, prefix)}
    required["_links"] = closed(each(LINK, "self", "osdi:person", f"{rel}:{parent}"))
    optional = {f"{prefix}:referrer_data": REFERRER_DATA, "add_tags": TEXTS}
    if "comments" in required:
        optional["comments"] = required.pop("comments")
    return closed(required, optional)


PARENTS = {
    "signature": "petition",
    "attendance": "event",
    "submission": "form",
    "response": "survey",
    "donation": "fundraising_page",
    "outreach": "advocacy_campaign",
}


def delivery(prefix: str = "platform") -> Schema:
    """Describe the body of a webhook request (2.7)."""
    siblings = {
        f"{prefix}:sponsor": closed(each(TEXT, "title", "url")),
        "idempotency_key": {"type": "string", "minLength": 1},
    }
    hashes = {
        f"{prefix if name == 'response' else 'osdi'}:{name}": delivered(name, parent, prefix)
        for name, parent in PARENTS.items()
    }
    of_types = [
        {"if": {"required": [name]}, "then": closed({name: hashed, **siblings})}
        for name, hashed in hashes.items()
    ]
    one_of = {"anyOf": [{"required": [name]} for name in hashes]}
    return {"type": "array", "items": {"allOf": [*of_types, one_of]}, "minItems": 1}


ERROR = closed({"error": {"type": "string", "minLength": 1}})


def assert_valid(instance: object, schema: Schema) -> None:
    """Fail with every way in which something does not fit its schema."""
    misfits = Draft202012Validator(schema).iter_errors(instance)
    faults = [f"{misfit.json_path}: {misfit.message[:200]}" for misfit in misfits]
    assert not faults, faults
