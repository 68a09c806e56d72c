"""Events on the map."""

from __future__ import annotations

from math import cos, radians
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from osdi_frames.errors import MissingColumn
from osdi_frames.plots import axes, colors

_NEEDS: Final = ("location_longitude", "location_latitude", "total_accepted")
_LARGEST: Final = 500.0  # square points, of the event with most RSVPs
_SMALLEST: Final = 8.0
_CLOSEST: Final = 0.5  # degrees around a single place
_LEANEST: Final = 0.5  # of the longer side, so that places on one line make no strip


def event_map(events: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the events by longitude and latitude, sized by their RSVPs.

    The area of a disc grows with total_accepted; missing counts 0, which is the smallest disc. No land is
    drawn: no outlines come with the package. Coordinates are of the place as far as it is known
    (location_accuracy says how far), so events in one city can lie one on the other. Those without
    coordinates, or with impossible ones, are counted in a note below.

    Parameters
    ----------
    events
        one row per event, with location_longitude and location_latitude in degrees, and total_accepted
    ax
        the axes to draw on; those of a new figure if not given

    Returns
    -------
    Axes
        the axes; the discs are its one collection

    Raises
    ------
    MissingColumn
        the frame lacks one of the three columns

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> events = pd.DataFrame({
    ...     "location_longitude": [-122.3, -73.9, None],
    ...     "location_latitude": [37.8, 40.7, None],
    ...     "total_accepted": [30, 5, 2],
    ... })
    >>> axes = event_map(events, ax=Figure().subplots())
    >>> print(axes.get_xlabel())
    longitude
    not on the map: 1 of 3 events, 2 of 37 RSVPs
    """
    missing = [name for name in _NEEDS if name not in events.columns]
    if missing:
        raise MissingColumn(f"event_map needs {', '.join(missing)}, which the frame does not have")
    ax = axes.own_or(ax, height=5.5)
    rows = events[list(_NEEDS)].astype("Float64").astype("float64").set_axis(["x", "y", "rsvps"], axis=1)
    rows["rsvps"] = rows["rsvps"].fillna(0)
    placed = rows[rows["x"].between(-180, 180) & rows["y"].between(-90, 90)]
    title = "Events by place"
    if rows.empty:
        return axes.say_nothing(ax, title)
    axes.entitle(ax, title)
    _discs(ax, placed.sort_values("rsvps", ascending=False, kind="stable"))
    _degrees(ax, placed)
    ax.set(xlabel=f"longitude{_note(rows, placed)}", ylabel="latitude")
    return ax


def _discs(ax: Axes, placed: pd.DataFrame) -> None:
    """Draw the discs, small ones over large ones, and explain their sizes."""
    most = max(placed["rsvps"].max(), 1) if len(placed) else 1
    sizes = _SMALLEST + placed["rsvps"].clip(lower=0) / most * (_LARGEST - _SMALLEST)
    style: dict[str, Any] = {"facecolors": [(colors.MAIN, 0.45)], "edgecolors": [colors.MAIN]}
    discs = ax.scatter(placed["x"], placed["y"], sizes, linewidths=0.6, **style)
    if len(placed):
        handles, names = discs.legend_elements(
            "sizes",
            num=3,
            color=colors.MAIN,
            alpha=0.45,
            fmt="{x:,.0f}",
            func=lambda area: (np.asarray(area) - _SMALLEST) / (_LARGEST - _SMALLEST) * most,
        )
        ax.legend(
            handles,
            names,
            title="RSVPs",
            loc="upper left",
            bbox_to_anchor=(1, 1),
            frameon=False,
            labelspacing=1.2,
        )


def _degrees(ax: Axes, placed: pd.DataFrame) -> None:
    """Label the axes in degrees, and make a kilometre as long to the north as to the east."""
    ax.xaxis.set_major_locator(MaxNLocator(nbins=min(max(int(axes.inches(ax)[0]), 2), 8)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda degrees, _: _degree(degrees, "EW", 180)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda degrees, _: _degree(degrees, "NS", 90)))
    ax.grid(alpha=0.3, linewidth=0.6)
    (left, right), (south, north) = _span(placed["x"], 180), _span(placed["y"], 90)
    stretch = 1 / max(cos(radians((south + north) / 2)), 0.2)
    wide, high = (right - left) / 2, (north - south) / 2 * stretch
    ax.set_xlim(*_around((left + right) / 2, max(wide, high * _LEANEST), 180))
    ax.set_ylim(*_around((south + north) / 2, max(high, wide * _LEANEST) / stretch, 90))
    ax.set_aspect(stretch, adjustable="box")


def _span(degrees: pd.Series, limit: float) -> tuple[float, float]:
    """Give the ends of an axis, with a margin around what is there."""
    if degrees.empty:
        return -limit, limit
    margin = max((degrees.max() - degrees.min()) * 0.08, _CLOSEST)
    return degrees.min() - margin, degrees.max() + margin


def _around(middle: float, half: float, limit: float) -> tuple[float, float]:
    return max(middle - half, -limit), min(middle + half, limit)


def _degree(degrees: float, signs: str, limit: int) -> str:
    if abs(degrees) > limit:
        return ""
    sign = "" if round(degrees, 6) == 0 else signs[int(degrees < 0)]
    return f"{abs(round(degrees, 6)):g}°{sign}"


def _note(rows: pd.DataFrame, placed: pd.DataFrame) -> str:
    """Say how many events are not on the map, if any."""
    left, total = len(rows) - len(placed), rows["rsvps"].sum()
    if not left:
        return ""
    rsvps = total - placed["rsvps"].sum()
    return f"\nnot on the map: {left:,} of {len(rows):,} events, {rsvps:,.0f} of {total:,.0f} RSVPs"
