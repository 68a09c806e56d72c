"""Documents for hypothesis: edits that put anything at any place of whole ones."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from tests.odd_values import ODD
from tests.service_documents import DELIVERED, PERSON, PREFIXES, RESOURCES, SIBLINGS, SIGNATURE, V1, V2

TEXTS = st.text(max_size=6)
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.sampled_from(ODD) | st.booleans() | NUMBERS | TEXTS

VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "href", "primary", "x:y", "self"]) | TEXTS, inner, max_size=3)
    ),
    max_leaves=5,
)

KEYS = st.sampled_from(
    [
        *(
            "unknown",
            "x:unknown",
            "osdi:attendance",
            "osdi:response",
            "total_amount",
            "primary",
            "null",
            "summary",
            "title",
            "start",
        ),
        *("created_at", "modified_at", "capacity", "<p>:person_id"),
        *("origin_system", "originating_system", "referrer_data", "<p>:event_campaign_id"),
        *("body", "_embedded", "received_at"),
    ]
)


def spelled(value: Any, prefix: str) -> Any:
    """Spell ``<p>`` as the service's own prefix, everywhere."""
    return json.loads(json.dumps(value).replace("<p>", prefix))


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Return every place of a document: what holds it, and its key there."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def lists_in(value: Any) -> list[list[Any]]:
    """Return all lists of a document."""
    return [held for holder, key in places([value]) if isinstance(held := holder[key], list)]


def with_one_odd_value(of: Any, *, start: int = 0, step: int = 1) -> Iterator[Any]:
    """Return a copy of a document for each of its places and each odd value, or for every so many of these."""
    count = sum(1 for _ in places(of))
    for number in range(start, count * len(ODD), step):
        place, odd = divmod(number, len(ODD))
        value = copy.deepcopy(of)
        holder, key = next(itertools.islice(places(value), place, None))
        holder[key] = ODD[odd]
        yield value


@st.composite
def edited(draw: st.DrawFn, of: Any, *, most: int = 4) -> Any:
    """Return a copy of a document with a few of its places changed: taken away, replaced, added to."""
    value = copy.deepcopy(of)
    for _ in range(draw(st.integers(0, most))):
        found = list(places(value))
        if not found:
            break
        holder, key = found[draw(st.integers(0, len(found) - 1))]
        inner = holder[key]
        how = draw(st.sampled_from(["replace", "take away", "null", "add", "double", "swap"]))
        if how == "take away":
            del holder[key]
        elif how == "add" and isinstance(inner, dict):
            inner[draw(KEYS)] = copy.deepcopy(draw(VALUES))
        elif how == "add" and isinstance(inner, list):
            inner.insert(draw(st.integers(0, len(inner))), copy.deepcopy(draw(VALUES)))
        elif how == "double" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(inner))
        elif how == "swap" and isinstance(inner, list):
            inner.reverse()
        else:
            holder[key] = None if how == "null" else copy.deepcopy(draw(VALUES))
    return value


@st.composite
def with_null_entries(draw: st.DrawFn, of: Any) -> Any:
    """Return a copy of a document with null entries in its lists, and perhaps without the marks of primary ones."""
    value = copy.deepcopy(of)
    unmarked = draw(st.booleans())
    for entries in lists_in(value):
        for entry in entries if unmarked else ():
            if isinstance(entry, dict):
                entry.pop("primary", None)
        for place in draw(st.lists(st.integers(0, len(entries)), min_size=int(unmarked), max_size=2)):
            entries.insert(place, None)
    return value


@st.composite
def identified(draw: st.DrawFn, of: Any) -> Any:
    """Return a copy of an event or signature under one of a few ids, changed at one of a few times."""
    value = copy.deepcopy(of)
    number = draw(st.integers(0, 3))
    value["identifiers"][0] = f"<p>:x{number}"
    value["_links"]["self"]["href"] += str(number)
    changed = f"2026-05-0{draw(st.integers(1, 3))}T00:00:00Z"
    value["modified_at" if "modified_at" in value else "modified_date"] = changed
    return value


#: What persons have that holds nothing, or only a part of what others have, in another spelling.
LITTLE = {
    "email_addresses": [[], [{"primary": True, "status": "subscribed"}], [{"address": "ADA@example.org "}]],
    "phone_numbers": [[], [{"primary": True, "number_type": "Mobile"}], [{"number": "15105550100"}]],
    "postal_addresses": [
        [],
        [{"country": "US"}],
        [{"primary": True, "postal_code": "94608", "country": "us"}],
    ],
    "given_name": ["", "ada"],
    "family_name": [None, " O'NEIL"],
    "languages_spoken": [[]],
    "custom_fields": [{}],
}


