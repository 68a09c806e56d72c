"""A person who is put into every place a person can be, and what finds their traces."""

from __future__ import annotations

import base64
from urllib.parse import unquote_to_bytes

GIVEN, FAMILY = "Zephyrinda", "Quillonfarth"
EMAIL, PHONE = "zephyrinda@quillonfarth-mail.net", "+1 (415) 867-5309"
ENCODED = base64.b64encode(EMAIL.encode()).decode().rstrip("=")
#: The same, as people and programs write them.
SPELLED = [
    EMAIL.replace("@", " @"),
    EMAIL.replace("@", "&#64;"),
    EMAIL.replace("@", "%2540"),
    f"{ENCODED}==",
    "zephyrinda@localhost",
    '"zephyrinda q"@quillonfarth-mail.net',
    "\uff0b\uff11\uff14\uff11\uff15\uff18\uff16\uff17\uff15\uff13\uff10\uff19",
]
STREET, TOWN, POSTAL_CODE = "1187 Brackenwhistle Row", "Wobblethorpe", "94117-2233"
COMMENT, CUSTOM = "Gooseberries for velocipedes", "marzipan trombone"
PERSON_ID, SIGNATURE_ID = "c0ffee00-1234-canary", "deadbeef-9876-signed"
LATITUDE, LONGITUDE = 37.774929, -122.419416
KEY = b"the key of this test, 32 bytes or more"

#: What is looked for, in any case.
TRACES = [
    *(GIVEN, FAMILY, EMAIL, "quillonfarth-mail", "867-5309", "4158675309", STREET, "brackenwhistle", TOWN),
    *(
        "\uff18\uff16\uff17",
        ENCODED,
        POSTAL_CODE,
        "gooseberr",
        "marzipan",
        PERSON_ID,
        SIGNATURE_ID,
        "37.7749",
        "122.4194",
        KEY.decode(),
    ),
]
ADDRESS = {
    "primary": True,
    "address_lines": [STREET],
    "locality": TOWN,
    "postal_code": POSTAL_CODE,
    "region": "CA",
    "country": "US",
    "location": {"latitude": LATITUDE, "longitude": LONGITUDE, "accuracy": "Rooftop"},
}
PERSON = {
    "given_name": GIVEN,
    "family_name": FAMILY,
    "email_addresses": [{"primary": True, "address": EMAIL, "status": "subscribed"}],
    "phone_numbers": [{"primary": True, "number": PHONE, "number_type": "Mobile"}],
    "postal_addresses": [ADDRESS],
    "custom_fields": {"favourite": CUSTOM, f"about {EMAIL}": COMMENT},
    EMAIL: "an object that is keyed by an address",
}
PERSON_LINK = {"href": f"https://a.example/api/v2/people/{PERSON_ID}"}
ACTION = {
    "identifiers": [f"platform:{SIGNATURE_ID}", f"crm:{EMAIL}"],
    "created_date": "2026-05-01T10:00:00Z",
    "comments": COMMENT,
    "person": PERSON,
    "add_tags": ["river", f"from {EMAIL}", *(f"from {spelled}" for spelled in SPELLED)],
    "platform:referrer_data": {
        "source": f"share-{EMAIL} {' '.join(SPELLED)}",
        "referrer": f"call {PHONE}",
        "website": f"https://b.example/x?who={GIVEN}&mail={EMAIL}",
    },
    "_links": {
        "self": {"href": f"https://a.example/api/v2/petitions/p/signatures/{SIGNATURE_ID}"},
        "osdi:person": PERSON_LINK,
        "osdi:petition": {"href": "https://a.example/api/v2/petitions/p"},
    },
}
RESOURCE = PERSON | {"identifiers": [f"platform:{PERSON_ID}"], "_links": {"self": PERSON_LINK}}
EVENT = {
    "identifiers": ["platform:e1"],
    "title": f"March, ask {SPELLED[0]}",
    "name": f"At {GIVEN}'s",
    "description": f"With {GIVEN} {FAMILY}",
    "instructions": f"Ring {PHONE}",
    "start_date": "2026-05-01T18:00:00Z",
    "total_accepted": 12,
    "location": {key: ADDRESS[key] for key in ADDRESS if key not in ("primary", "locality")}
    | {"venue": f"{FAMILY} home"},
    "_links": {"osdi:organizer": PERSON_LINK},
    "_embedded": {"osdi:creator": RESOURCE},
}
PETITION = {
    "identifiers": ["platform:p"],
    "title": f"River, with {SPELLED[1]}",
    "description": f"{GIVEN} {FAMILY} asks",
    "petition_text": COMMENT,
    "_embedded": {"osdi:creator": RESOURCE},
    "_links": {"osdi:creator": PERSON_LINK},
}
#: A signature of a page, without a person: it is filled from what the others say of the person.
PULLED = {
    "identifiers": ["platform:pulled"],
    "created_date": "2026-05-02T10:00:00Z",
    "platform:person_id": PERSON_ID,
    "platform:petition_id": "p",
}
DELIVERED = [{"osdi:signature": ACTION, "idempotency_key": "k1"}]
#: The other acts: what is done by form, on a fundraising page, in an advocacy campaign, in a survey; and an upload.
OTHERS = {
    "osdi:attendance": ACTION | {"tickets": [{"title": "Seat", "description": f"For {GIVEN}", "amount": 5}]},
    "osdi:submission": ACTION,
    "osdi:donation": ACTION
    | {
        "amount": "12.50",
        "recipients": [{"display_name": "River", "amount": "12.50"}],
        "payment": {"reference_number": f"of {EMAIL}"},
    },
    "osdi:outreach": ACTION
    | {
        "subject": f"{COMMENT}, {GIVEN}",
        "message": f"I live at {STREET}",
        "targets": [{"title": "Mayor", "given_name": GIVEN, "family_name": FAMILY}],
    },
    "platform:response": ACTION,
    "platform:upload": ACTION,
}
TAGGING = {
    "identifiers": [f"platform:{SIGNATURE_ID}"],
    "_links": {
        "self": {"href": f"https://a.example/api/v2/tags/t/taggings/{SIGNATURE_ID}"},
        "osdi:person": PERSON_LINK,
        "osdi:tag": {"href": "https://a.example/api/v2/tags/t"},
    },
}
_CREATED = {
    "title": "River",
    "_embedded": {"osdi:creator": RESOURCE},
    "_links": {"osdi:creator": PERSON_LINK},
}
DOCUMENTS = [
    DELIVERED,
    *([{name: act, "idempotency_key": name}] for name, act in OTHERS.items()),
    {"_embedded": {"osdi:taggings": [TAGGING]}},
    *(
        {"_embedded": {key: [_CREATED | {"identifiers": ["platform:f"]}]}}
        for key in ("osdi:forms", "osdi:fundraising_pages", "osdi:advocacy_campaigns", "platform:surveys")
    ),
    {"_embedded": {"osdi:people": [RESOURCE]}},
    {"_embedded": {"osdi:petitions": [PETITION]}},
    {"_embedded": {"osdi:signatures": [PULLED]}},
    EVENT,
]


