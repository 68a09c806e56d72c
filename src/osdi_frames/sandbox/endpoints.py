"""Between HTTP and the modules that decide: requests to calls, answers to responses."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from osdi_frames.errors import RequestRefused
from osdi_frames.listening import is_loopback
from osdi_frames.sandbox import effects
from osdi_frames.sandbox.admin import AdminHandler
from osdi_frames.sandbox.api import Call, Handler
from osdi_frames.sandbox.bodies import parse_object
from osdi_frames.sandbox.faults import Injection
from osdi_frames.sandbox.people import NOBODY
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.service import Seen, Service
from osdi_frames.sandbox.site import KEY_HEADERS, Site

AnyHandler = TypeVar("AnyHandler")

_HERE = ("request", "page", "answer")  # where the faults apply that are injected into requests
_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")

BODY_LIMIT = 1024 * 1024
ADMIN_BODY_LIMIT = 64 * 1024 * 1024

# interface 4
HEADERS = {"Content-Type": "application/hal+json", "Cache-Control": "max-age=0, private, must-revalidate"}


class ApiEndpoint:
    """One address of the API in one version, as an ASGI application."""

    def __init__(self, service: Service, version: str, path: str, handlers: Mapping[str, Handler]) -> None:
        self._service = service
        self._version = version
        self._path = path
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, faults and all."""
        request = Request(scope, receive)
        seen = self._arrived(request)
        injected = self._service.faults.injected(_HERE, seen.method, seen.path, seen.page)
        with suppress(ClientDisconnect):
            response = await effects.instead(injected, seen)
            if response is None:
                response = await _or_refusal(self._respond(request, injected), self._handlers)
            await effects.send(response, injected, seen, scope=scope, receive=receive, send=send)

    def _arrived(self, request: Request) -> Seen:
        is_collection = not self._path.endswith("}")
        page = request.query_params.get("page", "1" if is_collection else "")
        number = int(page) if page.isascii() and page.isdigit() and len(page) < 10 else None
        at = self._service.settings.now().timestamp()
        self._service.seen.append(seen := Seen(at, request.method, request.scope["path"], number))
        return seen

    async def _respond(self, request: Request, injected: Sequence[Injection]) -> Response:
        if request.method == "DELETE" and "DELETE" not in self._handlers:
            raise refuse("delete", what=self._path.split("/")[1] if self._path else "the entry point")
        handler = _of_method(self._handlers, request.method)
        header = KEY_HEADERS[self._version]
        account = self._service.account_of(request.headers.get(header, ""))
        if account is None and self._path:  # the entry point asks for none
            raise refuse("key", header=header)
        sends = request.method in ("POST", "PUT")
        body = parse_object(await _body(request, BODY_LIMIT)) if sends else {}
        site = Site(_origin(request), self._service.settings.prefix, self._version)
        path = request.scope["path"].removeprefix(f"/api/{self._version}/")
        call = Call(site, request.path_params, request.query_params, body, account or NOBODY, path, injected)
        if request.method in ("GET", "HEAD"):
            effects.shift_rows(self._service, call.account, injected)
            return Response(handler(self._service, call), headers=HEADERS)
        with self._service.store.transaction():
            text = handler(self._service, call)
        request.app.state.deliverer.wake()
        # a write in the background is answered at once, before there is anything to show
        background = request.query_params.get("background_request") == "true"
        return Response("{}" if background else text, headers=HEADERS)


class AdminEndpoint:
    """One address of the admin interface, as an ASGI application."""

    def __init__(self, service: Service, handlers: Mapping[str, AdminHandler]) -> None:
        self._service = service
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        with suppress(ClientDisconnect):
            response = await _or_refusal(self._respond(request), self._handlers)
            await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        _check_sender(request)
        handler = _of_method(self._handlers, request.method)
        body = await _body(request, ADMIN_BODY_LIMIT)
        site = Site(_origin(request), self._service.settings.prefix, "v2")
        call = Call(site, request.path_params, request.query_params, parse_object(body) if body else {})
        with self._service.store.transaction():
            answer = handler(self._service, call)
        request.app.state.deliverer.wake()
        return JSONResponse({} if answer is None else answer)


def _check_sender(request: Request) -> None:
    """Refuse a request under another host's name (DNS rebinding), or of another origin's page (cross-site)."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    try:
        here = is_loopback(urlsplit(f"//{host}").hostname)
    except ValueError:
        here = False
    if not here:
        raise refuse("elsewhere", why=f"of the host {host[:40]!r}")
    if origin not in (None, f"{request.scope['scheme']}://{host}"):
        raise refuse("elsewhere", why=f"of a page of {origin[:40]!r}")


async def _or_refusal(response: Awaitable[Response], allowed: Mapping[str, object]) -> Response:
    try:
        return await response
    except RequestRefused as error:
        return refusal(error, allowed=allowed)


def refusal(error: RequestRefused, *, allowed: Mapping[str, object] | None = None) -> Response:
    """Return the JSON of a refusal; that of a method names those that there are."""
    headers = {"Allow": ", ".join(allowed)} if allowed and error.status == 405 else None
    return JSONResponse({"error": str(error)}, status_code=error.status, headers=headers)


def _of_method(handlers: Mapping[str, AnyHandler], method: str) -> AnyHandler:
    handler = handlers.get("GET" if method == "HEAD" else method)
    if handler is None:
        raise refuse("method", method=method[:20], allowed=", ".join(handlers))
    return handler


async def _body(request: Request, limit: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise refuse("too large", limit=limit)
    return bytes(body)


def _origin(request: Request) -> str:
    """Return where the caller found the sandbox: its links lead to the same host and port."""
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):  # what else a Host header may hold is no part of an address
        address, port = request.scope["server"]
        host = f"{address}:{port}"
    return f"{request.scope['scheme']}://{host}"
