"""Serve the sandbox: in a thread, or until stopped."""

import asyncio
import http.client
import json
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from osdi_frames.errors import RequestRefused
from osdi_frames.listening import listen
from osdi_frames.sandbox.admin import GROUP_KEY, INDIVIDUAL_KEY
from osdi_frames.sandbox.app import create_app


class _Breakable(H11Protocol):
    """HTTP whose connection an injected fault can close."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        super().connection_made(transport)
        self.app_state = {**self.app_state, "close": transport.close}


@dataclass(frozen=True, slots=True)
class Running:
    """A served sandbox: addresses, keys, admin interface."""

    host: str
    port: int
    individual_key: str = INDIVIDUAL_KEY
    group_key: str = GROUP_KEY

    @property
    def origin(self) -> str:
        """Return where it listens."""
        return f"http://{self.host}:{self.port}"

    @property
    def base_url(self) -> str:
        """Return the root of the v2 API."""
        return f"{self.origin}/api/v2"

    @property
    def base_url_v1(self) -> str:
        """Return the root of the v1 API."""
        return f"{self.origin}/api/v1"

    def admin(self, method: str, path: str, /, **body: Any) -> Any:
        """Ask the admin interface at a path below ``/sandbox/``, with the body's fields as keywords.

        Raise a refusal as `RequestRefused`.
        """
        with closing(http.client.HTTPConnection(self.host, self.port, timeout=60)) as connection:
            connection.request(method, f"/sandbox/{path}", json.dumps(body) if body else None)
            response = connection.getresponse()
            answer = json.loads(response.read())
        if response.status != 200:
            raise RequestRefused(response.status, answer["error"])
        return answer

    def inject(self, fault: str, /, **settings: Any) -> int:
        """Inject a fault, with settings of `faults.FAULTS` and `faults.SELECTION`, and return its number."""
        return int(self.admin("POST", "faults", fault=fault, **settings)["injection"])

    def clear_faults(self) -> None:
        """Remove every injected fault."""
        self.admin("DELETE", "faults")

    def requests(self) -> list[dict[str, Any]]:
        """Return the requests to the API.

        Each has at (epoch seconds), method, path, page, status.
        """
        return list(self.admin("GET", "requests"))


def bind(port: int = 0) -> socket.socket:
    """Bind a loopback port, by default a free one."""
    return listen("127.0.0.1", port)


def server(app: Starlette) -> uvicorn.Server:
    """Make the HTTP server of the sandbox."""
    config = uvicorn.Config(
        app,
        http=_Breakable,
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=0.4,  # type: ignore[arg-type] # asyncio takes fractions
    )
    return uvicorn.Server(config)


@contextmanager
def serve(app: Starlette | None = None, *, port: int = 0) -> Iterator[Running]:
    """Serve a sandbox in a thread, on loopback, while the context lasts.

    The database is closed at its end, so an app is served once.

    Examples
    --------
    >>> with serve() as running:
    ...     running.admin("POST", "petitions", title="Clean water")["title"]
    'Clean water'
    """
    with bind(port) as listening:
        uvicorn_server = server(app or create_app())
        thread = threading.Thread(target=uvicorn_server.run, args=([listening],), daemon=True)
        thread.start()
        running = Running(*listening.getsockname())
        running.admin("GET", "")  # the connection waits in the socket's queue until the server is up
        try:
            yield running
        finally:
            uvicorn_server.should_exit = True
            thread.join(timeout=10)


def run(app: Starlette, listening: socket.socket) -> None:
    """Serve a sandbox on a socket until stopped; Ctrl-C ends in a KeyboardInterrupt when everything is closed."""
    uvicorn_server = server(app)
    # It logs a traceback of each request that it breaks off at the end.
    logging.getLogger("uvicorn.error").addFilter(lambda _: not uvicorn_server.should_exit)
    uvicorn_server.run([listening])
