"""Spellings of one source, referrer, website, country or region are one row of every report."""

import json
import unicodedata
from collections import Counter, defaultdict

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

import osdi_frames as of
from osdi_frames.errors import InvalidArgument
from osdi_frames.reports import Report, measures
from osdi_frames.reports.declared import COUNTED_SIGNATURES
from tests.commands import run
from tests.test_structure import loaded


def frame(**columns):
    table = pd.DataFrame({name: pd.Series(values, dtype="str") for name, values in columns.items()})
    return table.assign(person_id=None, created_date=pd.Timestamp("2026-05-01", tz="UTC"), excluded=None)


def counts(report):
    return report["signatures"].to_dict()


def test_spellings_of_a_code_are_one_row_that_shows_the_most_frequent():
    sources = [
        "Facebook",
        " facebook ",
        "Facebook",
        "spring-mail",
        "spring_mail",
        "caf\u00e9",
        "cafe\u0301",
        "web",
    ]
    report = of.signatures_by_source(frame(source=[*sources, "none", None, ""]))
    assert counts(report) == {"Facebook": 3, "(none)": 3, "cafe\u0301": 2, "spring-mail": 2, "web": 1}
    assert report.attrs["note"] == (
        '7 spellings of source became 4; spelling="exact" (--exact) keeps them apart'
    )
    exact = of.signatures_by_source(frame(source=sources), spelling="exact")
    assert counts(exact) == Counter(sources)
    assert exact.attrs["note"] == ""


def test_of_equally_frequent_spellings_one_without_whitespace_around_it_is_shown():
    for blank in ("\t", "\x1f", " ", "\u00a0"):
        report = of.signatures_by_source(frame(source=[f"{blank}sms", "sms", f"SMS{blank}"]))
        assert counts(report) == {"sms": 3}
        report = of.signatures_by_source(frame(source=[f"{blank}sms"] * 2 + ["sms"]))
        assert counts(report) == {f"{blank}sms": 3}


def test_other_columns_keep_their_spellings():
    assert len(of.signatures_by_petition(frame(petition_id=["a", "A"]))) == 2


WEBSITES = {
    "example.org": "example.org",
    "WWW.Example.org.": "example.org",
    "https://www.example.org/petitions?page=2": "example.org",
    "http://ann:secret@example.org:8080/a": "example.org",
    "//example.org#top": "example.org",
    "blog.example.org": "blog.example.org",
    "www.org": "www.org",
    "the newsletter": "the newsletter",
    "/petitions": "/petitions",
    "(e-mail)": "(e-mail)",
}


def test_websites_are_counted_by_host():
    websites = frame(website=[*WEBSITES])
    assert counts(of.signatures_by_website(websites)) == Counter(WEBSITES.values())
    assert counts(of.signatures_by_website(websites, spelling="exact")) == Counter([*WEBSITES])


PLACES = [
    ("US", "California", "US", "CA"),
    ("us", "ca", "US", "CA"),
    ("United States", "CA ", "US", "CA"),
    ("usa", "US-CA", "US", "CA"),
    ("Canada", "Québec", "CA", "QC"),
    ("CA", "quebec", "CA", "QC"),
    ("CA", "California", "CA", "California"),
    ("US", "Kalifornia", "US", "Kalifornia"),
    ("Narnia", "CA", "Narnia", "CA"),
    (None, "California", "(none)", "California"),
    ("ES", "Cantabria", "ES", "Cantabria"),  # two regions of Spain have this name
]


def test_countries_and_regions_are_counted_by_their_codes_where_the_country_is_known():
    countries, regions, *_ = zip(*PLACES, strict=True)
    places = frame(location_country=countries, location_region=regions)
    expected = Counter((country, region) for *_, country, region in PLACES)
    assert counts(of.signatures_by_region(places)) == expected
    by_region = Counter(region for *_, region in PLACES)
    assert counts(of.signatures_by(places, "location_region")) == by_region
    assert counts(of.signatures_by(pl.from_pandas(places), "location_region")) == by_region
    without = of.signatures_by(places.drop(columns="location_country"), "location_region")
    assert counts(without) == Counter(regions)


TEXTS = (
    st.sampled_from(
        [
            "",
            " ",
            "none",
            "None ",
            "(none)",
            "(NONE)",
            "a",
            "A",
            " a",
            "a-b",
            "A_b",
            "é",
            "e\u0301",
            "É",
            "ß",
            "ss",
            "US",
            "us",
        ]
    )
    | st.none()
    | st.text(max_size=3)
)
ROWS = st.lists(st.tuples(TEXTS, TEXTS, TEXTS, TEXTS), max_size=12)
NAMES = ("source", "website", "location_country", "location_region")


def table_of(rows):
    return frame(**{name: [row[number] for row in rows] for number, name in enumerate(NAMES)})


