"""The client: pulls that are fast, polite and complete, or say so; and events written.

`client` is what users see, and the only module here that knows of DataFrames. `transport` is the only one that imports
httpx. `address`, `answers`, `paging` and `writing` decide without I/O.
"""

from __future__ import annotations

from osdi_frames.client.client import Client
from osdi_frames.client.manifest import CollectionPulled, Manifest

__all__ = ["Client", "CollectionPulled", "Manifest"]
