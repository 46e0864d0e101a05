"""Judgement: does a text hold a value? Normalised containment, the layer *present* (scoring.md).

Both sides go through `normalise` (NFKC, digit separators, units, ISO dates, path forms, white
space); identifiers and hashes then compare with case, everything else without. A match must not cut
through a word, a number, a version or a file name: 80 is not in 8080, 1.2 not in 1.2.3, a/b.py not
in a/b.pyc. Chinese has no spaces, so a CJK character is always a boundary.
"""

from __future__ import annotations

import re
import string
import unicodedata

CASE_SENSITIVE_KINDS = frozenset({"identifier", "hash"})

# Letters of alphabets that put spaces between words; CJK is left out on purpose.
LETTERS = "A-Za-z\u00c0-\u024f\u0370-\u052f"

_UNIT_SPELLINGS = {
    "%": "% percent",
    "‰": "‰",
    "°c": "°c",
    "°f": "°f",
    "b": "byte bytes 字节",
    "kb": "kb",
    "mb": "mb",
    "gb": "gb",
    "tb": "tb",
    "kib": "kib",
    "mib": "mib",
    "gib": "gib",
    "tib": "tib",
    "kbps": "kbps",
    "mbps": "mbps",
    "gbps": "gbps",
    "hz": "hz",
    "khz": "khz",
    "mhz": "mhz",
    "ghz": "ghz",
    "ns": "ns",
    "us": "us µs μs 微秒",
    "ms": "ms millisecond milliseconds 毫秒",
    "s": "s sec secs second seconds 秒",
    "min": "min mins minute minutes 分钟",
    "h": "h hr hrs hour hours 小时",
    "d": "d day days 天",
    "weeks": "week weeks 周",
    "months": "month months 个月",
    "years": "year years 年",
    "px": "px",
    "em": "em",
    "rem": "rem",
    "pt": "pt",
    "dpi": "dpi",
    "fps": "fps",
    "rpm": "rpm",
    "rps": "rps",
    "qps": "qps",
    "tokens": "token tokens",
    "requests": "request requests",
    "rows": "row rows",
    "lines": "line lines 行",
    "files": "file files",
    "characters": "char chars character characters 字符",
    "retries": "retry retries",
    "attempts": "attempt attempts",
    "workers": "worker workers",
    "threads": "thread threads",
    "connections": "connection connections",
    "cm": "cm",
    "mm": "mm",
    "km": "km",
    "kg": "kg",
    "usd": "usd dollar dollars 美元",
    "eur": "eur euro euros 欧元",
    "元": "元",
    "万": "万",
    "亿": "亿",
    "倍": "倍",
    "次": "次",
    "个": "个",
    "条": "条",
    "台": "台",
    "人": "人",
}
UNITS = {
    spelling: unit for unit, spellings in _UNIT_SPELLINGS.items() for spelling in spellings.split()
}


def _spellings() -> set[str]:
    upper = {unit.upper() for unit in UNITS if unit.isascii()}
    mixed = {
        "KiB",
        "MiB",
        "GiB",
        "TiB",
        "kB",
        "Kb",
        "Mb",
        "Gb",
        "kHz",
        "MHz",
        "GHz",
        "Mbps",
        "Gbps",
    }
    return set(UNITS) | upper | {unit.capitalize() for unit in UNITS} | mixed


def _trie_pattern(words: set[str]) -> str:
    # Alternatives that share beginnings are tried once, which matters at every number of a text.
    tails: dict[str, set[str]] = {}
    for word in words:
        if word:
            tails.setdefault(word[0], set()).add(word[1:])
    if not tails:
        return ""
    branches = "|".join(re.escape(head) + _trie_pattern(tails[head]) for head in sorted(tails))
    return f"(?:{branches})" + ("?" if "" in words else "")


UNIT_PATTERN = rf"[ \-]?{_trie_pattern(_spellings())}(?![{LETTERS}0-9_])(?!-[{LETTERS}0-9])"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    "(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    "Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)

