"""Nothing vanishes: what is clear is read, and of the rest a message says what it is and what to call."""

import io
import json

import pytest

import osdi_frames as of
from osdi_frames.errors import BadDocument, InvalidSource, ProblemsWarning, SourceWarning

SIGNATURE = {"identifiers": ["action_network:5f"], "created_date": "2026-05-01T10:00:00Z"}
EVENT = {"identifiers": ["action_network:e1"], "title": "March", "total_accepted": 3}
SELF = {"self": {"href": "https://example.org/api/v2/petitions/1/signatures/5f"}}
ELEMENT = {"osdi:signature": SIGNATURE, "idempotency_key": "k"}
API = "https://example.org/api/v2"
#: A signature and an attendance without an address of their own, which what they belong to tells apart.
SIGNED = SIGNATURE | {
    "platform:referrer_data": {"source": "email"},
    "_links": {"osdi:petition": {"href": f"{API}/petitions/9"}},
}
ATTENDED = {"identifiers": ["platform:a1"], "_links": {"osdi:event": {"href": f"{API}/events/e1"}}}
ATTENDANCE = {"identifiers": ["platform:a1"], "status": "accepted"}
OTHER = EVENT | {"identifiers": ["action_network:e2"]}


def embedding(collection, *entries):
    return {"_embedded": {collection: [*entries]}}


GATHERING = EVENT | embedding("osdi:attendances", ATTENDANCE, ATTENDANCE | {"identifiers": ["platform:a2"]})
PERSON = {"given_name": "Ann", "email_addresses": [{"address": "ann@example.org", "primary": True}]}
PETITION = {"identifiers": ["platform:9"], "title": "River", "petition_text": "Clean it"}
CAMPAIGN = {"identifiers": ["platform:c"], "title": "Days", "host_pitch": "Host!"}
ITEM = {
    "identifiers": ["platform:i1"],
    "item_type": "osdi:person",
    "_links": {"self": {"href": f"{API}/lists/1/items/i1"}},
}
MESSAGE = {
    "identifiers": ["platform:m1"],
    "subject": "Join",
    "_embedded": {"osdi:creator": PERSON},
    "_links": {
        "self": {"href": f"{API}/messages/m1/"},
        "osdi:wrapper": {"href": f"{API}/wrappers/w1"},
    },
}
FETCHED, RECEIVED = {"fetched_at": "2026-05-01T10:00:00Z"}, {"received_at": "2026-05-01T10:00:00Z"}


TABLES = ["events", "signatures"]
ALL = [*TABLES, "event_campaigns", "attendances", "petitions", "people"]


def inside_lists(value, depth):
    for _ in range(depth):
        value = [value]
    return value


#: What has no array, no time or no page around it, and is clear all the same: its table and its rows.
CLEAR = {
    "a single signature that names its address": (SIGNATURE | {"_links": SELF}, "signatures", 1),
    "a list of signatures that name their addresses": (
        [SIGNATURE | {"_links": SELF}, {"_links": {"self": {"href": SELF["self"]["href"] + "a"}}}],
        "signatures",
        2,
    ),
    "a list of events": ([EVENT, OTHER], "events", 2),
    "a list of events, in an envelope": (FETCHED | {"body": [EVENT, OTHER]}, "events", 2),
    "an element without its array": (ELEMENT, "signatures", 1),
    "an element without its array, in an envelope": (RECEIVED | {"body": ELEMENT}, "signatures", 1),
    "elements in a list with a page": ([ELEMENT, embedding("osdi:events", EVENT)], "signatures", 1),
    "a delivery under body without a time": ({"body": [ELEMENT]}, "signatures", 1),
    "a list of those": ([{"body": [ELEMENT]}], "signatures", 1),
    "a signature that names its petition alone": (SIGNED, "signatures", 1),
    "a list of signatures that name their petition": (
        [SIGNED, SIGNED | {"identifiers": ["action_network:5e"]}],
        "signatures",
        2,
    ),
    "signatures with a field for their petition": (
        [{"identifiers": ["platform:1"], "action_network:petition_id": "9"}],
        "signatures",
        1,
    ),
    "an attendance that names its event alone": (FETCHED | {"body": ATTENDED}, "attendances", 1),
    "an event that embeds attendances": (GATHERING, "events", 1),
    "its attendances": (GATHERING, "attendances", 2),
    "an event that embeds attendances, next to another": ([GATHERING, OTHER], "events", 2),
    "the attendances of one of several events": ([EVENT, GATHERING], "attendances", 2),
    "events of a page, and what one embeds": (embedding("osdi:events", GATHERING, OTHER), "events", 2),
    "attendances embedded in the events of a page": (
        FETCHED | {"body": {"page": 1} | embedding("osdi:events", EVENT, GATHERING)},
        "attendances",
        2,
    ),
    "what the embedded ones embed": (
        embedding(
            "osdi:petitions",
            PETITION | embedding("osdi:signatures", SIGNATURE | embedding("osdi:people", PERSON)),
        ),
        "people",
        1,
    ),
    "a petition that embeds its signatures": (
        PETITION | embedding("osdi:signatures", SIGNATURE),
        "petitions",
        1,
    ),
    "signatures without a prefix": (embedding("signatures", SIGNATURE), "signatures", 1),
    "events without a prefix": ({"total_pages": 1} | embedding("events", EVENT), "events", 1),
    "attendances without a prefix": (embedding("attendance", ATTENDANCE), "attendances", 1),
    "campaigns without a prefix": (embedding("event_campaigns", {"title": "Days"}), "event_campaigns", 1),
    "petitions without a prefix": (FETCHED | {"body": embedding("petitions", {})}, "petitions", 1),
    "people without a prefix": (embedding("people", PERSON), "people", 1),
    "a list of people": ([PERSON, {"given_name": "Bob"}], "people", 2),
    "a petition": (PETITION, "petitions", 1),
    "a list of event campaigns": ([CAMPAIGN], "event_campaigns", 1),
    "a page under body without a time, with a number": (
        {"page": 2, "body": embedding("osdi:events", EVENT)},
        "events",
        1,
    ),
    "lists in lists": (inside_lists([ELEMENT], 490), "signatures", 1),
    "a page under body without a time": ({"body": embedding("osdi:events", EVENT)}, "events", 1),
}


