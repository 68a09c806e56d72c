"""The reference reading of files: what documents are in them, by the standard library and nothing else."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from tests.reference import Document

LISTED = ".json", ".jsonl", ".ndjson", ".zip", ".tar", ".tgz"


def documents_at(path: Path) -> Iterator[Document]:
    """Return the documents of a file or folder in the order of their names; hidden ones are left out."""
    if path.is_file():
        yield from documents_in(str(path), path.read_bytes())
        return
    for name in sorted(map(str, path.rglob("*"))):
        inner = Path(name).relative_to(path)
        if Path(name).is_file() and is_listed(str(inner)):
            yield from documents_in(name, Path(name).read_bytes())


def is_listed(name: str) -> bool:
    plain = name.lower()
    while plain.endswith((".gz", ".zst")):
        plain = plain.removesuffix(".gz").removesuffix(".zst")
    return plain.endswith(LISTED) and not any(
        part.startswith(".") and part != ".." for part in Path(name).parts
    )


def documents_in(name: str, data: bytes) -> Iterator[Document]:
    """Return the documents of one file, whatever it is packed in."""
    if data.startswith(b"\x1f\x8b"):
        yield from documents_in(name, gzip.decompress(data))
    elif data.startswith(b"\x28\xb5\x2f\xfd"):
        yield from documents_in(name, pa.CompressedInputStream(io.BytesIO(data), "zstd").read())
    elif data.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for inner in sorted(archive.namelist()):
                if is_listed(inner):
                    yield from documents_in(f"{name}!{inner}", archive.read(inner))
    elif data[257:].startswith(b"ustar"):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for info in archive:
                if info.isfile() and is_listed(info.name):
                    yield from documents_in(f"{name}!{info.name}", archive.extractfile(info).read())
    else:
        yield from documents_of(name, data.decode("utf-8-sig"))


def documents_of(name: str | None, text: str) -> Iterator[Document]:
    """Return the documents of a text, with or without anything between them, each with its line."""
    decoder, space = json.JSONDecoder(), re.compile(r"\s*")
    at = space.match(text).end()
    while at < len(text):
        value, end = decoder.raw_decode(text, at)
        yield Document(name, 1 + text.count("\n", 0, at), value)
        at = space.match(text, end).end()
