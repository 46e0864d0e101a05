"""Source files, tests, configuration and diffs that look like those of a product."""

from __future__ import annotations

from bench.generator.domains import ENVIRONMENTS, ERRORS, VERBS
from bench.generator.draws import Draw
from bench.generator.world import Slots, World

_IMPORTS = (
    "import contextlib", "import hashlib", "import itertools", "import json", "import time",
    "from collections import defaultdict",
    "from collections.abc import Iterator", "from datetime import UTC, datetime, timedelta",
    "from decimal import Decimal", "from pathlib import Path", "from typing import Protocol",
)  # fmt: skip

# Bodies of functions; {n} noun, {f} {g} fields, {v} verb, {c} constant, {e} error, {k} number.
_BODIES = (
    """\
def {v}_{n}_{f}(rows: list[dict], *, limit: int = {k}) -> list[dict]:
    \"\"\"{doc}\"\"\"
    kept = []
    for row in rows[:limit]:
        if row["{g}"] is None:
            log.warning("{n} %s has no {g}, skipped", row["id"])
            continue
        kept.append({{**row, "{f}": row["{f}"] or {c}}})
    return kept
""",
    """\
def {v}_{n}(self, {n}_id: str, *, {f}: str | None = None) -> {N}:
    \"\"\"{doc}\"\"\"
    with self._lock:
        current = self._{n}s.get({n}_id)
        if current is None:
            raise {e}(f"unknown {n} {{{n}_id}}")
        if {f} is not None and current.{f} != {f}:
            current = dataclasses.replace(current, {f}={f}, version=current.version + 1)
            self._{n}s[{n}_id] = current
        return current
""",
    """\
async def {v}_{n}_batch(client, batch_id: str) -> int:
    \"\"\"{doc}\"\"\"
    written = 0
    async for page in client.pages("/v2/{n}s", batch=batch_id, size={k}):
        payload = [item for item in page.items if item["{f}"] != "void"]
        if not payload:
            continue
        response = await client.post("/v2/{n}s/{v}", json=payload, timeout={c})
        response.raise_for_status()
        written += len(payload)
    return written
""",
    """\
def _{f}_key({n}: {N}) -> tuple[str, int]:
    # {comment}
    return ({n}.{g}, -{n}.version)
""",
    """\
def {v}_{n}_window(start: datetime, *, hours: int = {k}) -> Iterator[tuple[datetime, datetime]]:
    \"\"\"{doc}\"\"\"
    step = timedelta(hours=hours)
    stop = datetime.now(UTC)
    while start < stop:
        yield start, min(start + step, stop)
        start += step
""",
    """\
def {v}_{n}_{g}(connection, {n}_ids: list[str]) -> dict[str, str]:
    \"\"\"{doc}\"\"\"
    found: dict[str, str] = {{}}
    for chunk in itertools.batched({n}_ids, {k}):
        marks = ", ".join("?" for _ in chunk)
        rows = connection.execute(
            f"SELECT id, {g} FROM {n} WHERE id IN ({{marks}}) AND {f} IS NOT NULL", chunk
        )
        found.update(rows.fetchall())
    missing = set({n}_ids) - found.keys()
    if missing:
        log.info("%d of %d {n} rows lack {g}", len(missing), len({n}_ids))
    return found
""",
    """\
@contextlib.contextmanager
def {n}_lease(store, {n}_id: str, *, seconds: int = {k}) -> Iterator[str]:
    \"\"\"{doc}\"\"\"
    token = hashlib.blake2s(f"{{{n}_id}}:{{time.monotonic_ns()}}".encode()).hexdigest()
    if not store.acquire({n}_id, token, seconds):
        raise {e}(f"{n} {{{n}_id}} is leased by somebody else")
    try:
        yield token
    finally:
        store.release({n}_id, token)
""",
    """\
def {v}_totals({n}s: list[{N}]) -> dict[str, int]:
    \"\"\"{doc}\"\"\"
    totals: dict[str, int] = defaultdict(int)
    for {n} in {n}s:
        # {comment}
        totals[{n}.{g}] += {n}.{f}
    return dict(sorted(totals.items(), key=lambda pair: -pair[1])[:{k}])
""",
    """\
def retry_{v}_{n}(operation, *, attempts: int = {few}, base_seconds: float = 0.{k}):
    \"\"\"{doc}\"\"\"
    for attempt in range(1, attempts + 1):
        try:
            return operation()
        except {e} as error:
            if attempt == attempts:
                raise
            pause = base_seconds * 2**attempt
            log.warning("{v} {n}: attempt %d failed (%s), next in %.1fs", attempt, error, pause)
            time.sleep(pause)
""",
    """\
def parse_{n}(raw: str) -> {N}:
    \"\"\"{doc}\"\"\"
    data = json.loads(raw)
    unknown = data.keys() - {{"id", "{f}", "{g}", "version"}}
    if unknown:
        raise {e}(f"{n} has unknown fields: {{sorted(unknown)}}")
    return {N}(
        id=data["id"],
        {f}=data["{f}"],
        {g}=data.get("{g}", {c}),
        version=int(data.get("version", 1)),
    )
""",
    """\
def is_{v}able({n}: {N}, now: datetime) -> bool:
    \"\"\"{doc}\"\"\"
    if {n}.state in {{"void", "archived"}}:
        return False
    age = now - {n}.updated_at
    return age > timedelta(minutes={k}) or {n}.{f} is None
""",
    """\
def {v}_{n}_tree(root: Path) -> Iterator[Path]:
    \"\"\"{doc}\"\"\"
    for path in sorted(root.glob("**/*.{n}.json")):
        if path.stat().st_size > {k} * 1024:
            # {comment}
            log.error("%s is larger than {k} KiB, left for the nightly job", path)
            continue
        yield path
""",
    """\
def describe_{n}_change(before: {N}, after: {N}) -> list[str]:
    \"\"\"{doc}\"\"\"
    changed = []
    for name in ("{f}", "{g}", "state"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            changed.append(f"{{name}}: {{old!r}} -> {{new!r}}")
    return changed
""",
    """\
def {v}_{n}_into(target: dict[str, {N}], incoming: list[{N}]) -> int:
    \"\"\"{doc}\"\"\"
    replaced = 0
    for {n} in sorted(incoming, key=_{f}_key):
        known = target.get({n}.id)
        if known is not None and known.version >= {n}.version:
            continue
        replaced += known is not None
        target[{n}.id] = {n}
    return replaced
""",
)

