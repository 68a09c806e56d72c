"""The admin interface under /sandbox/: what the real service does in its own pages, and what only a sandbox can."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from osdi_frames.errors import RequestRefused
from osdi_frames.messages import shorten
from osdi_frames.sandbox.accounts import ROLES, Account
from osdi_frames.sandbox.api import Call, Handler
from osdi_frames.sandbox.faults import FAULTS, SELECTION
from osdi_frames.sandbox.resource_kinds import ACTED_ON, PUBLISHED, RESOURCE_KINDS
from osdi_frames.sandbox.resources import Resource
from osdi_frames.sandbox.service import Service, found_or_refused, list_name
from osdi_frames.sandbox.shapes import REFERRER_DATA
from osdi_frames.sandbox.webhooks import deliverable, sample_element
from osdi_frames.tables.fields import VERSIONS

INDIVIDUAL_KEY = "sandbox-individual-key"
GROUP_KEY = "sandbox-group-key"
INDIVIDUAL = "person:sandbox-person"
GROUP = "group:sandbox"
_PAGE = "https://sandbox.example.org"


def ensure_accounts(service: Service) -> None:
    """Make the two accounts of an empty store, a person and a group, with a key each that is always the same."""
    if service.store.entries("key"):
        return
    now, roles = service.now(), {"sandbox-founder": "creator"}
    ida = Account(INDIVIDUAL, "sandbox-person", "Ida Individual", f"{_PAGE}/users/ida")
    group = Account(GROUP, "sandbox-founder", "Sandbox Group", f"{_PAGE}/groups/sandbox", roles)
    for account, key, name in ((ida, INDIVIDUAL_KEY, "Ida Individual"), (group, GROUP_KEY, "Greta Group")):
        names = dict(zip(("given_name", "family_name"), name.split(), strict=True))
        service.store.put(Resource("person", account.default_creator, now, now, names))
        service.save_account(account)
        service.store.set_entry("key", key, account.account_id)


def _account(service: Service, call: Call) -> Account:
    """Return the account named, or the individual one."""
    named = call.field("account", needed=False) or call.query.get("account")
    return service.account(named or INDIVIDUAL)


# what is made and done


def overview(service: Service, call: Call) -> Any:
    """Answer where things are and which keys there are."""
    return {
        "base_url": call.site.base_url,
        "base_url_v1": replace(call.site, version="v1").base_url,
        "prefix": call.site.prefix,
        "keys": service.store.entries("key"),
        "admin": sorted(ADDRESSES),
    }


def add_key(service: Service, call: Call) -> Any:
    """Add a key to an account, or make one."""
    account_id = _account(service, call).account_id
    key = call.field("key", needed=False) or service.new_id()
    service.store.set_entry("key", key, account_id)
    return {"key": key, "account": account_id}


def add_person(service: Service, call: Call) -> Any:
    """Make a person with an account.

    `referrer_code` is theirs, the rest as interface 2.7 has people.
    """
    person = service.new_person(call.body, call.site)
    person_id, names = person.resource_id, map(person.fields.get, ("given_name", "family_name"))
    title, page = " ".join(filter(None, names)) or "Somebody", f"{_PAGE}/users/{person_id}"
    code = call.field("referrer_code", needed=False)
    account = Account(f"person:{person_id}", person_id, title, page, referrer_code=code)
    service.save_account(account)
    return {"person_id": person_id, "account": account.account_id}


def add_group(service: Service, call: Call) -> Any:
    """Make a group.

    `title`, `url`, `founder` (a person id), `roles` (person id to role), `referrer_code`.
    """
    founder, group_id = call.field("founder"), service.new_id()
    roles = {founder: "creator"} | (call.field("roles", {str: ROLES}, needed=False) or {})
    for person_id in roles:
        service.resource("person", person_id)
    page = call.field("url", needed=False) or f"{_PAGE}/groups/{group_id}"
    code = call.field("referrer_code", needed=False)
    account = Account(f"group:{group_id}", founder, call.field("title"), page, roles, code)
    service.save_account(account)
    return asdict(account)


def add_titled(kind: str, service: Service, call: Call) -> Any:
    """Make what organizers publish, as a petition, of an `account`."""
    made = service.add_titled(kind, _account(service, call), call.body, call.site, by="ui")
    return json.loads(service.text(made, call.site)) | {"id": made.resource_id}


def add_events(service: Service, call: Call) -> Any:
    """Make events as the user interface does.

    `events` is a list of v2 bodies, of one `account`. These may also set what the API cannot: featured_image_url,
    capacity, <p>:hidden, <p>:event_campaign_id, and `listed` false, for an event that only its campaign's collection
    shows.
    """
    account, bodies = _account(service, call), call.field("events", [dict])
    made = [service.create_event(account, body, call.site, by="ui") for body in bodies]
    return {"event_ids": [event.resource_id for event in made]}


def record_act(kind: str, parent: str, service: Service, call: Call) -> Any:
    """Record an act in the service's own pages.

    `petition`, `event` or what else it is about, `person`; `source` and the like; the act's own fields.
    """
    acted_on = service.resource(parent, call.field(parent))
    referrer_data = {key: call.body[key] for key in REFERRER_DATA if key in call.body}
    body = {**call.body, "referrer_data": referrer_data}
    return service.act(kind, acted_on, body, call.site, by="page")


def upload(service: Service, call: Call) -> Any:
    """Record many signatures at once, as an upload does.

    `petition` (its id), `signatures`, a list of bodies.
    """
    petition = service.resource("petition", call.field("petition"))
    bodies = call.field("signatures", [dict])
    signed = [service.act("signature", petition, body, call.site, by="upload") for body in bodies]
    return {"signature_ids": [signature.resource_id for signature in signed]}


def add_webhook(service: Service, call: Call) -> Any:
    """Register a receiver of webhooks at `url`.

    Its trigger: `petition`, `event`, `form`, `fundraising_page`, `advocacy_campaign` or `survey` (an id; all when left
    out), `account`, `uploads`.
    """
    url = call.field("url")
    try:
        parts = urlsplit(url)
        fits = re.fullmatch("https?://[!-~]+", url) and parts.hostname and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise RequestRefused(400, "url must be an http or https address")
    if not deliverable(url, service.webhook_hosts):
        allowing = f"--allow-webhook-hosts {shorten(parts.hostname or '')} allows it"
        raise RequestRefused(400, f"url must lead to this machine; {allowing}")
    trigger = {name: call.field(name, needed=False) for name in (*ACTED_ON, "account")}
    for kind, named in trigger.items():
        if named:
            service.account(named) if kind == "account" else service.resource(kind, named)
    webhook_id, uploads = service.new_id(), call.body.get("uploads") is True
    webhook = {"webhook_id": webhook_id, "url": url, **trigger, "uploads": uploads}
    service.store.set_entry("webhook", webhook_id, webhook)
    return webhook


def send_test(service: Service, call: Call) -> None:
    """Put a "send test" message into the outbox, without dates and with the same key each time."""
    webhook_id, now = call.ids["webhook_id"], service.clock().timestamp()
    found_or_refused(service.store.entry("webhook", webhook_id), "webhook", webhook_id)
    element = sample_element(call.site, _account(service, call))
    service.store.put_message(service.new_id(), webhook_id, [element], due=now)


def inject(service: Service, call: Call) -> Any:
    """Inject a fault: `fault`, its settings, and at which requests."""
    settings = {name: value for name, value in call.body.items() if name != "fault"}
    return service.faults.inject(call.field("fault"), **settings).as_json()


def delete(kind: str, service: Service, call: Call) -> None:
    """Delete a resource and what stands under it, which the API refuses (interface 7.1) and no webhook is sent."""
    service.delete(service.resource(kind, call.ids["resource_id"]))


# what is there


def list_resources(kind: str, service: Service, call: Call) -> Any:
    """List a kind's resources, of one `account` or any."""
    where = {"account": call.query["account"]} if "account" in call.query else {}
    return service.store.resources(kind, **where)


