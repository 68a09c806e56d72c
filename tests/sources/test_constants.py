"""NaN and infinity in any spelling: each text is decoded a fixed number of times, however many it holds."""

from __future__ import annotations

import json
import re
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.problems import Finding
from osdi_frames.sources.layout import split

from .reading import documents

READ = ["nan", "NaN", "nAn", "-nan", "-NaN", "inf", "-inf", "INF", "Infinity", "-Infinity", "-infinity"]
REFUSED = ["+inf", "+NaN", "-", "--inf", "nano", "infinit", "+Infinity"]


ENTRY = '{"location": {"<key>": <constant>}}'
EVENT = f'{{"total_accepted": 1, "location": {ENTRY}}}'
SIGNATURE = f'{{"osdi:signature": {{"person": {{"postal_addresses": [null, {ENTRY}]}}}}}}'

#: Sources that hold a constant many times: what is repeated, what stands between, and around all.
LAYOUTS = {
    "page": (EVENT, ", ", '{"_embedded": {"osdi:events": [<all>]}}'),
    "page of lines": (EVENT, ",\n", '{"_embedded": {"osdi:events": [\n<all>\n]}}'),
    "delivery": (SIGNATURE, ", ", "[<all>]"),
    "one resource": (ENTRY, ", ", '{"total_accepted": {}, "a": [<all>]}'),
    "glued": (EVENT, "", "<all>"),
    "lines": (EVENT, "\n", "<all>"),
}


def made_of(layout: str, constant: str, key: str, count: int) -> str:
    repeated, between, around = LAYOUTS[layout]
    text = around.replace("<all>", between.join([repeated] * count))
    return text.replace("<key>", key).replace("<constant>", constant)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list of how many characters each call of Python's decoder went through."""
    sizes: list[int] = []
    decode = json.JSONDecoder.raw_decode

    def counting(decoder: json.JSONDecoder, s: str, idx: int = 0) -> tuple[Any, int]:
        try:
            value, end = decode(decoder, s, idx)
        except json.JSONDecodeError as error:
            sizes.append(error.pos - idx)
            raise
        sizes.append(end - idx)
        return value, end

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counting)
    return sizes


def every_view(path: Path) -> None:
    """Read a source in whole, in part, and list its problems."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        of.open(path, on_error="skip").tables(["events", "signatures", "signature_addresses"])
        of.read_table(path, "events", columns=["location_latitude"], on_error="skip")
    of.check(path)


#: Constants that every layout is tried with by default.
QUICK = ("nAn", "-Infinity", "+inf", "infinit")


@pytest.mark.parametrize(
    "constant",
    [
        pytest.param(constant, marks=() if constant in QUICK else pytest.mark.long)
        for constant in [*READ, *REFUSED]
    ],
)
def test_each_view_decodes_a_text_a_fixed_number_of_times(
    constant: str, tmp_path: Path, decoded: list[int]
) -> None:
    size = 0
    for layout in LAYOUTS:
        for key in ("latitude", "mood"):
            text = made_of(layout, constant, key, 100)
            size += (tmp_path / f"{layout} {key}.json").write_text(text)
    every_view(tmp_path)
    # Of three views each: for what is misplaced, up to the first constant, and as a whole.
    assert sum(decoded) <= 3 * 3 * size


@pytest.mark.long
@pytest.mark.parametrize("key", ["latitude", "mood"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("constant", ["inf", "+inf"])
def test_a_text_of_four_times_the_size_takes_no_more_than_seven_times_as_long(
    constant: str, layout: str, key: str, tmp_path: Path
) -> None:
    def seconds(count: int) -> float:
        path = tmp_path / f"{count}.json"
        path.write_text(made_of(layout, constant, key, count))
        start = time.process_time()
        every_view(path)
        return time.process_time() - start

    seconds(10)
    assert min(seconds(4_000) for _ in range(2)) < 7 * max(seconds(1_000) for _ in range(2))


JSON = st.recursive(
    st.sampled_from([0, None, True, "", '"', "\\", "a\\", '\\"nan', "inf", "-nan", "}\n{", "é", "@@"])
    | st.sampled_from([f"@@{constant}" for constant in READ]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["nan", '"', "a"]), inner, max_size=3)
    ),
    max_leaves=12,
)
WHOLE = JSON.filter(lambda value: isinstance(value, dict | list))


def written(value: Any, indent: int | None) -> str:
    """Write a value, a text that begins with ``@@`` as the constant that follows."""
    return re.sub(r'"@@([^"]+)"', r"\1", json.dumps(value, indent=indent))


def plain(value: Any) -> Any:
    """Return a value as it reads: a constant is its own text."""
    if isinstance(value, str) and len(value) > 2:
        return value.removeprefix("@@")
    if isinstance(value, list):
        return [*map(plain, value)]
    return {key: plain(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def parts(text: str) -> list[tuple[int, Any]]:
    """Return the documents of a text and what is not JSON, without the warnings of the constants."""
    found = split(text.encode())
    return [(line, part) for line, part in found if getattr(part, "severity", "") != "warning"]


@settings(max_examples=200)
@given(made=st.lists(st.tuples(WHOLE, st.sampled_from([None, 0, 1]), st.sampled_from(["", "\n"]))))
def test_every_constant_is_its_own_text(made: list[tuple[Any, int | None, str]]) -> None:
    text = "".join(written(value, indent) + between for value, indent, between in made)
    assert [value for _, value in parts(text)] == [plain(value) for value, _, _ in made]


@pytest.mark.parametrize(
    "broken", ['{"a": nan', '"inf', "[inf} ", '["\\', '{"nan: "inf"}', "[nanx]", "-", '[nan, "\\"inf, nan']
)
def test_constants_after_a_broken_document_are_their_own_texts(broken: str) -> None:
    text = f'["inf", nan]\n{broken}\n{{"a": [nan, "-inf", -Inf, Infinity]}}{{"b": iNF}}'
    found = parts(text)
    assert found[0] == (0, ["inf", "nan"])
    assert isinstance(found[1][1], Finding)
    assert found[-2:] == [(2, {"a": ["nan", "-inf", "-Inf", "Infinity"]}), (2, {"b": "iNF"})]


@pytest.mark.parametrize("constant", READ)
def test_an_error_after_a_constant_keeps_its_place(constant: str) -> None:
    ((_, found),) = parts(f'{{"a": {constant}, "b": }}')
    assert found.value == f"Expecting value at column {14 + len(constant)}"


def test_a_text_of_many_constants_needs_memory_in_proportion_to_its_size() -> None:
    text = b"[%s]" % b", ".join([b"inf", b"-nan", b"NaN", b"1e400"] * 25_000)
    tracemalloc.start()
    *warned, _ = split(text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {found.value: found.count for _, found in warned} == dict.fromkeys(
        ("inf", "-nan", "NaN", "9e999"), 25_000
    )
    assert most < 12 * len(text)


def test_documents_with_constants_are_told_apart_without_line_breaks(tmp_path: Path) -> None:
    filling = "x" * (1 << 20)
    (tmp_path / "a.json").write_text(f'{{"total_accepted": 1, "a": [inf, -nan], "b": "{filling}"}}' * 18)
    found, _ = documents(tmp_path, of.Limits(document_bytes=17 << 20))
    assert len(found) == 18
