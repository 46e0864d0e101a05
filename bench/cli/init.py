"""`compaction-bench init`: files that a project needs to gate its summary prompt."""

from __future__ import annotations

import argparse
import re
from importlib.metadata import version
from pathlib import Path

from bench.cli.main import EXIT_FINE
from bench.cli.output import note
from bench.errors import UsageError
from bench.models import make_model

WORKFLOW = Path(".github") / "workflows" / "compaction.yml"
DEFAULT_PROMPT = "prompts/summary.md"
DEFAULT_SESSIONS = "bundled"
# What stands between quotes in YAML and in a shell must be harmless in both.
_PLAIN = re.compile(r"[\w./:+()=,-]+")

_TEMPLATE = """\
# Does a changed summary prompt lose more than the one before it? Written by
# `compaction-bench init --github`; change it as you like.
name: compaction

on:
  pull_request:
    paths:
      - "@PROMPT@"
      - ".github/workflows/compaction.yml"

permissions:
  contents: read

jobs:
  gate:
    runs-on: ubuntu-24.04
    timeout-minutes: 30
    env:
      # Recorded model calls and replayed cells: what was paid for once is free the next time.
      COMPACTION_BENCH_CACHE: ${{ github.workspace }}/.compaction-cache
    steps:
      - uses: actions/checkout@v4.2.2
        with:
          fetch-depth: 0 # --against git:REF reads the prompt at the base of the pull request
          persist-credentials: false
      - uses: actions/setup-python@v5.3.0
        with:
          python-version: "3.12"
      - uses: actions/cache@v4.2.0
        with:
          path: .compaction-cache
          key: compaction-${{ hashFiles('@PROMPT@') }}-${{ github.run_id }}
          restore-keys: |
            compaction-
      - run: python -m pip install "compaction-bench==@VERSION@"
      - name: Gate
        run: |
          compaction-bench gate --prompt "@PROMPT@" \\
            --against "git:origin/$BASE" @SESSIONS@ --model "@MODEL@" \\
            --cuts 3 --out .compaction-cache/gate --confirm \\
            --markdown gate.md --junit gate.xml
        env:
          BASE: ${{ github.base_ref }}@SECRETS@
      - name: Summary
        if: always() && hashFiles('gate.md') != ''
        run: cat gate.md >> "$GITHUB_STEP_SUMMARY"
      - uses: actions/upload-artifact@v4.6.0
        if: always() && hashFiles('gate.xml') != ''
        with:
          name: compaction-gate
          path: |
            gate.md
            gate.xml
"""
_KEYS = {
    "openai": "OPENAI_API_KEY",
    "responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}


def init(arguments: argparse.Namespace) -> int:
    """Writes the workflow; never over a file that is there."""
    if not arguments.github:
        raise UsageError(
            "init: say what to write: --github writes .github/workflows/compaction.yml"
        )
    text = workflow(
        arguments.prompt or DEFAULT_PROMPT,
        arguments.sessions or DEFAULT_SESSIONS,
        arguments.model or "offline",
    )
    try:
        WORKFLOW.parent.mkdir(parents=True, exist_ok=True)
        with WORKFLOW.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UsageError(
            f"{WORKFLOW}: is there already and stays as it is; move it away to have it written anew"
        ) from error
    except OSError as error:
        raise UsageError(f"{WORKFLOW}: can't be written: {error.strerror or error}") from error
    note(f"wrote {WORKFLOW}: commit it, and give the prompt's path there if it moves")
    return EXIT_FINE


def workflow(prompt: str, sessions: str, model: str) -> str:
    """The text of the workflow. Raises UsageError for names that YAML or a shell would read."""
    for option, value in (("--prompt", prompt), ("--sessions", sessions), ("--model", model)):
        if not _PLAIN.fullmatch(value) or value.startswith("-"):
            raise UsageError(
                f"{option} {value}: has characters that a workflow can't hold safely; use letters, "
                "figures and . / _ -"
            )
    name = make_model(model).name
    key = _KEYS.get(name.partition(":")[0])
    secrets = f"\n          {key}: ${{{{ secrets.{key} }}}}" if key else ""
    parts = {
        "@PROMPT@": prompt,
        "@SESSIONS@": f'"{sessions}"',
        "@MODEL@": name,
        "@VERSION@": version("compaction-bench"),
        "@SECRETS@": secrets,
    }
    text = _TEMPLATE
    for place, value in parts.items():
        text = text.replace(place, value)
    return text