@settings(max_examples=4)  # each makes twelve reports
@given(ROWS, st.sampled_from(["merged", "exact"]), st.randoms())
def test_sums_are_the_totals_and_the_order_of_rows_does_not_matter(rows, spelling, order):
    shuffled = order.sample(rows, len(rows))
    for by in (*NAMES, ["location_country", "location_region"], ["source", "website"]):
        report = of.signatures_by(table_of(rows), by, spelling=spelling)
        assert report["signatures"].sum() == len(rows)
        pd.testing.assert_frame_equal(report, of.signatures_by(table_of(shuffled), by, spelling=spelling))
        over_time = of.signatures_over_time(table_of(rows), freq="MS", by=by, spelling=spelling)
        assert over_time.sum().to_dict() == counts(report)


@settings(max_examples=12)
@given(ROWS)
def test_sources_are_those_of_a_count_by_key(rows):
    found = defaultdict(Counter)
    for text, *_ in rows:
        is_none = text in (None, "(none)") or text.strip().lower() in ("", "none")
        normal = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text or "").strip().casefold())
        key = None if is_none else normal.replace("_", "-")
        found[key]["(none)" if is_none else text] += 1
    expected = {
        min(texts, key=lambda text: (-texts[text], text != text.strip(), text)): texts.total()
        for texts in found.values()
    }
    assert counts(of.signatures_by_source(table_of(rows))) == expected


def signed(number, source, **place):
    signature = {
        "identifiers": [f"platform:{number}"],
        "created_date": "2026-05-04T10:00:00Z",
        "platform:referrer_data": {"source": source},
        "person": {"postal_addresses": [place]},
    }
    return [{"osdi:signature": signature}]


SOURCES = [
    "Facebook",
    "facebook",
    "Facebook",
    " facebook",
    "Facebook",
    "FACEBOOK",
    *["web"] * 9,
    *["mail"] * 8,
]


def test_frames_files_page_plots_and_protected_reports_have_the_same_rows(tmp_path):
    archive = [signed(*numbered) for numbered in enumerate(SOURCES)]
    rows = {"web": 9, "mail": 8, "Facebook": 6}
    (tmp_path / "in.json").write_text(json.dumps(archive))
    said = '6 spellings of source became 3; spelling="exact" (--exact) keeps them apart'
    found = json.loads(run("report", tmp_path / "in.json", "--json", "--out", tmp_path / "out").stdout)
    assert found["caveats"]["signatures_by_source"] == said
    assert [row["signatures"] for row in found["reports"]["signatures_by_source"]] == [*rows.values()]
    assert pd.read_csv(tmp_path / "out" / "signatures_by_source.csv")["signatures"].tolist() == [9, 8, 6]
    html = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Facebook" in html
    assert "FACEBOOK" not in html
    assert '<p class="caveat">6 spellings of source became 3.</p>' in html
    made = of.signatures_by_source(of.open(archive).signatures())
    assert counts(made) == rows
    axes = of.plots.signatures_by_source(made, ax=Figure().subplots())
    assert [label.get_text() for label in axes.get_yticklabels()] == [*rows]
    protected = of.report(archive, min_count=5)["signatures_by_source"]
    assert counts(protected) == {name: count // 5 * 5 for name, count in rows.items()}
    assert protected.attrs["note"] == ""  # how many spellings there are may be few, too
    exact = of.report(archive, min_count=5, spelling="exact")["signatures_by_source"]
    assert exact["signatures"].dropna().to_dict() == {"web": 5, "mail": 5}


def test_the_command_prints_what_became_one_and_keeps_spellings_apart_by_an_option(tmp_path):
    lines = (json.dumps(signed(*numbered)) for numbered in enumerate(SOURCES))
    (tmp_path / "a.ndjson").write_text("\n".join(lines))
    printed = run("report", "a.ndjson", "--all", cwd=tmp_path).stdout
    said = '6 spellings of source became 3; spelling="exact" (--exact) keeps them apart'
    of_source = printed.split("\nSignatures by source\n")[1].replace("\n  ", " ")
    assert of_source.startswith(f"{said}\nsource ")
    assert "FACEBOOK" not in printed
    assert "FACEBOOK" in run("report", "a.ndjson", "--exact", "--all", cwd=tmp_path).stdout


def test_a_report_by_region_alone_knows_the_country():
    by_region = Report(
        COUNTED_SIGNATURES,
        "by_region",
        "By region",
        by="location_region",
        own_measures=(measures.COUNT_OF_SIGNATURES,),
    )
    archive = [signed(0, "a", region="CA", country="US"), signed(1, "a", region="California", country="US")]
    assert counts(of.report(archive, reports=[by_region])["by_region"]) == {"CA": 2}


def test_an_unknown_spelling_is_refused():
    with pytest.raises(InvalidArgument, match="spelling is 'merged' or 'exact', not 'same'"):
        of.signatures_by_source(frame(source=["a"]), spelling="same")
    with pytest.raises(InvalidArgument, match="spelling is 'merged' or 'exact'"):
        of.report([], spelling="same")


def test_codes_of_countries_are_loaded_for_a_report_by_region_only():
    program = (
        "import osdi_frames as of; of.signatures_by_source(of.read_signatures([{'osdi:signature': {}}]))"
    )
    assert loaded(program, ["pycountry"]) == []
