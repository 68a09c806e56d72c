"""Folders that a run writes as a whole, each with a manifest of its files: only those are ever replaced."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.request import url2pathname

from osdi_frames.archive import durable
from osdi_frames.archive.names import MANIFEST
from osdi_frames.archive.remote import shown
from osdi_frames.archive.remote_output import remote_folder
from osdi_frames.archive.source import Source
from osdi_frames.errors import DestinationExists

Kind: TypeAlias = Literal["export", "report"]

#: Files that file managers put into every folder that is looked at.
_IGNORED = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_NAMED = 3  # files that a message names


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

    Parameters
    ----------
    destination
        The folder to make; a symbolic link is followed. Behind an address, files are uploaded at the end, and the
        manifest last.
    kind
        What the folder holds: an export replaces an export, a report a report.
    source
        What is read: a destination that is, holds or lies in a source is refused.
    overwrite
        Replace an earlier folder of this kind, if it contains only files that osdi-frames wrote.
    uploaded
        Names of files that others have written to an address by the end.

    Raises
    ------
    DestinationExists
        Something at `destination` is not to be replaced; nothing was overwritten.
    """
    if is_address(destination):
        _refuse_shared(str(destination), source)
        with remote_folder(str(destination), kind=kind, overwrite=overwrite, uploaded=uploaded) as folder:
            yield folder
        return
    destination = _local(os.fspath(destination))
    target = Path(os.path.realpath(destination))
    _refuse_overlap(destination, target, source)
    _refuse_foreign(destination, target, kind=kind, overwrite=overwrite)
    with durable.draft(target) as drafts:
        folder = drafts / (target.name or "root")
        durable.make_folder(folder)
        yield folder
        _write_manifest(folder, kind)
        _refuse_foreign(destination, target, kind=kind, overwrite=overwrite)  # what came in the meantime
        durable.publish_folder(folder, target)


def is_address(destination: str | os.PathLike[str]) -> bool:
    """Return whether a destination is behind an address, and not on this machine."""
    path = os.fspath(destination)
    return "://" in path and not path.startswith("file://")


def _refuse_shared(address: str, source: Source) -> None:
    """Refuse an address that is, holds or lies in a source."""
    parts = source if isinstance(source, list | tuple) else [source]
    for path in (str(part).rstrip("/*") for part in parts if isinstance(part, str)):
        target = address.rstrip("/")
        if f"{target}/".startswith(f"{path}/") or f"{path}/".startswith(f"{target}/"):
            raise DestinationExists(
                f"{shown(address)} is, holds or lies in the source; choose a destination outside of it"
            )


def _local(path: str) -> str:
    return url2pathname(path.removeprefix("file://")) if path.startswith("file://") else path


def _refuse_overlap(destination: str | os.PathLike[str], target: Path, source: Source) -> None:
    for path in _source_paths(source):
        real = Path(os.path.realpath(path))
        if target == real or real in target.parents or target in real.parents:
            where = "is" if target == real else "is inside" if real in target.parents else "contains"
            raise DestinationExists(
                f"{destination} {where} the source {path}; choose a destination outside of it"
            )


def _source_paths(source: Source) -> Iterator[str]:
    """List the local paths that a source names."""
    if isinstance(source, str | os.PathLike):
        path = _local(os.fspath(source))
        if "://" not in path:
            yield from [path] if os.path.lexists(path) else glob.iglob(path, recursive=True)  # noqa: PTH207 (a pattern may be absolute)
    elif isinstance(source, Iterable) and not isinstance(source, dict):
        for part in source:
            if isinstance(part, str | os.PathLike):
                yield from _source_paths(part)


def _refuse_foreign(
    destination: str | os.PathLike[str], target: Path, *, kind: Kind, overwrite: bool
) -> None:
    """Refuse to replace anything but an empty folder, or unchanged files of an earlier run."""
    if not os.path.lexists(target) or (target.is_dir() and not any(target.iterdir())):
        return
    if not overwrite:
        raise DestinationExists(f"{destination} exists; overwrite=True (--overwrite) replaces it")
    if not target.is_dir():
        raise DestinationExists(f"{destination} is not a folder; nothing was overwritten")
    manifest = _read_manifest(target)
    files = manifest.get("files")
    written = files if isinstance(files, dict) else {}
    own = written.keys() | {name for name in _folders_of(written) if not (target / name).is_symlink()}
    foreign = sorted(_entries(target) - own)
    if foreign:
        raise _kept(destination, "files that osdi-frames did not create", foreign)
    if manifest.get("kind") != kind:
        raise DestinationExists(f"{destination} contains no {kind}; nothing was overwritten")
    changed = [name for name in written if _is_changed(target / name, written[name])]
    if changed:
        raise _kept(destination, "files that were changed since osdi-frames wrote them", changed)


def _kept(destination: str | os.PathLike[str], what: str, names: list[str]) -> DestinationExists:
    more = f", and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return DestinationExists(
        f"{destination} contains {what} ({', '.join(names[:_NAMED])}{more}); nothing was overwritten"
    )


def _entries(folder: Path) -> set[str]:
    """List all files, folders and links in a folder, by their paths relative to it."""
    found = {
        Path(root, name).relative_to(folder).as_posix()
        for root, folders, names in os.walk(folder)
        for name in [*folders, *names]
        if name not in _IGNORED
    }
    return found - {MANIFEST}


def _folders_of(files: Iterable[str]) -> set[str]:
    return {parent.as_posix() for name in files for parent in Path(name).parents}


def _write_manifest(folder: Path, kind: Kind) -> None:
    names = sorted(name for name in _entries(folder) if (folder / name).is_file())
    files = {name: _described(folder / name) for name in names}
    text = json.dumps({"written_by": "osdi-frames", "kind": kind, "files": files}, indent=1)
    with durable.create_file(folder / MANIFEST) as file:
        file.write(text.encode("utf-8"))


def _read_manifest(folder: Path) -> dict[str, Any]:
    if not (folder / MANIFEST).is_file():
        return {}
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _described(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _is_changed(path: Path, written: object) -> bool:
    """Whether a file, if it is still there, differs from what was written."""
    if not os.path.lexists(path):
        return False
    return path.is_symlink() or not path.is_file() or _described(path) != written
