"""Cut an archive into partitions, each of which can be read alone in any process that reaches the files.

The files lie one behind the other as on a tape, which is cut at equal distances; each cut moves on to the next border
between documents. A partition is what begins between two cuts: small files together, large ones as ranges of bytes.
Containers are not cut.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from osdi_frames.errors import InvalidSource
from osdi_frames.problems import file_name
from osdi_frames.sources.file_kinds import ARCHIVES, COMPRESSED, container, suffix
from osdi_frames.sources.files import BROKEN, File, Handle
from osdi_frames.sources.layout import survey
from osdi_frames.sources.payload_tables import is_table
from osdi_frames.sources.remote import Remote
from osdi_frames.sources.source import FilePartition, Part, Source, listed_files, sorted_out
from osdi_frames.sources.streams import BufferedStream, ahead

#: The bytes of a partition.
SIZE = 32 << 20

_COMPRESSED = COMPRESSED | ARCHIVES - {".tar"}
_RATIO = 8  # of the documents of a compressed file to its bytes, about
_THREADS = 4
_UNKNOWN = 1 << 20  # bytes that a file of unknown size counts for

Survey: TypeAlias = tuple[int | None, int, int]
Map: TypeAlias = Callable[[Callable[[Part], Survey], Iterable[Part]], Iterable[Survey]]


def cut(
    source: Source,
    handle: Handle,
    *,
    count: int | None = None,
    size: int = SIZE,
    quarantines: list[str] | None = None,
    surveyed: Map | None = None,
) -> list[FilePartition]:
    """Cut an archive into `count` partitions, or by size; there are fewer where there are fewer documents.

    `quarantines` takes what it does in `read`. `surveyed` does what `map` does, for the parts of large files in which
    borders are looked for; threads by default.
    """
    paths, *here = sorted_out(source)
    if any(here):
        raise InvalidSource("partitions are read by other processes: the source is a path or an address")
    found = listed_files(paths, handle, quarantines)
    weights = [_weight(file) for file in found]
    step = max(1, -(-sum(weights) // count) if count else size)
    positions = list(itertools.accumulate(weights, initial=0))
    laid = [_laid(*part, step) for part in zip(found, positions, weights, strict=False)]
    ranges = [part for parts in laid for part in parts if part.is_range]
    surveys = iter(list((surveyed or _in_threads)(_survey, ranges)))
    groups: defaultdict[int, list[Part]] = defaultdict(list)
    for position, parts in zip(positions, laid, strict=False):
        for part in _at_borders(parts, surveys) if parts[0].is_range else parts:
            groups[(position + part.start) // step].append(part)
    return [FilePartition(number, tuple(groups[at])) for number, at in enumerate(sorted(groups) or [0])]


def _in_threads(function: Callable[[Part], Survey], parts: Iterable[Part]) -> Iterator[Survey]:
    return (result() for result in ahead(function, parts, _THREADS))


def together(
    runs: Sequence[Sequence[Part]], *, count: int | None = None, size: int = SIZE
) -> list[FilePartition]:
    """Put parts that are read together into so many partitions, or by size."""
    ends = [*itertools.accumulate(sum(part.size for part in run) for run in runs)]
    step = max(1, -(-ends[-1] // count) if count and ends else size)
    groups: defaultdict[int, list[Part]] = defaultdict(list)
    for end, run in zip(ends, runs, strict=True):
        groups[max(0, end - 1) // step].extend(run)
    return [FilePartition(number, tuple(groups[at])) for number, at in enumerate(sorted(groups) or [0])]


def _weight(file: File) -> int:
    if isinstance(file, Remote) and file.size is None:
        return _UNKNOWN
    return Part(file).size * (_RATIO if suffix(str(file)) in _COMPRESSED else 1)


def _laid(file: File, position: int, weight: int, step: int) -> list[Part]:
    """Return the parts of a file between the cuts."""
    if weight > step and (not isinstance(file, Remote) or file.has_ranges):
        with contextlib.suppress(*BROKEN), Part(file).open() as stream:  # what is broken is for the reader
            reader = BufferedStream(stream)
            name = file_name(str(file))
            if container(name, reader.peek()) is None and not is_table(name, reader):
                cuts = range(step - position % step, weight, step)
                return [Part(file, *ends) for ends in itertools.pairwise((0, *cuts, weight))]
    return [Part(file)]


def _survey(part: Part) -> Survey:
    with part.open() as stream:
        return survey(part.name, BufferedStream(stream))


def _at_borders(parts: Sequence[Part], surveys: Iterator[Survey]) -> list[Part]:
    """Move the cuts through a file to borders."""
    starts, line = [(0, 1)], 1
    for part, (border, before, breaks) in zip(parts, surveys, strict=False):
        if part.start and border is not None:
            starts.append((part.start + border, line + before))
        line += breaks
    ends = [*(start for start, _ in starts[1:]), None]
    return [
        replace(parts[0], start=start, stop=stop, line=line)
        for (start, line), stop in zip(starts, ends, strict=True)
    ]
