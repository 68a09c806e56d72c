"""Byte streams: buffered, counted, fetched ahead, decompressed.

Decompression of gzip and zstd yields everything before the byte at which a stream breaks.
"""

from __future__ import annotations

import bz2
import io
import lzma
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any, BinaryIO, TypeAlias, TypeVar, cast

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
#: A magic number that ends so, in any of 16 forms, begins a frame without content.
ZSTD_SKIPPABLE = b"\x2a\x4d\x18"

#: What reading and decompressing raise on broken input.
CORRUPT = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zstd.ZstdError)

_BLOCK = 1 << 16  # bytes that a reader buffers
_PIECE = 1 << 20  # bytes decompressed at once
_MEMORY = 256 << 20  # bytes that an xz may take for its dictionary; `xz -9` needs 65 MiB
_FIRST = 512  # bytes that the first read returns at least, so that a container is recognised

Item = TypeVar("Item")
Result = TypeVar("Result")
_Decompressor: TypeAlias = bz2.BZ2Decompressor | lzma.LZMADecompressor


class BufferedStream(io.BufferedReader):
    """A buffered reader that leaves its stream open for whoever opened it to close."""

    def __init__(self, raw: BinaryIO | io.RawIOBase) -> None:
        super().__init__(cast("io.RawIOBase", raw), _BLOCK)

    def close(self) -> None:
        """Do nothing; garbage collection calls it, too."""


class Pieces(io.RawIOBase):
    """A stream of pieces of bytes; `count` is called with the size of each.

    An error of `pieces` or `count` is raised only after everything before it was read.
    """

    def __init__(self, pieces: Iterator[bytes], count: Callable[[int], object] = int) -> None:
        self._pieces, self._count = pieces, count
        self.received = 0
        self._rest = memoryview(b"")
        self._least = _FIRST

    def readable(self) -> bool:  # noqa: D102 (as declared)
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the stub's Buffer has no len
        """Read what is left of a piece, or the next; the first time, as many as `_FIRST` bytes take."""
        least, self._least = min(self._least, len(buffer)), 1
        size = 0
        while size < least and (self._rest or self._next(size)):
            end = min(len(buffer), size + len(self._rest))
            buffer[size:end] = self._rest[: end - size]
            self._rest, size = self._rest[end - size :], end
        return size

    def _next(self, size: int) -> bool:
        try:
            piece = next(self._pieces, None)
            self._count(len(piece or b""))
        except Exception as error:
            if not size:
                raise
            self._pieces = _raising(error)
            return False
        self._rest = memoryview(piece or b"")
        self.received += len(self._rest)
        return piece is not None


def _raising(error: Exception) -> Iterator[bytes]:
    yield b""
    raise error


def pieces_of(stream: Any, size: int = _PIECE) -> Iterator[bytes]:
    """Yield the bytes of a file-like object in pieces."""
    while piece := stream.read(size):
        yield piece


def ahead(
    function: Callable[[Item], Result], items: Iterable[Item], count: int, executor: Executor | None = None
) -> Iterator[Callable[[], Result]]:
    """Call a function on some items ahead, in threads or by an executor; yield what returns each result, in order.

    >>> [result() for result in ahead(len, ["a", "bc", ""], 2)]
    [1, 2, 0]
    """
    waiting: deque[Future[Result]] = deque()
    pool = executor or ThreadPoolExecutor(count, thread_name_prefix="osdi-frames-ahead")
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > count:
                yield waiting.popleft().result
        while waiting:
            yield waiting.popleft().result
    finally:
        for future in waiting:
            future.cancel()
        pool.shutdown(wait=False)


def gunzipped(reader: BufferedStream) -> Iterator[bytes]:
    """Yield every byte of a gzip stream before a break, then raise the error.

    The reader of the standard library keeps what it had decompressed of the block that breaks off.
    """
    data, is_more = b"", True
    while is_more:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            data = data or reader.read1()
            if not data:
                raise EOFError("truncated gzip")
            before = member.copy()
            try:
                piece = member.decompress(data, _PIECE)
            except zlib.error:
                for at in range(len(data)):  # up to the byte at which it breaks, which raises again
                    yield before.decompress(data[at : at + 1])
                raise
            yield piece
            data = member.unconsumed_tail
        # The rest is unused_data alone: zlib can leave it in unconsumed_tail, too.
        data = _after_padding(member.unused_data, reader)
        is_more = bool(data)


def _after_padding(data: bytes, reader: BufferedStream) -> bytes:
    """Return what follows a compressed stream and its padding: another stream, or nothing."""
    data = data.lstrip(b"\0")
    while not data and (padding := reader.read1()):
        data = padding.lstrip(b"\0")
    return data


def unbzip2(reader: BufferedStream) -> Iterator[bytes]:
    """Yield the bytes of a bzip2 stream; up to a mebibyte before a break is lost."""
    return _decompressed(reader, bz2.BZ2Decompressor, "bzip2")


def unxz(reader: BufferedStream) -> Iterator[bytes]:
    """Yield the bytes of an xz stream; up to a mebibyte before a break is lost."""
    return _decompressed(reader, partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, _MEMORY), "xz")


def _decompressed(
    reader: BufferedStream, decompressor: Callable[[], _Decompressor], name: str
) -> Iterator[bytes]:
    data, is_more = b"", True
    while is_more:
        stream = decompressor()
        while not stream.eof:
            if stream.needs_input and not (data := data or reader.read1()):
                raise EOFError(f"truncated {name}")
            yield stream.decompress(data, _PIECE)
            data = b""
        data = _after_padding(stream.unused_data, reader)
        is_more = bool(data)


def unzstd(reader: BufferedStream) -> Iterator[bytes]:
    """Yield every block of a zstd stream before a break, then raise the error.

    A decompressor drops what it made of the input in which it finds an error, so it is fed block by block
    (RFC 8878, 3.1.1).
    """
    magic = _exactly(reader, 4)
    while magic:
        if magic == ZSTD_MAGIC:
            yield from _frame(reader)
        elif magic[1:] == ZSTD_SKIPPABLE and magic[0] >> 4 == 5:
            left = int.from_bytes(_exactly(reader, 4), "little")
            while left:
                left -= len(_exactly(reader, min(left, _PIECE)))
        else:
            raise zstd.ZstdError("what follows is not a zstd frame")
        magic = reader.read(4)


def _frame(reader: BufferedStream) -> Iterator[bytes]:
    descriptor = _exactly(reader, 1)
    flags = descriptor[0]
    single = flags >> 5 & 1
    header = (1 - single) + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]
    decompressor = zstd.ZstdDecompressor()
    decompressor.decompress(ZSTD_MAGIC + descriptor + _exactly(reader, header))
    last = False
    while not last:
        head = _exactly(reader, 3)
        value = int.from_bytes(head, "little")
        last, kind, size = bool(value & 1), value >> 1 & 3, value >> 3
        yield decompressor.decompress(head + _exactly(reader, 1 if kind == 1 else size))
    if flags >> 2 & 1:
        yield decompressor.decompress(_exactly(reader, 4))


def _exactly(reader: BufferedStream, size: int) -> bytes:
    data = reader.read(size)
    if len(data) < size:
        raise EOFError("truncated zstd")
    return data
