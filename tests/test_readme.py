"""The README is true: its code runs, in the order in which it stands there, and so do its commands."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from osdi_frames import sandbox

README = (Path(__file__).parents[1] / "README.md").read_text()
DEMO = "http://127.0.0.1:8700"

#: The commands that end by themselves; the others are servers, or ask one. `.ci/run` runs the report.
ENDING = ("check", "export", "describe", "sample")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def folder(data, tmp_path, monkeypatch):
    """Stand in a folder with ``data`` in it, as a reader of the README does."""
    shutil.copytree(data, tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_code_of_the_readme_runs(folder):
    names, app = {}, sandbox.create_app()
    sandbox.fill_demo(app)
    with sandbox.serve(app) as running:
        for block in blocks("python"):
            # The README's sandbox listens on the default port, which may be taken here.
            exec(block.replace(DEMO, running.base_url.removesuffix("/api/v2")), names)  # noqa: S102 (the README's own code)
    plt.close("all")
    assert names["manifest"].complete, names["manifest"].why
    assert (folder / "tables" / "signatures.parquet").exists()


def ending_commands():
    block = next(block for block in blocks("sh") if block.startswith("osdi-frames"))
    return [line for line in block.splitlines() if line.split()[1] in ENDING]


@pytest.mark.parametrize("line", ending_commands())
def test_a_command_of_the_readme_runs(line, folder):
    words = shlex.split(line, comments=True)[1:]
    run = [sys.executable, "-c", "from osdi_frames.cli import main; main()"]
    assert subprocess.run([*run, *words], check=False, stdout=subprocess.DEVNULL).returncode == 0