def signed(**keys):
    return [{"osdi:signature": ACTION | keys}]


#: Documents that stop a reading, with the person where something does not fit.
BROKEN = {
    "text": f"{GIVEN} {FAMILY}, {EMAIL}",
    "a-person": {"contact": PERSON},
    "a-resource": {"person": PERSON, "identifiers": [f"platform:{PERSON_ID}"]},
    "no-type": [{"person": PERSON}],
    "a-signature-of-text": [{"osdi:signature": f"{GIVEN} {FAMILY}"}],
    "signatures-of-text": {"_embedded": {"osdi:signatures": f"{GIVEN} {FAMILY}"}},
    "person-of-text": signed(person=f"{GIVEN} {FAMILY}"),
    "comments": signed(comments={"text": COMMENT}),
    "comments-in-a-list": signed(comments=[COMMENT]),
    "address": signed(person={"email_addresses": EMAIL}),
    "addresses": signed(person={"email_addresses": [EMAIL]}),
    "phone": signed(person={"phone_numbers": [{"number": {"is": PHONE}}]}),
    "phone-as-a-number": signed(person={"phone_numbers": 14158675309}),
    "latitude": signed(person={"postal_addresses": [{"location": {"latitude": f"{LATITUDE} {STREET}"}}]}),
    "custom-field": signed(person={"custom_fields": {EMAIL: {"is": CUSTOM}}}),
    "custom-fields": signed(person={"custom_fields": f"{CUSTOM} {COMMENT}"}),
    "name": signed(person={"given_name": [GIVEN]}),
    "half-a-letter": signed(comments=f"\ud800 {COMMENT}"),
    "links": signed(_links=f"https://a.example/people/{PERSON_ID}"),
    "identifiers": signed(identifiers=f"crm:{EMAIL}"),
    "unknown-prefix": signed(identifiers=[f"desk:{EMAIL}"], _links={}),
    "event-creator": {"total_accepted": 1, "_embedded": {"osdi:creator": f"{GIVEN} {FAMILY}"}},
    "people": {"_embedded": {"osdi:people": [f"{GIVEN} {FAMILY}"]}},
}
TORN = f'[{{"osdi:signature": {{"person": {{"given_name": "{GIVEN}", "family_name": "{FAMILY}"'


def traces(data: bytes) -> list[str]:
    """List what of the person is in bytes, as they are or with percent signs undone."""
    texts = [each.decode("utf-8", "replace").lower() for each in (data, unquote_to_bytes(data))]
    return [trace for trace in TRACES if any(trace.lower() in text for text in texts)]
