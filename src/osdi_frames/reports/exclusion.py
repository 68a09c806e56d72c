"""The rows that reports do not count: those with a reason in the column `excluded`, unless `include` has it.

A caller can also exclude acts by patterns of their source and referrer, which then are the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from osdi_frames.errors import InvalidArgument
from osdi_frames.messages import counted, nearest, quoted
from osdi_frames.reports.columns import coded
from osdi_frames.tables import element_types
from osdi_frames.tables.resource import GONE_SINCE

COLUMN: Final = "excluded"
#: The columns with codes that patterns are compared with.
CODES: Final = ("source", "referrer")
#: The start of the reason of acts that a pattern excludes.
_LIKE: Final = "a source like "
#: All reasons, in the order of their declaration.
REASONS: Final = tuple(
    dict.fromkeys(rule.reason for element in element_types() for rule in element.exclusions)
)
#: The reasons that each element type declares; attendances can also have one of their event.
_OWN: Final = {element.name: {rule.reason for rule in element.exclusions} for element in element_types()}
#: The noun for a row of the table of acts of all kinds, which can also have a reason of its event.
ACT: Final = "act"
_OWN[ACT] = set().union(*(reasons for name, reasons in _OWN.items() if name != "event"))


def included(include: Iterable[str]) -> tuple[str, ...]:
    """Return the reasons of `include` as a tuple, after a check that each exists.

    >>> included("cancelled")
    ('cancelled',)

    Raises
    ------
    InvalidArgument
        For a reason that does not exist.
    """
    reasons = (include,) if isinstance(include, str) else tuple(include)
    for reason in reasons:
        if reason not in REASONS:
            hint = nearest(reason, REASONS)
            raise InvalidArgument(f"include takes {', '.join(REASONS)}, not {quoted(reason)}; {hint}")
    return reasons


def checked_patterns(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return patterns of sources as a tuple; raise InvalidArgument for what is not a text, or an empty one.

    >>> checked_patterns("partner-*")
    ('partner-*',)
    """
    checked = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    for pattern in checked:
        if not isinstance(pattern, str) or not pattern.strip():
            raise InvalidArgument(
                f"exclude_sources is a list of patterns, as ['partner-*'], not of {quoted(pattern)}"
            )
    return checked


def reason_of(pattern: str) -> str:
    """Return the reason of acts that a pattern excludes."""
    return f"{_LIKE}{quoted(pattern)}"


def exclude_sources(rows: pa.Table, patterns: Sequence[str]) -> pa.Table:
    """Return rows in which those are excluded whose source or referrer is like a pattern, in any case.

    Tables without these columns stay as they are.

    >>> acts = pa.table({"source": ["Ally-7", "w", None], "referrer": [None, "x", "me"], "excluded": 3 * ["test"]})
    >>> exclude_sources(acts, ["ally-*", "me"])["excluded"].to_pylist()
    ["a source like 'ally-*'", 'test', "a source like 'me'"]
    """
    if not {*CODES, COLUMN} <= {*rows.column_names}:
        return rows
    reasons = rows[COLUMN]
    for pattern in reversed(patterns):  # so that the first one is the reason
        for name in CODES:
            codes = rows[name].unique().drop_null().to_pylist()
            same = [code for code in codes if fnmatchcase(code.casefold(), pattern.casefold())]
            is_same = pc.is_in(rows[name], pa.array(same, rows.schema.field(name).type))
            reasons = pc.if_else(is_same, reason_of(pattern), reasons)
    return rows.set_column(rows.column_names.index(COLUMN), COLUMN, reasons)


