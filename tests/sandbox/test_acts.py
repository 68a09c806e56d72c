"""Submissions, donations, outreaches and responses: in the API, by webhook, in tables, and gone when deleted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import osdi_frames as of
from tests.clocks import wait_for

from . import schemas
from .schemas import assert_valid, collection, delivery
from .test_any_request import JSON, SIGNATURES, entries

ADA = {"given_name": "Ada", "email_addresses": [{"address": "ada@example.org"}]}
BEN = {"given_name": "Ben", "email_addresses": [{"address": "ben@example.org"}]}


@dataclass(frozen=True)
class Act:
    """One kind of act: what it is about, the keys of its collection and of that one's, and a body of its own."""

    name: str
    plural: str
    of: str
    key: str
    key_of: str
    body: dict[str, Any]
    is_repeatable: bool = False


ACTS = [
    Act("submission", "submissions", "form", "osdi:submissions", "osdi:forms", {}),
    Act(
        "donation",
        "donations",
        "fundraising_page",
        "osdi:donations",
        "osdi:fundraising_pages",
        {
            "recipients": [
                {"display_name": "River", "amount": 12.5},
                {"display_name": "Club", "amount": "2"},
            ],
            "platform:recurrence": {"recurring": True, "period": "Monthly"},
        },
        is_repeatable=True,
    ),
    Act(
        "outreach",
        "outreaches",
        "advocacy_campaign",
        "osdi:outreaches",
        "osdi:advocacy_campaigns",
        {"subject": "River", "message": "Act!", "targets": [{"title": "Mayor", "given_name": "Dee"}]},
        is_repeatable=True,
    ),
    Act("response", "responses", "survey", "platform:responses", "platform:surveys", {}),
]
by_act = pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)


@pytest.fixture
def caller(alone, callers):
    return callers("group:sandbox", at=alone)


def published(alone, caller, act, **fields):
    body = {"title": "Clean water", "account": caller.account} | fields
    return alone.admin("POST", f"{act.of}s", **body)["id"]


def done(caller, act, of_id, person, **fields):
    body = act.body | {"person": person} | fields
    return caller.v2.post(f"/{act.of}s/{of_id}/{act.plural}", json=body).raise_for_status().json()


@by_act
def test_collections_have_the_keys_and_fields_of_their_resources_and_every_link_resolves(alone, caller, act):
    of_id = published(alone, caller, act)
    made = [done(caller, act, of_id, person) for person in (ADA, BEN)]
    one = schemas.act(act.name, act.of)
    for path, key, schema, count in (
        (f"{act.of}s", act.key_of, getattr(schemas, act.of)(), 1),
        (f"{act.of}s/{of_id}/{act.plural}", act.key, one, 2),
        (f"people/{made[0]['platform:person_id']}/{act.plural}", act.key, one, 1),
    ):
        page = caller.v2.get(f"/{path}").raise_for_status().json()
        assert_valid(page, collection(key, schema))
        rows = page["_embedded"][key]
        assert len(rows) == count
        for row in rows:
            assert caller.v2.get(row["_links"]["self"]["href"]).json() == row
            for name, link in row["_links"].items():
                assert name == "curies" or caller.v2.get(link["href"]).status_code == 200, name
        assert caller.v1.get(f"/{path}").json()["total_records"] == count
    assert caller.v2.get("/donations").json()["total_records"] == (2 if act.name == "donation" else 0)
    assert caller.v2.post("/donations", json=act.body).status_code == 405


#: Fields of all acts with any values; some fit.
OWN = st.fixed_dictionaries(
    {},
    optional={
        "recipients": JSON
        | st.lists(entries({"display_name": str, "amount": str}) | JSON, max_size=3)
        | st.just([{"display_name": "River", "amount": "12.50"}]),
        "targets": JSON | st.lists(entries({"title": str, "ocdid": str}) | JSON, max_size=3),
        "platform:recurrence": JSON | entries({"recurring": bool, "period": str}),
        **dict.fromkeys(("amount", "currency", "type", "subject", "message", "duration", "payment"), JSON),
    },
)


@by_act
def test_any_body_is_refused_or_answered_with_what_fits_the_tables(alone, caller, act):
    of_id = published(alone, caller, act)
    path = f"/{act.of}s/{of_id}/{act.plural}"

    @settings(max_examples=6)
    @given(body=SIGNATURES, own=OWN, changes=OWN)
    def check(body, own, changes):
        answer = caller.v2.post(path, content=json.dumps(body | own))
        assert answer.status_code in (200, 400), answer.text
        if answer.status_code == 200:
            made = answer.json()
            changed = caller.v2.put(made["_links"]["self"]["href"], content=json.dumps(changes))
            assert changed.status_code in (200, 400), changed.text
            page = caller.v2.get(path).json()
            assert "error" not in of.check([page, caller.v2.get(f"/{act.of}s").json()])["severity"].tolist()

    check()


