"""Check and convert the columns of a caller's frame to one dtype each, whatever library made the frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final, Self, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype, is_integer_dtype, is_numeric_dtype

from osdi_frames.clock import are_at_their_place, instants, is_utc, wall_clock, zone_of
from osdi_frames.errors import InvalidColumn, MissingColumn
from osdi_frames.frames import TIMEZONE
from osdi_frames.messages import nearest, shorten
from osdi_frames.tables import TABLES

Convert: TypeAlias = Callable[[pd.Series], pd.Series]
"""A function that converts a column to one dtype, or raises TypeError, ValueError or OverflowError."""

UTC: Final = "datetime64[us, UTC]"
LOCAL: Final = "datetime64[us]"

#: The columns that tables declare as instants: their times are UTC even where a frame has lost the zone.
_INSTANTS: Final = frozenset(
    column.name for table in TABLES.values() for column in table.columns if column.type == "utc"
)
_LARGEST: Final = 2**63 - 1
_SPARSE: Final = 8  # numbers of ids are kept if one in so many is used
_HALF: Final = 2.0**62  # half of it: a sum of floats below this proves that the exact sum fits 64 bits


def convert_columns(
    frame: pd.DataFrame,
    needs: Mapping[str, Convert],
    *,
    keys: Iterable[str] = (),
    report: str,
    reader: str = "",
) -> pd.DataFrame:
    """Return the columns that a report needs, converted, with rows numbered from 0.

    If a column is missing, here or of `keys`, an error names the `reader` of frames that have it, or columns with
    similar names if only keys are missing.
    """
    keys = list(keys)
    missing = [name for name in dict.fromkeys([*keys, *needs]) if name not in frame.columns]
    if missing:
        mistyped = (
            len(frame.columns) and keys and missing[-1] in keys
        )  # keys come first, so only keys are missing
        hint = nearest(missing[0], map(str, frame.columns)) if mistyped else reader
        what = f"{report} needs {', '.join(map(shorten, missing))}, which the frame does not have"
        raise MissingColumn("; ".join(filter(None, [what, hint])))
    return pd.DataFrame({name: converted(frame[name], to, report=report) for name, to in needs.items()})


def converted(column: pd.Series, convert: Convert, *, report: str) -> pd.Series:
    """Return a converted column with rows numbered from 0; raise InvalidColumn if the conversion fails."""
    try:
        return convert(column.reset_index(drop=True))
    except (TypeError, ValueError, OverflowError) as error:
        reason = str(error).partition("\n")[0].removesuffix(" You might want to try:")
        raise InvalidColumn(
            f"{report} cannot use the column {shorten(str(column.name))}: {shorten(reason)}"
        ) from None


@dataclass(frozen=True, slots=True)
class Clock:
    """The wall clocks of a frame's times, by which they are in periods, hours and days."""

    times: pd.Series
    """The wall clocks, without a zone, numbered from 0."""
    zone: tzinfo | None
    """Their zone; None if the times are wall clocks of their places, as `start_date`."""

    @classmethod
    def of(
        cls, frame: pd.DataFrame, column: str, timezone: str | tzinfo | None = None, *, report: str
    ) -> Self:
        """Read the clock of a column.

        Its zone is that of the caller, else that of the column, else that of the frame's handle, else UTC. An act that
        is dated by the wall clock of its place, as coming to an event, keeps it.
        """
        times = converted(frame[column], utc if column in _INSTANTS else time, report=report)
        if times.dt.tz is None:
            return cls(times, None)
        zone = zone_for(frame, timezone, column)
        clock = wall_clock(times, zone)
        if not is_utc(zone):
            clock = clock.mask(are_at_their_place(frame, column), times.dt.tz_localize(None))
        return cls(clock, zone)

    def labelled(
        self, number: NDArray[np.int64], starts: pd.DatetimeIndex
    ) -> tuple[NDArray[np.int64], pd.DatetimeIndex]:
        """Return the starts of periods in their zone, and which of them is that of each row.

        A period that the clock passes over as a whole, as an hour in spring, is none.
        """
        if self.zone is None:
            return number, starts
        labels = instants(starts, self.zone)
        exists = np.append(~(labels[:-1] >= labels[1:]), np.ones(min(len(labels), 1), dtype=bool))
        return np.searchsorted(np.flatnonzero(exists), number), labels[exists]


def zone_for(frame: pd.DataFrame, timezone: str | tzinfo | None, *columns: str) -> tzinfo:
    """Return the zone of periods: the caller's, else that of a column, else that of the frame's handle, else UTC."""
    if timezone is not None:
        return zone_of(timezone)
    for column in (frame[name] for name in columns if name in frame.columns):
        own = column.dt.tz if is_datetime64_any_dtype(column.dtype) else None
        if own is not None and not is_utc(own):
            return zone_of(own)
    return zone_of(frame.attrs.get(TIMEZONE))


def in_zone(report: pd.DataFrame, zone: tzinfo) -> pd.DataFrame:
    """Return a report whose times, the same instants, are shown by the clock of a zone, as its periods are."""
    if is_utc(zone):
        return report
    times = {str(name): report[name].dt.tz_convert(zone) for name in report if report[name].dtype == UTC}
    return report.assign(**times)


def refuse_lacking(frame: pd.DataFrame, columns: Iterable[str], *, name: str, report: str) -> None:
    """Raise MissingColumn if a frame that a report takes in addition lacks some columns."""
    if missing := [column for column in columns if column not in frame.columns]:
        raise MissingColumn(f"{report}: {name} needs {', '.join(missing)}")


