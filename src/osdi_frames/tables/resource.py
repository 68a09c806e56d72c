"""What resources share: identifiers, dates, sponsor, location, and where a row was read."""

from __future__ import annotations

from osdi_frames.tables.schema import FREE_TEXT, PLAIN, Column, ElementType, Level, Privacy, Type, pseudonym


def column(
    name: str,
    meaning: str,
    *paths: str,
    kind: Type = "string",
    v1: tuple[str, ...] | None = None,
    privacy: Privacy = PLAIN,
) -> Column:
    """Declare a column, which stands at the key of its name if no path is given, and in v1 in the same place."""
    v2 = paths or (name,)
    return Column(name, kind, v2, v2 if v1 is None else v1, meaning, privacy=privacy)


def single(collection: str) -> str:
    """Return the pattern for the address of one resource of a collection."""
    return rf"/{collection}/[^/?#]+/?(?:[?#].*)?$"


def element_type(
    name: str,
    collection: str,
    *,
    month: str = "created_date",
    keys: tuple[str, ...] = (),
    ignored: tuple[str, ...] = (),
) -> ElementType:
    """Declare an element type that API pages alone bring."""
    return ElementType(
        name,
        collection,
        identities=((f"{name}_id",),),
        newest=("modified_date", "fetched_at"),
        month=month,
        keys=keys,
        address=single(collection.partition(":")[2]),
        ignored=("_links.curies", *ignored),
    )


def own_id(whose: str) -> Column:
    """Declare the id of a resource."""
    name, meaning = f"{whose.replace(' ', '_')}_id", f"Identifier of the {whose} in the service."
    return column(name, meaning, "own(identifiers)", "id(_links.self.href)", privacy=_of_resource(whose))


def identifiers(whose: str) -> Column:
    """Declare all identifiers of a resource."""
    meaning = "All identifiers, as system:id."
    return column("identifiers", meaning, kind="list<string>", privacy=_of_resource(whose))


def identifier_parts(whose: str) -> tuple[Column, ...]:
    """Declare the parts of one identifier of a resource."""
    after = "What stands after it; all, where there is none."
    return (
        column("system", "What stands before the first colon.", "system(.)"),
        column("identifier", after, "identifier(.)", privacy=_of_resource(whose)),
    )


def _of_resource(whose: str) -> Privacy:
    """Return the privacy of the ids of a resource: a person, or what one person did."""
    return pseudonym(whose) if whose in ("person", "signature", "attendance") else PLAIN


def origin_system(whose: str) -> Column:
    """Declare where a resource was made."""
    return column("origin_system", f"Where the {whose} originated.", v1=("originating_system",))


def dates(created: str = "When it was created, UTC.") -> tuple[Column, ...]:
    """Declare when a resource was created and last changed."""
    return (
        column("created_date", created, kind="utc", v1=("created_at",)),
        column("modified_date", "When it was last changed, UTC.", kind="utc", v1=("modified_at",)),
    )


def sponsor(at: str = "<p>:sponsor", whose: str = "Sponsoring group.") -> tuple[Column, ...]:
    """Declare the group of a resource, whose page's address has two names."""
    return (
        column("sponsor_title", whose, f"{at}.title"),
        column("sponsor_url", "Address of the group's page.", f"{at}.browser_url", f"{at}.url"),
    )


def location(at: str, whose: str) -> tuple[Column, ...]:
    """Declare the columns of the postal address (interface 2.2 and 2.7) whose keys follow `at`.

    The address of an event is published, but can be somebody's home.
    """
    level: Level = "identifying" if whose == "the person" else "sensitive"
    degrees = Privacy(level, "coarsened", "degrees")

    def part(
        name: str, meaning: str, path: str = "", privacy: Privacy = PLAIN, kind: Type = "string"
    ) -> Column:
        return column(f"location_{name}", meaning, at + (path or name), kind=kind, privacy=privacy)

    return (
        part(
            "address",
            f"First line of the street address of {whose}.",
            "address_lines[0]",
            Privacy(level, "dropped"),
        ),
        # A small town says more than the beginning of a postal code.
        part("locality", f"City or local area of {whose}.", privacy=FREE_TEXT),
        part("region", f"Subdivision code (ISO 3166-2) of {whose}."),
        part(
            "postal_code", f"Postal code of {whose}.", privacy=Privacy("sensitive", "coarsened", "characters")
        ),
        part("country", f"Country code (ISO 3166-1 alpha-2) of {whose}."),
        part("latitude", f"Latitude of {whose}, in degrees.", "location.latitude", degrees, "float64"),
        part("longitude", f"Longitude of {whose}, in degrees.", "location.longitude", degrees, "float64"),
        part("accuracy", "Rooftop or Approximate.", "location.accuracy"),
    )


def location_language(at: str, whose: str) -> Column:
    """Declare the language of a postal address, which signatures do not have."""
    return column("location_language", f"Language code (ISO 639) of {whose}.", f"{at}language")


SELF = "_links.self.href"
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
