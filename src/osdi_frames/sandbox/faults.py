"""Faults to inject: which there are (``faults.json``), at which requests, and what each does to a page or an answer."""

from __future__ import annotations

import asyncio
import json
import random
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from osdi_frames.errors import nearest
from osdi_frames.sandbox.paging import Page
from osdi_frames.sandbox.refusals import refuse


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that can be injected. `at` is where it applies: request, page, answer, signature or delivery."""

    name: str
    at: str
    meaning: str
    settings: Mapping[str, Any]


FAULTS = [
    Fault(**declared)
    for declared in json.loads((resources.files(__package__) / "faults.json").read_text("utf-8"))
]

# At which requests: of that method, with that text in the path, on that page or these; of those, the nth or these
# (counted from 1 since it was injected), or each with a probability; at most so many times.
SELECTION: Mapping[str, Any] = {
    "method": None,
    "path": None,
    "page": None,
    "nth": None,
    "probability": 1.0,
    "seed": 0,
    "times": None,
}

_BY_NAME = {fault.name: fault for fault in FAULTS}


@dataclass(slots=True)
class Seen:
    """One request to the API, as the list of requests shows it: never with its key."""

    at: float
    method: str
    path: str
    page: int | None
    status: int | None = None


@dataclass(slots=True)
class Injection:
    """An injected fault: how many chosen requests came (`met`), how many were faulted (`injected`)."""

    injection_id: int
    fault: Fault
    settings: Mapping[str, Any]
    chance: random.Random
    met: int = 0
    injected: int = 0
    let_through: deque[float] = field(default_factory=deque)  # of rate_limit: when

    @property
    def name(self) -> str:
        """Return the fault's name."""
        return self.fault.name

    def applies(self, method: str, path: str, page: int | None) -> bool:
        """Tell whether a request is one of the chosen, and count it."""
        chosen = self.settings
        of_path = chosen["path"] is None or chosen["path"] in path
        if chosen["method"] not in (None, method) or not of_path or not _among(page, chosen["page"]):
            return False
        self.met += 1
        # drawn for every request, so that the same seed applies the same ones whatever else is chosen
        drawn = self.chance.random() < chosen["probability"]
        left = chosen["times"] is None or self.injected < chosen["times"]
        hit = drawn and left and _among(self.met, chosen["nth"])
        self.injected += hit
        return hit

    def refuses(self, now: float) -> bool:
        """Tell whether one more call at `now` is above the limit (of rate_limit)."""
        calls, per = self.settings["calls"], self.settings["per"]
        while self.let_through and self.let_through[0] <= now - per:
            self.let_through.popleft()
        if len(self.let_through) >= calls:
            return True
        self.let_through.append(now)
        return False

    def shown(self) -> dict[str, Any]:
        """Return the injection as the admin interface shows it."""
        shown = {name: value for name, value in self.settings.items() if SELECTION.get(name, ...) != value}
        shown = {"injection": self.injection_id, "fault": self.name, **shown}
        return {**shown, "met": self.met, "injected": self.injected}


class Faults:
    """The injected faults. They are kept in memory: a restarted sandbox behaves."""

    def __init__(self) -> None:
        self.injections: list[Injection] = []
        self._count = 0

    def inject(self, name: str, /, **settings: Any) -> Injection:
        """Inject a fault; an unknown name or setting is refused with the ones that there are."""
        if name not in _BY_NAME:
            raise refuse("setting", why=f"there is no fault {name!r}; {nearest(name, _BY_NAME)}")
        fault = _BY_NAME[name]
        known = {**SELECTION, **fault.settings}
        for setting, value in settings.items():
            _check(setting, value, known)
        self._count += 1
        injection = Injection(self._count, fault, known | settings, random.Random(settings.get("seed", 0)))  # noqa: S311 (reproducible, not secret)
        self.injections.append(injection)
        return injection

    def clear(self, injection_id: int | None = None) -> None:
        """Remove one injected fault, or all."""
        self.injections = [kept for kept in self.injections if injection_id not in (None, kept.injection_id)]

    def injected(
        self, at: Collection[str], method: str, path: str, page: int | None = None
    ) -> list[Injection]:
        """Return the injections of some kinds that apply to a request, in the order in which they were injected."""
        return [
            injection
            for injection in self.injections
            if injection.fault.at in at and injection.applies(method, path, page)
        ]


def _among(number: int | None, chosen: int | list[int] | None) -> bool:
    return chosen is None or number in (chosen if isinstance(chosen, list) else [chosen])


def _check(setting: str, value: object, known: Mapping[str, Any]) -> None:
    if setting not in known:
        raise refuse("setting", why=f"there is no setting {setting!r}; {nearest(setting, known)}")
    default = known[setting]
    if setting in ("method", "path") or isinstance(default, str | bool):
        fits = isinstance(value, bool if isinstance(default, bool) else str)
    elif isinstance(default, float):
        fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 3600
    else:
        numbers = value if isinstance(value, list) and setting in ("page", "nth") else [value]
        least, most = (400, 599) if setting == "status" else (0, 10**6)
        fits = all(type(number) is int and least <= number <= most for number in numbers)
    if not (fits or value is default is None):
        raise refuse("setting", why=f"{setting} cannot be {str(value)[:40]!r}")


async def instead(injected: Sequence[Injection], seen: Seen) -> Response | None:
    """Wait for injected latency; return the response that a fault gives instead of an answer."""
    for injection in injected:
        settings = injection.settings
        if injection.name == "latency":
            await asyncio.sleep(settings["seconds"] + settings["per_page"] * ((seen.page or 1) - 1))
        elif injection.name == "rate_limit" and injection.refuses(seen.at):
            return _failed(429, settings["retry_after"])
        elif injection.name == "status":
            return _failed(settings["status"], settings["retry_after"])
        elif injection.name == "html_error":
            page = "<!DOCTYPE html><html><body><h1>Ordered error</h1></body></html>"
            return HTMLResponse(page, settings["status"])
    return None


def _failed(status: int, retry_after: int | None) -> Response:
    headers = None if retry_after is None else {"Retry-After": str(retry_after)}
    return JSONResponse({"error": f"injected fault: {status}"}, status_code=status, headers=headers)


async def send(
    response: Response,
    injected: Sequence[Injection],
    seen: Seen,
    *,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Send a response, or of it what the injected faults leave."""
    names = {injection.name for injection in injected}
    if "drop" in names:
        await _break_off(scope, "abort")
        return
    seen.status = response.status_code
    if "half_body" not in names:
        await response(scope, receive, send)
        return
    half = bytes(response.body)[: len(response.body) // 2]
    start = {"status": response.status_code, "headers": response.raw_headers}
    await send({"type": "http.response.start", **start})
    await send({"type": "http.response.body", "body": half, "more_body": True})
    await _break_off(scope, "close")


async def _break_off(scope: Scope, how: str) -> None:
    """Close the connection with what `serve` stored in the request; the server notices one turn later."""
    scope["state"][how]()
    await asyncio.sleep(0)


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
