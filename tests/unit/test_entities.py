"""The extractor against its table, and the table against its promises."""

from __future__ import annotations

import importlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import entity_table
from bench.entities import ENTITY_TABLE_VERSION, ENTITY_TYPES, extract, kind_of
from bench.events import Session
from bench.matching import contains, normalise
from tests.generators import sessions


def found(text: str) -> list[tuple[str, str]]:
    return [(entity.kind, entity.text) for entity in extract(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://x.org/a_(b)?c=1.", [("url", "https://x.org/a_(b)?c=1")]),
        ("(https://x.org/a)", [("url", "https://x.org/a")]),
        ("postgres://me@db:5432/x", [("url", "postgres://me@db:5432/x")]),
        ("write to a.b@x.org", [("email", "a.b@x.org")]),
        ("at 2026-01-05T10:11:12Z", [("datetime", "2026-01-05T10:11:12Z")]),
        ("上线日期2026年1月5日。", [("datetime", "2026年1月5日")]),
        ("at 10:11:12", [("datetime", "10:11:12")]),
        ("takes 1,500 ms or 7 s or 12", [("number", "1,500 ms"), ("number", "7 s")]),
        ("第120行", [("number", "120行")]),
        ("line 412", [("number", "412")]),
        ("commit abc1234..def5678", [("hash", "abc1234"), ("hash", "def5678")]),
        ("deadbeef defaced 1234567", [("number", "1234567")]),
        ("v1.2 and 2.3.1-rc2 but 1.2", [("version", "v1.2"), ("version", "2.3.1-rc2")]),
        ("pkg@1.2.3", [("version", "1.2.3")]),
        ("in ./bench/a.py:12", [("path", "./bench/a.py")]),
        ("请打开src/main.py并修改", [("path", "src/main.py")]),
        ("C:\\Users\\me\\a.txt", [("path", "C:\\Users\\me\\a.txt")]),
        ("and/or he/she n/a", []),
        ("E0412 at src/tide.py", [("error", "E0412"), ("path", "src/tide.py")]),
        ("self.retry_limit", [("identifier", "retry_limit")]),
        ("os.path.join", [("identifier", "os.path.join")]),
        ("gpt-4o-mini and well-known", [("identifier", "gpt-4o-mini")]),
        ("GitHub JavaScript e.g. this", []),
        ("$ git push origin main", [("command", "git push origin main")]),
        ("然后运行 git push origin main。", [("command", "git push origin main")]),
        ("make sure that you go to sleep", []),
        ('the "two words" here', [("literal", "two words")]),
        ("「静默模式」", [("literal", "静默模式")]),
        ('"word" "abc" "retry_limit"', [("identifier", "retry_limit")]),
        ("don't say it's 'ok then'", [("literal", "ok then")]),
        ("left\\nretry_limit", [("identifier", "retry_limit")]),
        ("plain words only, nothing typed.", []),
        ("", []),
    ],
)
def test_what_is_found(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("id 500e8400-e29b-41d4-a716-446655440000", ["hash"]),
        ("README.md, Makefile, .env", ["path"] * 3),
        ("TypeError ENOENT TS2345 SIGKILL", ["error"] * 4),
        ("retry_limit camelCase PascalCase --dry-run", ["identifier"] * 4),
        ("`npm run build`", ["literal", "command"]),
    ],
)
def test_kinds_of_what_is_found(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in found(text)] == kinds


def test_every_kind_has_a_case_above() -> None:
    text = (
        "https://x.org/a a@x.org 2026-01-05 412 abc1234 v1.2 a/b.py TypeError retry_limit"
        ' "two words"\ngit push origin main'
    )
    assert {kind for kind, _ in found(text)} == {row.kind for row in ENTITY_TYPES}


def test_stopped_names_are_left_out() -> None:
    assert extract("call read_file on a/b.py", stopped=frozenset({"read_file"})) == tuple(
        entity for entity in extract("call read_file on a/b.py") if entity.kind == "path"
    )
    assert extract("grep pattern path", stopped=frozenset({"grep"})) == ()


def test_keys_are_normalised_and_starts_point_at_the_text() -> None:
    text = "wait 1,500 milliseconds in ./A/b.py, then FOO_bar"
    entities = extract(text)
    assert [entity.key for entity in entities] == ["1500 ms", "a/b.py", "FOO_bar"]
    assert all(text.startswith(entity.text, entity.start) for entity in entities)


def test_the_kind_of_a_whole_value() -> None:
    assert kind_of(" src/a.py ") == "path"
    assert kind_of("see src/a.py") is None


def test_the_table_documents_every_row() -> None:
    for row in ENTITY_TYPES:
        assert row.meaning.endswith(".") and row.length_min >= 2
        re.compile(row.pattern)
    assert len({row.kind for row in ENTITY_TYPES}) == len(ENTITY_TYPES)


def test_the_version_is_stable_and_covers_the_table() -> None:
    assert importlib.reload(entity_table).ENTITY_TABLE_VERSION == ENTITY_TABLE_VERSION
    assert re.fullmatch(r"[0-9a-f]{12}", ENTITY_TABLE_VERSION)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    entities = extract(text)
    assert all(text.startswith(entity.text, entity.start) for entity in entities)
    assert [entity.start for entity in entities] == sorted(entity.start for entity in entities)
    assert all(entity.key and len(entity.text) >= 2 for entity in entities)


PIECES = st.sampled_from(
    [
        *("src/a.py", "./b/c.ts", ".../d/e.go", "潮汐", "-2026.md", "-", "--", "15", "20%"),
        *("3,000", "ms", "v1.2", "-rc1", "abc1234", "..", "retry_limit", "self.", "os.path"),
        *("TypeError", "https://x.org/a", ")", "(", '"', "'", "`", "「", "」", "git", "push"),
        *("main", ",", ".", ":", ";", "/", "\\n", "\\", "@", "me@x.org", "2026-01-05", "T10:11:12"),
        *("年", "É", "{x}", "=", "C:\\a\\b", "|", "&&", "中", "1", "_", "ab"),
    ]
)


GAPS = st.sampled_from((" ", "\n", "，", "。", " (", ") ", ": ", ". ", ", ", "“", "”", "中", " | "))


@given(st.lists(st.tuples(PIECES, GAPS), max_size=12))
def test_what_is_found_in_a_text_is_contained_in_it(pieces: list[tuple[str, str]]) -> None:
    """A summary that copies a line must never be said to have invented what stands there."""
    text = "".join(piece + gap for piece, gap in pieces)
    for entity in extract(text):
        assert contains(normalise(text), entity.key, entity.kind), entity


@given(sessions())
def test_what_is_found_in_a_session_is_contained_in_it(session: Session) -> None:
    for event in session.events:
        text = normalise(event.message.text)
        for entity in extract(event.message.text):
            assert contains(text, entity.key, entity.kind), entity


@given(st.sampled_from(("src/a.py", "retry_limit", "v1.2.3", "abc1234", "TypeError")))
def test_chinese_around_a_name_hides_nothing(name: str) -> None:
    assert [text for _, text in found(f"请看{name}这里")] == [name]


def test_long_runs_stay_linear() -> None:
    # Runs that a backtracking pattern could take quadratic time for.
    for run in ("a" * 200_000, "1" * 200_000, "a/" * 100_000, '"' * 100_000, "a.b" * 60_000):
        assert isinstance(extract(run), tuple)
