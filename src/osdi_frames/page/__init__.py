"""The standard reports as files: CSV, Parquet, and a page to forward to those who open no notebook.

The page is one HTML file. It asks nothing of any network, carries its style and its script in itself, and its content
security policy forbids all else: it opens from a disk, an e-mail or a web server.

It holds counts only: reports, the places of events, coordinates rounded to about a kilometre, and those of people,
without names, rounded to about ten; of an inspection the names of keys, never a value, a file's name or an address.
Only `hosts`, a report that is made when it is asked for, names people. A person's name used as a source is shown:
nothing distinguishes it from other text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from markupsafe import Markup

from osdi_frames.durable import naming
from osdi_frames.excel import formats_of, with_periods, write_sheets
from osdi_frames.output.files import FileForm, write_tables
from osdi_frames.page import document, sections, tables
from osdi_frames.parsing.check import Inspection
from osdi_frames.problems import ProblemKind
from osdi_frames.reports.acts import UNKNOWN_NEW
from osdi_frames.reports.glance import glance
from osdi_frames.reports.published import FILE
from osdi_frames.reports.report import Report
from osdi_frames.reports.result import ReportResult
from osdi_frames.tables import element_types

_SHARE_DECIMALS = 3  # 3.2% on the page is 0.032 in a file
_OUTCOMES = {"error": "left out", "warning": "mended", "info": "not read"}
#: What became of problems of some kinds, whatever their severity. Where something counts, nothing is missing.
_OF_KIND = {
    ProblemKind.QUARANTINE: "not read",
    ProblemKind.INCOMPLETE: "missing",
    ProblemKind.UNWRAPPED: "counted",
    ProblemKind.UNKNOWN_STATUS: "counted",
    ProblemKind.NO_IDENTITY: "counted",
}


def write(
    result: ReportResult, folder: Path, *, forms: Iterable[FileForm], title: str | None, now: datetime | None
) -> None:
    """Write the page, and the files of each report."""
    html = render(result, title=title, now=now or datetime.now(UTC))
    with naming(folder / "report.html"):
        (folder / "report.html").write_text(html, encoding="utf-8")
    if result.published:
        with naming(folder / FILE):
            (folder / FILE).write_bytes(result.published.dumped())
    frames = {declared.name: (declared, with_periods(frame)) for declared, frame in result.reports}
    for form in forms:
        if form.format == "xlsx":
            for name, (declared, frame) in frames.items():
                formats = formats_of(frame, declared.measures)
                write_sheets([(None, frame)], folder / f"{name}.xlsx", {None: formats})
            continue
        rows = {name: _rows(declared, frame, form) for name, (declared, frame) in frames.items()}
        write_tables({name: table.schema for name, table in rows.items()}, rows.items(), folder, form)


def _rows(declared: Report, frame: pd.DataFrame, form: FileForm) -> pa.Table:
    """Return a report as rows of a file; CSV, which people read, has shares as the page shows them, as 0.032."""
    if form.format == "csv":
        shares = [column.name for column in declared.shown(frame) if "share" in column.unit]
        frame = frame.round(dict.fromkeys(shares, _SHARE_DECIMALS))
    return pa.Table.from_pandas(frame.reset_index().rename(columns=str), preserve_index=False)


def render(made: ReportResult, *, title: str | None = None, now: datetime) -> str:
    """Return the page of some reports, as text.

    Each report is a table, with a bar for each count, or a plot if it is over time. A table shows 200 rows at
    most, 10 in print, and the others as one, so that its sums are those of the report. `now` has a time zone, or is
    shown without.

    >>> import osdi_frames as of
    >>> made = of.report({"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"})
    >>> render(made, now=datetime(2026, 5, 2, tzinfo=UTC)).startswith("<!doctype html>")
    True
    """
    style, script = map(document.text, ("page.css", "page.js"))
    # What the page does not need is forbidden: everything but its own style, script and images.
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return document.rendered(
        "page.html.jinja",
        policy=policy,
        style=Markup(style),  # noqa: S704 (the package's own)
        script=Markup(script),  # noqa: S704 (the package's own)
        title=tables.visible(title or "Events and signatures"),
        version=metadata.version("osdi-frames"),
        glance=glance(made, now),
        curve=sections.curve(made),
        cards=sections.cards(made),
        parts=sections.parts(made),
        reading=None if made.inspection is None else _of_inspection(made.inspection, made.others),
        notes=document.notes(made),
        unknown=UNKNOWN_NEW,
        made=made,
        zone=sections.zone(made),
        attended="attended" in made.summary.keys() - made.hidden,
        now=now,
    )


def _of_inspection(found: Inspection, others: Mapping[str, int]) -> dict[str, Any]:
    """Return what was found, with the number of problems and, apart, of keys that no table reads.

    What counts all the same is no problem of the page.
    """
    by_key = found.by_key[found.by_key["problem"] != ProblemKind.OTHER_TYPE]
    outcome = by_key["problem"].map(_OF_KIND).fillna(by_key["severity"].map(_OUTCOMES))
    counts = by_key[outcome != "counted"].groupby("severity")["count"].sum()
    unread = int(counts.get("info", 0))
    listed = by_key.assign(outcome=outcome).rename(columns={"key": "where"})
    table = tables.of_counts(listed[["problem", "where", "outcome", "count"]]) if len(listed) else None
    return {
        "found": found,
        "others": others,
        "plurals": {element.name: element.plural for element in element_types()},
        "problems": int(counts.sum()) - unread,
        "unread": unread,
        "table": table,
    }


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
