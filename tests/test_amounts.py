"""Amounts of money: read exactly, or listed."""

import itertools
import json
from decimal import Decimal

import pandas as pd
import pytest

import osdi_frames as of

#: Texts and numbers of amounts: each combination of a sign, an integer part, decimals and an exponent.
NUMBERS = [
    "".join(parts)
    for parts in itertools.product(
        ["", "-"],
        ["0", "7", "1234567890123", "12345678901234", "999999999999999"],
        ["", ".5", ".25", ".250", ".255"],
        ["", "e2", "E-2", "e+11", "e-20"],
    )
    if len(Decimal("".join(parts)).as_tuple().digits) <= 15  # a number of JSON has them exactly
]
TEXTS = ["", "12,50", "$12.50", "12.50 USD", " 12.50", ".5", "NaN", "1e999999999999999999999"]


@pytest.mark.filterwarnings("ignore::osdi_frames.errors.ProblemsWarning")
def test_every_amount_is_read_exactly_or_listed(tmp_path):
    amounts = [*NUMBERS, *map(json.dumps, [*NUMBERS, *TEXTS])]
    rows = ", ".join(
        f'{{"identifiers": ["platform:{at}"], "recipients": [{{"amount": {each}}}], "amount": {each}}}'
        for at, each in enumerate(amounts)
    )
    path = tmp_path / "page.json"
    path.write_text(f'{{"_embedded": {{"osdi:donations": [{rows}]}}}}')
    checked = of.check(path)
    assert set(checked["problem"]) == {"not an amount"}
    expected = [amount_of(each.strip('"')) for each in amounts]
    assert None in expected
    read = of.open(path, on_error="skip").tables(["donations", "donation_recipients"])
    for table, frame in read.items():
        found = frame["amount"].astype(object).where(frame["amount"].notna(), None).tolist()
        listed = checked["detail"].str.contains("recipients") == (table == "donation_recipients")
        assert found == expected
        assert checked.loc[listed, "count"].sum() == found.count(None)


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
