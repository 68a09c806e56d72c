"""Which files are read: links, pipes, names, addresses, folders of others, segments while they are sealed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import re
import shutil
import socket
import tempfile
import threading
import warnings
from pathlib import Path

import pytest

import osdi_frames as of
from osdi_frames.errors import SourceNotFound, SourceWarning
from osdi_frames.sources.files import files
from osdi_frames.sources.source import Part
from tests.layouts import compact, lines, pretty, tarred, zipped, zstd

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
        assert files([str(source)], print) == [str(folder / "a.json")]


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
        assert files([str(source)], print) == [str(path)]
    assert of.read_events(path.as_uri())["source_file"].tolist() == [str(path)]
    with pytest.raises(SourceNotFound, match=r"there is no file or folder .*gone\.json$"):
        of.read_events(f"file://{tmp_path}/gone.json")
    with pytest.raises(SourceNotFound, match=r"a\.jsom; nearest: .*a\.json$"):
        of.read_events(path.with_suffix(".jsom"))


def test_a_pattern_that_matches_nothing_is_an_error(tmp_path):
    with pytest.raises(SourceNotFound, match="no file matches"):
        files([str(tmp_path / "*.json")], print)


# --- names that say nothing of the content, and files that no reader takes --------------------------------

#: Names without a suffix, or with a blank after it, and what is in these files: an event each, or two.
NAMELESS: dict[str, bytes] = {
    "export": compact(event(0)),
    "blank.json ": pretty(event(1)),
    "in/blank.ndjson\t": lines([event(2), event(3)]),
    "mark": b"\xef\xbb\xbf" + pretty(event(4)),
    "stream-1": gzip.compress(lines([event(5)])),
    "stream-2.zst": zstd(compact(event(6))),
    "stream-3.bz2": bz2.compress(compact(event(7))),
    "stream-4": lzma.compress(gzip.compress(b"[" + compact(event(8)) + b"]")),
    "stream-5": tarred({"inside": compact(event(9))}, "w:bz2"),
    "stream-6": zipped({"in/inside": pretty(event(10)), "blank.json ": compact(event(11))}),
}
#: Files that no reader takes, and their kind in the warning.
UNREAD: dict[str, tuple[bytes, str]] = {
    "notes.txt": (b"{}", ".txt"),
    "in/b.TXT": (b"", ".txt"),
    "c.json.bak": (b"{}", ".bak"),
    "setup": (b"[section]\na = 1", "without a suffix"),
    "log": (b"[2026-05-01 10:00] begin", "without a suffix"),
    "empty": (b"", "without a suffix"),
    "log-1": (gzip.compress(b"[2026-05-01 10:00] begin"), "without a suffix"),
    "x.a long suffix": (b"{}", "with another suffix"),
}
IGNORED = {"README": b"{}", "in/readme.md": b"#", ".hidden": b"{}", ".DS_Store": b"\0", "in/Thumbs.db": b"\0"}


def laid(files_of: dict[str, bytes], folder: Path) -> Path:
    for name, content in files_of.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def in_memory(files_of: dict[str, bytes], folder: Path) -> str:
    import fsspec

    for name, content in files_of.items():
        fsspec.filesystem("memory").pipe(f"/{folder.name}/{name}", content)
    return f"memory://{folder.name}"


def packed(pack, name):
    def write(files_of, folder):
        (folder / name).write_bytes(pack(files_of))
        return folder

    return write


#: Where files are read from by their content: a folder, an object store, and what holds other files.
PLACES = {
    "folder": laid,
    "store": in_memory,
    "zip": packed(zipped, "a.zip"),
    "tar": packed(tarred, "a.tar"),
    "tar.xz": packed(lambda files_of: tarred(files_of, "w:xz"), "a.tar.xz"),
}


def read_and_warned(source):
    """Return the events of a source, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = of.read_events(source)["event_id"].tolist()
    return sorted(found, key=lambda name: int(name[1:])), [str(one.message) for one in caught]


@pytest.mark.parametrize("place", PLACES)
def test_a_name_without_suffix_or_with_a_blank_after_it_is_read_where_the_content_is_json(place, tmp_path):
    source = PLACES[place](NAMELESS, tmp_path)
    assert read_and_warned(source) == ([f"e{number}" for number in range(12)], [])


