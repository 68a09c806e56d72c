"""Small counts of one report: whoever solves for them with all that is published of it finds none.

Archives are made by chance and reported with `min_count`. The numbers are read back from where they are published,
as equations over unknown counts: of each event, or of each combination of values that the published rows name. Then
the smallest and the largest whole number are sought that each small hidden count can be: there must be two.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup
from matplotlib.axes import Axes
from scipy.optimize import LinearConstraint, milp

import osdi_frames as of
from osdi_frames import page
from osdi_frames.reports import NONE, REPORTS, Report
from osdi_frames.reports.declared import COUNTED_SIGNATURES, KEYED, STANDARD
from osdi_frames.reports.titles import heading

BELOW = 5

COUNTRY = Report(COUNTED_SIGNATURES, "signatures_by_country", "Signatures by country", "location_country")
PAIRS = Report(COUNTED_SIGNATURES, "signatures_by_pair", "Signatures by pair", ["source", "referrer"])
DAYS = next(report for report in REPORTS if report.name == "signatures_over_time")
MORE = (COUNTRY, PAIRS, DAYS)

# Archives

REGIONS = st.sampled_from([("US", "CA"), ("US", "NV"), ("CA", "ON"), ("CA", "QC"), ("MX", "BC")])
MONTHS = st.sampled_from(["2026-03", "2026-04", "2026-05"])
COUNTS = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 12, 40])

EVENTS = st.fixed_dictionaries(
    {
        "campaign": st.sampled_from([None, "river", "forest", "meadow"]),
        "region": REGIONS,
        "month": MONTHS,
        "rsvps": COUNTS,
        "before": st.none() | COUNTS,
        "pulled": st.booleans(),
        "capacity": st.sampled_from([None, None, 4, 50]),
    }
)
ACTS = st.fixed_dictionaries(
    {
        "count": st.sampled_from([1, 1, 2, 3, 4, 6, 11]),
        "one_person": st.booleans(),
        "petition": st.sampled_from([None, "park", "bike"]),
        "source": st.sampled_from([None, "mail", "web", "flyer"]),
        "referrer": st.sampled_from([None, "club", "union"]),
        "region": REGIONS,
        "month": MONTHS,
        "day": st.sampled_from(["05", "06"]),
        "event": st.sampled_from([None, "e0", "e1", "e9"]),
        "status": st.sampled_from([None, "accepted", "attended"]),
    }
)
ARCHIVES = st.fixed_dictionaries(
    {
        "events": st.lists(EVENTS, max_size=9),
        "signatures": st.lists(ACTS, max_size=9),
        "attendances": st.lists(ACTS, max_size=5),
    }
)
#: Other acts, of which nothing is published.
OTHERS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["submission", "donation", "outreach"]),
            "count": st.integers(1, 6),
            "one_person": st.booleans(),
            "month": MONTHS,
        }
    ),
    max_size=5,
)
#: Days before the last of the events and acts, so that some are to come.
NOW = "2026-05-01"


def documents(archive: dict[str, Any]) -> Iterator[Any]:
    """Yield the documents of an archive: deliveries, and events, most in the second of two pulls, some in both."""
    for number, entry in enumerate(archive["events"]):
        country, region = entry["region"]
        event = {
            "identifiers": [f"platform:e{number}"],
            "start_date": f"{entry['month']}-{number + 1:02}T18:00:00Z",
            "platform:event_campaign_id": entry["campaign"],
            "total_accepted": entry["rsvps"],
            "capacity": entry["capacity"],
            "location": {"country": country, "region": region, "location": place(region)},
        }
        if not entry["pulled"]:
            yield event
            continue
        if entry["before"] is not None:
            body = {**event, "total_accepted": entry["before"]}
            yield {"fetched_at": "2026-02-01T06:00:00Z", "body": body}
        yield {"fetched_at": "2026-02-08T06:00:00Z", "body": event}
    for kind in ("signature", "attendance"):
        for number, act in enumerate(acts(archive[f"{kind}s"])):
            yield [{f"osdi:{kind}": element(kind, number, act), "idempotency_key": f"{kind}{number}"}]


def place(region: str) -> dict[str, float]:
    return {"latitude": 30.0 + len(region) + ord(region[0]) / 10, "longitude": -100.0}


def acts(groups: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each act of some groups, with its person."""
    for number, group in enumerate(groups):
        for one in range(group["count"]):
            yield {**group, "person": f"p{number}" if group["one_person"] else f"p{number}-{one}"}


