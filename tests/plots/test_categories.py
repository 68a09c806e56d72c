"""Horizontal bars: the largest on top, each with its count, the rest together, so that the sum is the total."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from osdi_frames import plots, reports
from osdi_frames.plots.colors import GREY

from .drawn import EVENTS, SIGNATURES, TABLES, axes, counted, draw, made, names, render, texts, widths


def test_the_largest_bar_is_on_top_whatever_the_order_of_the_report():
    ax = draw("signatures_by", counted({"b": 5, "a": 1200, "c": 30}))
    assert names(ax) == ["a", "c", "b"]
    assert widths(ax) == [1200, 30, 5]
    assert texts(ax) == ["1,200", "30", "5"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first bar is the topmost


def test_the_count_stands_at_the_end_of_its_bar():
    ax = draw("signatures_by", counted({"a": 1200, "b": 5}))
    assert [text.xy for text in ax.texts] == [(1200, 0), (5, 1)]
    assert ax.get_xlim()[1] > 1200


def test_what_top_leaves_out_is_one_bar_and_the_sum_is_the_total():
    ax = draw("signatures_by", counted({f"{number:02}": number for number in range(10, 40)}), top=3)
    assert names(ax) == ["39", "38", "37", "(other: 27)"]
    assert widths(ax) == [39, 38, 37, sum(range(10, 37))]
    others = max(ax.patches, key=lambda bar: bar.get_y())
    assert others.get_hatch()
    assert not any(bar.get_hatch() for bar in ax.patches if bar is not others)


def test_nothing_is_left_out_of_as_many_as_top():
    assert names(draw("signatures_by", counted({"a": 2, "b": 1}), top=2)) == ["a", "b"]


def test_a_thousand_values_are_twenty_bars_and_the_others():
    ax = draw("signatures_by", counted({f"v{number}": number for number in range(1000)}))
    assert len(names(ax)) == 21
    assert names(ax)[-1] == "(other: 980)"
    assert sum(widths(ax)) == sum(range(1000))


def test_others_that_would_dwarf_every_value_are_cut_short_and_say_so():
    ax = draw("signatures_by", counted({f"v{number}": 10 for number in range(1000)}))
    assert texts(ax)[-1] == "9,800 (cut short)"
    assert ax.get_xlim()[1] < 100
    assert widths(ax)[-1] == 9800
    shown = ax.containers[0][-1].get_clip_box().transformed(ax.transData.inverted())
    assert shown.x1 == pytest.approx(20)
    modest = draw("signatures_by", counted({"a": 10, "b": 9, "c": 8}), top=1)
    assert texts(modest) == ["10", "17"]


def test_what_has_no_value_is_grey():
    ax = draw("signatures_by", counted({"a": 3, "(none)": 2, "b": 1}))
    grey = [to_hex(bar.get_facecolor()) == GREY for bar in ax.patches]
    assert grey == [False, True, False]


def test_a_missing_key_of_any_kind_is_none_in_grey():
    of_kind = {
        "True": pd.array([True, True, None], dtype="boolean"),
        "7": pd.array([7, 7, None], dtype="Int64"),
        "x": pd.Categorical(["x", "x", None]),
    }
    for label, values in of_kind.items():
        ax = draw("signatures_by", reports.signatures_by(SIGNATURES.head(3).assign(key=values), "key"))
        assert names(ax) == [label, "(none)"]
        assert to_hex(ax.patches[1].get_facecolor()) == GREY


def test_several_keys_are_joined_and_grey_only_where_all_are_missing():
    report = reports.signatures_by(SIGNATURES, ["source", "referrer"])
    ax = draw("signatures_by", report)
    assert names(ax) == ["email · (none)", "(none) · (none)", "ads · g", "email · g"]
    assert [to_hex(bar.get_facecolor()) == GREY for bar in ax.patches] == [False, True, False, False]
    assert ax.get_title(loc="left") == "Signatures by source and referrer"


def test_title_and_axis_say_what_is_counted():
    for declared in reports.declared.KEYED:
        ax = draw(declared.name, *made(declared.name, TABLES[declared.table]))
        assert ax.get_title(loc="left") == declared.heading
        label = ax.get_ylabel() if declared.is_over_time else ax.get_xlabel()
        assert label.startswith(f"{declared.subject.unit}: "), declared.name


def test_seats_stand_below_the_rsvps_filled_as_far_as_they_are_taken():
    ax = draw("rsvps_by_campaign", reports.rsvps_by_campaign(EVENTS))
    assert names(ax) == ["climate", "housing", "(none)"]
    assert widths(ax) == [42, 9, 5]
    assert texts(ax) == ["42 · 30 of 40 seats", "9 · 9 of 10 seats", "5"]
    taken, seats = ax.containers[-2:]
    assert [bar.get_width() for bar in seats] == [40, 10, 0]
    assert [round(bar.get_width(), 6) for bar in taken] == [30, 9, 0]
    assert "seats" in ax.get_xlabel()


def test_the_seats_of_the_others_are_summed():
    ax = draw("rsvps_by_campaign", reports.rsvps_by_campaign(EVENTS), top=1)
    assert texts(ax) == ["42 · 30 of 40 seats", "14 · 9 of 10 seats"]


def test_no_seats_are_drawn_where_no_event_has_a_capacity():
    ax = draw("rsvps_by_campaign", reports.rsvps_by_campaign(EVENTS.assign(capacity=None)))
    assert texts(ax) == ["42", "9", "5"]
    assert ax.get_xlabel() == "RSVPs: 56 in all"
    assert len(ax.patches) == 3


def test_a_capacity_that_means_no_limit_does_not_dwarf_the_rsvps():
    table = EVENTS.assign(capacity=pd.array([99_999, None, None, 10], dtype="Int64"))
    ax = draw("rsvps_by_campaign", reports.rsvps_by_campaign(table))
    assert texts(ax)[0] == "42 · 30 of 99,999 seats"
    assert ax.get_xlim()[1] == 5 * 42


def test_a_report_with_only_the_counts_is_enough():
    report = reports.rsvps_by_campaign(EVENTS)[["rsvps"]]
    assert widths(draw("rsvps_by_campaign", report)) == [42, 9, 5]


def test_what_was_on_the_axes_before_stays_as_it_was():
    ax = axes()
    earlier = ax.axvspan(0, 3)
    clip = earlier.get_clip_box()
    draw("signatures_by", counted({f"v{number}": 10 for number in range(1000)}), ax=ax, top=2)
    draw("signatures_by", counted({f"v{number}": 10 for number in range(1000)}), ax=ax, top=1)
    assert earlier in ax.patches
    assert earlier.get_clip_box() is clip


def test_one_row_and_rows_that_count_nothing_are_drawn():
    assert widths(draw("signatures_by", counted({"a": 7}))) == [7]
    ax = draw("signatures_by", counted({"a": 0, "b": 0}))
    assert (widths(ax), texts(ax)) == ([0, 0], ["0", "0"])
    render(ax)


def test_a_figure_of_its_own_is_as_tall_as_its_bars_need():
    from matplotlib import pyplot as plt

    few, many = (plots.signatures_by(counted({f"{n}": 1 for n in range(count)})) for count in (3, 20))
    try:
        assert many.figure.get_figheight() > few.figure.get_figheight() + 4
        assert many.figure.get_figwidth() == few.figure.get_figwidth() == 8
    finally:
        plt.close(few.figure)
        plt.close(many.figure)


def test_labels_do_not_touch_in_axes_of_any_height():
    for height in (1.5, 3, 6):
        ax = draw("signatures_by", counted({f"value {n}": 100 - n for n in range(30)}), ax=axes(6, height))
        render(ax)
        boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
        if height > 1.5:  # below, letters would be smaller than any that can be read
            assert not any(one.overlaps(other) for one, other in pairwise(boxes)), height
        assert all(label.get_fontsize() >= 4 for label in ax.get_yticklabels())


def test_numbers_stay_inside_the_axes():
    ax = draw("signatures_by", counted({"a": 123_456_789, "b": 5}), ax=axes(4, 3))
    render(ax)
    right = ax.get_window_extent().x1
    assert all(text.get_window_extent().x1 <= right for text in ax.texts)


def test_counts_of_any_numeric_dtype_are_drawn():
    report = counted({"a": 3, "b": 2})
    for dtype in ("Int64", "float64", "int32", "int64[pyarrow]"):
        assert widths(draw("signatures_by", report.astype({"signatures": dtype}))) == [3, 2]
    missing = report.assign(signatures=[3, np.nan])
    assert widths(draw("signatures_by", missing)) == [3, 0]
