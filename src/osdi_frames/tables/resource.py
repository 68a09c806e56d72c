"""The columns that resources share: identifiers, dates, sponsor, location, and where a row was read."""

from __future__ import annotations

from osdi_frames.tables.schema import (
    FREE_TEXT,
    PLAIN,
    Column,
    Level,
    Privacy,
    Type,
    pseudonym,
)


def same(name: str, kind: Type, meaning: str, *paths: str, privacy: Privacy = PLAIN) -> Column:
    """Declare a column that v1 and v2 have in the same place."""
    return Column(name, kind, paths, paths, meaning, privacy=privacy)


def single(collection: str) -> str:
    """Return the pattern for the address of one resource of a collection."""
    return rf"/{collection}/[^/?#]+/?(?:[?#].*)?$"


def own_id(whose: str) -> Column:
    """Declare the id of a resource."""
    meaning = f"Identifier of the {whose} in the service."
    name, privacy = f"{whose.replace(' ', '_')}_id", _of_resource(whose)
    return same(name, "string", meaning, "own(identifiers)", "id(_links.self.href)", privacy=privacy)


def identifiers(whose: str) -> Column:
    """Declare all identifiers of a resource."""
    meaning = "All identifiers, as system:id."
    return same("identifiers", "list<string>", meaning, "identifiers", privacy=_of_resource(whose))


def identifier_parts(whose: str) -> tuple[Column, ...]:
    """Declare the parts of one identifier of a resource."""
    return (
        same("system", "string", "What stands before the first colon.", "system(.)"),
        same(
            "identifier",
            "string",
            "What stands after it; all, where there is none.",
            "identifier(.)",
            privacy=_of_resource(whose),
        ),
    )


def _of_resource(whose: str) -> Privacy:
    """Return the privacy of the ids of a resource: a person, or what one person did."""
    return pseudonym(whose) if whose in ("person", "signature", "attendance") else PLAIN


def origin_system(whose: str) -> Column:
    """Declare where a resource was made."""
    v2, v1 = ("origin_system",), ("originating_system",)
    return Column("origin_system", "string", v2, v1, f"Where the {whose} originated.")


def dates(created: str = "When it was created, UTC.") -> tuple[Column, ...]:
    """Declare when a resource was created and last changed."""
    changed = "When it was last changed, UTC."
    return (
        Column("created_date", "utc", ("created_date",), ("created_at",), created),
        Column("modified_date", "utc", ("modified_date",), ("modified_at",), changed),
    )


def sponsor(at: str = "<p>:sponsor", whose: str = "Sponsoring group.") -> tuple[Column, ...]:
    """Declare the group of a resource, whose page's address has two names."""
    return (
        same("sponsor_title", "string", whose, f"{at}.title"),
        same("sponsor_url", "string", "Address of the group's page.", f"{at}.browser_url", f"{at}.url"),
    )


def location(at: str, whose: str) -> tuple[Column, ...]:
    """Declare the columns of the postal address (interface 2.2 and 2.7) whose keys follow `at`.

    The address of an event is published, but can be somebody's home.
    """
    level: Level = "identifying" if whose == "the person" else "sensitive"
    degrees = Privacy(level, "coarsened", "degrees")
    return (
        same(
            "location_address",
            "string",
            f"First line of the street address of {whose}.",
            f"{at}address_lines[0]",
            privacy=Privacy(level, "dropped"),
        ),
        # A small town says more than the beginning of a postal code.
        same(
            "location_locality",
            "string",
            f"City or local area of {whose}.",
            f"{at}locality",
            privacy=FREE_TEXT,
        ),
        same("location_region", "string", f"Subdivision code (ISO 3166-2) of {whose}.", f"{at}region"),
        same(
            "location_postal_code",
            "string",
            f"Postal code of {whose}.",
            f"{at}postal_code",
            privacy=Privacy("sensitive", "coarsened", "characters"),
        ),
        same("location_country", "string", f"Country code (ISO 3166-1 alpha-2) of {whose}.", f"{at}country"),
        *(
            same(
                f"location_{name}",
                "float64",
                f"{name.capitalize()} of {whose}, in degrees.",
                f"{at}location.{name}",
                privacy=degrees,
            )
            for name in ("latitude", "longitude")
        ),
        same("location_accuracy", "string", "Rooftop or Approximate.", f"{at}location.accuracy"),
    )


def location_language(at: str, whose: str) -> Column:
    """Declare the language of a postal address, which signatures do not have."""
    return same("location_language", "string", f"Language code (ISO 639) of {whose}.", f"{at}language")


PERSON = pseudonym("person")
NAME = same("name", "string", "Administrative title, shown only internally.", "name", privacy=FREE_TEXT)
DESCRIPTION = same(
    "description", "string", "Description; may contain HTML.", "description", privacy=FREE_TEXT
)
SELF = "_links.self.href"

FETCHED_AT = Column(
    "fetched_at", "utc", ("fetched_at",), (), "When the document was fetched, UTC.", origin="envelope"
)
RECEIVED_AT = Column(
    "received_at", "utc", ("received_at",), (), "When the delivery was received, UTC.", origin="envelope"
)
SOURCE = (
    Column("source_file", "string", (), (), "File that the row was read from.", "source", (), FREE_TEXT),
    Column("source_line", "int64", (), (), "Line on which its document begins.", "source", (), FREE_TEXT),
)


def titled(whose: str, *own: Column) -> tuple[Column, ...]:
    """Declare the columns of what an organizer publishes for others to act on; `own` come in between."""
    return (
        own_id(whose),
        identifiers(whose),
        origin_system(whose),
        *dates(),
        NAME,
        same("title", "string", "Public title.", "title"),
        DESCRIPTION,
        *own,
        same("browser_url", "string", f"Address of the {whose}'s page.", "browser_url"),
        same("featured_image_url", "string", "Address of the banner image.", "featured_image_url"),
        same("tag_list", "list<string>", "Tags for those who act in the service's pages.", "tag_list"),
        same("hidden", "bool", "Whether it is hidden in the user interface.", "<p>:hidden"),
        *sponsor(),
        same("self_url", "string", f"Address of the {whose} in the API.", SELF),
        same("embed_url", "string", "Address of its embed code.", "_links.<p>:embed.href"),
        FETCHED_AT,
        *SOURCE,
    )
