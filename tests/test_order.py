"""Which of several rows is kept, by each way to deduplicate; any order of any documents is drawn in `tests/world`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import osdi_frames as of
from tests.layouts import lines


def signature(own: str | None = "s1", *, modified: str | None = None, **keys: Any) -> dict[str, Any]:
    value = keys if own is None else {"identifiers": [f"platform:{own}"]} | keys
    return value if modified is None else value | {"modified_date": modified}


def delivery(*values: dict[str, Any], key: str | None = None) -> Any:
    """Return a delivery of signatures under one key of a message."""
    siblings = {} if key is None else {"idempotency_key": key}
    return [{"osdi:signature": value} | siblings for value in values]


def rows_of(documents: Sequence[Any], *, dedupe: Any = True) -> list[str]:
    """Return the comments of the signatures that are kept: what tells them apart here."""
    return of.read_signatures(list(documents), columns=["comments"], dedupe=dedupe)["comments"].tolist()


MONDAY, TUESDAY = "2026-05-04T00:00:00Z", "2026-05-05T00:00:00Z"


# --- one signature, one row (design rule 3) ------------------------------------------------------------

ONCE = delivery(signature(comments="a", modified=MONDAY), key="k1")
BATCH = delivery(signature("s1", comments="a"), signature("s2", comments="b"), key="k1")
WITHOUT_IDS = delivery(signature(None, comments="a"), signature(None, comments="b"), key="k1")
LINK = {"_links": {"self": {"href": "https://example.org/api/v2/petitions/q1/signatures/s1"}}}
#: Deliveries, and the comments of what is kept of them: one row each signature, and one each message.
KEPT: dict[str, tuple[list[Any], str, str]] = {
    "retries": ([ONCE, ONCE, ONCE], "a", "a"),
    "a batch twice": ([BATCH, BATCH], "ab", "ab"),
    "a batch without ids twice": ([WITHOUT_IDS, WITHOUT_IDS], "ab", "ab"),
    "two webhooks": ([ONCE, delivery(signature(comments="a", modified=MONDAY), key="k2")], "a", "aa"),
    "the later moment, not the later text": (
        [
            delivery(signature(comments="b", modified="2026-05-04T14:00:00Z"), key="k2"),
            delivery(signature(comments="a", modified="2026-05-04T23:00:00+10:00"), key="k1"),
        ],
        "b",
        "ab",
    ),
    "a time before none": ([delivery(signature(comments="b"), key="k2"), ONCE], "a", "ab"),
    "two versions without a key": (
        [
            delivery(signature(comments="a", modified=MONDAY)),
            delivery(signature(comments="b", modified=TUESDAY)),
        ]
        * 2,
        "b",
        "ab",
    ),
    "no identity at all": ([delivery(signature(None, comments="a"))] * 2, "aa", "aa"),
    "a link for an identifier": (
        [ONCE, delivery(signature(None, comments="b", modified=TUESDAY, **LINK), key="k2")],
        "b",
        "ab",
    ),
    "a test between": ([delivery(signature("test", comments="t"), key="k0"), ONCE] * 2, "at", "at"),
}


@pytest.mark.parametrize(("documents", "signatures", "messages"), KEPT.values(), ids=KEPT)
def test_a_signature_and_a_message_are_one_row_each(
    documents: list[Any], signatures: str, messages: str
) -> None:
    assert sorted(rows_of(documents)) == [*signatures]
    assert sorted(rows_of(documents, dedupe="message")) == [*messages]
    assert len(rows_of(documents, dedupe=False)) == sum(map(len, documents))


def test_events_are_no_messages() -> None:
    with pytest.raises(ValueError, match="dedupe='message' is about webhook messages"):
        of.read_events([], dedupe="message")


# --- lists of paths --------------------------------------------------------------------------------------


def write_files(folder: Path, files: Sequence[list[Any]]) -> list[Path]:
    folder.mkdir()
    paths = [folder / f"{number:02}.ndjson" for number in range(len(files))]
    for path, documents in zip(paths, files, strict=True):
        path.write_bytes(lines(documents))
    return paths


def test_the_order_of_a_list_of_paths_does_not_matter_even_among_ties(tmp_path: Path) -> None:
    files = [[delivery(signature(comments=name, modified=MONDAY), key=name)] for name in "abc"]
    paths = write_files(tmp_path / "in", files)
    for order in itertools.permutations(paths):
        frame = of.read_signatures([*order, order[0]])
        assert frame["comments"].tolist() == ["c"]  # the last by name


def test_a_path_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (path,) = write_files(tmp_path / "in", [[delivery(signature(None))]])
    assert (
        len(of.read_signatures([path, path, tmp_path, str(tmp_path / "*" / "*.ndjson")], dedupe=False)) == 1
    )
