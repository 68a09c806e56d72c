"""The addresses of the API (interface 4, and where the links of 2.5 and 2.7 lead), and what they answer."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from osdi_frames.errors import RequestRefused
from osdi_frames.messages import quoted
from osdi_frames.sandbox.accounts import NOBODY, Account
from osdi_frames.sandbox.faults import Injection, alter_page
from osdi_frames.sandbox.filters import parse_filter
from osdi_frames.sandbox.resource_kinds import PUBLISHED, RESOURCE_KINDS, ResourceKind
from osdi_frames.sandbox.resources import Fields, Resource
from osdi_frames.sandbox.service import Service, list_name
from osdi_frames.sandbox.shapes import Shape, conform
from osdi_frames.sandbox.site import Link, Site

PER_PAGE = 25
_PAST_EVERY_END = 10**9


@dataclass(frozen=True, slots=True)
class Call:
    """One request; account, path and injected faults are the API's."""

    site: Site
    ids: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]
    account: Account = NOBODY
    path: str = ""
    injected: Sequence[Injection] = ()

    def field(self, name: str, shape: Shape = str, *, needed: bool = True) -> Any:
        """Return a field of the body, refused without its shape."""
        value = self.body.get(name)
        if (needed or value is not None) and (not value or conform(value, shape) != value):
            raise RequestRefused(400, f"{name} cannot be {quoted(str(value))}")
        return value


Handler = Callable[[Service, Call], Any]  # it answers a value with resources in it, or JSON


def _addressed(service: Service, call: Call) -> tuple[Any, dict[str, str]]:
    """Return the resource that an address names last, if any, and what selects the resources in its collection.

    Each must be in the collection of the one before it.
    """
    where: dict[str, str] = {}
    found = None
    for name, resource_id in call.ids.items():
        found = service.resource(name.removesuffix("_id"), resource_id, call.account, **where)
        where = {"person_id" if found.kind == "person" else "parent": resource_id}
    return found, where


def show(service: Service, call: Call) -> Resource:
    """Answer the resource that the address names."""
    named: Resource = _addressed(service, call)[0]
    return named


# collections (interface 2.6, 8)


