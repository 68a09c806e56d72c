"""Pulls: which events were asked for when, over which version, and what came back, in pages and envelopes.

One event is seen by several pulls, each time as it was then; the last weekly pull has the newest of each.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeAlias

from osdi_frames.sample import times
from osdi_frames.sample.deployment import Deployment, Document, href_of, id_of
from osdi_frames.sample.people import acted, make_attendances
from osdi_frames.sample.world import World
from osdi_frames.tables.fields import EVENT

Pull: TypeAlias = Callable[[World], Iterator[Document]]

PAGE = 25  # records
BEGINNING = times.EMBEDDED_UNTIL - times.YEAR  # of the oldest events


def old_v2(world: World) -> Iterator[Document]:
    """Pull v2 in June 2018: people are embedded."""
    events = seen(world.events, since=BEGINNING, at=times.EMBEDDED_UNTIL)
    return _pages(world.deployment, [{**event, "_embedded": _people(world, event)} for event in events])


def v1(world: World) -> Iterator[Document]:
    """Pull v1 three years before the end; the oldest of its events are in no v2 pull but the one of 2018."""
    at = times.UNTIL - 3 * times.YEAR
    events = seen(world.listed, since=datetime(2018, 1, 1, tzinfo=UTC), at=at)
    return _fetched(_pages(world.deployment, [in_v1(world, event) for event in events], version="v1"), at)


def v2(world: World, at: datetime = times.UNTIL - 4 * times.WEEK) -> Iterator[Document]:
    """Pull v2 four weeks before the end; the last page leads to an empty one, as it does in life."""
    events = seen(world.listed, since=times.EMBEDDED_UNTIL, at=at)
    return _pages(world.deployment, events, next_on_last=True)


def _weekly(world: World, at: datetime) -> Iterator[Document]:
    return _fetched(v2(world, at), at)


#: Pulls of v2 in each of the last four weeks, by their days: more events, more RSVPs, with envelopes.
WEEKLY: Mapping[str, Pull] = {
    f"{at:%Y-%m-%d}": partial(_weekly, at=at)
    for at in (times.UNTIL - weeks * times.WEEK for weeks in (3, 2, 1, 0))
}


def single(world: World) -> Iterator[Document]:
    """Ask for the last two events one by one; each then carries the curies itself (interface 2.6)."""
    for event in world.events[-2:]:
        yield {**event, "_links": {"curies": _curies(world.deployment, "v2"), **event["_links"]}}


def campaigns(world: World) -> Iterator[Document]:
    """Pull the events of each campaign at the end: some are in no other pull."""
    for campaign in world.campaigns:
        if events := seen(world.by_campaign[href_of(campaign)], since=times.EMBEDDED_UNTIL, at=times.UNTIL):
            path = f"event_campaigns/{id_of(campaign)}/events"
            yield from _fetched(_pages(world.deployment, events, path))


def event_campaigns(world: World) -> Iterator[Document]:
    """Pull the event campaigns at the end."""
    relation = world.deployment.own("event_campaigns")
    return _fetched(_pages(world.deployment, world.campaigns, "event_campaigns", relation))


def petitions(world: World, signed: Mapping[str, int]) -> Iterator[Document]:
    """Pull the petitions at the end; `signed` counts the signatures by the address of their petition."""
    counted = [own | {"total_signatures": signed.get(href_of(own), 0)} for own in world.petitions]
    return _fetched(_pages(world.deployment, counted, "petitions", "osdi:petitions"))


def attendances(world: World) -> Iterator[Document]:
    """Pull the attendances of each event that has any, at the end."""
    for event in world.events:
        if event["total_accepted"]:
            path, made = f"events/{id_of(event)}/attendances", list(make_attendances(world.deployment, event))
            relation = "osdi:attendances"
            yield from _fetched(_pages(world.deployment, made, path, relation, listed="osdi:attendance"))


def signatures(world: World, count: int) -> Iterator[Document]:
    """Pull signatures that were made over the API, as their collection lists them: without people."""
    deployment, petition_id = world.deployment, id_of(world.petitions[0])
    records = []
    for number, signature in enumerate(world.signatures(count)):
        own_id = deployment.id("api signature", number)
        person_id = signature["_links"]["osdi:person"]["href"].rpartition("/")[2]
        record = {
            **deployment.identified(own_id, signature["created_date"]),
            deployment.own("referrer_data"): {"source": "none", "website": "api"},
            "_links": acted(deployment, "signature", own_id, "petition", petition_id, person_id),
        }
        records.append(record)
    return _pages(deployment, records, f"petitions/{petition_id}/signatures", "osdi:signatures")


def _pages(
    deployment: Deployment,
    records: Sequence[Document],
    path: str = "events",
    relation: str = "osdi:events",
    *,
    listed: str | None = None,
    version: str = "v2",
    next_on_last: bool = False,
) -> Iterator[Document]:
    """Page through records as a collection does (interface 2.6), totals and all.

    `listed` is the key of the array of links, where it is not the one of what is embedded. With
    `next_on_last` the last page has a `next`, too, which leads to an empty page without one: so does the
    best-known deployment.
    """
    url = f"{_root(deployment, version)}/{path}"
    total_pages = max(1, -(-len(records) // PAGE))
    for page in range(1, total_pages + 1 + next_on_last):
        embedded = records[(page - 1) * PAGE : page * PAGE]
        links: Document = {"self": {"href": url}}
        if page < total_pages + next_on_last:
            links["next"] = {"href": f"{url}?page={page + 1}"}
        links[listed or relation] = [{"href": href_of(record)} for record in embedded]
        links["curies"] = _curies(deployment, version)
        yield {
            "total_pages": total_pages,
            "per_page": PAGE,
            "page": page,
            "total_records": len(records),
            "_links": links,
            "_embedded": {relation: embedded},
        }


def _fetched(documents: Iterable[Document], at: datetime = times.UNTIL) -> Iterator[Document]:
    """Put pages into envelopes that say when each was fetched, a second apart, and from where."""
    for number, document in enumerate(documents):
        links, page = document["_links"], document["page"]
        url = links["self"]["href"] + (f"?page={page}" if page > 1 else "")
        yield {"fetched_at": times.stamp(at + timedelta(seconds=number)), "url": url, "body": document}


def _root(deployment: Deployment, version: str) -> str:
    return deployment.base_url.removesuffix("v2") + version


def _curies(deployment: Deployment, version: str) -> list[Document]:
    """Say where the relations are explained (interface 2.5)."""
    docs = f"https://docs.example.org/{version}/{{rel}}"
    return [{"name": name, "href": docs, "templated": True} for name in ("osdi", deployment.prefix)]


def seen(events: list[Document], *, since: datetime, at: datetime) -> list[Document]:
    """Show events as a pull at an earlier moment saw them: fewer, with fewer RSVPs, modified earlier.

    The key of the pull sees events of groups that are not older than `since`.
    """
    first, last = times.stamp(since), times.stamp(at)
    return [as_of(event, at) for event in events if first <= event["created_date"] <= last]


def as_of(event: Document, when: datetime) -> Document:
    """Show an event as it was at an earlier moment: RSVPs come in evenly until it was last modified.

    An event whose RSVPs were the same then as now is the same in every field, its modified_date too.
    """
    created, modified = times.read(event["created_date"]), times.read(event["modified_date"])
    if when >= modified:
        return event
    total = event["total_accepted"]
    accepted = int(total * ((when - created) / (modified - created)))
    moment = created + (modified - created) * (accepted / total if total else 0)
    return {**event, "total_accepted": accepted, "modified_date": times.stamp(moment)}


def _people(world: World, event: Document) -> Document:
    """Return creator and organizer, which v2 embedded in addition to the links until June 2018."""
    roles = [role for role in ("osdi:creator", "osdi:organizer") if role in event["_links"]]
    return {role: world.people[event["_links"][role]["href"]] for role in roles}


def in_v1(world: World, event: Document) -> Document:
    """Say a v2 event in the words of v1, with its people embedded (interface 2.8 and 9)."""
    own = world.deployment.own
    links = {name: value for name, value in event["_links"].items() if "attendance" not in name}
    links["osdi:attendance"] = {"href": f"{href_of(event)}/attendance"}
    renamed = {_V1_NAMES.get(name, name): value for name, value in event.items() if name not in _V2_KEYS}
    if "instructions" in event:
        renamed[own("event_instructions")] = renamed.pop("instructions")
    if sponsor := event.get(own("sponsor")):
        renamed[own("sponsor")] = {"summary": sponsor["title"], "url": sponsor["browser_url"]}
    renamed.pop(own("hidden"))
    embedded = {role: _v1_person(person) for role, person in _people(world, event).items()}
    shown = json.dumps({"_embedded": embedded, "_links": links})
    moved: Document = json.loads(shown.replace(world.deployment.base_url, _root(world.deployment, "v1")))
    return renamed | moved


_V1_NAMES = {str(field.v2): field.v1 for field in EVENT if field.v1 and field.name != "instructions"}
_V2_KEYS = {"_links", *(field.name for field in EVENT if field.v1 is None)}


def _v1_person(person: Document) -> Document:
    links = dict(person["_links"])
    links["osdi:attendance"] = {"href": links.pop("osdi:attendances")["href"].removesuffix("s")}
    return {**{_V1_NAMES.get(name, name): value for name, value in person.items()}, "_links": links}
