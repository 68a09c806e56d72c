"""Titles of campaigns, petitions, events and groups in place of their ids, and the names of columns in sentences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import pandas as pd

from osdi_frames.frames import as_frame
from osdi_frames.reports.columns import convert_columns, text
from osdi_frames.reports.spelling import region_name
from osdi_frames.tables.schema import NO_DATE, NONE


@dataclass(frozen=True, slots=True)
class Titled:
    """An id with titles: its column, the table with the titles, and the argument of functions for that table."""

    key: str
    table: str
    argument: str


CAMPAIGN_TITLES: Final = Titled("event_campaign_id", "event_campaigns", "campaigns")
PETITION_TITLES: Final = Titled("petition_id", "petitions", "petitions")
EVENT_TITLES: Final = Titled("event_id", "events", "events")
TITLED: Final = (CAMPAIGN_TITLES, PETITION_TITLES, EVENT_TITLES)
#: The code of a group, and the column with the group of an act, which is its title.
REFERRER, SPONSOR = "referrer", "sponsor_title"
_KEYS: Final = frozenset([*(titled.key for titled in TITLED), REFERRER, "person_id"])
#: The columns of people that make the name of one.
PERSON_NAME: Final = ("given_name", "family_name")

_PLACE: Final = ("location_country", "location_region")
_START: Final = 8  # characters of the first part of a UUID

#: The names of columns in headings, titles and on axes, if they are not just the column's words.
_WORDS: Final = {
    "event_campaign_id": "campaign",
    "petition_id": "petition",
    "event_id": "event",
    "person_id": "person",
    "location_country": "country",
    "location_region": "region",
    "sponsor_title": "sponsor",
    "rsvped": "RSVPed",
    "kept": "as before",
    "change_share": "change in %",
    "by_chance": "can be chance",
    "of_first": "of the first step",
    "of_previous": "of the step before",
    "low": "at least (95%)",
    "high": "at most (95%)",
    "first_people": "people by first touch",
    "first_share": "share",
    "last_people": "people by last touch",
    "last_share": "share",
}


def names_of(people: pd.DataFrame, *, report: str) -> pd.DataFrame:
    """Return the names of people as titles: the columns person_id, as text, and title."""
    frame = as_frame(people, caller=report, columns=["person_id", *PERSON_NAME])
    rows = convert_columns(frame, dict.fromkeys(PERSON_NAME, text), report=report)
    names = rows[PERSON_NAME[0]].fillna("").str.cat(rows[PERSON_NAME[1]].fillna(""), sep=" ").str.strip()
    ids = frame["person_id"].astype("str").array
    return pd.DataFrame({"person_id": ids, "title": names.where(names != "").array}).dropna(
        subset="person_id"
    )


def words(column: object) -> str:
    """Return the name of a column in a sentence.

    >>> words("event_campaign_id"), words("start_date")
    ('campaign', 'start date')
    """
    return _WORDS.get(str(column), str(column).replace("_", " "))


def heading(name: object) -> str:
    """Return the name of a column in a heading.

    >>> heading("limited_rsvps"), heading("location_country")
    ('Limited RSVPs', 'Country')
    """
    text = words(name).replace("rsvps", "RSVPs")
    return f"{text[:1].upper()}{text[1:]}"


def labelled(report: pd.DataFrame) -> pd.DataFrame:
    """Return a report with titles in place of ids, and months as ``2026-05``.

    Equal titles are followed by their ids; regions have their names before their codes.

    >>> ids = pd.Index(["x", "y", "z"], name="petition_id")
    >>> labelled(pd.DataFrame({"title": ["Park", "Park", None], "signatures": 1}, index=ids)).index.tolist()
    ['Park (x)', 'Park (y)', 'z']
    """
    keys = [name for name in report.index.names if name in _KEYS]
    if isinstance(report.index, pd.DatetimeIndex) and report.index.name == "date":
        return _by_month(report)
    if [*report.index.names] == [*_PLACE] and len(report):
        return _with_region_names(report)
    if "title" not in report.columns or not keys:
        return report
    titles = zip(report.index.get_level_values(keys[0]), report["title"], strict=True)
    labels = distinct_labels({key: None if pd.isna(title) else str(title) for key, title in titles})
    return report.drop(columns="title").rename(index=labels, level=keys[0])


def _with_region_names(report: pd.DataFrame) -> pd.DataFrame:
    """Return a report by country and region with the names of regions before their codes."""
    places = [
        (country, region if region == NONE else region_name(region, country))
        for country, region in report.index
    ]
    return report.set_axis(pd.MultiIndex.from_tuples(places, names=report.index.names))


def _by_month(report: pd.DataFrame) -> pd.DataFrame:
    """Return a report by date with months in place of dates, if all dates are the first of a month."""
    dates = pd.DatetimeIndex(report.index)
    if not (dates.dropna().day == 1).all():
        return report
    return report.set_axis(pd.Index(dates.strftime("%Y-%m").fillna(NO_DATE), dtype="str", name="month"))


def distinct_labels(titles: dict[str, str | None]) -> dict[str, str]:
    """Return a label for each id: its title, or the id itself without one; equal labels are followed by the id.

    The first eight characters of the id are used if no other id has the same.

    >>> distinct_labels({"e8b56715-ded0": "Park", "eb4e6815-4d18": "Park", "197326d4-55a1": None})
    {'e8b56715-ded0': 'Park (e8b56715)', 'eb4e6815-4d18': 'Park (eb4e6815)', '197326d4-55a1': '197326d4-55a1'}
    """
    labels: dict[str, str] = {key: title or key for key, title in titles.items()}
    starts = Counter(key[:_START] for key in titles)
    marks = {key: key[:_START] if starts[key[:_START]] == 1 else key for key in titles}
    reserved = {NONE} - titles.keys()  # a title of this text must not look like the row without an id
    while repeated := {label for label, count in Counter([*labels.values(), *reserved]).items() if count > 1}:
        for (
            key,
            label,
        ) in labels.items():  # repeated, since a title can look like another one's label with its id
            if label in repeated and label != key:
                labels[key] = f"{label} ({marks[key]})"
    return labels
