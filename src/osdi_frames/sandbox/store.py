"""The sandbox's memory: one SQLite database, durable at every commit.

`resource` has every resource of the API; what filters compare of it stands in a column of its own. `entry` has
whatever is known by a name: accounts, webhooks, the people on a list, and the ids of what must be unique, as API
keys, identifiers, e-mail addresses and referrer codes. `message` is the outbox of the webhooks. The connection
belongs to one thread, the one of the event loop.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

from osdi_frames.durable import create_file
from osdi_frames.errors import DatabaseUnusable, RequestRefused
from osdi_frames.messages import quoted_path, shortened_paths
from osdi_frames.sandbox.filters import Clause, searched
from osdi_frames.sandbox.resources import Resource

Row = tuple[str, str | None, str]  # kind, person and document of a resource, which `parse_row` reads

_SETTINGS = (
    "PRAGMA locking_mode = EXCLUSIVE",  # a second sandbox on the same file is refused when it starts
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a commit is on disk before a 200 says so
)

_FIELDS = tuple(field.name for field in fields(Resource))
_COLUMNS = ("kind", "resource_id", "account", "parent", "person_id", "listed")
_WRITTEN = (*_COLUMNS, "searched", "document")
_WRITE = (
    f"INSERT INTO resource ({', '.join(_WRITTEN)}) VALUES ({', '.join('?' * len(_WRITTEN))})"  # noqa: S608 (the names above)
    f" ON CONFLICT (kind, resource_id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _WRITTEN)}"
)
_READ = "SELECT kind, person_id, document FROM resource"
_MESSAGE = ("message_id", "webhook_id", "state", "attempts", "due", "last_failure", "body")


class Store:
    """An open database; `path` None is one in memory."""

    def __init__(self, path: Path | None) -> None:
        try:
            with shortened_paths():
                self._sql = _opened(path)
        except sqlite3.Error as error:
            raise DatabaseUnusable(f"{quoted_path(path or ':memory:')}: {error}") from error
        self.close = self._sql.close

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all of what follows, durably, or nothing; a full disk is a refusal."""
        try:
            with self._sql:  # which commits, or rolls back
                self._sql.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.OperationalError as error:
            raise RequestRefused(503, f"nothing was written: {error}") from error

    # resources

    def put(self, resource: Resource) -> None:
        """Write a resource, a new one first in its collections."""
        document = {name: getattr(resource, name) for name in _FIELDS}
        texts = [json.dumps(part, ensure_ascii=False) for part in (searched(resource), document)]
        self._sql.execute(_WRITE, (*(document[name] for name in _COLUMNS), *texts))

    def rows(self, kind: str, **where: str) -> list[Row]:
        """Return a kind's rows with these values, oldest first."""
        query = f"{_READ} WHERE {_condition(where)} ORDER BY position"
        return self._sql.execute(query, (kind, *where.values())).fetchall()

    def resources(self, kind: str, **where: str) -> list[Resource]:
        """Return those resources."""
        return [parse_row(row) for row in self.rows(kind, **where)]

    def find(self, kind: str, **where: str) -> Resource | None:
        """Return the first of those resources, or None."""
        return next(iter(self.resources(kind, **where)), None)

    def page(
        self, kind: str, *, where: Mapping[str, str], clauses: Sequence[Clause], limit: int, offset: int
    ) -> tuple[int, list[Row]]:
        """Return a collection's size and one page, newest first.

        `where` has values of columns; that of ``listed_in`` is a list, as `names` has it, on which they are.
        """
        chosen = f"FROM resource WHERE {_condition(where)}"
        for name, operator, _ in clauses:
            entries = f"json_each(searched, '$.{name}')"
            chosen += f" AND EXISTS (SELECT 1 FROM {entries} WHERE value {operator} ?)"  # noqa: S608 (a declared filter)
        values = (kind, *where.values(), *(value for _, _, value in clauses))
        # the inner query walks an index only, so that a late page costs little more than the first
        inner = f"SELECT position {chosen} ORDER BY position DESC LIMIT ? OFFSET ?"
        query = f"{_READ} JOIN ({inner}) USING (position) ORDER BY position DESC"
        (total,) = self._sql.execute(f"SELECT count(*) {chosen}", values).fetchone()
        return total, self._sql.execute(query, (*values, limit, offset)).fetchall()

    def remove(self, kind: str, **where: str) -> None:
        """Remove a kind's resources with these values."""
        self._sql.execute(f"DELETE FROM resource WHERE {_condition(where)}", (kind, *where.values()))  # noqa: S608 (columns are keywords of calls)

    def move_last_event_to_front(self, account: str) -> None:
        """Make the last event of an account's collection its first."""
        self._sql.execute(
            "UPDATE resource SET position = (SELECT max(position) + 1 FROM resource) WHERE position ="
            " (SELECT min(position) FROM resource WHERE kind = 'event' AND account = ? AND listed)",
            (account,),
        )

    # entries

    def set_entry(self, kind: str, name: str, value: object) -> None:
        """Write the value of a kind's name."""
        self._sql.execute(
            "INSERT INTO entry (kind, name, value) VALUES (?, ?, ?)"
            " ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value",
            (kind, name, json.dumps(value)),
        )

    def remove_entries_of(self, resource_id: str) -> None:
        """Remove a resource's names, and it from every list."""
        query = "DELETE FROM entry WHERE value = ? OR (name = ? AND kind LIKE 'list %')"
        self._sql.execute(query, (json.dumps(resource_id), resource_id))

    def entry(self, kind: str, name: str) -> Any:
        """Return what a name stands for, or None."""
        query = "SELECT value FROM entry WHERE kind = ? AND name = ?"
        row = self._sql.execute(query, (kind, name)).fetchone()
        return json.loads(row[0]) if row else None

    def entries(self, kind: str) -> dict[str, Any]:
        """Return a kind's names and values, oldest first."""
        query = "SELECT name, value FROM entry WHERE kind = ? ORDER BY position"
        return {name: json.loads(value) for name, value in self._sql.execute(query, (kind,))}

    # messages

    def put_message(self, message_id: str, webhook_id: str, body: Sequence[object], *, due: float) -> None:
        """Write a message, new or with one more element."""
        self._sql.execute(
            "INSERT INTO message (message_id, webhook_id, body, state, attempts, due) VALUES (?, ?, ?, 'waiting', 0, ?)"
            " ON CONFLICT (message_id) DO UPDATE SET body = excluded.body",
            (message_id, webhook_id, json.dumps(body), due),
        )

    def unfilled_message(self, webhook_id: str, size: int, *, now: float) -> tuple[str, list[object]] | None:
        """Return a message that another element can join, since its first delivery is still to come."""
        row = self._sql.execute(
            "SELECT message_id, body FROM message WHERE webhook_id = ? AND state = 'waiting' AND attempts = 0"
            " AND due > ? AND json_array_length(body) < ? ORDER BY position DESC LIMIT 1",
            (webhook_id, now, size),
        ).fetchone()
        return (row[0], json.loads(row[1])) if row else None

    def waiting_messages(self, limit: int) -> list[tuple[str, str, str, int, float]]:
        """Return the next messages: id, webhook, body, number of past attempts, and when each is due."""
        return self._sql.execute(
            "SELECT message_id, webhook_id, body, attempts, due FROM message WHERE state = 'waiting'"
            " ORDER BY due, position LIMIT ?",
            (limit,),
        ).fetchall()

    def mark_message(
        self, message_id: str, *, state: str, attempts: int, due: float, failure: str | None
    ) -> None:
        """Write what became of an attempt to deliver."""
        self._sql.execute(
            "UPDATE message SET state = ?, attempts = ?, due = ?, last_failure = ? WHERE message_id = ?",
            (state, attempts, due, failure, message_id),
        )

    def messages(self, state: str | None = None) -> list[dict[str, Any]]:
        """Return the messages, of one state or all."""
        query = f"SELECT {', '.join(_MESSAGE)} FROM message WHERE ?1 IS NULL OR state = ?1 ORDER BY position"  # noqa: S608 (the names above)
        rows = self._sql.execute(query, (state,))
        return [dict(zip(_MESSAGE, (*row, json.loads(body)), strict=True)) for *row, body in rows]


def _condition(where: Mapping[str, str]) -> str:
    on_list = "resource_id IN (SELECT name FROM entry WHERE kind = ?)"
    return " AND ".join(
        ("kind = ?", *(on_list if column == "listed_in" else f"{column} = ?" for column in where))
    )


def parse_row(row: Row) -> Resource:
    """Return a stored resource."""
    return Resource(**json.loads(row[-1]))


def _opened(path: Path | None) -> sqlite3.Connection:
    if path and path.parent.is_dir() and not path.exists():
        create_file(path).close()  # SQLite makes -wal and -shm with the mode of this file
    # made in one thread and used in the server's: handed over, never shared
    sql = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False, timeout=1)
    try:
        for statement in _SETTINGS:
            sql.execute(statement)
        sql.executescript((resources.files(__package__) / "schema.sql").read_text("utf-8"))
    except sqlite3.Error:
        sql.close()
        raise
    return sql
