"""Counts over time: bars that are stacked where there are several series, and lines of growth."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num, num2date
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from osdi_frames.plots import axes, colors
from osdi_frames.plots.labels import cleaned, drawable, labels, name_of, names_of_times, periods_of
from osdi_frames.reports.measures import show_key
from osdi_frames.reports.titles import words
from osdi_frames.tables.schema import NO_DATE

_NARROWEST, _WIDEST = 8, 30  # letters of a label in a legend
_LINE = 0.21  # inches of height for each line of a legend

_STACKED = 8  # series that can be distinguished; the others are one
_LABELLED = 12  # up to so many bars have their count above them
_SMALL = 1.2  # so many more letters of the counts than of labels are as wide as the axes
_HEADROOM = 1.12  # for the counts above the bars
_WIDTH = 0.8  # of its period: a bar

_MARKED = 40  # up to so many pulls have a marker each

_FINEST = 20  # parts of the place that a bar has where there are most: a narrower one could not be seen
_MOST = 80  # periods that can be told apart

_DATES, _DATE = 8, 6  # so many dates stand below the axis, if it has so many letters for each
_FEW = 6  # so many times are each named below the axis, if there is room
_RANGE = np.array(["0001-01-01", "9999-12-31"], dtype="datetime64[s]")


@dataclass(frozen=True, slots=True)
class Series:
    """One series: its name, kind, number and counts."""

    name: str
    kind: colors.SeriesKind
    number: int
    counts: pd.Series


@dataclass(frozen=True, slots=True)
class Places:
    """Where bars stand, in days, and how wide.

    What has no date, or is far outside, stands apart: before the others, or after them.
    """

    times: pd.DatetimeIndex
    centers: NDArray[np.float64]
    widths: NDArray[np.float64]
    names: list[str]


def draw_bars(
    counts: pd.DataFrame,
    *,
    ax: Axes | None,
    top: int,
    title: str,
    unit: str,
    has_total: bool = True,
    keeps_order: bool = False,
    below: pd.Series | None = None,
) -> Axes:
    """Draw the counts of periods as stacked bars, and those of `below` under the line.

    At most `top`, and eight, columns are drawn, and the others together: the largest, or the first where they keep
    their order. Of more than 80 periods several are one bar; what counts people has no total, and of it the last 80
    are drawn. The axis says so.
    """
    counts, note = (_widened if has_total else _last)(_in_order(counts))
    weights = pd.Series(0, counts.columns) if keeps_order else counts.sum()
    stack = _leading(counts, weights, top=min(top, _STACKED))
    ax = axes.ensure_axes(ax, title, height=_height(stack), is_empty=counts.empty)
    if counts.empty:
        return ax
    places = _places(counts.index)
    tops = np.zeros(len(counts), dtype="int64")
    artists = []
    for part in stack:
        heights = part.counts.to_numpy()
        style = colors.bar(part.kind, part.number)
        artists.append(ax.bar(places.centers, heights, places.widths * _WIDTH, bottom=tops, **style))
        tops = tops + heights
    label = f"{unit}: {tops.sum():,} in all" if has_total else unit
    under = below.reindex(counts.index, fill_value=0) if below is not None else pd.Series(0, counts.index)
    axes.count_upwards(ax, label, highest=tops.max() * _HEADROOM, lowest=under.max() * _HEADROOM)
    if below is not None:
        stack = [*stack, Series(str(below.name), "other", len(stack), under)]
        bars = ax.bar(places.centers, -under.to_numpy(), places.widths * _WIDTH, **colors.bar("other"))
        artists.append(bars)
    left, right = places.centers[0] - places.widths[0], places.centers[-1] + places.widths[-1]
    margin = (right - left) / 18  # half of a name
    left, right = left - margin * bool(places.names[0]), right + margin * bool(places.names[-1])
    _mark(ax, places.times, left=left, right=right, note=note, has_legend=not is_alone(counts))
    _count(ax, places, tops, all_of_them=is_alone(counts) and len(tops) <= _LABELLED)
    if not is_alone(counts):
        _add_legend(ax, [part.name for part in stack], artists, upwards=True)
    return ax


def draw_growth(counts: pd.DataFrame, *, ax: Axes | None, top: int, title: str, unit: str) -> Axes:
    """Draw one line for each of at most `top` columns, and one for the others together."""
    dated = counts[counts.index.notna()].sort_index()
    lines = _leading(dated, dated.tail(1).sum(), top=top)
    ax = axes.ensure_axes(ax, title, height=_height(lines), is_empty=dated.empty)
    if dated.empty:
        return ax
    times = pd.DatetimeIndex(dated.index)
    at = _days(times)
    marker = "o" if len(at) <= _MARKED else ""
    artists = [
        ax.plot(at, line.counts, marker=marker, markersize=4, **colors.line(line.kind, line.number))[0]
        for line in lines
    ]
    values = max((int(line.counts.max()) for line in lines if line.kind != "other"), default=0)
    highest = max(int(line.counts.max()) for line in lines)
    if values:  # the others together are not to dwarf every value
        highest = min(highest, values * axes.FURTHEST)
    axes.count_upwards(ax, f"{unit}: {dated.iloc[-1].sum():,} in all at the end", highest=highest * 1.05)
    margin = (at[-1] - at[0]) / 40 or 0.5
    _mark(ax, times, left=at[0] - margin, right=at[-1] + margin, has_legend=not is_alone(counts))
    if not is_alone(counts):
        ends = [int(line.counts.iloc[-1]) for line in lines]
        above = [f": {end:,}, above" if end > highest else "" for end in ends]
        _add_legend(ax, [line.name + end for line, end in zip(lines, above, strict=True)], artists)
    return ax


def draw_compared(now: pd.Series, before: pd.Series, *, ax: Axes | None, title: str, unit: str) -> Axes:
    """Draw the counts of periods as a line, and those of as many periods before in grey at the same places."""
    ax = axes.ensure_axes(ax, title, is_empty=now.empty)
    if now.empty:
        return ax
    times = pd.DatetimeIndex(now.index)
    at = _days(times)
    periods = periods_of(times)
    names = [_named(now, periods), _named(before, f"{periods} before")]
    [past] = ax.plot(at, before.to_numpy(), color=colors.GREY, linestyle="--", linewidth=1)
    ax.fill_between(at, now.to_numpy(), color=colors.MAIN, alpha=0.15, linewidth=0)
    [line] = ax.plot(at, now.to_numpy(), color=colors.MAIN, linewidth=2)
    axes.count_upwards(ax, unit, highest=max(now.max(), before.max()) * _HEADROOM)
    margin = (at[-1] - at[0]) / 40 or 0.5
    _mark(ax, times, left=at[0] - margin, right=at[-1] + margin, has_legend=False)
    ax.legend(
        [line, past],
        names,
        frameon=False,
        fontsize="small",
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=2,
    )
    return ax


def _named(counts: pd.Series, periods: str) -> str:
    """Return how many periods counts are of, when these begin, and the sum."""
    return f"{len(counts)} {periods}, from {show_key(counts.index[0])}: {counts.sum():,}"


def is_alone(counts: pd.DataFrame) -> bool:
    """Return whether counts are of no values, but in all."""
    return list(counts.columns.names) == [None] and list(counts) == ["count"]


def _leading(counts: pd.DataFrame, weights: pd.Series, *, top: int) -> list[Series]:
    """Take the `top` columns by weight, and the others' sum.

    What is alone is taken.
    """
    top = top or is_alone(counts)
    order = weights.reset_index(drop=True).sort_values(ascending=False, kind="stable").index
    taken = []
    values = 0
    for position in order[:top]:
        key = counts.columns[position]
        kind = colors.kind_of(key)
        taken.append(Series(name_of(key), kind, values, counts.iloc[:, position]))
        values += kind == "value"
    rest = counts.iloc[:, order[top:]]
    if rest.shape[1]:
        taken.append(Series(f"(other: {rest.shape[1]:,})", "other", values, rest.sum(axis=1)))
    return taken


def _height(series: Sequence[Series]) -> float:
    """Return the height that the legend needs."""
    return max(axes.HEIGHT, 1.0 + _LINE * len(series))


def _add_legend(ax: Axes, names: Sequence[str], artists: Sequence[Any], *, upwards: bool = False) -> None:
    """Put a legend right of the axes, in order."""
    width = max(min(int(axes.letters(ax) / 3), _WIDEST), _NARROWEST)
    texts, style = labels(names, width=width)
    blank = [" "] * len(texts)  # matplotlib leaves out a name that begins with an underscore
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1), "reverse": upwards}
    legend = ax.legend(artists, blank, frameon=False, fontsize="small", **place)
    for line, text in zip(legend.get_texts(), reversed(texts) if upwards else texts, strict=True):
        line.set(text=text, **style)


def _in_order(counts: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by time.

    What is before all others is first, what is after them and what has no date last.
    """
    names = pd.Series([str(label) for label in counts.index])
    place = names.str.startswith("after ") + 2 * (names == NO_DATE) - names.str.startswith("before ")
    times = _parsed(counts.index)
    order = pd.DataFrame({"place": place, "time": times.tz_localize(None)}).sort_values(["place", "time"])
    return counts.iloc[order.index]


