"""What a declaration is made of: paths, columns, tables.

A path says where a value stands, relative to its element (an event, or a signature):

=================================  ====================================================================
``location.locality``              keys, one inside the other
``<p>:sponsor.title``              ``<p>`` is the service's own prefix: each that is known is tried
``location.address_lines[0]``      the first entry of a list
``email_addresses[primary].x``     the object whose ``primary`` is true, else the first object; of those that hold a
                                   value, if any does (see `people.HELD_PATHS`)
``../idempotency_key``             a sibling of the element in its delivery (interface 2.7)
``id(_links.self.href)``           the last path segment of an address
``person(_links.x.href)``           that of an address in the collection of people
``upper(currency)``                the text in upper case
``held(id)``                       a text that is not blank
``fields(custom_fields)``          an object with a value that is not blank
``own(identifiers)``               the first identifier of the service itself, without its prefix
``system(.)``, ``identifier(.)``   what stands before and after the first colon; ``.`` is the entry itself
=================================  ====================================================================

A value is taken from the first path at which one fits: those of v2, then those of v1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Literal

from osdi_frames.errors import UnknownColumn
from osdi_frames.messages import nearest, quoted

if TYPE_CHECKING:
    import pyarrow as pa

Type = Literal[
    "string", "bool", "int64", "float64", "decimal", "decimal(38)", "utc", "local", "list<string>", "json"
]
Origin = Literal[
    "paths", "derived", "resolved", "element position", "entry position", "role", "key", "envelope", "source"
]
Step = str | int  # a key of an object; or one of FIRST, PRIMARY, EACH, PAIRS

PrivacyLevel = Literal["plain", "sensitive", "identifying"]


@dataclass(frozen=True, slots=True)
class Privacy:
    """What a column reveals of a person.

    `becomes` is what stands in its place in pseudonymised output.
    ``identifying`` names, reaches or leads to one person; ``sensitive`` says something of a person, or is free
    text or a place that can; everything else is ``plain``. A pseudonym is made of what `domain` names: columns of
    one domain have equal pseudonyms for equal values, so they can be joined.
    """

    level: PrivacyLevel
    becomes: Literal["kept", "dropped", "coarsened", "pseudonym"]
    domain: str = ""

    def __str__(self) -> str:
        return f"{self.becomes} ({self.domain})" if self.domain else self.becomes


PLAIN = Privacy("plain", "kept")
SENSITIVE = Privacy("sensitive", "kept")
#: Text that an organizer or a computer wrote, in which a person may be named.
FREE_TEXT = Privacy("sensitive", "dropped")
IDENTIFYING = Privacy("identifying", "dropped")


def pseudonym(domain: str) -> Privacy:
    """Declare an identifying column that joins tables."""
    return Privacy("identifying", "pseudonym", domain)


@cache
def arrow_type(kind: Type) -> pa.DataType:
    """Return the Arrow type of a declared type."""
    import pyarrow as pa  # here only: who reads the declarations alone does not load it

    types: dict[Type, pa.DataType] = {
        "string": pa.string(),
        "bool": pa.bool_(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        # An amount of money: 15 digits, which a number of JSON can have exactly, too.
        "decimal": pa.decimal128(15, 2),
        "decimal(38)": pa.decimal128(38, 2),  # a sum of amounts
        "utc": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),  # the wall clock at the place of the event
        "list<string>": pa.list_(pa.string()),
        "json": pa.string(),
    }
    return types[kind]


#: The version of the tables, written into every exported file; a change of a column raises it.
SCHEMA_VERSION = "4"

#: The service's own prefixes that are always recognised (interface 2.1, ``<p>:``).
PREFIXES = ("platform", "action_network")

#: The labels of what has no value, and of what has no date, in reports and their plots.
NONE = "(none)"
NO_DATE = "(no date)"

FIRST, PRIMARY, EACH, PAIRS = 0, -1, -2, -3
_INDEX = {"[0]": FIRST, "[primary]": PRIMARY, "[]": EACH, "{}": PAIRS}
_PATH = re.compile(r"(?:(?P<function>\w+)\()?(?P<sibling>\.\./)?(?P<steps>[^()]+)\)?")
_STEP = re.compile(r"\[\w*\]|\{\}|[^.\[\]{}]+")


@dataclass(frozen=True, slots=True)
class Path:
    """Where a value stands in an element, in the notation of this module.

    >>> Path.parse("id(_links.osdi:creator.href)")
    Path(steps=('_links', 'osdi:creator', 'href'), function='id', sibling=False)
    """

    steps: tuple[Step, ...]
    function: str | None = None
    sibling: bool = False

    def __str__(self) -> str:
        return f"{'../' if self.sibling else ''}{'.'.join(map(str, self.steps))}"

    @property
    def key(self) -> Path:
        """The key at which its block stands, or the one below it; of a delivery's own keys, the delivery.

        >>> print(Path.parse("person.email_addresses[primary].address").key, Path.parse("../idempotency_key").key)
        person.email_addresses ../
        """
        keys = tuple(takewhile(lambda step: isinstance(step, str), self.steps))[:2]
        return Path(() if self.sibling and len(keys) == 1 else keys, None, self.sibling)

    @classmethod
    def parse(cls, text: str) -> Path:
        """Read the notation."""
        match = _PATH.fullmatch(text)
        if match is None:
            raise ValueError(f"not a path: {quoted(text)}")
        steps = tuple(_INDEX.get(step, step) for step in _STEP.findall(match["steps"]))
        return cls(steps, match["function"], match["sibling"] is not None)


def spelled(texts: Iterable[str], prefixes: Sequence[str]) -> tuple[str, ...]:
    """Return texts with every prefix in place of ``<p>``, each once."""
    return tuple(dict.fromkeys(text.replace("<p>", prefix) for text in texts for prefix in prefixes))


@lru_cache(maxsize=4096)  # each reading asks for those of all its columns, several times
def _paths(texts: tuple[str, ...], prefixes: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(map(Path.parse, spelled(texts, prefixes)))


@lru_cache(maxsize=1024)  # each document is asked for them
def _collections(keys: tuple[str, ...], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    return (*spelled(keys, prefixes), *(key.partition(":")[2] for key in keys))


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, type, paths in v2 and in v1, and meaning.

    A column without paths is derived from other columns, resolved from those of all versions, or known from where
    its row was read: `origin` says which. A meaning has at most 50 characters, so that pandas shows it whole.
    """

    name: str
    type: Type
    v2: tuple[str, ...]
    v1: tuple[str, ...]
    meaning: str
    origin: Origin = "paths"
    derived: tuple[str, ...] = ()  # the columns that it is made from
    privacy: Privacy = PLAIN
    absent: tuple[str, ...] = ()  # texts of the service for no value, which the meaning names
    block: str = "act"  # the columns with which it comes from one version

    def __hash__(self) -> int:
        return hash(self.name)  # all of it takes long

    def paths(self, prefixes: Sequence[str]) -> tuple[Path, ...]:
        """Return the column's paths, in order of trial."""
        return _paths((*self.v2, *self.v1), tuple(prefixes))

    @property
    def field(self) -> pa.Field:
        """The column as an Arrow field, with its meaning and its privacy class as metadata."""
        import pyarrow as pa

        metadata = {"meaning": self.meaning, "privacy": self.privacy.level}
        return pa.field(self.name, arrow_type(self.type), metadata=metadata)


