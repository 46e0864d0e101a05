"""Assembly: summary prompts from files and git revisions, and the strategies that they are put to.

A strategy takes a prompt when it has a parameter of that name. The prompt is part of its spec by
hash, and so of the identity of every cell.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.models.prompt_headings import read_outline
from bench.parameters import prompt_digest
from bench.registry import (
    NamedStrategy,
    bundled_prompt,
    make_strategies,
    make_strategy,
    registered,
)
from bench.specs import Spec, parse_spec

GIT_PREFIX = "git:"
OWN_PROMPT = "default"
_GIT_SECONDS_MAX = 60


def read_prompt(path: str, option: str) -> str:
    """The text of a prompt file. Raises UsageError when it can't be read or holds nothing."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{option} {path}: can't be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{option} {path}: is no UTF-8 text") from error
    if not text.strip():
        raise UsageError(f"{option} {path}: is empty; give a file with a summary prompt")
    return text


def prompt_at_revision(path: str, revision: str) -> str:
    """The text that the file had at a git revision. Raises UsageError, what git said in it."""
    option = f"--against {GIT_PREFIX}{revision}"
    git = shutil.which("git")
    if git is None:
        raise UsageError(f"{option}: git isn't installed; give a file instead")
    file = Path(path).resolve()
    if revision.startswith("-") or not revision:
        raise UsageError(f"{option}: no revision; write {GIT_PREFIX}main or {GIT_PREFIX}HEAD~1")
    try:
        shown = subprocess.run(
            [git, "show", f"{revision}:./{file.name}"],
            cwd=file.parent,
            capture_output=True,
            timeout=_GIT_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"{option}: git can't be asked: {error}") from error
    if shown.returncode:
        said = " ".join(shown.stderr.decode("utf-8", "replace").split())[:300]
        raise UsageError(
            f"{option}: {path} can't be had at that revision: {said or 'git gave no reason'} "
            "(in continuous integration fetch the whole history: fetch-depth: 0)"
        )
    try:
        return shown.stdout.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{option}: {path} is no UTF-8 text at that revision") from error


def with_prompts(
    made: Sequence[NamedStrategy], files: Iterable[str], *, option: str = "--prompt"
) -> tuple[NamedStrategy, ...]:
    """Every strategy that takes a prompt, once for each file; the others as they are.

    The word `default` stands for a strategy's own prompt. Raises UsageError when no strategy takes
    one, or when one has been given another in its spec.
    """
    texts = [None if file == OWN_PROMPT else read_prompt(file, option) for file in files]
    if not texts:
        return tuple(made)
    if not any(takes_prompt(one) for one in made):
        names = ", ".join(dict.fromkeys(one.name for one in made))
        raise UsageError(f"{option}: none of these strategies takes a summary prompt: {names}")
    found: list[NamedStrategy] = []
    for one in made:
        found += [with_prompt(one, text, option) for text in texts] if takes_prompt(one) else [one]
    return tuple({each.spec: each for each in found}.values())


def takes_prompt(named: NamedStrategy) -> bool:
    """True for a summarising strategy: one with a parameter `prompt`."""
    return hasattr(named.strategy, "prompt")


def with_prompt(named: NamedStrategy, text: str | None, option: str = "--prompt") -> NamedStrategy:
    """The strategy with this prompt, None for its own. Raises UsageError when it takes none."""
    if not takes_prompt(named):
        raise UsageError(
            f"{option}: {named.name} takes no summary prompt; give a strategy with a parameter "
            "prompt, such as head_tail"
        )
    spec = parse_spec(named.spec)
    if any(name == "prompt" for name, _ in spec.parameters):
        raise UsageError(f"{option}: {named.spec} names a prompt already; leave one of them out")
    if text is None:
        return named
    digest = prompt_digest(text)
    asked = Spec(spec.target, (*spec.parameters, ("prompt", digest)))
    return make_strategies(str(asked), prompts={digest: text})[0]


def prompt_of(strategy: Any) -> str | None:
    """The prompt that a strategy uses: its own, else the bundled one of its module."""
    text = getattr(strategy, "prompt", None)
    return text if isinstance(text, str) else bundled_prompt(type(strategy))


def strategy_for_prompt(prompt: str, otherwise: str) -> str:
    """The built-in strategy whose own prompt asks for these sections, for it may rely on them.

    More than half of them are enough, since the others may be what an edit took away or added.
    `otherwise` for a prompt without sections, or with sections that nobody relies on.
    """
    wanted = set(headings_of(prompt))
    for name, one in registered().items():
        cls = one.base if isinstance(one.base, type) else type(one.base)
        own = bundled_prompt(cls) if wanted and isinstance(one.base, type) else None
        asked = set(headings_of(own)) if own is not None else set()
        if 2 * len(asked & wanted) > max(len(asked), len(wanted)):
            return name
    return otherwise


def headings_of(prompt: str) -> tuple[str, ...]:
    """The lines that open the sections which a prompt asks for; none where it asks for prose."""
    return tuple(section.opening for section in read_outline(prompt).sections)


def headings_of_spec(spec: str, prompts: Mapping[str, str]) -> tuple[str, ...]:
    """The headings that the summaries of a spec should have; none where the spec can't be made."""
    try:
        strategy = make_strategy(spec, prompts=prompts).strategy
    except UsageError:
        return ()
    text = prompt_of(strategy) if hasattr(strategy, "prompt") else None
    return headings_of(text) if text else ()
