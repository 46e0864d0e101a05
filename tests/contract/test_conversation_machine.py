"""Whatever happens in whatever order: the history stays, the projection keeps its promises.

Two conversations (A and B) on one file tell events, make requests, compact, rewind, change the
provider, crash at any statement and find damaged rows. A third one, opened anew after each step
over a copy of the file, is asked what stands.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bench.conversation import Conversation
from bench.conversation_records import ConversationError, StaleWrite
from bench.events import Event, Message, ToolCall
from bench.invariants import violations
from bench.observations import CompactionObservation
from bench.projection import Native, Projection
from strategies.layered import Layered
from strategies.layered.estimate import ESTIMATOR
from tests.conversation_parts import RoutedProvider, damage, opened, rows, shown
from tests.faulty_sqlite import FaultyConnection, connect_with, faulty
from tests.layered_parts import summary

ROUTES = ("one/small", "two/small")
# How many statements an operation makes, roughly: more would be crashes that never happen.
STATEMENTS = {"append": 5, "rewind": 16, "refresh": 6, "compact": 14, "request": 15}
NAMES = st.sampled_from(("A", "B"))

SEEN: Counter[str] = Counter()
"""What happened in all runs together: a machine that does nothing proves nothing."""

TEXTS = ("found it", "看一看 src/港口.py", "x" * 700, "## Goal\nnone", "a\u0301b <&> \u2028")

DAMAGES: dict[str, str] = {
    "row emptied": "UPDATE projections SET data = ''",
    "row removed": "DELETE FROM projections",
    "row of another place": "UPDATE projections SET position = position - 1",
    "row's id": "UPDATE projections SET id = 'x'",
    "V2 record": "UPDATE projections SET data = "
    "replace(data, '\"schema_version\":3', '\"schema_version\":2')",
    "row's text": "UPDATE projections SET data = replace(data, 'ship', 'sink')",
    "state": "UPDATE states SET data = '{'",
    "boundary": "UPDATE boundaries SET seq = 99999",
}
COMPLETION_DAMAGES: dict[str, Callable[[str], str]] = {
    "emptied": lambda text: "",
    "cut": lambda text: text[: len(text) // 2],
    "tampered": lambda text: text.replace("ship", "sink").replace("opaque", "clear"),
    "another version": lambda text: text.replace('"version":1', '"version":2', 1),
}


def units(projection: Projection) -> int:
    """The strategy's own measure."""
    return sum(ESTIMATOR.message_units(each) for each in projection.messages)


