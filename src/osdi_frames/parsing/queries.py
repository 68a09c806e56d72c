"""Queries over documents, derived from the declarations.

Every value comes as text first, since a typed extraction turns a misfit
into NULL in silence.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from osdi_frames.arrow import combined
from osdi_frames.document_forms import BODY, TIMESTAMPS, Form, KeyPath
from osdi_frames.engine import Engine, refused, sql_name, sql_text
from osdi_frames.parsing.plan import Shape, element_steps
from osdi_frames.tables import TABLES, element_types
from osdi_frames.tables.schema import EACH, Path, Step, spelled

_PART = 1 << 16  # characters that are compared at once: what the processor holds


def _text(documents: pa.StringArray) -> pa.Buffer:
    _, offsets, data = documents.buffers()
    if not data:
        return pa.py_buffer(b"")
    ends = np.frombuffer(offsets, np.int32)[documents.offset : documents.offset + len(documents) + 1]
    return data[ends[0] : ends[-1]]


#: What the keys of types are made of, written as an escape; services write &, < and > so, which they do not have.
_ESCAPE = re.compile(rb"\\u00(?:3[aA]|5[fF]|6[1-9a-fA-F]|7[0-9aA])")


def possible_keys(documents: pa.ChunkedArray, keys: Iterable[str]) -> list[str]:
    """Return which of some keys JSON may have: all, where letters are escaped.

    >>> possible_keys(pa.chunked_array([['{"osdi:signature": {}}']]), ["osdi:signature", "osdi:donation"])
    ['osdi:signature']
    """
    keys = left = list(keys)
    for chunk in documents.chunks if keys else ():
        text = _text(chunk).to_pybytes()
        left = [key for key in left if f'"{key}"'.encode() not in text]
        if not left:
            break
        if _ESCAPE.search(text):
            return keys
    return [key for key in keys if key not in left]


def with_colons(documents: pa.ChunkedArray, prefixes: Sequence[str]) -> pa.ChunkedArray:
    r"""Return documents with a colon after the prefix of each key that is declared with one.

    Warehouses, whose columns have no colon in their names, join prefixes by an underscore: ``action_network_hidden``.

    >>> of_a_warehouse = pa.chunked_array([[b'{"platform_hidden": true, "platform_x": 1, "a": "platform_hidden"}']])
    >>> with_colons(of_a_warehouse, ["platform"]).to_pylist()
    [b'{"platform:hidden": true, "platform_x": 1, "a": "platform_hidden"}']
    """
    names = _prefixed_names(tuple(prefixes))
    if not any(_have_joined(chunk, names) for chunk in documents.chunks):
        return documents
    for prefix, keys in names.items():
        key = rf'"{re.escape(prefix)}_({"|".join(map(re.escape, keys))})"(\s*:)'
        documents = pc.replace_substring_regex(documents, key, rf'"{prefix}:\1"\2')
    return documents


def _have_joined(documents: pa.BinaryArray, prefixes: Iterable[str]) -> bool:
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
def _prefixed_names(prefixes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return what is declared after each prefix, the longest names first."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for key in spelled(_declared_keys(), prefixes):
        prefix, colon, name = key.partition(":")
        if colon:
            found[prefix].add(name)
    return {
        prefix: tuple(sorted(names, key=lambda name: (-len(name), name))) for prefix, names in found.items()
    }


def _declared_keys() -> Iterator[str]:
    """Yield the keys of all declared paths, and those under which elements stand."""
    for table in TABLES.values():
        paths = chain.from_iterable((*column.v2, *column.v1) for column in table.columns)
        entries = chain.from_iterable(paths for _, paths in table.rows)
        for path in chain(paths, entries):
            yield from (str(step) for step in Path.parse(path).steps)
    for element in element_types():
        yield from (element.collection, *element.alternatives, *element.spellings)
        yield from filter(None, [element.type_key])


def _lines(documents: pa.StringArray) -> pa.Buffer:
    _, offsets, data = documents.buffers()
    ends = np.frombuffer(offsets, np.int32)[documents.offset : documents.offset + len(documents) + 1]
    data = data[ends[0] : ends[-1]]
    characters = np.frombuffer(data, np.uint8)
    at_ends = characters[ends[1:] - ends[0] - 1] == ord("\n")
    parts = (characters[at : at + _PART] for at in range(0, len(characters), _PART))
    if at_ends.all() and sum(np.count_nonzero(part == ord("\n")) for part in parts) == len(documents):
        return data
    # Within a document a carriage return is as blank as a line feed, and as wrong in a string.
    lines = pc.replace_substring(pc.utf8_rtrim(documents, " \t\r\n"), "\n", "\r")
    return _text(pc.binary_join_element_wise(lines, "", "\n"))


_CONSTANT = r"-?(?i:nan|inf(?:inity)?)\s*[,\]}]"

#: Patterns of documents that DuckDB takes for JSON, and that may be none: a comma before a closing bracket, and NaN or
#: infinity in any spelling. Each is found quickly by its first character.
LAX = (rf",\s*(?:[\]}}]|{_CONSTANT})", rf":\s*{_CONSTANT}", rf"\[\s*{_CONSTANT}")

#: What deliveries begin with, which saves a parse, and whether that is an envelope.
DELIVERIES = (
    (r"^\[", False),
    (r'^\{(?:"\w+": ?(?:"[^"\\]*"|\d+), ?)*"(?:received|fetched)_at": ?"[^"\\]*", ?"body": ?\[', True),
)

#: How an envelope without elements ends.
EMPTY_BODY = r"\[\s*\]\s*\}\s*$"

#: A pattern of documents in which a key may have no value.
NULL = r":\s*null"

_LARGEST = 1 << 24  # bytes of a document for which DuckDB has buffers in any case

#: Which documents are no JSON, of the relation ``documents``.
INVALID = "SELECT number FROM documents WHERE NOT json_valid(document)"

#: Patterns of documents that may have numbers beyond 64 bits, like those of LAX.
UNUSUAL = tuple(
    rf"{before}\s*-?(?i:\d{{308}}|\d[\d.]*e\+?\d{{3,}}\s*[,\]}}])" for before in (":", ",", r"\[")
)


def types_query(paths: Iterable[KeyPath]) -> str:
    """Return the query for the JSON types at paths, with the numbers of the documents that have them."""
    return f"""SELECT json_type(document, {_listed(map(json_path, paths))}) AS types,
        list(number) AS numbers FROM documents GROUP BY types"""


def parse_documents(engine: Engine, form: Form, shape: Shape, documents: pa.Table) -> pa.Table:
    """Parse documents by a shape; rows come in the order of the documents.

    One of `refused` is raised where one has anything else in the place of an object or a list, has a declared
    key twice, or is no JSON.
    """
    engine.lines.write(map(_lines, documents["document"].chunks))
    found = engine.ask(parse_query(engine.lines.address, engine.lines.size, form, shape))
    if len(found) != len(documents):
        raise refused()[0]("some are not one document")
    return found


def parse_query(address: str, size: int, form: Form, shape: Shape) -> str:
    """Return the query for a shape in documents of one form, which are the lines of a file of some bytes.

    The result has, in the same order, the timestamps of an envelope, and list: the elements, of a delivery with their
    siblings. The query fails where an object or a list is looked for and anything else but null is there, or such a
    key twice.
    """
    found = ".".join(["doc", *map(sql_name, element_steps(form))])
    found = f"[{found}]" if form.kind == "single" else found
    timestamps = (f", doc.{name}" for name in TIMESTAMPS if form.enveloped)
    return f"""SELECT {found} AS list{"".join(timestamps)}
        FROM read_json({sql_text(address)}, format = 'newline_delimited', records = false,
        columns = {{doc: {sql_text(_type(shape))}}}, maximum_object_size = {max(_LARGEST, size)})"""


def _type(shape: Shape) -> str:
    """Return the type of a shape in SQL: leaves are text, objects of which all is read are JSON."""
    if shape.is_struct:
        # DuckDB refuses a structure without a key.
        keys = {str(step): _type(below) for step, below in shape.inside.items()} or {"_": "VARCHAR"}
        return f"STRUCT({', '.join(f'{sql_name(key)} {kind}' for key, kind in keys.items())})"
    if shape.container == "list":
        return f"{_type(shape.inside.get(EACH, Shape()))}[]"
    return "JSON" if shape.container else "VARCHAR"


def entry_keys_query(form: Form) -> str:
    """Return the query for sets of keys of delivery entries, with the numbers of documents, and positions."""
    keys = f"json_keys(document, {sql_text(json_path(element_steps(form)) + '[*]')})"
    return f"""SELECT keys, list(number), list(position) FROM (SELECT number,
        unnest(range(len(found))) AS position, unnest(found) AS keys
        FROM (SELECT number, {keys} AS found FROM documents)) GROUP BY keys"""


def values_query(paths: Iterable[KeyPath]) -> str:
    """Return the query for the number of each document and the list of the scalars at paths, as text."""
    return f"SELECT number, json_extract_string(document, {_listed(map(json_path, paths))}) FROM documents"


def nesting_query(form: Form, collections: Iterable[str]) -> str:
    """Return the query for pages of which an element embeds one of some collections."""
    inside = (BODY, "_embedded") if form.enveloped else ("_embedded",)
    found = (
        f"json_keys(document, {sql_text(json_path((*inside, key)) + '[*]._embedded')})" for key in form.keys
    )
    lists = " || ".join(f"coalesce(flatten({keys}), [])" for keys in found)
    return f"SELECT number FROM documents WHERE list_has_any({lists}, {_listed(collections)})"


def keys_query(paths: Iterable[str]) -> str:
    """Return the query for the keys at JSON paths, a list for each path.

    A list is empty where anything but an object is, and NULL where nothing is. The relation ``elements`` has the
    columns number and element.
    """
    return f"SELECT json_keys(element, {_listed(paths)}::VARCHAR[]) AS keys FROM elements"


def others_query(path: str) -> str:
    """Return the query for the number of each element and the entries but the first of a list at a JSON path."""
    return f"""SELECT number, json_extract(element, {sql_text(path + "[*]")})[2:] AS others FROM elements"""


_CONTAINER = "starts_with(pair.value, '{') OR starts_with(pair.value, '[')"

#: The pairs of an object, of its JSON; NULL for no object, and where a key occurs twice.
PAIRS = f"""list_transform(map_entries(from_json(text, '"MAP(VARCHAR, JSON)"')), lambda pair: {{
    'key': pair.key, 'misplaced': {_CONTAINER},
    'value': CASE WHEN NOT ({_CONTAINER}) THEN from_json(pair.value, '"VARCHAR"') END }})"""


def pairs_of(engine: Engine, objects: pa.Array) -> pa.Array:
    """Return the pairs of objects, from their JSON, as lists of key, value and misplaced; null for others."""
    engine.put("texts", pa.table({"text": objects}))
    return combined(engine.ask(f"SELECT {PAIRS} AS value FROM texts")["value"])


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(sql_text, texts))}]"


def json_path(steps: Iterable[Step]) -> str:
    """Return a JSON path."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{json.dumps(step)}" for step in steps)


def select_documents(
    documents: pa.Table, numbers: Collection[int] | np.ndarray, *, invert: bool = False
) -> pa.Table:
    """Return the documents with some numbers, or those without them."""
    if len(numbers) == (0 if invert else documents.num_rows):
        return documents
    found = pc.is_in(documents["number"], value_set=pa.array(list(numbers), pa.int64()))
    return documents.filter(pc.invert(found) if invert else found)
