"""DuckDB queries that parse documents, derived from the declared columns.

They extract every value as text, since an extraction with a type would silently turn other values into NULL.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
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

_PART = 1 << 16  # bytes that are compared at once, so that the comparison stays in the processor's cache


def _text(documents: pa.StringArray) -> pa.Buffer:
    """Return the joined bytes of documents without a copy."""
    _, offsets, data = documents.buffers()
    if not data:
        return pa.py_buffer(b"")
    ends = np.frombuffer(offsets, np.int32)[documents.offset : documents.offset + len(documents) + 1]
    return data[ends[0] : ends[-1]]


#: The pattern of a letter, digit, colon or underscore as a JSON escape. Services escape &, < and >, which no type's key
#: contains.
ESCAPE = r"\\u00(?:3[aA]|5[fF]|6[1-9a-fA-F]|7[0-9aA])"


def possible_keys(documents: pa.ChunkedArray, keys: Iterable[str]) -> list[str]:
    """Return the keys whose text occurs in JSON documents; all keys if the documents escape letters.

    >>> possible_keys(pa.chunked_array([['{"osdi:signature": {}}']]), ["osdi:signature", "osdi:donation"])
    ['osdi:signature']
    """
    keys, first = list(keys), documents[0].as_py() if len(documents) else ""
    missing = [key for key in keys if f'"{key}"' not in first]
    if not missing:
        return keys
    others = documents.filter(matches_any(documents, key_patterns(missing)))
    texts = [_text(chunk).to_pybytes() for chunk in others.chunks]
    if any(re.search(ESCAPE.encode(), text) for text in texts):
        return keys
    return [key for key in keys if key not in missing or any(f'"{key}"'.encode() in text for text in texts)]


def matches_any(texts: pa.ChunkedArray, patterns: Iterable[str]) -> pa.ChunkedArray:
    """Return which texts match any of some patterns."""
    return reduce(pc.or_, (pc.match_substring_regex(texts, pattern) for pattern in patterns))


def quarantined(deliveries: pa.Table) -> list[int]:
    """Return the numbers of deliveries that may be in quarantine: these have a reason and no elements."""
    ends = pc.binary_slice(deliveries["document"].cast(pa.binary()), -_END)
    empty = deliveries.filter(pc.match_substring_regex(ends, _EMPTY_BODY))
    numbers: list[int] = empty["number"].filter(pc.match_substring(empty["document"], '"reason"')).to_pylist()
    return numbers


def key_patterns(keys: Iterable[str]) -> tuple[str, str]:
    """Return patterns of documents that may have any of some keys, all of which have a colon.

    A search that begins with one certain character is quick.
    """
    names = sorted({key.rpartition(":")[2] for key in keys})
    return f':(?:{"|".join(map(re.escape, names))})"', ESCAPE


def with_colons(documents: pa.ChunkedArray, prefixes: Sequence[str]) -> pa.ChunkedArray:
    r"""Return documents in which declared keys have a colon after their prefix again.

    Data warehouses, whose column names cannot have colons, write an underscore instead: ``action_network_hidden``.

    >>> of_a_warehouse = pa.chunked_array([[b'{"platform_hidden": true, "platform_x": 1, "a": "platform_hidden"}']])
    >>> with_colons(of_a_warehouse, ["platform"]).to_pylist()
    [b'{"platform:hidden": true, "platform_x": 1, "a": "platform_hidden"}']

    Users choose the names of custom fields, which stay as they are.
    """
    names = _prefixed_names(tuple(prefixes))
    if not any(_has_underscored_prefix(chunk, names) for chunk in documents.chunks):
        return documents
    renamed, is_of_users = documents, pa.chunked_array([np.zeros(len(documents), bool)])
    for prefix, keys in names.items():
        key = rf'"{re.escape(prefix)}_({"|".join(map(re.escape, keys))})"(\s*:)'
        renamed = pc.replace_substring_regex(renamed, key, rf'"{prefix}:\1"\2')
        is_of_users = pc.or_(is_of_users, pc.match_substring_regex(documents, f"{_BEFORE_FIELDS}[^}}]*{key}"))
    if not pc.any(is_of_users).as_py():
        return renamed
    pairs = zip(*(texts.filter(is_of_users).to_pylist() for texts in (renamed, documents)), strict=True)
    restored = [_with_custom_fields(text, _CUSTOM_FIELDS.findall(original)) for text, original in pairs]
    return pc.replace_with_mask(combined(renamed), combined(is_of_users), pa.array(restored, documents.type))


#: How the objects begin whose keys users choose, and such an object of scalars.
_BEFORE_FIELDS = r'"custom_fields"\s*:\s*\{'
_CUSTOM_FIELDS = re.compile(rf'{_BEFORE_FIELDS}(?:[^{{}}"]|"(?:[^"\\]|\\.)*")*\}}'.encode(), re.DOTALL)


def _with_custom_fields(document: bytes, custom_fields: Iterable[bytes]) -> bytes:
    in_order = iter(custom_fields)
    return _CUSTOM_FIELDS.sub(lambda _: next(in_order), document)


def respelled(
    documents: pa.Table, spelling: str, key: str, entries: Mapping[int, int]
) -> tuple[pa.Table, list[int]]:
    """Return documents with a key in place of a spelling of it, which so many entries of each have, by its number.

    Those in which the spelling occurs elsewhere, too, are not to be used: their numbers are returned.
    """
    is_spelled = combined(pc.is_in(documents["number"], pa.array([*entries], pa.int64())))
    some = documents.filter(is_spelled)
    found = pc.count_substring(some["document"], f'"{spelling}"').to_pylist()
    texts = pc.replace_substring(some["document"], f'"{spelling}"', f'"{key}"')
    every = pc.replace_with_mask(combined(documents["document"]), is_spelled, combined(texts))
    documents = documents.set_column(documents.schema.get_field_index("document"), "document", every)
    numbers = some["number"].to_pylist()
    return documents, [
        number for number, times in zip(numbers, found, strict=True) if times != entries[number]
    ]


def _has_underscored_prefix(documents: pa.BinaryArray, prefixes: Iterable[str]) -> bool:
    """Return whether any JSON string in the buffer of documents begins with a prefix and an underscore.

    The search starts from underscores after the last letter of a prefix: these are few, so it takes a third of the
    time of a search for the whole text.
    """
    characters = np.frombuffer(documents.buffers()[2] or b"", np.uint8)
    beginnings = [f'"{prefix}_'.encode() for prefix in prefixes]
    is_last_letter = np.zeros(256, bool)
    is_last_letter[[beginning[-2] for beginning in beginnings]] = True
    underscores = np.flatnonzero(characters == ord("_"))
    underscores = underscores[is_last_letter[characters[underscores - 1]]]
    for beginning in beginnings:
        matching = underscores[underscores >= len(beginning)]
        for distance, character in enumerate(beginning[::-1]):
            matching = matching[characters[matching - distance] == character]
        if len(matching):
            return True
    return False


@cache
def _prefixed_names(prefixes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return for each prefix the names that declared keys have after it, the longest first."""
    names_of: defaultdict[str, set[str]] = defaultdict(set)
    for key in spelled(_declared_keys(), prefixes):
        prefix, colon, name = key.partition(":")
        if colon:
            names_of[prefix].add(name)
    return {
        prefix: tuple(sorted(names, key=lambda name: (-len(name), name)))
        for prefix, names in names_of.items()
    }


