"""The spellings of one value, which reports count as one.

Codes of sources and referrers are equal but for case, blanks around them, ``-`` and ``_`` and the form of Unicode: the
most frequent spelling is shown. Countries and regions become their codes of ISO 3166, addresses of websites their
host. What is not recognised stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from osdi_frames.errors import InvalidArgument
from osdi_frames.messages import quoted
from osdi_frames.reports.columns import coded
from osdi_frames.reports.titles import words
from osdi_frames.tables.schema import NONE

Spelling: TypeAlias = Literal["merged", "exact"]
Recognize: TypeAlias = Callable[[str, str], str | None]
"""Takes a value and that of its context; returns what it is called, None where it is not recognised."""

# A webhook leaves a missing source out; the service's REST API writes the literal `none`.
NO_SOURCE: Final = ("", "none")


def checked_spelling(spelling: Spelling) -> Spelling:
    """Return a spelling; raise InvalidArgument for another text."""
    if spelling not in ("merged", "exact"):
        raise InvalidArgument(f"spelling is 'merged' or 'exact', not {quoted(spelling)}")
    return spelling


def folded_code(text: str) -> str:
    """Return what the spellings of a code have in common.

    >>> folded_code(" Spring_Mail ") == folded_code("spring-mail")
    True
    """
    normal = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip().casefold())
    return normal.replace("_", "-")


#: A host with a dot, with what an address has before and after it.
_ADDRESS: Final = re.compile(
    r"(?:[a-z][a-z0-9+.-]*:)?(?://)?(?:[^/?#@\s]*@)?(?:www\.)?([\w-]+(?:\.[\w-]+)+)\.?(?::\d*)?(?:[/?#].*)?",
    re.DOTALL,
)


def _host(text: str, _: str) -> str | None:
    """Return the host of a web address, without ``www.``.

    >>> _host("https://www.Example.org/petitions?page=2", ""), _host("the newsletter", "")
    ('example.org', None)
    """
    address = _ADDRESS.fullmatch(unicodedata.normalize("NFC", text).strip().casefold())
    return address and address[1]


def _country(text: str, _: str = "") -> str | None:
    """Return the ISO 3166 code of a country.

    >>> [_country(text) for text in ("us", "United States", "usa", "Narnia")]
    ['US', 'US', 'US', None]
    """
    return _countries().get(_without_accents(text))


def _region(text: str, country: str) -> str | None:
    """Return the ISO 3166 code of a region, without the code of the country before it.

    >>> [_region(text, "United States") for text in ("California", "ca", "US-CA", "Ontario")]
    ['CA', 'CA', 'CA', None]
    """
    code = _country(country)
    return _regions(code).get(_without_accents(text)) if code else None


def _without_accents(text: str) -> str:
    letters = unicodedata.normalize("NFKD", folded_code(text))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def _countries() -> dict[str, str]:
    import pycountry  # here: few reports have countries

    names = ("name", "official_name", "common_name", "alpha_3", "alpha_2")
    return {
        _without_accents(getattr(country, name)): country.alpha_2
        for name in names  # codes last: they come before names
        for country in pycountry.countries
        if hasattr(country, name)
    }


@cache
def _regions(country: str) -> dict[str, str]:
    """Return a country's regions by name and code.

    A name that two of them have, as a city and the district around it, is not there.
    """
    import pycountry

    regions = pycountry.subdivisions.get(country_code=country) or ()
    names = Counter(_without_accents(region.name) for region in regions)
    codes = {region.code: region.code.partition("-")[2] for region in regions}
    known = {
        name: codes[region.code] for region in regions if names[name := _without_accents(region.name)] == 1
    }
    for code, short in codes.items():  # codes last: they come before names
        known |= {_without_accents(code): short, _without_accents(short): short}
    return known


#: The columns whose spellings become the most frequent one.
_CODES: Final = frozenset({"source", "referrer"})
#: What recognises the values of other columns.
_RECOGNIZED: Final[Mapping[str, Recognize]] = {
    "website": _host,
    "location_country": _country,
    "location_region": _region,
}
#: The column on which the name of a value depends.
CONTEXTS: Final = {"location_region": "location_country"}


def contexts(columns: Iterable[str]) -> list[str]:
    """Return the columns on which the names of values depend."""
    return [CONTEXTS[name] for name in columns if name in CONTEXTS]


@dataclass(frozen=True, slots=True)
class TextKey:
    """The texts of a column to count by; `NONE` is no value.

    `number` has the number of each row's text.
    """

    number: NDArray[np.int64]
    texts: Sequence[str]

    @classmethod
    def of(cls, column: pd.Series, nothing: Collection[str]) -> TextKey:
        """Take the texts of a column, of which some, `nothing`, stand for no value."""
        codes, known = coded(column)
        texts = pd.Series([*known, NONE], dtype="str")  # the last one is that of -1
        texts = texts.mask(texts.str.strip().str.lower().isin(nothing), NONE)
        return cls(np.where(codes < 0, len(known), codes.astype("int64")), texts.tolist())

    @property
    def count(self) -> int:
        """How many different texts occur."""
        used = np.flatnonzero(np.bincount(self.number, minlength=len(self.texts)))
        return len({self.texts[number] for number in used.tolist()} - {NONE})

    def merged(self, column: str, context: TextKey | None) -> tuple[TextKey, str]:
        """Return the texts of a named column with the spellings of one value made one, and a note on it if any were."""
        if column in _CODES:
            merged = TextKey(self.number, self._most_frequent())
        elif column in _RECOGNIZED:
            merged = self._recognized(_RECOGNIZED[column], context)
        else:
            return self, ""
        if merged.count == self.count:
            return merged, ""
        became = f"{self.count} spellings of {words(column)} became {merged.count}"
        return merged, f'{became}; spelling="exact" (--exact) keeps them apart'

    def _recognized(self, recognize: Recognize, context: TextKey | None) -> TextKey:
        if context is None:
            number, pairs = self.number, [(text, "") for text in self.texts]
        else:
            size = len(context.texts)
            number, places = pd.factorize(self.number * size + context.number)
            pairs = [(self.texts[place // size], context.texts[place % size]) for place in places.tolist()]
        return TextKey(number, [text if text == NONE else recognize(text, of) or text for text, of in pairs])

    def _most_frequent(self) -> list[str]:
        """Return the most frequent spelling of each text.

        Among equally frequent ones it is one without whitespace around it, the first in code-point order.
        """
        counts = np.bincount(self.number, minlength=len(self.texts)).tolist()
        codes = [folded_code(text) for text in self.texts]
        shown: dict[str, tuple[int, bool, str]] = {}
        for code, text, count in zip(codes, self.texts, counts, strict=True):
            if text != NONE:
                shown[code] = min((-count, text != text.strip(), text), shown.get(code, (1, False, "")))
        return [
            NONE if text == NONE else shown[code][-1] for code, text in zip(codes, self.texts, strict=True)
        ]
