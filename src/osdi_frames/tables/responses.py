"""The table of responses to surveys: answers are in the custom fields of the person."""

from __future__ import annotations

from osdi_frames.tables.act import act_table, act_type
from osdi_frames.tables.surveys import SURVEY

RESPONSE = act_type(
    "response",
    SURVEY,
    collection="<p>:responses",
    # As Action Network documents it; queries read one key, elements with another one are mended first.
    type_key="action_network:response",
    spellings=("<p>:response", "osdi:response"),
)
RESPONSES = act_table(
    RESPONSE,
    SURVEY,
    "One row per response to a survey.",
    ("Survey that was answered.", "it was answered"),
)
