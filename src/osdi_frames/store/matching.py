"""Which segments of a store hold the files of an archive, and what is to be parsed."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from osdi_frames.sources.source import Part
from osdi_frames.store.segments import Segment
from osdi_frames.store.stamps import end_of, inode_of, name_of, ranges

#: Bytes of files from which on a segment ends.
SEGMENT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Match:
    """A segment that holds the next files of a reading."""

    segment: Segment
    parts: tuple[Part, ...]
    rest: tuple[Part, ...]
    """What follows in the last file, if that has grown."""
    files: int
    """How many files these are."""

    @classmethod
    def of(cls, segment: Segment, left: Iterable[Part]) -> Self | None:
        """Compare a segment with what is left to read; None where something differs."""
        following, rest = iter(left), tuple[Part, ...]()
        stamps, parts, files = [], [], 0
        for stamp in segment.stamps:
            files += not rest
            part = rest[0] if rest else next(following, None)
            begins = stamp.name, stamp.start, stamp.line
            if part is None or (name_of(part), part.start, part.line) != begins:
                return None
            inode = inode_of(part)
            has_grown = end_of(part) > stamp.stop
            renewed = stamp.renewed(part) if stamp.grows or not has_grown else None
            if renewed is None:
                return None
            stamps.append(renewed)
            parts.append(replace(part, stop=stamp.stop) if has_grown else part)
            left_of = replace(part, start=stamp.stop, line=stamp.next_line, inode=inode)
            rest = (left_of,) if has_grown else ()
        return cls(replace(segment, stamps=tuple(stamps)), tuple(parts), rest, files)


def matched(parts: Sequence[Part], segments: Sequence[Segment]) -> Iterator[Match | list[Part]]:
    """Yield the segments that hold the files, in their order, and runs of files that none holds."""
    beginning: defaultdict[tuple[str, int], list[Segment]] = defaultdict(list)
    for segment in sorted(segments, key=lambda segment: -segment.bytes):
        if segment.stamps:
            beginning[segment.stamps[0].name, segment.stamps[0].start].append(segment)
    left, run = deque(parts), list[Part]()
    while left:
        some = beginning[name_of(left[0]), left[0].start]
        match = next((match for segment in some if (match := Match.of(segment, left))), None)
        if match is None:
            run += ranges(left.popleft(), SEGMENT_BYTES)
            continue
        if run:
            yield run
        yield match
        run = []
        for _ in range(match.files):
            left.popleft()
        left.extendleft(match.rest)
    if run:
        yield run


def joined(found: Iterable[Match | list[Part]]) -> list[Match | list[Part]]:
    """Return matches, and the files between them in runs of the size of a segment.

    A segment before a run that is no smaller joins it: else a store would have as many as there were readings.
    """
    done: list[Match | list[Part]] = []
    for item in found:
        if isinstance(item, Match):
            done.append(item)
            continue
        run, size = item, sum(part.size for part in item)
        while (
            done
            and isinstance(last := done[-1], Match)
            and last.segment.bytes <= min(size, SEGMENT_BYTES - size)
        ):
            run = [*last.parts, *run]
            size += last.segment.bytes
            done.pop()
        done += _cut(run)
    return done


def _cut(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Cut files into runs of the size of a segment; ranges of a file that follow each other are one."""
    run, size = list[Part](), 0
    for part in parts:
        if size >= SEGMENT_BYTES:
            yield run
            run, size = [], 0
        if run and (run[-1].file, run[-1].stop) == (part.file, part.start):
            run[-1] = replace(run[-1], stop=part.stop)
        else:
            run.append(part)
        size += part.size
    if run:
        yield run
