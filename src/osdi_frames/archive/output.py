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
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypeAlias

from osdi_frames.archive import durable
from osdi_frames.archive.names import MANIFEST, is_address, local_path
from osdi_frames.archive.remote import asked, filesystem_of, shown
from osdi_frames.archive.source import Source
from osdi_frames.errors import DestinationExists, InvalidArgument

Kind: TypeAlias = Literal["export", "report"]

#: Files that file managers put into every folder that is looked at.
_IGNORED = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_NAMED = 3  # files that a message names
_AT_ONCE = 8  # uploads
_ETAGS = ("ETag", "etag", "md5Hash", "content_md5")


@contextlib.contextmanager
def output_folder(
    destination: str | os.PathLike[str],
    *,
    kind: Kind,
    source: Source,
    overwrite: bool,
    uploaded: Iterable[str] = (),
) -> Iterator[Path]:
    """Return a folder to write into that becomes `destination` at the end, or never.

    A symbolic link is followed; behind an address, files are uploaded at the end, and the manifest last. With
    `overwrite` an earlier folder of this kind is replaced, if it contains only files that osdi-frames wrote.
    `uploaded` are the names of files that others have written to an address by the end.

    Raises
    ------
    DestinationExists
        Something at `destination` is not to be replaced, or it is, holds or lies in the source; nothing was
        overwritten.
    """
    path = os.fspath(destination)
    if is_address(path):
        with _uploaded_folder(path, kind, source, overwrite, uploaded) as folder:
            yield folder
        return
    path = local_path(path)
    target = Path(os.path.realpath(path))
    _refuse_overlap(path, target, source)
    _refuse_foreign(path, target, kind=kind, overwrite=overwrite)
    with durable.draft(target) as drafts:
        folder = drafts / (target.name or "root")
        durable.make_folder(folder)
        yield folder
        with durable.create_file(folder / MANIFEST) as file:
            file.write(_manifest(kind, {name: _described(folder / name) for name in _files(folder)}))
        _refuse_foreign(path, target, kind=kind, overwrite=overwrite)  # what came in the meantime
        durable.publish_folder(folder, target)


def _refuse_overlap(destination: str, target: Path, source: Source) -> None:
    for path in _local_paths(source):
        real = Path(os.path.realpath(path))
        if target == real or real in target.parents or target in real.parents:
            where = "is" if target == real else "is inside" if real in target.parents else "contains"
            raise DestinationExists(
                f"{destination} {where} the source {path}; choose a destination outside of it"
            )


def _local_paths(source: Source) -> Iterator[str]:
    for named in _named(source):
        if not is_address(named):
            path = local_path(named)
            yield from [path] if os.path.lexists(path) else glob.iglob(path, recursive=True)  # noqa: PTH207 (a pattern may be absolute)


def _named(source: Source) -> list[str]:
    """Return the paths and addresses that a source names."""
    named = source if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    return [os.fspath(part) for part in named if isinstance(part, str | os.PathLike)]


def _refuse_foreign(destination: str, target: Path, *, kind: Kind, overwrite: bool) -> None:
    """Refuse to replace anything but an empty folder, or unchanged files of an earlier run."""
    if not os.path.lexists(target) or (target.is_dir() and not any(target.iterdir())):
        return
    if not overwrite:
        raise DestinationExists(f"{destination} exists; overwrite=True (--overwrite) replaces it")
    if not target.is_dir():
        raise DestinationExists(f"{destination} is not a folder; nothing was overwritten")
    is_there = (target / MANIFEST).is_file()
    manifest = _parsed((target / MANIFEST).read_bytes() if is_there else b"")
    written = manifest["files"]
    folders = {parent.as_posix() for name in written for parent in Path(name).parents}
    own = written.keys() | {name for name in folders if not (target / name).is_symlink()}
    foreign = sorted(_entries(target) - own)
    if foreign:
        raise _kept(destination, "files that osdi-frames did not create", foreign)
    if manifest["kind"] != kind:
        raise DestinationExists(f"{destination} contains no {kind}; nothing was overwritten")
    changed = [name for name in written if _is_changed(target / name, written[name])]
    if changed:
        raise _kept(destination, "files that were changed since osdi-frames wrote them", changed)


def _kept(destination: str, what: str, names: list[str]) -> DestinationExists:
    more = f", and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return DestinationExists(
        f"{destination} contains {what} ({', '.join(names[:_NAMED])}{more}); nothing was overwritten"
    )


