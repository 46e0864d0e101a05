"""Edge: strategies in files of somebody's own, and what keeps a class from being one."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from dataclasses import is_dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.foreign.functions import MessageFunction, signature_problem
from bench.parameters import close_match, parameters_of
from bench.specs import Spec


def strategy_in_file(spec: Spec, path: str, name: str, option: str) -> Any:
    """What stands under `name` in a file of somebody's own; a function is wrapped.

    Raises UsageError that says what the file lacks, before anything is replayed.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise UsageError(f"{option} {spec}: there is no file {path}")
    # The digest in the name lets two files of one name live side by side.
    module_name = "own_strategies_" + sha256(str(file.resolve()).encode()).hexdigest()[:12]
    module = sys.modules.get(module_name)
    if module is None:
        loader_spec = importlib.util.spec_from_file_location(module_name, file)
        assert loader_spec is not None and loader_spec.loader is not None, "a .py file has a loader"
        module = importlib.util.module_from_spec(loader_spec)
        # Dataclasses look their module up while they are being made.
        sys.modules[module_name] = module
        try:
            loader_spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del sys.modules[module_name]
            raise UsageError(f"{option} {spec}: {path} {load_failure(error)}") from error
    base = getattr(module, name, None)
    if base is None:
        names = [key for key, value in vars(module).items() if is_strategy_class(value)]
        listed = ", ".join(names) or "none at all"
        raise UsageError(
            f"{option} {spec}: {path} holds no {name}; {close_match(name, names)}"
            f"strategies in it: {listed}"
        )
    if inspect.isroutine(base):
        problem = signature_problem(base)
        if problem:
            raise UsageError(f"{option} {spec}: {name} {problem}")
        return MessageFunction(function=base)
    problem = problem_with(base)
    if problem:
        raise UsageError(f"{option} {spec}: {name} {problem}")
    return base


def load_failure(error: BaseException) -> str:
    """Words for what loading raised."""
    words = " ".join(str(error).split())
    return f"fails to load: {type(error).__name__}: {words}"


def is_strategy_class(value: Any) -> bool:
    """True for a dataclass with one of the two methods."""
    if not (isinstance(value, type) and is_dataclass(value)):
        return False
    return hasattr(value, "compact") or hasattr(value, "compact_messages")


def problem_with(base: Any) -> str:
    """What keeps `base` (a class or a preset) from being a strategy; empty when nothing does."""
    cls = base if isinstance(base, type) else type(base)
    over_messages = getattr(cls, "compact_messages", None)
    if not callable(getattr(cls, "compact", None)) and not callable(over_messages):
        return (
            "is no strategy: it has no method compact(self, view, budget, ask) and none "
            "compact_messages(self, messages, window)"
        )
    if callable(over_messages) and not hasattr(cls, "compact"):
        problem = signature_problem(partial(over_messages, None))
        if problem:
            return f"has a method compact_messages that {problem}"
    if not is_dataclass(cls) or not getattr(cls, "__dataclass_params__").frozen:  # noqa: B009
        return "is no frozen dataclass; write @dataclass(frozen=True) above it"
    try:
        parameters_of(base)
    except (NameError, TypeError, ValueError) as error:
        return f"has fields whose types can't be read: {error}"
    return ""
