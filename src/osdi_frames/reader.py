"""A source with its settings, and the pass over it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Self, TypedDict, cast

import pandas as pd
import pyarrow as pa

from osdi_frames.engine import Engine, engine
from osdi_frames.errors import InvalidArgument
from osdi_frames.frames import frame
from osdi_frames.parsing.check import Inspection, Inspector
from osdi_frames.parsing.group import GroupResult
from osdi_frames.parsing.parse import FIRST_DOCUMENTS, Observer, parse
from osdi_frames.parsing.plan import ELEMENT, Plan
from osdi_frames.problems import OnError, Policy
from osdi_frames.pulls import proving_pulls
from osdi_frames.resolving.filters import Filtering, Filters
from osdi_frames.resolving.resolution import Columns, Dedupe, Request, Resolution, Rows
from osdi_frames.resolving.resolver import Resolver
from osdi_frames.sources.files import is_address, is_pipe
from osdi_frames.sources.limits import DEFAULT_LIMITS, Limits
from osdi_frames.sources.partitions import SIZE, cut, together
from osdi_frames.sources.source import FilePartition, Source, at_hand, parts_of, sorted_out
from osdi_frames.sources.source import read as candidates
from osdi_frames.store import temporary
from osdi_frames.store.temporary import TemporaryStores
from osdi_frames.tables import COMPUTED, TABLES, element_types, known_prefixes, main_table

if TYPE_CHECKING:
    from osdi_frames.store.store import Store


class Settings(TypedDict, total=False):
    """Keywords of `open`, and of functions that take a source."""

    prefix: str | None
    on_error: OnError
    limits: Limits | None
    store: str | os.PathLike[str] | None
    keep: bool
    progress: bool | None
    timezone: str | None


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A source and how it is read; nothing is read until rows are asked for."""

    source: Source = field(kw_only=False)
    prefix: str | None = None
    on_error: OnError = "raise"
    limits: Limits | None = None
    store: str | os.PathLike[str] | None = None
    keep: bool = True
    progress: bool | None = None
    timezone: str | None = None
    filters: Filters = field(default_factory=Filters)
    _kept: TemporaryStores = field(default_factory=TemporaryStores, repr=False, compare=False)
    """What readings of this handle, and of its parts that pass filters, keep for the next ones."""

    def __post_init__(self) -> None:
        """Validate the settings, and make a list of an iterator, since an archive is read more than once."""
        is_iterator = isinstance(self.source, Iterator) and not hasattr(self.source, "read")
        source = at_hand(list(cast("Iterator[Any]", self.source)) if is_iterator else self.source)
        object.__setattr__(self, "source", source)
        Policy(self.on_error)
        Filtering(self.filters, self.timezone)
        known_prefixes(self.prefix)

    @property
    def paths(self) -> list[str]:
        """The paths and addresses among the sources."""
        parts = self.source if isinstance(self.source, list | tuple) else [self.source]
        return [os.fspath(part) for part in parts if isinstance(part, str | os.PathLike)]

    @property
    def is_read_once(self) -> bool:
        """Whether a part of the source cannot be rewound, as a pipe."""
        parts: Sequence[Any] = self.source if isinstance(self.source, list | tuple) else [self.source]
        is_stream = any(hasattr(part, "read") and not part.seekable() for part in parts)
        return is_stream or any(map(is_pipe, self.paths))

    def resolution(
        self,
        tables: Mapping[str, Columns],
        *,
        snapshots: tuple[str, ...] = (),
        whole: Mapping[str, tuple[str, ...]] | None = None,
        dedupe: Dedupe = True,
        people: bool = True,
        inspects: bool = False,
        lists: bool = False,
    ) -> Resolution:
        """Compile a request for some tables of this source; see `Request`.

        Manifests of pulls are looked for, which lists folders, only where a column is about what is gone.
        """
        request = Request(
            tables,
            snapshots=snapshots,
            whole=whole or {},
            prefix=self.prefix,
            dedupe=dedupe,
            people=people,
            filters=self.filters,
            timezone=self.timezone,
            inspects=inspects,
            lists=lists,
        )
        resolution = Resolution(request)
        if resolution.asks_what_is_gone:
            resolution = Resolution(replace(request, pulls=proving_pulls(self.paths)))
        return resolution

    def rows(
        self, resolution: Resolution, observer: Observer, *, groups: Iterator[GroupResult] | None = None
    ) -> Rows:
        """Yield the requested rows in one pass; files are listed at once, before the first row is asked for.

        `groups` are what others have parsed, if anyone has, for the observer's eyes.
        """
        plan, is_whole = resolution.plan, not isinstance(self.source, FilePartition)
        if not is_whole:
            resolution.refuse_followers()
        store = self._store_for(resolution) if groups is None else None
        is_seen = store is None and groups is None
        found = self._rows(resolution, observer, store, groups, is_whole=is_whole)

        def rows() -> Iterator[tuple[str, pa.Table]]:
            with engine() as connection:
                read = ((name, some.drop_columns([ELEMENT])) for name, some in found(connection))
                yield from _with_computed(read, resolution) if resolution.computed else read
                connection.release()
            # Documents that are kept, or that others have parsed, are not seen by the observer.
            if not is_seen and observer.lacks(plan):
                observer.first = self.first_documents()
            observer.end(plan, whole=is_whole)

        return rows()

    def _rows(
        self,
        resolution: Resolution,
        observer: Observer,
        store: Store | None,
        groups: Iterator[GroupResult] | None,
        *,
        is_whole: bool,
    ) -> Callable[[Engine], Rows]:
        """Return what yields the requested rows, from a store where there is one."""
        if store is None:
            groups = groups or self._parsed(resolution.plan, observer)
            return lambda engine: Resolver(resolution, engine).rows(groups, is_whole=is_whole)
        from osdi_frames.kept import rows_with_store

        parts = parts_of(self.source, observer.handle, quarantines=observer.quarantines)

        def rows(engine: Engine) -> Rows:
            opened = store.opened(resolution.plan, parts, observer, progress=self.progress, writes=is_whole)
            with opened as reading:
                yield from rows_with_store(reading, resolution, engine, is_whole=is_whole)

        return rows

    def _parsed(self, plan: Plan, observer: Observer) -> Iterator[GroupResult]:
        """Yield what a plan finds in the source."""
        chunks = candidates(
            self.source,
            observer.handle,
            limits=self.limits,
            progress=self.progress,
            quarantines=observer.quarantines,
        )
        return parse(plan, chunks, observer)

    def _store_for(self, resolution: Resolution) -> Store | None:
        """Return the store to read with: that of the settings, or one that this handle keeps; none of a pipe."""
        if self.is_read_once:
            return None
        if self.store is not None:
            return self._store(self.store)
        is_again, self._kept.is_read = self._kept.is_read, True
        if not (self.keep and is_again and self._is_of_local_files):
            return None
        parts = parts_of(self.source, lambda _: None)
        if sum(part.size for part in parts) < temporary.KEPT_BYTES:
            return None
        # Without columns of things no resolved rows are kept, which the columns of filters would be shown beside.
        shown = resolution.observed if resolution.of_things else resolution.plan
        return self._kept.find(self.paths, parts, resolution.plan, shown, self.limits or DEFAULT_LIMITS)

    @property
    def _is_of_local_files(self) -> bool:
        if isinstance(self.source, FilePartition):
            return False
        paths, *others = sorted_out(self.source)
        return not any(others) and not any(map(is_address, paths))

    def _store(self, folder: str | os.PathLike[str]) -> Store:
        """Open the store of this source."""
        from osdi_frames.store.store import Store  # without one a reading needs no Parquet

        tables = dict.fromkeys(name for name, table in TABLES.items() if table not in COMPUTED)
        every = Resolution(Request(tables, prefix=self.prefix, inspects=True))
        return Store.of(folder, self.paths, every.plan, self.limits or DEFAULT_LIMITS)

    def first_documents(self) -> list[bytes]:
        """Return the first documents of a source that can be read again."""
        chunks = candidates(self.source, lambda _: None, limits=self.limits, progress=False)
        documents = chain.from_iterable(chunk.documents.to_pylist() for chunk in chunks)
        return [*islice(documents, FIRST_DOCUMENTS)]

    def inspect(self) -> Inspection:
        """Check every document, and count its elements."""
        inspector, resolution = Inspector(None), self.resolution({}, inspects=True)
        for _ in self.rows(resolution, inspector):
            pass
        return inspector.inspection(resolution.kept)

    def frames(self, resolution: Resolution, observer: Observer | None = None) -> dict[str, pd.DataFrame]:
        """Return the requested tables, in one pass."""
        parts = {name: [schema.empty_table()] for name, schema in resolution.schemas.items()}
        for name, some in self.rows(resolution, observer or Observer(Policy(self.on_error))):
            parts[name].append(some)
        return {name: frame(pa.concat_tables(parts.pop(name)), self.timezone) for name in resolution.schemas}

    def partitions(self, *, count: int | None = None, size: int = SIZE) -> list[Self]:
        r"""Cut the archive into parts for other processes.

        A part is an archive. It holds names and offsets, no documents, and can be pickled; the process that reads it
        has to reach the files under the same names. The rows of all parts, one after the other, are those of the
        archive, in the same order, with the same file and line; only that elements are deduplicated within each.
        `Archive.dask` deduplicates over all of them. A part has no tables whose rows filters keep by other rows, which
        can be in another part, as the attendances of a campaign are kept by its events: they are an InvalidArgument.
        The petitions and campaigns that filters ask for are looked up now, in one pass: the filters of parts have ids.

        Large files are cut between documents, which takes one pass over them. Compressed files, zips, tars, and what
        comes by ``https://`` are read whole.

        Parameters
        ----------
        count
            How many parts to make; fewer where there are fewer documents, or files that cannot be cut.
        size
            The bytes of a part where `count` is not given; what is compressed counts eightfold.

        Returns
        -------
        list
            Archives, in the order in which this one is read.

        Raises
        ------
        SourceNotFound
            There is nothing at a path.
        InvalidSource
            The source is an open file or parsed objects, which other processes do not have.
        UnknownValue
            A petition or campaign to filter by occurs nowhere.

        Examples
        --------
        >>> import osdi_frames as of, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "a.ndjson").write_text('{"title": "March", "total_accepted": 1}\n' * 9)
        ...     parts = of.open(folder).partitions(count=3)
        ...     len(parts), sum(len(part.events(dedupe=False)) for part in parts)
        (3, 9)
        """
        if (count is not None and count < 1) or size < 1:
            raise InvalidArgument("count and size are at least 1")
        policy = Policy(self.on_error)
        if self.store is None:
            found = cut(self.source, policy.handle, count=count, size=size)
        else:
            store, observer = self._store(self.store), Observer(None)
            plan, parts = self.resolution({}).plan, parts_of(self.source, observer.handle)
            writes = not isinstance(self.source, FilePartition)
            with store.opened(plan, parts, observer, progress=self.progress, writes=writes) as reading:
                for _ in reading.results():
                    pass  # what the store lacks is parsed here
            found = together(store.cut(parts_of(self.source, policy.handle)), count=count, size=size)
        policy.close()
        filters = self._filters_by_id()
        return [replace(self, source=part, filters=filters) for part in found]

    def _filters_by_id(self) -> Filters:
        """Return the filters with the ids of the things that they ask for, for which the archive is read."""
        filtering = Filtering(self.filters)
        if not filtering.things_asked:
            return self.filters
        table = main_table(next(of for of in element_types() if filtering.leads_to(of)))
        resolution = self.resolution({table.name: [table.element.own_id]})
        for _ in self.rows(resolution, Observer(Policy(self.on_error))):
            pass
        return cast("Filters", {**self.filters, **resolution.named})


