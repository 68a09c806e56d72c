"""The files behind paths: folders, patterns, addresses."""

from __future__ import annotations

import difflib
import fnmatch
import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import TypeAlias
from urllib.parse import urlsplit

from osdi_frames.archive.members import Handle, reported, unreadable
from osdi_frames.archive.names import (
    MANIFEST,
    QUARANTINE,
    TABLES,
    is_hidden,
    is_readable,
    local_path,
    printable,
    suffix,
)
from osdi_frames.archive.remote import PULL, Remote, listed, shown
from osdi_frames.errors import InvalidSource, SourceNotFound

#: A receiver's segment; sealing replaces it by a compressed one, and for a moment there are both.
_SEGMENT = re.compile(r".*(?:^|[/\\])[0-9]{12}\.ndjson")
SEALED = ".zst"
_SPECIAL = "a pipe, socket or device"
_SERVICE = ("http://", "https://")

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
    listing, paths = _Listing(handle, quarantines), list(paths)
    found = {file for path in paths for file in listing.behind(path)}
    if not found:
        for path in paths:
            _refuse_tables(path, _tables_in(path))
    return sorted((file for file in found if not _is_second_form(file, found)), key=str)


def _is_table(path: str) -> bool:
    return suffix(path) in TABLES


def _tables_in(folder: str) -> list[str]:
    folder = glob.escape(folder) if os.path.exists(folder) else folder  # else it is a pattern
    return sorted(filter(_is_table, glob.iglob(os.path.join(folder, "**"), recursive=True)))


def _refuse_tables(path: str, tables: list[str]) -> None:
    """Raise InvalidSource for tables that an export, or another program, has written."""
    if tables:
        read = f"pandas.read_{ {'.xlsx': 'excel'}.get(suffix(tables[0]), suffix(tables[0])[1:]) }"
        raise InvalidSource(
            f"{printable(path)} holds exported tables, and no archive; "
            f"{read}({printable(tables[0])!r}) reads them"
        )


def _hint(path: str) -> str:
    """Say what could have been meant by a path at which there is nothing."""
    if path.lstrip().startswith(("{", "[")):
        return "; for JSON at hand: json.loads(…)"
    folder, name = os.path.split(path.rstrip("/"))
    near = difflib.get_close_matches(name, glob.glob("*", root_dir=folder or None))
    names = ", ".join(printable(os.path.join(folder, sibling)) for sibling in near)
    return f"; nearest: {names}" if near else ""


def _is_second_form(file: File, found: set[File]) -> bool:
    if isinstance(file, Remote):
        return False
    plain = file.removesuffix(SEALED)
    return plain is not file and plain in found and _SEGMENT.fullmatch(plain) is not None


class _Listing:
    """Folders being listed, each of them once."""

    def __init__(self, handle: Handle, quarantines: list[str] | None) -> None:
        self._handle = handle
        self._quarantines = [] if quarantines is None else quarantines
        self._visited: set[tuple[int, int]] = set()

    def behind(self, path: str) -> Iterator[File]:
        """Yield the files behind a path as the user wrote it."""
        path = local_path(path)
        if path.startswith(_SERVICE) and not is_readable(os.path.basename(urlsplit(path).path)):
            raise InvalidSource(f"{shown(path)} is an address, and no archive; {PULL}")
        if "://" in path:
            yield from listed(path)
        elif os.path.isdir(path):
            if os.path.exists(os.path.join(path, MANIFEST)):
                _refuse_tables(path, _tables_in(path))
            yield from self._in_folder(path)
        elif _is_there(path) or os.path.exists(path + SEALED):
            _refuse_tables(path, [path] if _is_table(path) else [])
            yield os.path.normpath(path)
        elif glob.has_magic(path):
            found = self._matching(path)
            if not found:
                raise SourceNotFound(f"no file matches {printable(path)}")
            for path in found:
                yield from self._matched(path)
        else:
            raise SourceNotFound(f"there is no file or folder {printable(path)}{_hint(path)}")

    def _in_folder(self, folder: str) -> Iterator[str]:
        """Yield the files of documents in a folder and those inside it; hidden ones are ignored."""
        for _, entries in self._walk(folder, self._visited, self._quarantines):
            for entry in entries:
                # A link to nowhere may have been one to a folder.
                is_dangling = entry.is_symlink() and not os.path.exists(entry.path)
                if not (is_readable(entry.name) or ("." not in entry.name and is_dangling)):
                    continue
                if entry.is_file(follow_symlinks=False) or not _is_special(entry.path):
                    yield entry.path.removeprefix("./")
                else:
                    self._handle(unreadable(printable(entry.path), _SPECIAL))

    def _matched(self, path: str) -> Iterator[str]:
        """Yield the files behind a path that a pattern matched."""
        _refuse_tables(path, [path] if _is_table(path) and os.path.isfile(path) else [])
        if os.path.isdir(path):
            yield from self._in_folder(path)
        elif _is_special(path):
            self._handle(unreadable(printable(path), _SPECIAL))
        else:
            yield os.path.normpath(path)

    def _walk(
        self, top: str, visited: set[tuple[int, int]], quarantines: list[str]
    ) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
        """Yield a folder and those inside it, each once, with what it holds but folders and hidden names.

        Real folders come first, then those behind links, so that names do not depend on links.
        """
        waiting, links = [os.path.normpath(top)], list[str]()
        while waiting or links:
            folder = waiting.pop() if waiting else links.pop(0)
            entries: list[os.DirEntry[str]] = []
            with reported(printable(folder), self._handle):
                status = os.stat(folder)
                if (status.st_dev, status.st_ino) in visited:
                    continue
                visited.add((status.st_dev, status.st_ino))
                entries = _entries(folder)
            others = []
            for entry in entries:
                if entry.name == QUARANTINE and _is_folder(entry):
                    quarantines.append(entry.path)
                elif is_hidden(entry.name):
                    continue
                elif _is_folder(entry):
                    (links if entry.is_symlink() else waiting).append(entry.path)
                else:
                    others.append(entry)
            yield folder, others

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
            yield from (path for path, _ in self._walk(folder or ".", set(), []))
        elif not glob.has_magic(part):
            if _is_there(path := os.path.join(folder, part)):
                yield path
        elif os.path.isdir(folder or "."):
            names: list[str] = []
            with reported(printable(folder or "."), self._handle):
                names = [entry.name for entry in _entries(folder or ".")]
            for name in sorted(fnmatch.filter(names, part)):
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
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle, or to what cannot be reached
        return False


def _is_special(path: str) -> bool:
    """Return whether opening a path could wait for someone else for ever."""
    return os.path.exists(path) and not os.path.isfile(path)
