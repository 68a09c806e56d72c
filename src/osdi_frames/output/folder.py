"""Folders that a run writes as a whole, each with a manifest of its files: only those are ever replaced.

An object store replaces no folder as a whole. While files are uploaded, the manifest lists them without their
sizes, so that an upload that broke off can be repeated; a folder is complete once they are there.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import secrets
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from osdi_frames import durable
from osdi_frames.errors import DestinationExists, InvalidArgument
from osdi_frames.messages import listed, quoted_path
from osdi_frames.sources.file_kinds import BY_MANAGERS
from osdi_frames.sources.files import is_address, local_path
from osdi_frames.sources.remote import HTTP, asked, filesystem_of, shown_address, without_credentials
from osdi_frames.sources.source import Source

FolderKind: TypeAlias = Literal["export", "report", "sample"]

#: The list of what a run wrote into a folder of tables.
FOLDER_MANIFEST = ".osdi-frames.json"

_NAMED = 3  # files that a message names
_NAME = 40  # characters of a folder's name within another: file systems allow 255 bytes
_ETAGS = ("ETag", "etag", "md5Hash", "content_md5")


def output_folder(
    destination: str | os.PathLike[str],
    *,
    kind: FolderKind,
    source: Source,
    overwrite: bool,
) -> AbstractContextManager[Path]:
    """Return a folder that becomes `destination` at the end.

    A symbolic link is followed; behind an address, files are uploaded at the end, and the manifest last. With
    `overwrite` an earlier folder of this kind is replaced, if it contains only files that osdi-frames wrote.

    Raises
    ------
    DestinationExists
        Something at `destination` is not to be replaced, or it is, holds or lies in the source: nothing was
        overwritten. Or others wrote into a folder while it was replaced: their files are kept, the message says where.
    """
    path = os.fspath(destination)
    if is_address(path):
        return _uploaded(path, kind, source, overwrite)
    return _published(local_path(path), kind, source, overwrite)


def earlier_file(destination: str | os.PathLike[str], name: str) -> bytes | None:
    """Return a file of the folder that is at a destination, None where there is none."""
    path = os.fspath(destination)
    if is_address(path):
        return _ask(path, "cat_file", name) if name in _listed(path) else None
    file = Path(local_path(path), name)
    return file.read_bytes() if file.is_file() else None


@contextlib.contextmanager
def _published(destination: str, kind: FolderKind, source: Source, overwrite: bool) -> Iterator[Path]:
    target = Path(os.path.realpath(destination))
    destination = quoted_path(destination)
    _refuse_overlap(destination, target.as_posix(), _local_sources(source))
    _refuse_others(destination, target, kind, overwrite)
    with durable.draft(target, partial(_discard, destination, target)) as folder:
        yield folder
        with durable.naming(folder / FOLDER_MANIFEST), durable.create_file(folder / FOLDER_MANIFEST) as file:
            file.write(_manifest(kind, {name: _described(folder / name) for name in _files(folder)}))
        _refuse_others(destination, target, kind, overwrite)  # what came in the meantime
        durable.publish_folder(folder, target)


def _discard(destination: str, target: Path, replaced: Path) -> None:
    """Remove what an earlier run wrote into a replaced folder; keep the rest, and say in an error where.

    Only names that were looked at are removed: what comes into the folder meanwhile stays, too.
    """
    if replaced.is_dir() and not replaced.is_symlink():
        _remove_written(replaced)
    if os.path.lexists(replaced):
        kept = target.with_name(f"{target.name[:_NAME]}.replaced-{secrets.token_hex(4)}")
        replaced.rename(kept)
        raise DestinationExists(
            f"{destination} was replaced; files in the earlier folder that osdi-frames did not create, or that were"
            f" changed meanwhile, are in {quoted_path(kept)} ({listed(_files(kept))})"
        )


def _remove_written(folder: Path) -> None:
    """Remove unchanged files of a run, and empty folders."""
    manifest = folder / FOLDER_MANIFEST
    kind, written = _parsed(manifest.read_bytes() if manifest.is_file() else None)
    for name in written.keys() & _files(folder):
        path = folder / name
        modified = path.lstat().st_mtime_ns
        if _described(path) == written[name] and path.lstat().st_mtime_ns == modified:
            path.unlink()
    for path in [path for path in folder.rglob("*") if path.name in BY_MANAGERS and not path.is_dir()]:
        path.unlink()
    inside = {parent for name in written for parent in Path(name).parents} - {Path()}
    for parent in sorted(inside, key=lambda parent: -len(parent.parts)):
        with contextlib.suppress(OSError):  # not empty
            (folder / parent).rmdir()
    if kind:
        manifest.unlink()  # last: of what a killed process has left, the next knows the rest
    with contextlib.suppress(OSError):
        folder.rmdir()


def _refuse_others(destination: str, target: Path, kind: FolderKind, overwrite: bool) -> None:
    """Refuse to replace files that no run wrote."""
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise DestinationExists(f"{destination} is not a folder; nothing was overwritten")
    manifest = (target / FOLDER_MANIFEST).read_bytes() if (target / FOLDER_MANIFEST).is_file() else None
    _earlier(destination, kind, overwrite, manifest, _files(target), lambda name: _described(target / name))


@contextlib.contextmanager
def _uploaded(address: str, kind: FolderKind, source: Source, overwrite: bool) -> Iterator[Path]:
    """Return a folder that is uploaded at the end."""
    if address.startswith(HTTP):
        raise InvalidArgument(
            f"{shown_address(address)}: HTTP does not write folders; name a folder or an object store"
        )
    _refuse_overlap(
        shown_address(address), address, ((named, named.rstrip("/*")) for named in _named(source))
    )
    _replaced(address, kind, overwrite)
    with tempfile.TemporaryDirectory(prefix="osdi-frames-") as scratch:
        folder = Path(scratch)
        yield folder
        names = {*_files(folder)}
        before = _replaced(address, kind, overwrite, among=names)
        _ask(address, "pipe_file", FOLDER_MANIFEST, _manifest(kind, dict.fromkeys(before | names)))
        _upload(folder, address, names)
        for name in before - names:
            _ask(address, "rm_file", name)
        found = _listed(address)
        _ask(
            address,
            "pipe_file",
            FOLDER_MANIFEST,
            _manifest(kind, {name: found[name] for name in sorted(names)}),
        )


def _replaced(address: str, kind: FolderKind, overwrite: bool, *, among: Iterable[str] = ()) -> set[str]:
    """Return the names of an earlier run's files; refuse others, except those `among` the new ones."""
    found = _listed(address)
    manifest = _ask(address, "cat_file", FOLDER_MANIFEST) if FOLDER_MANIFEST in found else None
    others = found.keys() - {FOLDER_MANIFEST, *among}
    return _earlier(shown_address(address), kind, overwrite, manifest, others, found.get) & found.keys()


