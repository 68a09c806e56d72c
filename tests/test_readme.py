"""README and guides are true: their code runs, in the order in which it stands there, and so do commands."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib

import pytest
from matplotlib import pyplot as plt

from osdi_frames import sample, sandbox
from tests.commands import run
from tests.shown import DICTIONARY, ENDING, GUIDES, ROOT, commands, with_dictionary, with_outputs

COMMANDS = GUIDES["src/osdi_frames/cli/README.md"]
DEMO = "http://127.0.0.1:8700"


def blocks(guide, language):
    return re.findall(rf"```{language}\n(.*?)```", guide, re.DOTALL)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny") / "data"
    sample.write(folder, signatures=40, events=20)
    return folder


@pytest.fixture
def folder(tiny, tmp_path, monkeypatch):
    """Stand in a folder with ``data`` in it, as a reader of the guides does."""
    shutil.copytree(tiny, tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [name for name, guide in GUIDES.items() if blocks(guide, "python")])
def test_the_code_of_a_guide_runs(name, folder, demo_db, tmp_path_factory):
    names, code = {}, blocks(GUIDES[name], "python")
    needs_demo = any(DEMO in block for block in code)
    app = sandbox.create_app(demo_db(tmp_path_factory.mktemp("demo")) if needs_demo else None, per_page=100)
    with sandbox.serve(app) as running:
        for block in code:
            # The sandbox of the guides listens on the default port, which may be taken here.
            exec(block.replace(DEMO, running.base_url.removesuffix("/api/v2")), names)  # noqa: S102 (the guide's own code)
    plt.close("all")
    if "client" in name:
        assert names["manifest"].complete, names["manifest"].why


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_bytes()) <= 6_000


def test_the_version_is_the_same_wherever_it_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"version {project['version']}," in GUIDES["README.md"]
    assert re.findall(r"(?m)^## (\S+)", (ROOT / "CHANGELOG.md").read_text())[0] in (
        project["version"],
        "Unreleased",
    )


@pytest.mark.parametrize("name", GUIDES)
def test_what_a_guide_links_to_is_there(name):
    links = re.findall(r"\]\(((?!https?:)[^)#]+)", GUIDES[name])
    assert [link for link in links if not ((ROOT / name).parent / link).exists()] == []


def ending_commands():
    block = next(block for block in blocks(COMMANDS, "sh") if block.startswith("osdi-frames"))
    # `.ci/run` runs the report.
    return [line for line in block.splitlines() if line.split()[1] in {*ENDING} - {"report"}]


@pytest.mark.parametrize("line", ending_commands())
def test_a_command_of_the_guide_runs(line, folder):
    assert run(*shlex.split(line, comments=True)[1:]).returncode == 0


def test_guides_show_what_commands_and_code_print(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = [name for name, guide in GUIDES.items() if with_outputs(guide) != guide]
    assert shown == [], "python -m tests.shown makes them anew"
    assert with_dictionary(DICTIONARY.read_text()) == DICTIONARY.read_text()


SERVERS = {
    command: shown
    for guide in GUIDES.values()
    for session in blocks(guide, "console")
    for command, shown in commands(session).items()
    if re.match("osdi-frames (receive|sandbox)", command)
}


@pytest.mark.parametrize("command", SERVERS)
def test_guides_show_what_servers_print_when_they_start(command, tmp_path):
    """Their ports can be taken here, and `…` stands for any text."""
    words = [sys.executable, "-m", "osdi_frames", *command.split()[1:], "--port", "0"]
    pattern = re.sub(r":8\d{3}", r":\\d+", re.escape(SERVERS[command]).replace("…", ".*"))
    lines = SERVERS[command].count("\n")
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        printed = "".join(process.stdout.readline() for _ in range(lines))
        process.kill()
    assert re.fullmatch(pattern, printed)
