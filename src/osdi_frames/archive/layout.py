"""How documents lie in a file: one, one a line, or one after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa

from osdi_frames.archive.members import Reader
from osdi_frames.problems import Finding, verbatim

LINES = frozenset({".jsonl", ".ndjson"})

_BOM = b"\xef\xbb\xbf"
_BLOCK = 4 << 20  # bytes read at a time
_WHOLE = 16 << 20  # a file up to this size that is not lines is one candidate
_RESUME = re.compile(r"\n(?=[{\[])")  # where, after a broken document, the next may begin
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some candidates of one file, each with the line on which it begins."""

    name: str | None
    documents: pa.BinaryArray
    lines: np.ndarray[Any, np.dtype[np.int64]]


def candidates(name: str, reader: Reader) -> Iterator[Chunk]:
    """Cut a file into candidates.

    What was read before the file breaks off is given before the error is raised.
    """
    file = _File(reader)
    file.fill()
    file.buffer = file.buffer.removeprefix(_BOM)
    if _is_lines(name, file):
        yield from _lines(name, file)
    else:
        yield from _whole(name, file)
    if file.error is not None:
        raise file.error


@dataclass(slots=True)
class _File:
    """A file being read: what is at hand of it, and how it ended."""

    reader: Reader
    buffer: bytes = b""
    ended: bool = False
    error: BaseException | None = field(default=None)

    def fill(self, size: int = _BLOCK) -> None:
        """Read on, at least until there is more at hand by `size` bytes or the file has ended."""
        blocks, missing = [self.buffer], size
        while missing > 0 and not self.ended:
            block = self._read()
            self.ended = not block
            blocks.append(block)
            missing -= len(block)
        self.buffer = b"".join(blocks)

    def _read(self) -> bytes:
        try:
            return self.reader.read1(_BLOCK)
        except Exception as error:  # noqa: BLE001 (raised again by `candidates`, after what was good)
            self.error = error
            return b""


def _is_lines(name: str, file: _File) -> bool:
    """Tell lines by the file's name, or by a first line that is a whole document with another after it."""
    suffixes = PurePosixPath(name).suffixes
    if any(suffix.lower() in LINES for suffix in suffixes[-2:]):
        return True
    start = file.buffer.lstrip()
    first, newline, rest = start.partition(b"\n")
    if not newline or rest.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        return isinstance(json.loads(first), dict | list)
    except (ValueError, RecursionError):
        return False


def _lines(name: str, file: _File) -> Iterator[Chunk]:
    line = 1
    while file.buffer:
        end = len(file.buffer) if file.ended else file.buffer.rfind(b"\n") + 1
        block, file.buffer = file.buffer[:end], file.buffer[end:]
        if block:
            chunk, count = _cut_lines(name, block, line)
            line += count
            yield chunk
        file.fill(max(_BLOCK, len(file.buffer)))


def _cut_lines(name: str, block: bytes, line: int) -> tuple[Chunk, int]:
    """Cut whole lines without copying them; blank ones are left out."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
    if not len(ends) or ends[-1] != len(block):
        ends = np.append(ends, len(block))
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    array = pa.BinaryArray.from_buffers(
        pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    )
    lines = np.arange(line, line + len(ends))
    short = np.flatnonzero(np.diff(offsets) <= len(b"\r\n"))
    blank = [each for each in short if not block[offsets[each] : offsets[each + 1]].strip()]
    if blank:
        kept = np.ones(len(ends), bool)
        kept[blank] = False
        array, lines = array.filter(pa.array(kept)), lines[kept]
    return Chunk(name, array, lines), len(ends)


def _whole(name: str, file: _File) -> Iterator[Chunk]:
    file.fill(_WHOLE)
    line, small = 1, file.ended
    while file.buffer.strip():
        spans = [] if small else list(_spans(file.buffer))
        if not spans:
            # A document that is broken, or goes on, ends where the next begins at the start of a line.
            size = len(file.buffer) if file.ended else _start_of_next(file.buffer)
            if not size:
                file.fill(len(file.buffer))
                continue
            spans = [(len(file.buffer) - len(file.buffer.lstrip()), size)]
        lines, before = [], 0
        for start, _ in spans:
            line += file.buffer.count(b"\n", before, start)
            lines.append(line)
            before = start
        documents = pa.array([file.buffer[start:end] for start, end in spans], pa.binary())
        yield Chunk(name, documents, np.array(lines))
        end = spans[-1][1]
        line += file.buffer.count(b"\n", before, end)
        file.buffer = file.buffer[end:]
        file.fill(max(0, _WHOLE - len(file.buffer)))


def _spans(buffer: bytes) -> Iterator[tuple[int, int]]:
    """Find where the documents at hand begin and end, as far as they are whole."""
    text = buffer.decode("latin-1")  # a character a byte; what JSON is made of is ASCII
    decoder = json.JSONDecoder()
    at = _after_space(text, 0)
    while at < len(text):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield at, end
        at = _after_space(text, end)


def _start_of_next(buffer: bytes) -> int:
    """Find where, after the first document, the next may begin; 0 if nowhere."""
    found = _RESUME.search(buffer.decode("latin-1"), 1)
    return found.end() if found else 0


def split(document: bytes) -> Iterator[tuple[int, Any | Finding]]:
    """Find the documents in a candidate that is not one; each with its line, counted from 0.

    What is no JSON is a `Finding`; the search goes on where a line begins with a bracket.

    >>> list(split(b'{"a": 1}[2]'))
    [(0, {'a': 1}), (0, [2])]
    """
    try:
        # Without the line's end, lest an error at it is told of the next line.
        text = document.removeprefix(_BOM).decode().rstrip(" \t\r\n")
    except UnicodeDecodeError as error:
        yield 0, Finding("not UTF-8", value=verbatim(f"{error.reason} at byte {error.start}"))
        return
    decoder = json.JSONDecoder()
    at, line, before = _after_space(text, 0), 0, 0
    while at < len(text):
        line, before = line + text.count("\n", before, at), at
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            yield line, Finding("not JSON", value=verbatim(_reason(error)))
            resume = _RESUME.search(text, at + 1)
            end = resume.end() if resume else len(text)
        else:
            yield line, value
        at = _after_space(text, end)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at column {error.colno}"
    return "nested too deep" if isinstance(error, RecursionError) else str(error)