_TEST_BODIES = (
    """\
def test_{v}_{n}_keeps_{f}():
    {n} = make_{n}({f}={k}, version=3)
    assert {v}_{n}({n}).{f} == {k}
""",
    """\
@pytest.mark.parametrize("{f}", [None, "", {k}])
def test_{v}_{n}_without_{g}({f}):
    with pytest.raises({e}, match="{g}"):
        {v}_{n}(make_{n}({f}={f}, {g}=None))
""",
    """\
def test_{n}_{v}_is_idempotent(store):
    first = store.{v}("{n}-{k}")
    again = store.{v}("{n}-{k}")
    assert first == again
    assert store.count("{n}") == 1
""",
    """\
def test_{n}_older_version_loses(store):
    # {comment}
    store.put(make_{n}(id="{n}-{k}", version=7, {f}="new"))
    store.put(make_{n}(id="{n}-{k}", version=6, {f}="old"))
    assert store.get("{n}-{k}").{f} == "new"
""",
    """\
async def test_{v}_{n}_batch_counts_only_live_rows(client):
    client.pages_of("{n}s", [[live(), void()], [live()], []])
    assert await {v}_{n}_batch(client, "batch-{k}") == 2
""",
)


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
        bodies = _TEST_BODIES if is_test else _BODIES
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


def matches(world: World, draw: Draw, pattern: str, lines_wanted: int) -> str:
    """What grep prints: path, line number and the line."""
    templates = (
        "def {pattern}(self, row):", "    return {pattern}(rows, limit={k})",
        "from {product}.core.{n}_store import {pattern}", "        {pattern}({n}, {f}=None)",
        "    assert {pattern}(make_{n}()).{f} == {k}", "# {pattern}: {comment}",
        '    log.info("{pattern} took %.1f ms", elapsed)',
        "        if {n}.{f} and not {pattern}({n}):",
        "    result = await {pattern}(client, {n}_id, timeout={k})",
        '    "{pattern}": lambda row: row["{f}"],',
        '    monkeypatch.setattr(module, "{pattern}", fake)',
    )  # fmt: skip
    found: list[str] = []
    near = next((noun for noun, _ in world.nouns if noun in pattern), "")
    while len(found) < max(3, lines_wanted):
        slots = Slots(world, draw)
        if near and draw.chance(0.7):
            slots["id_noun"] = near
        path = slots["test"] if draw.chance(0.3) else slots["path"]
        numbers = sorted(draw.between(8, 420) for _ in range(draw.between(1, 4)))
        for number in numbers:
            # A name is defined once and used in many places.
            template = draw.pick(templates[1:]) if found else templates[0]
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
        body = _fill(world, draw, noun, draw.pick(_BODIES)).rstrip("\n").split("\n")
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
    body = _fill(world, draw, noun, draw.pick(_BODIES)).rstrip("\n").split("\n")
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
