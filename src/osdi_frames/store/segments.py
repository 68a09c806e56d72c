"""Segments of a store: the parsed rows of some consecutive files, as Parquet."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from osdi_frames.durable import create_file, flush, sync, write_file
from osdi_frames.parsing.group import (
    GroupResult,
    add_mended,
    read_clean,
    read_group,
    with_rows,
)
from osdi_frames.parsing.listings import ListedPage
from osdi_frames.parsing.parse import numbered
from osdi_frames.parsing.plan import CARRIED, ELEMENT, Plan, Select
from osdi_frames.problems import Finding, Occurrences, Place, Problem, ProblemKind
from osdi_frames.sources.files import Handle
from osdi_frames.sources.remote import Remote
from osdi_frames.sources.source import Part
from osdi_frames.sources.streams import zstd
from osdi_frames.store.stamps import Stamp, Status, status
from osdi_frames.tables.schema import Column, arrow_type

#: Begin the name of a segment, and of one that is being written.
NAME, DRAFT = "segment-", ".draft-"
# With a suffix that no reader takes for documents; of many small files, what is known is a third of the rows in size.
_ABOUT = "segment.about"
#: How rows are written.
PARQUET: Final[Mapping[str, Any]] = {
    "compression": "zstd",
    "compression_level": 3,
    "write_page_checksum": True,
}
_CHECKED: Final[Mapping[int, int]] = {
    zstd.CompressionParameter.compression_level: 3,
    zstd.CompressionParameter.checksum_flag: 1,
}
_OTHERS = "documents"  # that are not clean: each reading parses them
_TOGETHER = 1 << 18  # bytes of these, compressed: those of as many groups are parsed at once


@dataclass(frozen=True, slots=True)
class Segment:
    """The rows of some consecutive files of an archive, and what else was found in them."""

    folder: Path
    stamps: tuple[Stamp, ...]
    documents: int
    """How many there are, clean or not."""
    problems: tuple[Problem, ...]
    """Those of files; what is wrong in documents is found by each reading."""
    groups: tuple[Mapping[str, Any], ...]
    """What a group holds: tables with the bytes of their files, how many clean documents, in which files, with which
    undeclared keys."""

    version: str
    """Of what parsed them; see `Store.version`."""

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Return the segment in a folder; None where none is there, or one of another form or damaged."""
        try:
            found = read_about(folder / _ABOUT)
            stamps = [Stamp(*[*stamp, _status(status), digest]) for *stamp, status, digest in found["stamps"]]
            problems = [
                Problem(Place(*place), ProblemKind(kind), *rest) for place, kind, *rest in found["problems"]
            ]
            groups, documents = tuple(found["groups"]), found["documents"]
            segment = cls(folder, tuple(stamps), documents, tuple(problems), groups, found["version"])
            is_whole = segment.is_whole
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None
        return segment if is_whole else None

    @property
    def is_whole(self) -> bool:
        """Whether all of its files are there, in full."""
        return all(
            _path(self.folder, group, name).stat().st_size == size
            for group in self.groups
            for name, size in group["tables"].items()
        )

    @property
    def bytes(self) -> int:
        """The bytes of the files that were parsed."""
        return sum(stamp.stop - stamp.start for stamp in self.stamps)

    @property
    def is_current(self) -> bool:
        """Whether all files are there as they were."""
        return all(stamp.renewed(Part(stamp.name, stamp.start, line=stamp.line)) for stamp in self.stamps)

    def renew(self) -> None:
        """Write the present status of the files, if it was another."""
        if (before := Segment.load(self.folder)) is None or before.stamps != self.stamps:
            self.write()

    def write(self) -> None:
        """Write what is known of the segment, in one step."""
        about = {
            "version": self.version,
            "stamps": [astuple(stamp) for stamp in self.stamps],
            "documents": self.documents,
            "problems": [
                [(at.place.source_file, at.place.source_line), at.problem, at.detail, at.severity]
                for at in self.problems
            ],
            "groups": self.groups,
        }
        write_about(self.folder / _ABOUT, about)

    def read(
        self, number: int, others: Others, whole: Plan, before: int, *, shown: Plan | None = None
    ) -> GroupResult:
        """Return what the plan of `others` finds in a group; before the segment are so many documents.

        Rows are those that the plan `shown` has; it has some of the columns. Whatever is raised is a sign of damage.
        """
        about, plan = self.groups[number], others.plan
        rows = [*self._rows(about, shown or plan, whole)]
        clean = GroupResult(documents=about["clean"], rows=rows, pages=_listed(about["pages"], plan))
        if plan.inspects:
            clean = replace(clean, files={*about["files"]}, keys=[*map(_key, about["keys"])])
        return _served(clean, others.of(number), before, shown or plan)

    def others(self, number: int) -> pa.Table | None:
        """Return the documents of a group that are not clean, where there are any."""
        about = self.groups[number]
        return self._table(about, _OTHERS) if _OTHERS in about["tables"] else None

    def _rows(self, about: Mapping[str, Any], plan: Plan, whole: Plan) -> Iterator[tuple[Select, pa.Table]]:
        """Yield the columns of a plan; the keys of entries are those of their elements."""
        for element, selects in plan.selects.items():
            of_whole = {select.table: select for select in whole.selects[element]}
            here = [select for select in selects if select.table.name in about["tables"]]
            keys = {column.name for select in here for column in _keys(select)}
            for select in here:
                wanted = [
                    name for name in _columns(select) if name not in {key.name for key in _keys(select)}
                ]
                wanted += sorted(keys.difference(wanted)) if select is selects[0] else []
                rows = self._table(about, select.table.name, wanted)
                if select is selects[0]:
                    elements = rows
                for key in _keys(select):
                    at = pc.index_in(rows[ELEMENT], elements[ELEMENT].combine_chunks())
                    rows = rows.append_column(key.name, elements[key.name].take(at))
                yield select, _typed(_projected(rows, select, of_whole[select.table]), select)

    def _table(self, group: Mapping[str, Any], name: str, columns: Sequence[str] | None = None) -> pa.Table:
        # Not `read_table`, which takes twice as long since it can also read data sets.
        with pq.ParquetFile(_path(self.folder, group, name), page_checksum_verification=True) as file:
            return file.read(columns, use_threads=False)  # groups are read in threads


