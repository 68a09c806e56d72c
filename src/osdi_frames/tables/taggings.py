"""The table of taggings: which person has which tag."""

from __future__ import annotations

from osdi_frames.tables import resource
from osdi_frames.tables.act import PERSON_LINK, SELF_LINK, SUBJECT_LINK
from osdi_frames.tables.people import PERSON_HREFS, PERSON_ID, PERSON_IDS
from osdi_frames.tables.resource import SELF, block, column, element_type, own
from osdi_frames.tables.schema import IDENTIFYING, SENSITIVE, Table, pseudonym
from osdi_frames.tables.tags import TAG

TAGGING = element_type(
    "tagging",
    "osdi:taggings",
    evidence=("_links.osdi:tag", "<p>:tag_id"),
    exclusions=(resource.GONE,),
    parent=TAG,
)
_TAG = "_links.osdi:tag.href"
_ID, _IDENTIFIERS, _, *_DATES = own("tagging", "the person was tagged", privacy=pseudonym("tagging"))
TAGGINGS = Table(
    "taggings",
    TAGGING,
    "One row per tagging: a person's tag.",
    keys=(
        _ID,
        _IDENTIFIERS,
        *block(
            SUBJECT_LINK,
            column("tag_id", "Tag of the person.", f"id({_TAG})", "<p>:tag_id", privacy=SENSITIVE),
        ),
        *block(PERSON_LINK, column("person_id", "Person who is tagged.", *PERSON_IDS, privacy=PERSON_ID)),
        *_DATES,
        column("item_type", "What is tagged: osdi:person."),
        *block(
            SELF_LINK, column("self_url", "Address of the tagging in the API.", SELF, privacy=IDENTIFYING)
        ),
        *block(
            PERSON_LINK,
            column("person_url", "Address of the person in the API.", *PERSON_HREFS, privacy=IDENTIFYING),
        ),
        *block(SUBJECT_LINK, column("tag_url", "Address of the tag in the API.", _TAG, privacy=SENSITIVE)),
        resource.GONE_SINCE,
        resource.excluded(TAGGING.exclusions),
        *resource.READ_FROM,
    ),
)
