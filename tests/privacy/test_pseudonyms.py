"""Pseudonyms: known vectors, equal wherever they are made, and nothing else that identifies is left."""

import base64
import hashlib
import io
import sys
import time
import unicodedata
import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import osdi_frames as of
from osdi_frames.errors import InvalidArgument, SourceWarning, UnknownColumn
from osdi_frames.frames import frame as to_frame
from osdi_frames.privacy import hide_addresses, hide_in_rows, without_addresses
from osdi_frames.tables import TABLES
from tests.commands import run
from tests.once import made_once

#: Of each kind of column that is treated in a way of its own.
SOME = [
    "signatures",
    "signature_tags",
    "signature_emails",
    "signature_identifiers",
    "people",
    "events",
    "attendances",
]

KEY = b"a key that is 32 bytes long, yes"
OTHER = b"another key of 32 bytes, as long"


def expected(domain, text, key=KEY):
    """Compute a pseudonym by the definition of HMAC (RFC 2104)."""
    padded = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded) + f"{domain}\0{text}".encode()).digest()
    digest = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded) + inner).digest()
    return base64.b32encode(digest[:15]).decode().lower()


def one(table, column, value, key=KEY):
    """Pseudonymise a single value."""
    frame = of.pseudonymize(pd.DataFrame({column: [value]}), key, table=table)
    return frame[column][0]


@pytest.fixture(scope="module")
def frames(little_of_all):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SourceWarning)  # of tables that are not there
        return of.open(little_of_all).tables(SOME)


@pytest.fixture(scope="module")
def whole(little_of_all, tmp_path_factory):
    return made_once(
        tmp_path_factory, "exported-whole", lambda folder: of.export(little_of_all, folder, tables=SOME)
    )


@pytest.fixture(scope="module")
def exported(little_of_all, tmp_path_factory):
    options = {"tables": SOME, "pseudonymize": KEY}
    return made_once(
        tmp_path_factory, "exported-pseudonyms", lambda folder: of.export(little_of_all, folder, **options)
    )


#: What is read from the domain and the normal form with openssl:
#: printf 'person\0d91b4b2e' | openssl dgst -sha256 -hmac "$KEY" -binary | head -c 15 | base32
VECTORS = {
    ("signatures", "person_id", "d91b4b2e"): "n6j7makp5g77hul3fh6w7zv5",
    ("signatures", "email", "  Ann@Example.ORG "): "jraeqiikgxtq6rkxias7silp",
    ("signatures", "phone", "+1 (510) 555-0100"): "7g6tubvezmkbmlffsrnkxpaa",
}


def test_a_pseudonym_is_the_one_that_openssl_computes():
    assert {place: one(*place) for place in VECTORS} == VECTORS


NORMAL = {
    "an id as it is": ("signatures", "person_id", "AbC-9", "person", "AbC-9"),
    "an address in any case": ("signature_emails", "address", "Ann@EXAMPLE.org", "email", "ann@example.org"),
    "a decomposed letter": ("signatures", "email", "zoe\u0308@b.org", "email", "zoë@b.org"),
    "a national number": ("signature_phones", "number", "510.555.0100", "phone", "15105550100"),
    "a number from abroad": ("signatures", "phone", "0044 20 7946 0000", "phone", "442079460000"),
    "other digits": ("signatures", "phone", "+٤٤ ٢٠ ٧٩٤٦ ٠٠٠٠", "phone", "442079460000"),
    "no number": ("signatures", "phone", "None", "phone", "none"),
    "an identifier": ("signature_identifiers", "identifier", "77", "signature", "77"),
}


def test_a_pseudonym_is_made_of_the_normal_form():
    for name, (table, column, value, domain, normal) in NORMAL.items():
        assert one(table, column, value) == expected(domain, normal), name


