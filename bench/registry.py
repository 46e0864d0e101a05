"""Assembly: which strategies there are, and how a spec becomes one of them.

A strategy is registered by being there: a module in the package `strategies` that says
`STRATEGIES = {"name": Class}` (and perhaps `PRESETS = {"name": Class(...)}`), an entry point in the
group `compaction_bench.strategies`, somebody's own file, `./mine.py:Name`, or code elsewhere,
`exec:COMMAND` and `http:URL`. No table is edited.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from bench.errors import UsageError
from bench.foreign.adapter import as_strategy
from bench.foreign.addresses import Address
from bench.foreign.commands import Command
from bench.foreign.functions import MessageFunction
from bench.foreign.requests import ForeignCode
from bench.parameters import bind, canonical, close_match, parameters_of, prompt_digest
from bench.specs import Spec, parse_specs
from bench.strategy import Strategy
from bench.strategy_files import (
    is_strategy_class,
    load_failure,
    problem_with,
    strategy_in_file,
)

ENTRY_POINT_GROUP = "compaction_bench.strategies"
IMPORT_NAMES: tuple[str, ...] = ("bench", "strategies", "reports")


@dataclass(frozen=True, slots=True)
class NamedStrategy:
    """A strategy with its canonical `spec`; `name` is the spec without its parameters."""

    spec: str
    name: str
    strategy: Strategy


@dataclass(frozen=True, slots=True)
class Registered:
    """A name, its class or preset (whose values are the defaults) and where it comes from."""

    name: str
    base: Any
    source: str


def registered(extra: Iterable[EntryPoint] | None = None) -> dict[str, Registered]:
    """Every registered strategy by name: built in ones first, then plug-ins.

    `extra` replaces the installed entry points. Raises UsageError that names a module or plug-in
    that fails to load, holds something else than strategies, or takes a name that is taken.
    """
    package = importlib.import_module("strategies")
    if extra is None:
        return dict(_installed(tuple(package.__path__)))
    return _found(tuple(package.__path__), extra)


@cache
def _installed(places: tuple[str, ...]) -> dict[str, Registered]:
    # Every cell of a run makes its strategy from its spec; what is installed doesn't change.
    return _found(places, entry_points(group=ENTRY_POINT_GROUP))


def _found(places: tuple[str, ...], points: Iterable[EntryPoint]) -> dict[str, Registered]:
    found: dict[str, Registered] = {}
    for module in pkgutil.iter_modules(places, "strategies."):
        loaded = _loaded(f"strategy module {module.name}", module.name)
        for one in _strategies_in(loaded, f"strategy module {module.name}", "built in"):
            _add(found, one)
    for point in points:
        for one in _strategies_of_plugin(point):
            _add(found, one)
    return found


def make_strategies(
    text: str, *, option: str = "--strategy", prompts: Mapping[str, str] | None = None
) -> tuple[NamedStrategy, ...]:
    """The strategies that one SPEC stands for, several for a grid.

    `prompts` maps digests to texts for `prompt=sha256:...`. Raises UsageError.
    """
    known = registered()
    return tuple(
        _make(spec, known, option, prompts or {}) for spec in parse_specs(text, option=option)
    )


def make_strategy(
    text: str, *, option: str = "--strategy", prompts: Mapping[str, str] | None = None
) -> NamedStrategy:
    """The one strategy that a SPEC stands for; raises UsageError for a grid too."""
    made = make_strategies(text, option=option, prompts=prompts)
    if len(made) > 1:
        raise UsageError(f"{option} {text}: a grid of {len(made)} strategies, give one of them")
    return made[0]


def prompts_of(made: Iterable[NamedStrategy]) -> dict[str, str]:
    """The texts behind `prompt=sha256:...` in these specs, by digest: what a run has to keep.

    With them, `make_strategy(spec, prompts=...)` makes the strategies again, also elsewhere.
    """
    texts = [getattr(one.strategy, "prompt", None) for one in made]
    return {prompt_digest(text): text for text in texts if isinstance(text, str)}


def list_strategies() -> list[dict[str, Any]]:
    """Rows for `strategies --json`: name, spec, source, summary, parameters."""
    return [describe(one) for one in registered().values()]


def describe_specs(text: str, *, option: str = "SPEC") -> list[dict[str, Any]]:
    """Rows like those of `list_strategies` for what a SPEC names, each target once."""
    make_strategies(text, option=option)  # its parameters must be right too
    specs = {spec.target: spec for spec in parse_specs(text, option=option)}
    known = registered()
    return [describe(_named(spec, known, option)) for spec in specs.values()]


def describe(one: Registered) -> dict[str, Any]:
    """One row of `list_strategies`: plain data, defaults as a spec writes them.

    `source` and `summary` are what the class says of itself, else where it was found and the first
    paragraph of its docstring. A preset's summary names what it sets.
    """
    cls = one.base if isinstance(one.base, type) else type(one.base)
    docstring = (cls.__doc__ or "").strip()
    summary = getattr(cls, "summary", None) or docstring.split("\n\n")[0].replace("\n", " ").strip()
    if isinstance(one.base, MessageFunction):
        summary = (one.base.function.__doc__ or summary).strip().split("\n\n")[0]
        summary = " ".join(summary.split())
    elif not isinstance(one.base, (type, ForeignCode)):
        named = next((o.name for o in registered().values() if o.base is cls), cls.__name__)
        summary = f"preset: {canonical(named, one.base)}; {summary}"
    return {
        "name": one.name,
        "spec": one.name,
        "source": getattr(cls, "source", None) or one.source,
        "summary": summary,
        "parameters": [
            {"name": p.name, "type": p.type, "default": p.default, "doc": p.doc}
            for p in parameters_of(one.base)
        ],
    }


def check_import_names(search_path: list[str] | None = None) -> None:
    """Raise UsageError when `bench`, `strategies` or `reports` isn't this distribution's.

    The names are short, so a folder or file of somebody else's may stand before them on the search
    path; then the wrong code would run. The message names the file.
    """
    home = Path(__file__).resolve().parent.parent
    for name in IMPORT_NAMES:
        spec = PathFinder.find_spec(name, search_path)
        if spec is None and search_path is None:
            spec = importlib.util.find_spec(name)
        if spec is None:
            raise UsageError(
                f"the package {name} of compaction-bench can't be found beside {home / 'bench'}; "
                "install compaction-bench again"
            )
        places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or [])
        for place in places:
            expected = home / name / "__init__.py"
            if Path(place).resolve() != expected:
                raise UsageError(
                    f"{place} stands in the way: Python imports it as {name} instead of "
                    f"{expected}; rename it, start from another folder, or give compaction-bench "
                    "an environment of its own (pipx install compaction-bench)"
                )


def _make(
    spec: Spec, known: dict[str, Registered], option: str, prompts: Mapping[str, str]
) -> NamedStrategy:
    base = _named(spec, known, option).base

    def read_prompt(word: str) -> str:
        return _prompt_text(word, prompts, f"{option} {spec}")

    made = bind(spec, base, option=option, read_prompt=read_prompt)
    return NamedStrategy(str(canonical(spec.target, made, base)), spec.target, as_strategy(made))


def _named(spec: Spec, known: dict[str, Registered], option: str) -> Registered:
    """What a spec's target stands for; raises UsageError."""
    if spec.foreign is not None:
        return Registered(spec.target, _foreign(spec, *spec.foreign, option), "elsewhere")
    if spec.file is not None:
        path, name = spec.file
        return Registered(spec.target, strategy_in_file(spec, path, name, option), path)
    if spec.target in known:
        return known[spec.target]
    names = ", ".join(known)
    raise UsageError(
        f"{option} {spec}: there is no strategy {spec.target}; "
        f"{close_match(spec.target, list(known))}known are {names}, or ./file.py:Name, "
        "exec:COMMAND and http:URL"
    )


