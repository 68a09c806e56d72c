"""The addresses of interface 4, and of what the links of 2.5 and 2.7 lead to: from a call to its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from osdi_frames.sandbox.faults import Order
from osdi_frames.sandbox.fields import ATTENDANCES, DATED
from osdi_frames.sandbox.page_faults import EFFECTS, Page
from osdi_frames.sandbox.paging import Row, envelope, page_number, page_text, parse_filter
from osdi_frames.sandbox.people import PERSON_LINKS, Account, represent_person
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.service import Service
from osdi_frames.sandbox.signatures import Signature, represent_signature
from osdi_frames.sandbox.site import Site
from osdi_frames.sandbox.store import Document


@dataclass(frozen=True, slots=True)
class Call:
    """One request with a valid key: where, whose, and what was sent."""

    site: Site
    account: Account
    ids: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]
    struck: Sequence[Order] = ()


Handler = Callable[[Service, Call], str]
Read = Callable[[int, int], tuple[int, list[Row]]]


def _collection(service: Service, call: Call, *, path: str, name: str, read: Read) -> str:
    number, per_page = page_number(call.query), service.settings.per_page
    start = (number - 1) * per_page
    total, rows = read(per_page, start)
    kept = {"filter": call.query["filter"]} if "filter" in call.query else {}
    head = envelope(
        rows, number=number, per_page=per_page, total=total, site=call.site, path=path, name=name, kept=kept
    )
    orders = [order for order in call.struck if order.name in EFFECTS]
    if orders:
        before = read(1, start - 1)[1] if start else []
        page = Page(head, tuple(rows), before[0] if before else None, kept)
        # Without totals the other faults could not tell which page is the last.
        for order in sorted(orders, key=lambda order: order.name == "totals_missing"):
            page = EFFECTS[order.name](page, order)
        head, rows = page.head, list(page.rows)
    return page_text(head, rows, name)


# events


def _events_page(service: Service, call: Call, *, path: str, campaign_id: str | None) -> str:
    clauses = parse_filter(call.query["filter"], call.site) if "filter" in call.query else []

    def read(limit: int, offset: int) -> tuple[int, list[Row]]:
        return service.store.event_rows(
            call.account.account_id,
            version=call.site.version,
            campaign_id=campaign_id,
            clauses=clauses,
            limit=limit,
            offset=offset,
        )

    return _collection(service, call, path=path, name="osdi:events", read=read)


def events(service: Service, call: Call) -> str:
    """Answer a page of the account's events."""
    return _events_page(service, call, path="events", campaign_id=None)


def campaign_events(service: Service, call: Call) -> str:
    """Answer a page of a campaign's events."""
    campaign_id = call.ids["campaign_id"]
    service.titled("event_campaign", call.account, campaign_id)
    return _events_page(service, call, path=f"event_campaigns/{campaign_id}/events", campaign_id=campaign_id)


def event(service: Service, call: Call) -> str:
    """Answer one event."""
    found = service.event(call.account, call.ids["event_id"])
    return service.store.event_text(found.event_id, call.site.version)


def create_event(service: Service, call: Call) -> str:
    """Answer the event that a POST made or matched."""
    made = service.create_event(call.account, call.body, call.site)
    return service.store.event_text(made.event_id, call.site.version)


def change_event(service: Service, call: Call) -> str:
    """Answer the whole event after a PUT."""
    changed = service.change_event(call.account, call.ids["event_id"], call.body, call.site)
    return service.store.event_text(changed.event_id, call.site.version)


def delete_event(_service: Service, _call: Call) -> str:
    """Refuse (interface 7.1)."""
    raise refuse("delete")


def embed(service: Service, call: Call) -> str:
    """Answer the embed code of an event."""
    found = service.event(call.account, call.ids["event_id"])
    href = call.site.link("events", found.event_id)["href"]
    code = f'<iframe src="{href}/embed"></iframe>'
    return json.dumps(
        {"embed_code": code, "_links": {"self": {"href": f"{href}/embed"}, "osdi:event": {"href": href}}}
    )


# attendances


def attendances(service: Service, call: Call) -> str:
    """Answer a page of an event's attendances."""
    found = service.event(call.account, call.ids["event_id"])
    path = f"events/{found.event_id}/{ATTENDANCES[call.site.version]}"
    return _resources(service, call, path=path, kind="attendance", parent=found.event_id)


def attend(service: Service, call: Call) -> str:
    """Answer the attendance that a POST recorded."""
    attendance = service.attend(call.account, call.ids["event_id"], call.body)
    return _shown("attendance", attendance, service, call.site).text


def attendance(service: Service, call: Call) -> str:
    """Answer one attendance."""
    service.event(call.account, call.ids["event_id"])
    return _one(
        service, call, "attendance", call.ids["attendance_id"], within=("event_id", call.ids["event_id"])
    )


# petitions, signatures, campaigns, people


def petitions(service: Service, call: Call) -> str:
    """Answer a page of the account's petitions."""
    return _resources(service, call, path="petitions", kind="petition", parent=call.account.account_id)


def petition(service: Service, call: Call) -> str:
    """Answer one petition."""
    found = service.titled("petition", call.account, call.ids["petition_id"])
    return _shown("petition", found, service, call.site).text


