"""A compaction judged by its messages alone: what is kept, lost, invented and broken."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from bench.before_after import counts_by_kind, measure
from bench.events import Event, Message, Session
from bench.facts import Fact
from tests.builders import session
from tests.generators import sessions

_BEFORE = session(
    "system: Be terse.",
    "user: Deploy with deploy/rollout.sh. Never restart the primary.",
    "call a: I look at config/pool.toml.",
    "result a: pool_size = 4821 in config/pool.toml, was pool_size = 1177",
    "assistant: The pool has 4821 slots.",
    "user: And the timeout?",
    "call b",
    "result b: timeout_ms = 9125 in config/limits.toml",
    "user: Go on with the deployment.",
)
_FACTS = (
    Fact("pool", "x", "update", "slots of the pool", "4821", stale=("1177",)),
    Fact("rule", "x", "negation", "primary", "Never restart the primary"),
    Fact("wait", "x", "number", "timeout_ms", "9125", must_keep=True),
    Fact("never-said", "x", "number", "port", "65321"),
)


def _after(*lines: str) -> Session:
    return session(*lines, name="after")


def _outcomes(*lines: str) -> dict[str, tuple[bool | None, str | None]]:
    found = measure(_BEFORE, _after(*lines), _FACTS)
    return {one.fact: (one.is_present, one.currency) for one in found.after.scores.facts}


_NEWEST = "user: Go on with the deployment."


def test_facts_are_present_current_or_contradicted() -> None:
    kept = "user: Summary. Never restart the primary. The pool has 4821 slots; timeout_ms 9125."
    assert _outcomes("system: Be terse.", kept, _NEWEST) == {
        "pool": (True, "current_only"),
        "rule": (True, "current_only"),
        "wait": (True, None),
        "never-said": (False, None),
    }
    worse = "user: Summary. Restart the primary. pool_size is 1177."
    assert _outcomes("system: Be terse.", worse, _NEWEST) == {
        "pool": (False, "stale_only"),
        "rule": (False, "contradicted"),
        "wait": (False, None),
        "never-said": (False, None),
    }


def test_retention_lies_between_the_controls() -> None:
    half = _after("system: Be terse.", "user: Summary: 4821 slots, timeout 9125 ms.", _NEWEST)
    found = measure(_BEFORE, half, _FACTS)
    assert found.retention == pytest.approx(2 / 3)
    assert (found.reason, found.basis, found.not_told) == ("", "facts", ("never-said",))
    assert (found.ceiling.present.hits, found.floor.present.hits) == (3, 0)
    assert found.canaries[0] > 0


def test_nothing_compacted_keeps_everything_and_the_bare_request_nothing() -> None:
    whole = measure(_BEFORE, replace(_BEFORE, id="after"), _FACTS)
    assert (whole.retention, whole.problems) == (1.0, ())
    assert counts_by_kind(whole.projection) == {
        "kept": len(_BEFORE.events),
        "shortened": 0,
        "written": 0,
        "gone": 0,
    }
    bare = measure(_BEFORE, _after("system: Be terse.", _NEWEST), _FACTS)
    assert (bare.retention, bare.problems) == (0.0, ())
    assert bare.after.tokens == bare.floor.tokens


def test_a_value_beside_its_subject_is_bound() -> None:
    far = "nothing to see here " * 20
    apart = _after("system: Be terse.", f"user: timeout_ms matters. {far} and 9125", _NEWEST)
    beside = _after("system: Be terse.", "user: timeout_ms:\n9125", _NEWEST)
    assert measure(_BEFORE, apart, _FACTS).after.bound.hits == 0
    assert measure(_BEFORE, beside, _FACTS).after.bound.hits == 1


def test_what_was_never_said_is_invented() -> None:
    made_up = _after("system: Be terse.", "user: Summary: see config/ghost.toml, 9125.", _NEWEST)
    found = measure(_BEFORE, made_up, _FACTS)
    assert [one.text for one in found.after.scores.inventions] == ["config/ghost.toml"]


def test_cut_results_are_shortened_and_the_rest_is_written() -> None:
    cut = _after(
        "system: Be terse.",
        "call a: I look at config/pool.toml.",
        "result a: pool_size = 4821",
        "user: What happened before is gone.",
        _NEWEST,
    )
    found = measure(_BEFORE, cut, _FACTS)
    assert counts_by_kind(found.projection) == {"kept": 3, "shortened": 1, "written": 1, "gone": 5}
    assert found.problems == ()


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (("system: Be terse.", "result b: timeout_ms = 9125", _NEWEST), "orphaned result"),
        (("system: Be terse.", "call b", _NEWEST), "split group"),
        (("system: Be terse.", "result z: never asked", _NEWEST), "orphaned result"),
        (("user: Summary.", _NEWEST), "lost system prompt"),
        (("system: Be terse.", "user: Summary."), "lost newest request"),
        (("system: Be terse.", f"user: {'long ' * 900}", _NEWEST), "grew"),
    ],
)
def test_what_is_broken_is_named(lines: tuple[str, ...], kind: str) -> None:
    found = measure(_BEFORE, _after(*lines), _FACTS)
    assert [problem.kind for problem in found.problems] == [kind]


def test_a_call_that_was_open_before_may_stay_open() -> None:
    before = session("user: go", "call a", "result a: one", "call b")
    after = _after("user: go", "call b")
    assert measure(before, after).problems == ()


def test_without_anything_to_ask_for_there_is_no_verdict() -> None:
    found = measure(session("user: hello", "assistant: hello"), _after("user: hello"))
    assert found.retention is None
    assert found.reason.startswith("nothing was measured")


def test_values_that_were_used_again_are_found_without_facts() -> None:
    before = session(
        "user: Read config/pool.toml.",
        "call a: Reading.",
        "result a: pool_size = 4821",
        "user: How many slots?",
        "assistant: config/pool.toml says 4821.",
        "user: Thanks.",
    )
    lost = measure(before, _after("user: Summary: 4821 slots", "user: Thanks."))
    assert lost.basis == "found"
    assert {fact.value for fact in lost.facts} == {"config/pool.toml", "4821"}
    assert lost.retention == 0.5


@given(sessions())
@settings(max_examples=40)
def test_a_session_compared_with_itself_has_lost_nothing(given_session: Session) -> None:
    if not given_session.events:
        return
    found = measure(given_session, replace(given_session, id="after"))
    counts = counts_by_kind(found.projection)
    assert (counts["written"], counts["shortened"], counts["gone"]) == (0, 0, 0)
    assert found.after.present == found.ceiling.present
    assert found.retention in (None, 1.0)


@given(sessions())
@settings(max_examples=40)
def test_any_end_of_a_session_is_judged(given_session: Session) -> None:
    kept = given_session.events[len(given_session.events) // 2 :]
    if not kept:
        return
    written = Event(1, Message("user", "What was before is gone."))
    events = (written, *(replace(e, seq=i) for i, e in enumerate(kept, start=2)))
    found = measure(given_session, Session("after", events))
    assert found.after.present.hits <= found.ceiling.present.hits
    assert counts_by_kind(found.projection)["written"] >= 1
