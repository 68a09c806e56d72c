"""What a source can be, and the files behind it."""

from __future__ import annotations

import glob
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
import pyarrow as pa

from osdi_frames.archive.layout import Chunk, candidates
from osdi_frames.archive.members import BROKEN, broken, is_readable, members
from osdi_frames.errors import MissingExtra, SourceNotFound
from osdi_frames.problems import Problem
from osdi_frames.progress import bar
from osdi_frames.tables import element_types
from osdi_frames.tables.forms import form_of

Source: TypeAlias = "str | os.PathLike[str] | BinaryIO | Mapping[str, Any] | Sequence[Any]"
Meet: TypeAlias = Callable[[Problem], None]


def read(source: Source, meet: Meet, *, progress: bool | None = None) -> Iterator[Chunk]:
    """Give the candidates of a source, file by file, in the order of the files' names.

    Parameters
    ----------
    source
        A path or a list of paths (file, folder, pattern), an fsspec URL, an open binary file, or parsed
        Python objects (a page, a list of pages, a delivery). A file named twice is read once.
    meet
        Called with each problem: a file that cannot be read, or not to its end.
    progress
        A bar by the bytes of the files; see `osdi_frames.progress`.

    Raises
    ------
    SourceNotFound
        Nothing is at a path, or no file matches a pattern.
    TypeError
        For what is no source, such as text in place of a path.
    """
    paths, streams, objects = _sorted_out(source)
    return _read(_files(paths), streams, objects, meet, progress)


def _read(
    files: list[str], streams: list[BinaryIO], objects: list[Any], meet: Meet, progress: bool | None
) -> Iterator[Chunk]:
    if objects:
        yield _of_objects(objects)
    for stream in streams:
        yield from _of_stream(str(getattr(stream, "name", "<file>")), stream, meet)
    total = sum(_size(file) for file in files)
    with bar("reading", progress, unit="B", total=total) as done:
        for file in files:
            yield from _of_file(file, meet, done.update)


def _sorted_out(source: Source) -> tuple[list[str], list[BinaryIO], list[Any]]:
    """Tell paths from open files from parsed objects."""
    if isinstance(source, str | os.PathLike):
        return [os.fspath(source)], [], []
    if isinstance(source, Mapping):
        return [], [], [source]
    if hasattr(source, "read"):
        return [], [_binary(source)], []
    if isinstance(source, bytes | bytearray) or not isinstance(source, Iterable):
        raise TypeError(
            f"a source is a path, an open binary file, or parsed JSON, not {type(source).__name__};"
            " for bytes at hand: io.BytesIO(…)"
        )
    items = list(source)
    if all(isinstance(item, str | os.PathLike) for item in items):
        return [os.fspath(item) for item in items], [], []
    if all(hasattr(item, "read") for item in items):
        return [], [_binary(item) for item in items], []
    return [], [], [items] if _is_delivery(items) else items


def _binary(stream: Any) -> BinaryIO:
    if isinstance(stream, io.TextIOBase):
        raise TypeError("open the file in binary mode: open(path, 'rb')")
    return cast("BinaryIO", stream)


def _is_delivery(items: Sequence[Any]) -> bool:
    """Tell the elements of one delivery from a list of documents."""
    types = element_types()
    return not any(isinstance(item, list) or form_of(item, types).kind != "undecided" for item in items)


def _of_objects(objects: Sequence[Any]) -> Chunk:
    texts = [json.dumps(each).encode() for each in objects]
    return Chunk(None, pa.array(texts, pa.binary()), np.arange(1, len(texts) + 1))


def _of_file(file: str, meet: Meet, advance: Callable[[int], object]) -> Iterator[Chunk]:
    done = 0
    try:
        with _open(file) as stream:
            for chunk in _of_stream(file, stream, meet):
                yield chunk
                # How far the reader has come in the file itself, which may be compressed; in a pipe, nobody knows.
                at = stream.tell() if stream.seekable() else done + chunk.documents.nbytes
                advance(at - done)
                done = at
    except OSError as error:
        meet(broken(file, error))
    advance(max(0, _size(file) - done))


def _of_stream(name: str, stream: BinaryIO, meet: Meet) -> Iterator[Chunk]:
    """Give the candidates of a file and of all files in it; one that breaks off is a problem."""
    try:
        for inner, reader in members(name, stream, meet):
            try:
                yield from candidates(inner, reader)
            except BROKEN as error:
                meet(broken(inner, error))
    except BROKEN as error:
        meet(broken(name, error))


def _files(paths: Iterable[str]) -> list[str]:
    """Give every file behind the paths, once, sorted by name."""
    return sorted({file for path in paths for file in _behind(path)})


def _behind(path: str) -> Iterator[str]:
    if "://" in path:
        yield from _remote(path)
    elif os.path.isdir(path):
        yield from _in_folder(path)
    elif os.path.lexists(path):
        yield os.path.normpath(path)
    elif glob.has_magic(path):
        found = glob.glob(path, recursive=True)
        if not found:
            raise SourceNotFound(f"no file matches {path}")
        for each in found:
            yield from _behind(each)
    else:
        raise SourceNotFound(f"there is no file or folder {path}")


def _in_folder(folder: str) -> Iterator[str]:
    """Give the files of documents in a folder and those inside it; hidden ones are passed over."""
    for root, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")]
        yield from (os.path.normpath(os.path.join(root, name)) for name in names if is_readable(name))


def _remote(url: str) -> Iterator[str]:
    filesystem, path = _filesystem(url)
    protocol = url.partition("://")[0]
    if filesystem.isdir(path):
        yield from (f"{protocol}://{each.lstrip('/')}" for each in filesystem.find(path) if is_readable(each))
        return
    found = filesystem.glob(path) if glob.has_magic(path) else [path] if filesystem.exists(path) else []
    if not found:
        raise SourceNotFound(f"there is nothing at {url}")
    yield from (f"{protocol}://{each.lstrip('/')}" for each in found)


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtra.named("cloud") from error
    filesystem, path = url_to_fs(url)
    return filesystem, path


def _open(file: str) -> BinaryIO:
    if "://" in file:
        filesystem, path = _filesystem(file)
        return cast("BinaryIO", filesystem.open(path, "rb"))
    try:
        return open(file, "rb", buffering=0)
    except FileNotFoundError:
        # A receiver has sealed and compressed it since it was listed.
        if not os.path.exists(f"{file}.zst"):
            raise
        return open(f"{file}.zst", "rb", buffering=0)


def _size(file: str) -> int:
    try:
        return 0 if "://" in file else os.stat(file).st_size
    except OSError:
        return 0  # it will be a problem when it is read
