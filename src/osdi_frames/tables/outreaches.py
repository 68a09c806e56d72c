"""The tables of outreaches: letters and calls of advocacy campaigns, one for each target."""

from __future__ import annotations

from osdi_frames.tables.act import act_table, act_type, entries_of
from osdi_frames.tables.advocacy_campaigns import ADVOCACY_CAMPAIGN
from osdi_frames.tables.people import NAMES
from osdi_frames.tables.resource import POSITION, block, column
from osdi_frames.tables.schema import IDENTIFYING, SENSITIVE

OUTREACH = act_type("outreach", ADVOCACY_CAMPAIGN, collection="osdi:outreaches")
OUTREACHES = act_table(
    OUTREACH,
    ADVOCACY_CAMPAIGN,
    "One row per outreach: a letter or a call to a target.",
    ("Advocacy campaign that it belongs to.", "it was sent"),
    column("type", "email or phone."),
    column("subject", "Subject of the letter.", privacy=IDENTIFYING),
    column("message", "Text of the letter.", privacy=IDENTIFYING),
    column("duration", "Duration of the call, in the service's unit.", kind="float64"),
)
TARGETS = entries_of(
    OUTREACHES,
    "targets",
    "targets[]",
    "target",
    POSITION,
    column("title", "Office of the target.", v1="title"),
    *block("act", *NAMES),
    # A target shows in which district a person lives.
    column("ocdid", "Division (Open Civic Data) of the target.", privacy=SENSITIVE),
    block="act",
)
