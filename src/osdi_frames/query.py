"""The query that extracts a table, derived from its declaration.

The query is the fast form of `documents` and `values`: right for documents in which everything is
where and what it is declared to be, and quick to say of the others that they are *suspect*. A suspect
document is looked at again, precisely, by those rooms; the query never has to be exact about misfits.

Every value is extracted as text first, since a typed extraction turns a misfit into NULL in silence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from osdi_frames.documents import BESIDE, BODY, EMBEDDED, PAGE_KEYS, SIGNATURE, STAMPS
from osdi_frames.tables.events import EVENT_ADDRESS, EVENT_KEYS
from osdi_frames.tables.schema import (
    EACH,
    FIRST,
    PAIRS,
    PRIMARY,
    Column,
    ElementKind,
    Path,
    Step,
    Table,
    Type,
)
from osdi_frames.tables.shape import ElementShape, Shape, element_shape

#: Which documents are JSON. DuckDB takes a comma before a closing bracket, which is not.
VALID = r"json_valid(document) AND NOT regexp_matches(document, ',\s*[\]}]')"

#: What every extraction gives beside the columns asked for.
NUMBER, POSITION, SUSPECT, ABSENT = "_number", "_position", "_suspect", "_absent"

_DAY = r"[12]\d\d\d-[01]\d-[0-3]\d"
_TIME = r"[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
_ZONE = r"(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)"
_UTC = rf"{_DAY}{_TIME}(?:\.\d{{1,6}})?{_ZONE}"
_LOCAL = rf"{_DAY}{_TIME}{_ZONE}?"
_INTEGER = r"-?\d{1,18}"
_NUMBER = r"-?\d{1,17}(?:\.\d{1,20})?"


def extraction(table: Table, columns: Sequence[Column], prefixes: Sequence[str]) -> str:
    """Derive the query that reads `columns` of `table` from the relation ``documents``.

    The relation has a column ``number`` and a column ``document``, valid JSON text. The result has a row
    for each row of the table; `_suspect` marks those of an element or document that the query cannot
    vouch for, `_absent` an element without any entry, in a table of entries.
    """
    shape = element_shape(table, columns, prefixes)
    stages = [
        *_documents(),
        ("elements", _elements(table.element)),
        ("transformed", _transformed(table.element, shape)),
        ("sound", _sound(table.element, shape)),
        ("entries", _entries(table, prefixes)),
    ]
    return f"WITH {', '.join(f'{name} AS ({sql})' for name, sql in stages)} {_rows(table, columns, prefixes)}"


def _documents() -> Iterator[tuple[str, str]]:
    """Take off the envelopes, and tell deliveries, pages and single events from what is none."""
    envelope = _types("document", [(key,) for key in (BODY, *STAMPS)])
    yield (
        "enveloped",
        f"""SELECT number, document, CASE WHEN {_is_list("document")} THEN NULL ELSE {envelope} END AS types,
            types[1] IS NOT NULL AND (types[2] IS NOT NULL OR types[3] IS NOT NULL) AS enveloped FROM documents""",
    )
    stamps = _literal(json.dumps(dict.fromkeys(STAMPS, "VARCHAR")))
    yield (
        "bodies",
        f"""SELECT number, CASE WHEN enveloped THEN json_extract(document, '$.{BODY}') ELSE document END AS body,
            CASE WHEN enveloped THEN json_transform(document, {stamps}) END AS stamps FROM enveloped""",
    )
    keys = [("_links", "self", "href"), *(("_embedded", name) for name in EMBEDDED)]
    keys += [(key,) for key in dict.fromkeys((*PAGE_KEYS, *EVENT_KEYS))]
    yield (
        "typed",
        f"""SELECT *, {_is_list("body")} AS delivery,
            CASE WHEN delivery THEN NULL ELSE {_types("body", keys)} END AS types FROM bodies""",
    )
    at = {key: f"types[{position}]" for position, key in enumerate(keys, 1)}
    lists = [at["_embedded", name] for name in EMBEDDED]
    href, embedded = at["_links", "self", "href"], at["_embedded",]
    address = f"regexp_matches(body->>'$._links.self.href', {_literal(EVENT_ADDRESS)})"
    self_event = f"CASE WHEN {href} = 'VARCHAR' THEN {address} END"
    is_event = _any([*(f"{at[key,]} IS NOT NULL" for key in EVENT_KEYS), self_event])
    is_other = _any(f"{at[key,]} IS NOT NULL" for key in PAGE_KEYS)
    yield (
        "told",
        f"""SELECT * EXCLUDE (types),
            NOT delivery AND coalesce({embedded} = 'OBJECT', false) AND {_any(f"{each} IS NOT NULL" for each in lists)}
                AS page,
            NOT delivery AND NOT page AND {is_event} AS event,
            NOT (delivery OR page OR event) AND NOT ({is_other} AND coalesce({embedded} IN ('OBJECT', 'NULL'), true))
                OR page AND {_any(f"{each} NOT IN ('ARRAY', 'NULL')" for each in lists)} AS strange FROM typed""",
    )


def _elements(kind: ElementKind) -> str:
    """Give each element with its position; a null one for a document that is strange."""
    name = next(name for name, of in EMBEDDED.items() if of == kind)
    listed = f"""from_json(json_extract(body, '$._embedded."{name}"'), '["JSON"]')"""
    if kind == "event":
        lists = f"WHEN page THEN {listed} WHEN event THEN [body::JSON]"
    else:
        wrapped = f"list_transform({listed}, lambda each: json_object('{SIGNATURE}', each))"
        lists = f"""WHEN delivery THEN from_json(body, '["JSON"]') WHEN page THEN {wrapped}"""
    return f"""SELECT number, stamps, unnest(list) AS element, unnest(range(len(list))) AS position
        FROM (SELECT number, stamps, CASE WHEN strange THEN [NULL::JSON] {lists} END AS list FROM told)"""


def _transformed(kind: ElementKind, shape: ElementShape) -> str:
    """Extract every leaf as text, and the type of all that must be an object or a list."""
    wanted = structure(shape.of) if shape.of.inside else {}
    if kind == "signature":
        beside = structure(shape.beside) if shape.beside.inside else {}
        wanted = {SIGNATURE: wanted or {"_": "VARCHAR"}, **beside}
    # DuckDB refuses an empty structure.
    text = _literal(json.dumps(wanted or {"_": "VARCHAR"}))
    paths = [path for path, _ in _plain_containers(kind, shape)]
    return f"""SELECT *, json_transform(element, {text}) AS x, {_types("element", paths)} AS types FROM elements"""


def _sound(kind: ElementKind, shape: ElementShape) -> str:
    """Tell the elements that are of the kind, and those in which an object or a list is none."""
    wrong = [
        f"types[{n}] NOT IN ('{form}', 'NULL')"
        for n, (_, form) in enumerate(_plain_containers(kind, shape), 1)
    ]
    wrong += ["element IS NULL", "types[1] = 'NULL'", *_wrong_in_lists(kind, shape)]
    if kind == "event":
        return f"SELECT *, {_any(wrong)} AS {SUSPECT}, x AS value FROM transformed"
    own = "types[2] IS NOT NULL"
    a_type = f"contains(key, ':') AND NOT ends_with(key, '{BESIDE}')"
    no_type = f"CASE WHEN NOT {own} THEN len(list_filter(json_keys(element), lambda key: {a_type})) = 0 END"
    return f"""SELECT *, {_any([*wrong, "types[2] = 'NULL'", no_type])} AS {SUSPECT}, x."{SIGNATURE}" AS value
        FROM transformed WHERE {own} OR {SUSPECT}"""


def _entries(table: Table, prefixes: Sequence[str]) -> str:
    """Give a row for each entry that is one, and an absent one for an element that has none."""
    if not table.rows:
        return f"SELECT *, value AS entry, false AS {ABSENT} FROM sound"
    listed, broken = _listed(table, prefixes)
    return f"""SELECT * EXCLUDE (list), unnest(list) AS entry, unnest(range(len(list))) AS entry_position FROM (
        SELECT * EXCLUDE ({SUSPECT}), {SUSPECT} OR coalesce({broken}, false) AS {SUSPECT},
            coalesce(len({listed}), 0) = 0 AS {ABSENT},
            CASE WHEN {ABSENT} THEN [NULL] ELSE {listed} END AS list FROM sound)"""


def _listed(table: Table, prefixes: Sequence[str]) -> tuple[str, str]:
    """Give the list of entries, and when it is not to be trusted."""
    paths = {
        role: [path.steps for text in texts for path in Path.parse(text).spelled(prefixes)]
        for role, texts in table.rows
    }
    head = next(iter(paths.values()))[0]
    inner = _at("value", head[:-1])
    if head[-1] == EACH:
        return inner, f"list_count({inner}) <> len({inner})"
    if head[-1] == PAIRS:
        # A map in which a key occurs twice is NULL.
        place = (SIGNATURE, *head[:-1]) if table.element == "signature" else head[:-1]
        typed = f"CASE WHEN {inner} IS NULL THEN {_types('element', [place])}[1] = 'OBJECT' END"
        return f"map_entries({inner})", typed
    roles = (
        f"{{'role': '{role}', 'entry': coalesce({', '.join(_at('value', steps) for steps in each)})}}"
        for role, each in paths.items()
    )
    return f"list_filter([{', '.join(roles)}], lambda each: each.entry IS NOT NULL)", "false"


_Named: TypeAlias = "dict[tuple[str, Path], str]"  # by the name of a column and one of its paths


def _rows(table: Table, columns: Sequence[Column], prefixes: Sequence[str]) -> str:
    """Cast the texts of each column, and mark the rows in which one is not plain."""
    needed = [column for column in table.needed(columns) if column.origin != "source"]
    texts = {
        (column.name, path): _at(_root(table, column, path), path.steps)
        for column in needed
        for path in column.paths(prefixes)
    }
    chosen = _chosen(texts.values())
    text = {key: f"text{number}" for number, key in enumerate(texts)}
    plain = {key: f"plain{number}" for number, key in enumerate(texts)}
    wrong = [SUSPECT, *(f"list_count({entries}) <> len({entries})" for entries in chosen)]
    casts, values = [], []
    for column in needed:
        keys = [key for key in texts if key[0] == column.name]
        casts += [f"{_cast(column.type, text[key])} AS {plain[key]}" for key in keys]
        wrong += [_wrong(column.type, key[1], text[key], plain[key]) for key in keys]
        values.append(f"{_value(table, column, text, plain, prefixes)} AS {_quoted(column.name)}")
    picked = [f"{_PICK.format(entries)} AS {name}" for entries, name in chosen.items()]
    extracted = [f"{_choose(each, chosen)} AS {text[key]}" for key, each in texts.items()]
    # One SELECT in the other, so that nothing is computed twice.
    nested = "entries"
    for added in (picked, extracted, casts):
        nested = f"(SELECT {', '.join(['*', *added])} FROM {nested})"
    rows = f"SELECT number AS {NUMBER}, position AS {POSITION}, {_any(wrong)} AS {SUSPECT}, {ABSENT}"
    return f"{rows}{''.join(f', {value}' for value in values)} FROM {nested}"


def _root(table: Table, column: Column, path: Path) -> str:
    """Give what the paths of a column start from."""
    if column.origin == "envelope":
        return "stamps"
    if path.beside:
        return "x"
    if column not in table.entry:
        return "value"
    last = table.row_paths[0].steps[-1]
    if last == EACH:
        return "entry"
    return "entry.value" if last == PAIRS else "entry.entry"


def _value(table: Table, column: Column, text: _Named, plain: _Named, prefixes: Sequence[str]) -> str:
    found = [(path, value) for (name, path), value in plain.items() if name == column.name]
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
            return _DERIVED[column.name](column, table, text)
        case _:
            values = [_function(path, value, prefixes) for path, value in found]
            return f"coalesce({', '.join(values)})"


def _targeting_label(column: Column, _table: Table, _alias: _Named) -> str:
    accepted, origin, title = map(_quoted, column.derived)
    return f"CASE WHEN {accepted} >= 1 THEN '[1, (' || {origin} || ') Event], (' || {title} || ')' END"


def _api_version(column: Column, table: Table, alias: _Named) -> str:
    def any_of(version: str, other: str) -> str:
        keys = [
            Path.parse(text)
            for name in column.derived
            for text in set(getattr(table.column(name), version)) - set(getattr(table.column(name), other))
        ]
        return _any(f"{text} IS NOT NULL" for (_, path), text in alias.items() if path in keys)

    return f"CASE WHEN {any_of('v1', 'v2')} AND NOT {any_of('v2', 'v1')} THEN 'v1' ELSE 'v2' END"


_DERIVED = {"api_version": _api_version, "targeting_label": _targeting_label}


def _cast(kind: Type, text: str) -> str:
    """Give the value of plain text; NULL where it is not plain."""
    match kind:
        case "bool":
            return f"CASE {text} WHEN 'true' THEN true WHEN 'false' THEN false END"
        case "int64":
            return f"CASE WHEN {_full(text, _INTEGER)} THEN TRY_CAST({text} AS BIGINT) END"
        case "float64":
            return f"CASE WHEN {_full(text, _NUMBER)} THEN TRY_CAST({text} AS DOUBLE) END"
        case "utc":
            return f"CASE WHEN {_full(text, _UTC)} THEN TRY_CAST({text} AS TIMESTAMPTZ) END"
        case "local":
            return f"CASE WHEN {_full(text, _LOCAL)} THEN TRY_CAST(left({text}, 19) AS TIMESTAMP) END"
        case _:
            return text


def _wrong(kind: Type, path: Path, text: str, plain: str) -> str:
    """Tell a text that is not plain: it may be no text at all, or not of the type."""
    opening = "starts_with({0}, '{{') OR starts_with({0}, '[')"
    if kind == "list<string>" or path.function == "own":
        return f"len(list_filter({text}, lambda each: each IS NULL OR {opening.format('each')})) > 0"
    if kind == "json":
        return f"NOT starts_with({text}, '{{')"
    if path.function == "id":
        last = _last_segment(text)
        odd = f"contains({text}, '?') OR contains({text}, '#') OR {last} = '' OR ends_with({text}, '//' || {last})"
        return f"{opening.format(text)} OR {odd}"
    if kind == "string":
        return opening.format(text)
    return f"{text} IS NOT NULL AND {plain} IS NULL"


_AFTER_COLON = "substr({0}, strpos({0}, ':') + 1)"


def _last_segment(address: str) -> str:
    return f"parse_filename({address}, false, 'forward_slash')"


def _function(path: Path, value: str, prefixes: Sequence[str]) -> str:
    match path.function:
        case "id":
            return _last_segment(value)
        case "own":
            own = " OR ".join(f"starts_with(each, {_literal(prefix + ':')})" for prefix in prefixes)
            first = f"list_filter({value}, lambda each: {own})[1]"
            return f"nullif({_AFTER_COLON.format(first)}, '')"
        case "system":
            return f"CASE WHEN contains({value}, ':') THEN split_part({value}, ':', 1) END"
        case "identifier":
            return f"CASE WHEN contains({value}, ':') THEN {_AFTER_COLON.format(value)} ELSE {value} END"
        case _:
            return value


def structure(shape: Shape) -> Any:
    """Give what `json_transform` is to look for below a shape: every leaf as text."""
    if PAIRS in shape.inside:
        return "MAP(VARCHAR, VARCHAR)"
    keys = {step: structure(below) for step, below in shape.inside.items() if isinstance(step, str)}
    if keys:
        return keys
    if shape.inside:
        return [structure(next(iter(shape.inside.values())))]
    if "json" in shape.types:
        return "JSON"
    return ["VARCHAR"] if "list<string>" in shape.types else "VARCHAR"


_Container: TypeAlias = "tuple[tuple[Step, ...], str, Shape]"


def _containers(shape: Shape, steps: tuple[Step, ...] = ()) -> Iterator[_Container]:
    """Give the path, the form and the shape of everything below that must be an object or a list."""
    for step, below in shape.inside.items():
        if below.form:
            yield (*steps, step), "OBJECT" if below.form == "object" else "ARRAY", below
        yield from _containers(below, (*steps, step))


def _all_containers(kind: ElementKind, shape: ElementShape) -> list[_Container]:
    if kind == "event":
        return [((), "OBJECT", shape.of), *_containers(shape.of)]
    inside = [((SIGNATURE, *steps), form, below) for steps, form, below in _containers(shape.of)]
    whole: list[_Container] = [((), "OBJECT", shape.beside), ((SIGNATURE,), "OBJECT", shape.of)]
    return [*whole, *inside, *_containers(shape.beside)]


def _plain_containers(kind: ElementKind, shape: ElementShape) -> list[tuple[tuple[Step, ...], str]]:
    return [(steps, form) for steps, form, _ in _all_containers(kind, shape) if _is_plain(steps)]


def _is_plain(steps: Sequence[Step]) -> bool:
    return all(isinstance(step, str) for step in steps)


def _wrong_in_lists(kind: ElementKind, shape: ElementShape) -> Iterator[str]:
    """Tell lists in whose entries an object or a list is none; looked at only where one is bare."""
    checks: dict[str, list[tuple[str, str]]] = {}
    for steps, form, below in _all_containers(kind, shape):
        if _is_plain(steps):
            continue
        start = next(number for number, step in enumerate(steps) if not isinstance(step, str))
        bare = _bare(_at("each", steps[start + 1 :]), below, form)
        types = f"json_type(element, {_literal(_json_path(steps))})"
        wrong = f"len(list_filter({types}, lambda type: type NOT IN ('{form}', 'NULL'))) > 0"
        checks.setdefault(_at("x", steps[:start]), []).append((bare, wrong))
    for entries, found in checks.items():
        bare = " OR ".join(f"({bare})" for bare, _ in found)
        wrong = " OR ".join(wrong for _, wrong in found)
        # CASE, since AND looks at both sides for every row.
        yield f"CASE WHEN len(list_filter({entries}, lambda each: {bare})) > 0 THEN {wrong} END"


def _bare(value: str, shape: Shape, form: str) -> str:
    """Tell what may be a misplaced list, which comes through as NULL, or object, which does as one of NULLs."""
    keys = [step for step in shape.inside if isinstance(step, str)]
    if form == "ARRAY":
        return f"{value} IS NULL"
    if not keys:  # none of its keys is asked for, so its text came through
        return f"NOT coalesce(starts_with({value}, '{{'), false)"
    return " AND ".join([f"{value} IS NOT NULL", *(f"{value}.{_quoted(key)} IS NULL" for key in keys)])


# The entry that is primary, else the first; computed once for all the columns that are read from it.
_PICK = "coalesce(list_filter({0}, lambda each: each.\"primary\" = 'true')[1], {0}[1])"
_FROM_LIST = "[primary]"


def _at(root: str, steps: Iterable[Step]) -> str:
    """Give the expression of what stands at a path; the choice of an entry is left open."""
    for step in steps:
        if isinstance(step, str):
            root = f"{root}.{_quoted(step)}"
        else:
            root += {FIRST: "[1]", PRIMARY: _FROM_LIST}.get(step, "")
    return root


def _chosen(texts: Iterable[str]) -> dict[str, str]:
    """Give the lists of which an entry is chosen, and a name for it."""
    lists = dict.fromkeys(text.split(_FROM_LIST)[0] for text in texts if _FROM_LIST in text)
    return {entries: f"chosen{number}" for number, entries in enumerate(lists)}


def _choose(text: str, chosen: dict[str, str]) -> str:
    entries, marked, inner = text.partition(_FROM_LIST)
    return f"{chosen[entries]}{inner}" if marked else text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _full(text: str, pattern: str) -> str:
    return f"regexp_full_match({text}, '{pattern}')"


def _is_list(document: str) -> str:
    return f"regexp_matches({document}, '^\\s*\\[')"


def _any(conditions: Iterable[str]) -> str:
    joined = " OR ".join(f"({each})" for each in conditions)
    return f"coalesce({joined}, false)" if joined else "false"


def _json_path(steps: Sequence[Step]) -> str:
    return "$" + "".join(f".{json.dumps(step)}" if isinstance(step, str) else "[*]" for step in steps)


def _types(value: str, paths: Sequence[Sequence[Step]]) -> str:
    return f"json_type({value}, [{', '.join(_literal(_json_path(path)) for path in paths)}])"
