"""What is drawn sums to the total; a plot draws on the axes it was given, and leaves everything else as it was."""

from __future__ import annotations

import inspect
from functools import cache

import matplotlib as mpl
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames import plots, reports
from osdi_frames.errors import InvalidArgument, MissingColumn, OsdiError

from .drawn import (
    DRAWN,
    EVENTS,
    TABLES,
    axes,
    draw,
    every_text,
    generated,
    made,
    read_back,
    render,
    texts,
    total,
)
from .drawn import counted as counted_by

REPORTS = {report.name: report for report in reports.REPORTS}


@cache
def every_plot() -> list[tuple[str, pd.DataFrame]]:
    """Return every plot, with a report to draw."""
    return [(name, make()) for name, make in DRAWN.values()]


def test_every_report_has_its_plot_and_every_plot_its_report():
    assert set(REPORTS) <= set(plots.__all__) & set(reports.__all__) & set(of.__all__)


#: Plots that show all that there is.
WHOLE = {"activity", "event_map", "signature_map", "engagement", "retention", "weekday_hours"}
#: Plots of frames that are not reports.
FRAMES = {"event_map": "events", "signature_map": "signatures"}


def test_plots_are_called_alike():
    for name in plots.__all__:
        first, *others = inspect.signature(getattr(plots, name)).parameters.values()
        assert first.name == FRAMES.get(name, "report")
        assert all(other.kind is other.KEYWORD_ONLY for other in others), name
        assert others[0].name == "ax"
        assert name in WHOLE or (others[1].name, others[1].default) == ("top", 20)


# -- what is drawn sums to the total --


def counted(name: str, report: pd.DataFrame) -> int:
    """Return what a report counts in all; of one that grows, at the end."""
    declared = REPORTS[name]
    counts = report[declared.count] if declared.count in report.columns else report
    if declared.kind == "growth":
        counts = counts[report.index.notna()].tail(1)
    return int(counts.to_numpy().sum())


@pytest.mark.parametrize("table", TABLES)
@settings(max_examples=2, deadline=None, phases=[Phase.generate])  # to shrink a failure takes minutes
@given(data=st.data(), top=st.integers(1, 12))
def test_what_is_drawn_sums_to_the_total(table, data, top):
    rows = data.draw(generated(TABLES[table]))
    of_table = [name for name, declared in REPORTS.items() if declared.table == table]
    for name, report in [(each, report) for each in of_table for report in made(each, rows)]:
        expected = counted(name, report)
        ax = draw(name, read_back(report.sample(frac=1, random_state=top)), top=top)
        assert total(ax) == expected, name
        said = f"{expected:,} in all" in f"{ax.get_xlabel()} {ax.get_ylabel()}"
        assert said or texts(ax) == ["nothing to report"], name


# -- what a plot does to what it was given --


def test_the_callers_axes_are_drawn_on_in_its_style_and_nothing_else_is_changed():
    mpl.get_backend()  # chosen when first asked for
    with plt.style.context("dark_background"):
        settings = mpl.rcParams.copy()
        for name, frame in every_plot():
            ax, open_figures, before = axes(), plt.get_fignums(), frame.copy(deep=True)
            assert draw(name, frame, ax=ax) is ax
            assert ax.has_data()
            assert {mpl.colors.to_hex(text.get_color()) for text in every_text(ax)} == {"#ffffff"}, name
            assert len(ax.figure.axes) == 1
            assert plt.get_fignums() == open_figures
            assert mpl.rcParams == settings, name
            assert_frame_equal(frame, before)


@pytest.mark.parametrize("drawn", ["rsvps_by_campaign", "rsvps_over_time", "retention", "event_map"])
def test_without_axes_one_figure_is_made_that_pyplot_knows_so_that_notebooks_show_it(drawn):
    name, make = DRAWN[drawn]
    ax = draw(name, make(), ax=None)
    assert len(plt.get_fignums()) == 1
    assert plt.gcf() is ax.figure
    render(ax)


def test_an_empty_report_says_that_there_is_nothing():
    for name, frame in every_plot():
        ax = draw(name, frame.head(0))
        assert texts(ax) == ["nothing to report"], name
        assert ax.get_title(loc="left")
        assert not ax.patches


# -- what is refused --


def test_a_raw_frame_is_refused_with_what_to_call():
    for name, declared in REPORTS.items():
        with pytest.raises(
            InvalidArgument, match=rf"of\.plots\.{name}\(of\.{name}\({declared.table}"
        ) as caught:
            draw(name, TABLES[declared.table])
        assert isinstance(caught.value, (OsdiError, ValueError))
        assert "\n" not in str(caught.value)


