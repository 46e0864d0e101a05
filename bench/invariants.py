"""Judgement: what the harness promises about every projection of every strategy (spec H1 to H5).

Each violation is a sentence that begins with the promise's name. The checks know the history and
the finished projection, not how a strategy made it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.events import Message
from bench.projection import Item, Kept, Projection, Shortened, Written, same_at_start
from bench.wire.checks import api_problems
from bench.wire.rendering import render


def violations(
    candidate: Projection,
    waived: frozenset[str] = frozenset(),
    *,
    on_the_wire: bool = True,
    sound_head: Sequence[Item] = (),
) -> tuple[str, ...]:
    """Broken promises of `candidate`, those named in `waived` ("H4" ...) left out.

    `sound_head` is a head over the same history in which nothing was found before: items with which
    both begin aren't compared with what was told once more.

    `on_the_wire` also renders the request and asks whether the APIs would accept it, which costs
    far more. What keeps the other promises renders to an acceptable request; that is proved by the
    conformance tests and counted anew for every stored replay (`bench.validity`), so the engine
    goes without.
    """
    runs = _runs(candidate.head)
    sound = same_at_start(sound_head, candidate.head)
    fresh = runs if not sound else _runs(candidate.head[sound:])
    found = [
        *_provenance(candidate, fresh),
        *_order(candidate, runs),
        *_whole_groups(candidate, runs),
        *_written_calls(candidate),
        *_pinned(candidate),
    ]
    if on_the_wire and not found:
        # A projection that is broken in itself can't be rendered meaningfully.
        found += _acceptable(candidate)
    return tuple(sentence for sentence in found if sentence[:2] not in waived)


class _Run(NamedTuple):
    """Neighbouring items of neighbouring events, or one item that was made (`first_seq` None).

    Whatever holds for a long head is checked where its runs begin and end.
    """

    items: Sequence[Item]
    first_seq: int | None

    @property
    def last_seq(self) -> int:
        return (self.first_seq or 0) + len(self.items) - 1


def _runs(items: Sequence[Item]) -> list[_Run]:
    runs: list[_Run] = []
    start = first = 0
    following = -1
    for index, item in enumerate(items):
        if isinstance(item, (Kept, Shortened)):
            seq = item.event.seq
            if seq == following:
                following += 1
                continue
            if index > start:
                runs.append(_Run(items[start:index], first))
            start, first, following = index, seq, seq + 1
        else:
            if index > start:
                runs.append(_Run(items[start:index], first))
            runs.append(_Run((item,), None))
            start, following = index + 1, -1
    if len(items) > start:
        runs.append(_Run(items[start:], first))
    return runs


def _provenance(candidate: Projection, runs: Sequence[_Run]) -> Iterator[str]:
    """H3: what claims to come from the history is what the history says."""
    history, stop = candidate.history, candidate.stop
    # The verbatim tail is the history itself, and so are the very items of the history.
    for run in runs:
        suspects: Sequence[Item] = run.items
        if run.first_seq is not None and run.first_seq >= 1 and run.last_seq <= stop:
            told = history.events(run.first_seq - 1, run.last_seq)
            suspects = [
                item
                for item, own in zip(run.items, told, strict=True)
                if type(item) is not Kept or item.event is not own
            ]
        for item in suspects:
            untrue = _untrue(candidate, item)
            if untrue is not None:
                yield untrue


def _untrue(candidate: Projection, item: Item) -> str | None:
    first, last = item.seqs
    if not 1 <= first <= last <= candidate.stop:
        return f"H3: an item stands for events {first} to {last} of {candidate.stop}"
    if isinstance(item, Shortened):
        told, shown = candidate.history[first - 1], item.message
        said = told.message
        if (item.event is not told and item.event != told) or (
            (said.role, said.calls, said.call_id) != (shown.role, shown.calls, shown.call_id)
        ):
            return f"H3: shortened event {first} changed more than its text"
    elif isinstance(item, Kept):
        told = candidate.history[first - 1]
        if item.event is not told and item.event != told:
            return f"H3: event {first} isn't what the history says"
    elif isinstance(item, Written) and not _says_something(item.message):
        return f"H5: written text for events {first} to {last} is empty"
    return None


def _says_something(message: Message) -> bool:
    if message.role == "tool":
        return True
    return bool(message.text.strip() or message.calls or message.attachments)


def _order(candidate: Projection, runs: Sequence[_Run]) -> Iterator[str]:
    """Events stand at most once and in the order in which they were told."""
    seen = 0
    for run in runs:
        if run.first_seq is None:
            continue
        for seq in range(run.first_seq, min(seen, run.last_seq) + 1):
            yield f"H5: event {seq} stands behind event {seen}"
        seen = max(seen, run.last_seq)
    for seq in range(candidate.tail_start + 1, min(candidate.stop, seen) + 1):
        yield f"H5: event {seq} stands behind event {seen}"


def _whole_groups(candidate: Projection, runs: Sequence[_Run]) -> Iterator[str]:
    """H1: of each group all members are shown, side by side, or none.

    What was typed or told while tools ran stands inside a group without being a member of it.
    """
    history = candidate.history
    last_start: int | None = None
    last_seq = 0
    # The verbatim tail is whole by itself; only where it begins needs a look.
    for run in (*runs, *_runs(_start_of_tail(candidate))):
        if run.first_seq is None:
            if last_start is not None and _continues(candidate, last_seq, last_start):
                yield f"H1: the group of event {last_start + 1} is cut behind event {last_seq}"
            last_start = None
            continue
        members = (
            seq
            for seq in range(run.first_seq, run.last_seq + 1)
            if not _is_guest(candidate, seq - 1)
        )
        first = next(members, None)
        if first is None:
            continue
        start = history.group_start(first - 1)
        if start != last_start:
            if last_start is not None and _continues(candidate, last_seq, last_start):
                yield f"H1: the group of event {last_start + 1} is cut behind event {last_seq}"
            if start != first - 1:
                yield f"H1: event {first} stands without the start of its group, event {start + 1}"
        elif _next_member(candidate, last_seq, start) not in (None, first):
            yield f"H1: event {last_seq + 1} is missing inside the group of event {start + 1}"
        # Groups are runs themselves: from here to the end of this one nothing can be cut.
        last_seq = run.last_seq
        while last_seq > first and _is_guest(candidate, last_seq - 1):
            last_seq -= 1
        last_start = history.group_start(last_seq - 1)
    if (
        last_start is not None
        and candidate.tail_start == candidate.stop
        and _continues(candidate, last_seq, last_start)
    ):
        yield f"H1: the group of event {last_start + 1} is cut behind event {last_seq}"


def _is_guest(candidate: Projection, position: int) -> bool:
    """True for an event that stands inside a group and belongs to none."""
    history = candidate.history
    return history.group_start(position) != position and history.result_wire_id(position) is None


def _start_of_tail(candidate: Projection) -> tuple[Item, ...]:
    """The tail's events up to the first that tells which group it begins in."""
    position = candidate.tail_start
    while position < candidate.stop and _is_guest(candidate, position):
        position += 1
    told = candidate.history.events(candidate.tail_start, min(position + 1, candidate.stop))
    return tuple(map(Kept, told))