#: Columns of which the first group without a missing one identifies an element.
Identities = tuple[tuple[str, ...], ...]


def identifying(identities: Identities) -> tuple[str, ...]:
    """Return the columns that identify an element; where a person is a part of that, the e-mail address can be, too.

    >>> identifying((("attendance_id",), ("person_id", "event_id")))
    ('attendance_id', 'person_id', 'event_id', 'email')
    """
    names = dict.fromkeys(name for columns in identities for name in columns)
    return (*names, *(["email"] if "person_id" in names else []))


@dataclass(frozen=True, slots=True)
class ExclusionRule:
    """Elements that reports leave out.

    `values` has columns, each with the values of such elements, or with `unless` those of all others; None is a
    missing one. Texts are compared without case, blanks, hyphens and underscores.
    """

    reason: str
    values: Mapping[str, tuple[str | bool | None, ...]]
    unless: bool = False

    def texts(self, column: str) -> tuple[str, ...]:
        """Return the texts among the values of a column."""
        return tuple(value for value in self.values.get(column, ()) if isinstance(value, str))


@dataclass(frozen=True, slots=True)
class ElementType:
    """One type of element: where documents hold it, what identifies it, and which keys are not read."""

    name: str
    collection: str  # its key under ``_embedded`` of a page (interface 2.6), with ``<p>`` as in paths
    identities: Identities  # what one row per element means, in columns of its main table
    type_key: str | None = None  # its key in an element of a webhook delivery (interface 6)
    spellings: tuple[str, ...] = ()  # other keys of it there, with ``<p>`` as in paths
    messages: Identities = ()  # what one row per webhook message means, where deliveries carry it
    parent: ElementType | None = None  # the type in whose lists it is, if it has none of its own
    month: str | None = None  # the column of which ``partition_by="month"`` takes the month
    keys: tuple[str, ...] = ()  # an object with one of these, which no other resource has, is a single one
    evidence: tuple[
        str, ...
    ] = ()  # paths with the same meaning, of what names neither its type nor its address
    address: str | None = None  # a pattern for the address in the self link of a single resource
    ignored: tuple[str, ...] = ()  # keys of the service that no column reads; ``<p>`` is any prefix
    alternatives: tuple[str, ...] = ()  # other keys of its collection
    exclusions: tuple[ExclusionRule, ...] = ()  # why reports leave one out; the first that holds is given
    statuses: tuple[
        str, ...
    ] = ()  # the known values of `status` that leave none out; empty where none is known

    def __hash__(self) -> int:
        return hash(self.name)  # all of it takes long

    @property
    def known_statuses(self) -> tuple[str, ...]:
        """The values of `status` that are known, also those that reports leave out, and blank."""
        return ("", *self.statuses, *chain.from_iterable(rule.texts("status") for rule in self.exclusions))

    def collections(self, prefixes: Sequence[str]) -> tuple[str, ...]:
        """Return each spelling of its collection's key, with each prefix and without one.

        >>> ElementType("campaign", "<p>:campaigns", ()).collections(PREFIXES)
        ('platform:campaigns', 'action_network:campaigns', 'campaigns')
        """
        return _collections((self.collection, *self.alternatives), tuple(prefixes))

    @property
    def own_id(self) -> str:
        """The column of its id, also in the tables of what refers to it."""
        return self.identities[0][0]

    @property
    def plural(self) -> str:
        """The name of its collection, and of its main table.

        >>> ElementType("outreach", "osdi:outreaches", ()).plural
        'outreaches'
        """
        return self.collection.partition(":")[2]

    def type_keys(self, prefixes: Sequence[str]) -> tuple[str, ...]:
        """Return its keys in an element of a delivery, of which queries read the first."""
        return (*([self.type_key] if self.type_key else []), *spelled(self.spellings, prefixes))

    def ignores(self, key: str) -> bool:
        """Return whether a key is known, not read."""
        known = (re.escape(pattern).replace("<p>", r"[\w-]+") for pattern in self.ignored)
        return any(re.fullmatch(pattern, key) for pattern in known)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of an element type, with a row for each element, or for each entry that `rows` names.

    `rows` maps a role to the paths of its entries. ``{"": ("reminders[]",)}`` is a row for each
    reminder; a path that ends in ``{}`` is a row for each pair of an object.

    A table that no document holds is computed, when all rows of the tables that it is made of are known.
    """

    name: str
    element: ElementType
    meaning: str
    keys: tuple[Column, ...]  # of the element itself; in a table of one row an element, all of them
    entry: tuple[Column, ...] = ()  # of each entry, their paths relative to it
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    block: str = "act"  # the block of the element that the entries belong to
    # Of a computed table: the columns of other tables that all of its own are made of.
    made_of: Mapping[Table, tuple[str, ...]] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)  # all of it takes long

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, in their order."""
        return self.keys + self.entry

    def column(self, name: str) -> Column:
        """Return one column by its name."""
        return next(column for column in self.columns if column.name == name)

    def heads(self, prefixes: Sequence[str]) -> list[tuple[Step, ...]]:
        """Return the paths of entries that are rows."""
        return [Path.parse(text).steps for _, texts in self.rows for text in spelled(texts, prefixes)]

    @property
    def of_objects(self) -> bool:
        """Whether each entry is an object, and not a text."""
        return any(path.steps for column in self.entry for path in column.paths(PREFIXES))

    def keys_of(self, names: Collection[str], prefixes: Sequence[str]) -> tuple[Path, ...]:
        """Return the keys at which columns stand, relative to the element or to the entry."""
        columns = (column for column in self.columns if column.name in names)
        paths = chain.from_iterable(column.paths(prefixes) for column in columns)
        return tuple(dict.fromkeys(path.key for path in paths))

    def select(self, names: Iterable[str] | None) -> tuple[Column, ...]:
        """Return the named columns in the order asked, or all.

        Raises
        ------
        UnknownColumn
            For a name that the table does not declare; the message lists the nearest.
        """
        if names is None:
            return self.columns
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise TypeError(f"columns is a list of names: columns=[{quoted(names)}]")
        declared, asked = {column.name: column for column in self.columns}, dict.fromkeys(names)
        for name in asked:
            if name not in declared:
                raise UnknownColumn(f"{self.name} has no column {quoted(name)}; {nearest(name, declared)}")
        return tuple(declared[name] for name in asked)

    def needed(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Return columns after those they are derived from.

        An entry that is a text is a row only if it is one: its column is among them.
        """
        texts = () if self.of_objects else (column for column in self.entry if column.v2)
        needed = ((*map(self.column, column.derived), column) for column in (*columns, *texts))
        return tuple(dict.fromkeys(chain.from_iterable(needed)))

    def schema(self, columns: Sequence[Column] | None = None) -> pa.Schema:
        """Return the Arrow schema, with meanings and the version of the schema as metadata."""
        import pyarrow as pa

        fields = [column.field for column in (self.columns if columns is None else columns)]
        metadata = {"osdi-frames.table": self.name, "osdi-frames.schema_version": SCHEMA_VERSION}
        return pa.schema(fields, metadata=metadata)
