"""The sources on disk: any path, folder, pattern, open file or Python object, as a stream of documents.

What is given out are *candidates*: the bytes of one document each, in almost every case. Whether they
are JSON is for the reader to see, who parses them anyway; `split` then finds the documents in those
that are not one.
"""

from __future__ import annotations

from osdi_frames.archive.layout import Chunk, split
from osdi_frames.archive.source import Source, read

__all__ = ["Chunk", "Source", "read", "split"]