def _next_member(candidate: Projection, last_seq: int, group_start: int) -> int | None:
    """The seq of the next result behind `last_seq` that belongs to the group; None without one."""
    history = candidate.history
    for position in range(last_seq, candidate.stop):
        if history.group_start(position) != group_start:
            return None
        if history.result_wire_id(position) is not None:
            return position + 1
    return None


def _continues(candidate: Projection, last_seq: int, group_start: int) -> bool:
    """True when a result behind `last_seq` still belongs to the group."""
    return _next_member(candidate, last_seq, group_start) is not None


def _written_calls(candidate: Projection) -> Iterator[str]:
    """H1: written calls have their written results directly behind them, and no others."""
    written = [item.message for item in candidate.head if type(item) is Written]
    if not any(message.calls or message.role == "tool" for message in written):
        return
    waiting: set[str] = set()
    first = last = 0
    for item in (*candidate.head, None):
        is_result = isinstance(item, Written) and item.message.role == "tool"
        if isinstance(item, Written) and is_result:
            first, last = item.seqs
            if item.message.call_id not in waiting:
                yield (
                    f"H1: a written tool result for events {first} to {last} has no call before it"
                )
            waiting.discard(item.message.call_id or "")
            continue
        if waiting:
            yield f"H1: {len(waiting)} written calls for events {first} to {last} have no result"
            waiting = set()
        if isinstance(item, Written):
            first, last = item.seqs
            waiting = {call.id for call in item.message.calls}


def _pinned(candidate: Projection) -> Iterator[str]:
    """H4: leading system messages stand first, the current request stands verbatim."""
    count = candidate.leading_system
    head = candidate.head if count <= len(candidate.head) else candidate.items[:count]
    for position in range(candidate.leading_system):
        if position >= len(head) or not _is_verbatim(head[position], position + 1):
            yield f"H4: leading system message {position + 1} isn't at its place verbatim"
    position_asked = candidate.request_position
    if position_asked is None or position_asked >= candidate.tail_start:
        return
    if not any(_is_verbatim(item, position_asked + 1) for item in candidate.head):
        yield f"H4: the current user request, event {position_asked + 1}, isn't there verbatim"


def _is_verbatim(item: Item, seq: int) -> bool:
    return isinstance(item, Kept) and item.event.seq == seq


def _acceptable(candidate: Projection) -> Iterator[str]:
    """H5: the rendered request is one that the APIs accept."""
    for problem in api_problems(render(candidate)):
        yield f"H5: {problem}"
