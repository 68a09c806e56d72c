"""Rows of versions that wait: they are the same whoever reads them at the same time, and on another worker."""

import gc
import pickle
import threading
import warnings

import pyarrow as pa
import pytest

from osdi_frames.parsing.plan import ELEMENT
from osdi_frames.resolving.versions import SpilledTables


def test_rows_are_sent_whole_while_others_read_and_take_them():
    tables = SpilledTables()
    for start in range(0, 60, 3):
        tables.add(pa.table({ELEMENT: range(start, start + 3), "text": [f"{n}" * 9000 for n in range(3)]}))
    tables.offset = 100
    expected, found = [rows.to_pylist() for rows in tables], []

    def read():
        for _ in range(20):
            found.append([rows.to_pylist() for rows in tables] == expected)
            sent = pa.concat_tables(pickle.loads(pickle.dumps(tables))).to_pylist()  # noqa: S301 (made here)
            found.append(sent == [row for rows in expected for row in rows])
            found.append(tables.take([159, 100], [ELEMENT])[ELEMENT].to_pylist() == [159, 100])

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 * 20 * 3
    assert all(found)


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
