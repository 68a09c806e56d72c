"""Which dates are doubtful: those far outside of most others, as an event in the year 9999."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

FAR: Final = 10  # years without any row: what lies beyond them is far from the rest
_PLAUSIBLE: Final = range(2000, 2100)


def trusted_years(counts: Mapping[int, int]) -> range:
    """Return the years that stand together with most rows; dates of all others are doubtful.

    `counts` is the number of rows of each year that has any.

    >>> trusted_years({1: 1, 2024: 5, 2026: 7, 9999: 2})
    range(2024, 2027)
    """
    years = np.array(sorted(counts))
    clusters = [part.tolist() for part in np.split(years, np.flatnonzero(np.diff(years) > FAR) + 1)]

    def weight(cluster: list[int]) -> tuple[int, bool, int]:
        return sum(counts[year] for year in cluster), any(year in _PLAUSIBLE for year in cluster), cluster[0]

    most = max(clusters, key=weight)
    return range(most[0], most[-1] + 1)
