"""An axis of time: where each time stands, and dates that can be read whatever the period."""

from __future__ import annotations

from datetime import UTC

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num, num2date
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from osdi_frames.plots import axes
from osdi_frames.plots.labels import cleaned
from osdi_frames.reports.titles import words

_FEW = 6  # so many times are each named below the axis, if there is room
_RANGE = np.array(["0001-01-01", "9999-12-31"], dtype="datetime64[s]")


def days(times: pd.DatetimeIndex) -> NDArray[np.float64]:
    """Return times as matplotlib's days, by the wall clock of their zone: reports have UTC, or none."""
    at = date2num(times.tz_localize(None).to_numpy())  # type: ignore[no-untyped-call] # matplotlib.dates
    return np.asarray(at, dtype="float64")


def mark(ax: Axes, times: pd.DatetimeIndex, *, left: float, right: float) -> None:
    """Make the x axis one of the given times, from `left` to `right` in days: beyond them stands what has none."""
    at = days(times)
    earliest, latest = date2num(_RANGE)  # type: ignore[no-untyped-call] # matplotlib.dates
    left, right = max(left, earliest), min(right, latest)
    ax.set_xlim(left, right)
    names = _names(times) if len(times) <= _FEW else []
    nearest = np.diff(at).min() if len(at) > 1 else right - left
    if names and nearest / (right - left) * axes.letters(ax) > max(map(len, names)):
        ax.set_xticks(at, names)
        return
    # These are wall clocks already; the timezone of the rcParams would shift them.
    locator = AutoDateLocator(tz=UTC, minticks=3, maxticks=8)  # type: ignore[no-untyped-call] # matplotlib.dates
    between = locator.tick_values(*num2date([left, right], tz=UTC))  # type: ignore[no-untyped-call] # matplotlib.dates
    first = left if len(at) == 1 else at.min()
    ax.xaxis.set_major_locator(FixedLocator([day for day in between if first <= day <= at.max()]))
    formatter = ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call] # matplotlib.dates
    ax.xaxis.set_major_formatter(formatter)


def name(times: pd.DatetimeIndex) -> str:
    """Return the name of the axis, which says what its times are."""
    return cleaned(f"{words(times.name or 'time')}{'' if times.tz is None else f' ({times.tz})'}")


def parsed(labels: pd.Index) -> pd.DatetimeIndex:
    """Return the times of labels; none for those that stand apart: before and after the others, and undated."""
    if isinstance(labels, pd.DatetimeIndex):
        return labels
    times = pd.to_datetime(labels.to_series(), format="ISO8601", errors="coerce")
    return pd.DatetimeIndex(times, name=labels.name)


def _names(times: pd.DatetimeIndex) -> list[str]:
    if not (times == times.normalize()).all():
        return [f"{time:%Y-%m-%d\n%H:%M}" for time in times]
    if (times.day == 1).all():
        return [f"{time:%Y-%m}" for time in times]
    return [f"{time:%Y-%m-%d}" for time in times]
