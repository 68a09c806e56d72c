"""Run the receiver under uvicorn."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import uvicorn

from osdi_frames.receiver.app import create_app
from osdi_frames.receiver.limits import Limits

_DRAIN_SECONDS = 2  # of the five that a stop may take; what is then still arriving is answered 503
_KEEP_ALIVE_SECONDS = 65  # longer than a sender's pool keeps a connection, so that the sender closes it


def serve(
    archive: str | Path,
    *,
    tokens: Iterable[str],
    host: str = "127.0.0.1",
    port: int = 8080,
    worker: str = "main",
    limits: Limits | None = None,
) -> None:
    """Receive deliveries into an archive until SIGTERM or SIGINT; see `create_app` for the arguments."""
    config = uvicorn.Config(
        create_app(archive, tokens=tokens, worker=worker, limits=limits),
        host=host,
        port=port,
        lifespan="on",
        ws="none",
        access_log=False,  # it would show the token with every line
        log_config=None,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    uvicorn.Server(config).run()
