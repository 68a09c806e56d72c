"""The sandbox's memory: one SQLite database, durable at every commit.

`resource` has every resource of the API; what filters compare of it stands in a column of its own. `record` has what is
none: accounts and webhooks. `name` has whatever must be unique, with what it names: identifiers, API keys, e-mail
addresses, referrer codes. `member` has the people on the list of an account. `message` is the outbox of the webhooks.
The connection belongs to one thread, the one of the event loop.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

from osdi_frames.errors import DatabaseUnusable
from osdi_frames.sandbox.paging import Clause
from osdi_frames.sandbox.refusals import refuse
from osdi_frames.sandbox.resources import Resource, searched

Document = dict[str, Any]
Stored = tuple[Any, ...]  # a row of the table of resources: kind, person_id, and the rest, which `read` reads

_SCHEMA = (resources.files(__package__) / "schema.sql").read_text("utf-8")
_SETTINGS = (
    "PRAGMA locking_mode = EXCLUSIVE",  # a second sandbox on the same file is refused when it starts
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a commit is on disk before a 200 says so
)

_COLUMNS = ("kind", "person_id", "resource_id", "account", "parent", "listed")
_REST = tuple(field.name for field in fields(Resource) if field.name not in _COLUMNS)
_READ = f"SELECT {', '.join(_COLUMNS)}, document FROM resource"  # noqa: S608 (the names above)
_ON_LIST = "resource_id IN (SELECT person_id FROM member WHERE account = ?)"
_WRITTEN = (*_COLUMNS, "searched", "document")
_WRITE = (
    f"INSERT INTO resource ({', '.join(_WRITTEN)}) VALUES ({', '.join('?' * len(_WRITTEN))})"  # noqa: S608 (the names above)
    f" ON CONFLICT (kind, resource_id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _WRITTEN)}"
)


class Store:
    """An open database; `path` None is one in memory."""

    def __init__(self, path: Path | None) -> None:
        try:
            self._sql = _opened(path)
        except sqlite3.Error as error:
            raise DatabaseUnusable(f"{path}: {error}") from error

    def close(self) -> None:
        """Close the database."""
        self._sql.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all of what follows, durably, or nothing of it; a full disk is a refusal."""
        try:
            with self._sql:  # which commits, or rolls back
                self._sql.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.OperationalError as error:
            raise refuse("database", why=error) from error

    # resources

    def put(self, resource: Resource) -> None:
        """Write a resource; a new one is the first of its collections."""
        columns = [getattr(resource, name) for name in _COLUMNS]
        documents = searched(resource), {name: getattr(resource, name) for name in _REST}
        self._sql.execute(_WRITE, (*columns, *(json.dumps(part, ensure_ascii=False) for part in documents)))

    def find(self, kind: str, **where: str) -> Resource | None:
        """Return a resource of a kind whose columns have these values, or None."""
        return next(self.resources(kind, **where), None)

    def resources(self, kind: str, **where: str) -> Iterator[Resource]:
        """Yield the resources of a kind whose columns have these values, oldest first."""
        yield from map(read, self.stored(kind, **where))

    def stored(self, kind: str, **where: str) -> list[Stored]:
        """Return the rows of those resources."""
        query = f"{_READ} WHERE {_condition(where)} ORDER BY position"
        return self._sql.execute(query, (kind, *where.values())).fetchall()

    def page(
        self, kind: str, *, where: Mapping[str, str], clauses: Sequence[Clause], limit: int, offset: int
    ) -> tuple[int, list[Stored]]:
        """Return how many resources a collection has, and those of one page, newest first.

        `where` has values of columns; that of ``member`` is an account on whose list they are.
        """
        conditions = [_ON_LIST if column == "member" else f"{column} = ?" for column in where]
        conditions += [
            f"EXISTS (SELECT 1 FROM json_each(searched, '$.{clause.name}') WHERE value {clause.operator} ?)"  # noqa: S608 (a declared filter)
            for clause in clauses
        ]
        values = (kind, *where.values(), *(clause.value for clause in clauses))
        chosen = f"FROM resource WHERE {_all_of(['kind = ?', *conditions])}"
        # the inner query walks an index only, so that a late page costs little more than the first
        inner = f"SELECT position {chosen} ORDER BY position DESC LIMIT ? OFFSET ?"
        (total,) = self._sql.execute(f"SELECT count(*) {chosen}", values).fetchone()
        rows = self._sql.execute(
            f"{_READ} WHERE position IN ({inner}) ORDER BY position DESC", (*values, limit, offset)
        )
        return total, rows.fetchall()

    def remove(self, kind: str, **where: str) -> None:
        """Remove the resources of a kind whose columns have these values."""
        self._sql.execute(f"DELETE FROM resource WHERE {_condition(where)}", (kind, *where.values()))  # noqa: S608 (columns are keywords of calls)

    def bring_to_front(self, account: str) -> None:
        """Make the last event of an account's collection its first."""
        self._sql.execute(
            "UPDATE resource SET position = (SELECT max(position) + 1 FROM resource) WHERE position ="
            " (SELECT min(position) FROM resource WHERE kind = 'event' AND account = ? AND listed)",
            (account,),
        )

    # records

    def put_record(self, kind: str, record_id: str, document: Mapping[str, Any]) -> None:
        """Write a record, new or changed."""
        self._sql.execute(
            "INSERT OR REPLACE INTO record VALUES (?, ?, ?)", (kind, record_id, json.dumps(document))
        )

    def record(self, kind: str, record_id: str) -> Document | None:
        """Return a record, or None."""
        query = "SELECT document FROM record WHERE kind = ? AND id = ?"
        row = self._sql.execute(query, (kind, record_id)).fetchone()
        return json.loads(row[0]) if row else None

    def records(self, kind: str) -> list[Document]:
        """Return the records of a kind, newest first."""
        query = "SELECT document FROM record WHERE kind = ? ORDER BY rowid DESC"
        return [json.loads(document) for (document,) in self._sql.execute(query, (kind,))]

    def delete_record(self, kind: str, record_id: str) -> None:
        """Remove a record, if it is there."""
        self._sql.execute("DELETE FROM record WHERE kind = ? AND id = ?", (kind, record_id))

    # names and lists

    def bind(self, kind: str, name: str, named: str) -> None:
        """Let a name of a kind stand for an id from now on."""
        self._sql.execute("INSERT OR REPLACE INTO name VALUES (?, ?, ?)", (kind, name, named))

    def named(self, kind: str, name: str) -> str | None:
        """Return the id that a name stands for, or None."""
        row = self._sql.execute("SELECT id FROM name WHERE kind = ? AND name = ?", (kind, name)).fetchone()
        return row[0] if row else None

    def names(self, kind: str) -> dict[str, str]:
        """Return every name of a kind with its id."""
        return dict(self._sql.execute("SELECT name, id FROM name WHERE kind = ? ORDER BY name", (kind,)))

    def subscribe(self, account: str, person_id: str) -> None:
        """Put a person on the list of an account."""
        self._sql.execute("INSERT OR IGNORE INTO member VALUES (?, ?)", (account, person_id))

    def members(self, account: str) -> list[str]:
        """Return the ids of the people on the list of an account."""
        query = "SELECT person_id FROM member WHERE account = ? ORDER BY person_id"
        return [person_id for (person_id,) in self._sql.execute(query, (account,))]

    # messages

    def put_message(self, message_id: str, webhook_id: str, body: Sequence[object], *, due: float) -> None:
        """Put a message into the outbox, or write it anew with one more element."""
        self._sql.execute(
            "INSERT INTO message (message_id, webhook_id, body, elements, state, attempts, due)"
            " VALUES (?, ?, ?, ?, 'waiting', 0, ?)"
            " ON CONFLICT (message_id) DO UPDATE SET body = excluded.body, elements = excluded.elements",
            (message_id, webhook_id, json.dumps(body), len(body), due),
        )

    def unfilled_message(self, webhook_id: str, size: int, *, now: float) -> tuple[str, list[object]] | None:
        """Return a message whose first delivery is still to come and that has room for another element."""
        row = self._sql.execute(
            "SELECT message_id, body FROM message WHERE webhook_id = ? AND state = 'waiting' AND attempts = 0"
            " AND elements < ? AND due > ? ORDER BY position DESC LIMIT 1",
            (webhook_id, size, now),
        ).fetchone()
        return (row[0], json.loads(row[1])) if row else None

    def due_messages(self, now: float, limit: int) -> list[tuple[str, str, str, int]]:
        """Return id, webhook, body and number of past attempts of the messages whose time has come."""
        return self._sql.execute(
            "SELECT message_id, webhook_id, body, attempts FROM message WHERE state = 'waiting' AND due <= ?"
            " ORDER BY due, position LIMIT ?",
            (now, limit),
        ).fetchall()

    def next_due(self) -> float | None:
        """Return when the next message is due, or None when none waits."""
        due: float | None
        (due,) = self._sql.execute("SELECT min(due) FROM message WHERE state = 'waiting'").fetchone()
        return due

    def mark_message(
        self, message_id: str, *, state: str, attempts: int, due: float, failure: str | None
    ) -> None:
        """Write what became of an attempt to deliver."""
        self._sql.execute(
            "UPDATE message SET state = ?, attempts = ?, due = ?, last_failure = ? WHERE message_id = ?",
            (state, attempts, due, failure, message_id),
        )

    def messages(self, state: str | None = None) -> list[Document]:
        """Return the messages of the outbox, of one state or all."""
        names = ("message_id", "webhook_id", "state", "attempts", "due", "last_failure", "body")
        query = f"SELECT {', '.join(names)} FROM message WHERE ?1 IS NULL OR state = ?1 ORDER BY position"  # noqa: S608 (the names above)
        rows = [dict(zip(names, row, strict=True)) for row in self._sql.execute(query, (state,))]
        return [row | {"body": json.loads(row["body"])} for row in rows]


def _all_of(conditions: Sequence[str]) -> str:
    """Join conditions as a balanced tree: SQLite refuses expressions that are 1,000 deep."""
    if len(conditions) < 3:
        return " AND ".join(conditions)
    half = len(conditions) // 2
    return f"({_all_of(conditions[:half])}) AND ({_all_of(conditions[half:])})"


def _condition(columns: Collection[str]) -> str:
    return " AND ".join(("kind = ?", *(f"{column} = ?" for column in columns)))


def read(row: Stored) -> Resource:
    """Return the resource of a row."""
    values = dict(zip(_COLUMNS, row, strict=False))
    return Resource(**values | {"listed": bool(values["listed"])}, **json.loads(row[-1]))


def _opened(path: Path | None) -> sqlite3.Connection:
    if path and path.parent.is_dir() and not path.exists():
        # readable by its owner only, whatever the umask; SQLite makes -wal and -shm with the mode of this file
        made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.fchmod(made, 0o600)
        os.close(made)
    # made in one thread and used in the server's: handed over, never shared
    sql = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False, timeout=1)
    try:
        for statement in _SETTINGS:
            sql.execute(statement)
        sql.executescript(_SCHEMA)
    except sqlite3.Error:
        sql.close()
        raise
    return sql
