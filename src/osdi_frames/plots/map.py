"""Events on the map."""

from __future__ import annotations

from math import cos, pi, radians
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from osdi_frames.errors import MissingColumn
from osdi_frames.plots import axes, colors, land
from osdi_frames.plots.labels import PLAIN, labels

_NEEDS: Final = ("location_longitude", "location_latitude", "total_accepted")
_LARGEST: Final = 500.0  # square points, of the event with most RSVPs
_SMALLEST: Final = 8.0
_NARROW: Final = 4.5  # inches: on narrower axes the sizes are explained above
_MOST: Final = 60  # places that are named, at most
_LETTERS: Final = 24  # of a name
_CLOSEST: Final = 0.5  # degrees around a single place
_LEANEST: Final = 0.5  # of the longer side, so that places on one line make no strip


def event_map(events: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the events by longitude and latitude, sized by their RSVPs.

    The area of a disc grows with total_accepted; missing counts 0, which is the smallest disc. Events with
    the same coordinates are one disc, with the sum of their RSVPs. The largest places are named where there
    is room. Land and borders are drawn with the extra ``map``: ``pip install 'osdi-frames[map]'``. Those
    without coordinates, or with impossible ones, are counted in a note below.

    Parameters
    ----------
    events
        one row per event, with location_longitude and location_latitude in degrees, and total_accepted;
        location_locality, if it is there, names the places
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
    ax = axes.ensure_axes(ax, height=5.5)
    rows = events[list(_NEEDS)].astype("Float64").astype("float64").set_axis(["x", "y", "rsvps"], axis=1)
    rows["rsvps"] = rows["rsvps"].fillna(0)
    rows["name"] = events["location_locality"].astype("str") if "location_locality" in events else pd.NA
    placed = rows[rows["x"].between(-180, 180) & rows["y"].between(-90, 90)]
    title = "Events by place"
    if rows.empty:
        return axes.draw_empty(ax, title)
    axes.set_title(ax, title)
    together = {"rsvps": "sum", "name": "first"}
    places = placed.groupby(["x", "y"], sort=False, as_index=False).agg(together)
    places = places.sort_values("rsvps", ascending=False, kind="stable")
    _degrees(ax, placed)
    land.draw(ax)
    is_narrow = axes.inches(ax)[0] < _NARROW
    sizes = _discs(ax, places, is_narrow=is_narrow)
    _names(ax, places.assign(radius=np.sqrt(sizes / pi)))
    ax.set(xlabel=f"longitude{_note(rows, placed)}", ylabel="" if is_narrow else "latitude")
    if is_narrow:  # the sizes stand between the title and the map
        ax.set_title(title, loc="left", pad=4 * axes.label_points())
    return ax


def _discs(ax: Axes, places: pd.DataFrame, *, is_narrow: bool) -> pd.Series:
    """Draw the discs, small ones over large ones, explain their sizes, and return these."""
    most = max(places["rsvps"].max(), 1) if len(places) else 1
    largest = _LARGEST / 2 if is_narrow else _LARGEST
    sizes = _SMALLEST + places["rsvps"].clip(lower=0) / most * (largest - _SMALLEST)
    style: dict[str, Any] = {"facecolors": [(colors.MAIN, 0.45)], "edgecolors": [colors.MAIN]}
    ax.scatter(places["x"], places["y"], sizes, linewidths=0.6, **style)
    if len(places):
        ticks = MaxNLocator(3, integer=True, steps=[1, 2, 5, 10]).tick_values(0, most)
        shown = [count for count in ticks if 0 < count <= most] or [most]
        areas = [_SMALLEST + count / most * (largest - _SMALLEST) for count in shown]
        look: dict[str, Any] = {"color": colors.MAIN, "alpha": 0.45, "marker": "o", "linestyle": ""}
        handles = [Line2D([], [], markersize=np.sqrt(area), **look) for area in areas]
        names = [f"{count:,.0f}" for count in shown]
        # On a phone there is no space next to the map.
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1), "labelspacing": 1.2}
        if is_narrow:
            place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": len(names), "columnspacing": 1.2}
        ax.legend(handles, names, title="RSVPs", frameon=False, **place)
    return sizes


def _names(ax: Axes, places: pd.DataFrame) -> None:
    """Name the largest places, each where neither a name nor another disc is."""
    (left, right), (south, north) = ax.get_xlim(), ax.get_ylim()
    stretch = float(ax.get_aspect())
    wide, high = axes.inches(ax)
    points = axes.POINTS * min(
        wide / (right - left), high / (north - south) / stretch
    )  # to a degree of longitude
    size = axes.label_points() * 0.8
    middles = places.assign(x=(places["x"] - left) * points, y=(places["y"] - south) * points * stretch)
    discs = [
        (x - radius, x + radius, y - radius, y + radius)
        for x, y, radius in middles[["x", "y", "radius"]].head(_MOST).itertuples(index=False)
    ]
    texts: list[tuple[float, float, float, float]] = []
    for number, (x, y, name, radius) in enumerate(
        middles[["x", "y", "name", "radius"]].head(_MOST).itertuples(index=False)
    ):
        if pd.isna(name) or not name.strip():
            continue
        text = labels([name], width=_LETTERS).texts[0]
        length = len(text) * size * 0.6
        for offset, align in ((radius + 2, "left"), (-radius - 2, "right")):
            start = x + offset - length * (align == "right")
            box = (start, start + length, y - size / 2, y + size / 2)
            inside = start >= 0 and box[1] <= (right - left) * points
            if inside and not any(
                _overlap(box, other) for other in (*texts, *discs[:number], *discs[number + 1 :])
            ):
                texts.append(box)
                place = places["x"].iloc[number], places["y"].iloc[number]
                style: dict[str, Any] = {"ha": align, "va": "center", "fontsize": size, **PLAIN}
                ax.annotate(text, place, (offset, 0), textcoords="offset points", **style)
                break


def _overlap(box: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return box[0] < other[1] and other[0] < box[1] and box[2] < other[3] and other[2] < box[3]


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
