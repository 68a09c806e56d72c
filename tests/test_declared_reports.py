"""A report is one declaration: declared here, it appears in functions, plots, page, terminal and files."""

import pkgutil
import re
from collections import Counter

import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

import osdi_frames as of
from osdi_frames import page, reports
from osdi_frames.errors import MissingColumn
from osdi_frames.messages import printable
from osdi_frames.output.files import FileForm, write_tables
from osdi_frames.page import tables
from osdi_frames.plots.functions import plot_of
from osdi_frames.reports import STANDARD, Period, Report, make, measures
from osdi_frames.reports.declared import COUNTED_SIGNATURES, KEYED
from osdi_frames.reports.measures import show, show_key
from osdi_frames.reports.printed import table
from osdi_frames.reports.titles import labelled

THROWAWAY = Report(
    COUNTED_SIGNATURES,
    "signatures_by_petition_and_week",
    "Signatures by petition and week",
    by=("petition_id", Period("created_date", "W")),
    own_measures=(measures.COUNT_OF_SIGNATURES, measures.DISTINCT_PEOPLE),
)


def signed(number, petition, day, **referrer):
    links = {"osdi:petition": {"href": f"https://x.example/petitions/{petition}"}} if petition else {}
    signature = {
        "identifiers": [f"platform:{number}"],
        "created_date": day,
        "platform:referrer_data": referrer,
        "_links": links,
    }
    return [{"osdi:signature": signature, "idempotency_key": str(number)}]


def event(number, **fields):
    return {"identifiers": [f"platform:{number}"], "title": "t", "total_accepted": 1} | fields


ARCHIVE = [
    signed(1, "p", "2026-05-04T10:00:00Z"),
    signed(2, "p", "2026-05-10T10:00:00Z"),
    signed(3, "q", "2026-05-11T10:00:00Z"),
]


def test_a_declaration_appears_in_function_plot_page_terminal_and_files(tmp_path):
    made = make(THROWAWAY, of.read_signatures(ARCHIVE))
    counts = {("p", "2026-05-04"): 2, ("q", "2026-05-11"): 1}
    assert made["signatures"].to_dict() == counts
    assert made.index.names == ["petition_id", "week"]
    reported = of.report(ARCHIVE, reports=[THROWAWAY])["signatures_by_petition_and_week"]
    assert reported.drop(columns="title").equals(made)
    assert reported["title"].isna().all()

    axes = plot_of(THROWAWAY)(made, ax=Figure().subplots())
    assert axes.get_title(loc="left") == "Signatures by petition and week"
    assert sum(bar.get_height() for bar in axes.patches) == 3

    terminal = table(THROWAWAY, made, top=10).splitlines()
    assert [line.split() for line in terminal] == [
        ["petition", "week", "signatures", "people"],
        ["p", "2026-05-04", "2", "0"],
        ["q", "2026-05-11", "1", "0"],
    ]

    of.write_report(ARCHIVE, tmp_path / "out", reports=[*KEYED, THROWAWAY])
    html = (tmp_path / "out" / "report.html").read_text()
    assert html.count("Signatures by petition and week</h3>") == 1
    written = pd.read_csv(tmp_path / "out" / f"{THROWAWAY.name}.csv", index_col=["petition_id", "week"])
    assert written["signatures"].to_dict() == counts
    assert pd.read_parquet(tmp_path / "out" / f"{THROWAWAY.name}.parquet")["signatures"].tolist() == [2, 1]


def test_page_terminal_csv_and_parquet_show_the_same_cells(reported, tmp_path):
    declared = [report for report in KEYED if report.name in reported]
    assert list(reported) == [report.name for report in STANDARD if report.name in reported]
    written = {
        name: pa.Table.from_pandas(frame.reset_index().rename(columns=str))
        for name, frame in reported.items()
    }
    for format in ("csv", "parquet"):  # noqa: A001 (as in `FileForm`)
        schemas = {name: written_table.schema for name, written_table in written.items()}
        write_tables(schemas, written.items(), tmp_path, FileForm(format))
    for report in declared:
        frame = reported[report.name]
        shown = labelled(frame)
        keys = [_visible(shown.index.get_level_values(number)) for number in range(shown.index.nlevels)]
        measures_ = report.shown(frame)
        cells = [[show(value, measure.unit) for value in shown[measure.name]] for measure in measures_]
        expected = sorted(zip(*keys, *cells, strict=True))

        laid_out = tables.of_report(report, frame, rows=10_000)
        rows = [[cell.text for cell in row] for row in laid_out.rows]
        laid = sorted((*_visible(row[: len(keys)]), *row[len(keys) :]) for row in rows)
        assert laid == [row for row in expected if row[1] != "0" or not report.is_over_time]
        terminal = [re.split("  +", line.strip()) for line in table(report, frame, top=10_000).splitlines()]
        rows = [[*_visible(line[: len(keys)]), *line[len(keys) :]] for line in terminal[1:]]
        assert sorted(map(tuple, rows)) == expected

        parquet = pd.read_parquet(tmp_path / f"{report.name}.parquet")
        csv = pd.read_csv(tmp_path / f"{report.name}.csv", keep_default_na=False, dtype="str")
        for declared in measures_:
            values = frame[declared.name].tolist()
            assert [show(value, declared.unit) for value in parquet[declared.name]] == [
                show(value, declared.unit) for value in values
            ]
            texts = [show(_read(text, declared.unit), declared.unit) for text in csv[declared.name]]
            assert texts == [show(value, declared.unit) for value in values]
        for name in frame.index.names:
            labels = list(frame.index.get_level_values(name))
            if isinstance(frame.index, pd.DatetimeIndex):
                assert (pd.to_datetime(csv[name]) == frame.index).all()
                csv[name] = labels = list(map(str, labels))
                parquet[name] = parquet[name].astype("str")
            assert parquet[name].tolist() == labels
            assert [text.removeprefix("'") for text in csv[name]] == [
                text.removeprefix("'") for text in labels
            ]


