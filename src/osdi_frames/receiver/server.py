"""Run the receiver under uvicorn."""

from __future__ import annotations

import contextlib
import functools
import logging
import resource
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from osdi_frames.listening import BACKLOG, listen
from osdi_frames.receiver.app import create_app
from osdi_frames.receiver.connections import Connection, RepeatLimit
from osdi_frames.receiver.limits import Limits

_FILES = 64  # open files other than connections
_LOGGERS = ("asyncio", "uvicorn.error", "osdi_frames.receiver.connections", "osdi_frames.receiver.writer")
_DRAIN_SECONDS = 2  # of the five that a stop may take; what is then still arriving is answered 503
_KEEP_ALIVE_SECONDS = 65  # longer than a sender's pool keeps a connection, so that the sender closes it

logger = logging.getLogger(__name__)


def serve(
    archive: str | Path,
    *,
    tokens: Iterable[str],
    host: str = "127.0.0.1",
    port: int = 8080,
    worker: str = "main",
    limits: Limits | None = None,
) -> None:
    """Receive deliveries into an archive until SIGTERM or SIGINT; see `create_app` for the arguments.

    Ctrl-C ends in a KeyboardInterrupt, raised when everything that was acknowledged is on disk.
    Connections are limited as `Limits` says, and no statement logs more than ten lines a minute.

    Raises
    ------
    OSError
        The address cannot be listened on, or the archive cannot be written.
    """
    limits = limits or Limits()
    with listen(host, port) as listener, _limited_repeats():
        app = create_app(archive, tokens=tokens, worker=worker, limits=limits)
        logger.info("running on http://%s:%d", host, listener.getsockname()[1])
        _Server(_config(app, limits)).run(sockets=[listener])


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():  # asyncio made the queue as short as what it accepts at once
            listener.listen(BACKLOG)


@contextlib.contextmanager
def _limited_repeats() -> Iterator[None]:
    limit = RepeatLimit()
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(limit)
    try:
        yield
    finally:
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(limit)


def _config(app: Starlette, limits: Limits) -> uvicorn.Config:
    # Out of files, nothing can be accepted, and asyncio's loop logs a traceback for each that waits. It accepts
    # `backlog` connections before the first of them can close another one, and again while that one closes.
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    connections = max(8, min(limits.connections, (files - _FILES) // 2))
    http: Any = functools.partial(Connection, connections, limits.head_seconds)
    return uvicorn.Config(
        app,
        http=http,
        loop="asyncio",
        backlog=connections // 8,
        lifespan="on",
        ws="none",
        access_log=False,  # it would show the token with every line
        log_config=None,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
