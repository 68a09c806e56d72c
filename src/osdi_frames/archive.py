"""The handle of an archive, and `open`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Unpack

import pandas as pd
import pyarrow as pa

from osdi_frames.errors import InvalidArgument, InvalidSource, no_attribute, only_known
from osdi_frames.keywords import Options, PrivacyOptions
from osdi_frames.messages import quoted
from osdi_frames.parsing.check import Inspection, Inspector
from osdi_frames.parsing.parse import FIRST, Observer, types_among
from osdi_frames.problems import Policy
from osdi_frames.reader import Reader, Settings
from osdi_frames.resolving.filters import Filtering, Filters
from osdi_frames.resolving.resolution import Columns, Dedupe, Tables, named_tables
from osdi_frames.sources.partitions import SIZE
from osdi_frames.sources.remote import shown_address
from osdi_frames.sources.source import FilePartition, Source
from osdi_frames.tables import TABLES, known_prefixes, main_table
from osdi_frames.tables.schema import ElementType

if TYPE_CHECKING:  # imported when called: who reads tables needs no plots, no Parquet and no cluster
    import dask.dataframe as dd

    from osdi_frames.contents import Contents
    from osdi_frames.output.files import Format
    from osdi_frames.reports.published import Published
    from osdi_frames.reports.request import ReportRequest
    from osdi_frames.shown_report import ShownReport


_MANY = f"large: only the first {FIRST} documents were looked at; check() reads all, scan() streams a table"
_ONCE = "an open stream can be read once, so nothing was looked at; write it into a file first"


class Archive(Reader):
    """An archive, or the part of it that passes filters.

    `open` returns it; nothing is read until asked. A notebook shows its `contents`.
    """

    def __repr__(self) -> str:
        asked = {"prefix": self.prefix, **self.filters}
        said = "".join(f", {name}={quoted(value)}" for name, value in asked.items() if value is not None)
        source = shown_address(", ".join(self.paths)) or type(self.source).__name__
        return f"Archive({source}{said})"

    def _repr_html_(self) -> str:
        return self.contents.html

    if not TYPE_CHECKING:  # what is not there stays an error to type checkers

        def __getattr__(self, name: str) -> object:
            raise no_attribute("an archive", name, [known for known in dir(self) if known[0] != "_"])

    def where(self, **filters: Unpack[Filters]) -> Archive:
        """Return the part of the archive that passes filters.

        A filter holds for every table that leads to it, whatever else is read in the same pass. Child tables follow
        their element. A table that does not lead to every filter is refused by name; `tables`, `export` and reports
        leave it out and say so. `actions` are those of the remaining rows, hosted events among them; `people` are those
        of the remaining actions; taggings and uploads are those of the remaining people.

        Parameters
        ----------
        since, until
            A year, month, day or time, as ``"2026-05"``, the last one included. Each table is filtered by its own
            date: events by start_date (wall clock), acts, uploads and taggings by created_date (UTC), actions by date.
            What has no date is left out. What others refer to, as petitions, campaigns, forms and tags, is kept whole.
        petition
            An id or a list of them: these petitions and their signatures.
        campaign
            An id or a list of them: these event campaigns, their events, and the attendances of these.
        status
            A status or a list of them, in any spelling: the events that have it, and their attendances.

        Notes
        -----
        What is left out still counts for the numbers of acts, `is_first`, `is_new`, what acts take from people, what is
        gone or excluded, and titles in reports. Acts that refer to nothing, or to an event that is not in the archive,
        cannot belong to a campaign or a petition: the notes of a report count them. With another `dedupe` than True,
        attendances are kept by any version of their event.

        Raises
        ------
        InvalidArgument
            For a time that cannot be read, and for filters that no table leads to together, as a petition and a
            campaign; when it is read, for a table that does not lead to them. An id that occurs nowhere is an
            UnknownValue when it is read.

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
        return replace(self, filters=Filters(**{**self.filters, **filters}))

    # ------------------------------------------------------------------------------------------- tables

    def table(
        self, name: str, columns: Columns = None, *, dedupe: Dedupe = True, people: bool = True
    ) -> pd.DataFrame:
        """Read any declared table.

        Its columns and dtypes are the same whatever rows come: `str`, `Int64`, `boolean`, `float64`,
        ``datetime64[us, UTC]``, ``datetime64[us]`` for wall clocks, `object` for lists of text.

        Parameters
        ----------
        name
            One of those that `describe` lists.
        columns
            Those to read, in this order; all when not given. Others are not parsed.
        dedupe
            True makes one row of all versions of an element. The newest is that of the latest `modified_date`, then
            the one that was received or fetched last. Each block of columns (the act itself, the person, tags,
            referrer data, sponsor, links) comes from the newest version that carries it: an API page without a person
            leaves the e-mail address of a delivery. ``"message"`` collapses only the retries of a webhook message,
            False nothing.
        people
            Whether acts take names, e-mail, phone and location from the table `people` where
            they have none of their own; `person_filled` lists which they took. Only with ``dedupe=True``.

        Returns
        -------
        DataFrame
            Rows numbered from 0; the column `excluded` says why reports leave one out.

        Raises
        ------
        UnknownTable, UnknownColumn
            With the names that are nearest.
        SourceNotFound
            There is nothing at a path.
        BadDocument
            With file, line, key and value.
        ServiceUnreachable
            The network failed, and did so again; whatever `on_error` says.

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
        """Read several tables in one pass.

        Parameters
        ----------
        names
            Names of tables, or a mapping of these to the columns to read (None: all); when not given, every table
            that leads to the filters of `where`.
        dedupe, people
            As for `table`.

        Returns
        -------
        dict
            The frame of each table, by its name.

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

    def events(self, columns: Columns = None, *, dedupe: Dedupe = True) -> pd.DataFrame:
        """Read the events of v2 and v1; see `table`.

        `start_date` and `end_date` are the wall clock at the place of the event, though the service writes a Z
        (interface 2.1). The columns:

        event_id, identifiers, api_version, origin_system, created_date, modified_date, name, title,
        description, instructions, browser_url, featured_image_url, start_date, end_date, timezone,
        location_venue, location_address, location_locality, location_region, location_postal_code,
        location_country, location_latitude, location_longitude, location_accuracy, location_language,
        total_accepted, event_campaign_id, status, transparence, visibility, guests_can_invite_others,
        capacity, hidden, sponsor_title, sponsor_url, creator_id, organizer_id, self_url,
        attendances_url, record_attendance_url, event_campaign_url, embed_url, targeting_label,
        gone_since, excluded, fetched_at, source_file, source_line.

        Examples
        --------
        >>> import osdi_frames as of
        >>> pull = {"title": "March", "start_date": "2026-05-01T18:00:00Z", "location": {"locality": "Oakland"}}
        >>> of.open(pull).events(["title", "start_date", "location_locality"])
           title          start_date location_locality
        0  March 2026-05-01 18:00:00           Oakland
        """
        return self.table("events", columns, dedupe=dedupe)

    def signatures(
        self, columns: Columns = None, *, dedupe: Dedupe = True, people: bool = True
    ) -> pd.DataFrame:
        """Read the petition signatures; see `table`.

        They come from webhook deliveries and API pages (interface 2.7); one is one row, however often it was
        delivered. The columns:

        idempotency_key, element, signature_id, identifiers, petition_id, person_id, created_date,
        modified_date, comments, source, referrer, website, email_referrer, mobile_message_referrer,
        given_name, family_name, person_created_date, person_modified_date, email, email_status, phone,
        phone_type, phone_status, location_address, location_locality, location_region,
        location_postal_code, location_country, location_latitude, location_longitude,
        location_accuracy, languages_spoken, add_tags, custom_fields, sponsor_title, sponsor_url,
        self_url, person_url, petition_url, person_filled, gone_since, excluded, received_at, fetched_at,
        source_file, source_line.

        Examples
        --------
        >>> import osdi_frames as of
        >>> signed = {"osdi:signature": {"platform:referrer_data": {"source": "email"}, "add_tags": ["river"]}}
        >>> of.open([signed]).signatures(["source", "add_tags"])
          source add_tags
        0  email  [river]
        """
        return self.table("signatures", columns, dedupe=dedupe, people=people)

    def attendances(
        self, columns: Columns = None, *, dedupe: Dedupe = True, people: bool = True
    ) -> pd.DataFrame:
        """Read the attendances, one person's RSVP each; see `table`."""
        return self.table("attendances", columns, dedupe=dedupe, people=people)

    def people(self, columns: Columns = None, *, dedupe: Dedupe = True) -> pd.DataFrame:
        """Read the people, one row each; see `table`.

        A row says all that is known from people pages, acts and events that embed people. Names,
        e-mail, phone, address and languages are each from the newest version that carries them; custom fields are
        merged by name. `first_seen` and `last_seen` are the least and the greatest of the person's own dates and of
        when the acts were created.
        """
        return self.table("people", columns, dedupe=dedupe)

    def campaigns(self, columns: Columns = None, *, dedupe: Dedupe = True) -> pd.DataFrame:
        """Read the event campaigns; see `table`."""
        return self.table("event_campaigns", columns, dedupe=dedupe)

    def petitions(self, columns: Columns = None, *, dedupe: Dedupe = True) -> pd.DataFrame:
        """Read the petitions; see `table`."""
        return self.table("petitions", columns, dedupe=dedupe)

    def actions(self, columns: Columns = None, *, people: bool = True) -> pd.DataFrame:
        """Read who did what, one row an act; see `table`.

        Rows are in order of time.

        An attendance is ``rsvped`` when it was made and, where `attended` is true, ``attended`` at the event's
        `start_date`, as the clock there, else at its modified_date, and never before it was made. Who created an
        event ``hosted``. The columns:

        person_id, date, action, subject_id, title, source, referrer, website, location_country, location_region,
        amount, currency, number, is_first, is_new, excluded, received_at.

        `number` counts the acts of a person that have a date and are not excluded, from 1; what `where` leaves out is
        counted, too, so `is_first` is about the archive. `is_new` is true of a first act if the person was created at
        most a day before or after it, and false if earlier; it is missing if the person was created later, as by an
        import, or at no known time. Of all other acts it is false.

        Examples
        --------
        >>> import osdi_frames as of
        >>> signed = {"created_date": "2026-05-01T10:00:00Z", "_links": {"osdi:person": {"href": "/people/ann"}}}
        >>> of.open([{"osdi:signature": signed}]).actions(["person_id", "date", "action", "number"])
          person_id                      date  action  number
        0       ann 2026-05-01 10:00:00+00:00  signed       1
        """
        return self.table("actions", columns, people=people)

    def scan(
        self, name: str, columns: Columns = None, *, dedupe: Dedupe = True, people: bool = True
    ) -> pa.RecordBatchReader:
        """Read one table as a stream of record batches.

        polars, DuckDB and pyarrow take it as it is. With `dedupe` the first batch comes when all has been read: rows
        wait in a temporary file. Parameters and errors are those of `table`, errors while reading.

        Returns
        -------
        pyarrow.RecordBatchReader
            Its schema carries the meaning of each column.

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

    # ----------------------------------------------------------------------------- problems and contents

    def check(self) -> pd.DataFrame:
        """List every problem, and every key not read.

        It looks at everything in every document, so it is slower than the readers, and nothing stops it.

        Returns
        -------
        DataFrame
            One row a problem (`osdi_frames.problems.ProblemKind`), equal ones counted: `source_file` and
            `source_line` of the first, `severity`, `problem`, `detail`, `count`. An ``error`` is what
            ``on_error="raise"`` stops at; a ``warning`` was mended, is an element that nothing identifies, a date more
            than ten years away from most others, a collection that lists more than the archive holds, or what a
            receiver keeps in its quarantine; ``info`` are keys and element types that no table takes, as new fields of
            the service. Its ``attrs`` count the `files`, `documents` and `elements` read. To see long details whole:
            ``pd.set_option("display.max_colwidth", None)``.

        Raises
        ------
        SourceNotFound
            There is nothing at a path.

        Examples
        --------
        >>> import osdi_frames as of
        >>> event = {"id": "9", "title": "March", "total_accepted": "lots", "mood": "good"}
        >>> of.open(event).check()[["severity", "problem", "detail"]]
          severity         problem                          detail
        0    error  not an integer  event: total_accepted = "xxxx"
        1     info  undeclared key                     event: mood
        """
        found = self.inspect()
        found.problems.attrs |= found.counts
        return found.problems

    def inspect(self) -> Inspection:
        """Check every document, and count its elements."""
        inspector, resolution = Inspector(None), self.resolution({}, inspects=True)
        for _ in self.rows(resolution, inspector):
            pass
        return inspector.inspection(resolution.kept)

    @cached_property
    def contents(self) -> Contents:
        """Types with counts and period, files, pulls, problems.

        ``print(archive.contents)`` shows it outside of notebooks. One pass finds it, and is made once; of more than
        300 MB only the first documents are read, of a stream that cannot be read again none.
        """
        from osdi_frames.contents import COLUMNS, Contents, Files, pulls_of, types_of

        found = Files.of(self)
        filtering = Filtering(self.filters)
        filtered = [*filtering.lines(), *filter(None, [filtering.left_out()])]
        opened = Contents(repr(self), found, filtered, pulls_of(self, found), pd.DataFrame())
        if self.is_read_once:
            return replace(opened, note=_ONCE)
        if found.are_large:
            return replace(opened, types=self._first_types(), note=_MANY)
        columns = {name: some for name, some in COLUMNS.items() if self._has(TABLES[name].element)}
        inspector, resolution = Inspector(None), self.resolution(columns, inspects=True)
        frames = self.frames(resolution, inspector)
        inspection = inspector.inspection(resolution.kept)
        by_address = resolution.known_by_address
        return replace(
            opened, types=types_of(inspection, frames), inspection=inspection, known_by_address=by_address
        )

    def _has(self, element: ElementType) -> bool:
        """Return whether filters lead to a type, by rows that this archive has."""
        filtering, is_part = Filtering(self.filters), isinstance(self.source, FilePartition)
        return filtering.leads_to(element) and not (is_part and filtering.follows(element))

    def _first_types(self) -> pd.DataFrame:
        """Return the tables of the first documents."""
        found, _ = types_among(self.first_documents(), known_prefixes(self.prefix))
        return pd.DataFrame({"table": [main_table(element).name for element in found]})

    # ------------------------------------------------------------------------------ reports and exports

    def report(self, **options: Unpack[Options]) -> ShownReport:
        """Make the standard reports in one pass.

        Parameters
        ----------
        reports
            The reports to make, by name; the standard set when not given. `osdi_frames.reports.Report` declares
            others.
        show_addresses
            Leave e-mail addresses, phone numbers and queries of web addresses within sources, referrers,
            websites and titles as they are. By default they are hidden, and what then looks alike is one row.
        min_count
            Hide smaller counts of people, and whatever reveals them: rows, columns, and reports, which then have no
            rows. All reports of a call are published together; see `osdi_frames.reports.suppress`. The other counts are
            rounded down to multiples of it. `write_report` keeps a count that changed by less since the report in the
            folder, with the same filters; the column `kept` says which these are.
        include
            What is not counted by default: some of ``test`` (what the service's "send test" sent), ``gone``
            (deleted), ``cancelled`` and ``hidden`` (events, and their attendances) and ``unaccepted`` (attendances),
            the values of the column `excluded`. The attribute `note` of each frame says how many were left out.
        now
            The present, when not given the clock's: where nothing has a receipt (`received_at`, `fetched_at`), no later
            date is compared, measured or foretold from. Else that ends a day after the newest receipt.
        spelling
            ``"merged"`` counts spellings of one source, referrer, website, region or country as one row, as `note`
            says; ``"exact"`` keeps them apart.

        Returns
        -------
        Mapping
            The frame of each report, by its name. Its attribute `caveat` says what else is to be known of its
            counts. What filters do not lead to is not reported (see `where`). `summary` has the headline figures:
            `rsvps` are the service's totals of the events that count, or the attendances where no event does;
            `notes` compare the two, and count the acts that filters leave out because it is not known whether they
            belong.

        Raises
        ------
        UnknownValue
            A petition, campaign or status to filter by occurs nowhere.
        UnknownReport
            A name in `reports` that is not in the standard set.
        InvalidColumn
            A report by a column that identifies people, or with `min_count` one that has a column per value.

        Examples
        --------
        >>> import osdi_frames as of
        >>> pull = {"title": "March", "total_accepted": 12, "start_date": "2026-05-01T18:00:00Z"}
        >>> of.open(pull).report()["rsvps_by_month"]["rsvps"].to_dict()
        {'2026-05': 12}
        """
        only_known("report", options, Options.__annotations__)
        return self._report(self._requested(options))

    def _requested(self, options: Options, *, for_page: bool = False) -> ReportRequest:
        from osdi_frames.reports.request import ReportRequest

        now = options.get("now") or datetime.now(UTC)
        return ReportRequest(filters=self.filters, for_page=for_page, **{**options, "now": now})  # type: ignore[arg-type] # checked there

    def _report(self, wanted: ReportRequest, last: Published | None = None) -> ShownReport:
        from osdi_frames.reports.archive_report import collect, make_reports
        from osdi_frames.shown_report import ShownReport

        observer = (Inspector if wanted.for_page else Observer)(Policy(self.on_error))
        resolution = self.resolution(
            wanted.columns,
            snapshots=wanted.snapshots,
            whole=wanted.titles,
            inspects=wanted.for_page,
            lists=True,
        )
        tables = collect(self.rows(resolution, observer), resolution.schemas, wanted)
        inspection = observer.inspection(resolution.kept) if isinstance(observer, Inspector) else None
        made = make_reports(
            wanted,
            tables,
            inspection=inspection,
            paths=self.paths,
            last=last,
            unplaced=resolution.unplaced,
            known_by_address=resolution.known_by_address,
            incomplete=observer.incomplete,
        )
        return ShownReport.of(made)

    def write_report(
        self,
        destination: str | os.PathLike[str],
        *,
        formats: Iterable[Format] = ("csv", "parquet"),
        bom: bool = False,
        **options: Unpack[Options],
    ) -> ShownReport:
        """Write the standard reports: a page with plots, and files.

        An earlier report in the folder is replaced as a whole.

        Parameters
        ----------
        destination
            The folder to make.
        formats, bom
            The files of each report: ``"csv"``, ``"parquet"``, ``"xlsx"``; see `export`.
        **options
            As for `report`; `now` is also the time that the page says it was made at.

        Returns
        -------
        Mapping
            The frame of each report, by its name.

        Raises
        ------
        DestinationExists
            As for `export`.

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

        only_known("write_report", options, Archive.write_report.__kwdefaults__, Options.__annotations__)
        if isinstance(formats, str):
            raise InvalidArgument(f"formats is a list: formats=[{quoted(formats)}]")
        forms = [FileForm(format, bom=bom) for format in formats]  # noqa: A001 (as `export` calls it)
        wanted = self._requested(options, for_page=True)
        with output_folder(destination, kind="report", source=self.source, overwrite=True) as folder:
            last = None if wanted.min_count is None else Published.parsed(earlier_file(destination, FILE))
            result = self._report(wanted, last)
            page.write(result, folder, forms=forms, now=wanted.now)
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
        """Write tables into a folder, as ``events.parquet`` and so on.

        The folder appears whole at the end, or not at all. Tables are read in one pass and streamed, so the archive
        may be larger than memory. The files are readable by their owner only (a folder that exists keeps its mode),
        and listed in a manifest, ``.osdi-frames.json``.

        Parameters
        ----------
        destination
            The folder to make, or an address, as ``s3://bucket/tables``: there the files are uploaded at the end,
            and the manifest last.
        tables
            As for `tables`: the tables to write, or a mapping of these to the columns to write.
        format
            ``"parquet"`` (zstd; fields carry their meaning and privacy class, the schema its version), ``"csv"``
            or ``"xlsx"`` (extra ``excel``; see `write_excel`).
        partition_by
            A column: a folder ``by_column=value`` for each value, in which the column itself stays; or
            ``"month"``: a folder ``month=2026-05`` for each month of an event's `start_date` and of the
            `created_date` of all else. A table without the column, as child tables, is one file all the same.
        dedupe, people
            As for `table`.
        overwrite
            Replace an earlier export, of which no file was changed, in a folder without other files.
        engine
            ``"dask"`` (extra ``dask``): the workers of the current Dask cluster read and write, each table into a
            folder with a Parquet file of each partition; `destination` is an address, or a folder that they all
            reach.
        escape_formulas
            CSV: write an apostrophe before a text that a spreadsheet would run as a formula: one that begins
            with ``= + - @`` (also fullwidth, also after blanks), tab, return or line feed.
        bom
            CSV: begin with a byte-order mark, by which Excel knows that the file is UTF-8.
        pseudonymize, drop, coordinate_decimals, postal_characters
            Replace what identifies a person by pseudonyms with this key, or drop it: as `pseudonymize` does.

        Returns
        -------
        dict
            The number of rows of each table.

        Raises
        ------
        DestinationExists
            Something at `destination` is not to be replaced, or it is, holds or lies in the source: nothing was
            overwritten. Or others wrote into the folder while it was replaced: their files are kept, and the
            message says where.
        InvalidArgument
            An unknown format, or one that cannot be partitioned; a key for pseudonyms of less than 32 bytes.
        InvalidColumn
            A column that cannot be partitioned by: of lists or times, of a value longer than the name of a folder
            (255 bytes, with escapes), or of more than 16,384 values.
        UnknownTable, UnknownColumn, SourceNotFound, BadDocument
            As for `table`.
        UnknownValue
            A petition, campaign or status to filter by occurs nowhere; nothing was written.

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
            named_tables(tables, dedupe, self.filters), partition_by=partition_by, **privacy
        )
        resolution = self.resolution(wanted.columns, dedupe=dedupe, people=people)
        if engine is not None:
            if engine != "dask" or format != "parquet":
                raise InvalidArgument("engine is None or 'dask', and that writes Parquet")
            from osdi_frames.dask import exporting

            return exporting.export(self, destination, resolution.request, wanted, overwrite=overwrite)
        form = FileForm(format, escape_formulas, bom)
        rows = self.rows(resolution, Observer(Policy(self.on_error)))
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
        blocksize: int = SIZE,
    ) -> dd.DataFrame:
        """Read any table as a Dask DataFrame (extra ``dask``).

        The archive is listed and cut now, and read when something is computed: a partition by each thread of a
        worker. Columns that are not used are not parsed. With `dedupe` the workers exchange some bytes of each
        version, and the rows that complete others; rows are where their newest version was read.

        Parameters
        ----------
        name, columns, dedupe, people
            As for `table`; with ``on_error="skip"`` there is a warning for each partition with problems.
        npartitions
            How many partitions to make; fewer where there are fewer documents, or files that cannot be cut.
        blocksize
            The bytes of a partition where `npartitions` is not given; what is compressed counts eightfold.

        Returns
        -------
        dask.dataframe.DataFrame
            The rows and dtypes of `table`, lists as lists. The rows of each partition are numbered from 0.

        Raises
        ------
        InvalidSource
            The source is an open file or parsed objects, which workers do not have.
        MissingExtra
            Dask is not installed.

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
        return dask.read(self, resolution.request, count=npartitions, size=blocksize)


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
    progress
        A progress bar: None shows one on a terminal or in a notebook, and for long work only.

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
