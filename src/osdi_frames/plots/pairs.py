"""Two horizontal bars for each value, one below the other: before and now, first and last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes

from osdi_frames.plots import axes, bars
from osdi_frames.plots.labels import PLAIN_TEXT, name_of

_SLOT = 0.42  # inches of height for both bars of an own figure
_ROOM = 1.5  # inches for title and axis
_THICK: Final = 0.36  # a bar, where both have a place of 1
_APART: Final = 0.4  # their middles


def with_others(report: pd.DataFrame, top: int) -> pd.DataFrame:
    """Return rows by name in their order, with the rows beyond `top` as one; hidden counts are missing."""
    names = pd.Index([name_of(key) for key in report.index], dtype="str")
    kinds = {name: "Float64" if str(name).endswith("share") else "Int64" for name in report}
    rows = report.astype(kinds).set_axis(names)
    rest = rows.iloc[top:]
    if rest.empty:
        return rows
    others = rest.sum().to_frame(f"(other: {len(rest):,})").T
    return pd.concat([rows.head(top), others.astype(kinds)])


def draw(
    counts: pd.DataFrame,
    *,
    ax: Axes | None,
    top: int,
    title: str,
    unit: str,
    texts: Sequence[Sequence[str]],
    styles: Sequence[Mapping[str, Any]],
) -> Axes:
    """Draw two columns of counts as pairs of bars.

    Rows beyond `top` are the others. `texts` are written at the bars of each row. The names of the columns explain the
    bars.
    """
    ax = axes.ensure_axes(ax, title, height=_ROOM + _SLOT * max(len(counts), 2), is_empty=counts.empty)
    if counts.empty:
        return ax
    shown = counts.fillna(0).astype("int64")
    places = [[row + (number - 0.5) * _APART for row in range(len(shown))] for number in range(2)]
    drawn = [
        ax.barh(at, shown[name], _THICK, label=name, **style)
        for at, name, style in zip(places, shown, styles, strict=True)
    ]
    size = bars.points(ax, 2 * len(shown))
    bars.name(ax, [*shown.index], size=min(size * 1.5, axes.label_points()))
    written = [
        bars.BarText(bar, place, count, texts[row][number], f"{count:,}", row >= top)
        for number, name in enumerate(shown)
        for row, (bar, place, count) in enumerate(
            zip(drawn[number], places[number], shown[name].tolist(), strict=True)
        )
    ]
    bars.write(ax, written, size=size, legend=[*shown])
    totals = ", ".join(f"{shown[name].sum():,} {name}" for name in shown)
    ax.set_xlabel(f"{unit}: {totals}", wrap=True, **PLAIN_TEXT)
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return ax
