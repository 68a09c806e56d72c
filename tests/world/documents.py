"""Things as documents show them, documents, pulls, and what the words of the service mean.

`Seen` says which parts of a state a document shows; `truth` reads these and never the documents.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from osdi_frames.pulls import CollectionPulled, Manifest
from tests.pulls import PATHS

Key = tuple[str, str]  # kind and id
State = dict[str, Any]

START, SECOND = datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=1)
API = {False: "https://service.example/api/v2", True: "https://service.example/api/v1"}  # by whether it is v1
OTHER_API = "https://other.example/api/v2"
#: The digests of keys: of the organisation its first and its next, of a group that sees a part, and of a client that
#: writes none into its manifests.
KEYS = ("first", "next", "group", "")
TABLES = {"event": "events", "event_campaign": "event_campaigns", "petition": "petitions"}
TABLES |= {"signature": "signatures", "attendance": "attendances", "person": "people"}
PARENTS = {"signature": "petition", "attendance": "event"}
_EVENTS = {"events", "event_campaigns", "campaign_events"}
#: What a pull must have read whole to prove that it has everything of a kind.
PROOFS = {kind: {table} for kind, table in TABLES.items()} | {"event": _EVENTS}
PROOFS |= {"attendance": {*_EVENTS, "attendances"}, "signature": {"petitions", "signatures"}}
#: The parts of a person, and the keys of a state that hold them.
PERSON = {"name": ("given_name", "family_name"), "email": ("emails",), "phone": ("phones",)}
PERSON |= {"location": ("places",), "languages": ("languages_spoken",), "custom": ("custom_fields",)}
#: What embedded creators lack (interface 2.8).
NOT_EMBEDDED = ("phones", "languages_spoken", "custom_fields")
REFERRER = ("source", "referrer", "website")
#: The parts of an act that lead to others: its links, and among these that to the person.
LINKS = ("links", "link to the person")
#: Statuses of those who came, and of those who do not come; any other counts as an RSVP, and none does, too.
CAME = ("attended", "checkedin")
NOT_COMING = ("declined", "tentative", "needsaction", "cancelled", "canceled", "waitlisted", "noshow")
NOT_COMING += ("refunded", "deleted", "rejected")
#: Whose acts have no identifiers and no addresses: of one event a plain id, of one petition nothing at all.
WITH_PLAIN_IDS, WITHOUT_IDS = ("e3",), ("t2",)
#: Who acts without a link to a person, known by an e-mail address if at all.
WITHOUT_LINK = "p4"


class Seen(NamedTuple):
    """A thing as a document shows it."""

    kind: str
    id: str
    state: State
    parts: frozenset[str]  # blocks that it shows, and `identifiers`
    v1: bool = False
    position: int = 0
    message: str | None = None  # the key of its delivery; "" where that has none, None on a page

    @property
    def parent(self) -> str | None:
        return self.state.get(f"{PARENTS[self.kind]}_id") if self.kind in PARENTS else None

    @property
    def has_address(self) -> bool:
        return self.parent not in (*WITH_PLAIN_IDS, *WITHOUT_IDS)

    @property
    def address(self) -> str:
        above = PARENTS.get(self.kind)
        parent = f"{TABLES[above]}/{self.state[f'{above}_id']}/" if above else ""
        return f"{API[self.v1]}/{parent}{TABLES[self.kind]}/{self.id}"

    def of(self, kind: str, own_id: str | None) -> str | None:
        """Return the address of something that it links to."""
        return own_id and f"{API[self.v1]}/{TABLES[kind]}/{own_id}"


@dataclass(eq=False)
class Document:
    body: Any
    seen: list[Seen]
    at: datetime | None = None  # None: without an envelope
    stamp: str = "fetched_at"
    url: str | None = None
    places: list[tuple[str, int]] = field(default_factory=list)

    @property
    def text(self) -> str:
        envelope = given(**{self.stamp: iso(self.at)}, url=self.url)
        return json.dumps(envelope | {"body": self.body} if self.at else self.body, ensure_ascii=False)


@dataclass(eq=False)
class Pull:
    """A pull; of no names, it is one of another service."""

    started: datetime
    names: list[str]
    key: str = KEYS[0]
    campaigns: tuple[str, ...] | None = None
    since: datetime | None = None
    v1: bool = False
    lacks: str | None = None  # a collection that comes without the last rows of its lists
    finished: datetime | None = None
    found: dict[str, list[Key]] = field(default_factory=dict)
    incomplete: set[str] = field(default_factory=set)
    documents: list[Document] = field(default_factory=list)
    folder: str = ""

    def path(self, name: str) -> str:
        return PATHS[name].removesuffix("s") if self.v1 and name == "attendances" else PATHS[name]

    def since_of(self, name: str) -> datetime | None:
        return None if name == "event_campaigns" else self.since

    @property
    def needed(self) -> list[str]:
        """The collections that a client reads."""
        wanted = {*(self.names or TABLES.values())}
        wanted |= {"petitions"} if "signatures" in wanted else set()
        if wanted & {"events", "attendances"}:
            wanted |= _EVENTS
            if self.campaigns is not None:
                wanted -= {"event_campaigns", "events" if self.campaigns else "campaign_events"}
        return [name for name in PATHS if name in wanted]

    @property
    def is_complete(self) -> bool:
        return self.finished is not None and not self.incomplete

    @property
    def votes(self) -> bool:
        """Whether it says anything for its key: it ended, with a collection that it read as it was asked to."""
        return bool(self.names and self.key and self.finished and self.found.keys() - self.incomplete)

    @property
    def proves(self) -> set[str]:
        """The kinds of which it has everything that its key lists."""
        whole = {name for name in self.found if name not in self.incomplete and not self.since_of(name)}
        return {kind for kind, needed in PROOFS.items() if self.votes and needed <= whole}

    def write(self, folder: Path) -> None:
        files = ("pages-0001.ndjson.gz",) if self.documents else ()
        done = []
        for name, keys in self.found.items():
            complete = self.finished is not None and name not in self.incomplete
            counts = {"rows": len(keys), "distinct_ids": len({*keys}), "files": files, "why": "counted"}
            done.append(CollectionPulled(name, self.path(name), self.since_of(name), complete, **counts))
        address, version = API[self.v1] if self.names else OTHER_API, "v1" if self.v1 else "v2"
        said = address, version, self.campaigns, self.started, self.finished, tuple(done), files
        (folder / self.folder).mkdir(parents=True)
        Manifest(folder / self.folder, *said, key_digest=self.key).write()


def iso(moment: datetime | None) -> str | None:
    return moment and moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def joined(status: str | None) -> str | None:
    """Return a status in small letters, with its words joined."""
    return status and re.sub(r"[\s_-]", "", status.casefold())


def given(**keys: Any) -> State:
    return {key: value for key, value in keys.items() if value is not None}


def holding(person: State) -> set[str]:
    """Return the parts of a person on a page of people: those that are there, if only to say that they are empty."""
    return {part for part, keys in PERSON.items() if any(person.get(key) is not None for key in keys)}


def entered(person: State) -> set[str]:
    """Return the parts of the person of an act that hold something: a text, or an entry with its value."""
    values = {
        "name": [person.get(key) for key in PERSON["name"]],
        "email": person.get("emails"),
        "phone": person.get("phones"),
        "location": [text for _, *texts in person.get("places") or () for text in texts],
        "languages": person.get("languages_spoken"),
        "custom": [*(person.get("custom_fields") or {}).values()],
    }
    return {part for part, texts in values.items() if any(texts or ())}
