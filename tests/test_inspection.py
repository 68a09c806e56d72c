"""An inspection counts all that a source holds, and says what is wrong without showing a value."""

import json

import osdi_frames as of
from osdi_frames.tables import TABLES, element_types, main_table


def what_was_read(inspection):
    return str(inspection.problems).splitlines()[0]


def test_elements_are_counted_as_often_as_they_were_received(little_of_all):
    archive = of.open(little_of_all)
    tables = {element.name: main_table(element).name for element in element_types()}
    received = archive.tables(
        {name: [TABLES[name].columns[0].name] for name in tables.values()}, dedupe=False
    )
    counts = {name: len(received[table]) for name, table in tables.items() if name != "person"}
    elements = archive.inspect().elements
    assert elements == counts | {"person": 0}
    assert elements["signature"] > len(archive.signatures(["signature_id"]))


def test_files_and_documents_are_counted(tmp_path):
    (tmp_path / "lines.ndjson").write_text('{"id": "1", "total_accepted": 1}\n\n[]\n{broken\n')
    (tmp_path / "one.json").write_text(json.dumps({"id": "2", "total_accepted": 2}, indent=2))
    (tmp_path / "glued.json").write_text('{"id": "1", "total_accepted": 1}{"id": "4", "total_accepted": 4}')
    (tmp_path / "notes.txt").write_text("passed over")
    found = of.open(tmp_path).inspect()
    assert (found.files, found.documents) == (3, 5)
    assert what_was_read(found) == "5 documents in 3 files: 4 events"
    assert (
        of.check(tmp_path).attrs == found.counts == {"files": 3, "documents": 5, "elements": found.elements}
    )
    assert found.by_key.to_dict("records") == [
        {"severity": "error", "problem": "not JSON", "key": "", "count": 1},
        {"severity": "warning", "problem": "a file that is not read", "key": "", "count": 1},
    ]


def test_parsed_objects_are_documents_without_files():
    found = of.open([{"total_accepted": 1}, {"total_accepted": 2}]).inspect()
    assert what_was_read(found) == "2 documents: 2 events"


def test_what_was_read_is_named_in_words():
    campaign = {"_embedded": {"action_network:event_campaigns": [{}]}}
    people = {"_embedded": {"osdi:people": [{}, {}]}}
    assert what_was_read(of.open([campaign, people]).inspect()) == "2 documents: 1 event campaign, 2 people"
    assert what_was_read(of.open([{"total_pages": 1}]).inspect()) == "1 document: nothing for any table"


def test_problems_show_no_value_and_are_counted_by_key_once():
    address = "ada@example.org"
    person = {
        "email_addresses": [{"address": [address]}, {"address": {"x": address}}],
        "family_name": [address],
    }
    documents = [
        [{"osdi:signature": {"id": "s", "person": person, "created_date": address, "new": address}}] * 2,
        {"id": "e", "title": "t", "total_accepted": address},
        address,
        {"received_at": "2026-01-01T00:00:00Z", "body": address},
    ]
    found = of.open(documents).inspect()
    assert found.by_key["count"].sum() == found.problems["count"].sum()
    assert address not in found.problems.to_csv() + found.by_key.to_csv()
    assert dict(zip(found.by_key["key"], found.by_key["count"], strict=True)) == {
        "": 1,
        "body": 1,
        "event: total_accepted": 1,
        "signature: created_date": 2,
        "signature: new": 2,
        "signature: person.email_addresses[].address": 4,
        "signature: person.family_name": 2,
    }