@dataclass(slots=True)
class Others:
    """What a plan finds in the documents of a segment that are not clean, which each reading parses.

    Those of several groups are parsed together, since a query of one document takes as long as one of a thousand.
    """

    segment: Segment
    plan: Plan
    found: dict[int, GroupResult | None] = field(default_factory=dict)
    """What was found in groups that were not asked for yet."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Groups are read in threads."""

    def of(self, number: int) -> GroupResult | None:
        """Return what is found in a group; None where all of it is clean."""
        with self.lock:
            if number not in self.found:
                self.found |= self._together(number)
            return self.found.pop(number)

    def _together(self, number: int) -> dict[int, GroupResult | None]:
        """Return what is found in a group and those around it, which are the same whichever of them is asked for."""
        sizes = np.cumsum([about["tables"].get(_OTHERS, 0) for about in self.segment.groups]) // _TOGETHER
        numbers = np.flatnonzero(sizes == sizes[number]).tolist()
        tables = {at: rows for at in numbers if (rows := self.segment.others(at)) is not None}
        if not tables:
            return dict.fromkeys(numbers)
        found = _of_others(self.plan, pa.concat_tables(tables.values()))
        starts = [rows[ELEMENT][0].as_py() for rows in tables.values()]
        return {**dict.fromkeys(numbers), **dict(zip(tables, _cut(found, starts), strict=True))}


