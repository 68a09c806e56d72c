"""The things of the sample, read by hand: with `json` and pandas, and nothing of osdi_frames.

A thing is kept as its newest version says, with what only older versions say. Its columns have the names of the JSON.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

#: The prefixes of the two deployments.
SERVICES = ("action_network", "platform")
#: What a resource is, by the last words of the key that holds it, as `osdi:signature` or `action_network:responses`.
KINDS = {
    "events": "event",
    "event_campaigns": "event_campaign",
    "attendances": "attendance",
    "attendance": "attendance",
    "petitions": "petition",
    "signatures": "signature",
    "signature": "signature",
    "forms": "form",
    "submissions": "submission",
    "submission": "submission",
    "fundraising_pages": "fundraising_page",
    "donations": "donation",
    "donation": "donation",
    "advocacy_campaigns": "advocacy_campaign",
    "outreaches": "outreach",
    "outreach": "outreach",
    "surveys": "survey",
    "responses": "response",
    "response": "response",
    "upload": "upload",
}
#: What acts of each kind are about.
SUBJECTS = {
    "signature": "petition",
    "attendance": "event",
    "submission": "form",
    "donation": "fundraising_page",
    "outreach": "advocacy_campaign",
    "response": "survey",
}
#: A postal address says where something is by one of these.
PLACES = ("address_lines", "locality", "region", "postal_code")
BLANKS = re.compile(r"\s*")
Thing = dict[str, Any]


def contents(name: str, data: bytes) -> Iterator[bytes]:
    """Yield the contents of a file, or of the files that are packed in it; hidden ones and texts are passed over."""
    if name.rpartition("/")[2].startswith("."):
        return
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for inner in packed.namelist():
                yield from contents(inner, packed.read(inner))
    elif name.endswith((".tar", ".tar.gz")):
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for member in filter(tarfile.TarInfo.isfile, tar):
                file = tar.extractfile(member)
                yield from contents(member.name, file.read() if file else b"")
    elif name.endswith(".gz"):
        yield from contents(name.removesuffix(".gz"), gzip.decompress(data))
    elif name.endswith(".zst"):
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            yield from contents(name.removesuffix(".zst"), stream.read())
    elif name.endswith((".json", ".ndjson", ".jsonl")):
        yield data


def documents(folder: Path) -> Iterator[Any]:
    """Yield every JSON document of a folder, whether a file has one, one a line, or one after the other."""
    decoder = json.JSONDecoder(parse_float=Decimal)
    for path in sorted(folder.rglob("*")):
        for data in contents(path.name, path.read_bytes()) if path.is_file() else ():
            text, start = data.decode("utf-8-sig").strip(), 0
            while start < len(text):
                document, end = decoder.raw_decode(text, start)
                yield document
                start = end + len(BLANKS.match(text, end)[0])


def elements(document: Any) -> Iterator[tuple[str, Thing, str]]:
    """Yield the resources of a document, each with what it is and when it was received or fetched."""
    seen = ""
    if isinstance(document, dict) and "body" in document:
        seen = document.get("received_at") or document["fetched_at"]
        document = document["body"]
    if isinstance(document, list):  # a delivery
        found = [(key, value) for delivered in document for key, value in delivered.items()]
        resources = [(key, value) for key, value in found if isinstance(value, dict)]
    elif any(isinstance(value, list) for value in document.get("_embedded", {}).values()):  # a page
        resources = [(key, value) for key, values in document["_embedded"].items() for value in values]
    else:
        resources = [("osdi:events", document)]
    for key, resource in resources:
        if kind := KINDS.get(key.rpartition(":")[2]):
            yield kind, resource, seen


def id_of_link(resource: Thing, relation: str) -> str | None:
    """Return the id at the end of the address of a link, whatever its prefix."""
    for name, link in resource.get("_links", {}).items():
        if name.rpartition(":")[2] == relation and isinstance(link, dict) and link.get("href"):
            return str(link["href"]).rstrip("/").rpartition("/")[2]
    return None


def own_id(resource: Thing) -> str | None:
    """Return the id that the service gave, without its prefix, else that of the resource's own address."""
    for identifier in resource.get("identifiers") or ():
        system, _, identity = identifier.partition(":")
        if system in SERVICES:
            return str(identity)
    return id_of_link(resource, "self")


def primary(entries: list[Thing] | None) -> Thing:
    """Return the entry that is marked as primary, else the first."""
    entries = entries or [{}]
    return next((entry for entry in entries if entry.get("primary") is True), entries[0])


def e_mail(person: Thing) -> str | None:
    """Return the primary e-mail address of a person, as addresses are compared."""
    address = primary(person.get("email_addresses")).get("address")
    return address.strip().casefold() if address else None


def address(person: Thing) -> Thing:
    """Return what the primary postal address of a person says, or the first one that says where something is."""
    entries = [entry for entry in person.get("postal_addresses") or () if any(map(entry.get, PLACES))]
    entry = dict(primary(entries))
    lines, point = entry.get("address_lines") or [None], entry.get("location") or {}
    names = ("locality", "region", "postal_code", "country")
    said = {name: entry.get(name) for name in names} | {"line": lines[0]}
    said |= {name: point.get(name) for name in ("latitude", "longitude", "accuracy")}
    return {name: value for name, value in said.items() if value not in (None, "")}


def fullest(addresses: list[Thing]) -> Thing:
    """Return the newest of the addresses, which are in order, or the fullest older one of which it is a part."""
    said = [each for each in addresses if each]
    wholes = [each for each in said if is_part(said[-1], each)]
    return max(reversed(wholes), key=len) if wholes else (said or [{}])[-1]


