"""Documents in memory as a file of lines, for a parser that reads files only."""

from __future__ import annotations

import os
from tempfile import NamedTemporaryFile
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class Lines:
    """A file that is written anew for each query; it is in memory where the system has such files."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self._file: IO[bytes] = os.fdopen(os.memfd_create("osdi-frames"), "wb")
            self.address = f"/proc/self/fd/{self._file.fileno()}"
        else:
            self._file = NamedTemporaryFile(prefix="osdi-frames-")  # noqa: SIM115 (as long as the process)
            self.address = self._file.name
        self.size = 0

    def write(self, documents: pa.StringArray) -> None:
        """Replace what the file holds by a line for each document."""
        self._file.seek(0)
        self.size = self._file.write(_lines(documents))
        self._file.truncate()


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
