"""The admin interface under /sandbox/: what the real service does in its own pages, and what only a sandbox can."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlsplit

from osdi_frames.sandbox.api import Call, Handler
from osdi_frames.sandbox.faults import FAULTS, SELECTION
from osdi_frames.sandbox.kinds import REFERRER_DATA
from osdi_frames.sandbox.people import ROLES, Account
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.resources import Resource
from osdi_frames.sandbox.service import Service, list_of
from osdi_frames.sandbox.webhooks import Webhook, deliverable, sample_element

INDIVIDUAL_KEY = "sandbox-individual-key"
GROUP_KEY = "sandbox-group-key"
INDIVIDUAL = "person:sandbox-person"
GROUP = "group:sandbox"
_PAGE = "https://sandbox.example.org"


def ensure_accounts(service: Service) -> None:
    """Give an empty store one person and one group, with a key each that is always the same."""
    if service.store.names("key"):
        return
    now, roles = service.now(), {"sandbox-founder": "creator"}
    ida = Account(INDIVIDUAL, "sandbox-person", "Ida Individual", f"{_PAGE}/users/ida")
    group = Account(GROUP, "sandbox-founder", "Sandbox Group", f"{_PAGE}/groups/sandbox", roles)
    for account, key, name in ((ida, INDIVIDUAL_KEY, "Ida Individual"), (group, GROUP_KEY, "Greta Group")):
        names = dict(zip(("given_name", "family_name"), name.split(), strict=True))
        service.store.put(Resource("person", account.default_creator, now, now, names))
        service.save_account(account)
        service.store.bind("key", key, account.account_id)


# what a request names


def _account(service: Service, call: Call) -> Account:
    """Return the account that a body or a query names; the individual one when it names none."""
    asked = call.body.get("account", call.query.get("account", INDIVIDUAL))
    return service.account(_text(asked, "account"))


def _bodies(call: Call, name: str) -> list[Mapping[str, Any]]:
    bodies = call.body.get(name)
    if not isinstance(bodies, list) or not all(isinstance(body, Mapping) for body in bodies):
        raise refuse("setting", why=f"{name} must be a list of objects")
    return bodies


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise refuse("setting", why=f"{name} must be text, not {str(value)[:40]!r}")
    return value


def _optional(call: Call, name: str) -> str | None:
    value = call.body.get(name)
    return None if value is None else _text(value, name)


def _shown(service: Service, call: Call, resource: Resource) -> dict[str, Any]:
    """Return a resource as the API answers it."""
    shown: dict[str, Any] = json.loads(service.text(resource, call.site))
    return shown


# what is made and done


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
    account, key = _account(service, call), _optional(call, "key") or service.new_id()
    service.store.bind("key", key, account.account_id)
    return {"key": key, "account": account.account_id}


def add_person(service: Service, call: Call) -> Any:
    """Make a person with an account; `referrer_code` is theirs, the rest as interface 2.7 has people."""
    person = service.new_person(call.body, call.site)
    person_id, names = person.resource_id, map(person.fields.get, ("given_name", "family_name"))
    title, code = " ".join(filter(None, names)) or "Somebody", _optional(call, "referrer_code")
    url = f"{_PAGE}/users/{person_id}"
    account = Account(f"person:{person_id}", person_id, title, url, referrer_code=code)
    service.save_account(account)
    return {"person_id": person_id, "account": account.account_id}


def add_group(service: Service, call: Call) -> Any:
    """Make a group: `title`, `url`, `founder` (a person id), `roles` (person id to role), `referrer_code`."""
    roles = call.body.get("roles", {})
    if not isinstance(roles, Mapping) or not all(role in ROLES for role in roles.values()):
        raise refuse("setting", why=f"roles must give person ids one of {', '.join(ROLES)}")
    founder, group_id = _text(call.body.get("founder"), "founder"), service.new_id()
    for person_id in (founder, *roles):
        service.resource("person", person_id)
    title, url = _text(call.body.get("title"), "title"), _optional(call, "url")
    code, roles = _optional(call, "referrer_code"), {founder: "creator", **roles}
    page = url or f"{_PAGE}/groups/{group_id}"
    account = Account(f"group:{group_id}", founder, title, page, roles, code)
    service.save_account(account)
    return asdict(account)


def _add(kind: str) -> Handler:
    """Make a campaign or a petition: `title`, `account`, and the other fields of one."""

    def add(service: Service, call: Call) -> Any:
        made = service.add_titled(kind, _account(service, call), call.body, call.site)
        return _shown(service, call, made) | {"id": made.resource_id}

    return add


def add_events(service: Service, call: Call) -> Any:
    """Make events as the service's own user interface does: `events`, a list of v2 bodies, `account`.

    These may also set what the API cannot: featured_image_url, capacity, <p>:hidden, <p>:event_campaign_id, and
    `listed` false, for an event that only its campaign's collection shows.
    """
    account = _account(service, call)
    made = [service.create_event(account, body, call.site, by="ui") for body in _bodies(call, "events")]
    return {"event_ids": [event.resource_id for event in made]}


def _act(kind: str, parent: str) -> Handler:
    """Let an activist act in the service's own pages: `petition` or `event`, `person`; `source` and the like."""

    def act(service: Service, call: Call) -> Any:
        acted_on = service.resource(parent, _text(call.body.get(parent), parent))
        referrer_data = {key: call.body[key] for key in REFERRER_DATA if key in call.body}
        body = {**call.body, "referrer_data": referrer_data}
        return _shown(service, call, service.act(kind, acted_on, body, call.site, by="page"))

    return act


