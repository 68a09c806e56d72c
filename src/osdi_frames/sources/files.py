"""Which files are read, by location, name and first bytes."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import glob
import io
import os
import re
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from osdi_frames.errors import InvalidSource, KeyRefused, OsdiError, SourceNotFound
from osdi_frames.messages import quoted_path, shorten_names
from osdi_frames.problems import Place, Problem, ProblemKind, file_name
from osdi_frames.sources import streams
from osdi_frames.sources.remote import HTTP, PULL, Remote, asked, filesystem_of, shown_address
from osdi_frames.sources.streams import CORRUPT, Reader, ahead

File: TypeAlias = str | Remote
Handle: TypeAlias = Callable[[Problem], None]

#: Suffixes of files that hold documents; in folders and containers, files of other types are counted.
LINES = frozenset({".jsonl", ".ndjson"})
DOCUMENTS = LINES | {".json"}
COMPRESSED = frozenset({".gz", ".zst", ".bz2", ".xz"})
TARS = frozenset({".tgz", ".tzst", ".tbz", ".tbz2", ".txz"})  # compressed ones
ARCHIVES = TARS | {".zip", ".tar"}
_READABLE = DOCUMENTS | ARCHIVES
#: Suffixes of files that hold tables, such as those of an export: no reader of archives reads them.
TABLES = (".parquet", ".csv", ".xlsx")

#: Files that are about a folder, by their names without suffix, and those that file managers put into every folder.
ABOUT = frozenset({"readme"})
BY_MANAGERS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})

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

ContainerKind: TypeAlias = Literal["gz", "zst", "bz2", "xz", "zip", "tar"]

#: What decompresses a file of each kind.
UNPACK = {"gz": streams.gunzipped, "zst": streams.unzstd, "bz2": streams.unbzip2, "xz": streams.unxz}
ZIP_END = b"PK\x05\x06"
#: The bytes at the beginning of a file by which its content is recognised.
HEAD = 1 << 16

_KINDS = {**{f".{kind}": kind for kind in (*UNPACK, "zip", "tar")}, **dict.fromkeys(TARS, "tar")}
#: How a file that holds others begins: zips also without members, tars of POSIX and of GNU. JSON holds no NUL.
_MAGIC = re.compile(
    rb"(?P<gz>\x1f\x8b)|(?P<zst>%b|.%b)|(?P<bz2>BZh[1-9](?:1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\x00)"
    rb"|(?P<zip>PK\x03\x04|%b)|(?P<tar>.{257}ustar(?:\x0000|  \x00))"
    % tuple(map(re.escape, (streams.ZSTD_MAGIC, streams.ZSTD_SKIPPABLE, ZIP_END))),
    re.DOTALL,
)
#: How objects and lists of objects begin in JSON: a log or a configuration file has text after its bracket.
_JSON = re.compile(rb'(?:\xef\xbb\xbf)?[ \t\r\n]*(?:\{[ \t\r\n]*["}]|\[[ \t\r\n]*[\[{\]])')
_DEEPEST = 8  # of compressed files inside one another, of which the content is looked at

_GENERAL = (ArithmeticError, LookupError, RuntimeError)
#: What opening, decompressing and unpacking raise on broken input.
BROKEN = (*CORRUPT, *_GENERAL, struct.error, tarfile.TarError, zipfile.BadZipFile)
_SUFFIX = re.compile(r"\.\w{1,12}")  # one that says of which kind a file is
_HEADS = 16  # remote files of which the beginning is asked for at once


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
        There are only tables in a folder, such as those of an export, or it is an address of a service.
    """
    listing, paths = _Listing(handle, [] if quarantines is None else quarantines), list(paths)
    found = {file for path in paths for file in listing.behind(path)}
    tables = [] if found else [table for path in paths for table in _tables_in(path)]
    if tables:
        path, kind = file_name(min(tables)), suffix(min(tables))[1:].replace("xlsx", "excel")
        raise InvalidSource(
            f"{shorten_names(path)} is an exported table, and no archive; pandas.read_{kind} reads it"
        )
    second = {f"{file}{SEALED}" for file in found if SEGMENT.fullmatch(os.path.basename(str(file)))}
    return sorted(found - second, key=str)


def requeued_numbers(quarantine: str | os.PathLike[str]) -> set[int]:
    """Return the numbers of the bodies in a quarantine that were taken back into the archive."""
    try:
        text = Path(quarantine, REQUEUED).read_text("ascii")
    except (OSError, ValueError):
        return set()
    return {int(line) for line in text.split() if line.isdecimal()}


