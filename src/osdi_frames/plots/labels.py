"""Text from the data, made safe to draw: no font, no mathtext and no length can spoil the picture."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
import pandas as pd
from matplotlib import font_manager

from osdi_frames.tables.schema import NO_DATE, NONE

#: Properties of every Text that holds data: ``$x$`` is no formula, and LaTeX never sees it.
PLAIN: Final[dict[str, Any]] = {"parse_math": False, "usetex": False}

#: Fonts with much beyond Latin, asked in this order for what the chosen font lacks. The first comes with
#: matplotlib. Fonts made of colour bitmaps are not here: matplotlib cannot draw them.
WIDE_FONTS: Final = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Emoji",
    "Noto Sans Symbols",
    "Segoe UI",
    "Segoe UI Emoji",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Nirmala UI",
    "Hiragino Sans",
    "PingFang SC",
    "Arial Unicode MS",
    "Droid Sans Fallback",
    "WenQuanYi Zen Hei",
    "Symbola",
    "Unifont",
)

_REPLACEMENT = "\ufffd"
_JOINERS = "\u200c\u200d"  # format characters, but Persian and emoji are written with them


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels to draw, all different, and the Text properties to draw them with."""

    texts: list[str]
    style: dict[str, Any]


def labels(names: Sequence[str], *, width: int) -> Labels:
    r"""Make names safe to draw, at most `width` wide, and as different from each other as they were.

    >>> labels(["a\nb", "a\tb", "x" * 9], width=5).texts
    ['a�b', 'a�b (2)', 'xxx…x']
    """
    clean = [cleaned(name) for name in names]
    if mpl.rcParams["svg.fonttype"] == "none":  # text stays text, which the reader's fonts draw
        return Labels(_distinct([shortened(label, width) for label in clean]), PLAIN)
    families, missing = _families(set().union(*clean))
    seen = [label.translate(dict.fromkeys(map(ord, missing), _REPLACEMENT)) for label in clean]
    style = {**PLAIN, "fontfamily": families} if families else PLAIN
    return Labels(_distinct([shortened(label, width) for label in seen]), style)


def name_of(key: Hashable) -> str:
    """Name a key of a report; the parts of several keys are joined.

    >>> name_of(("CA", True, pd.Timestamp("2026-05-01"), pd.NA))
    'CA · True · 2026-05-01 · (none)'
    """
    if isinstance(key, tuple):
        return " · ".join(map(name_of, key))
    if key is pd.NaT:
        return NO_DATE
    if isinstance(key, pd.Timestamp):
        return f"{key:%Y-%m-%d}" if key == key.normalize() else f"{key:%Y-%m-%d %H:%M}"
    return NONE if pd.isna(key) else str(key)  # type: ignore[call-overload] # any scalar will do


def cleaned(text: str) -> str:
    r"""Replace what is not seen but obeyed or unpaired, and make every run of spaces one.

    >>> cleaned("a\x00  b\u202ec")
    'a� b�c'
    """
    shown = (
        character if character in _JOINERS or character.isprintable() else _invisible(character)
        for character in text
    )
    return " ".join("".join(shown).split())


def _invisible(character: str) -> str:
    return " " if unicodedata.category(character) == "Zs" else _REPLACEMENT


def shortened(text: str, width: int) -> str:
    """Take the middle out of a text that is wider than `width` Latin characters.

    >>> shortened("email-2026-03-newsletter-a", 16), shortened("ok", 16)
    ('email-2026…ter-a', 'ok')
    """
    if _width(text) <= width:
        return text
    tail = width // 3
    head = width - tail - 1
    return f"{_within(text, head)}…{_within(text[::-1], tail)[::-1]}"


def _within(text: str, width: int) -> str:
    taken = 0
    for position, character in enumerate(text):
        taken += _width(character)
        if taken > width:
            return text[:position]
    return text


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _distinct(texts: list[str]) -> list[str]:
    """Tell texts that look the same apart by a number: each name keeps a label of its own."""
    taken: set[str] = set()
    for position, text in enumerate(texts):
        number, label = 1, text
        while label in taken:
            number += 1
            label = f"{text} ({number})"
        taken.add(label)
        texts[position] = label
    return texts


def _families(characters: Iterable[str]) -> tuple[list[str], set[str]]:
    """Find the fonts to draw characters with, and the characters that no font here has.

    Without a font, matplotlib warns at every drawing. No family is named where the chosen one has all.
    """
    chosen = mpl.rcParams["font.family"]
    missing = {character for character in characters if not character.isspace()}
    for name in chosen:
        missing = _lacking(name, missing)
    installed = set(font_manager.get_font_names()) if missing else set()
    more = []
    for name in WIDE_FONTS:
        left = _lacking(name, missing) if missing and name in installed else missing
        if left != missing:
            more.append(name)
        missing = left
    return [*chosen, *more] if more else [], missing


def _lacking(family: str, characters: set[str]) -> set[str]:
    font = font_manager.get_font(font_manager.findfont(font_manager.FontProperties(family=[family])))
    return {character for character in characters if not font.get_char_index(ord(character))}
