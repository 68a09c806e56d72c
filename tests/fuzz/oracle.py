"""What a folder holds, by the standard library alone, and what a reader of it owes to its user.

Where input is damaged or ambiguous the oracle does not decide how it is to be read; it requires that `check`
lists it (`errors`, `notices`), and does not compare the rows of those documents.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from tests.reference import Document

LISTED = *(".json", ".jsonl", ".ndjson", ".zip", ".tar"), *(".tgz", ".tzst", ".tbz", ".tbz2", ".txz")
COMPRESSED = ".gz", ".zst", ".bz2", ".xz"
MAGIC = {
    "gz": rb"\x1f\x8b",
    "zst": rb"\x28\xb5\x2f\xfd",
    "bz2": rb"BZh[1-9](1AY&SY|\x17rE8P\x90)",
    "xz": rb"\xfd7zXZ\0",
}
SPACE = re.compile(r"[ \t\r\n]*")
#: A constant is read as its own text.
STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]++|\\.)*+"|(?<!-)(\bNaN\b|-?\bInfinity\b)')
#: A line of text before JSON may be the line of a log, which is read.
TEXT_AND_JSON = re.compile(r'[^\[{"\]},\n][^\n]*\{[ \t]*\\?"')
DEEPEST = 500  # levels; what is nested deeper is ambiguous


@dataclass
class Reading:
    """The documents of a file, and what a reader has to report."""

    documents: list[Document] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    unclear: dict[str, float] = field(default_factory=dict)
    """Files and containers whose rows are not compared, from a line on."""
    unclear_lines: set[tuple[str, int]] = field(default_factory=set)

    def damage(self, name: str, why: str, line: float = 0) -> None:
        self.errors.append(f"{name}: {why}")
        self.unclear[name] = min(line, self.unclear.get(name, line))

    def is_clear(self, name: str, line: int) -> bool:
        if (name, line) in self.unclear_lines:
            return False
        return all(
            line < start
            for unclear, start in self.unclear.items()
            if name == unclear or name.startswith(f"{unclear}!")
        )


def documents_at(folder: Path) -> list[Document]:
    """Return the documents of a folder in which nothing is damaged."""
    readings = [reading_of(file) for file in files_of(folder)]
    assert not [error for reading in readings for error in reading.errors]
    return [document for reading in readings for document in reading.documents]


def is_listed(name: str, content: bytes) -> bool | None:
    """Return whether a file of a folder or container is read; None for one that nobody misses."""
    parts = [part for part in name.split("/") if part]
    if any(part.startswith(".") and part not in (".", "..") for part in parts):
        return None
    plain = parts[-1].rstrip().lower()
    while plain.endswith(COMPRESSED):
        plain = plain.rpartition(".")[0].rstrip()
    if plain.endswith(LISTED):
        return True
    if plain.partition(".")[0] == "readme" or plain in ("thumbs.db", "desktop.ini"):
        return None
    return "." not in plain[1:] and begins_with_json(content)


def begins_with_json(content: bytes) -> bool:
    """Return whether what is in a file, under any compression, begins as an object or a list of objects does."""
    for _ in range(9):
        kind = compression(content)
        if kind is None:
            break
        content = decompressed(kind, content)[0]
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")) or content[257:].startswith(b"ustar"):
        return True
    start = content.removeprefix(b"\xef\xbb\xbf").translate(None, b" \t\r\n")[:2]
    return start in (b'{"', b"{}", b"[[", b"[{", b"[]")


def files_of(folder: Path) -> Iterator[str]:
    """Return the files that a reader takes from a folder, in order; linked folders are followed once."""
    return iter(sorted(path for path, listed in entries_of(folder).items() if listed))


def entries_of(folder: Path) -> dict[str, bool | None]:
    """Return the files of a folder, and whether a reader takes each, as `is_listed` says."""
    found, been = {}, set()

    def walk(here: str) -> None:
        real = os.path.realpath(here)
        if real in been:
            return
        been.add(real)
        for entry in os.scandir(here):
            if entry.is_dir():
                if not entry.name.startswith("."):
                    walk(entry.path)
            else:
                content = Path(entry.path).read_bytes() if entry.is_file() else b""
                found[entry.path] = is_listed(entry.name, content)

    walk(str(folder))
    return found


def shown_name(path: str) -> str:
    """Return a path as rows and problems show it: what is not UTF-8 is escaped."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def reading_of(path: str) -> Reading:
    """Read one file of a folder."""
    into = Reading()
    shown = shown_name(path)
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        into.damage(shown, str(error))
        return into
    if not stat.S_ISREG(mode):
        into.damage(shown, "no regular file")
    else:
        read(shown, Path(path).read_bytes(), into, whole=True)
    return into


