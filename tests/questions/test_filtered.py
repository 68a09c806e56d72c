"""Questions about a part of an archive, answered with filters, and once more from the raw JSON with pandas alone."""

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

import osdi_frames as of

SERVICE, START = "https://service.example/api/v2", datetime(2026, 4, 1)  # noqa: DTZ001 (written as UTC)
CAMPAIGN, PETITION, SINCE, UNTIL = "climate", "clean-river", "2026-05", "2026-06-05"


# --- an archive ----------------------------------------------------------------------------------------


def resource(path: str, at: datetime, **fields):
    made = f"{at:%Y-%m-%dT%H:%M:%SZ}"
    own = {
        "identifiers": [f"platform:{path.rpartition('/')[2]}"],
        "created_date": made,
        "modified_date": made,
    }
    return own | fields | {"_links": {"self": {"href": f"{SERVICE}/{path}"}} | fields.get("_links", {})}


def page(collection: str, rows: list):
    return {"fetched_at": "2026-06-20T08:00:00Z", "body": {"page": 1, "_embedded": {collection: rows}}}


def linking(**paths: str):
    return {f"osdi:{name}": {"href": f"{SERVICE}/{path}"} for name, path in paths.items()}


def event(draw: random.Random, number: int):
    campaign = (CAMPAIGN, "housing", None)[number % 3]
    own = {"platform:event_campaign_id": campaign} if campaign else {}
    return resource(
        f"events/e{number}",
        START,
        title=f"Event {number}",
        status="cancelled" if number in (3, 7) else "tentative" if number == 6 else "confirmed",
        start_date=f"2026-0{4 + number % 3}-{10 + number}T18:00:00Z",
        total_accepted=draw.randrange(1, 20),
        location={"region": draw.choice(["CA", "NY"]), "country": "US"},
        **({"capacity": 25} if number % 4 < 2 else {}),
        **own,
    )


def act(draw: random.Random, path: str, who: int, **fields):
    """Make an act: who did it, when, and by which source."""
    source = draw.choice(["email", "sms", "flyer", None])
    return resource(
        path,
        START + timedelta(minutes=draw.randrange(75 * 1440)),
        **{"platform:referrer_data": {"source": source} if source else {"referrer": "r"}},
        **fields | {"_links": linking(person=f"people/p{who}") | fields["_links"]},
    )


