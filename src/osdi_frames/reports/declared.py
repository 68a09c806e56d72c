"""Every report, declared once: its function, plot, page, terminal text and files read the declaration.

A new report is a new entry of `REPORTS`, and a function in the module of its table if callers are to have one. The
reports on people and change that the report of an archive has are in `REPORTS_ON_CHANGE` and `REPORTS_ON_PEOPLE`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pandas as pd

from osdi_frames.reports import measures
from osdi_frames.reports.change import activity, changes, compare, newcomers, news
from osdi_frames.reports.conversion import attribution, funnel
from osdi_frames.reports.goals import goals
from osdi_frames.reports.groups import By, Period
from osdi_frames.reports.known import RECEIPTS
from osdi_frames.reports.measures import Measure
from osdi_frames.reports.participation import acts_by, amounts_by, engagement, repeats, retention
from osdi_frames.reports.report import Choices, Joined, Report, ReportFunction, Subject, TablesRead
from osdi_frames.reports.spelling import NO_SOURCE
from osdi_frames.reports.supporters import hosts, people_by_level
from osdi_frames.reports.titles import (
    CAMPAIGN_TITLES,
    EVENT_TITLES,
    PERSON_NAME,
    PETITION_TITLES,
    distinct_labels,
    heading,
)
from osdi_frames.reports.upcoming import upcoming
from osdi_frames.tables.actions import ACTION_NAMES
from osdi_frames.tables.schema import NONE

COUNTED_EVENTS: Final = Subject("events", "rsvps", "RSVPs", measures.EVENT_MEASURES, CAMPAIGN_TITLES)
EVENT_GROWTH: Final = Subject(
    "snapshots", "rsvps", "RSVPs", (measures.KNOWN_RSVPS,), CAMPAIGN_TITLES, read_from=COUNTED_EVENTS.table
)
COUNTED_ATTENDANCES: Final = Subject(
    "attendances", "rsvps", "attendances", measures.ATTENDANCE_MEASURES, EVENT_TITLES, NO_SOURCE
)
COUNTED_SIGNATURES: Final = Subject(
    "signatures", "signatures", "signatures", measures.SIGNATURE_MEASURES, PETITION_TITLES, NO_SOURCE
)
COUNTED_ACTS: Final = Subject("actions", "", "acts")
COUNTED_PEOPLE: Final = replace(COUNTED_ACTS, count="people", unit="people")

_REGION: Final = ("location_country", "location_region")


def _ranked(subject: Subject, word: str, by: By) -> Report:
    """Declare a report by value, largest count first."""
    return Report(subject, f"{subject.unit.lower()}_by_{word}", f"{heading(subject.unit)} by {word}", by)


def _over_time(subject: Subject, columns: tuple[Measure, ...]) -> Report:
    """Declare a report by periods that the caller chooses."""
    name, title = f"{subject.table}_over_time", f"{heading(subject.unit)} over time"
    return Report(subject, name, title, kind="over time", own_measures=columns)


REPORTS: Final = (
    _ranked(COUNTED_EVENTS, "campaign", "event_campaign_id"),
    _ranked(COUNTED_EVENTS, "region", _REGION),
    Report(COUNTED_EVENTS, "rsvps_by_month", "RSVPs by month of the event", Period("start_date")),
    Report(COUNTED_EVENTS, "rsvps_by", heading(COUNTED_EVENTS.unit)),
    Report(
        EVENT_GROWTH,
        "rsvps_by_pull",
        "RSVPs by the service's totals at each pull",
        "event_campaign_id",
        "growth",
        measures.BY_PULL,
    ),
    Report(EVENT_GROWTH, "rsvps_over_time", "RSVPs over time", kind="growth"),
    _ranked(COUNTED_ATTENDANCES, "source", "source"),
    _ranked(COUNTED_ATTENDANCES, "referrer", "referrer"),
    replace(
        _ranked(COUNTED_ATTENDANCES, "campaign", "event_campaign_id"),
        joined=Joined("events", "event_id", "event_campaign_id"),
    ),
    _ranked(COUNTED_ATTENDANCES, "region", _REGION),
    Report(
        COUNTED_ATTENDANCES,
        "attendances_by_month",
        "Attendances by the month of the RSVP",
        Period("created_date"),
        own_measures=measures.ATTENDANCES_OVER_TIME,
    ),
    Report(COUNTED_ATTENDANCES, "attendances_by", heading(COUNTED_ATTENDANCES.unit)),
    _over_time(COUNTED_ATTENDANCES, measures.ATTENDANCES_OVER_TIME),
    _ranked(COUNTED_SIGNATURES, "petition", "petition_id"),
    _ranked(COUNTED_SIGNATURES, "source", "source"),
    _ranked(COUNTED_SIGNATURES, "referrer", "referrer"),
    _ranked(COUNTED_SIGNATURES, "website", "website"),
    _ranked(COUNTED_SIGNATURES, "region", _REGION),
    Report(
        COUNTED_SIGNATURES,
        "signatures_by_month",
        "Signatures by month",
        Period("created_date"),
        own_measures=measures.SIGNATURES_OVER_TIME,
    ),
    Report(COUNTED_SIGNATURES, "signatures_by", heading(COUNTED_SIGNATURES.unit)),
    _over_time(COUNTED_SIGNATURES, measures.SIGNATURES_OVER_TIME),
)
"""Every report by a key, in the order in which ``osdi-frames report`` makes those of the standard set."""

#: The reports of `REPORTS` by their names.
DECLARED: Final = {report.name: report for report in REPORTS}

#: The reports of `REPORTS` that the report of an archive has. It has none that joins attendances with events, since a
#: filter on the date of events would leave attendances without a campaign.
KEYED: Final = tuple(report for report in REPORTS if report.by is not None and report.joined is None)


#: The acts by letters, forms and surveys.
_WRITTEN: Final = ("wrote", "submitted", "responded")
_CHANGED: Final = "what changed"
_WHO: Final = "people"
_ONCE: Final = "A person takes part in a subject once: coming after an RSVP is no other participation."
_NO_NAME: Final = "(no name)"
_FIRST_ACT: Final = (
    "The act that brought somebody is their first. Now: in the last period that is compared. First: who took part for "
    "the first time in it, new or not; unknown: of these, those of whom it is not known whether they are new."
)
_GROWTH: Final = tuple(map(Measure, ("new", "now", "first", "unknown")))
_COMING: Final = "Coming to an event counts as an act."
_LEVELS: Final = (
    "In twelve months: 1 any act, 2 came to an event or took part three times, 3 hosted or took part ten times. Before "
    "is a month before the newest act; lapsing: no act in the last three months."
)
_MOVED: Final = "First up to five that rose most, then up to five that fell most."
_TITLES: Final = ("title", "created_date", "gone_since", "fetched_at")


def _acts(*columns: str) -> dict[str, tuple[str, ...]]:
    """Return the columns of acts that a report needs: the ones that all need, and its own.

    `action` says which acts keep the wall clock of their place.
    """
    return {
        COUNTED_ACTS.table: tuple(dict.fromkeys(("person_id", "date", "action", "received_at", *columns)))
    }


def _changes_by(*keys: str) -> ReportFunction:
    """Return the function that compares the acts of two periods by some columns."""

    def make(tables: TablesRead, choices: Choices) -> pd.DataFrame:
        return compare(
            tables[COUNTED_ACTS.table],
            choices.compare,
            by=[*keys],
            now=choices.now,
            include=choices.include,
            spelling=choices.spelling,
        )

    return make


def _funnel(tables: TablesRead, choices: Choices) -> pd.DataFrame:
    """Return the funnel, without rows if nobody reached its second step."""
    report = funnel(tables[COUNTED_ACTS.table], now=choices.now, include=choices.include)
    return report if report["people"].iloc[1] else report.iloc[:0]


def _acts_by_title(tables: TablesRead, choices: Choices) -> pd.DataFrame:
    """Return the report of the acts that no report by source counts: letters, forms and surveys."""
    actions = tables[COUNTED_ACTS.table]
    return acts_by(actions[actions["action"].isin(_WRITTEN)], include=choices.include)


def _growth_by(*keys: str) -> ReportFunction:
    """Return the function that counts the people whom acts brought by some columns."""

    def make(tables: TablesRead, choices: Choices) -> pd.DataFrame:
        return newcomers(
            tables[COUNTED_ACTS.table],
            [*keys],
            choices.compare,
            now=choices.now,
            include=choices.include,
            spelling=choices.spelling,
        )

    return make


def _hosts(tables: TablesRead, choices: Choices) -> pd.DataFrame:
    """Return the report of hosts by their names."""
    report = hosts(tables[COUNTED_ACTS.table], tables.get("people"), include=choices.include)
    titles = report.pop("title").fillna(_NO_NAME) if "title" in report else [_NO_NAME] * len(report)
    names = {key: None if key == NONE else name for key, name in zip(report.index, titles, strict=True)}
    return report.rename(index=distinct_labels(names)).rename_axis("host")


def _without_total(name: str) -> Measure:
    """Declare a column of counts without a total."""
    return Measure(name, total=None)


def _share(name: str) -> Measure:
    """Declare a column of shares without a total."""
    return Measure(name, "share", None, "float64")


_COMPARED: Final = (
    Measure("before"),
    Measure("now"),
    Measure("change", "change"),
    Measure("change_share", "change share", ("change", "before"), "float64"),
    Measure("by_chance", "flag", None, "boolean"),
)

REPORTS_ON_CHANGE: Final = (
    Report(
        COUNTED_ACTS,
        "activity",
        "People and acts over time",
        own_measures=(
            *map(_without_total, ("people", "first time", "new people")),
            *(Measure(action) for action in ACTION_NAMES),
        ),
        function=lambda tables, choices: activity(
            tables[COUNTED_ACTS.table], choices.compare, now=choices.now, include=choices.include
        ),
        needs=_acts("action", "number", "is_new"),
        part=_CHANGED,
        in_time=True,
    ),
    Report(
        COUNTED_ACTS,
        "changes",
        "Change in people and acts",
        own_measures=tuple(replace(column, total=None) for column in _COMPARED),
        function=lambda tables, choices: changes(
            tables[COUNTED_ACTS.table], choices.compare, now=choices.now, include=choices.include
        ),
        needs=_acts("action", "number", "is_new"),
        part=_CHANGED,
    ),
    Report(
        COUNTED_ACTS,
        "changes_by_source",
        "Change by source",
        own_measures=_COMPARED,
        function=_changes_by("source"),
        needs=_acts("action", "source"),
        part=_CHANGED,
        caption=_MOVED,
    ),
    Report(
        COUNTED_ACTS,
        "changes_by_title",
        "Change by petition, event or other",
        own_measures=_COMPARED,
        function=_changes_by("action", "title"),
        needs=_acts("action", "title"),
        part=_CHANGED,
        caption=_MOVED,
    ),
    Report(
        COUNTED_ACTS,
        "news",
        "New and gone",
        own_measures=(
            Measure("kind", "text", None, "str"),
            Measure("news", "text", None, "str"),
            Measure("date", "time", None, "time"),
        ),
        function=lambda tables, choices: news(
            tables, choices.compare, now=choices.now, include=choices.include
        ),
        needs=_acts() | {"events": _TITLES, "petitions": _TITLES},
        part=_CHANGED,
    ),
    Report(
        COUNTED_SIGNATURES,
        "goals",
        "Goals",
        own_measures=(
            _without_total("signatures"),
            _without_total("goal"),
            _share("share"),
            Measure("per_week", "decimal", None, "float64"),
            Measure("reached", "time", None, "time"),
            Measure("expected", "time", None, "time"),
        ),
        function=lambda tables, choices: goals(
            tables["signatures"], choices.goals, tables["petitions"], now=choices.now, include=choices.include
        ),
        needs={
            "signatures": ("petition_id", "created_date", *RECEIPTS),
            "petitions": ("petition_id", "title"),
        },
        part=_CHANGED,
    ),
)
UPCOMING: Final = Report(
    replace(COUNTED_EVENTS, count=""),
    "upcoming",
    "Events to come",
    own_measures=(
        Measure("start_date", "clock", None, "time"),
        Measure("place", "text", None, "str"),
        Measure("rsvps"),
        _without_total("capacity"),
        _share("fill_rate"),
        _without_total("seats_left"),
        Measure("status", "text", None, "str", is_rare=True),
    ),
    function=lambda tables, choices: upcoming(tables["events"], now=choices.now, include=choices.include),
    needs={
        "events": (
            *("title", "status", "start_date", "total_accepted", "capacity"),
            *("location_venue", "location_locality", "location_region"),
        )
    },
    caption="Of the next 14 days, by the clock at the place of the event.",
)
WRITTEN: Final = Report(
    replace(COUNTED_ACTS, count="acts"),
    "acts_by_title",
    "Forms and letters by title",
    own_measures=(
        Measure("acts"),
        Measure("participations"),
        _without_total("people"),
        Measure("first", "time", "min", "time"),
        Measure("last", "time", "max", "time"),
    ),
    function=_acts_by_title,
    needs=_acts("action", "subject_id", "title"),
    part=_WHO,
    caption="Answers to surveys are among them.",
)
AMOUNTS: Final = Report(
    replace(COUNTED_ACTS, count="gifts"),
    "amounts_by_title",
    "Donations and tickets",
    own_measures=(Measure("gifts"),),
    function=lambda tables, choices: amounts_by(
        tables[COUNTED_ACTS.table], ["action", "title"], include=choices.include
    ),
    needs=_acts("action", "title", "amount", "currency"),
    part=_WHO,
)
REPORTS_ON_PEOPLE: Final = (
    Report(
        COUNTED_ACTS,
        "engagement",
        "People retained and lapsed by month",
        own_measures=(
            _without_total("people"),
            Measure("first"),
            Measure("new"),
            _share("known"),
            _without_total("retained"),
            _without_total("back"),
            _without_total("lapsed"),
            Measure("actions"),
        ),
        function=lambda tables, choices: engagement(tables[COUNTED_ACTS.table], include=choices.include),
        needs=_acts("number", "is_new"),
        part=_WHO,
        caption=_COMING,
        in_time=True,
    ),
    Report(
        replace(COUNTED_PEOPLE, count="new"),
        "growth_by_title",
        "New people by what brought them",
        own_measures=_GROWTH,
        function=_growth_by("action", "title"),
        needs=_acts("number", "is_new", "action", "title"),
        part=_WHO,
        caption=_FIRST_ACT,
    ),
    Report(
        replace(COUNTED_PEOPLE, count="new"),
        "growth_by_source",
        "New people by source",
        own_measures=_GROWTH,
        function=_growth_by("source"),
        needs=_acts("number", "is_new", "source"),
        part=_WHO,
        caption=_FIRST_ACT,
    ),
    Report(
        COUNTED_PEOPLE,
        "funnel",
        "From signing to coming within 30 days",
        own_measures=(
            _without_total("people"),
            *map(_share, ("of_first", "of_previous", "low", "high")),
            Measure("median_days", "decimal", None, "float64"),
        ),
        function=_funnel,
        needs=_acts("action"),
        part=_WHO,
        caption="The 30 days of each person begin with the signature from which they came furthest.",
    ),
    Report(
        replace(COUNTED_PEOPLE, count="first_people"),
        "attribution",
        "What brought those who RSVPed",
        own_measures=(
            Measure("first_people"),
            Measure("first_share", "share", dtype="float64"),
            Measure("last_people"),
            Measure("last_share", "share", dtype="float64"),
        ),
        function=lambda tables, choices: attribution(
            tables[COUNTED_ACTS.table], touch="both", include=choices.include, spelling=choices.spelling
        ),
        needs=_acts("action", "number", "source"),
        part=_WHO,
    ),
    Report(
        COUNTED_ACTS,
        "retention",
        "Who came back, by the month of the first act",
        own_measures=(Measure("people"),),
        function=lambda tables, choices: retention(
            tables[COUNTED_ACTS.table], now=choices.now, include=choices.include
        ),
        needs=_acts("action", "subject_id", "number"),
        part=_WHO,
        caption=_ONCE,
        in_time=True,
    ),
    Report(
        replace(COUNTED_PEOPLE, count="now"),
        "people_by_level",
        "People by level",
        own_measures=tuple(map(Measure, ("before", "now", "first", "up", "down", "lapsing"))),
        function=lambda tables, choices: people_by_level(
            tables[COUNTED_ACTS.table], now=choices.now, include=choices.include
        ),
        needs=_acts("action", "subject_id"),
        part=_WHO,
        caption=_LEVELS,
        in_time=True,
    ),
    Report(
        COUNTED_PEOPLE,
        "repeats",
        "People by how often they took part",
        own_measures=(Measure("people"), Measure("share", "share", dtype="float64")),
        function=lambda tables, choices: repeats(tables[COUNTED_ACTS.table], include=choices.include),
        needs=_acts("action", "subject_id"),
        part=_WHO,
        caption=_ONCE,
    ),
)

HOSTS: Final = Report(
    replace(COUNTED_ACTS, count="events", unit="events"),
    "hosts",
    "Events by host",
    own_measures=(
        _without_total("events"),
        _without_total("rsvps"),
        Measure("rsvps_per_event", "decimal", None),
    ),
    function=_hosts,
    needs=_acts("action", "subject_id") | {"people": ("person_id", *PERSON_NAME)},
    part=_WHO,
    caption="An event with two hosts counts for both; not for publication, as each row is a person.",
)

#: The reports that the report of an archive has, in its order.
STANDARD: Final = (*REPORTS_ON_CHANGE, UPCOMING, *KEYED, *REPORTS_ON_PEOPLE, WRITTEN, AMOUNTS)
#: Those that the report of an archive can have: it has `hosts` if asked for it by name, since its rows are people.
OF_ARCHIVES: Final = (*STANDARD, HOSTS)
#: The reports whose largest gains and losses are shown first.
MOVED: Final = ("changes_by_source", "changes_by_title")
