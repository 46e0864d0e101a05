"""How a sentence gets into the output of a tool, in the style of that output."""

from __future__ import annotations

import json

from bench.generator.draws import Draw


def with_remark(text: str, sentence: str, style: str, draw: Draw) -> str:
    """The tool output with one more line that holds the sentence, somewhere in its middle."""
    lines = text.split("\n")
    place = draw.between(min(1, len(lines)), max(1, len(lines) - 1))
    if style == "code":
        return "\n".join(_as_comment(lines, sentence, place))
    if style == "json" and text.startswith("{\n"):
        return "\n".join([lines[0], f' "note": {json.dumps(sentence, ensure_ascii=False)},',
                          *lines[1:]])  # fmt: skip
    if style == "log":
        stamp = lines[place - 1].split(" ")[0]
        return "\n".join([*lines[:place], f"{stamp} INFO  note: {sentence}", *lines[place:]])
    return "\n".join([*lines[:place], f"note: {sentence}", *lines[place:]])


def _as_comment(lines: list[str], sentence: str, place: int) -> list[str]:
    # Between two top-level blocks, where a comment is legal and keeps its own indentation.
    while 0 < place < len(lines) and lines[place - 1].strip():
        place += 1
    return [*lines[:place], f"# NOTE: {sentence}", *lines[place:]]
