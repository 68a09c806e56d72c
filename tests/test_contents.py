"""What an archive shows of itself: in a notebook as HTML, elsewhere as text."""

import io
import json
import os
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

import osdi_frames as of
from osdi_frames.errors import SourceNotFound, SourceWarning
from tests.pulls import write_pull

_OPENED: list[str] = []
_COUNTING = [False]


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """Collect the paths of files that this process opens."""
    _OPENED.clear()
    _COUNTING[0] = True
    try:
        yield _OPENED
    finally:
        _COUNTING[0] = False


def _note(event, arguments):
    if _COUNTING[0] and event == "open" and isinstance(arguments[0], str):
        _OPENED.append(arguments[0])


sys.addaudithook(_note)  # there is no way to remove one


def event(number, **fields):
    return {
        "title": f"Event {number}",
        "identifiers": [f"platform:{number}"],
        "total_accepted": 1,
        "start_date": f"2026-05-{number:02}T18:00:00Z",
        **fields,
    }


def written(folder, *documents):
    folder.mkdir(parents=True, exist_ok=True)
    lines = (document if isinstance(document, str) else json.dumps(document) for document in documents)
    (folder / "pages.ndjson").write_text("".join(f"{line}\n" for line in lines))
    return folder


def pulled(folder, day, why=""):
    """Write a pull of one event, which is complete unless there is a reason why not."""
    pages = {"pages.ndjson": [{**event(1), "total_accepted": day}]}
    return write_pull(folder / f"2026-05-{day:02}", datetime(2026, 5, day, 4, tzinfo=UTC), pages, why=why)


def test_types_are_listed_with_counts_and_period(little_of_all):
    archive = of.open(little_of_all)
    types = archive.contents.types.set_index("table")
    assert list(types) == ["received", "rows", "excluded", "date", "first", "last"]
    dated = {"events": "start_date", "attendances": "created_date"}
    rows_of = archive.tables({name: [column, "excluded"] for name, column in dated.items()})
    for name, column in dated.items():
        rows, shown = rows_of[name], types.loc[name]
        days = rows[column].dropna().dt.strftime("%Y-%m-%d")
        received = archive.scan(name, [column], dedupe=False).read_all().num_rows
        assert (shown.received, shown.rows, shown.excluded) == (
            received,
            len(rows),
            rows["excluded"].notna().sum(),
        )
        assert (shown.date, shown["first"], shown["last"]) == (column, days.min(), days.max())


def test_filters_hold_for_the_rows_shown_and_are_listed_with_the_types_that_they_are_about(tmp_path):
    campaign = "platform:event_campaign_id"
    signed = [{"osdi:signature": {"identifiers": ["platform:s"]}}]
    documents = [event(1, **{campaign: "c1"}), event(2, **{campaign: "c2"}), event(3), signed]
    archive = of.open(written(tmp_path, *documents))
    days = (
        archive.where(since="2026-05-01", until="2026-05-02").contents.types.set_index("table").loc["events"]
    )
    assert (days.received, days.rows, days["first"], days["last"]) == (3, 2, "2026-05-01", "2026-05-02")
    contents = archive.where(campaign="c1").contents
    only = "(event campaigns, events, attendances, people, uploads, taggings, actions, supporters, supporter amounts)"
    assert contents.notes[0] == f"only: campaign c1 {only}"
    assert contents.notes[1].startswith("left out: petitions, signatures, forms, ")
    assert contents.types["table"].tolist() == ["events"]


def test_a_column_of_numbers_is_right_aligned_and_one_of_text_left(tmp_path):
    contents = of.open(written(tmp_path, event(1))).contents
    html = contents._repr_html_()
    assert '<td style="text-align: left">events</td><td style="text-align: right">1</td>' in html
    assert '<th style="text-align: left">table</th><th style="text-align: right">received</th>' in html
    assert contents.notes[-1] == "no problems"


