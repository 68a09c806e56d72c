"""What people do besides signing and attending: they submit forms, donate, write to officials, answer surveys.

One in two is somebody who signs or attends, too; the collections link them. The others are known by the webhooks that
their acts sent. Both have tags.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import cycle
from random import Random
from typing import NamedTuple

from osdi_frames.sample import times
from osdi_frames.sample.deployment import Document, document, id_of, power_law
from osdi_frames.sample.people import POOL, referrer_data, signer
from osdi_frames.sample.pulls import in_envelopes, pages
from osdi_frames.sample.words import WORDS
from osdi_frames.sample.world import World

_FIRST = 2_000_000  # so that nobody of these signs or attends
_AMOUNTS = ("5.00", "10.00", "27.00", "12.50", "50.00", "100.00", "250.00", "1000.00")
_AMOUNT_WEIGHTS = power_law(_AMOUNTS)


class ActKind(NamedTuple):
    """A kind of act, and what it is about."""

    name: str
    plural: str
    of: str
    prefix: str = "osdi"

    def key(self, world: World, name: str) -> str:
        """Write a name of this kind as the service does."""
        return world.own(name) if self.prefix == "<p>" else f"osdi:{name}"


KINDS = (
    ActKind("submission", "submissions", "form"),
    ActKind("donation", "donations", "fundraising_page"),
    ActKind("outreach", "outreaches", "advocacy_campaign"),
    ActKind("response", "responses", "survey", "<p>"),
)


class Act(NamedTuple):
    """An act as the API answers it, and the person who is known by a webhook."""

    kind: ActKind
    answer: Document
    person: Document | None

    def delivered(self, world: World, sponsor: Document, number: int) -> Document:
        """Return the element that a webhook has of it (interface 2.7)."""
        ids = (world.own("person_id"), world.own(f"{self.kind.of}_id"))
        entered = {name: value for name, value in self.answer.items() if name not in ids}
        data = entered[world.own("referrer_data")]
        entered[world.own("referrer_data")] = {name: text for name, text in data.items() if text != "none"}
        return {
            self.kind.key(world, self.kind.name): entered | {"person": self.person, "add_tags": []},
            world.own("sponsor"): sponsor,
            "idempotency_key": world.digest(f"{self.kind.name} message", number),
        }


def make_acts(world: World, kind: ActKind, count: int) -> tuple[list[Document], list[Act]]:
    """Make what is acted on, and acts, oldest first."""
    rng = world.draws(kind.plural)
    parents = _acted_on(world, kind, rng)
    first, last, acts = times.parse(parents[-1]["created_date"]), times.UNTIL - times.DAY, []
    for number in range(count):
        made = times.between(first, last, (number + rng.random()) / count)
        person, parent = _FIRST + number, parents[number % len(parents)]
        joined = times.between(first, last, number / count)  # before the acts of every kind
        known = signer(world, person, rng=rng, signed=made, joined=joined) if number % 2 else None
        if known is None:
            person = rng.randrange(POOL)
            person -= world.joined(person) > made  # one who was always known
        acts.append(Act(kind, _act(world, kind, parent, number, person, made, rng), known))
    return [parent | _totals(kind, _of(parent, kind, acts, world)) for parent in parents], acts


def _acted_on(world: World, kind: ActKind, rng: Random) -> list[Document]:
    causes = [{"cause": cause} for cause in rng.sample(WORDS["causes"], 3)]
    launches = [times.UNTIL - times.YEAR * years for years in (2, 1.5, 1)]
    made = list(world.published(kind.of, kind.plural, launches, causes))
    for parent, creator in zip(made, cycle(world.people.values())):
        links = parent["_links"]
        acts = links.pop(f"osdi:{kind.plural}")
        links |= {kind.key(world, kind.plural): acts, "osdi:creator": creator["_links"]["self"]}
        links[kind.key(world, f"record_{kind.name}_helper")] = acts
        parent["_embedded"] = {"osdi:creator": creator}
        if kind.of == "advocacy_campaign":
            parent |= {"type": "email", "targets": "City council"}
    return made


def _act(
    world: World, kind: ActKind, parent: Document, number: int, person: int, made: datetime, rng: Random
) -> Document:
    own_id, person_id = world.id(kind.name, number), world.id("person", person)
    plural, parent_id = f"{kind.of}s", id_of(parent)
    return {
        **world.identified(own_id, times.iso(made)),
        **_own_fields(world, kind, number, rng),
        world.own("person_id"): person_id,
        world.own(f"{kind.of}_id"): parent_id,
        world.own("referrer_data"): {"source": "none", "website": "none", **referrer_data(rng, made)},
        "_links": {
            "self": world.link(plural, parent_id, kind.plural, own_id),
            kind.key(world, kind.of): world.link(plural, parent_id),
            "osdi:person": world.link("people", person_id),
        },
    }


def _own_fields(world: World, kind: ActKind, number: int, rng: Random) -> Document:
    if kind.name == "donation":
        amounts = rng.choices(_AMOUNTS, cum_weights=_AMOUNT_WEIGHTS, k=1 + (number % 9 == 0))
        recurs = rng.random() < 0.3
        period = {"period": rng.choice(("Monthly", "Yearly"))} if recurs else {}
        return {
            "amount": f"{sum(map(float, amounts)):.2f}",
            "currency": "USD",
            "recipients": [
                {"display_name": name, "amount": amount}
                for name, amount in zip(WORDS["groups"], amounts, strict=False)
            ],
            "payment": {
                "method": "Credit Card",
                "reference_number": world.digest("payment", number)[:12],
                "authorization_stored": recurs,
            },
            world.own("recurrence"): {"recurring": recurs, **period},
        }
    if kind.name == "outreach":
        subject = rng.choice(WORDS["comments"])
        return document(
            type="email",
            subject=str(subject)[:60],
            message=str(subject),
            targets=[rng.choice(WORDS["officials"])],
        )
    return {}


def _of(parent: Document, kind: ActKind, acts: list[Act], world: World) -> list[Document]:
    """Return the acts on something."""
    parent_id = world.own(f"{kind.of}_id")
    return [act.answer for act in acts if act.answer[parent_id] == id_of(parent)]


def _totals(kind: ActKind, own: list[Document]) -> Document:
    totals: Document = {f"total_{kind.plural}": len(own)}
    if kind.name == "donation":
        amounts = (float(donation["amount"]) for donation in own)
        totals |= {"total_amount": round(sum(amounts), 2), "currency": "USD"}
    return totals


def collections(world: World, count: int) -> Iterator[tuple[str, Document]]:
    """Pull what is acted on, the acts and the tags at the end, each page with the name of its collection."""
    people: dict[str, Document] = {}
    for kind in KINDS:
        parents, acts = make_acts(world, kind, count)
        name, relation = f"{kind.of}s", kind.key(world, f"{kind.of}s")
        yield from ((name, page) for page in in_envelopes(pages(world, parents, name, relation)))
        of_all = {"donations": [act.answer for act in acts]}
        by_parent = {
            f"{name}/{id_of(parent)}/{kind.plural}": _of(parent, kind, acts, world) for parent in parents
        }
        for path, own in (of_all if kind.name == "donation" else by_parent).items():
            pulled = pages(world, own, path, kind.key(world, kind.plural))
            yield from ((kind.plural, page) for page in in_envelopes(pulled))
        people |= {act.answer["_links"]["osdi:person"]["href"]: act.answer for act in acts}
    yield from _tags(world, people)


def _tags(world: World, people: dict[str, Document]) -> Iterator[tuple[str, Document]]:
    """Pull tags, and who has them."""
    rng, tags, taggings = world.draws("taggings"), [], []
    for number, name in enumerate(WORDS["tags"][:6]):
        tag_id, made = world.id("tag", number), times.iso(times.UNTIL - 3 * times.YEAR)
        links = {"self": world.link("tags", tag_id), "osdi:taggings": world.link("tags", tag_id, "taggings")}
        tags.append({**world.identified(tag_id, made), "name": name, "_links": links})
        tagged = []
        for order, href in enumerate(rng.sample(sorted(people), len(people) // (3 + number))):
            own_id = world.id(f"tagging {number}", order)
            tagged.append(
                {
                    **world.identified(own_id, people[href]["created_date"]),
                    "item_type": "osdi:person",
                    "_links": {
                        "self": world.link("tags", tag_id, "taggings", own_id),
                        "osdi:tag": world.link("tags", tag_id),
                        "osdi:person": {"href": href},
                    },
                }
            )
        taggings.append((f"tags/{tag_id}/taggings", tagged))
    yield from (("tags", page) for page in in_envelopes(pages(world, tags, "tags", "osdi:tags")))
    for path, tagged in taggings:
        pulled = in_envelopes(pages(world, tagged, path, "osdi:taggings"))
        yield from (("taggings", page) for page in pulled)


def received(world: World, count: int) -> Iterator[Document]:
    """Receive what webhooks send of these acts, in order of receipt."""
    envelopes = []
    for kind in KINDS:
        parents, acts = make_acts(world, kind, count)
        sponsors = {id_of(parent): parent[world.own("sponsor")] for parent in parents}
        for number, act in enumerate(acts):
            if act.person:
                sponsor = sponsors[act.answer[world.own(f"{kind.of}_id")]]
                at = times.parse(act.answer["created_date"]) + timedelta(seconds=20)
                body = [act.delivered(world, sponsor, number)]
                envelopes.append({"received_at": times.iso(at), "body": body})
    return iter(sorted(envelopes, key=lambda envelope: (envelope["received_at"], str(envelope["body"]))))