@pytest.mark.parametrize("place", PLACES)
def test_files_that_no_reader_takes_are_counted_in_one_warning_by_kind(place, tmp_path):
    others = {name: content for name, (content, _) in UNREAD.items()}
    source = PLACES[place]({"a.json": compact(event(1))} | others | IGNORED, tmp_path)
    rows, (warning,) = read_and_warned(source)
    assert rows == ["e1"]
    assert re.fullmatch(
        r"8 files not read: 4 without a suffix, 2 \.txt(, 1 \.bak|, 1 with another suffix){2}"
        "; osdi_frames.check lists them",
        warning,
    )
    listed = of.check(source)
    assert set(listed["severity"]) == {"warning"}
    assert set(listed["problem"]) == {"a file that is not read"}
    kinds = [kind for _, kind in UNREAD.values()]
    assert dict(zip(listed["detail"], listed["count"], strict=True)) == {
        kind: kinds.count(kind) for kind in kinds
    }


def test_of_many_kinds_of_files_some_are_named(tmp_path):
    laid({f"{number}.s{number}": b"" for number in range(20)} | {"a.json": compact(event(1))}, tmp_path)
    _, (warning,) = read_and_warned(tmp_path)
    assert warning.startswith("20 files not read: 1 .s")
    assert warning.count(" .s") == 6
    assert ", …; osdi_frames.check lists them" in warning


def test_every_reading_counts_them_once(tmp_path):
    source = laid({"a.json": compact(event(1)), "b.log": b"x"}, tmp_path / "in")
    for call in (
        lambda: of.open(source).scan("events").read_all(),
        lambda: of.export(source, tmp_path / "out"),
        lambda: of.open(source).partitions(),
    ):
        with pytest.warns(SourceWarning) as caught:
            call()
        assert [str(one.message).partition(";")[0] for one in caught] == ["1 file not read: 1 .log"]


def test_a_pipe_without_a_suffix_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path / "a.json", 1)
    assert read_and_warned(tmp_path) == (
        ["e1"],
        ["1 file not read: 1 without a suffix; osdi_frames.check lists them"],
    )


def test_a_file_that_is_named_is_read_whatever_its_name(tmp_path):
    laid({"notes.txt": compact(event(1)), "log": b"[10:00] begin"}, tmp_path)
    assert agreed(tmp_path / "notes.txt") == (["e1"], [])
    _, (problem,) = agreed(tmp_path / "log")
    assert "not JSON" in problem


def test_a_large_bzip2_without_a_suffix_is_read_whose_first_block_is_larger_than_what_is_looked_at(tmp_path):
    noise = random.Random(1).randbytes(200_000).hex()
    laid({"a": bz2.compress(compact(event(1) | {"description": noise}))}, tmp_path)
    assert agreed(tmp_path) == (["e1"], [])


def test_to_look_at_the_content_has_an_end(tmp_path):
    nested = compact(event(1))
    for _ in range(40):
        nested = gzip.compress(nested)
    laid({"nested": nested}, tmp_path)
    _, (problem,) = agreed(tmp_path)
    assert "Limits.nesting" in problem


# --- segments of a receiver ----------------------------------------------------------------------------

SEGMENT = "000000000001.ndjson"


def test_a_segment_in_its_plain_and_its_sealed_form_is_read_once(tmp_path):
    (tmp_path / SEGMENT).write_bytes(lines([event(1)]))
    (tmp_path / f"{SEGMENT}.zst").write_bytes(zstd(lines([event(1)])))
    for paths in ([tmp_path], [tmp_path / "*"], sorted(tmp_path.iterdir())):
        assert files(map(str, paths), print) == [str(tmp_path / SEGMENT)]


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


def test_a_range_behind_the_last_line_of_a_sealed_segment_is_empty(tmp_path):
    text = lines([event(1), event(2)])
    (tmp_path / f"{SEGMENT}.zst").write_bytes(zstd(text.rstrip(b"\n")))
    behind = Part(str(tmp_path / SEGMENT), start=len(text), line=3)
    with behind.open() as file:
        assert file.read() == b""


def test_while_segments_are_sealed_each_is_listed_exactly_once(tmp_path):
    count = 400
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
