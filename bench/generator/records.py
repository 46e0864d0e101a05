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


def log_lines(world: World, draw: Draw, lines_wanted: int, service: str | None = None) -> str:
    """Log lines of one service or of all, in order of time."""
    at = world.clock - draw.between(300, 5400)
    lines = []
    for _ in range(max(4, lines_wanted)):
        at += draw.real(0.01, 9.0, 3)
        slots = Slots(world, draw)
        level, message = draw.pick(world.words.log_messages)
        source = service or slots["service"]
        trace = draw.hexadecimal(12)
        lines.append(f"{moment(at)} {level:<5} {source}[{draw.between(1, 9)}] trace={trace} "
                     f"{slots.say(message)}")  # fmt: skip
        if draw.chance(0.12):
            world.notice("id", trace)
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
    head = ["day", "region", *fields, "rows"]
    states = ("open", "closed", "held", "void", "pending")
    rows = []
    for _ in range(max(4, lines_wanted)):
        slots = Slots(world, draw)
        row = [slots["date"], draw.pick(REGIONS)]
        for field in fields:
            if field == "state":
                row.append(draw.pick(states))
            elif field.endswith(("_id", "reference", "sku", "barcode")):
                row.append(f"{field[:3]}_{draw.digits(6)}")
            else:
                row.append(str(draw.between(3, 98_000)))
        rows.append([*row, str(draw.between(1, 52_000))])
        if draw.chance(0.1):
            world.notice("number", rows[-1][-1])
        if draw.chance(0.2):
            world.notice("id", rows[-1][2])
    rows.sort()
    widths = [max(len(line[index]) for line in [head, *rows]) for index in range(len(head))]
    lines = [" | ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
             for line in [head, *rows]]  # fmt: skip
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join([*lines, f"({len(rows)} rows, {draw.between(18, 9400)} ms, table {table})"])


def table_description(world: World, draw: Draw, table: str, lines_wanted: int) -> str:
    """Columns with type, share of nulls, number of distinct values and sample values."""
    lines = [f"table {table}: {draw.between(12_000, 88_000_000)} rows", ""]
    columns = ["id", "created_at", "updated_at", "version", *world.domain.fields]
    columns += [f"{noun}_id" for noun, _ in world.nouns]
    columns += [f"{noun}_{field}" for noun, _ in world.nouns[:5] for field in world.domain.fields]
    for column in columns[: max(8, lines_wanted)]:
        kind, sample = _column_kind(draw, column)
        lines.append(
            f"{column:<28}{kind:<16}null {draw.real(0, 31, 1):>5}%  distinct "
            f"{draw.between(2, 940_000):>7}  e.g. {sample}"
        )
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


def pod_listing(world: World, draw: Draw, lines_wanted: int) -> str:
    """Pods of a cluster with state, restarts, age and node."""
    lines = [
        "NAME                                     READY  STATUS            RESTARTS  AGE   NODE"
    ]
    for _ in range(max(5, lines_wanted)):
        service = draw.pick(world.services)
        name = f"{service}-{draw.hexadecimal(9)}-{draw.hexadecimal(5)}"
        state = draw.pick_weighted(
            (("Running", 0.86), ("CrashLoopBackOff", 0.05), ("Pending", 0.05), ("Evicted", 0.04))
        )
        ready = "1/1" if state == "Running" else "0/1"
        lines.append(
            f"{name:<41}{ready:<7}{state:<18}{draw.between(0, 40):<10}"
            f"{draw.between(1, 96)}h   {draw.pick(REGIONS)}-node-{draw.digits(3)}"
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


def _order(world: World, draw: Draw) -> dict[str, object]:
    slots = Slots(world, draw)
    world.notice("id", slots["order"])
    return {
        "order": slots["order"],
        "placed": slots["date"],
        "state": draw.pick(("delivered", "in_transit", "returned", "held", "cancelled", "partly")),
        "total": {"minor": draw.between(900, 98_000), "currency": draw.pick(("EUR", "USD", "CNY"))},
        "lines": [
            {
                "sku": f"{draw.pick(world.nouns)[0][:3].upper()}-{draw.digits(5)}",
                "quantity": draw.between(1, 6),
                "minor": draw.between(300, 24_000),
                "location": f"{draw.pick(REGIONS)}/{draw.hexadecimal(3).upper()}",
            }
            for _ in range(draw.between(1, 4))
        ],
        "tracking": f"TRK{draw.digits(10)}",
    }


def order_records(world: World, draw: Draw, lines_wanted: int) -> str:
    """Orders of a customer as indented JSON, about 20 lines each."""
    orders = [_order(world, draw) for _ in range(max(1, lines_wanted // 26))]
    return json.dumps({"orders": orders, "next": None}, indent=1, ensure_ascii=False)


def customer_record(world: World, draw: Draw, customer: str, lines_wanted: int) -> str:
    """One customer: profile and last contacts."""
    slots = Slots(world, draw)
    wanted = max(1, lines_wanted // 7)
    bank = world.words.message_sentences
    texts = [text for _ in range(1 + wanted // len(bank)) for text in draw.some(bank, len(bank))]
    contacts = []
    for text in texts[:wanted]:
        contact = Slots(world, draw)
        world.notice("case", contact["case"])
        contacts.append(
            {
                "at": contact["date"],
                "case": contact["case"],
                "channel": draw.pick(("mail", "phone", "chat", "form")),
                "agent": contact["person"],
                "text": contact.say(text),
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
                "trace": draw.hexadecimal(12),
            }
            for _ in range(max(1, lines_wanted // 7))
        ],
    }
    return json.dumps(record, indent=1, ensure_ascii=False)
