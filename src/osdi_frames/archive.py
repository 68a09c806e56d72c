"""The handle of an archive, which `open` returns."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Unpack

import pandas as pd
import pyarrow as pa

from osdi_frames.clock import TimeLike, present, zone_of
from osdi_frames.errors import InvalidArgument, no_attribute, only_known
from osdi_frames.keywords import Options, PrivacyOptions
from osdi_frames.messages import quoted
from osdi_frames.parsing.parse import Observer
from osdi_frames.problems import Policy
from osdi_frames.resolving.filters import Filters, counted_from
from osdi_frames.resolving.resolution import Columns, Dedupe, Tables, named_tables
from osdi_frames.sources.remote import shown_address
from osdi_frames.table_methods import TableMethods
from osdi_frames.tables import table as declared

if TYPE_CHECKING:  # imported when called: who reads tables needs no plots, no Parquet and no cluster
    import dask.dataframe as dd

    from osdi_frames.contents import Contents
    from osdi_frames.output.files import Format
    from osdi_frames.parsing.check import Problems
    from osdi_frames.reports.request import ReportRequest
    from osdi_frames.reports.supporters import Levels
    from osdi_frames.shown_report import ShownReport


class Archive(TableMethods):
    """An archive, or the part of it that passes filters, of which nothing is read until asked."""

    def __repr__(self) -> str:
        asked = {"prefix": self.prefix, "timezone": self.timezone, **self.filters}
        said = "".join(f", {name}={quoted(value)}" for name, value in asked.items() if value is not None)
        source = shown_address(", ".join(self.paths)) or type(self.source).__name__
        return f"Archive({source}{said})"

    def _repr_html_(self) -> str:
        return self.contents._repr_html_()

    if not TYPE_CHECKING:  # what is not there stays an error to type checkers

        def __getattr__(self, name: str) -> object:
            raise no_attribute("an archive", name, [known for known in dir(self) if known[0] != "_"])

    def where(self, *, now: TimeLike | None = None, **filters: Unpack[Filters]) -> Archive:
        """Return the part of the archive that passes filters.

        A filter holds for every table that leads to it. Child tables follow their element, `actions` the remaining
        rows, `people` and `supporters` the remaining actions. A table that does not lead to every filter is refused by
        name; `tables`, `export` and reports leave it out and say so. What is left out still counts for the numbers of
        acts, `is_first`, `is_new`, what acts take from people, what is gone or excluded, and titles in reports.

        Parameters
        ----------
        since, until
            A year, month, day or time of the handle's zone, as ``"2026-05"``, the last one included; or one counted
            from `now` (by default the present): ``"7d"`` (the day seven days before), ``"today"``, ``"yesterday"``,
            ``"last-week"``, ``"last-month"``, ``"last-year"``. Each table is filtered by its own date: events by
            start_date (wall clock), acts, uploads and taggings by created_date, actions by date. What has no date is
            left out; petitions, campaigns, forms and tags are kept whole.
        petition, campaign
            An id or title, or a list of them: petitions and their signatures; event campaigns, their events and
            attendances. It is an id if one is so, else the title that one has now, else what only one title begins
            with, in any case.
        status
            A status or a list of them, in any spelling: the events that have it, and their attendances.

        Raises
        ------
        InvalidArgument
            For a time that cannot be read, and for filters or tables that do not lead to each other. What then reads
            raises UnknownValue for a status that occurs nowhere, and what names no petition or campaign, or several.

        Examples
        --------
        >>> import osdi_frames as of
        >>> march = {"identifiers": ["platform:5f"], "status": "tentative", "total_accepted": 3}
        >>> links = {"osdi:event": {"href": "https://service.example/api/v2/events/5f"}}
        >>> came = [{"osdi:attendance": {"status": "accepted", "_links": links}}, {"osdi:attendance": {}}]
        >>> of.open([march, came]).where(status="tentative").attendances(["event_id", "status"])
          event_id    status
        0       5f  accepted
        """
        counted = counted_from(filters, now, self.timezone)
        return replace(self, filters=Filters(**{**self.filters, **counted}))

    def table(
        self, name: str, columns: Columns = None, *, dedupe: Dedupe = True, people: bool = True
    ) -> pd.DataFrame:
        """Read any declared table.

        Its columns and dtypes are the same whatever rows come: `str`, `Int64`, `boolean`, `float64`,
        ``datetime64[us, UTC]``, ``datetime64[us]`` for wall clocks, `object` for lists of text. Rows are numbered from
        0; the column `excluded` says why reports leave one out.

        Parameters
        ----------
        name
            One of those that `describe` lists.
        columns
            Those to read, in this order; all when not given. Others are not parsed.
        dedupe
            True makes one row of all versions of an element: each block of columns (the act itself, the person, tags,
            referrer data, sponsor, links) comes from the version that carries it and has the latest `modified_date`,
            then was received or fetched last. ``"message"`` collapses only the retries of a webhook message, False
            nothing.
        people
            With ``dedupe=True``, whether acts take names, e-mail, phone and location from `people` where they have
            none; `person_filled` lists which they took.

        Raises
        ------
        UnknownTable, UnknownColumn, SourceNotFound, BadDocument, ServiceUnreachable
            With the nearest names; there is nothing at a path; a document does not fit; the network failed.

        Examples
        --------
        >>> import osdi_frames as of
        >>> delivery = [{"osdi:signature": {"add_tags": ["river", "new"]}, "idempotency_key": "5f"}]
        >>> of.open(delivery).table("signature_tags", ["idempotency_key", "tag"])
          idempotency_key    tag
        0              5f  river
        1              5f    new
        """
        return self.tables({name: columns}, dedupe=dedupe, people=people)[name]

    def tables(
        self, names: Tables = None, *, dedupe: Dedupe = True, people: bool = True
    ) -> dict[str, pd.DataFrame]:
        """Read several tables in one pass, and return the frame of each by its name.

        Parameters
        ----------
        names
            Names of tables, or a mapping of these to columns (None: all); by default all that lead to the filters.
        dedupe, people
            As for `table`.

        Examples
        --------
        >>> import osdi_frames as of
        >>> delivery = [{"osdi:signature": {"comments": "Yes!", "add_tags": ["river"]}, "idempotency_key": "5f"}]
        >>> of.open(delivery).tables({"signatures": ["comments"], "signature_tags": ["tag"]})["signature_tags"]
             tag
        0  river
        """
        return self.frames(
            self.resolution(named_tables(names, dedupe, self.filters), dedupe=dedupe, people=people)
        )

    def supporters(self, as_of: TimeLike | None = None, *, levels: Levels | None = None) -> pd.DataFrame:
        """Return one row a person: how often, when and how they took part, and their level.

        It is `osdi_frames.supporters` of the actions and people; without arguments it is the table ``supporters``,
        which `table`, `export` and `dask` have, too. Do not publish it, as its rows are persons.

        Examples
        --------
        >>> import osdi_frames as of
        >>> person = {"osdi:person": {"href": "/people/ann"}}
        >>> signature = {"identifiers": ["platform:1"], "created_date": "2026-05-01T10:00:00Z", "_links": person}
        >>> of.open([[{"osdi:signature": signature}]]).supporters()[["person_id", "signed", "level"]]
          person_id  signed  level
        0       ann       1      1
        """
        from osdi_frames.reports.supporters import Levels, supporters

        read = self._parts_of("supporters")
        return supporters(read["actions"], read["people"], as_of=as_of, levels=levels or Levels())

    def supporter_amounts(self, as_of: TimeLike | None = None) -> pd.DataFrame:
        """Return what each person gave, by currency: `osdi_frames.supporter_amounts` of the actions.

        Without arguments it is the table ``supporter_amounts``.
        """
        from osdi_frames.reports.supporters import supporter_amounts

        return supporter_amounts(self._parts_of("supporter_amounts")["actions"], as_of=as_of)

    def _parts_of(self, name: str) -> dict[str, pd.DataFrame]:
        """Return the tables that a computed one is made of, by name."""
        return self.tables({part.name: columns for part, columns in declared(name).made_of.items()})

    def scan(
        self, name: str, columns: Columns = None, *, dedupe: Dedupe = True, people: bool = True
    ) -> pa.RecordBatchReader:
        """Read one table as a stream of record batches, which polars, DuckDB and pyarrow take as it is.

        With `dedupe`, or filters other than a period, the first batch comes when all has been read. Parameters and
        errors are those of `table`; the schema carries the meaning of each column.

        Examples
        --------
        >>> import osdi_frames as of
        >>> page = {"_embedded": {"osdi:events": [{"title": "March", "total_accepted": 12}]}}
        >>> of.open(page).scan("events", ["title", "total_accepted"]).read_all().to_pylist()
        [{'title': 'March', 'total_accepted': 12}]
        """
        resolution = self.resolution({name: columns}, dedupe=dedupe, people=people)
        rows = self.rows(resolution, Observer(Policy(self.on_error)))
        batches = (batch for _, some in rows for batch in some.to_batches())
        return pa.RecordBatchReader.from_batches(resolution.schemas[name], batches)

    def check(self) -> Problems:
        """List every problem, and every key that no table reads.

        It looks at everything in every document, so it is slower than the readers, and nothing stops it.

        The frame has one row a problem (`osdi_frames.problems.ProblemKind`), equal ones counted: `source_file` and
        `source_line` of the first, `severity`, `problem`, `detail`, `count`. An ``error`` is what ``on_error="raise"``
        stops at; a ``warning`` was mended, is an element that nothing identifies, a date more than ten years away from
        most others, a collection that lists more than the archive holds, or what a receiver keeps in its quarantine;
        ``info`` are keys and element types that no table takes, as new fields of the service. Its ``attrs`` count the
        `files`, `documents` and `elements` read. Printed, it is what ``osdi-frames check`` prints, with ten of the
        keys; ``check().text(all=True)`` has all.

        Examples
        --------
        >>> import osdi_frames as of
        >>> event = {"id": "9", "title": "March", "total_accepted": "lots", "mood": "good"}
        >>> of.open(event).check()
        1 document: 1 event
        error         1 ×  not an integer: event: total_accepted = "xxxx"  (<objects>:1)
        info: undeclared key
             1 ×  event: mood  (<objects>:1)
        1 error, 0 warnings, 1 key that no table reads, 0 elements of other types (info:
          they stay in the archive)
        """
        return self.inspect().problems

    @cached_property
    def contents(self) -> Contents:
        """The element types with their counts and periods, files, pulls and problems.

        One pass finds it, and is made once; of more than 300 MB only the first documents are read, of a stream that
        cannot be read again none.
        """
        from osdi_frames.contents import contents_of

        return contents_of(self)

    def report(self, **options: Unpack[Options]) -> ShownReport:
        """Make the standard reports in one pass, and return the frame of each by its name.

        `summary` has the headline figures: `rsvps` are the service's totals of the events that count, or the
        attendances where no event does; `notes` compare the two, and count the acts that filters leave out because it
        is not known whether they belong. The attributes `note` and `caveat` of a frame qualify its counts.

        Parameters
        ----------
        reports
            The reports to make, by name; by default the standard set, which names nobody, as ``hosts`` does.
            `osdi_frames.reports.Report` declares others.
        show_addresses
            Leave e-mail addresses, phone numbers and queries of web addresses within sources, referrers, websites and
            titles as they are. By default they are hidden, and what then looks alike is one row.
        min_count
            Hide smaller counts of people, and whatever reveals them, as `osdi_frames.reports.suppress` does for all
            reports of a call together; round others down to multiples of it. `write_report` keeps a count that changed
            by less since the report in the folder, with the same filters; the column `kept` says which these are.
        include
            What is not counted by default: some of ``test`` (what the service's "send test" sent), ``gone``
            (deleted), ``cancelled`` and ``hidden`` (events, and their attendances) and ``unaccepted`` (attendances),
            the values of the column `excluded`.
        exclude_sources
            Patterns of sources and referrers, as partner codes: ``["partner-*"]``, in any case, of the codes as they
            are spelled. Acts that have one are not counted, and the notes say how many. Totals of RSVPs that the
            service counts know no source and stay.
        now
            The present, by default that of the computer: no later date is compared, measured or foretold from; where
            something has a receipt (`received_at`, `fetched_at`), none later than a day after the newest.
        spelling
            ``"merged"`` counts spellings of one source, referrer, website, region or country as one row.

        Raises
        ------
        UnknownValue, UnknownReport
            A petition, campaign or status to filter by occurs nowhere; a name is not in the standard set.
        InvalidColumn
            A report by a column that identifies people, or with `min_count` one that has a column per value.

        Examples
        --------
        >>> import osdi_frames as of
        >>> pull = {"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"}
        >>> of.open(pull).report()["rsvps_by_month"]["rsvps"].to_dict()
        {'2026-05': 12}
        """
        from osdi_frames.shown_report import read_report

        only_known("report", options, Options.__annotations__)
        return read_report(self, self._requested(options))

    def _requested(self, options: Options, *, for_page: bool = False) -> ReportRequest:
        from osdi_frames.reports.request import ReportRequest

        now = present(options.get("now"), zone_of(self.timezone)).to_pydatetime(warn=False)
        wanted = {**options, "now": now, "timezone": self.timezone}
        return ReportRequest(filters=self.filters, for_page=for_page, **wanted)  # type: ignore[arg-type] # checked there

    def write_report(
        self,
        destination: str | os.PathLike[str],
        *,
        formats: Iterable[Format] = ("csv", "parquet"),
        bom: bool = False,
        title: str | None = None,
        **options: Unpack[Options],
    ) -> ShownReport:
        """Write the standard reports, a page with plots and files, into a folder; see `report` for what is returned.

        An earlier report in the folder is replaced as a whole.

        Parameters
        ----------
        destination
            The folder to make.
        formats, bom
            The files of each report: ``"csv"``, ``"parquet"``, ``"xlsx"``; see `export`.
        title
            The heading of the page, by default what it is about.
        **options
            As for `report`; `now` is also the time that the page says it was made at.

        Examples
        --------
        >>> import osdi_frames as of, os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made = of.open({"title": "March", "total_accepted": 12}).write_report(f"{folder}/report")
        ...     "report.html" in os.listdir(f"{folder}/report")
        True
        """
        from osdi_frames import page
        from osdi_frames.output.files import FileForm
        from osdi_frames.output.folder import earlier_file, output_folder
        from osdi_frames.reports.published import FILE, Published
        from osdi_frames.shown_report import read_report

        only_known("write_report", options, Archive.write_report.__kwdefaults__, Options.__annotations__)
        if isinstance(formats, str):
            raise InvalidArgument(f"formats is a list: formats=[{quoted(formats)}]")
        forms = [FileForm(format, bom=bom) for format in formats]  # noqa: A001 (as `export` calls it)
        wanted = self._requested(options, for_page=True)
        with output_folder(destination, kind="report", source=self.source, overwrite=True) as folder:
            last = None if wanted.min_count is None else Published.parsed(earlier_file(destination, FILE))
            result = read_report(self, wanted, last)
            page.write(result, folder, forms=forms, title=title, now=wanted.now)
        return result

    def export(
        self,
        destination: str | os.PathLike[str],
        *,
        tables: Tables = None,
        format: Format = "parquet",  # noqa: A002 (the word that pandas users know)
        partition_by: str | Literal["month"] | None = None,
        dedupe: Dedupe = True,
        people: bool = True,
        overwrite: bool = False,
        engine: Literal["dask"] | None = None,
        escape_formulas: bool = True,
        bom: bool = False,
        **privacy: Unpack[PrivacyOptions],
    ) -> dict[str, int]:
        """Write tables into a folder, as ``events.parquet`` and so on, and return the number of rows of each.

        The folder appears whole at the end, or not at all. Tables are read in one pass and streamed. The files are
        readable by their owner only (a folder that exists keeps its mode), and listed in ``.osdi-frames.json``.

        Parameters
        ----------
        destination
            The folder to make, or an address, as ``s3://bucket/tables``, to which files are uploaded at the end.
        tables, dedupe, people
            As for `tables`.
        format
            ``"parquet"`` (zstd; fields carry their meaning and privacy class, the schema its version), ``"csv"``
            or ``"xlsx"`` (extra ``excel``).
        partition_by
            A column, with a folder ``by_column=value`` for each value, or ``"month"``, with a folder ``month=2026-05``
            for each month of an event's `start_date` and, in the zone of the handle, of the `created_date` of all else.
            A table without the column, as child tables, is one file.
        overwrite
            Replace an earlier export, of which no file was changed, in a folder without other files.
        engine
            ``"dask"`` (extra ``dask``): the workers of the current cluster read and parse the files, which they have to
            reach under the same names; this process resolves and writes the rows.
        escape_formulas, bom
            CSV: write an apostrophe before a text that a spreadsheet would run as a formula; begin with a byte-order
            mark, by which Excel knows that the file is UTF-8.
        pseudonymize, drop, coordinate_decimals, postal_characters
            Replace what identifies a person by pseudonyms with this key, or drop it: as `pseudonymize` does.

        Raises
        ------
        DestinationExists
            Something at `destination` is not to be replaced, or it is, holds or lies in the source. Or others wrote
            into the folder while it was replaced: their files are kept, and the message says where.
        InvalidArgument, InvalidColumn
            The format cannot be partitioned, or the column: it has lists, times, too long or too many values. A key for
            pseudonyms has less than 32 bytes.

        Examples
        --------
        >>> import osdi_frames as of, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     of.open({"title": "March", "total_accepted": 3}).export(f"{folder}/out", tables=["events"])
        {'events': 1}
        """
        from osdi_frames.output.exporting import ExportRequest
        from osdi_frames.output.files import FileForm
        from osdi_frames.output.folder import output_folder

        only_known("export", privacy, Archive.export.__kwdefaults__, PrivacyOptions.__annotations__)
        wanted = ExportRequest.of(
            named_tables(tables, dedupe, self.filters),
            partition_by=partition_by,
            timezone=self.timezone,
            **privacy,
        )
        resolution = self.resolution(wanted.columns, dedupe=dedupe, people=people)
        form, observer, groups = FileForm(format, escape_formulas, bom), Observer(Policy(self.on_error)), None
        if engine is not None:
            from osdi_frames import dask

            if engine != "dask":
                raise InvalidArgument("engine is None or 'dask'")
            groups = dask.groups(self, resolution.plan, observer)
        rows = self.rows(resolution, observer, groups=groups)
        with output_folder(destination, kind="export", source=self.source, overwrite=overwrite) as folder:
            return wanted.write(rows, folder, form)

    def dask(
        self,
        name: str,
        columns: Columns = None,
        *,
        dedupe: Dedupe = True,
        people: bool = True,
        npartitions: int | None = None,
    ) -> dd.DataFrame:
        """Read any table as a Dask DataFrame (extra ``dask``), with the rows and dtypes of `table`, lists as lists.

        The archive is read now: the workers of the current cluster parse it, in `npartitions` parts or by size, and
        this process resolves the rows and writes them into a temporary folder, which is removed when it ends. There
        are at most `npartitions`, fewer of a small archive; columns that are not used are not read of them. The rows
        of each partition are numbered from 0. Dask's setting ``temporary-directory`` says where the folder is made;
        the workers have to reach it.

        Examples
        --------
        >>> import osdi_frames as of, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "a.json").write_text('{"title": "March", "total_accepted": 12}')
        ...     of.open(folder).dask("events", ["title", "total_accepted"]).compute()
           title  total_accepted
        0  March              12
        """
        from osdi_frames import dask

        chosen = None if columns is None else tuple(dict.fromkeys(columns))
        resolution = self.resolution({name: chosen}, dedupe=dedupe, people=people)
        return dask.read(self, resolution, count=npartitions)
