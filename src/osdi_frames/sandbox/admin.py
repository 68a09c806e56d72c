"""The admin interface under /sandbox/: what the real service does in its own pages, and what only a sandbox can."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlsplit

from osdi_frames.sandbox.api import Call
from osdi_frames.sandbox.faults import FAULTS, SELECTION
from osdi_frames.sandbox.kinds import REFERRER_DATA
from osdi_frames.sandbox.people import ROLES, Account
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.resources import Fields, Resource
from osdi_frames.sandbox.service import Service
from osdi_frames.sandbox.site import Site
from osdi_frames.sandbox.webhooks import Webhook, deliverable

INDIVIDUAL_KEY = "sandbox-individual-key"
GROUP_KEY = "sandbox-group-key"
INDIVIDUAL = "person:sandbox-person"
GROUP = "group:sandbox"


AdminHandler = Callable[[Service, Call], Any]


def ensure_accounts(service: Service) -> None:
    """Give an empty store one person and one group, with a key each that is always the same."""
    if service.store.names("key"):
        return
    now, page = service.now(), "https://sandbox.example.org"
    ida = Account(INDIVIDUAL, "sandbox-person", "Ida Individual", f"{page}/users/ida")
    roles = {"sandbox-founder": "creator"}
    group = Account(GROUP, "sandbox-founder", "Sandbox Group", f"{page}/groups/sandbox", roles)
    for account, key, given, family in (
        (ida, INDIVIDUAL_KEY, "Ida", "Individual"),
        (group, GROUP_KEY, "Greta", "Group"),
    ):
        names = {"given_name": given, "family_name": family}
        service.store.put(Resource("person", account.default_creator, now, now, names))
        service.save_account(account)
        service.store.bind("key", key, account.account_id)


def _account(service: Service, call: Call) -> Account:
    """Return the account that a body or a query names; the individual one when it names none."""
    asked = call.body.get("account", call.query.get("account", INDIVIDUAL))
    return service.account(_text(asked, "account"))


def _bodies(call: Call, name: str, what: str) -> list[Mapping[str, Any]]:
    bodies = call.body.get(name)
    if not isinstance(bodies, list) or not all(isinstance(body, Mapping) for body in bodies):
        raise refuse("setting", why=f"{name} must be a list of {what} objects")
    return bodies


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise refuse("setting", why=f"{name} must be text, not {str(value)[:40]!r}")
    return value


def _optional(call: Call, name: str) -> str | None:
    value = call.body.get(name)
    return None if value is None else _text(value, name)


def overview(service: Service, call: Call) -> Any:
    """Answer where things are and which keys there are."""
    return {
        "base_url": call.site.base_url,
        "base_url_v1": replace(call.site, version="v1").base_url,
        "prefix": call.site.prefix,
        "keys": service.store.names("key"),
        "admin": sorted(ADDRESSES),
    }


def add_key(service: Service, call: Call) -> Any:
    """Give an account one more key: its own text or a random one."""
    account, key = _account(service, call), _optional(call, "key") or service.settings.new_id()
    service.store.bind("key", key, account.account_id)
    return {"key": key, "account": account.account_id}


def _kept(resource: Resource) -> Fields:
    """Return a resource as it is kept, without what only the sandbox itself needs."""
    names = ("account", "person_id", "created_date", "modified_date")
    return {**resource.fields, "id": resource.resource_id} | {name: getattr(resource, name) for name in names}


def add_person(service: Service, call: Call) -> Any:
    """Make a person with an account; `referrer_code` is theirs, the rest as interface 2.7 has people."""
    person = service.new_person(call.body, call.site)
    person_id, fields = person.resource_id, person.fields
    name = " ".join(filter(None, map(fields.get, ("given_name", "family_name")))) or "Somebody"
    page, code = f"https://sandbox.example.org/users/{person_id}", _optional(call, "referrer_code")
    account = Account(f"person:{person_id}", person_id, name, page, referrer_code=code)
    service.save_account(account)
    return {"person_id": person_id, "account": account.account_id}


def add_group(service: Service, call: Call) -> Any:
    """Make a group: `title`, `url`, `founder` (a person id), `roles` (person id to role), `referrer_code`."""
    roles = call.body.get("roles", {})
    if not isinstance(roles, Mapping) or not all(role in ROLES for role in roles.values()):
        raise refuse("setting", why=f"roles must give person ids one of {', '.join(ROLES)}")
    founder, group_id = _text(call.body.get("founder"), "founder"), service.settings.new_id()
    for person_id in (founder, *roles):
        service.resource("person", person_id)
    account = Account(
        f"group:{group_id}",
        founder,
        _text(call.body.get("title"), "title"),
        _optional(call, "url") or f"https://sandbox.example.org/groups/{group_id}",
        {founder: "creator", **roles},
        _optional(call, "referrer_code"),
    )
    service.save_account(account)
    return asdict(account)


def _add(kind: str) -> AdminHandler:
    """Make a campaign or a petition: `title`, `account`, and the other fields of one."""
    return lambda service, call: _kept(
        service.add_titled(kind, _account(service, call), call.body, call.site)
    )


def events(service: Service, call: Call) -> Any:
    """Answer every event of an account in full, of `version` v2 or v1, those of no collection included."""
    site = replace(call.site, version="v1") if call.query.get("version") == "v1" else call.site
    return _shown(service, site, "event", account=_account(service, call).account_id)


def _shown(service: Service, site: Site, kind: str, **where: str) -> list[Any]:
    return [json.loads(service.row(one, site).text) for one in service.store.stored(kind, **where)]


def add_events(service: Service, call: Call) -> Any:
    """Make events as the service's own user interface does: `events`, a list of v2 bodies, `account`.

    These may also set what the API cannot: featured_image_url, capacity, <p>:hidden, <p>:event_campaign_id, and
    `listed` false, for an event that only its campaign's collection shows.
    """
    account = _account(service, call)
    bodies = _bodies(call, "events", "event")
    made = [service.create_event(account, body, call.site, by="ui") for body in bodies]
    return {"event_ids": [event.resource_id for event in made]}


def _act(kind: str, parent: str) -> AdminHandler:
    """Let an activist act in the service's own pages: `petition` or `event`, `person`; `source` and the like."""

    def act(service: Service, call: Call) -> Any:
        acted_on = service.resource(parent, _text(call.body.get(parent), parent))
        body = {
            **call.body,
            "referrer_data": {key: call.body[key] for key in REFERRER_DATA if key in call.body},
        }
        return json.loads(service.text(service.act(kind, acted_on, body, call.site, by="page"), call.site))

    return act


