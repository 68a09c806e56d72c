"""What the tables of acts share: a person, how they came, tags, and what was acted on (interface 2.5, 2.7).

An act is something that a person did: signed, RSVPed, submitted, donated, wrote, answered.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from osdi_frames.tables import resource
from osdi_frames.tables.people import (
    CONTACT,
    CUSTOM_FIELDS,
    EMAIL,
    NAMES,
    PERSON_HREFS,
    PERSON_ID,
    PERSON_IDS,
    PHONE,
)
from osdi_frames.tables.resource import SELF, SPONSOR, block, column, placed
from osdi_frames.tables.schema import (
    IDENTIFYING,
    SENSITIVE,
    Column,
    ElementType,
    ExclusionRule,
    Table,
    pseudonym,
)

#: The blocks of the links of an act: to itself, to the person, to what was acted on. What leads nowhere says nothing.
LINKS = SELF_LINK, PERSON_LINK, SUBJECT_LINK = "self_link", "person_link", "subject_link"

#: By which way a person came.
REFERRER_DATA = tuple(
    column(
        key,
        meaning,
        f"<p>:referrer_data.{key}",
        f"referrer_data.{key}",
        privacy=SENSITIVE,
        absent=tuple(absent),
    )
    for key, meaning, *absent in (
        ("source", "Source code; the text none is missing.", "none"),
        ("referrer", "Referrer code; often the sponsoring group's own."),
        ("website", "Host or address of origin; api, none are missing.", "api", "none"),
        ("email_referrer", "Id of the e-mail that the person came from."),
        ("mobile_message_referrer", "Id of the mobile message they came from."),
    )
)

#: What the service's "send test" sends lacks any date, and all of the referrer data.
_TEST = ExclusionRule(
    "test",
    dict.fromkeys(("created_date", "modified_date", *(column.name for column in REFERRER_DATA)), (None,)),
)


def act_type(
    name: str,
    of: ElementType | None,
    *exclusions: ExclusionRule,
    collection: str = "",
    ignored: tuple[str, ...] = (),
    content: tuple[str, ...] = (),
    **other: Any,
) -> ElementType:
    """Declare an element type that API pages and webhook deliveries bring; `of` is the type that is acted on, if any.

    The columns of `content` identify an element that has no id. Keywords override the defaults of acts that are listed
    by their subject alone.
    """
    own, collection = f"{name}_id", collection or f"osdi:{name}s"
    said: dict[str, Any] = {
        "type_key": f"osdi:{name}",
        # Without an id, its content identifies an element, else its message and its position there.
        "identities": ((own,), *([content] if content else []), ("idempotency_key", "element")),
        "messages": (
            ("idempotency_key", own),
            ("idempotency_key", "element"),
            (own, "modified_date"),
            (own,),
        ),
        "at": f"(?:{collection.partition(':')[2]}|{name})",
        "evidence": (*(f"_links.{link}" for link in _links_to(of)), f"<p>:{of.name}_id") if of else (),
        "exclusions": (_TEST, resource.GONE, *exclusions),
        "parent": of,
    }
    return resource.element_type(name, collection, ignored=ignored, **(said | other))


def _links_to(of: ElementType) -> tuple[str, ...]:
    """Return the keys of links to what is acted on: in the words of its collection, or of OSDI."""
    system = of.collection.partition(":")[0]
    return tuple(dict.fromkeys((f"{system}:{of.name}", f"osdi:{of.name}")))


_MESSAGE = "../idempotency_key"
#: What identifies an element whose id is not there.
_DELIVERED = (
    column("idempotency_key", "Same for all retries of a message.", _MESSAGE, privacy=pseudonym("message")),
    Column("element", "int64", (), (), "Position in its delivery or page, from 0.", "element position"),
)
_FILLED = Column(
    "person_filled",
    "list<string>",
    (),
    (),
    "name, email, phone, location: filled from people.",
    "resolved",
    ("person_id",),
)

#: The block of the dates of a person in an act.
DATES = "dates"
_DATES = (
    column("person_created_date", "When the person was created, UTC.", "created_date", kind="utc"),
    column("person_modified_date", "When the person was last changed, UTC.", "modified_date", kind="utc"),
)


def act_table(
    element: ElementType, of: ElementType | None, meaning: str, acted: tuple[str, str], *own: Column
) -> Table:
    """Declare the table of an element type.

    `acted` says what the id of what is acted on is, and when it was done; `own` columns are of this table alone. What
    is about nothing, as an upload, is no act: nothing leaves it out of reports, which do not count it.
    """
    name, (parent_meaning, created) = element.name, acted
    own_id, identifiers, _, *dates = resource.own(name, created, privacy=pseudonym(name))
    parent_id, parent_url = _linked(of, parent_meaning) if of else ((), ())
    event_id = [column.name for column in parent_id if column.name == "event_id"]
    excluded = (resource.GONE_SINCE, resource.excluded(element.exclusions, *event_id)) if of else ()
    tags = f"Tags that the {name} tried to add."
    columns = (
        *block("message", *_DELIVERED),
        own_id,
        identifiers,
        *block(SUBJECT_LINK, *parent_id),
        *block(PERSON_LINK, column("person_id", "Person who acted.", *PERSON_IDS, privacy=PERSON_ID)),
        *dates,
        *own,
        *block("referrer", *placed(REFERRER_DATA, "")),
        *placed((*NAMES, *block(DATES, *_DATES), *CONTACT), "person."),
        *block("tags", column("add_tags", tags, kind="list<string>", privacy=SENSITIVE)),
        *placed([CUSTOM_FIELDS], "person."),
        *block("sponsor", *placed(SPONSOR, "../<p>:sponsor.", "Sponsoring or referring")),
        *block(
            SELF_LINK, column("self_url", f"Address of the {name} in the API.", SELF, privacy=IDENTIFYING)
        ),
        *block(
            PERSON_LINK,
            column("person_url", "Address of the person in the API.", *PERSON_HREFS, privacy=IDENTIFYING),
        ),
        *block(SUBJECT_LINK, *parent_url),
        _FILLED,
        *excluded,
        resource.RECEIVED_AT,
        *resource.READ_FROM,
    )
    return Table(element.plural, element, meaning, columns)


def _linked(of: ElementType, meaning: str) -> tuple[tuple[Column], tuple[Column]]:
    """Declare the id and the address of what is acted on: what somebody signs or attends is an opinion."""
    hrefs, own_id = tuple(f"_links.{link}.href" for link in _links_to(of)), f"{of.name}_id"
    ids, address = (
        (*(f"id({href})" for href in hrefs), f"<p>:{own_id}"),
        f"Address of the {of.name} in the API.",
    )
    return (
        (column(own_id, meaning, *ids, privacy=SENSITIVE),),
        (column(f"{of.name}_url", address.replace("_", " "), *hrefs, privacy=SENSITIVE),),
    )


_PLACE = (resource.POSITION, column("primary", "Whether it is the person's primary one.", kind="bool"))


def tags_of(table: Table) -> Table:
    """Declare the table of the tags of an act."""
    tag = column("tag", "Tag, as tried to add.", ".", privacy=SENSITIVE)
    return entries_of(table, "tags", "add_tags[]", "tag", tag, block="tags")


#: The lists that every person of an act has: name, path, whose rows these are, columns and block.
_LISTS_OF_PERSONS: tuple[tuple[str, str, str, tuple[Column, ...], str], ...] = (
    (
        "emails",
        "person.email_addresses[]",
        "e-mail address",
        (
            *_PLACE,
            column("address", "E-mail address.", privacy=EMAIL),
            column("status", "Status of the address."),
        ),
        "email",
    ),
    (
        "phones",
        "person.phone_numbers[]",
        "phone number",
        (
            *_PLACE,
            column("number", "Phone number.", privacy=PHONE),
            column("number_type", "Type of the number."),
            column("status", "Status of the number."),
        ),
        "phone",
    ),
    (
        "addresses",
        "person.postal_addresses[]",
        "postal address",
        (*_PLACE, *placed(resource.LOCATION, "")),
        "location",
    ),
    (
        "custom_fields",
        "person.custom_fields{}",
        "custom field",
        (
            Column("name", "string", (), (), "Name of the field.", "key", privacy=SENSITIVE),
            column("value", "Value of the field.", ".", privacy=IDENTIFYING),
        ),
        "custom_fields",
    ),
)


def act_tables(table: Table, *others: Table) -> tuple[Table, ...]:
    """Return the tables of an act: its own, and those of the lists that every act has; `others` are its own lists."""
    identifier = replace(resource.IDENTIFIER, privacy=pseudonym(table.element.name))
    return (
        table,
        tags_of(table),
        *(
            entries_of(table, name, at, whose, *columns, block=block)
            for name, at, whose, columns, block in _LISTS_OF_PERSONS
        ),
        entries_of(
            table, "identifiers", "identifiers[]", "identifier", resource.SYSTEM, identifier, block="act"
        ),
        *others,
    )


def entries_of(table: Table, name: str, at: str, whose: str, *entry: Column, block: str) -> Table:
    """Declare a table of one row for each entry that stands at a path of an act."""
    act = table.element.name
    meaning = f"One row per {whose} of {'an' if act[0] in 'aeiou' else 'a'} {act}."
    return resource.of_entries(table.element, table.keys[:3], name, meaning, at, *entry, block=block)
