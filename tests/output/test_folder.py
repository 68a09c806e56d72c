"""A run replaces what an earlier run of its kind wrote, unchanged, and nothing else."""

import json
import os
import shutil

import pytest

import osdi_frames as of
from osdi_frames.durable import clear_drafts, try_lock, write_file
from osdi_frames.errors import DestinationExists
from osdi_frames.output.folder import FOLDER_MANIFEST, output_folder


def write(destination, *, kind="report", source=(), overwrite=True, names=("report.html", "a/part-0.csv")):
    with output_folder(destination, kind=kind, source=source, overwrite=overwrite) as folder:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("written")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def add_file(out):
    (out / "report.docx").write_text("mine")


def add_similar_file(out):
    (out / "signatures_by_source.xlsx").write_text("mine")


def add_file_in_a_folder_of_the_run(out):
    (out / "a" / "notes.txt").write_text("mine")


def add_folder(out):
    (out / "rsvps_by_campaign").mkdir()
    (out / "rsvps_by_campaign" / "notes.txt").write_text("mine")


def add_empty_folder(out):
    (out / "later").mkdir()


def add_hidden_file(out):
    (out / ".notes").write_text("mine")


def add_link(out):
    (out / "link").symlink_to("report.html")


def link_in_place_of_a_folder(out):
    shutil.rmtree(out / "a")
    (out.parent / "theirs").mkdir()
    (out / "a").symlink_to(out.parent / "theirs")


def edit_file(out):
    (out / "report.html").write_text("WRITTEN")


def folder_in_place_of_a_file(out):
    (out / "report.html").unlink()
    (out / "report.html").mkdir()
    (out / "report.html" / "mine").write_text("mine")


def remove_manifest(out):
    (out / FOLDER_MANIFEST).unlink()


def damage_manifest(out):
    (out / FOLDER_MANIFEST).write_text("{")


def manifest_of_another_program(out):
    (out / FOLDER_MANIFEST).write_text(json.dumps({"files": [1]}))


CHANGES = [
    add_file,
    add_similar_file,
    add_file_in_a_folder_of_the_run,
    add_folder,
    add_empty_folder,
    add_hidden_file,
    add_link,
    link_in_place_of_a_folder,
    edit_file,
    folder_in_place_of_a_file,
    remove_manifest,
    damage_manifest,
    manifest_of_another_program,
]


def snapshot(folder):
    return {
        path.relative_to(folder): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


@pytest.mark.parametrize("moment", ["before", "while"])
def test_what_the_user_put_there_or_changed_is_refused_in_one_line_and_stays(moment, tmp_path):
    for change in CHANGES:
        there = tmp_path / change.__name__
        write(there / "out")
        if moment == "before":
            change(there / "out")
            before = snapshot(there)
        with (  # noqa: PT012 (the error can come at the end of the block)
            pytest.raises(DestinationExists, match=r"nothing was overwritten$"),
            output_folder(there / "out", kind="report", source=[], overwrite=True) as folder,
        ):
            (folder / "new.html").write_text("new")
            change(there / "out")
            before = {
                path: content
                for path, content in snapshot(there).items()
                if not path.parts[0].startswith(".out.osdi-frames-")
            }
        assert snapshot(there) == before, change.__name__


def test_an_unchanged_run_is_replaced_also_with_a_file_missing_or_copied_elsewhere(tmp_path):
    write(tmp_path / "out")
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    (tmp_path / "copy" / "report.html").unlink()
    (tmp_path / "copy" / ".DS_Store").write_text("a file manager's")
    write(tmp_path / "copy", names=["new.html"])
    assert names(tmp_path / "copy") == [FOLDER_MANIFEST, "new.html"]


def test_the_line_names_the_files_and_the_ways_out_and_each_works(tmp_path):
    write(tmp_path / "out")
    for change, what in (
        (edit_file, "were changed since osdi-frames wrote them"),
        (add_file, "did not create"),
    ):
        change(tmp_path / "out")
        name = "report.html" if change is edit_file else "report.docx"
        with pytest.raises(DestinationExists) as raised:
            write(tmp_path / "out")
        what = what if change is edit_file else f"osdi-frames {what}"
        assert str(raised.value) == (
            f"{tmp_path / 'out'} contains files that {what} ({name});"
            " move them away, or choose another folder (--out); nothing was overwritten"
        )
        write(tmp_path / change.__name__)
        moved = (tmp_path / "out" / name).rename(tmp_path / name)
        write(tmp_path / "out")
        assert moved.is_file()


def test_a_report_does_not_replace_an_export(tmp_path):
    write(tmp_path / "out", kind="export")
    with pytest.raises(
        DestinationExists,
        match="contains no report; choose another folder \\(--out\\); nothing was overwritten",
    ):
        write(tmp_path / "out", kind="report")


def test_a_destination_that_is_holds_or_lies_in_the_source_is_refused(tmp_path):
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "a.json").write_text("{}")
    link = tmp_path.with_name(f"{tmp_path.name}-link")
    link.symlink_to(source)
    destinations = {
        "source": "is",
        "source/out": "is inside",
        ".": "contains",
        "source/sub/../out": "is inside",
    }
    for given in (source, str(source), ["elsewhere", str(source)], f"file://{source}", str(link)):
        for destination, said in destinations.items():
            with pytest.raises(DestinationExists, match=f" {said} the source "):
                write(tmp_path / destination, source=given)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.json", "source", "sub"]


