"""Text of sessions in reports: scrubbed, harmless, short."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.text import SECRET_MARK, clean, excerpt, hashed, scrub, shorten, width

KEYS = {
    "openai": "sk-" + "proj-a1B2c3D4e5F6g7H8i9J0",
    "anthropic": "sk-" + "ant-api03-" + "x" * 40,
    "github": "ghp_" + "a1B2" * 9,
    "github fine": "github_pat_" + "A1b2_" * 8,
    "gitlab": "glpat-" + "a1B2c3D4e5F6g7H8",
    "aws": "AKIA" + "ABCDEFGH12345678",
    "google": "AIza" + "a1B2c3D4" * 5,
    "slack": "xoxb-" + "1234567890-abcdef",
    "hugging face": "hf_" + "a1B2c3D4" * 4,
    "web token": "eyJ" + "hbGciOiJIUzI1" + ".eyJ" + "zdWIiOiIxMjM0" + ".sflKxwRJSMeKKF2QT4",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_keys_are_removed(key: str) -> None:
    shown = scrub(f"export KEY={key} # mine")
    assert key not in shown
    assert SECRET_MARK in shown
    assert shown.endswith("# mine")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://admin:hunter2secret@db.local/app", "hunter2secret"),
        ("Authorization: Bearer abcdefghijklmnop123456", "abcdefghijklmnop123456"),
        ('{"api_key": "0123456789abcdef"}', "0123456789abcdef"),
        ("DB_PASSWORD=correct-horse-battery", "correct-horse-battery"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----",
            "MIIEow",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIEcut", "MIIEcut"),
    ],
)
def test_logins_and_passwords_are_removed(text: str, secret: str) -> None:
    assert secret not in scrub(text)


@pytest.mark.parametrize(
    "text",
    [
        "def login(password: str) -> None:",
        "password = os.environ['DB']",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "see https://example.org/a:b and user@example.org",
        "the token budget is 12000 tokens",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert scrub(text) == text


def test_a_key_that_the_cut_would_halve_is_removed_whole() -> None:
    key = KEYS["anthropic"]
    shown = excerpt("x" * 225 + " " + key, 240)
    assert "sk-" not in shown


def test_terminal_escapes_go_as_a_whole() -> None:
    assert clean("a\x1b[31mred\x1b[0m \x1b]0;title\x07b\x9b5mc\x1bc") == "ared bc"


def test_direction_marks_and_line_breaks_go() -> None:
    assert clean("a\u202eevil\u2066\u200bb\r\n\tc\u2028d\x00") == "aevilb c d"


@given(st.text(max_size=300))
def test_clean_text_has_nothing_that_moves_a_cursor(text: str) -> None:
    shown = clean(text)
    assert all(
        unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in shown
    )
    assert clean(shown) == shown


@given(st.text(max_size=400), st.integers(min_value=1, max_value=80))
def test_an_excerpt_is_never_longer_than_asked(text: str, characters_max: int) -> None:
    assert len(excerpt(text, characters_max)) <= characters_max


def test_an_endless_line_is_cut_at_once() -> None:
    assert len(excerpt("word " * 2_000_000)) <= 240


@pytest.mark.parametrize("nothing", [None, float("nan"), ""])
def test_nothing_is_shown_of_nothing(nothing: object) -> None:
    assert excerpt(nothing) == ""


def test_shortening_says_so() -> None:
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcd", 4) == "abcd"


def test_wide_characters_take_two_columns() -> None:
    assert width("ab会话") == 6


def test_hashed_names_are_stable_and_tell_nothing() -> None:
    assert hashed("secret-project") == hashed("secret-project")
    assert hashed("secret-project") != hashed("other")
    assert "secret" not in hashed("secret-project")