def _declared_keys() -> Iterator[str]:
    """Yield the keys of all declared paths and of all collections and element types."""
    for table in TABLES.values():
        paths = chain.from_iterable((*column.v2, *column.v1) for column in table.columns)
        entries = chain.from_iterable(paths for _, paths in table.rows)
        for path in chain(paths, entries):
            yield from (str(step) for step in Path.parse(path).steps)
    for element in element_types():
        yield from (element.collection, *element.alternatives, *element.spellings)
        yield from filter(None, [element.type_key])


def _lines(documents: pa.StringArray) -> pa.Buffer:
    """Return documents as lines, without a copy if each of them ends in its only line feed."""
    _, offsets, data = documents.buffers()
    ends = np.frombuffer(offsets, np.int32)[documents.offset : documents.offset + len(documents) + 1]
    data = data[ends[0] : ends[-1]]
    characters = np.frombuffer(data, np.uint8)
    end_in_line_feed = characters[ends[1:] - ends[0] - 1] == ord("\n")
    parts = (characters[start : start + _PART] for start in range(0, len(characters), _PART))
    line_feeds = sum(np.count_nonzero(part == ord("\n")) for part in parts)
    if end_in_line_feed.all() and line_feeds == len(documents):
        return data
    # Inside of a document JSON treats a carriage return like a line feed: as white space, and as invalid in a string.
    lines = pc.replace_substring(pc.utf8_rtrim(documents, " \t\r\n"), "\n", "\r")
    return _text(pc.binary_join_element_wise(lines, "", "\n"))


