"""What complete pulls prove to be gone, by accounts and clocks: what worlds of `tests/world` seldom have."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.resolving.gone import COLUMNS, Accounts, gone_since, listed_parents, with_evidence
from osdi_frames.resolving.resolver import excluded
from osdi_frames.tables import TABLES
from osdi_frames.tables.attendances import ATTENDANCE
from osdi_frames.tables.events import EVENT
from osdi_frames.tables.petitions import PETITION
from osdi_frames.tables.signatures import SIGNATURE
from tests.pulls import PATHS, manifest_of, write_pull
from tests.workers import workers
from tests.world.documents import PROOFS
from tests.world.documents import TABLES as TABLES_OF

ADDRESS = "https://example.org/api/v2"
START = datetime(2026, 5, 1, tzinfo=UTC)
UTC_TYPE = pa.timestamp("us", "UTC")


def at(hour):
    return None if hour is None else START + timedelta(hours=hour)


# -- archives --

EARLIER = "2026-01-01T00:00:00Z"


class Service:
    """What an archive has of a service with petitions: pulls by keys, and what a webhook delivers."""

    def __init__(self, archive, name):
        self.folder, self.name = archive / name, name
        self.api = f"https://{name}.example/api/v2"

    def thing(self, collection, own_id, created=EARLIER, **links):
        """Make a resource with an id of this service alone, unless it begins with a plus sign."""
        ids = {"self": f"{collection}/{self.id(own_id)}"} | links
        return {
            "identifiers": [f"platform:{self.id(own_id)}"],
            "created_date": created,
            "modified_date": created,
            "_links": {name: {"href": f"{self.api}/{path}"} for name, path in ids.items()},
        }

    def id(self, own_id):
        return own_id[1:] if own_id[0] == "+" else f"{self.name} {own_id}"

    def signature(self, petition, own_id, created=EARLIER):
        person = f"people/{self.name} of {own_id}"
        links = {"osdi:petition": f"petitions/{self.id(petition)}", "osdi:person": person}
        return self.thing(f"petitions/{self.id(petition)}/signatures", own_id, created, **links)

    def pull(self, hour, signed, *, people=(), key="k", names=("petitions", "signatures", "people"), **how):
        """Write a pull that lists petitions, with the ids of their signatures, and people."""
        lists = {
            "petitions": [self.thing("petitions", petition) for petition in signed],
            "signatures": [self.signature(petition, own) for petition in signed for own in signed[petition]],
            "people": [self.thing("people", person) for person in people],
        }
        documents = [
            {"fetched_at": str(at(hour)), "body": {"_embedded": {f"osdi:{name}": lists[name]}}}
            for name in names
        ]
        pages, folder = {"pages.ndjson": documents}, self.folder / f"{len([*self.folder.glob('*')])}"
        lasted = timedelta(minutes=6)
        write_pull(
            folder, at(hour), pages, lasted=lasted, names=names, address=self.api, key_digest=key, **how
        )
        return at(hour) + lasted

    def deliver(self, received, *signatures):
        """Write a delivery that a webhook brought, without an envelope where it was received at no known time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        body = [{"osdi:signature": signature} for signature in signatures]
        document = {"received_at": str(received), "body": body} if received else body
        file = self.folder / f"{len([*self.folder.glob('*')])}.json"
        file.write_text(json.dumps(document))


def of_slow_clocks(service):
    # A receiver's clock is 90 seconds slow, and a signature is made while a pull runs.
    end = service.pull(12, {"p": ["listed"]})
    before, start = at(12) - timedelta(minutes=5), at(12)
    service.deliver(
        start - timedelta(seconds=50), service.signature("p", "made amid", "2026-05-01T12:00:40Z")
    )
    service.deliver(before, service.signature("p", "received in doubt"))
    service.deliver(before - timedelta(seconds=1), service.signature("p", "received before"))
    service.deliver(at(1), service.signature("p", "modified in doubt") | {"modified_date": str(before)})
    service.deliver(at(1), service.signature("p", "created in doubt") | {"created_date": str(before)})
    service.deliver(None, service.signature("p", "received at no known time"))
    return {"received before": end}


def of_an_unknown_key(service):
    # Manifests without a digest of the key can be of any account.
    service.pull(1, {"p1": ["s1", "s2"]}, key="")
    service.pull(30, {"p2": ["s3"]}, key="")
    service.pull(60, {"p1": ["s1"]}, key="")
    return {}


