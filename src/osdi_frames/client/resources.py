"""The collections that a pull can read, each declared once; a further one is one more line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from osdi_frames.errors import UnknownCollection, nearest
from osdi_frames.tables.fields import Version


@dataclass(frozen=True, slots=True)
class Resource:
    """A collection of the service, or one list for each record of other collections.

    `path` is below the service root; ``{}`` stands for the id of the parent. Of what `is_whole`, an incremental pull
    lists all: its own records do not change when what they lead to does.
    """

    name: str
    path: str
    parents: tuple[str, ...] = ()
    path_v1: str = ""
    is_whole: bool = False

    def path_for(self, version: Version, parent_id: str = "{id}") -> str:
        """Return its path below the service root, for one parent."""
        return (self.path_v1 if version == "v1" and self.path_v1 else self.path).format(parent_id)


_DECLARED = (
    Resource("events", "events"),
    Resource("event_campaigns", "event_campaigns", is_whole=True),
    Resource("campaign_events", "event_campaigns/{}/events", parents=("event_campaigns",)),
    Resource("petitions", "petitions"),
    Resource("signatures", "petitions/{}/signatures", parents=("petitions",)),
    Resource(
        "attendances",
        "events/{}/attendances",
        parents=("events", "campaign_events"),
        path_v1="events/{}/attendance",
    ),
    Resource("people", "people"),
)

#: Every collection by its name, parents first.
RESOURCES: Mapping[str, Resource] = {resource.name: resource for resource in _DECLARED}

#: What a caller can ask for. The events of campaigns belong to the events.
NAMES = tuple(name for name in RESOURCES if name != "campaign_events")


def needed(names: Sequence[str], *, campaigns: Sequence[str] | None) -> tuple[Resource, ...]:
    """Return the collections to read for those that are asked for, parents first.

    Events that only their campaign lists are events, too. The campaigns are listed unless their ids are given.

    >>> [resource.name for resource in needed(["events"], campaigns=None)]
    ['events', 'event_campaigns', 'campaign_events']
    >>> [resource.name for resource in needed(["attendances"], campaigns=())]
    ['events', 'attendances']
    """
    for name in names:
        if name not in NAMES:
            raise UnknownCollection(f"there is no collection {name!r}; {nearest(name, NAMES)}")
    wanted = set(names)
    for resource in reversed(_DECLARED):
        if resource.name in wanted:
            wanted |= set(resource.parents)
    if "events" in wanted:
        wanted |= {"event_campaigns", "campaign_events"}
    if campaigns is not None:
        wanted -= {"event_campaigns"} - set(names)
    if campaigns == ():
        wanted -= {"campaign_events"}
    return tuple(resource for resource in _DECLARED if resource.name in wanted)
