"""The tables of donations, on fundraising pages or entered by hand."""

from __future__ import annotations

from osdi_frames.tables.act import act_table, act_type, entries_of
from osdi_frames.tables.fundraising_pages import FUNDRAISING_PAGE
from osdi_frames.tables.resource import POSITION, column
from osdi_frames.tables.schema import IDENTIFYING, SENSITIVE

#: The service lists all donations together, too.
DONATION = act_type("donation", FUNDRAISING_PAGE, keys=("recipients", "payment"), parent=None)
_PERIOD = "Monthly or another, in the page's language."
DONATIONS = act_table(
    DONATION,
    FUNDRAISING_PAGE,
    "One row per donation.",
    ("Fundraising page of the donation.", "it was donated"),
    column("amount", "Amount, of all recipients together.", kind="decimal", privacy=SENSITIVE),
    column("currency", "Currency code (ISO 4217), in upper case.", "upper(currency)"),
    column("payment_method", "How it was paid.", "payment.method"),
    column("payment_reference", "Number of the payment.", "payment.reference_number", privacy=IDENTIFYING),
    column(
        "payment_stored",
        "Whether the means of payment is stored.",
        "payment.authorization_stored",
        kind="bool",
        privacy=SENSITIVE,
    ),
    column("recurring", "Whether it recurs.", "<p>:recurrence.recurring", kind="bool", privacy=SENSITIVE),
    column("recurrence_period", _PERIOD, "<p>:recurrence.period", privacy=SENSITIVE),
)
RECIPIENTS = entries_of(
    DONATIONS,
    "recipients",
    "recipients[]",
    "recipient",
    POSITION,
    column("display_name", "Who receives."),
    column("amount", "Amount for this recipient.", kind="decimal", privacy=SENSITIVE),
    block="act",
)
