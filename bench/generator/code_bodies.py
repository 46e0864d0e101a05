"""Bodies of functions and tests, from which source files are put together."""

from __future__ import annotations

# Bodies of functions; {n} noun, {f} {g} fields, {v} verb, {c} constant, {e} error, {k} number.
BODIES = (
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

TEST_BODIES = (
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
