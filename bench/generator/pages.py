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


def thread(world: World, draw: Draw, lines_wanted: int) -> str:
    """Messages of a case, oldest first, with sender and time."""
    at = world.clock - draw.between(90_000, 900_000)
    lines = []
    for _ in range(max(2, lines_wanted)):
        at += draw.between(400, 80_000)
        slots = Slots(world, draw)
        world.notice("id", slots["case"])
        lines.append(f"[{moment(at)[:16]}] {slots['person']} ({slots['case']}):")
        lines.append(_sentences(world, draw, world.words.message_sentences, draw.between(1, 4)))
    return "\n".join(lines)


def search_results(world: World, draw: Draw, query: str, lines_wanted: int) -> str:
    """Hits of a search: title, address, snippet."""
    lines = [f"{draw.between(1200, 940_000)} results for {query!r}", ""]
    for position in range(1, max(3, lines_wanted) + 1):
        slots = Slots(world, draw)
        city = slots["city"].lower().replace(" ", "-") if slots["city"].isascii() else "detail"
        address = f"https://{place_slug(draw)}.example/{city}"
        address = f"{address}/{draw.digits(4)}"
        world.notice("path", address)
        lines.append(f"{position}. {place_name(world, draw)}, {slots['city']} ({address})")
        lines.append("   " + _sentences(world, draw, world.words.page_sentences, 2))
    return "\n".join(lines)


_SLUG_WORDS = (
    "amber", "birch", "canal", "delta", "ember", "fjord", "grove", "harbour", "indigo", "juniper",
    "kestrel", "lantern", "meadow", "nordic", "orchard", "pepper", "quarry", "river", "saffron",
    "timber", "upland", "velvet", "willow", "yarrow",
)  # fmt: skip


def place_slug(draw: Draw) -> str:
    """A made-up host name."""
    return f"{draw.pick(_SLUG_WORDS)}-{draw.pick(_SLUG_WORDS)}"


def place_name(world: World, draw: Draw) -> str:
    """The name of a shop, hotel, workshop or site."""
    first = draw.pick(_SLUG_WORDS).capitalize()
    if world.words.language == "zh":
        return first + draw.pick(("客栈", "酒店", "工坊", "设计", "书店", "旅社", "餐厅", "建材"))
    return f"{first} {draw.pick(('House', 'Inn', 'Workshop', 'Studio', 'Rooms', 'Supply', 'Hall'))}"


def page(world: World, draw: Draw, title: str, lines_wanted: int) -> str:
    """A web page: facts in a table, description, prices, reviews."""
    slots = Slots(world, draw)
    lines = [title, "=" * 24, f"{slots['city']} · {draw.real(3.1, 4.9, 1)}/5 · {slots['count']} "
             f"reviews · {slots['hour']}-{slots['hour_b']}"]  # fmt: skip
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
