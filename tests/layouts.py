"""The same documents laid out on disk in every way that the package is to recognise."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def pretty(value: Any) -> bytes:
    return b"\n" + json.dumps(value, indent=2).encode() + b"\n"


def lines(values: Iterable[Any]) -> bytes:
    return b"".join(compact(value) + b"\n" for value in values)


def zstd(data: bytes) -> bytes:
    return pa.compress(data, "zstd", asbytes=True)


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)  # of 1980, so that the same files make the same bytes
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def numbered(values: Sequence[Any], suffix: str, write: Callable[[Any], bytes]) -> dict[str, bytes]:
    return {f"in/{number:03}{suffix}": write(value) for number, value in enumerate(values)}


def _bz2(value: Any) -> bytes:
    return bz2.compress(compact(value))


def mixed(values: Sequence[Any]) -> dict[str, bytes]:
    """Lay some of the documents out in each of several ways in one folder, in their order."""
    third = len(values) // 3
    return {
        "a/one.json": pretty(values[0]),
        "b.ndjson.gz": gzip.compress(lines(values[1:third])),
        "c/d/e.zip": zipped(
            {"f.json": pretty(values[third]), "g.json.zst": zstd(lines(values[third + 1 :]))}
        ),
        "c/.hidden/x.json": compact(values[0]),
        "c/notes.txt": b"not for us",
        ".x.ndjson": lines(values),
    }


#: Name of the layout → the files that it makes of some documents.
LAYOUTS: dict[str, Callable[[Sequence[Any]], dict[str, bytes]]] = {
    "one a file, compact": lambda values: numbered(values, ".json", compact),
    "one a file, pretty": lambda values: numbered(values, ".json", pretty),
    "one a file, gz": lambda values: numbered(values, ".json.gz", lambda value: gzip.compress(pretty(value))),
    "lines": lambda values: {"all.ndjson": lines(values)},
    "lines, jsonl": lambda values: {"all.jsonl": lines(values).rstrip()},
    "lines under the name json": lambda values: {"all.json": lines(values)},
    "lines with blank ones and returns": lambda values: {
        "all.ndjson": lines(values).replace(b"\n", b"\r\n \r\n\n")
    },
    "lines, gz": lambda values: {"all.jsonl.gz": gzip.compress(lines(values))},
    "lines, gz in members": lambda values: {
        "all.jsonl.gz": b"".join(gzip.compress(compact(value) + b"\n") for value in values)
    },
    "lines, zst": lambda values: {"all.ndjson.zst": zstd(lines(values))},
    "lines, bz2": lambda values: {"all.ndjson.bz2": bz2.compress(lines(values))},
    "lines, xz in streams": lambda values: {
        "all.jsonl.xz": b"".join(lzma.compress(compact(value) + b"\n") for value in values)
    },
    "glued": lambda values: {"all.json": b"".join(map(compact, values))},
    "glued, pretty": lambda values: {"all.json": b"".join(map(pretty, values))},
    "glued, zst": lambda values: {"all.json.zst": zstd(b"".join(map(compact, values)))},
    "a byte order mark": lambda values: {"all.json": b"\xef\xbb\xbf" + b"".join(map(pretty, values))},
    "zip": lambda values: {"all.zip": zipped(numbered(values, ".json", pretty))},
    "tar": lambda values: {"all.tar": tarred(numbered(values, ".json", compact))},
    "tar.gz": lambda values: {"all.tar.gz": tarred({"in/all.ndjson": lines(values)}, "w:gz")},
    "tgz of gz": lambda values: {
        "all.tgz": tarred(numbered(values, ".json.gz", lambda value: gzip.compress(compact(value))), "w:gz")
    },
    "tar.zst": lambda values: {"all.tar.zst": zstd(tarred(numbered(values, ".json", pretty)))},
    "tar.bz2": lambda values: {"all.tar.bz2": tarred(numbered(values, ".json", compact), "w:bz2")},
    "tar.xz": lambda values: {"all.tar.xz": tarred(numbered(values, ".json.bz2", _bz2), "w:xz")},
    "tbz2 and txz": lambda values: {
        "a.tbz2": tarred({"in/first.ndjson": lines(values[:2])}, "w:bz2"),
        "b.TXZ": tarred({"in/rest.ndjson": lines(values[2:])}, "w:xz"),
    },
    "zip in tar in zip": lambda values: {
        "all.zip": zipped({"t.tar": tarred({"z.zip": zipped(numbered(values, ".json", pretty))})})
    },
    "mixed": mixed,
}


def write(files: dict[str, bytes], folder: Path) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder
