"""Rows of versions that wait: they are the same whoever reads them at the same time, and on another worker."""

import pickle
import threading

import pyarrow as pa

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
