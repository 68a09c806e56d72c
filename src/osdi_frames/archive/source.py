"""What a source can be, and the stream of candidates behind it."""

from __future__ import annotations

import io
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
import pyarrow as pa

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
        return _read(source.parts, [], [], handle, limits, progress)
    paths, streams, objects = _sorted_out(source)
    parts = [Part(file) for file in files(paths, handle, quarantines)]
    return _read(parts, streams, objects, handle, limits, progress)


def partitions(
    source: Source, handle: Handle, *, count: int | None = None, size: int = SIZE, surveyed: Map | None = None
) -> list[Partition]:
    """Cut an archive, a path or an address or a list of these, into partitions; see `partition.cut`."""
    paths, *here = _sorted_out(source)
    if any(here):
        raise InvalidSource("partitions are read by other processes: the source is a path or an address")
    return cut(files(paths, handle), count=count, size=size, surveyed=surveyed)


def _read(
    parts: Sequence[Part],
    streams: list[BinaryIO],
    objects: list[Any],
    handle: Handle,
    limits: Limits,
    progress: bool | None,
) -> Iterator[Chunk]:
    if objects:
        yield _of_objects(objects)
    for stream in streams:
        yield from _of_stream(printable(str(getattr(stream, "name", "<file>"))), stream, handle, limits)
    with bar("reading", progress, unit="B") as done:
        if not done.disable:
            done.reset(sum(part.size for part in parts))
        for part, opened in _opened(parts):
            yield from _of_part(part, opened, handle, limits, None if done.disable else done.update)


def _opened(parts: Iterable[Part]) -> Iterator[tuple[Part, Callable[[], BinaryIO]]]:
    """Yield parts with what opens them; behind addresses, some are opened ahead, and fetched if they are small."""
    waiting: deque[tuple[Part, Callable[[], BinaryIO]]] = deque()
    pool = ThreadPoolExecutor(_AHEAD, thread_name_prefix="osdi-frames-opening")
    try:
        for part in parts:
            remote = isinstance(part.file, Remote)
            waiting.append((part, pool.submit(part.open).result if remote else part.open))
            if len(waiting) == _AHEAD or not remote:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


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
        return [], [_binary(item) for item in items], []
    types = element_types()
    is_list = any(isinstance(item, list) or form_of(item, types).kind != "undecided" for item in items)
    return [], [], items if is_one or is_list else [items]  # what is no list of documents is one delivery


def _no_source(source: object, hint: str = "") -> InvalidSource:
    what = type(source).__name__
    return InvalidSource(f"a source is a path, an open binary file, or parsed JSON, not {what}{hint}")


def _binary(stream: Any) -> BinaryIO:
    if isinstance(stream, io.TextIOBase):
        raise InvalidSource("open the file in binary mode: open(path, 'rb')")
    return cast("BinaryIO", stream)


def _of_objects(objects: Sequence[Any]) -> Chunk:
    try:
        texts = [json.dumps(document).encode() for document in objects]
    except TypeError as error:
        raise _no_source(objects, f" with other values: {error}") from error
    return Chunk(None, pa.array(texts, pa.binary()), np.arange(1, len(texts) + 1))


def _of_part(
    part: Part,
    opened: Callable[[], BinaryIO],
    handle: Handle,
    limits: Limits,
    advance: Callable[[int], object] | None,
) -> Iterator[Chunk]:
    name, done = part.name, part.start
    if name != str(part.file) and not part.offset:
        handle(Problem(Place(name), ProblemKind.FILE_NAME, "shown with escapes", "warning"))
    with reported(name, handle), opened() as stream:
        if part.is_range:
            chunks = candidates(name, Reader(stream), limits, handle, line=part.line)
        else:
            chunks = _of_stream(name, stream, handle, limits, part.members)
        for chunk in chunks:
            yield chunk
            if advance:
                # How far the reader has come in the file itself, which may be compressed; unknown in a pipe.
                at = stream.tell() if stream.seekable() else done + chunk.documents.nbytes
                advance(at - done)
                done = at
    if advance:
        advance(max(0, part.start + part.size - done))


def _of_stream(
    name: str, stream: BinaryIO, handle: Handle, limits: Limits, chosen: range | None = None
) -> Iterator[Chunk]:
    """Yield the candidates of a file and of all files in it; one that breaks off is a problem."""
    budget = Budget(limits, stream if stream.seekable() else None)
    raw = stream if budget.file else Pieces(pieces_of(stream, _PIPE), budget.receive)
    try:
        with reported(name, handle):
            for inner, reader in Unpacking(handle, budget, chosen).members(name, Reader(raw)):
                with reported(inner, handle):
                    yield from candidates(inner, reader, limits, handle)
    except LimitExceeded as error:
        handle(Problem(Place(name), ProblemKind.LIMIT, str(error)))
