"""Every figure of the sample's page is computed a second time, by hand, from the JSON of the sample.

`by_hand` reads the JSON, `figures_by_hand` and `people_by_hand` say what each figure is; none uses osdi_frames.
"""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import osdi_frames as of
from tests.page import by_hand
from tests.page import figures_by_hand as figures
from tests.page import people_by_hand as people
from tests.page.figures_by_hand import Cells, Table

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
#: The tables of the page that are not computed here, and why.
NOT_COMPUTED = {"reading": "what was read: it counts keys and problems of documents, not people or acts"}
#: Tables whose first labels are codes, of which a page shows the most frequent spelling.
SPELLED = {
    *("changes_by_source", "attribution", "growth_by_source"),
    *("attendances_by_source", "attendances_by_referrer", "signatures_by_source", "signatures_by_referrer"),
}
OF_EVENTS = "Events|RSVPs|Limited events|Limited RSVPs|Capacity|Fill rate|First start|Last start"
CAME = "RSVPs|Attended|Attended of|Attended share"
OF_ATTENDANCES = f"{CAME}|People|New|Share|First|Last"
OF_SIGNATURES = "Signatures|People|New|Share|First|Last"
COMPARED = "Before|Now|Change|Change in %|Can be chance"
#: The headings of each table, so that no figure stands under the name of another.
HEADINGS = {
    "changes": f"Figure|{COMPARED}",
    "changes_by_source": f"Source|{COMPARED}",
    "changes_by_title": f"Action|Title|{COMPARED}",
    "news": "Title|Kind|News|Date",
    "upcoming": "Title|Start date|Place|RSVPs|Capacity|Fill rate|Seats left|Status",
    "rsvps_by_campaign": f"Campaign|{OF_EVENTS}",
    "rsvps_by_region": f"Country|Region|{OF_EVENTS}",
    "rsvps_by_month": f"Month|{OF_EVENTS}",
    "attendances_by_source": f"Source|{OF_ATTENDANCES}",
    "attendances_by_referrer": f"Referrer|{OF_ATTENDANCES}",
    "attendances_by_region": f"Country|Region|{OF_ATTENDANCES}",
    "attendances_by_month": f"Month|{CAME}|People|New|Cumulative",
    "signatures_by_petition": f"Petition|{OF_SIGNATURES}",
    "signatures_by_source": f"Source|{OF_SIGNATURES}",
    "signatures_by_referrer": f"Referrer|{OF_SIGNATURES}",
    "signatures_by_website": f"Website|{OF_SIGNATURES}",
    "signatures_by_region": f"Country|Region|{OF_SIGNATURES}",
    "signatures_by_month": "Month|Signatures|People|New|Cumulative",
    "engagement": "Month|People|First|New|Known|Retained|Back|Lapsed|Actions",
    "growth_by_title": "Action|Title|New|Now|First|Unknown",
    "growth_by_source": "Source|New|Now|First|Unknown",
    "funnel": "Step|People|Of the first step|Of the step before|At least (95%)|At most (95%)|Median days",
    "attribution": "Source|People by first touch|Share|People by last touch|Share",
    "retention": "|".join(["Month", "People", *map(str, range(13))]),
    "people_by_level": "Level|Before|Now|First|Up|Down|Lapsing",
    "repeats": "Participations|People|Share",
    "acts_by_title": "Action|Title|Acts|Participations|People|First|Last",
    "amounts_by_title": "Action|Title|Gifts|USD",
}
PRINTED = 10  # rows of a table before its row `(other: …)`


