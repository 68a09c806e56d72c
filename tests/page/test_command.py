"""`osdi-frames report --out` writes the page with the files, and only then draws."""

import subprocess
import sys
from pathlib import Path

import pytest

from osdi_frames.reports.declared import COUNTED_EVENTS, COUNTED_SIGNATURES, KEYED

COMMAND = "import sys; from osdi_frames.cli import group; group(standalone_mode=False)"


def run(*words, cwd, program):
    command = [sys.executable, "-c", program, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


@pytest.fixture
def archive(tmp_path):
    (tmp_path / "a.json").write_text(
        '{"identifiers": ["platform:1"], "total_accepted": 3, "capacity": "lots"}'
    )
    return tmp_path


def test_a_problem_that_was_passed_over_is_reported_in_the_page(archive):
    program = f"{COMMAND}; print('pyplot', 'matplotlib.pyplot' in sys.modules)"
    ran = run("report", "a.json", "--on-error", "skip", "--out", "out", cwd=archive, program=program)
    assert ran.returncode == 0, ran.stderr
    count = 1 + sum(
        report.subject in (COUNTED_EVENTS, COUNTED_SIGNATURES) for report in KEYED
    )  # and upcoming
    assert f"written to out: {count} reports, each as CSV and Parquet, and report.html\n" in ran.stdout
    assert f"\nopen {Path('out', 'report.html')}\n" in ran.stdout
    assert "pyplot False" in ran.stdout
    html = (archive / "out" / "report.html").read_text(encoding="utf-8")
    assert "not an integer" in html
    assert "event: capacity" in html
    assert "1 problem of what was read: something may be missing." in html


def test_without_a_folder_nothing_is_drawn_no_place_is_read_and_no_http_library_is_loaded(archive):
    (archive / "a.json").write_text('{"total_accepted": 3, "location": {"location": {"latitude": "x"}}}')
    ran = run("report", "a.json", cwd=archive, program=f"{COMMAND}; print(sorted(sys.modules))")
    assert ran.returncode == 0, ran.stderr
    assert "'osdi_frames.cli.report'" in ran.stdout
    assert not [name for name in ("'httpx'", "'matplotlib'", "'jinja2'") if name in ran.stdout]
