"""JSON Schemas written from the contract's tables: nothing that is not in a table, everything of its type."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
FLOAT: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
BOOLEAN: Schema = {"type": "boolean"}
DATETIME: Schema = {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"}
IDENTIFIERS: Schema = {"type": "array", "items": {"type": "string", "pattern": "^[^:]+:"}, "minItems": 1}
LINK: Schema = {
    "type": "object",
    "properties": {"href": {"type": "string", "pattern": "^http://127.0.0.1:"}},
    "required": ["href"],
    "additionalProperties": False,
}


def closed(properties: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """Describe an object with these keys and no others; all required but the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def constant(value: object) -> Schema:
    return {"const": value}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


# 2.2
LOCATION = closed(
    {
        "venue": TEXT,
        "address_lines": {"type": "array", "items": TEXT, "maxItems": 1},
        "locality": TEXT,
        "region": TEXT,
        "postal_code": TEXT,
        "country": TEXT,
        "language": constant("en"),
        "location": closed(
            {"latitude": FLOAT, "longitude": FLOAT, "accuracy": {"enum": ["Rooftop", "Approximate"]}},
            optional=("latitude", "longitude"),
        ),
    },
    optional=("venue", "address_lines", "locality", "postal_code"),
)
# 2.3
REMINDER = closed({"method": constant("email"), "minutes": constant(1440)})
STATES = {
    "status": constant("confirmed"),
    "transparence": constant("opaque"),
    "visibility": {"enum": ["public", "private"]},
}


def curies(prefix: str, version: str) -> Schema:
    """Describe curies (2.5)."""
    entry = closed(
        {
            "name": {"enum": ["osdi", prefix]},
            "href": {"type": "string", "pattern": rf"/{version}/\{{rel\}}$"},
            "templated": constant(True),
        }
    )
    return {"type": "array", "items": entry, "minItems": 2, "maxItems": 2}


def event_v2(prefix: str = "platform") -> Schema:
    """Describe a v2 event (2.1 to 2.5)."""
    optional_fields = {
        "name": TEXT,
        "description": TEXT,
        "instructions": TEXT,
        "browser_url": TEXT,
        "featured_image_url": TEXT,
        "start_date": DATETIME,
        "end_date": DATETIME,
        f"{prefix}:event_campaign_id": TEXT,
        "capacity": {"type": "integer"},
        f"{prefix}:sponsor": closed({"title": TEXT, "browser_url": TEXT}),
    }
    links = {
        "self": LINK,
        "osdi:attendances": LINK,
        "osdi:record_attendance_helper": LINK,
        "osdi:creator": LINK,
        "osdi:organizer": LINK,
        f"{prefix}:event_campaign": LINK,
        f"{prefix}:embed": LINK,
        "curies": curies(prefix, "v2"),
    }
    fields = {
        "identifiers": IDENTIFIERS,
        "origin_system": TEXT,
        "created_date": DATETIME,
        "modified_date": DATETIME,
        "title": TEXT,
        "location": LOCATION,
        "total_accepted": COUNT,
        **STATES,
        "guests_can_invite_others": constant(True),
        f"{prefix}:hidden": BOOLEAN,
        "reminders": array(REMINDER),
        "_links": closed(links, optional=(f"{prefix}:event_campaign",)),
    }
    return closed(fields | optional_fields, optional=tuple(optional_fields))


POSTAL_ADDRESS = closed(
    properties := {
        "primary": BOOLEAN,
        "address_lines": TEXTS,
        "locality": TEXT,
        "region": TEXT,
        "postal_code": TEXT,
        "country": TEXT,
        "language": TEXT,
        "location": closed(
            {"latitude": FLOAT, "longitude": FLOAT, "accuracy": TEXT},
            optional=("latitude", "longitude", "accuracy"),
        ),
    },
    optional=tuple(properties),
)
# 2.7, sub-fields of a person that can be entered
ENTERED = {
    "given_name": TEXT,
    "family_name": TEXT,
    "email_addresses": array(
        closed(
            {"primary": BOOLEAN, "address": TEXT, "status": TEXT}, optional=("primary", "address", "status")
        )
    ),
    "phone_numbers": array(
        closed(
            {"primary": BOOLEAN, "number": TEXT, "number_type": TEXT, "status": TEXT},
            optional=("primary", "number", "number_type", "status"),
        )
    ),
    "postal_addresses": array(POSTAL_ADDRESS),
    "languages_spoken": TEXTS,
    "custom_fields": {"type": "object", "additionalProperties": TEXT},
    "identifiers": IDENTIFIERS | {"minItems": 0},
}


