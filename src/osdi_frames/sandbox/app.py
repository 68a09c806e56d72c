"""The ASGI application: what of it can be set, its life, and its addresses, from a request to its response."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from osdi_frames.errors import RequestRefused
from osdi_frames.listening import is_loopback
from osdi_frames.sandbox import admin, api, faults
from osdi_frames.sandbox.bodies import parse_object
from osdi_frames.sandbox.paging import PER_PAGE
from osdi_frames.sandbox.people import NOBODY
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.service import Service, Settings
from osdi_frames.sandbox.site import KEY_HEADERS, VERSIONS, Site
from osdi_frames.sandbox.store import Store
from osdi_frames.sandbox.webhooks import OVER_AN_HOUR, Deliverer

AnyHandler = TypeVar("AnyHandler")

_HERE = ("request", "page", "answer")  # where the faults apply that are injected into requests
_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")

BODY_LIMIT = 1024 * 1024
ADMIN_BODY_LIMIT = 64 * 1024 * 1024

# interface 4
HEADERS = {"Content-Type": "application/hal+json", "Cache-Control": "max-age=0, private, must-revalidate"}


def create_app(
    db: str | Path | None = None,
    *,
    prefix: str = "platform",
    per_page: int = PER_PAGE,
    retry_after: Sequence[float] = OVER_AN_HOUR,
    lenient: bool = False,
    webhook_hosts: Sequence[str] = (),
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
) -> Starlette:
    """Make the sandbox's ASGI application over a database.

    Its base addresses are ``/api/v2`` and ``/api/v1`` of wherever it is served. ``/sandbox/`` shows its keys and is
    the admin interface, which asks for none and answers requests of this machine only: serve it on loopback only.

    Parameters
    ----------
    db
        A SQLite file, made when it is not there; None keeps everything in memory.
    prefix
        The service's own prefix (interface 2.1), ``platform`` or ``action_network`` for example.
    per_page
        Records of a collection page, at most and by default (interface 8).
    retry_after
        Seconds before each retry of a webhook delivery (interface 6).
    lenient
        Take events without origin_system, and start and end with a space between date and time, as the live service
        probably does and the contract does not.
    webhook_hosts
        Names of hosts, besides this machine, to which webhooks may be registered and delivered.
    now, new_id
        Clock and maker of ids, for tests.

    Examples
    --------
    >>> app = create_app(prefix="action_network")
    >>> app.state.service.store.names("key")
    {'sandbox-group-key': 'group:sandbox', 'sandbox-individual-key': 'person:sandbox-person'}
    >>> app.state.service.store.close()  # whoever serves it does that
    """
    if not (prefix.isascii() and prefix.isidentifier()):
        raise ValueError(f"a prefix is a word as in platform or action_network, not {prefix!r}")
    store = Store(Path(db) if db is not None else None)
    settings = Settings(prefix, per_page, tuple(retry_after), now, new_id, lenient, tuple(webhook_hosts))
    service = Service(store, settings)
    with store.transaction():
        admin.ensure_accounts(service)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.deliverer = Deliverer(service)
        delivering = asyncio.create_task(app.state.deliverer.run())
        yield
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)
        store.close()

    app = Starlette(
        routes=list(_routes(service)),
        lifespan=lifespan,
        middleware=[Middleware(_without_trailing_slash)],
        exception_handlers={HTTPException: _unknown_path},
    )
    app.state.service = service
    return app


def fill_demo(app: Starlette, *, origin: str = "http://127.0.0.1", seed: int = 7) -> None:
    """Fill an empty sandbox with a made-up world: campaigns, events, RSVPs, petitions, people, signatures.

    They belong to the group, whose key sees them. A sandbox that has events is left as it is.

    Examples
    --------
    >>> app = create_app()
    >>> fill_demo(app)
    >>> len(list(app.state.service.store.resources("event")))
    120
    >>> app.state.service.store.close()
    """
    from osdi_frames.sandbox import demo  # the sample is needed by nothing else here

    demo.fill(app.state.service, origin=origin, seed=seed)


def _routes(service: Service) -> Iterator[Route]:
    for version in VERSIONS:
        for path, handlers in api.addresses(version).items():
            yield Route(f"/api/{version}{path}", _ApiEndpoint(service, handlers, version, path))
    for path, answers in admin.ADDRESSES.items():
        yield Route(path, _AdminEndpoint(service, answers))
    yield Route("/docs/{version}/{rel:path}", _documentation)


async def _documentation(request: Request) -> Response:
    """Answer where the curies lead."""
    return PlainTextResponse(f"{request.path_params['rel']}: a relation of the interface's section 2.\n")


async def _unknown_path(_request: Request, _error: Exception) -> Response:
    return _refusal(refuse("unknown path"))


def _without_trailing_slash(app: ASGIApp) -> ASGIApp:
    """Take an address with a trailing slash for the address without it (interface 4)."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/"):
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await app(scope, receive, send)

    return answer


@dataclass(frozen=True, slots=True)
class _ApiEndpoint:
    """One address of the API in one version, as an ASGI application."""

    _service: Service
    _handlers: Mapping[str, api.Handler]
    _version: str
    _path: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        seen = self._arrived(request)
        injected = self._service.faults.injected(_HERE, seen.method, seen.path, seen.page)
        with suppress(ClientDisconnect):
            response = await faults.instead(injected, seen)
            if response is None:
                response = await _or_refusal(self._respond(request, injected), self._handlers)
            await faults.send(response, injected, seen, scope=scope, receive=receive, send=send)

    def _arrived(self, request: Request) -> faults.Seen:
        is_collection = not self._path.endswith("}")
        page = request.query_params.get("page", "1" if is_collection else "")
        number = int(page) if page.isascii() and page.isdigit() and len(page) < 10 else None
        at = self._service.settings.now().timestamp()
        self._service.seen.append(seen := faults.Seen(at, request.method, request.scope["path"], number))
        return seen

    async def _respond(self, request: Request, injected: Sequence[faults.Injection]) -> Response:
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
        call = api.Call(
            site, request.path_params, request.query_params, body, account or NOBODY, path, injected
        )
        if request.method in ("GET", "HEAD"):
            self._service.shift_rows(call.account, injected)
            return Response(handler(self._service, call), headers=HEADERS)
        with self._service.store.transaction():
            text = handler(self._service, call)
        request.app.state.deliverer.wake()
        # a write in the background is answered at once, before there is anything to show
        background = request.query_params.get("background_request") == "true"
        return Response("{}" if background else text, headers=HEADERS)


@dataclass(frozen=True, slots=True)
class _AdminEndpoint:
    """One address of the admin interface, as an ASGI application."""

    _service: Service
    _handlers: Mapping[str, admin.AdminHandler]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        with suppress(ClientDisconnect):
            response = await _or_refusal(self._respond(request), self._handlers)
            await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        _check_sender(request)
        handler = _of_method(self._handlers, request.method)
        body = await _body(request, ADMIN_BODY_LIMIT)
        site = Site(_origin(request), self._service.settings.prefix, "v2")
        call = api.Call(site, request.path_params, request.query_params, parse_object(body) if body else {})
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
        return _refusal(error, allowed=allowed)


def _refusal(error: RequestRefused, *, allowed: Mapping[str, object] | None = None) -> Response:
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
