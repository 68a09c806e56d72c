"""Every column has a privacy class, and a column that looks personal is not plain."""

import re

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import osdi_frames as of
from osdi_frames.cli.describe import command
from osdi_frames.reports import Report
from osdi_frames.reports.declared import KEYED
from osdi_frames.shortcuts import report as standard_reports
from osdi_frames.tables import TABLES

#: Names of columns that hold somebody's data, wherever they are.
PERSONAL = re.compile(
    r"(given|family)_name|e?mail|phone|location_(address|locality|postal_code|latitude|longitude|venue)|comments|"
    r"custom_fields|.*person_(id|url)|(creator|organizer)_id|referrer|website|source|instructions|description|"
    r"add_tags|languages_spoken|.*_referrer|petition_text"
)
#: In tables whose rows are about one person each.
OF_PEOPLE = re.compile(r"identifiers?|address|number|value|tag|self_url|(signature|attendance|petition)_id")

COLUMNS = {f"{table.name}.{column.name}": column for table in TABLES.values() for column in table.columns}


def test_a_column_that_looks_personal_is_not_plain():
    for name, column in COLUMNS.items():
        is_of_person = name.startswith(("signature", "attendance", "people", "event_people"))
        if PERSONAL.fullmatch(column.name) or (is_of_person and OF_PEOPLE.fullmatch(column.name)):
            assert column.privacy.level != "plain", name


def test_a_plain_column_is_kept_and_an_identifying_one_never_is():
    for name, column in COLUMNS.items():
        level, becomes = column.privacy.level, column.privacy.becomes
        assert level != "plain" or becomes == "kept", name
        assert level != "identifying" or becomes != "kept", name
        assert becomes != "pseudonym" or column.type in ("string", "list<string>"), name


def test_describe_shows_the_class_and_what_becomes_of_a_column():
    described = of.describe("signatures").set_index("column")[["privacy", "pseudonymized"]]
    assert described.loc["email"].tolist() == ["identifying", "pseudonym (email)"]
    assert described.loc["source"].tolist() == ["sensitive", "kept"]
    assert described.loc["created_date"].tolist() == ["plain", "kept"]
    assert re.search(
        r"^\* given_name +Given name\.$", CliRunner().invoke(command, ["signatures"]).output, re.MULTILINE
    )


def test_the_stream_and_the_files_carry_the_class_of_each_field(little, tmp_path):
    of.export(little, tmp_path / "out", tables=["signatures"])
    for schema in (
        of.open(little).scan("signatures").schema,
        pq.read_schema(tmp_path / "out" / "signatures.parquet"),
    ):
        classes = {field.name: field.metadata[b"privacy"].decode() for field in schema}
        assert classes == {column.name: column.privacy.level for column in TABLES["signatures"].columns}


def test_no_standard_report_is_by_an_identifying_column():
    for report in KEYED:
        levels = {COLUMNS[f"{report.read_from}.{key}"].privacy.level for key in report.keys}
        assert "identifying" not in levels, report.name


def test_a_report_by_an_identifying_column_is_refused(little):
    by_email = Report(KEYED[-1].subject, "by_email", "Signatures by address", by="email")
    with pytest.raises(of.errors.InvalidColumn, match="email would identify people"):
        standard_reports(little, reports=[by_email])
