"""Spellings of one value: the key by which reports make them one row, declared by column.

Codes of sources and referrers are equal but for case, blanks around them, ``-`` and ``_`` and the form of Unicode: the
most frequent spelling is shown. Countries and regions become their codes of ISO 3166, addresses of websites their
host. What is not recognised stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from osdi_frames.errors import InvalidArgument
from osdi_frames.quoting import quoted
from osdi_frames.reports.titles import words
from osdi_frames.tables.schema import NONE

Spelling: TypeAlias = Literal["merged", "exact"]
Name: TypeAlias = Callable[[str, str], str | None]
"""Takes a value and that of its context; returns what it is called, None where it is not recognised."""


@dataclass(frozen=True, slots=True)
class Merging:
    """How the spellings of a column become one."""

    name: Name | None = None
    """None: spellings with the same key become the most frequent of them."""
    context: str | None = None
    """The column that the name depends on."""


def key(text: str) -> str:
    """Return what the spellings of a code have in common.

    >>> key(" Spring_Mail ") == key("spring-mail")
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
    found = _ADDRESS.fullmatch(unicodedata.normalize("NFC", text).strip().casefold())
    return found and found[1]


def _country(text: str, _: str = "") -> str | None:
    """Return the ISO 3166 code of a country.

    >>> [_country(text) for text in ("us", "United States", "usa", "Narnia")]
    ['US', 'US', 'US', None]
    """
    return _countries().get(_plain(text))


def _region(text: str, country: str) -> str | None:
    """Return the ISO 3166 code of a region.

    The code of the country before it is left out.

    >>> [_region(text, "United States") for text in ("California", "ca", "US-CA", "Ontario")]
    ['CA', 'CA', 'CA', None]
    """
    code = _country(country)
    return _regions(code).get(_plain(text)) if code else None


def _plain(text: str) -> str:
    """Return a text's key without accents."""
    letters = unicodedata.normalize("NFKD", key(text))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def _countries() -> dict[str, str]:
    import pycountry  # here: few reports have countries

    names = ("name", "official_name", "common_name", "alpha_3", "alpha_2")
    return {
        _plain(getattr(country, name)): country.alpha_2
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
    codes = {region.code: region.code.partition("-")[2] for region in regions}
    names = Counter(_plain(region.name) for region in regions)
    found = {name: codes[region.code] for region in regions if names[name := _plain(region.name)] == 1}
    for code, short in codes.items():  # codes last: they come before names
        found |= {_plain(code): short, _plain(short): short}
    return found


#: How the spellings of each column become one; those of other columns do not.
MERGED: Final = {
    "source": Merging(),
    "referrer": Merging(),
    "website": Merging(_host),
    "location_country": Merging(_country),
    "location_region": Merging(_region, "location_country"),
}


def checked(spelling: Spelling) -> Spelling:
    """Return a spelling; raise InvalidArgument for what is none."""
    if spelling not in ("merged", "exact"):
        raise InvalidArgument(f"spelling is 'merged' or 'exact', not {quoted(spelling)}")
    return spelling


def contexts(columns: Iterable[str]) -> list[str]:
    """Return the columns that names depend on."""
    return [context for name in columns if (context := MERGED.get(name, Merging()).context)]


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a column; `NONE` is no value.

    `number` has the number of each row's text.
    """

    number: NDArray[np.int64]
    texts: Sequence[str]

    @property
    def count(self) -> int:
        """How many different texts occur."""
        used = np.flatnonzero(np.bincount(self.number, minlength=len(self.texts)))
        return len({self.texts[number] for number in used.tolist()} - {NONE})

    def merged(self, merging: Merging, context: Texts | None) -> Texts:
        """Return the texts with spellings made one."""
        if merging.name is None:
            return Texts(self.number, self._most_frequent())
        if context is None:
            number, found = self.number, [(text, "") for text in self.texts]
        else:
            size = len(context.texts)
            number, pairs = pd.factorize(self.number * size + context.number)
            found = [(self.texts[pair // size], context.texts[pair % size]) for pair in pairs.tolist()]
        return Texts(number, [text if text == NONE else merging.name(text, of) or text for text, of in found])

    def _most_frequent(self) -> list[str]:
        """Return each text's most frequent spelling.

        Of equal ones it is the first in code-point order.
        """
        counts = np.bincount(self.number, minlength=len(self.texts)).tolist()
        keys = [key(text) for text in self.texts]
        shown: dict[str, tuple[int, str]] = {}
        for each, text, count in zip(keys, self.texts, counts, strict=True):
            if text != NONE:
                shown[each] = min((-count, text), shown.get(each, (1, "")))
        return [NONE if text == NONE else shown[each][1] for each, text in zip(keys, self.texts, strict=True)]


def note(column: str, before: Texts, after: Texts) -> str:
    """Return a sentence about merged spellings, or nothing."""
    if after.count == before.count:
        return ""
    return (
        f"{before.count} spellings of {words(column)} became {after.count}; "
        'spelling="exact" (--exact) keeps them apart'
    )
