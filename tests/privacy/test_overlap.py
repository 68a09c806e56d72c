"""People in two archives: counts only, of which small ones stay hidden, and nothing that leads to a person."""

from __future__ import annotations

import json
import pickle

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.errors import InvalidArgument, InvalidColumn, MissingColumn
from tests.commands import run

KEY, OTHER = b"a" * 32, b"b" * 32
COUNTS = st.integers(0, 9)


def emails(*numbers: int) -> pd.DataFrame:
    return pd.DataFrame({"email": [f"p{number}@a.example" for number in numbers]}, dtype="str")


def person(number: int, spelled: str = "p{}@a.example") -> dict:
    return {
        "identifiers": [f"platform:{number}"],
        "given_name": "Ann",
        "email_addresses": [{"address": spelled.format(number), "primary": True}],
    }


def page(*people: dict) -> dict:
    return {"_embedded": {"osdi:people": [*people]}}


@given(COUNTS, COUNTS, COUNTS, st.integers(1, 6))
def test_shown_counts_are_true_and_leave_small_ones_open(only_a, only_b, both, below):
    a, b = range(only_a + both), range(only_a, only_a + both + only_b)
    shown = of.overlap(emails(*a, *a), emails(*b), min_count=below)["people"]
    true = {"a": len(a), "b": len(b), "both": both}
    assert shown.dropna().to_dict() == {name: true[name] for name in shown.dropna().index}
    assert shown.dropna().eq(0).equals(shown.dropna().lt(below))
    for name, only in {"a": only_a, "b": only_b}.items():
        assert shown[[name, "both"]].isna().any() or not 0 < only < below
    # Each hidden count can be several: of those who are in both from one to all of the smaller archive.
    if pd.isna(shown["both"]):
        assert min(len(some) for some in (a, b)) > 1 or shown[["a", "b"]].isna().any()
    assert of.overlap(emails(*a), emails(*b), min_count=None)["people"].to_dict() == true


def test_people_of_archives_are_compared_by_address_or_id(tmp_path):
    north = of.open(page(*map(person, range(9))))
    south = of.open(page(*(person(number, "P{}@A.example ") for number in range(3, 12))))
    for by in ("email", "person_id"):
        assert of.overlap(north, south, by=by, min_count=3)["people"].to_dict() == {"a": 9, "b": 9, "both": 6}
    alone = of.overlap(north, of.open(page()))
    assert alone["people"].to_dict() == {"a": 9, "b": 0, "both": 0}
    for name, some in (("north", north), ("south", south)):
        (tmp_path / f"{name}.json").write_text(json.dumps(some.source))
    words = ("overlap", "north.json", "south.json", "--by", "email")
    printed = run(*words, "--min-count", 7, cwd=tmp_path).stdout.split()
    assert printed == ["a", "9", "north.json", "b", "9", "south.json", "both", "hidden"]
    shown = json.loads(run(*words, "--min-count", 3, "--json", cwd=tmp_path).stdout)
    assert shown == {"people": {"a": 9, "b": 9, "both": 6}, "notes": []}
    signed = [[{"osdi:signature": {"person": person(4), "idempotency_key": "1"}}]]
    acts = of.open(signed).signatures()
    assert of.overlap(north, acts, min_count=None)["people"].to_dict() == {"a": 9, "b": 1, "both": 1}


def test_groups_can_exchange_pseudonyms_by_one_key():
    hidden = [of.pseudonymize(emails(*some), KEY, table="people") for some in (range(9), range(2, 9))]
    assert of.overlap(*hidden, min_count=1)["people"].to_dict() == {"a": 9, "b": 7, "both": 7}
    with pytest.raises(InvalidArgument, match="only b has pseudonyms; pseudonymize both with the same key"):
        of.overlap(emails(*range(9)), hidden[1])


def test_the_result_leads_to_nobody():
    made = of.overlap(emails(*range(9)), emails(*range(9), 50))
    written = pickle.dumps(made) + repr((made, made.attrs)).encode()
    assert b"example" not in written
    for number in range(9):
        hidden = of.pseudonymize(emails(number), OTHER, table="people")["email"][0]
        assert hidden.encode() not in written


def test_notes_say_who_is_not_compared_without_small_numbers():
    a = pd.concat([emails(*range(9)), pd.DataFrame({"email": [None, " "]})])
    b = emails(*range(9)).assign(gone_since=[pd.Timestamp("2026-05-01", tz="UTC")] * 6 + [pd.NaT] * 3)
    made = of.overlap(a, b)
    assert made.attrs["note"] == "not counted of a: few rows without email\nnot counted of b: 6 rows gone"
    assert of.overlap(a, b, min_count=None)["people"].to_dict() == {"a": 9, "b": 3, "both": 3}


def test_what_is_neither_is_refused():
    for error, message, arguments in (
        (InvalidArgument, "by is 'email' or 'person_id', not 'mail'", {"by": "mail"}),
        (InvalidArgument, "smallest count to show, not 0", {"min_count": 0}),
        (InvalidColumn, "overlap takes a DataFrame", {"b": "south.json"}),
        (MissingColumn, "overlap: b needs email", {"b": pd.DataFrame({"phone": ["1"]})}),
    ):
        with pytest.raises(error, match=message):
            of.overlap(**{"a": emails(1), "b": emails(1), **arguments})