class Page(HTMLParser):
    """The cells of each table, by the section that it is in; the headline figures, and the notes above them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.tables: dict[str, list[list[str]]] = {}
        self.headline: list[list[str]] = []
        self.notes: list[str] = []
        self._section = ""
        self._text: list[str] | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section":
            self._section = given.get("id") or ""
        elif tag == "table":
            assert self._section not in self.tables, "two tables in a section"
            self.tables[self._section] = []
        elif tag == "tr":
            self.tables[self._section].append([])
        elif tag == "dt" and self._section == "headline":
            self.headline.append([])
        elif tag in ("header", "nav"):
            self._section = tag
        if tag in ("td", "th", "dt", "dd", "p"):
            self._text = []

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._text is None or tag not in ("td", "th", "dt", "dd", "p"):
            return
        text = "".join(self._text).replace("\u00a0", " ").strip()
        self._text = None
        if tag in ("td", "th"):
            self.tables[self._section][-1].append(text)
        elif tag in ("dt", "dd") and self._section == "headline":
            self.headline[-1].append(text)
        elif tag == "p" and self._section == "notes":
            self.notes.append(text)


@pytest.fixture(scope="module")
def page(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Return the page of the sample as of the day of its last pull, so that there are events to come."""
    folder = tmp_path_factory.mktemp("second") / "out"
    of.write_report(data, folder, formats=(), now=NOW)
    return Page((folder / "report.html").read_text("utf-8"))


@pytest.fixture(scope="module")
def things(data: Path) -> dict[str, pd.DataFrame]:
    return by_hand.read(data)