def of_two_groups(service):
    # A pull of B proves nothing of what A, or nobody, listed of petitions that B does not list.
    service.pull(1, {"p1": ["s1"]}, people=["u1"], key="a")
    service.deliver(at(2), service.signature("p1", "delivered"), service.signature("p3", "of no list"))
    service.pull(30, {"p2": ["s2", "s3"]}, people=["u2"], key="b")
    since = service.pull(60, {"p2": ["s2"]}, people=[], key="b")
    return {"s3": since, "u2": since}


def of_a_shared_petition(service):
    # What B no longer sees is gone when A has read the collection without it, too.
    service.pull(1, {"p": ["s1", "s2", "s3"]}, key="a")
    service.pull(2, {"p": ["s1", "s2", "s3"]}, key="b")
    service.deliver(at(3), service.signature("p", "delivered"))
    service.pull(30, {"p": []}, key="b")
    since = service.pull(40, {"p": ["s2"]}, key="a")
    return {"s1": since, "s3": since, "delivered": since}


def of_a_replaced_key(service):
    # A key without a complete pull in the last 30 days has no vote; one on the 30th day has.
    service.pull(0, {"p": ["s1", "s2", "s3"]}, key="old")
    service.pull(24, {"p": ["s1", "s2"]}, key="late")
    service.pull(30, {"p": ["s1"]}, key="new")
    service.pull(24 + 30 * 24, {"p": []}, key="new")
    return {"s3": at(30.1)}


def of_a_key_that_was_replaced_earlier(service):
    service.pull(0, {"p": ["s1", "s2"]}, key="old")
    service.pull(30, {"p": ["s1"]}, key="new")
    since = service.pull(24 * 30 + 0.1, {"p": []}, key="new")
    return {"s1": since, "s2": at(30.1)}


def of_a_key_that_only_says_what_changed(service):
    # A complete pull of what changed shows that a key is in use, and proves nothing of what it listed.
    service.pull(1, {"p": ["s1"]}, key="a")
    service.pull(24 * 30, {"p": []}, key="a", names=("petitions",))
    service.pull(2, {"p": ["s1"]}, key="b")
    service.pull(24 * 31, {"p": []}, key="b")
    return {}


def of_parents_that_are_gone(service):
    # A petition that the account listed once takes its signatures along, whoever brought them.
    service.pull(1, {"p": []})
    service.deliver(at(2), service.signature("p", "delivered"))
    since = service.pull(30, {})
    return {"delivered": since, "p": since}


def of_parents_that_are_listed_later(service):
    # What is of a petition that a key listed only after its pull is not looked for in that pull.
    service.deliver(at(1), service.signature("p", "delivered"))
    service.pull(12, {})
    service.pull(30, {"p": []}, names=("petitions",))
    return {}


def of_parents_of_another_service(service):
    # The same id at another service is another petition.
    service.deliver(at(1), service.signature("+7", "delivered"))
    Service(service.folder.parent, f"{service.name} elsewhere").pull(12, {"+7": []})
    return {}


def of_people_that_only_acts_link(service):
    service.pull(1, {"p": ["s1"]}, people=["u1", "u2"])
    since = service.pull(30, {"p": []}, people=["u1"])
    return {"s1": since, "u2": since}


def of_pulls_that_are_not_complete(service):
    # Their pages list what a later pull proves to be gone; they themselves prove nothing.
    service.pull(1, {"p": ["s1"]}, why="it was stopped")
    service.pull(12, {"p": []}, why="it was stopped")
    since = service.pull(30, {"p": []})
    service.pull(60, {"p": []})
    return {"s1": since}


def of_many_keys(service):
    # Each of seventy keys lists petitions of its own; two of them are deleted.
    for number in range(70):
        service.pull(1, {f"p{number}": []}, key=f"{number:02}", names=("petitions",))
    ends = [
        service.pull(30 + hour, {}, key=key, names=("petitions",)) for hour, key in enumerate(["03", "65"])
    ]
    return dict(zip(["p3", "p65"], ends, strict=True))


