"""Values and places: what does not fit is None."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

Row = dict[str, Any]

#: What the package puts before an address of which it makes an id.
SALT = "osdi-frames person known by an e-mail address: "


def text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return re.sub("[\ud800-\udfff]", "\ufffd", value) if isinstance(value, str) else None


def boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else None


def integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        match = re.fullmatch(r"(-?[0-9]+)(\.0+)?", value)
        value = int(match[1]) if match else None
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return value if isinstance(value, int) and -(2**63) <= value < 2**63 else None


def number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", value):
        return None
    try:
        value = float(value) if isinstance(value, str | int | float) else None
    except OverflowError:
        return None
    return value if value is not None and abs(value) < float("inf") else None


def amount(value: Any) -> Decimal | None:
    """Return an amount of at most thirteen digits and two decimals."""
    written = text(value) if not isinstance(value, bool) else None
    match = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", written or "")
    if match is None or abs(int((match[2] or "e0")[1:])) > 400:
        return None
    cents = Fraction(written) * 100
    return Decimal(int(cents)) / 100 if cents.denominator == 1 and abs(cents) < 10**15 else None


def moment(value: Any) -> datetime | None:
    """Return an ISO 8601 datetime in the extended form, with the zone that it names, if any."""
    if not isinstance(value, str) or not re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def utc(value: Any) -> datetime | None:
    time = moment(value)
    if time is None:
        return None
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:
        return None


def local(value: Any) -> datetime | None:
    time = moment(value)
    return None if time is None else time.replace(tzinfo=None)


def texts(value: Any) -> list[str] | None:
    if not isinstance(value, list):
        return None
    return [item for item in map(text, value) if item is not None]


def json_text(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    return text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def first(*values: Any) -> Any:
    """Return the first value that there is."""
    return next((value for value in values if value is not None), None)


def chosen(entries: Any, has_value: Callable[[Row], bool]) -> Any:
    """Return the object that is marked as primary, else the first object: one with its value, if there is one."""
    present = [entry for entry in as_list(entries) if isinstance(entry, dict)]
    marked = [entry for entry in present if boolean(entry.get("primary"))]
    return first(*(entry for entry in (*marked, *present) if has_value(entry)), *marked, *present)


def email_in(person: Any) -> Any:
    return chosen(at(person, "email_addresses"), lambda entry: is_text(entry.get("address")))


def phone_in(person: Any) -> Any:
    return chosen(at(person, "phone_numbers"), lambda entry: is_text(entry.get("number")))


def address_in(person: Any) -> Any:
    return chosen(at(person, "postal_addresses"), is_somewhere)


def is_somewhere(place: Any) -> bool:
    """Tell whether an address names more than a country."""
    lines = as_list(at(place, "address_lines"))
    named = [*lines[:1], *(at(place, key) for key in ("locality", "region", "postal_code"))]
    return any(map(is_text, named))


def is_text(value: Any) -> bool:
    """Tell whether a value is a text that is not blank."""
    return bool((text(value) or "").strip())


def path_of(href: str) -> str:
    """Return the path of an address, without a slash at its end."""
    path = re.split("[?#]", href, maxsplit=1)[0]
    return re.sub("^([^/:]+:)?//[^/]*", "", path).rstrip("/")


def id_at(href: Any) -> str | None:
    """Return the last path segment of an address."""
    address = text(href)
    return None if address is None else path_of(address).rpartition("/")[2] or None


def own_id(identifiers: Any, prefixes: Sequence[str]) -> str | None:
    """Return the service's own identifier, without its prefix."""
    heads = tuple(f"{prefix}:" for prefix in prefixes)
    own = [identifier for identifier in texts(identifiers) or [] if identifier.startswith(heads)]
    return own[0].partition(":")[2] or None if own else None


def id_of(value: Any, prefixes: Sequence[str]) -> str | None:
    return first(
        own_id(at(value, "identifiers"), prefixes),
        id_at(at(value, "_links", "self", "href")),
        text(at(value, "id")) or None,
    )