@pytest.fixture(scope="module")
def acts(things: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return figures.all_acts(things, by_hand.SUBJECTS)


@pytest.fixture(scope="module")
def computed(things: dict[str, pd.DataFrame], acts: pd.DataFrame) -> dict[str, Table]:
    return (
        of_events(things) | of_signatures(things, acts) | of_attendances(things, acts) | of_acts(things, acts)
    )


def of_events(things: dict[str, pd.DataFrame]) -> dict[str, Table]:
    """Return the tables of events."""
    events = figures.counted_events(things["event"])
    campaign = events["event_campaign_id"].map(figures.titles(things["event_campaign"])).map(figures.text)
    region = figures.regions(events)
    month = events["start_date"].map(figures.month)
    return {
        "rsvps_by_campaign": figures.grouped(events, [campaign], figures.of_events),
        "rsvps_by_region": figures.grouped(events, region, figures.of_events),
        "rsvps_by_month": figures.grouped(events, [month], figures.of_events),
        "upcoming": figures.upcoming(events, pd.Timestamp(NOW).normalize()),
    }


def of_attendances(things: dict[str, pd.DataFrame], acts: pd.DataFrame) -> dict[str, Table]:
    """Return the tables of attendances."""
    counted = figures.counted_attendances(things["attendance"], things["event"])
    rows = figures.with_brought(counted, acts, "rsvped")
    measure = figures.of_attendances(rows)
    keys = {name: [rows[name].map(figures.code)] for name in ("source", "referrer")}
    keys["region"] = figures.regions(rows)
    tables = {f"attendances_by_{name}": figures.grouped(rows, key, measure) for name, key in keys.items()}
    month, by_month = rows["created_date"].map(figures.month), figures.by_month(rows, figures.came)
    return tables | {"attendances_by_month": figures.grouped(rows, [month], by_month)}


def of_signatures(things: dict[str, pd.DataFrame], acts: pd.DataFrame) -> dict[str, Table]:
    """Return the tables of signatures."""
    rows = figures.with_brought(figures.counted_signatures(things["signature"]), acts, "signed")
    measure = figures.of_signatures(rows)
    keys = {name: [rows[name].map(figures.code)] for name in ("source", "referrer")}
    keys["website"] = [rows["website"].map(figures.host)]
    keys["region"] = figures.regions(rows)
    keys["petition"] = [rows["petition_id"].map(figures.titles(things["petition"])).map(figures.text)]
    tables = {f"signatures_by_{name}": figures.grouped(rows, key, measure) for name, key in keys.items()}
    by_month = figures.by_month(rows, lambda some: [figures.number(len(some))])
    month = rows["created_date"].map(figures.month)
    return tables | {"signatures_by_month": figures.grouped(rows, [month], by_month)}


def of_acts(things: dict[str, pd.DataFrame], acts: pd.DataFrame) -> dict[str, Table]:
    """Return the tables of what changed, and of people."""
    newest = acts["date"].max()
    assert newest <= acts["seen"].max() + figures.DAY  # no date of the sample is set aside
    return {
        "changes": figures.changes(acts),
        "changes_by_source": figures.changes_by(acts[acts["action"] != "attended"], "source"),
        "changes_by_title": figures.changes_by(acts, "action", "title"),
        "news": figures.news(things, acts),
        "engagement": people.engagement(acts),
        "growth_by_title": people.growth(acts, ("action", figures.shown), ("title", str)),
        "growth_by_source": people.growth(acts, ("source", figures.code)),
        "funnel": people.funnel(acts, newest),
        "attribution": people.attribution(acts),
        "retention": people.retention(acts),
        "people_by_level": people.people_by_level(acts, newest),
        "repeats": people.repeats(acts),
        "acts_by_title": people.written(acts),
        "amounts_by_title": people.amounts(acts),
    }


def compared(name: str, shown: list[list[str]], table: Table) -> list[tuple[Cells, Cells, Cells]]:
    """Return of each row of a table of the page its labels, its cells, and those that are computed by hand.

    A row that only one of both has is compared with nothing.
    """
    by_hand, size = dict(table.rows), len(next(iter(table.rows)))
    body = [row for row in shown[1:] if not re.match(r"\(other: |Total", row[0])]
    labels = [tuple(map(figures.code, row[:size])) if name in SPELLED else tuple(row[:size]) for row in body]
    if name.endswith("_by_region"):  # regions are computed as codes
        labels = [(country, re.sub(r".+ \((\w+)\)", r"\1", region)) for country, region in labels]
    cells = [by_hand.pop(label, []) for label in labels]
    rest = labels[PRINTED:]
    for row in shown[1 + len(body) :]:
        several = labels if row[0].startswith("Total") else rest
        is_so_many = several is labels or row[0] == f"(other: {len(rest):,})"
        cells.append(table.together(several) if table.together and is_so_many else [])
    missing = [([*label], Cells(), of) for label, of in by_hand.items()]
    return [*((row[:size], row[size:], of) for row, of in zip(shown[1:], cells, strict=True)), *missing]


def test_every_cell_of_every_table_is_as_computed_by_hand(page: Page, computed: dict[str, Table]) -> None:
    """No table of the page is left out, and of a table no row, those that are folded among them, and no column."""
    assert page.tables.keys() == HEADINGS.keys() | NOT_COMPUTED.keys()
    assert computed.keys() == HEADINGS.keys()
    assert {name: "|".join(page.tables[name][0]) for name in HEADINGS} == HEADINGS
    rows = [
        (name, *row) for name, table in computed.items() for row in compared(name, page.tables[name], table)
    ]
    wrong = [f"{name} {row}: {shown}, by hand {cells}" for name, row, shown, cells in rows if shown != cells]
    assert not wrong, "\n".join(wrong)
    numbers = [cell for _, _, shown, _ in rows for cell in shown if has_digit(cell)]
    assert len(numbers) == numbers_on(page.html), "a number of the page is compared with nothing"
    assert len(numbers) > 6000


def has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def numbers_on(html: str) -> int:
    """Count the cells with a digit that are no labels, in the whole page but for its part on what was read."""
    reports, _, _ = html.partition('<section id="reading"')
    return sum(
        has_digit(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", reports)
    )


def test_the_figures_at_the_top_are_as_computed_by_hand(
    page: Page, things: dict[str, pd.DataFrame], acts: pd.DataFrame
) -> None:
    assert page.headline == figures.headline(things, acts)
    assert page.notes[0].startswith(figures.not_counted(things))
    _, figure, note = page.headline[2]
    share, _, of_check_ins = note.partition(" of ")
    assert page.notes[1] == f"Attended: {figure} of {of_check_ins} ({share})"


TILE = re.compile(
    r"<li>\s*<span>(.*?)</span>\s*<strong>(.*?)</strong>\s*<span>(.*?)</span>.*?: (.*?)</title>", re.DOTALL
)


def test_tiles_curves_and_sentences_are_as_computed_by_hand(
    page: Page, computed: dict[str, Table], acts: pd.DataFrame, things: dict[str, pd.DataFrame]
) -> None:
    weekly, changes = figures.weekly(acts, 26), computed["changes"].rows
    names = sorted(figures.ORDER, key=lambda action: -sum(weekly[action]))[:4]
    tiles = TILE.findall(page.html)
    assert [name for name, *_ in tiles] == [
        figures.shown(name).capitalize() if name != "rsvped" else "RSVPed"
        for name in ("people", "first time", *names)
    ]
    for (_, count, change, curve), figure in zip(tiles, ("people", "first time", *names), strict=True):
        assert curve == ", ".join(map(str, weekly[figure]))
        _, now, moved, _, by_chance = changes[figures.shown(figure),]
        assert (count, change) == (now, moved + (", can be chance" if by_chance else ""))
    start = figures.Weeks.of(acts).start
    first, last = (f"{start + n * figures.DAY:%Y-%m-%d}" for n in (7, 13))
    before, now = weekly["people"][-2:]
    titles, sources = ({**computed[f"changes_by_{by}"].rows} for by in ("title", "source"))
    (_, title), most = max(titles.items(), key=lambda pair: int(pair[1][1]))
    none = sources.pop(("(none)",))
    rising = [(source, row) for (source,), row in sources.items() if not row[4]]
    source, row = max(rising, key=lambda pair: int(pair[1][2]))
    new, new_now, first_now, unknown = (
        {source: int(row[at]) for (source,), row in computed["growth_by_source"].rows.items()}
        for at in range(4)
    )
    assert sum(first_now.values()) == weekly["first time"][-1]
    assert sum(new_now.values()) == 0
    (total_first, brought_first), (total, brought) = map(by_source, (first_now, new))
    never_known = (acts["is_first"] & ~acts["is_known"]).sum()
    hosted = acts[acts["action"] == "hosted"].drop_duplicates(["person", "subject"])["person"]
    most_hosted = hosted.value_counts().max()
    said = re.findall(r'<p class="said"><bdi>(.*?)</bdi>', page.html)
    assert [*map(plain, said)] == [
        f"{now} people took part {first} to {last}, {now - before} more than before.",
        f"{total_first} of them took part for the first time ({brought_first}).",
        (
            f"Of the {total_first}, {total_first - sum(unknown.values())} were listed before; "
            f"of {sum(unknown.values())} it is not known whether they are new."
        ),
        f"{most[1]} RSVPs are to {title}, {int(most[2])} more than before.",
        f"{source} rose most, from {row[0]} to {row[1]} acts; without a source, {none[0]} to {none[1]}.",
        "2026-07-27 to 2026-07-31 not compared: the period may not have ended.",
        f"In all, {total} are known to be new ({brought.partition(',')[0]}); of {never_known:,} it is not known.",
        f"In all, {hosted.nunique()} people hosted, one of them {most_hosted} events (names: --report hosts).",
    ]
    to_come = page.html.partition('class="to-come"')[2].partition("</ul>")[0]
    assert [plain(sentence) for sentence in re.findall("<li>(.*?)</li>", to_come)] == figures.days_to_come(
        figures.counted_events(things["event"]), pd.Timestamp(NOW).normalize()
    )


def by_source(counts: dict[str, int]) -> tuple[int, str]:
    """Return how many people came, and how many by the first source of those that brought most, and without any."""
    named = {source: count for source, count in counts.items() if source != "(none)"}
    most = max(named, key=named.__getitem__)
    return sum(counts.values()), f"{named[most]} by {most}, {counts['(none)']} without a source"


def plain(text: str) -> str:
    """Return the text of an element without the tags of its dates."""
    return html.unescape(re.sub("</?time>", "", text))


def test_a_changed_cell_is_found(page: Page, computed: dict[str, Table]) -> None:
    """A comparison that finds nothing could be one that looks at nothing."""
    for name in ("funnel", "repeats", "people_by_level", "changes"):
        shown, size = page.tables[name], len(next(iter(computed[name].rows)))
        changed = [
            [*shown[:at], [*row[:place], f"{row[place]}1", *row[place + 1 :]], *shown[at + 1 :]]
            for at, row in enumerate(shown[1:], 1)
            for place in range(size, len(row))
        ]
        for table in (*changed, [*shown[:2], *shown[3:]], [*shown[:2], *shown[1:]]):
            assert any(cells != by_hand for _, cells, by_hand in compared(name, table, computed[name]))