def person_v1(prefix: str = "platform") -> Schema:
    """Describe a person embedded in a v1 event (2.8)."""
    relations = ("question_answers", "attendance", "signatures", "submissions", "donations")
    own = {
        "identifiers": IDENTIFIERS,
        "created_at": DATETIME,
        "modified_at": DATETIME,
        "originating_system": TEXT,
        "_links": closed({"self": LINK, **{f"osdi:{name}": LINK for name in relations}}),
    }
    return closed(ENTERED | own, optional=tuple(name for name in ENTERED if name != "identifiers"))


def event_v1(prefix: str = "platform") -> Schema:
    """Describe a v1 event (2.8)."""
    optional_fields = {
        "description": TEXT,
        f"{prefix}:event_instructions": TEXT,
        "url": TEXT,
        "start": DATETIME,
        f"{prefix}:event_campaign_id": TEXT,
        f"{prefix}:sponsor": closed({"summary": TEXT, "url": TEXT}),
    }
    links = {
        "self": LINK,
        "osdi:attendance": LINK,
        "osdi:creator": LINK,
        "osdi:organizer": LINK,
        f"{prefix}:event_campaign": LINK,
        f"{prefix}:embed": LINK,
        "curies": curies(prefix, "v1"),
    }
    fields = {
        "identifiers": IDENTIFIERS,
        "originating_system": TEXT,
        "created_at": DATETIME,
        "modified_at": DATETIME,
        "summary": TEXT,
        "location": LOCATION,
        "total_accepted": COUNT,
        **STATES,
        "guestsCanInviteOthers": constant(True),
        "reminders": array(REMINDER),
        "_links": closed(links, optional=(f"{prefix}:event_campaign",)),
        "_embedded": closed({"osdi:creator": person_v1(prefix), "osdi:organizer": person_v1(prefix)}),
    }
    return closed(fields | optional_fields, optional=tuple(optional_fields))


def collection(
    name: str, item: Schema, *, version: str = "v2", prefix: str = "platform", link_array: str | None = None
) -> Schema:
    """Describe a page of a collection (2.6); that of people has no totals."""
    links = {"self": LINK, "next": LINK, link_array or name: array(LINK), "curies": curies(prefix, version)}
    totals = ("total_pages", "total_records") if name == "osdi:people" else ()
    page = closed(
        {
            "total_pages": COUNT,
            "per_page": {"type": "integer", "minimum": 1},
            "page": {"type": "integer", "minimum": 1},
            "total_records": COUNT,
            "_links": closed(links, optional=("next",)),
            "_embedded": closed({name: array(item)}),
        }
    )
    for missing in totals:
        page["required"].remove(missing)
        del page["properties"][missing]
    return page


REFERRER_DATA = closed(
    {
        "source": TEXT,
        "referrer": TEXT,
        "website": TEXT,
        "email_referrer": TEXT,
        "mobile_message_referrer": TEXT,
    },
    optional=("source", "referrer", "website", "email_referrer", "mobile_message_referrer"),
)


MADE = {"identifiers": IDENTIFIERS, "created_date": DATETIME, "modified_date": DATETIME}


def linked(prefix: str, *names: str) -> Schema:
    """Describe the links of a resource of v2 that stands alone or in a collection: these, self and curies."""
    return closed({"self": LINK, **dict.fromkeys(names, LINK), "curies": curies(prefix, "v2")})


