"""Wrong calls are answered with one sentence that says what would be right."""

import ast
import copy
import inspect
import re
import sys
from pathlib import Path

import fsspec.registry  # noqa: F401 (the test finds it among the modules)
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import osdi_frames as of
from osdi_frames import keywords, receiver, sandbox
from osdi_frames.errors import InvalidArgument, InvalidColumn, InvalidSource, MissingExtra, OsdiError
from osdi_frames.messages import nearest
from osdi_frames.reader import Settings
from osdi_frames.resolving.filters import FILTERS
from osdi_frames.tables import TABLES

EVENTS = of.read_events({"title": "March", "total_accepted": 3, "start_date": "2026-05-01T18:00:00Z"})
POLARS = pl.from_arrow(of.open({"title": "March", "total_accepted": 3}).scan("events").read_all())


def test_what_is_no_source_is_named():
    for source in (EVENTS, POLARS, [EVENTS], print, b"{}", 3, None):
        for call in (of.read_events, of.check, of.report):
            with pytest.raises(
                InvalidSource, match="a source is a path, an open binary file, or parsed JSON, not "
            ):
                call(source)


def test_a_frame_handed_to_a_reader_is_led_to_the_reports():
    with pytest.raises(InvalidSource, match=r"reports and plots take frames: osdi_frames.rsvps_by_campaign"):
        of.read_events(EVENTS)


def test_an_address_of_a_service_is_led_to_the_client():
    with pytest.raises(InvalidSource, match=r"osdi-frames pull, or osdi_frames\.Client"):
        of.read_events("https://example.org/api/v2/events")


def test_an_address_without_the_extra_that_opens_it_is_led_to_the_client_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    looked_up = sys.modules["fsspec.registry"]._registry  # the package has an object of this name
    for protocol in ("http", "https"):  # which a test before can have looked up
        monkeypatch.delitem(looked_up, protocol, raising=False)
    with pytest.raises(MissingExtra, match=r"\[cloud\].*osdi-frames pull, or osdi_frames\.Client"):
        of.read_events("https://example.org/events.json")
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(looked_up, "s3", raising=False)
    with pytest.raises(MissingExtra, match=r"\[cloud\]'?$"):  # no service answers at a bucket
        of.read_events("s3://bucket/events.json")


def test_a_path_that_is_not_there_names_the_nearest(tmp_path):
    (tmp_path / "archive").mkdir()
    with pytest.raises(FileNotFoundError, match=rf"achive; nearest: {tmp_path / 'archive'}$"):
        of.read_events(tmp_path / "achive")


def test_json_text_in_place_of_a_path_is_led_to_json_loads():
    with pytest.raises(FileNotFoundError, match=r"json\.loads"):
        of.read_events('{"title": "March"}')


def test_frames_of_other_libraries_are_taken():
    for frame in (POLARS, pa.table(POLARS), of.open({"total_accepted": 3}).scan("events")):
        assert of.rsvps_by_campaign(frame)["rsvps"].to_dict() == {"(none)": 3}


