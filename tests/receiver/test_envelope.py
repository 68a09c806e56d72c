import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osdi_frames.receiver import envelope
from osdi_frames.receiver.envelope import Envelope
from osdi_frames.receiver.segments import Segment
from osdi_frames.receiver.verification import verify

from .sender import delivery

AT = "2026-11-21T10:42:07.123456Z"

elements = st.dictionaries(
    st.text(max_size=8),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8), st.lists, max_leaves=5),
    max_size=4,
)


@given(st.lists(elements, max_size=3), st.sampled_from([None, 1, "\t"]), st.booleans(), st.booleans())
def test_a_delivery_stands_in_its_line_as_json_and_its_bytes_can_be_had_back(made, indent, ascii_only, crlf):
    body = json.dumps(made, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    received = body.replace(b"\n", b"\r\n") if crlf else body
    line = Envelope.of(received, sequence=7, at=AT, reason=None).line()
    assert line.count(b"\n") == 1
    assert line.count(b"\r") == 0
    assert json.loads(line)["body"] == json.loads(received)
    assert envelope.read(line[:-1]).exact == received


@given(st.binary(max_size=200))
def test_any_bytes_can_be_had_back_from_quarantine_and_read_as_an_empty_delivery(received):
    line = Envelope.of(received, sequence=1, at=AT, reason="not JSON").line()
    assert json.loads(line)["body"] == []
    assert envelope.read(line[:-1]).exact == received


def test_compact_json_is_spliced_in_and_not_written_anew():
    received = rb'[{"a":1.0,"a":"\ud800","b" : 1e2}]'
    line = Envelope.of(received, sequence=1, at=AT, reason=None).line()
    assert b'"body":' + received + b"}\n" in line
    assert b"received_at" in line
    assert b'"received":' not in line


def test_every_single_flipped_bit_of_a_line_is_noticed():
    line = Envelope.of(b'[{"a": 1}]', sequence=7, at=AT, reason=None).line()[:-1]
    for position in range(len(line) * 8):
        flipped = bytearray(line)
        flipped[position // 8] ^= 1 << position % 8
        assert envelope.read(bytes(flipped)) is None


def test_a_line_that_another_program_wrote_anew_is_noticed():
    line = Envelope.of(b'[{"a": 1}]', sequence=7, at=AT, reason=None).line()[:-1]
    assert envelope.read(json.dumps(json.loads(line)).encode()) is None


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write one segment of 50 lines."""
    day = tmp_path / "main" / "2026-11-21"
    day.mkdir(parents=True)
    (tmp_path / "main" / ".lock").touch()
    lines = [
        Envelope.of(delivery(n, padding=300), sequence=n, at=AT, reason=None).line() for n in range(1, 51)
    ]
    path = day / "000000000001.ndjson"
    path.write_bytes(b"".join(lines))
    return path


def _flip_and_verify(path: Path, *, times: int) -> None:
    whole = path.read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == 0x0A]
    chance = random.Random(20261121)
    for _ in range(times):
        position = chance.randrange(len(whole) * 8)
        flipped = bytearray(whole)
        flipped[position // 8] ^= 1 << position % 8
        path.write_bytes(flipped)
        number = sum(end < position // 8 for end in ends) + 1  # of the line that was hit
        found = verify(path.parents[2])
        assert found.damages[0].line == number
        read = {
            entry.sequence
            for line in Segment(1, False, path).lines()
            if (entry := envelope.read(line[:-1]) or envelope.read_after_damage(line[:-1]))
        }
        assert read == set(range(1, 51)) - {number}
        assert found.deliveries == 49


def test_each_line_with_a_flipped_bit_is_detected_and_the_others_are_read(log):
    _flip_and_verify(log, times=300)


@pytest.mark.long
def test_each_line_with_one_of_10000_flipped_bits_is_detected_and_the_others_are_read(log):
    _flip_and_verify(log, times=10_000)