def _acts(kind: str) -> AdminHandler:
    return lambda service, call: _shown(service, call.site, kind)[::-1]


def upload(service: Service, call: Call) -> Any:
    """Record many signatures at once, as an upload does: `petition` (its id), `signatures`, a list of bodies."""
    petition = service.resource("petition", _text(call.body.get("petition"), "petition"))
    bodies = _bodies(call, "signatures", "signature")
    signed = [service.act("signature", petition, body, call.site, by="upload") for body in bodies]
    return {"signature_ids": [signature.resource_id for signature in signed]}


def add_webhook(service: Service, call: Call) -> Any:
    """Register a receiver: `url`; as trigger `petition` or `event` (an id; all when left out), `account`, `uploads`."""
    url = _text(call.body.get("url"), "url")
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not url.isascii() or any(character <= " " for character in url):
        raise refuse("setting", why="url must be an http or https address")
    if not deliverable(url, service.settings.webhook_hosts):
        raise refuse(
            "setting", why=f"url must lead to this machine; --allow-webhook-hosts {parts.hostname} allows it"
        )
    petition, event, account = (_optional(call, name) for name in ("petition", "event", "account"))
    for kind, acted_on in (("petition", petition), ("event", event)):
        if acted_on is not None:
            service.resource(kind, acted_on)
    if account is not None:
        service.account(account)
    uploads = call.body.get("uploads") is True
    webhook = Webhook(service.settings.new_id(), url, petition, event, account, uploads)
    service.store.put_record("webhook", webhook.webhook_id, asdict(webhook))
    return asdict(webhook)


