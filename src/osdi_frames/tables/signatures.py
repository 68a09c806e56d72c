"""The tables of petition signatures (interface 2.7)."""

from __future__ import annotations

from osdi_frames.tables.events import SOURCE, location
from osdi_frames.tables.schema import Column, ElementType, Table, Type


def _column(name: str, kind: Type, meaning: str, *paths: str) -> Column:
    """Declare a column of signatures; v1 has no signature payload (interface 9)."""
    return Column(name, kind, paths, (), meaning)


_POSITION = Column("position", "int64", (), (), "Position in the list, from 0.", origin="entry position")
_PRIMARY = _column("primary", "bool", "Whether it is the person's primary one.", "primary")

KEYS = (
    _column("idempotency_key", "string", "Same for all retries of a message.", "../idempotency_key"),
    Column(
        "element", "int64", (), (), "Position in its delivery or page, from 0.", origin="element position"
    ),
    _column(
        "signature_id",
        "string",
        "Identifier of the signature in the service.",
        "own(identifiers)",
        "id(_links.self.href)",
    ),
)

SIGNATURE = ElementType(
    "signature",
    collection="osdi:signatures",
    type_key="osdi:signature",
    # Without an id, its message and its position there identify a signature.
    identities=(("signature_id",), ("idempotency_key", "element")),
    messages=(
        ("idempotency_key", "signature_id"),
        ("idempotency_key", "element"),
        ("signature_id", "modified_date"),
        ("signature_id",),
    ),
    newest=("modified_date", "received_at"),
    month="created_date",
    ignored=("_links.curies",),
)

SIGNATURES = Table(
    "signatures",
    SIGNATURE,
    "One row per petition signature (interface 2.7).",
    keys=(
        *KEYS,
        _column("identifiers", "list<string>", "All identifiers, as system:id.", "identifiers"),
        _column("petition_id", "string", "Petition that was signed.", "id(_links.osdi:petition.href)"),
        _column("person_id", "string", "Person who signed.", "id(_links.osdi:person.href)"),
        _column("created_date", "utc", "When it was signed, UTC.", "created_date"),
        _column("modified_date", "utc", "When it was last changed, UTC.", "modified_date"),
        _column("comments", "string", "Comment left when signing.", "comments"),
        *(
            _column(name, "string", meaning, f"<p>:referrer_data.{name}", f"referrer_data.{name}")
            for name, meaning in (
                ("source", "Source code of the signature."),
                ("referrer", "Referrer code; often the sponsoring group's own."),
                ("website", "Where the person came from: a host, or an address."),
            )
        ),
        _column("given_name", "string", "Given name.", "person.given_name"),
        _column("family_name", "string", "Family name.", "person.family_name"),
        _column("person_created_date", "utc", "When the person was created, UTC.", "person.created_date"),
        _column(
            "person_modified_date", "utc", "When the person was last changed, UTC.", "person.modified_date"
        ),
        _column(
            "email",
            "string",
            "The primary e-mail address, else the first.",
            "person.email_addresses[primary].address",
        ),
        _column(
            "email_status", "string", "Status of that address.", "person.email_addresses[primary].status"
        ),
        _column(
            "phone",
            "string",
            "The primary phone number, else the first.",
            "person.phone_numbers[primary].number",
        ),
        _column("phone_type", "string", "Type of that number.", "person.phone_numbers[primary].number_type"),
        _column("phone_status", "string", "Status of that number.", "person.phone_numbers[primary].status"),
        *(
            _column(each.name, each.type, each.meaning, *each.v2)
            for each in location("person.postal_addresses[primary].", "the person")
        ),
        _column("languages_spoken", "list<string>", "Language codes.", "person.languages_spoken"),
        _column("add_tags", "list<string>", "Tags that the signature tried to add.", "add_tags"),
        _column("custom_fields", "json", "Custom fields as JSON text.", "person.custom_fields"),
        _column("sponsor_title", "string", "Sponsoring or referring group.", "../<p>:sponsor.title"),
        _column(
            "sponsor_url",
            "string",
            "Address of the group's page.",
            "../<p>:sponsor.browser_url",
            "../<p>:sponsor.url",
        ),
        _column("self_url", "string", "Address of the signature in the API.", "_links.self.href"),
        _column("person_url", "string", "Address of the person in the API.", "_links.osdi:person.href"),
        _column("petition_url", "string", "Address of the petition in the API.", "_links.osdi:petition.href"),
        Column(
            "received_at",
            "utc",
            ("received_at",),
            (),
            "When the delivery was received, UTC.",
            origin="envelope",
        ),
        *SOURCE,
    ),
)


def _child(name: str, each: str, meaning: str, *entry: Column) -> Table:
    return Table(f"signature_{name}", SIGNATURE, meaning, keys=KEYS, rows=(("", (each,)),), entry=entry)


SIGNATURE_TABLES = (
    SIGNATURES,
    _child(
        "tags",
        "add_tags[]",
        "One row per tag of a signature.",
        _column("tag", "string", "Tag, as tried to add.", "."),
    ),
    _child(
        "emails",
        "person.email_addresses[]",
        "One row per e-mail address of a signature.",
        _POSITION,
        _PRIMARY,
        _column("address", "string", "E-mail address.", "address"),
        _column("status", "string", "Status of the address.", "status"),
    ),
    _child(
        "phones",
        "person.phone_numbers[]",
        "One row per phone number of a signature.",
        _POSITION,
        _PRIMARY,
        _column("number", "string", "Phone number.", "number"),
        _column("number_type", "string", "Type of the number.", "number_type"),
        _column("status", "string", "Status of the number.", "status"),
    ),
    _child(
        "addresses",
        "person.postal_addresses[]",
        "One row per postal address of a signature.",
        _POSITION,
        _PRIMARY,
        *(_column(each.name, each.type, each.meaning, *each.v2) for each in location("", "the person")),
    ),
    _child(
        "custom_fields",
        "person.custom_fields{}",
        "One row per custom field of a signature.",
        Column("name", "string", (), (), "Name of the field.", origin="key"),
        _column("value", "string", "Value of the field.", "."),
    ),
    _child(
        "identifiers",
        "identifiers[]",
        "One row per identifier of a signature.",
        _column("system", "string", "What stands before the first colon.", "system(.)"),
        _column("identifier", "string", "What stands after it; all, where there is none.", "identifier(.)"),
    ),
)
