"""Events on the map."""

from __future__ import annotations

from math import cos, radians
from typing import Final

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from osdi_frames.errors import MissingColumn
from osdi_frames.plots import axes, colors

_NEEDS: Final = ("location_longitude", "location_latitude", "total_accepted")
_LARGEST: Final = 500.0  # square points, of the event with most RSVPs
_SMALLEST: Final = 8.0


def event_map(events: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the events by longitude and latitude, sized by their RSVPs.

    The area of a disc grows with total_accepted (missing counts 0, which is the smallest disc). No land is drawn: no
    outlines come with the package. Coordinates are of the place as far as it is known (location_accuracy
    says how far), so events in one city can lie one on the other. Those without coordinates, or with
    impossible ones, are counted in a note below.

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
    >>> axes.texts[0].get_text()
    '1 of 3 events (2 of 37 RSVPs) has no place on the map'
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
    _note(ax, rows, placed)
    return ax


def _discs(ax: Axes, placed: pd.DataFrame) -> None:
    """Draw the discs, small ones over large ones, and explain their sizes."""
    most = max(placed["rsvps"].max(), 1) if len(placed) else 1
    sizes = _SMALLEST + placed["rsvps"].clip(lower=0) / most * (_LARGEST - _SMALLEST)
    discs = ax.scatter(placed["x"], placed["y"], sizes, color=colors.MAIN, alpha=0.45, linewidths=0.5)
    discs.set_edgecolor(colors.MAIN)
    if len(placed):
        handles, names = discs.legend_elements(
            "sizes",
            num=3,
            color=colors.MAIN,
            alpha=0.45,
            fmt="{x:,.0f}",
            func=lambda area: (area - _SMALLEST) / (_LARGEST - _SMALLEST) * most,
        )
        ax.legend(handles, names, title="RSVPs", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def _degrees(ax: Axes, placed: pd.DataFrame) -> None:
    """Label the axes in degrees, and make a kilometre as long to the north as to the east."""
    ax.xaxis.set_major_formatter(FuncFormatter(lambda degrees, _: _degree(degrees, "EW", 180)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda degrees, _: _degree(degrees, "NS", 90)))
    ax.set(xlabel="longitude", ylabel="latitude")
    ax.grid(alpha=0.3, linewidth=0.6)
    middle = (placed["y"].min() + placed["y"].max()) / 2 if len(placed) else 0.0
    ax.set_aspect(1 / max(cos(radians(middle)), 0.2), adjustable="datalim")


def _degree(degrees: float, signs: str, limit: int) -> str:
    if abs(degrees) > limit:
        return ""
    sign = "" if round(degrees, 6) == 0 else signs[degrees < 0]
    return f"{abs(round(degrees, 6)):g}°{sign}"


def _note(ax: Axes, rows: pd.DataFrame, placed: pd.DataFrame) -> None:
    """Say how many events are not on the map."""
    left = len(rows) - len(placed)
    if left:
        rsvps, total = rows["rsvps"].sum() - placed["rsvps"].sum(), rows["rsvps"].sum()
        ax.text(
            0.01,
            0.01,
            f"{left:,} of {len(rows):,} events ({rsvps:,.0f} of {total:,.0f} RSVPs) "
            f"{'has' if left == 1 else 'have'} no place on the map",
            transform=ax.transAxes,
            fontsize="small",
        )
