"""The files inside a file: compressed, zipped, tarred, one inside the other."""

from __future__ import annotations

import bz2
import contextlib
import copy
import lzma
import posixpath
import shutil
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, BinaryIO, Literal, TypeAlias, cast

from osdi_frames.archive import streams, tarred
from osdi_frames.archive.limits import Budget
from osdi_frames.archive.names import ARCHIVES, COMPRESSED, is_lines, is_readable, printable, suffix
from osdi_frames.archive.streams import Pieces, Reader, pieces_of
from osdi_frames.errors import OsdiError
from osdi_frames.problems import Place, Problem, ProblemKind

Handle: TypeAlias = Callable[[Problem], None]
Files: TypeAlias = Iterator[tuple[str, Reader]]

_GZIP = b"\x1f\x8b"
_HEAD = tarred.MAGIC_AT + len(tarred.MAGICS[0])
_SPACE = b" \t\r\n"
_UNBOUNDED = 4096  # bytes asked of a decompressor that yields what it likes
_IN_MEMORY = 64 << 20  # of a zip that is copied
#: How a zip begins; the second is that of one without members, and its end record.
_ZIP, _ZIP_END = b"PK\x03\x04", b"PK\x05\x06"
_END = struct.Struct("<4s4H2LH")  # the end record: signature, disks, members (here, in all), …
_END_REACH = _END.size + (1 << 16)  # it is followed by a comment

#: What opening, decompressing and unpacking raise on broken input.
BROKEN = (
    OSError,
    EOFError,
    ArithmeticError,
    LookupError,
    ValueError,
    RuntimeError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    streams.ZSTD_ERROR,
    tarfile.TarError,
    zipfile.BadZipFile,
)


@contextlib.contextmanager
def reported(name: str, handle: Handle) -> Iterator[None]:
    """Report what breaks inside the block as a problem of a file, and go on after it."""
    try:
        yield
    except OsdiError:  # above all those that `handle` raised
        raise
    except BROKEN as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        handle(unreadable(name, reason or type(error).__name__))


def unreadable(name: str, reason: str) -> Problem:
    """Describe a file of which not everything can be read."""
    return Problem(Place(name), ProblemKind.NO_FILE, reason)


def container(name: str, reader: Reader) -> Literal["gz", "zst", "zip", "tar"] | None:
    """Return what a file is that holds others, by its first bytes, then by its name; None for a file of documents."""
    head, last = reader.peek(_HEAD), suffix(name)
    if head.startswith(_GZIP):
        return "gz"
    if head.startswith(streams.ZSTD_MAGIC) or head[1:4] == streams.ZSTD_SKIPPABLE:
        return "zst"
    if head.startswith((_ZIP, _ZIP_END)):
        return "zip"
    if head[tarred.MAGIC_AT : _HEAD] in tarred.MAGICS:
        return "tar"
    # The beginning may be damaged; and whoever saved a decompressed file may have kept its name.
    if last in ARCHIVES and head.lstrip(_SPACE)[:1] not in (b"{", b"["):
        return "zip" if last == ".zip" else "tar"
    return "gz" if last in COMPRESSED and not head else None


