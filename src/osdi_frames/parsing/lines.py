"""Documents in memory as a file of lines, for a parser that reads files only."""

from __future__ import annotations

import os
import tempfile
import weakref

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PART = 1 << 16  # characters that are compared at once: what the processor holds


class Lines:
    """A file that is written anew for each query: in memory on Linux, temporary elsewhere."""

    def __init__(self) -> None:
        self.size = 0
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("osdi-frames")
            self.address = f"/proc/self/fd/{descriptor}"
            weakref.finalize(self, os.close, descriptor)
        else:
            descriptor, self.address = tempfile.mkstemp(prefix="osdi-frames-")
            os.close(descriptor)
            weakref.finalize(self, os.unlink, self.address)

    def write(self, documents: pa.StringArray) -> None:
        """Replace what the file holds by a line for each document."""
        # Its memory is used again, so it is not emptied before.
        with open(self.address, "r+b") as file:  # noqa: PTH123 (an address is text)
            self.size = file.write(_lines(documents))
            file.truncate()


def _lines(documents: pa.StringArray) -> pa.Buffer:
    _, offsets, data = documents.buffers()
    ends = np.frombuffer(offsets, np.int32)[documents.offset : documents.offset + len(documents) + 1]
    data = data[ends[0] : ends[-1]]
    characters = np.frombuffer(data, np.uint8)
    at_ends = characters[ends[1:] - ends[0] - 1] == ord("\n")
    parts = (characters[at : at + _PART] for at in range(0, len(characters), _PART))
    if at_ends.all() and sum(np.count_nonzero(part == ord("\n")) for part in parts) == len(documents):
        return data
    # Within a document a carriage return is as blank as a line feed, and as wrong in a string.
    lines = pc.replace_substring(pc.utf8_rtrim(documents, " \t\r\n"), "\n", "\r")
    return pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")[0].as_buffer()
