"""Text and JSON as the Go standard library handles them, where sizes or bytes depend on it.

The original of `head_tail` is a Go program: what it trims, how it writes JSON and how it reads
JSON keys decides sizes and cuts, so that Python's own rules would give other answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

# Unicode White_Space. str.strip() also takes 0x1c to 0x1f, which Go leaves.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)

_ESCAPED = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')
_SHORT_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def trim(text: str) -> str:
    """`text` without white space at both ends."""
    return text.strip(WHITE_SPACE)


def lower(text: str) -> str:
    """`text` in lower case, each character on its own: one comes out for one that goes in."""
    return text.lower() if text.isascii() else "".join(character.lower()[0] for character in text)


def utf8(text: str) -> bytes:
    """The UTF-8 bytes of `text`; half a surrogate pair counts three bytes, as U+FFFD would."""
    return text.encode("utf-8", "surrogatepass")


def cut_to_bytes(text: str, bytes_max: int) -> str:
    """The longest beginning of `text` that takes at most `bytes_max` bytes in UTF-8."""
    return utf8(text)[: max(0, bytes_max)].decode("utf-8", "ignore")


def write_json(value: Any, *, sort_keys: bool = True) -> str:
    """Compact JSON: `<`, `>`, `&` and line separators escaped, numbers as 64-bit floats."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, str):
        return '"' + _ESCAPED.sub(_escape, value) + '"'
    if isinstance(value, Mapping):
        keys = sorted(value) if sort_keys else list(value)
        members = [
            f"{write_json(str(key))}:{write_json(value[key], sort_keys=sort_keys)}" for key in keys
        ]
        return "{" + ",".join(members) + "}"
    return "[" + ",".join(write_json(entry, sort_keys=sort_keys) for entry in value) + "]"


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _number(value: float) -> str:
    try:
        number = float(value)
    except OverflowError:
        return str(value)
    if number != 0 and not 1e-6 <= abs(number) < 1e21:
        return re.sub(r"e([+-])0", r"e\1", repr(number)).replace(".0e", "e")
    plain = format(Decimal(repr(number)), "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def read_json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for anything else."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("JSON is nested too deeply") from error


def read_fields(value: Any, types: Mapping[str, type]) -> dict[str, Any]:
    """The members of a JSON object that `types` names, keys matched in any case, null left out.

    Raises ValueError when `value` is no object (null is an empty one) or a member has another type.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("expected a JSON object")
    fields: dict[str, Any] = {}
    for key, member in value.items():
        name = lower(key)
        if name not in types or member is None:
            continue
        if not isinstance(member, types[name]):
            raise ValueError(f"expected {name} to be {types[name].__name__}")
        fields[name] = member
    return fields
