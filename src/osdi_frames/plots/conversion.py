"""Plots of how people get from one act to another, and what brought them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import axes, bars, categories, colors, over_time, pairs
from osdi_frames.plots.labels import labels, name_of
from osdi_frames.plots.refusal import draws
from osdi_frames.reports.measures import show
from osdi_frames.reports.titles import words

_SLOT = 0.3  # inches of height for each bar of an own figure
_ROOM = 1.5  # inches for title and axis
_MOST = 8  # funnels that can be overlooked; the others are one
_SHARES: Final = ("of_first", "of_previous", "low", "high")
_TOUCHED: Final = ("first_people", "first_share", "last_people", "last_share")


@dataclass(frozen=True, slots=True)
class _Step:
    """A bar of a funnel, with its interval in people where it has one."""

    name: str
    kind: colors.SeriesKind
    people: int
    text: str
    interval: tuple[float, float] | None = None

    @property
    def reach(self) -> float:
        """How far its bar and its line reach."""
        return max(self.people, self.interval[1] if self.interval else 0)


@draws("actions", ("people", *_SHARES))
def funnel(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw how many people reach each step.

    At a bar are its people, their share of the first step, and of the step before. The thin line is the 95% interval
    of the first share. With `by` there is a funnel for each value, most people on top, of which eight are shown at
    most.
    """
    funnels = [*_funnels(report, min(top, _MOST))]
    count = sum(bool(heading) + len(steps) for heading, steps in funnels)
    ax = axes.ensure_axes(ax, "Funnel", height=_ROOM + _SLOT * max(count, 2), is_empty=not count)
    if not count:
        return ax
    drawn, headings = dict[float, _Step](), dict[float, str]()
    for heading, steps in funnels:
        if heading:
            headings[float(len(headings) + len(drawn))] = heading
        for step in steps:
            drawn[float(len(headings) + len(drawn))] = step
    size = bars.points(ax, count)
    artists = ax.barh([*drawn], [step.people for step in drawn.values()], 0.7)
    bars.name(ax, [step.name for step in drawn.values()], size=size, places=[*drawn], is_repeated=True)
    written = []
    for bar, (place, step) in zip(artists, drawn.items(), strict=True):
        bar.set(**colors.bar(step.kind))
        if step.interval:  # in the colour of texts, on any background
            color = mpl.rcParams["text.color"]
            ax.plot(step.interval, [place, place], color=color, linewidth=1.2, solid_capstyle="butt")
        is_other = step.kind == "other"
        written.append(bars.BarText(bar, place, step.reach, step.text, f"{step.people:,}", is_other))
    bars.write(ax, written, size=size)
    texts, style = labels([*headings.values()], width=int(axes.letters(ax, points=size) * 0.8))
    for place, text in zip(headings, texts, strict=True):
        ax.annotate(text, (0, place), (4, 0), textcoords="offset points", va="center", fontsize=size, **style)
    ax.set_ylim(count - 0.5, -0.5)
    within = f" within {report.attrs['within']}" if "within" in report.attrs else ""
    note = f"people{within}, of the first step · of the step before\nthin lines: 95% intervals of the first share"
    ax.set_xlabel(note, wrap=True)
    return ax


def _funnels(report: pd.DataFrame, top: int) -> Iterator[tuple[str, list[_Step]]]:
    """Yield each funnel with its heading; others as one."""
    if not isinstance(report.index, pd.MultiIndex):
        if len(report):
            yield "", _steps(report, report.index, "value")
        return
    values = report.index.droplevel(-1)
    order = values.unique()
    for value in order[:top]:
        rows = report[values == value]
        yield name_of(value), _steps(rows, rows.index.get_level_values(-1), colors.kind_of(value))
    if rest := len(order) - top if len(order) > top else 0:
        people = report.loc[values.isin(order[top:]), "people"].groupby(level=-1, sort=False).sum()
        before = people.shift()
        others = pd.DataFrame(
            {"people": people, "of_first": people / people.iloc[0], "of_previous": people / before}
        )
        yield f"(other: {rest:,})", _steps(others.assign(low=None, high=None), people.index, "other")


def _steps(rows: pd.DataFrame, names: pd.Index, kind: colors.SeriesKind) -> list[_Step]:
    """Return the bars of one funnel."""
    numbers = rows[["people", *_SHARES]].astype("Float64").to_numpy("float64", na_value=np.nan)
    drawn = list[_Step]()
    for name, (people, *shares, low, high) in zip(names, numbers, strict=True):
        if np.isnan(people):
            drawn.append(_Step(words(name), kind, 0, "hidden"))
            continue
        interval = None if np.isnan(low) else (float(low * numbers[0, 0]), float(high * numbers[0, 0]))
        said = [show(share, "share") for share in shares if drawn and not np.isnan(share)]
        drawn.append(_Step(words(name), kind, int(people), " · ".join([f"{people:,.0f}", *said]), interval))
    return drawn


@draws("actions", ("people", "share"), _TOUCHED)
def attribution(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw the people who acted by what brought them.

    A report of both touches has a bar for the first touches of each value, and one below for its last. Their shares
    are those of the report, also where that is cut.
    """
    title = "People by what brought them"
    if "people" in report.columns:
        counts = categories.counts_of(report["people"])
        return categories.draw(counts, ax=ax, top=top, title=title, unit="people")
    drawn = pairs.with_others(report[[*_TOUCHED]], top)
    counts = drawn[["first_people", "last_people"]].set_axis(["first touch", "last touch"], axis="columns")
    texts = [
        [_with_share(first, first_share), _with_share(last, last_share)]
        for first, first_share, last, last_share in drawn.astype(object).itertuples(index=False)
    ]
    styles = [colors.bar("value", number) for number in range(2)]
    return pairs.draw(counts, ax=ax, top=top, title=title, unit="people", texts=texts, styles=styles)


def _with_share(count: Any, share: Any) -> str:
    return "hidden" if pd.isna(count) else f"{count:,} · {show(share, 'share')}"


@draws("actions", (), has_times=True)
def growth(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw the people of each period who are new to the list, by what brought them.

    Each bar stands at the start of its period (UTC), stacked by the values, of which eight are shown at most.
    """
    unit = "new people (without small counts)" if report.isna().any(axis=None) else "new people"
    counts = report.dropna(axis="columns", how="all").dropna(how="all").fillna(0).astype("int64")
    named = " and ".join(map(words, counts.columns.names))
    return over_time.draw_bars(counts, ax=ax, top=top, title=f"New people by {named}", unit=unit)
