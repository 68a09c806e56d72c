"""What keeps an archive whole: verify, and erase."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from osdi_frames.cli.archive import command
from osdi_frames.errors import InvalidArgument
from osdi_frames.receiver import erase, erasure, verify
from osdi_frames.receiver.envelope import Envelope, read
from osdi_frames.receiver.segments import Segment, seal_finished, segments
from osdi_frames.receiver.validation import elements, validate_body
from osdi_frames.receiver.worker import TORN, Worker
from osdi_frames.sources.files import QUARANTINE
from osdi_frames.tables.people import id_of_address

from .process import quarantined, stored

AT = "2026-11-21T10:42:07.000000Z"
NOW = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)


def signature(person: str, email: str, **more: object) -> str:
    return json.dumps(
        {
            "osdi:signature": {
                "person": {"email_addresses": [{"address": "other@x.org"}, {"address": email}]},
                "_links": {"osdi:person": {"href": f"https://x.org/api/v2/people/{person}"}},
                **more,
            },
            "idempotency_key": "k",
        },
        ensure_ascii=False,
    )


ANN, BOB = signature("ann-1", "Ann@Example.org"), signature("bob-2", "bob@example.org")


def write(archive: Path, bodies: list[bytes], *, segment_bytes: int = 1, worker: str = "main") -> None:
    """Write an archive whose segments hold one delivery each, unless they are to hold more."""
    owner = Worker(archive, worker, segment_bytes=segment_bytes)
    for body in bodies:
        reason = validate_body(body)
        log = owner.deliveries if reason is None else owner.quarantine
        entry = Envelope.of(body, sequence=log.next_sequence, at=AT, reason=reason)
        log.append([entry.line()], day=AT[:10])
    owner.close()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def lines(archive: Path) -> list[Envelope]:
    """Read every line of the deliveries, whose damage would fail here."""
    read_lines = [read(line[:-1]) for segment in segments(archive / "main") for line in segment.lines()]
    return [entry for entry in read_lines if entry is not None]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    bodies = [f"[{ANN}]", f"[{BOB}]", f"[{BOB},{ANN} , {BOB}]", f"[\n{ANN}\n]", f"[{BOB},\r\n{ANN}]"]
    write(tmp_path / "archive", [body.encode() for body in bodies])
    return tmp_path / "archive"


def test_an_archive_that_is_whole_verifies_with_status_0(archive):
    done = run("verify", archive)
    assert done.exit_code == 0
    assert "5 segments, 5 deliveries, 0 in quarantine" in done.output
    assert "0 damaged places" in done.output


def test_a_changed_byte_is_named_with_file_and_line_and_status_1(tmp_path):
    write(tmp_path, [b"[]"] * 3, segment_bytes=1000)
    (path,) = (tmp_path / "main").glob("2*/*")
    path.write_bytes(path.read_bytes().replace(b'"sequence":2', b'"sequence":5'))
    done = run("verify", tmp_path)
    assert done.exit_code == 1
    assert f"{path}:2: the checksum or the line break does not match" in done.output


def test_verify_as_json_has_the_counts_and_the_damages(archive, tmp_path):
    done = run("verify", archive, "--json", "--quiet")
    assert done.exit_code == 0
    assert json.loads(done.output) == {
        "segments": 5,
        "deliveries": 5,
        "quarantined": 0,
        "erased": 0,
        "torn": 0,
        "damages": [],
    }
    segments(archive / "main")[1].path.unlink()
    done = run("verify", archive, "--json")
    assert done.exit_code == 1
    (damage,) = json.loads(done.output)["damages"]
    assert damage["what"] == "begins with 3 where 2 follows"


def test_one_damage_is_counted_in_the_singular(archive):
    segments(archive / "main")[1].path.unlink()
    assert "4 segments, 4 deliveries, " in run("verify", archive).output
    assert run("verify", archive).output.endswith(", 1 damaged place\n")


def test_what_a_terminal_would_obey_in_a_path_is_shown_harmless(tmp_path):
    hostile = tmp_path / "a\x1b[2J\u202eb"
    write(hostile, [f"[{BOB}]".encode()] * 3)
    segments(hostile / "main")[1].path.unlink()
    said = run("verify", hostile).output + run("erase", hostile, "--email", "bob@example.org").output
    assert "begins with 3 where 2 follows" in said
    assert all(line.isprintable() for line in said.split("\n"))


def test_a_segment_that_is_gone_is_noticed_by_the_next(tmp_path):
    write(tmp_path, [b"[]"] * 5)
    paths = [segment.path for segment in segments(tmp_path / "main")]
    paths[1].unlink()
    paths[3].unlink()
    done = run("verify", tmp_path)
    assert done.exit_code == 1
    assert f"{paths[2]}:0: begins with 3 where 2 follows" in done.output
    assert f"{paths[4]}:0: begins with 5 where 4 follows" in done.output


def test_a_line_that_is_gone_is_noticed(tmp_path):
    write(tmp_path, [b"[]"] * 4, segment_bytes=1000)
    (path,) = (tmp_path / "main").glob("2*/*")
    first, _, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first, *rest]))
    assert [str(damage) for damage in verify(tmp_path).damages] == [f"{path}:2: number 3 where 2 follows"]


def test_a_sealed_segment_that_cannot_be_read_is_noticed(archive):
    erase(archive, persons=["nobody"])
    (path, *_) = (segment.path for segment in segments(archive / "main"))
    path.write_bytes(path.read_bytes()[:-20])
    assert f"{path}:" in run("verify", archive).output
    assert run("verify", archive).exit_code == 1


def test_a_sealed_segment_that_was_emptied_is_noticed_although_none_follows(archive):
    erase(archive, persons=["nobody"])
    path = segments(archive / "main")[-1].path
    path.write_bytes(b"")
    (damage,) = verify(archive).damages
    assert str(damage).startswith(f"{path}:1: cannot be read: ")


def test_a_torn_end_is_counted_and_is_no_damage(archive):
    path = max(segments(archive / "main")).path
    path.write_bytes(path.read_bytes() + b'{"checksum":"0')
    found = verify(archive)
    assert (found.deliveries, found.torn, found.damages) == (5, 1, [])


def test_a_last_line_break_that_is_damaged_is_no_torn_end(archive):
    path = max(segments(archive / "main")).path
    path.write_bytes(path.read_bytes()[:-1] + b"\x0b")
    assert [damage.line for damage in verify(archive).damages] == [1]


def test_damage_in_quarantine_is_noticed(tmp_path):
    write(tmp_path, [b"no JSON"])
    (path,) = (tmp_path / "main" / QUARANTINE).glob("2*/*")
    path.write_bytes(path.read_bytes().replace(b"not JSON", b"not json"))
    assert [damage.path for damage in verify(tmp_path).damages] == [path]


def test_a_folder_that_no_receiver_wrote_is_said_to_be_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="no archive of the receiver"):
        verify(tmp_path)


def test_erasing_by_id_takes_the_person_out_and_leaves_the_others_byte_for_byte(archive):
    done = erase(archive, persons=["ann-1"], now=lambda: NOW)
    assert (done.deliveries, done.elements, done.left) == (4, 4, [])
    assert b"ann-1" not in b"".join(entry.exact for entry in lines(archive))
    assert [entry.body.decode() for entry in lines(archive)] == [
        "[]", f"[{BOB}]", f"[{BOB},{BOB}]", "[]", f"[{BOB}]",
    ]  # fmt: skip


def test_erasing_leaves_a_tombstone_and_the_sequence_whole(archive):
    erase(archive, persons=["ann-1"], now=lambda: NOW)
    assert [entry.sequence for entry in lines(archive)] == [1, 2, 3, 4, 5]
    assert [entry.erased_at for entry in lines(archive)][:2] == ["2026-12-01T08:00:00.000000Z", None]
    assert verify(archive).damages == []
    assert verify(archive).erased == 4


def test_erasing_by_email_takes_every_address_of_the_person_in_any_case(archive):
    for number, email in enumerate(("ann@example.org", "ANN@EXAMPLE.ORG", " Ann@Example.org ")):
        write(archive, [f"[{ANN}]".encode()] * number)
        assert erase(archive, emails=[email]).elements == (number or 4)


def test_erasing_by_the_id_of_a_person_who_is_known_by_an_address_takes_that_person_out(archive):
    done = erase(archive, persons=[id_of_address(" ann@Example.org")])
    assert (done.elements, done.left) == (4, [])
    assert b"example.org" not in b"".join(entry.exact for entry in lines(archive)).lower().replace(
        b"bob@example.org", b""
    )
    assert erase(archive, persons=[id_of_address("ann@example.org")]).elements == 0


def test_erasing_someone_who_is_not_there_changes_no_file(archive):
    erase(archive, persons=["nobody"])
    before = {path: path.stat().st_ino for path in archive.rglob("*.zst")}
    assert erase(archive, persons=["nobody", "ann"], emails=["nn@example.org"]).elements == 0
    assert {path: path.stat().st_ino for path in archive.rglob("*.zst")} == before


ABOUT_ANN = (
    r'{"osdi:signature":{"person":{"email_addresses":[{"address":"ann\u0040example.org"}]}}}',
    '{"a":{"email_addresses":[{"address":"ann@example.org"}],"email_addresses":[]}}',
    '{"osdi:donation":{"_links":{"osdi:donor":{"href":"https://x.org/people/ann-1/"}}}}',
    '{"osdi:attendance":{"_links":{"osdi:person":{"href":"https:\\/\\/x.org\\/p\\/ann-1"}}}}',
    '{"osdi:signature":{"_links":{"osdi:person":{"href":"https://x.org/people/ann-1?lang=en"}}}}',
    '{"osdi:signature":{"_links":{"osdi:person":{"href":"https://x.org/p/ann-1/#top"}}}}',
    '{"osdi:attendance":{"_links":{"osdi:people":{"href":"https://x.org/p/ann-1"}}}}',
    '{"osdi_signature":{"_links":{"osdi_person":{"href":"https://x.org/p/ann-1"}}}}',
    '{"osdi:signature":{"action_network_person_id":"ann-1"}}',
    '{"osdi:signature":{"_links":{"a":{"href":"https://x.org/people/ann%2D1/signatures?page=1"}}}}',
    '{"osdi:signature":{"action_network:person_id":"ann-1"}}',
)


def test_erasing_finds_the_person_however_it_is_written(tmp_path):
    write(tmp_path, [f"[{element}]".encode() for element in ABOUT_ANN])
    assert erase(tmp_path, persons=["ann-1"], emails=["ann@example.org"]).elements == len(ABOUT_ANN)
    assert {entry.body for entry in lines(tmp_path)} == {b"[]"}


OF_ANN = (
    f"{ANN},".encode(),
    f"[{ANN}]".encode("utf-16"),
    b"email=ann%40example.org&x=1",
    b"[{ann-1",
    rb'{"email":"ann\u0040example.org"}',
    rb'{"log":"{\"email\":\"ann\\u0040example.org\"}"}',
    rb'{"note":"write to\nann@example.org"}',
    b"note=write+ann%2540example.org",
    b"<a>ann&#64;example.org</a>",
    b'{"href":"https:\\/\\/x.org\\/people\\/ann-1?a#b"}',
)


def test_erasing_empties_quarantined_bodies_that_name_the_person(tmp_path):
    others = [b"joann@example.org", b"jo.ann@example.org", b"ann@example.organic", b"jo-ann-1", b"ann-12"]
    write(tmp_path, [*OF_ANN, *others])
    assert erase(tmp_path, persons=["ann-1"], emails=["ann@example.org"]).quarantined == len(OF_ANN)
    assert quarantined(tmp_path) == Counter([*[b"[]"] * len(OF_ANN), *others])
    assert verify(tmp_path).damages == []


def test_erasing_empties_torn_ends_that_name_the_person(archive):
    path = max(segments(archive / "main")).path
    path.write_bytes(path.read_bytes()[:-1])
    assert erase(archive, persons=["ann-1"]).torn == 1
    assert [aside.read_bytes() for aside in (archive / "main" / TORN).iterdir()] == [b""]


def test_erasing_empties_torn_ends_whose_envelope_holds_the_person_in_base64(tmp_path):
    write(tmp_path, [f"[\n{ANN}\n]".encode()])
    (segment,) = segments(tmp_path / "main")
    line = segment.path.read_bytes()
    segment.path.write_bytes(line[: line.index(b'"body"') - 7])
    assert erase(tmp_path, emails=["ann@example.org"]).torn == 1
    assert [aside.read_bytes() for aside in (tmp_path / "main" / TORN).iterdir()] == [b""]


MENTIONS = {
    "a comment": {"comments": "Ask Ann: Ann@Example.org!"},
    "an escaped comment": {"comments": "see ann%40example.org"},
    "a fullwidth sign": {"comments": "ann＠example.org"},
    "the id in a comment": {"comments": "she is ann-1"},
    "a custom field": {"custom_fields": {"friend": "ann@example.org"}},
    "the name of a custom field": {"custom_fields": {"ann@example.org": "1"}},
}


def test_an_element_about_someone_else_that_names_the_person_is_not_changed_and_is_named(tmp_path):
    others = [signature("bob-2", "bob@example.org", **fields) for fields in MENTIONS.values()]
    write(tmp_path, [b"[]", *(f"[{ANN},{other}]".encode() for other in others)], segment_bytes=100_000)
    done = run("erase", tmp_path, "--person", "ann-1", "--email", "ann@example.org")
    assert done.exit_code == 1
    for number, other in enumerate(others, start=2):
        assert f"000000000001.ndjson.zst:{number}: element 2: names the person" in done.stderr
        assert lines(tmp_path)[number - 1].body == f"[{other}]".encode()
    assert "ann@example.org" not in done.stderr


def test_a_link_to_a_person_serves_as_the_id(archive):
    assert erase(archive, persons=["https://x.org/api/v2/people/ann-1/?a=b"]).elements == 4


def test_what_a_killed_erasure_left_is_removed_by_the_next_although_a_receiver_runs(archive):
    erase(archive, persons=["nobody"])
    worker = Worker(archive, "main", segment_bytes=1)
    left = segments(archive / "main")[0].path.with_name(".000000000001.ndjson.zst.erasing.partial")
    left.write_bytes(b"ann-1")
    erase(archive, persons=["ann-1"])
    worker.close()
    assert not left.exists()


def test_while_a_receiver_runs_its_open_segment_is_named_and_left_alone(archive):
    worker = Worker(archive, "main", segment_bytes=1)
    before = stored(archive)
    done = run("erase", archive, "--person", "ann-1")
    worker.close()
    assert done.exit_code == 1
    assert "a receiver still writes to it" in done.stderr
    assert stored(archive) == before
    assert run("erase", archive, "--person", "ann-1").exit_code == 0


def test_a_segment_that_is_sealed_after_it_was_listed_is_searched_as_well(archive, monkeypatch):
    worker = Worker(archive, "main", segment_bytes=1)

    def listed_before_sealing(folder: Path) -> list[Segment]:
        found = segments(folder)
        for log in (worker.deliveries, worker.quarantine):
            seal_finished(log)
        return found

    monkeypatch.setattr(erasure, "segments", listed_before_sealing)
    done = erase(archive, persons=["ann-1"])
    worker.close()
    assert (done.left, done.elements) == ([], 4)


def test_two_erasures_at_once_bring_nothing_back_and_lose_nothing(tmp_path):
    write(tmp_path, [f"[{ANN},{BOB},{signature('eve-3', 'eve@x.org')}]".encode()] * 40)
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda person: erase(tmp_path, persons=[person]), ["ann-1", "bob-2"]))
    assert [segment.elements for segment in done] == [40, 40]
    assert {entry.body for entry in lines(tmp_path)} == {f"[{signature('eve-3', 'eve@x.org')}]".encode()}
    assert verify(tmp_path).damages == []


def test_a_damaged_line_is_named_because_it_could_not_be_searched(archive):
    path = segments(archive / "main")[0].path
    path.write_bytes(path.read_bytes().replace(b"checksum", b"checksun") + path.read_bytes())
    done = run("erase", archive, "--email", "ann@example.org")
    assert done.exit_code == 1
    assert "000000000001.ndjson.zst:1: cannot be read, so it was not searched" in done.stderr


def test_a_person_who_is_not_found_is_no_success_that_looks_like_any_other(archive):
    done = run("erase", archive, "--person", "ann-2")
    assert (done.exit_code, done.stdout.split(";")[0]) == (0, "searched 5 deliveries")
    assert "nothing was found" in done.stderr
    done = run("erase", archive, "--person", "ann-1")
    assert "searched 5 deliveries; erased 4 elements in 4 of them" in done.stdout
    assert "nothing was found" not in done.stderr


def test_an_empty_id_or_address_is_refused_before_it_matches_everything(archive):
    for person in ("", " ", "https://x.org/api/v2/people/"):
        before = stored(archive)
        with pytest.raises(InvalidArgument, match="empty"):
            erase(archive, persons=[person])
        with pytest.raises(InvalidArgument, match="empty"):
            erase(archive, emails=[" "])
        assert stored(archive) == before


def test_erase_asks_whom(archive):
    assert run("erase", archive).exit_code == 2


def test_elements_are_found_with_their_own_bytes_whatever_stands_between_them():
    texts = ['{"a":[1,{"b":"],["}]}', "{}", '{"é":"\\ud800"}']
    for between in itertools.product(["", " ", "\t\n"], repeat=2):
        body = "[" + between[0] + f"{between[1]},{between[0]}".join(texts) + between[1] + "]"
        assert [body[start:end] for _, start, end in elements(body, json.JSONDecoder())] == texts
