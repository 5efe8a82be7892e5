-- From the old shape of the queue (or from nothing) to the outbox. What older programs know of the table stays.
CREATE TABLE IF NOT EXISTS queue(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  operation TEXT NOT NULL,
  payload TEXT NOT NULL,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  synced_at TEXT,
  error TEXT);

ALTER TABLE queue ADD COLUMN op_id TEXT;
ALTER TABLE queue ADD COLUMN entity TEXT;
ALTER TABLE queue ADD COLUMN origin TEXT;
ALTER TABLE queue ADD COLUMN target TEXT;
-- What an edit was based on: the version, and the former values as JSON.
ALTER TABLE queue ADD COLUMN base_version INTEGER;
ALTER TABLE queue ADD COLUMN base TEXT;
-- The schema version of the payload.
ALTER TABLE queue ADD COLUMN schema_version INTEGER NOT NULL DEFAULT 1;
-- When it was first sent (NULL: never, so it may still be folded), how often, and how many attempts that spent.
ALTER TABLE queue ADD COLUMN sent_at TEXT;
ALTER TABLE queue ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
-- Why it waits (backoff, retry_after, held_operation, in_doubt) and until when, on the steady clock of a boot.
ALTER TABLE queue ADD COLUMN why TEXT;
ALTER TABLE queue ADD COLUMN due REAL;
ALTER TABLE queue ADD COLUMN due_boot TEXT;
-- How it ended: applied, duplicate, superseded, cancelled, folded, foreign, …; NULL with synced_at set: by a stranger.
ALTER TABLE queue ADD COLUMN outcome TEXT;
ALTER TABLE queue ADD COLUMN folded_into INTEGER;
-- The key of the operation that this one was edited from.
ALTER TABLE queue ADD COLUMN edited_from TEXT;
-- Where the caller brought its own key: a digest of what it asked for, so that asking twice is told from asking anew.
ALTER TABLE queue ADD COLUMN asked TEXT;

UPDATE queue SET outcome = 'delivered' WHERE synced_at IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_queue_unsynced ON queue(synced_at) WHERE synced_at IS NULL;
CREATE INDEX idx_queue_entity ON queue(entity, id) WHERE synced_at IS NULL;
CREATE INDEX idx_queue_stranger ON queue(id) WHERE op_id IS NULL AND synced_at IS NULL;
CREATE UNIQUE INDEX idx_queue_op ON queue(op_id) WHERE op_id IS NOT NULL;
CREATE INDEX idx_queue_edited ON queue(edited_from) WHERE edited_from IS NOT NULL;

-- Dead letters and conflicts, out of a stranger's reach. (AUTOINCREMENT only makes sure that there is a sqlite_sequence.)
CREATE TABLE parked(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('dead', 'conflict')),
  operation TEXT NOT NULL,
  payload TEXT NOT NULL,
  created_at TEXT NOT NULL,
  error TEXT,
  op_id TEXT,
  entity TEXT,
  origin TEXT,
  target TEXT,
  base_version INTEGER,
  base TEXT,
  schema_version INTEGER NOT NULL DEFAULT 1,
  sent_at TEXT,
  tries INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  edited_from TEXT,
  asked TEXT,
  parked_at TEXT NOT NULL,
  problem TEXT,
  current TEXT);
CREATE INDEX idx_parked_entity ON parked(entity, id);
CREATE UNIQUE INDEX idx_parked_op ON parked(op_id) WHERE op_id IS NOT NULL;

-- Small facts, by name; values are JSON.
CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Addresses and the Hub and account that answered there.
CREATE TABLE targets(address TEXT PRIMARY KEY, target TEXT NOT NULL, label TEXT NOT NULL) WITHOUT ROWID;

-- Ids that a Hub handed out for ours: a number stays a number, a text a text.
CREATE TABLE id_map(target TEXT NOT NULL, entity TEXT NOT NULL, remote NOT NULL,
                    PRIMARY KEY (target, entity)) WITHOUT ROWID;

-- Probes by hour, for the uptime of the last 7 days.
CREATE TABLE uptime(target TEXT NOT NULL, hour TEXT NOT NULL, probes INTEGER NOT NULL, answered INTEGER NOT NULL,
                    PRIMARY KEY (target, hour)) WITHOUT ROWID;

-- What waits, counted by the writer, whoever that is: a count would read every waiting row.
-- No upsert: the conflict clause of a stranger's INSERT OR REPLACE would take its place inside a trigger.
CREATE TABLE counters(operation TEXT NOT NULL, target TEXT NOT NULL, waiting INTEGER NOT NULL,
                      PRIMARY KEY (operation, target)) WITHOUT ROWID;
INSERT INTO counters SELECT operation, '', count(*) FROM queue WHERE synced_at IS NULL GROUP BY operation;

CREATE TRIGGER queue_inserted AFTER INSERT ON queue
WHEN NEW.synced_at IS NULL
 AND NOT (NEW.op_id IS NULL AND NEW.id <= ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'queue'), 0)) BEGIN
  UPDATE counters SET waiting = waiting + 1 WHERE operation = NEW.operation AND target = ifnull(NEW.target, '');
  INSERT INTO counters SELECT NEW.operation, ifnull(NEW.target, ''), 1 WHERE changes() = 0;
END;
-- A stranger's INSERT OR REPLACE of a number that was there: what it replaced went without a trigger, so count anew.
CREATE TRIGGER queue_replaced AFTER INSERT ON queue
WHEN NEW.op_id IS NULL AND NEW.id <= ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'queue'), 0) BEGIN
  DELETE FROM counters;
  INSERT INTO counters SELECT operation, ifnull(target, ''), count(*) FROM queue WHERE synced_at IS NULL
    GROUP BY operation, ifnull(target, '');
END;
CREATE TRIGGER queue_deleted AFTER DELETE ON queue WHEN OLD.synced_at IS NULL BEGIN
  UPDATE counters SET waiting = waiting - 1 WHERE operation = OLD.operation AND target = ifnull(OLD.target, '');
END;
CREATE TRIGGER queue_left AFTER UPDATE OF synced_at, operation, target ON queue
WHEN OLD.synced_at IS NULL
 AND (NEW.synced_at IS NOT NULL OR OLD.operation IS NOT NEW.operation OR OLD.target IS NOT NEW.target) BEGIN
  UPDATE counters SET waiting = waiting - 1 WHERE operation = OLD.operation AND target = ifnull(OLD.target, '');
END;
CREATE TRIGGER queue_came AFTER UPDATE OF synced_at, operation, target ON queue
WHEN NEW.synced_at IS NULL
 AND (OLD.synced_at IS NOT NULL OR OLD.operation IS NOT NEW.operation OR OLD.target IS NOT NEW.target) BEGIN
  UPDATE counters SET waiting = waiting + 1 WHERE operation = NEW.operation AND target = ifnull(NEW.target, '');
  INSERT INTO counters SELECT NEW.operation, ifnull(NEW.target, ''), 1 WHERE changes() = 0;
END;
-- A stranger marked a row that we did not see acknowledged: a second drainer is at work (queue.md, "Strangers").
CREATE TRIGGER queue_marked AFTER UPDATE OF synced_at ON queue
WHEN OLD.synced_at IS NULL AND NEW.synced_at IS NOT NULL AND NEW.outcome IS NULL BEGIN
  INSERT INTO state SELECT 'foreign_marks', '0' WHERE NOT EXISTS (SELECT 1 FROM state WHERE name = 'foreign_marks');
  UPDATE state SET value = value + 1 WHERE name = 'foreign_marks';
END;
