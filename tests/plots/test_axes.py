"""A plot draws on the axes it was given, and leaves everything else as it was."""

from __future__ import annotations

import inspect
import subprocess
import sys

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames import plots, reports
from osdi_frames.errors import InvalidArgument, MissingColumn, OsdiError

from .drawn import DRAWN, EVENTS, TABLES, axes, draw, every_text, made, render, texts

REPORTS = {report.name: report for report in reports.REPORTS}


@pytest.fixture(params=DRAWN)
def drawn(request) -> tuple[str, pd.DataFrame]:
    name, make = DRAWN[request.param]
    return name, make()


@pytest.fixture(scope="module")
def sample(data) -> dict[str, pd.DataFrame]:
    events, signatures = of.read_events(data), of.read_signatures(data)
    attendances = signatures.assign(event_id=signatures["petition_id"])  # as attendances have it
    snapshots = events.dropna(subset="fetched_at")
    return {"events": events, "snapshots": snapshots, "signatures": signatures, "attendances": attendances}


def test_every_report_has_its_plot_and_every_plot_its_report():
    assert set(reports.FUNCTIONS) == set(REPORTS) <= set(of.__all__)


@pytest.mark.parametrize("name", plots.__all__)
def test_plots_are_called_alike(name):
    first, *others = inspect.signature(getattr(plots, name)).parameters.values()
    assert first.name == ("events" if name == "event_map" else "report")
    assert all(other.kind is other.KEYWORD_ONLY for other in others)
    assert others[0].name == "ax"
    if name != "event_map":
        assert (others[1].name, others[1].default) == ("top", 20)


def test_the_callers_axes_are_drawn_on_and_pyplot_knows_of_none(drawn):
    name, frame = drawn
    ax, open_figures = axes(), plt.get_fignums()
    assert draw(name, frame, ax=ax) is ax
    assert ax.has_data()
    assert len(ax.figure.axes) == 1
    assert plt.get_fignums() == open_figures


def test_without_axes_one_figure_is_made_that_pyplot_knows_so_that_notebooks_show_it(drawn):
    name, frame = drawn
    open_figures = plt.get_fignums()
    ax = draw(name, frame, ax=None)
    try:
        assert len(plt.get_fignums()) == len(open_figures) + 1
        assert plt.gcf() is ax.figure
        render(ax)
    finally:
        plt.close(ax.figure)


def test_no_setting_is_changed_and_the_report_stays_as_it_was(drawn):
    name, frame = drawn
    mpl.get_backend()  # chosen when first asked for
    settings, before = mpl.rcParams.copy(), frame.copy(deep=True)
    render(draw(name, frame))
    assert mpl.rcParams == settings
    assert_frame_equal(frame, before)


def test_pyplot_is_not_imported_for_who_brings_axes():
    program = """
import sys
from matplotlib.figure import Figure
import osdi_frames as of
from osdi_frames import plots
table = of.read_signatures([])
plots.signatures_by_source(of.signatures_by_source(table), ax=Figure().subplots())
print("matplotlib.pyplot" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_colours_of_text_are_those_of_the_style(drawn):
    name, frame = drawn
    with plt.style.context("dark_background"):
        ax = draw(name, frame, ax=axes())
        colours = {mpl.colors.to_hex(text.get_color()) for text in every_text(ax)}
    assert colours == {"#ffffff"}


def test_an_empty_report_says_that_there_is_nothing(drawn):
    name, frame = drawn
    ax = draw(name, frame.head(0))
    assert texts(ax) == ["nothing to report"]
    assert ax.get_title(loc="left")
    assert not ax.patches
    render(ax)


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_of_an_empty_archive_says_that_there_is_nothing(name):
    table = TABLES[REPORTS[name].table].head(0)
    assert texts(draw(name, made(name, table))) == ["nothing to report"]
    if name == "signatures_over_time":
        by = reports.signatures_over_time(table, by="source")
        assert texts(draw(name, by)) == ["nothing to report"]


def test_one_row_is_drawn(drawn):
    name, frame = drawn
    ax = draw(name, frame.head(1))
    assert ax.has_data()
    render(ax)


@pytest.mark.parametrize("name", REPORTS)
def test_a_raw_frame_is_refused_with_what_to_call(name):
    table = REPORTS[name].table
    with pytest.raises(InvalidArgument, match=rf"of\.plots\.{name}\(of\.{name}\({table}") as caught:
        draw(name, TABLES[table])
    assert isinstance(caught.value, (OsdiError, ValueError))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "given", [None, [1], "data", EVENTS["total_accepted"]], ids=["none", "list", "path", "series"]
)
@pytest.mark.parametrize("name", REPORTS)
def test_what_is_no_frame_is_refused_with_what_to_call(name, given):
    with pytest.raises(InvalidArgument, match=f"of.plots.{name}"):
        draw(name, given)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("rsvps_by_campaign", "signatures_by_source"),
        ("signatures_by_source", "rsvps_by_campaign"),
        ("rsvps_over_time", "rsvps_by month"),
        ("rsvps_over_time", "rsvps_by region"),
        ("signatures_over_time", "signatures_by_source"),
        ("signatures_over_time", "rsvps_by month"),
    ],
)
def test_the_report_of_another_plot_is_refused(name, other):
    with pytest.raises(InvalidArgument, match=f"plots.{name} draws the report of the same name"):
        draw(name, DRAWN[other][1]())


@pytest.mark.parametrize("drawn", ["rsvps_by_campaign", "rsvps_by month", "signatures_by two"])
def test_a_report_whose_values_became_a_column_is_refused(drawn):
    name, make = DRAWN[drawn]
    with pytest.raises(InvalidArgument, match="is not indexed by its values, as set_index makes it"):
        draw(name, make().reset_index())


def test_a_frame_that_is_no_table_of_events_has_no_map():
    with pytest.raises(MissingColumn, match="event_map needs location_longitude, location_latitude"):
        draw("event_map", EVENTS[["total_accepted"]])


def test_a_report_read_back_from_parquet_is_drawn_the_same(drawn, tmp_path):
    name, frame = drawn
    frame.to_parquet(tmp_path / "report.parquet")
    back = pd.read_parquet(tmp_path / "report.parquet")
    assert [bar.get_extents().bounds for bar in draw(name, back).patches] == [
        bar.get_extents().bounds for bar in draw(name, frame).patches
    ]


@pytest.mark.parametrize("name", REPORTS)
def test_the_sample_archive_is_drawn(name, sample):
    ax = draw(name, made(name, sample[REPORTS[name].table]))
    render(ax)
    assert ax.has_data()
