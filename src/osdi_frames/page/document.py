"""The HTML document around the parts of the page, with its style, its script and its policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata, resources

import jinja2
from markupsafe import Markup

from osdi_frames.page.headline import Card
from osdi_frames.page.reading import Reading
from osdi_frames.page.tables import Table


@dataclass(frozen=True, slots=True)
class Section:
    """A report in the page: its heading, what it is not, its plot and its table, or one of them."""

    name: str
    heading: str
    caveat: str
    plot: Markup | None
    table: Table | None = None


def write(
    *,
    title: str,
    cards: Sequence[Card],
    parts: Mapping[str, Sequence[Section]],
    reading: Reading | None,
    notes: Sequence[str],
    now: datetime,
) -> str:
    """Give the document; every text in it is escaped that is not the page's own."""
    files = resources.files(__package__)
    # No loader: the template comes from the package, which may be a zip file.
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style, script = ((files / name).read_text("utf-8") for name in ("page.css", "page.js"))
    template = environment.from_string((files / "page.html.jinja").read_text("utf-8"))
    return template.render(
        title=title,
        cards=cards,
        parts=parts,
        reading=reading,
        notes=notes,
        now=now,
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704 (the package's own)
        script=Markup(script),  # noqa: S704 (the package's own)
        version=_version(),
    )


def _policy(style: str, script: str) -> str:
    """Forbid what the page does not need: everything but its own style, script and images."""
    allowed = {
        "default-src": "'none'",
        "style-src": f"'sha256-{_sha256(style)}'",
        "script-src": f"'sha256-{_sha256(script)}'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{what} {where}" for what, where in allowed.items())


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _version() -> str:
    try:
        return metadata.version("osdi-frames")
    except metadata.PackageNotFoundError:
        return "from its source"