def test_a_notebook_shows_a_card_of_twelve_lines_and_folds_the_rest(data):
    contents = of.open(data).contents
    card, folded = contents._repr_html_().split("<details>")
    assert card.count("<code>") + card.count("<tr>") + card.count("<li>") + folded.count("<summary>") <= 12
    assert card.count("<tr>") - 1 < len(contents.types) == folded.count("<tr>") - 1
    assert [note for note in contents.urgent_notes if f"<li>{note}</li>" not in card] == []
    assert [line for line in str(contents).splitlines() if len(line) > 80] == []


def test_elements_without_dates_show_no_period(tmp_path):
    types = of.open(written(tmp_path, {**event(1), "start_date": None})).contents.types
    assert types[["first", "last"]].to_numpy().tolist() == [["", ""]]


def test_files_are_counted_with_their_size(tmp_path):
    written(tmp_path / "a", event(1))
    written(tmp_path / "b", "x" * 1_500)
    size = sum(file.stat().st_size for file in tmp_path.rglob("*.ndjson"))
    assert f"2 files, {size / 1000:.1f} kB" in of.open(tmp_path).contents.notes


def test_members_of_containers_are_counted_as_check_counts_them(tmp_path):
    written(tmp_path, event(1))
    with zipfile.ZipFile(tmp_path / "more.zip", "w") as container:
        for number in range(2, 9):
            container.writestr(f"{number}.json", json.dumps(event(number)))
    said = "2 files (8 with the members of zips and tars in their place), "
    assert [note for note in of.open(tmp_path).contents.notes if note.startswith(said)]
    assert of.check(tmp_path).attrs["files"] == 8


def test_each_pull_is_said_to_be_complete_or_not_with_the_reason(tmp_path):
    pulled(tmp_path, 1)
    pulled(tmp_path, 2, "all pages report 2 records; 1 was read")
    assert [note for note in of.open(tmp_path).contents.notes if note.startswith("pull")] == [
        "pull 2026-05-02: not complete; events: all pages report 2 records; 1 was read",
        "pull 2026-05-01: complete, 2026-05-01 04:00 UTC",
    ]


def test_of_many_pulls_the_latest_are_listed_and_the_others_counted(tmp_path):
    for day in range(1, 9):
        pulled(tmp_path, day, "one is missing" if day == 2 else "")
    notes = of.open(tmp_path).contents.notes
    assert [note.split(":")[0] for note in notes if note.startswith("pull")] == [
        f"pull 2026-05-{day:02}" for day in (8, 7, 6, 5, 4)
    ]
    assert "3 earlier pulls: 1 of them not complete" in notes


def test_pulls_are_those_of_the_files_that_are_read(tmp_path):
    written(tmp_path / "archive" / "deliveries", event(3))
    pulled(tmp_path / "archive" / "pulls", 1)
    pulled(tmp_path / "archive" / "pulls", 2)
    for source in ("archive", "archive/pulls/2026-05-01", "archive/*/*-01"):
        shown = [pull.folder.name for pull in of.open(str(tmp_path / source)).contents.pulls]
        assert shown == (["2026-05-01"] if source.endswith("-01") else ["2026-05-01", "2026-05-02"])


def test_a_pull_without_a_page_is_shown(tmp_path):
    (pulled(tmp_path, 1, "not read") / "pages.ndjson").unlink()
    with pytest.warns(SourceWarning):
        contents = of.open(tmp_path).contents
    assert "pull 2026-05-01: not complete; events: not read" in contents.notes


def test_problems_are_counted_by_severity_with_their_most_frequent_kinds(tmp_path):
    contents = of.open(
        written(
            tmp_path,
            event(1, capacity="lots"),
            event(2, capacity="many", mood="good"),
            '{"title": "cut',
        )
    ).contents
    assert contents.notes[-2:] == [
        "3 errors (not an integer: 2; not JSON: 1); check() lists them",
        "1 value that no table reads (undeclared key: 1)",
    ]


def test_an_archive_without_elements_says_so(tmp_path):
    contents = of.open(written(tmp_path, "[]")).contents
    assert "no elements" in str(contents)
    assert "<p>no elements</p>" in contents._repr_html_()


