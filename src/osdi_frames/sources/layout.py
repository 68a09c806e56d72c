"""How documents lie in a file: one in all, one on each line, or one after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from osdi_frames.json_decoding import LenientDecoder
from osdi_frames.messages import counted, number_form
from osdi_frames.problems import Finding, Place, Problem, ProblemKind, repeated
from osdi_frames.sources.file_kinds import is_lines
from osdi_frames.sources.limits import Limits
from osdi_frames.sources.log_lines import is_log, logged, next_line
from osdi_frames.sources.streams import BufferedStream

_BOM = b"\xef\xbb\xbf"
_FIRST, _BLOCK = 1 << 16, 4 << 20  # bytes read at a time: first, then
_FARTHEST = 128 << 20  # bytes in which a border is looked for; without one a file is not cut there
_OVERLAP = 1 << 16  # bytes between two documents within which a boundary is found while skipping
_BLANK = b" \t\r\n"
#: Between documents on different lines. Within one, no closing bracket is followed by an opening one, unless in
#: a string, which holds no line break.
_BOUNDARY = re.compile(rb"[}\]][ \t\r]*+\n[ \t\r\n]*+([{\[])")
_LINE_END = re.compile(rb"\n()")
_ERRORS = 1000  # after so many in one candidate no more documents are looked for
_RESUME = re.compile(r"\n(?=[{\[])")  # where, after a broken document, the next may begin
_REST = re.compile(
    r"[ \t]*[^\s{\[\]},]"
)  # text on the line of what could be JSON, which is the prefix of a log then
_SPACE = re.compile(r"[ \t\r\n]*")
_IS_BLANK = np.isin(np.arange(256), np.frombuffer(_BLANK, np.uint8))
LINE_1 = np.ones(1, np.int64)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some candidates of a file, with their lines."""

    name: str | None
    documents: pa.BinaryArray
    lines: np.ndarray[Any, np.dtype[np.int64]]
    size: int  # of the documents, and of what lay between them


def candidates(
    name: str, reader: BufferedStream, limits: Limits, handle: Callable[[Problem], None], *, line: int = 1
) -> Iterator[Chunk]:
    """Cut a file into candidates: each is as much of it as begins with a document on some line.

    What was read before the file breaks off is yielded before the error is raised.
    """
    file = _File(name, reader, limits, handle, line, _border(name))
    file.fill(_FIRST)
    if is_log(file.buffer[:_FIRST]):
        file.border = _LINE_END
    if line == 1:
        file.buffer = file.buffer.removeprefix(_BOM)
    while file.buffer or not file.ended:
        if found := _last_end(file) if file.border is _LINE_END else _ends(file):
            block, file.buffer = memoryview(file.buffer)[: found[-1]], file.buffer[found[-1] :]
            if chunk := _cut(file, block, found):
                yield chunk
        elif len(file.buffer) > limits.document_bytes:
            file.skip()
        if not file.ended:
            file.more()
    if file.error is not None:
        raise file.error


def _border(name: str) -> re.Pattern[bytes]:
    return _LINE_END if is_lines(name) else _BOUNDARY


def single(name: str, data: bytes) -> bytes | None:
    """Return the only document of a file, without the blanks after it; None where there may be another."""
    document = data.rstrip(_BLANK)
    has_more = b"\n" in document and _border(name).search(document)
    return document if document.startswith((b"{", b"[")) and not has_more else None


def survey(name: str, reader: BufferedStream) -> tuple[int | None, int, int]:
    """Return where the first document begins in a part of a file, None if nowhere; line breaks before it, and in all.

    The part may begin anywhere: a border between documents is recognised without what precedes it, since no string of
    JSON holds a line break.
    """
    start, found = b"", None
    while not found and len(start) < _FARTHEST and (block := reader.read(max(_BLOCK, len(start)))):
        start += block
        found = _border(name).search(start)
    border = found.start(1) if found else None
    breaks = start.count(b"\n")
    while block := reader.read1(_BLOCK):
        breaks += block.count(b"\n")
    return border, start.count(b"\n", 0, border), breaks


@dataclass(slots=True)
class _File:
    """A file being read, and how it ended."""

    name: str
    reader: BufferedStream
    limits: Limits
    handle: Callable[[Problem], None]
    line: int  # on which the buffer begins
    border: re.Pattern[bytes]  # between documents
    buffer: bytes = b""
    searched: int = 0  # bytes of the buffer in which no boundary is
    ended: bool = False
    error: Exception | None = None

    def fill(self, size: int) -> None:
        """Read at least `size` more bytes, or to the end."""
        blocks, missing = [self.buffer], size
        while missing > 0 and not self.ended:
            try:
                block = self.reader.read1(min(size, _BLOCK))
            except Exception as error:  # noqa: BLE001 (raised again by `candidates`, after what was good)
                self.error, block = error, b""
            self.ended = not block
            blocks.append(block)
            missing -= len(block)
        self.buffer = b"".join(blocks)

    def more(self) -> None:
        """Read as much of a document again as was read of it before."""
        left = self.limits.document_bytes + 1 - len(self.buffer)
        self.fill(max(_FIRST, min(left, max(_BLOCK, len(self.buffer)))))

    def drop(self, size: int) -> int:
        self.line += self.buffer.count(b"\n", 0, size)
        self.buffer = self.buffer[size:]
        return size

    def skip(self) -> None:
        """Skip a document that is too large up to where the next begins, and report it."""
        line, size, self.searched = self.line, 0, 0
        while not (found := self.border.search(self.buffer)) and not self.ended:
            size += self.drop(max(0, len(self.buffer) - _OVERLAP))
            self.fill(_BLOCK)
        end = found.start(1) if found else len(self.buffer)
        size += len(self.buffer[:end].rstrip(_BLANK))  # as of one that was read whole
        self.drop(end)
        self.report(line, size, self.line)

    def report(self, line: int, size: int, end: int) -> None:
        detail = (
            f"a document of {size:,} bytes, skipped up to line {end}; more than"
            f" {self.limits.document_bytes:,} (Limits.document_bytes)"
        )
        self.handle(Problem(Place(self.name, line), ProblemKind.LIMIT, detail))


