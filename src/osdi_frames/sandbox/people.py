"""People and accounts: who a key stands for, who may create for it, how a person is shown (interface 2.8, 4, 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from osdi_frames.sandbox.fields import DATED
from osdi_frames.sandbox.site import Site

ROLES = ("creator", "administrator", "organizer", "member")

# Whom a group key may name as an event's creator (interface 4, rule 2). Whoever founded the group administers it.
CREATOR_ROLES = {
    "v2": frozenset({"creator", "administrator", "organizer"}),
    "v1": frozenset({"creator", "administrator", "member"}),
}

# The links of a person, those of v1 from interface 2.8, each under the person's address.
PERSON_LINKS = {
    "v1": ("question_answers", "attendance", "signatures", "submissions", "donations"),
    "v2": ("attendances", "signatures"),
}


@dataclass(frozen=True, slots=True)
class Person:
    """A person's record, with what was entered in the shape of `fields.PERSON`."""

    person_id: str
    created_date: str
    modified_date: str
    entered: Mapping[str, Any]

    def changed(self, entered: Mapping[str, Any], *, now: str) -> Person:
        """Return the record after this person entered something again: what is new replaces what was known."""
        return replace(self, entered={**self.entered, **entered}, modified_date=now)


@dataclass(frozen=True, slots=True)
class Account:
    """Whom a key belongs to: a person, or a group with its sponsor line and the roles of its people."""

    account_id: str
    default_creator: str
    title: str
    url: str
    roles: Mapping[str, str] | None = None  # of a group: person_id to role
    referrer_code: str | None = None

    @property
    def sponsor(self) -> dict[str, str]:
        """Return what the account is called as a sponsor (interface 2.4)."""
        return {"title": self.title, "url": self.url}

    def creator(self, person_id: str | None, version: str) -> tuple[str, bool]:
        """Return who creates an event and whether that was the person named (interface 4, rule 2; 7.2)."""
        if self.roles is None:
            allowed = person_id == self.default_creator
        else:
            allowed = self.roles.get(person_id or "") in CREATOR_ROLES[version]
        return (person_id, True) if person_id and allowed else (self.default_creator, False)


def named_creator(body: Mapping[str, Any], site: Site) -> str | None:
    """Return the id of the person that a body names as creator, by link or, in v1, embedded (interface 2.8, 4)."""
    candidates = [linked_person(body, "osdi:creator")]
    if site.version == "v1":
        embedded = body.get("_embedded")
        for holder in (body, embedded if isinstance(embedded, dict) else {}):
            person = holder.get("osdi:creator")
            candidates.append(linked_person(person, "self") if isinstance(person, dict) else None)
    return next(filter(None, candidates), None)


def linked_person(body: Mapping[str, Any], name: str) -> str | None:
    """Return the id at the end of a body's link to ``people/<person_id>``, or None."""
    links = body.get("_links")
    link = links.get(name) if isinstance(links, dict) else None
    href = link.get("href") if isinstance(link, dict) else None
    path, _, person_id = href.rstrip("/").rpartition("/") if isinstance(href, str) else ("", "", "")
    return person_id if path.endswith("/people") else None


def represent_person(person: Person, site: Site) -> dict[str, Any]:
    """Return a person as a resource, or as v1 events embed it."""
    names = DATED[site.version]
    here = site.link("people", person.person_id)
    shown = {
        "identifiers": [site.native(person.person_id), *person.entered.get("identifiers", ())],
        names["created_date"]: person.created_date,
        names["modified_date"]: person.modified_date,
        names["origin_system"]: "osdi-frames sandbox",
    }
    links = {f"osdi:{name}": {"href": f"{here['href']}/{name}"} for name in PERSON_LINKS[site.version]}
    return {**person.entered, **shown, "_links": {"self": here, **links}}
