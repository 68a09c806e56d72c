"""What each fault of a collection page does to it: from page to page, without I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from osdi_frames.sandbox.faults import Injection
from osdi_frames.sandbox.paging import Row, next_link


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is about to be sent, what `next` keeps of the query, and the row before its first."""

    head: dict[str, Any]
    rows: Sequence[Row]
    kept: dict[str, str]
    before: Sequence[Row] = ()

    def without(self, *names: str) -> Page:
        """Return the page without these fields of its envelope."""
        return replace(self, head={name: value for name, value in self.head.items() if name not in names})

    def with_next(self, link: dict[str, str] | None) -> Page:
        """Return the page with another `next`, or with none."""
        links = {name: value for name, value in self.head["_links"].items() if name != "next"}
        return replace(self, head=self.head | {"_links": links | ({"next": link} if link else {})})

    def to(self, number: int) -> dict[str, str]:
        """Return the link to another page of the same collection."""
        return next_link(self.head["_links"]["self"]["href"], number, self.kept)


def _next_on_last(page: Page, _: Injection) -> Page:
    number, pages = page.head["page"], page.head["total_pages"]
    return page.with_next(page.to(number + 1)) if number == max(pages, 1) else page


def _next_elsewhere(page: Page, injection: Injection) -> Page:
    parts = urlsplit(page.to(page.head["page"] + 1)["href"])
    return page.with_next({"href": f"{injection.settings['origin']}{parts.path}?{parts.query}"})


def _next_unescaped(page: Page, _: Injection) -> Page:
    link = page.head["_links"].get("next")
    return page.with_next({"href": unquote_plus(link["href"])}) if link else page


def _repeat_row(page: Page, injection: Injection) -> Page:
    if not page.before:
        return page
    return replace(page, rows=(*page.before, *page.rows[1 if injection.settings["instead"] else 0 :]))


EFFECTS: dict[str, Callable[[Page, Injection], Page]] = {
    "next_on_last": _next_on_last,
    "next_repeats": lambda page, _: page.with_next(page.to(page.head["page"])),
    "next_elsewhere": _next_elsewhere,
    "next_missing": lambda page, _: page.with_next(None),
    "next_unescaped": _next_unescaped,
    "totals_missing": lambda page, _: page.without("total_pages", "total_records"),
    "repeat_row": _repeat_row,
    "row_twice": lambda page, _: replace(page, rows=(*page.rows[:1], *page.rows)),
}
