"""What was answered 200 outlives SIGKILL, and every such signature reaches its receiver."""

from __future__ import annotations

import http.client
import json
import random
import threading
from dataclasses import dataclass, field

import httpx
import pytest

from osdi_frames import sandbox
from osdi_frames.errors import DatabaseUnusable
from tests.clocks import GUARD, wait_for

from .process import start

RETRIES = ("--retry-after", ",".join(["0.1"] * 100))  # none is given up because the receiver is late


@dataclass
class Load:
    """Clients that post events, RSVPs and signatures until the sandbox is gone, and what was acknowledged to them."""

    running: sandbox.Running
    petition: str
    events: dict[str, str] = field(default_factory=dict)  # id to title
    attendances: set[str] = field(default_factory=set)
    signatures: set[str] = field(default_factory=set)

    def run(self, number: int) -> None:
        connection = http.client.HTTPConnection(self.running.host, self.running.port, timeout=GUARD)
        made = 0
        try:
            while True:
                made += 1
                title = f"{number}.{made}"
                event = self._post(connection, "events", title=title, origin_system="Load")
                self.events[event] = title
                path = f"petitions/{self.petition}/signatures"
                self.signatures.add(self._post(connection, path, comments=title, person={}))
                self.attendances.add(self._post(connection, f"events/{event}/attendances", person={}))
        except (OSError, http.client.HTTPException, ValueError):
            connection.close()  # killed in the middle of this one

    def _post(self, connection, path, **body):
        headers = {"OSDI-API-Token": self.running.group_key}
        connection.request("POST", f"/api/v2/{path}", json.dumps(body), headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert response.status == 200, answer
        return answer["_links"]["self"]["href"].rpartition("/")[2]


def killed_under_load(process, petition, *, after: int) -> Load:
    """Kill a sandbox when so many signatures were acknowledged."""
    load = Load(process.running, petition)
    threads = [threading.Thread(target=load.run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(load.signatures) >= after, interval=0.001)
    process.kill()
    for thread in threads:
        thread.join()
    return load


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.long)])
def test_nothing_that_was_answered_200_is_lost_by_sigkill(tmp_path, receiver, kills):
    """Interface 6, and the sandbox's promise: events, signatures and their deliveries survive."""
    db, moments = tmp_path / "sandbox.db", random.Random(kills)
    arguments = ("--db", db, "--port", 0, *RETRIES)
    process = start(*arguments)
    petition = process.running.admin("POST", "petitions", title="Load", account="group:sandbox")["id"]
    process.running.admin("POST", "webhooks", url=receiver.url)
    events, attendances, signatures = {}, set(), set()
    for _ in range(kills):
        load = killed_under_load(process, petition, after=moments.randint(1, 50))
        events |= load.events
        attendances |= load.attendances
        signatures |= load.signatures
        process = start(*arguments)
    wait_for(lambda: not process.running.admin("GET", "messages?state=waiting"))
    kept = process.running.admin("GET", "events?account=group:sandbox")
    signed = process.running.admin("GET", "signatures")
    attended = process.running.admin("GET", "attendances")
    [counted] = process.running.admin("GET", "petitions")
    process.kill()
    assert len(signatures) >= kills
    stored = {event["_links"]["self"]["href"].rpartition("/")[2]: event["title"] for event in kept}
    assert events.items() <= stored.items()
    assert signatures <= {one["_links"]["self"]["href"].rpartition("/")[2] for one in signed}
    assert attendances <= {one["_links"]["self"]["href"].rpartition("/")[2] for one in attended}
    assert counted["total_signatures"] == len(signed)
    assert sum(event["total_accepted"] for event in kept) == len(attended)
    delivered = {
        element["osdi:signature"]["_links"]["self"]["href"].rpartition("/")[2]
        for element in receiver.elements()
    }
    assert signatures <= delivered
    acknowledged = f"{len(events)} events, {len(attendances)} RSVPs, {len(signatures)} signatures"
    print(f"{kills} kills: {acknowledged} acknowledged, none lost; {len(delivered)} signatures delivered")


def test_a_signature_whose_delivery_was_cut_off_is_delivered_after_the_restart(tmp_path, receiver):
    """Interface 6: at least once, from a durable outbox."""
    db = tmp_path / "sandbox.db"
    receiver.answers.clear()
    first = start("--db", db, "--port", 0, *RETRIES)
    petition = first.running.admin("POST", "petitions", title="One")["id"]
    first.running.admin("POST", "webhooks", url=receiver.url, uploads=True)
    first.running.admin("POST", "uploads", petition=petition, signatures=[{"person": {}, "comments": "once"}])
    wait_for(lambda: receiver.got)
    first.kill()
    before = len(receiver.got)
    receiver.answers.set()
    with sandbox.serve(sandbox.create_app(db, webhook_timeout=GUARD)) as second:
        wait_for(lambda: second.admin("GET", "messages?state=delivered"))
    assert len(receiver.got) == before + 1
    assert {element["osdi:signature"]["comments"] for element in receiver.elements()} == {"once"}
    assert len({element["idempotency_key"] for element in receiver.elements()}) == 1


def test_a_full_disk_is_answered_503_and_loses_nothing_that_was_answered_200(tmp_path):
    """Interface 7.4: what cannot be kept is not acknowledged."""
    db = tmp_path / "sandbox.db"
    full = start("--db", db, "--port", 0, file_limit=600_000)
    kept, refused = [], 0
    with httpx.Client(
        base_url=full.running.base_url, headers={"OSDI-API-Token": full.running.group_key}
    ) as client:
        while refused < 20:
            body = {"title": str(len(kept)), "origin_system": "x", "description": "y" * 5000}
            answer = client.post("/events", json=body)
            assert answer.status_code in (200, 503), answer.text
            refused += answer.status_code == 503
            kept += [answer.json()] if answer.status_code == 200 else []
    full.kill()
    assert kept
    with sandbox.serve(sandbox.create_app(db)) as again:
        stored = again.admin("GET", "events?account=group:sandbox")
    assert [event["title"] for event in stored] == [event["title"] for event in kept]


def test_a_database_that_another_sandbox_uses_or_that_is_none_is_refused(tmp_path):
    """Two sandboxes over one file would answer for each other."""
    db = tmp_path / "sandbox.db"
    with sandbox.serve(sandbox.create_app(db)), pytest.raises(DatabaseUnusable, match="locked"):
        sandbox.create_app(db)
    text = tmp_path / "text.db"
    text.write_text("no database, but a longer line of text than a header of SQLite would be" * 10)
    with pytest.raises(DatabaseUnusable, match=r"text\.db: file is not a database"):
        sandbox.create_app(text)
    with pytest.raises(OSError, match="unable to open"):
        sandbox.create_app(tmp_path / "no folder" / "sandbox.db")


def test_a_restarted_sandbox_has_its_keys_accounts_and_events(tmp_path):
    """Interface 5: keys are kept with what they belong to."""
    db = tmp_path / "sandbox.db"
    with sandbox.serve(sandbox.create_app(db)) as first:
        first.admin("POST", "keys", account="group:sandbox", key="mine")
        made = first.admin("POST", "events", events=[{"title": "A", "origin_system": "B"}])["event_ids"]
    with sandbox.serve(sandbox.create_app(db, prefix="action_network")) as second:
        assert second.admin("GET", "keys")["mine"] == "group:sandbox"
        [event] = second.admin("GET", "events")
        assert event["identifiers"] == [f"action_network:{made[0]}"]