def _widened(counts: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Sum neighbouring periods where there are too many, and return what the axis says of it."""
    times = _parsed(counts.index)
    is_dated = times.notna()
    number, dated = int(np.sum(is_dated)), counts[is_dated]
    if number <= _MOST:
        return counts, ""
    together = -(-number // _MOST)
    bars = (np.arange(number) - number) // together  # the last is whole
    is_first = np.diff(bars, prepend=bars[0] - 1) > 0
    summed = dated.groupby(bars).sum().set_axis(dated.index[is_first])
    before = int(is_dated.argmax())
    note = f"; each bar is {together} {periods_of(times.dropna())}"
    return pd.concat([counts[:before], summed, counts[before + number :]]), note


def _last(counts: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Leave the first periods out where there are too many."""
    times = _parsed(counts.index).dropna()
    more = len(times) - _MOST
    if more <= 0:
        return counts, ""
    return counts.iloc[more:], f"; the last {_MOST} {periods_of(times)}, without {more:,} before"


def _places(index: pd.Index) -> Places:
    times = _parsed(index)
    names = ["" if is_dated else name_of(label) for label, is_dated in zip(index, times.notna(), strict=True)]
    before = sum(name.startswith("before ") for name in names)
    times = times.dropna()
    after = len(names) - before - len(times)
    at = _days(times)
    first, last = (at[0], at[-1]) if len(at) else (0.0, 0.0)
    span, between = last - first, np.diff(at)
    # The first of several periods together can be narrower than all others.
    nearest = np.quantile(between[between > 0], 0.1, method="lower") if between.any() else span or 1.0
    width = max(nearest, span / max(len(at), _MOST * _FINEST))
    aside = max(2 * width, span / 11)
    centers = [first - aside * np.arange(before, 0, -1), at, last + aside * np.arange(1, after + 1)]
    widths = np.full(len(names), max(width, span / 50))
    widths[before : before + len(at)] = width
    return Places(times, np.concatenate(centers), widths, names)


def _count(ax: Axes, places: Places, tops: NDArray[Any], *, all_of_them: bool) -> None:
    """Write the counts above the bars; without room only above bars that stand apart."""
    widest = max(len(f"{top:,}") for top in tops) + 1
    all_of_them = all_of_them and widest * len(tops) <= axes.letters(ax) * _SMALL
    style: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": "small"}
    for center, top, name in zip(places.centers, tops, places.names, strict=True):
        if all_of_them or name:
            ax.annotate(f"{name}\n{top:,}".lstrip(), (center, top), (0, 2), **style)


def _days(times: pd.DatetimeIndex) -> NDArray[np.float64]:
    """Return the wall clocks of times as matplotlib's days; reports have UTC, or no zone."""
    return np.asarray(date2num(times.tz_localize(None).to_numpy()), dtype="float64")


def _mark(
    ax: Axes, times: pd.DatetimeIndex, *, left: float, right: float, has_legend: bool, note: str = ""
) -> None:
    """Make the x axis one of the given times, from `left` to `right` in days; bars without a time stand beyond.

    The note follows the name of the axis.
    """
    zone = "" if times.tz is None else f" ({times.tz})"
    [text], style = drawable([cleaned(f"{words(times.name or 'time')}{zone}{note}")])
    ax.set_xlabel(text, wrap=True, **style)
    at = _days(times)
    earliest, latest = date2num(_RANGE)
    left, right = max(left, earliest), min(right, latest)
    ax.set_xlim(left, right)
    names = names_of_times(times) if len(times) <= _FEW else []
    nearest = np.diff(at).min() if len(at) > 1 else right - left
    if times.empty or nearest / (right - left) * axes.letters(ax) > max(map(len, names), default=np.inf):
        ax.set_xticks(at, names)
        return
    # These are wall clocks already; the timezone of the rcParams would shift them.
    locator = AutoDateLocator(tz=UTC, minticks=3, maxticks=_DATES)
    between = locator.tick_values(*num2date([left, right], tz=UTC))
    first = left if len(at) == 1 else at.min()
    dates = [day for day in between if first <= day <= at.max()]
    most = max(int(axes.letters(ax) / (_DATE * (1 + has_legend))), 1)
    ax.xaxis.set_major_locator(FixedLocator(dates[:: -(-len(dates) // most) or 1]))
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))


def _parsed(labels: pd.Index) -> pd.DatetimeIndex:
    """Return the times of labels; those before and after all others, and undated ones, have none."""
    if isinstance(labels, pd.DatetimeIndex):
        return labels
    times = pd.to_datetime(labels.to_series(), format="ISO8601", errors="coerce")
    return pd.DatetimeIndex(times, name=labels.name)
