"""`compaction-bench compact`: one session, one strategy, and what the model would be shown."""

from __future__ import annotations

import argparse
from typing import Any

from bench.cli.main import EXIT_FINE
from bench.cli.model_options import check_model, settings_of, tell_host
from bench.cli.money_options import limited
from bench.cli.output import harmless, print_json
from bench.engine_policy import policy_of
from bench.errors import UsageError
from bench.events import Session
from bench.facts_file import facts_beside
from bench.history import History
from bench.judging import recovery_tokens
from bench.loading import load_sessions
from bench.models import ModelSettings, make_model
from bench.observations import Replay
from bench.projection import Item, Kept, Native, Projection, Written
from bench.providers.simulated import SimulatedProvider
from bench.registry import NamedStrategy, check_ready, make_strategy
from bench.replay import replay
from bench.scoring_recoverable import has_references
from bench.strategy import Declined, strategy_for
from bench.survey import survey, window_for
from bench.tokens import count
from bench.wire.formats import FORMATS, Request
from bench.wire.native_states import NativeRefused, format_for
from bench.wire.rendering import render

_INFERRED = " (inferred by comparing messages)"


def compact(arguments: argparse.Namespace) -> int:
    """Replays one session and prints the projection of its last recorded request."""
    named = make_strategy(arguments.strategy)
    check_ready((named,))
    model = make_model(arguments.model)
    settings = check_model(model.name, settings_of(arguments))
    with limited(arguments, [model.name], settings) as limited_settings:
        return _compact(arguments, named, limited_settings)


def _compact(arguments: argparse.Namespace, named: NamedStrategy, settings: ModelSettings) -> int:
    model = make_model(arguments.model, settings)
    session = _one_session(arguments)
    try:
        strategy = strategy_for(named.strategy, session)
    except Declined as declined:
        reason = f"{named.name} has nothing to do: {declined.reason}"
        raise UsageError(f"session {session.id}: {reason}") from declined
    surveyed = survey(session)
    window = window_for(surveyed, arguments.window)
    tell_host(model.name, settings, surveyed.peak_tokens)
    provider = SimulatedProvider(
        model,
        window,
        tools=session.tools,
        seed=arguments.seed,
        ignore_window=policy_of(strategy).ignores_window,
    )
    seen = replay(session, strategy, provider, manual=arguments.manual)
    projection = _shown(session, seen, manual=arguments.manual)
    request = _request(projection, session, arguments.to)
    whole = provider.measure(Projection.whole(projection.history, projection.stop))
    document = _document(session, named.spec, window, seen, request)
    document["tokens"]["history"] = whole
    document["tokens"]["final"] = provider.measure(projection)
    document["tokens"]["recovery"] = _recovery_tokens(session, seen)
    is_inferred = getattr(strategy, "is_inferred", False)
    if arguments.json:
        if is_inferred:
            document["provenance"] = [{**one, "inferred": True} for one in request.provenance]
        print_json(document)
    elif arguments.diff:
        _print_diff(projection, is_inferred=is_inferred)
    else:
        _print_summary(document, projection, is_inferred=is_inferred)
    return EXIT_FINE


def _request(projection: Projection, session: Session, wanted: str | None) -> Request:
    """The request in the format that was asked for, else in one that can carry it."""
    states = [item.state for item in projection.head if isinstance(item, Native)]
    if wanted is None:
        wanted = format_for(states[0]) if states else "openai"
    try:
        return FORMATS[wanted](render(projection), session.tools)
    except NativeRefused as refused:
        raise UsageError(f"--to {wanted}: {refused}; give --to {format_for(states[0])}") from None


def _one_session(arguments: argparse.Namespace) -> Session:
    loaded = load_sessions([arguments.session], format=arguments.format)
    found = loaded.sessions
    if arguments.session_id is not None:
        found = tuple(one for one in found if one.id == arguments.session_id)
    if len(found) == 1:
        return found[0]
    if not loaded.sessions:
        reasons = "; ".join(f"{one.path}: {one.reason}" for one in loaded.rejected[:3])
        raise UsageError(f"{arguments.session}: no session could be read: {reasons}")
    names = ", ".join(one.id for one in loaded.sessions[:5])
    raise UsageError(
        f"{arguments.session}: holds {len(loaded.sessions)} sessions, name one of them with "
        f"--session-id: {names}{' ...' if len(loaded.sessions) > 5 else ''}"
    )


def _shown(session: Session, seen: Replay, *, manual: bool) -> Projection:
    """The projection of the last request, or the final one after a manual compaction."""
    if manual and seen.final is not None:
        return seen.final
    if not seen.requests:
        raise UsageError(f"session {session.id}: holds no assistant message, so no request is made")
    last = seen.requests[-1]
    return Projection(
        History(session.events[: last.stop]), seen.heads[last.head], last.tail_start, last.stop
    )


