"""Everything that the client does, against the sandbox over real sockets."""

from __future__ import annotations

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from pandas.testing import assert_frame_equal

from osdi_frames import Client
from osdi_frames.cli import report
from osdi_frames.cli.pull import command
from osdi_frames.errors import (
    ArchiveLocked,
    BadAddress,
    BadAnswer,
    ClientClosed,
    DeletionRefused,
    IncompletePull,
    KeyRefused,
    MissingKey,
    ResourceNotFound,
    ServiceError,
    ServiceTimeout,
    ServiceUnreachable,
)
from osdi_frames.shortcuts import read_table
from tests import forks
from tests.clocks import wait_for

from .conftest import GROUP, PERSON, comparable

# Of a version: which version it is, its addresses, and the fields that v1 lacks (interface 9).
OF_VERSION = [
    "api_version", "name", "end_date", "capacity", "hidden", "featured_image_url", "self_url",
    "attendances_url", "record_attendance_url", "event_campaign_url", "embed_url", "browser_url",
]  # fmt: skip


# -- reading --


def test_events_are_those_of_the_key_in_both_versions(stocked):
    of_version = {}
    place = {"locality": "Oakland", "venue": "Hall"}
    with stocked(per_page=4) as served:
        served.add(11, GROUP, title="of the group", start_date="2026-05-01T18:00:00Z", location=place)
        served.add(6, PERSON, title="of the person")
        for key, account, version in (
            ("group_key", GROUP, "v2"),
            ("group_key", GROUP, "v1"),
            ("individual_key", PERSON, "v2"),
        ):
            with served.client(speaks=version, key=getattr(served.running, key)) as client:
                events = client.events()
            assert_frame_equal(comparable(events), served.truth(account, version))
            assert events.fetched_at.notna().all()
            of_version.setdefault(version, comparable(events).drop(columns=OF_VERSION))
    assert_frame_equal(of_version["v1"], of_version["v2"])


def test_one_event_is_one_row_and_an_unknown_one_an_error_with_status_address_and_words(stocked):
    with stocked() as served, served.client() as client:
        assert list(client.events().columns) == list(read_table([], "events").columns)
        event_id, _ = served.add(2)
        for id_ in (event_id, f"platform:{event_id}"):
            assert list(client.event(id_).event_id) == [event_id]
        with pytest.raises(ResourceNotFound, match="no event 'nobody'") as caught:
            client.event("nobody")
        assert (caught.value.status, caught.value.address) == (404, f"{client.base_url}/events/nobody")
        assert isinstance(caught.value, LookupError)
        for no_id in ("..", "", "  ", " . "):
            with pytest.raises(BadAddress, match="no id"):
                client.event(no_id)


def test_a_filter_is_sent_and_kept_from_page_to_page(stocked):
    with stocked(per_page=3) as served, served.client() as client:
        served.add(8, title="River's edge & more")
        served.add(8, title="Hill")
        served.running.inject("totals_missing")
        served.running.inject("next_unescaped")
        found = client.events(filter="title eq 'River''s edge & more'")
    assert set(found.title) == {"River's edge & more"}
    assert len(found) == 8


def test_events_that_only_their_campaign_lists_are_found_there(stocked):
    with stocked(per_page=3) as served, served.client() as client:
        campaigns = [
            served.running.admin("POST", "campaigns", title=title, account=GROUP)["id"] for title in "AB"
        ]
        listed = served.add(4, **{"platform:event_campaign_id": campaigns[0]})
        unlisted = served.add(5, **{"platform:event_campaign_id": campaigns[1], "listed": False})
        assert set(client.events().event_id) == set(listed)
        assert set(client.events(campaign=campaigns[1]).event_id) == set(unlisted)
        both = client.campaign_events([*campaigns, campaigns[0]])
        assert sorted(both.event_id) == sorted([*listed, *unlisted])
        with pytest.raises(TypeError, match="given as a list"):
            client.campaign_events(campaigns[0])


def test_pages_are_given_as_they_came_and_in_order_and_no_more_than_are_wanted(stocked):
    with stocked(pages=40, per_page=1) as served, served.client(workers=2) as client:
        assert [page["page"] for page in client.pages()] == [*range(1, 41)]
        served.forget()
        assert next(page for page in client.pages() if page["page"] == 2)
        assert len(served.asked()) < 10
        served.running.inject("totals_missing")
        numbers = [page["page"] for page in client.pages("events")]
        assert numbers == [*range(1, 42)]  # the one behind the last proves that it is the last
        served.forget()
        event_id = next(client.pages())["_embedded"]["osdi:events"][0]["identifiers"][0].partition(":")[2]
        assert next(client.pages(f"events/{event_id}/attendances"))["total_records"] == 0
        with pytest.raises(BadAnswer, match="not a page of a collection"):
            list(client.pages(f"/events/{event_id}/embed"))


