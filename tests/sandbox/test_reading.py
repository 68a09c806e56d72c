"""What was posted is what `read_events` and `read_signatures` give, over the API and over deliveries, v1 and v2."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import osdi_frames as of
from tests.clocks import wait_for

from .conftest import event_id
from .test_collections import pages

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\x00"), max_size=30)
TITLES = WORDS.filter(str.strip)
CLOCKS = st.datetimes(
    min_value=pd.Timestamp(1990, 1, 1).to_pydatetime(), max_value=pd.Timestamp(2090, 1, 1).to_pydatetime()
)

EVENT = {
    "title": TITLES,
    "origin_system": TITLES,
    "name": WORDS,
    "description": WORDS,
    "instructions": WORDS,
    "browser_url": WORDS,
    "start_date": CLOCKS.map(lambda clock: f"{clock:%Y-%m-%dT%H:%M:%SZ}"),
    "end_date": CLOCKS.map(lambda clock: f"{clock:%Y-%m-%dT%H:%M:%SZ}"),
}
IN_V1 = {
    "title": "summary",
    "origin_system": "originating_system",
    "description": "description",
    "instructions": "platform:event_instructions",
    "start_date": "start",
}


def equal(value, posted) -> bool:
    if posted is None:
        return pd.isna(value)
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%dT%H:%M:%SZ}" == posted
    return value == posted


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_events_read_as_they_were_posted(group, version):
    """Interface 2.1, 2.8, 9: posted in one version, read from the pages of both."""
    posted = {}

    @settings(max_examples=12)
    @given(
        body=st.fixed_dictionaries(
            {"title": EVENT["title"], "origin_system": EVENT["origin_system"]},
            optional={
                name: made
                for name, made in EVENT.items()
                if name not in ("title", "origin_system") and (version == "v2" or name in IN_V1)
            },
        )
    )
    def post(body):
        if version == "v2":
            made = group.create(**body)
        else:
            made = group.create_v1(**{IN_V1[name]: value for name, value in body.items()})
        posted[event_id(made)] = body

    post()
    for client in (group.v2, group.v1):
        frame = of.read_events(list(pages(client))).set_index("event_id")
        assert set(frame.index) == set(posted)
        columns = EVENT if client is group.v2 else IN_V1
        for one, body in posted.items():
            for name in columns:
                assert equal(frame.loc[one, name], body.get(name)), (name, body)
        assert set(frame.sponsor_title) == {"Clean Water"}
        assert set(frame.creator_id) == set(frame.organizer_id) == {group.person_id}
        assert set(frame.total_accepted) == {0}


def test_locations_read_as_they_were_geocoded(group):
    """Interface 2.2."""
    group.create(location={"venue": "City Hall", "address_lines": ["1 Main St", "x"], "postal_code": "94607"})
    for client in (group.v2, group.v1):
        row = of.read_events(list(pages(client))).iloc[0]
        assert (row.location_venue, row.location_address, row.location_locality) == (
            "City Hall",
            "1 Main St",
            "Oakland",
        )
        assert (row.location_latitude, row.location_longitude) == (37.8044, -122.2712)
        assert (row.location_accuracy, row.location_region, row.location_country) == ("Rooftop", "CA", "US")


SIGNER = st.fixed_dictionaries(
    {},
    optional={
        "given_name": WORDS,
        "family_name": WORDS,
        "languages_spoken": st.lists(WORDS, min_size=1, max_size=2),
        "custom_fields": st.dictionaries(WORDS, WORDS, min_size=1, max_size=3),
    },
)


def test_signatures_read_as_they_were_posted_from_deliveries_and_from_the_collection(
    running, group, receiver
):
    """Interface 2.7: one row for each signature, with what was entered."""
    petition = running.admin("POST", "petitions", title="Read", account=group.account)["id"]
    running.admin("POST", "webhooks", url=receiver.url, account=group.account)
    posted = {}

    @settings(max_examples=12)
    @given(
        person=SIGNER, comments=st.none() | WORDS, source=st.none() | WORDS, tags=st.lists(WORDS, max_size=3)
    )
    def sign(person, comments, source, tags):
        body = {"person": person, "add_tags": tags}
        body |= {} if comments is None else {"comments": comments}
        body |= {} if source is None else {"referrer_data": {"source": source}}
        made = group.v2.post(f"/petitions/{petition}/signatures", json=body).raise_for_status().json()
        posted[made["_links"]["self"]["href"].rpartition("/")[2]] = (person, comments, source, tags)

    sign()
    wait_for(lambda: len(receiver.got) >= len(posted))
    delivered = of.read_signatures(receiver.deliveries()).set_index("signature_id")
    collected = of.read_signatures(list(pages(group.v2, f"/petitions/{petition}/signatures"))).set_index(
        "signature_id"
    )
    for frame in (delivered, collected):
        assert set(frame.index) == set(posted)
        assert set(frame.petition_id) == {petition}
        for one, (person, comments, source, tags) in posted.items():
            row = frame.loc[one]
            assert equal(row.comments, comments)
            if frame is delivered:  # the API links the person, and keeps no attempted tags
                assert equal(row.given_name, person.get("given_name"))
                assert equal(row.family_name, person.get("family_name"))
                assert list(row.add_tags) == tags
            assert equal(row.source, source)  # the API's pages write none where there is none
    assert set(delivered.sponsor_url) == {"https://group.example.org"}
    assert delivered.idempotency_key.is_unique


def test_retries_duplicates_batches_and_overlapping_webhooks_read_as_one_row_each(alone, receiver):
    """Interface 2.7 idempotency_key, 6: at least once for the sender, once for the reader."""
    petition = alone.admin("POST", "petitions", title="Many")["id"]
    alone.admin("POST", "webhooks", url=receiver.url, uploads=True)
    alone.admin("POST", "webhooks", url=f"{receiver.url}/2", uploads=True)
    for fault, settings_ in {
        "webhook_batch": {"size": 7, "seconds": 0.1, "probability": 0.7},
        "webhook_reorder": {"seconds": 0.3},
        "webhook_retry": {"probability": 0.3},
        "webhook_duplicate": {"probability": 0.3},
    }.items():
        alone.inject(fault, seed=3, **settings_)
    receiver.statuses[:] = [200, 500, 503, 200, 404]
    bodies = [{"comments": str(number), "person": {}} for number in range(200)]
    alone.admin("POST", "uploads", petition=petition, signatures=bodies)
    wait_for(lambda: not alone.admin("GET", "messages?state=waiting"))
    frame = of.read_signatures(receiver.deliveries())
    assert sorted(frame.comments, key=int) == [str(number) for number in range(200)]
    assert len(receiver.elements()) > 400
