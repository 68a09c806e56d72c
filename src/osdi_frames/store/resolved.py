"""Resolved rows that a store keeps, as Parquet: a reading that finds nothing new shows them."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from osdi_frames.durable import create_file, flush
from osdi_frames.store.segments import DRAFT, PARQUET, publish_draft, read_about, write_about

#: Begins the name of a folder of resolved rows.
RESOLVED: Final = "resolved-"
_ABOUT: Final = "resolved.about"
_KNOWN: Final = ("origin", "proofs", "known_by_address", "tables")

#: Columns by the name of their table.
Wanted: TypeAlias = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Resolved:
    """Resolved rows of some tables, before any filter."""

    folder: Path
    origin: str
    """Which files they are made of, and which version parsed and resolved these."""
    proofs: str
    """A digest of what proves that things are gone; empty where no column is about that."""
    known_by_address: int
    """How many people have no id."""
    tables: Mapping[str, Mapping[str, Any]]
    """Of each table its columns, how many rows there are, and the digest of their file, which only rows have."""

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Return what is in a folder; None where nothing is, or it is damaged."""
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
            about = read_about(folder / _ABOUT)
            return cls(folder, **{name: about[name] for name in _KNOWN})
        return None

    def has(self, wanted: Wanted, proofs: str) -> bool:
        """Return whether all columns of some tables are there, as they would be resolved now."""
        return proofs in ("", self.proofs) and all(
            name in self.tables and {*columns} <= {*self.tables[name]["columns"]}
            for name, columns in wanted.items()
        )

    def is_sound(self, names: Iterable[str]) -> bool:
        """Return whether the files of some tables are as they were written."""
        with contextlib.suppress(OSError):
            digests = {name: digest for name in names if (digest := self.tables[name]["digest"])}
            return all(_digest(_path(self.folder, name)) == digest for name, digest in digests.items())
        return False

    def rows(self, name: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows of a table, in their order."""
        if self.tables[name]["digest"]:
            with pq.ParquetFile(_path(self.folder, name)) as file:
                for number in range(file.num_row_groups):
                    yield file.read_row_group(number, columns)


@dataclass(slots=True)
class ResolvedDraft:
    """Resolved rows that are being written."""

    folder: Path
    origin: str
    proofs: str
    known_by_address: int
    wanted: Wanted
    """The columns to keep, by table."""
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    failure: OSError | None = None
    """Why not all of it could be written."""

    @classmethod
    def of(cls, store: Path, origin: str, proofs: str, known_by_address: int, wanted: Wanted) -> Self:
        """Begin to write."""
        folder = Path(tempfile.mkdtemp(prefix=DRAFT, dir=store))
        return cls(folder, origin, proofs, known_by_address, wanted)

    def written(self, name: str, rows: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Yield all rows of a table; the first time, write them on the way."""
        if name in self.tables or name not in self.wanted:
            yield from rows
            return
        table = _TableFile(_path(self.folder, name), self.wanted[name])
        try:
            for some in rows:
                self._try(partial(table.add, some))
                yield some
            self._try(lambda: self.tables.update({name: table.end()}))
        finally:
            table.drop()

    def _try(self, step: Callable[[], object]) -> None:
        """Write; nothing more after something that could not be written, as to a full disk."""
        try:
            if self.failure is None:
                step()
        except OSError as error:
            self.failure = error

    def publish(self) -> None:
        """Let readings find the rows, where all were written.

        Raises
        ------
        OSError
            They could not be written.
        """
        if self.failure:
            raise self.failure
        if self.tables.keys() == self.wanted.keys():
            write_about(self.folder / _ABOUT, {name: getattr(self, name) for name in _KNOWN})
            publish_draft(self.folder, RESOLVED)

    def discard(self) -> None:
        """Remove what was not published."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(slots=True)
class _TableFile:
    """The file of a table that is being written; there is none of a table without rows."""

    path: Path
    columns: Sequence[str]
    count: int = 0
    file: BinaryIO | None = None
    writer: pq.ParquetWriter | None = None

    def add(self, rows: pa.Table) -> None:
        rows = rows.select(self.columns)
        if self.writer is None:
            self.file = create_file(self.path)
            self.writer = pq.ParquetWriter(self.file, rows.schema, **PARQUET)
        self.writer.write_table(rows)
        self.count += len(rows)

    def end(self) -> dict[str, Any]:
        """Write the rest durably, and return what is known of the table."""
        digest = None
        if self.writer and self.file:
            self.writer.close()
            self.file.flush()
            flush(self.file.fileno())
            digest = _digest(self.path)
        return {"columns": self.columns, "rows": self.count, "digest": digest}

    def drop(self) -> None:
        """Close the file, whether or not it is complete."""
        for opened in (self.writer, self.file):
            with contextlib.suppress(OSError):
                if opened is not None:
                    opened.close()


def is_resolved(folder: Path) -> bool:
    """Whether a folder is one of resolved rows, of whatever version."""
    return folder.name.startswith(RESOLVED) and folder.is_dir()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.parquet"
