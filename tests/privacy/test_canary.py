"""One person, put into every place a person can be, is found in nothing that is made to leave the machine."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import stat
import sys
import zipfile
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest

import osdi_frames as of
from osdi_frames import sandbox
from tests.commands import run
from tests.receiver.process import Receiver
from tests.receiver.sender import TOKEN

from .somebody import (
    BROKEN,
    COMMENT,
    DELIVERED,
    DOCUMENTS,
    EMAIL,
    GIVEN,
    KEY,
    PERSON,
    PERSON_ID,
    PULLED,
    TORN,
    traces,
)


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


@pytest.fixture(scope="module")
def frames(folder):
    return of.open(folder / "archive").tables()


def test_the_archive_has_the_person_in_every_identifying_column(frames):
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
        ["report", "archive", "--json", "--min-count", "2"],
        ["check", "archive"],
        status=0,
    )
    assert traces(printed) == []
    assert found_in(folder / "report") == {}


def test_an_export_with_pseudonyms_or_without_identifying_columns_shows_nothing_of_the_person(
    folder, commands
):
    with_key = ["--pseudonymize-key-file", "key"]
    printed = commands(
        ["export", "archive", "hidden", *with_key],
        ["export", "archive", "hidden-excel", *with_key, "--format", "xlsx", "--table", "signatures"],
        [
            "export",
            "archive",
            "dropped",
            "--drop",
            "identifying",
            "--partition-by",
            "month",
            "--format",
            "csv",
        ],
        status=0,
    )
    assert traces(printed) == []
    assert [found_in(folder / name) for name in ("hidden", "hidden-excel", "dropped")] == [{}, {}, {}]


def test_a_pseudonymised_frame_shows_nothing_of_the_person(frames):
    for name, frame in frames.items():
        made = of.pseudonymize(frame, KEY, table=name)
        assert traces(f"{made.to_dict()} {made!r} {made.attrs}".encode()) == [], name


def test_people_of_acts_and_acts_filled_from_them_show_nothing_of_the_person():
    source = [DELIVERED, {"_embedded": {"osdi:signatures": [PULLED]}}]
    frames = of.open(source).tables(["people", "signatures"])
    people, pulled = frames["people"], frames["signatures"].iloc[1]
    assert people[["person_id", "email"]].to_numpy().tolist() == [[PERSON_ID, EMAIL]]
    assert (pulled["given_name"], pulled["email"]) == (GIVEN, EMAIL)
    assert pulled["person_filled"] == ["name", "email", "phone", "location"]
    for options in ({"drop": "identifying"}, {"key": KEY}):
        made = {name: of.pseudonymize(frame, table=name, **options) for name, frame in frames.items()}
        for name, frame in made.items():
            assert traces(f"{frame.to_dict()} {frame!r} {frame.attrs}".encode()) == [], name
        assert made["people"]["last_seen"].equals(people["last_seen"])
    columns = ["person_id", "email", "phone"]
    joined = made["signatures"].merge(made["people"], on=columns)
    assert len(joined) == 2
    assert joined[columns].notna().all(axis=None)


def test_no_message_quotes_the_person(folder, commands):
    whole = [["report", "broken"], ["check", "broken"]]
    printed = commands(*whole, ["report", "broken", "--on-error", "skip", "--out", "skipped"])
    assert b"skipped" in printed
    assert traces(printed) == []
    assert found_in(folder / "skipped") == {}


def modes_in(folder: Path) -> set[int]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {stat.S_IMODE(path.stat().st_mode) for path in files}


def test_the_receiver_logs_nothing_of_the_person_and_writes_for_its_owner_only(folder, monkeypatch, commands):
    archive, log = folder / "received", folder / "receiver.log"
    main = "import logging, sys; logging.basicConfig(level=logging.DEBUG); from osdi_frames.cli import main; main()"
    program = [sys.executable, "-c", main, "receive", "received", "--port", "0", "--token", TOKEN]
    monkeypatch.chdir(folder)
    with Receiver(archive, log=log, program=program) as receiver:
        with httpx.Client(base_url=f"http://127.0.0.1:{receiver.port}") as sender:
            for document in [*DOCUMENTS, *BROKEN.values()]:
                sender.post(f"/{TOKEN}", content=json.dumps(document))
            sender.post(f"/{TOKEN}?mail={EMAIL}", content=TORN)
            health = sender.get("/healthz").content
        receiver.stop()
    # The address to erase is the caller's own; nothing of what is erased is printed.
    printed = commands(
        ["archive", "verify", "received"], ["archive", "erase", "received", "--person", PERSON_ID]
    )
    assert traces(log.read_bytes() + health + printed) == []
    assert modes_in(archive) == {0o600}


def test_a_pull_logs_nothing_of_the_person_and_writes_for_its_owner_only(folder, commands):
    with sandbox.serve() as running:
        petition = running.admin("POST", "petitions", title="River", account="group:sandbox")["id"]
        person = {key: value for key, value in PERSON.items() if key != EMAIL}
        signed = {"petition": petition, "comments": COMMENT, "person": person}
        running.admin("POST", "signatures", **signed)
        kinds = [word for kind in ("signatures", "people") for word in ("--with", kind)]
        pull = ["pull", running.base_url, "pulled", *kinds, "--rate", "1000"]
        printed = commands(pull, status=0, OSDI_API_KEY=running.group_key)
    assert EMAIL in of.read_table(folder / "pulled", "people")["email"].tolist()
    assert traces(printed) == []
    assert modes_in(folder / "pulled") == {0o600}


def test_a_whole_export_is_for_its_owner_only(folder, commands):
    commands(["export", "archive", "whole", "--table", "signatures"], status=0)
    assert modes_in(folder / "whole") == {0o600}