def test_one_pass_is_made_and_kept_and_its_counts_have_thousands_separators(tmp_path):
    for part in range(3):
        written(tmp_path / str(part), *({"title": "x", "total_accepted": number} for number in range(400)))
    archive, listed = of.open(tmp_path), {str(path) for path in tmp_path.rglob("*")}
    with opened_files() as opened:
        shown = archive._repr_html_()
    times = Counter(path for path in opened if path in listed)
    assert len(times) == len(archive.contents.files) == 3
    assert set(times.values()) == {1}
    with opened_files() as opened:
        assert archive._repr_html_() == shown == archive.contents._repr_html_()
    assert opened == []
    assert " 1,200 " in str(archive.contents)
    assert ">1,200</td>" in shown


def test_text_outside_of_notebooks_is_short_and_reads_nothing(data, monkeypatch):
    monkeypatch.chdir(data.parent)
    with opened_files() as opened:
        shown = repr(of.open("data").where(since="2026", status=["confirmed"]))
    assert shown == "Archive(data, since='2026', status=['confirmed'])"
    assert opened == []


def test_a_large_archive_is_not_read_whole(tmp_path, monkeypatch):
    for number in range(1, 10):
        written(tmp_path / f"{number}", *map(event, range(1, 21)))
    monkeypatch.setattr("osdi_frames.contents._LARGE", 1_000)
    with opened_files() as opened:
        contents = of.open(tmp_path).contents
    assert [path for path in opened if path.endswith(".ndjson")] == [str(tmp_path / "1" / "pages.ndjson")]
    assert contents.types.to_dict("list") == {"table": ["events"]}
    assert contents.notes[0].startswith("9 files, ")
    assert contents.notes[1].startswith(
        "large: only the first 10 documents were looked at; check() reads all"
    )


def test_the_parts_of_an_archive_show_what_is_in_them(tmp_path):
    for number in range(1, 5):
        written(tmp_path / str(number), event(number))
    parts = of.open(tmp_path).partitions(count=2)
    assert [part.contents.types.rows[0] for part in parts] == [2, 2]


def test_what_is_shown_is_escaped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pulled(tmp_path / "<b>", 1, "<script>")
    html = of.open("<b>").where(status="confirmed")._repr_html_()
    assert "<code>Archive(&lt;b&gt;, status=&#x27;confirmed&#x27;)</code>" in html
    assert "events: &lt;script&gt;" in html
    assert "<b>" not in html
    assert "<script>" not in html


def test_a_source_that_is_not_there_is_an_error_when_it_is_shown(tmp_path):
    archive = of.open(tmp_path / "nothing")
    with pytest.raises(SourceNotFound):
        archive._repr_html_()


def test_of_the_source_at_most_60_characters_are_shown():
    archive = of.open([f"folder-{number:03}" for number in range(200)])
    assert repr(archive) == "Archive(folder-000, folder-001, folder-002, folder-003, folder-004, …)"


def test_no_credentials_of_an_address_are_shown():
    addresses = ("https://ann:secret@example.org/a.json", "https://example.org/a.json?X-Amz-Signature=secret")
    for address in (*addresses, "s3://ann:secret@bucket/archive"):
        assert "secret" not in repr(of.open(address)) + repr(of.open([address, address]))


def test_parsed_objects_and_open_files_are_shown_and_stay_to_be_read():
    document = event(1)
    for source in ([document], iter([document]), io.BytesIO(json.dumps(document).encode())):
        archive = of.open(source)
        assert archive.contents.types.rows.tolist() == [1]
        assert len(archive.events()) == len(archive.events()) == 1


def test_a_pipe_is_not_used_up_by_showing_it():
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as end:
        end.write(json.dumps(event(1)).encode())
    with os.fdopen(reading, "rb") as stream:
        archive = of.open(stream)
        assert "can be read once" in archive._repr_html_()
        assert archive.events().title.tolist() == ["Event 1"]
