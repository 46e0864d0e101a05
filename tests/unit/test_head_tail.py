"""Head/tail summary clause by clause, through the engine and the simulated provider."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from bench.engine import Engine
from bench.events import Message, Session, ToolDefinition
from bench.history import History
from bench.models import Completion, OfflineModel
from bench.projection import Kept, Projection, Shortened, Written
from bench.provider import ProviderError
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from strategies.head_tail import NO_SUMMARY, PRESETS, HeadTail
from strategies.head_tail.estimate import messages_tokens
from strategies.head_tail.state import STATE_HEADING, SUMMARY_LABEL
from tests.builders import session

ZERO = PRESETS["zero_seed"]
assert isinstance(ZERO, HeadTail)


@dataclass
class Answers:
    """A model that says the next of its lines, the last one for ever; None is a broken server."""

    lines: Sequence[str | None] = ("a summary",)
    requests: list[tuple[Message, ...]] = field(default_factory=list)
    caps: list[int] = field(default_factory=list)
    name: str = "answers"
    is_stand_in: bool = True

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        line = self.lines[min(len(self.requests), len(self.lines) - 1)]
        self.requests.append(tuple(messages))
        self.caps.append(output_tokens_max)
        if line is None:
            raise ProviderError("server", "the server is on fire", status=500)
        return Completion(line)


class Run:
    """One strategy on one growing history."""

    def __init__(
        self,
        strategy: HeadTail,
        window: int,
        *lines: str | None,
        tools: tuple[ToolDefinition, ...] = (),
    ) -> None:
        self.model = Answers(lines or ("a summary",))
        provider = SimulatedProvider(self.model, window, tools=tools)
        self.engine = Engine(strategy, provider, Session("run", (), tools))
        self.history = History()
        self.view = Projection.whole(self.history)

    def say(self, *lines: str) -> None:
        for event in session(*lines).events:
            self.history.append(replace(event, seq=len(self.history) + 1))
        self.view = self.view.advance()

    def prepare(self) -> tuple[str, ...]:
        """One request: what its stages came to."""
        prepared = self.engine.prepare(self.view, 0)
        self.view = prepared.lasting
        return prepared.outcomes

    def recover(self) -> bool:
        recovery = self.engine.recover(self.view, 0)
        if recovery.prepared is not None:
            self.view = recovery.prepared.lasting
        return recovery.prepared is not None

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.view.messages]


def steps(first: int, last: int, size: int = 400) -> list[str]:
    """Steps of one call each; a result costs `size` + 4 estimated tokens, a step `size` + 15."""
    lines = []
    for step in range(first, last + 1):
        lines += [f"call c{step}", f"result c{step}: " + "abcd" * size]
    return lines


def kept_positions(view: Projection) -> list[int]:
    return [item.event.seq - 1 for item in view.items if isinstance(item, Kept)]


def test_z1_shape_is_system_then_summary_then_suffix() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000)
    run.say("system: s", "user: go", *steps(1, 4))
    assert run.prepare() == ("nothing", "accepted")
    assert [type(item) for item in run.view.items] == [Kept, Written, Kept, Kept]
    assert kept_positions(run.view) == [0, 8, 9]
    assert run.view.items[1].seqs == (2, 8)


def test_z2_every_leading_system_message_stays_and_no_later_one() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000)
    run.say("system: one", "system: two", "user: go", "system: late", *steps(1, 4))
    run.prepare()
    assert run.texts[:3] == ["one", "two", f"{SUMMARY_LABEL}\na summary"]
    assert "late" not in run.texts


def test_z3_summary_is_a_labelled_user_message_in_prose() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000, "\u3000\x85 it went well \n")
    run.say("user: go", *steps(1, 4))
    run.prepare()
    assert run.view.messages[0] == Message("user", f"{SUMMARY_LABEL}\nit went well")


def test_z3_summariser_sees_the_prompt_and_exactly_the_covered_messages() -> None:
    run = Run(replace(ZERO, preserve_last=2, prompt="Sum it up."), 2_000)
    run.say("system: s", "user: go", *steps(1, 4))
    covered = run.view.messages[1:8]
    run.prepare()
    (request,) = run.model.requests
    assert request[0] == Message("system", "Sum it up.")
    assert request[1:-1] == covered
    assert request[-1].role == "user"


def test_z3_the_prompt_asks_for_a_summary_in_a_way_that_stand_ins_understand() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000)
    run.say("user: Fix src/app.py. Never commit to main.", *steps(1, 4))
    run.prepare()
    (request,) = run.model.requests
    text = OfflineModel().complete(request, output_tokens_max=100, seed=0).text
    assert "Never commit to main." in text
    assert "Copy names" not in text


@pytest.mark.parametrize(("preserve_last", "kept"), [(1, 2), (2, 2), (3, 4), (8, 8)])
def test_z4_last_messages_stay_verbatim(preserve_last: int, kept: int) -> None:
    run = Run(replace(ZERO, preserve_last=preserve_last), 3_000)
    run.say("user: go", *steps(1, 6))
    tail = run.view.messages[-kept:]
    run.prepare()
    assert run.view.messages[1:] == tail


def test_z5_state_travels_verbatim_behind_the_summary() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000)
    run.say("user: # A instructions for /b\n<INSTRUCTIONS>Use <tabs>.</INSTRUCTIONS>", *steps(1, 4))
    run.prepare()
    _, state = run.texts[0].split(f"\n\n{STATE_HEADING}\n")
    assert state == (
        '{"project_instructions":[{"source":"A instructions for /b","body":"# A instructions for '
        '/b\\n\\n\\u003cINSTRUCTIONS\\u003eUse \\u003ctabs\\u003e.\\u003c/INSTRUCTIONS\\u003e"}]}'
    )


def test_z5_state_of_an_earlier_summary_is_carried_into_the_next() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000)
    run.say("user: # A instructions for /b\n<INSTRUCTIONS>Use tabs.</INSTRUCTIONS>", *steps(1, 4))
    run.prepare()
    run.say(*steps(5, 8))
    assert run.prepare() == ("nothing", "accepted")
    assert run.view.items[0].seqs == (1, 15)
    assert run.texts[0].count("Use tabs.") == 1


@pytest.mark.parametrize(("window", "outcomes"), [(83, ()), (82, ("nothing", "nothing"))])
def test_z6_fires_strictly_above_the_threshold_tools_included(
    window: int, outcomes: tuple[str, ...]
) -> None:
    # Request 0 + 4, call 0 + 4 and 1 + 2 + 4, result 40 + 4; the tool 2 + 1 + 4: 59 + 7.
    tool = ToolDefinition("readfile", "abcd")
    run = Run(ZERO, window, tools=(tool,))
    run.say("user: abc", "call c", "result c: " + "abcd" * 40)
    assert messages_tokens(run.view.messages) == 59
    assert run.engine.size(run.view) == 66
    assert run.engine.threshold == int(window * 0.8)
    assert run.prepare() == outcomes


def test_z7_no_summary_is_paid_where_pruning_is_enough() -> None:
    strategy = replace(ZERO, protect=1_000, reclaim=2_000, min_body=500, preserve_last=2)
    run = Run(strategy, 5_000)
    run.say("user: go", *steps(1, 5, size=800))
    assert run.prepare() == ("accepted",)
    assert run.model.requests == []
    assert [isinstance(item, Shortened) for item in run.view.items] == (
        [False, False, True, False, True, False, True, False, False, False, False]
    )
    assert run.engine.low_water == run.engine.size(run.view) <= run.engine.threshold


def test_z7_pruned_results_stay_pruned_when_the_summary_fails() -> None:
    strategy = replace(ZERO, protect=1_000, reclaim=2_000, min_body=500, preserve_last=2)
    run = Run(strategy, 2_100, None)
    run.say("user: go", *steps(1, 5, size=800))
    assert run.prepare() == ("accepted", "failed")
    assert sum(isinstance(item, Shortened) for item in run.view.items) == 3
    assert run.engine.compactions[-1].reason == "the server is on fire"


def test_z8_no_second_summary_until_the_history_has_grown() -> None:
    run = Run(replace(ZERO, preserve_last=8), 2_000)
    run.say("user: " + "abcd" * 100, *steps(1, 6))
    assert run.prepare() == ("nothing", "accepted")
    assert run.engine.size(run.view) > run.engine.threshold
    assert run.prepare() == ()
    run.say(*steps(7, 7))
    assert run.prepare() == ("nothing", "accepted")


def test_z8_a_useless_summary_moves_the_mark_and_a_failed_one_does_not() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000, None, "word " * 3_000)
    run.say("user: go", *steps(1, 4))
    before = run.view
    assert run.prepare() == ("nothing", "failed")
    assert run.engine.low_water == 0
    assert run.prepare() == ("nothing", "rejected")
    assert run.engine.low_water == run.engine.size(before)
    assert run.view == before
    assert run.prepare() == ()
    assert len(run.model.requests) == 2


def test_z8_the_mark_belongs_to_one_turn() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000, "word " * 3_000)
    run.say("user: go", *steps(1, 4))
    run.prepare()
    assert run.prepare() == ()
    run.engine.begin_turn()
    assert run.prepare() == ("nothing", "rejected")


def chinese_session() -> Session:
    body = "窗口大小由配置文件决定，修改之后需要重新启动服务。" * 12
    lines = ["system: 简短回答。", "user: 请检查日志。"]
    for step in range(30):
        lines += [f"call c{step}", f"result c{step}: {step} {body}"]
    return session(*lines, "assistant: 完成。")


def test_z9_overflow_by_underestimation_is_rescued_and_counted() -> None:
    strategy = make_strategy("head_tail(estimator=chars, preserve_last=2)").strategy
    result = replay(chinese_session(), strategy, SimulatedProvider(OfflineModel(), 4_000))
    assert result.stopped is None
    assert result.retries.overflow == 1
    provider_triggered = [c for c in result.compactions if c.trigger == "provider"]
    assert [(c.stage, c.outcome) for c in provider_triggered] == [("summarise", "accepted")]


def test_z9_without_underestimation_nothing_overflows() -> None:
    result = replay(
        chinese_session(), HeadTail(preserve_last=2), SimulatedProvider(OfflineModel(), 4_000)
    )
    assert result.stopped is None
    assert result.retries.overflow == 0
    assert {c.trigger for c in result.compactions} == {"budget"}


@pytest.mark.parametrize(
    ("error", "by_class", "by_text"),
    [
        (ProviderError("input_overflow", "E17"), True, False),
        (ProviderError("unknown", "Prompt is TOO LONG"), False, True),
        (ProviderError("rate_limit", "too many tokens per minute"), False, True),
        (ProviderError("media", "400 this image exceeds the maximum"), False, False),
    ],
)
def test_z9_overflow_is_told_by_class_or_by_text(
    error: ProviderError, by_class: bool, by_text: bool
) -> None:
    assert Run(HeadTail(), 100).engine.is_overflow(error) is by_class
    assert Run(HeadTail(overflow="substrings"), 100).engine.is_overflow(error) is by_text


def test_z9_recovery_works_at_any_size_and_never_prunes() -> None:
    strategy = replace(ZERO, protect=0, reclaim=1, min_body=1, preserve_last=4)
    run = Run(strategy, 100_000)
    run.say("user: go", *steps(1, 4))
    assert run.prepare() == ()
    assert run.recover()
    assert not any(isinstance(item, Shortened) for item in run.view.items)
    assert run.engine.low_water == run.engine.size(run.view)


def test_z10_recovers_once_a_turn() -> None:
    run = Run(replace(ZERO, preserve_last=2), 100_000)
    run.say("user: go", *steps(1, 4))
    assert run.recover()
    run.say(*steps(5, 8))
    assert not run.recover()
    run.engine.begin_turn()
    assert run.recover()


def test_z11_a_result_that_is_no_smaller_keeps_the_allowance() -> None:
    run = Run(replace(ZERO, preserve_last=2), 100_000, "word " * 3_000, "short")
    run.say("user: go", *steps(1, 4))
    assert not run.recover()
    assert run.recover()


def test_z11_a_summariser_error_spends_the_allowance() -> None:
    run = Run(replace(ZERO, preserve_last=2), 100_000, " \n ", "short")
    run.say("user: go", *steps(1, 4))
    assert not run.recover()
    assert run.engine.compactions[-1].reason == NO_SUMMARY
    assert not run.recover()


def test_z12_tokens_of_the_summariser_count_even_when_its_summary_is_useless() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000, "word " * 3_000)
    run.say("user: go", *steps(1, 4))
    run.prepare()
    tried = run.engine.compactions[-1]
    assert tried.outcome == "rejected"
    assert tried.asked == 1
    assert tried.ask_input_tokens > 100
    assert tried.ask_output_tokens > 100


def test_z12_a_paid_summary_that_changes_nothing_is_recorded() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000)
    run.say("user: go", *steps(1, 1), *steps(2, 2, size=1_800))
    assert run.prepare() == ("nothing", "accepted")
    run.engine.begin_turn()
    assert run.prepare() == ("nothing", "rejected")
    assert [tried.asked for tried in run.engine.compactions] == [1, 1]


def test_z13_the_cut_walks_back_to_an_assistant_message() -> None:
    run = Run(replace(ZERO, preserve_last=2), 2_000)
    run.say(
        *("user: " + "abcd" * 700, "call a", "result a: x", "call b c"),
        *("result b: " + "abcd" * 400, "result c: " + "abcd" * 600),
    )
    run.prepare()
    assert kept_positions(run.view) == [3, 4, 5]


def test_z13_without_an_assistant_message_nothing_can_be_cut() -> None:
    run = Run(replace(ZERO, preserve_last=2), 100)
    run.say(*["user: " + "abcd" * 40] * 5)
    assert run.prepare() == ("nothing", "nothing")
    assert run.model.requests == []


def test_h4_the_current_request_stays_right_behind_the_summary() -> None:
    run = Run(HeadTail(preserve_last=2, reclaim=100_000), 2_000)
    run.say("user: old", "assistant: done", "user: fix it, please", *steps(1, 4))
    run.prepare()
    assert kept_positions(run.view) == [2, 9, 10]
    assert run.texts[0].startswith(SUMMARY_LABEL)
    run.say(*steps(5, 8))
    run.prepare()
    assert kept_positions(run.view) == [2, 17, 18]


def test_h4_nothing_is_asked_where_the_middle_is_the_current_request_alone() -> None:
    for strategy, outcome in ((HeadTail(preserve_last=2), "nothing"), (ZERO, "accepted")):
        run = Run(replace(strategy, preserve_last=2), 1_000)
        run.say("user: " + "abcd" * 300, *steps(1, 1, size=600))
        assert run.prepare() == ("nothing", outcome)


def test_h4_presets_of_the_original_waive_the_request_and_say_why() -> None:
    assert dict(HeadTail().policy.waives) == {}
    for preset in PRESETS.values():
        assert isinstance(preset, HeadTail)
        assert [name for name, reason in preset.policy.waives if reason] == ["H4"]


def test_summaries_are_capped_in_small_windows_and_by_the_parameter() -> None:
    for strategy, cap in ((HeadTail(), 500), (HeadTail(summary_tokens_max=7), 7)):
        run = Run(replace(strategy, preserve_last=2, reclaim=100_000), 4_000)
        run.say("user: go", *steps(1, 8))
        run.prepare()
        assert run.model.caps == [cap]


@pytest.mark.parametrize(
    "parameters",
    [
        {"preserve_last": 0},
        {"threshold": 0.0},
        {"threshold": 1.5},
        {"protect": -1},
        {"reclaim": -1},
        {"min_body": -1},
        {"prune_spares": -1},
        {"summary_tokens_max": 0},
    ],
)
def test_impossible_parameters_are_refused_by_name(parameters: dict[str, float]) -> None:
    (name,) = parameters
    with pytest.raises(ValueError, match=name):
        HeadTail(**parameters)  # type: ignore[arg-type]


def test_presets_hold_the_constants_of_the_original_at_any_window() -> None:
    assert [
        (p.threshold, p.preserve_last) for p in PRESETS.values() if isinstance(p, HeadTail)
    ] == [
        (0.8, 8),
        (0.7, 6),
    ]
    run = Run(ZERO, 1_000)
    run.say("user: go", *steps(1, 12, size=200))
    assert run.prepare() == ("nothing", "accepted")
    scaled = Run(replace(ZERO, protect=None, reclaim=None), 1_000)
    scaled.say("user: go", *steps(1, 12, size=200))
    assert scaled.prepare()[0] == "accepted"


def test_a_long_session_is_served_in_a_small_window() -> None:
    words = "the build passes again because the path in the configuration was wrong "
    lines = []
    for step in range(120):
        lines += [f"call c{step}", f"result c{step}: " + words * (30 if step % 3 == 0 else 12)]
    told = session("system: s", "user: go", *lines, "assistant: done")
    result = replay(told, HeadTail(), SimulatedProvider(OfflineModel(), 8_000))
    assert result.stopped is None
    assert {(c.stage, c.outcome) for c in result.compactions} >= {
        ("prune", "accepted"),
        ("summarise", "accepted"),
    }
    assert all(not c.violations for c in result.compactions)
