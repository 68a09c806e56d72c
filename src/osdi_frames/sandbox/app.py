"""The ASGI application: its routes, its life, and what of it can be set."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from osdi_frames.sandbox import admin, api
from osdi_frames.sandbox.endpoints import AdminEndpoint, ApiEndpoint, refusal
from osdi_frames.sandbox.paging import PER_PAGE
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.service import Service, Settings
from osdi_frames.sandbox.site import VERSIONS
from osdi_frames.sandbox.store import Store
from osdi_frames.sandbox.webhooks import OVER_AN_HOUR, Deliverer


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
        middleware=[Middleware(_WithoutTrailingSlash)],
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
            yield Route(f"/api/{version}{path}", ApiEndpoint(service, version, path, handlers))
    for path, answers in admin.ADDRESSES.items():
        yield Route(path, AdminEndpoint(service, answers))
    yield Route("/docs/{version}/{rel:path}", _documentation)


async def _documentation(request: Request) -> Response:
    """Answer where the curies lead."""
    return PlainTextResponse(f"{request.path_params['rel']}: a relation of the interface's section 2.\n")


async def _unknown_path(_request: Request, _error: Exception) -> Response:
    return refusal(refuse("unknown path"))


class _WithoutTrailingSlash:
    """Middleware: an address with a trailing slash is the address without it (interface 4)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/"):
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self._app(scope, receive, send)
