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
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from osdi_frames.plots.axes import POINTS

WIDE: Final = 8.6  # inches
NARROW: Final = 4.4  # on a phone
_PAD: Final = 3  # points around all that is drawn
_BELOW: Final = 4  # points: the reader's font may reach lower than this machine's
_DPI: Final = 120  # of what is drawn as a picture within the figure

_INK: Final = "#010203"  # no plot's own colour; the text colour takes its place
_STYLE: Final = {
    "svg.fonttype": "none",  # text stays text, which the reader's fonts draw
    "svg.hashsalt": "osdi-frames",
    "font.sans-serif": ["DejaVu Sans"],
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color"), _INK
    ),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), "none"),
    "legend.framealpha": 0,
}
#: An image has its own document: the colours are those of page.css.
_IMAGE_STYLE: Final = (
    "<style>:root{color:#1c2127}@media screen and (prefers-color-scheme:dark){:root{color:#e7eaee}}"
    "text{font-family:system-ui,sans-serif}</style>"
)
_SVG: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width:.1f}pt" '
    'height="{height:.1f}pt" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}">'
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
    """Draw on axes (``ax=``) of a wide and a narrow figure, and return them as one element of the page.

    `height` is in inches, `label` is what a screen reader says.
    """
    wide, narrow = (_address(draw, width=width, height=height) for width in (WIDE, NARROW))
    return _PICTURE.format(wide=wide, narrow=narrow, label=label)


def _address(draw: Callable[..., object], *, width: float, height: float) -> str:
    """Return a drawing as a data: address."""
    buffer = io.StringIO()
    with style.context(["default", _STYLE]), warnings.catch_warnings():
        # The reader's fonts have what those of this machine lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(width, height), dpi=POINTS)
        vectors = RendererSVG(*figure.bbox.size, buffer, image_dpi=_DPI, metadata=_NO_METADATA)
        # One renderer measures and draws: it remembers how wide each text is, while savefig has a new one.
        renderer = cast("RendererBase", MixedModeRenderer(figure, width, height, _DPI, vectors))
        axes = figure.add_subplot()
        draw(ax=axes)
        axes.set_title("", loc="left")  # the page has a heading
        axes.xaxis.label.set_wrap(width < WIDE)
        _fill(axes, renderer)
        drawn = _drawn(axes, renderer)
        figure.draw(renderer)
        vectors.finalize()
    text = _TAG.sub(_short, buffer.getvalue()).replace(_INK, "currentColor")
    body = re.sub(r">\s+<", "><", text.partition("<svg")[2].partition(">")[2])
    # All that was drawn, and no empty lines above and below where a map needs less height.
    left, right = min(drawn.x0, 0), max(drawn.x1, figure.bbox.width)
    top, bottom = figure.bbox.height - drawn.y1, figure.bbox.height - drawn.y0 + _BELOW
    box = {"left": left, "top": top, "width": right - left, "height": bottom - top}
    return f"data:image/svg+xml,{quote(_SVG.format(**box) + _IMAGE_STYLE + body, safe=_SAFE)}"


def _fill(axes: Axes, renderer: RendererBase) -> None:
    """Give the axes the whole figure but for their labels and legend, which a layout engine would measure twice."""
    around = _drawn(axes, renderer, for_layout_only=True)
    whole = axes.figure.bbox.padded(-_PAD)
    inside = Bbox(whole.get_points() + axes.bbox.get_points() - around.get_points())
    axes.set_position(inside.transformed(axes.figure.transFigure.inverted()))


def _drawn(axes: Axes, renderer: RendererBase, *, for_layout_only: bool = False) -> Bbox:
    """Measure what is drawn; of what stands on axes, only texts and the legend reach beyond them."""
    beyond = [*axes.texts, *filter(None, [axes.get_legend()])]
    box = axes.get_tightbbox(renderer, bbox_extra_artists=beyond, for_layout_only=for_layout_only)
    return cast("Bbox", box)


def _short(tag: re.Match[str]) -> str:
    """Shorten a tag: tenths of a point are seen, millionths are not."""
    rounded = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.1f}", tag[0])
    return " ".join(_UNUSED.sub("", rounded).split())
