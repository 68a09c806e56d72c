"""Run the receiver under uvicorn."""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
from collections.abc import Iterable
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from osdi_frames.receiver.app import create_app
from osdi_frames.receiver.limits import Limits

_BACKLOG = 2048
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

    Raises
    ------
    OSError
        The address cannot be listened on, or the archive cannot be written.
    """
    with _listening(host, port) as listener:
        app = create_app(archive, tokens=tokens, worker=worker, limits=limits)
        logger.info("running on http://%s:%d", host, listener.getsockname()[1])
        with contextlib.suppress(KeyboardInterrupt):  # which uvicorn raises again when all is done
            uvicorn.Server(_config(app)).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    # Made here, so that a taken port is an error like any other. Without the protocol's number asyncio
    # takes the socket for something else and leaves TCP_NODELAY off: 40 ms for every answer.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        hint = "; --port takes another one" if error.errno == errno.EADDRINUSE else ""
        raise OSError(error.errno, f"{host}:{port}: {error.strerror}{hint}") from error
    return listener


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="on",
        ws="none",
        access_log=False,  # it would show the token with every line
        log_config=None,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