def faults(service: Service, _call: Call) -> Any:
    """Answer which faults can be injected, at which requests, and which are."""
    return {
        "faults": [asdict(fault) for fault in FAULTS],
        "selection": dict(SELECTION),
        "injections": [injection.shown() for injection in service.faults.injections],
    }


def order_fault(service: Service, call: Call) -> Any:
    """Inject a fault: `fault`, its settings, and at which requests."""
    settings = {name: value for name, value in call.body.items() if name != "fault"}
    return service.faults.inject(_text(call.body.get("fault"), "fault"), **settings).shown()


def clear_faults(service: Service, call: Call) -> None:
    """Remove one injected fault, or all."""
    injection = call.ids.get("injection")
    service.faults.clear(int(injection) if injection else None)


def _targeting(service: Service) -> list[str]:
    """Return the targeting list: events made through the API with at least one attendance (interface 1.5)."""
    return [
        f"[1, ({event.fields['origin_system']}) Event], ({event.fields['title']})"
        for event in service.store.resources("event")
        if event.made_by in ("v1", "v2") and event.fields.get("total_accepted", 0) > 0
    ]


def _list(kind: str) -> AdminHandler:
    return lambda service, _: [_kept(resource) for resource in service.store.resources(kind)][::-1]


#: What answers each method of an address. Lists are newest first; ``/sandbox/requests`` never has keys.
ADDRESSES: Mapping[str, Mapping[str, AdminHandler]] = {
    "/": {"GET": overview},
    "/sandbox": {"GET": overview},
    "/sandbox/keys": {"GET": lambda service, _: service.store.names("key"), "POST": add_key},
    "/sandbox/people": {"GET": _list("person"), "POST": add_person},
    "/sandbox/groups": {
        "GET": lambda service, _: [a for a in service.store.records("account") if a["roles"] is not None],
        "POST": add_group,
    },
    "/sandbox/campaigns": {"GET": _list("event_campaign"), "POST": _add("event_campaign")},
    "/sandbox/petitions": {"GET": _list("petition"), "POST": _add("petition")},
    "/sandbox/events": {"GET": events, "POST": add_events},
    "/sandbox/signatures": {"GET": _acts("signature"), "POST": _act("signature", "petition")},
    "/sandbox/attendances": {"GET": _acts("attendance"), "POST": _act("attendance", "event")},
    "/sandbox/uploads": {"POST": upload},
    "/sandbox/webhooks": {"GET": lambda service, _: service.store.records("webhook"), "POST": add_webhook},
    "/sandbox/webhooks/{webhook_id}": {
        # What waits for it is set aside.
        "DELETE": lambda service, call: service.store.delete_record("webhook", call.ids["webhook_id"]),
    },
    "/sandbox/webhooks/{webhook_id}/test": {
        "POST": lambda service, call: service.send_test(
            call.ids["webhook_id"], _account(service, call), call.site
        ),
    },
    "/sandbox/messages": {"GET": lambda service, call: service.store.messages(call.query.get("state"))},
    "/sandbox/dead-letters": {"GET": lambda service, _: service.store.messages("dead")},
    "/sandbox/targeting": {"GET": lambda service, _: _targeting(service)},
    "/sandbox/lists/{account}": {
        "GET": lambda service, call: service.store.members(service.account(call.ids["account"]).account_id)
    },
    "/sandbox/faults": {"GET": faults, "POST": order_fault, "DELETE": clear_faults},
    "/sandbox/faults/{injection:int}": {"DELETE": clear_faults},
    "/sandbox/requests": {
        "GET": lambda service, _: [asdict(seen) for seen in service.seen],
        "DELETE": lambda service, _: service.seen.clear(),
    },
}
