"""The ASGI application: settings, addresses, from request to response."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from osdi_frames.errors import RequestRefused
from osdi_frames.listening import is_loopback
from osdi_frames.quoting import cut, quoted
from osdi_frames.sandbox import admin, api, faults
from osdi_frames.sandbox.accounts import NOBODY, Account
from osdi_frames.sandbox.delivery import OVER_AN_HOUR, TIME_LIMIT, Deliverer
from osdi_frames.sandbox.form_body import parse_fields
from osdi_frames.sandbox.resource_kinds import RESOURCE_KINDS
from osdi_frames.sandbox.resources import Resource
from osdi_frames.sandbox.service import Service
from osdi_frames.sandbox.site import Site
from osdi_frames.sandbox.store import Store
from osdi_frames.tables.fields import KEY_HEADERS, VERSIONS

# json.dumps writes NUL as an escape, as it does a backslash before the letters "u0000"
_NOT_TEXT = re.compile("[\ud800-\udfff\ufdd0-\ufdef]|" + r"(?<!\\)(?:\\\\)*\\u0000")
_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")

ADMIN = "admin"  # the admin interface, where others are a version of the API
BODY_LIMITS = {**dict.fromkeys(VERSIONS, 1024 * 1024), ADMIN: 64 * 1024 * 1024}

_HAL = {"Content-Type": "application/hal+json", "Cache-Control": "max-age=0, private, must-revalidate"}
HEADERS = {**dict.fromkeys(VERSIONS, _HAL), ADMIN: {"Content-Type": "application/json"}}  # interface 4


def create_app(
    db: str | Path | None = None,
    *,
    prefix: str = "platform",
    per_page: int = api.PER_PAGE,
    retry_after: Sequence[float] = OVER_AN_HOUR,
    webhook_timeout: float = TIME_LIMIT,
    lenient: bool = False,
    webhook_hosts: Sequence[str] = (),
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
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
    webhook_timeout
        Seconds within which a receiver must answer a delivery (interface 6).
    lenient
        Take what other clients send and the contract does not have: events without origin_system, a space between
        date and time, a form or a query for a body, petitions and event campaigns over the API. The package's guide
        of the sandbox lists all.
    webhook_hosts
        Names of hosts, besides this machine, to which webhooks may be registered and delivered.
    now
        Clock, for tests.

    Examples
    --------
    >>> app = create_app(prefix="action_network")
    >>> list(app.state.service.store.entries("key"))
    ['sandbox-individual-key', 'sandbox-group-key']
    >>> app.state.service.store.close()  # whoever serves it does that
    """
    if not (prefix.isascii() and prefix.isidentifier()):
        raise ValueError(f"a prefix is a word as in platform or action_network, not {quoted(prefix)}")
    store = Store(Path(db) if db is not None else None)
    service = Service(
        store, prefix=prefix, per_page=per_page, lenient=lenient, webhook_hosts=webhook_hosts, clock=now
    )
    with store.transaction():
        admin.ensure_accounts(service)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.loop = asyncio.get_running_loop()  # its thread is the one that may use the database
        app.state.deliverer = Deliverer(service, retry_after, webhook_timeout)
        delivering = asyncio.create_task(app.state.deliverer.run())
        yield
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)
        store.close()

    nothing = _refused(RequestRefused(404, "there is nothing at this address"), {})
    unknown = {HTTPException: lambda *_: nothing}
    app = Starlette(routes=list(_routes(service)), lifespan=lifespan, exception_handlers=unknown)
    app.router.redirect_slashes = False
    app.state.service, app.state.loop = service, None
    return app


