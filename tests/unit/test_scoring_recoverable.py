"""Recoverable: one search on a reference that the request shows, beside visible, at its price."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cli import main
from bench.events import Event, Message, Session
from bench.facts import Fact, Probe
from bench.facts_file import write_facts
from bench.formats.own import write_session
from bench.judging import Judge, recovery_tokens
from bench.models import OfflineModel
from bench.projection import Item, Kept, Native, Projection, Shortened, Written
from bench.providers.simulated import SimulatedProvider
from bench.replay import replay
from bench.scoring import Scores, Share, retention, retention_recoverable
from bench.scoring_recoverable import (
    LINE_CHARACTERS_MAX,
    MATCHES_MAX,
    READ_TOOL,
    REFERENCE_KIND,
    search,
    sha256_of,
)
from bench.tokens import count
from bench.verdict_table import table
from strategies.layered import Layered, bounding, history_read
from strategies.layered.source import SourceMessage
from tests.builders import session as built
from tests.generators import sessions
from tests.hand_replays import call, everything, pinned_only, replay_by_hand, scores_of, session_of

FILLER = "plain words without any meaning " * 600
VALUE = "src/tide_gauge.py"
LISTING = "\n".join([*(f"row {n} of nothing" for n in range(900)), f"see {VALUE}", FILLER[:3_000]])


def told(result: str = LISTING) -> Session:
    """A tool shows the value in event 3; it is needed by event 7, far behind."""
    return session_of(
        "Look around.",
        call("list", "{}", call_id="a"),
        Message("tool", result, call_id="a"),
        Message("assistant", FILLER),
        "Go on.",
        Message("assistant", FILLER),
        Message("assistant", f"I change {VALUE}."),
    )


def bounded(view: Projection, **changes: object) -> Projection:
    """Event 3 shortened as `layered` does it; `changes` falsify the reference."""
    if view.stop < 3:
        return view
    message = view.history.message(2)
    cut = bounding.shortened(SourceMessage(3, message), 200)
    reference = {**cut.reference, **changes}
    shown = replace(message, text=cut.text)
    items: list[Item] = [*view.items]
    items[2] = Shortened(view.history[2], shown, reference)
    return view.with_items(items)


def scored(session: Session, show: object = bounded, *facts: Fact) -> Scores:
    return scores_of(session, replay_by_hand(session, show), facts)  # type: ignore[arg-type]


def planted(value: str = VALUE, **more: object) -> Fact:
    return Fact("f", "by-hand", "path", "the gauge", value, **more)  # type: ignore[arg-type]


def test_the_constants_are_those_of_the_tool() -> None:
    assert (REFERENCE_KIND, READ_TOOL) == (bounding.REFERENCE_KIND, bounding.READ_TOOL)
    assert (MATCHES_MAX, LINE_CHARACTERS_MAX) == (history_read.MATCHES, history_read.LINE_RUNES_MAX)


LINES = st.text(st.sampled_from("aB\n \u00df\u0130\u4f60x\ud800"), max_size=60)


@given(text=LINES, query=st.text(st.sampled_from("aBx \u00df\u4f60"), min_size=1, max_size=3))
def test_f10_3_a_search_is_answered_as_the_tool_answers_it(text: str, query: str) -> None:
    event = Event(1, Message("tool", text, call_id="x"))
    made = search(event, query)
    assert sha256_of(text) == bounding.sha256_of(text)
    if not query.strip():
        assert made.lines == ()
        return
    answer = history_read.read_tool_result(made.arguments, history_read.effective([event]), "s")
    assert json.loads(made.page) == answer
    assert list(made.lines) == [match["text"] for match in answer.get("matches", [])]


def test_f10_3_pages_are_limited() -> None:
    text = "\n".join(f"{n} needle " + "x" * 600 for n in range(30))
    event = Event(1, Message("tool", text, call_id="x"))
    made = search(event, "NEEDLE")
    answer = history_read.read_tool_result(made.arguments, history_read.effective([event]), "s")
    assert json.loads(made.page) == answer
    assert len(made.lines) == MATCHES_MAX
    assert {len(line) for line in made.lines} == {LINE_CHARACTERS_MAX + len("...")}


def test_what_is_one_search_away_is_recoverable_and_not_visible() -> None:
    session = told()
    scores = scored(session, bounded, planted())
    assert scores.needed == Share(0, 1)
    assert scores.retained == Share(0, 1)
    assert (scores.needed_recoverable, scores.retained_recoverable) == (Share(1, 1), Share(1, 1))
    assert scores.lost_recoverable == Share(1, 1)
    assert [(one.origin, one.source_seq, one.at_seq) for one in scores.recoveries] == [
        ("planted", 3, 7),
        ("found", 3, 7),
    ]


def test_the_call_and_its_page_are_charged_in_true_tokens() -> None:
    session = told()
    one = scored(session).recoveries[0]
    made = search(session.events[2], VALUE)
    assert made.lines == (f"see {VALUE}",)
    assert one.call_tokens == count(READ_TOOL) + count(made.arguments)
    assert one.page_tokens == count(made.page)
    assert scored(session).tokens_recovery == one.call_tokens + one.page_tokens


def _unnamed(view: Projection) -> Projection:
    """The reference is beside the text, but the text doesn't show it."""
    shown = bounded(view)
    return shown.with_items(
        [
            replace(item, message=replace(item.message, text="shortened"))
            if isinstance(item, Shortened)
            else item
            for item in shown.items
        ]
    )