def test_a_pattern_that_finds_the_destination_is_refused_and_one_next_to_it_is_not(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    write(tmp_path / "out", source=str(tmp_path / "*.json"))
    with pytest.raises(DestinationExists, match="is the source"):
        write(tmp_path / "out", source=str(tmp_path / "*"))


def test_an_open_file_is_exported_and_not_taken_for_a_list_of_paths(tmp_path):
    (tmp_path / "a.json").write_text('{"total_accepted": 1}')
    with (tmp_path / "a.json").open("rb") as file:
        assert of.export(file, tmp_path / "out", tables=["events"]) == {"events": 1}


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk/out")
    for _ in range(2):
        write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "disk" / "out") == [FOLDER_MANIFEST, "a", "report.html"]


def test_a_file_or_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file", "loop"):
        with pytest.raises(DestinationExists, match="is not a folder; nothing was overwritten"):
            write(tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"


def test_an_empty_folder_takes_a_run_without_overwrite(tmp_path):
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", overwrite=False)
    with pytest.raises(DestinationExists, match="--overwrite"):
        write(tmp_path / "out", overwrite=False)


def test_a_replacement_that_was_killed_between_its_two_steps_is_completed_backwards(tmp_path):
    """Where folders cannot be swapped in one step, the old one stands in the draft for a moment."""
    draft = tmp_path / ".out.osdi-frames-abc"
    (draft / "replaced").mkdir(parents=True)
    (draft / "replaced" / "events.parquet").write_text("old")
    clear_drafts(tmp_path / "out")
    assert (tmp_path / "out" / "events.parquet").read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_what_only_looks_like_a_draft_stays(tmp_path):
    (tmp_path / ".out.osdi-frames-notes").write_text("a file")
    (tmp_path / ".other.osdi-frames-abc").mkdir()
    (tmp_path / ".out.osdi-frames-link").symlink_to(".other.osdi-frames-abc")
    write(tmp_path / "out")
    assert names(tmp_path) == [
        ".other.osdi-frames-abc",
        ".out.osdi-frames-link",
        ".out.osdi-frames-notes",
        "out",
    ]


def test_a_lock_is_held_by_one_and_free_again_after_it(tmp_path):
    held = try_lock(tmp_path / "lock")
    assert held is not None
    assert try_lock(tmp_path / "lock") is None
    os.close(held)
    again = try_lock(tmp_path / "lock")
    assert again is not None
    os.close(again)


def test_a_file_is_replaced_through_no_other_name(tmp_path):
    write_file(tmp_path / "a", b"one")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    write_file(tmp_path / "a", b"two")
    assert ((tmp_path / "a").read_bytes(), (tmp_path / "b").read_bytes()) == (b"two", b"one")


def test_a_run_that_fails_leaves_no_folder_that_it_made(tmp_path):
    (tmp_path / "there").mkdir()
    out = tmp_path / "there" / "a" / "b" / "out"
    with (
        pytest.raises(OSError, match="no space"),
        output_folder(out, kind="report", source=(), overwrite=True),
    ):
        raise OSError("no space")
    assert list((tmp_path / "there").iterdir()) == []
    write(out)
    assert names(out.parent) == ["out"]


@pytest.mark.parametrize("name", ["lock", "new", "replaced"])
def test_a_folder_may_be_called_as_what_a_draft_holds(name, tmp_path):
    for _ in range(2):
        write(tmp_path / name)
    assert names(tmp_path) == [name]
