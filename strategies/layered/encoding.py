"""Text as the original counts and hashes it: JSON style, units, tokens, trimming, lower-casing.

The original is a Go program, so digests and sizes depend on Go's habits: its JSON escapes five
more characters than most, its notion of white space isn't Python's, and it lower-cases one code
point at a time. Everything here is exact and works at C speed on plain ASCII text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring as _quoted
from typing import Any, NamedTuple, NoReturn

UNITS_PER_ASCII_RUNE = 1
UNITS_PER_OTHER_RUNE = 4
UNITS_PER_TOKEN = 4

WHITE_SPACE = (
    "\t\n\v\f\r \u0085\u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

_ESCAPED_ELSEWHERE = {"\u2028": "\\u2028", "\u2029": "\\u2029"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def well_formed(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD, so that it has a UTF-8 form."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def utf8(text: str) -> bytes:
    """The UTF-8 bytes of a text; lone surrogates become U+FFFD, as they do in the original."""
    return well_formed(text).encode()


def _with_extra_escapes(text: str) -> str:
    if "<" in text:
        text = text.replace("<", "\\u003c")
    if ">" in text:
        text = text.replace(">", "\\u003e")
    if "&" in text:
        text = text.replace("&", "\\u0026")
    if not text.isascii():
        for mark, escape in _ESCAPED_ELSEWHERE.items():
            text = text.replace(mark, escape)
    return text


def _json_string(text: str) -> str:
    return _quoted(text) if QUICK is None else QUICK.write(text).decode()


def quoted(text: str) -> str:
    r"""A JSON string: `<`, `>`, `&`, U+2028 and U+2029 as \u escapes, other non-ASCII raw."""
    if text.isascii():
        if text.isidentifier():
            # Names and most ids: nothing in them is ever escaped.
            return f'"{text}"'
        return _with_extra_escapes(_json_string(text))
    return _with_extra_escapes(_json_string(well_formed(text)))


class Quick(NamedTuple):
    """orjson, which writes and reads JSON several times as fast; `raw` marks what is JSON already.

    `write` makes the bytes of `quoted` but for the extra escapes, and raises TypeError on lone
    surrogates. `read` raises ValueError on some JSON that the standard reader takes.
    """

    write: Callable[[object], bytes]
    read: Callable[[str], object]
    raw: Callable[[bytes], object]


def _quickly() -> Quick | None:
    try:
        from orjson import Fragment, dumps, loads
    except ImportError:
        # Not there, or older than the parts that are needed.
        return None
    return Quick(dumps, loads, Fragment)


QUICK = _quickly()
# Deeper JSON is left to the standard reader, whose limit isn't orjson's.
_QUICK_DEPTH_MAX = 100
# What is opened must be closed.
_SHALLOW_CHARACTERS_MAX = 2 * _QUICK_DEPTH_MAX


# One for all: `json.dumps` would make it anew each time.
_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def to_json(value: Any) -> str:
    """JSON text without spaces in the style of `quoted`; keys keep their order."""
    return _with_extra_escapes(well_formed(_WRITER.encode(value)))


def plain_json(value: Any) -> str:
    """`to_json` of objects and lists that hold nothing but texts and whole numbers."""
    if QUICK is not None:
        try:
            return with_extra_escapes(QUICK.write(value)).decode()
        except TypeError:
            # A lone surrogate, or a number beyond 64 bits.
            pass
    return to_json(value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} isn't JSON")


# Figures are measured instead of read: nobody wants their values, and long ones take long.
_CHECKER = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=_refuse_constant)


_SHOWN = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v"}


def shown(text: str) -> str:
    """A text in quotes for an error line, with everything unprintable escaped."""
    return f'"{"".join(map(_shown_rune, text))}"'


def _shown_rune(rune: str) -> str:
    if rune in '"\\':
        return "\\" + rune
    if rune.isprintable():
        return rune
    if rune in _SHOWN:
        return "\\" + _SHOWN[rune]
    code = ord(rune)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def is_json(text: str) -> bool:
    """True when the whole text is one JSON value (RFC 8259); nothing is interpreted."""
    if _is_quickly_json(text):
        return True
    try:
        _CHECKER.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_quickly_json(text: str) -> bool:
    """True for most texts that are JSON, where there is a fast reader; False says nothing."""
    if QUICK is None or _may_be_deep(text):
        return False
    try:
        QUICK.read(text)
    except ValueError:
        return False
    return True


def _may_be_deep(text: str) -> bool:
    return text.count("[") + text.count("{") > _QUICK_DEPTH_MAX


def compact_json(text: str) -> str | None:
    """Raw JSON text without white space between tokens and with the five extra escapes.

    Number spelling, key order, duplicate keys and existing escapes stay. None when it isn't JSON.
    """
    return _with_extra_escapes(well_formed(_without_space(text))) if is_json(text) else None


def _without_space(text: str) -> str:
    """JSON text without the white space between its tokens.

    Split at quotes, every other part is inside a string. Escaped quotes are masked meanwhile, by
    control characters, which no JSON text holds as they are.
    """
    has_escapes = "\\" in text
    if has_escapes:
        text = text.replace("\\\\", "\0\0").replace('\\"', "\0\1")
    parts = text.split('"')
    outside = '"'.join(parts[::2])
    parts[::2] = "".join(outside.split()).split('"')
    text = '"'.join(parts)
    if has_escapes:
        text = text.replace("\0\0", "\\\\").replace("\0\1", '\\"')
    return text


def quickly_compact(text: str) -> bytes | None:
    """The bytes of `compact_json` but for the extra escapes, for most JSON; None says nothing.

    What is read and written again is the compact form when both differ in white space alone.
    Reading drops duplicate keys and writing spells everything as shortly as can be, so nothing that
    changed can be made up for elsewhere; and no string can lose or win white space unseen, since
    every escape is longer than what it stands for.
    """
    if QUICK is None or (len(text) > _SHALLOW_CHARACTERS_MAX and _may_be_deep(text)):
        return None
    try:
        compact = QUICK.write(QUICK.read(text))
        given = text.replace(" ", "").encode()
    except (ValueError, TypeError):
        return None
    expected = compact.replace(b" ", b"")
    if given == expected or given.translate(None, _JSON_SPACE) == expected:
        return compact
    return None


_JSON_SPACE = b" \n\r\t"


def with_extra_escapes(data: bytes) -> bytes:
    """JSON text in UTF-8 with the five extra escapes of `quoted`."""
    # Looked for as numbers: a piece of one byte is looked for much more slowly.
    if _LESS in data:
        data = data.replace(b"<", b"\\u003c")
    if _GREATER in data:
        data = data.replace(b">", b"\\u003e")
    if _AND in data:
        data = data.replace(b"&", b"\\u0026")
    if not data.isascii():
        for mark, escape in _ESCAPED_ELSEWHERE.items():
            data = data.replace(mark.encode(), escape.encode())
    return data


_LESS, _GREATER, _AND = b"<>&"


def utf8_units(data: bytes) -> int:
    """The units of a text by its UTF-8 bytes."""
    if data.isascii():
        return len(data) * UNITS_PER_ASCII_RUNE
    ascii_runes = len(data.translate(None, _NOT_ASCII))
    others = len(data.translate(None, _NO_FIRST_BYTE))
    return ascii_runes * UNITS_PER_ASCII_RUNE + others * UNITS_PER_OTHER_RUNE


# Every rune that isn't ASCII begins with one byte from 0xC0 on, all others are below.
_NOT_ASCII = bytes(range(0x80, 0x100))
_NO_FIRST_BYTE = bytes(range(0xC0))


def units(text: str) -> int:
    """The size of a text: 1 unit for a code point up to U+007F, 4 for every other."""
    if text.isascii():
        return len(text) * UNITS_PER_ASCII_RUNE
    ascii_runes = len(text.encode("ascii", "ignore"))
    others = len(text) - ascii_runes
    return ascii_runes * UNITS_PER_ASCII_RUNE + others * UNITS_PER_OTHER_RUNE


def tokens(units_total: int) -> int:
    """Units in tokens, rounded away from zero, so that a negative difference works too."""
    if units_total < 0:
        return -((UNITS_PER_TOKEN - 1 - units_total) // UNITS_PER_TOKEN)
    return (units_total + UNITS_PER_TOKEN - 1) // UNITS_PER_TOKEN


def text_tokens(text: str) -> int:
    """The tokens of a plain text, without any JSON around it."""
    return tokens(units(text))


def trimmed(text: str) -> str:
    """The text without white space at its ends; U+001C..U+001F, U+200B and U+FEFF are no space."""
    return text.strip(WHITE_SPACE)


def is_blank(text: str) -> bool:
    """True when nothing but white space is in it."""
    return not trimmed(text)


def lowered(text: str) -> str:
    """Lower case, one code point to one: U+0130 becomes i, a capital sigma the medial form."""
    if text.isascii():
        return text.lower()
    return "".join(_lowered_runes(text))


def _lowered_runes(text: str) -> Iterable[str]:
    for rune in text:
        lower = rune.lower()
        yield lower if len(lower) == 1 else lower[0]
