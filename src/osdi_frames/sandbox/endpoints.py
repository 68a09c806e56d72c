"""Endpoints: from a request to its response."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from osdi_frames.errors import RequestRefused
from osdi_frames.listening import is_loopback
from osdi_frames.messages import quoted, shorten
from osdi_frames.sandbox import api, faults
from osdi_frames.sandbox.accounts import NOBODY, Account
from osdi_frames.sandbox.bodies import read_body
from osdi_frames.sandbox.resources import Resource
from osdi_frames.sandbox.service import Service
from osdi_frames.sandbox.site import Site
from osdi_frames.tables.fields import KEY_HEADERS, VERSIONS

_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")

ADMIN = "admin"  # the admin interface, where others are a version of the API
BODY_LIMITS = {**dict.fromkeys(VERSIONS, 1024 * 1024), ADMIN: 64 * 1024 * 1024}

_HAL = {"Content-Type": "application/hal+json", "Cache-Control": "max-age=0, private, must-revalidate"}
HEADERS = {**dict.fromkeys(VERSIONS, _HAL), ADMIN: {"Content-Type": "application/json"}}  # interface 4


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address of the API or the admin interface."""

    _service: Service
    _handlers: Mapping[str, api.Handler]
    _version: str
    _path: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or fail it as an injected fault does."""
        request = Request(scope, receive)
        logged, injected = self._arrived(request)
        names = {injection.name for injection in injected}
        with suppress(ClientDisconnect):
            response = await faults.faulty_response(injected, logged)
            if response is None:
                try:
                    response = await self._answer(request, injected)
                except RequestRefused as error:
                    response = refused(error, self._handlers)
            if "drop" not in names:
                logged.status = response.status_code
            if names & {"drop", "half_body"}:
                await faults.break_connection(response, half="drop" not in names, scope=scope, send=send)
            else:
                await response(scope, receive, send)

    def _arrived(self, request: Request) -> tuple[faults.LoggedRequest, list[faults.Injection]]:
        """Return a request's log entry and its faults, of which the admin interface has neither."""
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
            raise RequestRefused(405, f"{shorten(method)} is not possible here; these are: {allowed}")
        body = await self._body(request) if method in ("POST", "PUT") else {}
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

    async def _body(self, request: Request) -> dict[str, Any]:
        limit = BODY_LIMITS[self._version]
        if self._version == ADMIN:
            return await read_body(request, limit, empty="{}")
        return await read_body(request, limit, lenient=self._service.lenient)

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
    """Refuse a request under another host's name (DNS rebinding) or of another origin's page (cross-site)."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    here = is_loopback(re.sub(":[0-9]+$", "", host))
    own_page = origin in (None, f"{request.scope['scheme']}://{host}")
    if not here or not own_page:
        why = f"of a page of {quoted(str(origin))}" if here else f"of the host {quoted(host)}"
        raise RequestRefused(403, f"the admin interface answers requests of this machine only, not {why}")


def refused(error: RequestRefused, handlers: Mapping[str, object]) -> Response:
    """Return the JSON of a refusal, with the allowed methods."""
    headers = {"Allow": ", ".join(handlers)} if error.status == 405 else None
    return JSONResponse({"error": str(error)}, status_code=error.status, headers=headers)


def _origin(request: Request) -> str:
    """Return the host and port to which links lead: those under which the caller found the sandbox."""
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):  # what else a Host header may hold is no part of an address
        address, port = request.scope["server"]
        host = f"{address}:{port}"
    return f"{request.scope['scheme']}://{host}"
