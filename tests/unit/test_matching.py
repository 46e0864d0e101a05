"""Normalised containment: what counts as the same value, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.matching import contains, key_of, normalise

ENTITY_KINDS = (
    "url",
    "email",
    "datetime",
    "number",
    "hash",
    "version",
    "path",
    "error",
    "identifier",
    "command",
    "literal",
    "text",
)


def holds(text: str, value: str, kind: str) -> bool:
    return contains(normalise(text), key_of(value, kind), kind)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("number", "80", "port 80 is open"),
        ("number", "80", "[80,90]"),
        ("number", "1,000", "after 1000 rows"),
        ("number", "1000", "after 1,000 rows"),
        ("number", "1_000_000", "1,000,000 rows"),
        ("number", "30 seconds", "a 30s pause"),
        ("number", "30s", "a 30-second pause"),
        ("number", "1.5 GB", "needs 1.5gb of memory"),
        ("number", "50 %", "at 50% of the window"),
        ("number", "30秒", "the timeout is 30 seconds"),
        ("number", "30 seconds", "超时设为30秒，然后重试"),
        ("number", "4500", "改成４５００，然后"),
        ("path", "./src/a.py", "open src/a.py"),
        ("path", "src/a.py", "open ./src/a.py."),
        ("path", "src/a.py", "/home/user/src/a.py:12"),
        ("path", "src", "the file src/a.py"),
        ("path", "src/main.py", "请打开src/main.py并修改"),
        ("path", "docs/发布说明.md", "不要修改docs/发布说明.md，除非"),
        ("path", "C:\\work\\a.txt", "saved as c:/work/a.txt"),
        ("path", "SRC/A.py", "in src/a.py"),
        ("version", "v1.2", "release 1.2 is out"),
        ("version", "1.2.3", "tag v1.2.3"),
        ("version", "1.2.3", "node-1.2.3-linux"),
        ("identifier", "retry_limit", "settings.retry_limit = 7"),
        ("identifier", "os.path.join", "call os.path.join()"),
        ("identifier", "--dry-run", "use `--dry-run` first"),
        ("hash", "abc1234", "commit abc1234."),
        ("url", "https://x.org/a/", "see https://x.org/a."),
        ("url", "https://X.org/a", "see https://x.org/a"),
        ("email", "me@x.org", "write to me@x.org."),
        ("error", "TypeError", "TYPEERROR: no"),
        ("datetime", "2026-01-05T10:11", "at 2026-01-05 10:11:12"),
        ("datetime", "2026-01-05", "am 2026年1月5日"),
        ("datetime", "2026-01-05", "on 2026/1/5, again"),
        ("datetime", "2026-01-05", "on January 5th, 2026"),
        ("datetime", "2026-01-05", "on 5 Jan 2026"),
        ("command", "git push  origin main", "run git push origin main."),
        ("literal", "静默模式", "打开静默模式后"),
        ("text", "Sage Green", "the colour is sage\n  green now"),
        ("text", "harbour_name", "a line\\nharbour_name left quoted"),
    ],
)
def test_same_value(kind: str, value: str, text: str) -> None:
    assert holds(text, value, kind)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("number", "80", "port 8080"),
        ("number", "80", "3.80 euros"),
        ("number", "80", "80.5 euros"),
        ("number", "80", "a80 b_80"),
        ("number", "30 seconds", "30 minutes"),
        ("number", "30 seconds", "130 seconds"),
        ("number", "1000", "21,000 rows"),
        ("version", "1.2", "version 1.2.3"),
        ("version", "1.2", "version 3.1.2"),
        ("version", "2.0.0", "version 2.0.0-rc1"),
        ("path", "a/b.py", "a/b.pyc"),
        ("path", "a/b.py", "a/b.py.bak"),
        ("path", "a/b.py", "ba/b.py"),
        ("path", "b.py", "a-b.py"),
        ("path", "/b.py", "a/b.py"),
        ("identifier", "Retry_Limit", "retry_limit"),
        ("identifier", "retry_limit", "retry_limits"),
        ("identifier", "retry_limit", "max_retry_limit"),
        ("identifier", "--dry", "--dry-run"),
        ("hash", "abc1234", "ABC1234"),
        ("hash", "abc1234", "abc12345"),
        ("url", "https://x.org/a", "https://x.org/a/b"),
        ("error", "TypeError", "MyTypeError"),
        ("datetime", "2026-01-05", "2026-01-15"),
        ("command", "npm run build", "npm run build:all"),
        ("text", "green", "evergreen"),
        ("text", "", "anything"),
    ],
)
def test_other_value(kind: str, value: str, text: str) -> None:
    assert not holds(text, value, kind)


def test_a_name_that_only_looks_like_a_unit_stays() -> None:
    assert normalise("sha 12d, v2s, a3b and 5 sails") == "sha 12 d, v2s, a3b and 5 sails"


FIGURES = st.text(alphabet="012,_./ -smMBkT:\\n年月日hJan", max_size=24)


@given(st.one_of(st.text(max_size=40), FIGURES))
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


WORDS = st.text(alphabet="abcXYZ019_./-中文", min_size=1, max_size=12)


@given(
    WORDS, st.sampled_from(ENTITY_KINDS), st.sampled_from(("{}", "see {} now", "（{}）", "{}。"))
)
def test_a_value_is_found_in_itself(value: str, kind: str, frame: str) -> None:
    key = key_of(value, kind)
    if key and normalise(value) == value and value[0] not in ".-~" and value[-1] not in ".-/":
        assert contains(frame.format(value), key, kind)


@given(WORDS, WORDS, st.sampled_from(ENTITY_KINDS))
def test_more_text_around_never_loses_a_value(value: str, other: str, kind: str) -> None:
    if holds(value, value, kind):
        assert contains(f"{normalise(other)} \x00 {normalise(value)}", key_of(value, kind), kind)
