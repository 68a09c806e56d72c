"""Faults to inject, declared in ``faults.json``: which, at which requests, what they do."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import count
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Scope, Send

from osdi_frames.errors import RequestRefused
from osdi_frames.messages import nearest, quoted
from osdi_frames.sandbox.shapes import conform
from osdi_frames.sandbox.site import Link


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that can be injected; `at` is where it applies: request, page, answer, signature or delivery."""

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
_CHOICES = ("method", "path", "page", "nth", "times")
SELECTION: Mapping[str, Any] = {**dict.fromkeys(_CHOICES), "probability": 1.0, "seed": 0}

_BY_NAME = {fault.name: fault for fault in FAULTS}


@dataclass(slots=True)
class LoggedRequest:
    """One request to the API, without its key."""

    at: float
    method: str
    path: str
    page: int | None
    status: int | None = None


@dataclass(slots=True)
class Injection:
    """An injected fault: `matched` of the chosen requests arrived, `injected` of them were faulted."""

    injection_id: int
    name: str
    at: str
    settings: Mapping[str, Any]
    chance: random.Random
    matched: int = 0
    injected: int = 0
    accepted: list[float] = field(default_factory=list)  # of rate_limit: when

    def applies(self, method: str, path: str, page: int | None) -> bool:
        """Return whether a request is chosen, and count it."""
        chosen = self.settings
        of_method = chosen["method"] in (None, method) and (chosen["path"] or "") in path
        if not of_method or not _is_chosen(page, chosen["page"]):
            return False
        self.matched += 1
        # drawn for every request, so that the same seed applies the same ones whatever else is chosen
        drawn = self.chance.random() < chosen["probability"]
        left = chosen["times"] is None or self.injected < chosen["times"]
        hit: bool = drawn and left and _is_chosen(self.matched, chosen["nth"])
        self.injected += hit
        return hit

    def exceeds_limit(self, now: float) -> bool:
        """Return whether one more call exceeds the rate limit."""
        self.accepted = [at for at in self.accepted if at > now - self.settings["per"]]
        refused: bool = len(self.accepted) >= self.settings["calls"]
        if not refused:
            self.accepted.append(now)
        return refused

    def as_json(self) -> dict[str, Any]:
        """Return the injection as the admin interface shows it."""
        counts = {"matched": self.matched, "injected": self.injected}
        return {"injection": self.injection_id, "fault": self.name, **self.settings, **counts}


class Faults:
    """The injected faults, kept in memory only."""

    def __init__(self) -> None:
        self.injections: list[Injection] = []
        self._ids = count(1)

    def inject(self, name: str, /, **settings: Any) -> Injection:
        """Inject a fault; unknown names and settings are refused."""
        if name not in _BY_NAME:
            raise RequestRefused(400, f"there is no fault {quoted(name)}; {nearest(name, _BY_NAME)}")
        fault = _BY_NAME[name]
        known = {**SELECTION, **fault.settings}
        for setting, value in settings.items():
            _check(setting, value, known)
        chance = random.Random(settings.get("seed", 0))  # noqa: S311 (reproducible, not secret)
        injection = Injection(next(self._ids), name, fault.at, known | settings, chance)
        self.injections.append(injection)
        return injection

    def clear(self, injection_id: int | None = None) -> None:
        """Remove one injected fault, or all."""
        self.injections = [kept for kept in self.injections if injection_id not in (None, kept.injection_id)]

    def injected(
        self, at: Collection[str], method: str, path: str, page: int | None = None
    ) -> list[Injection]:
        """Return the injections that apply to a request, in order."""
        return [
            injection
            for injection in self.injections
            if injection.at in at and injection.applies(method, path, page)
        ]


def _is_chosen(number: int | None, chosen: int | list[int] | None) -> bool:
    return chosen is None or number in (chosen if isinstance(chosen, list) else [chosen])


def _check(setting: str, value: object, known: Mapping[str, Any]) -> None:
    if setting not in known:
        raise RequestRefused(400, f"there is no setting {quoted(setting)}; {nearest(setting, known)}")
    shape = str if setting in ("method", "path") else type(known[setting])
    shape = int if shape is type(None) else shape
    least, most = (400, 599) if setting == "status" else (0, 3600 if shape is float else 10**6)
    for part in value if isinstance(value, list) and setting in ("page", "nth") else [value]:
        kept = conform(part, shape)
        within = kept is not None and (shape is str or least <= kept <= most)
        if not within and not (part is None is known[setting]):
            raise RequestRefused(400, f"{setting} cannot be {quoted(str(value))}")


async def faulty_response(injected: Sequence[Injection], logged: LoggedRequest) -> Response | None:
    """Wait for latency; return an injected error response."""
    for injection in injected:
        settings = injection.settings
        if injection.name == "latency":
            await asyncio.sleep(settings["seconds"] + settings["per_page"] * ((logged.page or 1) - 1))
        elif injection.name == "rate_limit" and injection.exceeds_limit(logged.at):
            return _error_response(429, settings["retry_after"])
        elif injection.name == "status":
            return _error_response(settings["status"], settings["retry_after"])
        elif injection.name == "html_error":
            page = "<!DOCTYPE html><html><body><h1>Injected error</h1></body></html>"
            return HTMLResponse(page, settings["status"])
    return None


def _error_response(status: int, retry_after: int | None) -> Response:
    headers = None if retry_after is None else {"Retry-After": str(retry_after)}
    return JSONResponse({"error": f"injected fault: {status}"}, status_code=status, headers=headers)


def alter_page(
    page: Mapping[str, Any], rows: list[Any], injection: Injection, page_link: Callable[[int], Link]
) -> None:
    """Change a collection page as a fault of pages does; `page_link` links to a page by number."""
    number, links = page["page"], page["_links"]
    match injection.name:
        case "next_on_last" if number == max(page["total_pages"], 1):
            links["next"] = page_link(number + 1)
        case "next_repeats":
            links["next"] = page_link(number)
        case "next_elsewhere":
            parts = urlsplit(page_link(number + 1)["href"])
            links["next"] = {"href": f"{injection.settings['origin']}{parts.path}?{parts.query}"}
        case "next_missing":
            links.pop("next", None)
        case "next_unescaped" if "next" in links:
            links["next"] = {"href": unquote_plus(links["next"]["href"])}
        case "row_twice":
            rows[:0] = rows[:1]


async def break_connection(response: Response, *, half: bool, scope: Scope, send: Send) -> None:
    """Close the connection before a response or after half of its body; `serve` made closing possible."""
    if half:
        start = {"status": response.status_code, "headers": response.raw_headers}
        body = bytes(response.body)[: len(response.body) // 2]
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": body, "more_body": True})
    scope["state"]["close"]()
    await asyncio.sleep(0)  # the server notices one turn later
