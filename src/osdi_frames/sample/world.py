"""A world without files: groups, people, campaigns, petitions, events and their signatures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from osdi_frames.sample import times
from osdi_frames.sample.deployment import Deployment, Document, attention, href_of, id_of, power_law, present
from osdi_frames.sample.people import make_signatures, organizer
from osdi_frames.sample.words import PLACES, WORDS, Place

OLD_SHARE = 0.08  # of the events, from the year before June 2018
# Wall clocks that a town in the United States never showed, and that it showed twice.
CLOCK_CHANGES = (datetime(2026, 3, 8, 2, 30, tzinfo=UTC), datetime(2025, 11, 2, 1, 30, tzinfo=UTC))
CAPACITIES = (15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 250, 300, 400, 500, 800, 1000, 2000, 4000)
STATUS_GREW = datetime(2026, 7, 1, tzinfo=UTC)  # since then there are values that the contract does not name


@dataclass(frozen=True, slots=True)
class World:
    """Everything that one deployment holds at the end; plain dicts in the contract's v2 shapes.

    Events are all in memory; signatures are made as they are asked for.
    """

    deployment: Deployment
    people: dict[str, Document]  # creators and organizers, by their address
    campaigns: list[Document]
    petitions: list[Document]
    events: list[Document]  # oldest first
    by_campaign: Mapping[str | None, list[Document]]  # the same events, by the address of their campaign
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

        Examples
        --------
        >>> world = World.make(seed=7, events=30)
        >>> len(world.events), world.events[0]["created_date"] < world.events[-1]["created_date"]
        (30, True)
        """
        url = base_url or f"https://{prefix.replace('_', '-')}.example.org/api/v2"
        deployment = Deployment(seed, prefix, url.rstrip("/"))
        groups = _groups(deployment)
        people = [organizer(deployment, number) for number in range(4 + events // 8)]
        campaigns = _campaigns(deployment, 3 + events // 12, groups)
        made = list(_events(deployment, events, campaigns, groups, people))
        by_campaign: dict[str | None, list[Document]] = defaultdict(list)
        for event in made:
            by_campaign[campaign_href(deployment, event)].append(event)
        return cls(
            deployment=deployment,
            people={href_of(person): person for person in people},
            campaigns=[campaign | _counts(by_campaign[href_of(campaign)]) for campaign in campaigns],
            petitions=_petitions(deployment, petitions, groups, people),
            events=made,
            by_campaign=by_campaign,
            campaign_only=frozenset(href_of(e) for e in made[16::20] if campaign_href(deployment, e)),
        )

    @property
    def listed(self) -> list[Document]:
        """The events that the collection of all events lists: those that are not in a campaign's alone."""
        return [event for event in self.events if href_of(event) not in self.campaign_only]

    def signatures(self, count: int) -> Iterator[Document]:
        """Make signatures one by one, oldest first; about three signers in four sign once."""
        return make_signatures(self.deployment, count, petitions=self.petitions)


def campaign_href(deployment: Deployment, event: Document) -> str | None:
    """Address the campaign of an event, by its key or else by its link."""
    if campaign_id := event.get(deployment.own("event_campaign_id")):
        return deployment.href("event_campaigns", campaign_id)
    href: str | None = event["_links"].get(deployment.own("event_campaign"), {}).get("href")
    return href


def _counts(events: list[Document]) -> Document:
    return {"total_events": len(events), "total_rsvps": sum(event["total_accepted"] for event in events)}


def _groups(deployment: Deployment) -> list[Document]:
    """Make the sponsors of everything, in the form of interface 2.4."""
    pages = f"{deployment.site}/groups"
    named = [{"title": name, "browser_url": f"{pages}/{n}"} for n, name in enumerate(WORDS["groups"])]
    named[-1]["browser_url"] = deployment.href("groups", deployment.id("group", 0))  # seen in life, too
    return [*named, {"title": WORDS["hostile"][deployment.seed % 3], "browser_url": f"{pages}/hostile"}]


def _campaigns(deployment: Deployment, count: int, groups: list[Document]) -> list[Document]:
    """Make event campaigns, launched as their events are spread: one before the first, then more and more."""
    words = deployment.draws("campaigns").sample(WORDS["campaigns"], len(WORDS["campaigns"]))
    launches = [times.growing(n / (count - 1)) for n in range(count - 1)]
    first = times.EMBEDDED_UNTIL - times.YEAR * 13 / 12
    return list(_published(deployment, "event_campaign", "events", [first, *launches], groups, words))


def _petitions(
    deployment: Deployment, count: int, groups: list[Document], people: list[Document]
) -> list[Document]:
    """Make petitions, launched evenly over five years; each embeds the person who created it, as in life."""
    demands = [(demand, place.locality) for demand in WORDS["demands"] for place in PLACES]
    deployment.draws("petitions").shuffle(demands)
    words = [{"demand": demand.format(locality), "locality": locality} for demand, locality in demands]
    first, last = times.UNTIL - 5 * times.YEAR, times.UNTIL - times.YEAR / 6
    launches = [first + (last - first) * (n / count) for n in range(count)]
    made = list(_published(deployment, "petition", "signatures", launches, groups, words))
    for number, petition in enumerate(made):
        creator, links = people[number % len(people)], petition["_links"]
        links["osdi:record_signature_helper"] = links["osdi:signatures"]
        links["osdi:creator"] = creator["_links"]["self"]
        petition["target"] = [{"name": f"The council of {words[number % len(words)]['locality']}"}]
        petition["_embedded"] = {"osdi:creator": creator}
    return made


def _published(
    deployment: Deployment,
    kind: str,
    parts: str,
    launches: list[datetime],
    groups: list[Document],
    words: list[dict[str, str]],
) -> Iterator[Document]:
    """Make what people are asked to join, one for each launch; `words` are filled into its texts, in turn."""
    for number, launched in enumerate(launches):
        own_id, sponsor = deployment.id(kind, number), groups[number % len(groups)]
        path, page = (f"{kind}s", own_id), f"{deployment.site}/{kind}s/{number}"
        filled = {**words[number % len(words)], "launched": launched, "number": number, "page": page}
        yield {
            "identifiers": [deployment.own(own_id)],
            "origin_system": "Example Network",
            "created_date": times.stamp(launched),
            "modified_date": times.stamp(launched),
            "browser_url": page,
            deployment.own("hidden"): False,
            deployment.own("sponsor"): {"title": sponsor["title"], "url": sponsor["browser_url"]},
            "_links": {
                "self": deployment.link(*path),
                f"osdi:{parts}": deployment.link(*path, parts),
                deployment.own("embed"): deployment.link(*path, "embed"),
            },
            **{name: text.format(**filled) for name, text in WORDS[kind].items()},
        }


def _events(
    deployment: Deployment,
    count: int,
    campaigns: list[Document],
    groups: list[Document],
    people: list[Document],
) -> Iterator[Document]:
    """Make events; a campaign draws most of its own at its launch, and 1/e of them two months later."""
    rng = deployment.draws("events")
    weigh = attention(rng, campaigns, months=2, floor=0)
    for number, created in enumerate(_created(count, deployment.draws("created"))):
        (campaign,) = rng.choices(campaigns, cum_weights=weigh(created))
        joined = rng.random() < 0.75
        modified = min(created + (0.01 + rng.random()) * 120 * times.DAY, times.UNTIL)
        cause = campaign["name"].rpartition(" ")[0] if joined else rng.choice(WORDS["causes"])
        event = _event(deployment, rng, number, cause, created, modified) | _rsvps(rng, 12 if joined else 4)
        sponsor, person = rng.choice(groups), rng.choice(people)["_links"]["self"]
        event["_links"]["osdi:creator"] = person
        if rng.random() < 0.95:
            event["_links"]["osdi:organizer"] = person
        if rng.random() >= 0.15:
            event[deployment.own("sponsor")] = sponsor
        if modified >= STATUS_GREW and number % 10 == 3:
            event["status"] = "postponed"
        if joined:
            shown = rng.random()  # the key, the link or both name the campaign
            if shown < 0.8:
                event[deployment.own("event_campaign_id")] = id_of(campaign)
            if shown > 0.15:
                event["_links"][deployment.own("event_campaign")] = campaign["_links"]["self"]
        yield event


def _created(count: int, rng: Random) -> Iterator[datetime]:
    """Spread events: a few in the year before June 2018, then more and more over six years."""
    old = int(count * OLD_SHARE)
    for n in range(old):
        yield times.EMBEDDED_UNTIL - times.YEAR * (1 - (n + rng.random()) / old)
    for n in range(count - old):
        yield times.growing((n + rng.random()) / (count - old))


def _event(
    deployment: Deployment, rng: Random, number: int, cause: str, created: datetime, modified: datetime
) -> Document:
    event_id = deployment.id("event", number)
    own_ui = rng.random() < 0.7
    (place,) = rng.choices(PLACES, cum_weights=power_law(PLACES))
    start = _start(number, created, modified, rng)
    image = f"https://images.example.net/{deployment.digest('image', number)}.jpg"
    foreign, own = f"crm_sync:{number + 1000}", deployment.own(event_id)
    imported = [foreign, own] if number % 2 else [own, foreign]
    attendances = deployment.link("events", event_id, "attendances")
    fields: Document = {
        "identifiers": [own] if own_ui else imported,
        "origin_system": "Example Network" if own_ui else rng.choice(WORDS["origins"]),
        "created_date": times.stamp(created),
        "modified_date": times.stamp(modified),
        "name": f"{place.locality} {start:%Y-%m-%d} #{number}" if rng.random() < 0.8 else None,
        "title": _title(number, cause, place.locality, rng),
        "description": _html(cause, "Bring water, a friend and a sign.") if rng.random() < 0.9 else None,
        "instructions": _html(cause, "Doors open half an hour before.") if rng.random() < 0.5 else None,
        "browser_url": f"{deployment.site}/events/{event_id[:8]}" if own_ui else None,
        "featured_image_url": image if own_ui and rng.random() < 0.4 else None,
        "start_date": times.stamp(start) if rng.random() < 0.97 else None,
        "end_date": times.stamp(start + rng.randrange(1, 7) * times.HOUR) if rng.random() < 0.6 else None,
        "location": _location(place, number, rng) if rng.random() < 0.98 else None,
        "status": rng.choices(("confirmed", "cancelled", "tentative"), (96, 3, 1))[0],
        "transparence": "opaque",
        "visibility": "public" if rng.random() < 0.93 else "private",
        "guests_can_invite_others": True,
        "reminders": [{"method": "email", "minutes": 1440}] if own_ui else None,
        deployment.own("hidden"): rng.random() < 0.05,
        "_links": {
            "self": deployment.link("events", event_id),
            "osdi:attendances" if rng.random() < 0.85 else "osdi:attendance": attendances,
            ("osdi:" if rng.random() < 0.9 else "") + "record_attendance_helper": attendances,
            deployment.own("embed"): deployment.link("events", event_id, "embed"),
        },
    }
    return present(fields)


def _title(number: int, cause: str, locality: str, rng: Random) -> str:
    """Name a gathering; every eleventh title is one of the hostile labels, in turn."""
    if number % 11 == 4:
        return str(WORDS["hostile"][number // 11 % len(WORDS["hostile"])])
    return f"{rng.choice(WORDS['gatherings'])} {cause} in {locality}"


def _html(cause: str, sentence: str) -> str:
    more = '<a href="https://example.org/">more</a>'
    return f"<p>{sentence}</p><p>Join us for <em>{cause}</em> &amp; {more}.</p>"


def _start(number: int, created: datetime, modified: datetime, rng: Random) -> datetime:
    """Draw a wall clock soon after the last RSVP, which is written as if it were UTC (interface 2.1)."""
    day = modified + rng.randrange(2, 15) * times.DAY
    usual = day.replace(hour=rng.randrange(9, 21), minute=rng.choice((0, 30)), second=0, microsecond=0)
    change = CLOCK_CHANGES[number % 2]
    return change if number % 100 in (20, 21) and created < change else usual


def _rsvps(rng: Random, usual: int) -> Document:
    """Draw RSVPs from a power law (at most 4,000); one event in six has a capacity, and comes near it."""
    accepted = min(int((rng.paretovariate(1.1) - 1) * usual + 1), 4000) if rng.random() < 0.9 else 0
    if rng.random() > 0.17:
        return {"total_accepted": accepted}
    least = max(accepted, rng.randrange(10, 60))
    capacity = next(seats for seats in CAPACITIES if seats >= least)
    return {"total_accepted": int(capacity * min(rng.uniform(0.5, 1.2), 1)), "capacity": capacity}


def _location(place: Place, number: int, rng: Random) -> Document:
    draw = rng.random()
    if draw < 0.10:  # a virtual event has no flag: it has a venue and no place
        return {"venue": "Zoom"}
    if draw < 0.14:  # what the service answers when an event was posted without a place (interface 2.2)
        nowhere = {"latitude": 39.5, "longitude": -98.35, "accuracy": "Approximate"}
        return {"region": "", "country": "US", "language": "en", "location": nowhere}
    located = {
        **({"venue": rng.choice(WORDS["venues"])} if draw < 0.9 else {}),
        "address_lines": [f"{number % 900 + 1} {rng.choice(WORDS['streets'])}"],
        **place.address,
        "location": place.geolocation(metres=number % 3000),
    }
    if draw >= 0.95:
        del located["postal_code"]
    return located
