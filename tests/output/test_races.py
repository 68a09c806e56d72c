"""What comes into a destination while a run replaces it is kept, and the run does not end as if nothing was there."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import osdi_frames as of
from osdi_frames import durable
from osdi_frames.errors import DestinationExists
from osdi_frames.output.folder import output_folder
from tests.commands import run

#: Writes new files into a folder, from the moment when the run next to it has all but published its own.
WRITER = """
import itertools, pathlib, sys, time
out, delay, stop = pathlib.Path(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3])
print("ready", flush=True)
while not stop.exists() and not list(out.parent.glob(".out.osdi-frames-*/*/.osdi-frames.json")):
    pass
time.sleep(delay)
for number in itertools.count():
    try:
        (out / f"{number}.txt").write_text("mine")
        print(number, flush=True)
    except FileNotFoundError:
        pass  # between the two steps, where the system has no single one
    if stop.exists():
        break
"""
COMMANDS = {
    "export": ["export", "a.json", "out", "--overwrite", "--table", "events", "--format", "csv"],
    "report": ["report", "a.json", "--out", "out", "--format", "csv"],
}
TRIES = {"export": 2, "report": 1}


@pytest.fixture(params=["in one step", "in two steps"])
def way(request, monkeypatch):
    """Replace folders in both ways: macOS and Windows have no single step."""
    if request.param == "in two steps":
        monkeypatch.setattr(durable, "_swapped", lambda *_: False)


def write(out: Path, *, kind: str = "export") -> None:
    with output_folder(out, kind=kind, source=[], overwrite=True) as folder:
        (folder / "events.csv").write_text("written")


def race(
    folder: Path, command: list[str], delay: float
) -> tuple[list[str], subprocess.CompletedProcess[str]]:
    """Run a command while another process writes into its destination; return the files written, and the run."""
    stop = folder / "stop"
    arguments = [sys.executable, "-SIc", WRITER, folder / "out", str(delay), stop]
    with subprocess.Popen(list(map(str, arguments)), stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "ready\n"
        try:
            ended = run(*command, cwd=folder)
        finally:
            stop.touch()
        written = [f"{number}.txt" for number in writer.stdout.read().split()]
    return written, ended


def foreign(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.txt"))


@pytest.mark.usefixtures("way")
def test_no_file_of_another_process_is_gone(tmp_path):
    try_often("export", tmp_path, TRIES["export"])


@pytest.mark.usefixtures("way")
@pytest.mark.long
@pytest.mark.parametrize("kind", list(COMMANDS))
def test_no_file_of_another_process_is_gone_in_many_tries(kind, tmp_path):
    try_often(kind, tmp_path, 30 * TRIES[kind])


def try_often(kind: str, tmp_path: Path, tries: int) -> None:
    chance = random.Random(26)
    for number in range(tries):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "a.json").write_text(json.dumps({"title": "March", "total_accepted": 1}))
        assert run(*COMMANDS[kind], cwd=folder).returncode == os.EX_OK
        written, ended = race(folder, COMMANDS[kind], chance.random() / 200)
        assert foreign(folder) == sorted(written), ended.stderr
        kept = foreign(folder / "out")
        if kept != sorted(written):
            (aside,) = folder.glob("out.replaced-*")
            assert str(aside) in ended.stderr
            assert ended.returncode == 1


def at(moment: str, act, monkeypatch) -> None:
    """Act just before or just after the folders change places."""
    exchange = durable._exchange

    def exchanged(new: Path, target: Path) -> None:
        if moment == "before":
            act(target)
        old = os.open(target, os.O_RDONLY)
        exchange(new, target)
        if moment == "after":  # who has the folder open finds it wherever it is
            act(Path(f"/proc/self/fd/{old}").readlink())
        os.close(old)

    monkeypatch.setattr(durable, "_exchange", exchanged)


def add_file(out):
    (out / "notes.txt").write_text("mine")


def add_empty_folder(out):
    (out / "later").mkdir()


def add_file_in_a_new_folder(out):
    (out / "a").mkdir()
    (out / "a" / "notes.txt").write_text("mine")


def edit_file(out):
    (out / "events.csv").write_text("edited!")


def remove_manifest(out):
    (out / ".osdi-frames.json").unlink()


ACTS = {
    add_file: {"notes.txt": "mine"},
    add_empty_folder: {"later": None},
    add_file_in_a_new_folder: {"a": None, "a/notes.txt": "mine"},
    edit_file: {"events.csv": "edited!"},
    remove_manifest: {"events.csv": "written"},
}


@pytest.mark.usefixtures("way")
@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="finds a folder that was moved by its descriptor"
)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_what_came_into_the_replaced_folder_stays_and_the_error_says_where(moment, tmp_path, monkeypatch):
    for act, expected in ACTS.items():
        folder = tmp_path / act.__name__
        folder.mkdir()
        write(folder / "out")
        with monkeypatch.context() as patch:
            at(moment, act, patch)
            with pytest.raises(DestinationExists) as raised:
                write(folder / "out")
        (kept,) = folder.glob("out.replaced-*")
        assert str(kept) in str(raised.value)
        assert contents(kept) == expected
        assert contents(folder / "out")["events.csv"] == "written"
        assert sorted(path.name for path in folder.iterdir()) == ["out", kept.name]


def contents(folder: Path) -> dict[str, str | None]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("theirs", ["folder", "empty folder", "file"])
def test_what_another_process_makes_between_the_two_steps_stays(theirs, tmp_path, monkeypatch):
    write(tmp_path / "out")
    rename, made = Path.rename, []

    def renamed(path: Path, target: Path) -> Path:
        moved = rename(path, target)
        if path == tmp_path / "out" and not made:
            made.append(theirs)
            if theirs == "file":
                path.write_text("mine")
            else:
                path.mkdir()
                if theirs == "folder":
                    add_file(path)
        return moved

    monkeypatch.setattr(durable, "_swapped", lambda *_: False)
    monkeypatch.setattr(Path, "rename", renamed)
    if theirs == "empty folder":
        write(tmp_path / "out")
    else:
        with pytest.raises(DestinationExists, match="replaced-"):
            write(tmp_path / "out")
    assert made
    mine = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_text() == "mine"]
    assert len(mine) == (theirs != "empty folder")
    assert (tmp_path / "out" / "events.csv").read_text() == "written"


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, OSError])
def test_a_replacement_that_stops_between_its_two_steps_puts_the_old_folder_back(
    stopped, tmp_path, monkeypatch
):
    write(tmp_path / "out")
    before = (tmp_path / "out" / ".osdi-frames.json").read_bytes()
    rename = Path.rename

    def renamed(path: Path, target: Path) -> Path:
        if target == tmp_path / "out" and path.name == "new" and any(path.parent.glob("replaced-*")):
            raise stopped
        return rename(path, target)

    monkeypatch.setattr(durable, "_swapped", lambda *_: False)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", renamed)
        with pytest.raises(stopped):
            write(tmp_path / "out")
    assert (tmp_path / "out" / ".osdi-frames.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_run_killed_before_it_looked_leaves_the_files_to_the_next_which_says_where_they_are(tmp_path):
    """The draft of a killed run holds the folder that it replaced, as a user's file came into it."""
    of.export({"title": "March", "total_accepted": 1}, tmp_path / "out", tables=["events"], format="csv")
    draft = tmp_path / ".out.osdi-frames-abc"
    draft.mkdir()
    of.export({"title": "March", "total_accepted": 1}, draft / "replaced", tables=["events"], format="csv")
    add_file(draft / "replaced")
    with pytest.raises(DestinationExists, match=r"notes\.txt"):
        write(tmp_path / "out")
    (kept,) = tmp_path.glob("out.replaced-*")
    assert contents(kept) == {"notes.txt": "mine"}
    write(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", kept.name]