def with_manifests(paths: Iterable[str]) -> tuple[set[File], list[File]]:
    """Return the files behind the paths, and pulls' manifests.

    A manifest is in a folder that is listed, or next to a file. What is not there is passed over, with what cannot be
    listed. Where there is no manifest, the files of folders are not listed: most archives have none, and many files.
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


def _tables_in(folder: str) -> Iterator[str]:
    folder = glob.escape(folder) if os.path.exists(folder) else folder  # else it is a pattern
    inside = glob.iglob(os.path.join(folder, "**"), recursive=True)
    return (path for path in inside if path.lower().endswith(TABLES))


def _hint(path: str) -> str:
    if path.lstrip().startswith(("{", "[")):
        return "; for JSON at hand: json.loads(…)"
    folder, name = os.path.split(path.rstrip("/"))
    near = difflib.get_close_matches(name, glob.glob("*", root_dir=folder or None))
    names = ", ".join(file_name(os.path.join(folder, sibling)) for sibling in near)
    return f"; nearest: {names}" if near else ""


@dataclass(frozen=True, slots=True)
class _Listing:
    """Folders being listed, each of them once."""

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
            yield from _listed(path, lambda file: self.handle(unread(file, file)), self.manifests)
        elif os.path.isdir(path):
            yield from self._in_folder(path)
        elif _is_there(path) or os.path.exists(path + SEALED):
            yield slashed(os.path.normpath(path))
        elif glob.has_magic(path):
            found = self._matching(path)
            if not found:
                raise SourceNotFound(f"no file matches {file_name(quoted_path(path))}")
            for path in found:
                if os.path.isdir(path):
                    yield from self._in_folder(path)
                elif self._is_file(path):
                    yield slashed(os.path.normpath(path))
        else:
            raise SourceNotFound(f"there is no file or folder {file_name(quoted_path(path))}{_hint(path)}")

    def _in_folder(self, folder: str) -> Iterator[str]:
        """Yield the files of documents in a folder.

        Others are reported.
        """
        for _, entries in self._walk(folder):
            for entry in entries if self.documents else ():
                if holds_documents(entry.name, partial(_head, entry)) or _leads_nowhere(entry):
                    if entry.is_file(follow_symlinks=False) or self._is_file(entry.path):
                        yield slashed(entry.path).removeprefix("./")
                elif not is_ignored(entry.name):
                    self.handle(unread(file_name(entry.path), entry.name))

    def _is_file(self, path: str) -> bool:
        """Return whether a path is a regular file.

        Opening another could wait for someone else for ever; it is reported.
        """
        is_special = os.path.exists(path) and not os.path.isfile(path)
        if is_special:
            self.handle(unreadable(file_name(path), "a pipe, socket or device"))
        return not is_special

    def _walk(self, top: str) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
        """Yield a folder and those inside it, once.

        Each is yielded with its entries that are no folders.
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
            for entry in folders.values():
                if not is_hidden(entry.name):
                    (links if entry.is_symlink() else waiting).append(entry.path)
            yield folder, [entry for entry in entries if entry.name not in folders]

    def _matching(self, pattern: str) -> list[str]:
        """Return what a pattern matches, as `glob` does.

        Folders that cannot be listed are reported.
        """
        path = PurePath(pattern)
        found = [path.anchor]
        for part in path.parts[bool(path.anchor) :]:
            found = [match for folder in found for match in self._step(folder, part)]
        return found

    def _step(self, folder: str, part: str) -> Iterator[str]:
        """Yield the matches of a part in a folder."""
        if part == "**":
            yield from (path for path, _ in _Listing(self.handle, [])._walk(folder or "."))
        elif not glob.has_magic(part):
            yield from filter(_is_there, [os.path.join(folder, part)])
        elif os.path.isdir(folder or "."):
            with reported(file_name(folder or "."), self.handle):
                names = sorted(entry.name for entry in _entries(folder or "."))
                for name in fnmatch.filter(names, part):
                    if part.startswith(".") or not is_hidden(name):
                        yield os.path.join(folder, name)


def _entries(folder: str, times: int = 2) -> list[os.DirEntry[str]]:
    """List a folder.

    Twice, because a segment that is sealed while the folder is listed can be missed in both of its forms;
    in the second listing the sealed one is there from the beginning.
    """
    found: dict[str, os.DirEntry[str]] = {}
    for _ in range(times):
        with os.scandir(folder) as entries:
            found |= {entry.name: entry for entry in entries}
    return list(found.values())