_CONSTANT = r"-?(?i:nan|inf(?:inity)?)\s*[,\]}]"

#: Patterns of documents that DuckDB accepts though they are not JSON: a comma before a closing bracket, NaN and
#: infinity in any spelling. A regex search for each is quick, since it begins with one certain character.
LAX = (rf",\s*(?:[\]}}]|{_CONSTANT})", rf":\s*{_CONSTANT}", rf"\[\s*{_CONSTANT}")

#: Patterns of how a delivery begins, which need no parse, and whether it has an envelope.
DELIVERIES = (
    (r"^\[", False),
    (r'^\{(?:"\w+": ?(?:"[^"\\]*"|\d+), ?)*"(?:received|fetched)_at": ?"[^"\\]*", ?"body": ?\[', True),
)

_END = 16  # bytes at the end of a document, enough for _EMPTY_BODY
#: The pattern of how an envelope without elements ends.
_EMPTY_BODY = r"\[\s*\]\s*\}\s*$"

#: The pattern of documents in which a key may be null.
NULL = r":\s*null"

_LARGEST = 1 << 24  # bytes of a document: DuckDB's default for maximum_object_size

#: The query for the numbers of documents that are not JSON; like others below it reads the relation ``documents``.
INVALID = "SELECT number FROM documents WHERE NOT json_valid(document)"

#: Patterns of documents that may have numbers beyond 64 bits.
UNUSUAL = tuple(
    rf"{before}\s*-?(?i:\d{{308}}|\d[\d.]*e\+?\d{{3,}}\s*[,\]}}])" for before in (":", ",", r"\[")
)


def types_query(paths: Iterable[KeyPath]) -> str:
    """Return the query for each distinct list of JSON types at paths, with the numbers of its documents."""
    return f"""SELECT json_type(document, {_listed(map(json_path, paths))}) AS types,
        list(number) AS numbers FROM documents GROUP BY types"""


def parse_documents(engine: Engine, form: Form, shape: Shape, documents: pa.Table) -> pa.Table:
    """Parse documents of one form by their shape, and return a row for each document, in their order.

    One of the errors of `refused` is raised if a document is not JSON, has another value than null where the shape
    has an object or a list, or has a declared key twice.
    """
    engine.lines.write(map(_lines, documents["document"].chunks))
    rows = engine.ask(parse_query(engine.lines.address, engine.lines.size, form, shape))
    if len(rows) != len(documents):
        raise refused()[0]("some are not one document")
    return rows


def parse_query(address: str, size: int, form: Form, shape: Shape) -> str:
    """Return the query that parses the lines of a file, of some bytes, as documents of one form by their shape.

    Its result has the column list, of the document's elements or of a delivery's wrappers, and the timestamps of an
    envelope.
    """
    elements = ".".join(["doc", *map(sql_name, element_steps(form))])
    elements = f"[{elements}]" if form.kind == "single" else elements
    timestamps = (f", doc.{name}" for name in TIMESTAMPS if form.enveloped)
    return f"""SELECT {elements} AS list{"".join(timestamps)}
        FROM read_json({sql_text(address)}, format = 'newline_delimited', records = false,
        columns = {{doc: {sql_text(_type(shape))}}}, maximum_object_size = {max(_LARGEST, size)})"""


