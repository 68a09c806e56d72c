"""A source, and the stream of its documents."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

import numpy as np
import pyarrow as pa

from osdi_frames.document_forms import form_of
from osdi_frames.errors import InvalidSource, SourceWarning
from osdi_frames.messages import listed, quoted_path
from osdi_frames.problems import Place, Problem, ProblemKind, file_name, warn_caller
from osdi_frames.progress import bar
from osdi_frames.sources.file_kinds import TABLE_SUFFIXES, container, suffix
from osdi_frames.sources.files import SEALED, File, Handle, files, reported
from osdi_frames.sources.layout import LINE_1, Chunk, candidates, single
from osdi_frames.sources.limits import DEFAULT_LIMITS, Budget, LimitExceeded, Limits
from osdi_frames.sources.members import Unpacking
from osdi_frames.sources.payload_tables import is_table, refuse_exported, rows_of
from osdi_frames.sources.remote import Remote
from osdi_frames.sources.streams import BufferedStream, Pieces, ahead, pieces_of, zstd

if TYPE_CHECKING:
    import pandas as pd

Source: TypeAlias = (
    "str | os.PathLike[str] | BinaryIO | Mapping[str, Any] | Sequence[Any] | pd.Series | FilePartition"
)

_PIPE = 1 << 16  # bytes read from a pipe at once
_AHEAD = 16  # files behind addresses that are opened ahead
_DOCUMENTS = "documents are .json, .jsonl and .ndjson files, also compressed or in .zip and .tar"
_SMALL = 1 << 16  # bytes below which a file is read at once
_TOGETHER = 256  # documents of small files that become one Arrow array

_Single: TypeAlias = tuple[str, bytes]  # the name of a file, and the document that is all of it


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or a range of its bytes."""

    file: File
    start: int = 0
    stop: int | None = None
    line: int = 1  # on which the range begins
    inode: int | None = None
    """Of the file that a range was found in, if that is known: another under its name has other bytes."""

    @property
    def name(self) -> str:
        """The name of the file in rows and problems."""
        return file_name(str(self.file))

    @property
    def size(self) -> int:
        """Its bytes, as far as they are known."""
        stop = self.stop
        if isinstance(self.file, Remote):
            stop = stop or self.file.size
        elif stop is None:
            with contextlib.suppress(OSError):  # a problem as soon as it is opened
                stop = os.stat(self.file).st_size
        return max(0, (stop or 0) - self.start)

    @property
    def is_range(self) -> bool:
        """Whether it is some bytes of a file of documents."""
        return self.start > 0 or self.stop is not None

    def open(self) -> BinaryIO:
        """Open it for reading; a range ends where it ends."""
        if isinstance(self.file, Remote):
            stream = self.file.open(self.stop)
        else:
            try:
                stream = self._local(self.file)
            except FileNotFoundError:
                # A receiver has sealed and compressed it since it was listed.
                if not os.path.exists(self.file + SEALED):
                    raise
                return self._sealed(self.file + SEALED)
        if self.start:
            stream.seek(self.start)
        return stream

    def _local(self, path: str) -> BinaryIO:
        stream = cast("BinaryIO", io.FileIO(path) if self.stop is None else _Until(path, self.stop))
        if self.inode not in (None, os.fstat(stream.fileno()).st_ino):
            stream.close()
            raise _replaced(path)
        return stream

    def _sealed(self, path: str) -> BinaryIO:
        if not self.is_range:
            return open(path, "rb", buffering=0)
        with zstd.open(path) as file:
            text = file.read()
        # An erasure that came with the sealing leaves each line where it was, but not each byte.
        begins = np.append(0, np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1)
        start = int(begins[self.line - 1]) if self.line <= len(begins) else len(text)
        if self.stop is None:
            return io.BytesIO(text[start:])
        if start != self.start or self.stop not in begins:
            raise _replaced(path)
        return io.BytesIO(text[start : self.stop])


def _replaced(path: str) -> OSError:
    return OSError(errno.ESTALE, "replaced by another file while it was read", path)


class _Until(io.FileIO):
    """A file up to a byte."""

    def __init__(self, path: str, stop: int) -> None:
        super().__init__(path)
        self._stop = stop

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the stub's Buffer has no len
        return super().readinto(memoryview(buffer)[: max(0, self._stop - self.tell())])


@dataclass(frozen=True, slots=True)
class FilePartition:
    """Files of an archive that are read alone.

    It is a source of every reader, in every process that reaches the files.
    Its rows are those that a reading of the whole archive yields of it, in the same order, except that elements are
    deduplicated within it only. It holds names and offsets, and can be pickled.
    """

    number: int
    """Its place in the archive, counted from 0."""
    parts: tuple[Part, ...] = field(repr=False)