def collection(kind: ResourceKind, service: Service, call: Call) -> str:
    """Answer a page of a collection."""
    where = _where(kind, service, call)
    kept = {name: call.query[name] for name in ("per_page", "filter") if name in call.query}
    is_ignored = any(injection.name == "page_ignored" for injection in call.injected)
    number, most = 1 if is_ignored else _positive_number(call, "page", 1), service.per_page
    per_page = min(_positive_number(call, "per_page", most), most)
    clauses = parse_filter(kept["filter"], kind, call.site) if "filter" in kept else []
    read = partial(service.store.page, kind.name, where=where, clauses=clauses)
    start = (number - 1) * per_page
    total, stored = read(limit=per_page, offset=start)
    rows = [service.show(row, call.site) for row in stored]

    here, pages = call.site.link(call.path), -(-total // per_page)

    def page_link(number: int) -> Link:
        return {"href": f"{here['href']}?{urlencode({'page': number, **kept})}"}

    embedded, linked = kind.keys(call.site)
    links = {"self": here, linked: [link for link, _ in rows], "curies": call.site.curies()}
    if number < pages:
        links["next"] = page_link(number + 1)
    counts = {"total_pages": pages, "per_page": per_page, "page": number, "total_records": total}
    page = {**counts, "_links": links}
    for injection in call.injected:
        if injection.name == "repeat_row" and start:
            before = [service.show(row, call.site) for row in read(limit=1, offset=start - 1)[1]]
            rows[: 1 if injection.settings["instead"] else 0] = before
        alter_page(page, rows, injection, page_link)
    if not kind.totals or any(injection.name == "totals_missing" for injection in call.injected):
        del page["total_pages"], page["total_records"]
    head = json.dumps(page, ensure_ascii=False)[:-1]  # the rows are JSON already
    return f'{head}, "_embedded": {{"{embedded}": [{", ".join(text for _, text in rows)}]}}}}'


def _where(kind: ResourceKind, service: Service, call: Call) -> dict[str, str]:
    """Return what selects a collection's resources: those of the account, or of the resource under which it stands."""
    _, where = _addressed(service, call)
    if kind.name == "person":
        return {"listed_in": list_name(call.account.account_id)}
    return where | {"account": call.account.account_id} | ({} if where else {"listed": "1"})


def _positive_number(call: Call, name: str, default: int) -> int:
    """Return a number from 1 on of a query."""
    asked = call.query.get(name, str(default))
    if not (asked.isascii() and asked.isdigit() and asked.strip("0")):
        raise RequestRefused(400, f"{name} must be a number from 1 on, not {quoted(asked)}")
    return int(asked) if len(asked.lstrip("0")) < 10 else _PAST_EVERY_END


# resources


def change(service: Service, call: Call) -> Resource:
    """Answer the whole resource after a PUT."""
    named = show(service, call)
    if named.kind == "person":
        return service.change_person(named, call.account, call.body, call.site)
    return service.change(named, call.body, call.site)


def delete(service: Service, call: Call) -> Any:
    """Answer that a tagging was deleted; nothing else can be."""
    service.store.remove("tagging", resource_id=show(service, call).resource_id)
    return {"notice": "This tagging was successfully deleted."}


_METHODS: Mapping[str, Handler] = {"PUT": change, "DELETE": delete}  # of one resource


def embed(service: Service, call: Call) -> Any:
    """Answer the embed code of a resource."""
    href = call.site.link(show(service, call).path(call.site), "embed")["href"]
    return {"embed_code": f'<iframe src="{href}"></iframe>', "_links": {"self": {"href": href}}}


def create(kind: ResourceKind, service: Service, call: Call) -> Resource:
    """Answer what a POST made, changed or recorded."""
    owner, body, site = _addressed(service, call)[0], call.body, call.site
    match kind.name:
        case "event":
            return service.create_event(call.account, body, site, by=site.version, campaign=owner)
        case name if name in PUBLISHED:
            return service.add_titled(name, call.account, body, site, by=site.version)
        case "person":
            return service.sign_up(call.account, body, site)
        case "tag":
            return service.add_tag(call.account, body, site)
        case "tagging":
            return service.add_tagging(owner, service.acting_person(body, site), site)
    return service.act(kind.name, owner, body, site)


def entry_point(service: Service, call: Call) -> Any:
    """Answer where the collections are; tags are for a valid key only."""
    site = call.site
    links: Fields = {"self": site.link() | {"title": "This entry point"}}
    for kind in RESOURCE_KINDS.values():
        if None in kind.under and (kind.name != "tag" or call.account.account_id):
            at = kind.at(site.version)
            links[kind.keys(site)[0]] = site.link(at) | {"title": f"Collection of {at}"}
    links["osdi:person_signup_helper"] = site.link("people") | {"title": "Person signup helper"}
    return {
        "motd": "A sandbox: nothing here is real.",
        "vendor_name": "osdi-frames",
        "product_name": "osdi-frames sandbox",
        "osdi_version": "1.1.1",
        "namespace": site.prefix,
        "max_page_size": service.per_page,
        "_links": {**links, "curies": site.curies()},
    }


def addresses(version: str, *, lenient: bool) -> dict[str, dict[str, Handler]]:
    """Return the paths of a version, each with its methods."""
    found: dict[str, dict[str, Handler]] = {"": {"GET": entry_point}}
    for kind in RESOURCE_KINDS.values():
        methods = (*kind.methods, *(kind.lenient_methods if lenient else ()))
        for path in kind.addresses(version):
            here = f"{path}/{{{kind.name}_id}}"
            found[path], found[here] = {"GET": partial(collection, kind)}, {"GET": show}
            # People act on something: the list of all donations takes none.
            if "POST" in methods and "{person_id}" not in path and not (kind.is_act and "{" not in path):
                found[path]["POST"] = partial(create, kind)
            found[here] |= {method: _METHODS[method] for method in methods if method in _METHODS}
            if "<p>:embed" in kind.links:
                found[f"{here}/embed"] = {"GET": embed}
    return found