def _entries(folder: Path) -> set[str]:
    """List all files, folders and links in a folder, by their paths relative to it."""
    found = (path for path in folder.rglob("*") if path.name not in _IGNORED)
    return {path.relative_to(folder).as_posix() for path in found} - {MANIFEST}


def _files(folder: Path) -> list[str]:
    return sorted(name for name in _entries(folder) if (folder / name).is_file())


def _manifest(kind: str, files: dict[str, Any]) -> bytes:
    return json.dumps({"written_by": "osdi-frames", "kind": kind, "files": files}, indent=1).encode()


def _parsed(data: bytes) -> dict[str, Any]:
    """Return the `kind` and the `files` of a manifest; those of one that is damaged are empty."""
    manifest = None
    with contextlib.suppress(ValueError, RecursionError):
        manifest = json.loads(data)
    manifest = manifest if isinstance(manifest, dict) else {}
    files = manifest.get("files")
    return {"kind": manifest.get("kind"), "files": files if isinstance(files, dict) else {}}


def _described(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _is_changed(path: Path, written: object) -> bool:
    """Whether a file, if it is still there, differs from what was written."""
    if not os.path.lexists(path):
        return False
    return path.is_symlink() or not path.is_file() or _described(path) != written


@contextlib.contextmanager
def _uploaded_folder(
    address: str, kind: Kind, source: Source, overwrite: bool, uploaded: Iterable[str]
) -> Iterator[Path]:
    """Return a folder of this machine whose files go to an address at the end, or never."""
    target = address.rstrip("/")
    for path in (named.rstrip("/*") for named in _named(source)):
        if f"{target}/".startswith(f"{path}/") or f"{path}/".startswith(f"{target}/"):
            raise DestinationExists(
                f"{shown(address)} is, holds or lies in the source; choose a destination outside of it"
            )
    if address.startswith(("http://", "https://")):
        raise InvalidArgument(
            f"{shown(address)}: HTTP does not write folders; name a folder or an object store"
        )
    _replaced(address, kind, overwrite)
    with tempfile.TemporaryDirectory(prefix="osdi-frames-") as scratch:
        folder = Path(scratch)
        yield folder
        names = {*_files(folder), *uploaded}
        before = _replaced(address, kind, overwrite, among=names)
        _ask(address, "pipe_file", MANIFEST, _manifest(kind, dict.fromkeys(before | names)))
        upload(folder, address)
        for name in before - names:
            _ask(address, "rm_file", name)
        found = _listed(address)
        _ask(address, "pipe_file", MANIFEST, _manifest(kind, {name: found[name] for name in sorted(names)}))


def upload(folder: Path, address: str) -> list[str]:
    """Write the files of a folder below an address; return their names."""
    names = _files(folder)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda name: _ask(address, "put_file", name, source=folder / name), names))
    return names


def remove(address: str, part: str) -> None:
    """Remove the files below an address whose names have a part."""
    for name in _listed(address):
        if part in name:
            _ask(address, "rm_file", name)


def _replaced(address: str, kind: Kind, overwrite: bool, *, among: Iterable[str] = ()) -> set[str]:
    """Return the names of an earlier run's files; refuse to replace others, except those `among` the new ones."""
    found = _listed(address)
    manifest = _parsed(_ask(address, "cat_file", MANIFEST) if MANIFEST in found else b"")
    written = manifest["files"]
    others = sorted(found.keys() - {MANIFEST, *among})
    if not others and manifest == _parsed(b""):
        return set()
    if not overwrite:
        raise DestinationExists(f"{shown(address)} exists; overwrite=True (--overwrite) replaces it")
    changed = [name for name in others if name not in written or written[name] not in (None, found[name])]
    if changed or manifest["kind"] != kind:
        what = changed[0] if changed else f"no {kind}"
        raise DestinationExists(
            f"{shown(address)} contains what osdi-frames did not write there, or was changed since ({what}); "
            "nothing was overwritten"
        )
    return {*written} & found.keys()


def _listed(address: str) -> dict[str, dict[str, Any]]:
    """Return the size and tag of each file below an address, by its name."""
    filesystem, path = filesystem_of(address)
    filesystem.invalidate_cache()
    inside = len(path.rstrip("/")) + 1
    try:
        found = asked(address, filesystem.find, path, detail=True)
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


def _ask(address: str, call: str, name: str, *data: bytes, source: Path | None = None) -> Any:
    """Ask a file system to do something with a file below an address."""
    filesystem, path = filesystem_of(address)
    local = [] if source is None else [str(source)]
    target = f"{path.rstrip('/')}/{name}"
    return asked(f"{shown(address).rstrip('/')}/{name}", getattr(filesystem, call), *local, target, *data)