def upload(service: Service, call: Call) -> Any:
    """Record many signatures at once, as an upload does: `petition` (its id), `signatures`, a list of bodies."""
    petition = service.resource("petition", _text(call.body.get("petition"), "petition"))
    bodies = _bodies(call, "signatures")
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
    if not deliverable(url, service.webhook_hosts):
        raise refuse(
            "setting", why=f"url must lead to this machine; --allow-webhook-hosts {parts.hostname} allows it"
        )
    trigger = {name: _optional(call, name) for name in ("petition", "event", "account")}
    for kind, named in trigger.items():
        if named is not None:
            service.account(named) if kind == "account" else service.resource(kind, named)
    webhook = Webhook(service.new_id(), url, **trigger, uploads=call.body.get("uploads") is True)
    service.store.bind("webhook", webhook.webhook_id, asdict(webhook))
    return asdict(webhook)


def remove_webhook(service: Service, call: Call) -> None:
    """Remove a receiver; what waits for it is set aside."""
    service.store.free("webhook", call.ids["webhook_id"])


def send_test(service: Service, call: Call) -> None:
    """Put a "send test" message into the outbox: without dates, and with the same key each time."""
    webhook_id = call.ids["webhook_id"]
    if service.store.named("webhook", webhook_id) is None:
        raise refuse("unknown", what="webhook", id=webhook_id)
    element = sample_element(call.site, _account(service, call))
    now = service.clock().timestamp()
    service.store.put_message(service.new_id(), webhook_id, [element], due=now)


def inject(service: Service, call: Call) -> Any:
    """Inject a fault: `fault`, its settings, and at which requests."""
    settings = {name: value for name, value in call.body.items() if name != "fault"}
    return service.faults.inject(_text(call.body.get("fault"), "fault"), **settings).shown()


def clear_faults(service: Service, call: Call) -> None:
    """Remove one injected fault, or all."""
    injection = call.ids.get("injection")
    service.faults.clear(int(injection) if injection else None)


# what is there


def _list(kind: str) -> Handler:
    """Answer the resources of a kind, newest first, as the API does."""
    return lambda service, call: [
        _shown(service, call, resource) for resource in service.store.resources(kind)
    ][::-1]


def events(service: Service, call: Call) -> Any:
    """Answer every event of an account, of `version` v2 or v1, those of no collection included, oldest first."""
    if call.query.get("version") == "v1":
        call = replace(call, site=replace(call.site, version="v1"))
    account_id = _account(service, call).account_id
    return [_shown(service, call, event) for event in service.store.resources("event", account=account_id)]


def groups(service: Service, _call: Call) -> Any:
    """Answer the groups and their roles, newest first."""
    accounts = list(service.store.names("account").values())
    return [account for account in accounts[::-1] if account["roles"] is not None]


def members(service: Service, call: Call) -> Any:
    """Answer the ids of the people on the list of an account."""
    return list(service.store.names(list_of(service.account(call.ids["account"]).account_id)))


def targeting(service: Service, _call: Call) -> Any:
    """Answer the targeting list: events made through the API with at least one attendance (interface 1.5)."""
    return [
        f"[1, ({event.fields['origin_system']}) Event], ({event.fields['title']})"
        for event in service.store.resources("event")
        if event.made_by in ("v1", "v2") and event.fields.get("total_accepted", 0) > 0
    ]


def faults(service: Service, _call: Call) -> Any:
    """Answer which faults can be injected, at which requests, and which are."""
    return {
        "faults": [asdict(fault) for fault in FAULTS],
        "selection": SELECTION,
        "injections": [injection.shown() for injection in service.faults.injections],
    }


#: What answers each method of an address. ``/sandbox/requests`` never has keys.
ADDRESSES: Mapping[str, Mapping[str, Handler]] = {
    "/": {"GET": overview},
    "/sandbox": {"GET": overview},
    "/sandbox/keys": {"GET": lambda service, _: service.store.names("key"), "POST": add_key},
    "/sandbox/people": {"GET": _list("person"), "POST": add_person},
    "/sandbox/groups": {"GET": groups, "POST": add_group},
    "/sandbox/campaigns": {"GET": _list("event_campaign"), "POST": _add("event_campaign")},
    "/sandbox/petitions": {"GET": _list("petition"), "POST": _add("petition")},
    "/sandbox/events": {"GET": events, "POST": add_events},
    "/sandbox/signatures": {"GET": _list("signature"), "POST": _act("signature", "petition")},
    "/sandbox/attendances": {"GET": _list("attendance"), "POST": _act("attendance", "event")},
    "/sandbox/uploads": {"POST": upload},
    "/sandbox/webhooks": {
        "GET": lambda service, _: list(service.store.names("webhook").values()),
        "POST": add_webhook,
    },
    "/sandbox/webhooks/{webhook_id}": {"DELETE": remove_webhook},
    "/sandbox/webhooks/{webhook_id}/test": {"POST": send_test},
    "/sandbox/messages": {"GET": lambda service, call: service.store.messages(call.query.get("state"))},
    "/sandbox/dead-letters": {"GET": lambda service, _: service.store.messages("dead")},
    "/sandbox/targeting": {"GET": targeting},
    "/sandbox/lists/{account}": {"GET": members},
    "/sandbox/faults": {"GET": faults, "POST": inject, "DELETE": clear_faults},
    "/sandbox/faults/{injection:int}": {"DELETE": clear_faults},
    "/sandbox/requests": {
        "GET": lambda service, _: [asdict(seen) for seen in service.seen],
        "DELETE": lambda service, _: service.seen.clear(),
    },
}
