"""A plot as an image of the page: SVG that loads nothing, in the reader's own font and colours."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Final, cast
from urllib.parse import quote

from markupsafe import Markup
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

WIDE: Final = 8.6  # inches
NARROW: Final = 4.4  # on a phone
_PAD: Final = 0.04  # inches around all that is drawn
_BELOW: Final = 0.05  # inches: the reader's font may reach lower than this machine's
_DPI: Final = 120  # of what is drawn as a picture within the figure

_INK: Final = "#010203"  # no plot's own colour; the text colour takes its place
_STYLE: Final = {
    "svg.fonttype": "none",  # text stays text, which the reader's fonts draw
    "svg.hashsalt": "osdi-frames",
    "font.sans-serif": ["DejaVu Sans"],
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color"), _INK
    ),
    "legend.framealpha": 0,
}
#: An image has its own document: the colours are those of page.css.
_IMAGE_STYLE: Final = (
    "<style>:root{color:#1c2127}@media screen and (prefers-color-scheme:dark){:root{color:#e7eaee}}"
    "text{font-family:system-ui,sans-serif}</style>"
)
_TAG: Final = re.compile(r"<[^>]*>")  # within text, matplotlib escapes what a tag begins with
_LONG_NUMBER: Final = re.compile(r"\d+\.\d{2,}")
_UNUSED: Final = re.compile(r"(?<=<g) id=\"[^\"]*\"|font-family: 'DejaVu Sans', sans-serif; ")
_SAFE: Final = "/:;=,+!*$?@"  # in an address; what is a picture already is base64
_NO_METADATA: Final = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_PICTURE: Final = Markup(
    '<picture><source media="(max-width: 40rem)" srcset="{narrow}"><img src="{wide}" alt="{label}"></picture>'
)


def picture(draw: Callable[..., object], *, height: float, label: str) -> Markup:
    """Draw on figures of its own, a wide and a narrow one, and return them as one element of the page.

    Parameters
    ----------
    draw
        Called with the axes as ``ax``.
    height
        In inches.
    label
        What a screen reader says of it.
    """
    wide, narrow = (_address(draw, width=width, height=height) for width in (WIDE, NARROW))
    return _PICTURE.format(wide=wide, narrow=narrow, label=label)


def _address(draw: Callable[..., object], *, width: float, height: float) -> str:
    """Return a drawing as a data: address."""
    buffer = io.StringIO()
    with style.context(["default", _STYLE]), warnings.catch_warnings():
        # The reader's fonts have what those of this machine lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(width, height))
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        draw(ax=axes)
        axes.set_title("", loc="left")  # the page has a heading
        axes.xaxis.label.set_wrap(width < WIDE)
        _fill(axes)
        drawn = _drawn(axes).transformed(figure.dpi_scale_trans.inverted())
        # All that was drawn, and no empty lines above and below where a map needs less height.
        box = Bbox([[min(drawn.x0, 0), drawn.y0 - _BELOW], [max(drawn.x1, width), drawn.y1]])
        figure.savefig(
            buffer, format="svg", transparent=True, dpi=_DPI, bbox_inches=box, metadata=_NO_METADATA
        )
    _, tag, rest = _TAG.sub(_short, buffer.getvalue()).replace(_INK, "currentColor").partition("<svg")
    head, end, body = rest.partition(">")
    text = re.sub(r">\s+<", "><", f"{tag}{head}{end}{_IMAGE_STYLE}{body}")
    return f"data:image/svg+xml,{quote(text, safe=_SAFE)}"


def _fill(axes: Axes) -> None:
    """Give the axes the whole figure but for their labels and legend, which a layout engine would measure twice."""
    around = _drawn(axes, for_layout_only=True)
    whole = axes.figure.bbox.padded(-_PAD * axes.figure.dpi)
    inside = Bbox(whole.get_points() + axes.bbox.get_points() - around.get_points())
    axes.set_position(inside.transformed(axes.figure.transFigure.inverted()))


def _drawn(axes: Axes, *, for_layout_only: bool = False) -> Bbox:
    """Measure in dots what is drawn; of what stands on axes, only texts and the legend reach beyond them."""
    beyond = [*axes.texts, *filter(None, [axes.get_legend()])]
    return cast("Bbox", axes.get_tightbbox(bbox_extra_artists=beyond, for_layout_only=for_layout_only))


def _short(tag: re.Match[str]) -> str:
    """Shorten a tag: tenths of a point are seen, millionths are not."""
    rounded = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.1f}", tag[0])
    return " ".join(_UNUSED.sub("", rounded).split())