@dataclass(frozen=True, slots=True)
class Unpacking:
    """One file being unpacked.

    A member is named ``a.zip!inner/path.json``. What is broken is a problem; what came before it is yielded.
    """

    handle: Handle
    budget: Budget
    chosen: range | None = None
    """Of a zip, the members to yield, in the order of their names; its first reports problems of it as a whole."""

    def members(self, name: str, reader: Reader, *, content: str | None = None, depth: int = 0) -> Files:
        """Yield every file of documents in a stream, decompressed.

        `content` is its name without what was decompressed already.

        Raises
        ------
        LimitExceeded
            More than the budget was decompressed.
        """
        content = content or name
        kind, is_empty = container(content, reader), not reader.peek(1)
        if kind is None:
            if is_empty and (name != content or not is_lines(name)):
                self._empty(name)
            yield name, reader
        elif is_empty:
            self.handle(unreadable(name, f"empty, which no {suffix(content)} is"))
        elif depth == self.budget.limits.nesting:
            reason = f"more than {depth} containers inside one another (Limits.nesting)"
            self.handle(Problem(Place(name), ProblemKind.LIMIT, reason))
        elif kind == "zip":
            yield from self._zipped(name, reader, depth)
        elif kind == "tar":
            yield from self._tarred(name, reader, depth)
        else:
            pieces = streams.gunzipped(reader) if kind == "gz" else streams.unzstd(reader)
            inner, last = Reader(Pieces(pieces, self.budget.spend)), suffix(content)
            if last == ".tgz":
                content = f"{content[:-4]}.tar"
            elif last == f".{kind}":
                content = content[: -len(last)]
            yield from self.members(name, inner, content=content, depth=depth + 1)

    def _zipped(self, name: str, reader: Reader, depth: int) -> Files:
        links = _Links(name, self.handle)
        chosen = None if depth else self.chosen
        is_first = chosen is None or 0 in chosen
        with opened_zip(reader) as archive:
            infos = zip_infos(archive)
            if not infos:
                self._empty(name)
            for number, info in enumerate(infos):
                inner = f"{name}!{printable(info.filename)}"
                with reported(inner, self.handle):
                    if stat.S_ISLNK(info.external_attr >> 16) and is_readable(info.filename):
                        with archive.open(info) as member:
                            links.add(info.filename, member.read(_UNBOUNDED).decode())
                    elif info.is_dir() or not is_readable(info.filename):
                        if is_first:
                            _compare_names(archive, info)
                    else:
                        links.read.add(_normal(info.filename))
                        if chosen is None or number in chosen:
                            yield from self._zip_member(inner, archive, info, depth)
            if is_first and (differ := _missing(archive)):
                self.handle(
                    unreadable(name, f"the index lists {-differ:+} members compared with the end record")
                )
        if is_first:
            links.report()

    def _zip_member(self, name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, depth: int) -> Files:
        bounded = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
        with _zip_content(archive, info) as member:
            pieces = pieces_of(member) if bounded else pieces_of(member, _UNBOUNDED)
            yield from self.members(name, Reader(Pieces(pieces, self.budget.spend)), depth=depth + 1)

    def _tarred(self, name: str, reader: Reader, depth: int) -> Files:
        links = _Links(name, self.handle)
        empty = True
        for info, member in tarred.entries(reader, lambda reason: self.handle(unreadable(name, reason))):
            empty = False
            if not is_readable(info.name) or info.isdir():
                continue
            inner = f"{name}!{printable(info.name)}"
            if info.issym():
                links.add(info.name, info.linkname)
            elif info.islnk():
                links.add(info.name, f"/{info.linkname}")
            elif member is None:
                self.handle(unreadable(inner, "not a regular file"))
            else:
                links.read.add(_normal(info.name))
                count = self.budget.spend if info.issparse() else int
                with reported(inner, self.handle):
                    yield from self.members(inner, Reader(Pieces(pieces_of(member), count)), depth=depth + 1)
        if empty:
            self._empty(name)
        links.report()

    def _empty(self, name: str) -> None:
        self.handle(Problem(Place(name), ProblemKind.EMPTY_FILE, "holds no document", "warning"))


@dataclass(frozen=True, slots=True)
class _Links:
    """The links among the members of a container: what they lead to is either read itself, or lost."""

    name: str
    handle: Handle
    read: set[str] = field(default_factory=set)
    targets: dict[str, str] = field(default_factory=dict)

    def add(self, link: str, target: str) -> None:
        """Add a link; what it leads to is relative to its folder, or begins with a slash."""
        self.targets[link] = _normal(posixpath.join("/", posixpath.dirname(link), target))

    def report(self) -> None:
        """Report the links, those to members that are read as warnings."""
        for link, target in self.targets.items():
            place, detail = Place(f"{self.name}!{printable(link)}"), f"a link to {printable(target)}"
            if target in self.read:
                self.handle(Problem(place, ProblemKind.LINK, detail, "warning"))
            else:
                self.handle(Problem(place, ProblemKind.NO_FILE, detail))


@contextlib.contextmanager
def opened_zip(reader: Reader) -> Iterator[zipfile.ZipFile]:
    """Open a zip, from a copy where the stream is not seekable: its index is at its end."""
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spooled:
        if not reader.seekable():
            shutil.copyfileobj(reader, spooled)
        with zipfile.ZipFile(cast("BinaryIO", reader if reader.seekable() else spooled)) as archive:
            yield archive


def zip_infos(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members in the order in which they are read: that of their names."""
    return sorted(archive.infolist(), key=lambda info: info.filename)


@contextlib.contextmanager
def _zip_content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
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


def _missing(archive: zipfile.ZipFile) -> int:
    """Return how many members more (or, if negative, less) the end record counts than the index lists.

    zipfile reads what is left of a damaged index without comparing.
    """
    file = cast("BinaryIO", archive.fp)
    end = file.seek(0, 2)
    file.seek(max(0, end - _END_REACH))
    tail = file.read(_END_REACH)
    at = tail.rfind(_ZIP_END)
    counted: int = _END.unpack_from(tail, at)[4]
    return 0 if counted == 0xFFFF else counted - (len(archive.infolist()) & 0xFFFF)


def _compare_names(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    """Raise BadZipFile where the index names a member otherwise than the member itself does.

    Else a damaged suffix would make a file of documents one of another type.
    """
    with contextlib.suppress(NotImplementedError, RuntimeError):  # of no matter for a file that is not read
        archive.open(info).close()


def _normal(name: str) -> str:
    return posixpath.normpath(f"/{name}").lstrip("/")
