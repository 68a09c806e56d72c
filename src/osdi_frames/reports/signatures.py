"""Reports of petition signatures."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from osdi_frames.reports.declared import DECLARED
from osdi_frames.reports.groups import By
from osdi_frames.reports.making import Counting, Share, make
from osdi_frames.reports.spelling import Spelling


def signatures_by_petition(
    signatures: pd.DataFrame,
    petitions: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the signatures of each petition, most first.

    See `signatures_by`.

    >>> import osdi_frames as of
    >>> signature = {"created_date": "2026-05-01T10:00:00Z", "platform:petition_id": "park"}
    >>> signatures = of.read_signatures([{"osdi:signature": signature}])
    >>> of.signatures_by_petition(signatures)["signatures"].to_dict()
    {'park': 1}
    """
    counting = Counting(include=include, spelling=spelling)
    return make(DECLARED["signatures_by_petition"], signatures, counting, titles=petitions, actions=actions)


def signatures_by_source(
    signatures: pd.DataFrame,
    petitions: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the signatures of each source code, most first.

    ``_`` and ``-`` count as the same character, as in the service's targeting.

    See `signatures_by`.

    >>> import osdi_frames as of
    >>> signature = {"created_date": "2026-05-01T10:00:00Z", "platform:referrer_data": {"source": "email"}}
    >>> signatures = of.read_signatures([{"osdi:signature": signature}])
    >>> of.signatures_by_source(signatures)["signatures"].to_dict()
    {'email': 1}
    """
    counting = Counting(include=include, spelling=spelling)
    return make(DECLARED["signatures_by_source"], signatures, counting, titles=petitions, actions=actions)


def signatures_by_referrer(
    signatures: pd.DataFrame,
    petitions: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the signatures of each referrer code, most first.

    A referrer often is the sponsoring group's own code, not a person's (interface 2.7). If the frame has the column
    `sponsor_title` with several groups, and five or more signatures of a referrer are all of one of them, this is its
    `title`, which plots and the page show in place of the code.

    See `signatures_by`.

    >>> import osdi_frames as of
    >>> signature = {"created_date": "2026-05-01T10:00:00Z", "platform:referrer_data": {"referrer": "group-a"}}
    >>> signatures = of.read_signatures([{"osdi:signature": signature}])
    >>> of.signatures_by_referrer(signatures)["signatures"].to_dict()
    {'group-a': 1}
    """
    counting = Counting(include=include, spelling=spelling)
    return make(DECLARED["signatures_by_referrer"], signatures, counting, titles=petitions, actions=actions)


def signatures_by_website(
    signatures: pd.DataFrame,
    petitions: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the signatures that came from each website, most first.

    The service sends a host or a whole address (interface 2.7). The report has the host without ``www.``, or with
    ``spelling="exact"`` the text that was sent.

    See `signatures_by`.

    >>> import osdi_frames as of
    >>> signature = {"created_date": "2026-05-01T10:00:00Z", "platform:referrer_data": {"website": "www.example.org/x"}}
    >>> signatures = of.read_signatures([{"osdi:signature": signature}])
    >>> of.signatures_by_website(signatures)["signatures"].to_dict()
    {'example.org': 1}
    """
    counting = Counting(include=include, spelling=spelling)
    return make(DECLARED["signatures_by_website"], signatures, counting, titles=petitions, actions=actions)


def signatures_by_region(
    signatures: pd.DataFrame,
    petitions: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
    share: Share = "total",
) -> pd.DataFrame:
    """Count the signatures of each region and country, most first.

    See `signatures_by`.

    >>> import osdi_frames as of
    >>> person = {"postal_addresses": [{"country": "US", "region": "CA"}]}
    >>> signature = {"created_date": "2026-05-01T10:00:00Z", "person": person}
    >>> signatures = of.read_signatures([{"osdi:signature": signature}])
    >>> of.signatures_by_region(signatures)["signatures"].to_dict()
    {('US', 'CA'): 1}
    """
    counting = Counting(include=include, spelling=spelling, share=share)
    return make(DECLARED["signatures_by_region"], signatures, counting, titles=petitions, actions=actions)


def signatures_by_month(
    signatures: pd.DataFrame,
    petitions: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Count the signatures of each month, months without any included.

    See `signatures_by`.

    >>> import osdi_frames as of
    >>> signatures = of.read_signatures([{"osdi:signature": {"created_date": "2026-05-01T10:00:00Z"}}])
    >>> of.signatures_by_month(signatures)["signatures"].to_dict()
    {'2026-05': 1}
    """
    counting = Counting(include=include, spelling=spelling, timezone=timezone)
    return make(DECLARED["signatures_by_month"], signatures, counting, titles=petitions, actions=actions)


def signatures_by(
    signatures: pd.DataFrame,
    by: By,
    petitions: pd.DataFrame | None = None,
    *,
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
    share: Share = "total",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Count the signatures by any column, by several, or by a period of time.

    The service's own tables count signatures, its charts people. Rows without a value are counted in the row
    ``(none)``, and so are those with the text ``none``, which the service's API writes for no value. `people` has no
    total, since a person can sign through two sources.
    With a time among the keys the rows are in the order of the keys. A single Grouper shows every period between
    the first and the last, with 0 if nothing was in it; gaps of more than ten years are left out.

    Parameters
    ----------
    signatures
        One row per signature, with person_id and created_date.
    by
        A column, a Grouper, as ``pd.Grouper(key="created_date", freq="MS")``, or a list of them.
    petitions
        One row per petition, with petition_id and title, which adds the column `title` if petition_id is a key.
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
        Indexed by its keys, most `signatures` first, times in order. Its columns:

    signatures
        The number of signatures.
    people
        The number of distinct person_id; rows without one count no person.
    new
        The number of these people who were not on the list before: this was their first act (see `Archive.actions`).
        Missing if it is unknown of all of them. Only with `actions`.
    share
        The share of all signatures of the frame, 0 to 1.
    first, last
        The first and the last created_date, in the zone.
    cumulative
        Over time: the number of signatures up to the end of the period.

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
    >>> signature = {"created_date": "2026-05-01T10:00:00Z", "platform:petition_id": "park"}
    >>> signatures = of.read_signatures([{"osdi:signature": signature}])
    >>> of.signatures_by(signatures, ["petition_id", "source"])["signatures"].to_dict()
    {('park', '(none)'): 1}
    """
    counting = Counting(by=by, include=include, spelling=spelling, share=share, timezone=timezone)
    return make(DECLARED["signatures_by"], signatures, counting, titles=petitions, actions=actions)


def signatures_over_time(
    signatures: pd.DataFrame,
    by: By | None = None,
    petitions: pd.DataFrame | None = None,
    *,
    freq: str = "D",
    actions: pd.DataFrame | None = None,
    include: Collection[str] = (),
    spelling: Spelling = "merged",
    timezone: str | None = None,
) -> pd.DataFrame:
    """Count the signatures of each day, week, month or other period, periods without any included.

    Periods are named by their start, in the zone: a week ("W" is Monday to Sunday) by its Monday, where a pandas
    Grouper takes its Sunday; a month by its first day. Gaps of more than ten years are left out. Rows without a
    created_date (the service's "send test") are counted in the last row ``NaT``, if there are any;
    ``report[report.index.notna()]`` is without that row. With `by`, each value has a column of counts, the value with
    most of them first. See `signatures_by`.

    >>> import osdi_frames as of
    >>> signatures = of.read_signatures([{"osdi:signature": {"created_date": "2026-05-01T10:00:00Z"}}])
    >>> of.signatures_over_time(signatures, freq="W")["signatures"].tolist()
    [1]
    """
    counting = Counting(by=by, freq=freq, include=include, spelling=spelling, timezone=timezone)
    return make(DECLARED["signatures_over_time"], signatures, counting, titles=petitions, actions=actions)
