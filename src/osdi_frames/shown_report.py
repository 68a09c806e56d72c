"""The report of an archive, as a notebook shows and draws it."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from osdi_frames.errors import InvalidArgument
from osdi_frames.parsing.check import Inspector
from osdi_frames.parsing.parse import Observer
from osdi_frames.problems import Policy
from osdi_frames.reports.archive_report import collect, make_reports
from osdi_frames.reports.printed import as_text
from osdi_frames.reports.result import ReportResult

if TYPE_CHECKING:  # who reads the frames needs no plots
    from matplotlib.axes import Axes

    from osdi_frames.reader import Reader
    from osdi_frames.reports.published import Published
    from osdi_frames.reports.request import ReportRequest


@dataclass(frozen=True, slots=True, repr=False)
class ShownReport(ReportResult):
    """The frame of each report, by its name.

    Printed, it is the figures in one line, and what is not among them. A notebook shows the sections of the page.
    """

    def plot(self, name: str, *, ax: Axes | None = None) -> Axes:
        """Draw a report.

        Parameters
        ----------
        name
            the name of its frame
        ax
            the axes to draw on; those of a new pyplot figure if not given, which a notebook shows by itself

        Returns
        -------
        Axes
            the axes; nothing is shown or saved

        Raises
        ------
        UnknownReport
            no such report was made
        InvalidArgument
            it has no plot, as a list of what is new

        Examples
        --------
        >>> import osdi_frames as of
        >>> made = of.report({"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"})
        >>> made.plot("rsvps_by_month").get_title(loc="left")
        'RSVPs by month of the event'
        """
        from osdi_frames import plots

        frame = self[name]
        draw = next(plots.drawing(declared) for declared, _ in self.reports if declared.name == name)
        if draw is None:
            raise InvalidArgument(f"{name} has no plot; it is a list")
        return draw(frame, ax=ax)

    def text(self, name: str, *, top: int = 10) -> str:
        """Lay out a report as text, as the command prints it: with periods, and shares in percent.

        Parameters
        ----------
        name
            the name of its frame
        top
            how many rows to show: the first, of a report over time the last

        Raises
        ------
        UnknownReport
            no such report was made

        Examples
        --------
        >>> import osdi_frames as of
        >>> made = of.report({"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"})
        >>> print(made.text("rsvps_by_month"))
        RSVPs by month of the event
        month    events  rsvps  first_start  last_start
        2026-05       1     12   2026-05-01  2026-05-01
        """
        frame = self[name]
        return next(
            as_text(declared, frame, top=top) for declared, _ in self.reports if declared.name == name
        )

    def to_excel(self, path: str | os.PathLike[str]) -> None:
        """Write an Excel workbook (extra ``excel``): a sheet for each report, by its name, and `notes` on them.

        What is hidden by `min_count` is an empty cell. See `write_excel` for how values are written, and its errors.

        Parameters
        ----------
        path
            the file to write; one that exists is replaced when the new one is whole

        Examples
        --------
        >>> import osdi_frames as of, os, tempfile
        >>> made = of.report({"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made.to_excel(f"{folder}/week.xlsx")
        ...     os.listdir(folder)
        ['week.xlsx']
        """
        from osdi_frames.excel import write_workbook

        write_workbook(self, path)

    def _repr_html_(self) -> str:
        from osdi_frames.page.notebook import html

        return html(self)


def read_report(reader: Reader, request: ReportRequest, last: Published | None = None) -> ShownReport:
    """Read what a report needs in one pass, and make it; `last` is what was published before."""
    observer = (Inspector if request.for_page else Observer)(Policy(reader.on_error))
    resolution = reader.resolution(
        request.columns,
        snapshots=request.snapshots,
        whole=request.titles,
        inspects=request.for_page,
        lists=True,
    )
    tables = collect(reader.rows(resolution, observer), resolution.schemas, request)
    result = make_reports(
        request,
        tables,
        inspection=observer.inspection(resolution.kept) if isinstance(observer, Inspector) else None,
        paths=reader.paths,
        last=last,
        unplaced=resolution.unplaced,
        known_by_address=resolution.known_by_address,
        incomplete=observer.incomplete,
    )
    return ShownReport(**{field.name: getattr(result, field.name) for field in fields(result)})
