"""Pages as files, and a real browser to open them in."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import osdi_frames as of
from tests.clocks import GUARD
from tests.once import read_once

NOW = datetime(2026, 9, 1, 12, 30, tzinfo=UTC)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Nothing but what the page itself does.
MILLISECONDS = 1000 * GUARD
QUIET = ("background-networking", "component-update", "sync", "gpu", "extensions")


def rendered(source: Any, **options: Any) -> str:
    """Return the page of a source, as the command makes it."""
    with tempfile.TemporaryDirectory() as folder:
        of.write_report(source, f"{folder}/out", formats=(), now=NOW, **options)
        return Path(folder, "out", "report.html").read_text("utf-8")


def event(number: int = 0, **fields: Any) -> dict[str, Any]:
    return {"identifiers": [f"platform:{number}"], "total_accepted": 1} | fields


def signature(number: int = 0, **referrer: Any) -> list[dict[str, Any]]:
    signed = {"identifiers": [f"platform:{number}"], "platform:referrer_data": referrer}
    return [{"osdi:signature": signed, "idempotency_key": str(number)}]


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script></style></svg><script>alert(1)</script>",
    "<style>*{display:none}</style>",
    "\u202egnp.exe",
    "حملة",
    "{{7*7}}{% raise %}",
    "$\\bad{",
    "a\x00b\x1b[2J\u2028c",
    "x" * 300,
    "👩‍👩‍👧 市民の会",
    "' onmouseover='alert(1)",
    "&lt;b&gt;",
    "=1+1",
    "[]() javascript:alert(1)",
]


def hostile_archive() -> list[object]:
    pull = [
        event(number, title=text, **{"platform:event_campaign_id": text, "location": {"region": text}})
        for number, text in enumerate(HOSTILE)
    ]
    signed = [
        signature(number, source=text, referrer=text, website=text) for number, text in enumerate(HOSTILE)
    ]
    return [*pull, *signed, event(99, **dict.fromkeys(HOSTILE, 1))]


@pytest.fixture(scope="session")
def hostile(tmp_path_factory) -> str:
    """Return the page of an archive whose every text tries to be more than text."""
    return read_once(tmp_path_factory, "hostile-page", lambda: rendered(hostile_archive()))


@pytest.fixture(scope="session")
def frames(data, tmp_path_factory) -> dict[str, pd.DataFrame]:
    """Return what the sample holds, as it is read."""
    names = ["events", "attendances", "signatures"]
    return read_once(tmp_path_factory, "frames", lambda: of.open(data).tables(names))


@pytest.fixture(scope="session")
def sample(data, tmp_path_factory) -> str:
    """Return the page of the sample archive."""
    return read_once(tmp_path_factory, "page", lambda: rendered(data))


@dataclass
class Opened:
    """A page in the browser, and all that it asked for or complained of."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def column(self, report: str, column: int) -> list[str]:
        """Return the texts of a column, as they stand below its heading, those of hidden rows among them."""
        cells = self.page.locator(f"#{report} tbody tr > :nth-child({column + 1})")
        return [text.strip() for text in cells.all_text_contents()]

    def heading(self, report: str, name: str) -> Any:
        return self.page.locator(f"#{report}").get_by_role("columnheader", name=name, exact=True)


Open = Callable[..., Any]


@contextmanager
def launched(found: str) -> Iterator[Any]:
    """Start a browser."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--no-first-run", *(f"--disable-{feature}" for feature in QUIET)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments, timeout=MILLISECONDS)
        yield browser
        browser.close()


def installed() -> str | None:
    """Return the path of a browser, None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


# Not for the session: while it is open, an event loop runs, and no other test could begin one of its own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = installed()
    if not found:
        pytest.skip("no chromium on this machine")
    with launched(found) as browser:
        yield browser


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Open a page from disk."""

    @contextmanager
    def open_page(html: str, *, width: int = 1280, **settings: Any) -> Iterator[Opened]:
        file = tmp_path_factory.mktemp("page") / "report.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
        context.set_default_timeout(MILLISECONDS)
        it = Opened(context.new_page())
        it.page.on("request", lambda request: it.requests.append(request.url))
        it.page.on("console", lambda message: it.complaints.append(message.text))
        it.page.on("pageerror", lambda error: it.complaints.append(str(error)))
        it.page.goto(file.as_uri())
        try:
            yield it
        finally:
            context.close()

    return open_page
