"""What most notebooks do: every line through a JSON parser, then `json_normalize`."""

from __future__ import annotations

from pathlib import Path

import orjson
import pandas as pd

_NAMES = {
    "person.given_name": "given_name",
    "person.family_name": "family_name",
    "_links.self.href": "self_url",
    "_links.osdi:person.href": "person_url",
    "_links.osdi:petition.href": "petition_url",
    "identifiers": "identifiers",
    "add_tags": "add_tags",
    "comments": "comments",
    "created_date": "created_date",
    "modified_date": "modified_date",
}


def scan(path: str) -> pd.DataFrame:
    """Flatten every element."""
    elements = []
    with Path(path).open("rb") as file:
        for line in file:
            document = orjson.loads(line)
            elements += document["body"] if isinstance(document, dict) else document
    return pd.json_normalize(elements)


def scan_answer(frame: pd.DataFrame) -> pd.DataFrame:
    """Take the columns of the answer that are flat, under their names in the table, of signatures only."""
    names = {f"osdi:signature.{path}": name for path, name in _NAMES.items()}
    signatures = frame[list(names)].rename(columns=names).dropna(subset="self_url")
    for name in ("created_date", "modified_date"):
        signatures[name] = pd.to_datetime(signatures[name], utc=True, format="ISO8601")
    prefixes = ("action_network:referrer_data", "platform:referrer_data", "referrer_data")
    for name, absent in {"source": ["none"], "referrer": [], "website": ["api", "none"]}.items():
        found = [f"osdi:signature.{prefix}.{name}" for prefix in prefixes]
        signatures[name] = frame.reindex(columns=found).bfill(axis=1).iloc[:, 0]
        signatures[name] = signatures[name].mask(signatures[name].isin(absent))
    return signatures
