"""The calls that each kind of session makes, with results that fit the turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.generator import code, pages, records
from bench.generator.draws import Draw
from bench.generator.world import Slots, World

Render = Callable[[Draw, int], str]


@dataclass(frozen=True, slots=True)
class Step:
    """A call to make: what the agent says its target is, and how the result is rendered.

    `render(draw, lines)` gives the result; `line_tokens` is about what one of its lines costs,
    `style` how a remark is put into it (code, log, json or text). A fixed answer has 0 line tokens.
    `is_live` marks what changes with time; everything else answers the same call the same way.
    """

    tool: str
    arguments: dict[str, Any]
    target: str
    render: Render
    line_tokens: int
    style: str = "text"
    is_live: bool = False


Maker = Callable[[World, Draw, Slots], Step]


def _path(world: World, draw: Draw, slots: Slots) -> str:
    """The path of this turn, or one that turned up before."""
    for _ in range(3):
        earlier = world.earlier("path", draw)
        if earlier is None or not earlier.endswith(".py"):
            continue
        if draw.chance(0.7 if slots["id_noun"] in earlier else 0.2):
            return earlier
    path = draw.pick((slots["path"], slots["path_b"], slots["test"]))
    return world.notice("path", path)


def _read_file(world: World, draw: Draw, slots: Slots) -> Step:
    path = _path(world, draw, slots)
    return Step(
        "read_file",
        {"path": path},
        path,
        lambda draw, lines: code.file_view(world, path, lines),
        11,
        "code",
    )


def _read_settings(world: World, draw: Draw, slots: Slots) -> Step:
    path = world.notice("path", slots["config"])
    return Step(
        "read_file",
        {"path": path},
        path,
        lambda draw, lines: code.file_view(world, path, lines),
        9,
        "code",
    )


def _grep(world: World, draw: Draw, slots: Slots) -> Step:
    pattern = draw.pick((slots["function"], f"{slots['verb']}_{slots['id_noun']}", slots["error"]))
    return Step(
        "grep",
        {"pattern": pattern, "path": world.product},
        pattern,
        lambda draw, lines: code.matches(world, draw, pattern, lines),
        27,
        "text",
    )


def _run_tests(world: World, draw: Draw, slots: Slots) -> Step:
    target = draw.pick((slots["test"], slots["test"], f"tests/{slots['test'].split('/')[1]}"))
    world.notice("path", slots["test"])
    return Step(
        "run_tests",
        {"target": target},
        target,
        lambda draw, lines: code.test_run(world, draw, target, lines),
        18,
        "text",
        is_live=True,
    )


def _edit_file(world: World, draw: Draw, slots: Slots) -> Step:
    path = _path(world, draw, slots)
    lines = code.source_file(world, path, 60).split("\n")
    start = draw.between(10, max(11, len(lines) - 14))
    old = lines[start : start + draw.between(3, 9)]
    new = [line.replace("None", "MISSING").replace("limit", "page_limit") for line in old]
    new.insert(draw.between(1, len(old)), f"    # {slots.say(draw.pick(world.words.comments))}")
    arguments = {"path": path, "old_text": "\n".join(old), "new_text": "\n".join(new)}
    answer = f"{path}: 1 replacement at line {start + 1}, {len(new) - len(old)} line added"
    if draw.chance(0.5):
        return Step("edit_file", arguments, path, lambda _, __: answer, 0)
    return Step(
        "edit_file",
        arguments,
        path,
        lambda draw, lines: code.change(world, draw, path, lines),
        13,
        "text",
    )


def _shell(world: World, draw: Draw, slots: Slots) -> Step:
    command = slots.say(
        draw.pick(
            (
                "make build AREA={id_noun} 2>&1 | tail -n {count}",
                "./scripts/migrate.sh --env {env} --dry-run",
                "{product}ctl check {config}",
            )
        )
    )
    return Step(
        "shell",
        {"command": command},
        command,
        lambda draw, lines: records.build_output(world, draw, lines),
        21,
        "text",
        is_live=True,
    )


def _list(world: World, draw: Draw, slots: Slots) -> Step:
    folder = f"{world.product}/{draw.pick(('core', 'jobs', 'api', 'storage'))}"
    return Step(
        "list_files",
        {"path": folder, "recursive": True},
        folder,
        lambda draw, lines: code.listing(world, draw, lines),
        23,
        "text",
    )


def _diff(world: World, draw: Draw, slots: Slots) -> Step:
    path = _path(world, draw, slots)
    return Step(
        "git_diff",
        {"path": path, "against": slots["branch"]},
        path,
        lambda draw, lines: code.change(world, draw, path, lines),
        13,
        "text",
    )


def _logs(world: World, draw: Draw, slots: Slots) -> Step:
    service = draw.pick((slots["service"], slots["service_b"]))
    arguments: dict[str, Any] = {"service": service, "minutes": draw.between(5, 90)}
    earlier = world.earlier("id", draw)
    if earlier is not None and draw.chance(0.3):
        arguments["contains"] = earlier
    return Step(
        "query_logs",
        arguments,
        service,
        lambda draw, lines: records.log_lines(world, draw, lines, service),
        44,
        "log",
        is_live=True,
    )


def _metrics(world: World, draw: Draw, slots: Slots) -> Step:
    metric = slots["metric"]
    return Step(
        "query_metrics",
        {"metric": metric, "service": slots["service"]},
        metric,
        lambda draw, lines: records.metric_table(world, draw, metric, lines),
        34,
        is_live=True,
    )


def _traces(world: World, draw: Draw, slots: Slots) -> Step:
    service = slots["service_b"]
    return Step(
        "query_traces",
        {"service": service, "slower_than_ms": draw.between(100, 900)},
        service,
        lambda draw, lines: records.traces(world, draw, lines),
        19,
        is_live=True,
    )


def _kubectl(world: World, draw: Draw, slots: Slots) -> Step:
    command = f"get pods -n {world.product} -l region={slots['region']} -o wide"
    return Step(
        "kubectl",
        {"command": command},
        command,
        lambda draw, lines: records.pod_listing(world, draw, lines),
        42,
        is_live=True,
    )


def _alert(world: World, draw: Draw, slots: Slots) -> Step:
    name = f"{slots['service']}_{slots['metric']}_high"
    return Step(
        "get_alert",
        {"name": name},
        name,
        lambda draw, lines: records.alert(world, draw, slots, lines),
        15,
        "json",
    )


def _runbook(world: World, draw: Draw, slots: Slots) -> Step:
    service = slots["service"]
    return Step(
        "read_runbook",
        {"service": service},
        service,
        lambda draw, lines: pages.article(world, draw, service, lines),
        80,
    )


def _query(world: World, draw: Draw, slots: Slots) -> Step:
    table = draw.pick((slots["table"], slots["table_b"]))
    fields = (slots["column"], slots["column_b"])
    query = slots.say(
        draw.pick(
            (
                "select created_at::date as day, region, {column}, {column_b}, count(*) as rows "
                "from {target} where created_at >= '{date}' group by 1, 2, 3, 4 order by 1",
                "select day, region, {column}, {column_b}, rows from {target} "
                "where region <> '{region}' and {column_b} is not null order by 1 limit {count}",
                "with recent as (select * from {target} where created_at >= '{date}') "
                "select day, region, {column}, {column_b}, count(*) as rows from recent "
                "group by 1, 2, 3, 4",
            )
        ).replace("{target}", table)
    )
    return Step(
        "run_query",
        {"sql": query},
        table,
        lambda draw, lines: records.query_result(world, draw, table, fields, lines),
        30,
    )


def _describe(world: World, draw: Draw, slots: Slots) -> Step:
    table = draw.pick((slots["table"], slots["table_b"]))
    return Step(
        "describe_table",
        {"table": table},
        table,
        lambda draw, lines: records.table_description(world, draw, table, lines),
        37,
    )


def _script(world: World, draw: Draw, slots: Slots) -> Step:
    path = world.notice("path", f"analysis/{slots['id_noun']}/{slots['verb']}_{slots['column']}.py")
    arguments = {"path": path, "since": slots["date"], "region": slots["region"]}
    return Step(
        "run_script",
        arguments,
        path,
        lambda draw, lines: records.script_output(world, draw, lines),
        24,
    )


def _customer(world: World, draw: Draw, slots: Slots) -> Step:
    customer = world.notice("id", slots["customer"])
    return Step(
        "find_customer",
        {"customer": customer},
        customer,
        lambda draw, lines: records.customer_record(world, draw, customer, lines),
        13,
        "json",
    )


def _orders(world: World, draw: Draw, slots: Slots) -> Step:
    customer = slots["customer"]
    return Step(
        "get_orders",
        {"customer": customer, "since": slots["date"]},
        customer,
        lambda draw, lines: records.order_records(world, draw, slots["order"], lines),
        9,
        "json",
    )


def _case(world: World, draw: Draw, slots: Slots) -> Step:
    case = slots["earlier_case"] if draw.chance(0.5) else world.notice("case", slots["case"])
    return Step(
        "read_case",
        {"case": case},
        case,
        lambda draw, lines: pages.thread(world, draw, case, lines),
        65,
    )


def _help(world: World, draw: Draw, slots: Slots) -> Step:
    subject = slots["noun"]
    return Step(
        "search_help",
        {"query": subject, "limit": 3},
        subject,
        lambda draw, lines: pages.article(world, draw, subject, lines),
        80,
    )


def _note(world: World, draw: Draw, slots: Slots) -> Step:
    text = slots.say(draw.pick(world.words.message_sentences))
    return Step(
        "add_note",
        {"case": slots["case"], "text": text},
        slots["case"],
        lambda _, __: f"{slots['case']}: note {draw.digits(4)} saved",
        0,
    )


def _search(world: World, draw: Draw, slots: Slots) -> Step:
    query = slots["query"] if draw.chance(0.7) else f"{slots['query']} 2026"
    return Step(
        "web_search",
        {"query": query},
        query,
        lambda draw, lines: pages.search_results(world, draw, query, lines),
        85,
    )


def _open(world: World, draw: Draw, slots: Slots) -> Step:
    address = world.earlier("path", draw)
    if address is None or not address.startswith("http"):
        address = pages.new_address(world, draw)
    return Step(
        "open_page",
        {"url": address},
        address,
        lambda draw, lines: pages.page(world, draw, address, lines),
        38,
    )


def _read_note(world: World, draw: Draw, slots: Slots) -> Step:
    name = f"{slots['city']}-{slots['date']}.md"
    return Step(
        "read_note", {"name": name}, name, lambda draw, lines: pages.notes(world, draw, lines), 65
    )


def _save_note(world: World, draw: Draw, slots: Slots) -> Step:
    text = slots.say(draw.pick(world.words.kinds["chat"].plan))
    return Step("save_note", {"text": text}, slots["city"], lambda _, __: "saved", 0)


# Makers with their weights, by kind of session; update_plan is made by the assembling.
MAKERS: dict[str, tuple[tuple[Maker, float], ...]] = {
    "coding": (
        (_read_file, 5), (_grep, 3), (_run_tests, 2.5), (_edit_file, 2.5), (_shell, 1.2),
        (_diff, 1), (_list, 0.6), (_read_settings, 0.7),
    ),
    "incident": (
        (_logs, 5), (_metrics, 1.3), (_traces, 1.8), (_kubectl, 1.2), (_alert, 0.8),
        (_runbook, 1.6),
        (_read_settings, 1),
    ),
    "analysis": (
        (_query, 4), (_describe, 1.5), (_script, 2.2), (_read_file, 2), (_list, 0.4),
    ),
    "support": (
        (_customer, 2.2), (_orders, 2.5), (_case, 2.5), (_help, 2), (_query, 0.7), (_note, 1),
    ),
    "chat": ((_search, 2.5), (_open, 4), (_read_note, 1), (_save_note, 0.7)),
}  # fmt: skip
