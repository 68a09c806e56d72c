"""One person, put into every place a person can be, is found in nothing that is made to leave the machine."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import logging
import stat
import sys
import zipfile
from pathlib import Path
from urllib.parse import unquote_to_bytes

import httpx
import pyarrow.parquet as pq
import pytest

import osdi_frames as of
from osdi_frames import sandbox
from tests.commands import run
from tests.receiver.process import Receiver
from tests.receiver.sender import TOKEN

GIVEN, FAMILY = "Zephyrinda", "Quillonfarth"
EMAIL, PHONE = "zephyrinda@quillonfarth-mail.net", "+1 (415) 867-5309"
ENCODED = base64.b64encode(EMAIL.encode()).decode().rstrip("=")
#: The same, as people and programs write them.
SPELLED = [
    EMAIL.replace("@", " @"),
    EMAIL.replace("@", "&#64;"),
    EMAIL.replace("@", "%2540"),
    f"{ENCODED}==",
    "zephyrinda@localhost",
    '"zephyrinda q"@quillonfarth-mail.net',
    "\uff0b\uff11\uff14\uff11\uff15\uff18\uff16\uff17\uff15\uff13\uff10\uff19",
]
STREET, TOWN, POSTAL_CODE = "1187 Brackenwhistle Row", "Wobblethorpe", "94117-2233"
COMMENT, CUSTOM = "Gooseberries for velocipedes", "marzipan trombone"
PERSON_ID, SIGNATURE_ID = "c0ffee00-1234-canary", "deadbeef-9876-signed"
LATITUDE, LONGITUDE = 37.774929, -122.419416
KEY = b"the key of this test, 32 bytes or more"

#: What is looked for, in any case.
TRACES = [
    *(GIVEN, FAMILY, EMAIL, "quillonfarth-mail", "867-5309", "4158675309", STREET, "brackenwhistle", TOWN),
    *(
        "\uff18\uff16\uff17",
        ENCODED,
        POSTAL_CODE,
        "gooseberr",
        "marzipan",
        PERSON_ID,
        SIGNATURE_ID,
        "37.7749",
        "122.4194",
        KEY.decode(),
    ),
]
ADDRESS = {
    "primary": True,
    "address_lines": [STREET],
    "locality": TOWN,
    "postal_code": POSTAL_CODE,
    "region": "CA",
    "country": "US",
    "location": {"latitude": LATITUDE, "longitude": LONGITUDE, "accuracy": "Rooftop"},
}
PERSON = {
    "given_name": GIVEN,
    "family_name": FAMILY,
    "email_addresses": [{"primary": True, "address": EMAIL, "status": "subscribed"}],
    "phone_numbers": [{"primary": True, "number": PHONE, "number_type": "Mobile"}],
    "postal_addresses": [ADDRESS],
    "custom_fields": {"favourite": CUSTOM, f"about {EMAIL}": COMMENT},
    EMAIL: "an object that is keyed by an address",
}
PERSON_LINK = {"href": f"https://a.example/api/v2/people/{PERSON_ID}"}
ACTION = {
    "identifiers": [f"platform:{SIGNATURE_ID}", f"crm:{EMAIL}"],
    "created_date": "2026-05-01T10:00:00Z",
    "comments": COMMENT,
    "person": PERSON,
    "add_tags": ["river", f"from {EMAIL}", *(f"from {spelled}" for spelled in SPELLED)],
    "platform:referrer_data": {
        "source": f"share-{EMAIL} {' '.join(SPELLED)}",
        "referrer": f"call {PHONE}",
        "website": f"https://b.example/x?who={GIVEN}&mail={EMAIL}",
    },
    "_links": {
        "self": {"href": f"https://a.example/api/v2/petitions/p/signatures/{SIGNATURE_ID}"},
        "osdi:person": PERSON_LINK,
        "osdi:petition": {"href": "https://a.example/api/v2/petitions/p"},
    },
}
RESOURCE = PERSON | {"identifiers": [f"platform:{PERSON_ID}"], "_links": {"self": PERSON_LINK}}
EVENT = {
    "identifiers": ["platform:e1"],
    "title": f"March, ask {SPELLED[0]}",
    "name": f"At {GIVEN}'s",
    "description": f"With {GIVEN} {FAMILY}",
    "instructions": f"Ring {PHONE}",
    "start_date": "2026-05-01T18:00:00Z",
    "total_accepted": 12,
    "location": {key: ADDRESS[key] for key in ADDRESS if key not in ("primary", "locality")}
    | {"venue": f"{FAMILY} home"},
    "_links": {"osdi:organizer": PERSON_LINK},
    "_embedded": {"osdi:creator": RESOURCE},
}
PETITION = {
    "identifiers": ["platform:p"],
    "title": f"River, with {SPELLED[1]}",
    "description": f"{GIVEN} {FAMILY} asks",
    "petition_text": COMMENT,
    "_embedded": {"osdi:creator": RESOURCE},
    "_links": {"osdi:creator": PERSON_LINK},
}
#: A signature of a page, without a person: it is filled from what the others say of the person.
PULLED = {
    "identifiers": ["platform:pulled"],
    "created_date": "2026-05-02T10:00:00Z",
    "platform:person_id": PERSON_ID,
    "platform:petition_id": "p",
}
DELIVERED = [{"osdi:signature": ACTION, "idempotency_key": "k1"}]
#: The other acts: what is done by form, on a fundraising page, in an advocacy campaign, in a survey; and an upload.
OTHERS = {
    "osdi:attendance": ACTION | {"tickets": [{"title": "Seat", "description": f"For {GIVEN}", "amount": 5}]},
    "osdi:submission": ACTION,
    "osdi:donation": ACTION
    | {
        "amount": "12.50",
        "recipients": [{"display_name": "River", "amount": "12.50"}],
        "payment": {"reference_number": f"of {EMAIL}"},
    },
    "osdi:outreach": ACTION
    | {
        "subject": f"{COMMENT}, {GIVEN}",
        "message": f"I live at {STREET}",
        "targets": [{"title": "Mayor", "given_name": GIVEN, "family_name": FAMILY}],
    },
    "platform:response": ACTION,
    "platform:upload": ACTION,
}
TAGGING = {
    "identifiers": [f"platform:{SIGNATURE_ID}"],
    "_links": {
        "self": {"href": f"https://a.example/api/v2/tags/t/taggings/{SIGNATURE_ID}"},
        "osdi:person": PERSON_LINK,
        "osdi:tag": {"href": "https://a.example/api/v2/tags/t"},
    },
}
_CREATED = {
    "title": "River",
    "_embedded": {"osdi:creator": RESOURCE},
    "_links": {"osdi:creator": PERSON_LINK},
}
DOCUMENTS = [
    DELIVERED,
    *([{name: act, "idempotency_key": name}] for name, act in OTHERS.items()),
    {"_embedded": {"osdi:taggings": [TAGGING]}},
    *(
        {"_embedded": {key: [_CREATED | {"identifiers": ["platform:f"]}]}}
        for key in ("osdi:forms", "osdi:fundraising_pages", "osdi:advocacy_campaigns", "platform:surveys")
    ),
    {"_embedded": {"osdi:people": [RESOURCE]}},
    {"_embedded": {"osdi:petitions": [PETITION]}},
    {"_embedded": {"osdi:signatures": [PULLED]}},
    EVENT,
]


def signed(**keys):
    return [{"osdi:signature": ACTION | keys}]


#: Documents that stop a reading, with the person where something does not fit.
BROKEN = {
    "text": f"{GIVEN} {FAMILY}, {EMAIL}",
    "a-person": {"contact": PERSON},
    "a-resource": {"person": PERSON, "identifiers": [f"platform:{PERSON_ID}"]},
    "no-type": [{"person": PERSON}],
    "a-signature-of-text": [{"osdi:signature": f"{GIVEN} {FAMILY}"}],
    "signatures-of-text": {"_embedded": {"osdi:signatures": f"{GIVEN} {FAMILY}"}},
    "person-of-text": signed(person=f"{GIVEN} {FAMILY}"),
    "comments": signed(comments={"text": COMMENT}),
    "comments-in-a-list": signed(comments=[COMMENT]),
    "address": signed(person={"email_addresses": EMAIL}),
    "addresses": signed(person={"email_addresses": [EMAIL]}),
    "phone": signed(person={"phone_numbers": [{"number": {"is": PHONE}}]}),
    "phone-as-a-number": signed(person={"phone_numbers": 14158675309}),
    "latitude": signed(person={"postal_addresses": [{"location": {"latitude": f"{LATITUDE} {STREET}"}}]}),
    "custom-field": signed(person={"custom_fields": {EMAIL: {"is": CUSTOM}}}),
    "custom-fields": signed(person={"custom_fields": f"{CUSTOM} {COMMENT}"}),
    "name": signed(person={"given_name": [GIVEN]}),
    "half-a-letter": signed(comments=f"\ud800 {COMMENT}"),
    "links": signed(_links=f"https://a.example/people/{PERSON_ID}"),
    "identifiers": signed(identifiers=f"crm:{EMAIL}"),
    "unknown-prefix": signed(identifiers=[f"desk:{EMAIL}"], _links={}),
    "event-creator": {"total_accepted": 1, "_embedded": {"osdi:creator": f"{GIVEN} {FAMILY}"}},
    "people": {"_embedded": {"osdi:people": [f"{GIVEN} {FAMILY}"]}},
}
TORN = f'[{{"osdi:signature": {{"person": {{"given_name": "{GIVEN}", "family_name": "{FAMILY}"'


def traces(data: bytes) -> list[str]:
    """List what of the person is in bytes, as they are or with percent signs undone."""
    texts = [each.decode("utf-8", "replace").lower() for each in (data, unquote_to_bytes(data))]
    return [trace for trace in TRACES if any(trace.lower() in text for text in texts)]


def decoded(path: Path) -> bytes:
    """Return what a file holds: of Parquet its values and its schema, of an Excel file its parts."""
    if path.suffix == ".parquet":
        table = pq.read_table(path, partitioning=None)
        return f"{table.schema.to_string(show_schema_metadata=True)} {table.to_pylist()}".encode()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as book:
            return b"".join(map(book.read, book.namelist()))
    return path.read_bytes()


def found_in(folder: Path) -> dict[str, list[str]]:
    """List what of the person is in the files of a folder, and in their names."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    found = {str(path): traces(decoded(path) + bytes(path.relative_to(folder))) for path in files}
    return {name: those for name, those in found.items() if those}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write the archive, the broken documents and the key."""
    folder = tmp_path_factory.mktemp("canary")
    (folder / "archive").mkdir()
    (folder / "archive" / "a.ndjson").write_text("".join(f"{json.dumps(each)}\n" for each in DOCUMENTS))
    (folder / "broken").mkdir()
    for name, document in BROKEN.items():
        (folder / "broken" / f"{name}.json").write_text(json.dumps(document))
    (folder / "broken" / "torn.json").write_text(TORN)
    (folder / "key").write_bytes(KEY)
    (folder / "key").chmod(0o600)
    return folder


@contextlib.contextmanager
def debug_logs():
    """Yield what everything logs meanwhile; matplotlib its steps only, as it logs every font."""
    root, matplotlib = logging.getLogger(), logging.getLogger("matplotlib")
    levels, log = (root.level, matplotlib.level), io.StringIO()
    handler = logging.StreamHandler(log)
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    matplotlib.setLevel(logging.INFO)
    try:
        yield log
    finally:
        root.removeHandler(handler)
        root.setLevel(levels[0])
        matplotlib.setLevel(levels[1])


@pytest.fixture
def commands(folder, capfd):
    """Return what runs commands in the folder, and returns all that they print, past Python too, and log."""

    def run_all(*lines: list[str], status: int | None = None, **environment: str) -> bytes:
        capfd.readouterr()
        with debug_logs() as log:
            ran = [run(*words, cwd=folder, **environment) for words in lines]
        assert status is None or {line.returncode for line in ran} == {status}, [line.stderr for line in ran]
        printed = [*capfd.readouterr(), log.getvalue(), *(line.stdout + line.stderr for line in ran)]
        return "".join(printed).encode()

    return run_all


def test_the_archive_has_the_person_in_every_identifying_column(folder):
    frames = of.open(folder / "archive").tables()
    empty = {
        f"{name}.{column.name}"
        for name, frame in frames.items()
        for column in of.tables.TABLES[name].columns
        if column.privacy.level == "identifying" and frame[column.name].isna().all()
    }
    # What none of these documents has.
    assert empty == set()


def test_a_report_shows_nothing_of_the_person(folder, commands):
    formats = [word for name in ("csv", "parquet", "xlsx") for word in ("--format", name)]
    printed = commands(
        ["report", "archive", "--out", "report", *formats],
        ["report", "archive", "--json"],
        ["report", "archive", "--min-count", "2", "--out", "few"],
        ["check", "archive"],
        ["check", "archive", "--json"],
        status=0,
    )
    assert traces(printed) == []
    assert found_in(folder / "report") == {}
    assert found_in(folder / "few") == {}


@pytest.mark.parametrize("kind", ["parquet", "csv", "xlsx"])
def test_an_export_with_pseudonyms_shows_nothing_of_the_person(kind, folder, commands):
    options = ["--format", kind, "--pseudonymize-key-file", "key"]
    printed = commands(["export", "archive", f"hidden-{kind}", *options], status=0)
    assert traces(printed) == []
    assert found_in(folder / f"hidden-{kind}") == {}


def test_an_export_without_identifying_columns_shows_nothing_of_the_person(folder, commands):
    partitioned = ["export", "archive", "months", "--drop", "identifying", "--partition-by", "month"]
    assert (
        traces(commands(["export", "archive", "dropped", "--drop", "identifying"], partitioned, status=0))
        == []
    )
    assert found_in(folder / "dropped") == {}
    assert found_in(folder / "months") == {}


def test_a_pseudonymised_frame_shows_nothing_of_the_person(folder):
    for name, frame in of.open(folder / "archive").tables().items():
        made = of.pseudonymize(frame, KEY, table=name)
        assert traces(f"{made.to_dict()} {made!r} {made.attrs}".encode()) == [], name


@pytest.mark.parametrize("options", [{"key": KEY}, {"drop": "identifying"}], ids=["pseudonyms", "dropped"])
def test_people_of_acts_and_acts_filled_from_them_show_nothing_of_the_person(options):
    frames = of.open([DELIVERED, {"_embedded": {"osdi:signatures": [PULLED]}}]).tables(
        ["people", "signatures"]
    )
    people, pulled = frames["people"], frames["signatures"].iloc[1]
    assert people[["person_id", "email"]].to_numpy().tolist() == [[PERSON_ID, EMAIL]]
    assert (pulled["given_name"], pulled["email"]) == (GIVEN, EMAIL)
    assert pulled["person_filled"] == ["name", "email", "phone", "location"]
    made = {name: of.pseudonymize(frame, table=name, **options) for name, frame in frames.items()}
    for name, frame in made.items():
        assert traces(f"{frame.to_dict()} {frame!r} {frame.attrs}".encode()) == [], name
    assert made["people"]["last_seen"].equals(people["last_seen"])
    if "key" in options:
        columns = ["person_id", "email", "phone"]
        joined = made["signatures"].merge(made["people"], on=columns)
        assert len(joined) == 2
        assert joined[columns].notna().all(axis=None)


def test_no_message_quotes_the_person(folder, commands):
    whole = [["report", "broken"], ["check", "broken"], ["check", "broken", "--json"]]
    printed = commands(*whole, ["report", "broken", "--on-error", "skip", "--out", "skipped"])
    assert b"skipped" in printed
    assert traces(printed) == []
    assert found_in(folder / "skipped") == {}


def test_the_receiver_logs_nothing_of_the_person_and_writes_for_its_owner_only(folder, monkeypatch, commands):
    archive, log = folder / "received", folder / "receiver.log"
    main = "import logging, sys; logging.basicConfig(level=logging.DEBUG); from osdi_frames.cli import main; main()"
    program = [sys.executable, "-c", main, "receive", "received", "--port", "0", "--token", TOKEN]
    monkeypatch.chdir(folder)
    with Receiver(archive, log=log, program=program) as receiver:
        address = f"http://127.0.0.1:{receiver.port}/{TOKEN}"
        for document in [*DOCUMENTS, *BROKEN.values()]:
            httpx.post(address, content=json.dumps(document))
        httpx.post(f"{address}?mail={EMAIL}", content=TORN)
        health = httpx.get(f"http://127.0.0.1:{receiver.port}/healthz").content
        receiver.stop()
    # The address to erase is the caller's own; nothing of what is erased is printed.
    printed = commands(
        ["archive", "verify", "received"], ["archive", "erase", "received", "--person", PERSON_ID]
    )
    assert traces(log.read_bytes() + health + printed) == []
    files = [path for path in archive.rglob("*") if path.is_file()]
    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_pull_logs_nothing_of_the_person_and_writes_for_its_owner_only(
    folder, commands, demo_db, tmp_path_factory
):
    app = sandbox.create_app(demo_db(tmp_path_factory.mktemp("demo")))
    with (
        sandbox.serve(app) as running,
        httpx.Client(base_url=running.base_url, headers={"OSDI-API-Token": "sandbox-group-key"}) as caller,
    ):
        petition = caller.get("petitions").json()["_embedded"]["osdi:petitions"][0]["_links"]["self"]["href"]
        person = {key: value for key, value in PERSON.items() if key != EMAIL}
        caller.post(f"{petition}/signatures", json={"comments": COMMENT, "person": person}).raise_for_status()
        kinds = [word for kind in ("signatures", "people") for word in ("--with", kind)]
        pull = ["pull", running.base_url, "pulled", *kinds, "--rate", "1000"]
        printed = commands(pull, status=0, OSDI_API_KEY="sandbox-group-key")
    assert EMAIL in of.read_table(folder / "pulled", "people")["email"].tolist()
    assert traces(printed) == []
    files = [path for path in (folder / "pulled").rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_whole_export_is_for_its_owner_only(folder, commands):
    commands(["export", "archive", "whole"], status=0)
    files = [path for path in (folder / "whole").rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