def test_a_frame_of_another_library_makes_the_same_report_and_file(little, tmp_path):
    events = of.open(little).scan("events").read_all()
    expected = of.rsvps_by_campaign(of.read_events(little))
    pd.testing.assert_frame_equal(of.rsvps_by_campaign(pl.from_arrow(events)), expected)
    of.write_csv(pl.from_arrow(events), tmp_path / "a.csv")
    of.write_csv(of.read_events(little), tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_wrong_argument_says_what_would_be_right():
    for call, said in {
        "a path for a frame": (
            lambda: of.rsvps_by_campaign("data"),
            r"as osdi_frames.open\(source\).table\('events'\)",
        ),
        "a Series for a frame": (lambda: of.rsvps_by_campaign(EVENTS["title"]), "not Series"),
        "an archive for a frame": (
            lambda: of.rsvps_by_campaign(of.open([])),
            r"open\(source\).table\('events'\) returns, not Archive",
        ),
        "an archive for a source": (lambda: of.report(of.open([])), r"open archive already; .*events\(\)"),
        "a plural for the month": (
            lambda: of.export([], "out", partition_by="months"),
            "by month or by a column, not 'months'; nearest: month,",
        ),
        "a function for a frame": (
            lambda: of.rsvps_by_campaign(of.read_events),
            r"call it: read_events\(…\)",
        ),
        "a path for a CSV": (lambda: of.write_csv("data", "a.csv"), "write_csv takes a DataFrame"),
        "a function for by": (lambda: of.rsvps_by(EVENTS, print), "by is a column"),
        "no values to draw": (
            lambda: of.plots.rsvps_by_campaign(of.rsvps_by_campaign(EVENTS), top=0),
            "1 or more, not 0",
        ),
        "a prefix with its colon": (
            lambda: of.read_events([], prefix="x:"),
            "without a colon, such as 'x', not 'x:'",
        ),
        "a prefix of two words": (lambda: of.check([], prefix="a b"), "one word"),
        "an unknown format": (
            lambda: of.export([], "out", format="xls"),
            "'parquet', 'csv', 'xlsx', not 'xls'",
        ),
        "formats as a text": (
            lambda: of.open([]).write_report("out", formats="csv"),
            r"formats is a list: formats=\['csv'\]",
        ),
        "min_count as a text": (lambda: of.report([], min_count="5"), "smallest count to show, not '5'"),
        "min_count of nothing": (lambda: of.report([], min_count=0), "smallest count to show, not 0"),
        "an unknown on_error": (
            lambda: of.read_events([], on_error="ignore"),
            "'raise' or 'skip', not 'ignore'",
        ),
        "a mistyped report": (
            lambda: of.report([], reports=["rsvps"]),
            "there is no report 'rsvps'; nearest: rsvps_by_",
        ),
        "a mistyped analysis": (lambda: of.report([], reports=["engagment"]), "nearest: engagement"),
        "a name for a list of reports": (lambda: of.report([], reports="news"), r"reports=\['news'\]"),
        "numbers for reports": (
            lambda: of.report([], reports=[3]),
            "reports is a list of names or of osdi_frames.reports.Report",
        ),
        "a file for a service": (lambda: of.Client("data"), "not an address of a service"),
        "a frame for a service": (lambda: of.Client(EVENTS), "not an address"),
    }.values():
        with pytest.raises(OsdiError, match=said) as raised:
            call()
        assert "\n" not in str(raised.value)


def test_columns_are_a_list():
    with pytest.raises(TypeError, match="columns is a list of names"):
        of.read_events([], columns=3)


def test_a_mistyped_keyword_names_the_nearest():
    for call, said in {
        "open": (lambda: of.open([], on_errors="skip"), r"open\(\) .*'on_errors'; nearest: on_error"),
        "a reader": (lambda: of.read_events([], prefx="x"), r"read_events\(\) .*'prefx'; nearest: prefix"),
        "a reader's own": (lambda: of.read_events([], colums=[]), r"'colums'; nearest: columns"),
        "report": (lambda: of.open([]).report(min_cont=5), r" report\(\) .*'min_cont'; nearest: min_count"),
        "write_report": (
            lambda: of.open([]).write_report("out", includes="test"),
            r"write_report\(\) .*'includes'; nearest: include",
        ),
        "a keyword of write_report only": (
            lambda: of.open([]).write_report("out", format=["csv"]),
            "'format'; nearest: formats",
        ),
        "where": (lambda: of.open([]).where(petiton="x"), r"where\(\) .*'petiton'; nearest: petition"),
        "of.report": (lambda: of.report([], sinc="2026"), r" report\(\) .*'sinc'; nearest: since"),
    }.values():
        with pytest.raises(TypeError, match=said.strip()):
            call()


def test_an_export_with_a_mistyped_keyword_writes_nothing(tmp_path, data):
    for mistyped, name in (
        ({"drop_identifying": True}, "drop"),
        ({"pseudonymise": "k" * 32}, "pseudonymize"),
        ({"table": "signatures"}, "tables"),
        ({"coordinate_decimal": 0}, "coordinate_decimals"),
        ({"postal_character": 2, "drop": "identifying"}, "postal_characters"),
        ({"hide": 1}, ""),
        ({"min_count": 5}, ""),
    ):
        for call in (of.export, lambda data, out, **options: of.open(data).export(out, **options)):
            with pytest.raises(TypeError, match=rf"^export\(\) got an unexpected keyword .*{name}"):
                call(data, tmp_path / "out", **{"tables": ["signatures"], **mistyped})
            assert [*tmp_path.iterdir()] == []


def taking_any_keyword():
    """Yield each public function that hands keywords on, and how many arguments it needs."""
    methods = [name for name, _ in inspect.getmembers(of.Archive, inspect.isfunction) if name[0] != "_"]
    functions = [getattr(of, name) for name in of.__all__]
    for function in [*functions, *(getattr(of.open([]), name) for name in methods)]:
        found = inspect.signature(function).parameters.values() if inspect.isroutine(function) else ()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in found):
            needed = [
                one for one in found if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
            ]
            yield function, len(needed)


