"""Archives made by chance: sound documents in any layout and container, then changed by named features."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

from tests.odd_values import ODD
from tests.service_documents import DELIVERED, PREFIXES, RESOURCES, SIBLINGS, SIGNATURE, V1, V2, WHOLE_PERSON
from tests.strategies import lists_in, places, spelled

from .building import Node

Spec = dict[str, Any]
Feature = Callable[[Spec, Random], None]

LAYOUTS = (
    "lines",
    "lines utf-8",
    "glued",
    "glued pretty",
    "pretty",
    "lines crlf",
    "lines blanks",
    "pretty bom",
)
TARS = "tar", "tar.gz", "tar.bz2", "tar.xz"
COMPRESSED = "gz", "zst", "bz2", "xz"
ARCHIVES = "zip", *TARS
PACKED = *COMPRESSED, *ARCHIVES
#: What can be changed and stays readable: a changed byte in a tar can be one of anything.
OPEN = *COMPRESSED, "zip"


def make(random: Random, *, only: str | None = None) -> Spec:
    """Return the specification of an archive, with the names of the features that changed it."""
    files = [file(random, number) for number in range(random.choice((1, 4, 10)))]
    spec: Spec = {"features": [], "files": files}
    for name in [only] if only else random.sample([*FEATURES], random.choice((1, 3, 8))):
        spec["features"].append(name)
        FEATURES[name](spec, random)
    return spec


# --- sound archives ------------------------------------------------------------------------------------


def leaf(name: str, docs: list[Any], layout: str = "lines") -> Node:
    return {"name": name, "layout": layout, "docs": docs, "edits": []}


def packed(name: str, kind: str, members: list[Node]) -> Node:
    return {"name": f"{name}.{kind}", "kind": kind, "members": members, "edits": []}


def file(random: Random, number: int, depth: int = 0) -> Node:
    kind = random.choice(("", "", *PACKED) if depth < 2 else ("", "", "gz"))
    name = random.choice((f"{number}", f"in/{number}", f"2026/a b/{number}"))
    if kind in ARCHIVES:
        return packed(
            name, kind, [file(random, number, depth + 1) for number in range(random.choice((1, 2, 4)))]
        )
    layout = random.choice(LAYOUTS)
    suffix = random.choice((".ndjson", ".jsonl", ".json") if layout.startswith("lines") else (".json",))
    node = leaf(name + suffix, [document(random) for _ in range(random.choice((1, 2, 5, 12)))], layout)
    return packed(node["name"], kind, [node]) if kind else node


def identified(of: Any, random: Random) -> Any:
    value = copy.deepcopy(of)
    number, day = random.randrange(6), random.randint(1, 3)
    value["identifiers"][0] = f"<p>:x{number}"
    value["_links"]["self"]["href"] += str(number)
    value["modified_at" if "modified_at" in value else "modified_date"] = f"2026-05-0{day}T00:00:00Z"
    return value


def document(random: Random) -> Any:
    """Return a document of any kind, in an envelope or without."""
    events = [identified(random.choice((V1, V2)), random) for _ in range(random.randint(1, 3))]
    signatures = [identified(SIGNATURE, random) for _ in range(random.randint(1, 3))]
    siblings = random.choice(({}, SIBLINGS, SIBLINGS | {"idempotency_key": "77aa"}))
    others = {"total_pages": 1}, [], [{"osdi:attendance": {}}], {"_embedded": {"osdi:people": []}}
    resources = [resource(random) for _ in range(random.randint(1, 3))]
    body = random.choice(
        (
            events[0],
            {"page": 1, "_embedded": {"osdi:events": events}},
            {"page": 1, "_embedded": {"osdi:signatures": signatures}},
            [{"osdi:signature": signature} | siblings for signature in signatures],
            [{"osdi:signature": signatures[0]} | siblings],
            [{key: identified(DELIVERED[key], random)} | siblings for key in random.sample([*DELIVERED], 2)],
            random.choice((resources[0], resources, [resources])),
            random.choice(({"page": 1}, {})) | {"_embedded": embedded(random, 2)},
            random.choice(others),
        )
    )
    if random.random() < 0.5:
        stamp, url = random.choice(("received_at", "fetched_at")), random.choice(({}, {"url": "/"}))
        body = {stamp: f"2026-06-0{random.randint(1, 2)}T00:00:00Z"} | url | {"body": body}
    return spelled(body, random.choice(PREFIXES[:2]))


#: Resources that no table reads, and an answer of the service that is none.
ITEM = {
    "identifiers": ["<p>:i1"],
    "item_type": "osdi:person",
    "person": SIGNATURE["person"],
    "_links": {"self": {"href": "https://example.org/api/v2/lists/l1/items/i1"}},
}
MESSAGE = {
    "identifiers": ["<p>:m1"],
    "title": "Join",
    "_embedded": {"osdi:creator": SIGNATURE["person"]},
    "_links": {"self": {"href": "https://example.org/api/v2/messages/m1"}},
}
ENTRY_POINT = {"identifiers": [""], "motd": "Welcome", "_links": {"self": {"href": ""}, "osdi:events": {}}}
COLLECTIONS = {key: [value] for key, value in RESOURCES.items()} | {
    "osdi:events": [V1, V2],
    "osdi:items": [ITEM],
    "osdi:messages": [MESSAGE],
    "osdi:creator": [WHOLE_PERSON],
}


def resource(random: Random) -> Any:
    """Return a resource of any type, perhaps without what tells its type, perhaps with collections inside."""
    of = random.choice([*COLLECTIONS.values(), [ENTRY_POINT, SIGNATURE]])
    value = identified(random.choice(of), random)
    for part in random.sample(
        ("self", "links", "identifiers", "embedded", "page"), random.choice((0, 1, 1, 2))
    ):
        if part == "self":
            value.get("_links", {}).pop("self", None)
        elif part == "embedded":
            value["_embedded"] = value.get("_embedded", {}) | embedded(random, 1)
        elif part == "page":
            value["page"] = 1
        else:
            value.pop("_links" if part == "links" else part, None)
    return value


def embedded(random: Random, most: int) -> dict[str, Any]:
    """Return some collections, by their key or by that without its prefix."""
    found: dict[str, Any] = {}
    for key in random.sample(sorted(COLLECTIONS), random.randint(1, most)):
        name = random.choice((key, key, key.partition(":")[2]))
        of = random.choice(COLLECTIONS[key])
        found[name] = [
            resource(random) if random.random() < 0.1 else identified(of, random)
            for _ in range(random.randint(0, 2))
        ]
    return found


# --- places --------------------------------------------------------------------------------------------


def nodes(members: list[Node], into: Sequence[str] = PACKED) -> Iterator[Node]:
    for node in members:
        yield node
        if node.get("kind") in into:
            yield from nodes(node["members"], into)


def leaves(spec: Spec) -> list[Node]:
    return [node for node in nodes(spec["files"]) if "docs" in node]


def a_leaf(spec: Spec, random: Random) -> Node:
    return random.choice(leaves(spec) or [leaf("none", [])])


def a_container(spec: Spec, random: Random, kinds: Sequence[str]) -> Node:
    """Return a container that is in no tar; a new one if there is none of these kinds."""
    found = [node for node in nodes(spec["files"], OPEN) if node.get("kind") in kinds]
    if not found:
        kind = random.choice(kinds)
        members = [leaf(f"{name}.ndjson", [document(random)] * 2) for name in "mn"]
        found = [packed("made.ndjson", kind, members if kind in ARCHIVES else members[:1])]
        spec["files"] += found
    return random.choice(found)


def a_place(spec: Spec, random: Random, of: type = object) -> tuple[Any, Any]:
    """Return a place in a document: what holds it, and its key there."""
    found = [place for place in places(a_leaf(spec, random)["docs"]) if isinstance(place[0], of)]
    return random.choice(found or [({"": 0}, "")])


# --- features ------------------------------------------------------------------------------------------


def odd_value(spec: Spec, random: Random) -> None:
    holder, key = a_place(spec, random)
    holder[key] = copy.deepcopy(random.choice(ODD))


def removed(spec: Spec, random: Random) -> None:
    holder, key = a_place(spec, random)
    del holder[key]


def renamed(spec: Spec, random: Random) -> None:
    holder, key = a_place(spec, random, dict)
    names = "title|summary|body|_embedded|osdi:signature|osdi:events||A\0|identifiers|ﬀ"
    holder[random.choice(names.split("|"))] = holder.pop(key)


def wrapped(spec: Spec, random: Random) -> None:
    holder, key = a_place(spec, random)
    holder[key] = random.choice(([holder[key]], {"a": holder[key]}, [None, holder[key]], [holder[key]] * 3))


def moved(spec: Spec, random: Random) -> None:
    """Put a part of one document at a place of another."""
    (holder, key), (other, its_key) = a_place(spec, random), a_place(spec, random)
    holder[key] = copy.deepcopy(other[its_key])


def duplicate_key(spec: Spec, random: Random) -> None:
    holder, key = a_place(spec, random, dict)
    holder[f"{key}@@2"] = random.choice((copy.deepcopy(holder[key]), None, "other", 7))


def surrogate_key(spec: Spec, random: Random) -> None:
    holder, key = a_place(spec, random, dict)
    holder[random.choice(("\ud800", "a\udc00b", "title\udfff"))] = holder[key]


def raw(tokens: str, spec: Spec, random: Random) -> None:
    holder, key = a_place(spec, random)
    if key == "url" and "body" in holder:  # of an envelope, which nothing reads, whatever it is
        key = "body"
    holder[key] = f"@@{random.choice(tokens.split('|'))}@@"


def many_constants(spec: Spec, random: Random) -> None:
    """Replace every number of some documents by a constant, and repeat the entries of a list in each of these."""
    docs = a_leaf(spec, random)["docs"]
    for holder, key in list(places(docs)):
        if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = f"@@{random.choice(CONSTANTS.split('|'))}@@"
    for entries, *_ in [of_objects for doc in docs[:3] if (of_objects := lists_of_objects(doc))]:
        times = min(300, 1 + 3_000_000 // len(json.dumps(entries)))
        entries[:] = [copy.deepcopy(entry) for entry in (entries * times)[:300]]


def lists_of_objects(document: Any) -> list[list[Any]]:
    return [entries for entries in lists_in(document) if any(isinstance(entry, dict) for entry in entries)]


def null_entries(spec: Spec, random: Random) -> None:
    """Put null entries into the lists of some documents, perhaps without marks of primary ones, and odd values."""
    docs, unmarked = a_leaf(spec, random)["docs"], random.random() < 0.5
    for entries in lists_in(docs)[1:]:
        for entry in entries if unmarked else ():
            if isinstance(entry, dict):
                entry.pop("primary", None)
        for _ in range(random.choice((0, 1, 1, 2))):
            entries.insert(random.choice((0, random.randint(0, len(entries)))), None)
    for holder, key in random.sample(found := list(places(docs)), len(found) // 50):
        holder[key] = copy.deepcopy(random.choice(ODD))


def large(spec: Spec, random: Random) -> None:
    holder, key = a_place(spec, random)
    holder[key] = "é" * random.choice((10_000, 3_000_000))


def many(spec: Spec, random: Random) -> None:
    node = a_leaf(spec, random)
    size = len(json.dumps(node["docs"]))
    times = min(random.choice((300, 2100)), 3_000_000 // size)
    node["docs"] = [copy.deepcopy(doc) for doc in node["docs"] * times][:2100]


def layout(name: str, spec: Spec, random: Random) -> None:
    a_leaf(spec, random)["layout"] = name


def an_edit(random: Random) -> list[Any]:
    place = random.choice((random.random(), random.random(), 0.0))
    inserted = '\0|\n|{|]|"|\\|\xff\xfe|\xef\xbb\xbf|,|\n{}\n|\x1f\x8b|PK\x03\x04| \n|' + "x" * 600
    return random.choice(
        (
            ["flip", place, str(1 << random.randrange(8))],
            ["cut", place],
            ["insert", place, random.choice(inserted.split("|"))],
            ["remove", place, random.choice(("1", "2", "100", "512"))],
        )
    )


def bytes_of_text(spec: Spec, random: Random) -> None:
    found = [node for node in nodes(spec["files"], OPEN) if "docs" in node]
    random.choice(found or [leaf("none", [])])["edits"].append(an_edit(random))


def bytes_of(kinds: Sequence[str], spec: Spec, random: Random) -> None:
    edits = [an_edit(random) for _ in range(random.choice((1, 1, 2)))]
    a_container(spec, random, kinds)["edits"] += edits


def bytes_of_tar_member(spec: Spec, random: Random) -> None:
    inner: Spec = {"files": []}
    bytes_of(OPEN, inner, random)
    a_container(spec, random, TARS)["members"][:0] = inner["files"]


def name(names: str, spec: Spec, random: Random) -> None:
    spec["files"].append(leaf(random.choice(names.split("|")), [document(random)]))


def text_without_suffix(spec: Spec, random: Random) -> None:
    """Write a text, which is no JSON, under a name that says nothing; or documents that begin as a text does."""
    start = random.choice(("[section]", "log", "", "[1, 2]", " \n", "\ufeff", "{", "[["))
    node = leaf(random.choice(("plain", "in/Makefile")), random.choice(([], [document(random)])))
    node["edits"] = [["insert", 0.0, start.encode().decode("latin-1")]]
    spec["files"].append(node)


def member_name(names: str, spec: Spec, random: Random) -> None:
    member = leaf(random.choice(names.split("|")), [document(random)])
    a_container(spec, random, ARCHIVES)["members"].append(member)


def tar_link(spec: Spec, random: Random) -> None:
    members = a_container(spec, random, TARS)["members"]
    kind = random.choice(("hard link", "soft link"))
    target = members[0]["name"] if members else "nothing.json"
    members.append({"name": "link.json", "kind": kind, "target": target})


def tar_after_tar(spec: Spec, random: Random) -> None:
    a_container(spec, random, ("tar",))["edits"].append(["repeat", 0])


def empty(spec: Spec, random: Random) -> None:
    a_container(spec, random, PACKED)["members"] = []


def special(kind: str, place: str, target: str, spec: Spec, random: Random) -> None:
    spec["files"].append({"name": place, "kind": kind, "target": target})


def linked_folder(spec: Spec, random: Random) -> None:
    name("../outside/o.json", spec, random)
    special("link", "linked", "../outside", spec, random)


NAMES = (
    "[a].json|a*b?.json|new\nline.json|UPPER.JSON|é\u0301.json| .json|a!b.json|%41.json|~.json|a\x1b[31m.json"
)
NAMES += "|export|blank.json |in/blank.NDJSON\t|export.gz|lines.ndjson.xz"
UNREAD = "notes.txt|a.json.bak|export.csv|log.d/log|x.|README.md|in/readme|Thumbs.db"
NAMES += "|dir.json/x.json|x.json.gz|#.ndjson|a:b.json|\u202e.json|x.tar.json"
DEEP = "nest 100|nest 960|nest 985|nest 1500|nest 20000|objects 990|objects 5000"
NUMBERS = "1e22|1E5|1.50|-0|-0.0|1e-7|123456789012345678901234567890.0|1.0E+2|5e-324|0.1e1"
CONSTANTS = "NaN|Infinity|-Infinity"
STRINGS = (
    r'"\x41"|"\u12"|"\ud83d\ude00"|"\ude00\ud83d"|"\/"|"\u0000"|/* c */1|[1,]|{"a":1,}|{a:1}' + '|"\t"|"\x7f"'
)
FEATURES: dict[str, Feature] = {
    "odd value": odd_value,
    "removed": removed,
    "renamed": renamed,
    "wrapped": wrapped,
    "moved": moved,
    "duplicate key": duplicate_key,
    "surrogate key": surrogate_key,
    "deep nesting": partial(raw, DEEP),
    "huge digits": partial(raw, "digits 400|digits 4300|digits 4301|digits 20000"),
    "infinite": partial(raw, f"{CONSTANTS}|1E400|-1e400"),
    "many constants": many_constants,
    "null entries": null_entries,
    "number spelling": partial(raw, NUMBERS),
    "no number": partial(
        raw, "01|1.|.5|+1|0x1|1_0|True|'a'|undefined|nan|-NaN|inf|-INF|infinity|+inf|nano|-|"
    ),
    "string spelling": partial(raw, STRINGS),
    "large": large,
    "many": many,
    "array": partial(layout, "array"),
    "compact then pretty": partial(layout, "compact then pretty"),
    "bytes of text": bytes_of_text,
    **{f"bytes of {kind}": partial(bytes_of, (kind,)) for kind in PACKED},
    "bytes of a tar's member": bytes_of_tar_member,
    "tar after tar": tar_after_tar,
    "tar link": tar_link,
    "empty container": empty,
    "odd name": partial(name, NAMES),
    "unread name": partial(name, UNREAD),
    "unread member": partial(member_name, UNREAD),
    "text without a suffix": text_without_suffix,
    "hidden name": partial(name, ".hidden.json|.in/a.json"),
    "name not UTF-8": partial(name, "a\udcff.json"),
    "odd member name": partial(member_name, f"{NAMES}|./dot.json|a//b.json|/root.json|{'x' * 120}.json"),
    "member with ..": partial(member_name, "../up.json|a/../b.json"),
    "fifo": partial(special, "fifo", "pipe.json", ""),
    "dangling link": partial(special, "link", "gone.json", "nowhere"),
    "looping link": partial(special, "link", "in/loop", ".."),
    "linked folder": linked_folder,
}


# --- smaller ones --------------------------------------------------------------------------------------


def with_one_thing_less(spec: Spec) -> Iterator[Spec]:
    """Return copies of a case without one of its files, members, edits, documents, or values in these."""
    for number in range(sum(1 for _ in removable(spec))):
        copied = copy.deepcopy(spec)
        holder, piece = next(place for at, place in enumerate(removable(copied)) if at == number)
        del holder[piece]
        yield copied


def removable(spec: Spec) -> Iterator[tuple[Any, Any]]:
    """Return what can be left out, the larger pieces first."""
    found = list(nodes(spec["files"]))
    parts = [node[part] for node in found for part in ("members", "docs", "edits") if part in node]
    for holder in (spec["files"], *parts):
        if len(holder) > 3:
            yield holder, slice(len(holder) // 2, None)
            yield holder, slice(None, len(holder) // 2)
        yield from ((holder, at) for at in range(len(holder)))
    for document in (doc for node in found for doc in node.get("docs", ())):
        yield from sorted(places(document), key=lambda place: -len(json.dumps(place[0][place[1]])))
