"""Processes that hang, die, print garbage, flood or leak: bounded, named, the replay goes on."""

import json
import os
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.engine_asking import MeteredAsk
from bench.events import Session
from bench.foreign.patience import FAILURES_MAX
from bench.foreign.processes import ForeignProcess, Limits, ProcessFailure, environment
from bench.history import History
from bench.models import make_model
from bench.observations import Replay
from bench.projection import Projection
from bench.providers.simulated import SimulatedProvider
from bench.registry import make_strategy
from bench.replay import replay
from bench.strategy import Budget
from tests.builders import long_session

SESSION = long_session(10)
SHORTER = """
def shorter(request):
    messages = request["messages"]
    system = [m for m in messages if m["role"] == "system"]
    at = request["request_at"]
    kept = messages[-2:] if messages[-1]["role"] == "tool" else messages[-1:]
    request = [] if at is None or messages[at] in kept else [messages[at]]
    return [*system, {"role": "user", "content": "[left out]"}, *request, *kept]
"""
HEADER = "import json, os, signal, subprocess, sys, time\n" + SHORTER


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """Writes a program and gives the command that runs it."""

    def write(body: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(HEADER + textwrap.dedent(body))
        return f"{sys.executable} {path}"

    return write


def _spec(command: str, settings: str = "") -> str:
    return f"exec:{json.dumps(command)}" + (f"({settings})" if settings else "")


def _replayed(command: str, settings: str = "timeout_s=1", session: Session = SESSION) -> Replay:
    strategy = make_strategy(_spec(command, settings)).strategy
    return replay(session, strategy, SimulatedProvider(make_model("offline"), 100_000), cuts=3)


def _is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def _ends_soon(number: int) -> bool:
    until = time.monotonic() + 5
    while _is_running(number) and time.monotonic() < until:
        time.sleep(0.02)
    return not _is_running(number)


ANSWER = "print(json.dumps({'messages': shorter(json.load(sys.stdin))}))\n"

WRONG = {
    "hangs": ("time.sleep(60)", "gave no answer within 0.3 s"),
    "hangs in the middle of an answer": (
        "print('{\"mess', end='', flush=True); time.sleep(60)",
        "gave no answer within 0.3 s",
    ),
    "dies": ("sys.exit('no room on the disk')", "ended with exit code 1; it said: no room on"),
    "dies by a signal": ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
    "answers and dies": (ANSWER + "sys.exit(3)", "ended with exit code 3"),
    "crashes": ("raise KeyError('section')", "it said: KeyError: 'section'"),
    "prints nothing": ("sys.stdin.read()", "it answered nothing"),
    "prints garbage": ("print('Loading model ... done')", "no JSON: 'Loading model ... done'"),
    "prints bytes": ("sys.stdout.buffer.write(bytes(range(256)))", "its answer is no JSON"),
    "prints a log before": ("print('ready')\n" + ANSWER, "its answer is no JSON: 'ready"),
    "prints half an answer": ("print('{\"messages\": [')", "its answer is no JSON"),
    "prints a list": ("print([])", "no JSON object but list"),
    "prints depth": ("print('[' * 200_000)", "its answer is no JSON"),
    "prints no number": ("print('{\"state\": NaN}')", "its answer is no JSON"),
    "speaks JSON-RPC": (
        'print(\'{"jsonrpc": "2.0", "id": 1, "result": {}}\')',
        "no list of messages; it has jsonrpc, id, result",
    ),
    "speaks a later protocol": ("print('{\"protocol\": 2}')", "speaks protocol 2, this is"),
    "says why not": ('print(\'{"error": "no model\\\\u001b[31m"}\')', "it says: no model"),
    "answers objects": ("print('{\"messages\": [1]}')", "message 0 is no object but int"),
    "answers no role": ('print(\'{"messages": [{"content": ""}]}\')', "has the role None"),
    "answers no ids": (
        'print(\'{"messages": [{"role": "tool", "content": ""}]}\')',
        "message 0 is a tool message without tool_call_id",
    ),
    "counts words": (
        'print(\'{"fired": false, "usage": {"input_tokens": "many"}}\')',
        "usage holds 'many', which is no number of tokens",
    ),
    "floods its complaints": (
        "while True: sys.stderr.write('w' * 65536 + '\\n')",
        "gave no answer within 1 s; it said: wwww",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_goes_wrong_is_named_and_the_replay_goes_on(
    name: str, program: Callable[[str], str]
) -> None:
    body, words = WRONG[name]
    started = time.monotonic()
    timeout_s = words.split(" within ")[1].split()[0] if " within " in words else "20"
    seen = _replayed(program(body), f"timeout_s={timeout_s}")
    assert [one.outcome for one in seen.compactions] == ["failed"] * FAILURES_MAX
    for one in seen.compactions:
        assert one.reason.startswith("no usable answer: ") and words in one.reason
        assert "\n" not in one.reason and "\x1b" not in one.reason and len(one.reason) < 400
    assert seen.stopped is None and len(seen.requests) == seen.requests_total
    assert time.monotonic() - started < 15


def test_after_failures_in_a_row_it_is_not_called_again(program: Callable[[str], str]) -> None:
    strategy = make_strategy(_spec(program("time.sleep(60)"), "timeout_s=0.2")).strategy
    provider = SimulatedProvider(make_model("offline"), 100_000)
    started = time.monotonic()
    seen = replay(long_session(20), strategy, provider, cuts=8)
    outcomes = [one.outcome for one in seen.compactions]
    assert outcomes == ["failed"] * FAILURES_MAX + ["suppressed"] * (8 - FAILURES_MAX)
    assert "not called again after 3 failures, the last: " in seen.compactions[-1].reason
    assert seen.retries.suppressed == 8 - FAILURES_MAX
    assert time.monotonic() - started < 8


def test_a_flood_of_complaints_beside_an_answer_is_drained(program: Callable[[str], str]) -> None:
    flood = "sys.stderr.write('w' * 5_000_000); sys.stderr.flush()\n"
    seen = _replayed(program(flood + ANSWER), "timeout_s=20")
    assert [one.outcome for one in seen.compactions] == ["accepted"] * 3


def test_a_process_that_reads_nothing_may_answer(program: Callable[[str], str]) -> None:
    session = long_session(10, words_per_result=3_000)  # more than a pipe holds
    seen = _replayed(program("print('{\"fired\": false}')"), "timeout_s=20", session)
    assert seen.compactions == () and seen.stopped is None


LEAKS = {
    "in its group": "subprocess.Popen(['sleep', '60'])",
    "in a session of its own": "subprocess.Popen(['sleep', '60'], start_new_session=True)",
    "without pipes": (
        "subprocess.Popen(['sleep', '60'], stdin=-3, stdout=-3, stderr=-3, start_new_session=True)"
    ),
}


@pytest.mark.parametrize("name", LEAKS)
@pytest.mark.parametrize("mode", ["once", "jsonl"])
def test_children_that_are_left_behind_are_ended(
    name: str, mode: str, program: Callable[[str], str], tmp_path: Path
) -> None:
    """Those that keep the pipes open don't hold the replay either."""
    body = f"child = {LEAKS[name]}\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
    if mode == "jsonl":
        body += "for line in sys.stdin:\n    messages = shorter(json.loads(line))\n"
        body += "    print(json.dumps({'messages': messages}), flush=True)\n"
    else:
        body += ANSWER
    started = time.monotonic()
    seen = _replayed(program(body), f"timeout_s=20, mode={mode}")
    assert [one.outcome for one in seen.compactions] == ["accepted"] * 3
    assert _ends_soon(int((tmp_path / "pid").read_text()))
    assert time.monotonic() - started < 15


def test_a_process_that_ignores_the_end_is_ended(
    program: Callable[[str], str], tmp_path: Path
) -> None:
    body = f"""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
    for line in sys.stdin:
        print(json.dumps({{"messages": shorter(json.loads(line))}}), flush=True)
    time.sleep(60)
    """
    seen = _replayed(program(body), "timeout_s=20, mode=jsonl")
    assert [one.outcome for one in seen.compactions] == ["accepted"] * 3
    assert _ends_soon(int((tmp_path / "pid").read_text()))


def test_one_process_is_kept_alive_and_gets_its_state_back(
    program: Callable[[str], str], tmp_path: Path
) -> None:
    body = f"""
    open({str(tmp_path / "starts")!r}, "a").write("x")
    calls = 0
    for line in sys.stdin:
        request = json.loads(line)
        calls += 1
        assert request["state"] == (None if calls == 1 else {{"calls": calls - 1}})
        print(json.dumps({{"messages": shorter(request), "state": {{"calls": calls}}}}), flush=True)
    """
    seen = _replayed(program(body), "timeout_s=20, mode=jsonl")
    assert [one.outcome for one in seen.compactions] == ["accepted"] * 3
    assert (tmp_path / "starts").read_text() == "x"


LINES = {
    "two at once": ('print(\'{"fired": false}\\n{"fired": false}\', flush=True)', "wasn't asked"),
    "a part of one": (
        "print('{\"fired\"', end='', flush=True); sys.exit(0)",
        "ended with exit code 0 in the middle of a line",
    ),
    "none": ("sys.exit(0)", "ended with exit code 0 before it answered"),
    "garbage": ("print('Loading', flush=True)", "its answer is no JSON: 'Loading'"),
}


@pytest.mark.parametrize("name", LINES)
def test_wrong_lines_cost_one_call_and_a_new_process_is_started(
    name: str, program: Callable[[str], str], tmp_path: Path
) -> None:
    body, words = LINES[name]
    marker = tmp_path / "was_here"
    code = f"""
    if not os.path.exists({str(marker)!r}):
        for line in sys.stdin:
            open({str(marker)!r}, "w")
            {body}
    for line in sys.stdin:
        print(json.dumps({{"messages": shorter(json.loads(line))}}), flush=True)
    """
    seen = _replayed(program(code), "timeout_s=20, mode=jsonl")
    failed = [one.reason for one in seen.compactions if one.outcome == "failed"]
    assert len(failed) == 1 and words in failed[0]
    assert seen.compactions[-1].outcome == "accepted"


def test_huge_answers_are_bounded(program: Callable[[str], str]) -> None:
    words = program("while True: print('w' * 65536)").split()
    process = ForeignProcess(words, environment((), {}), Limits(20, answer_bytes_max=1_000_000))
    with pytest.raises(ProcessFailure, match="answered more than 1,000,000 bytes"):
        process.whole_answer(b"")
    process.kill()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_SETTING"):
        monkeypatch.setenv(name, f"secret of {name}")


def test_no_keys_of_ours_are_handed_on(
    keys: None, program: Callable[[str], str], tmp_path: Path
) -> None:
    record = f"json.dump(dict(os.environ), open({str(tmp_path / 'seen')!r}, 'w'))\n"
    _replayed(program(record + ANSWER), "timeout_s=20, env=MY_SETTING")
    seen = json.loads((tmp_path / "seen").read_text())
    assert [value for value in seen.values() if "secret of" in value] == ["secret of MY_SETTING"]
    assert seen["PATH"] == os.environ["PATH"]


def test_nothing_passes_through_a_shell_unless_asked_for(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    command = f"echo '{{\"fired\": false}}'; touch {touched}"
    _replayed(command, "timeout_s=20")
    assert not touched.exists()
    _replayed(command, "timeout_s=20, shell=true")
    assert touched.exists()


def test_usage_that_is_reported_counts_as_the_summarisers(program: Callable[[str], str]) -> None:
    usage = "{'prompt_tokens': 70, 'completion_tokens': 7}"
    answer = f"print(json.dumps({{'messages': shorter(json.load(sys.stdin)), 'usage': {usage}}}))"
    seen = _replayed(program(answer), "timeout_s=20")
    assert [(c.ask_input_tokens, c.ask_output_tokens) for c in seen.compactions] == [(70, 7)] * 3
    assert seen.summariser_tokens == 3 * 77


def test_outside_a_replay_a_process_serves_one_call(
    program: Callable[[str], str], tmp_path: Path
) -> None:
    """A conversation that goes on has no end at which a process could be ended."""
    body = f"""
    open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
    for line in sys.stdin:
        print(json.dumps({{"messages": shorter(json.loads(line))}}), flush=True)
    """
    strategy = make_strategy(_spec(program(body), "mode=jsonl")).strategy
    view = Projection.whole(History(SESSION.events))
    budget = Budget(100_000, 0, 1, trigger="manual", stage="compact")
    ask = MeteredAsk(SimulatedProvider(make_model("offline"), 100_000))
    compacted = strategy.compact(view, budget, ask)
    assert compacted is not None and len(compacted.items) < len(view.items)
    assert _ends_soon(int((tmp_path / "pid").read_text()))
