"""OSDI event collections and signature webhooks as typed DataFrames, reports and Parquet."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from osdi_frames.archive import Limits
from osdi_frames.errors import OsdiError, ProblemsWarning
from osdi_frames.export import export
from osdi_frames.files import write_csv
from osdi_frames.local_time import local_to_utc
from osdi_frames.reading.check import check
from osdi_frames.reading.frames import read_events, read_signatures, read_table, read_tables
from osdi_frames.reading.scan import scan
from osdi_frames.report import report, write_report
from osdi_frames.reports import FUNCTIONS as _REPORTS
from osdi_frames.tables import describe

if TYPE_CHECKING:
    from osdi_frames import plots
    from osdi_frames.client import Client, Manifest

__all__ = [  # noqa: PLE0604 (the names of the reports)
    *_REPORTS,
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
    "report",
    "scan",
    "write_csv",
    "write_report",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Return a report's function; import the client and the plots when they are asked for."""
    if name in _REPORTS:
        return _REPORTS[name]
    if name in ("Client", "Manifest"):
        return getattr(import_module("osdi_frames.client"), name)
    if name == "plots":
        return import_module("osdi_frames.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
