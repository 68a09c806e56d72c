"""The table of petitions (interface 2.7)."""

from __future__ import annotations

from osdi_frames.tables.published import creator, titled
from osdi_frames.tables.resource import block, column, element_type
from osdi_frames.tables.schema import FREE_TEXT, Table

PETITION = element_type(
    "petition",
    "osdi:petitions",
    keys=("petition_text", "total_signatures"),
    ignored=("_embedded", "target", "_links.osdi:record_signature_helper"),
)
PETITIONS = Table(
    "petitions",
    PETITION,
    "One row per petition.",
    keys=titled(
        "petition",
        column("petition_text", "Letter to the target.", privacy=FREE_TEXT),
        column("total_signatures", "Signatures that the service counts.", kind="int64"),
        *block(
            "links",
            creator("petition"),
            column("signatures_url", "Address of its signatures in the API.", "_links.osdi:signatures.href"),
        ),
    ),
)
