"""Which of several rows is kept, by each way to deduplicate; any order of any documents is drawn in `tests/world`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import osdi_frames as of
from tests.layouts import lines
from tests.stored import both_ways  # noqa: F401 (an autouse fixture)


def signature(own: str | None = "s1", *, modified: str | None = None, **keys: Any) -> dict[str, Any]:
    value = keys if own is None else {"identifiers": [f"platform:{own}"]} | keys
    return value if modified is None else value | {"modified_date": modified}


def delivery(*values: dict[str, Any], key: str | None = None, at: str | None = None) -> Any:
    """Return a delivery of signatures under one key of a message; in an envelope if it says when it came."""
    siblings = {} if key is None else {"idempotency_key": key}
    body = [{"osdi:signature": value} | siblings for value in values]
    return body if at is None else {"received_at": at, "body": body}


def rows_of(documents: Sequence[Any], *, dedupe: Any = True) -> list[str]:
    """Return the comments of the signatures that are kept: what tells them apart here."""
    return of.read_signatures(list(documents), columns=["comments"], dedupe=dedupe)["comments"].tolist()


MONDAY, TUESDAY = "2026-05-04T00:00:00Z", "2026-05-05T00:00:00Z"


# --- one signature, one row (design rule 3) ------------------------------------------------------------


def test_retries_of_a_message_are_one_row() -> None:
    once = delivery(signature(comments="a", modified=MONDAY), key="k1")
    for dedupe in (True, "message"):
        assert rows_of([once, once, once], dedupe=dedupe) == ["a"]


def test_the_elements_of_a_batch_share_a_key_and_are_all_kept() -> None:
    batch = delivery(signature("s1", comments="a"), signature("s2", comments="b"), key="k1")
    for dedupe in (True, "message"):
        assert rows_of([batch, batch], dedupe=dedupe) == ["a", "b"]


def test_the_elements_of_a_batch_without_any_id_are_distinguished_by_their_position() -> None:
    batch = delivery(signature(None, comments="a"), signature(None, comments="b"), key="k1")
    for dedupe in (True, "message"):
        assert rows_of([batch, batch], dedupe=dedupe) == ["a", "b"]


def test_the_same_signature_of_two_webhooks_is_one_row_but_two_messages() -> None:
    first = delivery(signature(comments="a", modified=MONDAY), key="k1", at=MONDAY)
    second = delivery(signature(comments="a", modified=MONDAY), key="k2", at=TUESDAY)
    assert rows_of([first, second]) == ["a"]
    assert rows_of([first, second], dedupe="message") == ["a", "a"]


def test_newest_is_by_the_moment_and_not_by_the_text() -> None:
    earlier = delivery(signature(comments="earlier", modified="2026-05-04T23:00:00+10:00"), key="k1")
    later = delivery(signature(comments="later", modified="2026-05-04T14:00:00Z"), key="k2")
    assert rows_of([earlier, later]) == rows_of([later, earlier]) == ["later"]


def test_one_that_names_no_time_gives_way_to_one_that_does() -> None:
    without, dated = (
        delivery(signature(comments="a"), key="k1"),
        delivery(signature(comments="b", modified=MONDAY)),
    )
    assert rows_of([without, dated]) == rows_of([dated, without]) == ["b"]


def test_without_a_key_the_signature_and_its_time_decide() -> None:
    monday = delivery(signature(comments="a", modified=MONDAY))
    tuesday = delivery(signature(comments="b", modified=TUESDAY))
    documents = [monday, tuesday, monday, tuesday]
    assert rows_of(documents) == ["b"]
    assert sorted(rows_of(documents, dedupe="message")) == ["a", "b"]


def test_what_has_no_identity_at_all_is_kept() -> None:
    documents = [delivery(signature(None, comments="a")), delivery(signature(None, comments="a"))]
    for dedupe in (True, "message", False):
        assert rows_of(documents, dedupe=dedupe) == ["a", "a"]


def test_a_signature_is_the_same_by_its_link_where_it_has_no_identifier() -> None:
    link = {"_links": {"self": {"href": "https://example.org/api/v2/petitions/q1/signatures/s1"}}}
    by_link = delivery(signature(None, comments="a", modified=MONDAY, **link), key="k1")
    by_identifier = delivery(signature("s1", comments="b", modified=TUESDAY), key="k2")
    assert rows_of([by_link, by_identifier]) == ["b"]


def test_send_test_under_its_one_key_collapses_and_takes_no_other_signature_along() -> None:
    test = delivery(signature("test", comments="test", **{"platform:referrer_data": {}}), key="k0")
    real = delivery(signature("s1", comments="real"), key="k1")
    for dedupe in (True, "message"):
        assert sorted(rows_of([test, real, test, test], dedupe=dedupe)) == ["real", "test"]


def test_dedupe_of_nothing_keeps_every_delivery_in_the_order_of_reading() -> None:
    documents = [delivery(signature(comments=name), key="k1") for name in "abca"]
    assert rows_of(documents, dedupe=False) == list("abca")


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
