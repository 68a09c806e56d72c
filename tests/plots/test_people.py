"""Plots of people and change: what is drawn is what the report says."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes

import osdi_frames as of
from osdi_frames.errors import InvalidArgument
from osdi_frames.reports.declared import DECLARED
from tests.acts import ACTS, frame

from .drawn import ACTS as SOME
from .drawn import DRAWN, SIGNATURES, axes, draw, every_text, heights, legend, names, read_back, render, texts

FEW = settings(max_examples=5, deadline=None, phases=[Phase.generate])  # to shrink a failure takes minutes
TOP = st.integers(1, 6)


def lengths(ax: Axes) -> list[list[int]]:
    """Return the lengths of horizontal bars, a list for each series."""
    return [[int(bar.get_width()) for bar in container] for container in ax.containers]


def is_empty(ax: Axes) -> bool:
    return texts(ax) == ["nothing to report"]


@FEW
@given(ACTS, st.sampled_from(["M", "W"]))
def test_bars_of_engagement_are_people_above_the_line_and_who_lapsed_below(rows, freq):
    report = of.engagement(frame(rows), freq)
    ax = draw("engagement", read_back(report))
    assert is_empty(ax) == report.empty
    if len(report):
        in_order = pd.concat([report[report.index.notna()], report[report.index.isna()]])
        above = [in_order[name].tolist() for name in ("retained", "back", "first")]
        assert heights(ax) == [*above, (-in_order["lapsed"].fillna(0)).tolist()]
        assert legend(ax) == ["lapsed", "first", "back", "retained"]
        assert ax.get_ylabel() == "people"


@FEW
@given(ACTS)
def test_cells_of_retention_are_its_shares_and_blank_where_none_is_known(rows):
    report = of.retention(frame(rows))
    ax = draw("retention", report)
    shares = report.drop(columns="people").to_numpy(dtype="float64")
    shares = shares[:, 1:] if shares.shape[1] > 1 else shares
    assert is_empty(ax) == (not np.isfinite(shares).any())
    if not is_empty(ax):
        drawn = ax.images[0].get_array()
        assert np.array_equal(drawn.filled(np.nan), shares, equal_nan=True)
        render(ax)


@FEW
@given(ACTS, TOP)
def test_bars_of_repeats_are_people_with_the_most_acts_together(rows, top):
    report = of.repeats(frame(rows))
    ax = draw("repeats", report.sample(frac=1, random_state=1), top=top)
    people = report["people"].tolist()
    rest = [sum(people[top:])] if people[top:] else []
    assert lengths(ax) == ([[*people[:top], *rest]] if people else [])


@FEW
@given(ACTS, TOP, st.sampled_from([None, "source"]))
def test_bars_of_a_funnel_sum_to_the_people_of_each_step(rows, top, by):
    report = of.funnel(frame(rows), ["signed", "rsvped"], by=by, within="99D")
    ax = draw("funnel", report, top=top)
    drawn = np.array([*itertools.chain(*lengths(ax))]).reshape(-1, 2)
    assert (
        drawn.sum(axis=0).tolist()
        == of.funnel(frame(rows), ["signed", "rsvped"], within="99D")["people"].tolist()
    )
    shown = report.index.get_level_values(0).nunique() if by else 1
    assert len(drawn) == (min(shown, top + 1) if by else 1)
    intervals = {tuple(line.get_xdata()) for line in ax.lines}
    first = report["people"].groupby(level=0).transform("first") if by else report["people"].iloc[0]
    assert intervals <= {*zip(report["low"] * first, report["high"] * first, strict=True)}


@FEW
@given(ACTS, TOP)
def test_pairs_of_bars_sum_to_both_columns(rows, top):
    both = of.attribution(frame(rows), touch="both")
    change = of.compare(frame(rows), "30D")
    for name, report, columns in (
        ("attribution", both, ["first_people", "last_people"]),
        ("compare", change, ["before", "now"]),
    ):
        ax = draw(name, read_back(report), top=top)
        assert is_empty(ax) == report.empty
        if len(report):
            assert [sum(series) for series in lengths(ax)] == report[columns].sum().tolist()
            assert lengths(ax)[1][: min(top, len(report))] == report[columns[1]].tolist()[:top]
            assert all(f"{count:,}" in ax.get_xlabel() for count in report[columns].sum())
            render(ax)


def test_bars_of_one_touch_and_of_hosts_are_the_report():
    assert lengths(draw("attribution", of.attribution(SOME, "signed"))) == [[1, 1]]
    ax = draw("hosts", of.hosts(SOME))
    assert (names(ax), lengths(ax)) == (["bob"], [[1]])


def test_shares_are_of_everybody_also_where_the_report_is_cut():
    report = of.attribution(SOME, "signed", touch="both")
    assert texts(draw("attribution", report.head(1))) == ["1 · 50.0%", "1 · 50.0%"]
    assert texts(draw("attribution", report, top=1))[-1] == "1 · 50.0%"


def test_of_more_than_80_periods_the_last_are_drawn_and_the_axis_says_so():
    for offset, freq, name in (("MS", "M", "months"), ("W-MON", "W", "weeks"), ("D", "D", "days")):
        days = pd.date_range("2017-01-02", periods=90, freq=offset, tz="UTC")
        rows = SOME.iloc[[0] * 90].assign(date=days, number=range(1, 91))
        ax = draw("engagement", of.engagement(rows, freq))
        assert ax.get_xlabel() == f"date (UTC); the last 80 {name}, without 10 before"
        assert len(heights(ax)[0]) == 80


def test_the_hours_of_the_week_are_drawn_as_they_are_counted():
    local = of.utc_to_local(SIGNATURES, timezone="UTC")
    ax = draw("weekday_hours", of.weekday_hours(local))
    cells = ax.images[0].get_array().filled(0)
    assert cells.shape == (7, 24)
    assert cells.sum() == SIGNATURES["created_date"].notna().sum()
    assert cells[3, 0] == 1  # Thursday, the 5th of March
    assert names(ax)[0] == "Monday"


#: Plots of frames, which are no reports.
MAPS = {"event_map", "signature_map"}
PEOPLE = [name for name, (plot, _) in DRAWN.items() if plot not in {*DECLARED, *MAPS}]


def test_the_plot_of_another_report_is_refused_with_what_to_call():
    others = (DRAWN["signatures_by_source"][1](), SOME, None, [1], SOME["date"])
    for plot, other in itertools.product({DRAWN[name][0] for name in PEOPLE}, others):
        with pytest.raises(
            InvalidArgument, match=rf"plots\.{plot} draws the report of the same name, .*of\.{plot}\("
        ):
            draw(plot, other)


#: What sources may be called; whatever it is, it is drawn.
HOSTILE = [
    "$x_1$ \\frac{",
    "مرحبا",
    "日本語の" * 20,
    "_a",
    "(other: 3)",
    "a\nb\x00c",
    "🎉",
    "x" * 300,
    "=1+1",
    " ",
]


@pytest.mark.parametrize("size", [(2.5, 2), (30, 0.9)], ids=str)
def test_hostile_names_are_drawn_on_axes_of_any_size(size):
    rows = SOME.loc[[0, 2] * len(HOSTILE)].assign(
        source=np.repeat(HOSTILE, 2), person_id=np.repeat([f"p{n}" for n in range(len(HOSTILE))], 2)
    )
    made = {
        "funnel": of.funnel(rows, by="source", within="4D"),
        "attribution": of.attribution(rows, touch="both"),
        "compare": of.compare(rows, "M", until="2026-03"),
        "retention": of.retention(rows, "D"),
        "hosts": of.hosts(rows.assign(action=["hosted", "rsvped"] * len(HOSTILE), subject_id="march")),
    }
    for name, report in made.items():
        ax = draw(name, report, ax=axes(*size))
        assert len(every_text(ax)) > 3, name


def test_what_is_hidden_is_called_so():
    report = of.attribution(SOME, "signed", touch="both").astype(
        {"first_people": "Int64", "last_people": "Int64"}
    )
    report.iloc[1] = pd.NA
    assert texts(draw("attribution", report)).count("hidden") == 2


def test_steps_are_named_as_in_tables():
    assert names(draw("funnel", of.funnel(SOME, ["signed", "rsvped"]))) == ["signed", "RSVPed"]


def test_a_value_called_other_is_not_cut_short():
    index = pd.Index(["(other: 2)", "a"], name="source")
    report = pd.DataFrame({"before": [90, 9], "now": [90, 9], "change": 0}, index=index)
    assert texts(draw("compare", report)) == ["90", "9", "90 · ±0", "9 · ±0"]
    others = pd.DataFrame({"before": 9, "now": 9, "change": 0}, index=[f"s{number}" for number in range(9)])
    assert "72 (cut short)" in texts(draw("compare", others, top=1))