def _refuse_overlap(destination: str, target: str, sources: Iterable[tuple[str, str]]) -> None:
    """Refuse a destination that overlaps a source; each source comes with its path."""
    folder = f"{target.rstrip('/')}/"
    for named, path in sources:
        other = f"{path.rstrip('/')}/"
        if folder.startswith(other) or other.startswith(folder):
            where = "is inside" if folder.startswith(other) else "contains"
            raise DestinationExists(
                f"{destination} {'is' if folder == other else where} the source"
                f" {quoted_path(without_credentials(named))}; choose a destination outside of it"
            )


def _local_sources(source: Source) -> Iterator[tuple[str, str]]:
    """Yield a source's local paths, resolved too."""
    for named in _named(source):
        if not is_address(named):
            path = local_path(named)
            found = [path] if os.path.lexists(path) else glob.iglob(path, recursive=True)  # noqa: PTH207 (a pattern may be absolute)
            yield from ((path, Path(os.path.realpath(path)).as_posix()) for path in found)


def _named(source: Source) -> list[str]:
    named = source if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    return [os.fspath(part) for part in named if isinstance(part, str | os.PathLike)]


def _earlier(
    destination: str,
    kind: FolderKind,
    overwrite: bool,
    manifest: bytes | None,
    found: Collection[str],
    described: Callable[[str], object],
) -> set[str]:
    """Return the names of an earlier run's files; refuse if others were found, or some were changed since."""
    if not found and manifest is None:
        return set()
    if not overwrite:
        raise DestinationExists(f"{destination} exists; overwrite=True (--overwrite) replaces it")
    was, written = _parsed(manifest)
    foreign = sorted(name for name in found if name not in written)
    changed = [name for name in found if written.get(name) not in (None, described(name))]
    reason, way = f"contains no {kind}" if was != kind else "", "choose another folder"
    if foreign or changed:
        names = foreign or sorted(changed)
        what = "osdi-frames did not create" if foreign else "were changed since osdi-frames wrote them"
        reason = f"contains files that {what} ({listed(names)})"
        way = f"move them away, or {way}"
    if reason:
        option = " (--out)" if kind == "report" else ""
        raise DestinationExists(f"{destination} {reason}; {way}{option}; nothing was overwritten")
    return {*written}


def _files(folder: Path) -> list[str]:
    """List files, links and empty folders, by relative path."""
    found = (path for path in folder.rglob("*") if path.name not in BY_MANAGERS)
    leaves = (path for path in found if path.is_symlink() or not path.is_dir() or not any(path.iterdir()))
    return sorted({path.relative_to(folder).as_posix() for path in leaves} - {FOLDER_MANIFEST})


def _manifest(kind: str, files: dict[str, Any]) -> bytes:
    return json.dumps({"written_by": "osdi-frames", "kind": kind, "files": files}, indent=1).encode()


def _parsed(manifest: bytes | None) -> tuple[object, dict[str, Any]]:
    """Return the kind and files of a manifest; a damaged one has none."""
    with contextlib.suppress(ValueError, RecursionError):
        match json.loads(manifest or b""):
            case {"kind": kind, "files": dict(files)}:
                return kind, files
    return None, {}


def _described(path: Path) -> dict[str, object]:
    if path.is_symlink() or not path.is_file():
        return {}
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _upload(folder: Path, address: str, names: Iterable[str]) -> None:
    """Upload files of a folder."""
    filesystem, path = filesystem_of(address)
    sources = [str(folder / name) for name in names]
    asked(shown_address(address), filesystem.put, sources, [f"{path.rstrip('/')}/{name}" for name in names])


def _listed(address: str) -> dict[str, dict[str, Any]]:
    """Return size and tag of files below an address."""
    filesystem, path = filesystem_of(address)
    filesystem.invalidate_cache()
    inside = len(path.rstrip("/")) + 1
    try:
        found = asked(shown_address(address), filesystem.find, path, detail=True)
    except FileNotFoundError:
        return {}
    return {
        name[inside:]: {
            "size": info.get("size"),
            "tag": next((str(info[tag]) for tag in _ETAGS if info.get(tag)), None),
        }
        for name, info in found.items()
        if len(name) > inside
    }


def _ask(address: str, call: str, name: str, *data: bytes) -> Any:
    filesystem, path = filesystem_of(address)
    where = f"{shown_address(address.rstrip('/'))}/{name}"
    return asked(where, getattr(filesystem, call), f"{path.rstrip('/')}/{name}", *data)
