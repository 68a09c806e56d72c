"""Clients that others wrote, each in an environment of its own, against a lenient sandbox."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest

from osdi_frames import sandbox

from .test_collections import pages

CLIENTS = Path(__file__).parent / "clients"
GUIDE = (files("osdi_frames.sandbox") / "README.md").read_text("utf-8")

Run = Callable[[str, str, sandbox.Running], dict[str, Any]]


@pytest.fixture
def run(request) -> Run:
    """Run a script with a released package, which is installed once into pytest's cache."""

    def answer(requirement: str, script: str, running: sandbox.Running) -> dict[str, Any]:
        environment = Path(request.config.cache.mkdir("clients")) / requirement
        python = environment / "bin" / "python"
        if not (environment / "installed").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True, timeout=120)
            installing = [python, "-m", "pip", "install", "-q", "--retries", "1", requirement]
            installed = subprocess.run(installing, capture_output=True, text=True, timeout=900)
            if installed.returncode:
                pytest.skip(f"{requirement} cannot be installed here: {installed.stderr.strip()[-200:]}")
            (environment / "installed").touch()
        command = [python, CLIENTS / script, running.base_url, running.group_key]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    return answer


@pytest.fixture
def lenient():
    """Serve the demo as ``sandbox --lenient`` does, with a tag that one person has."""
    app = sandbox.create_app(prefix="action_network", lenient=True)
    sandbox.fill_demo(app)
    with (
        sandbox.serve(app) as running,
        httpx.Client(base_url=running.base_url, headers={"OSDI-API-Token": running.group_key}) as client,
    ):
        client.post("/tags", json={"name": "volunteer"}).raise_for_status()
        someone = {"email_addresses": [{"address": "first@example.org"}]}
        client.post("/people", json={"person": someone, "add_tags": ["volunteer"]}).raise_for_status()
        yield running, client


def held(client, path):
    """Return every row of a collection as the sandbox gives it."""
    return [row for page in pages(client, f"/{path}") for row in next(iter(page["_embedded"].values()))]


@pytest.mark.long
def test_every_method_of_parsons_gives_what_the_sandbox_holds_or_is_listed_as_refused(run, lenient):
    """Parsons' ActionNetwork: events without origin_system, with a space in their time; lists to the empty page."""
    running, client = lenient
    before = {
        name: held(client, name)
        for name in ("events", "event_campaigns", "campaigns", "petitions", "people", "tags")
    }
    given = run("parsons==6.1.0", "with_parsons.py", running)
    assert given["lists"] == before
    assert len(given["events"]) == 120  # with those that only their campaigns list
    for event, rows in given["attendances"].items():
        assert rows == held(client, f"events/{event}/attendances")
    for petition, rows in given["signatures"].items():
        assert rows == held(client, f"petitions/{petition}/signatures")
    for tag, rows in given["taggings"].items():
        assert len(rows) == 1
        assert rows == held(client, f"tags/{tag}/taggings")[-1:]
    assert len(given["singles"]) > 20
    for one, expected in given["singles"]:
        assert one == expected or (expected is None and one["identifiers"])
    created = client.get(given["created"]["_links"]["self"]["href"]).json()
    assert given["created"] | created == given["created"]  # to which Parsons adds event_id
    assert (created["title"], created["start_date"]) == ("Rehearsed", "2026-05-01T18:30:00Z")
    assert (created["origin_system"], created["location"]["locality"]) == ("Sandbox Group", "Oakland")
    assert given["deleted"] == [{"notice": "This tagging was successfully deleted."}, True]
    upserted, again, updated = given["upserted"]
    assert upserted["identifiers"] == again["identifiers"] == updated["identifiers"]
    assert (again["given_name"], again["family_name"]) == ("Ada", "Baker")
    assert updated == client.get(updated["_links"]["self"]["href"]).json()
    assert updated["custom_fields"] == {"shirt": "XL"}
    written_as_fields(client, given)
    assert given["calls"].keys() == set(given["methods"])
    assert f"all {len(given['methods'])} public methods" in GUIDE
    assert listed() == {answer: methods_of(given["calls"], answer) for answer in listed()}


def written_as_fields(client: httpx.Client, given: dict[str, Any]) -> None:
    """Hold what Parsons wrote as a form, in a query, or of petitions, against what the sandbox has."""
    tagging, tag, someone = given["tagged"]
    assert tagging == held(client, f"tags/{tag}/taggings")[0]
    assert tagging["_links"]["osdi:person"]["href"].endswith(someone)
    assert "iframe" in given["embedded"]["embed_code"]
    for made, changed in (given[name] for name in ("petitions", "attended", "signed", "campaigns")):
        assert made["identifiers"] == changed["identifiers"]
    petition = client.get(given["petitions"][1]["_links"]["self"]["href"]).json()
    assert (petition["title"], petition["target"], petition["origin_system"]) == (
        "Again", [{"name": "The mayor"}], "Sandbox Group"
    )  # fmt: skip
    assert petition["total_signatures"] == 1
    assert [one["status"] for one in given["attended"]] == ["accepted", "attended"]
    assert [one["comments"] for one in given["signed"]] == ["Now!", "Soon"]
    assert [one["title"] for one in given["campaigns"]] == ["Spring", "Summer"]
    event, inside = given["changed"], given["inside"]
    assert event == client.get(event["_links"]["self"]["href"]).json()
    assert (event["title"], event["location"]["venue"], event["total_accepted"]) == ("Changed", "Hall", 1)
    assert inside["_links"]["action_network:event_campaign"] == given["campaigns"][0]["_links"]["self"]
    assert inside["location"]["venue"] == "Hall"
    assert given["titles"][:2] == ["Again", "Again"]
    assert sum(title == "Again" for title in given["titles"][2:]) == 2
    for name, found in given["acted"].items():
        assert sum(one["identifiers"] == found[0]["identifiers"] for one in found) == 4, name
    assert given["acted"]["donation"][0]["amount"] == "12.50"
    assert given["acted"]["outreach"][0]["subject"] == "Again"


def listed() -> dict[str, set[str]]:
    """Return the methods by their answer, as the table of the sandbox's guide lists them."""
    table = GUIDE.partition("| Parsons' method |")[2].partition("\n\n")[0]
    rows = [row.split("|")[1:3] for row in table.splitlines()[2:]]
    return {answer.strip(): set(re.findall("`([a-z_]+)`", methods)) for answer, methods in rows}


def methods_of(calls: dict[str, Any], answer: str) -> set[str]:
    """Return the methods whose calls were answered so."""
    return {name for name, noted in calls.items() if answer_of(noted) == answer}


def answer_of(noted: dict[str, Any]) -> str:
    if set(noted["statuses"]) <= {404, 405}:
        return "refused: nothing of it is kept"
    if noted["fields"]:
        return "works with flat fields"
    return "works" if not noted["rows"] or any(noted["rows"]) else "an empty table"


@pytest.mark.long
def test_osdi_s_service_begins_with_tags_and_reads_people(run, lenient):
    """The package osdi: its constructor reads all tags; people with their taggings."""
    running, client = lenient
    given = run("osdi==0.3.1", "with_osdi.py", running)
    assert given["tags"] == given["tagged"] == ["volunteer"]
    assert given["made"]["identifiers"] == [f"action_network:{given['found']}"]
    assert given["after"]["custom_fields"] == {"shirt": "XL"}
    people = held(client, "people")
    assert len(given["people"]) == len(people)
    assert [one["_links"]["self"] for one in given["people"]] == [one["_links"]["self"] for one in people]
