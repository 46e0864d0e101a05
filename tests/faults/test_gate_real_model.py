"""A gate with a model over real HTTP: paid once, halted and gone on with, compared without it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench.cli import main
from bench.generator.writing import write_corpus
from tests.fault_server import FaultServer, never, until

SHORT = "Summarise the conversation in plain prose, in ten words.\n"
LONG = "Summarise the conversation under the headings `## Goal`, `## Rules` and `## Facts`.\n"


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    kinds, languages = ("chat", "support"), ("en", "zh")
    write_corpus(tmp_path / "s", sessions=8, events=24, seed=3, kinds=kinds, languages=languages)
    (tmp_path / "short.md").write_text(SHORT, "utf-8")
    (tmp_path / "long.md").write_text(LONG, "utf-8")
    prompts = ("--prompt", "short.md", "--against", "long.md")
    return ("gate", *prompts, "s", "--cuts", "1", "--model", "openai:tiny", "--cache", "kept")


def gate(*words: object) -> int:
    return main([str(word) for word in words])


def test_a_gate_asks_each_question_once(words: tuple[str, ...], capsys: Any) -> None:
    with FaultServer(never) as server:
        first = gate(*words, "--base-url", server.url, "--out", "cells")
        asked = len(server.posts)
        assert asked >= 12
        told = capsys.readouterr().out
        again = gate(*words, "--base-url", server.url, "--out", "cells")
        assert len(server.posts) == asked
        url = server.url
    # The server is gone, the answers are kept.
    offline = gate(*words, "--base-url", url, "--out", "third", "--replay-only")
    assert first == again == offline
    verdict = next(line for line in told.splitlines() if line.startswith(("PASS", "INC", "REG")))
    assert capsys.readouterr().out.splitlines().count(verdict) == 2


def test_a_gate_that_was_halted_goes_on_where_it_stopped(
    words: tuple[str, ...], capsys: Any
) -> None:
    with FaultServer(until(5, never, then="quota")) as server:
        command = (*words, "--base-url", server.url, "--out", "cells")
        assert gate(*command) == 3
        said = capsys.readouterr()
        assert "stopped:" in said.err
        assert "Traceback" not in said.err
        server.begin_anew(never)
        assert gate(*command) in (0, 1)
        replayed = re.search(r"(\d+) of 32 cells were replayed now", capsys.readouterr().out)
        assert replayed is not None
        # What was finished before isn't replayed, and what was answered before isn't asked.
        assert int(replayed[1]) < 32
        bodies = [json.dumps(post.body, sort_keys=True) for post in server.posts]
        assert len(set(bodies)) == len(bodies)