def read(
    source: Source,
    handle: Handle,
    *,
    limits: Limits | None = None,
    progress: bool | None = None,
    quarantines: list[str] | None = None,
) -> Iterator[Chunk]:
    """Yield the candidates of a source, file by file.

    Files are read in the order of their names; `open` says what a source is.
    Files are listed before the first candidate is asked for. `handle` is called with each problem: a file or
    folder that cannot be read, or not to its end. `quarantines` takes the folders in which receivers keep bodies
    that are not deliveries; they are not read. With it, a SourceWarning says that there is nothing else, either.

    Raises
    ------
    SourceNotFound, InvalidSource
        As `files` says; also for a source that is something else, such as a frame.

    Examples
    --------
    >>> [chunk.documents.to_pylist() for chunk in read({"title": "March"}, print)]
    [[b'{"title": "March"}']]
    """
    _, streams, objects = ([], [], []) if isinstance(source, FilePartition) else sorted_out(source)
    if objects:
        return iter([_of_objects(objects)])
    if streams:
        return _of_streams(streams, handle, limits or DEFAULT_LIMITS)
    parts = parts_of(source, handle, quarantines=quarantines)
    return read_parts(parts, handle, limits=limits, progress=progress)


def parts_of(source: Source, handle: Handle, *, quarantines: list[str] | None = None) -> list[Part]:
    """Return the files of a source, in the order of reading; see `read`.

    Raises
    ------
    SourceNotFound, InvalidSource
        As `files` says; also for open files and parsed objects.
    """
    if isinstance(source, FilePartition):
        return [*source.parts]
    paths, *others = sorted_out(source)
    if any(others):
        raise InvalidSource("a store keeps what was parsed of files: the source is a path or an address")
    return [Part(file) for file in listed_files(paths, handle, quarantines)]


def listed_files(paths: Iterable[str], handle: Handle, quarantines: list[str] | None = None) -> list[File]:
    """Return what `files` returns; raise InvalidSource for a table without a column of what the service sent."""
    paths = list(paths)
    found = files(paths, handle, quarantines)
    tables = [file for file in found if suffix(str(file)) in TABLE_SUFFIXES]
    if tables or not found:
        refuse_exported(tables, paths)
    if quarantines == [] and paths and not found:
        where = quoted_path(file_name(paths[0])) if len(paths) == 1 else listed(map(file_name, paths))
        warn_caller(f"no documents in {where}: {_DOCUMENTS}", SourceWarning)
    return found


class JsonText(bytes):
    """The text of a document at hand; empty where a column has none."""

    __slots__ = ()


#: How JSON begins that a caller hands over as text; no path begins so.
_JSON = re.compile(r"\ufeff?\s*(?:\{|\[\s*[\[{\]\"])")


def at_hand(source: Any) -> Any:
    """Return a source with the texts of a column, or a list of JSON texts, as documents.

    >>> at_hand(["a.json"]), at_hand(['{"title": "March"}'])
    (['a.json'], [b'{"title": "March"}'])
    """
    is_column = hasattr(source, "dtype") and getattr(source, "ndim", 1) == 1
    if is_column or isinstance(source, pa.Array | pa.ChunkedArray):
        name = next(name for name in ("to_pylist", "tolist", "to_list") if hasattr(source, name))
        return [_json_text(entry) for entry in getattr(source, name)()]
    are_texts = isinstance(source, list | tuple) and all(
        isinstance(entry, str) and _JSON.match(entry) for entry in source
    )
    return [*map(_json_text, source)] if are_texts else source


def _json_text(entry: Any) -> JsonText:
    if isinstance(entry, bytes):
        return JsonText(entry)
    if isinstance(entry, str):
        return JsonText((entry if _JSON.match(entry) else json.dumps(entry)).encode("utf-8", "surrogatepass"))
    if (
        entry is None or entry != entry or not isinstance(entry, dict | list | int | float)
    ):  # NaN, and NA of pandas
        return JsonText()
    return JsonText(json.dumps(entry).encode())


def sorted_out(source: Source) -> tuple[list[str], list[BinaryIO], list[Any]]:
    """Return the paths, open files and objects of a source, which has only one of these kinds."""
    is_one = isinstance(source, str | os.PathLike | Mapping) or hasattr(source, "read")
    if isinstance(source, bytes | bytearray) or not (is_one or isinstance(source, Iterable)):
        raise _no_source(source, "; for bytes at hand: io.BytesIO(…)" if isinstance(source, bytes) else "")
    if any(hasattr(source, name) for name in ("__dataframe__", "__arrow_c_stream__", "dtype")):
        hint = 'osdi_frames.rsvps_by_campaign(events); a column of deliveries is read: open(frame["payload"])'
        raise _no_source(source, f"; reports and plots take frames: {hint}")
    items: list[Any] = [source] if is_one else list(cast("Iterable[Any]", source))
    if all(isinstance(item, str | os.PathLike) for item in items):
        return [os.fspath(item) for item in items], [], []
    if items and all(isinstance(item, JsonText) for item in items):
        return [], [], items
    if all(hasattr(item, "read") for item in items):
        if any(isinstance(item, io.TextIOBase) for item in items):
            raise InvalidSource("open the file in binary mode: open(path, 'rb')")
        return [], items, []
    is_list = any(isinstance(item, list) or form_of(item).kind != "undecided" for item in items)
    return [], [], items if is_one or is_list else [items]  # anything else is one delivery


