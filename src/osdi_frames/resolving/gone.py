"""The column `gone_since`: what complete pulls prove to be no longer there.

An account is a service and a key: each key lists what is its own, so a pull says nothing of what only another key
lists, and a pull whose manifest has no digest of the key says nothing at all. An account has listed an element of
which a version was read from a page of one of its pulls. A pull of a whole collection lists all that its account sees
there, so an element that its account had listed, and that was last seen before the pull began, is not in its pages:
these are not looked at. Clocks differ: a thing counts as seen at the latest date that it has, whatever that says, and
`MARGIN` is taken off the start of the pull.

The accounts that listed an element decide, each by a pull of its own. Where none of them did, as of a signature that
only a webhook brought, the accounts decide that have listed its parent (interface 2.7). An account without a complete
pull in the last `RECENT` days of its service has no vote: its key was replaced.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import PurePath
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import with_column
from osdi_frames.problems import file_name
from osdi_frames.pulls import Manifest
from osdi_frames.resolving.versions import FLAGS, SEEN
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.resource import GONE_SINCE
from osdi_frames.tables.schema import ElementType, arrow_type

#: How far clocks of a service, a client and a receiver are apart at most.
MARGIN: Final = timedelta(minutes=5)
#: How long before the newest complete pull of a service an account has to have made one.
RECENT: Final = timedelta(days=30)

_STAMPS: Final = ("received_at", "fetched_at")
_DATES: Final = ("created_date", "modified_date", *_STAMPS)
#: The columns that say when and where an element was seen.
COLUMNS: Final = ("self_url", "source_file", *_DATES)
_PER_FLAGS: Final = 62  # accounts in a column of flags

_UTC = arrow_type(GONE_SINCE.type)
_NEVER: Final = np.iinfo(np.int64).max
_MARGIN: Final = MARGIN // timedelta(microseconds=1)
_PORTS = {"http": 80, "https": 443}

#: A service, by host and port, and the digest of the key.
_Account: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Accounts:
    """The accounts of the pulls of an archive, by number, and what each proves."""

    pulls: tuple[Manifest, ...]
    """What `pulls.proving_pulls` returns."""

    @cached_property
    def known(self) -> list[_Account]:
        """The accounts, in the order of their numbers."""
        return sorted({account for pull in self.pulls if (account := _account(pull))})

    @cached_property
    def of_pulls(self) -> np.ndarray:
        """The number of each pull's account, -1 where that is not known, and -1 at the end: of no pull."""
        numbers = {account: number for number, account in enumerate(self.known)}
        return np.array(
            [*(numbers[account] if (account := _account(pull)) else -1 for pull in self.pulls), -1]
        )

    @cached_property
    def evidence(self) -> tuple[str, ...]:
        """The columns that `with_evidence` adds."""
        return (SEEN, *(f"{FLAGS}{first}" for first in range(0, len(self.known), _PER_FLAGS)))

    @cached_property
    def voting(self) -> list[int]:
        """The accounts with a complete pull of anything in the last days of their service."""
        last: dict[_Account, datetime] = {}
        for pull in self.pulls:
            account, ended = _account(pull), pull.finished_at
            if account and ended and any(done.complete for done in pull.collections):
                last[account] = max(ended, last.get(account, ended))
        newest: dict[str, datetime] = {}
        for (service, _), ended in last.items():
            newest[service] = max(ended, newest.get(service, ended))
        are_recent = {account for account, ended in last.items() if ended >= newest[account[0]] - RECENT}
        return [number for number, account in enumerate(self.known) if account in are_recent]

    def proving(self, element: ElementType) -> list[Manifest]:
        """Return the pulls that list all elements of a type, in the order in which they began."""
        # Some events are listed by their campaign only.
        names = (element.plural, *(["campaign_events"] if element == EVENT else []))
        found = [
            pull for pull in self.pulls if _account(pull) and all(_is_whole(pull, name) for name in names)
        ]
        return sorted(found, key=lambda pull: pull.started_at)

    def proofs(self, element: ElementType) -> dict[int, Proofs]:
        """Return the proofs of each account that has a vote."""
        of_account: defaultdict[_Account | None, list[Manifest]] = defaultdict(list)
        for pull in self.proving(element):
            of_account[_account(pull)].append(pull)
        return {number: Proofs.of(of_account[self.known[number]]) for number in self.voting}

    @cached_property
    def _folders(self) -> dict[PurePath, int]:
        return {PurePath(file_name(str(pull.folder))): number for number, pull in enumerate(self.pulls)}

    def pulls_of(self, files: pa.ChunkedArray) -> np.ndarray:
        """Return the number of the pull that each file belongs to, -1 where it belongs to none."""
        known: dict[str, int] = {}

        def number_of(file: str) -> int:
            folder = os.path.dirname(file)  # noqa: PTH120 (a path for each of many files takes long)
            if folder not in known:
                above = (PurePath(folder), *PurePath(folder).parents)
                known[folder] = next((self._folders[one] for one in above if one in self._folders), -1)
            return known[folder]

        encoded = files.combine_chunks().dictionary_encode()
        numbers = np.array([*map(number_of, encoded.dictionary.to_pylist()), -1])
        found: np.ndarray = numbers[encoded.indices.fill_null(len(numbers) - 1).to_numpy()]
        return found


