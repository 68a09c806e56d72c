"""The addresses of interface 4, and of what the links of 2.5 and 2.7 lead to: from a call to its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from osdi_frames.sandbox.faults import Injection, affect
from osdi_frames.sandbox.kinds import KINDS, Kind
from osdi_frames.sandbox.paging import Page, Row, asked_number, parse_filter
from osdi_frames.sandbox.people import NOBODY, Account
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.resources import Fields, Resource
from osdi_frames.sandbox.service import Service, list_of
from osdi_frames.sandbox.site import Site


@dataclass(frozen=True, slots=True)
class Call:
    """One request: where, what was sent, and, of the API, whose and at which path."""

    site: Site
    ids: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]
    account: Account = NOBODY
    path: str = ""
    injected: Sequence[Injection] = ()


Handler = Callable[[Service, Call], Any]  # of the admin interface JSON values, of the API JSON


def _owner(service: Service, call: Call) -> tuple[Resource | None, dict[str, str]]:
    """Return the last resource that an address names, and what says that another is in its collection.

    Each must be in the collection of the one before it.
    """
    where: dict[str, str] = {}
    found = None
    for name, resource_id in call.ids.items():
        found = service.resource(name.removesuffix("_id"), resource_id, call.account, **where)
        where = {"person_id" if found.kind == "person" else "parent": resource_id}
    return found, where


def _named(service: Service, call: Call) -> Resource:
    found, _ = _owner(service, call)
    if found is None:
        raise refuse("unknown path")
    return found


def collection(kind: Kind, service: Service, call: Call) -> str:
    """Answer a page of a collection: the account's own, or those of the resource under which it stands."""
    _, where = _owner(service, call)
    account = call.account.account_id
    if kind.name == "person":
        where = {"listed_in": list_of(account)}
    else:
        where |= {"account": account} | ({} if where else {"listed": "1"})
    clauses = parse_filter(call.query["filter"], kind, call.site) if "filter" in call.query else []
    number, most = asked_number(call.query, "page", 1), service.per_page
    per_page = min(asked_number(call.query, "per_page", most), most)

    def read(limit: int, offset: int) -> tuple[int, list[Row]]:
        total, rows = service.store.page(kind.name, where=where, clauses=clauses, limit=limit, offset=offset)
        return total, [service.row(stored, call.site) for stored in rows]

    start = (number - 1) * per_page
    total, rows = read(per_page, start)
    pages = -(-total // per_page)
    embedded, linked = kind.keys(call.site)
    links: Fields = {"self": call.site.link(call.path), linked: [row.link for row in rows]}
    links["curies"] = call.site.curies()
    counts = {"total_pages": pages, "per_page": per_page, "page": number, "total_records": total}
    kept = {name: call.query[name] for name in ("per_page", "filter") if name in call.query}
    page = Page(number, pages, {**counts, "_links": links}, rows, kept)
    if number < pages:
        links["next"] = page.to(number + 1)
    for injection in call.injected:
        if injection.name == "repeat_row" and start:
            page.before = read(1, start - 1)[1]
        affect(page, injection)
    if not kind.totals:
        page.drop_totals()
    return page.text(embedded)


def one(service: Service, call: Call) -> str:
    """Answer the resource that the address names."""
    return service.text(_named(service, call), call.site)


def change(service: Service, call: Call) -> str:
    """Answer the whole resource after a PUT."""
    named = _named(service, call)
    if named.kind == "person":
        return service.text(service.change_person(named, call.account, call.body, call.site), call.site)
    return service.text(service.change(named, call.body, call.site), call.site)


def delete(service: Service, call: Call) -> str:
    """Answer that a tagging was deleted; nothing else can be."""
    service.store.remove("tagging", resource_id=_named(service, call).resource_id)
    return json.dumps({"notice": "This tagging was successfully deleted."})


def embed(service: Service, call: Call) -> str:
    """Answer the embed code of a resource."""
    href = call.site.link(_named(service, call).path(call.site), "embed")["href"]
    return json.dumps({"embed_code": f'<iframe src="{href}"></iframe>', "_links": {"self": {"href": href}}})


def create(kind: Kind, service: Service, call: Call) -> str:
    """Answer what a POST to a collection made, changed or recorded."""
    owner, _ = _owner(service, call)
    return service.text(_CREATED[kind.name](service, call, owner), call.site)


# What a POST to the collection of a kind does; nothing can be posted to the collections under a person.
_CREATED: Mapping[str, Callable[[Service, Call, Any], Resource]] = {
    "event": lambda service, call, campaign: service.create_event(
        call.account, call.body, call.site, campaign=campaign
    ),
    "attendance": lambda service, call, event: service.act("attendance", event, call.body, call.site),
    "signature": lambda service, call, petition: service.act("signature", petition, call.body, call.site),
    "person": lambda service, call, _: service.sign_up(call.account, call.body, call.site),
    "tag": lambda service, call, _: service.add_tag(call.account, call.body, call.site),
    "tagging": lambda service, call, tag: service.add_tagging(tag, call.body, call.site),
}
_CHANGED = ("event", "attendance", "signature", "person")


def entry_point(service: Service, call: Call) -> str:
    """Answer where the service's collections are; tags are for a valid key only."""
    site = call.site
    links: Fields = {"self": site.link() | {"title": "This entry point"}}
    for kind in KINDS.values():
        if None in kind.under and (kind.name != "tag" or call.account.account_id):
            at = kind.at(site.version)
            links[kind.keys(site)[0]] = site.link(at) | {"title": f"Collection of {at}"}
    links["osdi:person_signup_helper"] = site.link("people") | {"title": "Person signup helper"}
    shown = {
        "motd": "A sandbox: nothing here is real.",
        "vendor_name": "osdi-frames",
        "product_name": "osdi-frames sandbox",
        "osdi_version": "1.1.1",
        "namespace": site.prefix,
        "max_page_size": service.per_page,
        "_links": {**links, "curies": site.curies()},
    }
    return json.dumps(shown)


def addresses(version: str) -> dict[str, dict[str, Handler]]:
    """Return the paths below the base address of a version, each with its methods."""
    found: dict[str, dict[str, Handler]] = {"": {"GET": entry_point}}
    for kind in KINDS.values():
        for path in kind.addresses(version):
            found[path] = {"GET": partial(collection, kind)}
            if kind.name in _CREATED and "{person_id}" not in path:
                found[path]["POST"] = partial(create, kind)
            here = f"{path}/{{{kind.name}_id}}"
            found[here] = {"GET": one}
            if kind.name in _CHANGED:
                found[here]["PUT"] = change
            if kind.name == "tagging":
                found[here]["DELETE"] = delete
            if any(link.path == "{self}/embed" for link in kind.links):
                found[f"{here}/embed"] = {"GET": embed}
    return found
