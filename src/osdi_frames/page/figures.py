"""A plot as an image of the page: SVG that loads nothing, in the reader's own font and colours."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from markupsafe import Markup
from matplotlib import style
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from osdi_frames.plots.axes import POINTS

#: The width. Letters are legible where the picture is as wide as a phone, and not too large on a desk (page.css).
_INCHES: Final = 6.0
_DPI: Final = 120  # of what is drawn as a picture within the figure
_PAD: Final = 0.05  # inches: the reader's font may reach further than this machine's

_INK: Final = "#010203"  # no plot's own colour; the text colour takes its place
_STYLE: Final = {
    "svg.fonttype": "none",  # text stays text, which the reader's fonts draw
    "svg.hashsalt": "osdi-frames",
    "font.sans-serif": ["DejaVu Sans"],
    **dict.fromkeys(("figure.constrained_layout.w_pad", "figure.constrained_layout.h_pad"), _PAD),
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
_TAG: Final = re.compile(r"<[^>]*>")  # within text, matplotlib escapes what a tag begins with
_LONG_NUMBER: Final = re.compile(r"\d+\.\d{2,}")
_UNUSED: Final = re.compile(r"(?<=<g) id=\"[^\"]*\"|font-family: [^;\"]*;? ?")
#: What stays as it is in an address within double quotes; "&", which HTML would decode, and "<" do not.
_SAFE: Final = "/:;=,+!*$?@> '"
_NO_METADATA: Final = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_PICTURE: Final = Markup('<img src="{address}" alt="{label}">')


def picture(draw: Callable[..., object], *, height: float, label: str) -> Markup:
    """Draw a figure, as an element of the page; `draw` takes the axes as ``ax=``.

    `height` is in inches, `label` is what a screen reader says.
    """
    address = Markup(_address(draw, height=height))  # noqa: S704 (quoted: it holds no & and no double quotes)
    return _PICTURE.format(address=address, label=label)


def _address(draw: Callable[..., object], *, height: float) -> str:
    """Return a drawing as a data: address."""
    buffer = io.StringIO()
    with style.context(["default", _STYLE]):
        figure = Figure(figsize=(_INCHES, height), dpi=POINTS, layout="constrained")
        FigureCanvasSVG(figure)  # measures texts
        axes = figure.add_subplot()
        draw(ax=axes)
        axes.set_title("", loc="left")  # the page has a heading
        for axis in (axes.xaxis, axes.yaxis):
            axis.label.set_wrap(True)
        part = _lay_out(figure)
        figure.savefig(buffer, format="svg", dpi=_DPI, bbox_inches=part, metadata=_NO_METADATA)
    _, begin, rest = buffer.getvalue().partition("<svg")
    head, end, body = rest.partition(">")
    text = _TAG.sub(_short, f"{begin}{head}{end}{_IMAGE_STYLE}{body}").replace(_INK, "currentColor")
    text = re.sub(r">\s+<", "><", text).replace('"', "'")
    return f"data:image/svg+xml,{quote(text, safe=_SAFE)}"


def _lay_out(figure: Figure) -> Bbox | None:
    """Place the axes, for which saving would draw the figure, and return the part of the figure that a map needs."""
    if layout := figure.get_layout_engine():
        layout.execute(figure)
    figure.set_layout_engine(None)
    [axes] = figure.axes
    return None if axes.get_aspect() == "auto" else figure.get_tightbbox().padded(_PAD)


def _short(tag: re.Match[str]) -> str:
    """Shorten the numbers of a tag to tenths."""
    rounded = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.1f}", tag[0])
    return " ".join(_UNUSED.sub("", rounded).split())
