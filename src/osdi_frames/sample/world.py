"""A world without files: groups, people, campaigns, petitions, events and their signatures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from osdi_frames.sample import events as forms
from osdi_frames.sample.actions import make_attendances, make_signatures
from osdi_frames.sample.campaigns import make_campaigns, make_groups, make_petitions
from osdi_frames.sample.deployment import Deployment, Document, href_of, stamp, stream
from osdi_frames.sample.events import campaign_href, count_rsvps, make_events
from osdi_frames.sample.people import organizer

UNTIL = datetime(2026, 8, 1, tzinfo=UTC)
EMBEDDED_UNTIL = datetime(2018, 6, 1, tzinfo=UTC)  # until then v2 embedded the people of an event
OLD_SHARE = 0.08  # of the events, from that time
YEAR = timedelta(days=365)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class World:
    """Everything that one deployment holds at the moment `until`; plain dicts in the contract's v2 shapes.

    Events are all in memory; signatures are made as they are asked for.
    """

    deployment: Deployment
    until: datetime
    groups: list[Document]  # the sponsors
    people: dict[str, Document]  # creators and organizers, by their address
    campaigns: list[Document]
    petitions: list[Document]
    events: list[Document]  # oldest first
    campaign_only: frozenset[str]  # addresses of events that no list shows but that of their campaign

    @classmethod
    def make(
        cls,
        *,
        seed: int = 7,
        events: int = 200,
        petitions: int = 20,
        prefix: str = "action_network",
        base_url: str | None = None,
        until: datetime = UNTIL,
    ) -> World:
        """Make the world of a seed; the same arguments make the same world, on every machine.

        Parameters
        ----------
        seed, prefix
            Together they decide every identifier and every draw.
        events, petitions
            How many of each; there is one campaign for about twelve events.
        base_url
            The root of its v2 API. Without one, a host under example.org.
        until
            The moment at which the world stands still; nothing in it was modified later.

        Examples
        --------
        >>> world = World.make(seed=7, events=30)
        >>> len(world.events), world.events[0]["created_date"] < world.events[-1]["created_date"]
        (30, True)
        >>> world.v1(world.events[3])["summary"] == world.events[3]["title"]
        True
        """
        url = base_url or f"https://{prefix.replace('_', '-')}.example.org/api/v2"
        deployment = Deployment(seed=seed, prefix=prefix, base_url=url.rstrip("/"))
        return _world(deployment, until, events, petitions)

    @property
    def prefix(self) -> str:
        """The service's own prefix."""
        return self.deployment.prefix

    @property
    def listed(self) -> list[Document]:
        """The events that the collection of all events lists: those that are not in a campaign's alone."""
        return [event for event in self.events if href_of(event) not in self.campaign_only]

    def campaign_events(self, campaign: Document) -> list[Document]:
        """List the events of a campaign, also those that the collection of all events leaves out."""
        href = href_of(campaign)
        return [event for event in self.events if campaign_href(self.deployment, event) == href]

    def attendances(self, event: Document) -> list[Document]:
        """Make the attendances of an event, as many as it counts, oldest first."""
        return make_attendances(self.deployment, event)

    def v1(self, event: Document) -> Document:
        """Say an event in the words of v1, with its people embedded."""
        return forms.v1(self.deployment, self.with_people(event))

    def with_people(self, event: Document) -> Document:
        """Embed creator and organizer in addition to the links, as v2 did until June 2018."""
        roles = [role for role in ("osdi:creator", "osdi:organizer") if role in event["_links"]]
        return {**event, "_embedded": {role: self.people[event["_links"][role]["href"]] for role in roles}}

    def as_of(self, events: list[Document], when: datetime) -> list[Document]:
        """Show events as a pull at an earlier moment saw them: fewer, with fewer RSVPs, modified earlier."""
        moment = stamp(when)
        return [forms.as_of(event, when) for event in events if event["created_date"] <= moment]

    def signatures(self, count: int) -> Iterator[Document]:
        """Make signatures one by one, oldest first; about three signers in four sign once."""
        moments = _signed(count, self.until, stream(self.deployment, "signed"))
        signers = max(2 * count, 1)
        return make_signatures(self.deployment, moments, petitions=self.petitions, signers=signers)


def _world(deployment: Deployment, until: datetime, events: int, petitions: int) -> World:
    since = until - 6 * YEAR
    groups = make_groups(deployment)
    people = [organizer(deployment, n, created=since - n * HOUR) for n in range(4 + events // 8)]
    campaigns = make_campaigns(deployment, _launched(3 + events // 12, until), groups=groups)
    moments = _created(events, until, stream(deployment, "created"))
    made = make_events(deployment, moments, until=until, campaigns=campaigns, groups=groups, people=people)
    return World(
        deployment=deployment,
        until=until,
        groups=groups,
        people={href_of(person): person for person in people},
        campaigns=count_rsvps(deployment, campaigns, made),
        petitions=make_petitions(
            deployment, petitions, groups=groups, people=people, first=until - 5 * YEAR, last=until - YEAR / 6
        ),
        events=made,
        campaign_only=frozenset(href_of(event) for event in made[16::20] if campaign_href(deployment, event)),
    )


def _launched(count: int, until: datetime) -> Iterator[datetime]:
    """Spread the launches of campaigns as `_created` spreads their events: one before the first, then more."""
    yield EMBEDDED_UNTIL - YEAR * 13 / 12
    for n in range(count - 1):
        yield until - 6 * YEAR * (1 - (n / (count - 1)) ** 0.5)


def _created(count: int, until: datetime, rng: Random) -> Iterator[datetime]:
    """Spread events: a few in the year before June 2018, then more and more over six years."""
    old = int(count * OLD_SHARE)
    for n in range(old):
        yield EMBEDDED_UNTIL - YEAR * (1 - (n + rng.random()) / old)
    for n in range(count - old):
        yield until - 6 * YEAR * (1 - ((n + rng.random()) / (count - old)) ** 0.5)


def _signed(count: int, until: datetime, rng: Random) -> Iterator[datetime]:
    """Spread signatures: more and more over five years, the last three days before the end."""
    since, end = until - 5 * YEAR, until - timedelta(days=3)
    for n in range(count):
        yield since + (end - since) * ((n + rng.random()) / count) ** 0.5
