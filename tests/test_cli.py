"""The command line: the library in words, with exit statuses and one clear line for an error."""

import json
import os
import pty
import subprocess
import sys
import termios
import time

import pandas as pd
import pytest
from click.testing import CliRunner

import osdi_frames as of
from osdi_frames.cli import COMMANDS, group


def run(*words, cwd=None):
    command = [sys.executable, "-c", "from osdi_frames.cli import main; main()", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_report_prints_the_totals_and_writes_every_report(data, tmp_path):
    ran = run("report", data, "--out", tmp_path / "report", "--include", "tests,cancelled,hidden")
    assert (ran.returncode, ran.stderr) == (0, "")
    events, signatures = of.read_events(data), of.read_signatures(data)
    assert (
        f"{len(events)} events with {events.total_accepted.sum():,} RSVPs; {len(signatures):,} signatures"
        in ran.stdout
    )
    written = pd.read_parquet(tmp_path / "report" / "rsvps_by_campaign.parquet")
    expected = of.rsvps_by_campaign(events).reset_index()
    pd.testing.assert_frame_equal(written, expected, check_dtype=False)
    source = pd.read_csv(tmp_path / "report" / "signatures_by_source.csv", index_col="source")
    assert source["signatures"].sum() == len(signatures)


def test_report_and_export_take_filters_and_say_them(tmp_path):
    petitions = [[{"osdi:signature": {"created_date": f"2026-0{n}-01T00:00:00Z", "comments": str(n),
        "_links": {"osdi:petition": {"href": f"https://x.example/petitions/{n}"}}}}] for n in (4, 5)]  # fmt: skip
    (tmp_path / "a.json").write_text("\n".join(json.dumps(each) for each in petitions))
    filters = ("--petition", "5", "--since", "2026-05", "--until", "2026-05")
    ran = run("report", "a.json", *filters, cwd=tmp_path)
    assert ran.stdout.startswith("0 events with 0 RSVPs; 1 signatures")
    said = "only: since 2026-05 (events, attendances, signatures)"
    assert ran.stdout.splitlines()[1].startswith(said)
    ran = run("export", "a.json", "out", "--table", "signatures", *filters, cwd=tmp_path)
    assert ran.stdout.startswith(said)
    assert pd.read_parquet(tmp_path / "out" / "signatures.parquet")["comments"].tolist() == ["5"]
    ran = run("report", "a.json", "--petition", "55", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "no petition is '55'; nearest: 5" in ran.stderr


def test_report_replaces_an_earlier_report(tmp_path):
    (tmp_path / "a.json").write_text('{"total_accepted": 1}')
    assert [run("report", "a.json", "--out", "report", cwd=tmp_path).returncode for _ in range(2)] == [0, 0]


def test_report_leaves_a_folder_alone_that_holds_files_of_the_user(tmp_path):
    (tmp_path / "a.json").write_text('{"total_accepted": 1}')
    run("report", "a.json", "--out", "report", cwd=tmp_path)
    (tmp_path / "report" / "report.docx").write_text("mine")
    ran = run("report", "a.json", "--out", "report", cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr == (
        "osdi-frames: report contains files that osdi-frames did not create (report.docx);"
        " nothing was overwritten\n"
    )
    assert (tmp_path / "report" / "report.docx").read_text() == "mine"
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "report").iterdir()} == {0o600, 0o644}


def test_report_csv_escapes_formulas(tmp_path):
    (tmp_path / "a.json").write_text('[{"osdi:signature": {"referrer_data": {"source": " \uff1d1+1"}}}]')
    run("report", "a.json", "--out", "report", cwd=tmp_path)
    assert pd.read_csv(tmp_path / "report" / "signatures_by_source.csv")["source"].tolist() == ["' \uff1d1+1"]


def test_an_export_into_its_own_source_is_one_line(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a.json").write_text('{"total_accepted": 1}')
    ran = run("export", "a", "a", "--overwrite", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (
        1,
        "osdi-frames: a is the source a; choose a destination outside of it\n",
    )
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["a.json"]


def test_report_on_a_problem_is_one_line_and_skip_passes_over_it(tmp_path):
    (tmp_path / "a.json").write_text('{"title": "t", "total_accepted": "lots"}')
    ran = run("report", "a.json", cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr == (
        'osdi-frames: a.json:1: not an integer: total_accepted = "lots"'
        " (--on-error skip passes over it, osdi-frames check lists all)\n"
    )
    skipped = run("report", "a.json", "--on-error", "skip", cwd=tmp_path)
    assert skipped.returncode == 0
    assert skipped.stderr.startswith("osdi-frames: warning: passed over one problem, the first: a.json:1: ")
    assert "1 events with 0 RSVPs" in skipped.stdout


def test_what_a_terminal_would_obey_is_shown_harmless(tmp_path):
    (tmp_path / "a.json").write_text('[{"osdi:signature": {"referrer_data": {"source": "a\\u001b[2Jb"}}}]')
    ran = run("report", "a.json", cwd=tmp_path)
    assert "\x1b" not in ran.stdout
    assert "a\ufffd[2Jb" in ran.stdout


@pytest.mark.parametrize("hostile", ["\x1b]0;x\x07", "\x9b2J", "\u202e", "\u2066", "\r", "\n"], ids=ascii)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_errors_and_warnings_carry_no_control_characters_of_the_data(on_error, hostile, tmp_path):
    name = f"a{hostile}b.json"
    event = {"title": "t", "total_accepted": f"lots{hostile}"}
    (tmp_path / name).write_text(json.dumps(event, ensure_ascii=False))
    ran = run("report", ".", "--on-error", on_error, cwd=tmp_path)
    assert ran.returncode == (on_error == "raise")
    (line,) = ran.stderr.splitlines()
    assert line.isprintable()
    assert line.count("a\ufffd") == 1


def test_a_library_error_and_warning_carry_no_control_characters_of_the_data():
    event = {"title": "t", "total_accepted": "lots\u202e\x9b"}
    with pytest.raises(of.OsdiError) as raised:
        of.read_events(event)
    assert str(raised.value).isprintable()
    with pytest.warns(of.ProblemsWarning) as warned:
        of.read_events(event, on_error="skip")
    assert str(warned[0].message).isprintable()


def test_check_lists_problems_and_ends_with_1(tmp_path):
    (tmp_path / "a.ndjson").write_text(
        '{"title": 1, "total_accepted": "lots"}\n{"title": 2, "start_date": "soon"}\n'
    )
    ran = run("check", ".", cwd=tmp_path)
    assert ran.returncode == 1
    assert 'not an integer: event: total_accepted = "lots"  (a.ndjson:1)' in ran.stdout
    assert 'not a datetime: event: start_date = "soon"  (a.ndjson:2)' in ran.stdout


def test_check_of_the_sample_finds_no_error(data):
    ran = run("check", data)
    assert ran.returncode == 0
    assert "\n0 errors, 0 warnings" in ran.stdout


def test_export_says_what_it_wrote(data, tmp_path):
    ran = run("export", data, tmp_path / "out", "--table", "events", "--format", "csv")
    assert ran.returncode == 0
    assert ran.stdout.split()[:3] == ["events", "150", "rows"]
    again = run("export", data, tmp_path / "out")
    assert again.returncode == 1
    assert (
        again.stderr == f"osdi-frames: {tmp_path / 'out'} exists; overwrite=True (--overwrite) replaces it\n"
    )


def test_describe_shows_a_table_and_lists_them_for_an_unknown_one():
    assert (
        "total_accepted            int64         RSVPs: the number of attendances."
        in run("describe", "events").stdout
    )
    ran = run("describe", "event")
    assert (ran.returncode, ran.stderr[:60]) == (
        1,
        "osdi-frames: there is no table 'event'; there are: events, e",
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_is_in_the_readme(command, data):
    ran = CliRunner().invoke(group, [command, "--help"], prog_name="osdi-frames")
    assert ran.exit_code == 0
    assert f"osdi-frames {command}" in ran.output
    assert f"osdi-frames {command}" in (data.parent / "README.md").read_text()


def test_a_wrong_call_ends_with_2():
    assert run("report").returncode == 2
    assert run("nonsense").returncode == 2


def test_a_path_that_is_not_there_is_one_line(tmp_path):
    ran = run("report", "nowhere", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (1, "osdi-frames: there is no file or folder nowhere\n")


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_long_work_shows_a_bar_on_a_terminal_and_none_in_a_pipe(terminal, tmp_path):
    for number in range(3):
        os.mkfifo(tmp_path / f"{number}.ndjson")  # as slow as the writer below
    program = "import sys, osdi_frames as of; of.read_events(sys.argv[1:], columns=['title'])"
    files = sorted(tmp_path.iterdir())
    main, side = pty.openpty()
    termios.tcsetwinsize(side, (24, 80))
    command = [sys.executable, "-c", program, *map(str, files)]
    with subprocess.Popen(command, stderr=side if terminal else subprocess.PIPE) as process:
        os.close(side)
        for file in files:
            with open_fifo(file) as fifo:
                time.sleep(1)
                fifo.write(b'{"title": "t", "total_accepted": 1}\n')
        said = read_all(main if terminal else process.stderr.fileno())
    os.close(main)
    assert process.returncode == 0
    assert ("reading" in said) is terminal


def open_fifo(path):
    """Open a fifo as soon as somebody reads it; nobody does if the program has died."""
    for _ in range(300):
        try:
            return os.fdopen(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "wb")
        except OSError:
            time.sleep(0.1)
    pytest.fail("nobody reads")


def read_all(descriptor):
    """Read to the end; a terminal whose other side is closed says so with an error."""
    said = b""
    try:
        while block := os.read(descriptor, 1 << 16):
            said += block
    except OSError:
        pass
    return said.decode()


def test_report_warns_of_a_folder_in_which_there_is_nothing(tmp_path):
    ran = run("report", ".", cwd=tmp_path)
    assert ran.returncode == 0
    assert ran.stderr == "osdi-frames: warning: no event and no signature in .\n"
