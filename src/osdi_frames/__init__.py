"""OSDI event collections and signature webhooks as typed DataFrames, reports and Parquet."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from osdi_frames.archive import Limits
from osdi_frames.check import check
from osdi_frames.errors import OsdiError, ProblemsWarning
from osdi_frames.export import export
from osdi_frames.files import write_csv
from osdi_frames.frames import read_events, read_signatures, read_table
from osdi_frames.local_time import local_to_utc
from osdi_frames.reports import (
    rsvps_by,
    rsvps_by_campaign,
    rsvps_over_time,
    signatures_by,
    signatures_by_referrer,
    signatures_by_source,
    signatures_by_website,
    signatures_over_time,
)
from osdi_frames.scan import scan
from osdi_frames.tables import describe

if TYPE_CHECKING:
    from osdi_frames import plots
    from osdi_frames.client import Client, Manifest

__all__ = [
    "Client",
    "Limits",
    "Manifest",
    "OsdiError",
    "ProblemsWarning",
    "check",
    "describe",
    "export",
    "local_to_utc",
    "plots",
    "read_events",
    "read_signatures",
    "read_table",
    "rsvps_by",
    "rsvps_by_campaign",
    "rsvps_over_time",
    "scan",
    "signatures_by",
    "signatures_by_referrer",
    "signatures_by_source",
    "signatures_by_website",
    "signatures_over_time",
    "write_csv",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import the client and the plots when they are asked for: who reads archives needs neither."""
    if name in ("Client", "Manifest"):
        return getattr(import_module("osdi_frames.client"), name)
    if name == "plots":
        return import_module("osdi_frames.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
