"""Keys in other spellings: the names of v1 for every type, the old link to people, prefixes joined by an underscore."""

import json
import re

import pytest

import osdi_frames as of
from osdi_frames.parsing import group, queries
from osdi_frames.tables import element_types, main_table
from osdi_frames.tables.resource import IN_V1

SELF = {"self": {"href": "https://x.example/api/v1/{}/1"}}
SPONSOR = {"title": "Parks", "browser_url": "https://parks.example"}
RESOURCE = {
    "identifiers": ["platform:1"],
    "origin_system": "Elsewhere",
    "created_date": "2026-05-01T10:00:00Z",
    "modified_date": "2026-05-02T10:00:00Z",
    "title": "March",
    "browser_url": "https://x.example/march",
    "platform:sponsor": SPONSOR,
    "person": {"given_name": "Ann", "created_date": "2026-04-01T10:00:00Z"},
}


def in_v1(value):
    if isinstance(value, dict):
        return {IN_V1.get(key, key): in_v1(inner) for key, inner in value.items()}
    return value


def test_every_element_type_is_read_by_the_names_of_v1():
    types = element_types()
    names = [main_table(element).name for element in types]

    def pages(resource):
        return [{"_embedded": {element.collections(["platform"])[0]: [resource]}} for element in types]

    def deliveries(resource, sponsor):
        return [
            [{element.type_key: resource, "platform:sponsor": sponsor}]
            for element in types
            if element.type_key
        ]

    v2 = of.open(pages(RESOURCE)).tables(names)
    v1 = of.open(pages(in_v1(RESOURCE))).tables(names)
    for name in names:
        kept = v2[name].columns.difference(["targeting_label", "api_version"])
        assert v1[name][kept].equals(v2[name][kept]), name
        assert v2[name]["created_date"].notna().all(), name
    delivered = [main_table(element).name for element in types if element.type_key]
    v2 = of.open(deliveries(RESOURCE, SPONSOR)).tables(delivered)
    v1 = of.open(deliveries(in_v1(RESOURCE), in_v1(SPONSOR))).tables(delivered)
    for name in delivered:
        assert v1[name].equals(v2[name]), name
        assert v2[name]["sponsor_title"].tolist() == ["Parks"], name


def test_the_old_link_to_people_leads_to_the_person():
    hrefs = {
        "https://x.example/api/v1/people/p1": "p1",
        "https://x.example/api/v1/people/p1/?page=2": "p1",
        "https://x.example/api/v1/people": None,
        "https://x.example/api/v1/people/": None,
    }
    linked = [
        {"identifiers": [f"platform:{at}"], "_links": {"osdi:people": {"href": href}}}
        for at, href in enumerate(hrefs)
    ]
    both = {"osdi:people": {"href": "/people/p1"}, "osdi:person": {"href": "/people/p2"}}
    linked.append({"identifiers": ["platform:9"], "_links": both})
    kinds = ("attendances", "signatures", "taggings")
    pages = [{"_embedded": {f"osdi:{kind}": linked}} for kind in kinds]
    for kind, found in of.open(pages).tables(kinds).items():
        assert found["person_id"].fillna("").tolist() == ["p1", "p1", "", "", "p2"], kind
        assert found["person_url"].iloc[-1] == "/people/p2"


def underscored(text):
    return re.sub(r'"(osdi|platform|action_network):(\w+)"\s*:', r'"\1_\2":', text)


def test_prefixes_joined_by_an_underscore_are_read_as_prefixed_keys(tmp_path):
    """As a warehouse writes what it has loaded: each key, of whatever form of document."""
    page = {
        "_embedded": {"osdi:attendances": [RESOURCE | {"_links": {"osdi:person": {"href": "/people/p1"}}}]}
    }
    event = {"identifiers": ["platform:7"], "title": "a", "total_accepted": 1, "platform:hidden": True}
    delivery = [
        {
            "osdi:signature": {"_links": {"osdi:petition": {"href": "/petitions/9"}}},
            "platform:sponsor": SPONSOR,
        }
    ]
    for number, document in enumerate((page, event, delivery)):
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    colons, problems = of.open(tmp_path).tables(), of.check(tmp_path)
    for path in tmp_path.iterdir():
        path.write_text(underscored(path.read_text()))
    joined = of.open(tmp_path)
    for name, frame in joined.tables().items():
        assert frame.equals(colons[name]), name
    assert joined.events()["excluded"].tolist() == ["hidden"]
    assert joined.check().equals(problems)


