"""`open`, and functions of a source that are one call of what it returns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd

from osdi_frames.archive import Archive
from osdi_frames.errors import InvalidSource, only_known
from osdi_frames.keywords import ExportOptions, ReportOptions, WriteOptions
from osdi_frames.reader import Reader, Settings
from osdi_frames.resolving.filters import FILTERS
from osdi_frames.resolving.resolution import Columns, Dedupe
from osdi_frames.sources.source import Source

if TYPE_CHECKING:
    from osdi_frames.parsing.check import Problems
    from osdi_frames.shown_report import ShownReport


def open(  # noqa: A001 (as tarfile and zipfile do: it is called of.open)
    source: Source, **settings: Unpack[Settings]
) -> Archive:
    """Open an archive; nothing is read yet.

    Parameters
    ----------
    source
        A path or a list of paths (file, folder, pattern), an fsspec URL, an open binary file, parsed JSON (a page, a
        list of pages, a delivery), or a column or list of JSON texts. Folders are read recursively, sorted by name.
        What a gateway, a queue or a warehouse has put around a document is taken off.
    prefix
        The service's own prefix, in addition to ``platform`` and ``action_network``.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` leaves a value that does not fit missing, passes
        over a document that cannot be read, and warns once with the count. `Archive.check` lists all.
    limits
        Bounds on the documents and on what is decompressed from one file; see `Limits`.
    store
        A folder that keeps what is parsed of files, so that the next reading parses only new and changed ones. It is
        made where it is missing, and holds the same personal data as the source.
    keep
        Whether later readings of this handle show what earlier ones have parsed, as long as the files are the same. Of
        8 MB or more in local files it is kept from the second reading on, in a temporary folder that others cannot
        read, and that is removed with the handle.
    progress
        A progress bar: None shows one on a terminal or in a notebook, and for long work only.
    timezone
        The zone whose wall clock periods, hours and the days of `Archive.where` are of, as ``"America/New_York"``; UTC
        when not given. Frames name it in their ``attrs["timezone"]``, where functions of periods find it. Times in
        tables stay UTC.

    Examples
    --------
    >>> import osdi_frames as of
    >>> archive = of.open({"title": "March", "total_accepted": 12})
    >>> archive.events(["title", "total_accepted"])
       title  total_accepted
    0  March              12
    """
    only_known("open", settings, Settings.__annotations__)
    if isinstance(source, Reader):
        raise InvalidSource("this is an open archive already; call its methods, as archive.events()")
    return Archive(source, **settings)


def _opened(
    function: Any, source: Source, options: Mapping[str, Any], *known: Iterable[str]
) -> tuple[Archive, dict[str, Any]]:
    """Return the described archive, and the other keywords."""
    only_known(function.__name__, options, function.__kwdefaults__, *known)
    others = dict(options)
    settings = {name: others.pop(name) for name in options if name in Settings.__annotations__}
    filters = {name: others.pop(name) for name in options if name in FILTERS}
    return open(source, **settings).where(now=options.get("now"), **filters), others


def read_events(
    source: Source, *, columns: Columns = None, dedupe: Dedupe = True, **settings: Unpack[Settings]
) -> pd.DataFrame:
    """Read the events of an archive; see `Archive.events` and `open`.

    >>> import osdi_frames as of
    >>> of.read_events({"title": "March", "total_accepted": 12}, columns=["title", "total_accepted"])
       title  total_accepted
    0  March              12
    """
    return _opened(read_events, source, settings, Settings.__annotations__)[0].events(columns, dedupe=dedupe)


def read_signatures(
    source: Source,
    *,
    columns: Columns = None,
    dedupe: Dedupe = True,
    people: bool = True,
    **settings: Unpack[Settings],
) -> pd.DataFrame:
    """Read the petition signatures of an archive; see `Archive.signatures` and `open`.

    >>> import osdi_frames as of
    >>> of.read_signatures([{"osdi:signature": {"comments": "Yes!"}}], columns=["comments"])
      comments
    0     Yes!
    """
    return _opened(read_signatures, source, settings, Settings.__annotations__)[0].signatures(
        columns, dedupe=dedupe, people=people
    )


def read_table(
    source: Source,
    table: str,
    *,
    columns: Columns = None,
    dedupe: Dedupe = True,
    people: bool = True,
    **settings: Unpack[Settings],
) -> pd.DataFrame:
    """Read any declared table of an archive; see `Archive.table` and `open`.

    >>> import osdi_frames as of
    >>> delivery = [{"osdi:signature": {"add_tags": ["river", "new"]}, "idempotency_key": "5f"}]
    >>> of.read_table(delivery, "signature_tags", columns=["tag"])["tag"].tolist()
    ['river', 'new']
    """
    return _opened(read_table, source, settings, Settings.__annotations__)[0].table(
        table, columns, dedupe=dedupe, people=people
    )


def check(source: Source, **settings: Unpack[Settings]) -> Problems:
    """List every problem of an archive, and every key that no table reads; see `Archive.check` and `open`.

    >>> import osdi_frames as of
    >>> of.check({"id": "9", "title": "March", "total_accepted": 12, "mood": "good"})["detail"].tolist()
    ['event: mood']
    """
    return _opened(check, source, settings, Settings.__annotations__)[0].check()


def report(source: Source, **options: Unpack[ReportOptions]) -> ShownReport:
    """Make the standard reports of an archive; see `Archive.report`, `Archive.where` and `open`.

    >>> import osdi_frames as of
    >>> pull = {"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"}
    >>> of.report(pull)["rsvps_by_month"]["rsvps"].to_dict()
    {'2026-05': 12}
    """
    archive, others = _opened(report, source, options, ReportOptions.__annotations__, FILTERS)
    return archive.report(**others)


def write_report(
    source: Source, destination: str | os.PathLike[str], **options: Unpack[WriteOptions]
) -> ShownReport:
    """Write the standard reports of an archive; see `Archive.write_report`, `Archive.where` and `open`.

    >>> import osdi_frames as of, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = of.write_report({"title": "March", "total_accepted": 12}, f"{folder}/report")
    ...     "report.html" in os.listdir(f"{folder}/report")
    True
    """
    archive, others = _opened(write_report, source, options, WriteOptions.__annotations__, FILTERS)
    return archive.write_report(destination, **others)


def export(
    source: Source, destination: str | os.PathLike[str], **options: Unpack[ExportOptions]
) -> dict[str, int]:
    """Write tables of an archive into a folder; see `Archive.export`, `Archive.where` and `open`.

    >>> import osdi_frames as of, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     of.export({"title": "March", "total_accepted": 3}, f"{folder}/out", tables=["events"])
    {'events': 1}
    """
    archive, others = opened_for_export(source, options)
    return archive.export(destination, **others)


def opened_for_export(source: Source, options: Mapping[str, Any]) -> tuple[Archive, dict[str, Any]]:
    """Return the archive that keywords of `export` describe, and those of `Archive.export`."""
    archive, others = _opened(export, source, options, ExportOptions.__annotations__, FILTERS)
    others.pop("now", None)
    return archive, others
