"""Sockets to listen on, and which hosts are this machine."""

from __future__ import annotations

import errno
import socket
from ipaddress import ip_address

from osdi_frames.messages import shorten

#: Callers that wait to be accepted instead of being refused.
BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """Listen on an address; port 0 is any.

    Raises
    ------
    OSError
        It cannot be listened on; the message names the address.
    """
    # asyncio sets TCP_NODELAY only where the protocol's number is given; without it each answer waits 40 ms
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # Windows lets several programs share a port that is to be reused, unless one asks for it alone.
    option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    listener.setsockopt(socket.SOL_SOCKET, option, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        hint = "; --port takes another one" if error.errno in (errno.EADDRINUSE, errno.EACCES) else ""
        raise OSError(error.errno, f"{shorten(host)}:{port}: {error.strerror}{hint}") from None
    return listener


def is_loopback(host: str | None) -> bool:
    """Return whether a host is this machine.

    >>> is_loopback("localhost"), is_loopback("127.8.0.1"), is_loopback("[::1]"), is_loopback("127.0.0.1.example.org")
    (True, True, True, False)
    """
    try:
        return ip_address((host or "").strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
