"""The table of submissions of forms: answers are in the custom fields of the person."""

from __future__ import annotations

from osdi_frames.tables.act import act_table, act_type
from osdi_frames.tables.forms import FORM

SUBMISSION = act_type("submission", FORM)
SUBMISSIONS = act_table(
    SUBMISSION,
    FORM,
    "One row per submission of a form.",
    ("Form that was submitted.", "it was submitted"),
)
