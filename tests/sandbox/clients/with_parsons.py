"""Read and write a sandbox with Parsons' ActionNetwork, and print what it gave: address and key are the arguments."""

import json
import logging
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable()

from parsons.action_network import action_network  # noqa: E402 (it warns when it is imported)

action_network.API_URL, key = sys.argv[1:]
client = action_network.ActionNetwork(key)


def rows(table):
    return [{name: value for name, value in row.items() if value is not None} for row in table]


def id_of(resource):
    return resource["_links"]["self"]["href"].rpartition("/")[2]


lists = {
    "events": rows(client.get_events()),
    "event_campaigns": rows(client.get_event_campaigns()),
    "campaigns": rows(client.get_campaigns()),
    "petitions": rows(client.get_petitions()),
    "people": rows(client.get_people()),
    "tags": rows(client.get_tags()),
}
events = {}
for campaign in lists["event_campaigns"]:
    for event in rows(client.get_event_campaign_events(id_of(campaign))):
        events[id_of(event)] = event
events |= {id_of(event): event for event in lists["events"]}
attendances = {one: rows(client.get_event_attendances(one)) for one in events}
signatures = {one: rows(client.get_petition_signatures(one)) for one in map(id_of, lists["petitions"])}
taggings = {one: rows(client.get_taggings(one)) for one in map(id_of, lists["tags"])}

singles = []
for event, [*_, attendance] in ((event, found) for event, found in list(attendances.items())[:3] if found):
    person = attendance["action_network:person_id"]
    singles += [
        (client.get_event(event), events[event]),
        (client.get_event_attendance(event, id_of(attendance)), attendance),
        (client.get_person_attendance(person, id_of(attendance)), None),
        (attendance in rows(client.get_person_attendances(person)), True),
        (client.get_person(person)["identifiers"], [f"action_network:{person}"]),
    ]
for petition, [*_, signature] in list(signatures.items())[:3]:
    person = signature["action_network:person_id"]
    singles += [
        (client.get_petition_signature(petition, id_of(signature)), signature),
        (signature in rows(client.get_person_signatures(person)), True),
        (client.get_person_signature(person, id_of(signature)), None),
    ]
for name in ("petition", "event_campaign", "tag"):
    one = lists[f"{name}s"][0]
    singles.append((getattr(client, f"get_{name}")(id_of(one)), one))
tagged = next((tag, found[0]) for tag, found in taggings.items() if found)
singles.append((client.get_tagging(tagged[0], id_of(tagged[1])), tagged[1]))

created = client.create_event(
    "Rehearsed", start_date="2026-05-01 18:30:00", location={"postal_code": "94607"}
)
upserted = client.upsert_person(email_address="ada@example.org", given_name="Ada", tags=["volunteer"])
again = client.upsert_person(email_address="ada@example.org", family_name="Baker")
updated = client.update_person(id_of(upserted), custom_fields={"shirt": "XL"})

someone = id_of(client.upsert_person(email_address="bo@example.org", tags=["volunteer"]))
tag = tagged[0]
[given] = [
    one for one in rows(client.get_taggings(tag)) if one["_links"]["osdi:person"]["href"].endswith(someone)
]
deleted = client.delete_tagging(tag, id_of(given))
left = [one["_links"]["osdi:person"]["href"] for one in rows(client.get_taggings(tag))]

print(
    json.dumps(
        {
            "lists": lists,
            "events": events,
            "attendances": attendances,
            "signatures": signatures,
            "taggings": taggings,
            "singles": singles,
            "created": created,
            "deleted": [deleted, not any(href.endswith(someone) for href in left)],
            "upserted": [upserted, again, updated],
        }
    )
)
