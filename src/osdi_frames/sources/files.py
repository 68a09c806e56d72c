"""Which files are read: behind paths, patterns and addresses, in folders and next to others."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import glob
import os
import re
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from osdi_frames.errors import InvalidSource, KeyRefused, OsdiError, SourceNotFound
from osdi_frames.messages import quoted_path
from osdi_frames.problems import Place, Problem, ProblemKind, file_name
from osdi_frames.sources.file_kinds import (
    HEAD,
    TABLE_SUFFIXES,
    holds_documents,
    is_hidden,
    is_ignored,
    is_inside_hidden,
    is_readable,
    suffix_inside,
)
from osdi_frames.sources.remote import HTTP, PULL, Remote, asked, filesystem_of, shown_address
from osdi_frames.sources.streams import CORRUPT, ahead

File: TypeAlias = str | Remote
Handle: TypeAlias = Callable[[Problem], None]

#: The folder in which a receiver keeps bodies that are not deliveries; hidden, so that readers skip it.
QUARANTINE = ".quarantine"
#: The file in it that lists the numbers of bodies that were taken back into the archive.
REQUEUED = ".requeued"
#: The name of a pull's manifest, in the folder of its pages; hidden, so that no reader takes it for a document.
MANIFEST = ".manifest.json"

#: A segment of a receiver, named after its first line. Sealing compresses it, and for a moment there are both forms.
SEGMENT = re.compile(r"(?P<first>[0-9]{12})\.ndjson(?P<sealed>\.zst)?")
SEALED = ".zst"

_LOCAL = "file://"

_GENERAL = (ArithmeticError, LookupError, RuntimeError)
#: What opening, decompressing and unpacking raise on broken input.
BROKEN = (*CORRUPT, *_GENERAL, struct.error, tarfile.TarError, zipfile.BadZipFile)
_SUFFIX = re.compile(r"\.\w{1,12}")  # one that says of which kind a file is
_HEADS = 16  # remote files whose beginning is asked for at once


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
        A path is the address of a service.
    """
    listing = _Listing(handle, [] if quarantines is None else quarantines)
    found = {file for path in paths for file in listing.behind(path)}
    sealed = {f"{file}{SEALED}" for file in found if SEGMENT.fullmatch(os.path.basename(str(file)))}
    return sorted(found - sealed, key=str)


def with_manifests(paths: Iterable[str]) -> tuple[set[File], list[File]]:
    """Return the files behind the paths, and the manifests of pulls in folders that are listed or next to a file.

    What is not there is passed over, with what cannot be listed. Where there is no manifest, the files of folders are
    not listed: most archives have none, and many files.
    """
    paths, found, manifests = list(paths), set[File](), set[File]()
    for documents in (False, True):
        listing = _Listing(lambda _: None, [], documents=documents)
        for path in paths:
            if documents and (not manifests or is_address(path)):
                continue
            with contextlib.suppress(SourceNotFound, InvalidSource):
                found.update(listing.behind(path))
        folders = {os.path.dirname(file) for file in found if isinstance(file, str)}
        next_to_files = (slashed(os.path.join(folder, MANIFEST)) for folder in folders)
        manifests |= {*filter(os.path.isfile, next_to_files), *listing.manifests}
    return found, list(manifests)


def tables_in(folder: str) -> Iterator[str]:
    """Yield the files in a folder, or in those that a pattern matches, that hold tables by their names."""
    folder = glob.escape(folder) if os.path.exists(folder) else folder  # else it is a pattern
    inside = glob.iglob(os.path.join(folder, "**"), recursive=True)
    return (path for path in inside if path.lower().endswith(TABLE_SUFFIXES))


def requeued_numbers(quarantine: str | os.PathLike[str]) -> set[int]:
    """Return the numbers of the bodies in a quarantine that were taken back into the archive."""
    try:
        text = Path(quarantine, REQUEUED).read_text("ascii")
    except (OSError, ValueError):
        return set()
    return {int(line) for line in text.split() if line.isdecimal()}


