"""An object store over HTTP on this machine, behind a proxy that cuts connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest
from moto.server import ThreadedMotoServer

BUCKET = "archive"


@dataclass
class Store:
    """Where the store answers, what it was asked for, and which answers are cut off."""

    port: int
    asked: list[str] = field(default_factory=list)
    cut: Callable[[str], int | None] = lambda _: None
    """Of a request's first line, the bytes after which its answer ends; None for a whole answer."""

    def lines(self, start: str) -> list[str]:
        return [line for line in self.asked if line.startswith(start)]


@contextmanager
def serving() -> Iterator[Store]:
    """Start the store, and set the environment by which programs find it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    listening = socket.create_server(("127.0.0.1", 0))
    store = Store(listening.getsockname()[1])
    threading.Thread(target=_accept, args=(listening, server.get_host_and_port(), store), daemon=True).start()
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{store.port}",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "very-secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
        "NO_PROXY": "127.0.0.1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            yield store
        finally:
            listening.close()
            server.stop()


def _accept(listening: socket.socket, server: tuple[str, int], store: Store) -> None:
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        upstream = socket.create_connection(server)
        limit: list[int | None] = [None]
        threading.Thread(target=_send, args=(client, upstream, store, limit), daemon=True).start()
        threading.Thread(target=_answer, args=(upstream, client, limit), daemon=True).start()


def _send(client: socket.socket, upstream: socket.socket, store: Store, limit: list[int | None]) -> None:
    """Pass requests on; note their first lines."""
    try:
        while data := client.recv(1 << 16):
            line = data.split(b"\r\n", 1)[0].decode("latin-1")
            if line.endswith("HTTP/1.1"):
                store.asked.append(line)
                limit[0] = store.cut(line)
            upstream.sendall(data)
    except OSError:
        pass
    finally:
        _close(client, upstream)


def _answer(upstream: socket.socket, client: socket.socket, limit: list[int | None]) -> None:
    try:
        while data := upstream.recv(1 << 16):
            if limit[0] is not None:
                client.sendall(data[: limit[0]])
                limit[0] -= len(data)
                if limit[0] <= 0:
                    return
            else:
                client.sendall(data)
    except OSError:
        pass
    finally:
        _close(client, upstream)


def _close(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
