"""Folders behind addresses that a run writes: uploaded at the end, with a manifest that is written last.

An object store replaces no folder as a whole. While files are uploaded, the manifest lists them without their
sizes, so that an upload that broke off can be repeated; a folder is complete once they are there.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from osdi_frames.archive.names import MANIFEST
from osdi_frames.archive.remote import asked, filesystem_of, shown
from osdi_frames.errors import DestinationExists, InvalidArgument

_AT_ONCE = 8
_ETAGS = ("ETag", "etag", "md5Hash", "content_md5")


@contextlib.contextmanager
def remote_folder(
    address: str, *, kind: str, overwrite: bool, uploaded: Iterable[str] = ()
) -> Iterator[Path]:
    """Return a folder of this machine whose files go to `address` at the end, or never.

    `uploaded` names the files that others have written there in the meantime; see `output_folder`.

    Raises
    ------
    DestinationExists
        Something at `address` is not to be replaced; nothing was overwritten.
    """
    if address.startswith(("http://", "https://")):
        raise InvalidArgument(
            f"{shown(address)}: HTTP does not write folders; name a folder or an object store"
        )
    _replaced(address, kind=kind, overwrite=overwrite)
    with tempfile.TemporaryDirectory(prefix="osdi-frames-") as scratch:
        folder = Path(scratch)
        yield folder
        own = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        names = own | {*uploaded}
        before = _replaced(address, kind=kind, overwrite=overwrite, among=names)
        _write_manifest(address, kind, dict.fromkeys(before | names))
        upload(folder, address)
        for name in before - names:
            _ask(address, "rm_file", name)
        found = _listed(address)
        _write_manifest(address, kind, {name: found[name] for name in sorted(names)})


def upload(folder: Path, address: str) -> list[str]:
    """Write the files of a folder below an address; return their names."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda name: _ask(address, "put_file", name, source=folder / name), names))
    return names


def remove(address: str, part: str) -> None:
    """Remove the files below an address whose names have a part."""
    for name in _listed(address):
        if part in name:
            _ask(address, "rm_file", name)


def _replaced(address: str, *, kind: str, overwrite: bool, among: Iterable[str] = ()) -> set[str]:
    """Return the names of an earlier run's files; refuse to replace others, except those `among` the new ones."""
    found = _listed(address)
    manifest = _manifest(address) if MANIFEST in found else {}
    written = manifest.get("files") or {}
    others = sorted(found.keys() - {MANIFEST, *among})
    if not others and not manifest:
        return set()
    if not overwrite:
        raise DestinationExists(f"{shown(address)} exists; overwrite=True (--overwrite) replaces it")
    changed = [name for name in others if name not in written or written[name] not in (None, found[name])]
    if changed or manifest.get("kind") != kind:
        what = changed[0] if changed else f"no {kind}"
        raise DestinationExists(
            f"{shown(address)} contains what osdi-frames did not write there, or was changed since ({what}); "
            "nothing was overwritten"
        )
    return written.keys() & found.keys()


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


def _manifest(address: str) -> dict[str, Any]:
    filesystem, path = filesystem_of(address)
    with contextlib.suppress(ValueError):
        manifest = json.loads(asked(address, filesystem.cat_file, f"{path.rstrip('/')}/{MANIFEST}"))
        return manifest if isinstance(manifest, dict) else {}
    return {}


def _write_manifest(address: str, kind: str, files: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(prefix="osdi-frames-") as scratch:
        text = json.dumps({"written_by": "osdi-frames", "kind": kind, "files": files}, indent=1)
        Path(scratch, MANIFEST).write_text(text, encoding="utf-8")
        upload(Path(scratch), address)


def _ask(address: str, call: str, name: str, *, source: Path | None = None) -> None:
    filesystem, path = filesystem_of(address)
    target = f"{path.rstrip('/')}/{name}"
    arguments = (target,) if source is None else (str(source), target)
    asked(f"{shown(address).rstrip('/')}/{name}", getattr(filesystem, call), *arguments)