def left_out(frame: pd.DataFrame, include: Collection[str]) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Return which rows do not count, and their number by reason."""
    if COLUMN not in frame.columns:
        return np.zeros(len(frame), dtype=bool), {}
    codes, reasons = coded(frame[COLUMN])
    are_left_out = np.append(~reasons.isin([*include]), False)[codes]
    numbers = np.bincount(codes[are_left_out], minlength=len(reasons)).tolist()
    counts = {reason: number for reason, number in zip(reasons, numbers, strict=True) if number}
    order = [*(reason for reason in REASONS if reason in counts), *sorted(counts.keys() - {*REASONS})]
    return are_left_out, {reason: counts[reason] for reason in order}


def split(frame: pd.DataFrame, include: Collection[str]) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the rows that count, and the number of the others by reason."""
    are_left_out, counts = left_out(frame, include)
    return frame[~are_left_out] if counts else frame, counts


def counted_rows(frame: pd.DataFrame, include: Collection[str], noun: str) -> tuple[pd.DataFrame, str]:
    """Return the rows that count, and a note on the others."""
    rows, counts = split(frame, include)
    return rows, note_on(frame, counts, noun)


def note_on(frame: pd.DataFrame, counts: Mapping[str, int], noun: str) -> str:
    """Return the note on the rows of a frame that are not counted."""
    if COLUMN not in frame.columns:
        return COUNTED_WHOLE
    return note((reason, number, noun) for reason, number in counts.items())


def note(counts: Iterable[tuple[str, int, str]], *, numbers: bool = True) -> str:
    """Return a note on rows that are not counted, from the reason, number and noun of each kind of them.

    If small counts are hidden, the note must not have the `numbers`.

    >>> note([("cancelled", 2, "event"), ("test", 1, "signature")])
    'not counted: 2 cancelled events, 1 test signature; include= (--include cancelled,test) counts them'
    >>> note([("cancelled", 9, "attendance")]).partition(";")[0]
    'not counted: 9 attendances of cancelled events'
    >>> note([("test", 1, "signature")], numbers=False).partition(";")[0]
    'not counted: test signatures'
    """
    if not (counts := list(counts)):
        return ""
    kinds = ", ".join(_kind(*each, numbers=numbers) for each in counts)
    names = ",".join(dict.fromkeys(reason for reason, _, _ in counts if reason in REASONS))
    return f"not counted: {kinds}{f'; include= (--include {names}) counts them' if names else ''}"


def proofs(frames: Iterable[pd.DataFrame]) -> str:
    """Return a note on the pulls that proved the uncounted rows of reason `gone` to be gone, with their times.

    >>> ends = pd.to_datetime(["2026-05-01T12:00:20Z", "2026-05-08T12:00:00Z", None])
    >>> proofs([pd.DataFrame({"gone_since": ends, "excluded": ["gone", "gone", None]})])
    'gone by 2 pulls, that ended 2026-05-01 12:00 to 2026-05-08 12:00 UTC'
    """
    known = [frame for frame in frames if {COLUMN, GONE_SINCE.name} <= {*frame.columns}]
    ends = {end for frame in known for end in frame.loc[frame[COLUMN] == "gone", GONE_SINCE.name].dropna()}
    if not ends:
        return ""
    first, last = (f"{end:%Y-%m-%d %H:%M}" for end in (min(ends), max(ends)))
    if len(ends) == 1:
        return f"gone by the pull that ended {last} UTC"
    return f"gone by {len(ends):,} pulls, that ended {first} to {last} UTC"


def _kind(reason: str, number: int, noun: str, *, numbers: bool) -> str:
    """Return a number of rows with their reason, or with that of their events."""
    if reason.startswith(_LIKE):
        return f"{counted(number, noun) if numbers else f'{noun}s'} with {reason}"
    is_own = reason not in REASONS or reason in _OWN.get(noun, (reason,))
    rows = f"{reason} {noun}" if is_own else noun
    rows = counted(number, rows) if numbers else f"{rows}s"
    return rows if is_own else f"{rows} of {reason} events"


#: The note on a frame without the column `excluded`.
COUNTED_WHOLE: Final = f"counted whole: the frame has no column {COLUMN}"
