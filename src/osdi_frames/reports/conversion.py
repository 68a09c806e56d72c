"""From one act to another: how many people get there, and where they came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from osdi_frames.errors import InvalidArgument
from osdi_frames.messages import counted, quoted
from osdi_frames.reports.acts import Acts, known_action, noted
from osdi_frames.reports.groups import By
from osdi_frames.reports.known import Duration, TimeLike, parsed
from osdi_frames.reports.spelling import Spelling, checked_spelling

_Z: Final = NormalDist().inv_cdf(0.975)  # of a 95% interval
_STEPS: Final = ("signed", "rsvped", "attended")


def funnel(
    actions: pd.DataFrame,
    steps: Sequence[str] = _STEPS,
    *,
    within: Duration = "30D",
    by: By | None = None,
    now: TimeLike | None = None,
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the people who reach each of several steps.

    Each person starts at their first act of the first step. A later step is reached by an act at or after that of the
    step before, no later than `within` after the start; it may lie between others. A person is counted once a step.
    Acts without a date, or whose person is not known, reach no step. Nor do those with a doubtful date, as `compare`
    has it: they are set aside, and `note` names them.

    The interval is Wilson's, with z = 1.96, of the share p of the n people of the first step:
    ``(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)``.

    Parameters
    ----------
    actions
        one row per act, with person_id, date and action, as ``osdi_frames.open(source).actions()`` returns it
    steps
        two or more different values of `action`, in order
    within
        the longest time from the first step to any other
    by
        a column, or several, of the act at which a person starts: a funnel for each of its values
    now
        as for `compare`
    include
        which acts to count though they are `excluded`; the attribute `note` says how many were not
    spelling
        ``merged`` counts spellings of one source, referrer, website, region or country as one value of `by`;
        ``exact`` keeps them apart

    Returns
    -------
    DataFrame
        indexed by step, in order; with `by` by its values and step, most people at the first step first. The attribute
        `within` is the longest time in words; `note` says how many people started so late that it has not passed

        - people: how many reached the step
        - of_first: of the people of the first step, 0 to 1; missing where there are none
        - of_previous: of the people of the step before; missing for the first step, and where there are none
        - low, high: the 95% interval of of_first; missing for the first step, whose share is 1

    Raises
    ------
    MissingColumn
        the frame lacks a column that is needed
    InvalidArgument
        a step is mistyped or comes twice, there is one alone, or `within` is no time

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "bob"],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-05-09", "2026-07-01"], utc=True),
    ...     "action": ["signed", "signed", "rsvped", "rsvped"],
    ... })
    >>> made = funnel(actions, ["signed", "rsvped"], within="30D").round(2)
    >>> made["people"].to_dict(), made["of_first"].to_dict(), made.loc["rsvped", ["low", "high"]].tolist()
    ({'signed': 2, 'rsvped': 1}, {'signed': 1.0, 'rsvped': 0.5}, [0.09, 0.91])
    """
    checked_spelling(spelling)
    limit = _duration(within)
    acts, aside = Acts.of(actions, "action", report="funnel", include=include, by=by, now=now).known_ones()
    steps = _checked_steps(steps, acts.rows)
    reached = _reached(acts, steps, limit)
    start = reached[steps[0]]
    size = pd.DataFrame({step: times.notna() for step, times in reached.items()}).astype("int64")
    notes: tuple[str, ...] = tuple(aside)
    if by is None:
        made = _shares(pd.DataFrame([size.sum()], columns=list(steps)).astype("int64"))
        made.index = pd.Index(steps, name="step")
    else:
        groups = acts.groups(start.index, by, spelling)
        people = size.groupby(groups.number.to_numpy()).sum().reindex(range(len(groups.labels)), fill_value=0)
        order = groups.ranked(people[steps[0]])
        labels = groups.labels.take(order)
        made = _shares(people.iloc[order])
        parts = [labels.get_level_values(level).repeat(len(steps)) for level in range(labels.nlevels)]
        made.index = pd.MultiIndex.from_arrays(
            [*parts, pd.Index([*steps] * len(labels), dtype="str")], names=[*labels.names, "step"]
        )
        notes = (*aside, *groups.notes)
    early = int((start > acts.known.newest - limit).sum())
    length = _in_words(within, limit)
    if early:
        notes = (
            *notes,
            f"{counted(early, 'person', 'people')} began less than {length} before the newest act",
        )
    made = noted(made, acts.notes, notes)
    made.attrs["within"] = length
    return made


def _duration(within: Duration) -> pd.Timedelta:
    limit = parsed(pd.Timedelta, within)
    if limit is None or limit < pd.Timedelta(0):
        raise InvalidArgument(f"funnel: within is a time, as '30D', not {quoted(within)}")
    return limit


def _in_words(within: Duration, limit: pd.Timedelta) -> str:
    """Return a time in days, if it is whole days.

    >>> _in_words("30D", pd.Timedelta("30D")), _in_words("6h", pd.Timedelta("6h"))
    ('30 days', '6h')
    """
    return counted(limit.days, "day") if limit == pd.Timedelta(days=limit.days) else str(within)


def _checked_steps(steps: Any, rows: pd.DataFrame) -> list[str]:
    if isinstance(steps, str) or not isinstance(steps, Iterable):
        raise InvalidArgument(
            f"funnel: steps is a list of actions, as {quoted(list(_STEPS))}, not {quoted(steps)}"
        )
    known = [known_action(step, rows, report="funnel", argument="steps") for step in steps]
    if len(known) < 2 or len(set(known)) < len(known):
        raise InvalidArgument(f"funnel: steps are two or more different actions, not {quoted(known)}")
    return known


