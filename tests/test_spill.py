"""Rows of versions that wait in a file, which goes with them."""

import gc
import warnings

import pytest

from osdi_frames.resolving.versions import SpilledTables


@pytest.mark.parametrize("first", [0, 1])
def test_a_file_is_closed_with_its_tables_when_a_cycle_of_both_is_collected_in_either_order(first):
    gc.disable()
    try:
        tables = SpilledTables()
        tables.itself, file = tables, tables.file._file
        # Of what a younger list alone holds, its last item is the first to be collected.
        both = [tables, tables.file][:: 1 - 2 * first]
        del tables
        gc.collect(0)
        del both
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            gc.collect()
    finally:
        gc.enable()
    assert file.closed
    assert not warned
