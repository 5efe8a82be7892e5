-- Found by op_id, else SQLite takes the index of all that waits, and reads every row of it to find no stranger's.
DROP INDEX IF EXISTS idx_queue_stranger;
CREATE INDEX idx_queue_stranger ON queue(op_id) WHERE op_id IS NULL AND synced_at IS NULL;
