"""The table of forms, which people submit."""

from __future__ import annotations

from osdi_frames.tables.published import CALL_TO_ACTION, creator, titled
from osdi_frames.tables.resource import block, column, element_type
from osdi_frames.tables.schema import Table

FORM = element_type(
    "form",
    "osdi:forms",
    keys=("total_submissions",),
    ignored=("_embedded", "_links.osdi:record_submission_helper"),
)
FORMS = Table(
    "forms",
    FORM,
    "One row per form.",
    keys=titled(
        "form",
        CALL_TO_ACTION,
        column("total_submissions", "Submissions that the service counts.", kind="int64"),
        *block(
            "links",
            creator("form"),
            column(
                "submissions_url", "Address of its submissions in the API.", "_links.osdi:submissions.href"
            ),
        ),
    ),
)
