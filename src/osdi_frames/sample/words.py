"""What the sample is made of: names, places, causes and the labels that break careless software.

They are in ``words.json``. Every host is under example.org, example.net or example.com, every phone number from
the range 555-0100 to 555-0199 that is kept free for fiction, and no name is meant for anybody.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

_WORDS: Mapping[str, Any] = json.loads((resources.files(__package__) / "words.json").read_text("utf-8"))


class Place(NamedTuple):
    """A town with what a geocoder says about it, and its telephone prefix."""

    locality: str
    region: str
    postal_code: str
    country: str
    latitude: float
    longitude: float
    dialled: str

    @property
    def address(self) -> dict[str, str]:
        """The end of a postal address here."""
        names = ("locality", "region", "postal_code", "country")
        return {**{name: getattr(self, name) for name in names}, "language": "en"}


class Campaign(NamedTuple):
    """An event campaign: its title without the year, and the cause of its events."""

    title: str
    cause: str


#: The first is the likeliest. Zones of half hours, of none and of both hemispheres are among them.
PLACES = [Place(**place) for place in _WORDS["places"]]
CAMPAIGNS = [Campaign(**campaign) for campaign in _WORDS["campaigns"]]
CAUSES: Sequence[str] = _WORDS["causes"]
#: What petitions ask for, by the name of a town.
DEMANDS: Sequence[str] = _WORDS["demands"]
GATHERINGS: Sequence[str] = _WORDS["gatherings"]
VENUES: Sequence[str] = _WORDS["venues"]
ORIGINS: Sequence[str] = _WORDS["origins"]
STREETS: Sequence[str] = _WORDS["streets"]

GROUPS: Sequence[str] = _WORDS["groups"]
#: The groups' own codes.
REFERRERS = [f"group-{name.lower().replace(' ', '-')}" for name in GROUPS]
SOURCES: Sequence[str] = _WORDS["sources"]
WEBSITES: Sequence[str] = _WORDS["websites"]
TAGS: Sequence[str] = _WORDS["tags"]

GIVEN_NAMES: Sequence[str] = _WORDS["given_names"]
FAMILY_NAMES: Sequence[str] = _WORDS["family_names"]
MAIL_HOSTS: Sequence[str] = _WORDS["mail_hosts"]
LANGUAGES: Sequence[str] = _WORDS["languages"]
CUSTOM_FIELDS: Mapping[str, Sequence[str]] = _WORDS["custom_fields"]
COMMENTS: Sequence[str] = _WORDS["comments"]

#: Labels that are text and nothing else, and that something downstream takes for more.
HOSTILE: Sequence[str] = _WORDS["hostile"]
