"""How documents lie on disk: in lines, glued, one a file, packed; compressed as the file's name says.

The same documents make the same bytes: no file or member carries a clock, an owner or a host.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import pyarrow as pa

from osdi_frames.errors import DestinationExists

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_PRETTY = json.JSONEncoder(ensure_ascii=True, indent=2).encode
_THE_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can say

Member = tuple[str, bytes]
Writer = TypeVar("Writer", bound=Callable[..., None])


def lines(path: Path, documents: Iterable[object], *, end: bytes = b"\n") -> None:
    """Write one document a line."""
    with writing(path) as file:
        for document in documents:
            file.write(_COMPACT(document).encode() + end)


def glued(path: Path, documents: Iterable[object]) -> None:
    """Write one document after the other with nothing between them."""
    lines(path, documents, end=b"")


def compact(
    path: Path, documents: Iterable[object], *, encode: Callable[[object], str] = _COMPACT, end: bytes = b""
) -> None:
    """Write each document into a file of its own; `path` holds ``{}`` for the number."""
    for number, document in enumerate(documents, start=1):
        with writing(path.with_name(path.name.replace("{}", f"{number:03d}"))) as file:
            file.write(encode(document).encode() + end)


def pretty(path: Path, documents: Iterable[object]) -> None:
    """Write each document into a file of its own, indented, in ASCII, as JSON libraries do by default."""
    compact(path, documents, encode=_PRETTY, end=b"\n")


def packed(path: Path, documents: Iterable[object]) -> None:
    """Write a zip or a tar with one document a member."""
    pack(
        path,
        ((f"{n:04d}.json", _COMPACT(document).encode()) for n, document in enumerate(documents, start=1)),
    )


def pack(path: Path, members: Iterable[Member]) -> None:
    """Write a zip, or a tar compressed as its name says, of members that are given as bytes."""
    if path.suffix == ".zip":
        _zip(path, members)
    else:
        _tar(path, members)


def text(path: Path, content: str) -> None:
    """Write a file that is no document."""
    with writing(path) as file:
        file.write(content.encode())


def in_lines(name: str, documents: Iterable[object]) -> Member:
    """Make a member that holds one document a line, compressed as its name says."""
    content = b"".join(_COMPACT(document).encode() + b"\n" for document in documents)
    if not name.endswith(".gz"):
        return name, content
    packed_content = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=packed_content, mtime=0) as file:
        file.write(content)
    return name, packed_content.getvalue()


def whole(write: Writer) -> Writer:
    """Let a function write a folder whose files appear when all are written, or never."""

    @functools.wraps(write)
    def written(destination: str | os.PathLike[str], *, overwrite: bool = False, **options: Any) -> None:
        existed = Path(destination).exists()
        target = folder(destination, overwrite=overwrite)
        try:
            with tempfile.TemporaryDirectory(prefix=".writing-", dir=target) as drafts:
                write(drafts, overwrite=True, **options)
                for draft in [path for path in Path(drafts).rglob("*") if path.is_file()]:
                    path = target / draft.relative_to(drafts)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    draft.replace(path)
        except BaseException:
            if not existed:
                target.rmdir()
            raise

    return cast("Writer", written)


def folder(destination: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Make a folder to write into, which holds nothing unless `overwrite` says that it may."""
    made = Path(destination)
    if not overwrite and made.exists() and (made.is_file() or any(made.iterdir())):
        raise DestinationExists(f"{made} is there already: overwrite=True (--overwrite) replaces it")
    made.mkdir(parents=True, exist_ok=True)
    return made


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write, compressed as its name says, its folders made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zst":
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            yield cast("IO[bytes]", file)
    elif path.suffix == ".gz":
        with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield cast("IO[bytes]", file)
    else:
        with path.open("wb") as file:
            yield file


def _zip(path: Path, members: Iterable[Member]) -> None:
    with writing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, _THE_BEGINNING)
            info.create_system = 3  # the same on every system
            info.external_attr = 0o644 << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)


def _tar(path: Path, members: Iterable[Member]) -> None:
    with writing(path) as file, tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
