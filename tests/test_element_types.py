"""To add an element type is to declare it: one that is declared here is read, deduplicated, checked and described."""

import pytest

import osdi_frames as of
from osdi_frames.tables import TABLES
from osdi_frames.tables.schema import Column, ElementType, Table

PLEDGE = ElementType(
    "pledge",
    collection="osdi:pledges",
    type_key="osdi:pledge",
    identities=(("pledge_id",),),
    messages=(("idempotency_key", "pledge_id"),),
    address=r"/pledges/[^/?#]+$",
)
KEYS = (
    Column("idempotency_key", "string", ("../idempotency_key",), (), "Same for all retries of a message."),
    Column("pledge_id", "string", ("own(identifiers)", "id(_links.self.href)"), (), "The pledge."),
)
PLEDGES = Table(
    "pledges",
    PLEDGE,
    "One row per pledge.",
    keys=(
        *KEYS,
        Column("modified_date", "utc", ("modified_date",), (), "When it was last changed, UTC."),
        Column("amount", "float64", ("amount",), (), "The amount."),
    ),
)
SUPPORTERS = Table(
    "pledge_supporters",
    PLEDGE,
    "One row per supporter of a pledge.",
    keys=KEYS,
    rows=(("", ("supporters[]",)),),
    entry=(Column("display_name", "string", ("display_name",), (), "Who receives."),),
)


def pledge(name, amount, modified="2026-01-01T00:00:00Z", **keys):
    supporters = [{"display_name": "Fund"}, {"display_name": name}]
    return {
        "identifiers": [f"platform:{name}"],
        "amount": amount,
        "modified_date": modified,
        "supporters": supporters,
    } | keys


ARCHIVE = [
    {"_embedded": {"osdi:pledges": [pledge("a", "10.5"), pledge("b", 3)]}},
    [{"osdi:pledge": pledge("a", 12, "2026-02-01T00:00:00Z"), "idempotency_key": "k"}],
    {
        "fetched_at": "2026-03-01T00:00:00Z",
        "body": {"amount": 7, "_links": {"self": {"href": "/pledges/c"}}},
    },
    [{"osdi:signature": {"comments": "Yes!"}, "idempotency_key": "s"}],
]


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    for table in (PLEDGES, SUPPORTERS):
        monkeypatch.setitem(TABLES, table.name, table)


def test_pages_deliveries_and_single_resources_of_a_declared_type_are_read():
    found = of.read_table(ARCHIVE, "pledges")
    assert found[["pledge_id", "amount", "idempotency_key"]].fillna("").values.tolist() == [
        ["b", 3.0, ""],
        ["a", 12.0, "k"],
        ["c", 7.0, ""],
    ]
    assert len(of.read_table(ARCHIVE, "pledges", dedupe=False)) == 4


def test_all_tables_of_all_types_come_from_one_pass():
    frames = of.open(ARCHIVE).tables(["pledges", "pledge_supporters", "signatures"])
    assert frames["pledge_supporters"]["display_name"].tolist() == ["Fund", "b", "Fund", "a"]
    assert frames["signatures"]["comments"].tolist() == ["Yes!"]


def test_what_does_not_fit_in_a_declared_type_is_listed():
    pledged = {"identifiers": ["platform:a"], "amount": "lots", "mood": 1}
    found = of.check([{"osdi:pledge": pledged}])
    assert found[["severity", "detail"]].values.tolist() == [
        ["error", 'pledge: amount = "xxxx"'],
        ["info", "pledge: mood"],
    ]


def test_a_declared_type_is_described():
    assert of.describe("pledges")["column"].tolist() == [column.name for column in PLEDGES.columns]
