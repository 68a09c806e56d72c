"""The members of a zip."""

from __future__ import annotations

import bz2
import contextlib
import copy
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from typing import IO, BinaryIO, cast

from osdi_frames.archive.streams import Reader

#: How a zip begins; the second is that of one without members.
MAGICS = (b"PK\x03\x04", b"PK\x05\x06")

_IN_MEMORY = 64 << 20
_END = struct.Struct("<4s4H2LH")  # the end record: signature, disks, members (here, in all), …
_END_REACH = _END.size + (1 << 16)  # it is followed by a comment


@contextlib.contextmanager
def opened(reader: Reader) -> Iterator[zipfile.ZipFile]:
    """Open a zip, from a copy where the stream is not seekable: its index is at its end.

    Raises
    ------
    zipfile.BadZipFile
        It has no valid index.
    """
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spooled:
        if not reader.seekable():
            shutil.copyfileobj(reader, spooled)
        with zipfile.ZipFile(cast("BinaryIO", reader if reader.seekable() else spooled)) as archive:
            yield archive


def infos(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members in the order in which they are read: that of their names."""
    return sorted(archive.infolist(), key=lambda info: info.filename)


@contextlib.contextmanager
def content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """Open a member.

    zipfile decompresses all at once that it reads of a bz2, which can be a gigabyte from a kilobyte; bz2 has
    its own checksums, so the member is opened as if it were stored.
    """
    if info.compress_type != zipfile.ZIP_BZIP2:
        with archive.open(info) as member:
            yield member
        return
    stored = copy.copy(info)
    stored.compress_type, stored.file_size = zipfile.ZIP_STORED, info.compress_size
    del stored.CRC
    with archive.open(stored) as member, bz2.BZ2File(member) as decompressed:
        yield cast("IO[bytes]", decompressed)


def missing(archive: zipfile.ZipFile) -> int:
    """Return how many members more (or, if negative, less) the end record counts than the index lists.

    zipfile reads what is left of a damaged index without comparing.
    """
    file = cast("BinaryIO", archive.fp)
    end = file.seek(0, 2)
    file.seek(max(0, end - _END_REACH))
    tail = file.read(_END_REACH)
    at = tail.rfind(b"PK\x05\x06")
    counted: int = _END.unpack_from(tail, at)[4]
    return 0 if counted == 0xFFFF else counted - (len(archive.infolist()) & 0xFFFF)
