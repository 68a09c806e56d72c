"""Which files are read: links, pipes, names, addresses, folders of others, segments while they are sealed."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from pathlib import Path

import pytest

import osdi_frames as of
from osdi_frames.archive.listing import files
from osdi_frames.archive.source import Part
from osdi_frames.errors import SourceNotFound
from tests.layouts import compact, lines, tarred, zstd

from .reading import agreed, documents, event, numbers

NOBODY = 65534


def write(path: Path, number: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compact(event(number)))
    return path


@pytest.fixture
def shared():
    """Make a folder as an unprivileged user, for whom permissions hold; for root they do not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    root = os.geteuid() == 0
    of.check([])  # imports everything
    if root:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield folder
    if root:
        os.seteuid(0)
    for node, _, _ in os.walk(folder):
        Path(node).chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.filterwarnings("ignore:no documents in")
@pytest.mark.parametrize("pattern", ["", "*/*.json", "**/*.json", "main"])
def test_a_folder_that_cannot_be_listed_is_a_problem_and_the_others_are_read(pattern, shared):
    write(shared / "main" / "a.json", 1)
    if pattern != "main":
        write(shared / "other" / "b.json", 2)
    (shared / "main").chmod(0)
    rows, problems = agreed(shared / pattern)
    assert rows == ([] if pattern == "main" else ["e2"])
    assert problems == [f"{shared}/main: unreadable file: Permission denied"]


def test_a_path_in_a_folder_that_cannot_be_entered_is_a_problem(shared):
    path = write(shared / "main" / "a.json", 1)
    (shared / "main").chmod(0)
    assert agreed(path) == ([], [f"{path}: unreadable file: Permission denied"])


def test_a_link_to_a_folder_is_followed_and_a_circle_ends(tmp_path):
    write(tmp_path / "elsewhere" / "a.json", 1)
    source = tmp_path / "source"
    write(source / "b" / "b.json", 2)
    (source / "link").symlink_to(tmp_path / "elsewhere")
    (source / "b" / "up").symlink_to(source)
    (tmp_path / "elsewhere" / "back").symlink_to(source)
    found = [str(source / "b" / "b.json"), str(source / "link" / "a.json")]
    assert files([str(source)], print) == found
    assert files([str(source / "**" / "*.json")], print) == found
    assert agreed(source) == (["e2", "e1"], [])


def test_a_folder_is_read_once_under_its_own_name(tmp_path):
    write(tmp_path / "z" / "a.json", 1)
    (tmp_path / "latest").symlink_to("z")
    assert files([str(tmp_path)], print) == [str(tmp_path / "z" / "a.json")]


@pytest.mark.parametrize("target", ["/mnt/not/there", "loop"])
def test_a_link_to_a_folder_that_is_not_there_is_a_problem(target, tmp_path):
    (tmp_path / "loop").symlink_to(target)
    _, (problem,) = agreed(tmp_path)
    assert problem.startswith(f"{tmp_path}/loop: unreadable file: ")


def test_a_pipe_and_a_socket_in_a_folder_are_problems(tmp_path):
    os.mkfifo(tmp_path / "a.json")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "b.ndjson"))
    (tmp_path / "c.json").symlink_to("/dev/zero")
    write(tmp_path / "d.json", 1)
    for source in (tmp_path, tmp_path / "*"):
        assert agreed(source)[0] == ["e1"]
        assert [str(problem) for problem in documents(source)[1]] == [
            f"{tmp_path}/{name}: unreadable file: a pipe, socket or device"
            for name in ("a.json", "b.ndjson", "c.json")
        ]


