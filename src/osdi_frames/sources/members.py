"""OpenedFiles inside containers: compressed, zipped, tarred, nested."""

from __future__ import annotations

import contextlib
import io
import shutil
import stat
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import IO, Any, BinaryIO, Self, TypeAlias, cast

from osdi_frames.durable import naming
from osdi_frames.problems import Place, Problem, ProblemKind, file_name
from osdi_frames.sources.file_kinds import (
    COMPRESSED_TARS,
    HEAD,
    UNPACK,
    ZIP_END,
    container,
    holds_documents,
    is_ignored,
    is_lines,
    suffix,
    without_suffix,
)
from osdi_frames.sources.files import BROKEN, Handle, reported, unread, unreadable
from osdi_frames.sources.limits import Budget
from osdi_frames.sources.streams import BufferedStream, Pieces, pieces_of

OpenedFiles: TypeAlias = Iterator[tuple[str, BufferedStream]]

_END = struct.Struct("<4s4H2LH")  # the end record: signature, disks, members (here, in all), …
_END_REACH = _END.size + (1 << 16)  # it is followed by a comment
_ZIP_IN_MEMORY = 64 << 20  # of one that is copied
_LONGEST = 1 << 20  # bytes of a tar's long name or pax records, which tarfile reads at once
_LONG = (b"x", b"g", b"X", b"L", b"K")  # types of these: of pax (one file's, all files', Solaris') and of GNU
_NO_FILE = "a link, pipe or device"


@dataclass(frozen=True, slots=True)
class Unpacking:
    """One file being unpacked, whose members are named ``a.zip!inner/path.json``.

    What is broken is a problem; what came before it is yielded.
    """

    handle: Handle
    budget: Budget

    def members(
        self, name: str, reader: BufferedStream, *, content: str | None = None, depth: int = 0
    ) -> OpenedFiles:
        """Yield every file of documents in a stream, decompressed.

        `content` is its name without what was decompressed already.

        Raises
        ------
        LimitExceeded
            More than the budget was decompressed.
        """
        content = content or name
        kind = container(content, reader.peek())
        if kind is None:
            if not reader.peek(1) and (name != content or not is_lines(name)):
                self._empty(name)
            yield name, reader
        elif depth == self.budget.limits.nesting:
            reason = f"more than {depth} containers inside one another (Limits.nesting)"
            self.handle(Problem(Place(name), ProblemKind.LIMIT, reason))
        elif kind == "zip":
            yield from self._zipped(name, reader, depth)
        elif kind == "tar":
            yield from self._tarred(name, reader, depth)
        else:
            if (last := suffix(content)) in COMPRESSED_TARS or last == f".{kind}":
                content = f"{without_suffix(content)}{'.tar' if last in COMPRESSED_TARS else ''}"
            yield from self._inside(name, UNPACK[kind](reader), depth, content=content)

    def _inside(
        self, name: str, pieces: Iterator[bytes], depth: int, *, content: str | None = None
    ) -> OpenedFiles:
        inner = BufferedStream(Pieces(pieces, self.budget.spend))
        yield from self.members(name, inner, content=content, depth=depth + 1)

    def _zipped(self, name: str, reader: BufferedStream, depth: int) -> OpenedFiles:
        with _opened_zip(reader) as archive:
            infos = sorted(archive.infolist(), key=lambda info: info.filename)
            for info in infos:
                inner = f"{name}!{file_name(info.filename)}"
                with reported(inner, self.handle):
                    if info.is_dir() or not holds_documents(info.filename, partial(_head, archive, info)):
                        _compare_names(archive, info)
                        self._pass_over(inner, info.filename, is_file=not info.is_dir())
                    else:
                        with _opened_member(archive, info) as member:
                            yield from self._inside(inner, pieces_of(member), depth)
            if not infos:
                self._empty(name)
            if len(infos) != (counted := _counted(archive)):
                reason = f"the index lists {len(infos):,} members, and the end record {counted:,}"
                self.handle(unreadable(name, reason))

    def _tarred(self, name: str, reader: BufferedStream, depth: int) -> OpenedFiles:
        is_empty = True
        for info, member in _tar_members(reader):
            is_empty = False
            inner = f"{name}!{file_name(info.name)}"
            pieces = pieces_of(member or io.BytesIO())
            content = BufferedStream(Pieces(pieces, self.budget.spend if info.issparse() else int))
            with reported(inner, self.handle):
                if info.isdir() or not holds_documents(info.name, content.peek):
                    self._pass_over(inner, info.name, is_file=info.isfile())
                elif member is None:
                    self.handle(unreadable(inner, _NO_FILE))
                else:
                    yield from self.members(inner, content, depth=depth + 1)
        if is_empty:
            self._empty(name)

    def _pass_over(self, name: str, inside: str, *, is_file: bool) -> None:
        if is_file and not is_ignored(inside):
            self.handle(unread(name, inside))

    def _empty(self, name: str) -> None:
        self.handle(Problem(Place(name), ProblemKind.EMPTY_FILE, "holds no document", "warning"))


