"""Edges: which sections a summary prompt asks for, and what belongs under each.

Read in this order, the first that finds at least two wins (one is enough for Markdown headings
in quotes): nested tags (`<state_snapshot><overall_goal>`), Markdown headings in backticks or in a
fenced template, Markdown headings on lines of their own, numbered or bulleted titles
("1. Primary Request and Intent: ..."), a list in a sentence ("with the sections Goal, Progress").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

SectionRole = Literal[
    "goal",
    "user_messages",
    "rules",
    "progress",
    "current",
    "decisions",
    "next",
    "errors",
    "files",
    "facts",
    "other",
]

TITLE_CHARACTERS_MAX = 60
_TITLES_REMEMBERED = 512

# The first that matches the lower-cased title decides, so narrow ones stand before wide ones.
_ROLE_WORDS: tuple[tuple[SectionRole, str], ...] = (
    ("user_messages", r"user messages|user requests verbatim|用户消息|用户发言"),
    (
        "next",
        r"next|to-?dos?\b|pending|remaining|plan\b|open (?:items|questions)"
        r"|下一步|待办|后续|计划|未完成",
    ),
    ("decisions", r"decision|choice|rationale|approach|strategy|决定|决策|选择|方案|理由"),
    ("rules", r"constraint|preference|rules?\b|requirement|guideline|约束|限制|偏好|规则|要求"),
    ("errors", r"error|issue|failure|blocker|blocked|bugs?\b|错误|问题|异常|故障|阻塞"),
    ("facts", r"critical|technical|concept|knowledge|facts?\b|关键上下文|关键信息|技术|知识|事实"),
    ("files", r"files?\b|artifact|paths?\b|code sections|changes|文件|路径|改动"),
    (
        "goal",
        r"goal|intent|request|objective|purpose|overview|mission|目标|意图|需求",
    ),
    ("current", r"current work|in progress|recent|正在|当前工作|最近"),
    (
        "progress",
        r"progress|done|complet|accomplish|achiev|solving|actions|state|status|history|summary|"
        r"进展|进度|完成|状态|经过|过程",
    ),
    ("facts", r"context|details|important|discover|finding|learn|信息|上下文|背景|发现|要点"),
    ("goal", r"task|任务"),
)
_ROLES = tuple((role, re.compile(words)) for role, words in _ROLE_WORDS)

# Titles by which prompts structure themselves: nobody asks for a section of that name.
_PROMPT_STRUCTURE = re.compile(
    r"^(?:(?:output|response|summary)?\s*"
    r"(?:format|structure|template|instructions?|rules?|guidelines?)|"
    r"your (?:task|role)|role|task|input|output|important(?: rules?)?|examples?|"
    r"(?:the )?(?:conversation|transcript|history|messages)"
    r"(?: (?:history|log|to summarize|so far))?"
    r"|critical security rule.*|输出格式|格式|要求|说明|规则|注意事项?|示例|角色|任务"
    r"|对话(?:记录|历史|内容)?)[:：]?$",
    re.IGNORECASE,
)
_ASKS_FOR_SECTIONS = re.compile(
    r"sections?|headings?|headers?|structure|format|template|outline|following|标题|章节|小节|部分|格式|结构|字段",
    re.IGNORECASE,
)

_WANTS_PROSE = re.compile(r"\bprose\b|\bparagraphs?\b|散文|段落|连贯的文字", re.IGNORECASE)

_TAG_PAIR = re.compile(r"<(?P<name>[A-Za-z_][\w-]{0,59})>(?P<body>.*?)</(?P=name)>", re.DOTALL)
_WRAPPER_TAGS = frozenset({"summary", "analysis", "example", "examples", "thinking", "scratchpad"})
_QUOTED_HEADING = re.compile(r"[`\"“'](#{1,6}[ \t]+[^\n`\"”'#]{1,60}?)[`\"”']")
_FENCED = re.compile(
    r"^(?:`{3,}|~{3,})[^\n]*\n(.*?)^(?:`{3,}|~{3,})[ \t]*$", re.DOTALL | re.MULTILINE
)
_HEADING_LINE = re.compile(r"^[ \t]*(#{1,6})[ \t]+(\S[^\n]*?)[ \t#]*$", re.MULTILINE)
_INLINE_HEADING = re.compile(
    r"(?<![#\w])(#{2,6}[ \t]+[^\n#,，、;；:：.。`]{1,60}?)(?=[ \t]*[,，、;；:：.。\n#]|$)"
)
_LISTED = re.compile(
    r"^[ \t]*(?P<mark>\d{1,2}[.)、．][ \t]*|[一二三四五六七八九十]{1,3}、[ \t]*|[-*•][ \t]+|"
    r"(?=\*\*|【))"
    r"(?P<open>\*\*|【)?(?P<title>[^\n*:：】]{1,60}?)(?P<close>\*\*|】)?[ \t]*"
    r"(?P<end>[:：]\**|[ \t][-–—][ \t]|\*\*[:：]|$)",
    re.MULTILINE,
)
_NAMED_IN_SENTENCE = re.compile(
    r"(?:sections?|headings?|headers?|章节|小节|部分|标题)"
    r"(?:[ \t]+(?:named|titled|called))?[ \t]*[:：]?[ \t]+"
    r"(?P<list>[A-Z][\w /&-]{1,40}(?:(?:,| and|, and)[ \t]+[A-Z][\w /&-]{1,40})+)"
)


@dataclass(frozen=True, slots=True)
class Section:
    """A section to write: the lines before and after its content, and what belongs there."""

    title: str
    role: SectionRole
    opening: str
    closing: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """All sections that a prompt asks for, and what stands around them; none means prose."""

    sections: tuple[Section, ...] = ()
    opening: str = ""
    closing: str = ""

    @property
    def closing_tags(self) -> tuple[str, ...]:
        """Lines that end a part of the outline: content must not contain them."""
        ends = {section.closing for section in self.sections} | set(self.closing.split("\n"))
        return tuple(sorted(end for end in ends if end))


@lru_cache(maxsize=_TITLES_REMEMBERED)
def role_of(title: str) -> SectionRole:
    """What belongs under a heading with this title."""
    lowered = title.lower().replace("_", " ")
    return next((role for role, words in _ROLES if words.search(lowered)), "other")


def read_outline(instructions: str) -> Outline:
    """The sections that these instructions ask for."""
    tagged = _tagged(instructions)
    if tagged is not None:
        return tagged
    sections = (
        _markdown(_QUOTED_HEADING.findall(instructions))
        or _markdown(_fenced_headings(instructions))
        or _heading_lines(instructions)
        or _markdown(_INLINE_HEADING.findall(instructions), fewest=2)
    )
    if not sections and _WANTS_PROSE.search(instructions) is None:
        # Titles without marks are weaker: in a prompt for prose a list is just a list.
        sections = (
            _listed(instructions) or _bracketed(instructions) or _named_in_sentence(instructions)
        )
    if not sections:
        return Outline()
    opening, closing = _around(instructions)
    return Outline(sections, opening, closing)


def _around(instructions: str) -> tuple[str, str]:
    """The tags in which a prompt wants its answer, as <analysis> and <summary> of Claude Code."""
    if "<summary>" not in instructions:
        return "", ""
    analysis = "<analysis>\nExtracted line by line.\n</analysis>\n"
    return (analysis if "<analysis>" in instructions else "") + "<summary>", "</summary>"


def _tagged(instructions: str) -> Outline | None:
    for pair in _TAG_PAIR.finditer(instructions):
        wrapper = pair["name"]
        inner = list(_TAG_PAIR.finditer(pair["body"]))
        names = list(dict.fromkeys(found["name"] for found in inner))
        if wrapper.lower() in ("example", "examples") and len(names) == 1:
            return _tagged(pair["body"])
        leaves = [name for name in names if name.lower() not in _WRAPPER_TAGS]
        if len(leaves) >= 2 and wrapper.lower() not in ("example", "examples"):
            sections = tuple(
                Section(name, role_of(name), f"<{name}>", f"</{name}>") for name in leaves
            )
            return Outline(sections, f"<{wrapper}>", f"</{wrapper}>")
    return None


def _markdown(headings: Iterable[str], fewest: int = 1) -> tuple[Section, ...]:
    titles = list(dict.fromkeys(heading.strip() for heading in headings))
    if len(titles) < fewest:
        return ()
    return tuple(Section(line.lstrip("# \t"), role_of(line), line) for line in titles)


def _fenced_headings(instructions: str) -> list[str]:
    return [
        f"{marks} {title}"
        for block in _FENCED.findall(instructions)
        for marks, title in _HEADING_LINE.findall(block)
    ]


def _heading_lines(instructions: str) -> tuple[Section, ...]:
    found = list(_HEADING_LINE.finditer(instructions))
    asked = [
        match
        for match in found
        if not _PROMPT_STRUCTURE.match(match[2]) and len(match[2]) <= TITLE_CHARACTERS_MAX
    ]
    # Headings before the sentence that asks for sections structure the prompt itself.
    for number, match in enumerate(asked):
        before = instructions[: match.start()].rstrip().rsplit("\n", 2)[-2:]
        is_answer_to = any(_ASKS_FOR_SECTIONS.search(line) for line in before)
        if is_answer_to and len(asked) - number >= 2:
            asked = asked[number:]
            break
    if len(asked) < 2:
        return ()
    # A template's sub-headings belong to the section above them.
    level = min(len(match[1]) for match in asked)
    if sum(len(match[1]) == level for match in asked) < 2:
        level = max(len(match[1]) for match in asked)
    return _markdown(f"{match[1]} {match[2].strip()}" for match in asked if len(match[1]) == level)


def _listed(instructions: str) -> tuple[Section, ...]:
    """The longest run of short titles in one style, numbered from 1 or bulleted."""
    runs: list[list[tuple[str, str]]] = [[]]
    style = ""
    for match in _LISTED.finditer(instructions):
        mark = match["mark"].lstrip()
        kind = "number" if mark[:1].isdigit() else "chinese" if "、" in mark else mark.strip()
        kind += match["open"] or ""
        title = match["title"].strip()
        is_title = bool(match["end"].strip() or match["open"] or match["end"] == "") and bool(title)
        is_title = is_title and not title.endswith((".", "。", ",", ";"))
        is_first = mark.strip() in ("1.", "1)", "1、", "1．", "一、")
        if kind != style or is_first or not is_title:
            runs.append([])
            style = kind
        if is_title:
            is_numbered = kind.startswith(("number", "chinese"))
            colon = match["end"].strip(" *-–—\t")
            opening = f"{mark}{title}{colon}" if is_numbered else f"## {title}"
            runs[-1].append((title, opening))
    longest: list[tuple[str, str]] = max(runs, key=len)
    best = list(dict.fromkeys(longest))
    is_asked = _ASKS_FOR_SECTIONS.search(instructions) is not None
    if len(best) < 2 or not is_asked:
        return ()
    return tuple(Section(title, role_of(title), opening) for title, opening in best)


def _bracketed(instructions: str) -> tuple[Section, ...]:
    titles = list(dict.fromkeys(re.findall(r"【([^【】\n]{1,30})】", instructions)))
    return tuple(Section(title, role_of(title), f"【{title}】") for title in titles if titles[1:])


def _named_in_sentence(instructions: str) -> tuple[Section, ...]:
    match = _NAMED_IN_SENTENCE.search(instructions)
    if match is None:
        return ()
    titles = [part.strip() for part in re.split(r",\s*and\s+|,\s*|\s+and\s+", match["list"])]
    return _markdown([f"## {title}" for title in titles if title])
