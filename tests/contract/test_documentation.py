"""README says what is there: public names, entity table, strategies, commands, pictures."""

import argparse
import re
from pathlib import Path

import bench
from bench.cli.main import build_parser
from bench.entity_table import ENTITY_TABLE_VERSION, ENTITY_TYPES
from bench.formats import formats
from bench.registry import list_strategies

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_public_name_is_listed() -> None:
    assert [name for name in bench.__all__ if not re.search(rf"\b{name}\b", README)] == []
    assert all(hasattr(bench, name) for name in bench.__all__)


def test_entity_table_is_the_one_in_the_code() -> None:
    assert ENTITY_TABLE_VERSION in README
    for one in ENTITY_TYPES:
        row = f"| {one.kind} | {one.meaning} | {one.length_min} | {one.normalisation} |"
        assert row in README


def test_every_strategy_and_format_is_named() -> None:
    for row in list_strategies():
        assert f"| `{row['name']}` |" in README
    for one in formats():
        assert f"`{one.NAME}`" in README


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Every command below a parser by its words, actions of commands too."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                found[name] = below
                found |= {f"{name} {words}": one for words, one in _commands(below).items()}
    return found


def test_every_command_and_option_is_named() -> None:
    commands = _commands(build_parser())
    assert {"run", "compact", "report", "sessions inspect", "strategies", "verify"} <= set(commands)
    for words, parser in commands.items():
        assert f"`{words}" in README, words
        for option in parser._option_string_actions:
            is_own = option not in ("-h", "--help")
            assert not is_own or re.search(rf"{option}\b", README), f"{words} {option}"


def test_set_up_commands_are_there_to_the_letter() -> None:
    assert "    python -m pip install . && compaction-bench run\n" in README
    assert '    python -m pip install -e ".[test]" && python -m pytest\n' in README


def test_pictures_and_linked_files_are_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_nothing_is_left_to_fill_in() -> None:
    assert "@@" not in README
