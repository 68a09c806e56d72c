"""The files inside a file: compressed, zipped, tarred, one in the other."""

from __future__ import annotations

import contextlib
import io
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import BinaryIO, cast

import pyarrow as pa

from osdi_frames.problems import Place, Problem

#: Names of files that hold documents; in folders and archives, all others are passed over.
DOCUMENTS = frozenset({".json", ".jsonl", ".ndjson"})
COMPRESSED = frozenset({".gz", ".zst"})
ARCHIVES = frozenset({".zip", ".tar", ".tgz"})


_GZIP, _ZSTD, _ZIP, _TAR = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"ustar"
_TAR_AT = 257  # where a tar's magic stands
_BLOCK = 1 << 16

#: What decompressing and unpacking raise on broken input.
BROKEN = (
    OSError,
    EOFError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
)


class Reader(io.BufferedReader):
    """A buffered reader that leaves what it reads from open: whoever opened that closes it."""

    def close(self) -> None:
        """Do nothing; a reader closes its file when it is thrown away, too."""

    def seekable(self) -> bool:
        """Tell whether it can be sought in; a member of a tar read as a stream fails to say that it cannot."""
        try:
            return super().seekable()
        except AttributeError:
            return False


def is_readable(name: str) -> bool:
    """Tell by its name whether a file of a folder or archive holds documents.

    >>> [is_readable(name) for name in ("a.ndjson.gz", "b.tar.gz", ".hidden.json", "notes.txt")]
    [True, True, False, False]
    """
    path = PurePosixPath(name)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    known = bool(suffixes) and suffixes[-1] in DOCUMENTS | ARCHIVES
    return known and not any(part.startswith(".") for part in path.parts)


def members(name: str, stream: BinaryIO, meet: Callable[[Problem], None]) -> Iterator[tuple[str, Reader]]:
    """Give every file of documents in a stream, decompressed; by their content, not their name.

    A member is named ``a.zip!inner/path.json``. What is broken is a problem; what came before it is given.
    """
    reader = Reader(cast("io.RawIOBase", stream), _BLOCK)
    head = reader.peek(_TAR_AT + len(_TAR))
    if head.startswith(_GZIP):
        yield from members(name, cast("BinaryIO", Gunzip(reader)), meet)
    elif head.startswith(_ZSTD):
        yield from members(name, pa.CompressedInputStream(reader, "zstd"), meet)
    elif head.startswith(_ZIP):
        yield from _zipped(name, reader, meet)
    elif head[_TAR_AT:].startswith(_TAR):
        yield from _tarred(name, reader, meet)
    else:
        yield name, reader


def _zipped(name: str, reader: Reader, meet: Callable[[Problem], None]) -> Iterator[tuple[str, Reader]]:
    with _seekable(reader) as file, zipfile.ZipFile(file) as archive:
        for info in sorted(archive.infolist(), key=lambda each: each.filename):
            if info.is_dir() or not is_readable(info.filename):
                continue
            inner = f"{name}!{info.filename}"
            try:
                with archive.open(info) as member:
                    yield from members(inner, cast("BinaryIO", member), meet)
            except BROKEN as error:
                meet(broken(inner, error))


@contextlib.contextmanager
def _seekable(reader: Reader) -> Iterator[BinaryIO]:
    """Give a zip's file as one that can be sought in: its index stands at its end."""
    if reader.seekable():
        yield cast("BinaryIO", reader)
        return
    with tempfile.SpooledTemporaryFile(max_size=_BLOCK << 10) as file:
        shutil.copyfileobj(reader, file)
        file.seek(0)
        yield cast("BinaryIO", file)


def _tarred(name: str, reader: Reader, meet: Callable[[Problem], None]) -> Iterator[tuple[str, Reader]]:
    # A stream, so members come in the order in which they stand.
    with tarfile.open(fileobj=reader, mode="r|") as archive:
        for info in archive:
            if not info.isfile() or not is_readable(info.name):
                continue
            member = archive.extractfile(info)
            if member is not None:
                yield from members(f"{name}!{info.name}", cast("BinaryIO", member), meet)


def broken(name: str, error: BaseException) -> Problem:
    """Describe a file of which not everything could be read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Problem(Place(name), "unreadable file", reason or type(error).__name__)


class Gunzip(io.RawIOBase):
    """A gzip stream that gives out every byte before a break, and raises only then.

    The standard library's reader keeps back what it had decompressed of the block that breaks off.
    """

    def __init__(self, raw: Reader) -> None:
        self._raw = raw
        self._member = zlib.decompressobj(wbits=31)
        self._input = b""
        self._started = False

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the stub's Buffer has no len
        """Give what can be decompressed next, at most as much as fits."""
        while True:
            if self._member.eof:
                # More than one member, perhaps padded with zeros. The rest is unused_data alone: zlib can
                # leave it in unconsumed_tail, too.
                self._input = self._member.unused_data.lstrip(b"\0") or self._raw.read1().lstrip(b"\0")
                if not self._input:
                    return 0
                self._member, self._started = zlib.decompressobj(wbits=31), False
            if not self._input:
                self._input = self._raw.read1()
                if not self._input:
                    raise EOFError("truncated gzip")
            data = self._member.decompress(self._input, len(buffer))
            self._input = self._member.unconsumed_tail
            if data:
                buffer[: len(data)] = data
                return len(data)
