"""What each fault does: to a collection page without I/O, to requests and answers over the connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import unquote_plus, urlsplit

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from osdi_frames.sandbox.faults import Injection
from osdi_frames.sandbox.paging import Page
from osdi_frames.sandbox.people import Account
from osdi_frames.sandbox.service import Seen, Service
from osdi_frames.sandbox.site import Site


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


def shift_rows(service: Service, account: Account, injected: Sequence[Injection]) -> None:
    """Let events arrive in the account, or move, while somebody reads its pages."""
    for injection in injected:
        if injection.name == "insert_rows":
            site = Site("", service.settings.prefix, "v2")
            arrival = {"title": "Arrived meanwhile", "origin_system": "osdi-frames sandbox"}
            with service.store.transaction():
                for _ in range(injection.settings["count"]):
                    service.create_event(account, arrival, site, by="ui")
        elif injection.name == "move_row":
            with service.store.transaction():
                service.store.bring_to_front(account.account_id)


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
