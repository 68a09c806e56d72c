"""The sources on disk: any path, folder, pattern, open file or Python object, as a stream of documents.

The stream is one of *candidates*: the bytes of one document each, in almost every case. Whether they are JSON
is left to the reader, who parses them anyway; `split` then finds the documents in those that are not one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from osdi_frames.archive.layout import Chunk, split
    from osdi_frames.archive.limits import Limits
    from osdi_frames.archive.source import Partition, Source, partitions, read

__all__ = ["Chunk", "Limits", "Partition", "Source", "partitions", "read", "split"]

_HOMES = {"Chunk": "layout", "Limits": "limits", "split": "layout"}


def __getattr__(name: str) -> Any:
    """Import what reads when it is asked for: a receiver writes durably here, without Arrow."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'source')}"), name)
