"""Text from the data, made safe to draw: no font, no mathtext and no length can spoil the picture."""

import unicodedata
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import Any, Final

import matplotlib as mpl
import pandas as pd
from matplotlib import font_manager

from osdi_frames.messages import beginning
from osdi_frames.reports.measures import show_key

#: Properties of every Text that holds data: ``$x$`` is no formula, and LaTeX never sees it.
PLAIN_TEXT: Final[dict[str, Any]] = {"parse_math": False, "usetex": False}

#: Fonts with much beyond Latin, asked in this order for what the chosen font lacks. The first comes with
#: matplotlib. Fonts made of colour bitmaps are not here: matplotlib cannot draw them.
WIDE_FONTS: Final = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans Devanagari",
    "Noto Emoji",
    "Symbola",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Nirmala UI",
    "Segoe UI Emoji",
    "Arial Unicode MS",
)

#: What periods are called by the months, or else the time, from each to the next.
_MONTHS: Final[Mapping[Any, str]] = {1: "months", 3: "quarters", 12: "years"}
_TIMES: Final[Mapping[Any, str]] = {
    pd.Timedelta(hours=1): "hours",
    pd.Timedelta(days=1): "days",
    pd.Timedelta(days=7): "weeks",
}

#: matplotlib's own, with a box for every letter; alone of all fonts it warns of them only where it is not asked for.
_LAST_RESORT: Final = "Last Resort High-Efficiency"

#: The letters of the plot being drawn that no font has.
_LACKING: Final = ContextVar[set[str]]("lacking")

_REPLACEMENT: Final = "\ufffd"
_CIRCLE: Final = "\u25cc"
_JOINERS: Final = "\u200c\u200d"  # format characters, but Persian and emoji are written with them


def labels(names: Sequence[str], *, width: int) -> tuple[list[str], dict[str, Any]]:
    r"""Make names safe to draw, at most `width` wide, and as different from each other as they were.

    The second value has the Text properties to draw them with.

    >>> labels(["a\nb", "a\tb", "x" * 9], width=5)[0]
    ['a b', 'a b (2)', 'xxx…x']
    """
    texts, style = drawable([cleaned(name) for name in names])
    return _distinct([shortened(text, width) for text in texts]), style


def drawable(texts: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Replace the letters that no font has, and return the Text properties to draw the texts with.

    Where SVG keeps text as text, the reader's fonts draw it, and nothing is replaced.
    """
    families, missing = _fonts(set("".join(texts)))
    if missing and mpl.rcParams["svg.fonttype"] == "none":
        families, missing = [*(families or mpl.rcParams["font.family"]), _LAST_RESORT], set()
    _LACKING.get(set()).update(missing)
    replaced = dict.fromkeys(map(ord, missing), _REPLACEMENT)
    style = {**PLAIN_TEXT, "fontfamily": families} if families else PLAIN_TEXT
    return [text.translate(replaced) for text in texts], style


@contextmanager
def warning_of_letters() -> Iterator[None]:
    """Warn once of letters that no font has."""
    lacking = set[str]()
    token = _LACKING.set(lacking)
    try:
        yield
    finally:
        _LACKING.reset(token)
    if lacking:
        letters = beginning(" ".join(sorted(lacking)))
        warnings.warn(f"no installed font has these letters, drawn as �: {letters}", stacklevel=4)


def name_of(key: object) -> str:
    """Name a key of a report; several are joined.

    >>> name_of(("CA", True))
    'CA · True'
    """
    return " · ".join(map(show_key, key if isinstance(key, tuple) else (key,)))


def names_of_times(times: pd.DatetimeIndex) -> list[str]:
    """Name times as briefly as all of them allow.

    >>> names_of_times(pd.DatetimeIndex(["2026-05-01", "2026-06-01"]))
    ['2026-05', '2026-06']
    """
    day = "%Y-%m" if (times.day == 1).all() else "%Y-%m-%d"
    return list(times.strftime(day if (times == times.normalize()).all() else "%Y-%m-%d\n%H:%M"))


def periods_of(times: pd.DatetimeIndex) -> str:
    """Return what periods that start at these times are called.

    >>> periods_of(pd.date_range("2026-05-01", periods=3, freq="MS")), periods_of(pd.DatetimeIndex(["2026-05-01"]))
    ('months', 'periods')
    """
    times = times.tz_localize(None)  # a week in which the clock is changed is as long as others
    is_of_months = ((times.day == 1) & (times == times.normalize())).all()
    places, names = (12 * times.year + times.month, _MONTHS) if is_of_months else (times, _TIMES)
    steps = {*pd.Series(places).diff().dropna()}
    return names.get(steps.pop(), "periods") if len(steps) == 1 else "periods"


def cleaned(text: str) -> str:
    r"""Replace control characters; make runs of spaces one.

    >>> cleaned("a\x00 \n b\u202ec")
    'a� b�c'
    """
    return "".join(
        character if character in _JOINERS or character.isprintable() else _REPLACEMENT
        for character in with_base(" ".join(text.split()))
    )


def with_base(text: str) -> str:
    r"""Put a circle below marks that begin a text, which would stand on what is before it, or on nothing.

    >>> with_base("\u0301") == "\u25cc\u0301"
    True
    """
    return f"{_CIRCLE}{text}" if unicodedata.category(text[:1] or " ").startswith("M") else text


def shortened(text: str, width: int) -> str:
    """Take the middle out of a text that is wider than so many Latin characters.

    >>> shortened("email-2026-03-newsletter-a", 16), shortened("ok", 16)
    ('email-2026…ter-a', 'ok')
    """
    widths = [
        2 if unicodedata.east_asian_width(character) in "WF" or character == _REPLACEMENT else 1
        for character in text
    ]
    if sum(widths) <= width:
        return text
    tail = width // 3
    before = bisect_right(list(accumulate(widths)), width - tail - 1)
    after = bisect_right(list(accumulate(reversed(widths))), tail)
    return f"{text[:before]}…{text[len(text) - after :]}"


def _distinct(texts: Sequence[str]) -> list[str]:
    """Make texts that look the same different by a number."""
    taken: dict[str, None] = {}
    for text in texts:
        number, label = 1, text
        while label in taken:
            number += 1
            label = f"{text} ({number})"
        taken[label] = None
    return list(taken)


def _fonts(missing: set[str]) -> tuple[list[str], set[str]]:
    """Find fonts for characters, none where the chosen fonts have them, and the characters that no font has.

    Without a font, matplotlib warns at every drawing.
    """
    chosen, more = mpl.rcParams["font.family"], []
    for name in [*chosen, *WIDE_FONTS]:
        if not missing or not (name in chosen or name in font_manager.get_font_names()):
            continue
        font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties(family=[name])))
        lacking = {character for character in missing if not font.get_char_index(ord(character))}
        if name not in chosen and lacking != missing:
            more.append(name)
        missing = lacking
    return [*chosen, *more] if more else [], missing
