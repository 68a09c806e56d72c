"""Cells that are the darker the larger their value is, with the value in each where there is room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from osdi_frames.plots import axes, colors
from osdi_frames.plots.labels import PLAIN_TEXT

_ROW = 0.28  # inches of height for each row of an own figure
_ROOM = 1.2  # inches for title and axis
_TALLEST = 12.0
_MOST = 2000  # so many cells have their value at most
_GAP = 1.4  # so many lines high is a row with a text, at least

#: From nothing to the main colour, so light that text can be read in it on white and on dark backgrounds.
_SHADES: Final = LinearSegmentedColormap.from_list("shades", [(colors.MAIN, 0.03), (colors.MAIN, 0.6)])


def draw(
    values: NDArray[np.float64],
    *,
    ax: Axes | None,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    labels: tuple[str, str],
    text: Callable[[float], str],
) -> Axes:
    """Draw cells; one without a value is left blank.

    `labels` are those of the axes, of x and of y.
    """
    is_empty = not np.isfinite(values).any()
    ax = axes.ensure_axes(
        ax, title, height=min(_ROOM + _ROW * max(len(rows), 3), _TALLEST), is_empty=is_empty
    )
    if is_empty:
        return ax
    most = float(np.nanmax(values)) or 1.0
    ax.imshow(
        np.ma.masked_invalid(values), cmap=_SHADES, vmin=0, vmax=most, aspect="auto", interpolation="nearest"
    )
    ax.spines[:].set_visible(False)
    size = axes.label_points() * 0.9
    width, height = (inches * axes.POINTS for inches in axes.inches(ax))
    letters = width * 0.85 / (size * 0.6 * len(columns))  # of a cell, where labels take some of the width
    texts = [[text(value) if np.isfinite(value) else "" for value in row] for row in values]
    longest = max(len(each) for row in texts for each in row)
    has_room = longest <= letters and height / len(rows) >= size * _GAP and values.size <= _MOST
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size, **PLAIN_TEXT}
    style["in_layout"] = False  # within the axes: measuring all of them would take long
    for row, column in np.argwhere(np.isfinite(values)) if has_room else ():
        ax.text(column, row, texts[row][column], **style)
    _mark(ax, rows, columns, letters=letters, lines=height / (size * _GAP * len(rows)))
    note = "" if has_room else f"\ndarkest: {text(most)}"
    ax.set_xlabel(f"{labels[0]}{note}", wrap=True, **PLAIN_TEXT)
    ax.set_ylabel(labels[1], **PLAIN_TEXT)
    return ax


def _mark(ax: Axes, rows: Sequence[str], columns: Sequence[str], *, letters: float, lines: float) -> None:
    """Name as many rows and columns as have room."""
    step = max(1, int(np.ceil((max(map(len, columns)) + 1) / letters)))
    every = max(1, int(np.ceil(1 / lines)))
    ax.set_xticks(range(0, len(columns), step), columns[::step], **PLAIN_TEXT)
    ax.set_yticks(range(0, len(rows), every), rows[::every], **PLAIN_TEXT)
    ax.tick_params(length=0)