def _is_there(path: str) -> bool:
    """Return whether something is, or may be, at a path.

    In a folder of another user this is not known.
    """
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        return isinstance(error, PermissionError)
    return True


def _head(entry: os.DirEntry[str]) -> bytes:
    """Return the first bytes of a file.

    They are empty where it is no file, or cannot be read.
    """
    with contextlib.suppress(OSError):
        if entry.is_file():
            with open(entry.path, "rb", buffering=0) as file:
                return file.read(HEAD)
    return b""


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def _leads_nowhere(entry: os.DirEntry[str]) -> bool:
    """Return whether it may be a broken folder link."""
    return "." not in entry.name and entry.is_symlink() and not os.path.exists(entry.path)


def _listed(address: str, handle_unread: Callable[[str], object], manifests: list[File]) -> list[Remote]:
    """Return the files behind an address.

    It is that of a file, of a folder, or a pattern.
    `handle_unread` is called with the name of each file in a folder that is not read; `manifests` takes those there.
    """
    filesystem, path = filesystem_of(address)
    filesystem.invalidate_cache()  # new objects are read, too
    files: dict[Remote, None] = {}
    found: dict[str, dict[str, Any]] = {}
    try:
        found = _found(address, filesystem, path)
        for path, info in found.items():
            if info.get("type") == "directory":
                inside = _in_remote_folder(address, filesystem, path, handle_unread, manifests)
                files |= dict.fromkeys(inside)
            else:
                files[Remote.of(address, path, info)] = None
    except FileNotFoundError:
        found = {}
    except PermissionError as error:
        raise KeyRefused(f"{shown_address(address)}: {shown_address(str(error))}") from None
    if not found:
        raise SourceNotFound(f"there is nothing at {shown_address(address)}")
    return list(files)


def _found(address: str, filesystem: Any, path: str) -> dict[str, dict[str, Any]]:
    """List what is at an address, with its properties."""
    if glob.has_magic(urlsplit(path).path if path.startswith(HTTP) else path):
        matches: dict[str, dict[str, Any]] = asked(shown_address(address), filesystem.glob, path, detail=True)
        return matches
    return {path: asked(shown_address(address), filesystem.info, path)}


def _in_remote_folder(
    address: str,
    filesystem: Any,
    folder: str,
    handle_unread: Callable[[str], object],
    manifests: list[File],
) -> Iterator[Remote]:
    inside = len(folder.rstrip("/")) + 1
    found = asked(shown_address(address), filesystem.find, folder, detail=True)
    files = {Remote.of(address, path, info): path[inside:] for path, info in found.items()}
    unclear = [file for file, name in files.items() if not (suffix_inside(name) or is_ignored(name))]
    heads = ahead(partial(Remote.head, size=HEAD), unclear, _HEADS)
    for file, name in files.items():
        if holds_documents(name, lambda: next(heads)()):
            yield file
        elif name.rpartition("/")[2] == MANIFEST and not _in_hidden(name.removesuffix(MANIFEST)):
            manifests.append(file)
        elif not is_ignored(name):
            handle_unread(file.name)


@contextlib.contextmanager
def reported(name: str, handle: Handle) -> Iterator[None]:
    """Report an error as a problem of a file.

    What follows the block goes on.
    """
    try:
        yield
    except OsdiError:  # above all those that `handle` raised
        raise
    except BROKEN as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        handle(unreadable(name, reason or type(error).__name__))


def unreadable(name: str, reason: str) -> Problem:
    """Describe a file of which not everything can be read."""
    return Problem(Place(name), ProblemKind.NO_FILE, reason)


def unread(name: str, inside: str) -> Problem:
    """Describe a file that is not read, by kind.

    `inside` is its name in its folder or container.
    """
    last = suffix_inside(inside)
    kind = last if _SUFFIX.fullmatch(last) else "with another suffix" if last else "without a suffix"
    return Problem(Place(name), ProblemKind.UNREAD_FILE, kind, "warning")


def is_address(path: str) -> bool:
    """Return whether a path is an address elsewhere."""
    return "://" in path and not path.startswith(_LOCAL)


