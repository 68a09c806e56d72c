"""The table of tags, with which a group marks people."""

from __future__ import annotations

from osdi_frames.tables.resource import GONE_SINCE, READ_FROM, SELF, block, column, element_type, own
from osdi_frames.tables.schema import Table

TAG = element_type("tag", "osdi:tags")
_ID, _IDENTIFIERS, _, *_DATES = own("tag")
TAGS = Table(
    "tags",
    TAG,
    "One row per tag.",
    keys=(
        _ID,
        _IDENTIFIERS,
        *_DATES,
        column("name", "Name of the tag, as in add_tags."),
        *block(
            "links",
            column("self_url", "Address of the tag in the API.", SELF),
            column("taggings_url", "Address of its taggings in the API.", "_links.osdi:taggings.href"),
        ),
        GONE_SINCE,
        *READ_FROM,
    ),
)
