"""What others belong to: groups, event campaigns and petitions, and how much each draws at a moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from random import Random

from osdi_frames.sample import words
from osdi_frames.sample.deployment import Deployment, Document, stamp, stream

MONTH = timedelta(days=30)


def make_groups(deployment: Deployment) -> list[Document]:
    """Make the sponsors of everything, in the form of interface 2.4."""
    site = deployment.site
    named = [
        {"title": name, "browser_url": f"{site}/groups/{number}"} for number, name in enumerate(words.GROUPS)
    ]
    named[-1]["browser_url"] = deployment.href("groups", deployment.id("group", 0))  # seen in life, too
    hostile = {"title": words.HOSTILE[deployment.seed % 3], "browser_url": f"{site}/groups/hostile"}
    return [*named, hostile]


def make_campaigns(
    deployment: Deployment, launches: Iterable[datetime], *, groups: list[Document]
) -> list[Document]:
    """Make an event campaign for each launch; `count_rsvps` adds what the service counts."""
    order = stream(deployment, "campaigns").sample(words.CAMPAIGNS, len(words.CAMPAIGNS))
    made = []
    for number, launched in enumerate(launches):
        campaign = order[number % len(order)]
        own = _described(deployment, "event_campaign", number, launched, groups, "events")
        own |= {
            "title": f"{campaign.title} {launched.year}",
            "name": f"{campaign.cause} {launched:%Y-%m}",  # `cause_of` reads it
            "description": f"<p>People everywhere meet for {campaign.cause}. Find an event near you.</p>",
            "host_pitch": "No event near you yet? Host one: we help.",
            "host_instructions": "<p>Confirm the place first, then invite your neighbours.</p>",
            "host_url": f"{own['browser_url']}/host",
        }
        made.append(own)
    return made


def cause_of(campaign: Document) -> str:
    """Return what the events of a campaign are for."""
    cause: str = campaign["name"].rpartition(" ")[0]
    return cause


def make_petitions(
    deployment: Deployment,
    count: int,
    *,
    groups: list[Document],
    people: list[Document],
    first: datetime,
    last: datetime,
) -> list[Document]:
    """Make petitions, launched evenly over the period; each embeds the person who created it, as in life."""
    demands = [(demand, place.locality) for demand in words.DEMANDS for place in words.PLACES]
    stream(deployment, "petitions").shuffle(demands)
    made = []
    for number in range(count):
        demand, locality = demands[number % len(demands)]
        launched = first + (last - first) * (number / count)
        own = _described(deployment, "petition", number, launched, groups, "signatures")
        creator = people[number % len(people)]
        own["_links"]["osdi:record_signature_helper"] = own["_links"]["osdi:signatures"]
        own["_links"]["osdi:creator"] = creator["_links"]["self"]
        own |= {
            "title": demand.format(locality),
            "name": f"{locality} {launched:%Y-%m} #{number}",
            "description": f"<p>{demand.format(locality)}: add your name.</p>",
            "petition_text": "We ask the council to act this year.",
            "target": [{"name": f"The council of {locality}"}],
            "_embedded": {"osdi:creator": creator},
        }
        made.append(own)
    return made


def attention(
    rng: Random, resources: Sequence[Document], *, months: float, floor: float
) -> Callable[[datetime], list[float]]:
    """Return how resources draw people at a moment, as weights that are added up for ``random.choices``.

    They follow a power law, in random order. Each resource fades from its launch on, to 1/e in so many months, but
    not below `floor`.
    """
    weights = [rank**-0.9 for rank in range(1, len(resources) + 1)]
    rng.shuffle(weights)
    launched = [datetime.fromisoformat(resource["created_date"]) for resource in resources]

    def weigh(now: datetime) -> list[float]:
        ages = [(now - moment) / MONTH for moment in launched]
        fades = [floor + math.exp(-age / months) if age >= 0 else 0.0 for age in ages]
        return list(accumulate(weight * fade for weight, fade in zip(weights, fades, strict=True)))

    return weigh


def _described(
    deployment: Deployment, kind: str, number: int, created: datetime, groups: list[Document], parts: str
) -> Document:
    sponsor = groups[number % len(groups)]
    own_id = deployment.id(kind, number)
    address = deployment.href(f"{kind}s", own_id)
    return {
        "identifiers": [f"{deployment.prefix}:{own_id}"],
        "origin_system": "Example Network",
        "created_date": stamp(created),
        "modified_date": stamp(created),
        "browser_url": f"{deployment.site}/{kind}s/{number}",
        f"{deployment.prefix}:hidden": False,
        f"{deployment.prefix}:sponsor": {"title": sponsor["title"], "url": sponsor["browser_url"]},
        "_links": {
            "self": {"href": address},
            f"osdi:{parts}": {"href": f"{address}/{parts}"},
            f"{deployment.prefix}:embed": {"href": f"{address}/embed"},
        },
    }
