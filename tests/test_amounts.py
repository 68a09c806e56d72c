"""Amounts of money: read exactly, or listed."""

import json
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import osdi_frames as of

#: What a number of JSON has exactly: 15 digits, with a point among them or an exponent.
NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?", fullmatch=True
).filter(lambda text: len(Decimal(text).as_tuple().digits) <= 15)
TEXTS = st.sampled_from(
    ["", "12,50", "$12.50", "12.50 USD", " 12.50", ".5", "NaN", "1e999999999999999999999"]
)
#: Each as it stands in a document.
WRITTEN = NUMBERS | (NUMBERS | TEXTS).map(json.dumps)


@pytest.mark.filterwarnings("ignore::osdi_frames.errors.ProblemsWarning")
@settings(max_examples=30)
@given(amounts=st.lists(WRITTEN, min_size=1, max_size=20))
def test_every_amount_is_read_exactly_or_listed(tmp_path_factory, amounts):
    path = tmp_path_factory.mktemp("amounts") / "page.json"
    rows = ", ".join(
        f'{{"identifiers": ["platform:{at}"], "recipients": [{{"amount": {each}}}], "amount": {each}}}'
        for at, each in enumerate(amounts)
    )
    path.write_text(f'{{"_embedded": {{"osdi:donations": [{rows}]}}}}')
    checked = of.check(path)
    assert set(checked["problem"]) <= {"not an amount"}
    expected = [amount_of(each.strip('"')) for each in amounts]
    for table in ("donations", "donation_recipients"):
        read = of.open(path, on_error="skip").scan(table, ["amount"]).read_all()["amount"].to_pylist()
        listed = checked["detail"].str.contains("recipients") == (table == "donation_recipients")
        assert read == expected
        assert checked.loc[listed, "count"].sum() == read.count(None)


def amount_of(text):
    """Return the amount that a text or number writes: no more than two decimals, and 13 digits before them."""
    try:
        number = Decimal(text)
    except ArithmeticError:
        return None
    is_plain = text[:1] in "-0123456789" and number.is_finite()
    return number if is_plain and abs(number) < 10**13 and number * 100 % 1 == 0 else None


def test_sums_of_a_frame_are_exact_and_a_parquet_file_keeps_the_amounts(tmp_path):
    dollars, euros = {"amount": "0.10", "currency": "USD"}, {"amount": 7, "currency": "EUR"}
    page = {"_embedded": {"osdi:donations": [*[dollars] * 3, euros, {"currency": "EUR"}]}}
    read = of.read_table(page, "donations", columns=["amount", "currency"])
    sums = {"USD": Decimal("0.30"), "EUR": Decimal("7.00")}
    assert read.groupby("currency")["amount"].sum().to_dict() == sums
    read.to_parquet(tmp_path / "frame.parquet")
    back = pd.read_parquet(tmp_path / "frame.parquet")
    assert back.groupby("currency")["amount"].sum().to_dict() == sums
