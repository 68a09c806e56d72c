"""A store: which files are parsed already, and the pass over the others.

A reading takes the files of an archive in their order. Where the next ones are as a segment of the store has them, the
rows of the segment are read; the others are parsed, and become segments in the same pass. A reading that parses nothing
keeps the rows that it resolves, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import metadata
from pathlib import Path
from typing import Self, TypeAlias

from osdi_frames.durable import make_folder
from osdi_frames.errors import DestinationExists, InvalidArgument, SourceNotFound, SourceWarning
from osdi_frames.locking import release, try_lock, wait_for_lock
from osdi_frames.messages import quoted_path
from osdi_frames.parsing.group import GroupResult, grouped
from osdi_frames.parsing.parse import Observer, cores_of_process
from osdi_frames.parsing.plan import Plan
from osdi_frames.problems import Problem, warn_caller
from osdi_frames.progress import bar
from osdi_frames.sources.files import is_address, local_path
from osdi_frames.sources.limits import Limits
from osdi_frames.sources.source import Part, read_parts
from osdi_frames.sources.streams import ahead
from osdi_frames.store.matching import Match, joined, matched
from osdi_frames.store.resolved import Resolved, ResolvedDraft, Wanted, is_resolved
from osdi_frames.store.segments import (
    DRAFT,
    NAME,
    Draft,
    Others,
    Segment,
    is_segment,
    parsed,
    parsed_again,
    remove_folder,
)

_READING, _WRITING = ".reading", ".writing"  # what those lock who read segments, and who makes them
#: Bytes of files from which on resolved rows are kept: of fewer they are resolved as quickly as they are read.
RESOLVED_BYTES = 8 << 20
_RESOLVED = 4  # of how many requests, the last ones
#: What rows depend on besides the bytes of an archive.
_CODE = (
    "sources/*.py",
    "tables/*.py",
    "parsing/*.py",
    "resolving/*.py",
    "store/*.py",
    "addresses.py",
    "arrow.py",
    "document_forms.py",
    "engine.py",
    "json_decoding.py",
    "kept.py",
    "messages.py",
    "problems.py",
    "pulls.py",
)
_LIBRARIES = ("duckdb", "pyarrow")

_OTHERS = "what another version of osdi-frames, or another prefix or limits, has made"
_MADE_ANEW = f"holds {_OTHERS}, or is damaged: it is made anew"

#: What finds a group, and what is to be done once its result was used.
_Job: TypeAlias = tuple[Callable[[], GroupResult | None], Callable[[], object]]


@dataclass(frozen=True, kw_only=True)
class Store:
    """A folder of segments, and of resolved rows."""

    folder: Path
    whole: Plan
    """All columns of all tables."""
    limits: Limits
    is_temporary: bool = False
    """Whether nobody asked for it, so that it warns of nothing."""

    @classmethod
    def of(cls, folder: str | os.PathLike[str], paths: Iterable[str], whole: Plan, limits: Limits) -> Self:
        """Open the store of the files at some paths, or make one.

        Raises
        ------
        InvalidArgument
            It is an address, inside of what is read, or around it.
        DestinationExists
            The folder holds something else.
        """
        path = folder_of(folder, paths)
        make_folder(path)
        return cls(folder=path, whole=whole, limits=limits)

    @cached_property
    def version(self) -> str:
        """What rows depend on besides the bytes of files: code, columns, prefixes, limits."""
        columns = {
            select.table.name: ([column.name for column in select.columns], [*map(str, select.blocks)])
            for select in itertools.chain.from_iterable(self.whole.selects.values())
        }
        digest = hashlib.blake2b(repr((columns, self.whole.prefixes, self.limits)).encode(), digest_size=16)
        for pattern in _CODE:
            for file in sorted(Path(__file__).parents[1].glob(pattern)):
                digest.update(file.read_bytes())
        for library in _LIBRARIES:
            digest.update(metadata.version(library).encode())
        return digest.hexdigest()

    @contextlib.contextmanager
    def opened(
        self,
        plan: Plan,
        parts: Sequence[Part],
        observer: Observer,
        *,
        cores: int | None = None,
        progress: bool | None = None,
        writes: bool = True,
    ) -> Iterator[Reading]:
        """Return a pass over the files of an archive, during which nothing is removed.

        What the store lacks is added to it, unless another process adds something, or it does not `write`.
        """
        reading = Reading(self, plan, observer, writes, progress, cores or cores_of_process())
        segments, may_remove = list[Segment](), False
        try:
            with contextlib.ExitStack() as locks:
                is_open = locks.enter_context(_locked(self.folder / _READING, shared=True))
                if not os.access(self.folder, os.W_OK):
                    reading.give_up()
                if reading.writes:
                    reading.writes = is_open and locks.enter_context(_locked(self.folder / _WRITING))
                may_remove = reading.writes
                segments += self._segments() if is_open else []
                reading.runs = joined(matched(parts, segments))
                yield reading
                if reading.damaged:
                    self.warn(_MADE_ANEW)
                    reading.remake()
        finally:  # what is gone from the archive goes from the store, whatever ends the reading
            if may_remove:
                self._clean({segment.folder for segment in segments}, reading)

    def _clean(self, known: Collection[Path], reading: Reading) -> None:
        """Remove what a reading does not need; of what others have added since, nothing."""

        def is_superfluous(segment: Segment) -> bool:
            return self._is_other(segment) or (segment.folder in known and reading.is_superseded(segment))

        try:
            _remove(self.folder, is_superfluous, keeps=reading.resolved_to_keep)
        except OSError as error:
            self.warn(f"keeps what is not needed, which cannot be removed{_why(error)}")

    def cut(self, parts: Sequence[Part]) -> list[tuple[Part, ...]]:
        """Return the parts of each segment, and of what lies between them."""
        with _locked(self.folder / _READING, shared=True) as is_open:
            found = [*matched(parts, self._segments() if is_open else [])]
        return [item.parts if isinstance(item, Match) else tuple(item) for item in found]

    def _segments(self) -> list[Segment]:
        """Return the segments of this version; warn where there are others."""
        folders = [path for path in self.folder.iterdir() if path.name[0] != "." and is_segment(path)]
        found = [segment for segment in map(Segment.load, folders) if segment and not self._is_other(segment)]
        if len(found) < len(folders):
            self.warn(_MADE_ANEW)
        return found

    def warn(self, what: str) -> None:
        """Warn of something about this store."""
        if not self.is_temporary:
            warn_caller(f"the store {quoted_path(self.folder)} {what}", SourceWarning)

    def _is_other(self, segment: Segment) -> bool:
        return segment.version != self.version


def folder_of(folder: str | os.PathLike[str], paths: Iterable[str] = ()) -> Path:
    """Return the path of a store of what is at some paths; see `Store.of`."""
    name = os.fspath(folder)
    if not name:
        raise InvalidArgument("store is empty: it is a folder")
    if is_address(name):
        why = "object stores have no locks, and rename nothing in one step"
        raise InvalidArgument(f"{quoted_path(name)}: a store is a folder of this machine: {why}")
    path = Path(os.path.realpath(local_path(name)))
    for source in _real(paths):
        if path in Path(source).parents or any(map(partial(_is_at, source), _within(path))):
            raise InvalidArgument(
                f"{quoted_path(name)}: a store is neither inside of an archive nor around it"
            )
    if os.path.exists(path) and not _is_store(path, empty=True):  # noqa: PTH110 (no error of a name that is too long)
        raise DestinationExists(f"{quoted_path(name)} holds something else than a store of osdi-frames")
    return path


def find_store(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a store that is there.

    Raises
    ------
    SourceNotFound
        It is not.
    InvalidArgument, DestinationExists
        It cannot be one, or is something else; see `Store.of`.
    """
    path = folder_of(folder)
    if not _is_store(path, empty=False):
        raise SourceNotFound(f"there is no store at {quoted_path(os.fspath(folder))}")
    return path


