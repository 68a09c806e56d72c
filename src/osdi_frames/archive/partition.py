"""An archive cut into partitions, each of which can be read alone, in any process that reaches the files.

The files lie one behind the other as on a tape, which is cut at equal distances; each cut moves on to the next
border between documents. A partition is what begins between two cuts: small files together, large ones whole, or as
ranges of bytes, or as some members of a zip.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import BinaryIO, TypeAlias, cast

from osdi_frames.archive.layout import survey
from osdi_frames.archive.listing import SEALED, File
from osdi_frames.archive.members import BROKEN, container, opened_zip, zip_infos
from osdi_frames.archive.names import ARCHIVES, COMPRESSED, printable, suffix
from osdi_frames.archive.remote import Remote
from osdi_frames.archive.streams import Reader

#: The bytes of a partition.
SIZE = 32 << 20

_COMPRESSED = COMPRESSED | ARCHIVES - {".tar"}
_RATIO = 8  # of the documents of a compressed file to its bytes, about
_THREADS = 4
_UNKNOWN = 1 << 20  # bytes that a file of unknown size counts for

Survey: TypeAlias = tuple[int | None, int, int]
Map: TypeAlias = Callable[[Callable[["Part"], Survey], Iterable["Part"]], Iterable[Survey]]


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or what is read of it: a range of bytes, or some members of a zip."""

    file: File
    start: int = 0
    stop: int | None = None
    line: int = 1  # on which the range begins
    members: range | None = None
    offset: int = 0  # behind the beginning of the file, on the tape

    @property
    def name(self) -> str:
        """The name of the file as rows and problems show it."""
        return printable(str(self.file))

    @property
    def size(self) -> int:
        """Its bytes, as far as they are known."""
        stop = self.stop
        if isinstance(self.file, Remote):
            stop = stop or self.file.size
        elif stop is None:
            with contextlib.suppress(OSError):  # a problem as soon as it is opened
                stop = os.stat(self.file).st_size
        return max(0, (stop or 0) - self.start)

    @property
    def is_range(self) -> bool:
        """Whether it is some bytes of a file of documents."""
        return self.start > 0 or self.stop is not None

    def open(self) -> BinaryIO:
        """Open it for reading; a range ends where it ends."""
        stream = self._open()
        if self.start:
            stream.seek(self.start)
        return stream

    def _open(self) -> BinaryIO:
        if isinstance(self.file, Remote):
            return self.file.open(self.stop)
        if self.stop is not None:
            return cast("BinaryIO", _Until(self.file, self.stop))
        try:
            return open(self.file, "rb", buffering=0)
        except FileNotFoundError:
            # A receiver has sealed and compressed it since it was listed.
            if self.start or not os.path.exists(self.file + SEALED):
                raise
            return open(self.file + SEALED, "rb", buffering=0)


class _Until(io.FileIO):
    """A file up to a byte."""

    def __init__(self, path: str, stop: int) -> None:
        super().__init__(path)
        self._stop = stop

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the stub's Buffer has no len
        return super().readinto(memoryview(buffer)[: max(0, self._stop - self.tell())])


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of an archive that is read alone: a source of every reader, in every process that reaches the files.

    Its rows are those that a reading of the whole archive yields of it, in the same order, except that elements are
    deduplicated within it only. It holds names and offsets, and can be pickled.
    """

    number: int
    """Its place in the archive, counted from 0."""
    parts: tuple[Part, ...] = field(repr=False)


def cut(
    files: Sequence[File], *, count: int | None, size: int, surveyed: Map | None = None
) -> list[Partition]:
    """Cut files into so many partitions, fewer where there are fewer documents, or else by size.

    `surveyed` does what `map` does, for the parts of large files in which borders are looked for: in threads
    if it is not given.
    """
    weights = [_weight(file) for file in files]
    step = max(1, -(-sum(weights) // count) if count else size)
    positions = list(itertools.accumulate(weights, initial=0))
    laid = [_laid(*part, step) for part in zip(files, positions, weights, strict=False)]
    ranges = [part for parts in laid for part in parts if part.is_range]
    with ThreadPoolExecutor(_THREADS) as pool:
        surveys = iter(list((surveyed or pool.map)(_survey, ranges)))
    groups: defaultdict[int, list[Part]] = defaultdict(list)
    for position, parts in zip(positions, laid, strict=False):
        for part in _at_borders(parts, surveys) if parts[0].is_range else parts:
            groups[(position + part.offset) // step].append(part)
    return [Partition(number, tuple(groups[at])) for number, at in enumerate(sorted(groups) or [0])]


def _weight(file: File) -> int:
    if isinstance(file, Remote) and file.size is None:
        return _UNKNOWN
    return Part(file).size * (_RATIO if suffix(str(file)) in _COMPRESSED else 1)


def _laid(file: File, position: int, weight: int, step: int) -> list[Part]:
    """Return the parts of a file between the cuts, or itself."""
    if weight > step and (not isinstance(file, Remote) or file.has_ranges):
        with contextlib.suppress(*BROKEN), Part(file).open() as stream:  # what is broken is for the reader
            held = container(printable(str(file)), Reader(stream))
            if held == "zip":
                return _members(file, stream, position, weight, step)
            if held is None:
                cuts = range(step - position % step, weight, step)
                return [Part(file, *ends) for ends in itertools.pairwise((0, *cuts, weight))]
    return [Part(file)]


def _members(file: File, stream: BinaryIO, position: int, weight: int, step: int) -> list[Part]:
    """Return the members of a zip, those together that lie between two cuts."""
    with opened_zip(Reader(stream)) as archive:
        sizes = [info.file_size for info in zip_infos(archive)]
    total = max(1, sum(sizes))
    offsets = [end * weight // total for end in itertools.accumulate(sizes, initial=0)][:-1]
    parts = []
    for _, some in itertools.groupby(range(len(sizes)), lambda number: (position + offsets[number]) // step):
        first, *others = some
        parts.append(Part(file, members=range(first, first + len(others) + 1), offset=offsets[first]))
    return parts or [Part(file)]


def _survey(part: Part) -> Survey:
    with part.open() as stream:
        return survey(part.name, Reader(stream))


def _at_borders(parts: Sequence[Part], surveys: Iterator[Survey]) -> list[Part]:
    """Move the cuts through a file to the borders that were found."""
    starts, line = [(0, 1)], 1
    for part, (border, before, breaks) in zip(parts, surveys, strict=False):
        if part.start and border is not None:
            starts.append((part.start + border, line + before))
        line += breaks
    ends = [*(start for start, _ in starts[1:]), None]
    return [
        replace(parts[0], start=start, stop=stop, line=line, offset=start)
        for (start, line), stop in zip(starts, ends, strict=True)
    ]
