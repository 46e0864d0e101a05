"""compaction-bench: what each way of compacting an agent's context loses and saves."""
