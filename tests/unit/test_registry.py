"""How strategies are found, made and refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import strategies
from bench.errors import UsageError
from bench.registry import (
    check_import_names,
    list_strategies,
    make_strategies,
    make_strategy,
    prompts_of,
    registered,
)
from bench.strategy import Strategy

MINE = '''
from __future__ import annotations
from dataclasses import dataclass

@dataclass(frozen=True, slots=True, kw_only=True)
class KeepNewest:
    """Keep only the newest groups.

    More words.
    """

    groups: int = 10
    prompt: str | None = None

    def compact(self, view, budget, ask):
        return None

class Loose:
    def compact(self, view, budget, ask):
        return None

def compact_loosely(messages):
    return messages


def compact(messages, window):
    return messages
'''
REGISTRATION = """
STRATEGIES = {"keep_newest_example": KeepNewest}
PRESETS = {"keep_three_example": KeepNewest(groups=3)}
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return str(file)


@pytest.fixture
def package_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that counts as part of the package `strategies`."""
    folder = tmp_path / "more"
    folder.mkdir()
    monkeypatch.setattr(strategies, "__path__", [*strategies.__path__, str(folder)])
    known = set(sys.modules)
    yield folder
    for name in set(sys.modules) - known:
        if name.startswith("strategies."):
            del sys.modules[name]


def test_an_own_file_is_one_spec(mine: str) -> None:
    made = make_strategy(f"{mine}:KeepNewest(groups=4)")
    assert made.spec == f"{mine}:KeepNewest(groups=4)"
    assert made.name == f"{mine}:KeepNewest"
    assert isinstance(made.strategy, Strategy)
    assert make_strategy(f"{mine}:KeepNewest(groups=10)").spec == f"{mine}:KeepNewest"


def test_two_own_files_of_one_name_are_two_strategies(mine: str, tmp_path: Path) -> None:
    other = tmp_path / "other" / "mine.py"
    other.parent.mkdir()
    other.write_text(MINE.replace("groups: int = 10", "groups: int = 7"))
    assert make_strategy(f"{mine}:KeepNewest").strategy.groups == 10  # type: ignore[attr-defined]
    assert make_strategy(f"{other}:KeepNewest").strategy.groups == 7  # type: ignore[attr-defined]


def test_a_grid_is_several_strategies(mine: str) -> None:
    made = make_strategies(f"{mine}:KeepNewest(groups={{4,10}})")
    assert [one.spec for one in made] == [f"{mine}:KeepNewest(groups=4)", f"{mine}:KeepNewest"]
    with pytest.raises(UsageError, match="a grid of 2 strategies"):
        make_strategy(f"{mine}:KeepNewest(groups={{4,10}})")


def test_a_prompt_file_becomes_its_digest_and_is_found_again_by_it(
    mine: str, tmp_path: Path
) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Summarise.", "utf-8")
    made = make_strategy(f"{mine}:KeepNewest(prompt={prompt})")
    assert made.strategy.prompt == "Summarise."  # type: ignore[attr-defined]
    digest = made.spec.split("prompt=")[1].rstrip(")")
    assert digest.startswith("sha256:")
    assert prompts_of([made, make_strategy(f"{mine}:KeepNewest")]) == {digest: "Summarise."}
    again = make_strategy(made.spec, prompts=prompts_of([made]))
    assert again == made
    with pytest.raises(UsageError, match=f"no prompt with digest {digest} is known"):
        make_strategy(made.spec)
    with pytest.raises(UsageError, match=r"can't read the prompt nowhere\.md: No such file"):
        make_strategy(f"{mine}:KeepNewest(prompt=nowhere.md)")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("KeepNewst", "holds no KeepNewst; did you mean KeepNewest?"),
        ("Loose", "is no frozen dataclass"),
        ("compact_loosely", "compact_loosely takes (messages); write (messages, window)"),
        ("annotations", "is no strategy: it has no method compact"),
    ],
)
def test_what_an_own_file_lacks_is_named(mine: str, name: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_strategy(f"{mine}:{name}")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("body", ["def (", "import no_such_module_at_all", "raise SystemExit(3)"])
def test_an_own_file_that_fails_to_load_is_named(tmp_path: Path, body: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(body)
    for _ in range(2):
        with pytest.raises(UsageError, match=r"broken\.py fails to load"):
            make_strategy(f"{file}:Thing")


def test_a_missing_file_and_an_unknown_name_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        make_strategy(f"{tmp_path}/none.py:Thing")
    with pytest.raises(UsageError, match=r"there is no strategy no_such_thing; .*known are"):
        make_strategy("no_such_thing")


def test_a_file_in_the_package_is_enough(package_folder: Path) -> None:
    (package_folder / "newest_example.py").write_text(MINE + REGISTRATION)
    assert make_strategy("keep_newest_example(groups=2)").spec == "keep_newest_example(groups=2)"
    # The values of a preset are the defaults under its name.
    preset = make_strategy("keep_three_example(groups=3)")
    assert preset.spec == "keep_three_example"
    assert preset.strategy.groups == 3  # type: ignore[attr-defined]
    rows = {row["name"]: row for row in list_strategies()}
    assert rows["keep_newest_example"]["summary"] == "Keep only the newest groups."
    assert rows["keep_newest_example"]["source"] == "built in"
    assert rows["keep_three_example"]["parameters"][0] == {
        "name": "groups",
        "type": "integer",
        "default": "3",
        "doc": "",
    }


def test_a_file_in_the_package_that_registers_nothing_is_named(package_folder: Path) -> None:
    (package_folder / "forgotten_example.py").write_text(MINE)
    with pytest.raises(UsageError, match=r"forgotten_example: KeepNewest isn't registered"):
        registered()


def test_a_helper_in_the_package_is_fine(package_folder: Path) -> None:
    (package_folder / "helper_example.py").write_text("LIMIT = 3\n")
    assert "helper_example" not in registered()


def test_a_broken_file_in_the_package_is_named(package_folder: Path) -> None:
    (package_folder / "broken_example.py").write_text("1/0")
    with pytest.raises(UsageError, match=r"broken_example fails to load: ZeroDivisionError"):
        registered()


def test_names_are_taken_once(package_folder: Path) -> None:
    (package_folder / "first_example.py").write_text(MINE + REGISTRATION)
    (package_folder / "second_example.py").write_text(MINE + REGISTRATION)
    with pytest.raises(UsageError, match="two strategies are named keep_newest_example"):
        registered()


def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, value: str) -> EntryPoint:
    name = value.split(":")[0]
    (tmp_path / f"{name}.py").write_text(body)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return EntryPoint("my_plugin", value, "compaction_bench.strategies")


def test_a_plugin_may_be_a_class_or_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = plugin(tmp_path, monkeypatch, MINE, "plugin_class_example:KeepNewest")
    assert registered([one])["my_plugin"].base.__name__ == "KeepNewest"
    several = plugin(tmp_path, monkeypatch, MINE + REGISTRATION, "plugin_module_example")
    assert {"keep_newest_example", "keep_three_example"} <= set(registered([several]))


@pytest.mark.parametrize(
    ("body", "value", "problem"),
    [
        ("1/0", "plugin_broken_example", "plug-in my_plugin .* fails to load: ZeroDivisionError"),
        (MINE, "plugin_typo_example:Nothing", "plug-in my_plugin .* fails to load"),
        (MINE, "plugin_empty_example", "isn't registered"),
        ("x = 1", "plugin_none_example", "has no STRATEGIES"),
        (MINE, "plugin_loose_example:Loose", "is no frozen dataclass"),
    ],
)
def test_a_plugin_that_cannot_serve_is_an_error_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, value: str, problem: str
) -> None:
    point = plugin(tmp_path, monkeypatch, body, value)
    with pytest.raises(UsageError, match=problem) as caught:
        registered([point])
    assert "my_plugin" in str(caught.value)


def test_the_import_names_are_ours_here() -> None:
    check_import_names()


@pytest.mark.parametrize("name", ["bench", "strategies", "reports"])
@pytest.mark.parametrize("is_package", [True, False])
def test_a_namesake_on_the_path_is_named(tmp_path: Path, name: str, is_package: bool) -> None:
    file = tmp_path / name / "__init__.py" if is_package else tmp_path / f"{name}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text("")
    with pytest.raises(UsageError) as caught:
        check_import_names([str(tmp_path), *sys.path])
    assert str(file) in str(caught.value)


def test_a_folder_of_the_same_name_without_code_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    check_import_names([str(tmp_path), *sys.path])
