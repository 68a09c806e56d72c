"""Call every method of Parsons' ActionNetwork on a sandbox, and print what came: address and key are the arguments."""

import json
import logging
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable()

from parsons.action_network import action_network  # noqa: E402 (it warns when it is imported)
from requests import HTTPError  # noqa: E402

action_network.API_URL, key = sys.argv[1:]


class Called:
    """A client whose calls are noted by method: the statuses, the rows of lists, and whether fields were sent."""

    def __init__(self, client):
        self.calls = {}
        self._client, self._request, client.api.request = client, client.api.request, self._send

    def __getattr__(self, name):
        def call(*arguments, **options):
            self._noted = self.calls.setdefault(name, {"statuses": [], "rows": [], "fields": False})
            answer = getattr(self._client, name)(*arguments, **options)
            if isinstance(answer, action_network.Table):
                self._noted["rows"].append(answer.num_rows)
            return answer

        return call

    def _send(self, url, method, *, raise_on_error=True, **sent):
        answer = self._request(url, method, raise_on_error=False, **sent)
        self._noted["statuses"].append(answer.status_code)
        is_body = method in ("POST", "PUT")
        self._noted["fields"] |= is_body and bool(sent.get("params") or isinstance(sent.get("data"), dict))
        if raise_on_error:
            self._client.api.validate_response(answer)
        return answer

    def refused(self, name, *arguments):
        """Call what the sandbox does not take."""
        try:
            getattr(self, name)(*arguments)
        except HTTPError:
            return
        raise AssertionError(f"{name} was not refused")


client = Called(action_network.ActionNetwork(key))


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

another = id_of(client.add_tag("host"))
tagging = client.create_tagging(
    another, {"_links": {"osdi:person": {"href": f"https://actionnetwork.org/api/v2/people/{someone}"}}}
)
client.add_person(email_address="cy@example.org", mobile_number=[15105550100])
embedded = client.get_embeds("events", id_of(created))

petition = client.create_petition(
    "Rehearsed", "<p>why</p>", "Dear council", "The council", background_processing=True
)
changed_petition = client.update_petition(id_of(petition), "Again", "<p>why</p>", "Dear council", "The mayor")

# What is nested in these payloads gets lost: Parsons sends them as the fields of a form or of a query.
to_person = {"_links[osdi:person][href]": upserted["_links"]["self"]["href"]}
draft = id_of(client.create_event("Draft"))
nested = {"_links": {"osdi:person": upserted["_links"]["self"]}}
client.refused("create_attendance", draft, nested)
attendance = client.create_attendance(draft, to_person)
attended = client.update_attendance(draft, id_of(attendance), {"status": "attended"})
client.refused("create_signature", id_of(petition), nested)
signature = client.create_signature(id_of(petition), {**to_person, "comments": "Now!"})
signed = client.update_signature(id_of(petition), id_of(signature), {"comments": "Soon"})
event_campaign = client.create_event_campaign({"title": "Spring", "origin_system": "CRM"})
changed_campaign = client.update_event_campaign(id_of(event_campaign), {"title": "Summer"})
inside = client.create_event_in_event_campaign(
    id_of(event_campaign), {"title": "Inside", "location[venue]": "Hall"}
)
client.update_event(draft, {"title": "Changed", "location": {"venue": "Nowhere"}})
changed = client.update_event(draft, {"location[venue]": "Hall"})

person = id_of(upserted)
# What people act on, and what they do there: each act is found alone, in its list and in that of the person.
flat = {"title": "Rehearsed", "origin_system": "CRM"}
acted = {}

form = id_of(client.create_form(flat))
client.update_form(form, {"title": "Again"})
one = id_of(client.create_submission(form, person))
client.update_submission(form, one, {"identifiers": ["crm:submission"]})
acted["submission"] = [
    client.get_form_submission(form, one),
    client.get_person_submission(person, one),
    *rows(client.get_form_submissions(form)),
    *rows(client.get_person_submissions(person)),
]
page = id_of(client.create_fundraising_page(flat))
client.update_fundraising_page(page, {"title": "Again"})
given = {"recipients[display_name]": "River", "recipients[amount]": "12.50"}
one = id_of(client.create_donation(page, to_person | given))
acted["donation"] = [
    client.get_donation(one),
    *rows(client.get_donations()),
    *rows(client.get_fundraising_page_donations(page)),
    *rows(client.get_person_donations(person)),
]
advocacy_campaign, *_ = map(id_of, rows(client.get_advocacy_campaigns()))  # Parsons makes none
one = id_of(client.create_outreach(advocacy_campaign, to_person | {"subject": "River"}))
client.update_outreach(advocacy_campaign, one, {"subject": "Again"})
acted["outreach"] = [
    client.get_advocacy_campaign_outreach(advocacy_campaign, one),
    client.get_person_outreach(person, one),
    *rows(client.get_advocacy_campaign_outreaches(advocacy_campaign)),
    *rows(client.get_person_outreaches(person)),
]
titles = [
    client.get_form(form)["title"],
    client.get_fundraising_page(page)["title"],
    client.get_advocacy_campaign(advocacy_campaign)["title"],
    *(row["title"] for row in rows(client.get_forms()) + rows(client.get_fundraising_pages())),
]
survey = client.create_survey(flat)
assert client.get_survey(id_of(survey))["title"] == "Rehearsed"
assert rows(client.get_surveys())
client.refused("update_survey", id_of(survey), {"title": "A"})  # Parsons sends a POST

for name in ("lists", "messages", "queries", "unique_id_lists", "wrappers"):
    assert not rows(getattr(client, f"get_{name}")()), name
for name in ("campaign", "list", "message", "query", "unique_id_list", "wrapper"):
    client.refused(f"get_{name}", "x")
client.refused("get_items", "x")
client.refused("get_item", "x", "x")
for name in ("get_custom_fields", "get_metadata"):
    client.refused(name)
client.refused("create_message", {"title": "A", "origin_system": "B"})
client.refused("update_message", "x", {"title": "A"})
client.refused("create_unique_id_list", "A", ["1"])
client.refused("schedule_message", "x", "2026-05-01")
client.refused("send_message", "x")

print(
    json.dumps(
        {
            "calls": client.calls,
            "methods": [name for name in dir(action_network.ActionNetwork) if not name.startswith("_")],
            "tagged": [tagging, another, someone],
            "embedded": embedded,
            "petitions": [petition, changed_petition],
            "attended": [attendance, attended],
            "signed": [signature, signed],
            "campaigns": [event_campaign, changed_campaign],
            "inside": inside,
            "acted": acted,
            "titles": titles,
            "changed": changed,
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
