"""How a sentence gets into the output of a tool, in the style of that output."""

from __future__ import annotations

import json
import re

from bench.generator.draws import Draw

_KEYS = ("note", "remark", "comment", "hint", "memo")
_LOG_PREFIX = re.compile(r"^(\S+ )\S+ +(\S+ \S+: ).*$")


def with_remark(text: str, sentence: str, style: str, draw: Draw) -> str:
    """The tool output with one more line that holds the sentence, somewhere in its middle."""
    lines = text.split("\n")
    # The first lines are a heading in most outputs.
    place = min(draw.between(3, max(3, len(lines) - 1)), len(lines))
    if style == "code":
        return "\n".join(_as_comment(lines, sentence, place))
    if style == "json" and text.startswith("{\n"):
        # A record may get several remarks, and a key may stand only once.
        key = next(key for key in _KEYS if not any(f'"{key}"' in line for line in lines[:6]))
        row = f' "{key}": {json.dumps(sentence, ensure_ascii=False)},'
        return "\n".join([lines[0], row, *lines[1:]])
    if style == "log":
        # A line may go on in the next one, which has no prefix of its own.
        while place > 1 and not _LOG_PREFIX.match(lines[place - 1]):
            place -= 1
        remark = _LOG_PREFIX.sub(r"\1INFO  \2", lines[place - 1]) + sentence
        return "\n".join([*lines[:place], remark, *lines[place:]])
    return "\n".join([*lines[:place], f"note: {sentence}", *lines[place:]])


def _as_comment(lines: list[str], sentence: str, place: int) -> list[str]:
    # Between two top-level blocks, where a comment is legal and keeps its own indentation.
    while 0 < place < len(lines) and lines[place - 1].strip():
        place += 1
    return [*lines[:place], f"# NOTE: {sentence}", *lines[place:]]
