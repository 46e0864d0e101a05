"""Judgement: which requests of a replay an API would have refused for their shape.

Checked are the first and the last request of every head: between them a projection only grows by
recorded events, whose rendering doesn't depend on what stands before them.
"""

from __future__ import annotations

from itertools import groupby

from bench.history import History
from bench.observations import Replay
from bench.wire.checks import api_problems
from bench.wire.rendering import render


def invalid_requests(seen: Replay, history: History) -> list[str]:
    """A sentence for each invalid request, and for each result that broke a promise."""
    found = [
        f"request {compaction.request}: {compaction.violations[0]}"
        for compaction in seen.compactions
        if compaction.violations
    ]
    for _, same_head in groupby(seen.requests, key=lambda request: request.head):
        members = list(same_head)
        for request in {members[0].index: members[0], members[-1].index: members[-1]}.values():
            problems = api_problems(render(seen.projection(request.index, history)))
            found += [f"request {request.index}: {problem}" for problem in problems[:1]]
    return found
