"""Specifications of archives as JSON values, and the files that they describe.

A node is a file: a leaf has ``docs`` (values) and a ``layout``, a container has ``kind`` and ``members``, a
special file has ``kind`` only. ``edits`` change the bytes of a node; their positions are fractions of its
size, so that they stay inside when the node shrinks.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa

Node = dict[str, Any]

#: In a value ``"@@NaN@@"`` is written as ``NaN``; a key ``"title@@2"`` as a second ``"title"``.
RAW = re.compile(r'"@@(.*?)@@"')
SECOND = re.compile(r'@@[0-9]+"(?=:)')
COMPRESS = {
    "gz": gzip.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
LINKS = {"hard link": tarfile.LNKTYPE, "soft link": tarfile.SYMTYPE}


def text_of(value: Any, layout: str) -> str:
    indent = 2 if "pretty" in layout else None
    text = json.dumps(value, indent=indent, ensure_ascii="utf-8" not in layout)
    text = SECOND.sub('"', RAW.sub(lambda match: deep(json.loads(f'"{match[1]}"')), text))
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)


def deep(raw: str) -> str:
    """Write ``nest 1500`` as nested lists and ``digits 5000`` as a number; all else as it is."""
    word, _, count = raw.partition(" ")
    if word == "nest":
        return "[" * int(count) + "]" * int(count)
    if word == "objects":
        return '{"a":' * int(count) + "1" + "}" * int(count)
    return "7" * int(count) if word == "digits" else raw


def leaf(node: Node) -> bytes:
    layout = node["layout"]
    if "array" in layout:
        texts = ["[" + ", ".join(text_of(doc, layout) for doc in node["docs"]) + "]"]
    else:
        first, rest = ("", "pretty") if layout == "compact then pretty" else (layout, layout)
        texts = [text_of(doc, rest if number else first) for number, doc in enumerate(node["docs"])]
    between = next((end for name, end in BETWEEN.items() if name in layout), "\n")
    data = "".join(text + between for text in texts).encode()
    return b"\xef\xbb\xbf" + data if "bom" in layout else data


BETWEEN = {"glued": "", "crlf": "\r\n", "blanks": "\n \n\t\r\n", "no end": "\n"}


def tarred(members: list[Node], mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, errors="surrogateescape") as archive:
        for node in members:
            info = tarfile.TarInfo(node["name"])
            if node.get("kind") in LINKS:
                info.type, info.linkname = LINKS[node["kind"]], node["target"]
                archive.addfile(info)
            else:
                data = built(node)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zipped(members: list[Node]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for node in members:
            archive.writestr(zipfile.ZipInfo(node["name"]), built(node), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def built(node: Node) -> bytes:
    """Return the bytes of a leaf or container, with its edits."""
    kind = node.get("kind", "leaf")
    if kind == "leaf":
        data = leaf(node)
    elif kind == "zip":
        data = zipped(node["members"])
    elif kind.startswith("tar"):
        data = tarred(node["members"], f"w:{kind[4:]}")
    else:
        data = COMPRESS[kind](b"".join(map(built, node["members"])))
    for how, place, *rest in node.get("edits", ()):
        data = edited(data, how, int(place * len(data)), *rest)
    return data


def edited(data: bytes, how: str, at: int, extra: str = "") -> bytes:
    if how == "flip" and data:
        return data[:at] + bytes([data[at] ^ int(extra)]) + data[at + 1 :]
    if how == "cut":
        return data[:at]
    if how == "repeat":
        return data + data
    if how == "remove":
        return data[:at] + data[at + int(extra) :]
    return data[:at] + extra.encode("latin-1") + data[at:] if how == "insert" else data


def write(spec: dict[str, Any], folder: Path) -> Path:
    """Write the files of a specification; return the folder that is to be read."""
    source = folder / "source"
    source.mkdir(parents=True)
    for node in spec["files"]:
        path = Path(os.fsdecode(os.fsencode(source / node["name"])))
        path.parent.mkdir(parents=True, exist_ok=True)
        if node.get("kind") == "fifo":
            os.mkfifo(path)
        elif node.get("kind") == "link":
            path.symlink_to(node["target"])
        else:
            path.write_bytes(built(node))
    return source
