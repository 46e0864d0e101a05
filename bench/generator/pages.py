"""Pages of prose and listings: help articles, runbooks, search results, web pages, threads."""

from __future__ import annotations

from bench.generator.draws import Draw
from bench.generator.records import moment
from bench.generator.world import Slots, World


def _sentences(world: World, draw: Draw, bank: tuple[str, ...], count: int) -> str:
    joiner = world.words.joiner
    return joiner.join(Slots(world, draw).say(text) for text in draw.some(bank, count))


def article(world: World, draw: Draw, title: str, lines_wanted: int) -> str:
    """A help article or runbook with numbered sections; about one paragraph a section."""
    lines = [f"# {title}", f"rev {draw.between(2, 60)}, {Slots(world, draw)['date']}", ""]
    for section in range(1, max(2, lines_wanted) + 1):
        slots = Slots(world, draw)
        lines.append(f"## {section}. {slots['id_noun']}_{slots['field']}")
        lines.append(_sentences(world, draw, world.words.help_sentences, draw.between(2, 5)))
        if draw.chance(0.4):
            lines.append(f"    {_command(slots, draw)}")
            world.notice("path", slots["config"])
        lines.append("")
    return "\n".join(lines).rstrip("\n")


def _command(slots: Slots, draw: Draw) -> str:
    return slots.say(
        draw.pick(
            (
                "{product}ctl {verb} {id_noun} --env {env} --limit {count}",
                "curl -s https://{service}.internal/v2/{id_noun}s?since={date}",
                "{product}ctl diff {config} --at {commit}",
                "psql -c 'select count(*) from {table} where {column} is null'",
            )
        )
    )


def thread(world: World, draw: Draw, case: str, lines_wanted: int) -> str:
    """Messages of a case, oldest first: the customer's and the answers of the desk."""
    at = world.clock - draw.between(2_000_000, 9_000_000)
    customer, *agents = draw.some(world.people, 4)
    lines = [f"{case}, {draw.pick(('open', 'waiting', 'solved once'))}"]
    for number in range(max(2, lines_wanted)):
        at += draw.between(400, 80_000)
        is_answer = number % 3 == 1
        bank = world.words.kinds["support"].findings if is_answer else world.words.message_sentences
        sender = f"{draw.pick(agents)} (desk)" if is_answer else customer
        lines.append(f"[{moment(at)[:16]}] {sender}:")
        lines.append(_sentences(world, draw, bank, draw.between(1, 3)))
    older = [Slots(world, draw)["case"] for _ in range(draw.between(0, 2))]
    lines += [f"-> {world.notice('case', case)}" for case in older]
    return "\n".join(lines)


def notes(world: World, draw: Draw, lines_wanted: int) -> str:
    """The user's own notes: what was found, what is to be done."""
    lines = [f"# {Slots(world, draw)['city']}, {Slots(world, draw)['date']}"]
    for _ in range(max(2, lines_wanted)):
        slots = Slots(world, draw)
        lines.append(f"- [{draw.pick((' ', 'x'))}] {slots.say(draw.pick(_plan(world)))}")
        lines.append("  " + _sentences(world, draw, world.words.page_sentences, draw.between(1, 2)))
    return "\n".join(lines)


def _plan(world: World) -> tuple[str, ...]:
    return world.words.kinds["chat"].plan


def search_results(world: World, draw: Draw, query: str, lines_wanted: int) -> str:
    """Hits of a search: title, address, snippet."""
    lines = [f"{draw.between(1200, 940_000)} results for {query!r}", ""]
    for position in range(1, max(3, lines_wanted) + 1):
        address = new_address(world, draw)
        lines.append(f"{position}. {place(world, address)} ({address})")
        lines.append("   " + _sentences(world, draw, world.words.page_sentences, 2))
    return "\n".join(lines)


_SLUG_WORDS = (
    "amber", "birch", "canal", "delta", "ember", "fjord", "grove", "harbour", "indigo", "juniper",
    "kestrel", "lantern", "meadow", "nordic", "orchard", "pepper", "quarry", "river", "saffron",
    "timber", "upland", "velvet", "willow", "yarrow",
)  # fmt: skip


def new_address(world: World, draw: Draw) -> str:
    """The address of a page that can be opened later."""
    host = f"{draw.pick(_SLUG_WORDS)}-{draw.pick(_SLUG_WORDS)}"
    return world.notice("path", f"https://{host}.example/{draw.digits(4)}")


def place(world: World, address: str) -> str:
    """The place that a page is about, always the same for one address."""
    draw = world.draw.fork(f"place/{address}")
    return f"{place_name(world, draw)}, {draw.pick(world.cities)}"


def place_name(world: World, draw: Draw) -> str:
    """The name of a shop, hotel, workshop or site."""
    first = draw.pick(_SLUG_WORDS).capitalize()
    if world.words.language == "zh":
        return first + draw.pick(("客栈", "酒店", "工坊", "设计", "书店", "旅社", "餐厅", "建材"))
    return f"{first} {draw.pick(('House', 'Inn', 'Workshop', 'Studio', 'Rooms', 'Supply', 'Hall'))}"


def page(world: World, draw: Draw, address: str, lines_wanted: int) -> str:
    """A web page: opening hours, description, prices, reviews."""
    slots = Slots(world, draw)
    title = place(world, address)
    slots["city"] = title.split(", ")[-1]
    lines = [title, "=" * 24, f"{slots['city']} · {draw.real(3.1, 4.9, 1)}/5 · {slots['count']} "
             f"reviews · {slots['morning']}-{slots['evening']}"]  # fmt: skip
    while len(lines) < max(5, lines_wanted):
        lines.append("")
        lines.append(_sentences(world, draw, world.words.page_sentences, draw.between(2, 4)))
        for _ in range(draw.between(0, 3)):
            review = Slots(world, draw)
            said = _sentences(world, draw, world.words.review_sentences, draw.between(1, 3))
            lines.append(f"  {review['date']} {review['person']} {draw.between(1, 5)}/5: {said}")
        offer = Slots(world, draw)
        code = f"{draw.pick(_SLUG_WORDS)[:3].upper()}-{draw.digits(4)}"
        world.notice("id", code)
        lines.append(
            f"  {code} | {place_name(world, draw)} | {offer['price']} EUR | {offer['date']}"
        )
    return "\n".join(lines)
