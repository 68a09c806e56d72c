"""The sandbox's memory: one SQLite database, durable at every commit.

Four tables hold everything. `resource` has people, accounts, campaigns, petitions, attendances, signatures and webhooks
as JSON; `name` has whatever must be unique, with what it names: identifiers, API keys, e-mail addresses, referrer
codes; `event` has events together with their two representations, so that a page is read and not made; `message` is
the outbox of the webhooks. The connection belongs to one thread, the one of the event loop.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from osdi_frames.errors import DatabaseUnusable
from osdi_frames.sandbox.events import Event
from osdi_frames.sandbox.paging import Clause, Row
from osdi_frames.sandbox.refusals import refuse

Document = dict[str, Any]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS resource (
    position INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, parent TEXT, person_id TEXT,
    document TEXT NOT NULL, UNIQUE (kind, id)
);
CREATE INDEX IF NOT EXISTS resource_parent ON resource (kind, parent, position);
CREATE INDEX IF NOT EXISTS resource_person ON resource (kind, person_id, position);
CREATE TABLE IF NOT EXISTS name (
    kind TEXT NOT NULL, name TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS event (
    id INTEGER PRIMARY KEY, event_id TEXT NOT NULL UNIQUE, position INTEGER NOT NULL, account TEXT NOT NULL,
    listed INTEGER NOT NULL, campaign_id TEXT, creator_id TEXT NOT NULL, modified_date TEXT NOT NULL,
    origin_system TEXT NOT NULL, title TEXT NOT NULL, start_date TEXT, end_date TEXT,
    document TEXT NOT NULL, v1 TEXT NOT NULL, v2 TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS event_position ON event (position);
CREATE INDEX IF NOT EXISTS event_account ON event (account, listed, position);
CREATE INDEX IF NOT EXISTS event_campaign ON event (campaign_id, account, position);
CREATE INDEX IF NOT EXISTS event_creator ON event (creator_id);
CREATE TABLE IF NOT EXISTS message (
    position INTEGER PRIMARY KEY, message_id TEXT NOT NULL UNIQUE, webhook_id TEXT NOT NULL, body TEXT NOT NULL,
    elements INTEGER NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL, due REAL NOT NULL, last_failure TEXT
);
CREATE INDEX IF NOT EXISTS message_due ON message (state, due);
"""


