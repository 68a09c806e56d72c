"""Pulls: which events were asked for when, over which version, and what came back.

One event is seen by several pulls, each time as it was then; the last weekly pull has the newest of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from osdi_frames.sample.deployment import Document, href_of, last_segment, stamp
from osdi_frames.sample.documents import fetched, pages
from osdi_frames.sample.world import EMBEDDED_UNTIL, World

WEEK = timedelta(weeks=1)
V1_SINCE = datetime(2018, 1, 1, tzinfo=UTC)
V1_AGE = timedelta(days=3 * 365)  # of the one v1 pull, before the end


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
        events = _since(world.campaign_events(campaign), EMBEDDED_UNTIL)
        if events:
            path = f"event_campaigns/{last_segment(href_of(campaign))}/events"
            yield from fetched(pages(world.deployment, events, path=path), at=world.until)


def event_campaigns(world: World) -> Iterator[Document]:
    """Pull the event campaigns at the end."""
    collection = pages(
        world.deployment,
        world.campaigns,
        path="event_campaigns",
        relation=f"{world.prefix}:event_campaigns",
    )
    return fetched(collection, at=world.until)


def petitions(world: World, signed: Mapping[str, int]) -> Iterator[Document]:
    """Pull the petitions at the end; `signed` counts the signatures by the address of their petition."""
    counted = [
        {**petition, "total_signatures": signed.get(href_of(petition), 0)} for petition in world.petitions
    ]
    collection = pages(world.deployment, counted, path="petitions", relation="osdi:petitions")
    return fetched(collection, at=world.until)


def attendances(world: World) -> Iterator[Document]:
    """Pull the attendances of each event that has any, at the end."""
    for event in world.events:
        if event["total_accepted"]:
            collection = pages(
                world.deployment,
                world.attendances(event),
                path=f"events/{last_segment(href_of(event))}/attendances",
                relation="osdi:attendances",
                listed="osdi:attendance",
            )
            yield from fetched(collection, at=world.until)


def _v2_pages(world: World, when: datetime) -> Iterator[Document]:
    events = _since(world.as_of(world.listed, when), EMBEDDED_UNTIL)
    return pages(world.deployment, events, next_on_last=True)


def _since(events: list[Document], when: datetime) -> list[Document]:
    """Keep what the key of a pull can see: events of groups that are not older."""
    return [event for event in events if event["created_date"] >= stamp(when)]
