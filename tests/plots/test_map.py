"""The map: each event that has a place is a disc, the others are counted in a note."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

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


@pytest.mark.parametrize(
    ("longitude", "latitude"),
    [(None, 5), (5, None), (None, None), (181, 5), (5, -91), (float("inf"), 5), (float("nan"), 5)],
)
def test_an_event_without_a_place_is_counted_in_a_note(longitude, latitude):
    ax = draw("event_map", events((12.5, 41.9, 1000), (longitude, latitude, 234)))
    assert ax.get_xlabel().splitlines()[1] == "not on the map: 1 of 2 events, 234 of 1,234 RSVPs"
    assert len(ax.collections[0].get_offsets()) == 1
    render(ax)


def test_where_no_event_has_a_place_the_note_says_so():
    ax = draw("event_map", events((None, None, 3)))
    assert ax.get_xlabel().endswith("not on the map: 1 of 1 events, 3 of 3 RSVPs")
    render(ax)


def test_axes_are_in_degrees():
    ax = draw("event_map", events((-122.3, 37.8, 5), (150, -40.7, 30)))
    render(ax)
    across = [label.get_text() for label in ax.get_xticklabels()]
    up = [label.get_text() for label in ax.get_yticklabels()]
    assert {"0°", "90°W", "90°E"} <= set(across) or {"60°W", "60°E"} <= set(across)
    assert {"0°", "40°N", "40°S"} <= set(up) or {"25°N", "25°S"} <= set(up)


@pytest.mark.parametrize("latitude", [0, 60, 90, -90])
def test_a_kilometre_is_as_long_to_the_north_as_to_the_east(latitude):
    ax = draw("event_map", events((10, latitude, 1)))
    south, north = ax.get_ylim()
    assert -90 <= south < north <= 90
    middle = np.cos(np.radians((south + north) / 2))
    assert np.isclose(ax.get_aspect(), min(1 / middle, 5), rtol=0.01)
    render(ax)


def test_the_whole_earth_fits():
    ax = draw("event_map", events((-180, -90, 1), (180, 90, 1)))
    assert ax.get_xlim() == (-180, 180)
    assert ax.get_ylim() == (-90, 90)
    render(ax)


def test_events_without_any_rsvp_are_drawn():
    ax = draw("event_map", events((1, 1, 0), (2, 2, 0)))
    assert (ax.collections[0].get_sizes() > 0).all()
    render(ax)


def test_the_sizes_are_explained():
    ax = draw("event_map", events((1, 1, 100), (2, 2, 50), (3, 3, 0)))
    assert ax.get_legend().get_title().get_text() == "RSVPs"
    assert "100" in [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("dtype", ["object", "Float64", "double[pyarrow]"])
def test_coordinates_of_any_dtype_are_drawn(dtype):
    table = events((12.5, 41.9, 1), (None, None, 2)).astype(
        {"location_longitude": dtype, "location_latitude": dtype}
    )
    assert draw("event_map", table).collections[0].get_offsets().tolist() == [[12.5, 41.9]]


def test_a_hundred_thousand_events_are_drawn():
    random = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "location_longitude": random.uniform(-125, -70, 100_000),
            "location_latitude": random.uniform(25, 49, 100_000),
            "total_accepted": random.integers(0, 500, 100_000),
        }
    )
    assert len(draw("event_map", table).collections[0].get_offsets()) == 100_000
