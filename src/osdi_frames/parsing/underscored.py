"""Keys whose prefix is joined by an underscore, as warehouses write them: ``action_network_hidden``.

Columns of a warehouse have no colon in their names. What is declared with a prefix is read in both spellings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.tables import TABLES, element_types
from osdi_frames.tables.schema import Path, spelled


def with_colons(documents: pa.ChunkedArray, prefixes: Sequence[str]) -> pa.ChunkedArray:
    r"""Return documents with a colon after the prefix of each key that is declared with one.

    >>> of_a_warehouse = pa.chunked_array([[b'{"platform_hidden": true, "platform_x": 1, "a": "platform_hidden"}']])
    >>> with_colons(of_a_warehouse, ["platform"]).to_pylist()
    [b'{"platform:hidden": true, "platform_x": 1, "a": "platform_hidden"}']
    """
    names = _names(tuple(prefixes))
    if not any(_may_have(chunk, names) for chunk in documents.chunks):
        return documents
    for prefix, keys in names.items():
        key = rf'"{re.escape(prefix)}_({"|".join(map(re.escape, keys))})"(\s*:)'
        documents = pc.replace_substring_regex(documents, key, rf'"{prefix}:\1"\2')
    return documents


def _may_have(documents: pa.BinaryArray, prefixes: Iterable[str]) -> bool:
    """Return whether any text in the memory of documents begins with a prefix and an underscore.

    Looked for are underscores after the last letter of a prefix, since few characters are: texts take thrice as long.
    """
    characters = np.frombuffer(documents.buffers()[2] or b"", np.uint8)
    beginnings = [f'"{prefix}_'.encode() for prefix in prefixes]
    ends = np.zeros(256, bool)
    ends[[beginning[-2] for beginning in beginnings]] = True
    at = np.flatnonzero(characters == ord("_"))
    at = at[ends[characters[at - 1]]]
    for beginning in beginnings:
        left = at[at >= len(beginning)]
        for before, character in enumerate(beginning[::-1]):
            left = left[characters[left - before] == character]
        if len(left):
            return True
    return False


@cache
def _names(prefixes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return what is declared after each prefix, the longest names first."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for key in spelled(_keys(), prefixes):
        prefix, colon, name = key.partition(":")
        if colon:
            found[prefix].add(name)
    return {
        prefix: tuple(sorted(names, key=lambda name: (-len(name), name))) for prefix, names in found.items()
    }


def _keys() -> Iterator[str]:
    """Yield the keys of all declared paths, and those under which elements stand."""
    for table in TABLES.values():
        paths = chain.from_iterable((*column.v2, *column.v1) for column in table.columns)
        entries = chain.from_iterable(paths for _, paths in table.rows)
        for path in chain(paths, entries):
            yield from (str(step) for step in Path.parse(path).steps)
    for element in element_types():
        yield from (element.collection, *element.alternatives, *element.spellings)
        yield from filter(None, [element.type_key])
