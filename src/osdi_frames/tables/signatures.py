"""The table of petition signatures (interface 2.7)."""

from __future__ import annotations

from osdi_frames.tables.act import act_table, act_type
from osdi_frames.tables.petitions import PETITION
from osdi_frames.tables.resource import column
from osdi_frames.tables.schema import IDENTIFYING

SIGNATURE = act_type("signature", PETITION, content=("person_id", "petition_id", "created_date"))
SIGNATURES = act_table(
    SIGNATURE,
    PETITION,
    "One row per petition signature (interface 2.7).",
    ("Petition that was signed.", "it was signed"),
    column("comments", "Comment left when signing.", privacy=IDENTIFYING),
)
