"""The keywords of functions that hand them on, each declared once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, TypedDict

from osdi_frames.reader import Settings
from osdi_frames.resolving.filters import Filters

if TYPE_CHECKING:  # names of types only: who reads tables needs no plots and no Parquet
    from osdi_frames.clock import TimeLike
    from osdi_frames.output.files import Format
    from osdi_frames.privacy import Drop, Key
    from osdi_frames.reports.known import Duration
    from osdi_frames.reports.report import Report
    from osdi_frames.reports.spelling import Spelling
    from osdi_frames.resolving.resolution import Dedupe


class Options(TypedDict, total=False):
    """Keywords of `Archive.report` and `Archive.write_report`."""

    reports: Iterable[Report | str]
    show_addresses: bool
    min_count: int | None
    include: Iterable[str]
    exclude_sources: Iterable[str]
    spelling: Spelling
    compare: Duration
    goals: Mapping[str, int]
    now: TimeLike | None


class PrivacyOptions(TypedDict, total=False):
    """Keywords of `Archive.export` that are about people; see `pseudonymize`."""

    pseudonymize: Key | None
    drop: Drop | None
    coordinate_decimals: int
    postal_characters: int


class ReportOptions(Options, Settings, Filters, total=False):
    """Keywords of `report`: those of `open`, `Archive.where` and `Archive.report`."""


class WriteOptions(ReportOptions, total=False):
    """Keywords of `write_report`: those of `report` and of `Archive.write_report`."""

    formats: Iterable[Format]
    bom: bool
    title: str | None


class ExportOptions(PrivacyOptions, Settings, Filters, total=False):
    """Keywords of `export`: those of `open`, `Archive.where` and `Archive.export`."""

    tables: Iterable[str] | None
    format: Format
    partition_by: str | Literal["month"] | None
    dedupe: Dedupe
    people: bool
    overwrite: bool
    engine: Literal["dask"] | None
    escape_formulas: bool
    bom: bool
    now: TimeLike | None
