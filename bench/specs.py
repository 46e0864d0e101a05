"""Judgement: the SPEC language, by which people and files name one setting of one strategy.

`head_tail`, `head_tail(preserve_last=6, threshold=0.7)`, `./mine.py:MyStrategy(groups=4)`,
`exec:"node compact.js"(calls=every)`, `http:http://127.0.0.1:8000/compact`, and the grid
`head_tail(preserve_last={4,8,16})`, which is three specs. The canonical form holds what
differs from the defaults, in the order of the fields, and parses back to itself (contract.md,
"Words in options"). What the parameters mean is `bench.parameters`.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from itertools import product
from typing import NoReturn, TypeAlias

from bench.errors import UsageError

Scalar: TypeAlias = int | float | bool | str | None
Value: TypeAlias = Scalar | tuple[Scalar, ...]

FOREIGN_KINDS: tuple[str, ...] = ("exec", "http")

_KEYWORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}
_WORD_END = set(",(){}[]=\"'")
_BARE = re.compile(r"[^\W\d][\w./:@%+~;-]*|[./~][\w./:@%+~;-]*")
_INT = re.compile(r"[+-]?\d+(_\d+)*", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?", re.ASCII)
_DIGITS_MAX = 100  # Python refuses to read numbers of some thousand digits.
_NAME = re.compile(r"[^\W\d]\w*")
_FILE_TARGET = re.compile(r"(?P<path>.+\.py):(?P<name>[^\W\d]\w*)", re.DOTALL)
_FOREIGN_TARGET = re.compile(
    r"""\s*(?P<kind>exec|https?):\s*
    (?P<text>"(?:[^"\\]|\\.)*"|'[^']*'|[^"'(]*?)\s*(?P<body>\(|$)""",
    re.DOTALL | re.VERBOSE,
)
_BARE_FOREIGN = re.compile(r"[^\s\"'()]+")
_REGISTERED_TARGET = re.compile(r"[^\W\d][\w.-]*")


@dataclass(frozen=True, slots=True)
class Spec:
    """A strategy and the parameters that were written, in the order in which they were written.

    `target` is a registered name, `path.py:Name`, `exec:COMMAND` or `http:URL`. `str(spec)` parses
    back to an equal spec.
    """

    target: str
    parameters: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        if not self.parameters:
            return self.target
        written = ", ".join(f"{name}={format_value(value)}" for name, value in self.parameters)
        return f"{self.target}({written})"

    @property
    def file(self) -> tuple[str, str] | None:
        """Path and name of somebody's own strategy; None for a registered one."""
        match = None if self.foreign else _FILE_TARGET.fullmatch(self.target)
        return (match["path"], match["name"]) if match else None

    @property
    def foreign(self) -> tuple[str, str] | None:
        """The kind, exec or http, and its command or address; None for everything else."""
        kind, colon, text = self.target.partition(":")
        if not colon or kind not in FOREIGN_KINDS:
            return None
        return kind, str(json.loads(text)) if text.startswith('"') else text


def foreign_target(kind: str, text: str) -> str:
    """The target that names a command or an address, quoted as JSON where it has to be."""
    is_bare = _BARE_FOREIGN.fullmatch(text) is not None
    return f"{kind}:{text if is_bare else json.dumps(text, ensure_ascii=False)}"


def format_value(value: Value) -> str:
    """The value as a spec writes it. Raises ValueError for infinite and undefined numbers."""
    if isinstance(value, tuple):
        return "[" + ", ".join(format_value(entry) for entry in value) + "]"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} can't be written in a spec: only finite numbers can")
    if isinstance(value, (int, float)):
        return repr(value)
    if _BARE.fullmatch(value) and isinstance(_value_of_word(value), str):
        return value
    return json.dumps(value, ensure_ascii=False)


def parse_specs(text: str, *, option: str = "--strategy") -> tuple[Spec, ...]:
    """All specs that a text stands for: one, or several when it holds grids.

    Raises UsageError, one line that names `option`, what is wrong and what would be right.
    """
    target, body_start = _split_target(text, option)
    if body_start is None:
        return (Spec(target),)
    parameters = _Reader(text, body_start, option).parameters()
    names = [name for name, _ in parameters]
    choices = product(*(values for _, values in parameters))
    return tuple(Spec(target, tuple(zip(names, chosen, strict=True))) for chosen in choices)


def parse_spec(text: str, *, option: str = "--strategy") -> Spec:
    """The one spec that a text stands for; raises UsageError for a grid too."""
    specs = parse_specs(text, option=option)
    if len(specs) > 1:
        raise UsageError(f"{option} {text}: a grid of {len(specs)} strategies, give one of them")
    return specs[0]


def _split_target(text: str, option: str) -> tuple[str, int | None]:
    """The target and the position of its opening bracket, None without one."""
    stripped = text.rstrip()
    foreign = _FOREIGN_TARGET.match(stripped)
    if foreign is not None:
        target = _foreign_target(foreign["kind"], foreign["text"], text, option)
        return target, foreign.start("body") if foreign["body"] else None
    if re.match(r"\s*(exec|https?):", stripped):
        raise UsageError(
            f"{option} {text!r}: a command that holds quotes or brackets stands in quotes, as in "
            'exec:"node compact.js"(calls=every)'
        )
    # A path may hold brackets, so the name behind ".py:" is looked for first.
    match = re.match(r"\s*(.+\.py:[^\W\d]\w*)\s*(\(|$)", stripped, re.DOTALL)
    if match is None:
        match = re.match(r"\s*([^(]*?)\s*(\(|$)", stripped, re.DOTALL)
    assert match is not None, "the second pattern matches every text"
    target = match[1]
    if not _FILE_TARGET.fullmatch(target) and not _REGISTERED_TARGET.fullmatch(target):
        if target.endswith(".py"):
            right = f"name what is in the file, as in {target}:MyStrategy"
        else:
            right = "write NAME, NAME(parameter=value) or ./file.py:Name"
        raise UsageError(f"{option} {text!r}: no strategy is named {target!r}; {right}")
    return target, match.start(2) if match[2] else None