def read(name: str, data: bytes, into: Reading, *, whole: bool) -> None:
    if kind := compression(data):
        inner, sound = decompressed(kind, data)
        if sound and not inner:
            into.notices.append(f"{name}: empty {kind}")
        if sound or kind == "gz":
            if not sound:
                into.errors.append(f"{name}: damaged {kind}")
            read(name, inner, into, whole=whole and sound)
        else:
            into.damage(name, f"damaged {kind}")
    elif data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        of_zip(name, data, into)
    elif data[257:].startswith(b"ustar"):
        of_tar(name, data, into)
    elif data and not data.strip(b"\0") and len(data) >= 1024:
        into.notices.append(f"{name}: an empty tar")
    elif data and PurePosixPath(name).suffix.lower() == ".zip":
        of_zip(name, data, into)  # its first bytes are gone; the index is at its end
    elif data and PurePosixPath(name).suffix.lower() == ".tar":
        into.damage(name, "its first bytes are gone")
    else:
        of_text(name, data, into, whole=whole)


def compression(data: bytes) -> str | None:
    return next((kind for kind, magic in MAGIC.items() if re.match(magic, data)), None)


def decompressed(kind: str, data: bytes) -> tuple[bytes, bool]:
    """Return what can be decompressed, and whether that is all; of all but gzip only where it is."""
    if kind == "gz":
        return gunzipped(data)
    try:
        if kind == "zst":
            return pa.CompressedInputStream(io.BytesIO(data), "zstd").read(), True
        return unpacked(bz2.BZ2Decompressor if kind == "bz2" else lzma.LZMADecompressor, data), True
    except (OSError, EOFError, pa.ArrowException, lzma.LZMAError):
        return b"", False


def unpacked(decompressor: Any, data: bytes) -> bytes:
    """Return what streams hold that are joined, with zeros after each or none."""
    out = b""
    while data:
        stream = decompressor()
        out += stream.decompress(data)
        if not stream.eof:
            raise EOFError
        data = stream.unused_data.lstrip(b"\0")
    return out


def gunzipped(data: bytes) -> tuple[bytes, bool]:
    """Return what can be decompressed, and whether that is all."""
    out = b""
    try:
        while data:
            member = zlib.decompressobj(wbits=31)
            for at in range(0, len(data), 64):  # in small steps: what precedes the damage is kept
                out += member.decompress(data[at : at + 64])
                if member.eof:
                    data = (member.unused_data + data[at + 64 :]).lstrip(b"\0")
                    break
            else:
                return out, False
    except zlib.error:
        return out, False
    return out, True


def of_zip(name: str, data: bytes, into: Reading) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = sorted(archive.infolist(), key=lambda info: info.filename)
            if not infos:
                into.notices.append(f"{name}: an empty zip")
            for info in infos:
                of_member(name, info.filename, lambda info=info: archive.read(info), into)
    except Exception as error:  # noqa: BLE001 (zipfile raises almost anything on damaged input)
        into.damage(name, repr(error))