def signature(prefix: str = "platform") -> Schema:
    """Describe a signature as the API answers it: the person is linked, never embedded."""
    fields = {
        **MADE,
        "comments": TEXT,
        f"{prefix}:person_id": TEXT,
        f"{prefix}:petition_id": TEXT,
        f"{prefix}:referrer_data": REFERRER_DATA,
        "_links": linked(prefix, "osdi:person", "osdi:petition"),
    }
    return closed(fields, optional=("comments",))


def attendance(prefix: str = "platform") -> Schema:
    """Describe an attendance as the API answers it."""
    fields = {
        **MADE,
        "status": TEXT,
        f"{prefix}:person_id": TEXT,
        f"{prefix}:event_id": TEXT,
        f"{prefix}:referrer_data": REFERRER_DATA,
        "_links": linked(prefix, "osdi:person", "osdi:event"),
    }
    return closed(fields)


def person(prefix: str = "platform", *, alone: bool = True) -> Schema:
    """Describe a person; one who is embedded has no curies."""
    relations = ("attendances", "signatures", "submissions", "donations", "outreaches", "taggings")
    links = (*(f"osdi:{name}" for name in relations), f"{prefix}:responses")
    own = {**MADE, "origin_system": TEXT, "custom_fields": ENTERED["custom_fields"]}
    own["_links"] = linked(prefix, *links) if alone else closed(dict.fromkeys(("self", *links), LINK))
    optional = tuple(name for name in ENTERED if name not in own)
    return closed(ENTERED | own, optional=optional)


TITLED = {
    **MADE,
    "origin_system": TEXT,
    "title": TEXT,
    **dict.fromkeys(("name", "description", "browser_url", "featured_image_url"), TEXT),
}
OPTIONAL = ("name", "description", "browser_url", "featured_image_url")


def petition(prefix: str = "platform") -> Schema:
    """Describe a petition, which embeds its creator."""
    names = ("osdi:signatures", "osdi:record_signature_helper", "osdi:creator", f"{prefix}:embed")
    fields = {
        **TITLED,
        "petition_text": TEXT,
        "target": array(closed({"name": TEXT})),
        "total_signatures": COUNT,
        f"{prefix}:hidden": BOOLEAN,
        f"{prefix}:sponsor": closed({"title": TEXT, "url": TEXT}),
        "_links": linked(prefix, *names),
        "_embedded": closed({"osdi:creator": person(prefix, alone=False)}),
    }
    return closed(fields, optional=(*OPTIONAL, "petition_text", "target", f"{prefix}:sponsor"))


def event_campaign(prefix: str = "platform") -> Schema:
    """Describe an event campaign."""
    host = dict.fromkeys(("host_pitch", "host_instructions", "host_url"), TEXT)
    fields = {
        **TITLED,
        **host,
        "total_events": COUNT,
        "total_rsvps": COUNT,
        f"{prefix}:hidden": BOOLEAN,
        f"{prefix}:sponsor": closed({"title": TEXT, "url": TEXT}),
        "_links": linked(prefix, "osdi:events", f"{prefix}:embed"),
    }
    return closed(fields, optional=(*OPTIONAL, *host, f"{prefix}:sponsor"))


def _called(prefix: str, acts: str, links: tuple[str, ...], own: dict[str, Schema]) -> Schema:
    """Describe what people act on as they do on forms; it embeds its creator."""
    fields = {
        **TITLED,
        "call_to_action": TEXT,
        **own,
        f"total_{acts}": COUNT,
        f"{prefix}:hidden": BOOLEAN,
        f"{prefix}:sponsor": closed({"title": TEXT, "url": TEXT}),
        "_links": linked(prefix, *links, "osdi:creator", f"{prefix}:embed"),
        "_embedded": closed({"osdi:creator": person(prefix, alone=False)}),
    }
    return closed(fields, optional=(*OPTIONAL, "call_to_action", "targets", f"{prefix}:sponsor"))


def form(prefix: str = "platform") -> Schema:
    """Describe a form."""
    links = "osdi:submissions", "osdi:record_submission_helper"
    return _called(prefix, "submissions", links, {})


