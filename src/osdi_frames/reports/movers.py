"""Sort a report of changes by its largest gains and losses."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

MOVERS: Final = 5
"""The number of gains that come first, and of losses after them."""


def movers_first(report: pd.DataFrame) -> pd.DataFrame:
    """Put the largest gains of a report of `compare` first, then the largest losses, then all others in their order.

    >>> movers_first(pd.DataFrame({"change": [9, 8, 7, 6, 5, 4, -3]}))["change"].tolist()
    [9, 8, 7, 6, 5, -3, 4]
    """
    change = report["change"].astype("Int64").fillna(0).to_numpy("int64")
    gains, losses = (np.flatnonzero(moved)[:MOVERS] for moved in (change > 0, change < 0))
    first = np.concatenate([gains, losses])
    return report.iloc[np.concatenate([first, np.setdiff1d(np.arange(len(report)), first)])]
