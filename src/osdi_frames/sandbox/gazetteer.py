"""A geocoder without network, over bundled lists, by which an address always has the same coordinates."""

import csv
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

Location = dict[str, Any]


class Gazetteer:
    """The bundled places and regions, by code and name."""

    def __init__(self) -> None:
        # the first place of a locality stands for it; later ones are other postal codes of the same city
        places, regions = _listed("gazetteer.csv")[::-1], _listed("regions.csv")
        self._by_code = {(place["country"], _code(place["postal_code"])): place for place in places}
        self._countries = {_code(place["postal_code"]): place["country"] for place in places}
        self._by_city: dict[tuple[str, ...], dict[str, str]] = {}
        for place in places:
            city = place["country"], place["locality"].casefold()
            self._by_city |= {city: place, (*city, place["region"]): place}
        self._regions = {
            (region["country"], written.casefold()): region["region"]
            for region in regions
            for written in (region["name"], region["region"], f"{region['country']}-{region['region']}")
        }

    def geocode(self, entered: Mapping[str, Any]) -> Location:
        """Return a location as the service answers it (interface 2.2).

        A known postal code gives locality, region and coordinates, `Rooftop` with a street address; a known city
        gives its coordinates; for any other place the text stays as it was entered, `Approximate`, and no
        coordinates are made up. A region that is known by its name becomes its code.
        """
        located: Location = {"region": "", "country": "US", **entered, "language": "en"}
        region = " ".join(located["region"].split()).casefold()
        located["region"] = self._regions.get((located["country"], region), located["region"])
        coded = self._coded(located)
        city = located["country"], located.get("locality", "").strip().casefold()
        place = coded or self._by_city.get((*city, located["region"])) or self._by_city.get(city)
        if place is None:
            return located | {"location": {"accuracy": "Approximate"}}
        exact = coded and any(line.strip() for line in located.get("address_lines", ()))
        accuracy = "Rooftop" if exact else "Approximate"
        point = {name: float(place[name]) for name in ("latitude", "longitude")} | {"accuracy": accuracy}
        return located | {"locality": place["locality"], "region": place["region"], "location": point}

    def country_of(self, entered: Mapping[str, Any]) -> dict[str, str]:
        """Return the country of a v1 location's postal code."""
        country, postal_code = entered.get("country", "US"), entered.get("postal_code", "")
        if (country, _code(postal_code)) in self._by_code:
            return {"country": country}
        found = self._countries.get(_code(postal_code))
        return {"country": found} if found else {}

    def contradicts(self, location: Mapping[str, Any]) -> bool:
        """Return whether a location's postal code is another city's."""
        place = self._coded({"country": "US", **location})
        return place is not None and place["locality"].casefold() != location["locality"].strip().casefold()

    def _coded(self, location: Location) -> dict[str, str] | None:
        code = _code(location.get("postal_code", ""))
        return self._by_code.get((location["country"], code)) if code else None


def _listed(name: str) -> list[dict[str, str]]:
    text = (resources.files(__package__) / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _code(postal_code: str) -> str:
    """Write a postal code without spaces, a ZIP+4 as ZIP."""
    code = "".join(postal_code.upper().split())
    return code[:5] if re.fullmatch(r"[0-9]{5}-[0-9]{4}", code) else code
