-- One schema for both engines: SQLite reads BIGINT as INTEGER, PostgreSQL has all of this as it stands.
-- Every key begins with the account, so that the tables shard by account. Moments are milliseconds since 1970.

CREATE TABLE settings (
    account TEXT NOT NULL,              -- '*': the Hub's own (hub_id, epoch)
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (account, name)
);

CREATE TABLE accounts (
    account TEXT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,                -- the last change number; its row is the account's write lock
    created_at BIGINT NOT NULL
);

CREATE TABLE tokens (
    account TEXT NOT NULL,
    digest TEXT NOT NULL,               -- hex SHA-256 of the token; the token itself is nowhere
    name TEXT NOT NULL,
    scope TEXT NOT NULL,                -- read, write
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT,
    PRIMARY KEY (account, digest)
);

CREATE TABLE operations (               -- what had an effect, under its idempotency key
    account TEXT NOT NULL,
    op_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    operation TEXT NOT NULL,
    entity TEXT NOT NULL,
    status TEXT NOT NULL,
    version BIGINT,
    created BIGINT NOT NULL,            -- 1: it brought its entity into being
    seq BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    PRIMARY KEY (account, op_id)
);

CREATE TABLE entities (                 -- a row's seq is its place among the account's changes
    account TEXT NOT NULL,
    entity TEXT NOT NULL,               -- task:ID, insight:ID, briefing:DATE, activity:PROJECT:DATE
    kind TEXT NOT NULL,
    version BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    deleted_at BIGINT,                  -- a tombstone, kept for ever; doc is then empty
    sort_at BIGINT NOT NULL,            -- what lists are ordered by
    status TEXT,
    priority TEXT,
    project TEXT,
    due_date TEXT,
    completed_at BIGINT,
    origin TEXT,                        -- what the create said, as a digest, once it was changed since
    touched TEXT,                       -- field -> the version that last changed it, as JSON
    folded TEXT,                        -- an insight's content, case folded, to search in
    doc TEXT NOT NULL,                  -- the entity as on the wire
    PRIMARY KEY (account, entity)
);
CREATE INDEX entities_by_seq ON entities (account, seq);
CREATE INDEX entities_by_time ON entities (account, kind, sort_at, entity) WHERE deleted_at IS NULL;
CREATE INDEX entities_by_status ON entities (account, status, sort_at, entity)
    WHERE deleted_at IS NULL AND status IS NOT NULL;
CREATE INDEX entities_completed ON entities (account, completed_at)
    WHERE deleted_at IS NULL AND completed_at IS NOT NULL;

CREATE TABLE revisions (                -- what an entity was before; a late briefing that never was the current one
    account TEXT NOT NULL,
    entity TEXT NOT NULL,
    revision TEXT NOT NULL,             -- v:VERSION, or late:DIGEST
    made_at BIGINT NOT NULL,
    doc TEXT NOT NULL,
    PRIMARY KEY (account, entity, revision)
);
CREATE INDEX revisions_by_time ON revisions (account, made_at);
