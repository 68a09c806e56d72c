"""What a source can be, and the stream of candidates behind it."""

from __future__ import annotations

import io
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

import numpy as np
import pyarrow as pa

from osdi_frames.archive.ahead import ahead
from osdi_frames.archive.layout import Chunk, candidates
from osdi_frames.archive.limits import Budget, LimitExceeded, Limits
from osdi_frames.archive.listing import files
from osdi_frames.archive.members import Handle, Unpacking, reported
from osdi_frames.archive.names import printable
from osdi_frames.archive.partition import SIZE, Map, Part, Partition, cut
from osdi_frames.archive.remote import Remote
from osdi_frames.archive.streams import Pieces, Reader, pieces_of
from osdi_frames.errors import InvalidSource
from osdi_frames.problems import Place, Problem, ProblemKind
from osdi_frames.progress import bar
from osdi_frames.tables import element_types
from osdi_frames.tables.forms import form_of

if TYPE_CHECKING:
    from tqdm.auto import tqdm

Source: TypeAlias = "str | os.PathLike[str] | BinaryIO | Mapping[str, Any] | Sequence[Any] | Partition"

_PIPE = 1 << 16  # bytes read from a pipe at once
_AHEAD = 16  # files behind addresses that are opened ahead


def read(
    source: Source,
    handle: Handle,
    *,
    limits: Limits | None = None,
    progress: bool | None = None,
    quarantines: list[str] | None = None,
) -> Iterator[Chunk]:
    """Yield the candidates of a source, file by file, in the order of the files' names.

    A source is a path or a list of paths (file, folder, pattern), a ``file://`` or fsspec address, an open binary
    file, parsed Python objects (a page, a list of pages, a delivery), or a partition of an archive. Folders are
    listed before the first candidate is asked for; each is read once, also where links lead to it.

    `handle` is called with each problem: a file or folder that cannot be read, or not to its end. `quarantines`
    takes the folders in which receivers keep bodies that are not deliveries; they are not read.

    Raises
    ------
    SourceNotFound
        Nothing is at a path, or no file matches a pattern.
    InvalidSource
        The source is none of these, such as a frame.

    Examples
    --------
    >>> [chunk.documents.to_pylist() for chunk in read({"title": "March"}, print)]
    [[b'{"title": "March"}']]
    """
    limits = limits or Limits()
    if isinstance(source, Partition):
        return _of_parts(source.parts, handle, limits, progress)
    paths, streams, objects = _sorted_out(source)
    if objects:
        return iter([_of_objects(objects)])
    if streams:
        return itertools.chain.from_iterable(
            _of_stream(printable(str(getattr(stream, "name", "<file>"))), stream, handle, limits)
            for stream in streams
        )
    parts = [Part(file) for file in files(paths, handle, quarantines)]
    return _of_parts(parts, handle, limits, progress)


def partitions(
    source: Source, handle: Handle, *, count: int | None = None, size: int = SIZE, surveyed: Map | None = None
) -> list[Partition]:
    """Cut an archive, a path or an address or a list of these, into partitions; see `partition.cut`."""
    paths, *here = _sorted_out(source)
    if any(here):
        raise InvalidSource("partitions are read by other processes: the source is a path or an address")
    return cut(files(paths, handle), count=count, size=size, surveyed=surveyed)


def _sorted_out(source: Source) -> tuple[list[str], list[BinaryIO], list[Any]]:
    """Return the paths, the open files and the parsed objects of a source, which are of one of these kinds."""
    is_one = isinstance(source, str | os.PathLike | Mapping) or hasattr(source, "read")
    if isinstance(source, bytes | bytearray) or not (is_one or isinstance(source, Iterable)):
        raise _no_source(source, "; for bytes at hand: io.BytesIO(…)" if isinstance(source, bytes) else "")
    if any(hasattr(source, name) for name in ("__dataframe__", "__arrow_c_stream__", "dtype")):
        raise _no_source(source, "; reports and plots take frames: osdi_frames.rsvps_by_campaign(events)")
    items: list[Any] = [source] if is_one else list(cast("Iterable[Any]", source))
    if all(isinstance(item, str | os.PathLike) for item in items):
        return [os.fspath(item) for item in items], [], []
    if all(hasattr(item, "read") for item in items):
        if any(isinstance(item, io.TextIOBase) for item in items):
            raise InvalidSource("open the file in binary mode: open(path, 'rb')")
        return [], items, []
    types = element_types()
    is_list = any(isinstance(item, list) or form_of(item, types).kind != "undecided" for item in items)
    return [], [], items if is_one or is_list else [items]  # anything else is one delivery


def _no_source(source: object, hint: str = "") -> InvalidSource:
    what = type(source).__name__
    return InvalidSource(f"a source is a path, an open binary file, or parsed JSON, not {what}{hint}")


def _of_objects(objects: Sequence[Any]) -> Chunk:
    try:
        texts = [json.dumps(document).encode() for document in objects]
    except TypeError as error:
        raise _no_source(objects, f" with other values: {error}") from error
    return Chunk(None, pa.array(texts, pa.binary()), np.arange(1, len(texts) + 1))


def _of_parts(
    parts: Sequence[Part], handle: Handle, limits: Limits, progress: bool | None
) -> Iterator[Chunk]:
    """Yield the candidates of files; behind addresses, some are opened ahead, and fetched if they are small."""
    is_remote = any(isinstance(part.file, Remote) for part in parts)
    opened = ahead(Part.open, parts, _AHEAD) if is_remote else (part.open for part in parts)
    with bar("reading", progress, unit="B") as done:
        if not done.disable:
            done.reset(sum(part.size for part in parts))
        for part, opener in zip(parts, opened, strict=True):
            yield from _of_part(part, opener, handle, limits, done)


def _of_part(
    part: Part, opener: Callable[[], BinaryIO], handle: Handle, limits: Limits, done: tqdm[Any]
) -> Iterator[Chunk]:
    name, before = part.name, done.n
    if name != str(part.file) and not part.offset:
        handle(Problem(Place(name), ProblemKind.FILE_NAME, "shown with escapes", "warning"))
    with reported(name, handle), opener() as stream:
        if part.is_range:
            chunks = candidates(name, Reader(stream), limits, handle, line=part.line)
        else:
            chunks = _of_stream(name, stream, handle, limits, part.members)
        for chunk in chunks:
            yield chunk
            if not done.disable and stream.seekable():  # by what is read of a file, compressed or not
                done.update(before + stream.tell() - part.start - done.n)
    if not done.disable:
        done.update(before + part.size - done.n)


def _of_stream(
    name: str, stream: BinaryIO, handle: Handle, limits: Limits, chosen: range | None = None
) -> Iterator[Chunk]:
    """Yield the candidates of a file and of all files in it; one that breaks off is a problem."""
    raw = stream if stream.seekable() else Pieces(pieces_of(stream, _PIPE))
    budget = Budget(limits, partial(_size, raw))
    try:
        with reported(name, handle):
            for inner, reader in Unpacking(handle, budget, chosen).members(name, Reader(raw)):
                with reported(inner, handle):
                    yield from candidates(inner, reader, limits, handle)
    except LimitExceeded as error:
        handle(Problem(Place(name), ProblemKind.LIMIT, str(error)))


def _size(stream: BinaryIO | Pieces) -> int:
    if isinstance(stream, Pieces):
        return stream.received
    at = stream.tell()
    size = stream.seek(0, os.SEEK_END)
    stream.seek(at)
    return size