@pytest.mark.parametrize(
    "content",
    [lines([event(1), event(2)]), tarred({"a.json": compact(event(1)), "b.json": compact(event(2))})],
)
def test_a_pipe_that_is_named_is_read(content, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def feed():
        with pipe.open("wb", buffering=0) as file:
            for at in range(0, len(content), 100):
                file.write(content[at : at + 100])

    feeding = threading.Thread(target=feed)
    feeding.start()
    found, problems = documents(pipe)
    feeding.join()
    assert (numbers(found), problems) == ([1, 2], [])


def test_a_name_that_is_not_utf_8_is_read_and_shown_with_escapes(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.json")).write_bytes(compact(event(1)))
    rows, problems = agreed(tmp_path)
    assert rows == ["e1"]
    assert problems == [rf"{tmp_path}/caf\xe9.json: a file name that is not UTF-8: shown with escapes"]


def test_a_hidden_ancestor_of_a_path_hides_nothing(tmp_path):
    folder = tmp_path / ".cache" / "pull"
    write(folder / "a.json", 1)
    write(folder / ".hidden" / "b.json", 2)
    for source in (folder, folder / "*.json", f"file://{folder}", f"{folder}/**/*.json"):
        assert agreed(source) == (["e1"], [])


def test_a_hidden_ancestor_hides_nothing_at_an_address():
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/.store/in/a.json", compact(event(1)))
    memory.pipe("/.store/in/.b.json", compact(event(2)))
    try:
        assert agreed("memory://.store/in") == (["e1"], [])
    finally:
        memory.rm("/.store", recursive=True)


def test_file_addresses_are_paths(tmp_path):
    path = write(tmp_path / "in ä" / "a.json", 1)
    for source in (path.as_uri(), f"file://{path}", f"file://localhost{path}", path.parent.as_uri()):
        rows, problems = agreed(source)
        assert (rows, problems) == (["e1"], [])
    assert of.read_events(path.as_uri())["source_file"].tolist() == [str(path)]
    with pytest.raises(SourceNotFound, match="there is no file or folder"):
        of.read_events(f"file://{tmp_path}/gone.json")


def test_a_pattern_that_matches_nothing_is_an_error(tmp_path):
    with pytest.raises(SourceNotFound, match="no file matches"):
        files([str(tmp_path / "*.json")], print)


# --- segments of a receiver ----------------------------------------------------------------------------

SEGMENT = "000000000001.ndjson"


def test_a_segment_in_its_plain_and_its_sealed_form_is_read_once(tmp_path):
    (tmp_path / SEGMENT).write_bytes(lines([event(1)]))
    (tmp_path / f"{SEGMENT}.zst").write_bytes(zstd(lines([event(1)])))
    for source in (tmp_path, tmp_path / "*", sorted(tmp_path.iterdir())):
        assert agreed(source) == (["e1"], [])


def test_other_files_that_differ_by_their_compression_are_both_read(tmp_path):
    (tmp_path / "a.ndjson").write_bytes(lines([event(1)]))
    (tmp_path / "a.ndjson.zst").write_bytes(zstd(lines([event(2)])))
    assert agreed(tmp_path) == (["e1", "e2"], [])


def test_a_segment_that_is_sealed_after_it_was_listed_is_read(tmp_path):
    plain = tmp_path / SEGMENT
    plain.write_bytes(lines([event(1)]))
    (listed,) = files([str(tmp_path)], print)
    (tmp_path / f"{SEGMENT}.zst").write_bytes(zstd(lines([event(1)])))
    plain.unlink()
    with Part(listed).open() as file:
        assert file.read() == zstd(lines([event(1)]))
    assert agreed(plain) == (["e1"], [])


def test_while_segments_are_sealed_each_is_listed_exactly_once(tmp_path):
    count = 1500
    for number in range(count):
        (tmp_path / f"{number:012}.ndjson").write_bytes(b"[]\n")
    sealed = zstd(b"[]\n")

    def seal():
        for number in range(count):
            plain = tmp_path / f"{number:012}.ndjson"
            partial = tmp_path / f".{plain.name}.partial"
            partial.write_bytes(sealed)
            partial.rename(tmp_path / f"{plain.name}.zst")
            plain.unlink()

    sealing = threading.Thread(target=seal)
    sealing.start()
    readings = 0
    while sealing.is_alive() or not readings:
        listed = files([str(tmp_path)], print)
        assert sorted(Path(path).name[:12] for path in listed) == [f"{number:012}" for number in range(count)]
        for name in listed:
            Part(name).open().close()
        readings += 1
    sealing.join()
