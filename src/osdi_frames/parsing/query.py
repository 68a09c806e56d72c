"""The queries that read documents, derived from the declarations.

Every value comes as text first, since a typed extraction turns a misfit into NULL in silence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from osdi_frames.tables.forms import BODY, TIMESTAMPS, Form, Keys
from osdi_frames.tables.schema import EACH, FIRST, PRIMARY, ElementType, Step
from osdi_frames.tables.shape import Shape

#: A pattern of documents that DuckDB takes for JSON, and that may be none: a comma before a closing bracket.
LAX = r",\s*[\]}]"

#: What deliveries begin with, and what that says of them, which saves a parse: bare, and in an envelope.
DELIVERIES: Sequence[tuple[str, Mapping[Keys, str]]] = (
    (r"^\[", {(): "ARRAY"}),
    (
        r'^\{(?:"\w+": ?(?:"[^"\\]*"|\d+), ?)*"(?:received|fetched)_at": ?"[^"\\]*", ?"body": ?\[',
        {(TIMESTAMPS[0],): "VARCHAR", (BODY,): "ARRAY"},
    ),
)

#: A pattern of documents in which a key may have no value.
NULL = r":\s*null"

_LARGEST = 1 << 24  # bytes of a document for which DuckDB has buffers in any case

#: Which documents are no JSON, of the relation ``documents``.
INVALID = "SELECT number FROM documents WHERE NOT json_valid(document)"

#: Patterns of documents that may have numbers that JSON does not have, or none of 64 bits: each is found quickly
#: by its first character.
UNUSUAL = tuple(
    rf"{before}\s*-?(?i:nan|inf|\d{{308}}|\d[\d.]*e\+?\d{{3,}}\s*[,\]}}])" for before in (":", ",", r"\[")
)


def types_at(paths: Iterable[Keys]) -> str:
    """Return the query that gives the JSON types at some paths, and the documents that have these."""
    return f"""SELECT json_type(document, {_listed(map(json_path, paths))}) AS types,
        list(number) AS numbers FROM documents GROUP BY types"""


def parse(address: str, size: int, form: Form, shape: Shape) -> str:
    """Return the query that looks for a shape in each of the documents of one form.

    They are the lines of a file of some bytes. The result has, in the same order, the timestamps of an envelope,
    and list: the elements, of a delivery with their siblings. It fails where an object or a list is looked for and
    anything else but null is there, or such a key twice.
    """
    found = ".".join(["doc", *map(quoted, steps(form))])
    found = f"[{found}]" if form.kind == "single" else found
    timestamps = (f", doc.{name}" for name in TIMESTAMPS if form.enveloped)
    return f"""SELECT {found} AS list{"".join(timestamps)}
        FROM read_json({literal(address)}, format = 'newline_delimited', records = false,
        columns = {{doc: {literal(_type(shape))}}}, maximum_object_size = {max(_LARGEST, size)})"""


def _type(shape: Shape) -> str:
    """Return as what a shape is read: leaves as text, objects of which all is read as JSON.

    DuckDB refuses an empty structure, so that there is always a key.
    """
    if shape.is_struct:
        keys = {str(step): _type(below) for step, below in shape.inside.items()} or {"_": "VARCHAR"}
        return f"STRUCT({', '.join(f'{quoted(key)} {kind}' for key, kind in keys.items())})"
    if shape.form == "list":
        entry = Shape()
        for below in shape.inside.values():
            entry.merge(below)
        return f"{_type(entry)}[]"
    return "JSON" if shape.form else "VARCHAR"


def entry_keys(form: Form) -> str:
    """Return the query for the keys of the entries of deliveries: each set of keys, with the numbers and positions."""
    keys = f"json_keys(document, {literal(json_path(steps(form)) + '[*]')})"
    return f"""SELECT keys, list(number), list(position) FROM (SELECT number,
        unnest(range(len(found))) AS position, unnest(found) AS keys
        FROM (SELECT number, {keys} AS found FROM documents)) GROUP BY keys"""


def nesting(form: Form, collections: Iterable[str]) -> str:
    """Return the query for the pages of which an element embeds one of some collections."""
    inside = (BODY, "_embedded") if form.enveloped else ("_embedded",)
    found = (
        f"json_keys(document, {literal(json_path((*inside, key)) + '[*]._embedded')})" for key in form.keys
    )
    lists = " || ".join(f"coalesce(flatten({keys}), [])" for keys in found)
    return f"SELECT number FROM documents WHERE list_has_any({lists}, {_listed(collections)})"


def keys(paths: Iterable[str]) -> str:
    """Return the query for the keys of what JSON elements have at JSON paths: one list for each path.

    It is empty where anything but an object is, and NULL where nothing is. The relation ``elements`` has the
    columns number and element.
    """
    return f"SELECT json_keys(element, {_listed(paths)}::VARCHAR[]) AS keys FROM elements"


#: Which entries of a list are read, by the step that leads to them, without those that are known.
_READ: Mapping[Step, str] = {
    EACH: "found[{known} + 1:]",
    FIRST: "found[{known} + 1:1]",
    PRIMARY: """(list_filter(found, lambda entry: entry->>'$.primary' = 'true')
        || list_filter(found, lambda entry: json_type(entry) = 'OBJECT'))[:1]""",
}


def entries(path: str, known: int, steps: Iterable[Step]) -> str:
    """Return the query for the entries of the lists at a JSON path, of which some are known: number, others.

    There are others than the known ones, or than the first. A column for each step has the entries that are read.
    """
    columns = (f'{_READ[step].format(known=known)} AS "{step}"' for step in steps)
    return f"""SELECT number, len(found) - {max(known, 1)} AS others, {", ".join(columns)}
        FROM (SELECT number, json_extract(element, {literal(path + "[*]")}) AS found FROM elements)"""


def document_shape(form: Form, shapes: Mapping[ElementType, Shape]) -> Shape:
    """Return the shape of the documents of a form."""
    shape = Shape()
    for name in TIMESTAMPS if form.enveloped else ():
        shape.add((name,))
    to_entries = () if form.kind == "single" else (EACH,)
    shape.add((*steps(form), *to_entries)).merge(entry_shape(form, shapes))
    return shape


def steps(form: Form) -> Keys:
    """Return where a document of a form holds its elements."""
    inside = (BODY,) if form.enveloped else ()
    return (*inside, "_embedded", form.keys[0]) if form.kind == "page" else inside


def entry_shape(form: Form, shapes: Mapping[ElementType, Shape]) -> Shape:
    """Return the shape of the entries of the documents of a form: of elements, or of what a delivery holds."""
    if form.kind != "delivery":
        return shapes[form.types[0]].inside[str(form.types[0].type_key)]
    entry = Shape()
    for element in form.types:
        entry.merge(shapes[element])
    return entry


_CONTAINER = "starts_with(pair.value, '{') OR starts_with(pair.value, '[')"

#: The pairs of an object, of its JSON; NULL for no object, and where a key occurs twice.
PAIRS = f"""list_transform(map_entries(from_json(text, '"MAP(VARCHAR, JSON)"')), lambda pair: {{
    'key': pair.key, 'misplaced': {_CONTAINER},
    'value': CASE WHEN NOT ({_CONTAINER}) THEN from_json(pair.value, '"VARCHAR"') END }})"""


def quoted(name: str) -> str:
    """Return an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(literal, texts))}]"


def json_path(keys: Iterable[str]) -> str:
    """Return a JSON path."""
    return "$" + "".join(f".{json.dumps(key)}" for key in keys)