def _no_source(source: object, hint: str = "") -> InvalidSource:
    what = type(source).__name__
    return InvalidSource(f"a source is a path, an open binary file, or parsed JSON, not {what}{hint}")


def _of_objects(objects: Sequence[Any]) -> Chunk:
    try:
        texts = [
            document if isinstance(document, JsonText) else json.dumps(document).encode()
            for document in objects
        ]
    except TypeError as error:
        raise _no_source(objects, f" with other values: {error}") from error
    lines = np.flatnonzero([len(text) for text in texts]) + 1
    documents = pa.array(filter(None, texts), pa.binary())
    return Chunk(None, documents, lines, sum(map(len, texts)))


def read_parts(
    parts: Sequence[Part], handle: Handle, *, limits: Limits | None = None, progress: bool | None = None
) -> Iterator[Chunk]:
    """Yield the candidates of files; behind addresses, open some ahead, and fetch them if they are small."""
    limits = limits or DEFAULT_LIMITS
    is_remote = any(isinstance(part.file, Remote) for part in parts)
    opened = ahead(Part.open, parts, _AHEAD) if is_remote else (part.open for part in parts)
    with bar("reading", progress, unit="B") as done:
        if not done.disable:
            done.total = sum(part.size for part in parts)  # `reset` would show the bar at once
        found = (_of_part(*each, handle, limits, done) for each in zip(parts, opened, strict=True))
        yield from _together(itertools.chain.from_iterable(found))


def _together(found: Iterable[Chunk | _Single]) -> Iterator[Chunk]:
    """Yield chunks; combine single documents into one array, since an array for each would take time."""
    singles: list[_Single] = []
    try:
        for item in found:
            if isinstance(item, Chunk):
                yield from _emptied(singles)
                yield item
            else:
                singles.append(item)
                if len(singles) == _TOGETHER:
                    yield from _emptied(singles)
    except Exception:
        yield from _emptied(singles)
        raise
    yield from _emptied(singles)


def _emptied(singles: list[_Single]) -> Iterator[Chunk]:
    if singles:
        documents = pa.array([document for _, document in singles], pa.binary())
        for at, (name, document) in enumerate(singles):
            yield Chunk(name, documents.slice(at, 1), LINE_1, len(document))
        singles.clear()


def _of_part(
    part: Part, opener: Callable[[], BinaryIO], handle: Handle, limits: Limits, done: Any
) -> Iterator[Chunk | _Single]:
    name, before = part.name, done.n
    if name != str(part.file) and not part.start:
        handle(Problem(Place(name), ProblemKind.FILE_NAME, "shown with escapes", "warning"))
    with reported(name, handle), opener() as stream:
        chunks: Iterable[Chunk | _Single]
        if part.is_range:
            chunks = candidates(name, BufferedStream(stream), limits, handle, line=part.line)
        elif document := _single(name, stream, limits):
            chunks = [(name, document)]
        else:
            chunks = _of_stream(name, stream, handle, limits)
        for chunk in chunks:
            yield chunk
            if not done.disable and stream.seekable():  # by what is read of a file, compressed or not
                done.update(before + stream.tell() - part.start - done.n)
    if not done.disable:
        done.update(before + part.size - done.n)


def _single(name: str, stream: BinaryIO, limits: Limits) -> bytes | None:
    """Return the only document of a small file; None for other files, which are rewound."""
    if not stream.seekable():
        return None
    with contextlib.suppress(OSError):  # `candidates` yields what comes before it
        data = stream.read(_SMALL)
        is_small = len(data) < min(_SMALL, limits.document_bytes) and not stream.read(1)
        if is_small and container(name, data) is None and (document := single(name, data)):
            return document
    stream.seek(0)
    return None


def _of_streams(streams: Sequence[BinaryIO], handle: Handle, limits: Limits) -> Iterator[Chunk]:
    for stream in streams:
        name = file_name(str(getattr(stream, "name", "<file>")))
        with reported(name, handle), _returned(stream):
            yield from _of_stream(name, stream, handle, limits)


@contextlib.contextmanager
def _returned(stream: BinaryIO) -> Iterator[None]:
    """Rewind an open file afterwards, since an archive can be read again."""
    position = stream.tell() if stream.seekable() else None
    try:
        yield
    finally:
        if position is not None and not stream.closed:
            stream.seek(position)


def _of_stream(name: str, stream: BinaryIO, handle: Handle, limits: Limits) -> Iterator[Chunk]:
    """Yield the candidates of a file, and inside it."""
    raw = stream if stream.seekable() else Pieces(pieces_of(stream, _PIPE))
    unpacking = Unpacking(handle, Budget(limits, partial(_size, raw)))
    try:
        for inner, reader in unpacking.members(name, BufferedStream(raw)):
            with reported(inner, handle):
                read = rows_of if is_table(inner, reader) else candidates
                yield from read(inner, reader, limits, handle)
    except LimitExceeded as error:
        handle(Problem(Place(name), ProblemKind.LIMIT, str(error)))


def _size(stream: BinaryIO | Pieces) -> int:
    if isinstance(stream, Pieces):
        return stream.received
    at = stream.tell()
    size = stream.seek(0, os.SEEK_END)
    stream.seek(at)
    return size
