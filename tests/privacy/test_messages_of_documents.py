"""Nothing that is said of documents and of files shows what is in them."""

from __future__ import annotations

import copy
import itertools
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import osdi_frames as of
from osdi_frames import sandbox
from tests.commands import run

from .said import CANARY, LONG, said
from .somebody import BROKEN, COMMENT, DOCUMENTS, EMAIL, ENCODED, FAMILY, GIVEN, PHONE, SPELLED, traces

pytestmark = pytest.mark.usefixtures("in_a_folder")

#: Somebody's data, in each form that a value can have.
VALUES: list[Any] = [
    *(
        EMAIL,
        PHONE,
        f"{GIVEN} {FAMILY}",
        ENCODED,
        f"{ENCODED}==",
        quote(EMAIL),
        quote(quote(EMAIL)),
        *SPELLED,
    ),
    *(f"['river', '{EMAIL}']", json.dumps({"source": EMAIL}), f"2026-05-01T10:00:00Z {EMAIL}", 14158675309),
    *(4158675309.5, int("1" * 70 + "4158675309"), f"{'x' * 70}{EMAIL}", f"9e{PHONE}", f"{EMAIL}: {COMMENT}"),
]
#: What is around it.
AROUND: list[Callable[[Any], Any]] = [
    lambda value: value,
    lambda value: [value],
    lambda value: {"a": value},
    lambda value: {str(value): 1},
    lambda value: [[{"b": [value]}]],
    lambda value: {"a": {str(value): [{str(value): value}]}},
]


def leaves(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where each value of a document is, also each object and list."""
    if at:
        yield at
    if isinstance(document, dict | list):
        for key in document if isinstance(document, dict) else range(len(document)):
            yield from leaves(document[key], (*at, key))


def changed(document: Any, at: tuple[Any, ...], value: Any, *, key: str | None = None) -> Any:
    """Return a document with another value at a place, or with the value under another key."""
    document = copy.deepcopy(document)
    inner = document
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = value
    if key is not None:
        inner[key] = inner.pop(at[-1])
    return document


def documents_with_somebody() -> Iterator[Any]:
    """Yield documents of each type, with somebody's data in place of a value, of an object, and of a key."""
    turns = itertools.cycle(itertools.product(VALUES, AROUND))
    for document in [*DOCUMENTS, *BROKEN.values()]:
        yield document
        for at in leaves(document):
            yield from (changed(document, at, around(value)) for value, around in itertools.islice(turns, 5))
            if isinstance(at[-1], str):
                for key, prefix in zip(itertools.islice(VALUES, 2), ("", "osdi:"), strict=True):
                    yield changed(document, at, None, key=f"{prefix}{key}")
                value, around = next(turns)
                yield changed(document, at, around(value), key=f"{at[-1]}.{value}")
    for value, around in itertools.islice(turns, len(VALUES) * len(AROUND)):
        yield around(value)
        yield [around(value)]
        yield {"received_at": around(value), "fetched_at": around(value), "body": DOCUMENTS[0]}
        yield {str(value): [{"payload": json.dumps(DOCUMENTS[0]), "at": around(value)}, around(value)]}


@pytest.mark.parametrize("step", [43, pytest.param(1, marks=pytest.mark.long)])
def test_nothing_that_is_said_of_documents_shows_what_is_in_them(step: int) -> None:
    documents = list(documents_with_somebody())[::step]
    assert len(documents) > 5000 / step
    lines = [json.dumps(document) for document in documents]
    Path("a.ndjson").write_text("".join(f"{line}\n" for line in [*lines, *(line[:-1] for line in lines)]))
    archive = of.open("a.ndjson", on_error="skip")
    with said() as shown:
        archive.tables(["signatures", "events", "people"])
    shown.append(f"{archive.contents!r} {archive!r}")
    for document in documents[:: len(documents) // 8]:
        with said() as texts:
            of.open(document).tables(["signatures", "events"])
        shown += texts
    ran = run("check", "a.ndjson")
    everything = "".join([*shown, ran.stderr, ran.stdout])
    assert "not an object" in everything
    assert ENCODED not in everything
    assert traces(everything.encode()) == []


def test_what_is_shown_of_a_key_is_the_name_of_a_field() -> None:
    """New fields of the service are what `check` is read for."""
    new = ("shoe_size", "osdi:shoe_size", "action_network:line2", "shoeSize", "_links2")
    other = (EMAIL, ENCODED, "Ann", "ann smith", "ann.smith", "415_867_5309", "c0ffee00-1234", "é", "x" * 40)
    keys = dict.fromkeys(new + other, 1)
    found = of.check({"title": "March", "total_accepted": 1, **keys})
    shown = {*found[found["problem"] == "undeclared key"]["detail"]}
    assert shown == {f"event: {name}" for name in (*new, "(hidden)")}


def test_the_name_of_a_file_is_quoted_up_to_60_characters_of_each_part() -> None:
    text = json.dumps({"total_accepted": "lots"})
    Path("of-a-folder", LONG).mkdir(parents=True)
    Path("of-a-folder", LONG, f"{LONG}.json").write_text(text)
    with zipfile.ZipFile("of-a-zip.zip", "w") as archive:
        archive.writestr(f"{LONG}/{LONG}.json", text)
    with tarfile.open("of-a-tar.tar", "w") as archive:
        archive.add(f"of-a-folder/{LONG}/{LONG}.json", f"{LONG}.json")
    errors = [["report", place] for place in ("of-a-folder", "of-a-zip.zip", "of-a-tar.tar")]
    for line in (
        *errors,
        ["check", "."],
        ["export", "of-a-folder", "out", "--table", "events", "--on-error", "skip"],
    ):
        ran = run(*line)
        assert f"{'x' * 60}…" in ran.stderr + ran.stdout, line
        assert CANARY not in ran.stderr + ran.stdout, line


def test_what_is_said_of_a_receivers_archive_quotes_60_characters_of_a_name_in_its_path() -> None:
    worker = Path(LONG, "main")
    (worker / "2026-05-01").mkdir(parents=True)
    (worker / ".lock").touch()
    (worker / "2026-05-01" / "000000000001.ndjson").write_text(f"damaged {LONG}\n" * 3)
    assert f"{'x' * 60}…/main/2026-05-01/000000000001.ndjson:1: " in run("archive", "verify", LONG).stdout
    for line in (["verify", LONG], ["erase", LONG, "--person", "p"], ["erase", LONG, "--email", LONG]):
        ran = run("archive", *line)
        assert CANARY not in ran.stderr + ran.stdout


def test_no_refusal_of_the_sandbox_quotes_what_is_long() -> None:
    text = quote(LONG)
    bodies: list[Any] = [
        [LONG],
        {"title": "March", "origin_system": LONG, "_links": {LONG: LONG}, "start_date": LONG},
    ]
    paths = [
        *(text, "events", f"events/{text}", f"petitions/{text}/signatures", f"events?filter={text}"),
        *(f"events?page={text}", f"faults/{text}", "faults", "webhooks", "requests", "people"),
    ]
    with (
        sandbox.serve() as running,
        httpx.Client(headers={"OSDI-API-Token": running.group_key, "api-key": running.group_key}) as caller,
    ):
        for base, path in itertools.product(("/api/v2", "/api/v1", "/sandbox"), paths):
            for method in ("GET", "POST", "PUT", "DELETE"):
                for body in bodies if method in ("POST", "PUT") else [None]:
                    answer = caller.request(method, f"{running.origin}{base}/{path}", json=body)
                    assert answer.status_code < 400 or CANARY not in answer.text, (method, path)