def zone_note(frame: pd.DataFrame, needs: Mapping[str, Convert]) -> str:
    """Return a note on the columns with times without a zone, which count as UTC."""
    named = [
        name
        for name, convert in needs.items()
        if convert is utc and name in frame and _lacks_zone(frame[name])
    ]
    return f"without a time zone, so counted as UTC: {', '.join(named)}" if named else ""


def _lacks_zone(column: pd.Series) -> bool:
    if is_datetime64_any_dtype(column.dtype):
        return column.dt.tz is None and bool(column.notna().any())
    times = column.dropna().astype("str")
    return not times.str.contains(r"\d:\d\d.*(?:Z|[+-]\d\d(?::?\d\d)?)$").all()


def coded(column: pd.Series) -> tuple[NDArray[Any], pd.Index]:
    """Return the code of each row's text, -1 for a missing one, and the texts by code."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(), column.cat.categories.astype("str")
    return pd.factorize(column.astype("str"))


def identity(column: pd.Series) -> pd.Series:
    """Convert ids to integer codes; a blank id is missing."""
    if is_integer_dtype(column.dtype):
        return column
    codes, texts = coded(column)
    blank = np.append(texts.str.strip() == "", True)
    return pd.Series(codes).mask(blank[codes])


def numbers_of(ids: pd.Series) -> tuple[NDArray[np.int64], int]:
    """Return for each of some ids (see `identity`) a number from 0, -1 for a missing one; also the end of the numbers.

    Ids that are small numbers already stay as they are.

    >>> numbers_of(pd.Series([2, None, 0], dtype="Int64"))
    (array([ 2, -1,  0]), 3)
    >>> numbers_of(pd.Series([2e9, None, 5]))
    (array([ 0, -1,  1]), 2)
    """
    if is_integer_dtype(ids.dtype) and ids.dropna().between(0, _SPARSE * len(ids)).all():
        numbers = np.asarray(ids.astype("Int64").fillna(-1), dtype=np.int64)
        return numbers, int(numbers.max(initial=-1)) + 1
    numbers, distinct = pd.factorize(ids)
    return numbers, len(distinct)


def are_first(*numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows are the first with the same numbers, from -1.

    >>> are_first(np.array([1, 1, 1]), np.array([-1, 0, -1])).tolist()
    [True, True, False]
    """
    key, size = np.zeros(len(numbers[0]), np.int64), 1
    for some in numbers:  # one number is hashed in a third of the time of several
        more = int(some.max(initial=0)) + 2
        if size * more > _LARGEST:
            key, size = pd.factorize(key)[0], len(key)
        key, size = key * more + some + 1, size * more
    return ~pd.Series(key).duplicated().to_numpy()


def whole(column: pd.Series) -> pd.Series:
    """Convert to whole numbers; raise OverflowError if their sum exceeds 64 bits, which pandas would wrap."""
    with np.errstate(invalid="ignore"):  # a float beyond 64 bits is an error, and not also a warning
        counts: pd.Series = column.astype("Int64")
    if counts.astype("float64").abs().sum() > _HALF and sum(map(abs, counts.dropna().tolist())) > _LARGEST:
        raise OverflowError("the sum of its values does not fit 64 bits")
    return counts


def is_decimal(dtype: object) -> bool:
    """Return whether a column holds exact decimals."""
    return isinstance(dtype, pd.ArrowDtype) and pa.types.is_decimal(dtype.pyarrow_dtype)


def amount(column: pd.Series) -> pd.Series:
    """Convert to exact decimals of two places, of which sums have room."""
    decimals: pd.Series = column.astype(pd.ArrowDtype(pa.decimal128(38, 2)))
    return decimals


def utc(column: pd.Series) -> pd.Series:
    """Convert times to UTC; times without a zone are UTC already."""
    return column if column.dtype == UTC else _parsed(column, utc=True).astype(UTC)


def local(column: pd.Series) -> pd.Series:
    """Convert to wall clocks (interface 2.1): drop the zone without shifting the hour."""
    times: pd.Series = _parsed(column).dt.tz_localize(None)
    return times.astype(LOCAL)


def time(column: pd.Series) -> pd.Series:
    """Convert times with a zone to UTC, and keep times without one as wall clocks."""
    times = column if is_datetime64_any_dtype(column.dtype) else _parsed(column)
    return times.astype(LOCAL) if times.dt.tz is None else times.astype(UTC)


def text(column: pd.Series) -> pd.Series:
    """Convert to texts; of categories each text is converted once, where pandas would convert every row."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype("str")
    codes, texts = coded(column)
    return pd.Series(texts.array.take(codes, allow_fill=True), column.index)


def category(column: pd.Series) -> pd.Series:
    """Convert to categories of texts, which are compared by number."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(dtype.categories.dtype, pd.StringDtype):
        return column
    codes, texts = coded(column)
    if not texts.is_unique:  # categories of several types can have one text
        of_text, texts = pd.factorize(texts)
        codes = np.append(of_text, -1)[codes]
    return pd.Series(pd.Categorical.from_codes(codes, texts), column.index)


def maybe(column: pd.Series) -> pd.Series:
    """Convert to true, false or missing."""
    return column.astype("boolean")


def whether(column: pd.Series) -> pd.Series:
    """Convert to true or false; a missing value is false."""
    return maybe(column).fillna(False).astype("bool")


def _parsed(column: pd.Series, *, utc: bool = False) -> pd.Series:
    if is_numeric_dtype(column.dtype) and column.notna().any():
        raise TypeError("numbers are not times")  # pandas would read them as nanoseconds
    return pd.to_datetime(column, utc=utc, format="ISO8601")
