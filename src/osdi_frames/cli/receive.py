"""``osdi-frames receive``: take signature webhooks in, durably."""

import contextlib
import logging
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from osdi_frames import receiver
from osdi_frames.cli.options import is_quiet, note, port, runs
from osdi_frames.durable import make_folder, sync, write_file
from osdi_frames.locking import is_locked
from osdi_frames.messages import quoted_path
from osdi_frames.receiver.delivery_queue import ReceiverLimits
from osdi_frames.receiver.worker import locked


@runs("osdi-frames receive archive --host 0.0.0.0 --port 8080", "osdi-frames report archive")
@click.argument("archive", type=click.Path(file_okay=False, path_type=Path))
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@port(8080)
@click.option(
    "--token",
    "tokens",
    multiple=True,
    envvar="OSDI_FRAMES_TOKENS",
    help="A secret that is valid in the address, at least 20 characters; two during a change. "
    "Better given in OSDI_FRAMES_TOKENS, separated by spaces, than where a process list shows it. "
    "Without any, the lines of ARCHIVE/.tokens are valid, which is made when it is not there.",
)
@click.option("--worker", default="main", help="This process's own folder in ARCHIVE, where several run.")
@click.option("--max-body", default=ReceiverLimits().body_bytes, help="Bytes in a body.")
def command(archive: Path, *, tokens: Iterable[str], worker: str, max_body: int, **options: Any) -> None:
    """Receive webhook deliveries into ARCHIVE.

    Each is on disk before it is answered 200.

    The address for the service is http://HOST:PORT/TOKEN, behind a proxy that speaks https; a slash may follow.
    GET /healthz shows whether deliveries can be stored, and what went wrong.

    Only the user who runs this can read what is written: the folder of the worker is 0700, its files are 0600.
    A report that another user makes of ARCHIVE is empty; run both as one user.
    """
    os.umask(0o077)
    level = logging.WARNING if is_quiet() else logging.INFO
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s")
    limits = ReceiverLimits(body_bytes=max_body)
    tokens = tokens or _kept_tokens(archive, worker)
    receiver.serve(archive, tokens=tokens, worker=worker, limits=limits, **options)


def _kept_tokens(archive: Path, worker: str) -> Iterator[str]:
    """Yield an archive's tokens; make one if necessary, only when it is asked for: after the address is listened on."""
    path = archive / ".tokens"
    if not path.exists():
        if is_locked(archive / worker / ".lock"):
            raise locked(archive / worker)
        make_folder(archive)
        draft = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
        write_file(draft, f"{secrets.token_urlsafe(32)}\n".encode())
        # Of several workers that start at once, one makes the token.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
            note(f"A token was made; it is the last part of the address and is kept in {quoted_path(path)}")
        draft.unlink()
        sync(archive)
    yield from path.read_text().split()