SERVICES = [
    of_slow_clocks,
    of_an_unknown_key,
    of_two_groups,
    of_a_shared_petition,
    of_a_replaced_key,
    of_a_key_that_was_replaced_earlier,
    of_a_key_that_only_says_what_changed,
    of_parents_that_are_gone,
    of_parents_that_are_listed_later,
    of_parents_of_another_service,
    of_people_that_only_acts_link,
    of_pulls_that_are_not_complete,
    of_many_keys,
]
OWN_ID = {"petitions": "petition_id", "signatures": "signature_id", "people": "person_id"}


@pytest.fixture(scope="module")
def services(tmp_path_factory):
    """Make an archive of many services; return it with what is gone of each."""
    archive, gone = tmp_path_factory.mktemp("services") / "archive", {}
    for made in SERVICES:
        service = Service(archive, made.__name__.replace("_", "-"))
        gone |= {service.id(own): since for own, since in made(service).items()}
    return archive, gone


def gone_of(frames):
    return {
        own_id: since.to_pydatetime()
        for name, frame in frames.items()
        for own_id, since in zip(frame[OWN_ID[name]], frame["gone_since"], strict=True)
        if since == since
    }


def test_an_account_proves_what_it_has_listed_and_what_belongs_to_that(services):
    archive, gone = services
    assert gone_of(of.open(archive).tables([*OWN_ID])) == gone


def test_a_cluster_and_some_columns_give_the_same(services):
    archive, gone = services
    columns = {name: [own, "gone_since"] for name, own in OWN_ID.items()}
    frames = of.open(archive).tables(columns)
    assert gone_of(frames) == gone
    with workers():
        frame = of.open(archive).dask("signatures", npartitions=2).compute()
    assert gone_of(frames | {"signatures": frame}) == gone


# -- the rule --


def pull(begins, *, hours=0.5, names=PATHS, **fields):
    """Make the manifest of a pull, of everything unless `names` says of what."""
    folder = Path("pulled", f"{begins}")
    return manifest_of(folder, at(begins), lasted=timedelta(hours=hours), names=names, **fields)


def rows(table, *seen, **columns):
    """Make rows of a main table, fetched at some hours, by the pull of the hour 0."""
    element, count = TABLES[table].element, len(seen)
    parents = {"signatures": "petition_id", "attendances": "event_id"}
    values = {
        f"{element.name}_id": [f"{number}" for number in range(count)],
        "self_url": [f"{ADDRESS}/{table}/{number}" for number in range(count)],
        "source_file": ["pulled/0/pages-0001.ndjson.gz"] * count,
        "created_date": [None] * count,
        "modified_date": [None] * count,
        "fetched_at": [at(hour) for hour in seen],
    }
    if table in parents:
        values |= {parents[table]: ["parent"] * count, "received_at": [None] * count}
    types = dict.fromkeys([name for name in COLUMNS if name.endswith(("_at", "_date"))], UTC_TYPE)
    made = values | columns
    return pa.table({name: pa.array(some, types.get(name, pa.string())) for name, some in made.items()})


def hours(table, some, pulls, parents=None):
    """Return the hours since which rows are gone, None of those that are not."""
    accounts = Accounts(tuple(pulls))
    found = gone_since(TABLES[table].element, with_evidence(some, accounts), accounts, parents=parents)
    assert found.type == UTC_TYPE
    return [moment and (moment - START) / timedelta(hours=1) for moment in found.to_pylist()]


def test_a_pull_proves_nothing_of_a_kind_unless_all_lists_that_it_needs_are_whole():
    for kind, needed in PROOFS.items():
        table, whole = TABLES_OF[kind], pull(5)
        assert hours(table, rows(table, 1), [pull(0), whole]) == [5.5], kind
        other = replace(whole, address="https://other.example/v2")
        assert hours(table, rows(table, 1), [pull(0), other]) == [None]
        for name in needed:
            for change in ({"complete": False}, {"since": at(-99)}):
                lists = [replace(done, **change) if done.name == name else done for done in whole.collections]
                lacking = replace(whole, collections=tuple(lists))
                assert hours(table, rows(table, 1), [pull(0), lacking]) == [None], (kind, name, change)
        others = pull(5, names=[name for name in PATHS if name != table])
        assert hours(table, rows(table, 1), [pull(0), others]) == [None], kind


