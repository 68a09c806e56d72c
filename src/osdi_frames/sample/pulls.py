"""Pulls: which events were asked for when, over which version, and what came back, in pages and envelopes.

One event is seen by several pulls, each time as it was then; the last weekly pull has the newest of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from osdi_frames.sample.deployment import Deployment, Document, href_of, id_of, stamp
from osdi_frames.sample.world import EMBEDDED_UNTIL, World

WEEK = timedelta(weeks=1)
V1_SINCE = datetime(2018, 1, 1, tzinfo=UTC)
V1_AGE = timedelta(days=3 * 365)  # of the one v1 pull, before the end


def pages(
    deployment: Deployment,
    records: Sequence[Document],
    *,
    path: str = "events",
    relation: str = "osdi:events",
    listed: str | None = None,
    version: str = "v2",
    per_page: int = 25,
    next_on_last: bool = False,
) -> Iterator[Document]:
    """Page through records as a collection does (interface 2.6), totals and all.

    `listed` is the key of the array of links, where it is not the one of what is embedded.
    With `next_on_last` the last page has a `next`, too, which leads to an empty page without one:
    so does the best-known deployment.

    Examples
    --------
    >>> world = World.make(events=30)
    >>> [len(page["_embedded"]["osdi:events"]) for page in pages(world.deployment, world.events)]
    [25, 5]
    """
    url = f"{deployment.base_url_v1 if version == 'v1' else deployment.base_url}/{path}"
    total_pages = max(1, -(-len(records) // per_page))
    for page in range(1, total_pages + 1 + next_on_last):
        embedded = list(records[(page - 1) * per_page : page * per_page])
        links: Document = {"self": {"href": url}}
        if page < total_pages + next_on_last:
            links["next"] = {"href": f"{url}?page={page + 1}"}
        links[listed or relation] = [{"href": href_of(record)} for record in embedded]
        links["curies"] = deployment.curies(version)
        yield {
            "total_pages": total_pages,
            "per_page": per_page,
            "page": page,
            "total_records": len(records),
            "_links": links,
            "_embedded": {relation: embedded},
        }


def fetched(documents: Iterable[Document], *, at: datetime) -> Iterator[Document]:
    """Put pages into envelopes that say when each was fetched, a second apart, and from where."""
    for number, document in enumerate(documents):
        links, page = document["_links"], document["page"]
        url = links["self"]["href"] + (f"?page={page}" if page > 1 else "")
        yield {"fetched_at": stamp(at + timedelta(seconds=number)), "url": url, "body": document}


def single(deployment: Deployment, event: Document, *, version: str = "v2") -> Document:
    """Answer with one event, which then carries the curies itself (interface 2.6)."""
    return {**event, "_links": {"curies": deployment.curies(version), **event["_links"]}}


def old_v2(world: World) -> Iterator[Document]:
    """Pull v2 in June 2018: people are embedded."""
    events = world.as_of(world.events, EMBEDDED_UNTIL)
    return pages(world.deployment, [world.with_people(event) for event in events])


def v1(world: World) -> Iterator[Document]:
    """Pull v1 three years before the end; the oldest of its events are in no v2 pull but the one of 2018."""
    when = world.until - V1_AGE
    events = _since(world.as_of(world.listed, when), V1_SINCE)
    return fetched(pages(world.deployment, [world.v1(event) for event in events], version="v1"), at=when)


def v2(world: World) -> Iterator[Document]:
    """Pull v2 four weeks before the end; the last page leads to an empty one, as it does in life."""
    return _v2_pages(world, world.until - 4 * WEEK)


def weekly(world: World) -> Iterator[tuple[datetime, Iterator[Document]]]:
    """Pull v2 again in each of the last four weeks: more events, more RSVPs, with envelopes."""
    for weeks in (3, 2, 1, 0):
        when = world.until - weeks * WEEK
        yield when, fetched(_v2_pages(world, when), at=when)


def campaigns(world: World) -> Iterator[Document]:
    """Pull the events of each campaign at the end: some are in no other pull."""
    for campaign in world.campaigns:
        if events := _since(world.campaign_events(campaign), EMBEDDED_UNTIL):
            yield from _at_the_end(world, events, f"event_campaigns/{id_of(campaign)}/events")


def event_campaigns(world: World) -> Iterator[Document]:
    """Pull the event campaigns at the end."""
    return _at_the_end(world, world.campaigns, "event_campaigns", f"{world.prefix}:event_campaigns")


def petitions(world: World, signed: Mapping[str, int]) -> Iterator[Document]:
    """Pull the petitions at the end; `signed` counts the signatures by the address of their petition."""
    counted = [
        {**petition, "total_signatures": signed.get(href_of(petition), 0)} for petition in world.petitions
    ]
    return _at_the_end(world, counted, "petitions", "osdi:petitions")


def attendances(world: World) -> Iterator[Document]:
    """Pull the attendances of each event that has any, at the end."""
    for event in world.events:
        if event["total_accepted"]:
            path, made = f"events/{id_of(event)}/attendances", world.attendances(event)
            yield from _at_the_end(world, made, path, "osdi:attendances", listed="osdi:attendance")


def _at_the_end(
    world: World, records: list[Document], path: str, relation: str = "osdi:events", listed: str | None = None
) -> Iterator[Document]:
    collection = pages(world.deployment, records, path=path, relation=relation, listed=listed)
    return fetched(collection, at=world.until)


def _v2_pages(world: World, when: datetime) -> Iterator[Document]:
    events = _since(world.as_of(world.listed, when), EMBEDDED_UNTIL)
    return pages(world.deployment, events, next_on_last=True)


def _since(events: list[Document], when: datetime) -> list[Document]:
    """Keep what the key of a pull can see: events of groups that are not older."""
    return [event for event in events if event["created_date"] >= stamp(when)]


def signature_pages(world: World, *, count: int) -> Iterator[Document]:
    """Page through signatures that were made over the API, as its collection lists them: without people."""
    deployment, petition_id = world.deployment, id_of(world.petitions[0])
    records = []
    for number, signature in enumerate(world.signatures(count)):
        signature_id = deployment.id("api signature", number)
        records.append(
            {
                "identifiers": [f"{deployment.prefix}:{signature_id}"],
                "created_date": signature["created_date"],
                "modified_date": signature["modified_date"],
                f"{deployment.prefix}:referrer_data": {"source": "none", "website": "api"},
                "_links": {
                    "self": deployment.link("petitions", petition_id, "signatures", signature_id),
                    "osdi:petition": deployment.link("petitions", petition_id),
                    "osdi:person": signature["_links"]["osdi:person"],
                },
            }
        )
    return pages(deployment, records, path=f"petitions/{petition_id}/signatures", relation="osdi:signatures")
