"""Documents in memory as a file of lines, for a parser that reads files only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fsspec import AbstractFileSystem

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Lines(AbstractFileSystem):  # type: ignore[misc] # fsspec has no types
    """A file system of files in memory, each for a while."""

    protocol = "osdi-frames"
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count()
        self._files: dict[str, pa.Buffer] = {}

    @contextmanager
    def file(self, documents: pa.StringArray) -> Iterator[str]:
        """Make a file with a line for each document; give its address."""
        address = f"{self.protocol}://{next(self._numbers)}"
        self._files[address] = _lines(documents)
        try:
            yield address
        finally:
            del self._files[address]

    def open(self, path: str, *_: Any, **__: Any) -> pa.NativeFile:
        """Open a file."""
        return pa.BufferReader(self._files[path])

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return the file."""
        return [path]

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return int(self._files[path].size)

    def modified(self, _: str) -> datetime:
        """Return a time: files do not change."""
        return _NEVER


def _lines(documents: pa.StringArray) -> pa.Buffer:
    _, offsets, data = documents.buffers()
    ends = np.frombuffer(offsets, np.int32)[documents.offset : documents.offset + len(documents) + 1]
    data = data[ends[0] : ends[-1]]
    characters = np.frombuffer(data, np.uint8)
    at_ends = characters[ends[1:] - ends[0] - 1] == ord("\n")
    if at_ends.all() and np.count_nonzero(characters == ord("\n")) == len(documents):
        return data
    # Within a document a carriage return is as blank as a line feed, and as wrong in a string.
    lines = pc.replace_substring(pc.utf8_rtrim(documents, " \t\r\n"), "\n", "\r")
    return pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")[0].as_buffer()
