"""A service that answers as it is set to, byte by byte, and keeps the headers that it got; no sandbox would do this."""

from __future__ import annotations

import http.server
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from tests.clocks import GUARD

#: What answers a request: (status, headers, body), by the path that was asked.
Answers = Callable[[str], tuple[int, dict[str, str], bytes]]


def number_of(path: str) -> int:
    """Return the number of the page that a path asks for."""
    return int(parse_qs(urlsplit(path).query).get("page", ["1"])[0])


def page_of(path: str, **totals: int) -> tuple[int, dict[str, str], bytes]:
    """Answer with the page of a list that a path asks for: one event, and a link to the next page."""
    number = number_of(path)
    event = {"identifiers": [f"platform:{number}"], "title": "A", "modified_date": "2026-01-01T00:00:00Z"}
    link = {"next": {"href": f"/api/v2/events?page={number + 1}"}}
    body = {"page": number, "_links": link, "_embedded": {"osdi:events": [event]}, **totals}
    return 200, {}, json.dumps(body).encode()


@dataclass
class Listener:
    """A server on a port of its own, and what it was sent."""

    port: int = 0
    scheme: str = "http"
    host: str = "127.0.0.1"
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}/api/v2"

    def got(self, text: str) -> bool:
        """Return whether a text was in anything that was sent."""
        return any(
            text in path or any(text in value for value in headers.values()) for path, headers in self.asked
        )


@contextmanager
def listening(answers: Answers, *, tls: ssl.SSLContext | None = None) -> Iterator[Listener]:
    """Serve such answers on loopback while the context lasts."""
    listener = Listener(scheme="https" if tls else "http")

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # the body would wait for the receipt of the headers, 40 ms an answer

        def do_GET(self) -> None:
            listener.asked.append((self.path, dict(self.headers)))
            status, headers, body = answers(self.path)
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # the client has seen enough

        do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 (http.server's names)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        listener.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield listener
        finally:
            server.shutdown()
            thread.join()


#: Writes an answer to a connection, piece by piece.
Writer = Callable[[socket.socket, bytes], None]


@contextmanager
def speaking(write: Writer) -> Iterator[str]:
    """Serve whatever a function writes to each connection, on loopback; give the base address.

    The function gets the connection and the head of the request. It may write without end: it is stopped.
    """
    stopped = threading.Event()

    def connection(sock: socket.socket) -> None:
        with sock, suppress(OSError):
            while not stopped.is_set():
                head = b""
                while b"\r\n\r\n" not in head:
                    if not (block := sock.recv(65536)):
                        return
                    head += block
                write(sock, head)

    def serve() -> None:
        while not stopped.is_set():
            with suppress(OSError):
                sock, _ = server.accept()
                sock.settimeout(GUARD)
                open_now.append(sock)
                threading.Thread(target=connection, args=(sock,), daemon=True).start()

    open_now: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/api/v2"
        finally:
            stopped.set()
            thread.join()
            for sock in open_now:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
