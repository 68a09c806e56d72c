"""To add a column, a filter, a report or a v1 name is to add a line: a copy of the package with such lines has them.

Element types are in test_element_types.py.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import osdi_frames as of
from tests import forks

ROOT = Path(__file__).parents[1]

#: Of each module the line after which one is added, and that line.
LINES = {
    "tables/events.py": (
        '        column("status", "confirmed, tentative, cancelled or a newer value."),\n',
        '        column("mood", "How it feels.", v1="temper"),\n',
    ),
    "resolving/filters.py": (
        '    "status": (EVENT, "status"),\n',
        '    "sponsor": (EVENT, "sponsor_title"),\n',
    ),
    "reports/declared.py": (
        "    _over_time(COUNTED_SIGNATURES, measures.SIGNATURES_OVER_TIME),\n",
        '    _ranked(COUNTED_SIGNATURES, "country", "location_country"),\n',
    ),
}
DOCUMENTS = [
    {"title": "v2", "mood": "calm", "total_accepted": 3, "platform:sponsor": {"title": "Parks"}},
    {"summary": "v1", "temper": "wild", "total_accepted": 4, "platform:sponsor": {"summary": "Rivers"}},
    *(
        {
            "osdi:signature": {
                "identifiers": [f"platform:{number}"],
                "created_date": "2026-05-01T10:00:00Z",
                "person": {"postal_addresses": [{"country": "US" if number else "FR"}]},
            }
        }
        for number in range(7)
    ),
]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(Path(of.__file__).parent, folder / "osdi_frames")
    for name, (line, added) in LINES.items():
        module = folder / "osdi_frames" / name
        text = module.read_text("utf-8")
        assert text.count(line) == 1
        module.write_text(text.replace(line, line + added), "utf-8")
    with (folder / "archive.ndjson").open("w") as archive:
        archive.writelines(f"{json.dumps([one] if 'osdi:signature' in one else one)}\n" for one in DOCUMENTS)
    return folder


def python(package, program, *words):
    """Run a program with the copy; return what it prints."""
    path = f"import sys; sys.path.insert(0, {str(package)!r})\n"
    ran = forks.run(path + program, *words, cwd=package, fresh=True)
    assert ran.returncode == 0, ran.stderr or ran.stdout
    return ran.stdout


def osdi_frames(package, *words):
    return python(package, "from osdi_frames.cli import run\nsys.argv[0] = 'osdi-frames'\nrun()", *words)


def test_a_column_and_its_v1_name_are_a_line(package, tmp_path):
    osdi_frames(package, "export", "archive.ndjson", tmp_path / "out", "--table", "events", "--no-progress")
    assert pd.read_parquet(tmp_path / "out" / "events.parquet")["mood"].tolist() == ["calm", "wild"]
    assert "How it feels." in osdi_frames(package, "describe", "events")
    assert "undeclared key" not in osdi_frames(package, "check", "archive.ndjson")


def test_a_filter_is_a_line(package):
    said = osdi_frames(package, "report", "archive.ndjson", "--sponsor", "Rivers")
    only = "only: sponsor Rivers (events, attendances)"
    assert said.startswith("1 event with 4 RSVPs\n")
    assert f"\n{only}\nnot reported: signatures" in said
    assert "Only events, attendances," in osdi_frames(package, "report", "--help")
    program = (
        "import osdi_frames as of; print(of.open('archive.ndjson').where(sponsor='Rivers').events().title[0])"
    )
    assert python(package, program) == "v1\n"


def test_a_report_is_a_line(package, tmp_path):
    out = tmp_path / "out"
    found = json.loads(osdi_frames(package, "report", "archive.ndjson", "--json", "--out", out))
    rows = found["reports"]["signatures_by_country"]
    assert [(row["location_country"], row["signatures"]) for row in rows] == [("US", 6), ("FR", 1)]
    assert pd.read_csv(out / "signatures_by_country.csv")["signatures"].tolist() == [6, 1]
    assert pd.read_parquet(out / "signatures_by_country.parquet")["signatures"].tolist() == [6, 1]
    assert "Signatures by country</h3>" in (out / "report.html").read_text("utf-8")
    assert "Signatures by country\ncountry" in osdi_frames(
        package, "report", "archive.ndjson", "--report", "signatures_by_country"
    )
    drawn = (
        "import osdi_frames as of; declared = of.reports.DECLARED['signatures_by_country'];"
        "made = of.reports.make(declared, of.read_signatures('archive.ndjson'));"
        "print(of.plots.signatures_by_country(made).get_title(loc='left'))"
    )
    assert python(package, drawn) == "Signatures by country\n"
    hidden = json.loads(osdi_frames(package, "report", "archive.ndjson", "--json", "--min-count", 5))
    assert [row["signatures"] for row in hidden["reports"]["signatures_by_country"]] == [None, None]


@pytest.mark.long
@pytest.mark.parametrize(
    "tests", ["test_reports.py", "test_titles.py", "test_cli.py", "page", "plots", "privacy"]
)
def test_a_report_more_breaks_no_test(tests, package):
    environment = {**os.environ, "PYTHONPATH": str(package)}
    words = ["-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", ROOT / "tests" / tests]
    subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=True)