def _gone(view: Projection) -> Projection:
    """The group with the shortened result has given way to a summary that quotes the reference."""
    if view.stop < 4:
        return view
    quoted = Message("user", bounded(view).items[2].message.text)
    return view.with_items([Written(quoted, 1, 3), *view.items[3:]])


@pytest.mark.parametrize(
    "show",
    [
        lambda view: bounded(view, sha256="0" * 64),
        lambda view: bounded(view, tool_call_id="b"),
        lambda view: bounded(view, event_seq=4),
        lambda view: bounded(view, kind="another"),
        lambda view: bounded(view, read_tool="another"),
        _unnamed,
        _gone,
    ],
)
def test_f10_4_no_search_without_a_reference_that_is_shown_and_fits(show: object) -> None:
    scores = scored(told(), show, planted())
    assert scores.lost_recoverable == Share(0, 1)
    assert scores.retained_recoverable == scores.retained == Share(0, 1)
    assert (scores.recoveries, scores.tokens_recovery) == ((), 0)


@pytest.mark.parametrize(
    "result",
    [
        LISTING.replace(f"see {VALUE}", "x " * LINE_CHARACTERS_MAX + VALUE),
        LISTING.replace(f"see {VALUE}", f"{VALUE}c\n" * MATCHES_MAX + f"see {VALUE}"),
        LISTING.replace(f"see {VALUE}", "see src/tide\u200bgauge.py"),
    ],
    ids=["beyond the cut of the line", "after twenty other matches", "nowhere"],
)
def test_the_page_must_hold_the_value(result: str) -> None:
    scores = scored(told(result), bounded, planted())
    assert scores.retained_recoverable == Share(0, 1)
    assert scores.tokens_recovery == 0


def test_an_alias_is_searched_for_after_the_value() -> None:
    alias = planted("the gauge file", aliases=(VALUE,))
    assert scored(told(), bounded, alias).retained_recoverable == Share(1, 1)


def test_opaque_state_stays_unknown() -> None:
    def show(view: Projection) -> Projection:
        shown = [Native("simulated", '"sealed"', 1, 4, 10), *view.items[4:]]
        return view if view.stop < 5 else view.with_items(shown)

    scores = scored(told(), show, planted())
    assert scores.needed_recoverable == Share(0, 1, 1)
    assert scores.retained_recoverable == Share(0, 1, 1)
    assert scores.lost_recoverable == Share(0, 0)


