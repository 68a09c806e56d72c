"""The figures at the head of the page."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, slots=True)
class Card:
    """One figure: what it counts, how many, and what is to be known of it."""

    name: str
    figure: str
    note: str


def cards(events: pd.DataFrame, signatures: pd.DataFrame, *, hidden: Collection[str] = ()) -> list[Card]:
    """Return events, RSVPs, signatures, people, and the period they span; no totals of `hidden` tables."""
    starts, created = _span(events["start_date"]), _span(signatures["created_date"])
    spans = [span for span in (starts, created) if span]
    period = (min(first for first, _ in spans), max(last for _, last in spans)) if spans else None
    few = "signatures" in hidden
    campaigns = events["event_campaign_id"].nunique()
    return [
        Card("Events", f"{len(events):,}", _dates(starts)),
        Card(
            "RSVPs",
            "few" if "events" in hidden else f"{events['total_accepted'].sum():,}",
            f"{campaigns:,} campaign{'' if campaigns == 1 else 's'}",
        ),
        Card("Signatures", "few" if few else f"{len(signatures):,}", _dates(created)),
        Card(
            "People",
            "few" if few else f"{signatures['person_id'].nunique():,}",
            "who signed, each counted once",
        ),
        Card("Period", _years(period), _dates(period)),
    ]


def _span(times: pd.Series) -> tuple[pd.Timestamp, pd.Timestamp] | None:
    present = times.dropna().dt.tz_localize(None)
    return (present.min(), present.max()) if len(present) else None


def _dates(span: tuple[pd.Timestamp, pd.Timestamp] | None) -> str:
    # A date breaks nowhere.
    dates = [f"{date.day}\u00a0{date:%b}\u00a0{date.year}" for date in span or ()]
    return " – ".join(dict.fromkeys(dates)) or "no date"


def _years(span: tuple[pd.Timestamp, pd.Timestamp] | None) -> str:
    if span is None:
        return "–"
    first, last = span[0].year, span[1].year
    return f"{first}" if first == last else f"{first}–{last}"