_SETTINGS = (
    "PRAGMA locking_mode = EXCLUSIVE",  # a second sandbox on the same file is refused when it starts
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a commit is on disk before a 200 says so
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
            self._sql.execute("BEGIN IMMEDIATE")
            yield
            self._sql.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise refuse("database", why=error) from error
        finally:
            if self._sql.in_transaction:
                self._sql.execute("ROLLBACK")

    # resources

    def put(
        self,
        kind: str,
        resource_id: str,
        document: Mapping[str, Any],
        *,
        parent: str | None = None,
        person_id: str | None = None,
    ) -> None:
        """Write a resource, new or changed."""
        self._sql.execute(
            "INSERT INTO resource (kind, id, parent, person_id, document) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (kind, id) DO UPDATE SET document = excluded.document",
            (kind, resource_id, parent, person_id, json.dumps(document)),
        )

    def get(self, kind: str, resource_id: str) -> Document | None:
        """Return a resource, or None."""
        row = self._sql.execute(
            "SELECT document FROM resource WHERE kind = ? AND id = ?", (kind, resource_id)
        ).fetchone()
        return json.loads(row[0]) if row else None

    def delete(self, kind: str, resource_id: str) -> None:
        """Remove a resource, if it is there."""
        self._sql.execute("DELETE FROM resource WHERE kind = ? AND id = ?", (kind, resource_id))

    def resources(
        self, kind: str, *, limit: int = -1, offset: int = 0, **where: str
    ) -> tuple[int, list[Document]]:
        """Return how many resources of a kind there are, and those of one page; `where` is parent or person_id."""
        condition = " AND ".join(("kind = ?", *(f"{column} = ?" for column in where)))
        values = (kind, *where.values())
        counting = f"SELECT count(*) FROM resource WHERE {condition}"  # noqa: S608 (columns are keywords of calls)
        reading = f"SELECT document FROM resource WHERE {condition} ORDER BY position DESC LIMIT ? OFFSET ?"  # noqa: S608 (made of columns, never of input)
        (total,) = self._sql.execute(counting, values).fetchone()
        rows = self._sql.execute(reading, (*values, limit, offset))
        return total, [json.loads(document) for (document,) in rows]

    # names

    def bind(self, kind: str, name: str, resource_id: str) -> None:
        """Let a name of a kind stand for a resource from now on."""
        self._sql.execute("INSERT OR REPLACE INTO name VALUES (?, ?, ?)", (kind, name, resource_id))

    def find(self, kind: str, name: str) -> str | None:
        """Return the id that a name stands for, or None."""
        row = self._sql.execute("SELECT id FROM name WHERE kind = ? AND name = ?", (kind, name)).fetchone()
        return row[0] if row else None

    def names(self, kind: str) -> dict[str, str]:
        """Return every name of a kind with its id."""
        return dict(self._sql.execute("SELECT name, id FROM name WHERE kind = ? ORDER BY name", (kind,)))

    # events

    def put_event(self, event: Event, *, v1: str, v2: str) -> None:
        """Write an event with its representations; a new one is the first of its collections."""
        row = {
            "event_id": event.event_id,
            "account": event.account,
            "listed": event.listed,
            "campaign_id": event.entered.get("event_campaign_id"),
            "creator_id": event.creator_id,
            "modified_date": event.modified_date,
            **{
                name: event.entered.get(name) for name in ("origin_system", "title", "start_date", "end_date")
            },
            "document": json.dumps(asdict(event)),
            "v1": v1,
            "v2": v2,
        }
        columns, values = ", ".join(row), ", ".join(f":{column}" for column in row)
        changes = ", ".join(f"{column} = excluded.{column}" for column in row)
        first = "(SELECT coalesce(max(position), 0) + 1 FROM event)"
        self._sql.execute(
            f"INSERT INTO event (position, {columns}) VALUES ({first}, {values})"  # noqa: S608 (the names above)
            f" ON CONFLICT (event_id) DO UPDATE SET {changes}",
            row,
        )

    def event(self, event_id: str) -> Event | None:
        """Return an event, or None."""
        found = list(self.events("event_id = ?", event_id))
        return found[0] if found else None

    def events(self, condition: str = "1", *values: object) -> Iterator[Event]:
        """Yield the events that satisfy a condition, oldest first."""
        query = f"SELECT document FROM event WHERE {condition} ORDER BY id"  # noqa: S608 (this package's own)
        for (text,) in self._sql.execute(query, values).fetchall():
            document = json.loads(text)
            yield Event(**document | {"identifiers": tuple(document["identifiers"])})

    def event_text(self, event_id: str, version: str) -> str:
        """Return the representation of an event that exists."""
        query = f"SELECT {version} FROM event WHERE event_id = ?"  # noqa: S608 (v1 or v2)
        return str(self._sql.execute(query, (event_id,)).fetchone()[0])

    def event_rows(
        self,
        account: str,
        *,
        version: str,
        campaign_id: str | None,
        clauses: Sequence[Clause],
        limit: int,
        offset: int,
    ) -> tuple[int, list[Row]]:
        """Return how many events a collection has, and those of one page, newest first."""
        conditions = ["account = ?", "campaign_id = ?" if campaign_id else "listed = ?"]
        conditions += [f"{clause.column} {clause.operator} ?" for clause in clauses]
        where = " AND ".join(conditions)
        values = (account, campaign_id or True, *(clause.value for clause in clauses))
        counting = f"SELECT count(*) FROM event WHERE {where}"  # noqa: S608 (from declared columns)
        # the inner query walks an index only, so that a late page costs little more than the first
        reading = (
            f"SELECT event_id, {version} FROM event WHERE id IN (SELECT id FROM event WHERE {where}"  # noqa: S608 (made of columns, never of input)
            " ORDER BY position DESC LIMIT ? OFFSET ?) ORDER BY position DESC"
        )
        (total,) = self._sql.execute(counting, values).fetchone()
        rows = self._sql.execute(reading, (*values, limit, offset))
        return total, [Row(f"events/{event_id}", text) for event_id, text in rows]

    def bring_to_front(self, account: str) -> None:
        """Make the last event of an account's collection its first."""
        self._sql.execute(
            "UPDATE event SET position = (SELECT max(position) + 1 FROM event) WHERE id ="
            " (SELECT id FROM event WHERE account = ? AND listed ORDER BY position LIMIT 1)",
            (account,),
        )

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
        rows = self._sql.execute(
            "SELECT message_id, webhook_id, state, attempts, due, last_failure, body FROM message"
            " WHERE ?1 IS NULL OR state = ?1 ORDER BY position",
            (state,),
        )
        names = ("message_id", "webhook_id", "state", "attempts", "due", "last_failure")
        return [dict(zip(names, row[:-1], strict=True)) | {"body": json.loads(row[-1])} for row in rows]


def _opened(path: Path | None) -> sqlite3.Connection:
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
