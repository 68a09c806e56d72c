"""The collections of a service: the path of each, and what it belongs to (interface 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from osdi_frames.errors import UnknownValue
from osdi_frames.messages import nearest, quoted
from osdi_frames.tables.fields import Version


@dataclass(frozen=True, slots=True)
class DeclaredCollection:
    """A collection: one list of all records, or a list of each parent's.

    `path` is below the service root; ``{}`` stands for the id of the parent. Of what `ignores_since`, an incremental
    pull lists all: there is no filter for it, or its own records do not change when what they lead to does.
    """

    name: str
    path: str
    parents: tuple[str, ...] = ()
    path_v1: str = ""
    ignores_since: bool = False

    def path_for(self, version: Version, parent_id: str = "{id}") -> str:
        """Return the path of a parent's list below the service root."""
        return (self.path_v1 if version == "v1" and self.path_v1 else self.path).format(parent_id)


#: Every collection by its name, parents first.
COLLECTIONS: dict[str, DeclaredCollection] = {
    resource.name: resource
    for resource in (
        DeclaredCollection("events", "events"),
        DeclaredCollection("event_campaigns", "event_campaigns", ignores_since=True),
        DeclaredCollection("campaign_events", "event_campaigns/{}/events", ("event_campaigns",)),
        DeclaredCollection("petitions", "petitions"),
        DeclaredCollection("signatures", "petitions/{}/signatures", ("petitions",)),
        DeclaredCollection(
            "attendances", "events/{}/attendances", ("events", "campaign_events"), "events/{}/attendance"
        ),
        DeclaredCollection("forms", "forms"),
        DeclaredCollection("submissions", "forms/{}/submissions", ("forms",)),
        DeclaredCollection("fundraising_pages", "fundraising_pages"),
        DeclaredCollection("donations", "donations"),
        DeclaredCollection("advocacy_campaigns", "advocacy_campaigns"),
        DeclaredCollection("outreaches", "advocacy_campaigns/{}/outreaches", ("advocacy_campaigns",)),
        DeclaredCollection("surveys", "surveys"),
        DeclaredCollection("responses", "surveys/{}/responses", ("surveys",)),
        DeclaredCollection("people", "people"),
        # The service has no filter for these two.
        DeclaredCollection("tags", "tags", ignores_since=True),
        DeclaredCollection("taggings", "tags/{}/taggings", ("tags",), ignores_since=True),
    )
}

#: What a caller can ask for. The events of campaigns belong to the events.
COLLECTION_NAMES = tuple(name for name in COLLECTIONS if name != "campaign_events")


def needed(names: Sequence[str], *, campaigns: Sequence[str] | None) -> tuple[DeclaredCollection, ...]:
    """Return the collections to read, parents first.

    Events that only their campaign lists are events, too. Where the ids of campaigns are given, their events are all.

    >>> [resource.name for resource in needed(["events"], campaigns=None)]
    ['events', 'event_campaigns', 'campaign_events']
    >>> [resource.name for resource in needed(["attendances"], campaigns=["59ccd3fc"])]
    ['campaign_events', 'attendances']
    >>> [resource.name for resource in needed(["attendances"], campaigns=())]
    ['events', 'attendances']
    """
    for name in names:
        if name not in COLLECTION_NAMES:
            raise UnknownValue(f"there is no collection {quoted(name)}; {nearest(name, COLLECTION_NAMES)}")
    wanted = set(names)
    for resource in reversed(COLLECTIONS.values()):
        if resource.name in wanted:
            wanted |= set(resource.parents)
    if "events" in wanted:
        wanted |= {"event_campaigns", "campaign_events"}
    if campaigns is not None:
        wanted -= {"event_campaigns"} - set(names)
        wanted -= {"events" if campaigns else "campaign_events"}
    return tuple(resource for resource in COLLECTIONS.values() if resource.name in wanted)
