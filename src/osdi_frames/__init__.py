"""OSDI event collections and signature webhooks as typed DataFrames, reports and Parquet."""

from osdi_frames.frames import read_table
from osdi_frames.scan import scan
from osdi_frames.tables import describe

__all__ = ["describe", "read_table", "scan"]
