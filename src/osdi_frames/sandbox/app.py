"""The ASGI application: its settings and its addresses."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from osdi_frames.errors import RequestRefused
from osdi_frames.messages import quoted
from osdi_frames.sandbox import admin, api
from osdi_frames.sandbox.delivery import OVER_AN_HOUR, TIME_LIMIT, Deliverer
from osdi_frames.sandbox.endpoints import ADMIN, Endpoint, refused
from osdi_frames.sandbox.resource_kinds import RESOURCE_KINDS
from osdi_frames.sandbox.service import Service
from osdi_frames.sandbox.store import Store
from osdi_frames.tables.fields import VERSIONS


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

    nothing = refused(RequestRefused(404, "there is nothing at this address"), {})
    unknown = {HTTPException: lambda *_: nothing}
    app = Starlette(routes=list(_routes(service)), lifespan=lifespan, exception_handlers=unknown)
    app.router.redirect_slashes = False
    app.state.service, app.state.loop = service, None
    return app


def _routes(service: Service) -> Iterator[Route]:
    for slash in ("", "/"):  # an address with a trailing slash is the one without (interface 4)
        for version in VERSIONS:
            for path, handlers in api.addresses(version, lenient=service.lenient).items():
                yield Route(f"/api/{version}{path}{slash}", Endpoint(service, handlers, version, path))
        for path, answers in admin.ADDRESSES.items():
            yield Route(f"{path}{slash}", Endpoint(service, answers, ADMIN, path))
    relation = PlainTextResponse("A relation of the interface's section 2.\n")
    yield Route("/docs/{version}/{rel:path}", lambda _: relation)  # where the curies lead
    page = PlainTextResponse("A public page. POST /sandbox/signatures or /sandbox/attendances acts here.\n")
    for kind in RESOURCE_KINDS.values():
        if any(field.name == "browser_url" for field in kind.fields):
            yield Route(f"/{kind.at('v2')}/{{resource_id}}", lambda _: page)
