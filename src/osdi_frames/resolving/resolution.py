"""A compiled request: what to parse, and by which rules versions become one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Final, Literal, TypeAlias

import pyarrow as pa

from osdi_frames.errors import InvalidArgument, SourceWarning
from osdi_frames.messages import quoted
from osdi_frames.parsing.plan import Blocks, Plan
from osdi_frames.problems import warn_caller
from osdi_frames.pulls import Manifest
from osdi_frames.resolving import gone, people
from osdi_frames.resolving.filters import Filtering, Filters
from osdi_frames.resolving.gone import Accounts
from osdi_frames.resolving.people import ACTS, BLOCKS, READ_FROM, SOURCES, PersonSource
from osdi_frames.resolving.versions import ENVELOPE, Rules
from osdi_frames.tables import TABLES, known_prefixes, main_table
from osdi_frames.tables import table as declared
from osdi_frames.tables.act import DATES, LINKS
from osdi_frames.tables.actions import ACTIONS, made_of
from osdi_frames.tables.attendances import ATTENDANCES
from osdi_frames.tables.events import EVENT, EVENTS
from osdi_frames.tables.people import HOLDING, PEOPLE
from osdi_frames.tables.schema import Column, ElementType, Identities, Path, Table

Dedupe: TypeAlias = bool | Literal["message"]
Columns: TypeAlias = Iterable[str] | None
Tables: TypeAlias = Iterable[str] | Mapping[str, Columns] | None
#: A table's name with some of its rows.
Rows: TypeAlias = Iterator[tuple[str, pa.Table]]

#: The rows of every version of the events.
SNAPSHOTS: Final = "event_snapshots"


#: What precedes the name of a table in the name of its rows that are read whatever the filters.
WHOLE: Final = "whole "


def named_tables(
    tables: Tables, dedupe: Dedupe = True, filters: Filters | None = None
) -> Mapping[str, Columns]:
    """Return the columns by table; None stands for all that can be read so.

    Those that filters do not lead to are left out with a warning.
    """
    if isinstance(tables, str):
        raise TypeError(f"tables is a list of names: tables=[{quoted(tables)}]")
    if tables is not None:
        return tables if isinstance(tables, Mapping) else dict.fromkeys(tables)
    filtering = Filtering(filters or {})
    every = [table for table in TABLES.values() if dedupe is True or not _is_of_acts(table, filtering)]
    if said := filtering.left_out():
        warn_caller(said, SourceWarning)
    return dict.fromkeys(table.name for table in every if filtering.leads_to(table.element))


def _is_of_acts(table: Table, filtering: Filtering) -> bool:
    """Return whether rows are made of resolved acts, or kept by them."""
    return bool(table.made_of) or filtering.waits(table.element)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of an archive."""

    tables: Mapping[str, Columns] = field(kw_only=False)
    snapshots: tuple[str, ...] = ()
    """The columns of events to return of every version, as the rows of `SNAPSHOTS`."""
    whole: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of tables to return whatever the filters, for titles, as rows named `WHOLE` and the table."""
    prefix: str | None = None
    dedupe: Dedupe = True
    people: bool = True
    """Whether acts take from people what they lack."""
    pulls: tuple[Manifest, ...] = ()
    """The pulls of the archive: what they lack can be gone."""
    filters: Filters = field(default_factory=Filters)
    timezone: str | None = None
    """The zone of the days that filters name."""
    inspects: bool = False
    lists: bool = False
    """Whether what pages say of their collections is listed."""


class Resolution:
    """What a request means for parsing and for resolving."""

    def __init__(self, request: Request) -> None:
        """Compile a request.

        Raises
        ------
        UnknownTable, UnknownColumn
            With the names that are nearest.
        InvalidArgument
            For a `dedupe` that an element type does not have, and what `Filtering` raises.
        """
        self.request = request
        self.filtering = filtering = Filtering(request.filters, request.timezone)
        asked = {declared(name): declared(name).select(columns) for name, columns in request.tables.items()}
        for table in asked:
            filtering.refuse(table)
            if request.dedupe is not True and _is_of_acts(table, filtering):
                why = "made of" if table.made_of else "filtered by"
                raise InvalidArgument(f"{table.name} are {why} resolved acts: they are read with dedupe=True")
        self.schemas = {table.name: table.schema(columns) for table, columns in asked.items()}
        """What is returned of each table asked for."""
        self.computed = tuple(table for table in asked if table.made_of and table != ACTIONS)
        """The tables asked for that are computed of rows which are returned; actions are made of all things."""
        asked = _with_parts(asked, self.computed)
        self.read = {table.name: table.schema(columns) for table, columns in asked.items()}
        """What is read of each table: what is asked for, with what computed tables are made of in their place."""
        self.actions = asked.pop(ACTIONS, ())
        """The columns of actions that are asked for."""
        self.waiting = {table.element for table in asked if filtering.waits(table.element)}
        """The types whose elements are kept by who acted: their rows come after those of actions."""
        self.acts = [column.name for column in self.actions] or (
            ["person_id", "date"] if self.waiting else []
        )
        """The columns of actions that are asked for, or decide what is kept."""
        self.made_of = made_of(self.acts) if self.acts else {}
        """The columns of tables that actions are made of, where any are needed."""
        self.asked = asked
        """The columns of the tables that documents hold, those included that actions are made of, and filters need."""
        shown = (*asked, *(self.made_of if self.actions else ()))
        self.types = tuple(dict.fromkeys(table.element for table in shown))
        """The types that are asked for, and those that actions are made of."""
        self.merges = request.dedupe is True
        """Whether the blocks of a thing come from different versions."""
        self.identities = {table.element: _identities(table.element, request.dedupe) for table in asked}
        self._add_what_others_need()
        self.kept: Counter[str] = Counter()
        """How many different elements there are of each type, those that filters leave out included."""
        self.known_by_address = 0
        """How many people have no id: their e-mail address is all that tells them from others."""
        self.named: Mapping[str, Sequence[str]] = {}
        """The ids of the things that filters ask for, by filter."""
        self.unplaced: Counter[str] = Counter()
        """How many acts of each type refer to nothing that is known, so that filters leave them out."""

    def _add_what_others_need(self) -> None:
        """Add columns that the rows of other tables are made of or decided by, and the types of these."""
        for table, names in self._needed_by_others():
            self.asked[table] = tuple(dict.fromkeys((*self.asked.get(table, ()), *table.select(names))))
            is_merged = self.merges or table.element in self.filtering.things_asked.values()  # for its title
            self.identities.setdefault(table.element, table.element.identities if is_merged else ())
        if self.has_reasons:
            self.identities.setdefault(EVENT, EVENT.identities)
        for table in ACTS if self.person_columns else ():
            self.identities.setdefault(table.element, table.element.identities)

    def _needed_by_others(self) -> Iterator[tuple[Table, tuple[str, ...]]]:
        """Yield the columns of tables that actions, titles and filters need."""
        yield from self.made_of.items()
        yield from ((declared(name), columns) for name, columns in self.request.whole.items())
        if self.asked:
            yield from self.filtering.needs(dict.fromkeys(table.element for table in self.asked)).items()

    @cached_property
    def linking(self) -> set[ElementType]:
        """The types whose kept elements decide about those of others."""
        columns = {column for element in self.identities for column in self.filtering.by_reference(element)}
        return {element for element in self.identities if element.own_id in columns}

    def refuse_followers(self) -> None:
        """Raise InvalidArgument for a requested table whose rows filters keep by others."""
        for name in self.schemas:
            if self.filtering.follows(declared(name).element):
                raise InvalidArgument(
                    f"{self.filtering.name} keeps {name} by rows that other partitions can have: "
                    "archive.dask reads all of them together"
                )

    def streams(self, element: ElementType) -> bool:
        """Return whether rows of a type need no others; what filters ask for can be a title, which is read later."""
        is_single = element in self.identities and not self.identities[element]
        return is_single and not self.filtering.columns_asked

    @property
    def has_reasons(self) -> bool:
        """Whether attendances are excluded for the reasons of their events."""
        return self.merges and any(column.name == "excluded" for column in self.asked.get(ATTENDANCES, ()))

    @cached_property
    def fills(self) -> tuple[Table, ...]:
        """The tables of acts that take something from people."""
        if not self.merges or not self.request.people:
            return ()
        return tuple(table for table in ACTS if people.wanted_by_acts(self.names(table)))

    @property
    def identifies(self) -> bool:
        """Whether acts show who acted: who has no id can be known by the address, as of any other version."""
        return self.merges and any("person_id" in self.names(table) for table in ACTS)

    @cached_property
    def person_columns(self) -> tuple[str, ...]:
        """The columns of people to collect from all tables that hold persons; none where none are needed."""
        wanted = dict.fromkeys(self.names(PEOPLE)) if self.merges else {}
        wanted |= {"person_id": None} if self.identifies else {}
        wanted |= dict.fromkeys(gone.COLUMNS) if self.proves(PEOPLE.element) else {}
        for table in self.fills:
            wanted |= people.wanted_by_acts(self.names(table))
        ordering = ("person_id", "email", "created_date", "modified_date", *ENVELOPE)
        return tuple(dict.fromkeys((*people.with_whole_blocks(wanted), *ordering))) if wanted else ()

    def resolved_columns(self, table: Table) -> dict[str, None]:
        """Return the columns of a table that are made of resolved rows, each after those it needs."""
        asked = {column.name for column in self.asked.get(table, ()) if column.origin == "resolved"}
        asked |= {"excluded"} if table == EVENTS and self.has_reasons else set()
        asked |= {"gone_since"} if "excluded" in asked else set()
        return dict.fromkeys(column.name for column in table.columns if column.name in asked)

    @property
    def asks_what_is_gone(self) -> bool:
        """Whether a column is about what pulls prove to be gone."""
        return self.merges and any(
            "gone_since" in self.resolved_columns(table) for table in (*self.asked, EVENTS)
        )

    def proves(self, element: ElementType) -> bool:
        """Return whether pulls can prove elements of a type gone, and that is asked."""
        return element in self._proved

    @cached_property
    def _proved(self) -> frozenset[ElementType]:
        """The types that `proves` is about."""
        if not (self.request.pulls and self.merges):
            return frozenset()
        asked = {
            table.element for table in (*self.asked, EVENTS) if "gone_since" in self.resolved_columns(table)
        }
        return frozenset(filter(self.accounts.proving, asked))

    @cached_property
    def accounts(self) -> Accounts:
        """The accounts of the pulls, and what they prove."""
        return Accounts(self.request.pulls)

    def with_evidence(self, element: ElementType, rows: pa.Table, *, are_listed: bool = True) -> pa.Table:
        """Return versions with what pulls can prove by them; see `gone.with_evidence`."""
        if not self.proves(element):
            return rows
        return gone.with_evidence(rows, self.accounts, are_listed=are_listed)

    @cached_property
    def sources(self) -> tuple[PersonSource, ...]:
        """The tables that hold persons, where these are needed."""
        return SOURCES if self.person_columns else ()

    def persons_in(self, source: PersonSource, rows: pa.Table, main: pa.Table) -> pa.Table:
        """Return the versions of people in rows of a table that is no act's; see `PersonSource.versions`."""
        found = source.versions(rows, main, self.person_columns)
        return self.with_evidence(PEOPLE.element, found, are_listed=source.table == PEOPLE)

    @property
    def acting(self) -> tuple[Table, ...]:
        """The asked tables of acts that show who acted, or are filled."""
        return tuple(
            table
            for table in ACTS
            if table in self.fills or (self.merges and "person_id" in self.names(table))
        )

    def resolves(self, element: ElementType) -> bool:
        """Return whether resolved rows of a type are needed."""
        is_asked = any(table.element == element for table in self.asked)
        return is_asked or (element == EVENT and self.has_reasons)

    def keeps(self, element: ElementType) -> bool:
        """Return whether rows of versions of a type are needed, and not only notes of them."""
        return self.resolves(element) or (bool(self.person_columns) and main_table(element) in ACTS)

    def names(self, table: Table) -> list[str]:
        """Return the columns that are asked of a table."""
        return [column.name for column in self.asked.get(table, ())]

    @cached_property
    def needed(self) -> dict[Table, tuple[str, ...]]:
        """The columns of each table to parse: those asked for, and those that identify, order and filter."""
        needed: defaultdict[Table, dict[str, None]] = defaultdict(dict)
        for table, names in self._needs():
            needed[table] |= dict.fromkeys(names)
        return {table: _parsed(table, names) for table, names in needed.items()}

    def _needs(self) -> Iterator[tuple[Table, Iterable[str]]]:
        """Yield columns of tables, by what they are needed for."""
        for table in self.asked:
            yield table, self.names(table)
            if self.merges and (main := main_table(table.element)) in ACTS:
                whole = people.with_whole_blocks(
                    self.names(table) if table == main else people.columns_of(table.block)
                )
                yield main, whole
        for element, identities in self.identities.items():
            main = main_table(element)
            yield main, () if self.streams(element) else Rules(identities=identities).ordering
            children = [table for table in self.asked if table.element == element and table.rows]
            yield main, (column.name for table in children for column in table.keys)
            if self.proves(element):
                yield main, gone.COLUMNS
                if parent := element.parent:
                    yield main, [parent.own_id]
                    yield main_table(parent), [parent.own_id, "source_file"]
        if self.has_reasons:
            yield EVENTS, ("event_id", "excluded")
        if self.request.snapshots:
            yield EVENTS, self.request.snapshots
        for source in self.sources:
            yield source.table, source.columns(self.person_columns).values()
            yield main_table(source.table.element), (*READ_FROM, "created_date")

    def blocks(self, element: ElementType) -> tuple[str, ...]:
        """Return the blocks of a type that can come from different versions."""
        tables = [table for table in self.asked if table.element == element]
        main = main_table(element)
        if not self.merges or not (tables or (element == EVENT and self.has_reasons)):
            return ()
        named = {main.column(name).block for name in self.needed.get(main, ())}
        named |= {table.block for table in tables if table.rows}
        return tuple(sorted(named - {"act"}))

    def bits(self, element: ElementType) -> tuple[str, ...]:
        """Return the blocks of which rows of a type say whether they are carried; those of a person are the first."""
        named, of_person = {*self.blocks(element)}, tuple[str, ...]()
        if self.person_columns and main_table(element) in ACTS:
            of_person = (*BLOCKS, DATES)
        return (*of_person, *sorted(named - {*of_person}))

    @cached_property
    def rules(self) -> dict[ElementType, Rules]:
        """How the versions of each type become one, where they do."""
        of_people = people.people_rules(self.person_columns)
        found = {
            element: self._rules(element, identities, of_people)
            for element, identities in self.identities.items()
            if not self.streams(element)
        }
        if self.person_columns:
            found[PEOPLE.element] = of_people
        evidence = self.accounts.evidence if self._proved else ()
        return {
            element: replace(rules, extremes=(*rules.extremes, *evidence)) if self.proves(element) else rules
            for element, rules in found.items()
        }

    def _rules(self, element: ElementType, identities: Identities, of_people: Rules) -> Rules:
        """Return how the versions of a type become one, but what pulls prove; `of_people` are the rules of people."""
        main, blocks = main_table(element), self.blocks(element)
        rules = Rules(identities=identities, blocks=blocks, bits=self.bits(element))
        if not self.merges:
            return rules
        rules = replace(rules, extremes=tuple(name for name in ENVELOPE if name in self.needed[main]))
        if main not in ACTS:
            return rules
        counted = [block for block in people.FILLED if block in blocks or block in of_people.counted]
        return replace(
            rules,
            counted={block: people.filled_columns(block) for block in counted},
            has_person=bool(self.person_columns),
        )

    @cached_property
    def of_things(self) -> dict[Table, tuple[str, ...]]:
        """The columns of resolved rows that are shown, or decide what is.

        There are none where rows are resolved in another way than by default, or need no others.
        """
        if not (self.merges and self.request.people) or any(map(self.streams, self.identities)):
            return {}
        mains = (main_table(element) for element in self.rules if self.resolves(element))
        found = {table: (*self.names(table), *self.resolved_columns(table)) for table in mains}
        found |= {table: tuple(self.names(table)) for table in self.asked if table.rows}
        if self.actions and not self.filtering.asked:  # else which of them are shown is not known before
            found[ACTIONS] = tuple(column.name for column in self.actions)
        return {table: tuple(dict.fromkeys(names)) for table, names in found.items()}

    @cached_property
    def observed(self) -> Plan:
        """What to parse where resolved rows are known: what is asked of every version."""
        names = self.filtering.needs(())
        names[EVENTS] = (*names.get(EVENTS, ()), *self.request.snapshots)
        mains = map(main_table, self.plan.selects)
        columns = {main: tuple(map(main.column, dict.fromkeys(names.get(main, ())))) for main in mains}
        return replace(self.plan, columns=columns, blocks={})

    @cached_property
    def plan(self) -> Plan:
        """What to parse."""
        prefixes = known_prefixes(self.request.prefix)
        elements = dict.fromkeys(table.element for table in self.needed)
        blocks: dict[Table, Blocks] = {
            main_table(element): tuple(_carrying(element, block, prefixes) for block in self.bits(element))
            for element in elements
        }
        for table in (source.table for source in self.sources if not source.is_act):
            # A people page can say that there is nothing; whoever is embedded in an event has what is there.
            of_block = table.keys_of if table == PEOPLE else partial(_holding, table)
            blocks[table] = tuple(of_block(people.columns_of(block), prefixes) for block in BLOCKS)
        asked = dict.fromkeys(self.types)
        made_of = (source.table.element for source in SOURCES if self.merges and PEOPLE.element in asked)
        return Plan(
            columns={table: tuple(map(table.column, names)) for table, names in self.needed.items()},
            prefixes=prefixes,
            inspects=self.request.inspects,
            lists=self.request.lists,
            types=tuple(asked | dict.fromkeys(made_of)),
            named=next(iter(asked)) if len(asked) == 1 else None,
            blocks=blocks,
        )


