"""Plots of what changed from one period to the next, of activity, and of goals."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import categories, colors, over_time, pairs
from osdi_frames.plots.refusal import draws
from osdi_frames.reports.measures import show
from osdi_frames.reports.titles import labelled
from osdi_frames.tables.actions import ACTION_NAMES


@draws("frame", ("before", "now", "change"))
def compare(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw what moved most, before and now.

    Each value has a bar for the period before, an outline, and one for the last below it, with the change.
    """
    counts = pairs.with_others(report[["before", "now"]], top)
    texts = [_texts(*row) for row in counts.astype(object).to_numpy()]
    styles = [colors.SEATS, colors.bar("value")]
    return pairs.draw(
        counts, ax=ax, top=top, title="What changed", unit="counted", texts=texts, styles=styles
    )


@draws("actions", ("people", "first time", "new people"), others=ACTION_NAMES, has_times=True)
def activity(report: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the acts of the later half of the periods, and in grey those of the earlier half at the same places.

    Acts are counted together, whatever the action. The first of an odd number of periods is left out.
    """
    acts = report[[name for name in report if name in ACTION_NAMES]].sum(axis=1)
    half = len(acts) // 2
    return over_time.draw_compared(
        acts[len(acts) - half :],
        acts[len(acts) - 2 * half : len(acts) - half],
        ax=ax,
        title="Acts",
        unit="acts",
    )


@draws("signatures, goals", ("signatures", "goal", "share"))
def goals(report: pd.DataFrame, *, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw how far petitions are from their goals.

    Below the bar of each petition a thin one goes as far as its goal, filled as far as that is reached. A column
    `title` is shown in place of ids.
    """
    report = labelled(report)
    counts = categories.counts_of(report["signatures"])
    counts = counts.assign(
        capacity=report["goal"].astype("float64"), taken=report[["signatures", "goal"]].min(axis=1)
    )
    return categories.draw(
        counts, ax=ax, top=top, title="Goals", unit="signatures", thin="goal", keeps_order=True
    )


def _texts(before: int, now: int) -> list[str]:
    """Return what stands at both bars.

    >>> _texts(8, 12), _texts(0, 3), _texts(4, 4)
    (['8', '12 · +4 (+50.0%)'], ['0', '3 · +3'], ['4', '4 · ±0'])
    """
    if pd.isna(before) or pd.isna(now):
        return ["hidden", "hidden"]
    share = f" ({show((now - before) / before, 'change share')})" if before and before != now else ""
    return [f"{before:,}", f"{now:,} · {show(now - before, 'change')}{share}"]