def targeting_list(service: Service, _call: Call) -> Any:
    """Answer the targeting list: the events made through the API with at least one attendance (interface 1.5)."""
    return [
        f"[1, ({event.fields['origin_system']}) Event], ({event.fields['title']})"
        for event in service.store.resources("event")
        if event.made_by in VERSIONS and event.fields.get("total_accepted", 0) > 0
    ]


def faults(service: Service, _call: Call) -> Any:
    """Answer the faults, their settings, and the injected ones."""
    injections = [injection.as_json() for injection in service.faults.injections]
    return {"faults": list(map(asdict, FAULTS)), "selection": SELECTION, "injections": injections}


# Kinds of resources with what makes one of them, by their address.
_RESOURCES: Mapping[str, tuple[str, Handler]] = {
    "people": ("person", add_person),
    "events": ("event", add_events),
    "campaigns": ("event_campaign", partial(add_titled, "event_campaign")),
    **{RESOURCE_KINDS[name].at("v2"): (name, partial(add_titled, name)) for name in PUBLISHED[1:]},
    **{
        kind.at("v2"): (kind.name, partial(record_act, kind.name, kind.acted_on))
        for kind in RESOURCE_KINDS.values()
        if kind.acted_on
    },
}


#: What answers each method of an address. ``/sandbox/requests`` never has keys.
ADDRESSES: Mapping[str, Mapping[str, Handler]] = {
    "/": {"GET": overview},
    "/sandbox": {"GET": overview},
    "/sandbox/keys": {"GET": lambda service, _: service.store.entries("key"), "POST": add_key},
    **{
        f"/sandbox/{at}": {"GET": partial(list_resources, kind), "POST": add}
        for at, (kind, add) in _RESOURCES.items()
    },
    **{
        f"/sandbox/{at}/{{resource_id}}": {"DELETE": partial(delete, kind)}
        for at, (kind, _) in _RESOURCES.items()
    },
    "/sandbox/groups": {
        "GET": lambda service, _: [one for one in service.store.entries("account").values() if one["roles"]],
        "POST": add_group,
    },
    "/sandbox/uploads": {"POST": upload},
    "/sandbox/webhooks": {
        "GET": lambda service, _: list(service.store.entries("webhook").values()),
        "POST": add_webhook,
    },
    "/sandbox/webhooks/{webhook_id}/test": {"POST": send_test},
    "/sandbox/messages": {"GET": lambda service, call: service.store.messages(call.query.get("state"))},
    "/sandbox/dead-letters": {"GET": lambda service, _: service.store.messages("dead")},
    "/sandbox/targeting": {"GET": targeting_list},
    "/sandbox/lists/{account}": {
        "GET": lambda service, call: list(
            service.store.entries(list_name(service.account(call.ids["account"]).account_id))
        )
    },
    "/sandbox/faults": {"GET": faults, "POST": inject, "DELETE": lambda service, _: service.faults.clear()},
    "/sandbox/faults/{injection:int}": {
        "DELETE": lambda service, call: service.faults.clear(int(call.ids["injection"]))
    },
    "/sandbox/requests": {
        "GET": lambda service, _: [asdict(request) for request in service.requests],
        "DELETE": lambda service, _: service.requests.clear(),
    },
}
