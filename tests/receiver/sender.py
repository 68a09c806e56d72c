"""A sender of deliveries over raw sockets, light enough to load a receiver on the same machine."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.clocks import GUARD

TOKEN = "a-token-that-only-the-tests-know"  # noqa: S105 (it opens nothing)


def delivery(number: int, *, padding: int = 1400) -> bytes:
    """Make a delivery of one signature, about as large as the service's."""
    signature = {
        "identifiers": [f"action_network:signature-{number}"],
        "created_date": "2026-11-21T10:42:07Z",
        "comments": hashlib.shake_128(b"%d" % number).hexdigest(padding // 2),
        "person": {
            "given_name": "Ann",
            "email_addresses": [{"primary": True, "address": f"p{number}@x.org"}],
        },
        "_links": {"osdi:person": {"href": f"https://x.org/api/v2/people/person-{number}"}},
    }
    return json.dumps([{"osdi:signature": signature, "idempotency_key": f"key-{number}"}]).encode()


def request(body: bytes, *, path: str = f"/{TOKEN}", headers: str = "") -> bytes:
    """Write a whole request."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


class Connection(asyncio.Protocol):
    """One keep-alive connection; a request at a time, answered with its status, 0 when it was cut off."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[int] | None = None
        self._data = b""
        self.open = True

    @classmethod
    async def to(cls, port: int) -> Connection:
        _, connection = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, found, rest = self._data.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        if len(rest) >= length:
            self._data = b""
            if b"connection: close" in head:
                self.close()
            self._resolve(int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        self.close()
        self._resolve(0)

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def send(self, data: bytes) -> int:
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        async with asyncio.timeout(GUARD):
            return await self._answer if self.open else 0

    def close(self) -> None:
        self.open = False
        self._transport.close()

    def _resolve(self, status: int) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_result(status)


@dataclass
class Outcome:
    """What a load was answered, and how long after the moment at which each was due."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list, repr=False)

    def percentile(self, share: float) -> float:
        return sorted(self.seconds)[int(len(self.seconds) * share)]

    def __str__(self) -> str:
        shown = ", ".join(f"p{100 * p:g} {1000 * self.percentile(p):.1f} ms" for p in (0.5, 0.99, 0.999))
        return f"{dict(self.statuses)} {shown}, longest {1000 * max(self.seconds):.1f} ms"


async def offer(
    port: int, *, rate: float, seconds: float, body: Callable[[int], bytes] = delivery
) -> Outcome:
    """Offer deliveries at a steady rate, whatever is answered; time counts from when each was due."""
    outcome = Outcome()
    loop = asyncio.get_running_loop()
    idle: list[Connection] = [await Connection.to(port) for _ in range(16)]
    tasks: set[asyncio.Task[None]] = set()

    async def one(number: int, due: float) -> None:
        while idle and not idle[-1].open:
            idle.pop()
        connection = idle.pop() if idle else await Connection.to(port)
        status = await connection.send(request(body(number)))
        outcome.statuses[status] += 1
        outcome.seconds.append(loop.time() - due)
        idle.append(connection)

    start = loop.time()
    for number in range(int(rate * seconds)):
        due = start + number / rate
        if (wait := due - loop.time()) > 0.001:
            await asyncio.sleep(wait)
        task = asyncio.ensure_future(one(number, due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    for connection in idle:
        connection.close()
    return outcome