@dataclass(frozen=True, slots=True)
class _Listing:
    """Folders and addresses being listed, each folder once."""

    handle: Handle
    quarantines: list[str]
    documents: bool = True
    """Whether the documents in folders are listed, too, and not only their manifests."""
    manifests: list[File] = field(default_factory=list)
    visited: set[tuple[int, int]] = field(default_factory=set)

    def behind(self, path: str) -> Iterator[File]:
        path = local_path(path)
        if path.startswith(HTTP) and not is_readable(os.path.basename(urlsplit(path).path)):
            raise InvalidSource(f"{shown_address(path)} is an address, and no archive; {PULL}")
        if "://" in path:
            yield from self._at_address(path)
        elif os.path.isdir(path):
            yield from self._in_folder(path)
        elif _is_there(path) or os.path.exists(path + SEALED):
            yield slashed(os.path.normpath(path))
        elif glob.has_magic(path):
            matches = self._matches(path)
            if not matches:
                raise SourceNotFound(f"no file matches {file_name(quoted_path(path))}")
            for match in matches:
                if os.path.isdir(match):
                    yield from self._in_folder(match)
                elif self._is_file(match):
                    yield slashed(os.path.normpath(match))
        else:
            raise SourceNotFound(f"there is no file or folder {file_name(quoted_path(path))}{_hint(path)}")

    # ------------------------------------------------------------------------------- on this machine

    def _in_folder(self, folder: str) -> Iterator[str]:
        """Yield the files of documents in a folder; others that are missed are reported."""
        for _, entries in self._walk(folder):
            for entry in entries if self.documents else ():
                if holds_documents(entry.name, partial(_head, entry)) or _leads_nowhere(entry):
                    if entry.is_file(follow_symlinks=False) or self._is_file(entry.path):
                        yield slashed(entry.path).removeprefix("./")
                elif not is_ignored(entry.name):
                    self.handle(unread(file_name(entry.path), entry.name))

    def _is_file(self, path: str) -> bool:
        """Return whether a path is a regular file; another is reported, since opening it could wait for ever."""
        is_special = os.path.exists(path) and not os.path.isfile(path)
        if is_special:
            self.handle(unreadable(file_name(path), "a pipe, socket or device"))
        return not is_special

    def _walk(self, top: str) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
        """Yield a folder and those inside it, each once and with its entries that are not folders.

        Real folders come first, then those behind links, so that names do not depend on links.
        """
        waiting, links = [os.path.normpath(top)], list[str]()
        while waiting or links:
            folder = waiting.pop() if waiting else links.pop(0)
            entries: list[os.DirEntry[str]] = []
            with reported(file_name(folder), self.handle):
                status = os.stat(folder)
                if (status.st_dev, status.st_ino) in self.visited:
                    continue
                self.visited.add((status.st_dev, status.st_ino))
                entries = _entries(folder, 2 if self.documents else 1)
            folders = {entry.name: entry for entry in entries if _is_folder(entry)}
            if QUARANTINE in folders:
                self.quarantines.append(folders[QUARANTINE].path)
            manifests = (entry.path for entry in entries if entry.name == MANIFEST and entry.is_file())
            self.manifests.extend(slashed(path).removeprefix("./") for path in manifests)
            listed = [entry for entry in folders.values() if not is_hidden(entry.name)]
            links += [entry.path for entry in listed if entry.is_symlink()]
            # The last one is taken next.
            waiting += [entry.path for entry in reversed(listed) if not entry.is_symlink()]
            yield folder, [entry for entry in entries if entry.name not in folders]

    def _matches(self, pattern: str) -> list[str]:
        """Return what a pattern matches, as `glob` does; folders that cannot be listed are reported."""
        path = PurePath(pattern)
        matches = [path.anchor]
        for part in path.parts[bool(path.anchor) :]:
            matches = [match for folder in matches for match in self._matches_in(folder, part)]
        return matches

    def _matches_in(self, folder: str, part: str) -> Iterator[str]:
        """Yield the matches of one part of a pattern in a folder."""
        if part == "**":
            yield from (path for path, _ in _Listing(self.handle, [])._walk(folder or "."))
        elif not glob.has_magic(part):
            yield from filter(_is_there, [os.path.join(folder, part)])
        elif os.path.isdir(folder or "."):
            with reported(file_name(folder or "."), self.handle):
                names = [entry.name for entry in _entries(folder or ".")]
                for name in fnmatch.filter(names, part):
                    if part.startswith(".") or not is_hidden(name):
                        yield os.path.join(folder, name)

    # --------------------------------------------------------------------------------- behind addresses

    def _at_address(self, address: str) -> list[Remote]:
        """Return the files behind the address of a file, of a folder, or of what a pattern matches."""
        shown, (filesystem, path) = shown_address(address), filesystem_of(address)
        filesystem.invalidate_cache()  # new objects are read, too
        is_pattern = glob.has_magic(urlsplit(path).path if path.startswith(HTTP) else path)
        found: dict[Remote, None] = {}
        matches: dict[str, dict[str, Any]] = {}
        try:
            if is_pattern:
                matches = asked(shown, filesystem.glob, path, detail=True)
            else:
                matches = {path: asked(shown, filesystem.info, path)}
            for match, info in matches.items():
                if info.get("type") == "directory":
                    found |= dict.fromkeys(self._in_remote_folder(address, filesystem, match))
                else:
                    found[Remote.of(address, match, info)] = None
        except FileNotFoundError:
            matches = {}
        except PermissionError as error:
            raise KeyRefused(f"{shown}: {shown_address(str(error))}") from None
        if not matches:
            raise SourceNotFound(f"there is nothing at {shown}")
        return list(found)

    def _in_remote_folder(self, address: str, filesystem: Any, folder: str) -> Iterator[Remote]:
        inside = len(folder.rstrip("/")) + 1
        listed = asked(shown_address(address), filesystem.find, folder, detail=True)
        names = {Remote.of(address, path, info): path[inside:] for path, info in listed.items()}
        unclear = [file for file, name in names.items() if not (suffix_inside(name) or is_ignored(name))]
        heads = ahead(partial(Remote.head, size=HEAD), unclear, _HEADS)
        for file, name in names.items():
            if holds_documents(name, lambda: next(heads)()):
                yield file
            elif name.rpartition("/")[2] == MANIFEST and not is_inside_hidden(name.removesuffix(MANIFEST)):
                self.manifests.append(file)
            elif not is_ignored(name):
                self.handle(unread(file.name, file.name))