# -- errors --


def test_a_key_that_the_service_does_not_know_is_refused_at_once(stocked):
    with stocked() as served, served.client(key="nobody's") as client:
        with pytest.raises(KeyRefused, match="API key invalid") as caught:
            client.events()
        assert caught.value.status == 403
        assert isinstance(caught.value, PermissionError)
        assert len(served.asked()) == 1


def test_without_a_key_nothing_is_asked(stocked, monkeypatch):
    monkeypatch.delenv("OSDI_API_KEY", raising=False)
    with stocked() as served:
        with pytest.raises(MissingKey, match="OSDI_API_KEY"):
            served.client(key=None)
        monkeypatch.setenv("OSDI_API_KEY", f"{served.running.group_key}\n")
        served.add(3)
        with served.client(key=None) as client:
            assert len(client.events()) == 3


def test_429_and_5xx_are_asked_again_and_4xx_are_not(stocked):
    with stocked(pages=1) as served, served.client(retries=3) as client:
        for status, attempts in ((429, 4), (500, 4), (503, 4), (400, 1), (404, 1), (422, 1)):
            served.forget()
            served.running.inject("status", status=status)
            with pytest.raises(ServiceError, match=f"answered {status}: injected fault: {status}") as caught:
                client.events(filter="title eq 'secret'")
            assert len(served.asked()) == attempts, status
            assert caught.value.status == status
            assert caught.value.words == f"injected fault: {status}"
            assert caught.value.address == f"{client.base_url}/events?filter"
            assert "secret" not in str(caught.value)


def test_a_retry_after_that_is_too_long_is_an_error_at_once_and_html_is_short_text(stocked):
    with stocked(pages=20, per_page=1) as served, served.client() as client:
        served.running.inject("status", status=503, retry_after=9999, page=9)
        with pytest.raises(ServiceError) as caught:
            client.events()
        assert caught.value.retry_after == 9999
        assert sum(request["page"] == 9 for request in served.asked()) == 1
        served.running.inject("html_error", status=400)
        with pytest.raises(ServiceError) as caught:
            client.events()
        assert caught.value.words == "Injected error"


def test_no_answer_in_time_and_half_an_answer_are_errors_of_connection(stocked):
    with stocked(pages=1) as served:
        served.running.inject("latency", seconds=1.0)
        with served.client(timeout=0.1, retries=0) as client, pytest.raises(ServiceTimeout) as silent:
            client.events()
        assert isinstance(silent.value, TimeoutError)
        assert str(silent.value).endswith("no answer in time")  # reading does nothing that could be unknown
        wait_for(served.asked)
        served.forget()
        served.running.inject("half_body")
        with served.client(retries=1) as client, pytest.raises(ServiceUnreachable):
            client.events()
        assert len(served.asked()) == 2
    with served.client(retries=0) as client, pytest.raises(ServiceUnreachable, match="refused"):
        client.events()


def test_events_are_never_given_in_part(stocked):
    with stocked(pages=4, per_page=5) as served, served.client() as client:
        served.running.inject("repeat_row", instead=True, page=3)
        with pytest.raises(IncompletePull, match="20 records were reported, 19 distinct ones were read"):
            client.events()


# -- writing --


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_events_are_created_changed_and_not_deleted(stocked, version):
    with stocked() as served, served.client(speaks=version) as client:
        created = client.create_event(
            {
                "title": "Picnic",
                "originating_system": "Desk",
                "start_date": datetime(2026, 5, 1, 18, 30),  # noqa: DTZ001 (a wall clock)
                "location": {"postal_code": "94607", "venue": "Park"},
            }
        )
        event_id = created.event_id[0]
        assert created.title[0] == "Picnic"
        assert created.start_date[0] == pd.Timestamp("2026-05-01T18:30")
        changed = client.update_event(event_id, {"summary": "Brunch", "start": "2026-05-02T10:00:00"})
        assert (changed.title[0], changed.origin_system[0]) == ("Brunch", "Desk")
        assert_frame_equal(comparable(client.event(event_id)), served.truth(version=version))
        with pytest.raises(DeletionRefused, match="events cannot be deleted") as caught:
            client.delete_event(event_id)
        assert caught.value.words == "events cannot be deleted"
        assert len(client.events()) == 1


