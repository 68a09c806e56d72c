"""What the sample is made of: names, places, causes, labels.

All are in ``words.json``. Every host is under example.org, example.net or
example.com, every phone number from the range 555-0100 to 555-0199 that is kept free for fiction, and no name is
meant for anybody.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

#: Lists of words by what they are for.
WORDS: Mapping[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))


class Place(NamedTuple):
    """A town, its coordinates and its telephone prefix."""

    locality: str
    region: str
    postal_code: str
    country: str
    latitude: float
    longitude: float
    dialled: str

    @property
    def address(self) -> dict[str, Any]:
        """The end of a postal address here."""
        return dict(zip(self._fields[:4], self[:4], strict=True)) | {"language": "en"}

    def geolocation(self, accuracy: str = "Rooftop", *, metres: int = 0) -> dict[str, Any]:
        """Locate something in it, near its centre."""
        latitude, longitude = (round(centre + metres * 1e-5, 6) for centre in (self.latitude, self.longitude))
        return {"latitude": latitude, "longitude": longitude, "accuracy": accuracy}


#: The first is the likeliest. Most are in the United States, where the groups are.
PLACES = [Place(**place) for place in WORDS["places"]]
