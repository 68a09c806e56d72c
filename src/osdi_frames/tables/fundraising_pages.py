"""The table of fundraising pages, on which people donate."""

from __future__ import annotations

from osdi_frames.tables.published import CALL_TO_ACTION, creator, titled
from osdi_frames.tables.resource import block, column, element_type
from osdi_frames.tables.schema import Table

FUNDRAISING_PAGE = element_type(
    "fundraising_page",
    "osdi:fundraising_pages",
    keys=("total_donations", "total_amount"),
    ignored=("_embedded", "_links.osdi:record_donation_helper"),
)
FUNDRAISING_PAGES = Table(
    "fundraising_pages",
    FUNDRAISING_PAGE,
    "One row per fundraising page.",
    keys=titled(
        "fundraising page",
        CALL_TO_ACTION,
        column("total_donations", "Donations that the service counts.", kind="int64"),
        column("total_amount", "Their amount, as the service counts it.", kind="decimal"),
        column("currency", "Currency code (ISO 4217), in upper case.", "upper(currency)"),
        *block(
            "links",
            creator("fundraising page"),
            column("donations_url", "Address of its donations in the API.", "_links.osdi:donations.href"),
        ),
    ),
)
