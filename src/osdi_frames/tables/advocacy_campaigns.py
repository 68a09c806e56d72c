"""The table of advocacy campaigns, in which people write to or call officials."""

from __future__ import annotations

from osdi_frames.tables.published import CALL_TO_ACTION, creator, titled
from osdi_frames.tables.resource import block, column, element_type
from osdi_frames.tables.schema import FREE_TEXT, Table

ADVOCACY_CAMPAIGN = element_type(
    "advocacy_campaign",
    "osdi:advocacy_campaigns",
    keys=("total_outreaches",),
    ignored=("_embedded", "_links.osdi:record_outreach_helper"),
)
ADVOCACY_CAMPAIGNS = Table(
    "advocacy_campaigns",
    ADVOCACY_CAMPAIGN,
    "One row per advocacy campaign.",
    keys=titled(
        "advocacy campaign",
        CALL_TO_ACTION,
        column("type", "email or phone."),
        column("targets", "Whom people write to or call.", privacy=FREE_TEXT),
        column("total_outreaches", "Outreaches that the service counts.", kind="int64"),
        *block(
            "links",
            creator("advocacy campaign"),
            column("outreaches_url", "Address of its outreaches in the API.", "_links.osdi:outreaches.href"),
        ),
    ),
)
