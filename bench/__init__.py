"""compaction-bench: what does each way of compacting an agent's context lose, and what does it save?"""
