"""Progress bars on terminals and in notebooks."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm.autonotebook import tqdm


def bar(
    doing: str,
    progress: bool | None,
    *,
    unit: str = "it",
    total: int | None = None,
    over: Iterable[Any] | None = None,
) -> tqdm[Any]:
    """Make the bar of long work.

    It is shown after a second, and gone at the end; bytes (unit ``B``) as kilobytes and so on.
    `progress` is what readers take: None shows it on a terminal or in a notebook only.
    """
    with warnings.catch_warnings(action="ignore"):  # a notebook without ipywidgets gets its bars as text
        from tqdm.autonotebook import tqdm  # tqdm.auto brings asyncio

    disable = None if progress is None else not progress  # tqdm's None asks whether there is a terminal
    return tqdm(over, doing, total, unit=unit, unit_scale=unit == "B", delay=1, leave=False, disable=disable)
