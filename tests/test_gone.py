"""What organisers delete: a sandbox is pulled, before and after deletions, next to a receiver of its webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import osdi_frames as of
from osdi_frames import Manifest, sandbox
from tests.clocks import GUARD, wait_for
from tests.receiver.process import Receiver
from tests.receiver.sender import TOKEN

ACCOUNT = "group:sandbox"
ALL = ("attendances", "event_campaigns", "petitions", "signatures", "people")
REGIONS = ("CA", "NY")


@dataclass
class Organisation:
    """A group in a sandbox: what it publishes, what people do, and what is pulled of it."""

    pulled: Path
    running: sandbox.Running = field(init=False)
    events: list[str] = field(default_factory=list)
    """The last one is listed by its campaign only."""
    petitions: list[str] = field(default_factory=list)
    campaign: str = ""
    acts: int = 0
    ahead: timedelta = timedelta()
    """How far the service's clock, and that of who pulls, is ahead of a receiver's."""

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def publish(self) -> None:
        def titled(kind: str, title: str) -> str:
            return self.running.admin("POST", kind, title=title, account=ACCOUNT)["id"]

        self.campaign = titled("campaigns", "Spring")
        self.petitions = [titled("petitions", "Clean water"), titled("petitions", "Clean air")]
        inside = {"origin_system": "Desk", "platform:event_campaign_id": self.campaign}
        bodies = [{"title": f"Event {number}", **inside, "listed": number < 3} for number in range(4)]
        self.events = self.running.admin("POST", "events", account=ACCOUNT, events=bodies)["event_ids"]

    def person(self) -> dict[str, Any]:
        self.acts += 1
        place = {"primary": True, "region": REGIONS[self.acts % 2], "country": "US", "postal_code": "94607"}
        address = {"primary": True, "address": f"p{self.acts}@example.org"}
        return {
            "given_name": f"Ann {self.acts}",
            "family_name": "Doe",
            "email_addresses": [address],
            "postal_addresses": [place],
        }

    def sign(self, petition: int, count: int = 1) -> list[str]:
        """Have some people sign; return the ids of their signatures."""
        return self._made("signatures", count, petition=self.petitions[petition])

    def attend(self, event: int, count: int = 1) -> list[str]:
        """Have some people RSVP; return the ids of their attendances."""
        return self._made("attendances", count, event=self.events[event])

    def _made(self, kind: str, count: int, **parent: str) -> list[str]:
        before = self.ids(kind)
        for _ in range(count):
            said = {"source": f"source-{self.acts % 3}", "add_tags": ["river"]}
            self.running.admin("POST", kind, person=self.person(), **parent, **said)
        return sorted(self.ids(kind) - before)

    def ids(self, kind: str) -> set[str]:
        """Return the ids that the service has."""
        rows = self.running.admin("GET", kind)
        return {row["_links"]["self"]["href"].rpartition("/")[2] for row in rows}

    def delete(self, kind: str, *ids: str) -> None:
        for id_ in ids:
            self.running.admin("DELETE", f"{kind}/{id_}")

    def pull(self, folder: Path | None = None, *, key: str = "", **options: Any) -> Manifest:
        """Pull an hour after all that has happened."""
        self.ahead += timedelta(hours=1)
        client = of.Client(self.running.base_url, key or self.running.group_key, rate=None, now=self.now)
        with client:
            return client.pull(folder or self.pulled, collections=options.pop("collections", ALL), **options)


ID = {
    "events": "event_id",
    "event_campaigns": "event_campaign_id",
    "petitions": "petition_id",
    "signatures": "signature_id",
    "attendances": "attendance_id",
    "people": "person_id",
}


@contextmanager
def organising(folder: Path) -> Iterator[Organisation]:
    """Serve a sandbox with a group that has published something."""
    made = Organisation(folder / "pulled")
    app = sandbox.create_app(
        per_page=5, retry_after=(0.2, 0.5, 1.0), webhook_timeout=GUARD, now=lambda: made.now()
    )
    with sandbox.serve(app) as made.running:
        made.publish()
        yield made


@dataclass
class PulledTwice:
    """Two pulls with deletions in between, next to what webhooks delivered before, between and after."""

    organisation: Organisation
    received: Path
    manifests: list[Manifest]
    deleted: dict[str, set[str]]
    kept: dict[str, set[str]]
    """What the service has at the end, and has delivered or listed."""
    unlisted: set[str]
    """The signatures since the last pull."""

    @property
    def pulled(self) -> Path:
        return self.organisation.pulled

    @property
    def both(self) -> list[Path]:
        return [self.pulled, self.received]


@pytest.fixture(scope="module")
def pulled_twice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PulledTwice]:
    folder = tmp_path_factory.mktemp("gone")
    with Receiver(folder / "received") as receiver, organising(folder) as group:
        url = f"http://127.0.0.1:{receiver.port}/{TOKEN}"
        group.running.admin("POST", "webhooks", url=url, uploads=True)

        def deliver() -> None:
            wait_for(lambda: not group.running.admin("GET", "messages?state=waiting"))

        first, second = group.sign(0, 6), group.sign(1, 6)
        rsvps = [group.attend(event, 3) for event in range(4)]
        deliver()
        manifests = [group.pull()]
        later, rsvps_later = group.sign(0, 3), group.attend(1, 2)  # no pull has these, but for the second
        deliver()
        signatures = {first[0], second[3], later[1]}
        attendances = {rsvps[1][0], rsvps_later[1], rsvps[3][0]}
        group.delete("signatures", *signatures)
        group.delete("attendances", *attendances)
        group.delete("events", group.events[0])
        manifests.append(group.pull())
        unlisted = {*group.sign(1, 2)}
        deliver()
        receiver.stop()
        assert all(manifest.complete for manifest in manifests)
        yield PulledTwice(
            group,
            folder / "received",
            manifests,
            {
                "events": {group.events[0]},
                "signatures": signatures,
                "attendances": attendances | {*rsvps[0]},
                "petitions": set(),
                "event_campaigns": set(),
            },
            {name: group.ids(name) for name in ("events", "signatures", "attendances", "petitions")},
            unlisted,
        )


@pytest.fixture(scope="module")
def both(pulled_twice: PulledTwice) -> dict[str, pd.DataFrame]:
    """Read the pulls and what webhooks delivered, together."""
    return of.open(pulled_twice.both).tables([*ID])


def test_what_was_deleted_is_gone_since_the_second_pull_and_excluded_and_nothing_else(pulled_twice, both):
    for name, deleted in pulled_twice.deleted.items():
        rows = both[name]
        gone = rows[rows.gone_since.notna()]
        assert {*gone[ID[name]]} == deleted
        assert {*gone.gone_since} <= {pulled_twice.manifests[1].finished_at}
        if "excluded" in rows:
            assert (rows.excluded.eq("gone") == rows.gone_since.notna()).all()
        if name in pulled_twice.kept:
            assert {*rows.loc[rows.gone_since.isna(), ID[name]]} == pulled_twice.kept[name]


def test_a_pull_alone_knows_what_it_has_listed_before(pulled_twice):
    listed = {*of.open(pulled_twice.manifests[0].folder).signatures().signature_id}
    rows = of.open(pulled_twice.pulled).signatures()
    assert {*rows.loc[rows.gone_since.notna(), "signature_id"]} == pulled_twice.deleted["signatures"] & listed
    assert {*rows.loc[rows.gone_since.isna(), "signature_id"]} == pulled_twice.kept[
        "signatures"
    ] - pulled_twice.unlisted


def test_of_a_webhook_archive_and_of_one_pull_alone_nothing_is_gone(pulled_twice):
    for source in (pulled_twice.received, pulled_twice.manifests[0].folder, pulled_twice.manifests[1].folder):
        tables = of.open(source).tables({name: ["gone_since"] for name in ID})
        assert not any(frame.gone_since.notna().any() for frame in tables.values())


def test_without_deduplication_nothing_is_called_gone(pulled_twice):
    rows = of.open(pulled_twice.both).signatures(["gone_since", "excluded"], dedupe=False)
    assert rows.isna().all(axis=None)


def counts(report: pd.DataFrame, column: str) -> dict[Any, int]:
    return {key: int(number) for key, number in report[column].items() if number}


def test_reports_of_the_pull_of_the_webhook_archive_and_of_both_agree_on_what_each_knows(pulled_twice, both):
    signed = [f"signatures_by_{key}" for key in ("source", "region", "petition")]
    attended = ["attendances_by_month", "attendances_by_source"]
    pulled, of_both = (
        of.open(source).report(reports=[*signed, *attended])
        for source in (pulled_twice.pulled, pulled_twice.both)
    )
    assert pulled.summary["events"] == of_both.summary["events"] == len(pulled_twice.kept["events"])
    assert pulled.summary["rsvps"] == of_both.summary["rsvps"]
    assert pulled.summary["signatures"] == len(pulled_twice.kept["signatures"]) - len(pulled_twice.unlisted)
    assert of_both.summary["signatures"] == len(pulled_twice.kept["signatures"])
    by = f"gone by the pull that ended {pulled_twice.manifests[1].finished_at:%Y-%m-%d %H:%M} UTC"
    assert by in of_both.notes
    signatures = both["signatures"]
    known = signatures[~signatures.signature_id.isin(pulled_twice.unlisted)]
    for name in signed:
        assert counts(pulled[name], "signatures") == counts(getattr(of, name)(known), "signatures"), name
    for name in attended:
        pd.testing.assert_frame_equal(pulled[name], of_both[name])
    received, with_gone = (
        of.open(source).report(reports=signed, include=include)
        for source, include in ((pulled_twice.received, ()), (pulled_twice.both, ["gone"]))
    )
    assert not any("gone by" in note for note in with_gone.notes)
    assert received.summary["signatures"] == with_gone.summary["signatures"]
    for name in signed:
        assert counts(received[name], "signatures") == counts(with_gone[name], "signatures"), name


def test_both_have_e_mail_tags_and_place_of_each_signature(both):
    rows = both["signatures"]
    assert rows.email.notna().all()
    assert rows.add_tags.map(list).tolist() == [["river"]] * len(rows)
    assert rows.location_region.isin(REGIONS).all()


def test_filters_change_nothing_about_what_is_gone(pulled_twice, both):
    filters = {
        "signatures": {"petition": pulled_twice.organisation.petitions[0]},
        "attendances": {"status": "confirmed"},
    }
    for name, chosen in filters.items():
        archive = of.open(pulled_twice.both).where(since="2020", **chosen)
        some, every = (
            rows.set_index(ID[name])["excluded"].sort_index()
            for rows in (archive.table(name, [ID[name], "excluded"]), both[name])
        )
        assert some.notna().any()
        pd.testing.assert_series_equal(some, every[every.index.isin(some.index)])


def test_one_column_alone_is_the_same_as_among_all(pulled_twice, both):
    for column in ("gone_since", "excluded"):
        names = ("events", "signatures", "attendances")
        for name, frame in of.open(pulled_twice.both).tables({name: [column] for name in names}).items():
            pd.testing.assert_series_equal(frame[column], both[name][column])


# -- what proves nothing --


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Organisation]:
    """Make a group with events, RSVPs and signatures, of which everything was pulled."""
    with organising(tmp_path) as made:
        for number in (0, 3):
            made.attend(number, 2)
        made.sign(0, 2)
        assert made.pull().complete
        yield made


def everything_gone(group: Organisation) -> dict[str, int]:
    """Count what is gone by what was pulled."""
    tables = of.open(group.pulled).tables({name: [id_, "gone_since"] for name, id_ in ID.items()})
    counts = {name: int(frame.gone_since.notna().sum()) for name, frame in tables.items()}
    return {name: count for name, count in counts.items() if count}


def test_what_the_service_still_has_is_not_gone_whoever_lists_less(group, tmp_path):
    assert group.pull().complete
    assert (
        len(of.open(group.pulled).attendances(["event_id"])) == 4
    )  # one event is listed by its campaign only
    individual = group.running.individual_key
    assert group.pull(key=individual).complete
    assert group.pull(tmp_path / "pulled" / "of Ida", key=individual).complete
    assert everything_gone(group) == {}


def test_only_a_full_and_complete_pull_with_its_pages_proves_what_is_gone(group):
    group.delete("events", group.events[0])
    group.delete("petitions", group.petitions[1])
    changed = group.pull(since="last")
    assert changed.complete
    assert changed.fewer_records == 2
    group.running.inject("status", status=403, path="events", page=1)
    with pytest.raises(of.OsdiError):
        group.pull()
    assert everything_gone(group) == {}
    group.running.clear_faults()
    full = group.pull()
    assert full.complete
    assert everything_gone(group) == {"events": 1, "petitions": 1, "attendances": 2}
    for name in full.files:
        (full.folder / name).unlink()
    assert everything_gone(group) == {}


def test_what_is_gone_is_counted_as_excluded_where_an_archive_shows_its_contents(group):
    group.delete("petitions", group.petitions[1])
    group.delete("campaigns", group.campaign)
    signer = group.running.admin("GET", "signatures")[0]["_links"]["osdi:person"]["href"]
    group.delete("people", signer.rpartition("/")[2])
    assert group.pull().complete
    types, gone = of.open(group.pulled).contents.types.set_index("table"), everything_gone(group)
    assert {"petitions", "event_campaigns", "people"} <= gone.keys()
    assert {name: count for name, count in types.excluded.items() if count} == gone


def test_a_report_says_that_the_newest_pull_is_not_complete_wherever_it_is_found(group, monkeypatch):
    replace(group.pull(collections=["events"]), finished_at=None).write()
    monkeypatch.chdir(group.pulled.parent)
    for source in ("pulled", "pulled/*", "pulled/*/*.gz", ".", of.manifests("pulled")[-1].folder):
        with pytest.warns(of.SourceWarning, match="the newest pull is not complete"):
            of.report(source, reports=[])
