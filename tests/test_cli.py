"""The command line: the library in words, with exit statuses and one clear line for an error."""

import json
import os
import pty
import re
import subprocess
import sys
import termios
import time

import pandas as pd
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

import osdi_frames as of
from osdi_frames.cli import COMMANDS, Status, group
from osdi_frames.cli.options import with_options
from osdi_frames.reports.declared import KEYED
from tests.commands import open_fifo, run


@pytest.fixture(scope="module")
def report(little, tmp_path_factory):
    """Return the folder of a report of the small archive."""
    return tmp_path_factory.mktemp("cli") / "report"


@pytest.fixture(scope="module")
def printed(little, report):
    """Write this report, and return what the terminal shows of it."""
    ran = run("report", little, "--all", "--out", report)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_the_first_screen_of_a_report_has_forty_lines_of_eighty_characters_and_names_all_reports(data):
    lines = run("report", data).stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert re.fullmatch(r"! The newest act is \d+ days old, of 2026-07-31.", lines[1])
    assert lines[2] == '! 3 events have the unknown status "postponed"; they are counted.'
    assert re.fullmatch(r"\d+ people took part 2026-07-20 to 2026-07-26, .*", lines[3])
    assert re.fullmatch(r"To come until \S+: no event.", lines[11])
    assert lines.count("Signatures by petition, without 22 rows and 1 column") == 1
    assert " signatures_by_{month,referrer,region,source,website}" in lines[-2]
    [shown] = run("report", data, "--report", "repeats", "--top", "2").stdout.split("\n\n")
    assert shown.startswith("People by how often they took part\n")
    ran = run("report", data, "--report", "host")
    assert (ran.returncode, "there is no report 'host'; nearest: hosts" in ran.stderr) == (1, True)
    ran = run("report", data, "--report", "upcoming", "--now", "2030-01-01")
    assert ran.stdout == "upcoming: nothing to report on 2030-01-01; --now reports of another day\n"
    ran = run("report", data, "--report", "hosts", "--min-count", "5")
    assert ran.stdout == "hosts: not made with --min-count, since it would reveal small counts\n"


def test_report_prints_the_totals_and_writes_every_report(little, printed, report):
    tables = of.open(little).tables(["events", "event_campaigns", "signatures"])
    events, campaigns, signatures = tables.values()
    counted, signed = (frame[frame["excluded"].isna()] for frame in (events, signatures))
    totals = f"{len(counted)} events with {counted.total_accepted.sum():,} RSVPs; {len(signed):,} signatures"
    assert totals in printed
    assert any(f"\n{title}  " in printed for title in campaigns.title)
    written = pd.read_parquet(report / "rsvps_by_campaign.parquet")
    expected = of.rsvps_by_campaign(events, campaigns).reset_index()
    pd.testing.assert_frame_equal(written, expected, check_dtype=False)
    source = pd.read_csv(report / "signatures_by_source.csv", index_col="source")
    assert source["signatures"].sum() == len(signed)


