"""The standard set of reports is what `osdi-frames report` makes, and reads no column in vain."""

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import osdi_frames as of
from osdi_frames.errors import MissingColumn
from osdi_frames.reports.standard import EVENT_COLUMNS, REPORTS, SIGNATURE_COLUMNS

NEEDED = {"events": EVENT_COLUMNS, "signatures": SIGNATURE_COLUMNS}


@pytest.fixture(scope="module")
def frames(data) -> dict[str, pd.DataFrame]:
    return {"events": of.read_events(data), "signatures": of.read_signatures(data)}


def test_every_report_counts_every_row_of_the_columns_that_the_set_declares(frames):
    for each in REPORTS:
        report = each.make(frames[each.table][list(NEEDED[each.table])])
        assert report[each.table].sum() == len(frames[each.table])


@pytest.mark.parametrize("table", NEEDED)
def test_every_declared_column_is_needed_by_a_report(frames, table):
    for column in NEEDED[table]:
        lacking = frames[table].drop(columns=column)
        with pytest.raises(MissingColumn, match=column):
            [each.make(lacking) for each in REPORTS if each.table == table]


def test_a_report_made_twice_is_the_same_and_leaves_no_trace_of_the_first_frame(frames):
    for each in REPORTS:
        first = each.make(frames[each.table])
        each.make(frames[each.table].head(1))
        assert_frame_equal(each.make(frames[each.table]), first)
