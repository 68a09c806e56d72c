"""How documents lie in a file: one, one per line, or one after the other."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from osdi_frames.archive.limits import Limits
from osdi_frames.archive.names import is_lines
from osdi_frames.archive.streams import Reader
from osdi_frames.problems import Finding, Place, Problem, ProblemKind, verbatim

_BOM = b"\xef\xbb\xbf"
_FIRST, _BLOCK = 1 << 16, 4 << 20  # bytes read at a time: first, then
_WHOLE = 16 << 20  # documents with nothing between them are separated in candidates above this size
_OVERLAP = 1 << 16  # bytes between two documents within which a boundary is found while skipping
_BLANK = b" \t\r\n"
#: Between documents on different lines. Within one, no closing bracket is followed by an opening one, unless in
#: a string, which holds no line break.
_BOUNDARY = re.compile(rb"[}\]][ \t\r]*+\n[ \t\r\n]*+([{\[])")
_LINE_END = re.compile(rb"\n()")
_GLUED = re.compile(rb"[}\]][ \t\r]*+[{\[]")
_DIGITS = 4300  # of an integer; Python makes no number of more, which then stay text
_ERRORS = 1000  # after so many in one candidate no more documents are looked for
_RESUME = re.compile(r"\n(?=[{\[])")  # where, after a broken document, the next may begin
_CONSTANT = re.compile(r"-?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n]*")
_IS_BLANK = np.isin(np.arange(256), np.frombuffer(_BLANK, np.uint8))
_LINE_1 = np.ones(1, np.int64)

_Lines = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some candidates of one file, each with the line on which it begins."""

    name: str | None
    documents: pa.BinaryArray
    lines: _Lines


def candidates(
    name: str, reader: Reader, limits: Limits, handle: Callable[[Problem], None], *, line: int = 1
) -> Iterator[Chunk]:
    """Cut a file into candidates, or as much of it as begins with a document on some line.

    What was read before the file breaks off is yielded before the error is raised.
    """
    file = _File(name, reader, limits, handle, line=line)
    file.fill(_FIRST)
    file.buffer = file.buffer.removeprefix(_BOM)
    yield from _lines(file) if is_lines(name) else _documents(file)
    if file.error is not None:
        raise file.error


@dataclass(frozen=True, slots=True)
class Survey:
    """Where a part of a file can be cut, and its line breaks."""

    border: (
        int | None
    )  # the byte at which a document begins, the first that does so after another, if there is one
    breaks_before: int  # the line breaks before it
    breaks: int


def survey(name: str, reader: Reader) -> Survey:
    """Find the first border between documents in a part of a file that may begin anywhere, and count lines.

    A border is recognised without what precedes it: no string of JSON holds a line break.
    """
    pattern = _LINE_END if is_lines(name) else _BOUNDARY
    border, breaks_before, breaks, at, buffer = None, 0, 0, 0, b""
    while block := reader.read1(_BLOCK):
        if border is None:
            buffer += block
            if found := pattern.search(buffer):
                border = at + found.start(1)
                breaks_before = breaks + block.count(b"\n", 0, len(block) - len(buffer) + found.start(1))
            kept = buffer[max(0, len(buffer.rstrip(_BLANK)) - 1) :]  # a border may begin with it
            at, buffer = at + len(buffer) - len(kept), kept
        breaks += block.count(b"\n")
    return Survey(border, breaks_before, breaks)


@dataclass(slots=True)
class _File:
    """A file being read: what is at hand of it, and how it ended."""

    name: str
    reader: Reader
    limits: Limits
    handle: Callable[[Problem], None]
    buffer: bytes = b""
    line: int = 1  # on which the buffer begins
    ended: bool = False
    error: Exception | None = None

    def fill(self, size: int) -> None:
        """Read on, until there is more at hand by `size` bytes or the file has ended."""
        blocks, missing = [self.buffer], size
        while missing > 0 and not self.ended:
            block = self._read(min(size, _BLOCK))
            self.ended = not block
            blocks.append(block)
            missing -= len(block)
        self.buffer = b"".join(blocks)

    def more(self) -> None:
        """Read on in a document that has not ended yet, in proportion to its size."""
        left = self.limits.document_bytes + 1 - len(self.buffer)
        self.fill(max(_FIRST, min(left, max(_BLOCK, len(self.buffer)))))

    def _read(self, size: int) -> bytes:
        try:
            return self.reader.read1(size)
        except Exception as error:  # noqa: BLE001 (raised again by `candidates`, after what was good)
            self.error = error
            return b""

    def drop(self, size: int) -> bytes:
        """Take bytes from the beginning of the buffer."""
        dropped, self.buffer = self.buffer[:size], self.buffer[size:]
        self.line += dropped.count(b"\n")
        return dropped

    @property
    def oversize(self) -> bool:
        """Whether what is at hand is more than one document may be."""
        return len(self.buffer) > self.limits.document_bytes

    def skip(self, border: re.Pattern[bytes]) -> None:
        """Skip a document that is too large, up to where the next begins, and report it."""
        line, size = self.line, 0
        while not (found := border.search(self.buffer)) and not self.ended:
            size += len(self.drop(max(0, len(self.buffer) - _OVERLAP)))
            self.fill(_BLOCK)
        size += len(self.drop(found.start(1) if found else len(self.buffer)))
        self.too_large(line, size, self.line)

    def too_large(self, line: int, size: int, end: int) -> None:
        """Report a document that is larger than the limit."""
        detail = (
            f"a document of {size:,} bytes, skipped up to line {end}; more than"
            f" {self.limits.document_bytes:,} (Limits.document_bytes)"
        )
        self.handle(Problem(Place(self.name, line), ProblemKind.LIMIT, detail))