def _reached(acts: Acts, steps: Sequence[str], limit: pd.Timedelta) -> dict[str, pd.Series]:
    """Return when each person reached each step, by the place of their first act of the first step."""
    rows = acts.rows.dropna(subset=["person_id", "date"])
    of_step = {step: rows[rows["action"] == step] for step in steps}
    anchors = of_step[steps[0]].drop_duplicates("person_id")
    place = pd.Series(anchors.index, anchors["person_id"].array)
    start = anchors["date"]
    times = {steps[0]: start}
    before = start
    for step in steps[1:]:
        later = of_step[step]
        later = later.assign(place=later["person_id"].map(place)).dropna(subset="place")
        at = later["place"].astype("int64").array
        is_next = (later["date"].array >= before.reindex(at).array) & (
            later["date"].array - start.reindex(at).array <= limit
        )
        first = later[is_next].drop_duplicates("person_id")
        before = pd.Series(first["date"].array, first["place"].astype("int64").array).reindex(start.index)
        times[step] = before
    return times


def _shares(people: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of people, a row per step, of people with a row per group and a column per step."""
    counts = people.to_numpy("float64")
    first, previous = counts[:, :1], counts[:, :-1]
    share = np.divide(counts, first, out=np.full_like(counts, np.nan), where=first > 0)
    of_previous = np.full_like(counts, np.nan)
    np.divide(counts[:, 1:], previous, out=of_previous[:, 1:], where=previous > 0)
    n, p = np.where(first > 0, first, np.nan), share.copy()
    p[:, :1] = np.nan
    middle, spread = p + _Z**2 / (2 * n), _Z * np.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
    columns = {
        "of_first": share,
        "of_previous": of_previous,
        "low": np.maximum((middle - spread) / (1 + _Z**2 / n), 0),
        "high": np.minimum((middle + spread) / (1 + _Z**2 / n), 1),
    }
    made = {name: values.ravel() for name, values in columns.items()}
    return pd.DataFrame({"people": people.to_numpy("int64").ravel(), **made})


def attribution(
    actions: pd.DataFrame,
    to: str = "rsvped",
    *,
    by: By = "source",
    touch: Literal["first", "last", "both"] = "first",
    include: Iterable[str] = (),
    spelling: Spelling = "merged",
) -> pd.DataFrame:
    """Count the people who acted, by what brought them.

    With ``touch="first"`` they came from the source of their first act of any kind, which brought them into the
    archive; with ``touch="last"`` from that of their first act of the kind `to`, which made them do it. An act that
    is the first of both is counted with both. Each person is in one row, so the sum is the number of people. An act
    without a date comes after those with one.

    Parameters
    ----------
    actions
        one row per act, with person_id, date, action and what `by` names, as ``osdi_frames.open(source).actions()``
        returns it
    to
        what they did: a value of `action`
    by
        a column, or several: source, referrer, website, …
    touch
        ``first``, ``last``, or ``both``
    include
        which acts to count though they are `excluded`; the attribute `note` says how many were not
    spelling
        ``merged`` counts spellings of one source, referrer, website, region or country as one row; ``exact`` keeps
        them apart

    Returns
    -------
    DataFrame
        indexed by what `by` names, most people first, then in the order of the index

        - people: how many people
        - share: of all who did it, 0 to 1

        With ``both`` there are instead first_people, first_share, last_people and last_share, in the order of
        first_people

    Raises
    ------
    MissingColumn
        the frame lacks a column that is needed
    InvalidArgument
        `to` is mistyped, or `touch` is none of these

    Examples
    --------
    >>> actions = pd.DataFrame({
    ...     "person_id": ["ann", "bob", "ann", "cat"],
    ...     "date": pd.to_datetime(["2026-05-01", "2026-05-02", "2026-05-09", "2026-05-10"], utc=True),
    ...     "action": ["signed", "rsvped", "rsvped", "signed"],
    ...     "source": ["email", "web", "web", "web"],
    ...     "number": [1, 1, 2, 1],
    ... })
    >>> attribution(actions)["people"].to_dict(), attribution(actions, touch="last")["people"].to_dict()
    ({'email': 1, 'web': 1}, {'web': 2})
    """
    if touch not in ("first", "last", "both"):
        raise InvalidArgument(f"attribution: touch is 'first', 'last' or 'both', not {quoted(touch)}")
    checked_spelling(spelling)
    acts = Acts.of(actions, "action", "number", report="attribution", include=include, by=by)
    known_action(to, acts.rows, report="attribution", argument="to")
    last = acts.first_of_each(to)
    first = acts.first_of_each()
    first = first[first["person_id"].isin(last["person_id"])]
    touched = {
        name: rows.index for name, rows in (("first", first), ("last", last)) if touch in (name, "both")
    }
    groups = acts.groups(pd.Index(np.concatenate([*touched.values()]), dtype="int64"), by, spelling)
    numbers = np.split(groups.number.to_numpy(), len(touched))
    made = pd.DataFrame(index=groups.labels)
    for name, number in zip(touched, numbers, strict=True):
        people = np.bincount(number, minlength=len(groups.labels)).astype("int64")
        start = f"{name}_" if touch == "both" else ""
        made[f"{start}people"], made[f"{start}share"] = people, people / max(len(last), 1)
    made = made.iloc[groups.ranked(made.iloc[:, 0])]
    earlier = int((~first["person_id"].isin(acts.started)).sum()) if touch != "last" else 0
    began = (
        f"{counted(earlier, 'person', 'people')} acted before the first act in the frame" if earlier else ""
    )
    return noted(made, [*acts.notes, began], groups.notes)
