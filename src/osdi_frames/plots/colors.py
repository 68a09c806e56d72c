"""Colours and patterns that also the colour-blind tell apart, on white and on dark backgrounds."""

from typing import Any, Final, Literal, TypeAlias

import pandas as pd

from osdi_frames.tables.schema import NONE

SeriesKind: TypeAlias = Literal["value", "none", "other"]
"""What a bar or line stands for: a value, rows without one, or all that `top` leaves out."""

#: Okabe and Ito's colours without black and yellow, which one of the backgrounds would swallow.
PALETTE: Final = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7")
MAIN: Final = PALETTE[0]
GREY: Final = "#777777"

#: Where the colours are used up they come again, with the next of these.
HATCHES: Final = ("", "///", "...", "xxx")
DASHES: Final = ("-", "--", ":", "-.")

#: Seats, and those that are taken, or attendances, and those who attended: a vessel and what is in it. A capacity
#: never stands behind its RSVPs, as these are also of events without one.
SEATS: Final[dict[str, Any]] = {"facecolor": "none", "edgecolor": GREY, "linewidth": 0.8}
TAKEN: Final[dict[str, Any]] = {"facecolor": MAIN}


def kind_of(key: object) -> SeriesKind:
    """Return what a key of a report stands for: none, where every part of it is missing."""
    parts = key if isinstance(key, tuple) else (key,)
    is_none = all(part == NONE if isinstance(part, str) else pd.isna(part) for part in parts)
    return "none" if is_none else "value"


def bar(kind: SeriesKind, number: int = 0) -> dict[str, Any]:
    """Return the properties of the bar of the value with this number, of none, or of the others."""
    if kind == "other":
        return {"facecolor": "none", "edgecolor": GREY, "hatch": "////", "linewidth": 0.8}
    if kind == "none":
        return {"facecolor": GREY}
    hatch = HATCHES[number // len(PALETTE) % len(HATCHES)]
    return {"facecolor": PALETTE[number % len(PALETTE)]} | ({"hatch": hatch} if hatch else {})


def line(kind: SeriesKind, number: int = 0) -> dict[str, Any]:
    """Return the properties of a line, as `bar` does."""
    if kind != "value":
        return {"color": GREY, "linestyle": "--" if kind == "other" else "-"}
    return {
        "color": PALETTE[number % len(PALETTE)],
        "linestyle": DASHES[number // len(PALETTE) % len(DASHES)],
    }
