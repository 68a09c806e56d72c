"""Reports of attendances, one person's RSVP to one event each."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from osdi_frames.reports.declared import DECLARED
from osdi_frames.reports.groups import By
from osdi_frames.reports.making import Counting, Share, make
from osdi_frames.reports.spelling import Spelling


def attendances_by_source(
    attendances: pd.DataFrame,
    events: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the attendances of each source code, most first.

    See `attendances_by`.

    >>> import osdi_frames as of
    >>> attendance = {"created_date": "2026-05-01T10:00:00Z", "platform:referrer_data": {"source": "email"}}
    >>> page = {"_embedded": {"osdi:attendances": [attendance]}}
    >>> attendances = of.read_table(page, "attendances")
    >>> of.attendances_by_source(attendances)["rsvps"].to_dict()
    {'email': 1}
    """
    counting = Counting(include=include, spelling=spelling)
    return make(DECLARED["attendances_by_source"], attendances, counting, titles=events, actions=actions)


def attendances_by_referrer(
    attendances: pd.DataFrame,
    events: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the attendances of each referrer code, most first, with titles as `signatures_by_referrer` has them.

    See `attendances_by`.

    >>> import osdi_frames as of
    >>> attendance = {"created_date": "2026-05-01T10:00:00Z", "platform:referrer_data": {"referrer": "group-a"}}
    >>> page = {"_embedded": {"osdi:attendances": [attendance]}}
    >>> attendances = of.read_table(page, "attendances")
    >>> of.attendances_by_referrer(attendances)["rsvps"].to_dict()
    {'group-a': 1}
    """
    counting = Counting(include=include, spelling=spelling)
    return make(DECLARED["attendances_by_referrer"], attendances, counting, titles=events, actions=actions)


def attendances_by_campaign(
    attendances: pd.DataFrame,
    events: pd.DataFrame | None = None,
    campaigns: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the attendances of the events of each event campaign, most first.

    See `attendances_by`.

    >>> import osdi_frames as of
    >>> import pandas as pd
    >>> attendance = {"created_date": "2026-05-01T10:00:00Z", "platform:event_id": "march"}
    >>> page = {"_embedded": {"osdi:attendances": [attendance]}}
    >>> attendances = of.read_table(page, "attendances")
    >>> events = pd.DataFrame({"event_id": ["march"], "event_campaign_id": ["climate"]})
    >>> of.attendances_by_campaign(attendances, events)["rsvps"].to_dict()
    {'climate': 1}
    """
    counting = Counting(include=include, spelling=spelling)
    return make(
        DECLARED["attendances_by_campaign"],
        attendances,
        counting,
        titles=campaigns,
        joined=events,
        actions=actions,
    )


def attendances_by_region(
    attendances: pd.DataFrame,
    events: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
    share: Share = "total",
) -> pd.DataFrame:
    """Count the attendances of the people of each region and country, most first.

    See `attendances_by`.

    >>> import osdi_frames as of
    >>> person = {"postal_addresses": [{"country": "US", "region": "CA"}]}
    >>> attendance = {"created_date": "2026-05-01T10:00:00Z", "person": person}
    >>> page = {"_embedded": {"osdi:attendances": [attendance]}}
    >>> attendances = of.read_table(page, "attendances")
    >>> of.attendances_by_region(attendances)["rsvps"].to_dict()
    {('US', 'CA'): 1}
    """
    counting = Counting(include=include, spelling=spelling, share=share)
    return make(DECLARED["attendances_by_region"], attendances, counting, titles=events, actions=actions)


def attendances_by_month(
    attendances: pd.DataFrame,
    events: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Count the attendances whose RSVP was made in each month, months without any included.

    See `attendances_by`.

    >>> import osdi_frames as of
    >>> attendance = {"created_date": "2026-05-01T10:00:00Z"}
    >>> page = {"_embedded": {"osdi:attendances": [attendance]}}
    >>> attendances = of.read_table(page, "attendances")
    >>> of.attendances_by_month(attendances)["rsvps"].to_dict()
    {'2026-05': 1}
    """
    counting = Counting(include=include, spelling=spelling, timezone=timezone)
    return make(DECLARED["attendances_by_month"], attendances, counting, titles=events, actions=actions)


def attendances_by(
    attendances: pd.DataFrame,
    by: By,
    events: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
    share: Share = "total",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Count the attendances by any column, by several, or by a period of time.

    An attendance is one person's RSVP to one event; their sum can differ from the service's own totals, which reports
    of events count. Rows without a value are counted in the row ``(none)``, and so are those with the text ``none``,
    which the service's API writes for no value. `people` has no total, since a person can RSVP to two events.
    With a time among the keys the rows are in the order of the keys. A single Grouper shows every period between
    the first and the last, with 0 if nothing was in it; gaps of more than ten years are left out.

    Parameters
    ----------
    attendances
        One row per attendance, with attended, person_id and created_date.
    by
        A column, a Grouper, as ``pd.Grouper(key="created_date", freq="MS")``, or a list of them.
    events
        One row per event, with event_id and title, which adds the column `title` if event_id is a key. For
        `attendances_by_campaign` with event_id and event_campaign_id, if the attendances lack the latter.
    campaigns
        For `attendances_by_campaign`: one row per event campaign, with event_campaign_id and title.
    freq
        For the functions over time: "h", "D", "W", "M", "Q", "Y", or an offset of pandas, as "6h".
    actions
        One row per act, as `Archive.actions` returns them; adds the column `new` to the report.
    include
        Reasons of the column `excluded` whose rows to count nevertheless: any of ``gone``, ``cancelled``, ``hidden``,
        ``test`` and ``unaccepted``. The report's ``attrs["note"]`` has the number of rows that are not counted.
    spelling
        ``"merged"`` counts different spellings of one source, referrer, website, region or country in one row, and
        notes their number; ``"exact"`` keeps them apart.
    share
        ``"total"`` makes `share` that of the whole frame; ``"within"`` that of the rows with the same first key, if
        there are several keys.
    timezone
        The zone whose wall clock periods are of, as ``"America/New_York"``; by default that of created_date, if it has
        one that is not UTC, else that of the frame's handle (`open`), else UTC.

    Returns
    -------
    DataFrame
        Indexed by its keys, most `rsvps` first, times in order. Its columns:

    rsvps
        The number of attendances.
    attended, attended_of, attended_share
        The number of them marked as attended; the number of them at events at which anybody attended; the ratio of
        both, missing if there is no such event. The report has none of these columns if nobody attended.
    people
        The number of distinct person_id; rows without one count no person.
    new
        The number of these people who were not on the list before: this was their first act (see `Archive.actions`).
        Missing if it is unknown of all of them. Only with `actions`.
    share
        The share of all attendances of the frame, 0 to 1.
    first, last
        The first and the last created_date, in the zone.
    cumulative
        Over time: the number of attendances up to the end of the period.

    Raises
    ------
    MissingColumn
        A frame lacks needed columns; the message names all of them.
    InvalidColumn
        `by` names a list-valued column (a row with two values would count twice), a column has a value that is not
        a whole number or not a time, or a sum does not fit 64 bits.
    InvalidArgument
        `freq` or another argument is invalid.

    Examples
    --------
    >>> import osdi_frames as of
    >>> attendance = {"created_date": "2026-05-01T10:00:00Z", "status": "accepted"}
    >>> page = {"_embedded": {"osdi:attendances": [attendance]}}
    >>> attendances = of.read_table(page, "attendances")
    >>> of.attendances_by(attendances, "status")["rsvps"].to_dict()
    {'accepted': 1}
    """
    counting = Counting(by=by, include=include, spelling=spelling, share=share, timezone=timezone)
    return make(DECLARED["attendances_by"], attendances, counting, titles=events, actions=actions)


def attendances_over_time(
    attendances: pd.DataFrame,
    by: By | None = None,
    events: pd.DataFrame | None = None,
    *,
    freq: str = "D",
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Count the attendances of each day, week, month or other period, periods without any included.

    Periods are named by their start, in the zone: a week ("W" is Monday to Sunday) by its Monday, where a pandas
    Grouper takes its Sunday; a month by its first day. Gaps of more than ten years are left out. Rows without a
    created_date (the service's "send test") are counted in the last row ``NaT``, if there are any;
    ``report[report.index.notna()]`` is without that row. With `by`, each value has a column of counts, the value with
    most of them first. See `attendances_by`.

    >>> import osdi_frames as of
    >>> attendance = {"created_date": "2026-05-01T10:00:00Z"}
    >>> page = {"_embedded": {"osdi:attendances": [attendance]}}
    >>> attendances = of.read_table(page, "attendances")
    >>> of.attendances_over_time(attendances, freq="M")["rsvps"].tolist()
    [1]
    """
    counting = Counting(by=by, freq=freq, include=include, spelling=spelling, timezone=timezone)
    return make(DECLARED["attendances_over_time"], attendances, counting, titles=events, actions=actions)
