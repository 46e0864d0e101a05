"""A text summary is checked before anybody relies on it (F5): sections, fences, truncation, ending.

The checks are about form. Nothing here judges what a summary says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from strategies.layered.encoding import lowered, shown, trimmed

SECTIONS = (
    "## Goal",
    "## Progress",
    "## Key Decisions",
    "## Next Steps",
    "## Critical Context",
)
TRUNCATED_ENDINGS = ("[truncated]", "[continued]", "...[truncated]", "to be continued")
FENCES = ("```", "~~~")
NO_CONTENT = "0123456789-*+.()[] \t"

STOPPED = ("", "stop")
OUT_OF_ROOM = ("length",)
# What other vendors call the same two endings; the original knows only the first word of each.
STOPPED_ANYWHERE = (*STOPPED, "end_turn", "stop_sequence", "completed")
OUT_OF_ROOM_ANYWHERE = (*OUT_OF_ROOM, "max_tokens", "max_output_tokens", "incomplete")


class InvalidSummary(Exception):
    """A candidate that is no good: `code` is a short name, `may_repair` says to ask again."""

    def __init__(self, code: str, text: str, *, may_repair: bool = True) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.may_repair = may_repair


@dataclass
class _Scan:
    """What a pass over the lines has seen."""

    expected: int = 0
    has_content: list[bool] = field(default_factory=list)
    fence: str = ""


def validated(text: str) -> str:
    """The trimmed summary, when its form is right (F5.2). Raises InvalidSummary.

    All five sections, in order, each with real content; code fences closed; no plain sign of
    truncation at the end. A heading must match exactly; inside a fence nothing is a heading.
    """
    summary = trimmed(text)
    if not summary:
        raise InvalidSummary("empty", "checkpoint is empty")
    scan = _Scan()
    for line in map(trimmed, summary.split("\n")):
        _read_line(line, scan)
    if scan.fence:
        raise InvalidSummary("unclosed_fence", "checkpoint contains an unclosed code fence")
    if scan.expected < len(SECTIONS):
        missing = shown(SECTIONS[scan.expected])
        raise InvalidSummary("missing_section", f"checkpoint is missing section {missing}")
    for section, has_content in zip(SECTIONS, scan.has_content, strict=True):
        if not has_content:
            raise InvalidSummary("empty_section", f"checkpoint section {shown(section)} is empty")
    if lowered(summary).endswith(TRUNCATED_ENDINGS):
        raise InvalidSummary("truncated", "checkpoint appears truncated")
    return summary


def _read_line(line: str, scan: _Scan) -> None:
    if line.startswith(FENCES):
        if not scan.fence:
            scan.fence = line[:3]
        elif line.startswith(scan.fence):
            scan.fence = ""
        if scan.has_content:
            scan.has_content[-1] = True
        return
    if not scan.fence and line.startswith("## "):
        _read_heading(line, scan)
        return
    if not line:
        return
    if not scan.has_content:
        raise InvalidSummary("preamble", "checkpoint has content before its first section")
    if not line.startswith("###") and line.strip(NO_CONTENT):
        scan.has_content[-1] = True


def _read_heading(heading: str, scan: _Scan) -> None:
    if heading not in SECTIONS:
        raise InvalidSummary(
            "unexpected_section", f"unexpected checkpoint section {shown(heading)}"
        )
    if scan.expected == len(SECTIONS) or heading != SECTIONS[scan.expected]:
        raise InvalidSummary("out_of_order", f"checkpoint section {shown(heading)} is out of order")
    scan.expected += 1
    scan.has_content.append(False)


def check_ending(finish_reason: str, *, original: bool = False) -> None:
    """Why the provider stopped must be fine (F5.2). Raises InvalidSummary.

    Running out of room may be repaired by a shorter summary, anything else may not. The original
    takes "end_turn" for a failure; without `original` the words of other vendors count too
    (divergence `finish_words`).
    """
    stopped, out_of_room = (
        (STOPPED, OUT_OF_ROOM) if original else (STOPPED_ANYWHERE, OUT_OF_ROOM_ANYWHERE)
    )
    if _is_one_of(finish_reason, stopped):
        return
    if _is_one_of(finish_reason, out_of_room):
        raise InvalidSummary("output_limit", "compaction output reached its token limit")
    raise InvalidSummary(
        "finish_reason",
        f"stopped with finish reason {shown(finish_reason)}",
        may_repair=False,
    )


def _is_one_of(word: str, words: Sequence[str]) -> bool:
    """Equal but for case, one code point to one."""
    return any(len(word) == len(each) and all(_same(word, each)) for each in words)


def _same(left: str, right: str) -> Iterator[bool]:
    return (one.casefold() == other.casefold() for one, other in zip(left, right, strict=True))
