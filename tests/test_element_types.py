"""To add an element type is to declare it: one that is declared here is read, deduplicated, checked and described."""

import pytest

import osdi_frames as of
from osdi_frames.tables import TABLES
from osdi_frames.tables.schema import Column, ElementType, Table

DONATION = ElementType(
    "donation",
    collection="osdi:donations",
    type_key="osdi:donation",
    identities=(("donation_id",),),
    messages=(("idempotency_key", "donation_id"),),
    address=r"/donations/[^/?#]+$",
)
KEYS = (
    Column("idempotency_key", "string", ("../idempotency_key",), (), "Same for all retries of a message."),
    Column("donation_id", "string", ("own(identifiers)", "id(_links.self.href)"), (), "The donation."),
)
DONATIONS = Table(
    "donations",
    DONATION,
    "One row per donation.",
    keys=(
        *KEYS,
        Column("modified_date", "utc", ("modified_date",), (), "When it was last changed, UTC."),
        Column("amount", "float64", ("amount",), (), "The amount."),
    ),
)
RECIPIENTS = Table(
    "donation_recipients",
    DONATION,
    "One row per recipient of a donation.",
    keys=KEYS,
    rows=(("", ("recipients[]",)),),
    entry=(Column("display_name", "string", ("display_name",), (), "Who receives."),),
)


def donation(name, amount, modified="2026-01-01T00:00:00Z", **keys):
    recipients = [{"display_name": "Fund"}, {"display_name": name}]
    return {
        "identifiers": [f"platform:{name}"],
        "amount": amount,
        "modified_date": modified,
        "recipients": recipients,
    } | keys


ARCHIVE = [
    {"_embedded": {"osdi:donations": [donation("a", "10.5"), donation("b", 3)]}},
    [{"osdi:donation": donation("a", 12, "2026-02-01T00:00:00Z"), "idempotency_key": "k"}],
    {
        "fetched_at": "2026-03-01T00:00:00Z",
        "body": {"amount": 7, "_links": {"self": {"href": "/donations/c"}}},
    },
    [{"osdi:signature": {"comments": "Yes!"}, "idempotency_key": "s"}],
]


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    for table in (DONATIONS, RECIPIENTS):
        monkeypatch.setitem(TABLES, table.name, table)


def test_pages_deliveries_and_single_resources_of_a_declared_type_are_read():
    found = of.read_table(ARCHIVE, "donations")
    assert found[["donation_id", "amount", "idempotency_key"]].fillna("").values.tolist() == [
        ["b", 3.0, ""],
        ["a", 12.0, "k"],
        ["c", 7.0, ""],
    ]
    assert len(of.read_table(ARCHIVE, "donations", dedupe=False)) == 4


def test_all_tables_of_all_types_come_from_one_pass():
    frames = of.open(ARCHIVE).tables(["donations", "donation_recipients", "signatures"])
    assert frames["donation_recipients"]["display_name"].tolist() == ["Fund", "b", "Fund", "a"]
    assert frames["signatures"]["comments"].tolist() == ["Yes!"]


def test_what_does_not_fit_in_a_declared_type_is_listed():
    found = of.check([{"osdi:donation": {"amount": "lots", "mood": 1}}])
    assert found[["severity", "detail"]].values.tolist() == [
        ["error", 'donation: amount = "lots"'],
        ["info", "donation: mood"],
    ]


def test_a_declared_type_is_described():
    assert of.describe("donations")["column"].tolist() == [column.name for column in DONATIONS.columns]
