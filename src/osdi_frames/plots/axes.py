"""The axes that a plot draws on: the caller's, or those of a new figure, and what all plots write on them."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import MaxNLocator

from osdi_frames.plots.labels import cleaned, drawable, warning_of_letters

WIDTH: Final = 8.0  # inches, the width of a notebook's cell
HEIGHT: Final = 4.5
_TALLEST: Final = 300.0  # matplotlib draws no more than 65,536 pixels

_PAD: Final = 4.0  # points between what is drawn and the end of the figure
_LEAST: Final = 0.1  # of the figure: so large the axes stay

Plot = TypeVar("Plot", bound=Callable[..., Axes])

FURTHEST: Final = 2  # times the largest value: so far goes what stands for all the others

POINTS: Final = 72  # to the inch
_LETTER: Final = 0.6  # the width of a letter or digit, in font sizes


def ensure_axes(ax: Axes | None, title: str, *, height: float = HEIGHT, is_empty: bool = False) -> Axes:
    """Return the caller's axes, or those of a new pyplot figure, which notebooks show by themselves, with a title.

    pyplot is not imported for who brings axes: a server or script needs no backend and leaks no figure. Of an
    empty report the axes say so, since a blank picture would look like a failure.
    """
    if ax is None:
        from matplotlib import pyplot as plt

        ax = plt.subplots(figsize=(WIDTH, min(height, _TALLEST)), layout="constrained")[1]
    [text], style = drawable([cleaned(title)])  # names of columns come from the data
    ax.set_title(text, loc="left", wrap=True, **style)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if is_empty:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.text(0.5, 0.5, "nothing to report", transform=ax.transAxes, ha="center", va="center")
    return ax


def complete(plot: Plot) -> Plot:
    """Make a plot fit, and warn of letters without fonts."""

    @wraps(plot)
    def completed(*args: Any, **options: Any) -> Axes:
        with warning_of_letters():
            ax = plot(*args, **options)
        _fit(ax)
        return ax

    return cast(Plot, completed)


def _fit(ax: Axes) -> None:
    """Make axes that are alone in a figure without a layout smaller where their labels would be cut off.

    LaTeX is not asked how wide texts are.
    """
    figure, is_latex = ax.figure, mpl.rcParams["text.usetex"]
    if is_latex or figure.axes != [ax] or figure.get_layout_engine() is not None:
        return
    drawn = ax.get_tightbbox()
    if drawn is None:
        return
    pad, place, whole = _PAD * figure.dpi / POINTS, ax.get_position(), figure.bbox
    left, bottom = (max(edge + pad, 0) for edge in (whole.x0 - drawn.x0, whole.y0 - drawn.y0))
    right, top = (max(edge + pad, 0) for edge in (drawn.x1 - whole.x1, drawn.y1 - whole.y1))
    width = max(place.width - (left + right) / whole.width, _LEAST)
    height = max(place.height - (bottom + top) / whole.height, _LEAST)
    ax.set_position((place.x0 + left / whole.width, place.y0 + bottom / whole.height, width, height))


def inches(ax: Axes) -> tuple[float, float]:
    """Measure the axes: width and height."""
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def letters(ax: Axes, *, points: float | None = None) -> float:
    """Return how many letters of a size, or of that of the labels, fit into the axes."""
    return inches(ax)[0] * POINTS / ((points or label_points()) * _LETTER)


def label_points() -> float:
    """Return the size of the labels in points."""
    return FontProperties(size=mpl.rcParams["ytick.labelsize"]).get_size_in_points()


def count_upwards(ax: Axes, label: str, *, highest: float, lowest: float = 0) -> None:
    """Make the y axis one of whole counts, also of those that are drawn below the line."""
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(lambda count, _: f"{abs(count):,.0f}")
    ax.set_ylabel(label)
    ax.set_ylim(-lowest, max(highest, 1))
    if lowest:
        ax.axhline(0, color=mpl.rcParams["axes.edgecolor"], linewidth=0.8)
    ax.grid(axis="y", alpha=0.3, linewidth=0.6)
