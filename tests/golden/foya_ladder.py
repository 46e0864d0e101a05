"""The preparation of a request as the original runs it, made of the same parts as the strategy.

Limit, trigger, shortening and the offer of the reading tool come from the package; only the loop,
which the harness leaves to its engine, stands here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from foya_cases import Case, history, tools, unfolded

from bench.events import Message
from strategies.layered import bounding, budget, encoding, estimate, history_read
from strategies.layered.source import SourceMessage

# The original describes the reading tool in its own words, which aren't copied: only their size
# matters here.
READ_TOOL_UNITS = 1_193


def read_tool() -> estimate.ToolText:
    """A tool of the same name and size as the original's."""
    bare = estimate.ToolText(bounding.READ_TOOL, description="x", parameters="{}")
    missing = READ_TOOL_UNITS - encoding.units(estimate.tools_json([bare])) + len("[]")
    return replace(bare, description="x" * (1 + missing))


def ladder(given: Case) -> Case:
    """What is sent in the end, and the diagnostics on the way (F10.1, F11.4)."""
    system = SourceMessage(0, Message("system", unfolded(given["system_prompt"])))
    said = (system, *history(given["events"]))
    prior = given.get("prior") or {}
    bounds = budget.limits(
        given["context_window"], given["max_input_tokens"], prior.get("output_tokens", 0)
    )
    before = budget.Prior(prior.get("input_tokens", 0), prior.get("units", 0))
    offered: tuple[estimate.ToolText, ...] = ()

    def decide(shown: Sequence[SourceMessage]) -> budget.Decision:
        nonlocal offered
        offered = tools(given["tools"])
        if history_read.is_offered(each.message.text for each in shown):
            offered += (read_tool(),)
        return budget.decide([each.message for each in shown], offered, bounds, before)

    shown: tuple[SourceMessage, ...] = said
    decision = decide(shown)
    diagnostics = []
    if decision.needs_compaction:
        diagnostics.append(("triggered", decision.pressure, "budget"))
    for keep_newest in (1, 0):
        if decision.needs_compaction:
            cut = bounding.bound(said, keep_newest=keep_newest, original=True)
            shown = tuple(
                each._replace(message=replace(each.message, text=cut[index].text))
                if index in cut
                else each
                for index, each in enumerate(said)
            )
            decision = decide(shown)
    if decision.needs_compaction:
        diagnostics.append(("provider_decides", decision.pressure, "dispatch"))
    return {
        "bounded_seqs": [
            each.seq for each, whole in zip(shown, said, strict=True) if each is not whole
        ],
        "diagnostics": [
            {"outcome": outcome, "pressure": pressure, "stage": stage}
            for outcome, pressure, stage in diagnostics
        ],
        "messages": len(shown),
        "payload_units": decision.payload_units,
        "through_seq": said[-1].seq,
        "tool_names": [tool.name for tool in offered],
    }
