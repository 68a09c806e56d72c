"""The columns that a report counts, each brought to its one dtype, whoever made the frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

from osdi_frames.errors import InvalidColumn, MissingColumn, nearest


@dataclass(frozen=True, slots=True)
class Period:
    """The periods of a column of times, each named by its start as text: ``2026-05``.

    Rows far outside of most others are ``before 2024-01`` and ``after 2026-12``, those without a time
    ``(no date)``.
    """

    column: str
    freq: Literal["D", "W", "M", "Q", "Y"] = "M"

    @property
    def name(self) -> str:
        """The name of the index."""
        return PERIOD_NAMES[self.freq]


By: TypeAlias = str | pd.Grouper | Period | Sequence[str | pd.Grouper | Period]
"""What to group by: a column, a pandas Grouper with a key, a Period, or a list of them."""

Convert: TypeAlias = Callable[[pd.Series], pd.Series]

PERIOD_NAMES: Final = {"D": "day", "W": "week", "M": "month", "Q": "quarter", "Y": "year"}
#: The names of periods, as reports write them.
_PERIOD: Final = re.compile(r"(?:(?:before |after )?\d{4}(?:-\d\d){0,2})|\(no date\)")

UTC: Final = "datetime64[us, UTC]"
LOCAL: Final = "datetime64[us]"

_LARGEST: Final = 2**63 - 1
_HALF: Final = 2.0**62  # below it, a sum of floats is exact enough


def time_levels(index: pd.Index) -> list[int]:
    """Return which keys of a report are times, or the names of periods."""
    levels = [index.get_level_values(number) for number in range(index.nlevels)]
    return [
        number
        for number, level in enumerate(levels)
        if is_datetime64_any_dtype(level.dtype)
        or (level.name in PERIOD_NAMES.values() and all(map(_PERIOD.fullmatch, map(str, level))))
    ]


def take(
    frame: pd.DataFrame, needs: Mapping[str, Convert], *, by: By | None, report: str, reader: str = ""
) -> pd.DataFrame:
    """Take the columns that are counted, rows numbered from 0; the keys of `by` must be there, too.

    An error names the `reader` of such a frame; where keys alone are missing, columns with similar names.
    """
    keys = [name for name, _ in named_keys(by, report=report)]
    missing = [name for name in dict.fromkeys([*keys, *needs]) if name not in frame.columns]
    if missing:
        mistyped = len(frame.columns) and keys and missing[-1] in keys  # the keys are the first
        hint = nearest(missing[0], map(str, frame.columns)) if mistyped else reader
        what = f"{report} needs {', '.join(missing)}, which the frame does not have"
        raise MissingColumn("; ".join(filter(None, [what, hint])))
    return pd.DataFrame({name: converted(frame[name], to, report=report) for name, to in needs.items()})


def converted(column: pd.Series, convert: Convert, *, report: str) -> pd.Series:
    """Bring a column to its dtype, rows numbered from 0."""
    try:
        return convert(column.reset_index(drop=True))
    except (TypeError, ValueError, OverflowError) as error:
        reason = str(error).partition("\n")[0].removesuffix(" You might want to try:")
        raise InvalidColumn(f"{report} cannot use the column {column.name}: {reason}") from error


def named_keys(by: By | None, *, report: str) -> list[tuple[str, str | pd.Grouper | Period]]:
    """List the keys of `by`, each with the name of its column."""
    if by is None:
        return []
    keys = by if isinstance(by, Sequence) and not isinstance(by, str) else [by]
    names = [key.column if isinstance(key, Period) else getattr(key, "key", key) for key in keys]
    if not keys or not all(isinstance(name, str) for name in names):
        expected = "by is a column, a pandas Grouper with a key, a Period, or a list of them"
        raise InvalidColumn(f"{report}: {expected}")
    return [(str(name), key) for name, key in zip(names, keys, strict=True)]


def coded(column: pd.Series) -> tuple[NDArray[Any], pd.Index]:
    """Return the numbers of a column's texts, -1 where one is missing, and the texts."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories.astype("str")
    return pd.factorize(column.astype("str"))


def identity(column: pd.Series) -> pd.Series:
    """Convert the values of an id to numbers; blank is missing."""
    codes, texts = coded(column)
    blank = np.append(texts.str.strip() == "", True)
    return pd.Series(codes).mask(blank[codes])


def whole(column: pd.Series) -> pd.Series:
    """Take whole numbers that may be missing; no sum of them exceeds 64 bits, where pandas would wrap."""
    with np.errstate(invalid="ignore"):  # a float beyond 64 bits is an error, and not also a warning
        counts: pd.Series = column.astype("Int64")
    if counts.astype("float64").abs().sum() > _HALF and sum(map(abs, counts.dropna().tolist())) > _LARGEST:
        raise OverflowError("the sum of its values does not fit 64 bits")
    return counts


def utc(column: pd.Series) -> pd.Series:
    """Bring times to UTC; those without a zone are taken for UTC."""
    return _parsed(column, utc=True).astype(UTC)


def local(column: pd.Series) -> pd.Series:
    """Take the wall clock: a zone is dropped, the hour never shifted (interface 2.1)."""
    times: pd.Series = _parsed(column).dt.tz_localize(None)
    return times.astype(LOCAL)


def time(column: pd.Series) -> pd.Series:
    """Bring times with a zone to UTC; those without one stay wall clock."""
    times = column if is_datetime64_any_dtype(column.dtype) else _parsed(column)
    return times.astype(LOCAL) if times.dt.tz is None else times.astype(UTC)


def _parsed(column: pd.Series, *, utc: bool = False) -> pd.Series:
    if is_numeric_dtype(column.dtype) and column.notna().any():
        raise TypeError("numbers are no times")  # pandas would take them for nanoseconds
    return pd.to_datetime(column, utc=utc, format="ISO8601")