def _visible(labels):
    """Return labels without what page and terminal replace or cut off, each in its own way."""
    return [re.sub(r"[\s�]+", " ", printable(show_key(label))).strip()[:59] for label in labels]


def _read(text, unit):
    return (
        pd.NA
        if text == ""
        else pd.Timestamp(text)
        if unit == "time"
        else float(text)
        if unit == "share"
        else int(text)
    )


# ------------------------------------------------------------------------------------------------- titles

CAMPAIGNS = pd.DataFrame(
    {
        "event_campaign_id": ["a", "b", "c", "d", "a", "f"],
        "title": ["Old", "Climate", "Climate", "  ", "<b>Zoë</b>\u202e", "b"],
    }
)


def campaigns_report():
    events = [event(n, **{"platform:event_campaign_id": key}) for n, key in enumerate([*"abcdef", None])]
    return of.rsvps_by_campaign(of.read_events(events), CAMPAIGNS)


def test_titles_stand_next_to_their_ids_where_they_are_known():
    report = campaigns_report()
    assert report.columns[0] == "title"
    assert report.index.name == "event_campaign_id"
    assert report["title"].fillna("-").to_dict() == {
        "a": "<b>Zoë</b>\u202e",
        "b": "Climate",
        "c": "Climate",
        "d": "-",
        "e": "-",
        "f": "b",
        "(none)": "-",
    }
    assert "title" not in of.rsvps_by_campaign(of.read_events([event(1)]))


def test_equal_titles_stay_apart_and_no_title_shows_the_id_in_plot_page_and_terminal():
    report = campaigns_report()
    labels = ["(none)", "<b>Zoë</b>\u202e", "Climate (b)", "Climate (c)", "d", "e", "b"]
    assert labelled(report).index.tolist() == labels
    axes = of.plots.rsvps_by_campaign(report, ax=Figure().subplots())
    drawn = [label.get_text() for label in axes.get_yticklabels()]
    assert drawn == [label.replace("\u202e", "�") for label in labels]
    declared = next(
        declared_report for declared_report in KEYED if declared_report.name == "rsvps_by_campaign"
    )
    lines = table(declared, report, top=10).splitlines()[1:]
    assert [line.split("  ")[0] for line in lines] == [label.replace("\u202e", "�") for label in labels]
    rows = tables.of_report(declared, report).rows
    assert [row[0].text for row in rows] == labels


def test_titles_name_the_columns_of_a_report_over_time():
    signatures = of.read_signatures(ARCHIVE)
    petitions = pd.DataFrame({"petition_id": ["p"], "title": ["Save the park"]})
    report = of.signatures_over_time(signatures, freq="MS", by="petition_id", petitions=petitions)
    assert list(report.columns) == ["Save the park", "q"]
    by = of.signatures_by(signatures, ["source", "petition_id"], petitions)
    assert by["title"].fillna("-").tolist() == ["Save the park", "-"]


def test_a_frame_of_titles_without_titles_is_refused():
    with pytest.raises(MissingColumn, match="rsvps_by_campaign: campaigns needs title"):
        of.rsvps_by_campaign(of.read_events([event(1)]), CAMPAIGNS[["event_campaign_id"]])


# ------------------------------------------------------------------------------------------------ periods


@pytest.mark.parametrize("number", [1, 40])
def test_one_event_in_the_year_9999_is_one_row(number):
    dates = ["9999-12-31T00:00:00Z", "0001-01-01T00:00:00Z", "2026-07-01T10:00:00Z", None]
    events = [event(n, start_date="2026-05-01T18:00:00Z") for n in range(number)]
    events += [event(100 + n, start_date=date) for n, date in enumerate(dates)]
    report = of.rsvps_by_month(of.read_events(events))
    assert report["rsvps"].to_dict() == {
        "before 2026-05": 1,
        "2026-05": number,
        "2026-06": 0,
        "2026-07": 1,
        "after 2026-07": 1,
        "(no date)": 1,
    }
    by_month = of.rsvps_by(of.read_events(events), pd.Grouper(key="start_date", freq="MS"))
    assert by_month["rsvps"].sum() == number + 4
    assert len(by_month) == 6


