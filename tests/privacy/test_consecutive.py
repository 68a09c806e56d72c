"""Consecutive reports with hidden counts: nobody sees that one to four more signed since the report before."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import osdi_frames as of
from osdi_frames.cli.report import command
from osdi_frames.reports import suppress
from osdi_frames.reports.declared import KEYED
from osdi_frames.reports.making import Counting, make
from osdi_frames.reports.published import FIGURES, Published, protect_reports, steady_count

BELOW = 5
REPORTS = [report for report in KEYED if report.name in ("signatures_by_source", "signatures_by_month")]
SHOWN = [report for report in REPORTS if report.name == "signatures_by_source"]
START = datetime(2025, 6, 1, tzinfo=UTC)


DAYS = 70


def some_signatures() -> pd.DataFrame:
    """Return some signatures a day, some of them deleted later, from sources that begin and end."""
    chance = random.Random(7)
    rows = [
        {
            "source": f"s{chance.randint(day // 12, day // 6 + 2)}",
            "person_id": chance.randint(0, 400),
            "created_date": pd.Timestamp(START + timedelta(days=day, minutes=number)),
            "gone_on": day + chance.randint(1, 40) if chance.random() < 0.1 else 1000,
        }
        for day in range(DAYS)
        for number in range(chance.choice([0, 1, 1, 2, 3, 7]))
    ]
    return pd.DataFrame(rows)


def shown(published: Published) -> dict[tuple[str, str], int]:
    return {(name, row): count for name, rows in published.counts.items() for row, count in rows.items()}


def differences(pages: list[dict]) -> Iterator[int]:
    for before, after in itertools.pairwise(pages):
        yield from (abs(after[row] - before[row]) for row in before.keys() & after.keys())
        same = before.keys() == after.keys()
        yield abs(sum(after.values()) - sum(before.values())) if same else 0


def test_in_months_of_daily_reports_no_count_differs_by_few_from_that_of_the_day_before():
    rows, last, pages = some_signatures(), None, []
    ages = (rows["created_date"] - pd.Timestamp(START)).dt.days
    for day in range(DAYS):
        signatures = rows[(ages <= day) & (rows["gone_on"] > day)]
        made = [(report, make(report, signatures, Counting())) for report in REPORTS]
        done = protect_reports(
            made, {"signatures": signatures}, below=BELOW, spelling="merged", settings="", last=last
        )
        last = Published.parsed(done.published.dumped())
        pages.append(shown(done.published))
        for (_, true), (_, report) in zip(made, done.reports, strict=True):
            off = (report["signatures"] - true["signatures"]).dropna().abs()
            assert (off < BELOW).all()
            if "share" in report:
                counts = report["signatures"]
                assert report["share"].equals((counts / max(counts.sum(), 1)).astype("Float64"))
    assert not {*differences(pages)} & {*range(1, BELOW)}
    assert len({*pages[-1]}) > 10
    exact = [steady_count(len(rows[(ages <= day) & (rows["gone_on"] > day)]), None, 1) for day in range(DAYS)]
    assert {abs(after - before) for before, after in itertools.pairwise(exact)} & {*range(1, BELOW)}


def delivery(source: str, number: int) -> list:
    links = {"osdi:person": {"href": f"https://a.example/people/{source}{number}"}}
    signature = {"identifiers": [f"platform:{source}{number}"], "created_date": "2026-05-01T10:00:00Z"}
    signature |= {"platform:referrer_data": {"source": source}, "_links": links}
    return [{"osdi:signature": signature, "idempotency_key": f"{source}{number}"}]


def signed(**counts: int) -> list:
    return [delivery(source, number) for source, count in counts.items() for number in range(count)]


def write(source: list, folder: Path | str, **options: object) -> Mapping[str, pd.DataFrame]:
    """Write one report with hidden counts."""
    return of.write_report(source, folder, reports=SHOWN, **{"min_count": BELOW, **options})


def by_source(folder: Path) -> dict[str, int]:
    return pd.read_csv(folder / "signatures_by_source.csv", index_col="source")["signatures"].to_dict()


def test_a_count_that_changed_by_less_is_as_in_the_report_before_and_marked(tmp_path):
    out = tmp_path / "out"
    first = write(signed(mail=34, web=21), out)
    assert by_source(out) == {"mail": 30, "web": 20}
    assert first.summary["signatures"] == 55
    assert "kept" not in first["signatures_by_source"]
    second = write(signed(mail=29, web=26), out)
    assert by_source(out) == {"mail": 30, "web": 25}
    assert second["signatures_by_source"]["kept"].to_dict() == {"mail": True, "web": False}
    assert second["signatures_by_source"]["share"].round(2).tolist() == [0.55, 0.45]
    assert second.summary["signatures"] == 55
    assert any("(=); of the headline figures: " in note for note in second.notes)
    assert "<bdi>=</bdi>" in (out / "report.html").read_text()


def test_after_a_report_of_other_settings_counts_are_rounded_down(tmp_path):
    write(signed(mail=30, web=20), tmp_path / "first")
    for options in ({"min_count": 7}, {"since": "2026"}, {"include": ["test"]}):
        folder = shutil.copytree(tmp_path / "first", tmp_path / next(iter(options)))
        below = options.get("min_count", BELOW)
        made = write(signed(mail=29, web=26), folder, **options)["signatures_by_source"]
        assert made["signatures"].tolist() == [29 // below * below, 26 // below * below]
        assert "kept" not in made


def test_a_damaged_list_of_counts_is_as_none():
    for text in ("", "[]", "{", '{"settings": "", "counts": {}}', '{"settings": 1, "counts": []}'):
        assert Published.parsed(text.encode()) is None


def test_without_a_folder_counts_are_rounded_down_and_what_is_excluded_has_no_number(tmp_path):
    test = [{"osdi:signature": {"identifiers": ["platform:t"]}, "idempotency_key": "t"}]
    (tmp_path / "a.ndjson").write_text("\n".join(map(json.dumps, [*signed(mail=34, web=21), test])))
    said = CliRunner().invoke(command, [str(tmp_path), "--min-count", "5", "--json"])
    made = json.loads(said.stdout)
    assert made["summary"]["signatures"] == 55
    assert [row["signatures"] for row in made["reports"]["signatures_by_source"]] == [30, 20]
    assert [note for note in made["notes"] if "test signatures" in note and "1" not in note]


def test_a_report_without_hidden_counts_leaves_no_list_of_them(tmp_path):
    write(signed(mail=34), tmp_path / "out")
    write(signed(mail=34), tmp_path / "out", min_count=None)
    assert not (tmp_path / "out" / "published.json").exists()


def test_of_a_goal_no_rate_and_no_time_is_shown_from_which_few_could_be_computed():
    frame = of.read_signatures(signed(mail=34)).assign(petition_id="park")
    shown_goals = suppress(of.goals(frame, {"park": 20}, until="2026-05-01"), BELOW)
    assert shown_goals.columns.tolist() == ["title", "signatures", "goal", "share"]
    assert suppress(of.goals(frame.head(3), {"park": 20}), BELOW)["signatures"].isna().all()


@pytest.mark.long
def test_in_a_month_of_pages_no_figure_differs_by_few(tmp_path):
    chance, counts, pages = random.Random(3), {"mail": 9, "web": 7, "flyer": 2}, []
    for _ in range(30):
        counts = {name: count + chance.choice([0, 0, 1, 2, 3, 6]) for name, count in counts.items()}
        of.write_report(signed(**counts), tmp_path / "out", min_count=BELOW)
        pages.append(shown(Published.parsed((tmp_path / "out" / "published.json").read_bytes())))
    assert not {*differences(pages)} & {*range(1, BELOW)}
    assert {name for name, _ in pages[-1]} > {FIGURES}
    shutil.rmtree(tmp_path / "out")


def test_the_report_before_is_found_in_an_object_store():
    for source in (signed(mail=34, web=21), signed(mail=29, web=26)):
        made = write(source, "memory://consecutive/out")
    assert made["signatures_by_source"]["signatures"].to_dict() == {"mail": 30, "web": 25}
