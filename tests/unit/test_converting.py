"""What is converted loads back equal, apart from what is said to be left behind."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.converting import TARGETS, carried, converted, file_name, is_same
from bench.events import (
    Attachment,
    RecordedCompaction,
    RecordedUsage,
    Session,
    ToolDefinition,
)
from bench.loading import load_sessions
from tests.generators import sessions

_TEXTS = st.sampled_from(
    (
        "",
        "  \n",
        "Rename it.",
        '{"output": "wrapped", "metadata": {}}',
        "line\u2028separator",
        "改成 4500",
        "a\r\nb\x00",
        "<environment_context>cwd</environment_context>",
        "[1, 2]",
    )
)
_ATTACHMENTS = st.builds(
    Attachment,
    st.sampled_from(("image/png", "image", "", "application/pdf", "audio/wav", "image/x;q=1,2")),
    st.sampled_from(("aGk=", "", "https://example.org/a.png", "file-1")),
)
_ARGUMENTS = st.sampled_from(
    ("{}", "", '{"a":1,"a":2.50}', "[1]", "not json", '{"x": NaN}', '{"深": "\\u0041"}')
)


@st.composite
def _rich(draw: st.DrawFn) -> Session:
    """A generated session with everything that may stand in and beside a message."""
    told = draw(sessions())
    events = []
    for event in told.events:
        message = event.message
        if draw(st.booleans()):
            message = replace(message, text=draw(_TEXTS))
        if draw(st.sampled_from((False, False, True))):
            attachments = tuple(draw(st.lists(_ATTACHMENTS, max_size=2)))
            message = replace(message, attachments=attachments)
        if message.calls:
            calls = (replace(call, arguments=draw(_ARGUMENTS)) for call in message.calls)
            message = replace(message, calls=tuple(calls), reasoning=draw(_TEXTS))
        timestamp = draw(st.none() | st.sampled_from((0.0, 1_760_000_000.25)))
        events.append(replace(event, message=message, timestamp=timestamp))
    seqs = st.integers(1, len(events))
    usage = st.builds(RecordedUsage, seqs, st.integers(1, 9), st.none() | st.just(1), st.none())
    return replace(
        told,
        id=draw(st.sampled_from(("generated", "a/b c:1", "..", "名"))),
        events=tuple(events),
        tools=draw(st.sampled_from((told.tools, (ToolDefinition("bare"),)))),
        recorded_usage=tuple(draw(st.lists(usage, max_size=4))),
        recorded_compactions=(RecordedCompaction(1, "Short."),) * draw(st.integers(0, 1)),
        cluster=draw(st.none() | st.just("project")),
    )


def _loaded(folder: Path, target: str, of: Session) -> Session:
    path = folder / file_name(of, target, set())
    path.write_bytes(converted(of, target))
    found = load_sessions(path)
    path.unlink()
    assert [one.reason for one in found.rejected] == []
    (one,) = found.sessions
    return one


@pytest.mark.parametrize("target", TARGETS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(told=_rich())
def test_what_is_converted_loads_back_equal(tmp_path: Path, target: str, told: Session) -> None:
    kept = carried(told, target).session
    if not any(event.message.role in ("user", "assistant") for event in kept.events):
        return
    loaded = _loaded(tmp_path, target, kept)
    assert loaded.events == kept.events or target == "responses"
    assert is_same(kept, loaded)


@pytest.mark.parametrize("target", TARGETS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(told=_rich())
def test_what_is_carried_is_carried_whole(tmp_path: Path, target: str, told: Session) -> None:
    once = carried(told, target).session
    again = carried(once, target)
    assert again.session == once
    assert again.losses == ()
