"""The tables of acts: the same lists of every act, tickets with their amounts, and people who were uploaded."""

import json
from decimal import Decimal

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames.tables import TABLES

ACTS = {
    "attendance": "osdi:attendance",
    "signature": "osdi:signature",
    "submission": "osdi:submission",
    "donation": "osdi:donation",
    "outreach": "osdi:outreach",
    "response": "action_network:response",
}
LISTS = ("tags", "emails", "phones", "addresses", "custom_fields", "identifiers")
PERSON = {
    "given_name": "Ann",
    "email_addresses": [{"address": "ann@old.example"}, {"address": "ann@new.example", "primary": True}],
    "phone_numbers": [{"number": "1"}, {"number": "2", "number_type": "Mobile"}],
    "postal_addresses": [{"postal_code": "94607"}, {"locality": "Reno", "location": {"latitude": 39.5}}],
    "custom_fields": {"shirt": "L", "bus": "no"},
}
ACT = {
    "identifiers": ["platform:1", "crm:77"],
    "created_date": "2026-05-01T10:00:00Z",
    "person": PERSON,
    "add_tags": ["calls", "bus"],
    "_links": {"osdi:person": {"href": "/people/ann"}},
}


@pytest.mark.parametrize("act", ACTS)
def test_every_act_has_tables_of_its_tags_answers_identifiers_and_of_all_ways_to_reach_its_person(act):
    names = [f"{act}_{name}" for name in LISTS]
    found = of.open([{ACTS[act]: ACT, "idempotency_key": "k"}]).tables(names)
    for name, frame in zip(LISTS, found.values(), strict=True):
        assert len(frame) == 2
        assert frame[f"{act}_id"].tolist() == ["1", "1"]
        of_signatures = of.read_table([{"osdi:signature": ACT, "idempotency_key": "k"}], f"signature_{name}")
        assert frame.rename(columns={f"{act}_id": "signature_id"}).equals(of_signatures)
    values = [
        found[f"{act}_{name}"][column].tolist() for name, column in (("tags", "tag"), ("emails", "address"))
    ]
    assert values == [["calls", "bus"], ["ann@old.example", "ann@new.example"]]


@pytest.mark.parametrize("act", ACTS)
def test_the_columns_of_these_tables_have_the_privacy_of_those_of_signatures(act):
    for name in LISTS:
        of_act, of_signature = (TABLES[f"{one}_{name}"].columns for one in (act, "signature"))
        levels = [[column.privacy.level for column in columns] for columns in (of_act, of_signature)]
        assert levels[0] == levels[1]


TICKETS = [
    {"title": "Seat", "description": "One seat", "amount": "25.00", "currency": "usd"},
    {"title": "Gala", "amount": 100, "currency": "USD"},
]


def test_the_tickets_of_an_attendance_have_exact_amounts():
    attendance = {ACTS["attendance"]: ACT | {"tickets": TICKETS}, "idempotency_key": "k"}
    tickets = of.read_table([attendance], "attendance_tickets")
    shown = tickets[["attendance_id", "position", "title", "amount", "currency"]]
    assert shown.to_numpy().tolist() == [
        ["1", 0, "Seat", Decimal("25.00"), "USD"],
        ["1", 1, "Gala", Decimal("100.00"), "USD"],
    ]
    assert of.check([attendance]).empty


@pytest.mark.parametrize(
    ("tickets", "amount", "currency"),
    [
        (TICKETS, Decimal("125.00"), "USD"),
        ([*TICKETS, {"amount": 5, "currency": "EUR"}], None, None),
        ([*TICKETS, {"amount": 5}], None, None),
        ([{"amount": 5}, {"title": "Free"}], Decimal("5.00"), None),
        ([{"title": "Free"}], None, None),
        ([{"amount": "9999999999999.99"}] * 2, None, None),
        ([], None, None),
    ],
    ids=["one currency", "two", "one and none", "none", "no amount", "too large a sum", "no ticket"],
)
def test_the_amount_of_an_attendance_is_that_of_all_its_tickets_in_one_currency(tickets, amount, currency):
    several = enumerate((tickets, [], TICKETS))
    acts = (ACT | {"identifiers": [f"platform:{number}"], "tickets": some} for number, some in several)
    archive = of.open([[{ACTS["attendance"]: act}] for act in acts])
    attendances = archive.attendances(["amount", "currency"]).astype(object)
    of_acts = archive.actions(["action", "amount", "currency"]).astype(object)
    for found in (attendances, of_acts[of_acts["action"] == "rsvped"][["amount", "currency"]]):
        rows = found.where(found.notna(), None).to_numpy().tolist()
        assert sorted(rows, key=str) == sorted(
            [[amount, currency], [None, None], [Decimal("125.00"), "USD"]], key=str
        )


def upload(number, key="action_network:upload", **fields):
    person = {
        "email_addresses": [{"address": f"{number}@uploaded.example"}],
        "created_date": "2026-03-01T10:00:00Z",
    }
    known = {"created_date": "2026-05-02T10:00:00Z", "platform:referrer_data": {}, "person": person}
    links = {"osdi:person": {"href": f"/people/p{number}"}}
    element = known | {"_links": links, "add_tags": ["imported"]} | fields
    return [{key: element, "idempotency_key": f"u{number}", "platform:sponsor": {"title": "Parks"}}]


KEYS = ("action_network:upload", "platform:upload", "action_network:action", "platform:action")


def test_uploaded_people_are_people_with_tags_and_no_acts():
    archive = of.open([upload(number, key) for number, key in enumerate(KEYS)])
    uploads, tags, people = archive.tables(["uploads", "upload_tags", "people"]).values()
    assert uploads["person_id"].tolist() == people["person_id"].tolist() == ["p0", "p1", "p2", "p3"]
    assert uploads["sponsor_title"].tolist() == ["Parks"] * 4
    assert tags[["idempotency_key", "tag"]].to_numpy().tolist() == [[f"u{at}", "imported"] for at in range(4)]
    assert people["email"].tolist() == [f"{at}@uploaded.example" for at in range(4)]
    assert people["created_date"].eq(pd.Timestamp("2026-03-01 10:00", tz="UTC")).all()
    assert archive.actions().empty
    assert archive.check().empty


def test_an_upload_that_is_delivered_again_is_one(tmp_path):
    source = tmp_path / "in.ndjson"
    source.write_text("".join(f"{json.dumps(upload(number))}\n" for number in (1, 1, 2)))
    assert len(of.read_table(source, "uploads")) == 2
    of.export(source, tmp_path / "out", pseudonymize=b"k" * 32)
    exported, people = (
        pd.read_parquet(tmp_path / "out" / f"{name}.parquet") for name in ("uploads", "people")
    )
    assert set(exported["person_id"]) == set(people["person_id"]) != {"p1", "p2"}
    assert not exported.astype("str").apply(lambda column: column.str.contains("@uploaded")).any(axis=None)