def _with_parts(
    asked: Mapping[Table, tuple[Column, ...]], computed: Collection[Table]
) -> dict[Table, tuple[Column, ...]]:
    """Return columns by table, with those that computed tables are made of in place of these."""
    found = {table: columns for table, columns in asked.items() if table not in computed}
    for part, names in chain.from_iterable(table.made_of.items() for table in computed):
        found[part] = tuple(dict.fromkeys((*found.get(part, ()), *part.select(names))))
    return found


def _parsed(table: Table, names: Iterable[str]) -> tuple[str, ...]:
    """Return columns of a table that there are, the resolved ones replaced by those they are derived from."""
    columns = (column for column in table.columns if column.name in {*names})
    parsed = (column.derived if column.origin == "resolved" else (column.name,) for column in columns)
    return tuple(dict.fromkeys(name for some in parsed for name in some))


def _carrying(element: ElementType, block: str, prefixes: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the paths of which one has a value where a block is carried."""
    main = main_table(element)
    names = [column.name for column in main.columns if column.block == block]
    if main in ACTS and block in (*BLOCKS, DATES):
        return _holding(main, names, prefixes)
    if block in LINKS:  # the first column is the id of what is linked
        return tuple(main.column(names[0]).paths(prefixes))
    keys = main.keys_of(names, prefixes)
    tables = (
        table for table in TABLES.values() if table.element == element and table.rows and table.block == block
    )
    heads = (Path(steps).key for table in tables for steps in table.heads(prefixes))
    return tuple(dict.fromkeys((*keys, *heads)))


def _holding(table: Table, names: Iterable[str], prefixes: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the paths of columns of which one has a value where a person has anything of a block."""
    values = {*chain.from_iterable(HOLDING.values())}
    columns = [column for column in table.columns if column.name in {*names}]
    deciding = [column for column in columns if column.name in values or column.block == DATES]
    paths = (
        replace(path, function="fields" if column.type == "json" else "held")
        for column in deciding
        for path in column.paths(prefixes)
    )
    return tuple(dict.fromkeys(paths))


def _identities(element: ElementType, dedupe: Dedupe) -> Identities:
    if dedupe not in (True, False, "message"):
        raise InvalidArgument(f"dedupe is True, False or 'message', not {quoted(dedupe)}")
    if dedupe == "message" and not element.messages:
        raise InvalidArgument(
            f"dedupe='message' is about webhook messages; {element.name}s take True or False"
        )
    return element.messages if dedupe == "message" else element.identities if dedupe else ()
