"""What came of one collection of a pull, counted list by list: one list, or one for each record of its parents."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from osdi_frames.client.reading import Collection
from osdi_frames.client.resources import Resource

_SHOWN = 5  # lists that are not complete, by name


@dataclass(frozen=True, slots=True)
class CollectionPulled:
    """What came of one collection.

    `lists` counts the lists that were read: one, or one for each parent (each event's attendances). `rows` counts every
    row of every page, `distinct_ids` the different records among them; a page that was read again counts again. The
    totals are what the service reported first and last, summed over the lists; None where one reported none.
    `newest_modified_date` is where ``since="last"`` goes on.
    """

    name: str
    path: str
    since: datetime | None = None
    complete: bool = False
    why: str = "not read"
    lists: int = 0
    pages: int = 0
    rows: int = 0
    distinct_ids: int = 0
    duplicates: int = 0
    total_records_at_start: int | None = None
    total_records_at_end: int | None = None
    newest_modified_date: datetime | None = None


@dataclass(slots=True)
class Tally:
    """The lists of one collection, as they are read."""

    resource: Resource
    path: str
    since: datetime | None
    ids: dict[str, str] = field(default_factory=dict)
    """The path of the list that each record was first found in."""
    proof: str = ""
    lacking: list[str] = field(default_factory=list)
    newest: datetime | None = None
    finished: bool = False
    is_cut: bool = False
    """Whether a list goes on after the limit of pages: then what its records lead to is not asked for."""
    _lists: int = 0
    _pages: int = 0
    _rows: int = 0
    _rows_without_id: int = 0
    _totals: list[tuple[int, int] | None] = field(default_factory=list)

    def add(self, collection: Collection, *, proof: str | None, failure: str | None = None) -> None:
        """Count a list; it is complete if there is a proof."""
        ledger, totals = collection.ledger, collection.ledger.totals
        for each in ledger.ids:
            self.ids.setdefault(each, collection.path)
        self._lists += 1
        self._pages += len(ledger.pages)
        self._rows += ledger.rows
        self._rows_without_id += ledger.rows_without_id
        self.is_cut = self.is_cut or ledger.is_cut
        self._totals.append((totals[0], totals[-1]) if totals else None)
        self.newest = max((each for each in (self.newest, ledger.newest) if each), default=None)
        if proof is not None:
            self.proof = proof
            return
        reasons = [each for each in (failure, collection.lack() if ledger.pages else "not read") if each]
        at = f"{collection.path}: " if self.resource.parents else ""
        self.lacking.append(collection.service.redact(at + "; ".join(reasons)))  # ids are the service's words

    def result(self) -> CollectionPulled:
        """Return the counts."""
        totals = [each for each in self._totals if each]
        known = bool(totals) and len(totals) == self._lists
        return CollectionPulled(
            name=self.resource.name,
            path=self.path,
            since=self.since,
            complete=self.finished and not self.lacking,
            why=self._why(),
            lists=self._lists,
            pages=self._pages,
            rows=self._rows,
            distinct_ids=len(self.ids),
            duplicates=self._rows - len(self.ids) - self._rows_without_id,
            total_records_at_start=sum(first for first, _ in totals) if known else None,
            total_records_at_end=sum(last for _, last in totals) if known else None,
            newest_modified_date=self.newest,
        )

    def _why(self) -> str:
        if self.lacking:
            more = len(self.lacking) - _SHOWN
            return "; ".join(self.lacking[:_SHOWN]) + (f"; and {more} more lists" if more > 0 else "")
        if not self.resource.parents:
            return self.proof or "not read"
        if not self.finished:
            return f"{self._lists} lists were read, not all" if self._lists else "not read"
        parents = " and ".join(self.resource.parents)
        if self.since is None:
            return f"{self._lists} lists, one for each of {parents}; each is proved to be complete"
        return (
            f"{self._lists} lists, each proved to be complete: of {parents} that are new or changed since"
            f" {self.since:%Y-%m-%dT%H:%M:%SZ}; what changed without changing the modified_date there was not asked for"
        )
