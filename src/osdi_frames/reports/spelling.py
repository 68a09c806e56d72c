"""Merge different spellings of one value, so that reports count them in one row.

Codes of sources and referrers are the same if they differ only in case, surrounding blanks, ``-`` and ``_``, or Unicode
normalization; reports show the most frequent spelling. Countries and regions become ISO 3166 codes, addresses of
websites their host. Other texts stay unchanged.
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
from osdi_frames.tables.schema import NONE

Spelling: TypeAlias = Literal["merged", "exact"]
Recognize: TypeAlias = Callable[[str, str], str | None]
"""A function of a value and the value of its context column, which returns the common name, or None if unknown."""

# Webhooks omit a missing source; the service's REST API writes the text `none`.
NO_SOURCE: Final = ("", "none")


def checked_spelling(spelling: Spelling) -> Spelling:
    """Return a spelling; raise InvalidArgument for another text."""
    if spelling not in ("merged", "exact"):
        raise InvalidArgument(f"spelling is 'merged' or 'exact', not {quoted(spelling)}")
    return spelling


def folded_code(text: str) -> str:
    """Return the normalized form of a code, which all of its spellings have in common.

    >>> folded_code(" Spring_Mail ") == folded_code("spring-mail")
    True
    """
    normal = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).strip().casefold())
    return normal.replace("_", "-")


#: A web address with or without scheme, of which the group is the host; it needs a dot.
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


def region_name(code: str, country: str) -> str:
    """Return the name of a region of a country before its code; of an unknown code, the code.

    >>> region_name("CA", "US"), region_name("Somewhere", "US")
    ('California (CA)', 'Somewhere')
    """
    import pycountry  # only for reports with regions: the import takes long

    region = pycountry.subdivisions.get(code=f"{country}-{code}")
    return f"{region.name} ({code})" if region else code


def _without_accents(text: str) -> str:
    letters = unicodedata.normalize("NFKD", folded_code(text))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def _countries() -> dict[str, str]:
    """Return the ISO 3166 code of each country by its normalized names and codes."""
    import pycountry  # only for reports with countries: the import takes long

    names = ("name", "official_name", "common_name", "alpha_3", "alpha_2")
    return {
        _without_accents(getattr(country, name)): country.alpha_2
        for name in names  # codes last, so that they win over equal names
        for country in pycountry.countries
        if hasattr(country, name)
    }


@cache
def _regions(country: str) -> dict[str, str]:
    """Return the code of each region of a country by its normalized name and codes.

    A name that two regions share, such as a city and the district around it, is left out.
    """
    import pycountry

    regions = pycountry.subdivisions.get(country_code=country) or ()
    names = Counter(_without_accents(region.name) for region in regions)
    codes = {region.code: region.code.partition("-")[2] for region in regions}
    known = {
        name: codes[region.code] for region in regions if names[name := _without_accents(region.name)] == 1
    }
    for code, short in codes.items():  # codes last, so that they win over equal names
        known |= {_without_accents(code): short, _without_accents(short): short}
    return known


#: The columns whose spellings become the most frequent one.
_CODES: Final = frozenset({"source", "referrer"})
#: The functions that recognise the values of other columns.
_RECOGNIZED: Final[Mapping[str, Recognize]] = {
    "website": _host,
    "location_country": _country,
    "location_region": _region,
}
#: The context of columns in which the same text can stand for different values.
CONTEXTS: Final = {"location_region": "location_country"}


def contexts(columns: Iterable[str]) -> list[str]:
    """Return the context columns of some columns."""
    return [CONTEXTS[name] for name in columns if name in CONTEXTS]


@dataclass(frozen=True, slots=True)
class TextKey:
    """A column of texts to count by, coded; the text NONE stands for no value."""

    number: NDArray[np.int64]
    """For each row the index of its text."""
    texts: Sequence[str]

    @classmethod
    def of(cls, column: pd.Series, nothing: Collection[str]) -> TextKey:
        """Code the texts of a column, of which those in `nothing` count as no value."""
        codes, known = coded(column)
        texts = [NONE if text.strip().lower() in nothing else text for text in known.tolist()]
        # The last one is for the code -1.
        return cls(np.where(codes < 0, len(known), codes.astype("int64")), [*texts, NONE])

    @property
    def count(self) -> int:
        """The number of distinct texts that occur, without NONE."""
        used = np.flatnonzero(np.bincount(self.number, minlength=len(self.texts)))
        return len({self.texts[number] for number in used.tolist()} - {NONE})

    def merged(self, column: str, context: TextKey | None) -> TextKey:
        """Return the key of a named column with merged spellings."""
        if column in _CODES:
            return TextKey(self.number, self._most_frequent())
        if column in _RECOGNIZED:
            return self._recognized(_RECOGNIZED[column], context)
        return self

    def _recognized(self, recognize: Recognize, context: TextKey | None) -> TextKey:
        if context is None:
            number, pairs = self.number, [(text, "") for text in self.texts]
        else:
            size = len(context.texts)
            number, places = pd.factorize(self.number * size + context.number)
            pairs = [(self.texts[place // size], context.texts[place % size]) for place in places.tolist()]
        return TextKey(number, [text if text == NONE else recognize(text, of) or text for text, of in pairs])

    def _most_frequent(self) -> list[str]:
        """Return for each text the most frequent spelling of the same code.

        Among equally frequent spellings, those without surrounding blanks win, then the first in code-point order.
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