def _type(shape: Shape) -> str:
    """Return the SQL type of a shape: scalars are text, and objects that are read as a whole are JSON."""
    if shape.is_struct:
        # DuckDB does not accept a STRUCT without keys.
        keys = {str(step): _type(below) for step, below in shape.inside.items()} or {"_": "VARCHAR"}
        return f"STRUCT({', '.join(f'{sql_name(key)} {kind}' for key, kind in keys.items())})"
    if shape.container == "list":
        return f"{_type(shape.inside.get(EACH, Shape()))}[]"
    return "JSON" if shape.container else "VARCHAR"


def entry_keys_query(form: Form) -> str:
    """Return the query for each distinct list of keys of deliveries' entries, with their documents and positions."""
    keys = f"json_keys(document, {sql_text(json_path(element_steps(form)) + '[*]')})"
    return f"""SELECT keys, list(number), list(position) FROM (SELECT number,
        unnest(range(len(found))) AS position, unnest(found) AS keys
        FROM (SELECT number, {keys} AS found FROM documents)) GROUP BY keys"""


def values_query(paths: Iterable[KeyPath]) -> str:
    """Return the query for each document's number and its list of the scalars at paths, as text."""
    return f"SELECT number, json_extract_string(document, {_listed(map(json_path, paths))}) FROM documents"


def nesting_query(form: Form, collections: Iterable[str]) -> str:
    """Return the query for the numbers of pages with an element that itself embeds any of some collections."""
    inside = (BODY, "_embedded") if form.enveloped else ("_embedded",)
    keys = (
        f"json_keys(document, {sql_text(json_path((*inside, key)) + '[*]._embedded')})" for key in form.keys
    )
    embedded = " || ".join(f"coalesce(flatten({lists}), [])" for lists in keys)
    return f"SELECT number FROM documents WHERE list_has_any({embedded}, {_listed(collections)})"


def keys_query(paths: Iterable[str]) -> str:
    """Return the query for a list of the object keys at each JSON path, of the relation ``elements``.

    A list is empty where the value is not an object, and NULL where there is no value.
    """
    return f"SELECT json_keys(element, {_listed(paths)}::VARCHAR[]) AS keys FROM elements"


def others_query(path: str) -> str:
    """Return the query for each element's number and the entries after the first of its list at a JSON path."""
    return f"""SELECT number, json_extract(element, {sql_text(path + "[*]")})[2:] AS others FROM elements"""


_CONTAINER = "starts_with(pair.value, '{') OR starts_with(pair.value, '[')"

_KEYED = """from_json(text, '"MAP(VARCHAR, JSON)"')"""

#: The expression for the pairs of the JSON object in ``text``; NULL if it is not an object, or has a key twice.
#: DuckDB 1.5 makes a map of an object that has a key twice, 2.0 makes NULL of it.
PAIRS = f"""CASE WHEN list_unique(map_keys({_KEYED})) = cardinality({_KEYED}) THEN
    list_transform(map_entries({_KEYED}), lambda pair: {{
        'key': pair.key, 'misplaced': {_CONTAINER},
        'value': CASE WHEN NOT ({_CONTAINER}) THEN from_json(pair.value, '"VARCHAR"') END }}) END"""


_PAIRS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("misplaced", pa.bool_()), ("value", pa.string())]))


def pairs_of(engine: Engine, objects: pa.Array) -> pa.Array:
    """Split the JSON texts of objects into lists of key, value and misplaced, which says that a value is no scalar.

    The list is null for a text that is not an object or has a key twice.
    """
    if objects.null_count == len(objects):
        return pa.nulls(len(objects), _PAIRS_TYPE)
    engine.put("texts", pa.table({"text": objects}))
    return combined(engine.ask(f"SELECT {PAIRS} AS value FROM texts")["value"])


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(sql_text, texts))}]"


def json_path(steps: Iterable[Step]) -> str:
    """Return steps as a JSON path of DuckDB."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{json.dumps(step)}" for step in steps)


def select_documents(
    documents: pa.Table, numbers: Collection[int] | np.ndarray, *, invert: bool = False
) -> pa.Table:
    """Return the documents with some of their numbers, or all other documents (`invert`)."""
    if len(numbers) == (0 if invert else documents.num_rows):
        return documents
    is_selected = pc.is_in(documents["number"], value_set=pa.array(list(numbers), pa.int64()))
    return documents.filter(pc.invert(is_selected) if invert else is_selected)
