"""The files inside a file: compressed, zipped, tarred, one inside the other."""

from __future__ import annotations

import lzma
import posixpath
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, TypeAlias

from osdi_frames.archive import streams, tarred, zipped
from osdi_frames.archive.limits import Budget, Limits
from osdi_frames.archive.names import (
    ARCHIVES,
    COMPRESSED,
    is_lines,
    is_readable,
    printable,
    suffix,
)
from osdi_frames.archive.streams import Pieces, Reader, pieces_of
from osdi_frames.errors import OsdiError
from osdi_frames.problems import Place, Problem, ProblemKind, Severity

Handle: TypeAlias = Callable[[Problem], None]
Files: TypeAlias = Iterator[tuple[str, Reader]]

_GZIP = b"\x1f\x8b"
_HEAD = tarred.MAGIC_AT + len(tarred.MAGICS[0])
_SPACE = b" \t\r\n"
_UNBOUNDED = 4096  # bytes asked of a decompressor that yields what it likes

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


@dataclass(frozen=True, slots=True)
class reported:  # noqa: N801 (a context manager, used as a function)
    """Report what breaks inside the block as a problem of a file, and go on after it."""

    name: str
    handle: Handle

    def __enter__(self) -> None:
        """Enter."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Report an error of broken input; others pass, above all those that `handle` raised."""
        if not isinstance(error, BROKEN) or isinstance(error, OsdiError):
            return False
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.handle(unreadable(self.name, reason or type(error).__name__))
        return True


def unreadable(name: str, reason: str) -> Problem:
    """Describe a file of which not everything can be read."""
    return Problem(Place(name), ProblemKind.NO_FILE, reason)


def members(name: str, stream: Any, handle: Handle, budget: Budget, *, chosen: range | None = None) -> Files:
    """Yield every file of documents in a stream, decompressed; recognised by content, then by name.

    A member is named ``a.zip!inner/path.json``. What is broken is a problem; what came before it is yielded.
    Of a zip, `chosen` are the numbers of the members to yield, in the order of their names; problems of the zip
    as a whole are those of its first member.

    Raises
    ------
    LimitExceeded
        More than the budget was decompressed.
    """
    yield from _Unpacking(handle, budget, chosen).members(name, name, Reader(stream), 0)


def container(name: str, reader: Reader) -> Literal["zip", "other"] | None:
    """Return what a file is that holds others, by its first bytes, then by its name; None for a file of documents."""
    unpacking = _Unpacking(lambda _: None, Budget(Limits(), None))
    unpack = unpacking.unpacker(name, reader.peek(_HEAD))
    return None if unpack is None else "zip" if unpack == unpacking.zipped else "other"


@dataclass(frozen=True, slots=True)
class _Unpacking:
    """One file being unpacked."""

    handle: Handle
    budget: Budget
    chosen: range | None = None

    def members(self, name: str, content: str, reader: Reader, depth: int) -> Files:
        """Yield the files in a stream; `content` is its name without what was decompressed already."""
        head = reader.peek(_HEAD)
        unpack = self.unpacker(content, head)
        if unpack is None:
            if not head and (name != content or not is_lines(name)):
                self._empty(name)
            yield name, reader
        elif not head:
            self.handle(unreadable(name, f"empty, which no {suffix(content)} is"))
        elif depth == self.budget.limits.nesting:
            reason = f"more than {depth} containers inside one another (Limits.nesting)"
            self.handle(Problem(Place(name), ProblemKind.LIMIT, reason))
        else:
            yield from unpack(name, content, reader, depth + 1)

    def unpacker(self, content: str, head: bytes) -> Callable[[str, str, Reader, int], Files] | None:
        """Return what unpacks a file that begins so; None for one that holds no others."""
        last = suffix(content)
        if head.startswith(_GZIP):
            return self._gunzipped
        if head.startswith(streams.ZSTD_MAGIC) or head[1:4] == streams.ZSTD_SKIPPABLE:
            return self._unzstd
        if head.startswith(zipped.MAGICS):
            return self.zipped
        if head[tarred.MAGIC_AT : _HEAD] in tarred.MAGICS:
            return self._tarred
        # The beginning may be damaged; and whoever saved a decompressed file may have kept its name.
        if last in ARCHIVES and head.lstrip(_SPACE)[:1] not in (b"{", b"["):
            return self.zipped if last == ".zip" else self._tarred
        return self._gunzipped if last in COMPRESSED and not head else None

    def _gunzipped(self, name: str, content: str, reader: Reader, depth: int) -> Files:
        inner = Reader(Pieces(streams.gunzipped(reader), self.budget.spend))
        content = f"{content[:-4]}.tar" if suffix(content) == ".tgz" else _without(content, ".gz")
        yield from self.members(name, content, inner, depth)

    def _unzstd(self, name: str, content: str, reader: Reader, depth: int) -> Files:
        inner = Reader(Pieces(streams.unzstd(reader), self.budget.spend))
        yield from self.members(name, _without(content, ".zst"), inner, depth)

    def zipped(self, name: str, _: str, reader: Reader, depth: int) -> Files:
        """Yield the files in a zip."""
        links = _Links(name, self.handle)
        chosen = self.chosen if depth == 1 else None
        is_first = chosen is None or 0 in chosen
        with zipped.opened(reader) as archive:
            infos = zipped.infos(archive)
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
                        links.read.add(info.filename)
                        if chosen is None or number in chosen:
                            yield from self._zip_member(inner, archive, info, depth)
            if is_first and (differ := zipped.missing(archive)):
                self.handle(
                    unreadable(name, f"the index lists {-differ:+} members compared with the end record")
                )
        if is_first:
            links.report()

    def _zip_member(self, name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, depth: int) -> Files:
        bounded = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
        with zipped.content(archive, info) as member:
            pieces = pieces_of(member) if bounded else pieces_of(member, _UNBOUNDED)
            yield from self.members(name, name, Reader(Pieces(pieces, self.budget.spend)), depth)

    def _tarred(self, name: str, _: str, reader: Reader, depth: int) -> Files:
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
                links.read.add(info.name)
                count = self.budget.spend if info.issparse() else int
                with reported(inner, self.handle):
                    yield from self.members(inner, inner, Reader(Pieces(pieces_of(member), count)), depth)
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
        read = {_normal(name) for name in self.read}
        for link, target in self.targets.items():
            place, detail = Place(f"{self.name}!{printable(link)}"), f"a link to {printable(target)}"
            severity: Severity = "warning" if target in read else "error"
            self.handle(
                Problem(
                    place, ProblemKind.NO_FILE if severity == "error" else ProblemKind.LINK, detail, severity
                )
            )


def _compare_names(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
    """Raise BadZipFile where the index names a member otherwise than the member itself does.

    Else a damaged suffix would make a file of documents one of another type.
    """
    try:
        archive.open(info).close()
    except (NotImplementedError, RuntimeError):
        return  # of no matter for a file that is not read


def _normal(name: str) -> str:
    return posixpath.normpath(f"/{name}").lstrip("/")


def _without(name: str, last: str) -> str:
    return name[: -len(last)] if suffix(name) == last else name