def check_ready(made: Iterable[NamedStrategy], *, option: str = "--strategy") -> None:
    """Raise UsageError when a strategy can't be run at all, before any session is replayed.

    Strategies that run code elsewhere have a method `check_ready`: no such command, no answer from
    an address. Others are ready once they are made.
    """
    for one in made:
        check = getattr(one.strategy, "check_ready", None)
        if check is None:
            continue
        try:
            check()
        except UsageError as error:
            raise UsageError(f"{option} {one.spec}: {error}") from error


def _foreign(spec: Spec, kind: str, text: str, option: str) -> Any:
    try:
        return Command(command=text) if kind == "exec" else Address(url=text)
    except ValueError as error:
        raise UsageError(f"{option} {spec}: {error}") from error


def _prompt_text(word: str, prompts: Mapping[str, str], where: str) -> str:
    if word.startswith("sha256:"):
        for text in (*prompts.values(), *_bundled_prompts()):
            if prompt_digest(text) == word:
                return text
        raise UsageError(f"{where}: no prompt with digest {word} is known; give its file instead")
    try:
        return Path(word).read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{where}: can't read the prompt {word}: {reason}") from error


def _bundled_prompts() -> list[str]:
    package = importlib.import_module("strategies")
    return [
        file.read_text("utf-8")
        for place in package.__path__
        for file in sorted((Path(place) / "prompts").glob("*"))
        if file.is_file()
    ]


