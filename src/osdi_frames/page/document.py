"""The HTML document around the parts of the page, with its style, its script and its policy."""

from __future__ import annotations

import base64
import hashlib
from importlib import metadata, resources
from typing import Any

import jinja2
from markupsafe import Markup


def write(**parts: Any) -> str:
    """Return the document with the values that its template names; all text is escaped that is not the page's own."""
    files = resources.files(__package__)
    # No loader: the template comes from the package, which may be a zip file.
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style, script = ((files / name).read_text("utf-8") for name in ("page.css", "page.js"))
    # What the page does not need is forbidden: everything but its own style, script and images.
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return environment.from_string((files / "page.html.jinja").read_text("utf-8")).render(
        policy=policy,
        style=Markup(style),  # noqa: S704 (the package's own)
        script=Markup(script),  # noqa: S704 (the package's own)
        version=metadata.version("osdi-frames"),
        **parts,
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
