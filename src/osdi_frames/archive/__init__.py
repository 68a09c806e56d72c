"""The sources on disk: any path, folder, pattern, open file or Python object, as a stream of documents.

The stream is one of *candidates*: the bytes of one document each, in almost every case. Whether they are JSON
is left to the reader, who parses them anyway; `split` then finds the documents in those that are not one.
"""

from __future__ import annotations

from osdi_frames.archive.layout import Chunk, split
from osdi_frames.archive.limits import Limits
from osdi_frames.archive.partition import Partition
from osdi_frames.archive.source import Source, partitions, read

__all__ = ["Chunk", "Limits", "Partition", "Source", "partitions", "read", "split"]
