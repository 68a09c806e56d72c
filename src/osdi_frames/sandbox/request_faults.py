"""What the faults of requests and answers do: wait, refuse, break off, shift the rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from osdi_frames.sandbox.faults import Injection
from osdi_frames.sandbox.people import Account
from osdi_frames.sandbox.service import Seen, Service
from osdi_frames.sandbox.site import Site


async def instead(injected: Sequence[Injection], seen: Seen) -> Response | None:
    """Wait for injected latency; return the response that a fault gives instead of an answer."""
    for injection in injected:
        if injection.name == "latency":
            await asyncio.sleep(
                injection.settings["seconds"] + injection.settings["per_page"] * ((seen.page or 1) - 1)
            )
        if response := _response(injection, seen):
            return response
    return None


def _response(injection: Injection, seen: Seen) -> Response | None:
    settings = injection.settings
    if injection.name == "rate_limit" and injection.refuses(seen.at):
        return _failed(429, settings["retry_after"])
    if injection.name == "status":
        return _failed(settings["status"], settings["retry_after"])
    if injection.name == "html_error":
        return HTMLResponse(
            "<!DOCTYPE html><html><body><h1>Ordered error</h1></body></html>", settings["status"]
        )
    return None


def _failed(status: int, retry_after: int | None) -> Response:
    headers = None if retry_after is None else {"Retry-After": str(retry_after)}
    return JSONResponse({"error": f"injected fault: {status}"}, status_code=status, headers=headers)


def shift_rows(service: Service, account: Account, injected: Sequence[Injection]) -> None:
    """Let events arrive in the account, or move, while somebody reads its pages."""
    for injection in injected:
        if injection.name == "insert_rows":
            site = Site("", service.settings.prefix, "v2")
            for _ in range(injection.settings["count"]):
                arrival = {"title": "Arrived meanwhile", "origin_system": "osdi-frames sandbox"}
                service.create_event(account, arrival, site, by="ui")
        elif injection.name == "move_row":
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
