"""The templates of the page and of notebooks, filled."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup, escape

from osdi_frames.messages import counted
from osdi_frames.page import sections, tables
from osdi_frames.reports.measures import show
from osdi_frames.reports.result import ReportResult

#: What a line that names what is not counted says to those who call functions or commands.
_HOW_TO_INCLUDE = re.compile("; include=.*")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def text(name: str) -> str:
    """Return a file of this package, which may be a zip file."""
    return (resources.files(__package__) / name).read_text("utf-8")


def rendered(template: str, **values: Any) -> str:
    """Fill a template; all text is escaped that is not the package's own."""
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(text),
    )
    environment.filters["anchor"] = lambda part: part.lower().replace(" ", "-")
    environment.filters["unbroken"] = _unbroken
    environment.globals.update(counted=counted, printed=tables.PRINTED, points=sections.points, show=show)
    return environment.get_template(template).render(values)


def _unbroken(text: str) -> Markup:
    """Return a text whose dates are elements, which page.css breaks nowhere."""
    return Markup(_DATE.sub(r"<time>\g<0></time>", str(escape(text))))  # noqa: S704 (escaped)


def notes(made: ReportResult) -> list[str]:
    """Return the notes for readers who call nothing."""
    how = " (they can be counted in another report)"
    return [tables.visible(_HOW_TO_INCLUDE.sub(how, note)) for note in made.notes]