@dataclass(frozen=True, slots=True)
class Proofs:
    """The pulls of an account that list all elements of a type, in the order in which they began."""

    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, pulls: Iterable[Manifest]) -> Proofs:
        """Return the times of pulls, and at the end that of none."""
        times = [(_micros(pull.started_at), _micros(pull.finished_at)) for pull in pulls]
        starts, ends = np.array([*times, (_NEVER, _NEVER)]).T
        return cls(starts, ends)

    def first_end(self, seen: np.ndarray, begun: np.ndarray | None = None) -> np.ndarray:
        """Return the end of the first pull that proves gone what was last `seen` then.

        It is one that began when some pull had `begun`, or later; the greatest number where there is none.
        """
        first = np.searchsorted(self.starts - _MARGIN, seen, side="right")
        if begun is not None:
            first = np.maximum(first, np.searchsorted(self.starts, begun))
        return self.ends[np.minimum(first, len(self.ends) - 1)]


def with_evidence(rows: pa.Table, accounts: Accounts, *, are_listed: bool = True) -> pa.Table:
    """Return versions with the columns `Accounts.evidence`: when each was seen, and by which account it was listed.

    They have `COLUMNS`, as far as their type has these. Versions that `are_listed` nowhere were read from other
    elements, as the person of an act.
    """
    dates = [rows[name].cast(pa.int64()) for name in _DATES if name in rows.column_names]
    rows = with_column(rows, pa.field(SEEN, _UTC), pc.max_element_wise(*dates).cast(_UTC))
    numbers = np.full(len(rows), -1)
    if are_listed:
        numbers = accounts.of_pulls[accounts.pulls_of(rows["source_file"])]
    for first, name in enumerate(accounts.evidence[1:]):
        place = numbers - first * _PER_FLAGS
        is_here = (place >= 0) & (place < _PER_FLAGS)
        flags = np.where(is_here, np.int64(1) << np.where(is_here, place, 0), 0)
        rows = with_column(rows, pa.field(name, pa.int64()), pa.array(flags))
    return rows


def listed_parents(element: ElementType, rows: pa.Table, accounts: Accounts) -> pa.Table:
    """Return which pulls list elements that others belong to: their ids as `id`, and the number of a `pull`."""
    found = pa.table({"id": rows[element.own_id], "pull": accounts.pulls_of(rows["source_file"])})
    found = found.filter((pc.field("pull") >= 0) & pc.field("id").is_valid())
    return found.group_by(["id", "pull"]).aggregate([])


