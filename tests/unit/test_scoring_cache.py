"""Kept scores: the same as computed ones, for the same inputs only, and never a damaged one."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench import scoring_cache
from bench.events import Message, Session
from bench.facts import Fact
from bench.generator import generate_session
from bench.judging import Judge
from bench.models import make_model
from bench.observations import Replay
from bench.projection import Written
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.result_cache import ResultCache
from bench.scoring_keys import replay_key, session_key
from bench.session_index import SessionIndex


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("COMPACTION_BENCH_CACHE", str(tmp_path))
    monkeypatch.setenv(scoring_cache.SWITCH_VARIABLE, "on")
    scoring_cache.shared.cache_clear()
    yield tmp_path / "scores"
    scoring_cache.shared.cache_clear()


def _case(spec: str = "head_tail") -> tuple[Session, tuple[Fact, ...], Replay]:
    session, facts = generate_session(kind="coding", language="en", events=160, seed=5)
    provider = SimulatedProvider(make_model("offline"), 8_000, tools=session.tools)
    return session, tuple(facts), replay(session, make_strategy(spec).strategy, provider)


def test_second_judge_looks_nothing_up_and_says_the_same(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, facts, seen = _case()
    first = Judge.of(session, facts)
    scores, uses = first.scores_of(seen, is_exercised=True), first.uses
    assert uses
    assert scores["detail"]["visible"]

    def refuse(*arguments: object) -> None:
        raise AssertionError("everything was known")

    monkeypatch.setattr(SessionIndex, "__init__", refuse)
    again = Judge.of(session, facts)
    assert again.uses == uses
    assert json.dumps(again.scores_of(seen, is_exercised=True)) == json.dumps(scores)


def test_switched_off_nothing_is_written(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(scoring_cache.SWITCH_VARIABLE, "off")
    scoring_cache.shared.cache_clear()
    session, facts, seen = _case()
    Judge.of(session, facts).scores_of(seen, is_exercised=True)
    assert not kept.exists()


def test_any_other_input_is_another_key() -> None:
    session, _, seen = _case()
    keys = {replay_key(session, seen)}
    request = seen.requests[-1]._replace(tokens=seen.requests[-1].tokens + 1)
    keys.add(replay_key(session, replace(seen, requests=(*seen.requests[:-1], request))))
    keys.add(replay_key(session, replace(seen, compactions=seen.compactions[1:])))
    keys.add(replay_key(session, replace(seen, requests_total=seen.requests_total + 1)))
    head = next(head for head in seen.heads if any(isinstance(item, Written) for item in head))
    changed = tuple(
        replace(item, message=Message(item.message.role, item.message.text + " "))
        if isinstance(item, Written)
        else item
        for item in head
    )
    keys.add(replay_key(session, replace(seen, heads=(*seen.heads, changed))))
    keys.add(replay_key(session, replace(seen, heads=(*seen.heads, head))))
    assert len(keys) == 6
    assert replay_key(session, replace(seen, final=None)) in keys


def test_key_of_a_session_is_its_content() -> None:
    session, _, _ = _case()
    event = session.events[40]
    variants = [
        replace(event, message=replace(event.message, text=event.message.text + "!")),
        replace(event, message=replace(event.message, call_id="another")),
        replace(event, is_meta=not event.is_meta),
        replace(event, timestamp=1.5),
    ]
    keys = {session_key(session)}
    for variant in variants:
        events = (*session.events[:40], variant, *session.events[41:])
        keys.add(session_key(replace(session, events=events)))
    keys.add(session_key(replace(session, tools=session.tools[1:])))
    assert len(keys) == len(variants) + 2
    assert session_key(replace(session, id="renamed")) in keys


def test_damaged_result_is_none(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    cache.add("abcd", {"row": [1, None, 0.1]})
    assert cache.find("abcd") == {"row": [1, None, 0.1]}
    [path] = tmp_path.glob("*/*")
    whole = path.read_bytes()
    for damaged in (b"", whole[:10], whole[:-1], whole[:20] + b"\0" + whole[21:], whole + b" "):
        path.write_bytes(damaged)
        assert cache.find("abcd") is None
    assert cache.find("none") is None


def test_oldest_results_go_when_there_is_too_much(tmp_path: Path) -> None:
    for number in range(8):
        # A new process each time, so that each looks how much there is.
        cache = ResultCache(tmp_path, bytes_max=40_000)
        cache.add(f"{number:02}key", os.urandom(5_000).hex())
        os.utime(next(tmp_path.glob(f"{number:02}/*")), (number, number))
        cache.find("00key")
    found = {path.name for path in tmp_path.glob("*/*")}
    assert "00key" in found, "used lately"
    assert "01key" not in found
    assert "07key" in found
    assert sum(path.stat().st_size for path in tmp_path.glob("*/*")) <= 40_000


def test_folder_that_cannot_be_made_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = ResultCache(tmp_path / "file" / "scores")
    cache.add("abcd", [1])
    assert cache.find("abcd") is None
