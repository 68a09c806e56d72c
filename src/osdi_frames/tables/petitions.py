"""The table of petitions; the contract names them by their links only (interface 2.7).

A petition embeds its creator with address, e-mail and phone: only the id is read, from the link.
"""

from __future__ import annotations

from osdi_frames.tables.resource import PERSON, same, single, titled
from osdi_frames.tables.schema import FREE_TEXT, ElementType, Table

PETITION = ElementType(
    "petition",
    collection="osdi:petitions",
    identities=(("petition_id",),),
    newest=("modified_date", "fetched_at"),
    month="created_date",
    address=single("petitions"),
    ignored=("_embedded", "target", "_links.curies", "_links.osdi:record_signature_helper"),
)

PETITIONS = Table(
    "petitions",
    PETITION,
    "One row per petition.",
    keys=titled(
        "petition",
        same("petition_text", "string", "Letter to the target.", "petition_text", privacy=FREE_TEXT),
        same("total_signatures", "int64", "Signatures that the service counts.", "total_signatures"),
        same(
            "creator_id",
            "string",
            "Person who created the petition.",
            "id(_links.osdi:creator.href)",
            privacy=PERSON,
        ),
        same(
            "signatures_url", "string", "Address of its signatures in the API.", "_links.osdi:signatures.href"
        ),
    ),
)