def test_the_files_of_a_pull_are_those_below_its_folder():
    files = ["pulled/0/a.json", "pulled/0/inside/a.zip!b.json", "pulled/a.json", "elsewhere/0/a.json", None]
    some = rows("events", *[1] * len(files), source_file=files)
    assert hours("events", some, [pull(0), pull(5)]) == [5.5, 5.5, None, None, None]


def test_what_has_no_id_is_not_looked_for():
    assert hours("signatures", rows("signatures", 1, signature_id=[None]), [pull(0), pull(5)]) == [None]


def test_a_service_is_a_host_and_a_port_in_either_version_whatever_the_spelling():
    urls = [
        "https://Example.org:443/api/v1/petitions/1",
        "http://example.org/api/v2/petitions/1",
        "https://user@example.org",
        "https://example.org:8443/api/v2/petitions/1",
        "petitions/1",
        "https://[",
        "https://example.org:port/",
        None,
    ]
    some = rows("signatures", *[1] * len(urls), self_url=urls, source_file=["received/a.ndjson"] * len(urls))
    pulls = pull(0), pull(5)
    listed = listed_parents(PETITION, rows("petitions", 0, petition_id=["parent"]), Accounts(pulls))
    assert hours("signatures", some, pulls, listed) == [5.5, None, 5.5, *[None] * 5]


@given(
    st.lists(
        st.tuples(st.integers(0, 1500), st.sampled_from("abc"), st.booleans(), st.booleans()), max_size=6
    ),
    st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 5)), max_size=8),
)
def test_any_pulls_and_rows_are_compared_as_the_rule_says(made, seen):
    """Rows are one thing each, of which one version is on a page of some pull."""
    pulls = [
        replace(pull(begins, why="a page is missing" if lacks else ""), key_digest=key, folder=Path(f"p/{n}"))
        for n, (begins, key, lacks, _) in enumerate(made)
    ]
    some = rows("people", *(hour for hour, _ in seen), source_file=[f"p/{n}/a.json" for _, n in seen])
    expected = []
    for hour, number in seen:
        key = made[number][1] if number < len(made) else None
        whole = sorted((begins, other) for begins, other, lacks, _ in made if not lacks)
        votes = (
            whole
            and max((begins for begins, other in whole if other == key), default=-1) >= whole[-1][0] - 720
        )
        later = [begins for begins, other in whole if other == key and begins > hour]
        expected.append(later[0] + 0.5 if votes and later else None)
    assert hours("people", some, pulls) == expected


# -- the column excluded --


def reasons(element, events=None, **columns):
    types = {
        "hidden": pa.bool_(),
        "attended": pa.bool_(),
        "gone_since": UTC_TYPE,
        "created_date": UTC_TYPE,
        "modified_date": UTC_TYPE,
    }
    table = pa.table({name: pa.array(some, types.get(name, pa.string())) for name, some in columns.items()})
    return excluded(element, table, events).to_pylist()


def test_of_several_reasons_the_first_is_given():
    now = at(1)
    assert reasons(
        EVENT,
        status=["cancelled", "cancelled", "confirmed", "confirmed", None],
        hidden=[True, True, True, False, None],
        gone_since=[now, None, None, None, None],
    ) == ["gone", "cancelled", "hidden", None, None]


def test_a_test_send_is_one_before_all():
    referred = dict.fromkeys(("source", "referrer", "website", "email_referrer", "mobile_message_referrer"))
    columns = {name: [None, None] for name in referred} | {"modified_date": [None, None]}
    dates = [None, at(1)]
    found = reasons(SIGNATURE, created_date=dates, gone_since=[at(1)] * 2, **columns)
    assert found == ["test", "gone"]


def test_an_attendance_has_the_reason_of_its_event_unless_it_has_its_own():
    events = pa.table({"event_id": ["a", "b", "c", None], "excluded": ["gone", "cancelled", None, "hidden"]})
    found = reasons(
        ATTENDANCE,
        events,
        event_id=["a", "b", "c", "d", None, "b"],
        status=["accepted"] * 5 + ["declined"],
        attended=[False] * 6,
    )
    assert found == ["gone", "cancelled", None, None, None, "unaccepted"]
    empty = pa.table({"event_id": pa.array([], pa.string()), "excluded": pa.array([], pa.string())})
    assert reasons(ATTENDANCE, empty, event_id=["a"], status=[None], attended=[False]) == [None]
