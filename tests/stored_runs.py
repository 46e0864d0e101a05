"""Small real runs, replayed and stored by the runner, for tests of what reads a run folder."""

from __future__ import annotations

from pathlib import Path

from bench.events import Event, Message, Session, ToolCall
from bench.facts import Fact, Probe
from bench.runner import RunOptions, execute, plan_run, tasks_of
from bench.store import Run

RULE = "Never write to the bucket prod-ledger-7, it is audited."


def working_session(name: str, *, steps: int = 24, note: str = "") -> Session:
    """A rule, then steps of reading long files, then a new request whose edit needs an early
    path."""
    messages = [
        Message("system", "You work in a repository."),
        Message("user", f"{RULE} Then fix src/billing/rounding.py. {note}"),
    ]
    for step in range(steps):
        call = ToolCall(f"c{step}", "read_file", f'{{"path": "src/part_{step}/module.py"}}')
        body = "\n".join(f"value_{step}_{line} = {line * 37 + step}" for line in range(90))
        messages.append(Message("assistant", f"Looking at part {step}.", (call,)))
        messages.append(Message("tool", body, call_id=f"c{step}"))
        if step == steps // 2:
            messages.append(Message("assistant", "Half of it is read."))
            messages.append(Message("user", "Go on with the other half."))
    messages.append(Message("assistant", "All is read."))
    messages.append(Message("user", "Now make the edit."))
    edit = ToolCall("edit", "edit_file", '{"path": "src/billing/rounding.py", "text": "half up"}')
    messages.append(Message("assistant", "value_0_3 shows how, now the edit.", (edit,)))
    messages.append(Message("tool", "ok", call_id="edit"))
    messages.append(Message("assistant", "Done, prod-ledger-7 is untouched."))
    events = tuple(Event(place + 1, message) for place, message in enumerate(messages))
    return Session(name, events, format="openai-chat")


def rule_fact(session: Session) -> Fact:
    """The rule of the session, asked for at its end."""
    return Fact(
        id=f"{session.id}-rule",
        session=session.id,
        kind="constraint",
        subject="forbidden bucket",
        value="prod-ledger-7",
        source_seqs=(2,),
        born_seq=2,
        probe=Probe(None, "Which bucket must not be written?"),
    )


def store_run(
    folder: Path,
    sessions: list[Session],
    specs: tuple[str, ...] = ("head_tail", "prune"),
    *,
    has_facts: bool = True,
) -> Path:
    """Replays the sessions through the strategies and both controls; returns the run folder."""
    options = RunOptions(specs=specs)
    plan, surveyed = plan_run(sessions, options, lambda _: None)
    facts = {one.id: (rule_fact(one),) for one in sessions} if has_facts else {}
    with Run.create(folder, {"command": "compaction-bench run made-up"}) as run:
        tasks = tasks_of(plan, sessions, surveyed, facts, options, run.has_cell)
        execute(run, tasks, 1, lambda _: None)
    return folder
