"""What resources share: identifiers, dates, sponsor, location, and where a row was read.

A group of columns is declared for any resource, and `placed` where a resource has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from osdi_frames.tables.schema import (
    FREE_TEXT,
    PLAIN,
    Column,
    ElementType,
    ExclusionRule,
    Privacy,
    Table,
    Type,
)

SELF = "_links.self.href"

#: What v1 calls some keys of any resource, and of a person or a sponsor inside one (interface 2.8 and 9).
IN_V1 = {
    "origin_system": "originating_system",
    "created_date": "created_at",
    "modified_date": "modified_at",
    "title": "summary",
    "browser_url": "url",
}


def _in_v1(path: str) -> str:
    """Return a path as v1 writes it.

    >>> _in_v1("<p>:sponsor.title")
    '<p>:sponsor.summary'
    """
    before, dot, key = path.rpartition(".")
    return f"{before}{dot}{IN_V1.get(key, key)}"


def column(
    name: str,
    meaning: str,
    *paths: str,
    kind: Type = "string",
    v1: str | None = None,
    privacy: Privacy = PLAIN,
    absent: tuple[str, ...] = (),
) -> Column:
    """Declare a column: it stands at the key of its name if no path is given, and in v1 at the names of `IN_V1`.

    Another path in v1 is `v1`; without one there, that is empty.
    """
    v2 = paths or (name,)
    in_v1 = tuple(dict.fromkeys(map(_in_v1, v2))) if v1 is None else (v1,) if v1 else ()
    return Column(name, kind, v2, in_v1, meaning, privacy=privacy, absent=absent)


def placed(columns: Iterable[Column], at: str, whose: str = "the person") -> tuple[Column, ...]:
    """Return columns below `at`, their meanings about `whose`.

    What identifies a person is only sensitive of anything else: the address of an event is published, but can be
    somebody's home.
    """
    made = []
    for declared in columns:
        v2, v1 = (tuple(f"{at}{path}" for path in paths) for paths in (declared.v2, declared.v1))
        privacy = declared.privacy
        if privacy.level == "identifying" and whose != "the person":
            privacy = replace(privacy, level="sensitive")
        meaning = declared.meaning.format(whose)
        made.append(replace(declared, v2=v2, v1=v1, meaning=meaning, privacy=privacy))
    return tuple(made)


def block(name: str, *columns: Column) -> tuple[Column, ...]:
    """Return columns as those of a block: all come from one version, by the rules of `resolving.merging`."""
    return tuple(replace(column, block=name) for column in columns)


def own(whose: str, created: str = "it was created", *, privacy: Privacy = PLAIN) -> tuple[Column, ...]:
    """Declare what every resource has: id, identifiers, origin, and the dates; `created` says when the first is.

    The ids of a person, and of what one person did, lead to that person: `privacy` is theirs.
    """
    name, meaning = f"{whose.replace(' ', '_')}_id", f"The service's identifier of the {whose}."
    return (
        column(name, meaning, "own(identifiers)", f"id({SELF})", "held(id)", privacy=privacy),
        column("identifiers", "All identifiers, as system:id.", kind="list<string>", privacy=privacy),
        column("origin_system", f"Where the {whose} originated."),
        column("created_date", f"When {created}, UTC.", kind="utc"),
        column("modified_date", "When it was last changed, UTC.", kind="utc"),
    )


def element_type(
    name: str, collection: str, *, at: str = "", ignored: tuple[str, ...] = (), **other: Any
) -> ElementType:
    """Declare an element type; what `other` does not say is that of one that API pages alone bring.

    The address of one ends in the name of its collection, or in what matches `at`, and an id.
    """
    said = {
        "identities": ((f"{name}_id",),),
        "month": "created_date",
        "address": rf"/{at or collection.partition(':')[2]}/[^/?#]+/?(?:[?#].*)?$",
    }
    return ElementType(name, collection, ignored=("_links.curies", *ignored), **(said | other))


#: When what pulls list, or listed earlier, was first proved to be no longer there. It is known at the end of a reading.
GONE_SINCE = Column(
    "gone_since", "utc", (), (), "End of the first complete pull without it, UTC.", "resolved"
)
#: The service lists it no more.
GONE = ExclusionRule("gone", {GONE_SINCE.name: (None,)}, unless=True)


def excluded(rules: Iterable[ExclusionRule], *event: str) -> Column:
    """Declare why reports leave a row out, by the columns that the rules are about.

    `event` is the column of an event for whose reason a row is left out, too.
    """
    rules = tuple(rules)
    needed = dict.fromkeys(name for rule in rules for name in rule.values if name != GONE_SINCE.name)
    reasons = ", ".join([*(rule.reason for rule in rules), *(["its event"] if event else [])])
    meaning = f"Why uncounted: {reasons}."
    return Column("excluded", "string", (), (), meaning, "resolved", (*needed, *event))


def of_entries(
    element: ElementType,
    keys: tuple[Column, ...],
    name: str,
    meaning: str,
    at: str,
    *entry: Column,
    block: str = "act",
) -> Table:
    """Declare a table of one row for each entry that stands at a path of an element."""
    return Table(f"{element.name}_{name}", element, meaning, keys, entry, rows=(("", (at,)),), block=block)


#: One identifier of a resource.
SYSTEM = column("system", "What stands before the first colon.", "system(.)")
IDENTIFIER = column("identifier", "What stands after it; all, where there is none.", "identifier(.)")

#: The group of a resource, whose page's address has two names.
SPONSOR = (
    column("sponsor_title", "{} group.", "title"),
    column("sponsor_url", "Address of the group's page.", "browser_url", "url"),
)

_degrees = partial(column, kind="float64", privacy=Privacy("identifying", "coarsened", "degrees"))
_DIGITS = Privacy("sensitive", "coarsened", "characters")
_LINE = Privacy("identifying", "dropped")

#: A postal address (interface 2.2 and 2.7). A small town says more than the beginning of a postal code.
LOCATION = (
    column("location_address", "First line of the street address of {}.", "address_lines[0]", privacy=_LINE),
    column("location_locality", "City or local area of {}.", "locality", privacy=FREE_TEXT),
    column("location_region", "Subdivision code (ISO 3166-2) of {}.", "region"),
    column("location_postal_code", "Postal code of {}.", "postal_code", privacy=_DIGITS),
    column("location_country", "Country code (ISO 3166-1 alpha-2) of {}.", "country"),
    _degrees("location_latitude", "Latitude of {}, in degrees.", "location.latitude"),
    _degrees("location_longitude", "Longitude of {}, in degrees.", "location.longitude"),
    column("location_accuracy", "Rooftop or Approximate.", "location.accuracy"),
)
#: Its language, which signatures do not have.
LANGUAGE = column("location_language", "Language code (ISO 639) of {}.", "language")

POSITION = Column("position", "int64", (), (), "Position in the list, from 0.", "entry position")

#: Where a row was read. The rows of deliveries say in addition when they were received.
READ_FROM = (
    Column("fetched_at", "utc", ("fetched_at",), (), "When the document was fetched, UTC.", "envelope"),
    Column("source_file", "string", (), (), "File that the row was read from.", "source", (), FREE_TEXT),
    Column("source_line", "int64", (), (), "Line on which its document begins.", "source", (), FREE_TEXT),
)
RECEIVED_AT = Column(
    "received_at", "utc", ("received_at",), (), "When the delivery was received, UTC.", "envelope"
)
