"""A filter keeps the rows that a join of the unfiltered tables keeps, whatever else is read, and however."""

import warnings
from datetime import timedelta

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames.errors import SourceWarning
from osdi_frames.tables import TABLES

SERVICE = "https://service.example/api/v2"
EVERY = [*TABLES]
#: The tables that each filter leads to; a period leads to all.
CHILDREN = {
    "events": ["event_reminders", "event_identifiers", "event_people"],
    "signatures": [name for name in EVERY if name.startswith("signature_")],
}
ACTED = ["people", "taggings", "actions"]
LED_TO = {
    "campaign": ["event_campaigns", "events", *CHILDREN["events"], "attendances", *ACTED],
    "status": ["events", *CHILDREN["events"], "attendances", *ACTED],
    "petition": ["petitions", "signatures", *CHILDREN["signatures"], *ACTED],
}
ACTS = ["attendances", "signatures", "submissions", "donations", "outreaches", "responses"]
DATES = {"events": "start_date", **dict.fromkeys([*ACTS, "taggings"], "created_date"), "actions": "date"}
OF_EVENTS = ["hosted", "rsvped", "attended"]


def led_to(filters):
    """Return the tables that all filters lead to, in order."""
    return [name for name in EVERY if all(name in LED_TO.get(by, EVERY) for by in filters)]


def joined(tables, filters):
    """Filter unfiltered tables as an analyst does: by columns, by joins, and by dates at last."""
    kept = {name: tables[name] for name in led_to(filters)}
    actions = kept["actions"]
    for by, column in {"campaign": "event_campaign_id", "status": "status"}.items():
        if by in filters:
            kept["events"] = among(kept["events"], column, filters[by])
            if "event_campaigns" in kept:
                kept["event_campaigns"] = among(kept["event_campaigns"], column, filters[by])
            ids = kept["events"]["event_id"].dropna()
            kept["attendances"] = among(kept["attendances"], "event_id", ids)
            actions = among(actions[actions["action"].isin(OF_EVENTS)], "subject_id", ids)
    if "petition" in filters:
        for name in ("petitions", "signatures"):
            kept[name] = among(kept[name], "petition_id", filters["petition"])
        actions = among(actions[actions["action"] == "signed"], "subject_id", filters["petition"])
    kept["actions"] = actions
    for name in DATES.keys() & kept.keys():
        kept[name] = in_period(kept[name], DATES[name], filters)
    kept["people"] = among(kept["people"], "person_id", kept["actions"]["person_id"].dropna())
    if filters.keys() - {"since", "until"}:
        kept["taggings"] = among(kept["taggings"], "person_id", kept["people"]["person_id"])
    for name in kept:
        main = next((of for of in kept if TABLES[of].element == TABLES[name].element), name)
        if main != name:
            keys = [column.name for column in TABLES[name].keys]
            kept[name] = kept[name][rows(kept[name], keys).isin(rows(kept[main], keys))]
    return {name: frame.reset_index(drop=True) for name, frame in kept.items()}


def among(frame, column, values):
    return frame[frame[column].isin([*values])]


def rows(frame, columns):
    return frame[columns].astype("str").agg(" ".join, axis=1) if len(frame) else pd.Series(dtype="str")


def in_period(frame, column, filters):
    zone = frame[column].dt.tz
    for by, sign in (("since", 1), ("until", -1)):
        if by in filters:
            bound = pd.Timestamp(filters[by], tz=zone) + timedelta(days=by == "until")
            frame = frame[frame[column] >= bound if sign > 0 else frame[column] < bound]
    return frame


def check(archive, filters, names, unfiltered):
    """Compare tables that are read in one pass with the join of the unfiltered ones."""
    expected = joined(unfiltered, filters) if filters else unfiltered
    with warnings.catch_warnings(action="ignore", category=SourceWarning):  # nothing was found of a type
        found = archive.where(**filters).tables(names)
    for name in names:
        assert_frame_equal(found[name], expected[name], obj=f"{name} of {filters}")


# ----------------------------------------------------------------------------------- archives by chance


def resource(kind, number, /, **fields):
    return {"identifiers": [f"platform:{kind}{number}"], "title": f"{kind} {number}", **fields}


def day(number):
    return number and f"2026-05-{number:02}T10:00:00Z"


def linked(**ids):
    plurals = {"person": "people"}
    return {
        f"osdi:{kind}": {"href": f"{SERVICE}/{plurals.get(kind, f'{kind}s')}/{own}"}
        for kind, own in ids.items()
        if own
    }


