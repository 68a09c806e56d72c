"""Text from the data is drawn as it is, whatever it is: no formula, no missing glyph, no label lost."""

from __future__ import annotations

import unicodedata
import warnings
from io import BytesIO

import matplotlib as mpl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from osdi_frames import reports
from osdi_frames.plots.labels import PLAIN_TEXT, labels, shortened

from .drawn import EVENTS, SIGNATURES, counted, draw, every_text, legend, names, render, widths

#: What is drawn as it stands.
KEPT = {
    "mathtext": "$x$",
    "broken mathtext": r"$\bad{",
    "dollars": "5$ to 10$",
    "html": "<b onclick=alert(1)>&amp;</b>",
    "a hidden name": "_nolegend_",
    "latex": r"50% \textbf{a}_b^c #1",
    "right to left": "שלום עולם",
    "right to left, joined": "مرحبا بالعالم",
    "a formula of a spreadsheet": "=1+1",
    "braces": "{0} {x}",
    "accents": "Zoë Ångström",
}
#: What is replaced where it would be obeyed, or could not be drawn.
REPLACED = {
    "control": ("a\x00b\x1b[2J", "a�b�[2J"),
    "line breaks": ("a\nb\r\nc\td", "a b c d"),
    "direction": ("a\u202eb\u2066c", "a�b�c"),
    "half a pair": ("a\ud800b", "a�b"),
    "private": ("a\ue000b", "a�b"),
    "marks alone": ("\u0301\u0302", "\u25cc\u0301\u0302"),
    "spaces": ("  a \u00a0  b ", "a b"),
}


def test_a_label_is_drawn_as_it_stands():
    for text in KEPT.values():
        ax = draw("signatures_by", counted({text: 2}))
        assert names(ax) == [text]
        render(ax)


def test_what_would_be_obeyed_is_replaced():
    for text, expected in REPLACED.values():
        assert names(draw("signatures_by", counted({text: 2}))) == [expected]


def test_no_text_of_a_hostile_report_is_parsed_and_none_makes_a_warning():
    values = [
        *KEPT.values(),
        *(text for text, _ in REPLACED.values()),
        "🎉👩‍👩‍👧",
        "中文",
        "á̷̧" * 30,
        "x" * 10_000,
    ]
    bars = draw("signatures_by", counted(dict.fromkeys(values, 1), key=r"$\key{"), top=50)
    days = pd.date_range("2026-05-01", periods=1, tz="UTC", name=r"$\index{")
    wide = pd.DataFrame([range(len(values))], index=days, columns=pd.Index(values, dtype=object, name="$x$"))
    stacked = draw("signatures_over_time", wide, top=50)
    lines = draw("rsvps_over_time", wide, top=50)
    for ax in (bars, stacked, lines):
        for text in every_text(ax):
            assert "$" not in text.get_text() or not (text.get_parse_math() or text.get_usetex())
    assert len(set(legend(lines))) == len(set(names(bars))) == len(values)
    assert len(set(legend(stacked))) == 9  # eight, and the others


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_hostile_report_is_written_in_every_format(kind):
    target = BytesIO()
    draw("signatures_by", counted(dict.fromkeys(KEPT.values(), 1))).figure.savefig(target, format=kind)
    assert target.tell() > 1000


def test_latex_never_sees_text_from_the_data():
    with mpl.rc_context({"text.usetex": True}):
        ax = draw("signatures_by", counted({r"\input{/etc/passwd}": 1}))
    [label] = ax.get_yticklabels()
    assert not label.get_usetex()


def test_a_label_of_200_characters_keeps_its_ends():
    long = "email-" + "x" * 188 + "-final"
    [label] = names(draw("signatures_by", counted({long: 1})))
    assert len(label) <= 40
    assert label.startswith("email-xx")
    assert "…" in label
    assert label.endswith("-final")


def test_seats_are_not_written_where_there_is_no_room():
    events = pd.DataFrame({"event_campaign_id": [f"c{n}" for n in range(40)], "total_accepted": 1_000_000})
    events = events.assign(capacity=2_000_000, start_date=pd.Timestamp("2026-05-01"))
    figure = Figure(figsize=(4.4, 9), dpi=100)
    ax = draw("rsvps_by_campaign", reports.rsvps_by_campaign(events), ax=figure.add_subplot())
    assert [text.get_text() for text in ax.texts][-1] == "20,000,000 (cut short)"


