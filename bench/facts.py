"""Words: facts that a session holds, and the uses by which retention is measured.

Planted and authored facts come from a `facts.jsonl`; uses are found in any recording without labels
(scoring.md, "Facts").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["said_once", "re_readable"]

FACT_KINDS: tuple[str, ...] = (
    "constraint",
    "decision",
    "path",
    "identifier",
    "number",
    "error",
    "command",
    "next_step",
    "preference",
    "negation",
    "update",
)


@dataclass(frozen=True, slots=True)
class Probe:
    """Where a fact is asked for: at the request before event `at_seq` (None: the last request)."""

    at_seq: int | None = None
    question: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that must be known later.

    `value` and its `aliases` are right, `stale` values were right before. `source_seqs` are the
    events that state it, `born_seq` the first event after which it holds. Losing a `must_keep`
    fact fails a gate without statistics.
    """

    id: str
    session: str
    kind: str
    subject: str
    value: str
    aliases: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    source_seqs: tuple[int, ...] = ()
    born_seq: int = 1
    probe: Probe = Probe()
    must_keep: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """An entity that the agent's own next message used and an earlier event had introduced.

    `at_seq` is the recorded message that used it, `request` the index of the request before it.
    `age_tokens` counts the true tokens between the last mention (`last_seq`) and the request.
    `severity` says whether the loss could be mended by running a tool again.
    `after_recorded_compaction` marks uses that depended on a summary of the recorded tool.
    """

    request: int
    at_seq: int
    kind: str
    text: str
    key: str
    first_seq: int
    last_seq: int
    age_tokens: int
    severity: Severity
    after_recorded_compaction: bool = False