def signatures(service: Service, call: Call) -> str:
    """Answer a page of a petition's signatures."""
    found = service.titled("petition", call.account, call.ids["petition_id"])
    path = f"petitions/{found['id']}/signatures"
    return _resources(service, call, path=path, kind="signature", parent=found["id"])


def sign(service: Service, call: Call) -> str:
    """Answer the signature that a POST recorded."""
    found = service.titled("petition", call.account, call.ids["petition_id"])
    signed = service.sign(found, call.body, call.site)
    person = service.person(signed.person_id)
    return json.dumps(represent_signature(signed, call.site, person=person), ensure_ascii=False)


def signature(service: Service, call: Call) -> str:
    """Answer one signature."""
    found = service.titled("petition", call.account, call.ids["petition_id"])
    return _one(service, call, "signature", call.ids["signature_id"], within=("petition_id", found["id"]))


def campaigns(service: Service, call: Call) -> str:
    """Answer a page of the account's event campaigns."""
    return _resources(
        service, call, path="event_campaigns", kind="event_campaign", parent=call.account.account_id
    )


def campaign(service: Service, call: Call) -> str:
    """Answer one event campaign."""
    found = service.titled("event_campaign", call.account, call.ids["campaign_id"])
    return _shown("event_campaign", found, service, call.site).text


def person(service: Service, call: Call) -> str:
    """Answer one person; every key can read everybody whom a link leads to."""
    shown = represent_person(service.person(call.ids["person_id"]), call.site)
    return json.dumps(shown, ensure_ascii=False)


def person_actions(service: Service, call: Call) -> str:
    """Answer a page of what a person did, of one kind; the sandbox has attendances and signatures."""
    found, relation = service.person(call.ids["person_id"]), call.ids["relation"]
    if relation not in PERSON_LINKS[call.site.version]:
        raise refuse("unknown path")
    path, kind = f"people/{found.person_id}/{relation}", relation.removesuffix("s")
    return _resources(service, call, path=path, kind=kind, person_id=found.person_id)


def _resources(service: Service, call: Call, *, path: str, kind: str, **where: str) -> str:
    def read(limit: int, offset: int) -> tuple[int, list[Row]]:
        total, documents = service.store.resources(kind, limit=limit, offset=offset, **where)
        return total, [_shown(kind, document, service, call.site) for document in documents]

    return _collection(service, call, path=path, name=f"osdi:{path.rpartition('/')[2]}", read=read)


def _one(service: Service, call: Call, kind: str, resource_id: str, *, within: tuple[str, str]) -> str:
    document = service.store.get(kind, resource_id)
    if document is None or document[within[0]] != within[1]:
        raise refuse("unknown", what=kind, id=resource_id)
    return _shown(kind, document, service, call.site).text


def _shown(kind: str, document: Document, service: Service, site: Site) -> Row:
    """Return a resource, other than an event or a person, as a row of a collection."""
    if kind == "signature":
        signed = Signature(**document)
        shown = represent_signature(signed, site, person=service.person(signed.person_id))
        return Row(
            f"petitions/{signed.petition_id}/signatures/{signed.signature_id}",
            json.dumps(shown, ensure_ascii=False),
        )
    names, here = DATED[site.version], document["id"]
    shown = {
        "identifiers": [site.native(here)],
        names["created_date"]: document["created_date"],
        names["modified_date"]: document["modified_date"],
    }
    if kind == "attendance":
        path = f"events/{document['event_id']}/{ATTENDANCES[site.version]}/{here}"
        links = {
            "osdi:event": site.link("events", document["event_id"]),
            "osdi:person": site.link("people", document["person_id"]),
        }
    else:
        shown["title"] = document["title"]
        path = f"{kind}s/{here}"
        inside = "signatures" if kind == "petition" else "events"
        links = {f"osdi:{inside}": site.link(path, inside)}
    shown["_links"] = {"self": site.link(path), **links, "curies": site.curies()}
    return Row(path, json.dumps(shown, ensure_ascii=False))


def addresses(version: str) -> dict[str, dict[str, Handler]]:
    """Return the paths below the base address of a version, each with its methods."""
    here = f"/events/{{event_id}}/{ATTENDANCES[version]}"
    return {
        "/events": {"GET": events, "POST": create_event},
        "/events/{event_id}": {"GET": event, "PUT": change_event, "DELETE": delete_event},
        "/events/{event_id}/embed": {"GET": embed},
        here: {"GET": attendances, "POST": attend},
        f"{here}/{{attendance_id}}": {"GET": attendance},
        "/event_campaigns": {"GET": campaigns},
        "/event_campaigns/{campaign_id}": {"GET": campaign},
        "/event_campaigns/{campaign_id}/events": {"GET": campaign_events},
        "/petitions": {"GET": petitions},
        "/petitions/{petition_id}": {"GET": petition},
        "/petitions/{petition_id}/signatures": {"GET": signatures, "POST": sign},
        "/petitions/{petition_id}/signatures/{signature_id}": {"GET": signature},
        "/people/{person_id}": {"GET": person},
        "/people/{person_id}/{relation}": {"GET": person_actions},
    }