def element(kind: str, number: int, act: dict[str, Any]) -> dict[str, Any]:
    country, region = act["region"]
    links = {"osdi:person": {"href": f"https://a.example/people/{act['person']}"}}
    if act["petition"] and kind == "signature":
        links["osdi:petition"] = {"href": f"https://a.example/petitions/{act['petition']}"}
    if act["event"] and kind == "attendance":
        links["osdi:event"] = {"href": f"https://a.example/events/{act['event']}"}
    return {
        **({"status": act["status"]} if kind == "attendance" else {}),
        "identifiers": [f"platform:{kind}{number}"],
        "created_date": f"{act['month']}-{act['day']}T10:{number % 60:02}:00Z",
        "platform:referrer_data": {name: act[name] for name in ("source", "referrer") if act[name]},
        "person": {"postal_addresses": [{"country": country, "region": region}]},
        "_links": links,
    }


# What is published

Label = tuple[str, ...]
Rows = dict[Label, int | None]


def label_of(values: Iterable[object]) -> Label:
    """Return the keys of a row as texts; of a time the day."""
    return tuple(re.sub(r"(?<=^\d{4}-\d\d-\d\d)[T ].*", "", str(value)) for value in values)


def rows_of(report: Report, frame: pd.DataFrame) -> Rows:
    keys = [label_of(key if isinstance(key, tuple) else (key,)) for key in frame.index]
    counts = [None if pd.isna(count) else int(count) for count in frame[report.count]]
    return dict(zip(keys, counts, strict=True))


def labels(row: dict[str, Any], report: Report) -> Label:
    """Return the label of the row of a report that something is counted in."""
    country, region = row["region"]
    values = {
        "event_campaign_id": row.get("campaign"),
        "petition_id": row.get("petition"),
        "source": row.get("source"),
        "referrer": row.get("referrer"),
        "website": None,
        "location_country": country,
        "location_region": region,
        "start_date": row["month"],
        "created_date": row["month"],
    }
    if report.kind == "over time":
        return (f"{row['month']}-{row['day']}",)
    return tuple(values[key] or NONE for key in report.keys)


def truth(report: Report, rows: list[dict[str, Any]]) -> dict[Label, tuple[int, int]]:
    """Return the RSVPs or acts of each row of a report, and the people."""
    counts, people = defaultdict(int), defaultdict(set)
    for number, row in enumerate(rows):
        label = labels(row, report)
        counts[label] += row.get("rsvps", 1)
        people[label].add(row.get("person", number))
    return {
        label: (count, len(people[label]) if "person" in rows[0] else count)
        for label, count in counts.items()
    }


# The attack


class Attack:
    """Equations over unknown counts: each is in one row of every report, and rows that are shown have their sums.

    These are rounded down, and the total is known whatever is shown of it.
    """

    def __init__(
        self, unknowns: list[dict[str, Label]], published: dict[str, Rows], total: int, about: set[str]
    ):
        self.unknowns, self.about = unknowns, about
        matrix, low, high = [np.ones(len(unknowns))], [total], [total]
        for name, rows in published.items():
            least = int(name in about)  # of a hidden row, since 0 is shown
            for label, count in rows.items():
                matrix.append(self.row(name, label))
                low.append(least if count is None else count)
                high.append(np.inf if count is None else count + BELOW - 1 if count else 0)
        self.constraint = LinearConstraint(np.array(matrix), low, high)

    def row(self, name: str, label: Label) -> np.ndarray:
        return np.array([float(unknown[name] == label) for unknown in self.unknowns])

    def bounds(self, name: str, label: Label) -> tuple[float, float]:
        """Return the smallest and the largest number that a count can be."""
        found = []
        for sign in (1, -1):
            row = self.row(name, label)
            solved = milp(sign * row, constraints=self.constraint, integrality=np.ones(len(row)))
            assert solved.status in (0, 3), solved.message  # solved, or without bound
            found.append(sign * (np.inf if solved.x is None else round(solved.fun)))
        return found[0], -found[1] if found[1] == np.inf else found[1]