def act(kind, number, created, links, **fields):
    known = {
        "identifiers": [f"platform:{kind}{number}"],
        "created_date": day(created),
        "_links": linked(**links),
    }
    return [{f"osdi:{kind}": known | fields, "idempotency_key": f"{kind}{number}"}]


DAYS = st.one_of(st.none(), st.integers(1, 9))
PEOPLE = st.sampled_from([None, "person0", "person1", "person2", "person3"])
STATUSES = st.sampled_from([None, "confirmed", "tentative", "cancelled"])


@st.composite
def archives(draw):
    """Return documents of events with versions, acts, taggings, people, and what they refer to, in any order."""

    def several(least, most, *values):
        return enumerate(draw(st.lists(st.tuples(*values), min_size=least, max_size=most)))

    found = []
    campaigns = st.sampled_from([None, "c", "d"])
    for number, (campaign, status, start, host, moves) in several(
        1, 4, campaigns, STATUSES, DAYS, PEOPLE, campaigns
    ):
        for version, of_campaign in enumerate([campaign, moves] if moves else [campaign]):
            event = resource("event", number, start_date=day(start), status=status, total_accepted=1)
            event |= {"platform:event_campaign_id": of_campaign, "reminders": [{"minutes": number}]}
            event |= {"created_date": day(2), "modified_date": day(2 + version)}
            found.append(
                event | {"_links": {"osdi:creator": linked(person=host).get("osdi:person")} if host else {}}
            )
    events = st.sampled_from([None, "event0", "event1", "event2", "event9"])
    came = st.sampled_from([None, "accepted", "attended", "declined"])
    for number, (event, person, created, status) in several(1, 6, events, PEOPLE, DAYS, came):
        found.append(act("attendance", number, created, {"event": event, "person": person}, status=status))
    petitions = st.sampled_from([None, "p", "q"])
    for number, (petition, person, created) in several(1, 5, petitions, PEOPLE, DAYS):
        links, person_of = {"petition": petition, "person": person}, {"given_name": f"Name {number}"}
        found.append(act("signature", number, created, links, add_tags=[f"t{number}"], person=person_of))
    for number, (person, created) in several(0, 2, PEOPLE, DAYS):
        found.append(act("submission", number, created, {"form": "f", "person": person}))
    taggings = [
        resource("tagging", number, created_date=day(created), _links=linked(tag="t", person=person))
        for number, (person, created) in several(0, 3, PEOPLE, DAYS)
    ]
    people = [
        resource("person", number, created_date=day(created)) for number, (created,) in several(0, 4, DAYS)
    ]
    named = {
        "osdi:petitions": [{"identifiers": [f"platform:{own}"], "title": own} for own in "pqz"],
        "action_network:event_campaigns": [
            {"identifiers": [f"platform:{own}"], "title": own} for own in "cdx"
        ],
        "osdi:taggings": taggings,
        "osdi:people": people,
    }
    found += [{"_embedded": {collection: some}} for collection, some in named.items() if some]
    return draw(st.permutations(found))


SINCE, UNTIL = (
    st.integers(1, 5).map(lambda n: f"2026-05-0{n}"),
    st.integers(5, 9).map(lambda n: f"2026-05-0{n}"),
)
PERIOD = st.fixed_dictionaries({}, optional={"since": SINCE, "until": UNTIL})
SOME = {
    "campaign": st.sampled_from([["c"], ["d"], ["c", "d"], ["x"]]),
    "status": st.sampled_from([["tentative"], ["confirmed", "cancelled"]]),
    "petition": st.sampled_from([["p"], ["p", "q"], ["z"]]),
}
OF_ONE = st.fixed_dictionaries({}, optional={name: SOME[name] for name in ("campaign", "status")})
FILTERED = st.builds(
    lambda period, one: period | one,
    PERIOD,
    st.one_of(OF_ONE, st.fixed_dictionaries({"petition": SOME["petition"]})),
)


@given(documents=archives(), chosen=st.lists(FILTERED, min_size=2, max_size=2), data=st.data())
@settings(max_examples=8)
def test_a_filtered_table_is_the_join_of_the_unfiltered_ones_whatever_else_is_read(documents, chosen, data):
    archive = of.open(documents)
    unfiltered = archive.tables()
    for filters in chosen:
        names = led_to(filters)
        check(archive, filters, names, unfiltered)
        some = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        check(archive, filters, some, unfiltered)


@pytest.mark.long
@given(documents=archives(), filters=FILTERED)
@settings(max_examples=300)
def test_every_table_alone_is_the_join_of_the_unfiltered_ones(documents, filters):
    archive = of.open(documents)
    unfiltered = archive.tables()
    for name in led_to(filters):
        check(archive, filters, [name], unfiltered)
