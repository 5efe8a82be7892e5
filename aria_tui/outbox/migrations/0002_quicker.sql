-- Strangers' rows are found by op_id: else SQLite takes the index of all that waits, and reads every row to find none.
DROP INDEX IF EXISTS idx_queue_stranger;
CREATE INDEX idx_queue_stranger ON queue(op_id) WHERE op_id IS NULL AND synced_at IS NULL;

-- How often anybody changed what a waiting operation is or rests on, or put another in its place: while that stands,
-- what was read of them holds. It begins by chance, so that the count of one file is never taken for that of another.
INSERT OR IGNORE INTO state VALUES ('edits', random() & 4611686018427387903);
CREATE TRIGGER queue_edited AFTER UPDATE OF op_id, target, base_version, base ON queue
WHEN OLD.synced_at IS NULL AND OLD.op_id IS NOT NULL BEGIN
  UPDATE state SET value = value + 1 WHERE name = 'edits';
END;
CREATE TRIGGER queue_put_in_place AFTER INSERT ON queue
WHEN NEW.id <= ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'queue'), 0) BEGIN
  UPDATE state SET value = value + 1 WHERE name = 'edits';
END;
