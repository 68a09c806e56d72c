"""``--lenient``: what the live service probably takes, and the contract does not."""

from __future__ import annotations

import httpx
import pytest

from osdi_frames import sandbox


@pytest.fixture(scope="module")
def clients():
    """Serve one sandbox that is lenient and one that is not."""
    with sandbox.serve(sandbox.create_app(lenient=True)) as lenient, sandbox.serve() as strict:
        opened = {}
        for name, running in (("lenient", lenient), ("strict", strict)):
            for version, base, header in (
                ("v2", running.base_url, "OSDI-API-Token"),
                ("v1", running.base_url_v1, "api-key"),
            ):
                opened[name, version] = httpx.Client(base_url=base, headers={header: running.group_key})
        yield opened
        for client in opened.values():
            client.close()


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_an_event_without_an_origin_has_that_of_the_key(clients, version):
    body, name = (
        ({"title": "A"}, "origin_system") if version == "v2" else ({"summary": "A"}, "originating_system")
    )
    assert clients["lenient", version].post("/events", json=body).json()[name] == "Sandbox Group"
    assert clients["strict", version].post("/events", json=body).status_code == 400


@pytest.mark.parametrize("version", ["v2", "v1"])
def test_a_time_with_a_space_is_taken(clients, version):
    body = {"title": "A", "summary": "A", "origin_system": "B", "originating_system": "B"}
    name = "start_date" if version == "v2" else "start"
    body[name] = "2026-05-01 18:30:00"
    assert clients["lenient", version].post("/events", json=body).json()[name] == "2026-05-01T18:30:00Z"
    assert name not in clients["strict", version].post("/events", json=body).json()


def test_what_is_missing_otherwise_is_refused_as_ever(clients):
    assert clients["lenient", "v2"].post("/events", json={}).status_code == 400
    made = clients["lenient", "v2"].post("/events", json={"title": "A", "origin_system": "Mine"}).json()
    assert made["origin_system"] == "Mine"
    changed = clients["lenient", "v2"].put(made["_links"]["self"]["href"], json={"title": "B"}).json()
    assert (changed["title"], changed["origin_system"]) == ("B", "Mine")
