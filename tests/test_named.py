"""Petitions and campaigns are asked for by an id or a title, as by a look at the unfiltered tables."""

import tempfile
import unicodedata
from functools import partial
from operator import eq
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import osdi_frames as of
from osdi_frames.errors import UnknownValue
from osdi_frames.messages import shorten_apart
from tests.commands import run
from tests.layouts import lines

#: Titles that a careless comparison confuses; one is also an id.
TITLES = [
    "Save the park",
    "save the park",
    " Save  the park\n",
    "Save the parking lot",
    "Café",
    "Cafe\u0301",
    "CAFÉ au lait",
]
TITLES += ["Straße", "STRASSE 9", "b", "\ufb01x it", None, " "]
IDS = ["a", "b", "c", "d"]
#: Of each filter the collection of things, the table that is read, and how one row of it refers to a thing.
KINDS = {
    "petition": (
        "osdi:petitions",
        "signatures",
        lambda id_: [{"osdi:signature": {"action_network:petition_id": id_}}],
    ),
    "campaign": (
        "action_network:event_campaigns",
        "events",
        lambda id_: {
            "title": "E",
            "total_accepted": 1,
            "identifiers": [f"platform:of-{id_}"],
            "action_network:event_campaign_id": id_,
        },
    ),
}
SPELLINGS = [
    str,
    str.swapcase,
    str.strip,
    partial(unicodedata.normalize, "NFD"),
    lambda text: text[: len(text) // 2],
    lambda text: f"  {text} ",
]


def thing(collection, id_, title, day):
    """Return a page with one version of a petition or campaign."""
    found = {"identifiers": [f"platform:{id_}"], "title": title, "modified_date": f"2026-05-0{day}T10:00:00Z"}
    return {"_embedded": {collection: [found]}}


petition = partial(thing, "osdi:petitions")
SIGNED = [KINDS["petition"][2](id_) for id_ in IDS]


@st.composite
def worlds(draw):
    """Return a filter, documents of things with several versions and of what refers to them, and a name to ask for."""
    by = draw(st.sampled_from([*KINDS]))
    collection, _, refers = KINDS[by]
    versions = st.tuples(st.sampled_from(IDS[:3]), st.sampled_from(TITLES), st.integers(1, 9))
    documents = [refers(id_) for id_ in IDS]
    for id_, title, day in draw(st.lists(versions, max_size=6, unique_by=lambda one: one[::2])):
        documents.append(thing(collection, id_, title, day))
    name = st.sampled_from(IDS) | st.builds(
        lambda change, title: change(title), st.sampled_from(SPELLINGS), st.sampled_from(TITLES[:-2])
    )
    return by, draw(st.permutations(documents)), draw(name | st.sampled_from(["", "nowhere"]))


def looked_up(archive, by, name):
    """Return the id that a name means, by the titles that things have now; None for no id or several."""
    table = {"petition": "petitions", "campaign": "event_campaigns"}[by]
    frame = archive.table(table).dropna(subset="title").set_index(table.removesuffix("s") + "_id")

    def plain(text):
        return unicodedata.normalize("NFC", " ".join(text.split()))

    def small(text):
        return plain(plain(text).casefold())

    if name in IDS:
        return name
    for form, is_it in ((plain, eq), (small, str.startswith)):
        found = [
            id_ for id_, title in frame["title"].items() if form(name) and is_it(form(title), form(name))
        ]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def doors(path, by, name, folder):
    """Yield the ids that each way to the rows gives, computed when it is asked for."""
    table, column = KINDS[by][1], {"petition": "petition_id", "campaign": "event_campaign_id"}[by]

    def ids(frame):
        return [*frame[column]]

    def exported():
        ran = run("export", path, folder / "out", "--overwrite", "--table", table, f"--{by}", name)
        if ran.returncode:
            raise UnknownValue(ran.stderr)
        return ids(pd.read_parquet(folder / "out" / f"{table}.parquet"))

    def stored():
        return ids(of.open(path, store=folder / "store").where(**{by: name}).table(table, [column]))

    archive = of.open(path).where(**{by: [name]})
    yield lambda: ids(archive.table(table))
    yield lambda: ids(archive.table(table, [column], dedupe=False))
    yield stored
    yield stored  # of resolved rows
    yield lambda: ids(archive.dask(table, [column], npartitions=3).compute(scheduler="sync"))
    yield lambda: [id_ for part in archive.partitions(count=3) for id_ in ids(part.table(table, [column]))]
    yield exported


@given(world=worlds())
@settings(max_examples=8, phases=[Phase.generate, Phase.explicit])  # to shrink a failure takes minutes
@example(world=("petition", [petition("a", "Park", 2), petition("a", "River", 1), *SIGNED], "river"))
@example(world=("petition", SIGNED, "Park"))
@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")  # a part can have no rows
def test_a_name_is_an_id_or_a_title_that_things_have_now_whichever_way_they_are_read(world):
    by, documents, name = world
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "archive.ndjson")
        path.write_bytes(lines(documents))
        expected = looked_up(of.open(path), by, name)
        for way in doors(path, by, name, Path(temporary)):
            if expected is None:
                with pytest.raises(UnknownValue, match=rf"no {by} is |titles of \d {by}s (are|begin with) "):
                    way()
            else:
                assert way() == [expected]


def test_several_titles_are_listed_with_their_ids_and_so_that_they_differ():
    long = "Protect the old forest and all who live in it from the new motorway: "
    titles = {"d": f"{long}north", "a": f"{long}south", "b": "Picnic"}
    archive = of.open([petition(id_, title, 1) for id_, title in titles.items()])
    with pytest.raises(UnknownValue) as raised:
        archive.where(petition="protect").petitions()
    assert str(raised.value) == (
        "the titles of 2 petitions begin with 'protect'; give an id: "
        f"a ({long[:60]}…south), d ({long[:60]}…north)"
    )
    with pytest.raises(UnknownValue, match=r"^no petition is 'pic nic'; nearest: b \(Picnic\)$"):
        archive.where(petition=["a", "pic nic"]).petitions()
    assert [*archive.where(petition=["a", "picnic", "Picnic"]).petitions()["petition_id"]] == ["a", "b"]


def test_without_deduplication_a_version_of_a_petition_is_asked_for_by_any_title_it_had():
    versions = [petition("a", "Park", 1), petition("a", "River", 2)]
    found = of.open(versions).where(petition="park").petitions(["title"], dedupe=False)
    assert [*found["title"]] == ["Park", "River"]


def test_a_check_needs_no_titles():
    assert of.open([petition("a", "Park", 1)]).where(petition="Park").check().empty


@given(texts=st.lists(st.text("ab…", max_size=9)), most=st.integers(2, 4))
@settings(max_examples=200)
def test_different_texts_stay_different_when_they_are_cut(texts, most):
    shown = shorten_apart(texts, most)
    assert len({*shown}) == len({*texts})
    assert all(text[:most] == form[: len(text[:most])] for text, form in zip(texts, shown, strict=True))
