"""The table of surveys, to which people respond."""

from __future__ import annotations

from osdi_frames.tables.published import CALL_TO_ACTION, creator, titled
from osdi_frames.tables.resource import block, column, element_type
from osdi_frames.tables.schema import Table

_RESPONSES = ("_links.<p>:responses.href", "_links.osdi:responses.href")
SURVEY = element_type(
    "survey",
    "<p>:surveys",
    keys=("total_responses",),
    ignored=("_embedded", "_links.<p>:record_response_helper", "_links.osdi:record_response_helper"),
)
SURVEYS = Table(
    "surveys",
    SURVEY,
    "One row per survey.",
    keys=titled(
        "survey",
        CALL_TO_ACTION,
        column("total_responses", "Responses that the service counts.", kind="int64"),
        *block(
            "links",
            creator("survey"),
            column("responses_url", "Address of its responses in the API.", *_RESPONSES),
        ),
    ),
)