def remove_stale(folder: Path) -> None:
    """Remove every segment one of whose files has changed or is gone, and all resolved rows.

    It waits until nobody reads or writes the store.
    """
    _remove(folder, lambda segment: not segment.is_current, wait=True)


def _remove(
    folder: Path,
    is_superfluous: Callable[[Segment], bool],
    *,
    keeps: Callable[[], Collection[Path]] = tuple,
    wait: bool = False,
) -> None:
    """Remove resolved rows, but for some, then some segments, and what killed processes left."""
    with (
        _locked(folder / _WRITING, wait=wait) as is_alone,
        _locked(folder / _READING, wait=wait) as is_unread,
    ):
        found = [*folder.iterdir()] if is_alone and is_unread else []
        kept = keeps() if found else ()
        for path in filter(is_resolved, found):
            if path not in kept:
                remove_folder(path)
        for path in found:
            if is_segment(path) and (
                path.name.startswith(DRAFT)  # it can be complete but for its name
                or (segment := Segment.load(path)) is None
                or is_superfluous(segment)
            ):
                remove_folder(path)


def _real(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths of local files without links; no file has a name that cannot be encoded."""
    for path in paths:
        if not is_address(path):
            with contextlib.suppress(ValueError):
                yield os.path.realpath(local_path(path))


def _within(path: Path) -> tuple[Path, ...]:
    """Return a store, what it will hold, and what it is in."""
    file = path / NAME / "0-events.parquet"
    return file, *file.parents


def _is_at(source: str, path: Path) -> bool:
    """Whether a path is a source, or matches the pattern that it is."""
    return str(path) == source or path.match(source)


def _is_store(path: Path, *, empty: bool) -> bool:
    """Whether a folder is a store, or can become one; a copy may be without the files that are locked."""
    if not os.path.isdir(path):  # noqa: PTH112 (no error of a name that is too long)
        return False
    found = [item for item in path.iterdir() if item.is_dir() or item.name[0] != "."]
    are_ours = all(is_segment(item) or is_resolved(item) for item in found)
    return (path / _WRITING).exists() or (are_ours and (empty or found != []))


@contextlib.contextmanager
def _locked(path: Path, *, shared: bool = False, wait: bool = False) -> Iterator[bool]:
    """Lock a file, and return whether that was possible."""
    descriptor = None
    if wait:
        descriptor = wait_for_lock(path)
    else:
        with contextlib.suppress(OSError):  # where nothing can be written
            descriptor = try_lock(path, shared=shared)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            release(descriptor)


@dataclass
class Reading:
    """One pass over an archive with a store."""

    store: Store
    plan: Plan
    observer: Observer
    writes: bool
    progress: bool | None = False
    cores: int = 1
    runs: list[Match | list[Part]] = field(default_factory=list)
    """The segments that hold the files, in their order, and runs of files that none holds."""
    shown: Plan | None = None
    """Of which the rows are, where they are fewer columns than those of the plan."""
    used: list[Segment] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    damaged: list[Match] = field(default_factory=list)
    """The segments of which something could not be read."""
    unsound: list[Path] = field(default_factory=list)
    """The folders of resolved rows that are not as they were written."""
    documents: int = 0
    """How many precede what is read next."""
    is_done: bool = False
    """Whether all files were read."""

    def results(self) -> Iterator[GroupResult]:
        """Yield what the plan finds in the files, group by group in their order, as `parse` does."""
        with bar("reading", self.progress, unit="B") as done:
            done.total = sum(map(_bytes, self.runs))
            try:
                for answer in ahead(_done, self._jobs(done.update), self.cores):
                    result, then = answer()
                    if result is not None:
                        self.observer.see(result)
                        yield result
                    then()
                self.is_done = True
            finally:
                for draft in self.drafts:
                    draft.discard()

    def is_superseded(self, segment: Segment) -> bool:
        """Whether its files are in other segments now, or have changed."""
        names = {stamp.name for used in self.used for stamp in used.stamps if self.is_done}
        is_used = any(segment.folder == used.folder for used in self.used)
        return not is_used and (
            any(stamp.name in names for stamp in segment.stamps) or not segment.is_current
        )

    @cached_property
    def origin(self) -> str | None:
        """Which files are read, and by which version; None where the store lacks some, or they are small."""
        digest = hashlib.blake2b(self.store.version.encode(), digest_size=16)
        for run in self.runs:
            if not isinstance(run, Match):
                return None
            digest.update(run.segment.folder.name.encode())
            for stamp in run.segment.stamps:
                about = (stamp.name, stamp.start, stamp.stop, stamp.line, stamp.digest)
                digest.update(repr(about).encode())
        return digest.hexdigest() if sum(map(_bytes, self.runs)) >= RESOLVED_BYTES else None

    def resolved(self, wanted: Wanted, proofs: str) -> Resolved | None:
        """Return resolved rows that are kept of these files, where all that is wanted is among them."""
        for rows in self._resolved() if wanted else ():
            if rows.has(wanted, proofs):
                if rows.is_sound(wanted):
                    return rows
                self.store.warn(_MADE_ANEW)
                self.unsound.append(rows.folder)
        return None

    @contextlib.contextmanager
    def keeping(self, wanted: Wanted, proofs: str, known_by_address: int) -> Iterator[ResolvedDraft | None]:
        """Return what keeps resolved rows of these files from the end on; None where nothing is to be kept."""
        draft = None
        if self.writes and wanted and self.origin and not self.damaged:
            with self._going_on():
                draft = ResolvedDraft.of(self.store.folder, self.origin, proofs, known_by_address, wanted)
        if draft is None:
            yield None
            return
        try:
            yield draft
            with self._going_on():
                draft.publish()
        finally:
            draft.discard()

    @contextlib.contextmanager
    def _going_on(self) -> Iterator[None]:
        """Warn of what cannot be written."""
        try:
            yield
        except OSError as error:
            self.store.warn(f"cannot keep resolved rows{_why(error)}")

    def resolved_to_keep(self) -> list[Path]:
        """Return the folders of the newest resolved rows of these files."""
        return [rows.folder for rows in self._resolved() if rows.folder not in self.unsound][:_RESOLVED]

    def _resolved(self) -> list[Resolved]:
        """Return the resolved rows that are kept of these files, the newest first."""
        folders = filter(is_resolved, self.store.folder.iterdir() if self.origin else ())
        newest = sorted(folders, key=lambda path: -path.stat().st_mtime_ns)
        return [rows for rows in map(Resolved.load, newest) if rows and rows.origin == self.origin]

    def _jobs(self, update: Callable[[int], object]) -> Iterator[_Job]:
        """Yield what is to be done, in the order of reading."""
        for run in self.runs:
            yield from self._stored(run) if isinstance(run, Match) else self._parsed(run)
            update(_bytes(run))

    def _stored(self, match: Match) -> Iterator[_Job]:
        """Read the groups of a segment."""
        segment = match.segment
        if self.writes:
            with contextlib.suppress(OSError):  # as of a full disk; the digests decide the next time, too
                segment.renew()
        self.used.append(segment)
        for problem in segment.problems:
            self.observer.handle(problem)
        others = Others(segment, self.plan)
        for number in range(len(segment.groups)):
            yield partial(self._group, match, number, others, self.documents), _nothing
        self.documents += segment.documents

    def _group(self, match: Match, number: int, others: Others, before: int) -> GroupResult | None:
        """Read a group of a segment, or parse its documents again where anything of it cannot be read."""
        try:
            return match.segment.read(number, others, self.store.whole, before, shown=self.shown)
        except Exception:  # noqa: BLE001 (a changed byte can lead to any error)
            self.damaged.append(match)
        groups = grouped(read_parts(match.parts, _ignore, limits=self.store.limits, progress=False))
        group = next(itertools.islice(groups, number, None), None)
        return None if group is None else parsed_again(group, number, others, self.store.whole, before)

    def remake(self) -> None:
        """Make the segments of which something could not be read anew."""
        for match in {match.segment.folder: match for match in self.damaged}.values():
            self.used = [segment for segment in self.used if segment.folder != match.segment.folder]
            anew = Reading(self.store, self.plan, Observer(None), self.writes)
            for work, then in anew._parsed(match.parts) if self.writes else ():
                work()
                then()
            self.used += anew.used

    def _parsed(self, parts: Sequence[Part]) -> Iterator[_Job]:
        """Parse files, and make a segment of them where that is possible."""
        draft = self._draft(parts)
        handle = draft.recording(self.observer.handle) if draft else self.observer.handle
        self.drafts += [draft] if draft else []
        before = self.documents
        for group in grouped(read_parts(parts, handle, limits=self.store.limits, progress=False)):
            work = partial(draft.add, group) if draft else partial(parsed, group)
            yield partial(work, self.plan, before), _nothing
            self.documents += len(group)
        if draft:
            yield _nothing, partial(self._publish, draft, self.documents - before)

    def _draft(self, parts: Sequence[Part]) -> Draft | None:
        try:
            return Draft.of(self.store.folder, parts, self.store.whole) if self.writes else None
        except OSError as error:
            self.give_up(error)
            return None

    def _publish(self, draft: Draft, documents: int) -> None:
        try:
            if segment := draft.publish(self.store.version, documents):
                self.used.append(segment)
        except OSError as error:
            self.give_up(error)

    def give_up(self, error: OSError | None = None) -> None:
        """Write nothing more, as to a full disk; the reading goes on."""
        if self.writes:
            self.store.warn(f"cannot be written{_why(error)}: what it lacks is parsed by each reading")
        self.writes = False


def _bytes(run: Match | Sequence[Part]) -> int:
    return run.segment.bytes if isinstance(run, Match) else sum(part.size for part in run)


def _why(error: OSError | None) -> str:
    return f" ({error.strerror or type(error).__name__})" if error else ""


def _done(job: _Job) -> tuple[GroupResult | None, Callable[[], object]]:
    work, then = job
    return work(), then


def _ignore(problem: Problem) -> None:
    """Do nothing: the segment has the problems of its files."""


def _nothing() -> None:
    """Do nothing."""
