"""The declared tables: their columns, as the data dictionary lists them, and the types of their elements.

``dictionary.md`` is read as it is shown: to add a column is to add a line there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from osdi_frames.tables.schema import Column, ElementType, Origin, Privacy, Table

#: The data dictionary in Markdown: the section of each table, by its name.
DICTIONARY: Mapping[str, str] = {
    text.partition("\n")[0]: f"## {text.strip()}\n"
    for text in Path(__file__).with_name("dictionary.md").read_text("utf-8")[3:].split("\n## ")
}


def _column(line: str) -> Column:
    """Read a line of the dictionary; the words in its cells are those that `Column` and `Privacy` declare."""
    cells: list[Any] = line[2:-2].replace("`", "").split(" | ")
    name, kind, v2, v1, meaning, level, shown = cells
    becomes, _, domain = shown.removesuffix(")").partition(" (")
    privacy = Privacy(level, becomes, domain)
    if not v2.startswith("("):
        in_v2, in_v1 = (tuple(cell.split(", ")) if cell != "–" else () for cell in (v2, v1))
        return Column(name, kind, in_v2, in_v1, meaning, privacy=privacy)
    origin = v2[1:-1]
    if origin not in get_args(Origin):
        return Column(name, kind, (), (), meaning, "derived", tuple(origin.split(", ")), privacy)
    return Column(name, kind, (name,) if origin == "envelope" else (), (), meaning, origin, (), privacy)


def _element(name: str, collection: str, *, ignored: tuple[str, ...] = (), **more: Any) -> ElementType:
    """Declare an element type; what is not said is that of one that API pages alone bring."""
    brought = {
        "identities": ((f"{name}_id",),),
        "newest": ("modified_date", "fetched_at"),
        "month": "created_date",
        "address": _address(collection.partition(":")[2]),
    }
    return ElementType(name, collection, ignored=("_links.curies", *ignored), **(brought | more))


def _action(name: str, *, ignored: tuple[str, ...] = (), **more: Any) -> ElementType:
    """Declare an element type that API pages and webhook deliveries bring."""
    own = f"{name}_id"
    return _element(
        name,
        f"osdi:{name}s",
        type_key=f"osdi:{name}",
        # Without an id, its message and its position there identify an element.
        identities=((own,), ("idempotency_key", "element")),
        messages=(("idempotency_key", own), ("idempotency_key", "element"), (own, "modified_date"), (own,)),
        # A delivery brings the person: of equally new versions it counts more than a page.
        newest=("modified_date", "received_at", "fetched_at"),
        address=_address(f"{name}s?"),
        ignored=("_links.osdi:people", *ignored),
        **more,
    )


def _address(collection: str) -> str:
    """Return the pattern for the address of one resource of a collection."""
    return rf"/{collection}/[^/?#]+/?(?:[?#].*)?$"


_PEOPLE = {role: (f"_embedded.osdi:{role}", f"osdi:{role}") for role in ("creator", "organizer")}
#: The collections of a person, and the links of any resource that no column reads.
_PERSON_LINKS = (
    *(f"osdi:{name}" for name in ("question_answers", "attendance", "attendances", "signatures")),
    *(f"osdi:{name}" for name in ("submissions", "donations", "outreaches", "taggings")),
    "<p>:responses",
)

EVENT = _element(
    "event",
    "osdi:events",
    month="start_date",
    keys=(
        *("start_date", "start", "total_accepted"),
        *("guests_can_invite_others", "guestsCanInviteOthers", "transparence"),
    ),
    ignored=tuple(
        f"{person}._links.{link}"
        for embedded in _PEOPLE.values()
        for person in embedded
        for link in ("curies", *_PERSON_LINKS)
    ),
)
EVENT_CAMPAIGN = _element("event_campaign", "<p>:event_campaigns")
#: v1 and some services embed attendances under the name of their link.
ATTENDANCE = _action("attendance", alternatives=("osdi:attendance",), ignored=("tickets",))
#: A petition embeds its creator with address, e-mail and phone: only the id is read, from the link.
PETITION = _element(
    "petition", "osdi:petitions", ignored=("_embedded", "target", "_links.osdi:record_signature_helper")
)
SIGNATURE = _action("signature")
PERSON = _element("person", "osdi:people", ignored=tuple(f"_links.{link}" for link in _PERSON_LINKS))

#: The tables of each element type, and where the entries of an element are that are rows of their own.
_TABLES: Mapping[ElementType, Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    EVENT: {
        "events": {},
        "event_reminders": {"": ("reminders[]",)},
        "event_identifiers": {"": ("identifiers[]",)},
        "event_people": _PEOPLE,
    },
    EVENT_CAMPAIGN: {"event_campaigns": {}},
    ATTENDANCE: {"attendances": {}},
    PETITION: {"petitions": {}},
    SIGNATURE: {
        "signatures": {},
        "signature_tags": {"": ("add_tags[]",)},
        "signature_emails": {"": ("person.email_addresses[]",)},
        "signature_phones": {"": ("person.phone_numbers[]",)},
        "signature_addresses": {"": ("person.postal_addresses[]",)},
        "signature_custom_fields": {"": ("person.custom_fields{}",)},
        "signature_identifiers": {"": ("identifiers[]",)},
    },
    PERSON: {"people": {}},
}


def _table(name: str, element: ElementType, rows: Mapping[str, tuple[str, ...]]) -> Table:
    _, _, meaning, _, _, _, *lines = DICTIONARY[name].splitlines()
    columns = tuple(map(_column, lines))
    of_element = len(columns)
    if rows:  # the element's id is the last of its own columns
        of_element = [column.name for column in columns].index(f"{element.name}_id") + 1
    return Table(name, element, meaning, columns[:of_element], columns[of_element:], tuple(rows.items()))


TABLES: dict[str, Table] = {
    name: _table(name, element, rows) for element, tables in _TABLES.items() for name, rows in tables.items()
}