def test_report_and_export_take_filters_and_say_them(tmp_path):
    petitions = [[{"osdi:signature": {"created_date": f"2026-0{n}-01T00:00:00Z", "comments": str(n),
        "_links": {"osdi:petition": {"href": f"https://x.example/petitions/{n}"}}}}] for n in (4, 5)]  # fmt: skip
    (tmp_path / "a.json").write_text("\n".join(json.dumps(petition) for petition in petitions))
    filters = ("--petition", "5", "--since", "2026-05", "--until", "2026-05")
    ran = run("report", "a.json", *filters, cwd=tmp_path)
    assert ran.stdout.startswith("1 signature of 0 people\n")
    said = "only: since 2026-05 (signatures by created_date); until 2026-05 (signatures by created_date)"
    assert said in " ".join(ran.stdout.split())
    ran = run("export", "a.json", "out", "--table", "signatures", *filters, cwd=tmp_path)
    assert ran.stdout.splitlines()[0].endswith("; petition 5 (signatures)")
    assert pd.read_parquet(tmp_path / "out" / "signatures.parquet")["comments"].tolist() == ["5"]
    ran = run("report", "a.json", "--petition", "55", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "no petition is '55'; nearest: 5" in ran.stderr


def test_what_is_counted_too_may_be_named_in_several_options(tmp_path):
    (tmp_path / "a.json").write_text(
        '{"total_accepted": 1, "platform:hidden": true}\n[{"osdi:signature": {}}]'
    )
    printed = {
        run("report", "a.json", *words, cwd=tmp_path).stdout
        for words in (["--include", "test,hidden"], ["--include", "test", "--include", "hidden"])
    }
    assert [text.partition("\n")[0] for text in printed] == ["1 event with 1 RSVP; 1 signature of 0 people"]


def test_report_replaces_an_earlier_report_and_leaves_a_folder_alone_that_holds_files_of_the_user(tmp_path):
    (tmp_path / "a.json").write_text('[{"osdi:signature": {"referrer_data": {"source": " \uff1d1+1"}}}]')
    assert [run("report", "a.json", "--out", "report", cwd=tmp_path).returncode for _ in range(2)] == [0, 0]
    # A cell that a spreadsheet would compute is text.
    assert pd.read_csv(tmp_path / "report" / "signatures_by_source.csv")["source"].tolist() == ["' \uff1d1+1"]
    (tmp_path / "report" / "report.docx").write_text("mine")
    ran = run("report", "a.json", "--out", "report", cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr == (
        "osdi-frames: report contains files that osdi-frames did not create (report.docx);"
        " move them away, or choose another folder (--out); nothing was overwritten\n"
    )
    assert (tmp_path / "report" / "report.docx").read_text() == "mine"
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "report").iterdir()} == {0o600, 0o644}


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
        'osdi-frames: a.json:1: not an integer: total_accepted = "xxxx"'
        "; open it with --on-error skip to pass over it; osdi-frames check lists all\n"
    )
    skipped = run("report", "a.json", "--on-error", "skip", cwd=tmp_path)
    assert skipped.returncode == 0
    assert skipped.stderr.startswith("osdi-frames: warning: skipped 1 problem, the first: a.json:1: ")
    assert "1 event with 0 RSVPs" in skipped.stdout


def test_what_a_terminal_would_obey_is_shown_harmless(tmp_path):
    (tmp_path / "a.json").write_text('[{"osdi:signature": {"referrer_data": {"source": "a\\u001b[2Jb"}}}]')
    ran = run("report", "a.json", cwd=tmp_path)
    assert "\x1b" not in ran.stdout
    assert "a\ufffd[2Jb" in ran.stdout