_MAY_BE_SEPARATED = re.compile(r"[,_](?<=\d[,_])\d{3}")
_SEPARATED = re.compile(r"\d{1,3}(?:(?:,\d{3})+|(?:_\d{3})+)(?![\d_])")
_WITH_UNIT = re.compile(rf"\d{UNIT_PATTERN}")
_MAY_BE_DATE = re.compile(r"T\d\d:\d|/\d{1,2}/\d|年\d")
_DATE = re.compile(
    rf"(\d{{4}})(?:(-\d\d-\d\d)T(?=\d\d:\d\d)"
    rf"|/(\d{{1,2}})/(\d{{1,2}})(?![{LETTERS}0-9_/])|年(\d{{1,2}})月(\d{{1,2}})日)"
)
_MONTH_FIRST = re.compile(rf"{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})(?!\d)")
_DAY_FIRST = re.compile(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)? {_MONTH}\.?,? (\d{{4}})(?!\d)")
_MAY_HOLD_MONTH = re.compile(r"[JFMASOND](?:an|eb|ar|pr|ay|un|ul|ug|ep|ct|ov|ec)[a-z]*\.?,? \d")
_HERE = re.compile(r"\./(?<![\w./~\-]\./)(?=\.?\w)")
_DRIVE = re.compile(rf"(?<![{LETTERS}0-9_])[A-Za-z]:\\[\w.\-\\]+")
# White space that was quoted and never read back, in a transcript for one.
_ESCAPE = re.compile(r"\\[nrt]")
_ASCII_WORD_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_")
_HAS_DIGIT = re.compile(r"\d")


def normalise(text: str) -> str:
    """The text in the one form in which texts and values are compared; case stays.

    Idempotent enough that a key normalised apart and the same words normalised inside a text agree,
    but for figures that only their surroundings explain (a list "100,200" reads as one number).
    """
    if not text.isascii() and not unicodedata.is_normalized("NFKC", text):
        # Of "，" NFKC makes a comma without a blank, which could then stand inside a number.
        text = unicodedata.normalize("NFKC", text.replace("，", ", "))
    if "\\" in text:
        text = _DRIVE.sub(lambda match: match[0].replace("\\", "/"), text)
        text = _ESCAPE.sub(" ", text)
    text = " ".join(text.split())
    if _HAS_DIGIT.search(text):
        text = _normalise_figures(text)
    if "./" in text:
        text = _HERE.sub("", text)
    return text


def _normalise_figures(text: str) -> str:
    if _MAY_BE_SEPARATED.search(text):
        text = _SEPARATED.sub(_without_separators, text)
    if _MAY_BE_DATE.search(text):
        text = _DATE.sub(_iso_date, text)
    if _MAY_HOLD_MONTH.search(text):
        text = _MONTH_FIRST.sub(lambda m: _month_date(m[0], m[3], m[1], m[2]), text)
        text = _DAY_FIRST.sub(lambda m: _month_date(m[0], m[3], m[2], m[1]), text)
    return _WITH_UNIT.sub(_canonical_unit, text)


def _continues_word(match: re.Match[str], extra: str) -> bool:
    if match.start() == 0:
        return False
    before = match.string[match.start() - 1]
    return is_word(before) or before in extra


def _without_separators(match: re.Match[str]) -> str:
    if _continues_word(match, ".,"):
        return match[0]
    return match[0].replace(",", "").replace("_", "")


def _iso_date(match: re.Match[str]) -> str:
    if _continues_word(match, "/.-"):
        return match[0]
    if match[2]:
        return f"{match[1]}{match[2]} "
    month, day = match[3] or match[5], match[4] or match[6]
    return f"{match[1]}-{int(month):02}-{int(day):02}"


def _month_date(whole: str, year: str, month: str, day: str) -> str:
    if not 1 <= int(day) <= 31:
        return whole
    return f"{year}-{_MONTHS.index(month[:3].lower()) + 1:02}-{int(day):02}"