def test_no_function_passes_over_a_keyword(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # "events" is a destination, too
    for function, needed in taking_any_keyword():
        said = rf"^{function.__name__}\(\) got an unexpected keyword argument 'surprise'; "
        with pytest.raises(TypeError, match=said):
            function(*["events"] * needed, surprise=True)


def test_functions_of_a_source_take_what_the_archive_takes():
    of_archive = {*of.Archive.export.__kwdefaults__, *keywords.PrivacyOptions.__annotations__}
    shared = {*Settings.__annotations__, *FILTERS, *of.Archive.where.__kwdefaults__}
    assert {*keywords.ExportOptions.__annotations__} == of_archive | shared
    of_archive = {*of.Archive.write_report.__kwdefaults__, *keywords.Options.__annotations__}
    assert {*keywords.WriteOptions.__annotations__} == of_archive | shared


def test_an_id_that_occurs_nowhere_is_answered_with_titles_whichever_table_is_read(little):
    for name in ("petitions", "signatures", "people"):
        with pytest.raises(OsdiError, match=r"no petition is 'rent increase'; nearest: .* \(Stop the rent"):
            of.open(little).where(petition="rent increase").table(name)


def test_a_mistyped_name_of_the_package_names_the_nearest():
    with pytest.raises(AttributeError, match="nearest: read_events"):
        of.read_event  # noqa: B018


def test_a_mistyped_method_of_an_archive_names_the_nearest():
    archive = of.open({"title": "March"})
    with pytest.raises(AttributeError, match="an archive has no attribute 'donation'; nearest: donations, "):
        archive.donation()
    with pytest.raises(AttributeError, match="nearest: report, export"):
        archive.reports()
    assert copy.deepcopy(archive) == archive
    assert not hasattr(archive, "__array__")


def test_every_table_is_a_method_and_what_only_its_frame_has_names_the_call(little):
    archive = of.open(little)
    methods = {
        name: method.table
        for name, method in inspect.getmembers_static(of.Archive)
        if hasattr(method, "table")
    }
    read = TABLES.keys() - {"supporters", "supporter_amounts"}  # methods with arguments of their own
    assert methods == {name: name for name in read} | {"campaigns": "event_campaigns"}
    for name in ("donations", "signature_tags", "actions"):
        pd.testing.assert_frame_equal(getattr(archive, name)(), archive.table(name))
        assert getattr(archive, name).__doc__.startswith(TABLES[name].meaning)
        assert inspect.signature(getattr(archive, name)) == inspect.signature(archive.events)
    with pytest.raises(AttributeError, match=r"^events is a method: events\(\)\.head$"):
        archive.events.head()
    with pytest.raises(TypeError, match=r"open\(source\)\.events\(\)"):
        of.Archive.events()
    with pytest.raises(InvalidColumn, match=r"call it: events\(…\)"):
        of.rsvps_by_campaign(archive.events)


def test_a_wrong_argument_is_a_value_error():
    assert issubclass(InvalidArgument, ValueError)
    assert issubclass(InvalidSource, TypeError)
    assert issubclass(InvalidColumn, ValueError)


def test_the_package_has_its_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", of.__version__)


def parameters():
    """Yield the name and the parameters of each public function."""
    named = {name: getattr(of, name) for name in of.__all__}
    named |= {f"plots.{name}": getattr(of.plots, name) for name in of.plots.__all__}
    named |= {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in (receiver, sandbox)
        for name in module.__all__
    }
    named |= {
        f"Client.{name}": function for name, function in vars(of.Client).items() if not name.startswith("_")
    }
    for name, function in named.items():
        if inspect.isfunction(function):
            yield name, inspect.signature(function).parameters


def test_one_thing_has_one_name_in_every_signature():
    other = {"clock", "dest", "out", "output", "target", "progress_bar", "src"}
    assert {name: other & set(found) for name, found in parameters() if other & set(found)} == {}


def test_by_is_the_second_argument_wherever_it_is_one():
    positional = {
        name: [each.name for each in found.values() if each.kind is not each.KEYWORD_ONLY]
        for name, found in parameters()
    }
    places = {name: found.index("by") for name, found in positional.items() if "by" in found}
    assert set(places.values()) == {1}
    assert "signatures_over_time" in places


def test_no_problem_is_made_of_another_kind():
    trees = [ast.parse(path.read_text()) for path in Path(of.__file__).parent.rglob("*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    place = {"Finding": 0, "Misfit": 0, "Problem": 1}
    kinds = [
        call.args[place[call.func.id]]
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in place and len(call.args) > place[call.func.id]
    ]
    assert len(kinds) > 20
    assert not [ast.unparse(kind) for kind in kinds if isinstance(kind, ast.Constant | ast.JoinedStr)]


PETITIONS = [f"p{number:04d}" for number in range(95)]
MANY_NAMES = {
    "a column of a table": (lambda: of.read_events([], columns=["lokashun"]), len(TABLES["events"].columns)),
    "a petition": (lambda: of.report(signed_petitions(PETITIONS), petition="zzz94"), len(PETITIONS)),
}


def signed_petitions(ids: list[str]) -> list[dict[str, object]]:
    return [{"osdi:signature": {"action_network:petition_id": petition}} for petition in ids]


def test_an_error_lists_forty_names_at_most_and_how_many_more_there_are():
    for call, count in MANY_NAMES.values():
        with pytest.raises(LookupError) as raised:
            call()
        names = re.search(r"there are: (.*), and (\d+) more", str(raised.value))
        assert names
        assert (len(names[1].split(", ")), int(names[2])) == (40, count - 40)


def test_the_nearest_of_many_names_are_first_and_few_keep_their_order():
    assert nearest("zzzz", ["b", "a"]) == "there are: b, a"
    names = [*(f"unlike {number}" for number in range(60)), "abcd efgh ijkl"]
    assert nearest("abcd", names).startswith("nearest: abcd")
    assert nearest("a-b-c-d-", names).startswith("there are: abcd efgh ijkl, ")