def test_errors_and_warnings_carry_no_control_characters_of_the_data(tmp_path):
    for number, hostile in enumerate(["\x1b]0;x\x07", "\x9b2J", "\u202e", "\u2066", "\r", "\n"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        event = {"title": "t", "total_accepted": f"lots{hostile}"}
        (folder / f"a{hostile}b.json").write_text(json.dumps(event, ensure_ascii=False))
        for on_error in ("raise", "skip"):
            words = ["export", ".", "../out", "--overwrite", "--table", "events", "--on-error", on_error]
            ran = run(*words, cwd=folder)
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
    assert 'not an integer: event: total_accepted = "xxxx"  (a.ndjson:1)' in ran.stdout
    assert 'not a datetime: event: start_date = "xxxx"  (a.ndjson:2)' in ran.stdout


def test_check_and_describe_print_in_80_columns_what_python_prints(data, monkeypatch):
    monkeypatch.chdir(data.parent)
    problems, columns = of.check("data"), of.describe("signatures")
    for words, printed in {
        ("check", "data"): str(problems),
        ("check", "data", "--all"): problems.text(all=True),
        ("describe",): str(of.describe()),
        ("describe", "signatures"): repr(columns),
        ("describe", "--all"): of.describe().text(all=True),
    }.items():
        ran = run(*words)
        assert ran.returncode == 0
        assert ran.stdout == with_options(printed) + "\n"
        assert [line for line in ran.stdout.splitlines() if len(line) > 80] == []
    assert str(problems).startswith(f"{problems.attrs['documents']:,} documents in ")
    assert len(str(problems).splitlines()) < 24 < len(problems.text(all=True).splitlines())
    assert len(str(of.describe()).splitlines()) < 40
    some = columns[columns["privacy"] == "identifying"]
    assert str(some).count("\n* ") == len(some) + 1  # the last line says what the mark means
    assert "signatures" not in str(some[["column", "type"]])  # other columns are printed as of any frame


def test_export_says_what_it_wrote(little, tmp_path):
    ran = run("export", little, tmp_path / "out", "--table", "events", "--format", "csv")
    assert ran.returncode == 0
    assert ran.stdout.split()[:3] == ["events", "60", "rows"]
    again = run("export", little, tmp_path / "out")
    assert again.returncode == 1
    assert again.stderr == f"osdi-frames: {tmp_path / 'out'} exists; --overwrite replaces it\n"


def test_describe_names_the_table_nearest_to_an_unknown_one():
    ran = run("describe", "event")
    assert (ran.returncode, ran.stderr[:55]) == (1, "osdi-frames: there is no table 'event'; nearest: events")


def test_every_command_has_help_with_an_example_and_is_in_the_readme(data):
    for command in COMMANDS:
        ran = CliRunner().invoke(group, [command, "--help"], prog_name="osdi-frames")
        assert ran.exit_code == 0
        assert f"osdi-frames {command}" in ran.output
        assert (
            f"osdi-frames {command}"
            in (data.parent / "src" / "osdi_frames" / "cli" / "README.md").read_text()
        )


def test_report_refuses_an_unusable_destination_before_it_reads(tmp_path):
    (tmp_path / "in-the-way").write_text("")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "report.docx").write_text("mine")
    (tmp_path / "a.json").write_text('{"total_accepted": "what stops the reading"}')
    for unusable in ("in-the-way/report", "foreign"):
        ran = run("report", "a.json", "--out", unusable, cwd=tmp_path)
        assert (ran.returncode, ran.stdout) == (Status.FAILED, "")
        assert unusable.partition("/")[0] in ran.stderr
        assert "not an integer" not in ran.stderr


def test_report_names_a_missing_extra_before_it_reads(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    (tmp_path / "a.json").write_text('{"total_accepted": "what stops the reading"}')
    ran = run("report", "a.json", "--out", "out", "--format", "xlsx", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (Status.FAILED, "")
    assert ran.stderr.endswith("pip install 'osdi-frames[excel]', in a clone pip install '.[excel]'\n")


def test_a_missing_argument_is_named():
    for words, missing in (
        (["report"], "SOURCE..."),
        (["export"], "DESTINATION"),
        (["export", "data"], "DESTINATION"),
    ):
        ran = run(*words)
        assert (ran.returncode, ran.stderr.splitlines()[-1]) == (
            Status.USAGE,
            f"Error: Missing argument '{missing}'.",
        )


def test_pull_without_a_key_names_the_variable(tmp_path):
    ran = run("pull", "https://example.org/api/v2", tmp_path / "out", OSDI_API_KEY="")
    assert ran.stderr.startswith("osdi-frames: no API key: set OSDI_API_KEY in the environment")


def test_a_wrong_call_ends_with_2():
    assert run("report").returncode == 2
    assert run("nonsense").returncode == 2


def test_a_path_that_is_not_there_is_one_line(tmp_path):
    ran = run("report", "nowhere", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (1, "osdi-frames: there is no file or folder nowhere\n")


def test_long_work_shows_a_bar_on_a_terminal_and_none_in_a_pipe(tmp_path):
    files = [tmp_path / f"{number}.ndjson" for number in range(2)]
    for file in files:
        os.mkfifo(file)  # as slow as the writer below
    program = "import sys, osdi_frames as of; of.read_events(sys.argv[1:], columns=['title'])"
    for terminal in (True, False):
        main, side = pty.openpty()
        termios.tcsetwinsize(side, (24, 80))
        command = [sys.executable, "-c", program, *map(str, files)]
        with subprocess.Popen(command, stderr=side if terminal else subprocess.PIPE) as process:
            os.close(side)
            for file in files:
                with open_fifo(file) as fifo:
                    time.sleep(0.6)
                    fifo.write(b'{"title": "t", "total_accepted": 1}\n')
            said = read_all(main if terminal else process.stderr.fileno())
        os.close(main)
        assert process.returncode == 0
        assert ("reading" in said) is terminal


def read_all(descriptor):
    """Read to the end; a terminal whose other side is closed says so with an error."""
    said = b""
    try:
        while block := os.read(descriptor, 1 << 16):
            said += block
    except OSError:
        pass
    return said.decode()


def test_reports_without_rows_are_named_in_one_line(tmp_path):
    (tmp_path / "a.json").write_text('{"title": "t", "total_accepted": 1}')
    ran = run("report", "a.json", "--all", cwd=tmp_path)
    assert "\nRSVPs by campaign\ncampaign" in ran.stdout
    empty = ["Events to come", *(report.heading for report in KEYED if report.table == "signatures")]
    assert ran.stdout.endswith(f"\n\nnothing to report: {'; '.join(empty)}\n")
    assert ran.stdout.count("Signatures") == len(empty) - 1


def test_report_warns_of_a_folder_in_which_there_is_nothing(tmp_path):
    ran = run("report", ".", cwd=tmp_path)
    assert ran.returncode == 0
    reading, reporting = ran.stderr.splitlines()
    assert reading.startswith("osdi-frames: warning: no documents in .: documents are .json, ")
    assert reporting == "osdi-frames: warning: no event and no signature in ."


def test_report_warns_of_documents_in_which_there_is_nothing(tmp_path):
    for text, words in (("", []), ("[]", ["--out", "out"])):
        (tmp_path / "a.json").write_text(text)
        ran = run("report", "a.json", *words, cwd=tmp_path)
        assert ran.stderr == "osdi-frames: warning: no event and no signature in a.json\n"


def test_one_thing_is_counted_in_the_singular(tmp_path):
    (tmp_path / "a.json").write_text(
        '[{"osdi:signature": {"identifiers": ["platform:1"], "created_date": "2026-05-01"}},'
        ' {"identifiers": ["platform:2"], "total_accepted": 1, "x": 1}]'
    )
    assert run("report", "a.json", cwd=tmp_path).stdout.startswith(
        "1 event with 1 RSVP; 1 signature of 0 people\n"
    )
    assert "0 errors, 0 warnings, 1 key that no table reads, 0 elements of" in run(
        "check", "a.json", cwd=tmp_path
    ).stdout.replace("\n  ", " ")
    assert "events                            1 row\n" in run("export", "a.json", "out", cwd=tmp_path).stdout


def test_python_m_is_the_command():
    ran = subprocess.run(
        [sys.executable, "-m", "osdi_frames", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == f"osdi-frames, version {of.__version__}\n"


def test_h_is_help():
    for command in COMMANDS:
        ran = CliRunner().invoke(group, [command, "-h"])
        assert ran.output == CliRunner().invoke(group, [command, "--help"]).output
        assert ran.exit_code == Status.DONE


def test_a_usage_error_says_what_would_be_right():
    for words, said in {
        "a mistyped command": (["reprot", "data"], "there is no command 'reprot'; nearest: report"),
        "a command that is like none": (["xyzzy"], "there are: report, export, check"),
        "a mistyped command of archive": (
            ["archive", "verfiy"],
            "there is no command 'verfiy'; nearest: verify",
        ),
        "a mistyped option": (["report", "a", "--otu", "b"], "'--out'"),
        "files without a folder": (["report", "a", "--format", "xlsx"], "name their folder with --out"),
        "no rows": (["report", "a", "--top", "0"], "0 is not in the range x>=1"),
        "a port that is none": (["receive", "a", "--port", "99999"], "99999 is not in the range"),
    }.values():
        ran = run(*words)
        assert ran.returncode == Status.USAGE
        assert said in ran.stderr.splitlines()[-1]


def test_a_wrong_value_is_one_line(tmp_path):
    for words, said in {
        "an address of a service": (["report", "https://example.org/api/v2"], "osdi-frames pull"),
        "a prefix with its colon": (["report", "a.json", "--prefix", "x:"], "without a colon, such as 'x'"),
        "a key for nothing": (
            ["export", "a.json", "out", "--drop", "identifying", "--pseudonymize-key-file", "a.json"],
            "osdi-frames: --drop identifying is without a key",
        ),
        "a file for a service": (["pull", "a.json", "out"], "not an address of a service: 'a.json'"),
    }.values():
        (tmp_path / "a.json").write_text("[]")
        (tmp_path / "a.json").chmod(0o600)
        ran = run(*words, cwd=tmp_path)
        assert ran.returncode == Status.FAILED
        (line,) = ran.stderr.splitlines()
        assert line.startswith("osdi-frames: ")
        assert said in line


def test_a_warning_and_a_report_name_the_option_and_not_the_argument(tmp_path):
    event = '{"identifiers": ["our:1"], "total_accepted": 1, "status": "cancelled"}'
    (tmp_path / "a.json").write_text(event)
    ran = run("report", "a.json", "--out", "out", cwd=tmp_path)
    assert ran.stderr.splitlines()[0].endswith("; --prefix our makes it known")
    assert "not counted: 1 cancelled event; --include cancelled counts them" in ran.stdout.splitlines()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Not counted: 1 cancelled event (they can be counted in another report)" in page


@pytest.fixture(scope="module")
def made(little):
    return of.report(little)


def test_the_terminal_shows_the_changes_that_the_page_shows(made, printed):
    made = made["changes_by_source"]
    gains, losses = (made[moved].head(5) for moved in (made["change"] > 0, made["change"] < 0))
    lines = printed.partition("\nChange by source\n")[2].partition("\n\n")[0].splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("source "))
    shown = [line.split("  ")[0] for line in lines[begin + 1 :]][: len(gains) + len(losses)]
    assert shown == [*gains.index, *losses.index]


def test_report_as_json_has_the_numbers_of_the_frames(little, made, printed):
    ran = run("report", little, "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    assert list(found["reports"]) == list(made)
    assert found["caveats"] == {name: frame.attrs["caveat"] for name, frame in made.items()}
    campaigns = made["rsvps_by_campaign"]
    headline, *notes = printed.partition("\n\n")[0].replace("\n  ", " ").splitlines()
    people = found["summary"].pop("people")
    assert found["summary"] == {
        "events": campaigns["events"].sum(),
        "rsvps": campaigns["rsvps"].sum(),
        "signatures": made["signatures_by_source"]["signatures"].sum(),
    }
    assert (found["notes"], headline.endswith(f" of {people:,} people")) == (notes, True)
    assert [row["rsvps"] for row in found["reports"]["rsvps_by_campaign"]] == campaigns["rsvps"].tolist()


def test_report_as_json_stays_json_when_it_writes_files_too(tmp_path):
    (tmp_path / "a.json").write_text('{"total_accepted": 1}')
    ran = run("report", "a.json", "--json", "--out", "report", cwd=tmp_path)
    assert json.loads(ran.stdout)["summary"] == {"events": 1, "rsvps": 1, "signatures": 0, "people": 0}
    assert (tmp_path / "report" / "report.html").exists()


def test_check_as_json_has_the_rows_of_check(tmp_path):
    (tmp_path / "a.json").write_text(
        '{"identifiers": ["platform:1"], "title": "\x9b2J", "total_accepted": "lots\u202e", "new": 1}'
    )
    ran = run("check", "a.json", "--json", cwd=tmp_path)
    assert ran.returncode == Status.FAILED
    found = json.loads(ran.stdout)
    assert (found["errors"], found["warnings"]) == (1, 0)
    assert (found["files"], found["documents"], found["elements"]["event"]) == (1, 1, 1)
    assert [row["problem"] for row in found["problems"]] == ["not an integer", "undeclared key"]
    assert ran.stdout.isascii()


def test_quiet_prints_errors_and_warnings_only(tmp_path):
    for command in ("report", "check"):
        (tmp_path / "a.json").write_text('{"total_accepted": 1}')
        ran = run(command, "a.json", "--quiet", cwd=tmp_path)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
        (tmp_path / "b.json").write_text('{"total_accepted": "lots"}')
        ran = run(command, "b.json", "-q", cwd=tmp_path)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ("not an integer" in ran.stderr) is (command == "report")


def test_the_shell_completes_commands_and_options():
    words = {"COMP_WORDS": "osdi-frames re", "COMP_CWORD": "1", "_OSDI_FRAMES_COMPLETE": "bash_complete"}
    command = [sys.executable, "-m", "osdi_frames"]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | words, check=False)
    assert ran.stdout.split() == ["plain,report", "plain,receive"]
    shell = BashComplete(group, {}, "osdi-frames", "_OSDI_FRAMES_COMPLETE")
    assert [each.value for each in shell.get_completions(["report"], "--o")] == ["--out", "--on-error"]


def test_the_exit_statuses_are_those_of_the_readme(data):
    readme = (data.parent / "src" / "osdi_frames" / "cli" / "README.md").read_text()
    rows = [line.split("|")[1].strip() for line in readme.splitlines() if line.startswith("|")]
    assert [int(number) for number in rows if number.isdecimal()] == [*Status]