def bundled_prompt(cls: type) -> str | None:
    """The summary prompt that comes with a built-in strategy, by the name of its module.

    The first in order of names where it has several; None for a strategy without.
    """
    top, _, rest = cls.__module__.partition(".")
    if top != "strategies":
        return None
    name = rest.split(".", maxsplit=1)[0]
    for place in importlib.import_module(top).__path__:
        for file in sorted((Path(place) / "prompts").glob(f"{name}*.md")):
            return file.read_text("utf-8")
    return None


def _loaded(what: str, module_name: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except Exception as error:
        raise UsageError(f"{what} {load_failure(error)}") from error


def _strategies_of_plugin(point: EntryPoint) -> list[Registered]:
    distribution = point.dist.name if point.dist is not None else point.value
    what = f"plug-in {point.name} ({distribution})"
    try:
        loaded = point.load()
    except Exception as error:
        raise UsageError(f"{what} {load_failure(error)}; repair or uninstall it") from error
    if isinstance(loaded, ModuleType):
        found = _strategies_in(loaded, what, distribution)
        if not found:
            raise UsageError(f"{what}: {loaded.__name__} has no STRATEGIES = {{name: class}}")
        return found
    problem = problem_with(loaded)
    if problem:
        raise UsageError(f"{what}: {point.value} {problem}")
    return [Registered(point.name, loaded, distribution)]


def _strategies_in(module: ModuleType, what: str, source: str) -> list[Registered]:
    """The strategies that a module registers; a helper module registers none."""
    tables: list[dict[str, Any]] = []
    for table_name in ("STRATEGIES", "PRESETS"):
        table = getattr(module, table_name, {})
        if not isinstance(table, dict):
            raise UsageError(f"{what}: {table_name} is no dict of name to strategy")
        tables.append(table)
    if not any(tables):
        # A file that was meant to register something must not vanish in silence.
        forgotten = [
            name
            for name, value in vars(module).items()
            if is_strategy_class(value) and value.__module__ == module.__name__
        ]
        if forgotten and not forgotten[0].startswith("_"):
            raise UsageError(
                f"{what}: {forgotten[0]} isn't registered; add "
                f'STRATEGIES = {{"name": {forgotten[0]}}}'
            )
    found: list[Registered] = []
    for table in tables:
        for name, base in table.items():
            problem = problem_with(base)
            if problem:
                raise UsageError(f"{what}: {name} {problem}")
            found.append(Registered(name, base, source))
    return found


def _add(found: dict[str, Registered], one: Registered) -> None:
    if one.name in found:
        raise UsageError(
            f"two strategies are named {one.name}: one is {found[one.name].source}, "
            f"one is {one.source}; rename or uninstall one"
        )
    found[one.name] = one
