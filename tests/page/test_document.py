"""The page as a document: one file, nothing personal, nothing that anyone could load or run."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from urllib.parse import unquote

import matplotlib as mpl
import pandas as pd
import pytest
from PIL import Image

import osdi_frames as of
from osdi_frames.reports.declared import KEYED

from .conftest import event, rendered, signature
from .picture import PICTURE, REPOSITORY, SIZE, words

PERSONAL = {
    "given_name": "Zwölfhild",
    "family_name": "Quarkstein",
    "email": "zwoelfhild@quarkstein.example",
    "phone": "+1-510-555-0199",
    "comments": "My neighbour Xaverius is ill",
    "custom": "Blood type Q",
    "street": "77 Nowhere Lane",
    "organizer": "Ottokar Unbekannt",
}


#: Where it does not matter which are in the page: one that has bars, and one over time.
FEW = [report for report in KEYED if report.name in ("rsvps_by_region", "rsvps_by_month")]


@pytest.fixture(scope="module")
def small() -> str:
    return rendered([event(1)], reports=FEW)


def personal_archive() -> list[object]:
    person = {
        "given_name": PERSONAL["given_name"],
        "family_name": PERSONAL["family_name"],
        "email_addresses": [{"address": PERSONAL["email"], "primary": True, "status": [PERSONAL["email"]]}],
        "phone_numbers": [{"number": PERSONAL["phone"], "primary": True}],
        "postal_addresses": [{"address_lines": [PERSONAL["street"]], "region": "CA"}],
        "custom_fields": {"blood": PERSONAL["custom"], PERSONAL["email"]: PERSONAL["phone"]},
    }
    signed = {
        "identifiers": ["platform:1"],
        "comments": PERSONAL["comments"],
        "created_date": PERSONAL["comments"],
        "person": person,
        "platform:referrer_data": {
            "source": PERSONAL["email"],
            "referrer": f"from {PERSONAL['email']}",
            "website": f"https://site.example/?to={PERSONAL['email'].replace('@', '%40')}&page=2",
        },
        PERSONAL["email"]: 1,
        PERSONAL["phone"]: 1,
        f"{PERSONAL['given_name']} {PERSONAL['family_name']}": PERSONAL["email"],
    }
    organizer = {"given_name": PERSONAL["organizer"], "email_addresses": [{"address": PERSONAL["email"]}]}
    private = event(
        1,
        title=PERSONAL["organizer"],
        description=PERSONAL["comments"],
        capacity=PERSONAL["phone"],
        location={"address_lines": [PERSONAL["street"]], "venue": PERSONAL["family_name"]},
        _embedded={"osdi:organizer": organizer},
    )
    return [[{"osdi:signature": signed}], private, PERSONAL["email"], {PERSONAL["email"]: PERSONAL["phone"]}]


def images(html: str) -> list[str]:
    """Return the drawings of a page."""
    return [unquote(text) for text in re.findall(r"image/svg\+xml,([^\"]*)", html)]


def policy(html: str) -> dict[str, str]:
    [content] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    content = content.replace("&#39;", "'")
    return dict(part.split(" ", 1) for part in content.split("; "))


def test_no_name_address_number_or_comment_is_in_it():
    with pytest.warns(of.ProblemsWarning):
        html = rendered(personal_archive(), on_error="skip")
    assert [name for name, value in PERSONAL.items() if value in html] == []
    assert not re.search("zwölf|quarkstein|ottokar|neighbour", html, re.IGNORECASE)
    assert "(hidden)" in html
    assert "<bdi>site.example</bdi>" in html
    assert "<bdi>from (e-mail)</bdi>" in html


def test_what_looks_alike_without_its_personal_part_is_one_row():
    signed = [signature(number, source=f"to-{number}@site.example") for number in range(3)]
    [row] = re.findall(
        r'id="signatures_by_source-caption".*?<tbody>(.*?)</tbody>',
        rendered(signed, reports=["signatures_by_source"]),
        re.DOTALL,
    )
    assert re.findall("<t[dh][^>]*>(?:<bdi>)?([^<]*)", row)[:2] == ["(e-mail)", "3"]


def test_file_names_and_addresses_of_the_source_are_not_in_it(tmp_path):
    folder = tmp_path / "private" / "token-8f2d"
    folder.mkdir(parents=True)
    (folder / "of-ada.json").write_text(
        '{"total_accepted": 1, "capacity": "lots"}\n{"total_accepted": broken'
    )
    with pytest.warns(of.ProblemsWarning):
        html = rendered(folder, on_error="skip", reports=FEW)
    assert not re.search("token-8f2d|of-ada|lots|broken", html)
    assert "not an integer" in html
    assert "not JSON" in html


def test_places_are_shown_to_about_a_kilometre_and_the_same_gives_the_same_page():
    spots = [(37.80412, -122.27118), (37.80449, -122.27053)]
    pages = [
        rendered([event(1, location={"location": {"latitude": at[0], "longitude": at[1]}})], reports=FEW)
        for at in spots
    ]
    assert pages[0] == pages[1]
    assert "Events on the map" in pages[0]


def test_the_policy_allows_its_own_style_and_script_only(sample):
    allowed = policy(sample)
    for kind, element in (("style-src", "style"), ("script-src", "script")):
        [text] = re.findall(rf"<{element}>(.*?)</{element}>", sample, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert allowed.pop(kind) == f"'sha256-{digest}'"
    assert allowed.pop("img-src") == "data:"  # of the page itself
    assert set(allowed) == {"default-src", "base-uri", "form-action"}
    assert set(allowed.values()) == {"'none'"}


def test_many_events_make_the_map_a_picture_within_its_image():
    spots = [{"latitude": number % 80, "longitude": number % 170} for number in range(310)]
    html = rendered(
        [event(number, location={"location": spot}) for number, spot in enumerate(spots)], reports=FEW
    )
    assert sum("<image " in image for image in images(html)) == 1
    assert len(html) < 500_000


def test_nothing_in_it_points_outside_of_it(sample):
    assert re.findall(r'(?:href|src|action|data|poster|srcset)="(?!#|data:)[^"]*', sample) == []
    for svg in images(sample):
        assert re.findall(r'href="(?!#|data:)[^"]*|url\((?!#)[^)]*|@import|@font-face', svg) == []
    assert re.findall(r"url\((?!#)[^)]*|@import|@font-face", sample) == []
    assert not re.search(
        r'<(?:link|base|iframe|object|embed|form|foreignObject)\b|\sstyle="|\son\w+="', sample
    )


def test_every_id_is_there_once_and_every_reference_leads_to_one(sample):
    ids = Counter(re.findall(r'\sid="([^"]*)"', sample))
    assert set(ids.values()) == {1}
    references = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)|aria-labelledby="([^"]*)"', sample)
    assert {next(filter(None, groups)) for groups in references} <= set(ids)


def test_a_picture_holds_no_date_program_or_library(sample):
    assert len(images(sample)) == sample.count("<figure") > 0
    for svg in images(sample):
        assert not re.search(r"metadata|matplotlib|<script|Date|\d{4}-\d\d-\d\dT", svg)


def test_it_says_when_it_was_made_and_by_what(sample):
    assert '<time datetime="2026-09-01T12:30:00+00:00">2026-09-01 12:30 UTC</time>' in sample
    assert "by osdi-frames" in sample


def test_its_headline_figures_are_those_of_the_frames(sample, frames):
    events, signatures = frames["events"], frames["signatures"]
    events = events[(events["status"] != "cancelled") & ~events["hidden"].fillna(value=False)]
    signatures = signatures[signatures["created_date"].notna()]  # "send test" sends none
    attendances = frames["attendances"][frames["attendances"]["event_id"].isin(events["event_id"])]
    shown = re.findall(r'<dd class="figure">([^<]*)', sample)
    assert shown[:5] == [
        f"{figure:,}"
        for figure in (
            len(events),
            events["total_accepted"].sum(),
            (attendances["status"] == "attended").sum(),
            len(signatures),
            signatures["person_id"].nunique(),
        )
    ]
    assert shown[5] == f"{events['start_date'].min().year}–{events['start_date'].max().year}"
    first = frames["attendances"]["created_date"].min().tz_localize(None)
    [period] = re.findall("<dt>Period</dt><dd[^>]*>[^<]*</dd><dd>([^<]*) – ", sample)
    assert pd.Timestamp(period.replace("\xa0", " ")) <= first < events["start_date"].min()


def test_it_reports_what_was_collapsed(data, sample, frames):
    received = len(of.read_signatures(data, dedupe=False))
    kept = len(frames["signatures"])
    text = " ".join(sample.split())
    assert f"Signatures: {received:,} received, {kept:,} unique, {received - kept:,} duplicates." in text


def test_a_style_that_was_chosen_neither_shows_nor_is_lost(small):
    with mpl.rc_context({"text.color": "red", "axes.facecolor": "black", "font.size": 30}):
        before = dict(mpl.rcParams)
        assert rendered([event(1)], reports=FEW) == small
        assert dict(mpl.rcParams) == before


def test_where_no_event_has_coordinates_there_is_no_map(small):
    assert "RSVPs by region" in small
    assert "Events on the map" not in small


def test_what_is_not_known_of_new_people_stands_where_new_is_explained(sample):
    notes = sample.partition('<section id="notes"')[2]
    assert "Not counted: " in notes
    assert "Not known: " not in notes.partition("<dl>")[0]
    [new] = re.findall("<dt>New</dt><dd>(.*?)</dd>", notes, re.DOTALL)
    assert new.count("Not known: whether") == 2


def test_a_funnel_says_in_words_within_what_time_and_who_began_too_late(sample):
    [section] = re.findall('<section class="report" id="funnel".*?</section>', sample, re.DOTALL)
    assert ">From signing to coming within 30 days</h3>" in section
    assert [text for image in images(section) for text in re.findall("people within 30 days", image)]
    below = section.partition("</table>")[2]
    assert re.search(
        r"not counted: \d+ people who began less than 30 days before the newest act\.</p>",
        below,
        re.IGNORECASE,
    )


def test_reports_say_whether_coming_to_an_event_counts_besides_its_rsvp(sample):
    once = "A person takes part in a subject once: coming after an RSVP is no other participation.</p>"
    captions = {"engagement": "Coming to an event counts as an act.</p>", "retention": once, "repeats": once}
    for name, caption in captions.items():
        [section] = re.findall(f'<section class="report" id="{name}".*?</section>', sample, re.DOTALL)
        assert section.partition("</table>")[2].count(caption) == 1, name


def test_tables_with_new_people_say_of_how_many_this_is_not_known(sample):
    for name, people in (("attendances_by_source", "attendances"), ("signatures_by_month", "signatures")):
        [section] = re.findall(f'<section class="report" id="{name}".*?</section>', sample, re.DOTALL)
        below = section.partition("</table>")[2]
        assert re.search(rf"Not known: whether [\d,]+ people with {people} are new", below)


def test_the_picture_in_the_readme_shows_the_page_of_the_sample(sample):
    assert f"]({PICTURE.relative_to(REPOSITORY)})" in (REPOSITORY / "README.md").read_text()
    with Image.open(PICTURE) as picture:
        assert picture.info["words"] == words(sample), "python -m tests.page.picture makes it anew"
        assert picture.size == tuple(SIZE.values())


def test_in_a_notebook_it_is_the_head_and_tables_that_are_folded(data):
    html = of.report(data)._repr_html_()
    assert len(html) < 200_000
    assert html.count("<img") == 1  # the curve; `plot` draws the others
    reports = re.findall(r'<details class="whole"( open)?>', html)
    assert reports.count(" open") == 1
    assert len(reports) > 20
    assert re.findall(r"<h2>(.*?)</h2>", html) == [
        "What changed",
        "Events",
        "Attendances",
        "Signatures",
        "People",
    ]