def _canonical_unit(match: re.Match[str]) -> str:
    # The match holds the last digit only: whether a word or a name goes before is seen from there.
    text, start = match.string, match.start()
    while start and (text[start - 1].isdigit() or text[start - 1] == "."):
        start -= 1
    before, beyond = text[start - 1 : start], text[start - 2 : start - 1]
    is_in_name = before == "-" and is_word(beyond) and not beyond.isdigit()
    if is_in_name or before == "/" or is_word(before):
        return match[0]
    return f"{match[0][0]} {UNITS[match[0][1:].lstrip(' -').lower()]}"


def is_word(character: str) -> bool:
    """True for what continues a word: letters that need spaces between words, digits, `_`."""
    if character in _ASCII_WORD_CHARACTERS:
        return True
    is_beyond_ascii = character > "\x7f" and character.isalnum()
    return is_beyond_ascii and not "\u2e80" <= character <= "\ud7a3"


def key_of(text: str, kind: str) -> str:
    """The key by which a value of this kind is looked up, from the value as it is written.

    `kind` is an entity kind, or any other word for plain text.
    """
    key = normalise(text)
    if kind not in CASE_SENSITIVE_KINDS:
        key = key.lower()
    if kind in ("path", "url"):
        key = key.replace("\\", "/").rstrip("/") or key
    elif kind == "version":
        key = key.removeprefix("v")
    return key


def contains(haystack: str, key: str, kind: str) -> bool:
    """Whether a normalised text holds a key of `key_of`; the case of the text is as written."""
    if kind not in CASE_SENSITIVE_KINDS:
        haystack = haystack.lower()
    return find(haystack, key, kind) >= 0


def find(haystack: str, key: str, kind: str, start: int = 0) -> int:
    """The position of the key at or after `start`, -1 when it isn't there.

    `haystack` is normalised and, for kinds that compare without case, already in lower case.
    """
    if not key:
        return -1
    position = haystack.find(key, start)
    while position >= 0:
        if _is_whole(haystack, position, position + len(key), kind):
            return position
        position = haystack.find(key, position + 1)
    return -1


_PRE_RELEASE = re.compile(r"-?(?:a|alpha|b|beta|rc|dev|pre|next|canary|snapshot)(?![a-z])", re.I)


def _is_whole(text: str, start: int, stop: int, kind: str) -> bool:
    """Whether text[start:stop] isn't part of a longer word, number, version, name or path."""
    first, last = text[start], text[stop - 1]
    before = text[start - 1] if start else " "
    after = text[stop] if stop < len(text) else " "
    beyond = text[stop + 1] if stop + 1 < len(text) else " "
    is_version = kind == "version"
    if is_word(first) and is_word(before) and not (is_version and before in "vV"):
        return False
    if is_word(last) and is_word(after):
        return False
    if first.isdigit() and before == "." and start > 1 and text[start - 2].isdigit():
        return False
    if last.isdigit() and after == "." and beyond.isdigit():
        return False
    if is_version:
        return not _PRE_RELEASE.match(text, stop)
    if kind == "path":
        if before == "." and text.endswith("...", 0, start):
            before = " "
        if before == "-" and start > 1 and text[start - 2] not in " \x00":
            return False
        return _is_whole_path(first, before, after, beyond)
    if kind in ("url", "email"):
        return not (after in "/.-?#&=@" and is_word(beyond))
    if kind == "command":
        return not (after in "-.:/=" and is_word(beyond))
    if first == "-" and before == "-":
        return False
    return not (first == "-" and after == "-" and is_word(beyond))


def _is_whole_path(first: str, before: str, after: str, beyond: str) -> bool:
    # A directory is visible in the path of its file, a relative path in the absolute one.
    if before in ".~" or (first in "/~" and is_word(before)):
        return False
    return not (after in ".-" and is_word(beyond))
