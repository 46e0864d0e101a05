"""The check that a conversation store asks for before it uses a stored compaction (F12.2)."""

from __future__ import annotations

from collections.abc import Sequence

from bench.events import Event
from bench.history import History
from bench.observations import item_to_json
from bench.projection import Json, Projection
from strategies.layered.checkpoint import InvalidCheckpoint, verify
from strategies.layered.memory import Memory
from strategies.layered.source import sources
from strategies.layered.strategy import head_of


def check_stored(record: Json, events: Sequence[Event]) -> str | None:
    """Why a stored record can't be used, beginning with the failed check's name; None: it can.

    `record` holds `session`, `route`, `through_seq`, `head` (items as JSON) and `memory`, `events`
    is what is effective now. Version, id, session, digest, anchor, segments, kind and route of the
    checkpoint in the memory are verified, and that the head shows this checkpoint and nothing else.
    """
    memory = Memory.read(record["memory"])
    if memory.record is None:
        return None if not record["head"] else "checkpoint_missing: a head without its checkpoint"
    route = record["route"] or None
    session_id = record["session"]
    try:
        made = verify(memory.record, sources(events), session_id=session_id, route=route)
    except InvalidCheckpoint as invalid:
        return f"{invalid.failure}: {invalid.text}"
    head = head_of(Projection.whole(History(events)), made)
    if made.through_seq != record["through_seq"]:
        return f"through_seq: the checkpoint covers {made.through_seq}, not {record['through_seq']}"
    if [item_to_json(item) for item in head] != list(record["head"]):
        return "head: what is shown isn't what the checkpoint says"
    return None
