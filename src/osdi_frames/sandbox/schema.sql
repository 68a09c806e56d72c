CREATE TABLE IF NOT EXISTS resource (
    position INTEGER PRIMARY KEY, kind TEXT NOT NULL, resource_id TEXT NOT NULL, account TEXT, parent TEXT,
    person_id TEXT, listed INTEGER NOT NULL, searched TEXT NOT NULL, document TEXT NOT NULL, UNIQUE (kind, resource_id)
);
CREATE INDEX IF NOT EXISTS resource_account ON resource (kind, account, listed, position);
CREATE INDEX IF NOT EXISTS resource_parent ON resource (kind, parent, account, position);
CREATE INDEX IF NOT EXISTS resource_person ON resource (kind, person_id, account, position);
CREATE TABLE IF NOT EXISTS entry (
    position INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (kind, name)
);
CREATE TABLE IF NOT EXISTS message (
    position INTEGER PRIMARY KEY, message_id TEXT NOT NULL UNIQUE, webhook_id TEXT NOT NULL, body TEXT NOT NULL,
    state TEXT NOT NULL, attempts INTEGER NOT NULL, due REAL NOT NULL, last_failure TEXT
);
CREATE INDEX IF NOT EXISTS message_due ON message (state, due);