def test_recoverable_retention_stands_between_the_same_controls() -> None:
    session = told()
    facts = [planted(), Fact("g", "by-hand", "text", "", "Go on.", probe=Probe(7))]
    middle, floor, ceiling = (
        scores_of(session, replay_by_hand(session, show), facts)
        for show in (bounded, pinned_only, everything)
    )
    assert retention(middle, floor, ceiling).value == 0
    assert retention_recoverable(middle, floor, ceiling).value == 1
    assert retention_recoverable(ceiling, floor, ceiling).value == 1
    assert retention_recoverable(floor, floor, ceiling).value == 0


@given(sessions(), st.integers(80, 400), st.booleans())
def test_searching_only_ever_adds(session: Session, tokens_max: int, keeps_newest: bool) -> None:
    def show(view: Projection) -> Projection:
        sources = [
            SourceMessage(item.event.seq, item.message)
            for item in view.items
            if isinstance(item, Kept)
        ]
        cut = bounding.bound(sources, tokens_max, int(keeps_newest))
        return view.shorten(
            {one.seq: one.text for one in cut.values()},
            {one.seq: one.reference for one in cut.values()},
        )

    scores = scores_of(session, replay_by_hand(session, show))
    assert scores.needed_recoverable.hits == scores.needed.hits + scores.lost_recoverable.hits
    assert scores.lost_recoverable.total == scores.needed.total - scores.needed.hits
    assert len(scores.recoveries) == scores.lost_recoverable.hits
    assert (scores.tokens_recovery > 0) == bool(scores.recoveries)
    for control in (everything, pinned_only):
        assert scores_of(session, replay_by_hand(session, control)).recoveries == ()


def _giant() -> Session:
    """One request whose newest result is far too large, so that only shortening helps."""
    rows = [f"row {n} holds nothing of note" for n in range(1_500)]
    lines = ["user: find the gauge", "call c0", "result c0: here", "call c1"]
    lines += ["result c1: " + "\n".join([*rows, f"see {VALUE}", *rows])]
    return built(*lines, f"assistant: I change {VALUE}.", name="giant")


def test_layered_leaves_a_way_back_and_the_row_says_so() -> None:
    session, facts = _giant(), [planted()]
    seen = replay(session, Layered(), SimulatedProvider(OfflineModel(), 12_000))
    row = Judge.of(session, facts).scores_of(seen, is_exercised=True)["row"]
    assert (row["retention"], row["retention_recoverable"]) == (0, 1)
    assert row["tokens_recovery"] == recovery_tokens(session, facts, seen) > 0
    sent = sum(request.tokens for request in seen.requests if request.is_served)
    assert row["tokens_sent"] == sent + seen.summariser_tokens


def test_tables_give_shares_as_means_and_tokens_as_sums() -> None:
    cells = [
        {"strategy": "s", "window": 9, "model": "m", "session": session, **figures}
        for session, figures in (
            ("a", {"recoverable": 0.5, "retention_recoverable": 0.8, "tokens_recovery": 30}),
            ("b", {"recoverable": None, "retention_recoverable": 0.4, "tokens_recovery": 12}),
        )
    ]
    (row,) = table(cells)
    assert row["recoverable"] == 0.5
    assert row["retention_recoverable"] == pytest.approx(0.6)
    assert row["tokens_recovery"] == 42


def test_compact_json_reports_the_tokens_of_recovery(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "giant.jsonl").open("w", encoding="utf-8") as stream:
        write_session(_giant(), stream)
    words = ["compact", str(tmp_path / "giant.jsonl"), "--window", "12000", "--json"]
    without_facts = _recovery(words, capsys)
    write_facts(tmp_path / "facts.jsonl", [replace(planted(), session="giant")])
    assert without_facts == 0
    seen = replay(_giant(), Layered(), SimulatedProvider(OfflineModel(), 12_000))
    assert _recovery(words, capsys) == recovery_tokens(_giant(), [planted()], seen) > 0


def _recovery(words: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    assert main([*words, "--strategy", "layered"]) == 0
    found = json.loads(capsys.readouterr().out)["tokens"]["recovery"]
    assert isinstance(found, int)
    return found
