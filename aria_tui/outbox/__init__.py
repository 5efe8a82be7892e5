"""The offline queue: what was accepted is never lost, never applied twice, never overtaken (queue.md)."""