def attacks(
    table: str, rows: list[dict[str, Any]], published: dict[str, Rows], reports: dict[str, Report], total: int
) -> Iterator[Attack]:
    """Yield what somebody can solve.

    Which groups an event is in, anybody can look up. Of acts the published rows say which values there are; these
    can be combined in any way, but for those of reports with a key in common. Somebody may also know which rows of
    two reports have acts in common, and then compare their sums.
    """
    families = [{"signatures_by_region", COUNTRY.name}, {"signatures_by_month", DAYS.name}]
    if PAIRS.name in published:
        families.append({"signatures_by_source", "signatures_by_referrer", PAIRS.name})
    if table == "events":
        families = [set(published)]
    families = [family & set(published) for family in families]
    alone = [{name} for name in published if not any(name in family for family in families)]
    for family in filter(None, [*families, *alone]):
        yield attack(rows, published, reports, total, family, about=family)
    for one, other in itertools.permutations(published, 2):
        yield attack(rows, published, reports, total, {one, other}, about={one})


def attack(
    rows: list[dict[str, Any]],
    published: dict[str, Rows],
    reports: dict[str, Report],
    total: int,
    family: set[str],
    *,
    about: set[str],
) -> Attack:
    """Return the equations of some reports, with an unknown count for each combination of their rows."""
    known = {tuple((name, labels(row, reports[name])) for name in family) for row in rows}
    return Attack([dict(one) for one in known], {name: published[name] for name in family}, total, about)


def assert_open(archive: dict[str, Any], reports: Iterable[Report], found: dict[str, Rows]) -> int:
    """Try to solve for every small hidden count; return how many there are."""
    tried = 0
    for table in ("events", "signatures", "attendances"):
        of_table = {report.name: report for report in reports if report.table == table}
        rows = archive["events"] if table == "events" else list(acts(archive[table]))
        published = {name: found[name] for name in of_table if found.get(name)}
        if not rows or not published:
            continue
        total = sum(row.get("rsvps", 1) for row in rows)
        small = {}
        for name, shown in published.items():
            true = truth(of_table[name], rows)
            assert {label: count for label, count in shown.items() if count} == {
                label: rounded(true[label][0]) for label, count in shown.items() if count
            }
            small[name] = {label for label, (_, people) in true.items() if 0 < people < BELOW}
            assert all(shown[label] is None for label in small[name])
        for each in attacks(table, rows, published, of_table, total):
            for name in each.about:
                for label in small[name]:
                    low, high = each.bounds(name, label)
                    assert low < high, (name, label, published)
                    tried += 1
    return tried


def rounded(count: int) -> int:
    return count // BELOW * BELOW


def assert_pulls_are_apart(archive: dict[str, Any], frame: pd.DataFrame) -> None:
    """Check that nothing small was new from one pull to the next, and from the last to all events."""
    totals = [*frame["rsvps"].dropna(), rounded(sum(event["rsvps"] for event in archive["events"]))]
    assert not {abs(after - before) for before, after in itertools.pairwise(totals)} & {*range(1, BELOW)}


def check_frames(archive: dict[str, Any], more: list[Report]) -> None:
    reports = [*KEYED, *more]
    found = {**of.report(list(documents(archive)), reports=reports, min_count=BELOW)}
    grown = found.pop("rsvps_by_pull", None)
    by_name = {report.name: report for report in reports}
    assert_open(archive, reports, {name: rows_of(by_name[name], frame) for name, frame in found.items()})
    if grown is not None:
        assert_pulls_are_apart(archive, grown)