def _foreign_target(kind: str, written: str, text: str, option: str) -> str:
    told = written
    if written.startswith('"'):
        try:
            told = str(json.loads(written, strict=False))
        except ValueError:
            raise UsageError(
                f"{option} {text!r}: double quotes hold JSON text: write a backslash twice, or "
                "single quotes"
            ) from None
    elif written.startswith("'"):
        told = written[1:-1]
    if kind == "https" or (kind == "http" and told.startswith("//")):
        kind, told = "http", f"{kind}:{told}"
    if not told.strip():
        right = 'exec:"node compact.js"' if kind == "exec" else "http:http://127.0.0.1:8000/compact"
        raise UsageError(f"{option} {text!r}: names nothing to ask; write {right}")
    return foreign_target(kind, told.strip())


def _value_of_word(word: str) -> Scalar:
    if _INT.fullmatch(word) and len(word) <= _DIGITS_MAX:
        return int(word)
    if _FLOAT.fullmatch(word) and math.isfinite(float(word)):
        return float(word)
    return _KEYWORDS.get(word.lower(), word)


class _Reader:
    """Reads the bracketed part of one spec from left to right."""

    def __init__(self, text: str, start: int, option: str) -> None:
        self.text = text.rstrip()
        self.at = start
        self.option = option

    def fail(self, problem: str) -> NoReturn:
        raise UsageError(f"{self.option} {self.text!r}: {problem} (column {self.at + 1})")

    def peek(self) -> str:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def take(self, wanted: str) -> bool:
        if self.peek() != wanted:
            return False
        self.at += 1
        return True

    def expect(self, wanted: str, right: str) -> None:
        if not self.take(wanted):
            found = repr(self.peek()) if self.peek() else "the end"
            self.fail(f"expected {wanted!r} instead of {found}; {right}")

    def parameters(self) -> list[tuple[str, tuple[Value, ...]]]:
        self.expect("(", "parameters stand in brackets")
        found: list[tuple[str, tuple[Value, ...]]] = []
        while not self.take(")"):
            if found:
                self.expect(",", "parameters are separated by commas and closed by ')'")
                if self.take(")"):
                    break
            name = self.name()
            if any(name == earlier for earlier, _ in found):
                self.fail(f"{name} is given twice; a grid is written {name}={{1,2}}")
            self.expect("=", f"write {name}=VALUE")
            found.append((name, self.grid() if self.peek() == "{" else (self.value(name),)))
        if self.peek():
            self.fail(f"nothing may follow the closing bracket, found {self.text[self.at :]!r}")
        return found

    def name(self) -> str:
        self.peek()
        match = _NAME.match(self.text, self.at)
        if match is None:
            self.fail("expected the name of a parameter, as in (preserve_last=6)")
        self.at = match.end()
        return match[0]

    def grid(self) -> tuple[Value, ...]:
        values = self.sequence("{", "}", is_list_allowed=True)
        if not values:
            self.fail("an empty grid; write at least one value, as in {4,8,16}")
        written = [format_value(value) for value in values]
        if len(set(written)) != len(written):
            self.fail("a grid names each value once")
        return values

    def sequence(self, opening: str, closing: str, *, is_list_allowed: bool) -> tuple[Value, ...]:
        self.expect(opening, "")
        values: list[Value] = []
        while not self.take(closing):
            if values:
                self.expect(",", f"values are separated by commas and closed by {closing!r}")
                if self.take(closing):
                    break
            values.append(self.value("value") if is_list_allowed else self.scalar("value"))
        return tuple(values)

    def value(self, name: str) -> Value:
        if self.peek() != "[":
            return self.scalar(name)
        entries = self.sequence("[", "]", is_list_allowed=False)
        return tuple(entry for entry in entries if not isinstance(entry, tuple))

    def scalar(self, name: str) -> Scalar:
        if self.peek() in ("'", '"') and self.peek():
            return self.quoted()
        start = self.at
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in _WORD_END or character.isspace():
                break
            self.at += 1
        word = self.text[start : self.at]
        if not word:
            self.fail(f"{name} has no value; write a number, true, false, none or a word")
        return _value_of_word(word)

    def quoted(self) -> str:
        """Double quotes hold JSON text, single quotes hold everything up to the next one."""
        pattern = r'"(?:[^"\\]|\\.)*"' if self.text[self.at] == '"' else r"'[^']*'"
        match = re.compile(pattern, re.DOTALL).match(self.text, self.at)
        if match is None:
            self.fail("a quote is opened and never closed")
        written = match[0]
        if written[0] == "'":
            self.at = match.end()
            return written[1:-1]
        try:
            text = json.loads(written, strict=False)
        except ValueError:
            self.fail("double quotes hold JSON text: write a backslash twice, or single quotes")
        self.at = match.end()
        return str(text)
