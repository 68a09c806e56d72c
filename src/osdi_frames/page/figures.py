"""A plot as SVG that stands in the page: text stays text, the ink is the reader's, nothing is loaded."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Final
from xml.etree import ElementTree as ET

from markupsafe import Markup
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDE: Final = 8.6  # inches
NARROW: Final = 4.4  # on a phone
POINTS: Final = 72  # to the inch
_DPI = 200  # of what is drawn as a picture within the figure

_INK = "#010203"  # no plot's own colour; the page's text colour takes its place
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "osdi-frames",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color"), _INK
    ),
    "legend.framealpha": 0,
}

_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_REFERENCE = re.compile(r"(?<=#)[\w.-]+")
_UNTURNED = re.compile(r"rotate\(-?0 .*\)")

#: What the page has its own of, and styles that SVG does not know as attributes.
_DROPPED = ("metadata", "style", "font-family", "mix-blend-mode")


def svg(draw: Callable[[Axes], object], *, name: str, height: float, label: str) -> Markup:
    """Draw on figures of its own, a wide and a narrow one, and give them as SVG elements.

    Parameters
    ----------
    draw
        Called with the axes.
    name
        Comes before every id, so that several figures can stand in one page.
    height
        In inches.
    label
        What a screen reader says of it.
    """
    wide = _drawn(draw, width=WIDE, height=height)
    narrow = _drawn(draw, width=NARROW, height=height)
    elements = (
        _inlined(wide, name=name, label=label, shown="wide"),
        _inlined(narrow, name=f"{name}-narrow", label=label, shown="narrow"),
    )
    return Markup("").join(Markup(ET.tostring(each, encoding="unicode")) for each in elements)  # noqa: S704 (ElementTree escapes)


def _drawn(draw: Callable[[Axes], object], *, width: float, height: float) -> ET.Element:
    buffer = io.StringIO()
    with style.context(["default", _STYLE]), warnings.catch_warnings():
        # The reader's fonts have what those of this machine lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.set_title("", loc="left")  # the page has a heading
        axes.xaxis.label.set_wrap(width < WIDE)
        figure.savefig(buffer, format="svg", transparent=True, dpi=_DPI)
        drawn = figure.get_tightbbox()
    root = ET.fromstring(buffer.getvalue())  # noqa: S314 (matplotlib's own)
    # All that was drawn, and no empty lines above and below where a map needs less height.
    left, right = min(drawn.x0, 0.0), max(drawn.x1, width)
    box = (left, height - drawn.y1, right - left, drawn.y1 - drawn.y0)
    root.set("viewBox", " ".join(f"{inches * POINTS:.1f}" for inches in box))
    return root


def _inlined(root: ET.Element, *, name: str, label: str, shown: str) -> ET.Element:
    """Bring a document to what a page takes that forbids style attributes and has other figures."""
    named = {element.get("id") for element in root.iter()}
    texts = (text for element in root.iter() for text in element.attrib.values())
    referenced = named & {each for text in texts for each in _REFERENCE.findall(text)}
    for element in root.iter():
        for child in list(element):
            if _local(child.tag) in _DROPPED:
                element.remove(child)
        element.tag, element.tail = _local(element.tag), None
        if element.tag != "text":
            element.text = None
        element.attrib = dict(_attributes(element, referenced, name))
    root.attrib = {
        "class": shown,
        "viewBox": root.attrib["viewBox"],
        "stroke-linejoin": "round",
        "role": "img",
        "aria-label": label,
    }
    return root


def _attributes(element: ET.Element, referenced: set[str | None], name: str) -> Iterator[tuple[str, str]]:
    """Give the attributes that say something, the declarations of the style among them."""
    declared = (each.split(":", 1) for each in element.attrib.pop("style", "").split(";") if each.strip())
    for key, value in [*element.attrib.items(), *declared]:
        key, value = _local(key.strip()), value.strip()
        if key in _DROPPED or (key == "id" and value not in referenced) or _UNTURNED.fullmatch(value):
            continue
        if key == "id":
            yield key, f"{name}-{value}"
        elif value == _INK:
            yield key, "currentColor"
        else:
            value = _REFERENCE.sub(
                lambda found: f"{name}-{found[0]}" if found[0] in referenced else found[0], value
            )
            yield key, _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.1f}", " ".join(value.split()))


def _local(name: str) -> str:
    return name.rpartition("}")[2]
