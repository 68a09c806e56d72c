"""Documents are separated wherever they lie, and each has its file and line."""

from __future__ import annotations

import gzip
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from osdi_frames.errors import BadDocument
from osdi_frames.problems import Policy
from osdi_frames.sources.source import read
from tests.layouts import compact, lines

from .reading import agreed, documents, event, numbers, placed

SCALARS = st.one_of(
    st.none(), st.integers(-9, 9), st.sampled_from(["", "}\n{", "]\\\n[", '"', "\u2028", "é{"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab}{", max_size=2), inner, max_size=3)
    ),
)
DOCUMENTS = VALUES.filter(lambda value: isinstance(value, dict | list))
BETWEEN = st.sampled_from(["", "\n", "\r\n", "\n\n", " \n \t\n", "   "])
INDENTS = st.sampled_from([None, 0, 1, 4])


@settings(max_examples=30)
@given(parts=st.lists(st.tuples(DOCUMENTS, INDENTS, BETWEEN), max_size=8), before=BETWEEN)
def test_documents_are_found_however_they_are_printed_and_separated(parts, before, tmp_path_factory):
    text, expected = before, []
    for value, indent, between in parts:
        expected.append((text.count("\n") + 1, value))
        text += json.dumps(value, indent=indent, ensure_ascii=False) + between
    path = tmp_path_factory.mktemp("in") / "a.json"
    path.write_text(text, newline="")
    found = [(line, value) for _, line, value in placed(path)] if text else []
    assert found == expected


def test_small_files_of_every_layout_are_read_in_the_order_of_their_names(tmp_path):
    made = [event(number) for number in range(4)]
    layouts = {
        "a.json": (compact(made[0]), [(1, made[0])]),
        "b.json": (b" \n" + compact(made[0]), [(2, made[0])]),
        "c.json": (b"\xef\xbb\xbf" + compact(made[0]) + b"\r\n", [(1, made[0])]),
        "d.json": (json.dumps(made[0], indent=1).encode() + b"\n\n", [(1, made[0])]),
        "e.json": (b"".join(map(compact, made)), [(1, document) for document in made]),
        "f.json": (lines(made), [(number + 1, document) for number, document in enumerate(made)]),
        "g.ndjson": (lines(made[:1]), [(1, made[0])]),
        "h.ndjson": (lines(made), [(number + 1, document) for number, document in enumerate(made)]),
        "i.json.gz": (gzip.compress(compact(made[0])), [(1, made[0])]),
        "j.json.gz": (compact(made[0]), [(1, made[0])]),  # a decompressed file that kept its name
        "k.json": (compact(["x" * (1 << 16)]), [(1, ["x" * (1 << 16)])]),
    }
    expected = []
    for number in range(25):
        for name, (content, found) in layouts.items():
            path = tmp_path / f"{number:03}-{name}"
            path.write_bytes(content)
            expected += [(str(path), line, document) for line, document in found]
    for number in range(25, 325):  # more than become one array
        path = tmp_path / f"{number:03}.json"
        path.write_bytes(compact(event(number)))
        expected.append((str(path), 1, event(number)))
    assert placed(tmp_path) == expected


def test_what_precedes_a_problem_that_stops_the_reading_is_yielded_first(tmp_path):
    for name, content in {
        "a.json": b"[1]",
        "b.json": b"[2]",
        "c.json.gz": b"\x1f\x8b",
        "d.json": b"[3]",
    }.items():
        (tmp_path / name).write_bytes(content)
    chunks, found = read(tmp_path, Policy("raise").handle), []
    with pytest.raises(BadDocument, match=r"c\.json\.gz"):
        found.extend(chunk.documents.to_pylist() for chunk in chunks)
    assert found == [[b"[1]"], [b"[2]"]]


@pytest.mark.parametrize("order", ["compact first", "pretty first"])
def test_compact_and_pretty_documents_in_one_file_are_all_read(order, tmp_path):
    parts = [compact(event(0)) + b"\n", json.dumps(event(1), indent=2).encode() + b"\n"] * 3
    path = tmp_path / "a.json"
    path.write_bytes(b"".join(parts if order == "compact first" else parts[::-1]))
    rows, problems = agreed(path)
    assert sorted(rows) == ["e0"] * 3 + ["e1"] * 3
    assert not problems


@pytest.mark.parametrize("name", ["a.json", "a.ndjson"])
@pytest.mark.parametrize(
    "blank", [b" ", b"\n", b"\r\n", b" \t\n"], ids=["spaces", "lines", "returns", "mixed"]
)
@pytest.mark.parametrize("mib", [5, pytest.param(40, marks=pytest.mark.long)])  # 4 are read at a time
def test_many_mib_of_blanks_between_documents_lose_none(name, blank, mib, tmp_path):
    size = mib << 20
    gap = b"\n" + blank * (size // len(blank)) + b"\n"
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(compact(event(0)) + gap + compact(event(1)), 1))
    found = placed(path)
    assert numbers([value for _, _, value in found]) == [0, 1]
    assert [line for _, line, _ in found] == [1, gap.count(b"\n") + 1]


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["nothing", "a line break"])
def test_what_follows_a_large_document_without_a_line_break_is_read(end, tmp_path):
    made = [event(0) | {"description": "x" * (5 << 20)}, event(1)]
    path = tmp_path / "a.json"
    path.write_bytes(b"".join(map(compact, made)) + end)
    assert documents(path) == (made, [])


@pytest.mark.parametrize("between", [b"", b"\n", b"\n\n  "], ids=["nothing", "a line break", "blanks"])
def test_a_large_file_of_documents_is_cut_between_them(between, tmp_path):
    noise = random.Random(3)
    made: list[Any] = [
        event(number) | {"description": "x}{]" * noise.randrange(400_000)} for number in range(12)
    ]
    path = tmp_path / "a.json"
    path.write_bytes(
        between.join(json.dumps(document, indent=noise.choice([None, 1])).encode() for document in made)
    )
    assert path.stat().st_size > 8 << 20
    found, problems = documents(path)
    assert found == made
    assert not problems


def test_of_many_broken_lines_a_thousand_are_reported(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"[1 x\n" * 20_000)
    found, problems = documents(path)
    assert not found
    assert problems[-1].detail == "1,000 errors; what follows was not read"
