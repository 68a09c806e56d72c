"""What others belong to: groups, event campaigns and petitions."""

from __future__ import annotations

from datetime import datetime

from osdi_frames.sample import words
from osdi_frames.sample.deployment import Deployment, Document, stamp, stream


def make_groups(deployment: Deployment) -> list[Document]:
    """Make the sponsors of everything, in the form of interface 2.4."""
    site = deployment.site
    named = [
        {"title": name, "browser_url": f"{site}/groups/{number}"} for number, name in enumerate(words.GROUPS)
    ]
    named[-1]["browser_url"] = deployment.href("groups", deployment.id("group", 0))  # seen in life, too
    hostile = {"title": words.HOSTILE[deployment.seed % 3], "browser_url": f"{site}/groups/hostile"}
    return [*named, hostile]


def make_campaigns(deployment: Deployment, count: int, *, created: datetime) -> list[Document]:
    """Make event campaigns; the contract leaves their fields open, these are the usual ones."""
    rng = stream(deployment, "campaigns")
    return [
        {
            **_described(deployment, "event_campaign", number, created),
            "title": f"{rng.choice(words.CAUSES).capitalize()}: days of action {number + 1}",
            "_links": {
                "curies": deployment.curies(),
                "self": deployment.link("event_campaigns", deployment.id("event_campaign", number)),
                "osdi:events": deployment.link(
                    "event_campaigns", deployment.id("event_campaign", number), "events"
                ),
            },
        }
        for number in range(count)
    ]


def make_petitions(
    deployment: Deployment, count: int, *, groups: list[Document], first: datetime, last: datetime
) -> list[Document]:
    """Make petitions, launched evenly over the period; the group that runs each is its sponsor."""
    rng = stream(deployment, "petitions")
    return [
        {
            **_described(deployment, "petition", number, first + (last - first) * (number / count)),
            "title": f"Stand up for {rng.choice(words.CAUSES)}!",
            f"{deployment.prefix}:sponsor": groups[number % len(groups)],
            "_links": {
                "curies": deployment.curies(),
                "self": deployment.link("petitions", deployment.id("petition", number)),
                "osdi:signatures": deployment.link(
                    "petitions", deployment.id("petition", number), "signatures"
                ),
            },
        }
        for number in range(count)
    ]


def _described(deployment: Deployment, kind: str, number: int, created: datetime) -> Document:
    return {
        "identifiers": [f"{deployment.prefix}:{deployment.id(kind, number)}"],
        "origin_system": "Example Network",
        "created_date": stamp(created),
        "modified_date": stamp(created),
        "browser_url": f"{deployment.site}/{kind}s/{number}",
    }