def is_part(some: Thing, whole: Thing) -> bool:
    """Return whether an address says less than another one, and the same."""

    def same(value: Any) -> Any:
        return " ".join(value.split()).casefold() if isinstance(value, str) else value

    return len(some) < len(whole) and all(same(some[name]) == same(whole.get(name)) for name in some)


def flat(resource: Thing, seen: str) -> Thing:
    """Return the values of a resource that figures are made of; v1 names them as v2 does."""
    values = {key.rpartition(":")[2]: value for key, value in resource.items() if value is not None}
    for old, new in (("created_at", "created_date"), ("modified_at", "modified_date"), ("summary", "title")):
        values.setdefault(new, values.get(old))
    values.setdefault("start_date", values.get("start"))
    values |= {"id": own_id(resource), "seen": seen}
    for name in ("person", *SUBJECTS.values()):
        values[f"{name}_id"] = id_of_link(resource, name) or values.get(f"{name}_id")
    values["event_campaign_id"] = values.get("event_campaign_id") or id_of_link(resource, "event_campaign")
    values["creator_id"] = id_of_link(resource, "creator")
    place = values.get("location") or {}
    values |= {name: place.get(name) for name in ("venue", "locality", "region", "country")}
    referrer = values.get("referrer_data") or {}
    return values | {name: referrer.get(name) for name in ("source", "referrer", "website")}


def age(version: Thing) -> tuple[str, str]:
    """Return by what a newer version comes after an older one."""
    return version.get("modified_date") or "", version["seen"]


def newest(versions: list[Thing], *, is_whole: bool) -> Thing:
    """Return what the newest version of a thing says and, unless each is whole, what only older ones do."""
    thing: Thing = {}
    versions = sorted(versions, key=age)
    for version in versions[-1:] if is_whole else versions:
        thing |= {name: value for name, value in version.items() if value is not None}
    persons = [version["person"] for version in versions if version.get("person")]
    thing |= {"address": fullest([*map(address, persons)]), "email": None}
    for person in persons:
        thing["email"] = e_mail(person) or thing["email"]
    return thing | {"seen": max(version["seen"] for version in versions)}


def versions_of_people(kind: str, resource: Thing, values: Thing) -> Iterator[Thing]:
    """Yield the persons that a resource holds: who acted, or who made an event.

    Who made a petition, form or page is in none of the package's tables, so not in these either.
    """
    held = [(values["person_id"], values["person"])] if values.get("person") else []
    for name, person in (
        (*resource.get("_embedded", {}).items(), *resource.items()) if kind == "event" else ()
    ):
        if name in ("osdi:creator", "osdi:organizer"):
            held.append((own_id(person), person))
    for identity, person in held:
        dates = {
            f"{word}_date": person.get(f"{word}_date") or person.get(f"{word}_at")
            for word in ("created", "modified")
        }
        yield dates | {
            "id": identity,
            "act": values["id"],
            "email": e_mail(person),
            "address": address(person),
            "seen": values["seen"],
        }


def read(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the things of each kind, one a row, and as `person` one row a person who is held by another thing."""
    versions: dict[str, dict[str, list[Thing]]] = defaultdict(lambda: defaultdict(list))
    held = []
    for document in documents(folder):
        for kind, resource, seen in elements(document):
            values = flat(resource, seen)
            held += versions_of_people(kind, resource, values)
            if kind != "upload":
                versions[kind][values["id"]].append(values)
    tables = {
        kind: pd.DataFrame([newest(each, is_whole=kind == "event") for each in things.values()])
        for kind, things in versions.items()
    }
    acts = [table for kind, table in tables.items() if kind in SUBJECTS]
    tables["person"] = people(held, acts)
    for table in tables.values():
        for name in ("created_date", "modified_date", "start_date", "seen"):
            table[name] = pd.to_datetime(table.get(name), utc=True, format="ISO8601")
    return tables


def people(held: list[Thing], acts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return one row a person, and let the acts know their persons.

    A person without an id is the one id that has the same e-mail address, else the address. An act takes the address of
    its person where it has none, or a part of it.
    """
    person_of_act = {
        act: person for table in acts for act, person in zip(table["id"], table["person_id"], strict=True)
    }
    ids_of: dict[str, set[str]] = defaultdict(set)
    for version in held:
        named = person_of_act.get(version["act"])
        version["id"] = named if isinstance(named, str) else version["id"]
        if version["id"] and version["email"]:
            ids_of[version["email"]].add(version["id"])

    def known_as(identity: Any, email: str | None) -> str | None:
        ids = ids_of.get(email or "", set())
        return identity if isinstance(identity, str) else next(iter(ids)) if len(ids) == 1 else email

    persons: dict[str, list[Thing]] = defaultdict(list)
    for version in sorted(held, key=age):
        persons[known_as(version["id"], version["email"]) or ""].append(version)
    addresses = {
        person: fullest([version["address"] for version in each]) for person, each in persons.items()
    }
    for table in acts:
        table["person_id"] = [
            known_as(*each) for each in zip(table["person_id"], table["email"], strict=True)
        ]
        both = zip(table["address"], table["person_id"].map(addresses), strict=True)
        where = [of if isinstance(of, dict) and (not own or is_part(own, of)) else own for own, of in both]
        for name in ("country", "region"):
            table[name] = [each.get(name) for each in where]
    created = {
        person: min((version["created_date"] for version in each if version["created_date"]), default=None)
        for person, each in persons.items()
    }
    return pd.DataFrame({"id": created.keys(), "created_date": created.values()})