@by_act
def test_a_repeat_replaces_what_can_be_done_once_and_counts_what_can_be_done_again(alone, caller, act):
    of_id = published(alone, caller, act)
    made = [done(caller, act, of_id, ADA)["identifiers"][0] for _ in range(2)]
    assert len({*made}) == (2 if act.is_repeatable else 1)
    parent = caller.v2.get(f"/{act.of}s/{of_id}").json()
    assert parent[f"total_{act.plural}"] == len({*made})
    if act.name == "donation":
        assert parent["total_amount"] == 29.0
        here = caller.v2.get("/donations").json()["_embedded"]["osdi:donations"][0]["_links"]["self"]["href"]
        more = {"recipients": [{"display_name": "Desk", "amount": "0.55"}], "amount": "7.00"}
        changed = caller.v2.put(here, json=more).json()
        assert (changed["amount"], len(changed["recipients"])) == ("15.05", 3)
        assert caller.v2.get(f"/{act.of}s/{of_id}").json()["total_amount"] == 29.55


def test_a_donation_needs_recipients_and_has_the_currency_of_its_page(alone, caller):
    [act] = (one for one in ACTS if one.name == "donation")
    of_id = published(alone, caller, act, currency="EUR")
    made = done(caller, act, of_id, ADA, currency="USD", amount="1000.00")
    assert (made["amount"], made["currency"]) == ("14.50", "EUR")
    for recipients in ([], None, "River"):
        body = {"person": ADA, "recipients": recipients}
        answer = caller.v2.post(f"/{act.of}s/{of_id}/donations", json=body)
        assert (answer.status_code, "recipients" in answer.text) == (400, True)


@by_act
def test_a_webhook_brings_what_the_pages_have_and_the_tables_say_the_same_of_both(
    alone, caller, receiver, act, tmp_path
):
    of_id = published(alone, caller, act)
    other = published(alone, caller, act)
    alone.admin("POST", "webhooks", url=receiver.url, **{act.of: of_id})
    tag = caller.v2.post("/tags", json={"name": "river"}).json()
    referred = {"referrer_data": {"source": "mail", "website": "example.org"}}
    done(caller, act, of_id, ADA, add_tags=["river"], **referred)
    done(caller, act, other, ADA)
    alone.admin("POST", act.plural, **{act.of: of_id, "person": BEN, "source": "mail"}, **act.body)
    wait_for(lambda: len(receiver.deliveries()) == 2)
    for body in receiver.deliveries():
        assert_valid(body, delivery())
    with of.Client(alone.base_url, alone.group_key, rate=None) as client:
        names = [act.plural, f"{act.of}s", "tags", "taggings"]
        assert client.pull(tmp_path, collections=names).complete
    children = {"donation": ["donation_recipients"], "outreach": ["outreach_targets"]}.get(act.name, [])
    columns = dict.fromkeys((act.plural, *children))
    pulled = of.open(tmp_path).tables([*columns, f"{act.of}s", "tags", "taggings"])
    delivered = of.open(receiver.deliveries()).tables(columns)
    here = pulled[act.plural][f"{act.of}_id"] == of_id
    ours, theirs = (
        frame.sort_values(f"{act.name}_id", ignore_index=True)
        for frame in (pulled[act.plural][here], delivered[act.plural])
    )
    same = [f"{act.name}_id", f"{act.of}_id", "person_id", "created_date", "source", "self_url"]
    same += {"donation": ["amount", "currency", "recurring"], "outreach": ["type", "subject"]}.get(
        act.name, []
    )
    assert ours[same].astype(str).equals(theirs[same].astype(str))
    assert sorted(theirs["given_name"]) == ["Ada", "Ben"]
    assert theirs["add_tags"].dropna().tolist() == [["river"]]
    for name in children:
        assert len(pulled[name]) == 3 * len(delivered[name]) / 2 > 0
    assert pulled["taggings"]["tag_id"].tolist() == [tag["identifiers"][0].partition(":")[2]]
    assert pulled["taggings"]["person_id"].isin(ours["person_id"]).all()
    assert set(pulled[f"{act.of}s"]["title"]) == {"Clean water"}
    if act.name == "donation":
        assert ours["amount"].sum() == Decimal("29.00")
        assert pulled["fundraising_pages"].set_index("fundraising_page_id").at[of_id, "total_amount"] == 29


@by_act
def test_what_is_deleted_is_gone_from_pages_counts_and_tables(alone, caller, act, tmp_path):
    of_id = published(alone, caller, act)
    first, second = (done(caller, act, of_id, person)["identifiers"][0] for person in (ADA, BEN))
    deleted = first.partition(":")[2]
    ahead = timedelta()
    with of.Client(
        alone.base_url, alone.group_key, rate=None, now=lambda: datetime.now(UTC) + ahead
    ) as client:
        client.pull(tmp_path, collections=[act.plural])
        alone.admin("DELETE", f"{act.plural}/{deleted}")
        parent = caller.v2.get(f"/{act.of}s/{of_id}").json()
        assert parent[f"total_{act.plural}"] == 1
        assert parent.get("total_amount", 14.5) == 14.5
        ahead = timedelta(hours=1)
        client.pull(tmp_path, collections=[act.plural])
    read = of.read_table(tmp_path, act.plural).set_index(f"{act.name}_id")["excluded"]
    assert read.fillna("counts").to_dict() == {deleted: "gone", second.partition(":")[2]: "counts"}
