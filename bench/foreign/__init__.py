"""Edges: compaction that somebody else wrote, over message lists: functions, processes, servers.

`adapter` makes a strategy of anything that turns one list of messages into another one, `shown` and
`wires` tell it the view, `provenance` finds out by comparing what it kept, shortened and wrote.
`functions`, `commands` and `addresses` are three kinds of such code; PROTOCOL.md describes what the
latter two speak.
"""