class TableCall:
    """What a `TableMethod` is of one archive: called, it reads the table."""

    def __init__(self, table: str, reader: Reader | None) -> None:
        self.__name__, self._reader = table, reader
        about = f"See `Archive.table` for the parameters, and ``describe({table!r})`` for the columns."
        self.__doc__ = f"{TABLES[table].meaning}\n\n{about}"

    def __call__(
        self, columns: Columns = None, *, dedupe: Dedupe = True, people: bool = True
    ) -> pd.DataFrame:
        """Read the table; see `Archive.table`."""
        if self._reader is None:
            raise TypeError(
                f"{self.__name__} is a method of what open returns: open(source).{self.__name__}()"
            )
        resolution = self._reader.resolution({self.__name__: columns}, dedupe=dedupe, people=people)
        return self._reader.frames(resolution)[self.__name__]

    def __repr__(self) -> str:
        return f"<{self.__name__}() of {self._reader}>"

    if not TYPE_CHECKING:  # what only its frame has is an error to type checkers, too

        def __getattr__(self, name: str) -> object:
            raise AttributeError(f"{self.__name__} is a method: {self.__name__}().{name}")


@dataclass(frozen=True, slots=True)
class TableMethod:
    """A method of an archive that reads a table."""

    table: str

    def __get__(self, reader: Reader | None, owner: type[Reader]) -> TableCall:
        return TableCall(self.table, reader)


def _with_computed(rows: Rows, resolution: Resolution) -> Rows:
    """Yield rows, and those of the tables that are computed of them."""
    from osdi_frames.computed import with_computed  # most readings need no reports

    return with_computed(rows, resolution)