def test_signatures_far_apart_make_no_row_for_each_hour_between():
    days = ["1970-01-01T00:00:00Z", "2026-05-01T08:00:00Z", "2026-05-01T10:00:00Z"]
    signatures = of.read_signatures([signed(n, "p", day) for n, day in enumerate(days)])
    assert of.signatures_over_time(signatures, freq="h")["signatures"].tolist() == [1, 1, 0, 1]


# ---------------------------------------------------------------------------------- what reports show

PERSONAL = {
    "ada@lovelace.example": "(e-mail)",
    "to=ada%40lovelace.example": "to=(e-mail)",
    "to=ada%2540lovelace.example": "to=(e-mail)",
    "https://site.example/a?token=s3cret&x=1": "https://site.example/a?…",
    "site.example/a?token=s3cret": "site.example/a?…",
    "https://site.example/a%3Ftoken=s3cret": "https://site.example/a?…",
    "site.example#phone=5105550199": "site.example?…",
    "call +1 (510) 555-0199 now": "call (phone) now",
    "tel:%2B15105550199": "tel:(phone)",
    "ask ada @lovelace.example": "ask (e-mail)",
    "ada @ lovelace.example now": "(e-mail) now",
    "ada&#64;lovelace.example": "(e-mail)",
    "ada&amp;#x40;lovelace&period;example": "(e-mail)",
    "ada@localhost": "(e-mail)",
    "%22ada%20l%22%40localhost": "(e-mail)",
    'to "ada lovelace"@b.example': "to (e-mail)",
    '"ada \\" lovelace"@b.example': "(e-mail)",
    r"ada\u0040lovelace.example": "(e-mail)",
    "ada\uff20lovelace\uff0eexample": "(e-mail)",
    "call \uff0b\uff11 \uff15\uff11\uff10 \uff15\uff15\uff15 \uff10\uff11\uff19\uff19 now": "call (phone) now",
    "call +1\u2013510\u2013555\u20130199 now": "call (phone) now",
}
HARMLESS = [
    "email-2026-05-newsletter",
    "2026-03-05",
    "what now? yes",
    "group-a",
    "site.example/a",
    "C++ 2026",
    "Q&A, 100% of us",
    "Rally @ 5.30pm",
    "meet @river_club",
]


@pytest.mark.parametrize("show_addresses", [False, True])
def test_personal_data_within_sources_is_hidden_everywhere_unless_asked_for(show_addresses, tmp_path):
    shown = {text: PERSONAL.get(text, text) for text in (*PERSONAL, *HARMLESS)}
    archive = [
        signed(number, "p", "2026-05-04T10:00:00Z", source=text, website=text)
        for number, text in enumerate(shown)
    ]
    frames = of.write_report(archive, tmp_path / "out", show_addresses=show_addresses, spelling="exact")
    expected = Counter(list(shown) if show_addresses else shown.values())
    assert frames["signatures_by_source"]["signatures"].to_dict() == expected
    written = pd.read_parquet(tmp_path / "out" / "signatures_by_website.parquet")
    assert written.set_index("website")["signatures"].to_dict() == expected
    html = (tmp_path / "out" / "report.html").read_text()
    if not show_addresses:
        assert not re.search("lovelace|s3cret|555-?0199", html)


def test_each_personal_text_has_its_own_replacement_and_others_are_shown_as_they_are():
    texts = {text: PERSONAL.get(text, text) for text in (*PERSONAL, *HARMLESS)}
    archive = [signed(n, f"{n:02}", "2026-05-04T10:00:00Z", source=text) for n, text in enumerate(texts)]
    by = Report(
        COUNTED_SIGNATURES,
        "by",
        "By",
        by=("petition_id", "source"),
        own_measures=(measures.COUNT_OF_SIGNATURES,),
    )
    shown = of.report(archive, reports=[by])["by"].reset_index().sort_values("petition_id")["source"]
    assert dict(zip(texts, shown, strict=True)) == texts


def test_the_page_is_made_of_any_reports():
    reading = of.report(ARCHIVE, reports=[THROWAWAY])
    html = page.render(reading, now=pd.Timestamp("2026-06-01", tz="UTC"))
    assert "Signatures by petition and week" in html
    assert "RSVPs by campaign" not in html


def test_the_docstring_of_the_package_lists_its_modules():
    listed = {*re.findall(r"`(\w+)`", reports.__doc__)}
    assert {module.name for module in pkgutil.iter_modules(reports.__path__)} <= listed
