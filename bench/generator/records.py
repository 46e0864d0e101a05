"""Logs, tables, listings and JSON records as tools print them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from bench.generator.domains import REGIONS
from bench.generator.draws import Draw
from bench.generator.world import Slots, World


def moment(seconds: float) -> str:
    """Seconds since the epoch as an ISO time in UTC with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def clock_time(seconds: float) -> str:
    """Seconds since the epoch as the time of day in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def log_lines(world: World, draw: Draw, lines_wanted: int, service: str | None = None) -> str:
    """Log lines of one service or of all, in order of time."""
    at = world.clock - draw.between(300, 5400)
    lines = []
    for _ in range(max(4, lines_wanted)):
        at += draw.real(0.01, 9.0, 3)
        slots = Slots(world, draw)
        level, message = draw.pick(world.words.log_messages)
        source = service or slots["service"]
        module = slots["path"].removesuffix(".py").replace("/", ".")
        text = f"{clock_time(at)} {level:<5} {source} {module}: {slots.say(message)}"
        if draw.chance(0.3):
            trace = world.notice("id", draw.hexadecimal(8))
            text = f"{text} (trace {trace})"
        if draw.chance(0.12):
            text = f"{text}\n    {slots.say(draw.pick(world.words.comments))}"
        lines.append(text)
        if "request_id" in slots:
            world.notice("id", slots["request_id"])
    return "\n".join(lines)


def metric_table(world: World, draw: Draw, metric: str, lines_wanted: int) -> str:
    """A time series per region, one row a minute or five."""
    step = draw.pick((60, 120, 300))
    at = world.clock - step * lines_wanted
    regions = draw.some(REGIONS, draw.between(2, 4))
    lines = [f"{metric} by region, step {step}s", "time                 " + "  ".join(
        f"{region:>9}" for region in regions)]  # fmt: skip
    # A share stays below one, everything else is a count or a duration.
    is_share = metric.endswith("ratio")
    levels = [draw.real(0.2, 0.7) if is_share else draw.real(20, 900) for _ in regions]
    for _ in range(max(6, lines_wanted)):
        at += step
        levels = [max(0.1, level * draw.real(0.88, 1.13, 3)) for level in levels]
        levels = [min(level, 0.99) for level in levels] if is_share else levels
        lines.append(f"{moment(at)[:-5]}Z " + "  ".join(f"{level:>9.3f}" for level in levels))
    peak = f"{max(levels):.3f}"
    lines.append(f"last max {peak}  mean {sum(levels) / len(levels):.3f}")
    world.notice("number", peak)
    return "\n".join(lines)


def query_result(
    world: World, draw: Draw, table: str, fields: tuple[str, ...], lines_wanted: int
) -> str:
    """Rows as a database client prints them, with the time that the query took."""
    states = ("open", "closed", "held", "void", "pending")
    rows = []
    for _ in range(max(4, lines_wanted)):
        slots = Slots(world, draw)
        row = [slots["date"], draw.pick(REGIONS), draw.pick(world.services)]
        for field in fields:
            if field == "state":
                row.append(draw.pick(states))
            elif field.endswith(("_id", "reference", "sku", "barcode")):
                row.append(world.notice("id", f"{field[:3]}_{draw.digits(6)}"))
            elif field.endswith("_at"):
                row.append(slots["date_b"])
            else:
                row.append(str(draw.between(3, 980)))
        rows.append([*row, str(draw.between(1, 9_000)), slots.say(draw.pick(world.words.notes))])
        if draw.chance(0.1):
            world.notice("number", rows[-1][-2])
    rows.sort()
    lines = [", ".join(["day", "region", "source", *fields, "rows", "remark"])]
    lines += [", ".join(row) for row in rows]
    return "\n".join([*lines, f"({len(rows)} rows, {draw.between(18, 9400)} ms, table {table})"])


def script_output(world: World, draw: Draw, lines_wanted: int) -> str:
    """What an analysis script prints while it works through its steps."""
    lines = []
    total = max(4, lines_wanted)
    for number in range(1, total + 1):
        slots = Slots(world, draw)
        step = slots.say(
            draw.pick(
                (
                    "read {table}: kept {count} of {count_b} rows after the filter on {column}",
                    "joined {table} with {table_b} on {column}, {few} keys without a partner",
                    "dropped {few} test accounts, the largest was {customer}",
                    "{region}: {noun} share {percent}, {few} days missing",
                    "warning: {column} in {table} holds text where a number was expected",
                    "grouped by month and region, smallest group has {count} rows",
                    "wrote analysis/{id_noun}/{verb}_{column}.csv",
                    "{noun}: median {few} days, ninetieth percentile {few_b} days",
                )
            )
        )
        if "count" in slots:
            world.notice("number", slots["count"])
        lines.append(f"step {number} of {total}: {step}")
    return "\n".join(lines)


def table_description(world: World, draw: Draw, table: str, lines_wanted: int) -> str:
    """Columns with type, share of nulls, number of distinct values and sample values."""
    lines = [f"table {table}: {draw.between(12_000, 88_000_000)} rows", ""]
    columns = ["id", "created_at", "updated_at", "version", *world.domain.fields]
    columns += [f"{noun}_id" for noun, _ in world.nouns]
    columns += [f"{noun}_{field}" for noun, _ in world.nouns[:5] for field in world.domain.fields]
    for column in columns[: max(8, lines_wanted)]:
        kind, sample = _column_kind(draw, column)
        meaning = Slots(world, draw).say(draw.pick(world.words.comments))
        lines.append(f"{column} {kind}, e.g. {sample}, {draw.between(0, 31)}% null: {meaning}")
    return "\n".join(lines)


def _column_kind(draw: Draw, column: str) -> tuple[str, str]:
    if column.endswith("_at"):
        return "timestamptz", f"2026-0{draw.between(1, 6)}-1{draw.between(0, 9)}T0{draw.digits(1)}"
    if column.endswith("_id") or column == "id":
        return "text", f"{column[:3]}_{draw.digits(6)}"
    if column.endswith(("state", "unit", "currency", "locale", "channel", "gate", "priority")):
        return "text", draw.pick(("open, void", "A, B, C", "EUR, USD", "low, high", "de, en, zh"))
    if column.endswith(("minor", "milli", "grams", "rate", "planned", "boost")):
        return "numeric(18,4)", f"{draw.digits(3)}.{draw.digits(2)}"
    return draw.pick(("bigint", "text", "jsonb")), draw.digits(5)


_NODE_POOLS = ("general", "memory", "spot", "burst", "storage", "arm")


def pod_listing(world: World, draw: Draw, lines_wanted: int) -> str:
    """Pods of a cluster with state, restarts, age and node."""
    lines = [
        "NAME                                     READY  STATUS            RESTARTS  AGE   NODE"
    ]
    for _ in range(max(5, lines_wanted)):
        service = draw.pick(world.services)
        name = f"{service}-{draw.hexadecimal(5)}"
        state = draw.pick_weighted(
            (("Running", 0.86), ("CrashLoopBackOff", 0.05), ("Pending", 0.05), ("Evicted", 0.04))
        )
        ready = "1/1" if state == "Running" else "0/1"
        lines.append(
            f"{name:<31}{ready:<7}{state:<18}{draw.between(0, 40):<10}"
            f"{draw.between(1, 96)}h   {draw.pick(REGIONS)}-{draw.pick(_NODE_POOLS)}"
        )
        if state != "Running":
            world.notice("id", name)
    return "\n".join(lines)


def traces(world: World, draw: Draw, lines_wanted: int) -> str:
    """Spans of slow requests, indented by depth."""
    lines: list[str] = []
    while len(lines) < max(5, lines_wanted):
        slots = Slots(world, draw)
        world.notice("id", slots["request_id"])
        total = draw.between(220, 9800)
        lines.append(f"{slots['request_id']}  {total} ms  {slots['service']}  {slots['region']}")
        for depth in range(1, draw.between(3, 9)):
            inner = Slots(world, draw)
            total = max(3, int(total * draw.real(0.3, 0.95)))
            lines.append(
                f"{'  ' * depth}{inner['service']}.{inner['verb']}_{inner['id_noun']}  {total} ms  "
                f"{draw.pick(('ok', 'ok', 'ok', inner['error'], 'cancelled'))}"
            )
    return "\n".join(lines)


def build_output(world: World, draw: Draw, lines_wanted: int) -> str:
    """What a shell prints while it builds, migrates or installs something."""
    lines = []
    for step in range(1, max(5, lines_wanted) + 1):
        slots = Slots(world, draw)
        lines.append(
            f"[{step:>3}] " + slots.say(draw.pick((
                "compile {path} ({few} warnings)", "link {service} {version}: {count} symbols",
                "migrate {table}: {count} rows in {ms}", "copy {config} -> /etc/{product}/",
                "check {id_noun}_{field}: {count} ok, {few} skipped", "cache hit {commit} ({ms})",
                "pull registry.internal/{service}:{version}", "warn: {path}:{line} shadows {field}",
                "lint {path}: {few} findings, {few_b} fixed", "fetch {branch} at {commit}",
            )))
        )  # fmt: skip
        if draw.chance(0.15):
            world.notice("id", slots["commit"])
        if "path" in slots and draw.chance(0.3):
            world.notice("path", slots["path"])
    return "\n".join([*lines, f"done, exit code {draw.pick((0, 0, 0, 1, 2))}"])


def _order(world: World, draw: Draw, name: str) -> dict[str, object]:
    slots = Slots(world, draw)
    return {
        "order": world.notice("id", name),
        "placed": slots["date"],
        "state": draw.pick(("delivered", "in_transit", "returned", "held", "cancelled", "partly")),
        "total": {"minor": draw.between(900, 98_000), "currency": draw.pick(("EUR", "USD", "CNY"))},
        "lines": [
            {
                "item": draw.pick(world.words.goods),
                "quantity": draw.between(1, 6),
                "minor": draw.between(300, 24_000),
                "packing": draw.pick(world.words.packing),
            }
            for _ in range(draw.between(1, 4))
        ],
        "tracking": f"TRK{draw.digits(10)}",
    }


def order_records(world: World, draw: Draw, newest: str, lines_wanted: int) -> str:
    """Orders of a customer as indented JSON, about 20 lines each; `newest` comes first."""
    others = [Slots(world, draw)["order"] for _ in range(lines_wanted // 26)]
    orders = [_order(world, draw, name) for name in (newest, *others)]
    return json.dumps({"orders": orders, "next": None}, indent=1, ensure_ascii=False)


def customer_record(world: World, draw: Draw, customer: str, lines_wanted: int) -> str:
    """One customer: profile and last contacts."""
    slots = Slots(world, draw)
    wanted = max(1, lines_wanted // 7)
    bank = world.words.message_sentences
    rounds = 1 + 2 * wanted // len(bank)
    texts = [text for _ in range(rounds) for text in draw.some(bank, len(bank))]
    contacts = []
    for text, more in zip(texts[0 : 2 * wanted : 2], texts[1 : 2 * wanted : 2], strict=True):
        contact = Slots(world, draw)
        world.notice("case", contact["case"])
        contacts.append(
            {
                "at": contact["date"],
                "case": contact["case"],
                "channel": draw.pick(("mail", "phone", "chat", "form")),
                "agent": contact["person"],
                "text": contact.say(text + world.words.joiner + more),
            }
        )
    record = {
        "customer": customer,
        "name": slots["person"],
        "city": slots["city"],
        "since": slots["date"],
        "plan": draw.pick(("basic", "plus", "team", "business")),
        "flags": draw.some(("vip", "chargeback_2025", "reseller", "beta", "tax_exempt"), 2),
        "contacts": contacts,
    }
    return json.dumps(record, indent=1, ensure_ascii=False)


def alert(world: World, draw: Draw, about: Slots, lines_wanted: int) -> str:
    """An alert with its rule, its labels and the times it fired before."""
    slots = Slots(world, draw)
    is_share = about["metric"].endswith("ratio")
    threshold = draw.real(0.3, 0.6) if is_share else draw.real(20, 800)
    record = {
        "alert": f"{about['service']}_{about['metric']}_high",
        "severity": draw.pick(("page", "ticket", "warning")),
        "region": about["region"],
        "value": round(threshold * draw.real(1.02, 1.6), 2),
        "threshold": threshold,
        "labels": {"service": about["service"], "env": about["env"], "team": slots["team"]},
        "fired_before": [
            {
                "at": moment(world.clock - draw.between(9_000, 9_000_000)),
                "minutes": draw.between(3, 240),
                "closed_by": draw.pick(world.people),
                "remark": Slots(world, draw).say(draw.pick(world.words.notes)),
            }
            for _ in range(max(1, lines_wanted // 7))
        ],
    }
    return json.dumps(record, indent=1, ensure_ascii=False)
