"""What the tables share of what organizers publish for others to act on: titles, dates, sponsor, links.

The contract names them by their links only. Petitions and others embed their creator with address, e-mail and phone:
only the id is read, from the link.
"""

from __future__ import annotations

from osdi_frames.tables.people import PERSON_ID
from osdi_frames.tables.resource import (
    GONE_SINCE,
    READ_FROM,
    SELF,
    SPONSOR,
    block,
    column,
    own,
    placed,
)
from osdi_frames.tables.schema import FREE_TEXT, Column

#: What forms, and what is like them, ask for.
CALL_TO_ACTION = column("call_to_action", "Text that asks people to act.", privacy=FREE_TEXT)


def titled(whose: str, *columns: Column) -> tuple[Column, ...]:
    """Declare the columns of all of them; those of one alone come in between."""
    return (
        *own(whose),
        column("name", "Administrative title, shown only internally.", privacy=FREE_TEXT),
        column("title", "Public title."),
        column("description", "Description; may contain HTML.", privacy=FREE_TEXT),
        *columns,
        column("browser_url", f"Address of the {whose}'s page."),
        column("featured_image_url", "Address of the banner image."),
        column("tag_list", "Tags for those who act in the service's pages.", kind="list<string>"),
        column("hidden", "Whether it is hidden in the user interface.", "<p>:hidden", kind="bool"),
        *block("sponsor", *placed(SPONSOR, "<p>:sponsor.", "Sponsoring")),
        *block(
            "links",
            column("self_url", f"Address of the {whose} in the API.", SELF),
            column("embed_url", "Address of its embed code.", "_links.<p>:embed.href"),
        ),
        GONE_SINCE,
        *READ_FROM,
    )


def creator(whose: str) -> Column:
    """Declare the id of the person who created it, by its link."""
    meaning = f"Person who created the {whose}."
    return column("creator_id", meaning, "id(_links.osdi:creator.href)", privacy=PERSON_ID)
