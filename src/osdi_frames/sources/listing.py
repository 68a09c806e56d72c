"""The files behind paths: folders, patterns, addresses."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import TypeAlias
from urllib.parse import urlsplit

from osdi_frames.errors import InvalidSource, SourceNotFound
from osdi_frames.quoting import located, named
from osdi_frames.sources.content import HEAD, holds_documents
from osdi_frames.sources.members import Handle, reported, unread, unreadable
from osdi_frames.sources.names import (
    QUARANTINE,
    SEALED,
    SEGMENT,
    TABLES,
    is_hidden,
    is_ignored,
    is_readable,
    local_path,
    printable,
    slashed,
    suffix,
)
from osdi_frames.sources.remote import HTTP, PULL, Remote, listed, shown

File: TypeAlias = str | Remote


def files(paths: Iterable[str], handle: Handle, quarantines: list[str] | None = None) -> list[File]:
    """Return every file behind the paths, once, sorted by name.

    Links to folders are followed, and each folder is read once. A segment of a receiver is listed in one of
    its two forms; `Part.open` opens the other if it was sealed meanwhile. The folders in which receivers keep bodies
    that are not deliveries are added to `quarantines`.

    Raises
    ------
    SourceNotFound
        Nothing is at a path, or no file matches a pattern.
    InvalidSource
        There are tables at a path, such as those of an export, or it is an address of a service.
    """
    listing, paths = _Listing(handle, [] if quarantines is None else quarantines), list(paths)
    found = {file for path in paths for file in listing.behind(path)}
    tables = [str(file) for file in found if str(file).lower().endswith(TABLES)]
    if not found:
        tables = [table for path in paths for table in _tables_in(path)]
    if tables:
        path, kind = printable(min(tables)), suffix(min(tables))[1:].replace("xlsx", "excel")
        raise InvalidSource(
            f"{named(path)} is an exported table, and no archive; pandas.read_{kind} reads it"
        )
    second = {f"{file}{SEALED}" for file in found if SEGMENT.fullmatch(os.path.basename(str(file)))}
    return sorted(found - second, key=str)


def _tables_in(folder: str) -> Iterator[str]:
    folder = glob.escape(folder) if os.path.exists(folder) else folder  # else it is a pattern
    inside = glob.iglob(os.path.join(folder, "**"), recursive=True)
    return (path for path in inside if path.lower().endswith(TABLES))


def _hint(path: str) -> str:
    if path.lstrip().startswith(("{", "[")):
        return "; for JSON at hand: json.loads(…)"
    folder, name = os.path.split(path.rstrip("/"))
    near = difflib.get_close_matches(name, glob.glob("*", root_dir=folder or None))
    names = ", ".join(printable(os.path.join(folder, sibling)) for sibling in near)
    return f"; nearest: {names}" if near else ""


@dataclass(frozen=True, slots=True)
class _Listing:
    """Folders being listed, each of them once."""

    handle: Handle
    quarantines: list[str]
    visited: set[tuple[int, int]] = field(default_factory=set)

    def behind(self, path: str) -> Iterator[File]:
        path = local_path(path)
        if path.startswith(HTTP) and not is_readable(os.path.basename(urlsplit(path).path)):
            raise InvalidSource(f"{shown(path)} is an address, and no archive; {PULL}")
        if "://" in path:
            yield from listed(path, lambda file: self.handle(unread(file, file)))
        elif os.path.isdir(path):
            yield from self._in_folder(path)
        elif _is_there(path) or os.path.exists(path + SEALED):
            yield slashed(os.path.normpath(path))
        elif glob.has_magic(path):
            found = self._matching(path)
            if not found:
                raise SourceNotFound(f"no file matches {printable(located(path))}")
            for path in found:
                if os.path.isdir(path):
                    yield from self._in_folder(path)
                elif self._is_file(path):
                    yield slashed(os.path.normpath(path))
        else:
            raise SourceNotFound(f"there is no file or folder {printable(located(path))}{_hint(path)}")

    def _in_folder(self, folder: str) -> Iterator[str]:
        """Yield the files of documents in a folder and those inside it; report others."""
        for _, entries in self._walk(folder):
            for entry in entries:
                if holds_documents(entry.name, partial(_head, entry)) or _leads_nowhere(entry):
                    if entry.is_file(follow_symlinks=False) or self._is_file(entry.path):
                        yield slashed(entry.path).removeprefix("./")
                elif not is_ignored(entry.name):
                    self.handle(unread(printable(entry.path), entry.name))

    def _is_file(self, path: str) -> bool:
        """Return whether a path is none whose opening could wait for someone else for ever; report one that is."""
        is_special = os.path.exists(path) and not os.path.isfile(path)
        if is_special:
            self.handle(unreadable(printable(path), "a pipe, socket or device"))
        return not is_special

    def _walk(self, top: str) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
        """Yield a folder and those inside it, each once, with what it holds but folders.

        Real folders come first, then those behind links, so that names do not depend on links.
        """
        waiting, links = [os.path.normpath(top)], list[str]()
        while waiting or links:
            folder = waiting.pop() if waiting else links.pop(0)
            entries: list[os.DirEntry[str]] = []
            with reported(printable(folder), self.handle):
                status = os.stat(folder)
                if (status.st_dev, status.st_ino) in self.visited:
                    continue
                self.visited.add((status.st_dev, status.st_ino))
                entries = _entries(folder)
            folders = {entry.name: entry for entry in entries if _is_folder(entry)}
            if QUARANTINE in folders:
                self.quarantines.append(folders[QUARANTINE].path)
            for entry in folders.values():
                if not is_hidden(entry.name):
                    (links if entry.is_symlink() else waiting).append(entry.path)
            yield folder, [entry for entry in entries if entry.name not in folders]

    def _matching(self, pattern: str) -> list[str]:
        """Return what a pattern matches, as `glob` does; but report folders that cannot be listed."""
        path = PurePath(pattern)
        found = [path.anchor]
        for part in path.parts[bool(path.anchor) :]:
            found = [match for folder in found for match in self._step(folder, part)]
        return found

    def _step(self, folder: str, part: str) -> Iterator[str]:
        """Yield what one part of a pattern matches in a folder."""
        if part == "**":
            yield from (path for path, _ in _Listing(self.handle, [])._walk(folder or "."))
        elif not glob.has_magic(part):
            yield from filter(_is_there, [os.path.join(folder, part)])
        elif os.path.isdir(folder or "."):
            with reported(printable(folder or "."), self.handle):
                names = sorted(entry.name for entry in _entries(folder or "."))
                for name in fnmatch.filter(names, part):
                    if part.startswith(".") or not is_hidden(name):
                        yield os.path.join(folder, name)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """List a folder.

    Twice, because a segment that is sealed while the folder is listed can be missed in both of its forms;
    in the second listing the sealed one is there from the beginning.
    """
    found: dict[str, os.DirEntry[str]] = {}
    for _ in range(2):
        with os.scandir(folder) as entries:
            found |= {entry.name: entry for entry in entries}
    return list(found.values())


def _is_there(path: str) -> bool:
    """Return whether something is at a path, or may be: no one can tell in a folder of another user."""
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        return isinstance(error, PermissionError)
    return True


def _head(entry: os.DirEntry[str]) -> bytes:
    """Return how a file begins; nothing of what is none, or cannot be read."""
    with contextlib.suppress(OSError):
        if entry.is_file():
            with open(entry.path, "rb", buffering=0) as file:
                return file.read(HEAD)
    return b""


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def _leads_nowhere(entry: os.DirEntry[str]) -> bool:
    """Return whether it may have been a link to a folder."""
    return "." not in entry.name and entry.is_symlink() and not os.path.exists(entry.path)