def other_documents(groups: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """Yield deliveries of other acts, by people who also signed and by others."""
    for number, act in enumerate(acts(groups)):
        made = {
            "identifiers": [f"platform:other{number}"],
            "created_date": f"{act['month']}-04T10:{number % 60:02}:00Z",
            "amount": "12.00",
            "currency": "USD",
            "_links": {"osdi:person": {"href": f"https://a.example/people/{act['person']}"}},
        }
        yield [{f"osdi:{act['kind']}": made, "idempotency_key": f"other{number}"}]


def check_left_out(archive: dict[str, Any], others: list[dict[str, Any]]) -> None:
    """Compare what is published with and without other acts: what is not solved for has no numbers and no people."""
    every = {"compare": "M", "now": NOW}
    alone = [*documents(archive)]
    made, same = (
        of.report(some, min_count=BELOW, **every) for some in ([*alone, *other_documents(others)], alone)
    )
    solved = {report.name for report in KEYED}
    for name, frame in made.items():
        if name not in solved:
            assert frame.select_dtypes("number").empty
            assert set(frame) <= {"kind", "news", "date"}
        elif name in same:
            pd.testing.assert_frame_equal(frame, same[name])
    assert made.summary == same.summary
    assert [*made.notes][:-1] == [*same.notes][:-1]
    left_out = [
        report for report in STANDARD if report.function and report.name not in {*made, "news", "goals"}
    ]
    assert all(report.heading in made.notes[-1] for report in left_out)
    assert {
        "changes",
        "upcoming",
        "people_by_level",
        "growth_by_title",
        "growth_by_source",
        "acts_by_title",
        "amounts_by_title",
    } <= {report.name for report in left_out}


@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")
@settings(max_examples=3)
@given(ARCHIVES, OTHERS)
def test_of_what_no_rule_protects_nothing_is_published(archive, others):
    check_left_out(archive, others)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")
@settings(max_examples=300)
@given(ARCHIVES, OTHERS)
def test_of_what_no_rule_protects_nothing_is_published_of_many_archives(archive, others):
    check_left_out(archive, others)


SOME = st.lists(st.sampled_from(MORE), max_size=3, unique_by=lambda report: report.name)


@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")
@settings(max_examples=3)
@given(ARCHIVES, SOME)
def test_no_small_count_can_be_solved_for_with_the_frames_of_a_report(archive, more):
    check_frames(archive, more)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")
@settings(max_examples=800)
@given(ARCHIVES, SOME)
def test_no_small_count_can_be_solved_for_with_the_frames_of_many_reports(archive, more):
    check_frames(archive, more)


def test_rsvps_that_are_all_needed_for_a_row_to_have_one_are_not_listed():
    """The river has an event in three regions, Ontario one in three campaigns: with six RSVPs, one for each."""
    river = [("river", region) for region in (("US", "CA"), ("US", "NV"), ("MX", "BC"))]
    ontario = [(campaign, ("CA", "ON")) for campaign in ("forest", "meadow", None)]
    fields = {"month": "2026-03", "rsvps": 1, "before": None, "pulled": True, "capacity": None}
    events = [{"campaign": campaign, "region": region, **fields} for campaign, region in [*river, *ontario]]
    check_frames({"events": events, "signatures": [], "attendances": []}, [])


# The files

#: What is published with the counts: nothing of it is of people, but the share.
PUBLIC = {"title", "events", "limited_events", "capacity", "first_start", "last_start", "share", "new_rsvps"}


@dataclass
class Published:
    """What a folder with a report holds, and what was drawn for its page."""

    files: dict[str, pd.DataFrame]
    html: str
    drawn: dict[str, list[Axes]]


def publish(archive: dict[str, Any], reports: list[Report]) -> Published:
    drawn = defaultdict(list)
    picture = page.figures.picture

    def watched(draw: Callable[..., object], *, label: str, **options: Any) -> Markup:
        def keep(ax: Axes) -> None:
            draw(ax=ax)
            drawn[label].append(ax)

        return picture(keep, label=label, **options)

    with TemporaryDirectory() as name, mock.patch.object(page.figures, "picture", watched):
        folder = Path(name, "out")
        of.write_report(list(documents(archive)), folder, reports=reports, min_count=BELOW, formats=["csv"])
        files = {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}
        return Published(files, (folder / "report.html").read_text(), drawn)


def assert_page_adds_nothing(report: Report, rows: Rows, html: str) -> None:
    """Compare the table of a report in the page with its file."""
    section = re.search(f'<section class="report" id="{report.name}".*?</section>', html, re.DOTALL)[0]
    columns = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', section)
    cell = r'<t(?:d|h scope="row")[^>]*>(?:<bdi>)?([^<]*)'
    lines = [re.findall(cell, line) for line in re.findall("<tr.*?</tr>", section, re.DOTALL)]
    place, keys = columns.index(heading(report.count)), len(report.keys) or 1
    shown = {tuple(line[:keys]): line[place] for line in lines if line and "otal" not in line[0]}
    expected = {label: "–" if count is None else f"{count:,}" for label, count in rows.items()}
    if report.is_over_time:  # months without any are not shown
        expected = {label: text for label, text in expected.items() if text != "0" or label in shown}
    assert shown == expected
    totals = [line[place] for line in lines if line and "otal" in line[0]]
    counts = [count for label, count in rows.items() if label in shown and count is not None]
    assert totals == ([f"{sum(counts):,}" if counts else "–"] if rows else [])


def assert_plots_add_nothing(report: Report, counts: list[int], drawn: list[Axes]) -> None:
    """Compare the bars or the line of a report, and all numbers around, with its file."""
    for ax in drawn:
        values = [line.get_ydata().tolist() for line in ax.lines]
        values += [[bar.get_height() for bar in bars] for bars in ax.containers]
        assert [[value for value in some if value] for some in values] in ([counts], [])
        total = counts[-1:] if report.kind == "growth" else [sum(counts)]
        texts = " ".join([ax.get_ylabel(), *(text.get_text() for text in ax.texts)])
        assert {int(number.replace(",", "")) for number in re.findall(r"(?<![\d-])[\d,]+(?!-)\b", texts)} <= {
            0,
            *counts,
            *total,
        }


def check_files(archive: dict[str, Any], more: list[Report]) -> None:
    reports = [*KEYED, *more]
    published, found = publish(archive, reports), {}
    for report in reports:
        file = published.files.get(report.name)
        if file is None:
            continue
        keys = list(file)[: len(report.keys) or 1] if report.kind != "growth" else ["fetched_at"]
        assert set(file) - {*keys} <= {*PUBLIC, report.count}
        rows = rows_of(report, file.set_index(keys))
        counts = [count for label, count in sorted(rows.items()) if count]
        label = f"Plot of {report.heading}; the table below holds its figures."
        assert_plots_add_nothing(report, counts, published.drawn[label])
        if report.kind == "growth":
            assert_pulls_are_apart(archive, file)
        elif file.size:
            found[report.name] = rows
            assert_page_adds_nothing(report, rows, published.html)
    assert_open(archive, reports, found)
    assert_rest_of_page_adds_nothing(archive, published)


def assert_rest_of_page_adds_nothing(archive: dict[str, Any], published: Published) -> None:
    """Look at the headline figures, the notes and the map."""
    found = re.findall('<dt>([^<]*)</dt><dd class="figure">([^<]*)</dd><dd>([^<]*)</dd>', published.html)
    cards = {note.partition(",")[0] if name == "People" else name: figure for name, figure, note in found}
    signed, coming = list(acts(archive["signatures"])), list(acts(archive["attendances"]))
    totals = {
        "Signatures": len(signed),
        "Signers": len({act["person"] for act in signed}),
        "RSVPs": sum(event["rsvps"] for event in archive["events"]) if archive["events"] else len(coming),
        "who RSVPed": len({act["person"] for act in coming}),
    }
    for name, total in totals.items():
        assert cards.get(name) in (f"{rounded(total):,}", "few", None)
        assert total not in range(1, BELOW) or cards.get(name) in ("few", None)
    for number, people in (("Signatures", "Signers"), ("RSVPs", "who RSVPed")):
        assert people not in cards or totals[number] - totals[people] not in range(1, BELOW)
    assert cards.keys() <= {*totals, "Events", "Period"}
    notes = map(unescape, re.findall("<p><bdi>(.*?)</bdi></p>", published.html))
    assert {*re.findall(r"\d+", " ".join(notes))} == {str(BELOW)}
    assert "Attended</" not in published.html
    assert 'id="reading"' not in published.html
    for label, drawn in published.drawn.items():
        for ax in drawn if label.startswith("Map") else ():
            assert len(set(ax.collections[0].get_sizes())) <= 1
            assert ax.get_legend() is None
            assert "RSVPs" not in ax.get_xlabel()


@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")
@settings(max_examples=1)
@given(ARCHIVES, SOME)
def test_no_small_count_can_be_solved_for_with_the_files_page_and_plots_of_a_report(archive, more):
    check_files(archive, more)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::osdi_frames.errors.SourceWarning")
@settings(max_examples=300)
@given(ARCHIVES, SOME)
def test_no_small_count_can_be_solved_for_with_the_files_page_and_plots_of_many_reports(archive, more):
    check_files(archive, more)