def test_what_is_no_frame_is_refused_with_what_to_call():
    for name in REPORTS:
        for given_ in (None, [1], "data", EVENTS["total_accepted"]):
            with pytest.raises(InvalidArgument, match=f"of.plots.{name}"):
                draw(name, given_)


def test_the_report_of_another_plot_is_refused():
    for name, other in (
        ("rsvps_by_campaign", "signatures_by_source"),
        ("signatures_by_source", "rsvps_by_campaign"),
        ("rsvps_over_time", "rsvps_by month"),
        ("rsvps_over_time", "rsvps_by region"),
        ("signatures_over_time", "signatures_by_source"),
        ("signatures_over_time", "rsvps_by month"),
        ("rsvps_by_region", "rsvps_by_campaign"),
    ):
        with pytest.raises(InvalidArgument, match=f"plots.{name} draws the report of the same name"):
            draw(name, DRAWN[other][1]())


def test_a_report_by_something_else_is_not_drawn_under_the_title():
    of_one_table = [
        (name, other)
        for name, drawn in REPORTS.items()
        for other, declared in REPORTS.items()
        if name != other and declared.table == drawn.table and drawn.by is not None is not declared.by
    ]
    of_others = [
        ("rsvps_by_month", "attendances_by_month"),
        ("rsvps_by_campaign", "attendances_by_source"),
        ("signatures_over_time", "attendances_over_time"),
    ]
    made_once = {name: made(name, TABLES[declared.table])[0] for name, declared in REPORTS.items()}
    for name, other in of_one_table + of_others:
        with pytest.raises(InvalidArgument, match=rf"this frame (is by|has the column) .*of\.{name}\("):
            draw(name, made_once[other])


def test_a_report_whose_index_is_renamed_or_cut_is_drawn():
    report = of.rsvps_by_region(EVENTS)
    assert (
        draw("rsvps_by_region", report.rename_axis(["Land", "Region"])).get_title("left") == "RSVPs by region"
    )
    assert draw("rsvps_by_region", report.xs("US")[["rsvps"]]).get_title("left") == "RSVPs by region"
    with pytest.raises(InvalidArgument, match=r"this frame is by country: of\.plots\.rsvps_by_region"):
        draw("rsvps_by_region", of.rsvps_by(EVENTS, "location_country"))


def test_a_report_whose_values_became_a_column_is_refused():
    for name, make in (
        DRAWN[drawn] for drawn in ("rsvps_by_campaign", "rsvps_by month", "signatures_by two")
    ):
        with pytest.raises(InvalidArgument, match="is not indexed by its values, as set_index makes it"):
            draw(name, make().reset_index())


def test_a_frame_that_is_no_table_of_events_has_no_map():
    with pytest.raises(MissingColumn, match="event_map needs location_longitude, location_latitude"):
        draw("event_map", EVENTS[["total_accepted"]])


# -- what is drawn fits --


@pytest.mark.parametrize(("width", "layout"), [(5, None), (8, "constrained")])
def test_labels_and_legends_are_within_the_figure_and_apart(width, layout):
    long = pd.Index([f"{'a long source' * 4} {number}" for number in range(12)], name="source")
    days = pd.date_range("2021-01-04", periods=260, freq="W-MON", tz="UTC", name="created_date")
    reports_of_long = {
        "signatures_by_source": counted_by(dict.fromkeys(long, 500)),
        "signatures_over_time": pd.DataFrame(3, index=days, columns=long),
        "attribution": pd.DataFrame(
            {"first_people": 9, "first_share": 0.08, "last_people": 8, "last_share": 0.08}, index=long
        ),
        "compare": pd.DataFrame({"before": 1000, "now": 1200, "change": 200}, index=long),
    }
    for name, report in reports_of_long.items():
        figure = Figure(figsize=(width, 4.5), layout=layout)
        ax = draw(name, report, ax=figure.subplots())
        every_text(ax)
        whole, inside = figure.bbox.padded(1), ax.get_tightbbox()
        assert whole.x0 <= inside.x0 < inside.x1 <= whole.x1, name
        assert whole.y0 <= inside.y0 < inside.y1 <= whole.y1, name
        if ax.get_legend():
            place = ax.get_legend().get_window_extent()
            assert not any(text.get_window_extent().overlaps(place) for text in ax.texts), name


def test_of_several_axes_none_is_moved():
    figure = Figure(figsize=(8, 4.5))
    _, second = figure.subplots(1, 2)
    place = second.get_position().bounds
    draw("signatures_by_source", counted_by({"a long source" * 4: 1}), ax=second)
    assert second.get_position().bounds == place