def local_path(path: str) -> str:
    """Return the path of a ``file://`` address.

    It may have a host, and be escaped. A path is returned as it is.
    """
    if not path.startswith(_LOCAL):
        return path
    path = path.removeprefix(_LOCAL).removeprefix("localhost")
    if os.sep == "\\" and re.match(r"/[A-Za-z][:|]", path):
        path = path[1:]  # as in file:///C:/data
    return path if os.path.lexists(path) else unquote(path)


def slashed(path: str) -> str:
    """Return a path with slashes between its parts.

    Windows writes others, and takes them.

    >>> slashed("data/a.json")
    'data/a.json'
    """
    return path.replace(os.sep, "/")


def is_readable(name: str) -> bool:
    """Return whether a name is that of documents.

    Hidden files are not read.

    >>> [is_readable(name) for name in ("a.ndjson.gz", "../b.tar.gz", ".hidden.json", "notes.txt")]
    [True, True, False, False]
    """
    return suffix_inside(name) in _READABLE and not _in_hidden(name)


def is_ignored(name: str) -> bool:
    """Return whether a file is to be ignored.

    It is hidden, or about its folder.

    >>> [is_ignored(name) for name in (".hidden/a.txt", "in/README.md", "notes.txt", "export")]
    [True, True, False, False]
    """
    last = name[name.rfind("/") + 1 :]
    return _in_hidden(name) or last in BY_MANAGERS or last.partition(".")[0].lower() in ABOUT


def _in_hidden(name: str) -> bool:
    return (name[:1] == "." or "/." in name) and any(map(is_hidden, name.split("/")))


def is_hidden(part: str) -> bool:
    """Return whether one part of a path is hidden.

    ``.`` and ``..`` are not.
    """
    return part.startswith(".") and part not in (".", "..")


def is_lines(name: str) -> bool:
    """Return whether a file has a document per line.

    >>> [is_lines(name) for name in ("a.ndjson", "b.zip!c.JSONL.gz", "d.json")]
    [True, True, False]
    """
    return suffix_inside(name) in LINES


def suffix_inside(name: str) -> str:
    """Return the suffix of a file once decompressed.

    >>> suffix_inside("b.ndjson.gz.zst"), suffix_inside("export.gz")
    ('.ndjson', '')
    """
    while (last := suffix(name)) in COMPRESSED:
        name = without_suffix(name)
    return last


def without_suffix(name: str) -> str:
    """Return a name without its last suffix.

    Blanks after it are dropped, too.

    >>> without_suffix("a.json.gz ")
    'a.json'
    """
    return name.rstrip()[: -len(suffix(name))]


def suffix(name: str) -> str:
    """Return the last suffix of a name.

    It is in lower case, without blanks after it, and empty if there is none.

    >>> suffix("a.tar/b.JSON "), suffix("a.tar/b")
    ('.json', '')
    """
    name = name.rstrip()
    stem, dot, last = name[name.rfind("/") + 1 :].rpartition(".")
    return f".{last.lower()}" if stem and dot else ""


def container(name: str, head: bytes) -> ContainerKind | None:
    """Return which container a file is, by its first bytes, then by its name; None is a file of documents."""
    if found := _MAGIC.match(head):
        return cast("ContainerKind", found.lastgroup)
    # The beginning may be damaged; and whoever saved a decompressed file may have kept its name.
    is_text = _JSON.match(head) or (head and suffix(name) in COMPRESSED)
    return None if is_text else cast("ContainerKind | None", _KINDS.get(suffix(name)))


def holds_documents(name: str, head: Callable[[], bytes]) -> bool:
    """Return whether a file is read.

    Its name decides, or, where that has no suffix, its first bytes.

    >>> holds_documents("a.json.gz", bytes), holds_documents("notes.txt", lambda: b"{}")
    (True, False)
    >>> holds_documents("export", lambda: b'[{"title": "March"}]'), holds_documents("log", lambda: b"[10:00] Up")
    (True, False)
    """
    return is_readable(name) or not (suffix_inside(name) or is_ignored(name) or not _begins_document(head()))


def _begins_document(head: bytes, depth: int = 0) -> bool:
    """Return whether the first bytes are of documents.

    Those of a container that can hold some count, too.
    """
    kind = container("", head)
    if kind not in UNPACK:
        return kind is not None or bool(_JSON.match(head))
    inside = b""
    with contextlib.suppress(*CORRUPT):  # it is cut off
        inside = next(UNPACK[kind](Reader(io.BytesIO(head))), b"")
    # Of bzip2 the head can be too little: then all of it has to be read.
    return not inside or depth == _DEEPEST or _begins_document(inside, depth + 1)