def test_an_identifier_has_the_pseudonym_of_the_id():
    frame = pd.DataFrame({"signature_id": ["5f"], "identifiers": [["platform:5f", "crm:7", "bare"]]})
    made = of.pseudonymize(frame, KEY, table="signatures")
    assert made["identifiers"][0] == [expected("signature", each) for each in ("5f", "7", "bare")]
    assert made["signature_id"][0] == made["identifiers"][0][0]


def test_ids_that_were_read_as_numbers_have_the_pseudonyms_of_their_texts():
    made = of.pseudonymize(pd.DataFrame({"person_id": [77, 8], "add_tags": [None, None]}), KEY)
    assert made["person_id"].tolist() == [expected("person", text) for text in ("77", "8")]


def test_blank_and_missing_values_are_missing():
    made = of.pseudonymize(pd.DataFrame({"email": ["", "  ", None], "person_id": ["a", None, ""]}), KEY)
    assert made["email"].isna().all()
    assert made["person_id"].isna().tolist() == [False, True, True]


def test_the_same_value_differs_by_key_and_by_column():
    made = [
        one("signatures", column, "x", key)
        for column in ("person_id", "email", "phone")
        for key in (KEY, OTHER)
    ]
    assert len(set(made)) == 6


def test_text_is_the_key_of_its_utf8():
    assert one("signatures", "email", "a@b.org", KEY.decode()) == one("signatures", "email", "a@b.org", KEY)


def test_the_streaming_export_and_a_frame_of_pandas_or_polars_give_equal_pseudonyms(frames, whole, exported):
    for table in SOME:
        streamed = to_frame(pq.read_table(exported / f"{table}.parquet"))
        pd.testing.assert_frame_equal(of.pseudonymize(frames[table], KEY, table=table), streamed)
        of_polars = pl.read_parquet(whole / f"{table}.parquet")
        pd.testing.assert_frame_equal(of.pseudonymize(of_polars, KEY, table=table), streamed)


def test_another_run_gives_equal_pseudonyms(little_of_all, exported, tmp_path):
    (tmp_path / "key.txt").write_bytes(KEY + b"\n")
    (tmp_path / "key.txt").chmod(0o600)
    words = ["--table", "signatures", "--pseudonymize-key-file", "key.txt"]
    assert run("export", little_of_all, "out", *words, cwd=tmp_path).stderr == ""
    again, before = (pq.read_table(folder / "signatures.parquet") for folder in (tmp_path / "out", exported))
    assert again.equals(before)


def test_a_join_by_pseudonyms_equals_the_join_by_the_keys(frames, exported):
    tags, signatures = frames["signature_tags"], frames["signatures"]
    of_pseudonyms = [
        pd.read_parquet(exported / f"{name}.parquet") for name in ("signature_tags", "signatures")
    ]
    for keys in (["signature_id"], ["idempotency_key", "element"]):
        joined = [
            left.dropna(subset=keys)
            .merge(right.dropna(subset=keys), on=keys)
            .groupby(["petition_id", "created_date", "tag"])
            .size()
            for left, right in ((tags, signatures), of_pseudonyms)
        ]
        assert len(joined[0])
        pd.testing.assert_series_equal(*joined)


def test_a_person_has_one_pseudonym_in_every_table():
    event = {"_links": {"osdi:creator": {"href": "https://a.example/people/p1"}}, "total_accepted": 1}
    signed = {
        "_links": {"osdi:person": {"href": "https://a.example/people/p1"}},
        "created_date": "2026-05-01T00:00:00Z",
    }
    person = {"identifiers": ["platform:p1"], "email_addresses": [{"address": "Ann@b.org"}]}
    source = [event, [{"osdi:signature": signed}], {"_embedded": {"osdi:people": [person]}}]
    columns = {"events": "creator_id", "signatures": "person_id", "people": "person_id"}
    made = {of.pseudonymize(of.read_table(source, name), KEY)[column][0] for name, column in columns.items()}
    assert made == {expected("person", "p1")}


