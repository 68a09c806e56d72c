"""An axis of time: where each time stands, and dates that can be read whatever the period."""

from __future__ import annotations

import re
from datetime import UTC

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.ticker import FixedLocator, FuncFormatter
from numpy.typing import NDArray

from osdi_frames.plots import axes
from osdi_frames.plots.labels import cleaned
from osdi_frames.reports.columns import PERIOD_NAMES
from osdi_frames.reports.titles import words

# The names of periods, as reports write them.
_PERIOD = re.compile(r"(?:(?:before |after )?\d{4}(?:-\d\d){0,2})|\(no date\)")
_FEW = 6  # so many times are each named below the axis, if there is room
_RANGE = np.array(["0001-01-01", "9999-12-31"], dtype="datetime64[s]")


class DatesBetween(AutoDateLocator):
    """Put dates from the first one to the last one only: what stands beyond them has none."""

    def __init__(self, first: float, last: float) -> None:
        # These are wall clocks already; the timezone of the rcParams would shift them.
        super().__init__(tz=UTC, minticks=3, maxticks=8)  # type: ignore[no-untyped-call] # matplotlib.dates
        self.first = first
        self.last = last

    def __call__(self) -> list[float]:
        """Give the places of the dates."""
        return [float(day) for day in super().__call__() if self.first <= day <= self.last]  # type: ignore[no-untyped-call] # matplotlib.dates


def days(times: pd.DatetimeIndex) -> NDArray[np.float64]:
    """Give times as matplotlib's days, by the wall clock of their zone: reports have UTC, or none."""
    at = date2num(times.tz_localize(None).to_numpy())  # type: ignore[no-untyped-call] # matplotlib.dates
    return np.asarray(at, dtype="float64")


def mark(ax: Axes, times: pd.DatetimeIndex, *, left: float, right: float) -> None:
    """Make the x axis one of the given times, from `left` to `right` in days."""
    at = days(times)
    earliest, latest = date2num(_RANGE)  # type: ignore[no-untyped-call] # matplotlib.dates
    left, right = max(left, earliest), min(right, latest)
    ax.set_xlim(left, right)
    names = dict(zip(at.tolist(), _names(times), strict=True)) if len(times) <= _FEW else {}
    if names and _room(ax, at) > max(map(len, names.values())):
        ax.xaxis.set_major_locator(FixedLocator(list(names)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda day, _: names.get(day, "")))
    else:
        locator = DatesBetween(left if len(at) == 1 else at.min(), at.max())
        ax.xaxis.set_major_locator(locator)
        formatter = ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call] # matplotlib.dates
        ax.xaxis.set_major_formatter(formatter)


def name(times: pd.DatetimeIndex) -> str:
    """Name the axis, and say what its times are."""
    return cleaned(f"{words(times.name or 'time')}{'' if times.tz is None else f' ({times.tz})'}")


def is_time(labels: pd.Index) -> bool:
    """Whether the labels of a key are times, or the names of periods."""
    if isinstance(labels, pd.DatetimeIndex):
        return True
    if labels.name not in PERIOD_NAMES.values() or labels.empty:
        return False
    return all(isinstance(label, str) and _PERIOD.fullmatch(label) for label in labels)


def parsed(labels: pd.Index) -> pd.DatetimeIndex:
    """Return the times of labels; none for those that stand apart: before and after the others, and undated."""
    if isinstance(labels, pd.DatetimeIndex):
        return labels
    times = pd.to_datetime(labels.to_series(), format="ISO8601", errors="coerce")
    return pd.DatetimeIndex(times, name=labels.name)


def _room(ax: Axes, at: NDArray[np.float64]) -> float:
    """Tell how many letters fit between the places of the two nearest times."""
    left, right = ax.get_xlim()
    nearest = np.diff(at).min() if len(at) > 1 else right - left
    return float(nearest / (right - left) * axes.letters(ax))


def _names(times: pd.DatetimeIndex) -> list[str]:
    if not (times == times.normalize()).all():
        return [f"{time:%Y-%m-%d\n%H:%M}" for time in times]
    if (times.day == 1).all():
        return [f"{time:%Y-%m}" for time in times]
    return [f"{time:%Y-%m-%d}" for time in times]
