"""Colours: distinguished by everyone, and seen on white and on dark."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from osdi_frames.plots.colors import DASHES, GREY, HATCHES, MAIN, PALETTE, bar, line

#: How linear RGB is seen with complete colour blindness of each kind (Machado, Oliveira, Fernandes 2009).
SIGHT = {
    "all cones": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour: str) -> np.ndarray:
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    x, y, z = np.cbrt(np.maximum(to_xyz @ rgb / [0.95047, 1, 1.08883], 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    light, dark = sorted(
        (float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("sight", SIGHT)
def test_colours_are_distinct(sight):
    seen = [lab(np.clip(np.asarray(SIGHT[sight]) @ linear(colour), 0, 1)) for colour in (*PALETTE, GREY)]
    nearest = min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2))
    assert nearest > 10  # a difference of 2.3 is just seen


def test_bars_and_outlines_stand_out_on_white_and_on_dark():
    for colour, background in product((MAIN, GREY), ("#ffffff", "#121212", "#000000")):
        assert contrast(colour, background) >= 3, (colour, background)  # WCAG 2.2, 1.4.11


def test_twenty_values_look_different():
    bars = {
        (style["facecolor"], style.get("hatch")) for style in (bar("value", number) for number in range(20))
    }
    lines = {
        (style["color"], style["linestyle"]) for style in (line("value", number) for number in range(20))
    }
    assert len(bars) == len(lines) == 20
    assert len(PALETTE) * min(len(HATCHES), len(DASHES)) >= 20