def of_tar(name: str, data: bytes, into: Reading) -> None:
    end, count = 0, 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), errors="surrogateescape") as archive:
            for info in archive:
                count += 1
                size = info.size if info.isreg() else 0
                end = info.offset_data + (size + 511) // 512 * 512
                if end > len(data):
                    raise tarfile.ReadError("cut in the middle of a member")  # noqa: TRY301
                if info.isfile() or info.isdir():
                    if info.isfile():
                        of_member(name, info.name, lambda info=info: archive.extractfile(info).read(), into)
                else:
                    into.notices.append(f"{name}!{info.name}: no regular member")
                    into.unclear[f"{name}!{info.name}"] = 0
    except Exception as error:  # noqa: BLE001 (tarfile raises almost anything on damaged input)
        into.damage(name, repr(error))
        return
    rest = data[end : end + 1024]
    if rest.strip(b"\0") or len(rest) < 1024:
        into.damage(name, f"no end of the tar at {end}")
    elif following := data[end:].lstrip(b"\0"):  # another tar, joined to this one
        of_tar(name, data[(len(data) - len(following)) // 512 * 512 :], into)
    elif not count:
        into.notices.append(f"{name}: an empty tar")


def of_member(name: str, inner: str, content: Any, into: Reading) -> None:
    full = f"{name}!{inner}"
    if is_listed(inner, b"") is None:  # nobody opens it, so nobody knows whether it is damaged
        return
    try:
        data = content()
    except Exception as error:  # noqa: BLE001 (as above)
        into.damage(full, repr(error))
        return
    listed = is_listed(inner, data)
    if listed:
        read(full, data, into, whole=True)
    elif listed is False:
        into.notices.append(f"{full}: not read")


# --- text ----------------------------------------------------------------------------------------------


def of_text(name: str, data: bytes, into: Reading, *, whole: bool) -> None:
    if not whole:  # the last line is cut
        into.unclear[name] = 1 + data.count(b"\n")
    if any(suffix.rstrip().lower() in (".ndjson", ".jsonl") for suffix in PurePosixPath(name).suffixes[-2:]):
        for number, line in enumerate(data.split(b"\n"), 1):
            of_block(name, number, line, into, lines=True)
    else:
        of_block(name, 1, data, into, lines=False)


def of_block(name: str, first: int, data: bytes, into: Reading, *, lines: bool) -> None:
    """Read documents one after the other; what follows a broken one is unclear."""

    def broken(line: int, why: str) -> None:
        into.errors.append(f"{name}:{line}: {why}")
        unclear(line)

    def unclear(line: int) -> None:
        if lines:
            into.unclear_lines.add((name, line))
        else:
            into.unclear[name] = min(line, into.unclear.get(name, line))

    while data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        broken(first, str(error))
        return
    if nesting(text) > DEEPEST:
        # Where a document ends is then for the reader to say: all of the block is unclear.
        into.notices.append(f"{name}:{first}: nested deep")
        into.unclear_lines.add((name, first))
        if not lines:
            into.unclear[name] = 0
        return
    if any(found[1] for found in STRING_OR_CONSTANT.finditer(text)):
        into.notices.append(f"{name}:{first}: a constant that JSON does not have")
        text = STRING_OR_CONSTANT.sub(lambda found: f'"{found[1]}"' if found[1] else found[0], text)
    at = SPACE.match(text, 0).end()
    line, before = first, 0
    while at < len(text):
        line, before = line + text.count("\n", before, at), at
        ambiguous: list[str] = []
        infinite: list[str] = []
        try:
            value, end = decoder(ambiguous, infinite).raw_decode(text, at)
        except ValueError as error:
            if TEXT_AND_JSON.match(text, at):
                into.notices.append(f"{name}:{line}: JSON behind text, as in a log")
                unclear(line)
            else:
                broken(line, str(error))
            return
        if ambiguous:
            into.notices.append(f"{name}:{line}: {ambiguous[0]}")
            into.unclear_lines.add((name, line))
        into.notices += (f"{name}:{line}: the number {digits}" for digits in infinite)
        into.documents.append(Document(name, line, value))
        at = SPACE.match(text, end).end()


def nesting(text: str) -> int:
    """Return how deep brackets nest, at most: those in strings count, too."""
    depth = deepest = 0
    for match in re.findall(r"[\[{}\]]", text):
        depth = depth + 1 if match in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def decoder(ambiguous: list[str], infinite: list[str]) -> json.JSONDecoder:
    """Return a decoder that notes what JSON leaves open, and numbers without a value, which are read as texts."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(found)
        if len(value) < len(found):
            ambiguous.append("a key that is there twice")
        if any("\ud800" <= c <= "\udfff" for key in value for c in key):
            ambiguous.append("half a pair in a key")
        return value

    def whole_number(digits: str) -> int:
        if len(digits) > 4300:
            ambiguous.append("a number of many digits")
            return 0
        return int(digits)

    def fraction(digits: str) -> float | str:
        if abs(float(digits)) < float("inf"):
            return float(digits)
        infinite.append(digits)
        return digits

    return json.JSONDecoder(object_pairs_hook=pairs, parse_int=whole_number, parse_float=fraction)