class ConversationMachine(RuleBasedStateMachine):
    """`told` is the history as it must be, `log` every row that was ever written."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="conversation-"))
        self.path = self.folder / "c.sqlite"
        self.kinds: dict[str, type[FaultyConnection]] = {"A": faulty(), "B": faulty()}
        self.open: dict[str, Conversation] = {}
        self.told: tuple[Event, ...] = ()
        self.log: list[tuple[Any, ...]] = []
        self.calls = 0
        self.is_native = False
        self.is_damaged = False

    @initialize(is_native=st.booleans())
    def begin(self, is_native: bool) -> None:
        self.is_native = is_native
        for name in self.kinds:
            self._open(name, ROUTES[0])
        self._tell("A", Message("system", "Keep the harbour."))
        self._tell("A", Message("user", "find the leak"))
        self.work("A", 40, 5)

    def teardown(self) -> None:
        for each in self.open.values():
            each.close()
        shutil.rmtree(self.folder)

    # What people and agents do

    @rule(name=NAMES, size=st.sampled_from((1, 30, 40)), count=st.integers(1, 6))
    def work(self, name: str, size: int, count: int) -> None:
        for _ in range(count):
            self.calls += 1
            call = ToolCall(f"c{self.calls}", "read")
            self._tell(name, Message("assistant", "", (call,)))
            self._tell(name, Message("tool", "found " * size, call_id=call.id))

    @rule(name=NAMES, text=st.sampled_from(TEXTS))
    def ask(self, name: str, text: str) -> None:
        self._tell(name, Message("user", text))

    @rule(name=NAMES, text=st.sampled_from(TEXTS))
    def answer(self, name: str, text: str) -> None:
        self._tell(name, Message("assistant", text))

    @rule(name=NAMES)
    def call_two(self, name: str) -> None:
        """Two calls, one result: pending, then dead, or answered late."""
        self.calls += 1
        first, second = f"c{self.calls}", f"d{self.calls}"
        self._tell(
            name, Message("assistant", "", (ToolCall(first, "read"), ToolCall(second, "read")))
        )
        self._tell(name, Message("tool", "one", call_id=first))

    @rule(name=NAMES)
    def answer_late(self, name: str) -> None:
        self._tell(name, Message("tool", "late", call_id=f"d{self.calls}"))

    @rule(name=NAMES)
    def hook(self, name: str) -> None:
        self._tell(name, Message("user", "<hook>checked</hook>"), is_meta=True)

    @rule(name=NAMES, count=st.integers(2, 6))
    def work_and_request(self, name: str, count: int) -> None:
        self.work(name, 40, count)
        self.request(name)

    @rule(name=NAMES)
    def request(self, name: str) -> None:
        self._compact(name, lambda it: it.request())

    @rule(name=NAMES)
    def compact(self, name: str) -> None:
        self._compact(name, lambda it: it.compact())

    @precondition(lambda self: len(self.told) > 20)
    @rule(name=NAMES, share=st.floats(0, 1))
    def rewind(self, name: str, share: float) -> None:
        conversation = self._current(name)
        through = max(2, round(share * len(self.told)))
        conversation.rewind(through)
        self.told = self.told[:through]
        SEEN["rewind"] += 1
        assert conversation.projection.head == ()

    @rule(name=NAMES, route=st.sampled_from(ROUTES))
    def switch(self, name: str, route: str) -> None:
        """Another provider; what it has accepted is its own (F9.3)."""
        conversation = self._current(name)
        known = {row[1] for row in rows(self.path, "boundaries")}
        conversation.switch(self._provider(route))
        SEEN["switch"] += 1
        if route not in known:
            assert conversation.engine.accepted is None

    @rule(name=NAMES)
    def restart(self, name: str) -> None:
        """The process ends and comes back: it is shown what it was shown before."""
        conversation = self._current(name)
        before, route = shown(conversation.projection), conversation.engine.accepted
        provider_route = self._route(conversation)
        conversation.close()
        again = self._open(name, provider_route)
        assert shown(again.projection)[:3] == before[:3]
        assert again.engine.accepted == route

    @rule(name=NAMES, is_manual=st.booleans(), steps=st.integers(0, 6))
    def both_compact(self, name: str, is_manual: bool, steps: int) -> None:
        """Two at once from one state: at most one wins, the other is told by name (F4.3)."""
        self.work(name, 30, steps) if steps else None
        other = "B" if name == "A" else "A"
        winner, loser = self._current(name), self._current(other)
        counts = len(winner.compactions), len(loser.compactions)
        for each in (winner, loser):
            each.compact() if is_manual else each.request()
        won = _accepted(winner.compactions[counts[0] :])
        lost = _accepted(loser.compactions[counts[1] :])
        if won:
            assert not lost
            for observation in loser.compactions[counts[1] :]:
                if observation.stage == "compact" and observation.outcome == "rejected":
                    SEEN["stale"] += "stale:" in observation.reason

    # What goes wrong

    @rule(
        name=NAMES,
        what=st.sampled_from(sorted(STATEMENTS)),
        share=st.floats(0, 1),
        is_lasting=st.booleans(),
        is_after=st.booleans(),
        is_restarted=st.booleans(),
    )
    def crash(
        self,
        name: str,
        what: str,
        share: float,
        is_lasting: bool,
        is_after: bool,
        is_restarted: bool,
    ) -> None:
        """The n-th statement fails, once or for good, before or after it was carried out."""
        conversation = self._current(name)
        event = Event(len(self.told) + 1, Message("assistant", "done"))
        old, new = self.told, self.told
        operation: Callable[[], object] = {
            "request": conversation.request,
            "compact": conversation.compact,
            "append": lambda: conversation.append(event),
            "rewind": lambda: conversation.rewind(2),
            "refresh": conversation.refresh,
        }[what]
        if what == "append":
            new = (*old, event)
        elif what == "rewind":
            new = old[:2]
        kind = self.kinds[name]
        fails_at = 1 + round(share * (STATEMENTS[what] - 1))
        kind.statements, kind.fails_at = 0, fails_at
        kind.is_lasting, kind.is_after = is_lasting, is_after
        with suppress(ConversationError):
            operation()
        SEEN[f"crash in {what}"] += kind.statements >= fails_at
        kind.fails_at = 0
        assert violations(conversation.projection) == ()
        if is_restarted:
            conversation.close()
            conversation = self._open(name, self._route(conversation))
        else:
            conversation.refresh()
        assert conversation.events in (old, new)
        self.told = conversation.events

    @precondition(lambda self: bool(rows(self.path, "states")))
    @rule(name=st.sampled_from(sorted(DAMAGES)))
    def damage_row(self, name: str) -> None:
        """One of the rows beside the log; where there is none of this kind, the state's."""
        try:
            damage(self.path, DAMAGES[name])
        except AssertionError:
            damage(self.path, DAMAGES["state"])
        SEEN["damaged row"] += 1
        self._reopen()

    @precondition(lambda self: any(row[2] == "compaction_completed" for row in self.log))
    @rule(
        name=st.sampled_from(sorted(COMPLETION_DAMAGES)), newest=st.booleans(), both=st.booleans()
    )
    def damage_completion(self, name: str, newest: bool, both: bool) -> None:
        """The only rows that are ever changed here; the machine knows which."""
        places = [i for i, row in enumerate(self.log) if row[2] == "compaction_completed"]
        place = places[-1] if newest else places[0]
        row = self.log[place]
        text = COMPLETION_DAMAGES[name](row[4])
        damage(self.path, "UPDATE log SET data = ? WHERE position = ?", text, row[1])
        if both:
            with suppress(AssertionError):
                damage(self.path, "UPDATE projections SET data = ?", text)
        self.log[place] = (*row[:4], text)
        self.is_damaged = True
        SEEN["damaged completion"] += 1
        self._reopen()

    # What must hold after every step

    @invariant()
    def the_log_only_grows(self) -> None:
        if not self.open:
            return
        log = rows(self.path)
        assert log[: len(self.log)] == self.log
        self.log = log

    @invariant()
    def what_stands_is_valid(self) -> None:
        if not self.open:
            return
        copy = self.folder / "copy.sqlite"
        shutil.copy(self.path, copy)
        for route in ROUTES:
            with opened(copy, self._provider(route), strategy=self._strategy()) as reader:
                assert reader.events == self.told
                self._check(reader.projection, route)
        for conversation in self.open.values():
            self._check(conversation.projection, self._route(conversation))

    def _check(self, projection: Projection, route: str) -> None:
        assert violations(projection) == ()
        assert all(item.route == route for item in projection.head if isinstance(item, Native)), (
            "F7.3"
        )
        whole = Projection.whole(projection.history, projection.stop)
        natives = sum(item.tokens for item in projection.head if isinstance(item, Native))
        assert units(projection) + 4 * natives <= units(whole)

    @invariant()
    def lineage_is_intact(self) -> None:
        """Each completion names the one it replaced, of the time since the last rewind."""
        ids: set[str] = {""}
        last = last_checkpoint = ""
        for _, _, kind, _, text in self.log:
            if kind == "rewind":
                ids, last, last_checkpoint = {""}, "", ""
            if kind == "compaction_completed":
                try:
                    record = json.loads(text)
                except ValueError:
                    continue
                assert record["previous_id"] in ids or self.is_damaged
                assert record["previous_id"] == last or self.is_damaged or self._has_refused()
                last = record["id"]
                ids.add(last)
                checkpoint = record["memory"]["checkpoint"]
                if not (self.is_native or self.is_damaged or self._has_refused()):
                    # The strategy's own lineage says the same.
                    assert checkpoint.get("previous_checkpoint_id", "") == last_checkpoint
                last_checkpoint = checkpoint["checkpoint_id"]

    def _has_refused(self) -> bool:
        """Whether a completion was ever refused, so that the next one names an older one."""
        return any('"failure":' in data for _, _, data in rows(self.path, "diagnostics"))

    # Inside

    def _strategy(self) -> Layered:
        return Layered(
            summary_tokens_max=100,
            result_tokens_max=120,
            compactor="native" if self.is_native else "text",
        )

    def _provider(self, route: str) -> RoutedProvider:
        """The second route has no native compaction, and its summariser often fails."""
        is_first = route == ROUTES[0]
        return RoutedProvider(
            route,
            window=500,
            replies=(summary(),) if is_first else ("nothing", summary(), "nothing", "nothing"),
            native_tokens=30 if is_first and self.is_native else None,
        )

    def _open(self, name: str, route: str) -> Conversation:
        self.open[name] = opened(
            self.path,
            self._provider(route),
            strategy=self._strategy(),
            connect=connect_with(self.kinds[name]),
        )
        return self.open[name]

    def _reopen(self) -> None:
        for name, each in list(self.open.items()):
            each.close()
            again = self._open(name, self._route(each))
            SEEN.update(f"refused {refusal.subject}" for refusal in again.refusals)

    @staticmethod
    def _route(conversation: Conversation) -> str:
        return conversation.provider.route

    def _current(self, name: str) -> Conversation:
        """The conversation, after it has read what the other one did."""
        conversation = self.open[name]
        conversation.refresh()
        assert conversation.events == self.told
        return conversation

    def _tell(self, name: str, message: Message, *, is_meta: bool = False) -> None:
        conversation = self.open[name]
        event = Event(len(self.told) + 1, message, is_meta=is_meta)
        try:
            conversation.append(event)
        except (StaleWrite, ValueError):
            # The other one told something first: nothing was lost, and it can be told now.
            SEEN["told late"] += 1
            self._current(name).append(event)
        self.told = (*self.told, event)

    def _compact(self, name: str, act: Callable[[Conversation], object]) -> None:
        conversation = self._current(name)
        before, count = conversation.projection, len(conversation.compactions)
        identity = conversation.checkpoint_id
        act(conversation)
        made = conversation.compactions[count:]
        SEEN.update(f"{each.outcome} {each.phase}" for each in made if each.stage == "compact")
        after = conversation.projection
        if _accepted(made):
            assert conversation.checkpoint_id != identity
            assert units(after) < units(before) or self.is_native
            SEEN["segments"] = max(SEEN["segments"], made[0].segments)
            SEEN["native"] += any(isinstance(item, Native) for item in after.head)
        else:
            assert shown(after)[:3] == shown(before)[:3]
            assert conversation.checkpoint_id == identity


def _accepted(made: list[CompactionObservation]) -> list[CompactionObservation]:
    return [each for each in made if each.outcome == "accepted" and each.stage == "compact"]


def test_a_conversation_keeps_its_promises_whatever_happens() -> None:
    run_state_machine_as_test(
        ConversationMachine,
        settings=settings(max_examples=100, stateful_step_count=30, deadline=None),
    )
    for wanted in (
        "accepted pre_turn",
        "accepted mid_turn",
        "accepted standalone",
        "rewind",
        "switch",
        "stale",
        "native",
        "told late",
        "crash in request",
        "crash in compact",
        "crash in append",
        "crash in rewind",
        "crash in refresh",
        "refused projection",
        "refused completion",
        "refused state",
        "refused boundary",
    ):
        assert SEEN[wanted], f"{wanted} never happened: {SEEN}"
    assert SEEN["segments"] > 1
