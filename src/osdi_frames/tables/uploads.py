"""The table of uploads: people whom a group uploaded, or whom an action elsewhere brought."""

from __future__ import annotations

from osdi_frames.tables.act import act_table, act_type

#: Deliveries alone bring them. Queries read one key; elements with another one are mended first.
UPLOAD = act_type(
    "upload",
    None,
    collection="<p>:uploads",
    type_key="action_network:upload",
    spellings=("<p>:upload", "<p>:action"),
    exclusions=(),
)
UPLOADS = act_table(
    UPLOAD,
    None,
    "One row per person that was uploaded, or that an action elsewhere brought.",
    ("", "the person was uploaded"),
)