def under(value: Any, prefixes: Sequence[str], key: str, *inner: str) -> list[Any]:
    """Return what stands at a key of the service's own, by each of its prefixes."""
    return [at(value, f"{prefix}:{key}", *inner) for prefix in prefixes]


def linked(value: Row, name: str, prefixes: Sequence[str]) -> str | None:
    """Return the id of what an act links, or names in a field; the old link to people may lead to all of them."""
    field = map(text, under(value, prefixes, f"{name}_id"))
    hrefs = (at(value, "_links", link, "href") for link in link_names(name, prefixes))
    people = text(at(value, "_links", "osdi:people", "href")) if name == "person" else None
    one = re.search("/people/[^/]+$", re.split("[?#]", people or "", maxsplit=1)[0].removesuffix("/"))
    return first(*map(id_at, hrefs), one and id_at(people), *field)


def link_names(name: str, prefixes: Sequence[str]) -> list[str]:
    """Return the keys of the link to something."""
    own = [f"{prefix}:{name}" for prefix in prefixes] if name == "survey" else []
    return [*own, f"osdi:{name}"]


def links(value: Any, *names: str) -> str | None:
    return first(*(text(at(value, "_links", name, "href")) for name in names))


def is_blank(value: Any) -> bool:
    """Return whether a custom field has no value."""
    return value is None or (isinstance(value, str) and not value.strip())


def created(value: Any) -> datetime | None:
    return first(utc(at(value, "created_date")), utc(at(value, "created_at")))


def modified(value: Any) -> datetime | None:
    return first(utc(at(value, "modified_date")), utc(at(value, "modified_at")))


def newest_of(*times: datetime | None) -> datetime | None:
    return max((time for time in times if time is not None), default=None)


def holds(value: Any, *keys: str) -> bool:
    """Tell whether a value is an object in which one of the keys has a value."""
    return any(at(value, key) is not None for key in keys)


def cells(row: Row, columns: Sequence[str]) -> Row:
    """Return what a block has: texts without regard to case and to whitespace around them, none that are blank."""
    values = {column: row[column] for column in columns if column in row}
    plain = {
        name: value.strip().casefold() if isinstance(value, str) else value for name, value in values.items()
    }
    return {name: value for name, value in plain.items() if value not in (None, "", [])}


def address_of(row: Row) -> str | None:
    """Return the e-mail address by which a person is known."""
    return (row["email"] or "").strip().casefold() or None


def id_by_address(address: str) -> str:
    """Return the id of a person without one."""
    return f"email:{hashlib.sha256((SALT + address).encode()).hexdigest()[:32]}"


def named(value: Any, *names: str) -> Row:
    """Return texts under their own names."""
    return {name: text(at(value, name)) for name in names}


def location(place: Any) -> Row:
    lines = as_list(at(place, "address_lines"))
    row = {"location_address": text(lines[0]) if lines else None}
    for name in ("locality", "region", "postal_code", "country"):
        row[f"location_{name}"] = text(at(place, name))
    return row | {
        "location_latitude": number(at(place, "location", "latitude")),
        "location_longitude": number(at(place, "location", "longitude")),
        "location_accuracy": text(at(place, "location", "accuracy")),
    }


def person_in(person: Any) -> Row:
    email, phone = email_in(person), phone_in(person)
    return (
        named(person, "given_name", "family_name")
        | {
            "email": text(at(email, "address")),
            "email_status": text(at(email, "status")),
            "phone": text(at(phone, "number")),
            "phone_type": text(at(phone, "number_type")),
            "phone_status": text(at(phone, "status")),
            "languages_spoken": texts(at(person, "languages_spoken")),
            "custom_fields": json_text(at(person, "custom_fields")),
        }
        | location(address_in(person))
    )


def status_word(status: str | None) -> str:
    return re.sub(r"[\s_-]", "", (status or "").lower())