def test_other_keys_with_underscores_are_as_they_came():
    event = {
        "identifiers": ["platform:1"],
        "title": 'a "platform_hidden": b',
        "total_accepted": 1,
        "platform_mood": 1,
        "platform_hidden_x": True,
    }
    archive = of.open(json.loads(json.dumps(event)))
    assert archive.events()["title"].tolist() == [event["title"]]
    assert archive.check()["detail"].tolist() == ["event: platform_hidden_x", "event: platform_mood"]


def test_custom_fields_whose_names_begin_like_prefixed_keys_are_as_they_came():
    fields = {"platform_hidden": "q", "a": 'b "{}', "action_network_person_id": "z"}
    signature = {"identifiers": ["platform:1"], "person": {"custom_fields": fields}}
    delivery = [{"osdi_signature": signature, "platform_sponsor": SPONSOR}, {"osdi_signature": signature}]
    archive = of.open([delivery])
    signatures = archive.signatures(dedupe=False)
    assert [*map(json.loads, signatures["custom_fields"])] == [fields, fields]
    assert signatures["sponsor_title"].fillna("").tolist() == [SPONSOR["title"], ""]
    assert archive.table("signature_custom_fields", dedupe=False)["name"].tolist() == [*fields] * 2


@pytest.mark.parametrize("key", ["_embedded", r"\u005fembedded"])
def test_a_collection_inside_of_an_element_is_found_by_its_key_however_it_is_escaped(key, tmp_path):
    inside = '{"osdi:attendances": [{"identifiers": ["platform:a"]}]}'
    page = f'{{"_embedded": {{"osdi:events": [{{"identifiers": ["platform:1"], "{key}": {inside}}}]}}}}'
    (tmp_path / "a.json").write_text(page)
    assert of.read_table(tmp_path, "attendances")["attendance_id"].tolist() == ["a"]


def test_codes_of_currencies_are_in_upper_case():
    page = {
        "_embedded": {"osdi:donations": [{"identifiers": ["platform:1"], "amount": "1", "currency": " usd"}]}
    }
    assert of.read_table(page, "donations")["currency"].tolist() == ["USD"]


def uploaded(number: int, **fields: object) -> dict[str, object]:
    links = {"osdi:person": {"href": f"/people/p{number}"}}
    return {
        "identifiers": [f"platform:{number}"],
        "created_date": "2026-05-01T10:00:00Z",
        "_links": links,
    } | fields


#: Deliveries with a type under another spelling of its key than the one that is queried.
PLAIN = [
    [{"platform:action": uploaded(1)}],
    [{"platform:upload": uploaded(2), "idempotency_key": "k2"}, {"platform:action": uploaded(3)}],
    [{"action_network:action": uploaded(4)}, {"action_network:upload": uploaded(5)}],
]
#: And such in which the spelling, or another type, is found elsewhere, too.
ODD = [
    [{"platform:action": uploaded(6), "action_network:upload": uploaded(7)}],
    [{"platform:action": uploaded(8), "platform:upload": uploaded(9)}],
    [{"platform:action": uploaded(10, action_network_x="platform:action")}],
    [{"platform:action": uploaded(11, add_tags=["platform:action", '"platform:action"'])}],
    [{"platform:action": uploaded(12, **{"platform:action": {"platform:action": 1}})}],
    [{"platform:action": None}],
    [3, {"platform:action": uploaded(13)}],
    [{"platform:action": uploaded(14), "osdi:signature": {"identifiers": ["platform:15"]}}],
]


def test_deliveries_under_another_spelling_of_a_key_are_parsed_with_the_others(monkeypatch):
    monkeypatch.setattr(group._MendingReader, "read", lambda *_: pytest.fail("mended"))
    assert of.open(PLAIN).table("uploads")["upload_id"].tolist() == [*"12345"]


@pytest.mark.filterwarnings("ignore:skipped")
def test_whatever_else_has_the_spelling_is_read_as_if_each_delivery_were_mended(tmp_path, monkeypatch):
    texts = [json.dumps(delivery) for delivery in (*PLAIN, *ODD)]
    texts += [text.replace("{", '{"platform:action":{},', 1) for text in texts]
    texts += [texts[0].replace("action", "\\u0061ction"), texts[0].replace('":', '" :')]
    texts += [f'{{"received_at": "2026-01-02T00:00:00Z", "body": {text}}}' for text in texts]
    (tmp_path / "in.ndjson").write_text("\n".join(texts))

    def found():
        archive = of.open(tmp_path, on_error="skip")
        frames = [*archive.tables().values(), *archive.tables(["uploads", "people"], dedupe=False).values()]
        return [frame.to_csv() for frame in (*frames, archive.check())]

    queried = found()
    monkeypatch.setattr(
        queries, "respelled", lambda documents, *_: (documents, documents["number"].to_pylist())
    )
    assert queried == found()