def test_places_are_coarsened_to_what_is_chosen():
    place = {
        "location_postal_code": [" 94607-1234"],
        "location_latitude": [37.8049],
        "location_longitude": [-122.2708],
    }
    signed = pd.DataFrame(place)
    assert of.pseudonymize(signed, KEY, table="signatures").iloc[0].tolist() == ["946", 37.8, -122.3]
    finer = of.pseudonymize(signed, KEY, table="people", coordinate_decimals=2, postal_characters=5)
    assert finer.iloc[0].tolist() == ["94607", 37.8, -122.27]
    assert list(of.pseudonymize(signed, table="signatures", drop="identifying")) == ["location_postal_code"]


def test_addresses_are_hidden_within_every_text_that_stays():
    frame = pd.DataFrame(
        {
            "source": ["mail-ann@b.org"],
            "website": ["https://c.example/x?email=ann"],
            "referrer": ["+1 510 555 0100"],
            "add_tags": [["river", "by ann@b.org"]],
        }
    )
    made = of.pseudonymize(frame, KEY, table="signatures").iloc[0].tolist()
    assert made == ["(e-mail)", "https://c.example/x?…", "(phone)", ["river", "by (e-mail)"]]


#: Texts of which a pattern could try every part of a long one.
LONG = [
    text * (100_000 // len(text)) + end
    for text in (
        *("x", "://", "a.bb", "%40", "\uff20", "+1", "a-", "a@b:", '"', '"\\', "a @", "@ ", "a @b."),
        *("&amp;", "%25", "\\u"),
    )
    for end in ("", "@")
]


def test_addresses_are_hidden_in_a_long_text():
    for text in LONG:
        assert without_addresses(f"{text} to ann@b.org").endswith(" to (e-mail)")


@pytest.mark.long
def test_a_long_text_takes_less_than_a_second():
    for text in LONG:
        begun = time.process_time()
        without_addresses(f"{text} to ann@b.org")
        assert time.process_time() - begun < 1


def test_a_column_is_searched_for_every_sign_of_unicode_that_stands_for_one_of_an_address():
    signs = [chr(code) for code in range(sys.maxunicode) if not 0xD800 <= code < 0xE000]
    signs = [sign for sign in signs if set("@+?#%&\\") & set(unicodedata.normalize("NFKC", sign))]
    forms = ["ann{}b.org", "{}15105550199", "b.org{}x", "ann{}#64;b.org", "ann{}40b.org", "ann{}u0040b.org"]
    for sign in signs:
        texts = [form.format(sign) for form in forms]
        hidden = hide_addresses(pa.array(texts)).to_pylist()
        assert hidden == [without_addresses(text) for text in texts]
        assert hidden != texts
    assert len(signs) > 20


def test_addresses_are_hidden_in_a_column_that_was_read_in_several_parts():
    rows = pa.table({"source": pa.chunked_array([["from ann@b.org", None], ["mail"]])})
    hidden = hide_in_rows(rows, TABLES["signatures"])
    assert hidden["source"].to_pylist() == ["from (e-mail)", None, "mail"]


def test_an_export_without_a_key_has_no_identifying_column(little_of_all, tmp_path):
    of.export(little_of_all, tmp_path / "out", tables=SOME, drop="identifying")
    for table in map(TABLES.get, SOME):
        schema = pq.read_schema(tmp_path / "out" / f"{table.name}.parquet")
        kept = {table.column(name).privacy for name in schema.names}
        assert all(privacy.level != "identifying" and privacy.becomes != "dropped" for privacy in kept)


def test_what_a_field_became_is_in_its_metadata(exported):
    field = pq.read_schema(exported / "signatures.parquet").field("email")
    assert field.metadata[b"pseudonymized"] == b"pseudonym (email)"
    assert field.metadata[b"privacy"] == b"sensitive"


def test_the_key_is_in_no_output_and_in_no_repr(exported):
    from osdi_frames.privacy import Pseudonyms

    assert all(KEY not in path.read_bytes() for path in exported.rglob("*") if path.is_file())
    assert "key" not in repr(Pseudonyms.of(KEY, None))


REFUSED = {
    "a short key": ({"pseudonymize": b"x" * 31}, "at least 32 bytes, this one 31"),
    "a short text": ({"pseudonymize": "x" * 31}, "at least 32 bytes, this one 31"),
    "an empty key": ({"pseudonymize": b""}, "at least 32 bytes, this one 0"),
    "a number": ({"pseudonymize": 7}, "bytes or text, not int"),
    "both": ({"pseudonymize": KEY, "drop": "identifying"}, "without a key"),
    "another word": ({"drop": "all"}, "drop is 'identifying'"),
    "less than nothing": ({"pseudonymize": KEY, "postal_characters": -1}, "0 or more"),
}


def test_a_bad_key_or_option_is_refused_before_anything_is_written(tmp_path):
    for options, message in REFUSED.values():
        with pytest.raises(InvalidArgument, match=message) as refused:
            of.export({"title": "March", "total_accepted": 1}, tmp_path / "out", **options)
        assert "xxxx" not in str(refused.value)
        assert list(tmp_path.iterdir()) == []


def test_a_short_key_in_a_file_is_one_line_and_one_that_others_can_read_is_a_warning(tmp_path):
    (tmp_path / "key.txt").write_text("too short\n")
    (tmp_path / "key.txt").chmod(0o644)
    (tmp_path / "a.json").write_text('{"title": "March", "total_accepted": 1}')
    ran = run("export", "a.json", "out", "--pseudonymize-key-file", "key.txt", cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[0] == "osdi-frames: warning: others can read key.txt; chmod 600 key.txt"
    assert "at least 32 bytes, this one 9" in ran.stderr
    assert "too short" not in ran.stderr


def test_a_dropped_column_is_no_partition_and_the_folders_of_another_show_pseudonyms(tmp_path):
    signed = [
        {"osdi:signature": {"comments": "Yes", "person": {"given_name": "Ann"}, "platform:person_id": "p1"}}
    ]
    with pytest.raises(UnknownColumn, match="given_name"):
        of.export(signed, tmp_path / "a", tables=["signatures"], partition_by="given_name", pseudonymize=KEY)
    of.export(signed, tmp_path / "b", tables=["signatures"], partition_by="person_id", pseudonymize=KEY)
    assert (tmp_path / "b" / "signatures" / f"by_person_id={expected('person', 'p1')}").is_dir()


def test_a_column_that_no_table_declares_is_refused():
    with pytest.raises(UnknownColumn, match="signatures has no column nickname"):
        of.pseudonymize(pd.DataFrame({"email": ["a@b.org"], "comments": ["x"], "nickname": ["Annie"]}), KEY)


def test_columns_that_tables_treat_differently_need_the_table():
    frame = pd.DataFrame({"identifiers": [["platform:1"]]})
    with pytest.raises(InvalidArgument, match="say table="):
        of.pseudonymize(frame, KEY)
    assert of.pseudonymize(frame, KEY, table="events").equals(frame)


def test_an_index_of_ids_is_not_left_as_it_is():
    frame = pd.DataFrame({"source": ["email"], "person_id": ["p1"]})
    named = of.pseudonymize(frame.set_index("person_id"), KEY, table="signatures")
    assert named["person_id"].tolist() == [expected("person", "p1")]
    unnamed = of.pseudonymize(frame.set_axis(["ann@b.org"]), KEY, table="signatures")
    assert unnamed.index.tolist() == [0]
    chosen = of.pseudonymize(frame.set_axis([7]), KEY, table="signatures")
    assert chosen.index.tolist() == [7]


def test_the_frame_is_left_as_it_was_and_empty_ones_keep_their_columns():
    frame = of.read_signatures(io.BytesIO(b"[]"))
    before = frame.copy()
    made = of.pseudonymize(frame, KEY)
    pd.testing.assert_frame_equal(frame, before)
    assert str(made["email"].dtype) == "str"
    assert "given_name" not in made
