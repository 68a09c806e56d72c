"""OSDI event collections and signature webhooks as typed DataFrames, reports and Parquet."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from osdi_frames import plots
    from osdi_frames.archive import Limits
    from osdi_frames.client import Client, Manifest
    from osdi_frames.errors import OsdiError, ProblemsWarning
    from osdi_frames.exporting import export
    from osdi_frames.local_time import local_to_utc
    from osdi_frames.reading.check import check
    from osdi_frames.reading.frames import read_events, read_signatures, read_table, read_tables
    from osdi_frames.reading.scan import scan
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
    from osdi_frames.tables import describe

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
    "read_tables",
    "rsvps_by",
    "rsvps_by_campaign",
    "rsvps_over_time",
    "scan",
    "signatures_by",
    "signatures_by_referrer",
    "signatures_by_source",
    "signatures_by_website",
    "signatures_over_time",
]

#: The module of each public name; it is imported when the name is first asked for, so that what is not used
#: costs nothing: `osdi-frames --help` needs no pandas, and who reads archives neither HTTP nor plots.
_HOMES = {
    "archive": ("Limits",),
    "client": ("Client", "Manifest"),
    "errors": ("OsdiError", "ProblemsWarning"),
    "exporting": ("export",),
    "local_time": ("local_to_utc",),
    "reading.check": ("check",),
    "reading.frames": ("read_events", "read_signatures", "read_table", "read_tables"),
    "reading.scan": ("scan",),
    "reports": (
        "rsvps_by",
        "rsvps_by_campaign",
        "rsvps_over_time",
        "signatures_by",
        "signatures_by_referrer",
        "signatures_by_source",
        "signatures_by_website",
        "signatures_over_time",
    ),
    "tables": ("describe",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import the module of a public name, and return what it names."""
    if name == "plots":
        return import_module("osdi_frames.plots")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"osdi_frames.{_HOME_OF[name]}"), name)
