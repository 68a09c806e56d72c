"""Pulls: pages of what there was at a moment.

One event is seen by several pulls, each time as it was then; the last weekly pull has the newest of each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from osdi_frames.sample import times
from osdi_frames.sample.deployment import Deployment, Document, href_of, id_of
from osdi_frames.sample.world import World

PAGE = 25  # records

#: When v2 was pulled: in each of the last five weeks.
WEEKLY = [times.UNTIL - weeks * times.WEEK for weeks in (4, 3, 2, 1, 0)]


def old_v2(world: World) -> Iterator[Document]:
    """Pull v2 in June 2018: people are embedded."""
    events = visible(world.events, since=times.BEGINNING, at=times.EMBEDDED_UNTIL)
    return pages(world, [{**event, "_embedded": embedded_people(world, event)} for event in events])


def v2(world: World, at: datetime) -> Iterator[Document]:
    """Pull v2: more events each time, more RSVPs, and a last page that leads to an empty one.

    The first pull was kept without envelopes.
    """
    pulled = pages(world, visible(world.listed, since=times.EMBEDDED_UNTIL, at=at), next_on_last=True)
    return pulled if at == WEEKLY[0] else in_envelopes(pulled, at)


def campaigns(world: World) -> Iterator[Document]:
    """Pull each campaign's events; some are in no other pull."""
    for campaign in world.campaigns:
        events = world.by_campaign.get(href_of(campaign), [])
        if events := visible(events, since=times.EMBEDDED_UNTIL, at=times.UNTIL):
            yield from in_envelopes(pages(world, events, f"event_campaigns/{id_of(campaign)}/events"))


def event_campaigns(world: World) -> Iterator[Document]:
    """Pull the event campaigns at the end."""
    return in_envelopes(pages(world, world.campaigns, "event_campaigns", world.own("event_campaigns")))


def petitions(world: World, signed: Mapping[str, int]) -> Iterator[Document]:
    """Pull the petitions at the end; `signed` counts the signatures by the address of their petition."""
    counted = [own | {"total_signatures": signed.get(href_of(own), 0)} for own in world.petitions]
    return in_envelopes(pages(world, counted, "petitions", "osdi:petitions"))


def signatures(world: World, count: int) -> Iterator[Document]:
    """Pull signatures made over the API, without people."""
    petition_id = id_of(world.petitions[0])
    records = []
    for number, signature in enumerate(world.signatures(count)):
        own_id = world.id("api signature", number)
        person_id = signature["_links"]["osdi:person"]["href"].rpartition("/")[2]
        record = {
            **world.identified(own_id, signature["created_date"]),
            world.own("referrer_data"): {"source": "none", "website": "api"},
            "_links": world.act_links("signature", own_id, "petition", petition_id, person_id),
        }
        records.append(record)
    return pages(world, records, f"petitions/{petition_id}/signatures", "osdi:signatures")


def pages(
    deployment: Deployment,
    records: Sequence[Document],
    path: str = "events",
    relation: str = "osdi:events",
    *,
    next_on_last: bool = False,
) -> Iterator[Document]:
    """Page through records as a collection does (interface 2.6).

    With `next_on_last` the last page has a `next`, which leads to an empty page without one, as in the best-known
    deployment.
    """
    url = deployment.href(path)
    total_pages = max(1, -(-len(records) // PAGE))
    for page in range(1, total_pages + 1 + next_on_last):
        embedded = records[(page - 1) * PAGE : page * PAGE]
        links: Document = {"self": {"href": url}}
        if page < total_pages + next_on_last:
            links["next"] = {"href": f"{url}?page={page + 1}"}
        links[relation] = [{"href": href_of(record)} for record in embedded]
        links["curies"] = curies(deployment)
        yield {
            "total_pages": total_pages,
            "per_page": PAGE,
            "page": page,
            "total_records": len(records),
            "_links": links,
            "_embedded": {relation: embedded},
        }


def in_envelopes(documents: Iterable[Document], at: datetime = times.UNTIL) -> Iterator[Document]:
    """Put pages into envelopes, fetched a second apart."""
    for number, document in enumerate(documents):
        links, page = document["_links"], document["page"]
        url = links["self"]["href"] + (f"?page={page}" if page > 1 else "")
        yield {"fetched_at": times.iso(at + timedelta(seconds=number)), "url": url, "body": document}


def curies(deployment: Deployment) -> list[Document]:
    """Name where the relations are explained (interface 2.5)."""
    docs = "https://docs.example.org/v2/{rel}"
    return [{"name": name, "href": docs, "templated": True} for name in ("osdi", deployment.prefix)]


def visible(events: list[Document], *, since: datetime, at: datetime) -> list[Document]:
    """Return events as an earlier pull saw them: fewer, with fewer RSVPs, modified earlier.

    The key of the pull sees events of groups that are not older than `since`.
    """
    first, last = times.iso(since), times.iso(at)
    return [as_of(event, at) for event in events if first <= event["created_date"] <= last]


def as_of(event: Document, when: datetime) -> Document:
    """Return an event as it was at an earlier moment, with the RSVPs that it had until then.

    An event whose RSVPs were the same then as now is the same in every field, modified_date included.
    """
    created, modified = times.parse(event["created_date"]), times.parse(event["modified_date"])
    if when >= modified:
        return event
    total = event["total_accepted"]
    accepted = int(total * times.share_until(when, created, modified))
    moment = times.between(created, modified, accepted / total) if accepted else created
    return {**event, "total_accepted": accepted, "modified_date": times.iso(moment)}


def embedded_people(world: World, event: Document) -> Document:
    """Return creator and organizer, embedded until June 2018."""
    roles = [role for role in ("osdi:creator", "osdi:organizer") if role in event["_links"]]
    return {role: world.people[event["_links"][role]["href"]] for role in roles}