def fundraising_page(prefix: str = "platform") -> Schema:
    """Describe a fundraising page: its total is a number."""
    links = "osdi:donations", "osdi:record_donation_helper"
    return _called(prefix, "donations", links, {"total_amount": FLOAT, "currency": TEXT})


def advocacy_campaign(prefix: str = "platform") -> Schema:
    """Describe an advocacy campaign: its targets are a text."""
    links = "osdi:outreaches", "osdi:record_outreach_helper"
    return _called(prefix, "outreaches", links, {"type": {"enum": ["email", "phone"]}, "targets": TEXT})


def survey(prefix: str = "platform") -> Schema:
    """Describe a survey."""
    return _called(prefix, "responses", (f"{prefix}:responses", f"{prefix}:record_response_helper"), {})


AMOUNT: Schema = {"type": "string", "pattern": r"^[0-9]+\.[0-9]{2}$"}

#: The fields of acts of their own.
OF_ACTS: dict[str, dict[str, Schema]] = {
    "submission": {},
    "donation": {
        "amount": AMOUNT,
        "currency": TEXT,
        "recipients": array(closed({"display_name": TEXT, "amount": AMOUNT})),
        "payment": closed({"method": TEXT, "reference_number": TEXT, "authorization_stored": BOOLEAN}),
        "<p>:recurrence": closed({"recurring": BOOLEAN, "period": TEXT}, optional=("period",)),
    },
    "outreach": {
        "type": {"enum": ["email", "phone"]},
        "subject": TEXT,
        "message": TEXT,
        "targets": array(closed({"title": TEXT, "given_name": TEXT}, optional=("given_name",))),
    },
    "response": {},
}


def act_of_form(name: str, parent: str, prefix: str = "platform") -> Schema:
    """Describe an act as the API answers it: the person is linked, never embedded."""
    fields = {
        **MADE,
        **{key.replace("<p>", prefix): schema for key, schema in OF_ACTS[name].items()},
        f"{prefix}:person_id": TEXT,
        f"{prefix}:{parent}_id": TEXT,
        f"{prefix}:referrer_data": REFERRER_DATA,
        "_links": linked(prefix, "osdi:person", f"{'platform' if parent == 'survey' else 'osdi'}:{parent}"),
    }
    return closed(fields)


def tag(prefix: str = "platform") -> Schema:
    """Describe a tag."""
    return closed({**MADE, "name": TEXT, "_links": linked(prefix, "osdi:taggings")})


def action(prefix: str, parent: str, own: dict[str, Schema]) -> Schema:
    """Describe what a webhook delivers of an act: what was entered, the person inline (2.7)."""
    dates = {"created_date": DATETIME, "modified_date": DATETIME}
    fields = {
        **MADE,
        **own,
        f"{prefix}:referrer_data": REFERRER_DATA,
        "person": closed(ENTERED | dates, optional=tuple(ENTERED)),
        "add_tags": TEXTS,
        "_links": closed({"self": LINK, "osdi:person": LINK, parent: LINK}),
    }
    return closed(fields, optional=("comments", f"{prefix}:referrer_data", "add_tags"))


def delivery(prefix: str = "platform") -> Schema:
    """Describe the body of a webhook request (2.7)."""
    hashes = {
        "osdi:signature": action(prefix, "osdi:petition", {"comments": TEXT}),
        "osdi:attendance": action(prefix, "osdi:event", {"status": TEXT}),
        "osdi:submission": action(prefix, "osdi:form", {}),
        "osdi:donation": action(
            prefix,
            "osdi:fundraising_page",
            {key.replace("<p>", prefix): schema for key, schema in OF_ACTS["donation"].items()},
        ),
        "osdi:outreach": action(prefix, "osdi:advocacy_campaign", OF_ACTS["outreach"]),
        f"{prefix}:response": action(prefix, f"{prefix}:survey", {}),
    }
    siblings = {
        f"{prefix}:sponsor": closed({"title": TEXT, "url": TEXT}),
        "idempotency_key": {"type": "string", "minLength": 1},
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
