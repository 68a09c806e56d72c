"""Horizontal bars: their names on the left, and what is written at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from osdi_frames.plots import axes
from osdi_frames.plots.labels import PLAIN_TEXT, labels

_NARROWEST, _WIDEST = 8, 40  # letters of a label
_FINEST: Final = 4.0  # points; smaller cannot be read
_LONGEST: Final = 0.6  # of the width: the text at a bar
_HANDLE: Final = 6  # letters, of a legend next to its text
_DEEPEST: Final = 5  # times the largest count: what reaches beyond that runs out of the picture


@dataclass(frozen=True, slots=True)
class BarText:
    """What is written at the end of a bar.

    `short` stands where there is no room for the text. `others` is whether the bar stands for all that is left out.
    """

    bar: Rectangle
    position: float
    count: float
    text: str
    short: str
    others: bool = False


def points(ax: Axes, slots: float) -> float:
    """Return the size of text next to so many bars, smaller where bars stand closer than lines."""
    slot = axes.inches(ax)[1] * axes.POINTS / slots
    return max(min(axes.label_points(), slot * 0.8), _FINEST)


def name(
    ax: Axes, names: Sequence[str], *, size: float, places: Sequence[float] = (), is_repeated: bool = False
) -> None:
    """Name bars that stand below each other, at 0, 1, 2, … if no places are given.

    Equal names get numbers, unless they are repeated on purpose.
    """
    width = max(min(int(axes.letters(ax, points=size) / 2), _WIDEST), _NARROWEST)
    known = [*dict.fromkeys(names)] if is_repeated else names
    texts, style = labels(known, width=width)
    texts = [texts[known.index(each)] for each in names] if is_repeated else texts
    places = places or range(len(names))
    ax.set_yticks(places, texts, fontsize=size, **style)
    ax.tick_params(axis="y", length=0)
    margin = 0.5 if len(names) > 1 else 1.0
    ax.set_ylim(places[-1] + margin, places[0] - margin)
    ax.set_xticks([])  # each bar has its number
    ax.spines["bottom"].set_visible(False)


def write(
    ax: Axes, written: Sequence[BarText], *, size: float, reach: float = 0, legend: Sequence[str] = ()
) -> None:
    """Write each count at its bar, with room.

    Where the others together would dwarf every value, their bar is cut short, and says so. The axis reaches as far as
    what else is drawn, within limits. A legend is next to the axes.
    """
    largest = max((entry.count for entry in written if not entry.others), default=0)
    # A layout makes place for names and legend, whose letters are of another size.
    names = ax.get_yticklabels()
    letter_of_names = names[0].get_fontproperties().get_size_in_points() / size
    aside = max(len(name.get_text()) for name in names) * letter_of_names
    aside += (max(map(len, legend)) + _HANDLE) * axes.label_points() / size if legend else 0
    letters = axes.letters(ax, points=size)
    letter = 1 / max(min(letters, letters * ax.figure.bbox.width / ax.bbox.width - aside), 1)
    style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": size, **PLAIN_TEXT}
    right = max(1.0, min(reach, largest * _DEEPEST))
    for entry in written:
        end, cut = entry.count, ""
        if entry.others and 0 < largest * axes.FURTHEST < entry.count:
            end, cut = largest * axes.FURTHEST, " (cut short)"
            (_, bottom), height = entry.bar.get_xy(), entry.bar.get_height()
            entry.bar.set_clip_path(Rectangle((0, bottom), end, height, transform=ax.transData))
        text = f"{entry.text}{cut}"
        if (len(text) + 1) * letter > _LONGEST:
            text = f"{entry.short}{cut}"
        ax.annotate(text, (end, entry.position), (4, 0), **style)
        right = max(right, end / (1 - min((len(text) + 1) * letter, _LONGEST)))
    ax.set_xlim(0, right)