def gone_since(
    element: ElementType, rows: pa.Table, accounts: Accounts, *, parents: pa.Table | None = None
) -> pa.ChunkedArray:
    """Return the end of the pull that completes the proof that each row is gone.

    It is the first by which every account that decides has read the collection without it, and null where there is
    none. What has no id, or was neither received nor fetched at a known time, is left out.

    Parameters
    ----------
    element
        The type of the rows.
    rows
        Resolved rows of its main table, with `COLUMNS` and the evidence of all versions.
    accounts
        The accounts of all pulls.
    parents
        Of what only the lists of its parents have, as signatures: what `listed_parents` returns of all of these.
    """
    proofs = accounts.proofs(element)
    seen = rows[SEEN].cast(pa.int64()).fill_null(_NEVER).to_numpy()
    stamps = [np.asarray(rows[name].is_valid()) for name in _STAMPS if name in rows.column_names]
    provable = np.asarray(rows[element.own_id].is_valid()) & np.logical_or.reduce(stamps)
    gone, is_listed = np.zeros(len(rows), np.int64), np.zeros(len(rows), bool)
    for number, proof in proofs.items():
        flags = rows[accounts.evidence[1 + number // _PER_FLAGS]].to_numpy()
        own = (flags >> number % _PER_FLAGS & 1).astype(bool)
        gone[own] = np.maximum(gone[own], proof.first_end(seen[own]))
        is_listed |= own
    if element.parent and parents is not None:
        others = np.flatnonzero(provable & ~is_listed)
        some = rows.select([element.parent.own_id, "self_url"]).take(pa.array(others))
        gone[others] = _by_parents(some, seen[others], accounts, proofs, parents)
    gone = np.where(provable & (gone > 0), gone, _NEVER)
    return pa.chunked_array([pa.array(gone.view("datetime64[us]"), mask=gone == _NEVER).cast(_UTC)])


def _by_parents(
    rows: pa.Table,
    seen: np.ndarray,
    accounts: Accounts,
    proofs: Mapping[int, Proofs],
    parents: pa.Table,
) -> np.ndarray:
    """Return since when rows are gone that no account has listed, 0 where no account has listed their parents.

    The rows have the id of the parent, and their own address.
    """
    gone, services = np.zeros(len(rows), np.int64), _services(rows["self_url"])
    starts = np.array([_micros(pull.started_at) for pull in accounts.pulls])
    of_account = accounts.of_pulls[parents["pull"].to_numpy()]
    for number in np.intersect1d(of_account, [*proofs]).tolist():
        own = parents.filter(pa.array(of_account == number))
        begun = pa.table({"id": own["id"], "begun": starts[own["pull"].to_numpy()]})
        first = begun.group_by("id").aggregate([("begun", "min")])
        at = pc.index_in(rows[0], first["id"].combine_chunks()).fill_null(-1).to_numpy()
        known = (at >= 0) & (services == accounts.known[number][0])
        since = proofs[number].first_end(seen[known], first["begun_min"].to_numpy()[at[known]])
        gone[known] = np.maximum(gone[known], since)
    return gone


def _services(addresses: pa.ChunkedArray) -> np.ndarray:
    """Return the service of each address, an empty text where that is not known."""
    hosts = pc.replace_substring_regex(addresses, r"(?s)^([^:/?#]+://[^/?#]*).*$", r"\1")
    encoded = hosts.combine_chunks().dictionary_encode()
    services = np.array([*(_service(host) or "" for host in encoded.dictionary.to_pylist()), ""], object)
    found: np.ndarray = services[encoded.indices.fill_null(len(services) - 1).to_numpy()]
    return found


def _is_whole(pull: Manifest, name: str) -> bool:
    return pull.finished_at is not None and any(
        done.name == name and done.complete and pull.is_whole(done) for done in pull.collections
    )


def _account(pull: Manifest) -> _Account | None:
    service = _service(pull.address)
    return (service, pull.key_digest) if service and pull.key_digest else None


def _service(address: str | None) -> str | None:
    """Return host and port of an address.

    >>> _service("https://Example.org/api/v2/events/5f"), _service("http://127.0.0.1:8700"), _service("events/5f")
    ('example.org:443', '127.0.0.1:8700', None)
    """
    with suppress(ValueError):
        parts = urlsplit(address or "")
        if parts.hostname and (port := parts.port or _PORTS.get(parts.scheme)):
            return f"{parts.hostname}:{port}"
    return None


def _micros(moment: datetime | None) -> int:
    return _NEVER if moment is None else round(moment.timestamp() * 1_000_000)
