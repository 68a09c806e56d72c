"""The query that gives the rows of a table from elements; see `query`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from osdi_frames.reading.query import (
    NUMBER,
    POSITION,
    SUSPECT,
    Layers,
    any_of,
    at,
    bare,
    is_struct,
    json_path,
    literal,
    misplaced,
    pairs,
    quoted,
    structure,
    structure_of,
    value_of,
)
from osdi_frames.reading.values import NORMAL
from osdi_frames.tables.forms import Form
from osdi_frames.tables.schema import EACH, FIRST, PAIRS, Column, Path, Step, Table, Type
from osdi_frames.tables.shape import Shape, element_shape

_DUCKDB = {
    "utc": "TIMESTAMPTZ",
    "local": "TIMESTAMP",
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "bool": "BOOLEAN",
}


def rows(
    form: Form,
    table: Table,
    columns: Sequence[Column],
    checked: Sequence[Column],
    prefixes: Sequence[str],
    relation: str,
    *,
    mended: bool = False,
) -> str:
    """Return the query that gives the rows of a table from the result of `query.elements`.

    The rows have number, position, suspect, and the columns; those of a table of entries come in their order.
    A row is suspect by its `checked` columns, which include the columns. An entry that is no object is
    suspect, and in a mended document no row.
    """
    shape = element_shape(table, checked, prefixes)
    suspect = f"suspect{form.types.index(table.element)}"
    value = value_of(form, table.element)
    relation = f"(SELECT * FROM {relation} WHERE {value} IS NOT NULL OR {suspect})"
    layers = Layers()
    element = _Texts(layers, value, shape.of)
    texts = {
        "element": element,
        "sibling": _Texts(layers, "x", shape.siblings),
        "envelope": _Texts(layers, "timestamps"),
    }
    if table.rows:
        relation, texts["entry"] = _entries(table, prefixes, relation, element, mended=mended)
    values = _Values(form, table, prefixes, layers, texts)
    for column in table.needed((*columns, *checked)):
        values.read(column)
    wrong = any_of([suspect, *values.wrong, *(each for read in texts.values() for each in read.wrong)])
    names = [column for column in columns if column.origin != "source"]
    chosen = "".join(f", {values.of(column)} AS {quoted(column.name)}" for column in names)
    return f"""SELECT number AS {NUMBER}, position AS {POSITION}, {wrong} AS {SUSPECT}{chosen}
        FROM {layers.over(relation)}"""


def _entries(
    table: Table, prefixes: Sequence[str], relation: str, element: _Texts, *, mended: bool
) -> tuple[str, _Texts]:
    """Return the relation with a row per entry, and the texts of the entry."""
    by_role = {
        role: [path.steps for text in texts for path in Path.parse(text).spelled(prefixes)]
        for role, texts in table.rows
    }
    steps = next(iter(by_role.values()))[0]
    shape = element.shape_at(steps)
    if steps[-1] == PAIRS:
        text, _ = element.at(steps[:-1])
        relation = f"(SELECT *, unnest(map_entries({pairs(text)})) AS entry FROM {relation})"
        return relation, _Texts(element.layers, "entry.value", shape, of_pairs=True)
    if steps[-1] == EACH:
        return _each(relation, element, steps[:-1], shape, mended=mended)
    roles = (
        f"{{'role': '{role}', 'entry': coalesce({', '.join(element.at(each)[0] for each in paths)})}}"
        for role, paths in by_role.items()
    )
    relation = f"""(SELECT * FROM (SELECT *, unnest([{", ".join(roles)}]) AS entry FROM {relation})
        WHERE entry.entry IS NOT NULL)"""
    return relation, _Texts(element.layers, "entry.entry", shape)


def _each(
    relation: str, element: _Texts, head: Sequence[Step], shape: Shape, *, mended: bool
) -> tuple[str, _Texts]:
    text, _ = element.at(head)
    relation = f"""(SELECT * FROM (SELECT *, unnest(entries) AS entry, unnest(range(len(entries))) AS entry_position
        FROM (SELECT *, from_json({text}, {structure_of([structure(shape)])}) AS entries FROM {relation}))
        WHERE entry IS NOT NULL)"""
    texts = _Texts(element.layers, "entry", shape)
    if is_struct(shape):
        texts.look_into("entry", 0, text, shape)
        if mended:
            kind = f"json_type({text}, '$[' || entry_position || ']')"
            relation = f"(SELECT * FROM {relation} WHERE NOT {bare('entry', shape)} OR {kind} = 'OBJECT')"
    return relation, texts


# The entry that is primary, else the first that is not null.
_PRIMARY = """CASE WHEN len({0}) = 1 THEN {0}[1] ELSE coalesce(
    list_filter({0}, lambda each: each."primary" = 'true')[1],
    list_filter({0}, lambda each: each IS NOT NULL)[1]) END"""


@dataclass(slots=True)
class _Texts:
    """What is read from one root: the texts at its paths, and what is wrong on the way to them."""

    layers: Layers
    root: str
    shape: Shape = field(default_factory=Shape)
    of_pairs: bool = False
    wrong: list[str] = field(default_factory=list)

    def at(self, steps: Sequence[Step]) -> tuple[str, int]:
        """Return the text at a path, and the level on which it can be used."""
        expression, level, shape = self.root, 0, self.shape
        if self.of_pairs:
            self.wrong.append(_is_container(expression))
            return f"CASE WHEN NOT {_is_container(expression)} THEN {expression}->>'$' END", 0
        for step in steps:
            if isinstance(step, str):
                expression, shape = at(expression, (step,)), shape.inside.get(step, Shape())
                continue
            entries = Shape()
            for below in shape.inside.values():
                entries.merge(below)
            opened = self.layers.name(level, f"from_json({expression}, {structure_of([structure(entries)])})")
            chosen = f"{opened}[1]" if step == FIRST else _PRIMARY.format(opened)
            text, expression, level = expression, self.layers.name(level + 1, chosen), level + 2
            shape = shape.inside[step]
            self.look_into(expression, level, text, shape)
        return expression, level

    def look_into(self, entry: str, level: int, text: str, shape: Shape) -> None:
        """Note what is misplaced in an entry of the list with a text; it can be used from a level on."""
        if not is_struct(shape):
            return

        def types(paths: Sequence[tuple[str, ...]]) -> str:
            found = (f"json_type({text}, {literal('$[*]' + json_path(path)[1:])})" for path in paths)
            return f"flatten([{', '.join(found)}])"

        condition = misplaced(entry, shape, types, partial(self.layers.name, level))
        if condition not in self.wrong:
            self.wrong.append(condition)

    def shape_at(self, steps: Sequence[Step]) -> Shape:
        """Return what is declared at a path."""
        shape = self.shape
        for step in steps:
            shape = shape.inside[step]
        return shape


@dataclass(slots=True)
class _Values:
    """The values of columns: casts of texts, with what is wrong with the texts."""

    form: Form
    table: Table
    prefixes: Sequence[str]
    layers: Layers
    texts: dict[str, _Texts]
    text_at: dict[tuple[str, Path], str] = field(default_factory=dict)
    value_at: dict[tuple[str, Path], str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def read(self, column: Column) -> None:
        """Name the text and the value at every path of a column."""
        for path in column.paths(self.prefixes):
            if path.sibling and self.form.kind != "delivery":
                continue
            text, level = self._texts(column, path).at(path.steps)
            text = self.layers.name(level, text)
            kind: Type = "list<string>" if path.function == "own" else column.type
            value = _cast(kind, text)
            value = value if value == text else self.layers.name(level + 1, value)
            self.wrong.append(_is_wrong(kind, text, value))
            if path.function == "id":
                value = _last_segment(text, self.layers.name(level + 1, _LAST.format(text)))
            self.text_at[column.name, path] = text
            found = self.value_at[column.name, path] = _function(path, value, self.prefixes)
            if path.function == "own":
                # Perhaps under a prefix that is not known.
                self.wrong.append(f"contains(array_to_string({value}, ' '), ':') AND {found} IS NULL")

    def _texts(self, column: Column, path: Path) -> _Texts:
        if column.origin == "envelope":
            return self.texts["envelope"]
        if path.sibling:
            return self.texts["sibling"]
        return self.texts["entry" if column in self.table.entry else "element"]

    def of(self, column: Column) -> str:
        """Return the value of a column."""
        match column.origin:
            case "element position":
                return "position"
            case "entry position":
                return "entry_position"
            case "role":
                return "entry.role"
            case "key":
                return "entry.key"
            case "derived":
                return _DERIVED[column.name](self, column)
        found = [value for (name, _), value in self.value_at.items() if name == column.name]
        return f"coalesce({', '.join(found)})" if found else f"NULL::{_DUCKDB.get(column.type, 'VARCHAR')}"


def _targeting_label(values: _Values, column: Column) -> str:
    found = (values.of(values.table.column(name)) for name in column.derived)
    accepted, origin, title, capacity, image, hidden, campaign = found
    # What the API cannot set shows an event of the user interface; of the API's alone there is a label (interface 1.5).
    made_by_hand = f"coalesce({capacity}::VARCHAR, {image}, {campaign}) IS NOT NULL OR {hidden} IS TRUE"
    return f"""CASE WHEN {accepted} >= 1 AND NOT ({made_by_hand})
        THEN '[1, (' || {origin} || ') Event], (' || {title} || ')' END"""


def _api_version(values: _Values, column: Column) -> str:
    """Return the version by its keys (interface 9): v1 where there is one of v1's own and none of v2's."""

    def has(version: str, other: str) -> str:
        keys = {
            (name, Path.parse(text))
            for name in column.derived
            for declared in [values.table.column(name)]
            for text in set(getattr(declared, version)) - set(getattr(declared, other))
        }
        return any_of(f"{values.text_at[key]} IS NOT NULL" for key in sorted(keys, key=str))

    return f"CASE WHEN {has('v1', 'v2')} AND NOT {has('v2', 'v1')} THEN 'v1' ELSE 'v2' END"


_DERIVED: dict[str, Callable[[_Values, Column], str]] = {
    "api_version": _api_version,
    "targeting_label": _targeting_label,
}


def _is_container(text: str) -> str:
    return f"(starts_with({text}, '{{') OR starts_with({text}, '['))"


def _cast(kind: Type, text: str) -> str:
    """Return the value of a text in normal form; NULL for another."""
    match kind:
        case "list<string>":
            return f"from_json({text}, '[\"VARCHAR\"]')"
        case "string" | "json":
            return text
        case "bool":
            return f"CASE {text} WHEN 'true' THEN true WHEN 'false' THEN false END"
        case "local":
            cast = f"TRY_CAST(rtrim({text}, 'Z') AS TIMESTAMP)"
        case "float64":
            cast = f"nullif(nullif(TRY_CAST({text} AS DOUBLE), 'inf'), '-inf')"
        case _:
            cast = f"TRY_CAST({text} AS {_DUCKDB[kind]})"
    return f"CASE WHEN regexp_full_match({text}, '{NORMAL[kind]}') THEN {cast} END"


def _is_wrong(kind: Type, text: str, value: str) -> str:
    """Return whether a text may have been another value, or is not in normal form."""
    match kind:
        case "list<string>":
            # An entry that may be no text, or null: looked for in the text of the list, which is quick.
            return f"contains({text}, '{{') OR contains({text}, 'null') OR contains({text}[2:], '[')"
        case "string":
            return _is_container(text)
        case "json":
            return "false"  # `elements` sees to it
        case _:
            return f"{text} IS NOT NULL AND {value} IS NULL"


_AFTER_COLON = "substr({0}, strpos({0}, ':') + 1)"
_LAST = "parse_filename({}, false, 'forward_slash')"


def _last_segment(address: str, last: str) -> str:
    """Return the last path segment of an address, which is `last` unless the address is odd."""
    odd = f"contains({address}, '?') OR contains({address}, '#') OR {last} = ''"
    # Of an address of the web, more slashes than those before the host are looked for.
    odd = f"{odd} OR NOT starts_with({address}, 'http') OR NOT contains({address}[9:], '/')"
    path = f"regexp_replace({address}, '^([^:/?#]+:)?//[^/?#]*', '')"
    segment = rf"nullif(regexp_extract({path}, '^(?s:(?:[^?#]*/)?([^/?#]+)/*(?:[?#].*)?)$', 1), '')"
    return f"CASE WHEN {odd} THEN {segment} ELSE {last} END"


def _function(path: Path, value: str, prefixes: Sequence[str]) -> str:
    match path.function:
        case "own":
            own = " OR ".join(f"starts_with(each, {literal(prefix + ':')})" for prefix in prefixes)
            first = f"list_filter({value}, lambda each: {own})[1]"
            return f"nullif({_AFTER_COLON.format(first)}, '')"
        case "system":
            return f"CASE WHEN contains({value}, ':') THEN split_part({value}, ':', 1) END"
        case "identifier":
            return f"CASE WHEN contains({value}, ':') THEN {_AFTER_COLON.format(value)} ELSE {value} END"
    return value
