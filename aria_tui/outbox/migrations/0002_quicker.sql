-- Strangers' rows are found by op_id: else SQLite takes the index of all that waits, and reads every row to find none.
DROP INDEX IF EXISTS idx_queue_stranger;
CREATE INDEX idx_queue_stranger ON queue(op_id) WHERE op_id IS NULL AND synced_at IS NULL;

-- How often anybody changed what a waiting operation is or rests on: while that stands, what was read of them holds.
INSERT OR IGNORE INTO state VALUES ('edits', '0');
CREATE TRIGGER queue_edited AFTER UPDATE OF op_id, target, base_version, base ON queue
WHEN OLD.synced_at IS NULL AND OLD.op_id IS NOT NULL BEGIN
  UPDATE state SET value = value + 1 WHERE name = 'edits';
END;