@contextlib.contextmanager
def _opened_zip(reader: BufferedStream) -> Iterator[zipfile.ZipFile]:
    """Open a zip; if the stream is not seekable, a copy of it, since the index is at the end."""
    with tempfile.SpooledTemporaryFile(max_size=_ZIP_IN_MEMORY) as spooled:
        if not reader.seekable():
            with naming(tempfile.gettempdir()):
                shutil.copyfileobj(reader, spooled)
        with zipfile.ZipFile(cast("BinaryIO", reader if reader.seekable() else spooled)) as archive:
            yield archive


def _head(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with contextlib.suppress(*BROKEN), _opened_member(archive, info) as member:
        return member.read(HEAD)
    return b""


def _opened_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a member that is stored or deflated: of bz2 and lzma zipfile decompresses more at once than any limit."""
    if stat.S_ISLNK(info.external_attr >> 16):
        raise ValueError(_NO_FILE)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotImplementedError("neither stored nor deflated")
    return archive.open(info)


def _counted(archive: zipfile.ZipFile) -> int:
    """Return the number of members by the end record, or that of zipfile if the record cannot hold it.

    Of a damaged index, zipfile reads what is left without comparing.
    """
    file = cast("BinaryIO", archive.fp)
    file.seek(max(0, file.seek(0, 2) - _END_REACH))
    tail = file.read()
    counted: int = _END.unpack_from(tail, tail.rfind(ZIP_END))[4]
    return counted if counted < 0xFFFF else len(archive.filelist)


def _compare_names(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    """Raise BadZipFile if the name of a member differs in the index and in its header.

    Else a damaged suffix would make a file of documents one of another type.
    """
    with contextlib.suppress(NotImplementedError, RuntimeError):  # of no matter for a file that is not read
        archive.open(info).close()


def _tar_members(reader: BufferedStream) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Yield the members of a tar in their order, files with their content, to be read before the next member.

    Raises
    ------
    ValueError
        No header is where one is due, or the end marker is missing. What came before was yielded.
    """
    available: Any = SimpleNamespace(read=reader.read1)  # `read` loses what precedes a break in a block

    class Header(_Header):
        """The headers of this tar: tarfile takes a class, which holds what was read."""

    opened: Any = tarfile.TarFile.open
    with opened(fileobj=available, mode="r|", ignore_zeros=True, tarinfo=Header) as archive:
        while info := archive.next():
            archive.members.clear()  # tarfile keeps them to look names up
            yield info, archive.extractfile(info) if info.isfile() else None
    if not Header.ended:
        raise ValueError("truncated: the end marker is missing")


class _Header(tarfile.TarInfo):
    """A header that raises an error where `ignore_zeros` would pass over damaged blocks in silence."""

    ended = False
    """Whether the last block read was one of an end marker."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        cls.ended = not any(buf) and (len(buf) == tarfile.BLOCKSIZE or (not buf and cls.ended))
        try:
            info = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if any(buf):
                raise ValueError(f"{error} where a member is due; the rest of the tar is not read") from None
            raise
        if info.size < 0 or (info.type in _LONG and info.size > _LONGEST):
            raise ValueError("a member of impossible size; the rest of the tar is not read")
        return info