@st.composite
def lacking(draw: st.DrawFn, of: Any) -> Any:
    """Return a copy of a resource without some of what tells it and its person from others, and with little in it."""
    value = copy.deepcopy(of)
    names = st.sampled_from(["identifiers", "self", "osdi:person", "<p>:person_id", "person"])
    for name in draw(st.sets(names, min_size=1, max_size=4)):
        value.pop(name, None)
        value["_links"].pop(name, None)
    if draw(st.booleans()):
        value["id"] = draw(st.sampled_from(["x0", "x1", ""]))
    person = value.get("person", value if "given_name" in value else {})
    little = {name: st.sampled_from(values) for name, values in LITTLE.items()}
    person.update(copy.deepcopy(draw(st.fixed_dictionaries({}, optional=little))))
    return value


def known(of: Any) -> st.SearchStrategy[Any]:
    """Return resources that are known by their ids, and some that lack these."""
    return identified(of) | identified(of).flatmap(lacking)


@st.composite
def collections(draw: st.DrawFn) -> dict[str, Any]:
    """Return one or two collections, by their key or by that without its prefix."""
    keys = draw(st.lists(st.sampled_from(sorted(RESOURCES)), min_size=1, max_size=2, unique=True))
    names = {key: draw(st.sampled_from([key, key.partition(":")[2]])) for key in keys}
    return {names[key]: draw(st.lists(known(RESOURCES[key]), max_size=3)) for key in keys}


@st.composite
def resources(draw: st.DrawFn) -> dict[str, Any]:
    """Return a resource of any type, perhaps without its address, perhaps with collections in it."""
    value = draw(st.sampled_from([V1, V2, *RESOURCES.values()]).flatmap(known))
    if draw(st.booleans()):
        value["_links"].pop("self", None)
    if draw(st.booleans()):
        value["_embedded"] = value.get("_embedded", {}) | draw(collections())
    return value


@st.composite
def documents(draw: st.DrawFn, *, most: int = 4) -> Any:
    """Return a document of any kind, in an envelope or without, in any spelling of the prefix."""
    events = st.sampled_from([V1, V2]).flatmap(identified)
    signatures = identified(SIGNATURE)
    kind = draw(
        st.sampled_from(
            [
                *("event", "page", "signature page", "resources", "resource"),
                *("delivery", "delivery", "batch", "other"),
            ]
        )
    )
    if kind == "event":
        body = draw(events)
    elif kind == "other":
        body = draw(
            st.sampled_from([{"total_pages": 1}, {"_embedded": {"osdi:lists": [PERSON]}}, {}, []]) | VALUES
        )
    elif kind == "resource":
        body = draw(resources())
    elif kind == "resources":
        body = draw(st.sampled_from([{"total_pages": 1, "page": 1}, {}])) | {"_embedded": draw(collections())}
    elif kind in ("page", "signature page"):
        name, each = ("osdi:events", events) if kind == "page" else ("osdi:signatures", signatures)
        body = {"total_pages": 1, "page": 1, "_embedded": {name: draw(st.lists(each, max_size=3))}}
    else:
        siblings = st.sampled_from([{}, SIBLINGS, SIBLINGS | {"idempotency_key": "77aa"}])
        size = (1, 1) if kind == "delivery" else (0, 3)
        acts = st.sampled_from([*DELIVERED.items()])
        drawn = [draw(acts) for _ in range(draw(st.integers(*size)))]
        body = [{key: draw(known(resource))} | draw(siblings) for key, resource in drawn]
    stamp = draw(st.sampled_from([None, None, "received_at", "fetched_at"]))
    if stamp:
        body = {
            stamp: f"2026-06-0{draw(st.integers(1, 2))}T00:00:00Z",
            "url": "https://example.org/",
            "body": body,
        }
    body = draw(edited(body, most=most))
    if draw(st.booleans()):
        body = draw(with_null_entries(body))
    return spelled(body, draw(st.sampled_from(PREFIXES)))


#: Keys of what hands documents on; some are of pages and envelopes, too.
AROUND = st.sampled_from(
    ["a", "data", "rows", "body", "person", "total_pages", "_embedded", "_links", "received_at", "osdi:x"]
)


@st.composite
def wrapped(draw: st.DrawFn) -> Any:
    """Return documents below other keys or in lists, with or without times around them."""
    value = draw(documents())
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            value = [value, *draw(st.lists(documents(), max_size=1))]
        else:
            times = st.dictionaries(
                st.sampled_from(["received_at", "created_date"]), st.just("2026-06-03T00:00:00Z"), max_size=1
            )
            value = (
                draw(times) | {draw(AROUND): value} | draw(st.dictionaries(AROUND, documents(), max_size=1))
            )
    return value