def _entries(folder: str, times: int = 2) -> list[os.DirEntry[str]]:
    """List a folder by name, twice: a segment that is sealed meanwhile can be missed in both of its forms.

    In the second listing the sealed one is there from the beginning.
    """
    found: dict[str, os.DirEntry[str]] = {}
    for _ in range(times):
        with os.scandir(folder) as entries:
            found |= {entry.name: entry for entry in entries}
    return [found[name] for name in sorted(found)]


def _is_there(path: str) -> bool:
    """Return whether something is at a path, or may be, as in a folder of another user."""
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        return isinstance(error, PermissionError)
    return True


def _head(entry: os.DirEntry[str]) -> bytes:
    """Return the first bytes of a file; none where it is no file, or cannot be read."""
    with contextlib.suppress(OSError):
        if entry.is_file():
            with open(entry.path, "rb", buffering=0) as file:
                return file.read(HEAD)
    return b""


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def _leads_nowhere(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry may be a broken link to a folder."""
    return "." not in entry.name and entry.is_symlink() and not os.path.exists(entry.path)


def _hint(path: str) -> str:
    if path.lstrip().startswith(("{", "[")):
        return "; for JSON at hand: json.loads(…)"
    folder, name = os.path.split(path.rstrip("/"))
    near = difflib.get_close_matches(name, glob.glob("*", root_dir=folder or None))
    names = ", ".join(file_name(os.path.join(folder, sibling)) for sibling in near)
    return f"; nearest: {names}" if near else ""


# ------------------------------------------------------------------------------------- problems of files


@contextlib.contextmanager
def reported(name: str, handle: Handle) -> Iterator[None]:
    """Report an error in the block as a problem of a file; what follows the block goes on."""
    try:
        yield
    except OsdiError:  # above all those that `handle` raised
        raise
    except BROKEN as error:
        of_system = isinstance(error, OSError) and error.strerror
        problem = unreadable(name, of_system or str(error) or type(error).__name__)
        handle(replace(problem, passes=bool(of_system)))


def unreadable(name: str, reason: str) -> Problem:
    """Describe a file of which not everything can be read."""
    return Problem(Place(name), ProblemKind.NO_FILE, reason)


def unread(name: str, inside: str) -> Problem:
    """Describe a file that no reader takes, by its suffix; `inside` is its name in its folder or container."""
    last = suffix_inside(inside)
    kind = last if _SUFFIX.fullmatch(last) else "with another suffix" if last else "without a suffix"
    return Problem(Place(name), ProblemKind.UNREAD_FILE, kind, "warning")


# ------------------------------------------------------------------------------------------------- paths


def is_pipe(path: str) -> bool:
    """Return whether a path is that of a named pipe, which can be read once."""
    with contextlib.suppress(OSError, ValueError):
        return not is_address(path) and stat.S_ISFIFO(os.stat(path).st_mode)
    return False


def is_address(path: str) -> bool:
    """Return whether a path is an address elsewhere than on this machine."""
    return "://" in path and not path.startswith(_LOCAL)


def local_path(path: str) -> str:
    """Return the path of a ``file://`` address, which may name this host and be escaped; other paths as they are."""
    if not path.startswith(_LOCAL):
        return path
    path = path.removeprefix(_LOCAL).removeprefix("localhost")
    if os.sep == "\\" and re.match(r"/[A-Za-z][:|]", path):
        path = path[1:]  # as in file:///C:/data
    return path if os.path.lexists(path) else unquote(path)


def slashed(path: str) -> str:
    """Return a path with slashes between its parts, which Windows takes but does not write.

    >>> slashed("data/a.json")
    'data/a.json'
    """
    return path.replace(os.sep, "/")