def both(document, tmp_path):
    """Return a document as parsed objects, and as a file."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    return document, path


def test_what_is_clear_is_read(tmp_path):
    for name, (document, _, _) in CLEAR.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    tables, found = of.open(tmp_path).tables(ALL, dedupe=False), of.check(tmp_path)
    assert "error" not in found["severity"].tolist()
    assert "other type" not in found["problem"].tolist()
    for name, (_, table, rows) in CLEAR.items():
        assert [*tables[table]["source_file"]].count(str(tmp_path / f"{name}.json")) == rows, name


@pytest.mark.long
@pytest.mark.parametrize("name", CLEAR)
def test_what_is_clear_is_read_alone(name, tmp_path):
    document, table, rows = CLEAR[name]
    parsed, path = both(document, tmp_path)
    for source, tables in ((parsed, [table]), (path, ALL)):
        assert len(of.open(source).tables(tables)[table]) == rows
        found = of.check(source)
        assert "error" not in found["severity"].tolist()
        assert "other type" not in found["problem"].tolist()


#: Resources and objects of which no row is made, what they are called, and how `check` ranks them.
NOTHING = {
    "an item": (ITEM, "items", "warning"),
    "a message": (MESSAGE, "messages", "warning"),
    "a list of messages": ([MESSAGE, MESSAGE], "messages", "warning"),
    "a list of messages in a list": ([[MESSAGE]], "messages", "warning"),
    "an item in an envelope": (FETCHED | {"body": ITEM}, "items", "warning"),
    "a page of items": (embedding("osdi:items", ITEM), "osdi:items", "info"),
    "a page of items without a prefix": (embedding("items", ITEM), "items", "info"),
    "a page that no table declares next to one": (
        {"total_pages": 1, "_embedded": {"osdi:events": [], "osdi:lists": [{}]}},
        "osdi:lists",
        "info",
    ),
    "an entry point": (
        {"motd": "Welcome", "_links": {"osdi:events": {"href": API}}},
        "objects without elements",
        "warning",
    ),
    "a page that embeds nothing, and has more": (
        {"page": 1, "signatures": [SIGNATURE]},
        "objects without elements",
        "warning",
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_no_table_takes_is_named_where_nothing_else_is_found(name, tmp_path):
    document, called, severity = NOTHING[name]
    path = both(document, tmp_path)[1]
    with pytest.warns(SourceWarning, match=f"the source holds {called}, which no table declares"):
        assert of.read_signatures(path).empty
    found = of.check(document)
    assert severity in found["severity"].tolist()
    assert "error" not in found["severity"].tolist()


def test_what_no_table_takes_is_listed_next_to_deliveries(tmp_path):
    for name, (document, _, _) in NOTHING.items():
        (tmp_path / f"{name}.ndjson").write_text(f"{json.dumps([ELEMENT])}\n{json.dumps(document)}\n")
    alone, found = (
        of.check(source)[["severity", "problem", "detail"]]
        for source in ([document for document, _, _ in NOTHING.values()], tmp_path)
    )
    assert set(alone.itertuples(index=False)) <= set(found.itertuples(index=False))


def test_what_no_table_takes_is_named_wherever_it_stands(tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_text("[]\n" * 100 + json.dumps(ITEM) + "\n")
    with pytest.warns(SourceWarning, match="no event was found; the source holds items"):
        assert of.read_events(path).empty


def test_a_petition_that_embeds_is_listed_without_what_is_read(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(PETITION | embedding("osdi:signatures", SIGNATURE)))
    assert of.check(tmp_path).empty
    for source in both(PETITION | {"_embedded": {"osdi:signatures": [SIGNATURE], "x:y": 1}}, tmp_path):
        assert of.check(source)[["problem", "detail"]].to_numpy().tolist() == [
            ["key not read", "petition: _embedded"]
        ]


def test_an_item_among_events_is_a_warning_of_check(tmp_path):
    for source in both([EVENT, ITEM, GATHERING], tmp_path):
        assert len(of.read_events(source, dedupe=False)) == 2
        assert of.check(source)[["severity", "problem", "detail"]].to_numpy().tolist() == [
            ["warning", "other type", "items"]
        ]


def test_an_empty_page_is_no_warning():
    for page in ({"total_pages": 0}, {"_embedded": {}}, {"page": 1, "_embedded": None, "motd": "none"}):
        assert of.read_events(page).empty
        assert set(of.check(page)["severity"]) == {"info"}


#: Lists of resources that say nothing of their type, each with the tables as which they can be read.
BARE = {
    "signatures": (
        [SIGNATURE, SIGNATURE | {"identifiers": ["action_network:5e"]}],
        ["signatures", "attendances"],
    ),
    "with fields of the service": (
        [SIGNATURE | {"action_network:referrer_data": {"source": "email"}, "mood": "good"}],
        ["signatures", "attendances"],
    ),
    "with a person": ([{"person": PERSON, "status": "accepted"}], ["attendances"]),
    "with titles": (
        [{"identifiers": ["action_network:e1"], "title": "March"}],
        ["events", "petitions", "event_campaigns"],
    ),
    "one, in an envelope": (FETCHED | {"body": SIGNATURE}, ["signatures", "attendances"]),
}


@pytest.mark.parametrize("name", BARE)
def test_resources_handed_over_are_of_the_type_of_the_table_that_is_named(name, tmp_path):
    document, named = BARE[name]
    count = len(document) if isinstance(document, list) else 1
    parsed, path = both(document, tmp_path)
    for table in named:
        assert len(of.read_table(parsed, table)) == count
    with pytest.raises(BadDocument, match="type is not clear"):
        of.read_table(path, named[0])  # a file can hold anything
    with pytest.raises(BadDocument, match="type is not clear"):
        of.open(parsed).tables([*named, "signature_tags", "event_reminders"])


def test_a_resource_with_fields_of_other_types_is_not_taken_for_the_one_that_is_named():
    for table in ("signatures", "people", "attendances"):
        with pytest.raises(BadDocument, match="type is not clear"):
            of.read_table([{"identifiers": ["action_network:e1"], "title": "March"}], table)
    with pytest.warns(SourceWarning, match="items"):
        assert of.read_table([ITEM], "people").empty


def test_elements_a_line_keep_their_keys(tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_text("\n".join(json.dumps(ELEMENT | {"idempotency_key": key}) for key in "ab"))
    found = of.read_signatures(path, dedupe=False)
    assert found[["idempotency_key", "source_line"]].to_dict("list") == {
        "idempotency_key": ["a", "b"],
        "source_line": [1, 2],
    }


@pytest.mark.parametrize(("entry", "problem"), [({"mood": 1}, "without a type key"), (7, "not an object")])
def test_a_wrong_entry_of_a_delivery_is_a_problem_whatever_is_read(entry, problem, tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_text(json.dumps([ELEMENT, entry]))
    for table in ("events", "signatures"):
        with pytest.raises(BadDocument, match=f"a.ndjson:1: .*{problem}"):
            of.read_table(path, table)
        with pytest.warns(ProblemsWarning, match="skipped 1 problem"):
            of.read_table(path, table, on_error="skip")


def test_as_many_wrong_entries_as_documents_are_each_a_problem(tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_text("[{}, {}]\n[true]\n")
    with pytest.warns(ProblemsWarning, match="skipped 3 problems"):
        assert of.read_signatures(path, on_error="skip").empty
    assert of.check(path)[["source_line", "severity"]].to_numpy().tolist() == [[1, "error"]] * 2 + [
        [2, "error"]
    ]


def test_an_envelope_without_a_time_is_a_warning_of_check():
    found = of.check({"body": [ELEMENT]})
    assert found[["severity", "problem", "detail"]].to_numpy().tolist() == [
        ["warning", "an envelope without a time", "body"]
    ]


@pytest.mark.parametrize("name", ["signatures", "with titles", "one, in an envelope"])
def test_a_resource_of_unclear_type_says_how_to_name_its_type(name, tmp_path):
    parsed, path = both(BARE[name][0], tmp_path)
    with pytest.raises(BadDocument, match="type is not clear") as stopped:
        of.open(parsed).tables(TABLES)
    assert '[{"osdi:signature": {…}}]' in str(stopped.value)
    problems = of.check(path)
    assert set(problems["severity"]) == {"error"}
    errors = problems["count"].sum()
    with pytest.warns(ProblemsWarning, match=f"skipped {errors} problem.*type is not clear"):
        found = of.open(path, on_error="skip").tables(TABLES)
    assert all(frame.empty for frame in found.values())


def test_an_archive_without_what_was_asked_for_says_what_it_holds():
    with pytest.warns(
        SourceWarning, match=r"no event was found; .*which open\(source\).table\('signatures'\) reads"
    ):
        assert of.read_events([ELEMENT]).empty
    with pytest.warns(
        SourceWarning, match=r"no signature was found; .*which open\(source\).table\('events'\) reads"
    ):
        assert of.read_signatures(EVENT).empty


def test_an_archive_without_events_is_an_empty_frame_without_a_word():
    assert of.read_events([]).empty
    assert of.read_events({"total_pages": 0, "_embedded": {"osdi:events": []}}).empty


def exported(path):
    of.export(path, path.with_name("out"))


@pytest.mark.parametrize("read", [of.read_events, of.check, exported])
def test_a_folder_without_documents_is_empty_and_warned_of(read, tmp_path):
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "notes.txt").write_text("{}")
    with pytest.warns(SourceWarning) as caught:
        read(archive)
    assert str(caught[0].message).startswith(f"no documents in {archive}: documents are .json, ")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("written", ["parquet", "csv"])
@pytest.mark.parametrize("partition_by", [None, "month"])
def test_an_export_handed_to_a_reader_says_what_reads_it(written, partition_by, tmp_path):
    of.export(EVENT, tmp_path / "out", tables=["events"], format=written, partition_by=partition_by)
    for path in (tmp_path / "out", tmp_path / "out" / "*", *tmp_path.rglob(f"*.{written}")):
        with pytest.raises(InvalidSource, match=f"pandas.read_{written}"):
            of.check(path)


def test_an_export_among_the_files_of_an_archive_is_counted_as_other_files_are(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(EVENT))
    of.export(EVENT, tmp_path / "deep" / "out", tables=["events"])
    with pytest.warns(SourceWarning, match=r"^1 file not read: 1 \.parquet;"):
        assert len(of.read_events(tmp_path)) == 1


#: Events of a service with a prefix of its own.
FOREIGN = {
    "without an address": EVENT | {"identifiers": ["change_desk:9"]},
    "with its address": EVENT
    | {
        "identifiers": ["other:1", "change_desk:9"],
        "_links": {"self": {"href": "https://x.org/v2/events/9"}},
    },
}


@pytest.mark.parametrize("name", FOREIGN)
def test_an_id_under_an_unknown_prefix_names_prefix(name, tmp_path):
    _, path = both(FOREIGN[name], tmp_path)
    with pytest.warns(SourceWarning, match='identifiers = "change_desk:…"; prefix="change_desk"'):
        assert len(of.read_events(path)) == 1
    assert of.read_events(path, prefix="change_desk")["event_id"].tolist() == ["9"]
    found = of.check(path)
    assert {*found["severity"]} == {"warning"}
    assert {*found["problem"]} - {"an element without identity"} == {"an id under an unknown prefix"}
    assert of.check(path, prefix="change_desk").empty


def test_identifiers_of_other_systems_next_to_the_own_are_no_problem():
    event = EVENT | {"identifiers": ["mobilize:7", "action_network:e1"]}
    assert of.read_events(event)["event_id"].tolist() == ["e1"]
    assert of.check(event).empty


def test_an_event_that_only_another_system_names_is_no_problem():
    event = EVENT | {"identifiers": ["mobilize:7"], "_links": {"self": {"href": "https://x.org/v2/events/9"}}}
    assert of.read_events(event)["event_id"].tolist() == ["9"]
    assert of.check(event).empty


def test_an_open_file_of_text_says_how_to_open_it():
    with pytest.raises(InvalidSource, match=r"open\(path, 'rb'\)"):
        of.read_events(io.StringIO("{}"))
