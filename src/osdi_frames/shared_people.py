"""How many people two archives have in common, as those of two groups, without showing who they are."""

from __future__ import annotations

import secrets
from typing import Final, Literal

import pandas as pd

from osdi_frames.archive import Archive
from osdi_frames.errors import InvalidArgument
from osdi_frames.frames import as_frame
from osdi_frames.messages import counted, quoted
from osdi_frames.privacy import pseudonymize
from osdi_frames.reports.columns import converted, refuse_lacking, text
from osdi_frames.tables.resource import GONE_SINCE

#: The columns that people can be compared by.
_COLUMNS_OF_PEOPLE: Final = ("email", "person_id")
#: What a pseudonym looks like.
_PSEUDONYM: Final = r"[a-z2-7]{24}"


def overlap(
    a: Archive | pd.DataFrame,
    b: Archive | pd.DataFrame,
    *,
    by: Literal["email", "person_id"] = "email",
    min_count: int | None = 5,
) -> pd.DataFrame:
    """Count the people of two archives, and those who are in both.

    People are compared by pseudonyms with a key that is made for the call and forgotten, so nothing of the result leads
    to an address. Groups that do not want to see each other's people exchange frames that `pseudonymize` made with one
    key.

    Parameters
    ----------
    a, b
        archives as `open` or `Archive.where` returns them, or frames with the column `by`, as `Archive.people`, or of
        signatures and other acts
    by
        ``"email"``: by their primary e-mail address, in any case, as two services know no common id; ``"person_id"``:
        by their id in one service
    min_count
        the smallest count of people that is shown, apart from 0; None shows all. Who is in both is also hidden if only
        few people of an archive are not

    Returns
    -------
    DataFrame
        indexed by ``a``, ``b`` and ``both``

        - people: the number of distinct people, missing if it is hidden

        The attribute `note` says of how many rows nothing is known to compare, and how many people are gone: both are
        not counted.

    Raises
    ------
    MissingColumn, InvalidColumn
        a frame lacks the column `by`; something is neither an archive nor a frame
    InvalidArgument
        `by` or `min_count` is something else; only one of two frames has pseudonyms

    Examples
    --------
    >>> import osdi_frames as of
    >>> north = pd.DataFrame({"email": ["ann@a.example", "bob@a.example", "cat@a.example"]})
    >>> south = pd.DataFrame({"email": ["Ann@a.example", "dan@a.example"]})
    >>> of.overlap(north, south, min_count=None)["people"].to_dict()
    {'a': 3, 'b': 2, 'both': 1}
    """
    if by not in _COLUMNS_OF_PEOPLE:
        raise InvalidArgument(
            f"overlap: by is {' or '.join(map(repr, _COLUMNS_OF_PEOPLE))}, not {quoted(by)}"
        )
    if min_count is not None and (not isinstance(min_count, int) or min_count < 1):
        raise InvalidArgument(f"overlap: min_count is the smallest count to show, not {quoted(min_count)}")
    below = min_count or 1
    known, notes = {}, []
    for name, people in {"a": a, "b": b}.items():
        known[name], note = _known(people, by, name, below)
        notes += note
    are_pseudonyms = {name: ids.str.fullmatch(_PSEUDONYM).all() for name, ids in known.items() if len(ids)}
    if len({*are_pseudonyms.values()}) > 1:
        with_them = next(name for name, are in are_pseudonyms.items() if are)
        raise InvalidArgument(
            f"overlap: only {with_them} has pseudonyms; pseudonymize both with the same key"
        )
    key = secrets.token_bytes(32)
    hashed = {name: {*pseudonymize(ids.to_frame(by), key, table="people")[by]} for name, ids in known.items()}
    result = pd.DataFrame({"people": _shown(*hashed.values(), below=below)})
    result.index.name = "archive"
    result.attrs["note"] = "\n".join(notes)
    return result


def _known(people: Archive | pd.DataFrame, by: str, name: str, below: int) -> tuple[pd.Series, list[str]]:
    """Return what people are compared by, and notes on the rows that are not counted."""
    columns = [by, GONE_SINCE.name]
    if isinstance(people, Archive):
        people = people.table("people", columns)
    frame = as_frame(people, caller="overlap", example="osdi_frames.open(source).people()", columns=columns)
    refuse_lacking(frame, [by], name=name, report="overlap")
    is_gone = frame[GONE_SINCE.name].notna() if GONE_SINCE.name in frame else pd.Series(False, frame.index)
    ids = converted(frame.loc[~is_gone, by], text, report="overlap").str.strip()
    is_known = ids.notna() & (ids != "")
    left_out = {"gone": int(is_gone.sum()), f"without {by}": int((~is_known).sum())}
    notes = [
        f"not counted of {name}: {counted(number, 'row') if number >= below else 'few rows'} {why}"
        for why, number in left_out.items()
        if number
    ]
    return ids[is_known], notes


def _shown(a: set[str], b: set[str], *, below: int) -> pd.Series:
    """Return the counts to show: of people in both only if those who are in one alone are not few."""
    both = len(a & b)
    counts = {"a": len(a), "b": len(b), "both": both}
    few = {name: 0 < count < below for name, count in counts.items()}
    few["both"] |= both > 0 and any(0 < len(some) - both < below for some in (a, b))
    return pd.Series({name: pd.NA if few[name] else count for name, count in counts.items()}, dtype="Int64")
