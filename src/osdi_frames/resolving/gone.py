"""The column `gone_since`: what complete pulls prove to be no longer there.

A pull of a whole collection lists all that is in it. What was last seen before such a pull began is not in its pages:
seeing it there, or in a delivery since, would be later. So its pages are not looked at.

The collection of signatures is that of their petition, of attendances that of their event, and so on: one whose
parent is in no document of the archive can lie outside of what the key lists (interface 2.7), and is left out.
Neither is what has no id, no time at which it was seen, or no known service.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import PurePath
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.problems import file_name
from osdi_frames.sources.manifest import Manifest
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.resource import GONE_SINCE
from osdi_frames.tables.schema import ElementType, arrow_type

#: The columns that say when and where an element was seen.
COLUMNS: Final = ("self_url", "source_file", "received_at", "fetched_at")
_UTC = arrow_type(GONE_SINCE.type)
_NEVER = np.iinfo(np.int64).max
_PORTS = {"http": 80, "https": 443}

#: A service, by host and port, and the digest of the key: each key lists what is its own.
_Account: TypeAlias = tuple[str, str]


def id_of(element: ElementType) -> str:
    """Return the column of a type's own id.

    >>> id_of(EVENT)
    'event_id'
    """
    return element.identities[0][0]


def proving(element: ElementType, pulls: Sequence[Manifest]) -> list[Manifest]:
    """Return the pulls that list all elements of a type.

    They are in the order in which they began; `sources.manifest.whole_pulls` finds those of a source.
    """
    # Some events are listed by their campaign only.
    names = (element.plural, *(["campaign_events"] if element == EVENT else []))
    found = [pull for pull in pulls if all(_is_whole(pull, name) for name in names)]
    return sorted(found, key=lambda pull: pull.started_at)


def _is_whole(pull: Manifest, name: str) -> bool:
    return pull.finished_at is not None and any(
        done.name == name and done.complete and pull.is_whole(done) for done in pull.collections
    )


def gone_since(
    element: ElementType,
    rows: pa.Table,
    pulls: Sequence[Manifest],
    *,
    parents: pa.Array | pa.ChunkedArray | None = None,
) -> pa.ChunkedArray:
    """Return the end of the first pull that proves each row gone.

    It is null where none does.

    Parameters
    ----------
    element
        The type of the rows.
    rows
        Resolved rows of its main table, with the ids and `COLUMNS`: `received_at` and `fetched_at` are the
        newest of all versions.
    pulls
        What `sources.manifest.whole_pulls` returns.
    parents
        Of what only the lists of its parents have, as signatures: the ids of all parents in the archive.
    """
    whole = proving(element, pulls)
    gone = np.full(len(rows), _NEVER)
    if whole:
        seen = _last_seen(rows)
        provable = _provable(element, rows, parents) & (seen < _micros(whole[-1].started_at))
        places = np.flatnonzero(provable)
        accounts = _accounts(rows.take(pa.array(places)), pulls)
        for account in {_account(pull) for pull in whole}:
            of_account = [pull for pull in whole if _account(pull) == account]
            starts, ends = (
                np.array([*map(_micros, times), _NEVER])
                for times in zip(*((pull.started_at, pull.finished_at) for pull in of_account), strict=True)
            )
            own = places[[found == account for found in accounts]]
            gone[own] = ends[np.searchsorted(starts, seen[own], side="right")]
    return pa.chunked_array([pa.array(gone.view("datetime64[us]"), mask=gone == _NEVER).cast(_UTC)])


def _last_seen(rows: pa.Table) -> np.ndarray:
    """Return when each row was last seen, in microseconds.

    It is the greatest number where that is not known.
    """
    times = [
        rows[name].cast(pa.int64()) for name in ("received_at", "fetched_at") if name in rows.column_names
    ]
    found: np.ndarray = pc.fill_null(pc.max_element_wise(*times), _NEVER).to_numpy()
    return found


def _provable(element: ElementType, rows: pa.Table, parents: pa.Array | pa.ChunkedArray | None) -> np.ndarray:
    """Return which rows can be looked for in a pull."""
    provable = pc.is_valid(rows[id_of(element)])
    if parent := element.parent:
        known = pa.nulls(0, pa.string()) if parents is None else parents.drop_null()
        provable = pc.and_(provable, pc.is_in(rows[id_of(parent)], known))
    found: np.ndarray = provable.to_numpy()
    return found


def _accounts(rows: pa.Table, pulls: Sequence[Manifest]) -> list[_Account | None]:
    """Return whose collections each row belongs to, if known.

    Its address names the service, else the pull that it was read from. Where a service was pulled by several keys, the
    key is that of this pull, too.
    """
    addresses = pc.replace_substring_regex(rows["self_url"], r"(?s)^([^:/?#]+://[^/?#]*).*$", r"\1")
    columns = [column.combine_chunks().dictionary_encode() for column in (addresses, rows["source_file"])]
    choose = _chooser(pulls)
    pairs = zip(*(column.indices.to_pylist() for column in columns), strict=True)
    values = [column.dictionary.to_pylist() for column in columns]
    known: dict[tuple[int | None, int | None], _Account | None] = {}
    found = []
    for pair in pairs:
        if pair not in known:
            texts = (None if at is None else some[at] for at, some in zip(pair, values, strict=True))
            known[pair] = choose(*texts)
        found.append(known[pair])
    return found


def _chooser(pulls: Sequence[Manifest]) -> Callable[[str | None, str | None], _Account | None]:
    """Return the function from a row's address and file to its account."""
    folders = {file_name(str(pull.folder)): _account(pull) for pull in pulls}
    keys: defaultdict[str, set[str]] = defaultdict(set)
    for service, key in map(_account, pulls):
        keys[service].add(key)

    def choose(address: str | None, file: str | None) -> _Account | None:
        above = map(str, PurePath(file).parents) if file else ()
        read_from = next((folders[folder] for folder in above if folder in folders), None)
        service = _service(address) if address else read_from and read_from[0]
        if service and len(keys[service]) == 1:
            return service, min(keys[service])
        return read_from if read_from and read_from[0] == service else None

    return choose


def _account(pull: Manifest) -> _Account:
    return _service(pull.address) or "", pull.key_digest


def _service(address: str) -> str | None:
    """Return host and port of an address.

    >>> _service("https://Example.org/api/v2/events/5f"), _service("http://127.0.0.1:8700"), _service("events/5f")
    ('example.org:443', '127.0.0.1:8700', None)
    """
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.hostname and (port := parts.port or _PORTS.get(parts.scheme)):
            return f"{parts.hostname}:{port}"
    return None


def _micros(moment: datetime | None) -> int:
    return _NEVER if moment is None else round(moment.timestamp() * 1_000_000)