@dataclass(slots=True)
class Draft:
    """A segment that is being written."""

    folder: Path
    stamps: tuple[Stamp | None, ...]
    statuses: tuple[Status | None, ...]
    parts: tuple[Part, ...]
    whole: Plan
    problems: list[Problem] = field(default_factory=list)
    groups: dict[int, dict[str, Any]] = field(default_factory=dict)
    """What is known of each, by the number of its first document."""
    failure: OSError | None = None
    """Why not all of it could be written."""

    @classmethod
    def of(cls, store: Path, parts: Sequence[Part], whole: Plan) -> Self:
        """Begin a segment of some parts."""
        statuses = tuple(map(status, parts))
        folder = Path(tempfile.mkdtemp(prefix=DRAFT, dir=store))
        return cls(folder, tuple(map(Stamp.of, parts)), statuses, tuple(parts), whole)

    def recording(self, handle: Handle) -> Handle:
        """Return what keeps each problem of a file before it is handled."""

        def record(problem: Problem) -> None:
            self.problems.append(problem)
            handle(problem)

        return record

    def add(self, group: pa.Table, plan: Plan, before: int) -> GroupResult:
        """Write what is clean in a group, and return what a plan finds in all of it."""
        clean, others = read_clean(self.whole, group)
        try:
            self._write(group["number"][0].as_py(), clean, others)
        except OSError as error:
            self.failure = error
        return _planned(clean, plan, _of_others(plan, others) if len(others) else None, before)

    def _write(self, number: int, clean: GroupResult, others: pa.Table) -> None:
        """Write what is known of a group, whose first document has a number."""
        tables = {
            select.table.name: rows.drop_columns([key.name for key in _keys(select)])
            for select, rows in clean.rows
        }
        tables |= {_OTHERS: others} if len(others) else {}
        sizes: dict[str, int] = {}
        about = {"first": number, "tables": sizes}
        for name, rows in tables.items():
            with create_file(_path(self.folder, about, name)) as file:
                pq.write_table(rows, file, **PARQUET)
                file.flush()
                flush(file.fileno())
                sizes[name] = file.tell()
        self.groups[number] = about | {
            "clean": clean.documents,
            "files": sorted(clean.files),
            "keys": [_written(key) for key in clean.keys],
            "pages": clean.pages,
        }

    def publish(self, version: str, documents: int) -> Segment | None:
        """Make a segment of it; None where a file changed meanwhile, or cannot be recognised.

        Raises
        ------
        OSError
            It could not be written.
        """
        if self.failure:
            raise self.failure
        stamps = [stamp for stamp in self.stamps if stamp is not None]
        if len(stamps) < len(self.parts) or self.statuses != tuple(map(status, self.parts)):
            return None
        if self._was_refused:
            return None
        groups = tuple(self.groups[number] for number in sorted(self.groups))
        segment = Segment(self.folder, tuple(stamps), documents, tuple(self.problems), groups, version)
        segment.write()
        return replace(segment, folder=publish_draft(self.folder, NAME))

    @property
    def _was_refused(self) -> bool:
        """Whether something could not be read that can be read another time, as what is behind an address."""
        is_remote = any(isinstance(part.file, Remote) for part in self.parts)
        return any(
            found.passes or (is_remote and found.problem is ProblemKind.NO_FILE) for found in self.problems
        )

    def discard(self) -> None:
        """Remove what was not published."""
        shutil.rmtree(self.folder, ignore_errors=True)


def parsed(group: pa.Table, plan: Plan, before: int) -> GroupResult:
    """Return what a plan finds in a group that is not kept."""
    return numbered(read_group(plan, group), before)


def parsed_again(group: pa.Table, number: int, others: Others, whole: Plan, before: int) -> GroupResult:
    """Return what a plan finds in a group of a segment whose rows are damaged; see `Segment.read`.

    What is not clean is taken from the segment, as far as it can be read, since it is known of several groups together.
    """
    clean, not_clean = read_clean(whole, group)
    try:
        found = others.of(number)
    except Exception:  # noqa: BLE001 (a changed byte can lead to any error)
        found = _of_others(others.plan, not_clean) if len(not_clean) else None
    return _planned(clean, others.plan, found, before)


def _planned(clean: GroupResult, plan: Plan, others: GroupResult | None, before: int) -> GroupResult:
    """Return what a plan finds in a group, of what is clean the columns of it."""
    of_whole = {select.table: (select, rows) for select, rows in clean.rows}
    rows = [
        (select, _projected(of_whole[select.table][1], select, of_whole[select.table][0]))
        for selects in plan.selects.values()
        for select in selects
        if select.table in of_whole
    ]
    clean = replace(clean, rows=rows, pages=_listed(clean.pages, plan))
    clean = clean if plan.inspects else GroupResult(clean.documents, rows=rows, pages=clean.pages)
    return _served(clean, others, before, plan)


def is_segment(folder: Path) -> bool:
    """Whether a folder is a segment of whatever version, a draft of one, or what is left of one."""
    is_named = folder.name.startswith((NAME, DRAFT)) or (folder / _ABOUT).is_file()  # once they had any names
    return is_named and folder.is_dir()


def read_about(path: Path) -> dict[str, Any]:
    """Return what is known of what a folder holds; a ValueError says that it is damaged."""
    try:
        found: dict[str, Any] = json.loads(zstd.decompress(path.read_bytes()))
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error
    return found


def write_about(path: Path, about: Mapping[str, Any]) -> None:
    """Write what is known of what a folder holds, in one step."""
    text = json.dumps(about, separators=(",", ":")).encode()
    write_file(path, zstd.compress(text, options=_CHECKED))