def _last_end(file: _File) -> list[int]:
    end = len(file.buffer) if file.ended else file.buffer.rfind(b"\n") + 1
    return [end] if end else []


def _ends(file: _File) -> list[int]:
    """Return where the documents in the buffer end, which begins with one."""
    file.drop(len(file.buffer) - len(file.buffer.lstrip(_BLANK)))
    ends = [found.start(1) for found in _BOUNDARY.finditer(file.buffer, file.searched)]
    if file.ended and file.buffer and ends[-1:] != [len(file.buffer)]:
        ends.append(len(file.buffer))
    file.searched = 0 if ends else max(0, len(file.buffer.rstrip(_BLANK)) - 1)
    return ends


def _cut(file: _File, block: memoryview, found: list[int]) -> Chunk | None:
    """Cut documents without copying them; leave out blank ones and those that are too large."""
    data = np.frombuffer(block, np.uint8)
    breaks = np.flatnonzero(data == ord("\n"))
    ends = breaks + 1 if file.border is _LINE_END else np.array(found)
    if not len(ends) or ends[-1] != len(block):
        ends = np.append(ends, len(block))
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    array = pa.BinaryArray.from_buffers(
        pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    )
    # Which line each begins on: of lines, the search would take seconds where there are many.
    counted = np.arange(len(offsets)) if file.border is _LINE_END else np.searchsorted(breaks, offsets)
    lines = file.line + np.minimum(counted, len(breaks))
    file.line, most = int(lines[-1]), file.limits.document_bytes
    kept = np.diff(offsets) <= most
    for number in np.flatnonzero(~kept):
        size = len(array[number].as_py().rstrip(_BLANK))
        if size > most:
            file.report(int(lines[number]), size, int(lines[number + 1]))
        kept[number] = size <= most
    first = data[offsets[:-1]]
    kept &= first != ord("\n")
    if _IS_BLANK[first[kept]].any():
        seen = np.cumsum(~_IS_BLANK[data], dtype=np.int32)  # characters so far that are not blank
        kept &= np.diff(seen[ends - 1], prepend=0) > 0
    if not kept.all():
        array, lines = array.filter(pa.array(kept)), lines[:-1][kept]
    return Chunk(file.name, array, lines[: len(array)], len(block)) if len(array) else None


def split(document: bytes) -> Iterator[tuple[int, Any | Finding]]:
    """Find the documents in a candidate, with their lines.

    Lines are counted from 0. A line of a log, which has text before its JSON, is `Logged`.
    What is not JSON is a `Finding`; the search goes on where a line begins with a bracket, and ends after
    a thousand of these, the last of which reports that. So is, before a document, a key that it has twice anywhere,
    or a number that JSON does not have.

    >>> list(split(b'{"a": 1}[2]'))
    [(0, {'a': 1}), (0, [2])]
    """
    try:
        # Without the line's end, so that an error at it is not reported for the next line.
        text = document.removeprefix(_BOM).decode().rstrip(" \t\r\n")
    except UnicodeDecodeError as error:
        yield 0, Finding(ProblemKind.NOT_UTF8, value=f"{error.reason} at byte {error.start}")
        return
    decoder = LenientDecoder()
    at, line, before, errors = _after_space(text, 0), 0, 0, 0
    while at < len(text):
        line, before = line + text.count("\n", before, at), at
        if errors == _ERRORS:
            reason = f"{errors:,} errors; what follows was not read"
            yield line, Finding(ProblemKind.NOT_JSON, value=reason)
            return
        try:
            value, end = _decoded(decoder, text, at)
        except (ValueError, RecursionError) as error:
            value = Finding(ProblemKind.NOT_JSON, value=_reason(error, at))
            errors += 1
            end = _resumed(text, at)
        for warning in _warnings(decoder):
            yield line, warning
        yield line, value
        at = _after_space(text, end)


def _decoded(decoder: LenientDecoder, text: str, at: int) -> tuple[Any, int]:
    """Return the document at a position, or the line of a log that is there, and its end."""
    try:
        value, end = decoder.decode(text, at)
    except (ValueError, RecursionError):
        if line := logged(text, at, decoder):
            return line
        raise
    if not isinstance(value, dict) and _REST.match(text, end):
        if line := logged(text, at, decoder):
            return line
        if not isinstance(value, list | str):
            raise ValueError("text, and not JSON")
    return value, end


def _resumed(text: str, at: int) -> int:
    """Return where, after what is not JSON, the next document may begin."""
    if text[at] not in '{["':
        return next_line(text, at)
    found = _RESUME.search(text, at + 1)
    return found.end() if found else len(text)


def _warnings(decoder: LenientDecoder) -> Iterator[Finding]:
    for key, count in decoder.twice.items():
        yield repeated(key, count)
    for number, count in decoder.unusual.items():
        yield Finding(ProblemKind.ODD_NUMBER, value=number_form(number), severity="warning", count=count)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _reason(error: ValueError | RecursionError, start: int) -> str:
    """Return what is wrong with a document that begins at `start`, and where from there, if Python says so."""
    if isinstance(error, json.JSONDecodeError):
        lines = error.doc.count("\n", start, error.pos)
        below = f" {counted(lines, 'line')} below," if lines else ""
        return f"{error.msg.removesuffix(' at')}{below} at column {error.colno}"
    return "nested too deep" if isinstance(error, RecursionError) else str(error)
