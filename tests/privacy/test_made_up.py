"""What the repository holds is about nobody: addresses and numbers that are reserved for examples."""

import re
from pathlib import Path

import osdi_frames as of

ROOT = Path(__file__).parents[2]
EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
#: RFC 2606 and 6761.
RESERVED = re.compile(
    r"@(?:[\w-]+\.)*(?:example(?:\.(?:org|com|net))?|test|invalid|localhost)$", re.IGNORECASE
)
PHONE = re.compile(r"\+\d[\d ().-]{7,}\d")


def test_no_notebook_shows_an_address_or_a_number_that_can_be_somebodys():
    for path in (path for path in (ROOT / "notebooks").glob("*.*") if path.suffix != ".png"):
        text = path.read_text("utf-8")
        assert [each for each in EMAIL.findall(text) if not RESERVED.search(each)] == [], path.name
        assert [each for each in PHONE.findall(text) if "555" not in each] == [], path.name


def test_the_sample_archive_has_no_address_and_no_number_that_can_be_somebodys(data):
    tables = of.open(data).tables({"signature_emails": ["address"], "signature_phones": ["number"]})
    emails, phones = (
        tables["signature_emails"]["address"].dropna(),
        tables["signature_phones"]["number"].dropna(),
    )
    assert len(emails)
    assert len(phones)
    assert [each for each in emails.unique() if not RESERVED.search(each)] == []
    assert [each for each in phones.unique() if "555" not in each] == []