def test_labels_that_look_the_same_stay_bars_of_their_own_and_are_distinct():
    long = [f"{'x' * 100}{number}{'y' * 100}" for number in range(3)]
    ax = draw("signatures_by", counted({**dict.fromkeys(long, 1), "a\x00": 2, "a\x01": 2}))
    assert len(widths(ax)) == 5
    assert len(set(names(ax))) == 5
    assert names(ax)[:2] == ["a�", "a� (2)"]


def test_a_value_called_other_is_not_the_others():
    ax = draw("signatures_by", counted({"(other: 2)": 9, "a": 2, "b": 1}), top=1)
    assert names(ax) == ["(other: 2)", "(other: 2) (2)"]
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [False, True]


def test_wide_letters_count_twice():
    assert shortened("中" * 100, 20) == "中" * 6 + "…" + "中" * 3


def test_a_font_that_lacks_letters_is_helped_by_one_that_has_them():
    with mpl.rc_context({"font.family": ["STIXGeneral"]}):
        ax = draw("signatures_by", counted({"مرحبا": 1}))
        assert names(ax) == ["مرحبا"]
        [label] = ax.get_yticklabels()
        assert label.get_fontfamily() == ["STIXGeneral", "DejaVu Sans"]
        render(ax)


def test_the_chosen_font_alone_is_used_where_it_has_all_letters():
    assert labels(["plain", "שלום"], width=20)[1] == PLAIN_TEXT


def test_letters_that_no_font_has_are_replaced_one_by_one():
    unassigned = "\U000e0fff"
    assert labels([f"a{unassigned}b", "\U0001f9ff\U0001f9ff"], width=20)[0][0] == "a�b"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "no installed font has these letters")
        render(draw("signatures_by", counted({"\U0001f9ff": 1, "𓀀𓀁": 2})))


@pytest.mark.parametrize("name", ["rsvps_by", "signatures_by"])
def test_a_title_made_of_column_names_is_no_formula(name):
    table = (EVENTS if name == "rsvps_by" else SIGNATURES).assign(**{r"$\bad{": "x"})
    ax = draw(name, getattr(reports, name)(table, r"$\bad{"))
    assert ax.get_title(loc="left").endswith(r"by $\bad{")
    render(ax)


TEXTS = st.lists(st.text(st.characters(), max_size=60), min_size=1, max_size=15)


@settings(max_examples=12)
@given(TEXTS, st.integers(8, 40))
def test_any_texts_become_as_many_different_labels_of_bounded_width(texts, width):
    drawn, _ = labels(texts, width=width)
    assert len(drawn) == len(set(drawn)) == len(texts)
    for label in drawn:
        assert len(label) <= width + len(" (15)")
        assert not any(
            unicodedata.category(letter) in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp") for letter in label
        )


@settings(max_examples=6)
@given(TEXTS)
def test_any_texts_can_be_drawn_without_a_warning(texts):
    ax = draw("signatures_by", counted(dict.fromkeys(texts, 1)))
    render(ax)


def written(ax, kind: str) -> str:
    """Write a picture, as its text."""
    target = BytesIO()
    ax.figure.savefig(target, format=kind)
    return target.getvalue().decode("utf-8", "replace")


def test_one_warning_names_the_letters_of_a_plot_that_no_font_has(monkeypatch):
    monkeypatch.setattr("osdi_frames.plots.labels.WIDE_FONTS", ())
    report = counted({"日本": 2, "朝日 $x$": 1}, key="源")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ax = draw("signatures_by", report)
        written(ax, "png")
    assert [str(each.message) for each in caught] == [
        "no installed font has these letters, drawn as �: 日 朝 本 源"
    ]
    assert (names(ax), ax.get_title("left")) == (["��", "�� $x$"], "Signatures by �")
    assert caught[0].filename.endswith("drawn.py")  # who called the plot


def test_where_svg_keeps_text_as_text_the_fonts_of_the_reader_draw_it(monkeypatch):
    monkeypatch.setattr("osdi_frames.plots.labels.WIDE_FONTS", ())
    with mpl.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = draw("signatures_by", counted({"🎉 $x$": 1}, key="源"))
        assert names(ax) == ["🎉 $x$"]
        assert "🎉 $x$" in written(ax, "svg")
        written(ax, "png")
