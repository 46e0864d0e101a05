"""Golden values of every layer on hand-made cases: one summary line, and what is left of a fact."""

from __future__ import annotations

import pytest

from bench.facts import Fact
from bench.scoring import Scores, Share
from tests.hand_replays import replay_by_hand, scores_of, session_of, summary_of

PRESENT = [
    ("number", "80", "listens on 8080", False),
    ("number", "80", "listens on 80", True),
    ("path", "./src/a.py", "see src/a.py", True),
    ("path", "src/a.py", "see ./src/a.py", True),
    ("path", "src/a.py", "see src/a.pyc", False),
    ("number", "1,000", "at most 1000 rows", True),
    ("number", "1000 rows", "at most 1,000 rows", True),
    ("number", "30 seconds", "waits 30s", True),
    ("number", "30 seconds", "waits 30 minutes", False),
    ("identifier", "retryLimit", "mind retrylimit", False),
    ("identifier", "retryLimit", "mind retryLimit", True),
    ("decision", "An Append-Only Journal", "we took an append-only\njournal", True),
    ("error", "ECONNRESET", "fails with econnreset", True),
    ("next_step", "重新运行测试", "下一步：重新运行测试，再提交", True),
    ("constraint", "不超过４０行", "每页不超过40 行", True),
    ("command", "pytest -k tide", "then pytest -k tide_gauge", False),
    ("preference", "sage green", "likes evergreen", False),
]

CURRENT = [
    # value, stale value, what is left of both, outcome
    ("4500 ms", "3000 ms", "the timeout is 4,500 ms", "current_only"),
    ("4500 ms", "3000 ms", "the timeout went from 3000ms to 4500ms", "both"),
    ("4500 ms", "3000 ms", "the timeout is 3000 ms", "stale_only"),
    ("4500 ms", "3000 ms", "the timeout was discussed", "neither"),
    ("2.4.0", "2.4.0-rc2", "ships with 2.4.0-rc2", "stale_only"),
    ("2.4.0-rc3", "2.4.0-rc2", "ships with 2.4.0-rc3", "current_only"),
    ("周五", "周四", "改到周五", "current_only"),
    ("周五", "周四", "定在周四", "stale_only"),
]

NEGATIONS = [
    ("do not restart pier-api in north", "- restart pier-api in north", "contradicted"),
    ("do not restart pier-api in north", "- Don't restart pier-api in north", "current_only"),
    ("do not restart pier-api in north", "- never restart pier-api in north", "current_only"),
    ("do not restart pier-api in north", "restart pier-api in north is forbidden", "current_only"),
    ("do not restart pier-api in north", "- pier-api is slow", "neither"),
    (
        "do not restart pier-api in north",
        "- do not edit a.yaml\n- restart pier-api in north",
        "contradicted",
    ),
    (
        "do not restart pier-api in north",
        "Not now. Restart pier-api in north",
        "contradicted",
    ),
    (
        "do not restart pier-api in north",
        "Never restart pier-api in north. Later: restart pier-api in north?",
        "both",
    ),
    ("不要修改发布说明", "- 修改发布说明", "contradicted"),
    ("不要修改发布说明", "- 切勿修改发布说明", "current_only"),
    ("不要修改发布说明", "- 修改发布说明是禁止的", "current_only"),
    ("不要修改发布说明", "特别是：先修改发布说明", "contradicted"),
]


def judged(summary: str, said: str, **fact: object) -> Scores:
    """Scores after `said` has given way to a summary."""
    session = session_of(said, "Understood.", "Go on with it.", "Here you are.")
    planted = Fact("f", session.id, subject="it", source_seqs=(1,), **fact)  # type: ignore[arg-type]
    scores = scores_of(session, replay_by_hand(session, summary_of(summary, 2)), [planted])
    everything = scores_of(session, replay_by_hand(session), [planted])
    assert everything.retained == Share(1, 1), "the full history must hold the fact"
    return scores


@pytest.mark.parametrize(("kind", "value", "summary", "expected"), PRESENT)
def test_present(kind: str, value: str, summary: str, expected: bool) -> None:
    scores = judged(summary, f"Mind this: {value}.", kind=kind, value=value)
    assert scores.facts[0].is_present is expected
    assert scores.facts[0].currency is None
    assert scores.retained == Share(int(expected), 1)


@pytest.mark.parametrize(("value", "stale", "summary", "expected"), CURRENT)
def test_current(value: str, stale: str, summary: str, expected: str) -> None:
    said = f"It was {stale} before. Make it {value} from now on."
    scores = judged(summary, said, kind="update", value=value, stale=(stale,))
    assert scores.facts[0].currency == expected
    assert scores.currencies == {expected: 1}
    assert scores.retained == Share(int(expected in ("current_only", "both")), 1)
    assert scores.stale == Share(int(expected == "stale_only"), 1)


@pytest.mark.parametrize(("value", "summary", "expected"), NEGATIONS)
def test_negations(value: str, summary: str, expected: str) -> None:
    scores = judged(summary, f"Please {value}.", kind="negation", value=value)
    assert scores.facts[0].currency == expected
    assert scores.facts[0].is_present is (expected in ("current_only", "both"))
    assert scores.stale == Share(int(expected == "contradicted"), 1)


def test_negations_with_a_wrong_form_of_their_own() -> None:
    scores = judged(
        "the nightly job is run at noon",
        "The nightly job must never be run at noon.",
        kind="negation",
        value="never be run at noon",
        stale=("run at noon",),
    )
    assert scores.facts[0].currency == "contradicted"


def test_a_revived_old_value_is_stale_although_the_new_one_was_told_later() -> None:
    session = session_of(
        "The timeout is 3000 ms.", "ok", "Sorry: 4500 ms.", "ok", "Go on.", "Here you are."
    )
    update = Fact("f", session.id, "update", "timeout", "4500 ms", stale=("3000 ms",))
    seen = replay_by_hand(session, summary_of("timeout: 3000 ms", 4))
    outcome = scores_of(session, seen, [update]).facts[0]
    assert (outcome.is_present, outcome.currency) == (False, "stale_only")


def test_aliases_count_as_the_value() -> None:
    scores = judged(
        "uses ULIDs",
        "We take lexical ids.",
        kind="decision",
        value="lexical ids",
        aliases=("ULIDs",),
    )
    assert scores.retained == Share(1, 1)