def _recovery_tokens(session: Session, seen: Replay) -> int:
    """What searches for facts and needed uses would have cost; nothing where there was no way."""
    if not has_references(seen):
        return 0
    return recovery_tokens(session, facts_beside([session.path]).get(session.id, ()), seen)


def _document(
    session: Session, spec: str, window: int, seen: Replay, request: Request
) -> dict[str, Any]:
    """The JSON shape of the command."""
    stopped = seen.stopped
    return {
        "session": session.id,
        "strategy": spec,
        "window": window,
        "requests": len(seen.requests),
        "stopped": stopped and {"at_request": stopped.at_request, "reason": stopped.reason},
        "compactions": [
            {
                "trigger": one.trigger,
                "phase": one.phase,
                "stage": one.stage,
                "generation": one.generation,
                "segments": one.segments,
                "covered_messages": one.covered_messages,
                "tokens_before": one.tokens_before,
                "tokens_after": one.tokens_after,
                "outcome": one.outcome,
                "reason": one.reason,
                "at_request": one.request,
                "estimate_before": one.estimate_before,
                "estimate_after": one.estimate_after,
                "details": one.details,
            }
            for one in seen.compactions
        ],
        "retries": {
            "overflow": seen.retries.overflow,
            "repair": seen.retries.repair,
            "replan": seen.retries.replan,
            "transport": seen.retries.transport,
            "suppressed": seen.retries.suppressed,
        },
        "tokens": {
            "history": 0,
            "final": 0,
            "peak": max((one.tokens for one in seen.requests if one.is_served), default=0),
            "sent": sum(one.tokens for one in seen.requests if one.is_served),
            "summariser": seen.summariser_tokens,
            "recovery": 0,
        },
        "system": request.system,
        "tools": request.tools,
        "projection": request.messages,
        "provenance": request.provenance,
    }


def _print_summary(document: dict[str, Any], projection: Projection, *, is_inferred: bool) -> None:
    tokens = document["tokens"]
    print(
        f"{document['strategy']} on {harmless(document['session'])}, window {document['window']:,}"
    )
    print(
        f"{document['requests']} requests, history {tokens['history']:,} tokens, shown "
        f"{tokens['final']:,}, peak {tokens['peak']:,}, summariser {tokens['summariser']:,}"
    )
    if document["stopped"]:
        stopped = document["stopped"]
        print(f"stopped at request {stopped['at_request']}: {harmless(stopped['reason'])}")
    for one in document["compactions"]:
        print(
            f"  request {one['at_request']}: {one['trigger']} {one['stage']}: {one['outcome']} "
            f"{one['tokens_before']:,} -> {one['tokens_after']:,} tokens, "
            f"{one['covered_messages']} messages covered"
            + (f" ({harmless(one['reason'], 120)})" if one["reason"] else "")
        )
    print(f"shown to the model{_INFERRED if is_inferred else ''}:")
    for item in projection.items:
        first, last = item.seqs
        place = f"{first}" if first == last else f"{first}-{last}"
        print(f"  {place:>9} {_kind(item):9} {item.message.role:9} {_about(item)}")


def _kind(item: Item) -> str:
    return type(item).__name__.lower()


def _about(item: Item) -> str:
    if isinstance(item, Native):
        return f"{item.tokens:,} tokens of opaque state for {item.route}"
    calls = ", ".join(f"{call.name}(...)" for call in item.message.calls)
    text = harmless(item.message.text, 60)
    return f"{count(item.message.text):>6,} tokens  {text} {harmless(calls, 40)}".rstrip()


def _print_diff(projection: Projection, *, is_inferred: bool) -> None:
    """One line for every event of the history: shown as it is, shortened, or gone."""
    if is_inferred:
        print(f"what became of every event{_INFERRED}:")
    shown = {
        item.event.seq: item for item in projection.items if not isinstance(item, Written | Native)
    }
    written = [item for item in projection.items if isinstance(item, Written | Native)]
    for event in projection.events:
        item = shown.get(event.seq)
        sign = "-" if item is None else "=" if isinstance(item, Kept) else "~"
        text = harmless(event.message.text, 90)
        print(f"{sign} {event.seq:>6} {event.message.role:9} {text}")
    for summary in written:
        print(f"+ {summary.seqs[0]}-{summary.seqs[1]} {summary.message.role}")
        for line in summary.message.text.splitlines():
            print(f"+     {harmless(line)}")