def _lines(file: _File) -> Iterator[Chunk]:
    while file.buffer:
        end = len(file.buffer) if file.ended else file.buffer.rfind(b"\n") + 1
        if end:
            block, file.buffer = file.buffer[:end], file.buffer[end:]
            yield from _cut_lines(file, block)
        elif file.oversize:
            file.skip(_LINE_END)
        file.more()


def _cut_lines(file: _File, block: bytes) -> Iterator[Chunk]:
    """Cut whole lines without copying them; blank ones and those that are too large are left out."""
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    if not len(ends) or ends[-1] != len(block):
        ends = np.append(ends, len(block))
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    array = pa.BinaryArray.from_buffers(
        pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    )
    lines = np.arange(file.line, file.line + len(ends))
    file.line += len(ends)
    sizes = np.diff(offsets)
    kept = sizes <= file.limits.document_bytes
    for number in np.flatnonzero(~kept):
        file.too_large(int(lines[number]), int(sizes[number]), int(lines[number]) + 1)
    first = data[offsets[:-1]]
    kept &= first != ord("\n")
    if _IS_BLANK[first[kept]].any():
        seen = np.cumsum(~_IS_BLANK[data], dtype=np.int32)  # characters so far that are not blank
        kept &= np.diff(seen[ends - 1], prepend=0) > 0
    if not kept.all():
        array, lines = array.filter(pa.array(kept)), lines[kept]
    if len(array):
        yield Chunk(file.name, array, lines)


def _documents(file: _File) -> Iterator[Chunk]:
    searched = 0  # how much of the buffer holds no boundary
    while True:
        file.drop(len(file.buffer) - len(file.buffer.lstrip(_BLANK)))
        if not file.buffer and file.ended:
            return
        starts = [found.start(1) for found in _BOUNDARY.finditer(file.buffer, searched)]
        searched = max(0, len(file.buffer.rstrip(_BLANK)) - 1)
        if not starts and len(file.buffer) > _WHOLE:
            starts = _glued(file.buffer)
        if file.ended:
            starts.append(len(file.buffer))
        if starts:
            yield from _cut(file, starts)
            searched = 0
        elif file.oversize:
            file.skip(_BOUNDARY)
            searched = 0
        file.more()


def _glued(buffer: bytes) -> list[int]:
    """Find where the whole documents in the buffer end, where something follows without a line break."""
    if not _GLUED.search(buffer):
        return []
    text = buffer.decode("latin-1")  # a character per byte; the syntax of JSON is ASCII
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    ends, at = [], 0
    while at < len(text):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        at = _after_space(text, end)
        ends.append(at)
    return ends


def _cut(file: _File, starts: list[int]) -> Iterator[Chunk]:
    """Yield the documents of the buffer up to the last start of another."""
    documents, lines, at = [], [], 0
    for start in starts:
        part = file.buffer[at:start]
        document, line = part.rstrip(_BLANK), file.line
        file.line += part.count(b"\n")
        at = start
        if len(document) > file.limits.document_bytes:
            file.too_large(line, len(document), file.line)
        elif document:
            documents.append(document)
            lines.append(line)
    file.buffer = file.buffer[at:]
    if documents:
        numbers = _LINE_1 if lines == [1] else np.array(lines)
        yield Chunk(file.name, pa.array(documents, pa.binary()), numbers)


def split(document: bytes) -> Iterator[tuple[int, Any | Finding]]:
    """Find the documents in a candidate that is not one; each with its line, counted from 0.

    What is not JSON is a `Finding`; the search goes on where a line begins with a bracket, and ends after
    a thousand findings, the last of which reports that.

    >>> list(split(b'{"a": 1}[2]'))
    [(0, {'a': 1}), (0, [2])]
    """
    try:
        # Without the line's end, so that an error at it is not reported for the next line.
        text = document.removeprefix(_BOM).decode().rstrip(" \t\r\n")
    except UnicodeDecodeError as error:
        yield 0, Finding(ProblemKind.NOT_UTF8, value=verbatim(f"{error.reason} at byte {error.start}"))
        return
    decoder = json.JSONDecoder(
        object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=str
    )
    at, line, before, errors = _after_space(text, 0), 0, 0, 0
    while at < len(text):
        line, before = line + text.count("\n", before, at), at
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            if (
                isinstance(error, json.JSONDecodeError)
                and error.msg == "Expecting value"
                and (spelled := _CONSTANT.match(text, error.pos))
            ):
                # DuckDB reads a constant in any spelling, as text; Python knows three.
                text = f'{text[: spelled.start()]}"{spelled[0]}"{text[spelled.end() :]}'
                continue
            yield line, Finding(ProblemKind.NOT_JSON, value=verbatim(_reason(error)))
            errors += 1
            resume = _RESUME.search(text, at + 1)
            end = resume.end() if resume else len(text)
        else:
            yield line, value
        at = _after_space(text, end)
        if errors == _ERRORS and at < len(text):
            yield (
                line,
                Finding(
                    ProblemKind.NOT_JSON, value=verbatim(f"{errors:,} errors; what follows was not read")
                ),
            )
            return


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; of a key that occurs twice, its first value."""
    return dict(reversed(pairs)) if len(found := dict(pairs)) < len(pairs) else found


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _DIGITS else digits


def _number(digits: str) -> float | str:
    return digits if math.isinf(number := float(digits)) else number


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at column {error.colno}"
    return "nested too deep" if isinstance(error, RecursionError) else str(error)
