"""A world without files: people, campaigns, petitions, events, signatures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import cycle
from random import Random

from osdi_frames.sample import times
from osdi_frames.sample.deployment import Deployment, Document, attention, document, href_of, id_of, power_law
from osdi_frames.sample.people import first_attended, long_known, make_signatures, organizer
from osdi_frames.sample.words import PLACES, WORDS, Place

OLD_SHARE = 0.08  # of the events, from the year before June 2018
CAPACITIES = (15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 250, 300, 400, 500, 800)
_EVENTS_OF_WEEK, _SATURDAY = (2, 4, 5, 5, 2, 9, 5), 5
STATUS_GREW = datetime(2026, 7, 1, tzinfo=UTC)  # since then there are values that the contract does not name


@dataclass(frozen=True, kw_only=True)
class World(Deployment):
    """Everything that one deployment holds at the end.

    Its documents are plain dicts in the contract's v2 shapes. Seed and prefix decide every identifier and every draw:
    the same arguments make the same world, on every machine. There are up to eight campaigns.
    Signatures are made as they are asked for.

    Examples
    --------
    >>> world = World(seed=7, event_count=30)
    >>> len(world.events), world.events[0]["created_date"] < world.events[-1]["created_date"]
    (30, True)
    """

    event_count: int = 200
    petition_count: int = 20

    @cached_property
    def people(self) -> dict[str, Document]:
        """Creators and organizers, by their address."""
        made = (organizer(self, number) for number in range(4 + self.event_count // 8))
        return {href_of(person): person for person in made}

    @cached_property
    def campaigns(self) -> list[Document]:
        """Event campaigns, with the totals of their events."""
        return [
            campaign | _totals(self.by_campaign.get(href_of(campaign), [])) for campaign in self._launched
        ]

    @cached_property
    def petitions(self) -> list[Document]:
        """Petitions, launched evenly over five years, each with the person who created it embedded."""
        words = [
            {"demand": demand.format(place.locality), "locality": place.locality}
            for demand in WORDS["demands"]
            for place in PLACES
        ]
        self.draws("petitions").shuffle(words)
        first, last = times.UNTIL - 5 * times.YEAR, times.UNTIL - times.YEAR / 6
        launches = (first + (last - first) * (n / self.petition_count) for n in range(self.petition_count))
        made = list(self.published("petition", "signatures", launches, words))
        for number, (petition, creator) in enumerate(zip(made, cycle(self.people.values()))):
            links = petition["_links"]
            links["osdi:record_signature_helper"] = links["osdi:signatures"]
            links["osdi:creator"] = creator["_links"]["self"]
            petition["target"] = [{"name": f"The council of {words[number % len(words)]['locality']}"}]
            petition["_embedded"] = {"osdi:creator": creator}
        return made

    @cached_property
    def events(self) -> list[Document]:
        """All events, oldest first; a campaign has most of its own at its launch, 1/e of them two months later."""
        rng, created = self.draws("events"), enumerate(self._created())
        weigh = attention(rng, self._launched, months=2, floor=0)
        return [self._event(rng, number, moment, weigh(moment)) for number, moment in created]

    @cached_property
    def by_campaign(self) -> dict[str | None, list[Document]]:
        """The events, by the address of their campaign."""
        grouped = defaultdict(list)
        for event in self.events:
            grouped[self.campaign_href(event)].append(event)
        return dict(grouped)

    @cached_property
    def listed(self) -> list[Document]:
        """The events that the collection of all events lists; some are in that of their campaign alone."""
        return [
            event
            for number, event in enumerate(self.events)
            if number % 20 != 16 or not self.campaign_href(event)
        ]

    def campaign_href(self, event: Document) -> str | None:
        """Return the address of an event's campaign."""
        if campaign_id := event.get(self.own("event_campaign_id")):
            return self.href("event_campaigns", campaign_id)
        href: str | None = event["_links"].get(self.own("event_campaign"), {}).get("href")
        return href

    def signatures(self, count: int) -> Iterator[Document]:
        """Make signatures one by one, oldest first."""
        return make_signatures(self, count, petitions=self.petitions, joined=self.joined)

    def joined(self, person: int) -> datetime:
        """Return when a person was created, who may do several things.

        Everybody has one created date. Attendees with odd numbers are created by their first RSVP, the others were
        known before the oldest event, as are those who create events.
        """
        known = person % 2 == 0 or person < len(self.people)
        return long_known(person) if known else self._first_attended.get(person, long_known(person))

    @cached_property
    def _first_attended(self) -> dict[int, datetime]:
        return first_attended(self, self.events)

    @cached_property
    def _groups(self) -> list[Document]:
        """The sponsors of everything, in the form of interface 2.4."""
        pages = f"{self.site}/groups"
        named = [{"title": name, "browser_url": f"{pages}/{n}"} for n, name in enumerate(WORDS["groups"])]
        named[-1]["browser_url"] = self.href("groups", self.id("group", 0))  # seen in life, too
        return named

    @cached_property
    def _launched(self) -> list[Document]:
        """Campaigns, launched as their events are spread."""
        words = self.draws("campaigns").sample(WORDS["campaigns"], len(WORDS["campaigns"]))
        first, count = times.EMBEDDED_UNTIL - times.YEAR * 13 / 12, min(2 + self.event_count // 12, 7)
        launches = [first, *(times.growing(n / count) for n in range(count))]
        return list(self.published("event_campaign", "events", launches, words))

    def published(
        self, kind: str, parts: str, launches: Iterable[datetime], words: list[dict[str, str]]
    ) -> Iterator[Document]:
        """Make a campaign or petition for each launch, with `words` filled into its texts in turn."""
        for number, launched in enumerate(launches):
            own_id, sponsor = self.id(kind, number), self._groups[number % len(self._groups)]
            path, page, made = ((f"{kind}s", own_id), f"{self.site}/{kind}s/{number}", times.iso(launched))
            filled = {**words[number % len(words)], "launched": launched, "number": number, "page": page}
            yield {
                "identifiers": [self.own(own_id)],
                "origin_system": "Example Network",
                "created_date": made,
                "modified_date": made,
                "browser_url": page,
                self.own("hidden"): False,
                self.own("sponsor"): {"title": sponsor["title"], "url": sponsor["browser_url"]},
                "_links": {
                    "self": self.link(*path),
                    f"osdi:{parts}": self.link(*path, parts),
                    self.own("embed"): self.link(*path, "embed"),
                },
                **{name: text.format(**filled) for name, text in WORDS[kind].items()},
            }

    def _created(self) -> Iterator[datetime]:
        """Spread events, few until June 2018, then more and more."""
        rng, old = self.draws("created"), int(self.event_count * OLD_SHARE)
        for n in range(old):
            yield times.between(times.BEGINNING, times.EMBEDDED_UNTIL, (n + rng.random()) / old)
        for n in range(self.event_count - old):
            yield times.growing((n + rng.random()) / (self.event_count - old))

    def _event(self, rng: Random, number: int, created: datetime, weights: list[float]) -> Document:
        (campaign,) = rng.choices(self._launched, cum_weights=weights)
        joined = rng.random() < 0.75
        lasts = (0.01 + rng.random()) * 120 * times.DAY
        newest = times.UNTIL - number % 40 * times.HOUR  # of what goes on at the end
        modified = times.lived(max(min(times.evened(created) + lasts, newest), times.evened(created)))
        cause = campaign["name"].rpartition(" ")[0] if joined else rng.choice(WORDS["causes"])
        event = self._gathering(rng, number, cause, created, modified) | _rsvps(rng, 12 if joined else 4)
        sponsor, person = rng.choice(self._groups), {"href": rng.choice(list(self.people))}
        event["_links"]["osdi:creator"] = person
        if rng.random() < 0.95:
            event["_links"]["osdi:organizer"] = person
        if rng.random() >= 0.15:
            event[self.own("sponsor")] = sponsor
        if modified >= STATUS_GREW and number % 10 == 3:
            event["status"] = "postponed"
        if joined:
            shown = rng.random()  # the key, the link or both name the campaign
            if shown < 0.8:
                event[self.own("event_campaign_id")] = id_of(campaign)
            if shown > 0.15:
                event["_links"][self.own("event_campaign")] = campaign["_links"]["self"]
        return event

    def _gathering(
        self, rng: Random, number: int, cause: str, created: datetime, modified: datetime
    ) -> Document:
        """Make an event without RSVPs, sponsor, people or campaign."""
        event_id = self.id("event", number)
        own_ui = rng.random() < 0.7
        (place,) = rng.choices(PLACES, cum_weights=power_law(PLACES))
        start = _start(modified, rng)
        image = f"https://images.example.net/{self.digest('image', number)}.jpg"
        foreign, own = f"crm_sync:{number + 1000}", self.own(event_id)
        imported = [foreign, own] if number % 2 else [own, foreign]
        attendances = self.link("events", event_id, "attendances")
        fields: Document = {
            "identifiers": [own] if own_ui else imported,
            "origin_system": "Example Network" if own_ui else rng.choice(WORDS["origins"]),
            "created_date": times.iso(created),
            "modified_date": times.iso(modified),
            "name": f"{place.locality} {start:%Y-%m-%d} #{number}" if rng.random() < 0.8 else None,
            "title": f"{rng.choice(WORDS['gatherings'])} {cause} in {place.locality}",
            "description": _html(cause, "Bring water, a friend and a sign.") if rng.random() < 0.9 else None,
            "instructions": _html(cause, "Doors open half an hour before.") if rng.random() < 0.5 else None,
            "browser_url": f"{self.site}/events/{event_id[:8]}" if own_ui else None,
            "featured_image_url": image if own_ui and rng.random() < 0.4 else None,
            "start_date": times.iso(start) if rng.random() < 0.97 else None,
            "end_date": times.iso(start + rng.randrange(1, 7) * times.HOUR) if rng.random() < 0.6 else None,
            "location": _location(place, number, rng) if rng.random() < 0.98 else None,
            "status": rng.choices(("confirmed", "cancelled", "tentative"), (96, 3, 1))[0],
            "transparence": "opaque",
            "visibility": "public" if rng.random() < 0.93 else "private",
            "guests_can_invite_others": True,
            "reminders": [{"method": "email", "minutes": 1440}] if own_ui else None,
            self.own("hidden"): rng.random() < 0.05,
            "_links": {
                "self": self.link("events", event_id),
                "osdi:attendances" if rng.random() < 0.85 else "osdi:attendance": attendances,
                ("osdi:" if rng.random() < 0.9 else "") + "record_attendance_helper": attendances,
                self.own("embed"): self.link("events", event_id, "embed"),
            },
        }
        return document(**fields)


def _totals(events: list[Document]) -> Document:
    return {"total_events": len(events), "total_rsvps": sum(event["total_accepted"] for event in events)}


def _html(cause: str, sentence: str) -> str:
    more = '<a href="https://example.org/">more</a>'
    return f"<p>{sentence}</p><p>Join us for <em>{cause}</em> &amp; {more}.</p>"


def _start(modified: datetime, rng: Random) -> datetime:
    """Draw a wall clock soon after the last RSVP, written as if it were UTC (interface 2.1).

    Most events are at weekends by day, or in the evening before a working day.
    """
    days = [modified + number * times.DAY for number in range(2, 16)]
    (day,) = rng.choices(days, [_EVENTS_OF_WEEK[day.weekday()] for day in days])
    hours = (10, 11, 13, 14, 15) if day.weekday() >= _SATURDAY else (12, 17, 18, 18, 19)
    return day.replace(hour=rng.choice(hours), minute=rng.choice((0, 0, 30)), second=0, microsecond=0)


def _rsvps(rng: Random, usual: int) -> Document:
    """Draw RSVPs from a power law, at most 600; one event in six has a capacity, and comes near it."""
    accepted = min(int((rng.paretovariate(1.1) - 1) * usual + 1), 600) if rng.random() < 0.9 else 0
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
