"""The gate before a candidate counts (F8), and what stands after a damaged projection (F12.3).

Kind, fields, JSON and the digest of the source (F8.1 to F8.4) are `checkpoint.verify`; this adds
coverage, lineage and size.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from strategies.layered.checkpoint import (
    Checkpoint,
    InvalidCheckpoint,
    is_stored_as_it_is,
    read_record,
    to_record,
    verify,
)
from strategies.layered.source import SourceMessage


class NotAccepted(Exception):
    """A candidate that isn't committed: `code` is a short name, `text` one sentence."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def check_candidate(
    candidate: Checkpoint,
    history: Sequence[SourceMessage],
    current: Checkpoint | None,
    *,
    session_id: str,
    digest: str | None = None,
    is_deleted: bool = False,
    original: bool = False,
) -> None:
    """Whether a candidate may replace `current` (None: there is none). Raises NotAccepted.

    In this order: the source matches the history as it is now (F8.4), coverage doesn't go back,
    the lineage points at the current checkpoint (F8.5), the session still exists. The original
    accepts a candidate that its own JSON would change, and then can't read it again; without
    `original` it is refused (divergence `lost_state`). `digest` is that of `verify`.
    """
    try:
        verify(candidate, history, session_id=session_id, digest=digest)
    except InvalidCheckpoint as invalid:
        text = "compaction checkpoint does not match source events"
        raise NotAccepted("does_not_match_source", text) from invalid
    if current is not None and candidate.through_seq < current.through_seq:
        raise NotAccepted("coverage_backwards", "compaction checkpoint coverage moved backwards")
    if current is not None and candidate.previous_checkpoint_id != current.checkpoint_id:
        raise NotAccepted("lineage_stale", "compaction checkpoint lineage is stale")
    if is_deleted:
        raise NotAccepted("session_deleted", "cannot checkpoint a deleted session")
    if not original and not survives_storing(candidate):
        raise NotAccepted("state_not_canonical", "storing would change the checkpoint's state")


def survives_storing(checkpoint: Checkpoint) -> bool:
    """True when reading the stored record gives the same key fields again."""
    if is_stored_as_it_is(checkpoint):
        return True
    again = read_record(to_record(checkpoint))
    return (again.provider_state, again.segments) == (
        checkpoint.provider_state,
        checkpoint.segments,
    )


def check_savings(tokens_before: int, tokens_after: int) -> None:
    """A text projection must be smaller than what it replaces, equal isn't enough (F8.6)."""
    if tokens_after >= tokens_before:
        raise NotAccepted(
            "no_savings",
            f"compaction produced no savings: before={tokens_before} after={tokens_after}",
        )


def current_checkpoint(
    row: str | None,
    completions: Iterable[str],
    history: Sequence[SourceMessage],
    *,
    session_id: str,
    route: str | None = None,
) -> Checkpoint | None:
    """The checkpoint that stands: the row, or the newest valid completion, or none (F12.3).

    `row` is the record text of the fast projection. `completions` are those of completion events
    after the last rewind (F12.4), newest first.
    """
    for text in (*(() if row is None else (row,)), *completions):
        try:
            return verify(json.loads(text), history, session_id=session_id, route=route)
        except (ValueError, RecursionError, InvalidCheckpoint):
            continue
    return None