def publish_draft(draft: Path, name: str) -> Path:
    """Give a folder whose files are written its name, in one step."""
    published = draft.with_name(name + draft.name.removeprefix(DRAFT))
    draft.rename(published)
    sync(published.parent)
    return published


def remove_folder(folder: Path) -> None:
    """Remove a segment, resolved rows, or a draft; from the first step on it is none."""
    if not folder.name.startswith(DRAFT):
        folder = folder.rename(folder.with_name(DRAFT + folder.name))
    shutil.rmtree(folder)
    sync(folder.parent)


def _path(folder: Path, group: Mapping[str, Any], name: str) -> Path:
    return folder / f"{group['first']}-{name}.parquet"


def _keys(select: Select) -> list[Column]:
    """Return the columns of entries that are those of their elements."""
    return [column for column in select.columns if select.table.rows and column not in select.table.entry]


def _columns(select: Select) -> Iterator[str]:
    yield from (column.name for column in select.columns)
    if select.blocks:
        yield CARRIED
    yield ELEMENT


def _projected(rows: pa.Table, select: Select, whole: Select) -> pa.Table:
    """Return the columns of a select, from those of the whole table."""
    columns = {name: rows[name] for name in _columns(select)}
    if select.blocks:
        bits = rows[CARRIED].to_numpy()
        at = [whole.blocks.index(block) for block in select.blocks]
        columns[CARRIED] = pa.array(sum((bits >> old & 1) << new for new, old in enumerate(at)))
    return pa.table(columns)


def _typed(rows: pa.Table, select: Select) -> pa.Table:
    """Return rows of the declared types.

    Raises
    ------
    ValueError
        A column is of another type: what says so in a file has no checksum.
    """
    if any(rows.schema.field(column.name).type != arrow_type(column.type) for column in select.columns):
        raise ValueError("a column of another type")
    return rows


def _served(clean: GroupResult, others: GroupResult | None, before: int, shown: Plan) -> GroupResult:
    """Return what is found in a group, with the rows of the plan `shown`, numbered as elements of the reading."""
    result, parts = clean, defaultdict(list, {select: [rows] for select, rows in clean.rows})
    if others is not None:
        result = replace(
            clean,
            documents=clean.documents + others.documents,
            findings=others.findings,
            keys=[*clean.keys, *others.keys],
            pages=[*clean.pages, *others.pages],
        )
        mended = {select.table: rows for select, rows in others.rows}
        for select in chain.from_iterable(shown.selects.values()):
            if select.table in mended:
                parts[select].append(mended[select.table].select([*_columns(select)]))
    return numbered(with_rows(result, shown, parts), before)


def _of_others(plan: Plan, others: pa.Table) -> GroupResult:
    """Return what is found in the documents that are not clean; those of an inspection are not for any plan."""
    return add_mended(plan, GroupResult(), others) if plan.inspects else read_group(plan, others)


def _cut(found: GroupResult, starts: Sequence[int]) -> Iterator[GroupResult]:
    """Yield what was found from each of some numbers of elements on; how many documents there are, at first."""
    for start, end in pairwise([*starts, math.inf]):

        def are_here(rows: pa.Table, start: float = start, end: float = end) -> pa.Array:
            numbers = rows[ELEMENT].to_numpy()
            return pa.array((numbers >= start) & (numbers < end))

        yield replace(
            found,
            documents=found.documents if start == starts[0] else 0,
            rows=[(select, rows.filter(are_here(rows))) for select, rows in found.rows],
            findings=[each for each in found.findings if start <= each.number < end],
            keys=[each for each in found.keys if start <= each.number < end],
            pages=[page for page in found.pages if start <= page.number < end],
        )


def _listed(pages: Iterable[Sequence[Any]], plan: Plan) -> list[ListedPage]:
    """Return the pages of the types that a plan reads."""
    types = {element.name for element in plan.selects} if plan.lists_pages else set()
    return [page for page in map(ListedPage._make, pages) if page.type in types]


def _written(key: Occurrences) -> list[Any]:
    at, found = key.place, key.finding
    return [
        at.source_file,
        at.source_line,
        found.problem,
        found.key,
        found.severity,
        found.count,
        key.count,
        key.number,
    ]


def _key(written: Sequence[Any]) -> Occurrences:
    file, line, problem, key, severity, times, count, number = written
    finding = Finding(ProblemKind(problem), key, severity=severity, count=times)
    return Occurrences(Place(file, line), finding, count=count, number=number)


def _status(found: list[Any] | None) -> Status | None:
    return None if found is None else tuple(found)
