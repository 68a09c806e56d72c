"""What commands print into pipes: shells, readers that end early, closed and full outputs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import run

COMMAND = f"{sys.executable} -m osdi_frames"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an archive whose report warns."""
    (tmp_path / "a.json").write_text('{"identifiers": ["our:1"], "total_accepted": 1}')
    return tmp_path


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `osdi-frames` is the command; the last line of stderr is each command's status."""
    line = f'{line.replace("osdi-frames", COMMAND)}; echo "${{PIPESTATUS[@]}}" >&2'
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.parametrize(
    "words",
    [
        "report a.json",
        "--help",
        *(
            pytest.param(words, marks=pytest.mark.long)
            for words in (
                "report a.json --json --quiet",
                "report a.json --out out",
                "check a.json",
                "describe",
            )
        ),
    ],
)
def test_a_reader_that_has_enough_ends_a_command_in_silence_with_status_141(words, folder):
    # The reader has ended before anything is printed.
    ran = shell(f"osdi-frames {words} 2>noise | (exec <&-; sleep 0.2)", folder)
    assert ran.stderr == "141 0\n"
    noise = (folder / "noise").read_text().splitlines()
    assert all(line.startswith("osdi-frames: warning: ") for line in noise)
    assert (folder / "out").exists() is ("--out" in words)


def test_head_has_the_first_lines_of_a_report(folder):
    # Unbuffered, Python takes a write of which a pipe took a part for a whole one.
    ran = shell("unset PYTHONUNBUFFERED; osdi-frames describe --markdown | head -n 1", folder)
    assert ran.stdout == "## events\n"
    assert ran.stderr == "141 0\n"


def test_an_error_that_nobody_reads_ends_as_quietly(folder):
    assert shell("osdi-frames report nowhere 2>&1 | (exec <&-; sleep 0.2)", folder).stderr == "141 0\n"


@pytest.mark.parametrize(
    "words",
    ["report a.json", "check a.json", pytest.param("report a.json --out out", marks=pytest.mark.long)],
)
def test_json_and_quiet_print_the_document_and_warnings_alone(words, folder):
    ran = run(*words.split(), "--json", "--quiet", cwd=folder)
    assert ran.returncode == 0
    assert all(line.startswith("osdi-frames: warning: ") for line in ran.stderr.splitlines())
    loud = run(*words.split(), "--json", cwd=folder)
    assert json.loads(ran.stdout) == json.loads(loud.stdout)


def test_json_and_quiet_of_a_failure_have_the_error_alone_on_standard_error(folder):
    (folder / "b.json").write_text('{"total_accepted": "lots"}')
    ran = run("report", "b.json", "--json", "--quiet", cwd=folder)
    assert (ran.stdout, ran.returncode, len(ran.stderr.splitlines())) == ("", 1, 1)
    ran = run("check", "b.json", "--json", "--quiet", cwd=folder)
    assert json.loads(ran.stdout)["errors"] == 1
    assert (ran.stderr, ran.returncode) == ("", 1)


@pytest.mark.parametrize(
    ("output", "why"), {"/dev/full": "No space left on device", "&-": "Bad file descriptor"}.items()
)
def test_an_output_that_takes_nothing_is_an_error_of_one_line(output, why, folder):
    ran = shell(f"osdi-frames describe >{output}", folder)
    error, statuses = ran.stderr.splitlines()
    assert error.startswith("osdi-frames: ")
    assert error.endswith(why)
    assert statuses == "1"


def test_a_closed_output_is_no_error_where_nothing_is_printed(folder):
    assert shell("osdi-frames export a.json out --quiet --table events >&- 2>&-", folder).stderr == "0\n"
    assert (folder / "out" / "events.parquet").exists()


def test_a_closed_standard_error_changes_no_status(folder):
    assert shell("osdi-frames report nowhere 2>&-", folder).stderr == "1\n"
