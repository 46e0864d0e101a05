"""Readers of users: from a file, from an installed package, and what they may do wrong."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.events import Session
from bench.formats import format_named
from bench.formats.plugin import ENTRY_POINT_GROUP, formats_of
from bench.formats.source import Source
from bench.loading import load_sessions
from tests.written_files import only_session, repair_kinds, told

READER = """
from bench import Session
from bench.events import Event, Message

def read(path):
    for block in path.read_text().split("---"):
        lines = [line.split(": ") for line in block.split("\\n") if line]
        yield [{"role": role, "content": content} for role, content in lines]

def sessions(path):
    yield Session("own", (Event(1, Message("user", path.read_text())),))

def one_bad(path):
    yield [{"role": "user", "content": "Go."}]
    yield "not a session"

def raises(path):
    raise KeyError("no\\nline breaks")

NUMBER = 7
"""


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    path = tmp_path / "reader.py"
    path.write_text(READER)
    return path


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.mine"
    path.write_text("user: Go.\nassistant: Gone.\n---\nuser: Again.\n")
    return path


def test_lists_of_messages(reader: Path, chat: Path) -> None:
    loaded = load_sessions(chat, format=f"{reader}:read")
    assert [told(row) for row in loaded.sessions] == [
        ["user: Go.", "assistant: Gone."],
        ["user: Again."],
    ]
    assert [row.id for row in loaded.sessions] == ["chat", "chat-2"]
    assert loaded.sessions[0].format == f"{reader}:read"
    assert loaded.evidence[str(chat)] == f"--format {reader}:read"


def test_sessions(reader: Path, chat: Path) -> None:
    session = only_session(chat, format=f"{reader}:sessions")
    assert (session.id, session.path) == ("own", str(chat))


def test_an_error_behind_a_session_is_noted(reader: Path, chat: Path) -> None:
    session = only_session(chat, format=f"{reader}:one_bad")
    assert told(session) == ["user: Go."]
    assert repair_kinds(session) == ["reader_failed"]
    assert "session 2 is a str" in session.repairs[0].what


def test_an_error_rejects_the_file_in_one_line(reader: Path, chat: Path) -> None:
    (rejected,) = load_sessions(chat, format=f"{reader}:raises").rejected
    assert "failed: KeyError" in rejected.reason
    assert "\n" not in rejected.reason


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("reader.py", "name the callable"),
        ("reader.py:", "name the callable"),
        ("missing.py:read", "no such file"),
        ("reader.py:other", "no callable other"),
        ("reader.py:NUMBER", "there is: read, sessions, one_bad, raises"),
        ("broken.py:read", "can't be imported: SyntaxError"),
        ("nonsense", "or your own"),
    ],
)
def test_wrong_options(reader: Path, chat: Path, option: str, said: str) -> None:
    (reader.parent / "broken.py").write_text("def read(:\n")
    with pytest.raises(UsageError) as caught:
        load_sessions(chat, format=str(reader.parent / option) if ".py" in option else option)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, ENTRY_POINT_GROUP)


def test_installed_formats(chat: Path) -> None:
    module, reader = formats_of(
        [point("x", "bench.formats.pi"), point("mine", "tests.unit.test_format_plugins:read_whole")]
    )
    assert (module.NAME, reader.NAME) == ("pi", "mine")
    (session,) = reader.read(Source(chat))
    assert (session.id, session.format) == ("whole", "mine")
    assert reader.detect(Source(chat).sample) is None


def read_whole(path: Path) -> list[Session]:
    from bench.events import Event, Message

    return [Session("whole", (Event(1, Message("user", path.read_text())),))]


@pytest.mark.parametrize(
    ("value", "said"),
    [("no_such_module:read", "ModuleNotFoundError"), ("bench.formats.pi:RANK", "neither a module")],
)
def test_installed_formats_that_fail_are_named(value: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        formats_of([point("mine", value)])
    assert "format plug-in mine" in str(caught.value)


def test_known_names_win_over_files() -> None:
    assert format_named("pi").NAME == "pi"
