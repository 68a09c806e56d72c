"""Make realistic archives, or the world behind them, from a seed: nothing in them is real.

`World` is pure data in the contract's shapes, `pages` and `deliveries` are the documents that a deployment
sends of it, `write` and `showcase` lay them on a disk. The same seed makes the same world.
"""

from osdi_frames.sample.deployment import Deployment
from osdi_frames.sample.documents import Delivery, deliveries, fetched, pages, signature_pages, single
from osdi_frames.sample.layouts import showcase, write
from osdi_frames.sample.world import UNTIL, World

__all__ = [
    "UNTIL",
    "Delivery",
    "Deployment",
    "World",
    "deliveries",
    "fetched",
    "pages",
    "showcase",
    "signature_pages",
    "single",
    "write",
]
