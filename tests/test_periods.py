"""Every report over time takes the same periods, and refuses the same."""

from __future__ import annotations

import inspect
import re

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames import reports
from osdi_frames.errors import InvalidArgument
from osdi_frames.messages import quoted

TIMES = pd.to_datetime(
    ["2025-12-30T23:59", "2026-01-01T00:00", "2026-01-17T12:00", "2026-02-28T23:00"], utc=True
)
ROWS = pd.DataFrame(
    {
        "created_date": TIMES,
        "date": TIMES,
        "person_id": ["ann", "bob", "cat", "dan"],
        "number": 1,
        "action": "signed",
        "subject_id": "park",
        "attended": False,
        "source": "email",
        "is_new": True,
    }
)
#: Functions with `freq`, and the times that they count by.
HAVE_FREQ = {
    "signatures_over_time": "created_date",
    "attendances_over_time": "created_date",
    "engagement": "date",
    "retention": "date",
    "growth": "date",
}


def test_these_reports_have_periods():
    functions = {name: getattr(of, name) for name in dir(of)}
    with_freq = {
        name
        for name, function in functions.items()
        if inspect.isfunction(function) and "freq" in inspect.signature(function).parameters
    }
    assert with_freq == set(HAVE_FREQ)


@pytest.mark.parametrize("name", HAVE_FREQ)
def test_a_period_is_named_as_a_period_or_an_offset_of_pandas(name):
    column = HAVE_FREQ[name]
    for freq in ("h", "D", "W", "M", "Q", "Y", "MS", "ME", "QS", "QE", "YS", "YE", "W-MON"):
        made = getattr(of, name)(ROWS, freq=freq)
        alias = freq if freq.startswith("W") else freq[0]
        starts = ROWS[column].dt.tz_localize(None).dt.to_period(alias).dt.start_time.dt.tz_localize("UTC")
        assert set(starts) <= set(made.index), freq
        assert (made.index.min(), made.index.max()) == (starts.min(), starts.max()), freq


@pytest.mark.parametrize("name", HAVE_FREQ)
def test_what_is_no_period_is_refused(name):
    for freq in ("fortnight", "5", "", "0D", "-1D", "W-ABC", "M-MON", None, 5, ["D"]):
        message = f"^{name}: freq is h, D, W, M, Q or Y,.* not {re.escape(quoted(freq))}$"
        with pytest.raises(InvalidArgument, match=message):
            getattr(of, name)(ROWS, freq=freq)


def test_a_period_of_a_column_is_one_of_five():
    with pytest.raises(InvalidArgument, match=r"^Period: freq is D, W, M, Q or Y"):
        reports.Period("created_date", "fortnight")
