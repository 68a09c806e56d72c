"""The tables of acts: the same lists of every act, tickets with their amounts, and people who were uploaded."""

import json
from collections import Counter
from decimal import Decimal

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.tables import TABLES
from tests.acts import participations

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


def test_every_act_has_tables_of_its_tags_answers_identifiers_and_of_all_ways_to_reach_its_person():
    archive = of.open([[{key: ACT, "idempotency_key": "k"}] for key in ACTS.values()])
    found = archive.tables([f"{act}_{name}" for act in ACTS for name in LISTS])
    for act in ACTS:
        for name in LISTS:
            frame = found[f"{act}_{name}"]
            assert frame[f"{act}_id"].tolist() == ["1", "1"]
            assert frame.rename(columns={f"{act}_id": "signature_id"}).equals(found[f"signature_{name}"])
        assert found[f"{act}_tags"]["tag"].tolist() == ["calls", "bus"]
        assert found[f"{act}_emails"]["address"].tolist() == ["ann@old.example", "ann@new.example"]


def test_the_columns_of_these_tables_have_the_privacy_of_those_of_signatures():
    for act in ACTS:
        for name in LISTS:
            of_act, of_signature = (TABLES[f"{one}_{name}"].columns for one in (act, "signature"))
            levels = [[column.privacy.level for column in columns] for columns in (of_act, of_signature)]
            assert levels[0] == levels[1], (act, name)


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


#: Tickets, and what they are together.
SUMS = {
    "one currency": (TICKETS, Decimal("125.00"), "USD"),
    "two": ([*TICKETS, {"amount": 5, "currency": "EUR"}], None, None),
    "one and none": ([*TICKETS, {"amount": 5}], None, None),
    "none": ([{"amount": 5}, {"title": "Free"}], Decimal("5.00"), None),
    "no amount": ([{"title": "Free"}], None, None),
    "too large a sum": ([{"amount": "9999999999999.99"}] * 2, None, None),
    "no ticket": ([], None, None),
}


def test_the_amount_of_an_attendance_is_that_of_all_its_tickets_in_one_currency():
    acts = [ACT | {"identifiers": [f"platform:{name}"], "tickets": some} for name, (some, *_) in SUMS.items()]
    archive = of.open([[{ACTS["attendance"]: act}] for act in acts])
    tables = archive.tables(["attendances", "actions"])
    of_acts = tables["actions"].query("action == 'rsvped'")
    assert len(of_acts) == len(SUMS)
    for frame in (tables["attendances"], of_acts):
        found = frame[["amount", "currency"]].astype(object)
        rows = found.where(found.notna(), None).to_numpy().tolist()
        assert sorted(rows, key=str) == sorted(([*of] for _, *of in SUMS.values()), key=str)
    attendances = tables["attendances"].set_index("attendance_id")["amount"].astype(object)
    assert attendances.dropna().to_dict() == {
        name: amount for name, (_, amount, _) in SUMS.items() if amount is not None
    }


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


#: The key of each act, the link to what it is on, and its action.
ON = {
    "osdi:signature": "osdi:petition",
    "osdi:attendance": "osdi:event",
    "osdi:submission": "osdi:form",
    "osdi:donation": "osdi:fundraising_page",
    "osdi:outreach": "osdi:advocacy_campaign",
    "action_network:response": "action_network:survey",
}


def done(keys):
    times = ["2026-05-01T10:00:00Z", "2026-05-01T23:00:00Z", "2026-05-02T01:00:00Z"]
    fields = {
        "key": st.sampled_from(keys),
        "person": st.sampled_from(["ann", "ann", "bob", ""]),
        "subject": st.sampled_from(["march", "march", "vigil", ""]),
        "created_date": st.sampled_from(times),
        "attended": st.booleans(),
        "declined": st.sampled_from([False, False, False, True]),
    }
    return st.lists(st.fixed_dictionaries(fields), min_size=6, max_size=15)


def delivered(number, key, person, subject, declined, **fields):
    links = {"osdi:person": {"href": f"/people/{person}"}} if person else {}
    links |= {ON[key]: {"href": f"/{ON[key].partition(':')[2]}s/{subject}"}} if subject else {}
    about = {
        "identifiers": [f"platform:{number}"],
        "status": "declined" if declined else "accepted",
        "_links": links,
    }
    return [{key: about | fields, "idempotency_key": f"{number}"}]


@given(st.lists(st.sampled_from([*ON]), min_size=2, max_size=3).flatmap(done))
def test_participations_are_numbered_as_a_plain_count_numbers_them(acts):
    rows = of.open([delivered(number, **act) for number, act in enumerate(acts)]).actions().to_dict("records")
    rows = [{name: None if pd.isna(value) else value for name, value in row.items()} for row in rows]
    another, counts = {id(row) for row in participations(rows)}, Counter()
    for row in rows:
        counts[row["person_id"]] += id(row) in another
        assert row["participation"] == (counts[row["person_id"]] if id(row) in another else None)