def test_an_event_is_not_created_twice_and_a_change_is_sent_again_when_the_answer_is_lost(stocked):
    event = {"title": "A", "origin_system": "Desk"}
    with stocked() as served, served.client() as client:
        served.running.inject("drop", method="POST")
        with pytest.raises(ServiceUnreachable, match="whether it was done is not known"):
            client.create_event(event)
        (event_id,) = served.truth().event_id
        served.forget()
        served.running.inject("status", method="POST", status=429, times=1)
        client.create_event(event)
        assert len(served.truth()) == 2
        served.running.inject("drop", method="PUT", times=1)
        assert client.update_event(event_id, {"title": "New"}).title[0] == "New"


def test_an_answer_without_content_is_an_error(stocked):
    with stocked() as served, served.client() as client, pytest.raises(BadAnswer, match="an empty object"):
        client._transport.send(
            "POST",
            f"{client.base_url}/events?background_request=true",
            {"title": "A", "origin_system": "B"},
        )


# -- where it runs --

#: A client asks in a forked process and in its parent, and logs no retry where nobody set up logging.
FORKS = """
import os, sys
from osdi_frames import Client
with Client(sys.argv[1], sys.argv[2], rate=None, backoff=0.01) as client:
    before = len(list(client.pages()))
    child = os.fork()
    if not child:
        os._exit(0 if len(list(client.pages())) == before else 2)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(client.pages())) == before
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_client_asks_in_a_forked_process_and_in_its_parent_and_logs_no_retry(stocked):
    with stocked(pages=2) as served:
        served.running.inject("status", status=500, times=1)
        ran = forks.run(FORKS, served.running.base_url, served.running.group_key)
        assert len(served.asked()) == 7
    assert (ran.returncode, ran.stderr) == (0, "")


def test_an_address_without_a_version_is_asked_for_where_a_version_is_given(stocked, tmp_path):
    with stocked() as served:
        address = served.running.base_url.removesuffix("/v2")
        asked = CliRunner(env={"OSDI_API_KEY": "any"}).invoke(
            command, [address, str(tmp_path), "--version", "v2"]
        )
    assert isinstance(asked.exception, ResourceNotFound)
    assert "/api/events" in str(asked.exception)


def test_where_nothing_listens_the_port_is_named_and_a_closed_client_says_so():
    at_the_port = r"127\.0\.0\.1:1/api/v2/events: .*Connection refused$"  # nothing can have been done
    with Client("http://127.0.0.1:1/api/v2", "any", retries=0) as nobody:
        with pytest.raises(ServiceUnreachable, match=at_the_port):
            nobody.events()
        with pytest.raises(ServiceUnreachable, match=at_the_port):
            nobody.create_event({"title": "A", "origin_system": "Desk"})
    with pytest.raises(ClientClosed, match="open a new one"):
        nobody.events()


def test_since_a_time_has_what_changed_at_that_very_second(stocked, tmp_path):
    with stocked(pages=1, per_page=3) as served, served.client() as client:
        changed = client.events().modified_date
        client.pull(tmp_path, since=changed.max().to_pydatetime())
    assert len(read_table(tmp_path, "events")) >= (changed == changed.max()).sum()


def test_a_client_is_shared_by_threads_and_works_where_an_event_loop_runs(stocked):
    async def cell() -> int:
        return len(list(client.pages()))

    with stocked(pages=4, per_page=5) as served, served.client() as client, ThreadPoolExecutor(6) as threads:
        assert list(threads.map(lambda _: len(list(client.pages())), range(6))) == [4] * 6
        assert asyncio.run(cell()) == 4


def test_a_bar_counts_the_pages_when_asked(stocked, capfd):
    with stocked(pages=3, per_page=5) as served, served.client() as client:
        client.events()
        assert capfd.readouterr().err == ""
        served.running.inject("latency", seconds=1.1, page=[2, 3])  # a bar is shown after a second
        client.events(progress=True)
        assert "2/3" in capfd.readouterr().err  # at the end it is gone


# -- pulling --


def test_a_pull_is_an_archive_of_the_pages_as_they_came(stocked, tmp_path):
    with stocked(pages=6, per_page=5) as served, served.client() as client:
        manifest = client.pull(tmp_path)
        truth = served.truth()
    assert_frame_equal(comparable(read_table(tmp_path, "events")), truth)
    assert manifest.complete
    assert manifest.why.split("\n") == [
        "events: all pages report 30 records; 30 were read",
        "event_campaigns: all pages report 0 records; 0 were read",
        "event_campaigns/{id}/events: 0 lists, one for each of event_campaigns; each is proved to be complete",
    ]
    recorded = json.loads((manifest.folder / ".manifest.json").read_text())
    assert recorded["complete"] is True
    of_events = recorded["collections"][0]
    assert (of_events["pages"], of_events["rows"], of_events["distinct_ids"]) == (6, 30, 30)
    assert (of_events["total_records_at_start"], of_events["total_records_at_end"]) == (30, 30)
    assert [path.name for path in manifest.folder.iterdir() if path.name[0] != "."] == recorded["files"]


def test_a_pull_reads_campaigns_too_and_keeps_one_row_an_event(stocked, tmp_path):
    with stocked(per_page=3) as served, served.client() as client:
        campaign = served.running.admin("POST", "campaigns", title="A", account=GROUP)["id"]
        served.add(4, **{"platform:event_campaign_id": campaign})
        served.add(5, **{"platform:event_campaign_id": campaign, "listed": False})
        served.add(2)
        first = client.pull(tmp_path)
        assert client.pull(tmp_path).folder != first.folder  # after a complete pull a new one begins
        truth = served.truth()
    assert first.complete
    assert [collection.distinct_ids for collection in first.collections] == [6, 1, 9]
    assert_frame_equal(comparable(read_table(tmp_path, "events")), truth)


def test_since_last_asks_for_what_changed_only(stocked, tmp_path):
    days = [datetime(2026, 3, 1, tzinfo=UTC)]
    with stocked(per_page=3, now=lambda: days[-1]) as served, served.client(now=lambda: days[-1]) as client:
        ids = served.add(9)
        days.append(datetime(2026, 3, 3, tzinfo=UTC))
        served.add(1, title="The last change before, which is asked for again")
        days.append(datetime(2026, 3, 5, tzinfo=UTC))
        first = client.pull(tmp_path, since="last")
        assert (first.collections[0].since, first.collections[0].newest_modified_date) == (None, days[1])
        client.update_event(ids[4], {"title": "Changed"})
        served.add(2, title="Newer")
        days.append(datetime(2026, 3, 9, tzinfo=UTC))
        second = client.pull(tmp_path, since="last")
        assert (second.complete, second.collections[0].rows) == (True, 4)
        third = client.pull(tmp_path, since="last")
        assert third.collections[0].since == days[2] - timedelta(minutes=10)
        assert_frame_equal(comparable(read_table(tmp_path, "events")), served.truth())
        far = client.pull(tmp_path / "far", since=datetime(2100, 1, 1, tzinfo=UTC))
        assert (far.complete, far.collections[0].rows) == (True, 0)


def test_a_pull_that_failed_goes_on_where_it_stopped(stocked, tmp_path):
    with stocked(pages=10, per_page=3) as served, served.client(retries=0) as client:
        served.running.inject("status", page=6)
        with pytest.raises(ServiceError) as caught:
            client.pull(tmp_path)
        assert "pull again to go on" in caught.value.__notes__[0]
        failed = json.loads(next(tmp_path.glob("*/.manifest.json")).read_text())
        assert failed["complete"] is False
        assert "not read: page 6" in failed["why"][0]
        read = failed["collections"][0]["pages"]
        assert len(read_table(tmp_path, "events")) == 3 * read
        served.forget()
        manifest = client.pull(tmp_path)
        assert manifest.complete
        assert len(served.asked_for_events()) == 10 - read
        assert_frame_equal(comparable(read_table(tmp_path, "events")), served.truth())


def test_two_pulls_into_one_folder_at_once_are_refused(stocked, sleeping, tmp_path):
    with stocked(pages=2) as served, served.client() as client, ThreadPoolExecutor(1) as thread:
        served.running.inject("latency", times=1)
        first = thread.submit(client.pull, tmp_path)
        wait_for(lambda: sleeping.seconds)
        with pytest.raises(ArchiveLocked):
            client.pull(tmp_path)
        sleeping.wake()
        assert first.result().complete


def test_the_command_and_a_report_say_whether_it_is_all(stocked, tmp_path: Path):
    with stocked(pages=3, per_page=5) as served:
        environment = {"OSDI_API_KEY": served.running.group_key}
        words = [served.running.base_url, str(tmp_path / "archive"), "--rate", "100"]
        result = CliRunner().invoke(command, words, env=environment)
        assert result.exit_code == 0, result.output
        assert "15 distinct records" in result.output
        assert "complete: yes" in result.output
        assert not CliRunner().invoke(report.command, [str(tmp_path)]).stderr
        served.running.inject("repeat_row", instead=True, page=2)
        result = CliRunner().invoke(command, words, env=environment)
        assert "complete: no" in result.output
        assert isinstance(result.exception, IncompletePull)
    with pytest.warns(UserWarning, match="(?s)the newest pull is not complete.*14 distinct.*complete: no"):
        assert CliRunner().invoke(report.command, [str(tmp_path)]).exit_code == 0
