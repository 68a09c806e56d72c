"""Signatures: counted by where they came from and when."""

from __future__ import annotations

import pandas as pd

from osdi_frames.reports.columns import UTC, By, identity, take, utc
from osdi_frames.reports.groups import Groups, group, group_periods

_COLUMNS = {"signatures": "int64", "people": "int64", "share": "float64", "first": UTC, "last": UTC}

# A webhook leaves a missing source out; the service's REST API writes the literal `none`.
_NOTHING = ("", "none")


def signatures_by_source(signatures: pd.DataFrame) -> pd.DataFrame:
    """Count the signatures of each source code, most first.

    Counts signatures, and people beside: the service's own charts count people once, its tables count
    signatures. Missing, blank and the literal ``none`` are the row ``(none)``, so `signatures` sums to
    the total; `people` does not, as one person can sign through two sources. ``_`` and ``-`` are the same
    to the service's targeting but are not merged here.

    Parameters
    ----------
    signatures
        one row per signature, with source, person_id and created_date

    Returns
    -------
    DataFrame
        indexed by source, in the order of `signatures`, then of the index:

        - signatures: how many
        - people: how many distinct person_id; a signature without one is nobody's
        - share: of all signatures of the frame, 0 to 1
        - first, last: created_date (UTC)

    Raises
    ------
    MissingColumn
        the frame lacks one of the three columns
    UnfitColumn
        created_date holds what is no time

    Examples
    --------
    >>> signatures = pd.DataFrame({
    ...     "source": ["email", "email", "none", "email"],
    ...     "person_id": ["p1", "p1", "p2", None],
    ...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02", None, "2026-05-03"], utc=True),
    ... })
    >>> signatures_by_source(signatures)[["signatures", "people", "share"]]  # doctest: +NORMALIZE_WHITESPACE
            signatures  people  share
    source
    email            3       1   0.75
    (none)           1       1   0.25
    """
    return _signatures(signatures, "source", report="signatures_by_source")


def signatures_by_referrer(signatures: pd.DataFrame) -> pd.DataFrame:
    """Count the signatures of each referrer code, most first.

    Counts signatures, and people beside, as `signatures_by_source` does; needs referrer in place of source
    (interface 2.7). A referrer often is the sponsoring group's own code, not a person's.

    Examples
    --------
    >>> signatures = pd.DataFrame({
    ...     "referrer": ["group-a", None],
    ...     "person_id": ["p1", "p2"],
    ...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02"], utc=True),
    ... })
    >>> signatures_by_referrer(signatures)["signatures"].to_dict()
    {'(none)': 1, 'group-a': 1}
    """
    return _signatures(signatures, "referrer", report="signatures_by_referrer")


def signatures_by_website(signatures: pd.DataFrame) -> pd.DataFrame:
    """Count the signatures that came from each website, most first.

    Counts signatures, and people beside, as `signatures_by_source` does; needs website in place of source
    (interface 2.7). The service sends a host or a whole address; each is shown as it was sent.

    Examples
    --------
    >>> signatures = pd.DataFrame({
    ...     "website": ["example.org", "example.org"],
    ...     "person_id": ["p1", "p2"],
    ...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02"], utc=True),
    ... })
    >>> signatures_by_website(signatures)["people"].to_dict()
    {'example.org': 2}
    """
    return _signatures(signatures, "website", report="signatures_by_website")


def signatures_by(signatures: pd.DataFrame, by: By) -> pd.DataFrame:
    """Count the signatures by any column, by several, or by a period of time.

    Counts signatures, and people beside, as `signatures_by_source` does, with the same columns. With a
    time among the keys the rows are in the order of the keys. A list-valued column is refused: a
    signature with two tags would count twice.

    Parameters
    ----------
    signatures
        one row per signature, with person_id, created_date and what `by` names
    by
        a column, ``pd.Grouper(key="created_date", freq="MS")``, or a list of them (the index has a level
        for each)

    Returns
    -------
    DataFrame
        the columns of `signatures_by_source`

    Raises
    ------
    MissingColumn
        the frame lacks a column; all that are missing are named
    UnfitColumn
        a list-valued column in `by`, or created_date holds what is no time

    Examples
    --------
    >>> signatures = pd.DataFrame({
    ...     "petition_id": ["x", "x", "y"],
    ...     "source": ["email", "email", None],
    ...     "person_id": ["p1", "p2", "p1"],
    ...     "created_date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-05-02"], utc=True),
    ... })
    >>> report = signatures_by(signatures, ["petition_id", "source"])
    >>> report[["signatures", "people"]]  # doctest: +NORMALIZE_WHITESPACE
                        signatures  people
    petition_id source
    x           email            2       2
    y           (none)           1       1
    """
    return _signatures(signatures, by, report="signatures_by")


