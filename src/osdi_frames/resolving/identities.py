"""Which person a version is of: by its own id, by the act that it came with, or by its e-mail address.

The person of an act is a version of the person whom the act has once its versions are compared: people are merged, and
a delivery may name the one who is no more. A person without an id is the one id that has the same address; where none
or several have it, the address is the identity. An address never joins two ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import among, with_column
from osdi_frames.engine import Engine
from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.resolving.people import PERSONS, Donor
from osdi_frames.resolving.versions import ADDRESS, BY_ADDRESS, Merger

_BY_ADDRESS: Final = pa.scalar(BY_ADDRESS, pa.uint64())  # Arrow compares numbers of 64 bits of one type
_NO_OWNERS: Final = pa.table(
    {name: pa.array([], pa.uint64()) for name in (ADDRESS, "high", "low")}
    | {ELEMENT: pa.array([], pa.int64())}
)


@dataclass(frozen=True, slots=True)
class PersonIdentities:
    """The persons of versions whose own id says another, or none."""

    moved: pa.Table
    """Versions of acts whose person another version says, by number, with the two halves of the identity."""
    owners: pa.Table = field(default_factory=lambda: _NO_OWNERS)
    """Addresses of persons without an id, sorted, that one id has; its identity, and a version that has it."""
    by_address: int = 0
    """How many people are known by their address alone."""

    @classmethod
    def of(
        cls, moved: Iterable[tuple[int, Merger]], seen: Iterable[pa.Table], engine: Engine
    ) -> PersonIdentities:
        """Find them in what was seen of people; `moved` are the mergers of acts, with the number of their source."""
        parts = [
            pa.table(
                {
                    ELEMENT: pc.add(pc.multiply(merger.moved[ELEMENT], PERSONS), number),
                    "high": merger.moved["person_high"],
                    "low": merger.moved["person_low"],
                }
            )
            for number, merger in moved
        ]
        nobody = _NO_OWNERS.select([ELEMENT, "high", "low"])
        first = cls(pa.concat_tables([nobody, *parts]).sort_by(ELEMENT))
        addresses = np.unique(np.concatenate([np.empty(0, np.uint64), *map(first._alone, seen)]))
        if not len(addresses):
            return first
        owners = first._owners(addresses, seen, engine)
        return cls(first.moved, owners, len(addresses) - len(owners))

    def _alone(self, seen: pa.Table) -> np.ndarray:
        """Return the addresses of persons without an id."""
        labelled = self.labelled(seen)
        found: np.ndarray = labelled["low"].filter(pc.equal(labelled["high"], _BY_ADDRESS)).to_numpy()
        return found

    def _owners(self, addresses: np.ndarray, seen: Iterable[pa.Table], engine: Engine) -> pa.Table:
        """Return of which one id addresses are."""
        wanted = pa.array(addresses, pa.uint64())
        with_address, natives = [_NO_OWNERS.select([ADDRESS, "high", "low"])], []
        for some in map(self.labelled, seen):
            has_id = pc.not_equal(some["high"], _BY_ADDRESS)
            with_address.append(
                some.filter(pc.and_(has_id, pc.is_in(some[ADDRESS], wanted))).select([ADDRESS, "high", "low"])
            )
        engine.put("with_address", pa.concat_tables(with_address))
        found = engine.ask(
            f"""SELECT {ADDRESS}, any_value(high) AS high, any_value(low) AS low
            FROM (SELECT DISTINCT {ADDRESS}, high, low FROM with_address) GROUP BY {ADDRESS} HAVING count(*) = 1"""
        )
        for some in map(self.labelled, seen):
            own = some["is_own"] if "is_own" in some.column_names else pc.is_valid(some["low"])
            chosen = some.filter(pc.and_(own, pc.is_in(some["low"], found["low"].combine_chunks())))
            natives.append(chosen.select([ELEMENT, "high", "low"]))
        engine.put("found", found)
        engine.put("natives", pa.concat_tables(natives))
        owners = engine.ask(
            f"""SELECT {ADDRESS}, high, low, min({ELEMENT}) AS {ELEMENT} FROM found JOIN natives USING (high, low)
            GROUP BY ALL ORDER BY {ADDRESS}"""
        )
        return owners.cast(_NO_OWNERS.schema)

    def labelled(self, seen: pa.Table) -> pa.Table:
        """Return what was seen of people under the persons they are, without what is nobody's.

        Where any is another's, `is_own` says which versions have the id of the person themselves.
        """
        numbers = seen[ELEMENT].to_numpy()
        halves = {name: seen[name].fill_null(0).to_numpy().copy() for name in ("high", "low")}
        is_own = np.ones(len(seen), bool)
        moved = _assign(halves, *self._moved_in(numbers))
        # What moves to a person known by the address alone goes on to the one id that has this address.
        joined = _assign(halves, *self._joined_in(halves))
        is_own[moved] = is_own[joined] = False
        is_nobody = (halves["high"] == 0) & (halves["low"] == 0)
        for name, values in halves.items():
            seen = with_column(seen, seen.schema.field(name), pa.array(values, mask=is_nobody))
        if len(self.moved) or len(self.owners):
            seen = seen.append_column("is_own", pa.array(is_own))
        is_dropped = is_nobody & (
            numbers % PERSONS != 0
        )  # a person of a people page is one without an id, too
        return seen.filter(pa.array(~is_dropped)) if is_dropped.any() else seen

    def _moved_in(self, numbers: np.ndarray) -> tuple[np.ndarray, pa.Table]:
        moved = self.moved[ELEMENT].to_numpy()
        at = np.flatnonzero(among(numbers, moved))
        return at, self.moved.take(pa.array(np.searchsorted(moved, numbers[at])))

    def _joined_in(self, halves: dict[str, np.ndarray]) -> tuple[np.ndarray, pa.Table]:
        addresses = self.owners[ADDRESS].to_numpy()
        at = np.flatnonzero((halves["high"] == BY_ADDRESS) & among(halves["low"], addresses))
        return at, self.owners.take(pa.array(np.searchsorted(addresses, halves["low"][at])))

    def persons(self, acts: pa.Table) -> tuple[pa.Table, Donor]:
        """Return acts with the identities of their persons, and where the ids come from of those without a link."""
        halves = {name: acts[f"person_{name}"].to_numpy().copy() for name in ("high", "low")}
        at, owners = self._joined_in(halves)
        _assign(halves, at, owners)
        for name, values in halves.items():
            field = acts.schema.field(f"person_{name}")
            acts = with_column(acts, field, pa.array(values))
        kept = acts["kept"].to_numpy()[at]
        order = np.argsort(kept)
        return acts, Donor(kept[order], owners[ELEMENT].to_numpy()[order])


def _assign(halves: dict[str, np.ndarray], at: np.ndarray, persons: pa.Table) -> np.ndarray:
    """Set the halves of identities at some places to those of persons; return the places."""
    for name, values in halves.items():
        values[at] = persons[name].to_numpy()
    return at
