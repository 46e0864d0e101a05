"""Judgement: the parameters of a strategy are the fields of its dataclass.

From a class (or from a preset, an instance whose values are the defaults) and a spec this makes the
strategy, and from a strategy its canonical spec. Fields of other types than numbers, switches,
words and lists of them aren't parameters: a spec can't write them; nor is one whose metadata says
`is_parameter=False`, since the spec's target holds it.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, replace
from difflib import get_close_matches
from hashlib import sha256
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bench.errors import UsageError
from bench.specs import Spec, Value, format_value

REQUIRED = "(required)"
_SCALARS: tuple[type, ...] = (int, float, bool, str)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: `type` and `default` as a spec writes them; `doc` is one sentence or empty."""

    name: str
    type: str
    default: str
    doc: str
    annotation: Any


def parameters_of(base: Any) -> tuple[Parameter, ...]:
    """The parameters of a strategy class or of a preset, in the order of the fields."""
    cls = base if isinstance(base, type) else type(base)
    annotations = get_type_hints(cls)
    return tuple(
        Parameter(
            field.name,
            _type_name(annotations[field.name]),
            _default_text(base, field),
            str(field.metadata.get("doc", "")) or _sentence_about(field.name, cls.__doc__ or ""),
            annotations[field.name],
        )
        for field in fields(cls)
        if field.init
        and field.metadata.get("is_parameter", True)
        and _is_writable(annotations[field.name])
    )


def canonical(target: str, strategy: Any, base: Any = None) -> Spec:
    """The spec of a strategy: what differs from `base` (its class by default), in field order.

    A prompt is named by its digest, `sha256:` and 16 hex digits, since its text is long.
    """
    base = type(strategy) if base is None else base
    differing: list[tuple[str, Value]] = []
    known = {parameter.name for parameter in parameters_of(base)}
    for field in fields(strategy):
        value = getattr(strategy, field.name)
        default = _default(base, field)
        if field.name in known and (default is MISSING or not _is_same(value, default)):
            if field.name == "prompt" and isinstance(value, str):
                value = prompt_digest(value)
            differing.append((field.name, tuple(value) if isinstance(value, list) else value))
    return Spec(target, tuple(differing))


def prompt_digest(text: str) -> str:
    """How a spec names a prompt: `sha256:` and the first 16 hex digits of its UTF-8 bytes."""
    return "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def bind(
    spec: Spec,
    base: Any,
    *,
    option: str = "--strategy",
    read_prompt: Callable[[str], str] = str,
) -> Any:
    """The strategy that a spec names: `base` is its class or a preset.

    `read_prompt` turns the word behind `prompt=` (a path or a digest) into the text. Raises
    UsageError for a parameter that isn't there, a value of another type, a missing value, or a
    value that the strategy itself refuses with a ValueError.
    """
    known = {parameter.name: parameter for parameter in parameters_of(base)}
    values: dict[str, Any] = {}
    for name, value in spec.parameters:
        if name not in known:
            raise UsageError(f"{option} {spec}: {_unknown_parameter(spec.target, name, known)}")
        try:
            values[name] = _convert(value, known[name].annotation)
        except TypeError:
            raise UsageError(
                f"{option} {spec}: {name}={format_value(value)} is no {known[name].type}"
                f"{_quoting_hint(value, known[name])}"
            ) from None
        if name == "prompt" and isinstance(values[name], str):
            values[name] = read_prompt(values[name])
    missing = [
        parameter.name
        for parameter in known.values()
        if parameter.default == REQUIRED and parameter.name not in values
    ]
    if missing:
        raise UsageError(
            f"{option} {spec}: {missing[0]} has no default; "
            f"write {spec.target}({missing[0]}={known[missing[0]].type.upper()})"
        )
    try:
        return base(**values) if isinstance(base, type) else replace(base, **values)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{option} {spec}: {error}") from error


def close_match(name: str, known: list[str]) -> str:
    """Words for a message: the nearest known name, or nothing."""
    near = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {near[0]}? " if near else ""


def _unknown_parameter(target: str, name: str, known: dict[str, Parameter]) -> str:
    if not known:
        return f"{target} has no parameter {name}: it has none at all"
    listed = ", ".join(f"{p.name} ({p.type}, {p.default})" for p in known.values())
    return f"{target} has no parameter {name}; {close_match(name, list(known))}it has {listed}"


def _quoting_hint(value: Value, parameter: Parameter) -> str:
    if parameter.type.startswith("word") and isinstance(value, (int, float)):
        return f'; write {parameter.name}="{format_value(value)}"'
    return ""


def _is_same(value: Any, default: Any) -> bool:
    # True and 1 are different settings, 1 and 1.0 are the same one.
    return isinstance(value, bool) is isinstance(default, bool) and bool(value == default)


def _default(base: Any, field: Field[Any]) -> Any:
    if not isinstance(base, type):
        return getattr(base, field.name)
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def _default_text(base: Any, field: Field[Any]) -> str:
    value = _default(base, field)
    if value is MISSING:
        return REQUIRED
    if field.name == "prompt" and isinstance(value, str) and len(value) > 40:
        return prompt_digest(value)
    return format_value(tuple(value) if isinstance(value, list) else value)


def _is_writable(annotation: Any) -> bool:
    """True when a spec can write every kind of value of this type."""
    origin = get_origin(annotation)
    if origin is Literal:
        return True
    if origin in (Union, types.UnionType):
        return all(_is_writable(member) for member in get_args(annotation))
    if origin is tuple:
        arguments = get_args(annotation)
        return len(arguments) == 2 and arguments[1] is Ellipsis and arguments[0] in _SCALARS
    return annotation in _SCALARS or annotation is type(None)


def _type_name(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return " | ".join(format_value(choice) for choice in get_args(annotation))
    if origin in (Union, types.UnionType):
        return " | ".join(_type_name(member) for member in get_args(annotation))
    if origin is tuple:
        return f"list of {_type_name(get_args(annotation)[0])}s"
    names: dict[Any, str] = {int: "integer", float: "number", bool: "switch", str: "word"}
    return names.get(annotation, "none")


def _convert(value: Value, annotation: Any) -> Any:
    """The value as the field wants it; raises TypeError when it can't be."""
    origin = get_origin(annotation)
    if origin is Literal:
        for choice in get_args(annotation):
            if _is_same(value, choice):
                return choice
        raise TypeError
    if origin in (Union, types.UnionType):
        for member in sorted(get_args(annotation), key=lambda member: member is float):
            try:
                return _convert(value, member)
            except TypeError:
                continue
        raise TypeError
    if origin is tuple:
        if not isinstance(value, tuple):
            raise TypeError
        return tuple(_convert(entry, get_args(annotation)[0]) for entry in value)
    if annotation is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise TypeError from None
    if type(value) is not annotation:
        raise TypeError
    return value


def _sentence_about(name: str, docstring: str) -> str:
    """The sentence of a docstring that speaks of `name` in backticks."""
    text = " ".join(docstring.split())
    sentences = re.split(r"(?<=[.;:])\s+", text)
    return next((sentence for sentence in sentences if f"`{name}`" in sentence), "")