def signatures_over_time(signatures: pd.DataFrame, freq: str = "D", by: By | None = None) -> pd.DataFrame:
    """Count the signatures of each day, week, month or other period, periods without any included.

    Counts signatures, and people beside. Periods are named by their start, in UTC: a week by its first
    day ("W" is Monday to Sunday), a month by its first. Signatures without a created_date (the service's
    "send test") are the row ``NaT``, last, and only there if there are any:
    ``report[report.index.notna()]`` is without it.

    Parameters
    ----------
    signatures
        one row per signature, with created_date, without `by` person_id, and what `by` names
    freq
        a pandas offset alias: "h", "6h", "D", "W", "MS" or "ME", "QS", "YS"
    by
        a column, or a list of them, for one column of counts per value

    Returns
    -------
    DataFrame
        indexed by created_date, the start of the period (UTC). Without `by`: signatures, people (distinct
        person_id within the period), cumulative (signatures up to the end of the period). With `by`: the
        signatures of each value, the value with most of them first.

    Raises
    ------
    MissingColumn
        the frame lacks a column; all that are missing are named
    UnfitColumn
        a list-valued column in `by`, created_date holds what is no time, or pandas does not know the `freq`

    Examples
    --------
    >>> signatures = pd.DataFrame({
    ...     "source": ["email", None, "email"],
    ...     "person_id": ["p1", "p2", "p1"],
    ...     "created_date": pd.to_datetime(["2026-05-01T08:00Z", "2026-05-01T09:00Z", "2026-05-03T07:00Z"]),
    ... })
    >>> signatures_over_time(signatures)  # doctest: +NORMALIZE_WHITESPACE
                               signatures  people  cumulative
    created_date
    2026-05-01 00:00:00+00:00           2       2           2
    2026-05-02 00:00:00+00:00           0       0           2
    2026-05-03 00:00:00+00:00           1       1           3
    >>> signatures_over_time(signatures, "MS", by="source")  # doctest: +NORMALIZE_WHITESPACE
    source                     email  (none)
    created_date
    2026-05-01 00:00:00+00:00      2       1
    """
    report = "signatures_over_time"
    needs = {"created_date": utc} if by is not None else {"created_date": utc, "person_id": identity}
    rows = take(signatures, needs, by=by, report=report)
    periods = group_periods(rows, "created_date", freq, report=report)
    if by is None:
        counts = _counts(rows, periods)[["signatures", "people"]]
        return counts.assign(cumulative=counts["signatures"].cumsum())
    groups = group(signatures, by, nothing=_NOTHING, report=report)
    counts = groups.spread(pd.Series(1, index=rows.index), periods.number, groups.number)
    counts = counts.reindex(range(len(periods.labels)), fill_value=0).set_axis(periods.labels)
    return groups.label_columns(counts, counts.sum())


def _signatures(signatures: pd.DataFrame, by: By, *, report: str) -> pd.DataFrame:
    rows = take(signatures, {"person_id": identity, "created_date": utc}, by=by, report=report)
    groups = group(signatures, by, nothing=_NOTHING, report=report)
    return groups.rank(_counts(rows, groups), "signatures")


def _counts(rows: pd.DataFrame, groups: Groups) -> pd.DataFrame:
    of_group = rows.groupby(groups.number)
    table = pd.DataFrame(
        {
            "signatures": of_group.size(),
            "people": of_group["person_id"].nunique(),
            "first": of_group["created_date"].min(),
            "last": of_group["created_date"].max(),
        }
    )
    table["share"] = table["signatures"] / len(rows)
    return groups.label(table, _COLUMNS).fillna({"share": 0.0})[list(_COLUMNS)]
