"""The collections of a service: the path of each, and what it belongs to (interface 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from osdi_frames.errors import UnknownValue, nearest
from osdi_frames.messages import quoted
from osdi_frames.tables.fields import Version


@dataclass(frozen=True, slots=True)
class Resource:
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
RESOURCES: dict[str, Resource] = {
    resource.name: resource
    for resource in (
        Resource("events", "events"),
        Resource("event_campaigns", "event_campaigns", ignores_since=True),
        Resource("campaign_events", "event_campaigns/{}/events", ("event_campaigns",)),
        Resource("petitions", "petitions"),
        Resource("signatures", "petitions/{}/signatures", ("petitions",)),
        Resource(
            "attendances", "events/{}/attendances", ("events", "campaign_events"), "events/{}/attendance"
        ),
        Resource("forms", "forms"),
        Resource("submissions", "forms/{}/submissions", ("forms",)),
        Resource("fundraising_pages", "fundraising_pages"),
        Resource("donations", "donations"),
        Resource("advocacy_campaigns", "advocacy_campaigns"),
        Resource("outreaches", "advocacy_campaigns/{}/outreaches", ("advocacy_campaigns",)),
        Resource("surveys", "surveys"),
        Resource("responses", "surveys/{}/responses", ("surveys",)),
        Resource("people", "people"),
        # The service has no filter for these two.
        Resource("tags", "tags", ignores_since=True),
        Resource("taggings", "tags/{}/taggings", ("tags",), ignores_since=True),
    )
}

#: What a caller can ask for. The events of campaigns belong to the events.
NAMES = tuple(name for name in RESOURCES if name != "campaign_events")


def needed(names: Sequence[str], *, campaigns: Sequence[str] | None) -> tuple[Resource, ...]:
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
        if name not in NAMES:
            raise UnknownValue(f"there is no collection {quoted(name)}; {nearest(name, NAMES)}")
    wanted = set(names)
    for resource in reversed(RESOURCES.values()):
        if resource.name in wanted:
            wanted |= set(resource.parents)
    if "events" in wanted:
        wanted |= {"event_campaigns", "campaign_events"}
    if campaigns is not None:
        wanted -= {"event_campaigns"} - set(names)
        wanted -= {"events" if campaigns else "campaign_events"}
    return tuple(resource for resource in RESOURCES.values() if resource.name in wanted)
