"""The queries that read documents, derived from the declarations.

There are two steps. `elements` parses each document of a form once, and gives a row per element: its leaves
as text, its objects as structs, its lists as JSON. `rows` gives the rows of one table, from those. Every value comes
as text first, since a typed extraction turns a misfit into NULL in silence.

Both say which elements they cannot vouch for: these are *suspect*, and `mend` looks at them. The queries need
not be exact about what does not fit; a suspect element in which nothing is wrong is read again, the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from osdi_frames.tables.forms import BODY, PAGE_KEYS, RESOURCE_KEYS, SIBLING, TIMESTAMPS, Form, Keys
from osdi_frames.tables.schema import EACH, PAIRS, ElementType, Step
from osdi_frames.tables.shape import ElementShape, Shape

#: What rows have in addition to the columns asked for: the document, the position in it, whether they are suspect.
NUMBER, POSITION, SUSPECT = "_number", "_position", "_suspect"

# DuckDB takes a comma before a closing bracket for JSON, which it is not.
_LAX = r"regexp_matches(document, ',\s*[\]}]')"

_MANY = 50  # elements of a document; a page of the service holds 25

#: Which documents are no JSON, of the relation ``documents``.
INVALID = f"SELECT number FROM documents WHERE NOT json_valid(document) OR {_LAX}"

#: Which documents may have numbers that JSON does not have, or none of 64 bits.
UNUSUAL = r"""SELECT number FROM documents
    WHERE regexp_matches(document, '(?i)[:,\[]\s*-?(?:nan|inf|\d{308}|\d[\d.]*e\+?\d{3})')"""


def not_read(types: Iterable[ElementType]) -> str:
    """Return the query for the deliveries of types that are not read: which are lists of documents, or no JSON."""
    keys = [*PAGE_KEYS, BODY, *RESOURCE_KEYS, *(key for each in types for key in each.keys)]
    found = "list_distinct(flatten(json_keys(document, '$[*]')))"
    return rf"""SELECT number FROM documents WHERE list_has_any({found}, {listed(dict.fromkeys(keys))})
        OR {_LAX} OR regexp_matches(document, '^\s*\[\s*\[')"""


def types_at(paths: Iterable[Keys]) -> str:
    """Return the query that gives the JSON types at some paths, and the documents that have these."""
    return f"""SELECT json_type(document, {listed(map(json_path, paths))}) AS types, {_LAX} AS lax,
        list(number) AS numbers FROM documents GROUP BY types, lax"""


def elements(form: Form, shapes: Mapping[ElementType, ElementShape]) -> str:
    """Return the query that gives a row per element of the documents of one form.

    The relation ``documents`` has the columns number, start (of the positions) and document. The result has
    number, position, timestamps, x (the element, in a delivery with its siblings), and suspect0, suspect1 … for
    each of the element types.
    """
    timestamps = "doc" if form.enveloped else null_of(dict.fromkeys(TIMESTAMPS, "VARCHAR"))
    parsed, layers = structure_of(_inside_of(form, _element_structure(form, shapes))), Layers()
    suspects = [
        f"{_suspect(form, element, shapes[element], layers)} AS suspect{number}"
        for number, element in enumerate(form.types)
    ]
    # Where there are many, each has its text, since to look something up in the document parses all of it.
    texts = f"CASE WHEN len(list) > {_MANY} THEN {_list_of(form, _texts(form))} END"
    relation = f"""(SELECT number, start, start + unnest(range(len(list))) AS position, unnest(list) AS x,
            document, unnest({texts}) AS text, lax, timestamps
        FROM (SELECT number, start, document, {_LAX} AS lax, {timestamps} AS timestamps, {_list_of(form, "doc")} AS list
        FROM (SELECT number, start, document, json_transform(document, {parsed}) AS doc FROM documents)))"""
    return f"SELECT number, position, timestamps, x, {', '.join(suspects)} FROM {layers.over(relation)}"


@dataclass(slots=True)
class Layers:
    """SELECTs one in the other: what one names the next can use, and nothing is computed twice."""

    layers: list[dict[str, str]] = field(default_factory=list)

    def name(self, level: int, expression: str) -> str:
        """Name an expression over what the levels below name."""
        self.layers += [{} for _ in range(level + 1 - len(self.layers))]
        layer = self.layers[level]
        return layer.setdefault(expression, f"v{level}_{len(layer)}")

    def over(self, relation: str) -> str:
        """Return the relation with all that is named."""
        for layer in self.layers:
            named = "".join(f", {expression} AS {name}" for expression, name in layer.items())
            relation = f"(SELECT *{named} FROM {relation})"
        return relation


def texts(form: Form) -> str:
    """Return the query that gives each element of the documents of a form as JSON: number, element."""
    return f"SELECT number, unnest({_list_of(form, _texts(form))}) AS element FROM documents"


def keys(paths: Sequence[Sequence[Step]], texts: str) -> str:
    """Return the query that counts the keys of objects of the elements: a list for each path, count, first number.

    A path into a list stands alone: of all entries it gives a row each, else it leads to the one that is read.
    """
    places = [_place(path) for path in paths]
    if len(places) == 1 and "[*]" in places[0][1]:
        found = f"[unnest({_json_keys(*places[0])})]"
    elif any(root != "element" for root, _ in places):
        found = f"[{', '.join(_json_keys(*place) for place in places)}]"
    else:
        found = f"json_keys(element, {listed(path for _, path in places)})"
    return f"""SELECT keys, count(*), min(number) FROM (SELECT {found} AS keys, number FROM {texts})
        GROUP BY keys"""


def unread(path: Sequence[Step], texts: str) -> str:
    """Return the query that counts the entries of a list of which one is read, but for that one, as keys ``[]``."""
    root, place = _place(path)
    length = f"json_array_length({root}, {literal(place)})"
    lengths = length if "[*]" in place else f"[{length}]"
    more = f"list_sum(list_transform({lengths}, lambda each: greatest(each::BIGINT - 1, 0)))"
    return f"""SELECT [['[]']] AS keys, sum(more)::BIGINT, min(number)
        FROM (SELECT {more} AS more, number FROM {texts}) WHERE more > 0 HAVING count(*) > 0"""


def _json_keys(root: str, path: str) -> str:
    return f"json_keys({root}, {literal(path)})"


def _place(path: Sequence[Step]) -> tuple[str, str]:
    """Return where a path leads in an element: a JSON expression, and a JSON path in it."""
    root, place = "element", "$"
    for step in path:
        if isinstance(step, str):
            place += f".{json.dumps(step)}"
        elif step == EACH:
            place += "[*]"
        else:
            entries = f"json_extract({root}, {literal(place + '[*]')})"
            root, place = _CHOSEN.format(entries), "$"
    return root, place


# As in `rows`: the entry that is primary, else the first that is not null.
_CHOSEN = """coalesce(list_filter({0}, lambda each: json_extract_string(each, '$.primary') = 'true')[1],
    list_filter({0}, lambda each: json_type(each) <> 'NULL')[1])"""


def _inside_of(form: Form, element: Any) -> Any:
    """Return the structure of the documents of a form around that of their elements."""
    inside: Any = element if form.kind == "single" else [element]
    for step in reversed(_steps(form)):
        inside = {step: inside}
    return dict.fromkeys(TIMESTAMPS, "VARCHAR") | inside if form.enveloped else inside


def _texts(form: Form) -> str:
    return f"json_transform(document, {structure_of(_inside_of(form, 'JSON'))})"


def _list_of(form: Form, document: str) -> str:
    found = at(document, _steps(form))
    return f"[{found}]" if form.kind == "single" else found


def _steps(form: Form) -> Keys:
    """Return where a document of a form holds its elements."""
    steps = (BODY,) if form.enveloped else ()
    return (*steps, "_embedded", form.keys[0]) if form.kind == "page" else steps


def _element_structure(form: Form, shapes: Mapping[ElementType, ElementShape]) -> Any:
    if form.kind != "delivery":
        return structure(shapes[form.types[0]].of)
    siblings: dict[str, Any] = {}
    for element in form.types:
        siblings |= structure(shapes[element].siblings, whole=True)
    return {element.type_key: structure(shapes[element].of) for element in form.types} | siblings


def structure(shape: Shape, *, whole: bool = False) -> Any:
    """Return what `json_transform` is to look for below an object: leaves as text, lists as JSON.

    DuckDB refuses an empty structure, so that there is always a key, unless it is to be put together (`whole`).
    """
    if is_struct(shape):
        keys = {step: structure(below) for step, below in shape.inside.items() if isinstance(step, str)}
        return keys if keys or whole else {"_": "VARCHAR"}
    return "JSON" if shape.form else "VARCHAR"


def _suspect(form: Form, element: ElementType, shape: ElementShape, layers: Layers) -> str:
    """Return whether an element is not an object, or holds another value where an object or a list is declared."""
    name, path = partial(layers.name, 0), literal(json_path(_steps(form)))
    text = f"coalesce(text, json_extract(document, {path} || '[' || (position - start) || ']'))"
    first = json_path(_steps(form)) + ("" if form.kind == "single" else "[0]")

    def types(head: Keys, paths: Sequence[Keys]) -> str:
        inside = [json_path((*head, *steps)) for steps in paths]
        return f"""CASE WHEN position = start THEN json_type(document, {listed(first + each[1:] for each in inside)})
            ELSE json_type({text}, {listed(inside)}) END"""

    value, head = value_of(form, element), (str(element.type_key),) if form.kind == "delivery" else ()
    wrong = ["lax", "x IS NULL", misplaced(value, shape.of, partial(types, head), name)]
    if form.kind == "delivery":
        if shape.siblings.inside:
            wrong.append(misplaced("x", shape.siblings, partial(types, ()), name))
        # An element without the type key is of another type, or none; or the document is a list of documents.
        documents = [*PAGE_KEYS, BODY, *RESOURCE_KEYS, str(element.type_key)]
        a_type = f"contains(key, ':') AND NOT ends_with(key, '{SIBLING}')"
        keys = f"CASE WHEN position = start THEN json_keys(document, {literal(first)}) ELSE json_keys({text}) END"
        other = f"""coalesce(len(list_filter({keys}, lambda key: {a_type})) = 0, true)
            OR list_has_any({keys}, {listed(documents)})"""
        wrong.append(f"CASE WHEN {name(f'{value} IS NULL')} THEN {other} END")
    return any_of(wrong)


def value_of(form: Form, element: ElementType) -> str:
    """Return the expression of the value of an element."""
    return f'x."{element.type_key}"' if form.kind == "delivery" else "x"


def misplaced(
    root: str, shape: Shape, types: Callable[[Sequence[Keys]], str], name: Callable[[str], str]
) -> str:
    """Return whether there is another value where an object or a list is declared, at or below `root`.

    Another value comes through as an object of NULLs, as an empty object does: only then `types`, the JSON
    types at some paths, are looked up. A list is recognised by its text. `name` names an expression.
    """
    objects = [(steps, below) for steps, below in _inside(shape) if is_struct(below)]
    misread = " OR ".join(bare(at(root, steps), below) for steps, below in objects)
    found = types([steps for steps, _ in objects])
    wrong = f"len(list_filter({found}, lambda type: type NOT IN ('OBJECT', 'NULL'))) > 0"
    # CASE, since AND looks at both sides for every row; over a name, since it is slow over much else.
    conditions = [f"CASE WHEN {name(misread)} THEN {wrong} END"] if objects else []
    for steps, below in _inside(shape):
        if below.form == "list":
            conditions.append(f"NOT starts_with({at(root, steps)}, '[')")
        elif below.form == "object" and not is_struct(below):
            text = at(root, steps)
            conditions.append(f"{text} IS NOT NULL AND {pairs(text)} IS NULL")
    return any_of(conditions)


def _inside(shape: Shape, steps: Keys = ()) -> Iterator[tuple[Keys, Shape]]:
    """Yield the path and the shape of everything in an object, and in the objects in it; the object first."""
    yield steps, shape
    if is_struct(shape):
        for step, below in shape.inside.items():
            if isinstance(step, str):
                yield from _inside(below, (*steps, step))


def is_struct(shape: Shape) -> bool:
    """Whether an object is read key by key; one of which the text or all pairs are wanted comes as text."""
    return shape.form == "object" and "json" not in shape.types and PAIRS not in shape.inside


def pairs(text: str) -> str:
    """Return the pairs of an object; NULL for what is none, and where a key occurs twice."""
    return f"from_json({text}, '\"MAP(VARCHAR, JSON)\"')"


def bare(value: str, shape: Shape) -> str:
    """Return whether an object is there without any of its declared keys: it may be another value."""
    keys = structure(shape)
    return (
        "(" + " AND ".join([f"{value} IS NOT NULL", *(f"{at(value, (key,))} IS NULL" for key in keys)]) + ")"
    )


def at(root: str, steps: Iterable[Step]) -> str:
    """Return the expression of what stands at some keys of a struct."""
    return ".".join([root, *(quoted(str(step)) for step in steps)])


def structure_of(structure: Any) -> str:
    """Return a structure as `json_transform` and `from_json` take it."""
    return literal(json.dumps(structure))


def null_of(structure: Any) -> str:
    """Return the NULL of a structure."""
    return f"json_transform(NULL::VARCHAR, {structure_of(structure)})"


def quoted(name: str) -> str:
    """Return an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text of SQL."""
    return "'" + text.replace("'", "''") + "'"


def listed(texts: Iterable[str]) -> str:
    """Return a list of texts of SQL."""
    return f"[{', '.join(map(literal, texts))}]"


def any_of(conditions: Iterable[str]) -> str:
    """Return whether any condition is true; one that is NULL is not."""
    joined = " OR ".join(f"({each})" for each in conditions)
    return f"coalesce({joined}, false)" if joined else "false"


def json_path(keys: Iterable[str]) -> str:
    """Return a JSON path."""
    return "$" + "".join(f".{json.dumps(key)}" for key in keys)
