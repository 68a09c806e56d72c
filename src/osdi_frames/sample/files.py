"""How documents lie on disk: in lines, glued, one a file, packed; compressed as the file's name says.

The same documents make the same bytes: no file or member carries a clock, an owner or a host.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias, cast

import pyarrow as pa

from osdi_frames.errors import DestinationExists

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_PRETTY = json.JSONEncoder(ensure_ascii=True, indent=2).encode
_THE_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip can say

Member: TypeAlias = tuple[str, bytes]


def write(path: Path, documents: Iterable[object], *, pretty: bool = False) -> None:
    """Write documents in the layout that a name says, compact or as JSON libraries do by default.

    Where it holds ``{}``, each is a file of that number; in a zip or a tar, a member; in a file named ``glued`` there
    is nothing between them; else each is a line.
    """
    contents = ((_PRETTY if pretty else _COMPACT)(document).encode() for document in documents)
    if "{}" in path.name:
        for number, content in enumerate(contents, start=1):
            with _writing(path.with_name(path.name.replace("{}", f"{number:03d}"))) as file:
                file.write(content + (b"\n" if pretty else b""))
    elif {".zip", ".tar"} & {*path.suffixes}:
        pack(path, ((f"{number:04d}.json", content) for number, content in enumerate(contents, start=1)))
    else:
        end = b"" if "glued" in path.name else b"\n"
        with _writing(path) as file:
            for content in contents:
                file.write(content + end)


def pack(path: Path, members: Iterable[Member]) -> None:
    """Write a zip, or a tar compressed as its name says, of members that are given as bytes."""
    with _writing(path) as file:
        if path.suffix == ".zip":
            with zipfile.ZipFile(file, "w") as archive:
                for name, content in members:
                    info = zipfile.ZipInfo(name, _THE_BEGINNING)
                    info.create_system = 3  # the same on every system
                    info.external_attr = 0o644 << 16
                    archive.writestr(info, content, zipfile.ZIP_DEFLATED)
        else:
            with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as tar:
                for name, content in members:
                    entry = tarfile.TarInfo(name)
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))


def in_lines(name: str, documents: Iterable[object]) -> Member:
    """Make a member that holds one document a line, compressed as its name says."""
    content = io.BytesIO()
    with _compressed(content, name) as file:
        file.write(b"".join(_COMPACT(document).encode() + b"\n" for document in documents))
    return name, content.getvalue()


@contextmanager
def whole(destination: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """Give a folder to write into, whose files appear in `destination` when all are written, or never.

    The destination holds nothing before, unless `overwrite` says that it may.
    """
    target = Path(destination)
    existed = target.exists()
    if not overwrite and existed and (target.is_file() or any(target.iterdir())):
        raise DestinationExists(f"{target} is there already: overwrite=True (--overwrite) replaces it")
    target.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=target) as drafts:
            yield Path(drafts)
            for draft in [path for path in Path(drafts).rglob("*") if path.is_file()]:
                path = target / draft.relative_to(drafts)
                path.parent.mkdir(parents=True, exist_ok=True)
                draft.replace(path)
    except BaseException:
        if not existed:
            target.rmdir()
        raise


@contextmanager
def _writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write, compressed as its name says, its folders made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, _compressed(raw, path.name) as file:
        yield file


@contextmanager
def _compressed(raw: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    if name.endswith(".zst"):
        with pa.CompressedOutputStream(raw, "zstd") as file:
            yield cast("IO[bytes]", file)
    elif name.endswith(".gz"):
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield cast("IO[bytes]", file)
    else:
        yield raw
