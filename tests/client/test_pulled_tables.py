"""The tables of a pull of everything: as many rows as the service counts, and the RSVPs that webhooks reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames import sandbox
from osdi_frames.sandbox import demo
from tests.clocks import GUARD, wait_for
from tests.receiver.process import Receiver
from tests.receiver.sender import TOKEN

from .conftest import ALL, GROUP, Pulled, Stocked

#: When all of the demo has happened, and everything is to be delivered.
AFTERWARDS = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def read(pulled: Pulled) -> tuple[Stocked, dict[str, pd.DataFrame]]:
    """Read the tables of two pulls of everything."""
    for manifest in pulled.manifests:
        assert manifest.complete, manifest.why
    found = of.check(pulled.folder)
    assert set(found.severity) <= {"info"}
    undeclared = found[found.problem != "key not read"]
    # The sandbox's people have more keys than the contract names of people embedded in v1 events.
    assert undeclared.detail.str.startswith("event: _embedded.").all()
    return pulled.served, of.open(pulled.folder).tables(ALL)


def held(served: Stocked, kind: str) -> set[str]:
    """Return the ids of what the sandbox holds, past its API."""
    found = served.running.admin("GET", kind)
    return {resource.get("id") or resource["_links"]["self"]["href"].rpartition("/")[2] for resource in found}


def counts(frame: pd.DataFrame, column: str) -> Counter[str]:
    return Counter(frame[column].dropna())


def totals(frame: pd.DataFrame, id_: str, column: str) -> Counter[str]:
    """Return what the service counts, without zeros."""
    return +Counter(dict(zip(frame[id_], map(int, frame[column]), strict=True)))


def test_every_row_of_the_service_is_one_row_of_its_table(read):
    served, frames = read
    assert set(frames["event_campaigns"].event_campaign_id) == held(served, "campaigns")
    assert set(frames["petitions"].petition_id) == held(served, "petitions")
    assert set(frames["attendances"].attendance_id) == held(served, "attendances")
    assert set(frames["signatures"].signature_id) == held(served, "signatures")
    assert set(frames["events"].event_id) == set(served.truth().event_id)
    for name in ALL:
        whose = "person" if name == "people" else name.removesuffix("s")
        assert frames[name][f"{whose}_id"].is_unique


def test_the_rows_add_up_to_the_totals_of_the_service(read):
    _, frames = read
    events, campaigns, petitions = (frames[name] for name in ("events", "event_campaigns", "petitions"))
    attendances, signatures = frames["attendances"], frames["signatures"]
    assert counts(attendances, "event_id") == totals(events, "event_id", "total_accepted")
    assert counts(signatures, "petition_id") == totals(petitions, "petition_id", "total_signatures")
    assert counts(events, "event_campaign_id") == totals(campaigns, "event_campaign_id", "total_events")
    rsvps = counts(attendances.merge(events, on="event_id"), "event_campaign_id")
    assert rsvps == totals(campaigns, "event_campaign_id", "total_rsvps")


def test_ids_lead_to_rows_with_titles_and_names(read):
    _, frames = read
    people = set(frames["people"].person_id)
    assert people >= set(frames["attendances"].person_id) | set(frames["signatures"].person_id)
    assert frames["event_campaigns"].title.notna().all()
    assert frames["petitions"].title.notna().all()
    assert frames["people"].email.notna().any()
    for name in ("event_campaigns", "petitions", "attendances", "signatures", "people"):
        assert frames[name].created_date.notna().all()
        assert frames[name].modified_date.notna().all()


@pytest.fixture(scope="module")
def reported_twice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, pd.DataFrame], ...]]:
    """Return the tables of a small demo, as pulled and as a receiver got them by webhook while it happened."""
    archive, pull = tmp_path_factory.mktemp("webhook"), tmp_path_factory.mktemp("pull")
    early = AFTERWARDS - datetime.now(UTC)
    app = sandbox.create_app(
        now=lambda: datetime.now(UTC) + early, retry_after=[0.2] * 50, webhook_timeout=GUARD
    )
    with Receiver(archive) as receiver, sandbox.serve(app) as running:
        running.admin("POST", "webhooks", url=f"http://127.0.0.1:{receiver.port}/{TOKEN}", account=GROUP)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(demo, "EVENTS", 8)
            patch.setattr(demo, "SIGNATURES", 40)
            sandbox.fill_demo(app, origin=running.origin)
        wait_for(lambda: not running.admin("GET", "messages?state=waiting"), interval=0.1)
        assert running.admin("GET", "dead-letters") == []
        with Stocked(running).client() as client:
            assert client.pull(pull, collections=ALL).complete
        receiver.stop()
        yield tuple(of.open(folder).tables(["attendances", "signatures"]) for folder in (pull, archive))


def test_a_report_of_the_demo_is_the_same_of_a_pull_and_of_the_webhook_archive(reported_twice):
    for table, keys in {
        "attendances": ("source", "referrer", "month"),
        "signatures": ("source", "referrer", "petition"),
    }.items():
        for key in keys:
            report = getattr(of, f"{table}_by_{key}")
            # Only the pull knows of the events, and so which of them were cancelled or hidden.
            pulled, delivered = (
                report(tables[table], include=["cancelled", "hidden"]) for tables in reported_twice
            )
            pd.testing.assert_frame_equal(pulled, delivered)
            assert len(pulled) > 3


def test_a_missing_source_is_missing_in_a_pull_as_in_a_delivery(reported_twice):
    for table in ("attendances", "signatures"):
        pulled, delivered = (tables[table].set_index(f"{table[:-1]}_id").source for tables in reported_twice)
        assert delivered.isna().sum() > 3
        assert pulled.sort_index().equals(delivered.sort_index())
        # The service writes the word in its collections, and of some acts it was entered.
        assert not pulled.eq("none").any()
