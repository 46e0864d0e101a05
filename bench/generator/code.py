"""Source files, tests, configuration and diffs that look like those of a product."""

from __future__ import annotations

from bench.generator.code_bodies import BODIES, TEST_BODIES
from bench.generator.domains import ENVIRONMENTS, ERRORS, VERBS
from bench.generator.draws import Draw
from bench.generator.world import Slots, World

_IMPORTS = (
    "import contextlib", "import hashlib", "import itertools", "import json", "import time",
    "from collections import defaultdict",
    "from collections.abc import Iterator", "from datetime import UTC, datetime, timedelta",
    "from decimal import Decimal", "from pathlib import Path", "from typing import Protocol",
)  # fmt: skip


def _fill(world: World, draw: Draw, noun: str, template: str) -> str:
    fields = draw.some(world.domain.fields, 2)
    spoken = Slots(world, draw)
    spoken["id_noun"] = noun
    return template.format(
        n=noun,
        N=noun.capitalize(),
        f=fields[0],
        g=fields[1],
        v=draw.pick(VERBS),
        c=f"DEFAULT_{fields[1].upper()}",
        e=draw.pick(ERRORS),
        k=draw.pick((5, 12, 20, 24, 36, 48, 50, 64, 90, 100, 128, 200, 250, 300, 500, 720)),
        few=draw.between(2, 6),
        doc=_sentence(spoken.say(draw.pick(world.words.docstrings))),
        comment=spoken.say(draw.pick(world.words.comments)),
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _noun_of(world: World, path: str) -> str:
    name = path.rsplit("/", 1)[-1].removeprefix("test_")
    for noun, _ in world.nouns:
        if name.startswith(noun):
            return noun
    return world.nouns[0][0]


def source_file(world: World, path: str, lines_wanted: int) -> str:
    """A module. The same path gives the same file during a session, cut after whole functions."""
    draw = world.draw.fork(f"file/{path}")
    noun = _noun_of(world, path)
    if path.endswith((".toml", ".yaml", ".yml")):
        return configuration(world, draw, noun, lines_wanted)
    is_test = "/test_" in path
    lines = [f'"""{_fill(world, draw, noun, "{doc}")}"""', "", "from __future__ import annotations"]
    imports = draw.some(_IMPORTS, draw.between(2, 6))
    if not is_test:
        imports += ["import dataclasses", "import logging"]
    # As a formatter sorts them: plain imports first.
    lines += ["", *sorted(imports, key=lambda line: (line.startswith("from"), line))]
    if is_test:
        lines += ["", "import pytest", "", f"from {world.product}.testing import make_{noun}", ""]
    else:
        others = draw.some(world.nouns, 2)
        lines += [""]
        lines += [f"from {world.product}.core.{other}_store import {other.capitalize()}Store"
                  for other, _ in others]  # fmt: skip
        lines += ["", "log = logging.getLogger(__name__)", ""]
        lines += [
            f"DEFAULT_{field.upper()} = {draw.pick((0, 1, 15, 30, 60, 120, 900, 3600))}"
            for field in draw.some(world.domain.fields, 3)
        ]
        lines += _record(world, draw, noun)
    while len(lines) < lines_wanted:
        bodies = TEST_BODIES if is_test else BODIES
        lines += ["", "", *_fill(world, draw, noun, draw.pick(bodies)).rstrip("\n").split("\n")]
    return "\n".join(lines)


def file_view(world: World, path: str, lines_wanted: int) -> str:
    """What reading a file from its beginning shows, with the number of lines left out."""
    text = source_file(world, path, lines_wanted)
    shown = text.count("\n") + 1
    total = 40 + world.draw.fork(f"length/{path}").between(0, 560)
    rest = f"\n[{total - shown} more lines]" if total > shown else ""
    return text + rest


def _record(world: World, draw: Draw, noun: str) -> list[str]:
    fields = draw.some(world.domain.fields, draw.between(3, 6))
    head = ["", "", "@dataclasses.dataclass(frozen=True)", f"class {noun.capitalize()}:"]
    head += [f'    """{_fill(world, draw, noun, "{doc}")}"""', "", "    id: str"]
    head += [f"    {field}: {draw.pick(('str', 'int', 'str | None'))}" for field in fields]
    return [*head, "    updated_at: datetime", "    version: int = 1"]


def configuration(world: World, draw: Draw, noun: str, lines_wanted: int) -> str:
    """A TOML file with one section per service."""
    lines = [f"# {_fill(world, draw, noun, '{comment}')}"]
    for service in [noun, *world.services]:
        if len(lines) >= max(10, lines_wanted):
            break
        lines += ["", f"[{service}]", f"replicas = {draw.between(1, 12)}"]
        lines += [f'image = "registry.internal/{service}:{draw.between(1, 9)}.{draw.digits(2)}"']
        for field in draw.some(
            ("timeout_ms", "batch_size", "pool_max", "queue_max", "retry_max", "ttl_seconds",
             "workers", "backoff_ms", "page_size"), draw.between(3, 6),
        ):  # fmt: skip
            lines.append(f"{field} = {draw.between(2, 900)}")
        lines.append(f'log_level = "{draw.pick(("info", "warning", "debug"))}"')
    return "\n".join(lines)


_FUNCTION_MATCHES = (
    "    return {pattern}(rows, limit={k})",
    "from {product}.core.{n}_store import {pattern}",
    "        {pattern}({n}, {f}=None)",
    "    assert {pattern}(make_{n}()).{f} == {k}",
    "# {pattern}: {comment}",
    '    log.info("{pattern} took %.1f ms", elapsed)',
    "        if {n}.{f} and not {pattern}({n}):",
    "    result = await {pattern}(client, {n}_id, timeout={k})",
    '    "{pattern}": lambda row: row["{f}"],',
    '    monkeypatch.setattr(module, "{pattern}", fake)',
)
_ERROR_MATCHES = (
    '            raise {pattern}(f"{n} {{{n}_id}} has no {f}")',
    "        except {pattern} as error:",
    "from {product}.core.errors import {pattern}",
    '    with pytest.raises({pattern}, match="{f}"):',
    '    """Raises {pattern} when the {n} has changed in between."""',
    "# {pattern}: {comment}",
    '        log.warning("{pattern} for {n} %s, attempt {k}", {n}.id)',
    "    retry_on = (TimeoutError, {pattern})",
)


def matches(world: World, draw: Draw, pattern: str, lines_wanted: int) -> str:
    """What grep prints: path, line number and the line."""
    is_error = pattern.endswith("Error")
    first = "class {pattern}(Exception):" if is_error else "def {pattern}(self, row):"
    templates = _ERROR_MATCHES if is_error else _FUNCTION_MATCHES
    found: list[str] = []
    near = next((noun for noun, _ in world.nouns if noun in pattern), "")
    while len(found) < max(3, lines_wanted):
        slots = Slots(world, draw)
        if near and draw.chance(0.7):
            slots["id_noun"] = near
        path = slots["test"] if found and draw.chance(0.3) else slots["path"]
        numbers = sorted(draw.between(8, 420) for _ in range(draw.between(1, 4)))
        for number in numbers:
            # A name is defined once and used in many places.
            template = draw.pick(templates) if found else first
            template = template.replace("{pattern}", pattern)
            template = template.replace("{product}", world.product)
            text = _fill(world, draw, slots["id_noun"], template)
            found.append(f"{path}:{number}:{text}")
        world.notice("path", path)
    return "\n".join(found)


def listing(world: World, draw: Draw, lines_wanted: int) -> str:
    """What a recursive directory listing with sizes prints."""
    lines = {}
    for _ in range(max(6, lines_wanted)):
        slots = Slots(world, draw)
        path = draw.pick((slots["path"], slots["path"], slots["test"], slots["config"]))
        lines[path] = f"{draw.between(412, 48210):>7}  {slots['date']}  {path}"
        if draw.chance(0.3):
            world.notice("path", path)
    return "\n".join(lines[path] for path in sorted(lines))


def change(world: World, draw: Draw, path: str, lines_wanted: int) -> str:
    """A unified diff of one file."""
    noun = _noun_of(world, path)
    lines = [f"--- a/{path}", f"+++ b/{path}"]
    while len(lines) < max(8, lines_wanted):
        body = _fill(world, draw, noun, draw.pick(BODIES)).rstrip("\n").split("\n")
        at = draw.between(10, 300)
        lines.append(f"@@ -{at},{len(body)} +{at},{len(body) + 1} @@")
        for line in body:
            if draw.chance(0.2):
                lines += [f"-{line}", f"+{line.replace('None', 'MISSING')}  # {noun}"]
            else:
                lines.append(f" {line}")
    return "\n".join(lines)


def test_run(world: World, draw: Draw, path: str, lines_wanted: int) -> str:
    """What a test runner prints; short runs pass, long ones show failures."""
    slots = Slots(world, draw)
    noun = slots["id_noun"] = _noun_of(world, path)
    total = draw.between(9, 640)
    seconds = draw.real(0.4, 96)
    lines = ["=" * 24 + " test session starts " + "=" * 24, f"rootdir: /srv/{world.product}"]
    lines += [f"collected {total} items", ""]
    failures = max(0, (lines_wanted - 18) // 24)
    for _ in range(max(3, min(lines_wanted // 3, 40))):
        name = Slots(world, draw)["test"]
        marks = "." * draw.between(3, 40)
        lines.append(f"{name} {marks}{'F' if failures and draw.chance(0.2) else ''}")
        if draw.chance(0.25):
            world.notice("path", name)
    for _ in range(failures):
        slots = Slots(world, draw)
        slots["id_noun"] = noun
        lines += _failure(world, draw, slots)
    tail = f"{failures} failed, {total - failures} passed" if failures else f"{total} passed"
    lines.append(f"==== {tail} in {seconds:.2f}s ====")
    world.notice("number", f"{seconds:.2f}s")
    return "\n".join(lines)


def _failure(world: World, draw: Draw, slots: Slots) -> list[str]:
    noun = slots["id_noun"]
    body = _fill(world, draw, noun, draw.pick(BODIES)).rstrip("\n").split("\n")
    stop = draw.between(3, len(body))
    error = f"{slots['error']}: {noun} {noun}-{draw.digits(4)} has version {slots['few']}"
    path = slots["path"]
    world.notice("path", path)
    shown = [f"    {line}" for line in body[:stop]]
    shown[-1] = ">" + shown[-1][1:]
    return [
        "",
        f"___________ test_{slots['verb']}_{noun}_{slots['field']} ___________",
        *shown,
        f"E       {error}, expected {slots['few_b']}",
        "",
        f"{path}:{draw.between(20, 300)}: {slots['error']}",
        f"---------- captured log at {draw.pick(ENVIRONMENTS)} ----------",
        f"WARNING {world.product}.{noun}:{Slots(world, draw)['line']} "
        + slots.say(draw.pick(world.words.log_messages)[1]),
    ]