def documents(draw: random.Random) -> dict[str, list]:
    """Return the documents of each file: pages of the API, and what webhooks brought, some of it twice."""
    events = [event(draw, number) for number in range(12)]
    rsvps = {(draw.randrange(12), draw.randrange(25)): None for _ in range(90)}
    attendances = [
        act(
            draw,
            f"events/e{at}/attendances/a{at}-{who}",
            who,
            status=draw.choice(["accepted"] * 4 + ["attended", "declined"]),
            _links=linking(event=f"events/e{at}"),
        )
        for at, who in rsvps
    ]
    signed = {(draw.choice((PETITION, "safe-streets")), draw.randrange(15, 35)): None for _ in range(60)}
    deliveries = [
        [
            {
                "osdi:signature": act(
                    draw,
                    f"petitions/{petition}/signatures/s{number}",
                    who,
                    person={"given_name": f"Person {who}", "languages_spoken": [draw.choice(["en", "es"])]},
                    add_tags=draw.choice([[], ["volunteer"], ["volunteer", "donor"]]),
                    _links=linking(petition=f"petitions/{petition}"),
                ),
                "idempotency_key": f"k{number}",
            }
        ]
        for number, (petition, who) in enumerate(signed)
    ]
    first: dict[str, datetime] = {}
    for each in [*attendances, *(delivery[0]["osdi:signature"] for delivery in deliveries)]:
        who, at = each["_links"]["osdi:person"]["href"], datetime.fromisoformat(each["created_date"])
        first[who] = min(first.get(who, at), at)
    people = [
        resource(
            who.removeprefix(f"{SERVICE}/"),
            at + draw.choice([timedelta(days=-400), timedelta(hours=-3), timedelta(0), timedelta(hours=5)]),
            postal_addresses=[{"region": draw.choice(["CA", "NY", "TX"]), "country": "US"}],
        )
        for who, at in sorted(first.items())
    ]
    campaigns = [resource(f"event_campaigns/{name}", START, title=name) for name in (CAMPAIGN, "housing")]
    petitions = [
        resource(f"petitions/{name}", START, title=name.title()) for name in (PETITION, "safe-streets")
    ]
    return {
        "campaigns": [page("platform:event_campaigns", campaigns)],
        "events": [page("osdi:events", events)],
        "attendances": [
            page("osdi:attendances", attendances[at : at + 25]) for at in range(0, len(attendances), 25)
        ],
        "petitions": [page("osdi:petitions", petitions)],
        "deliveries": [*deliveries, *deliveries[::7]],
        "people": [page("osdi:people", people)],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for name, lines in documents(random.Random(43)).items():
        (folder / f"{name}.ndjson").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


# --- the raw JSON, with pandas alone ---------------------------------------------------------------------


class Raw:
    """Frames of the raw resources, with ids in place of addresses, and the order of each person's acts."""

    def __init__(self, folder: Path) -> None:
        self.events = self._of_pages(folder, "events", "osdi:events").set_index("id")
        self.attendances = self._of_pages(folder, "attendances", "osdi:attendances")
        self.attendances = self.attendances.assign(act="rsvped")
        self.people = self._of_pages(folder, "people", "osdi:people").set_index("id")
        lines = (folder / "deliveries.ndjson").read_text().splitlines()
        resources = [element["osdi:signature"] for line in lines for element in json.loads(line)]
        self.signatures = self._frame(resources).drop_duplicates("id").assign(act="signed")
        event = self.attendances["event"].map(self.events["status"]).eq("cancelled")
        self.attendances = self.attendances.assign(
            campaign=self.attendances["event"].map(self.events["platform:event_campaign_id"]),
            counts=self.attendances["status"].ne("declined") & ~event,
        )
        self.signatures = self.signatures.assign(counts=True)
        self.acts = self._acts()

    def _of_pages(self, folder: Path, name: str, collection: str) -> pd.DataFrame:
        pages = pd.read_json(folder / f"{name}.ndjson", lines=True)["body"]
        return self._frame([row for body in pages for row in body["_embedded"][collection]])

    @staticmethod
    def _frame(resources: list) -> pd.DataFrame:
        frame = pd.json_normalize(resources)
        for link in [column for column in frame if column.startswith("_links.")]:
            name = link.removesuffix(".href").rpartition(".")[2].removeprefix("osdi:")
            frame[{"self": "id"}.get(name, name)] = frame[link].str.rsplit("/", n=1).str[1]
        frame["created_date"] = pd.to_datetime(frame["created_date"], utc=True)
        return frame.rename(columns={"platform:referrer_data.source": "source"})

    def _acts(self) -> pd.DataFrame:
        """Return RSVPs, signatures and attendances at events, of each person in order of time."""
        came = self.attendances[self.attendances["status"].eq("attended")].assign(act="attended")
        starts = pd.to_datetime(came["event"].map(self.events["start_date"]), utc=True)
        came = came.assign(created_date=came["created_date"].where(came["created_date"] > starts, starts))
        acts = pd.concat([self.attendances, came, self.signatures], ignore_index=True)
        counted = acts[acts["counts"]].sort_values("created_date", kind="stable")
        acts["number"] = counted.groupby("person").cumcount() + 1
        late = acts["person"].map(self.people["created_date"]) - acts["created_date"]
        acts["new"] = acts["number"].eq(1) & late.abs().le(pd.Timedelta(days=1))
        return acts

    def of_campaign(self) -> pd.DataFrame:
        return self.attendances[self.attendances["campaign"].eq(CAMPAIGN) & self.attendances["counts"]]

    def of_petition(self) -> pd.DataFrame:
        return self.signatures[self.signatures["petition"].eq(PETITION)]

    def in_part(self) -> pd.DataFrame:
        """Return the acts at the events of a campaign, also those that do not count."""
        return self.acts[self.acts["campaign"].eq(CAMPAIGN)]


@pytest.fixture(scope="module")
def raw(folder: Path) -> Raw:
    return Raw(folder)


@pytest.fixture(scope="module")
def archive(folder: Path) -> of.Archive:
    return of.open(folder)


# --- questions -------------------------------------------------------------------------------------------


def by_source_of_a_campaign(archive: of.Archive) -> dict:
    """Return how many RSVPs of a campaign came from each source."""
    rsvps = archive.where(campaign=CAMPAIGN).attendances()
    return of.attendances_by_source(rsvps)["rsvps"].to_dict()


def by_source_with_pandas(raw: Raw) -> dict:
    return raw.of_campaign()["source"].fillna("(none)").value_counts().to_dict()


def people_of_a_campaign(archive: of.Archive) -> set:
    """Return who RSVPed to events of a campaign, whether it counts or not."""
    return {*archive.where(campaign=CAMPAIGN).people()["person_id"]}


def people_with_pandas(raw: Raw) -> set:
    return {*raw.attendances.loc[raw.attendances["campaign"].eq(CAMPAIGN), "person"]}


def new_by_a_petition(archive: of.Archive) -> int:
    """Return how many people a petition brought."""
    report = archive.where(petition=PETITION).report()
    return report["signatures_by_petition"].loc[PETITION, "new"]


def new_with_pandas(raw: Raw) -> int:
    return (raw.acts["new"] & raw.acts["petition"].eq(PETITION)).sum()


def returning_of_a_campaign(archive: of.Archive) -> dict:
    """Return how many people came to a campaign with their first act, their second, and so on."""
    actions = archive.where(campaign=CAMPAIGN).actions()
    counted = actions[actions["excluded"].isna()]
    return counted.groupby("person_id")["number"].min().value_counts().to_dict()


def returning_with_pandas(raw: Raw) -> dict:
    acts = raw.in_part()
    return acts[acts["counts"]].groupby("person")["number"].min().astype(int).value_counts().to_dict()


def tags_of_a_petition(archive: of.Archive) -> dict:
    """Return the tags that the signatures of a petition brought."""
    return archive.where(petition=PETITION).table("signature_tags")["tag"].value_counts().to_dict()


def tags_with_pandas(raw: Raw) -> dict:
    return raw.of_petition()["add_tags"].explode().value_counts().to_dict()


def rsvps_of_cancelled_events(archive: of.Archive) -> dict:
    """Return the RSVPs to each cancelled event, declined ones with them."""
    return archive.where(status="cancelled").attendances()["event_id"].value_counts().to_dict()


def cancelled_with_pandas(raw: Raw) -> dict:
    cancelled = raw.attendances["event"].map(raw.events["status"]).eq("cancelled")
    return raw.attendances.loc[cancelled, "event"].value_counts().to_dict()


def regions_of_signers_in_a_period(archive: of.Archive) -> dict:
    """Return where those live who signed a petition in some weeks."""
    signatures = archive.where(petition=PETITION, since=SINCE, until=UNTIL).signatures()
    return of.signatures_by_region(signatures)["people"].droplevel(0).to_dict()


def regions_with_pandas(raw: Raw) -> dict:
    signed, after = raw.of_petition(), pd.Timestamp(UNTIL, tz="UTC") + pd.Timedelta(days=1)
    signed = signed[
        signed["created_date"].ge(pd.Timestamp(SINCE, tz="UTC")) & signed["created_date"].lt(after)
    ]
    regions = raw.people["postal_addresses"].str[0].str["region"]
    return signed.groupby(signed["person"].map(regions))["person"].nunique().to_dict()


def rsvps_of_a_campaign_in_a_period(archive: of.Archive) -> dict:
    """Return how many people RSVPed to events of a campaign from May on, whenever these take place."""
    rsvps = archive.where(campaign=CAMPAIGN, since=SINCE).attendances()
    return of.attendances_by_month(rsvps)["people"].to_dict()


def period_with_pandas(raw: Raw) -> dict:
    rsvps = raw.of_campaign()
    rsvps = rsvps[rsvps["created_date"].ge(pd.Timestamp(SINCE, tz="UTC"))]
    return rsvps.groupby(rsvps["created_date"].dt.strftime("%Y-%m"))["person"].nunique().to_dict()


def fill_of_confirmed_events(archive: of.Archive) -> dict:
    """Return how full the confirmed events of a campaign are, by region."""
    events = archive.where(campaign=CAMPAIGN, status="confirmed").events()
    return of.rsvps_by_region(events)["fill_rate"].dropna().droplevel(0).to_dict()


def fill_with_pandas(raw: Raw) -> dict:
    of_campaign = raw.events["platform:event_campaign_id"].eq(CAMPAIGN) & raw.events["status"].eq("confirmed")
    limited = raw.events[of_campaign & raw.events["capacity"].notna()]
    sums = limited.groupby("location.region")[["total_accepted", "capacity"]].sum()
    return (sums["total_accepted"] / sums["capacity"]).to_dict()


def exported_of_a_campaign(archive: of.Archive, to: Path) -> dict:
    """Return how many rows of each table an export of a campaign has."""
    with pytest.warns(of.SourceWarning, match="left out: petitions, signatures"):
        archive.where(campaign=CAMPAIGN).export(to)
    names = "events", "attendances", "people", "actions", "signatures"
    files = {name: to / f"{name}.parquet" for name in names}
    return {name: len(pd.read_parquet(file)) for name, file in files.items() if file.exists()}


def exported_with_pandas(raw: Raw) -> dict:
    part = raw.in_part()
    return {
        "events": raw.events["platform:event_campaign_id"].eq(CAMPAIGN).sum(),
        "attendances": part["act"].eq("rsvped").sum(),
        "people": part["person"].nunique(),
        "actions": len(part),
    }


ANSWERS: dict[Callable, Callable] = {
    by_source_of_a_campaign: by_source_with_pandas,
    people_of_a_campaign: people_with_pandas,
    new_by_a_petition: new_with_pandas,
    returning_of_a_campaign: returning_with_pandas,
    tags_of_a_petition: tags_with_pandas,
    rsvps_of_cancelled_events: cancelled_with_pandas,
    regions_of_signers_in_a_period: regions_with_pandas,
    rsvps_of_a_campaign_in_a_period: period_with_pandas,
    fill_of_confirmed_events: fill_with_pandas,
}


@pytest.mark.parametrize("question", ANSWERS, ids=lambda question: question.__name__)
def test_an_answer_with_filters_is_that_of_pandas_alone(question: Callable, archive, raw) -> None:
    expected = ANSWERS[question](raw)
    assert expected
    assert question(archive) == expected


def test_an_export_of_a_part_has_the_rows_that_pandas_alone_finds(archive, raw, tmp_path: Path) -> None:
    assert exported_of_a_campaign(archive, tmp_path / "out") == exported_with_pandas(raw)