def _routes(service: Service) -> Iterator[Route]:
    for slash in ("", "/"):  # an address with a trailing slash is the one without (interface 4)
        for version in VERSIONS:
            for path, handlers in api.addresses(version, lenient=service.lenient).items():
                yield Route(f"/api/{version}{path}{slash}", _Endpoint(service, handlers, version, path))
        for path, answers in admin.ADDRESSES.items():
            yield Route(f"{path}{slash}", _Endpoint(service, answers, ADMIN, path))
    relation = PlainTextResponse("A relation of the interface's section 2.\n")
    yield Route("/docs/{version}/{rel:path}", lambda _: relation)  # where the curies lead
    page = PlainTextResponse("A public page. POST /sandbox/signatures or /sandbox/attendances acts here.\n")
    for kind in RESOURCE_KINDS.values():
        if any(field.name == "browser_url" for field in kind.fields):
            yield Route(f"/{kind.at('v2')}/{{resource_id}}", lambda _: page)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """One address of the API or the admin interface."""

    _service: Service
    _handlers: Mapping[str, api.Handler]
    _version: str
    _path: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        logged, injected = self._arrived(request)
        names = {injection.name for injection in injected}
        with suppress(ClientDisconnect):
            response = await faults.faulty_response(injected, logged)
            if response is None:
                try:
                    response = await self._answer(request, injected)
                except RequestRefused as error:
                    response = _refused(error, self._handlers)
            if "drop" not in names:
                logged.status = response.status_code
            if names & {"drop", "half_body"}:
                await faults.break_connection(response, half="drop" not in names, scope=scope, send=send)
            else:
                await response(scope, receive, send)

    def _arrived(self, request: Request) -> tuple[faults.LoggedRequest, list[faults.Injection]]:
        """Return a request's log entry and its faults.

        The admin interface has neither.
        """
        is_collection = not self._path.endswith("}")
        page = request.query_params.get("page", "1" if is_collection else "")
        number = int(page) if page.isdecimal() and len(page) < 10 else None
        at, path = self._service.clock().timestamp(), request.scope["path"]
        logged = faults.LoggedRequest(at, request.method, path, number)
        if self._version == ADMIN:
            return logged, []
        self._service.requests.append(logged)
        here = ("request", "page", "answer")
        return logged, self._service.faults.injected(here, request.method, path, number)

    async def _answer(self, request: Request, injected: Sequence[faults.Injection]) -> Response:
        account, method = self._admitted(request), request.method
        if method not in self._handlers:
            if method == "DELETE" and self._version != ADMIN:
                what = self._path.split("/")[1] if self._path else "the entry point"
                raise RequestRefused(405, f"{what} cannot be deleted")
            allowed = ", ".join(self._handlers)
            raise RequestRefused(405, f"{cut(method)} is not possible here; these are: {allowed}")
        lenient = self._service.lenient and self._version != ADMIN
        body = await _body(request, self._version, lenient=lenient) if method in ("POST", "PUT") else {}
        path, query = request.scope["path"].removeprefix(f"/api/{self._version}/"), request.query_params
        version = query.get("version") if self._version == ADMIN else self._version
        site = Site(_origin(request), self._service.prefix, version if version in VERSIONS else "v2")
        call = api.Call(site, request.path_params, query, body, account, path.rstrip("/"), injected)
        if method == "GET" and self._version != ADMIN:
            self._service.shift_rows(account, injected)
            return self._response(self._handlers[method](self._service, call), site)
        with self._service.store.transaction():
            answer = self._handlers[method](self._service, call)
        request.app.state.deliverer.wake()  # by looking at the admin interface, too: a demo may have been filled in
        # a write in the background is answered at once, before there is anything to show
        return self._response({} if query.get("background_request") == "true" else answer, site)

    def _admitted(self, request: Request) -> Account:
        """Return whose request it is, refused without a valid key.

        The admin interface asks for none, and refuses requests from elsewhere.
        """
        if self._version == ADMIN:
            _check_sender(request)
            return NOBODY
        header = KEY_HEADERS[self._version]
        account_id = self._service.store.entry("key", request.headers.get(header, ""))
        if account_id is None and self._path:  # the entry point asks for none
            raise RequestRefused(403, f"API key invalid or not present: send it in the header {header}")
        return self._service.account(account_id) if account_id else NOBODY

    def _response(self, answer: Any, site: Site) -> Response:
        def shown(resource: Resource) -> Any:
            return json.loads(self._service.text(resource, site))

        if not isinstance(answer, str):
            answer = json.dumps({} if answer is None else answer, default=shown)
        return Response(answer, headers=HEADERS[self._version])


def _check_sender(request: Request) -> None:
    """Refuse a request of another host or site.

    One under another host's name is DNS rebinding, one of another origin's page is cross-site.
    """
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    here = is_loopback(re.sub(":[0-9]+$", "", host))
    own_page = origin in (None, f"{request.scope['scheme']}://{host}")
    if not here or not own_page:
        why = f"of a page of {quoted(str(origin))}" if here else f"of the host {quoted(host)}"
        raise RequestRefused(403, f"the admin interface answers requests of this machine only, not {why}")


def _refused(error: RequestRefused, handlers: Mapping[str, object]) -> Response:
    """Return the JSON of a refusal, with the allowed methods."""
    headers = {"Allow": ", ".join(handlers)} if error.status == 405 else None
    return JSONResponse({"error": str(error)}, status_code=error.status, headers=headers)


async def _body(request: Request, version: str, *, lenient: bool) -> dict[str, Any]:
    """Read a body, which must be a JSON object.

    Its text must be interchangeable. With `lenient`, one that is no JSON is a form, and a request without a body has
    it in its query.
    """
    body, limit = bytearray(), BODY_LIMITS[version]
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise RequestRefused(413, f"the body is larger than {limit} bytes")
    try:
        if lenient and not body.lstrip().startswith((b"{", b"[", b'"')):
            parsed: Any = parse_fields((body or request.scope["query_string"]).decode())
        else:
            parsed = json.loads(body if body or version != ADMIN else "{}")
        text = json.dumps(parsed, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(400, f"the body is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise RequestRefused(400, "the body must be a JSON object")
    if _NOT_TEXT.search(text):
        why = "a NUL, a lone surrogate or a noncharacter, which is no text"
        raise RequestRefused(400, f"the body holds {why}")
    return parsed


def _origin(request: Request) -> str:
    """Return the host and port to which links lead.

    They are those under which the caller found the sandbox.
    """
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):  # what else a Host header may hold is no part of an address
        address, port = request.scope["server"]
        host = f"{address}:{port}"
    return f"{request.scope['scheme']}://{host}"
