"""What came of one collection of a pull, counted list by list: one list, or one for each record of its parents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
    counts: CollectionPulled
    """What came so far, without what only the end shows."""
    ids: dict[str, str] = field(default_factory=dict)
    """The path of the list that each record was first found in."""
    lacking: list[str] = field(default_factory=list)
    finished: bool = False
    is_cut: bool = False
    """Whether a list goes on after the limit of pages: then what its records lead to is not asked for."""
    _proof: str = ""
    _rows_without_id: int = 0
    _totals: list[tuple[int, int] | None] = field(default_factory=list)

    def add(self, collection: Collection, *, proof: str | None, failure: str | None = None) -> None:
        """Count a list; it is complete if there is a proof."""
        ledger, totals, counts = collection.ledger, collection.ledger.totals, self.counts
        for row_id in ledger.ids:
            self.ids.setdefault(row_id, collection.path)
        moments = [moment for moment in (counts.newest_modified_date, ledger.newest) if moment]
        self.counts = replace(
            counts,
            lists=counts.lists + 1,
            pages=counts.pages + len(ledger.pages),
            rows=counts.rows + ledger.rows,
            newest_modified_date=max(moments, default=None),
        )
        self._rows_without_id += ledger.rows_without_id
        self.is_cut = self.is_cut or ledger.is_cut
        self._totals.append((totals[0], totals[-1]) if totals else None)
        if proof is not None:
            self._proof = proof
            return
        reasons = [
            reason for reason in (failure, collection.lack() if ledger.pages else "not read") if reason
        ]
        at = f"{collection.path}: " if self.resource.parents else ""
        redact = collection.service.transport.redact  # ids are the service's words
        self.lacking.append(redact(at + "; ".join(reasons)))

    def result(self) -> CollectionPulled:
        """Return the counts."""
        totals = [total for total in self._totals if total]
        known = bool(totals) and len(totals) == len(self._totals)
        return replace(
            self.counts,
            complete=self.finished and not self.lacking,
            why=self._why(),
            distinct_ids=len(self.ids),
            duplicates=self.counts.rows - len(self.ids) - self._rows_without_id,
            total_records_at_start=sum(first for first, _ in totals) if known else None,
            total_records_at_end=sum(last for _, last in totals) if known else None,
        )

    def _why(self) -> str:
        lists, since = self.counts.lists, self.counts.since
        if self.lacking:
            more = len(self.lacking) - _SHOWN
            return "; ".join(self.lacking[:_SHOWN]) + (f"; and {more} more lists" if more > 0 else "")
        if not self.resource.parents:
            return self._proof or "not read"
        if not self.finished:
            return f"{lists} lists were read, not all" if lists else "not read"
        parents = " and ".join(self.resource.parents)
        if since is None:
            return f"{lists} lists, one for each of {parents}; each is proved to be complete"
        return (
            f"{lists} lists, each proved to be complete: of {parents} that are new or changed since"
            f" {since:%Y-%m-%dT%H:%M:%SZ}; what changed without changing the modified_date there was not asked for"
        )
