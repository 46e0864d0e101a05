"""Edges: reading a summary request: what in it is instruction, what is material.

History text is data. Whatever it says, it can't change what is asked, because instructions are
only looked for in fixed places, decided in this order:

1. The first leading system message whose opening asks for a summary; it then decides the sections.
   Other leading system messages are the agent's own prompt and are neither. Later system messages,
   and any that is an earlier summary itself, are material.
2. The last message, when it is a user's and asks for a summary of the conversation (with
   an earlier such prompt and the candidate it got, when it asks for a repair).
3. When neither asks: the first user message that does.

Inside an instruction message these parts are material all the same: what stands between
conversation or transcript tags (up to the *last* closing tag, so that material can't close them
early), long or role-labelled fences, everything from a line like "Conversation:" on, and
everything from the first of several role-labelled lines ("[user]: ...") on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from bench.events import Message
from bench.models.prompt_headings import Outline, read_outline
from bench.models.text_units import Piece
from bench.models.transcripts import (
    EARLIER_SUMMARY,
    label_starts,
    pieces_of_message,
    read_transcript,
)

_OPENING_CHARACTERS = 700
_INSTRUCTIONS_CHARACTERS_MAX = 20_000
_TEMPLATE_FENCE_CHARACTERS_MAX = 4_000

_ASKS_FOR_SUMMARY = re.compile(
    r"\b(?:summar\w+|compact(?:ion|ing|or)?|condens\w+|checkpoints?|hand-?off|compress\w*|"
    r"distil\w*|state[_ ]snapshot|continuation)\b|总结|摘要|概括|归纳|压缩|检查点|交接",
    re.IGNORECASE,
)
_ABOUT_THE_CONVERSATION = re.compile(
    r"\b(?:conversation|above|transcript|history|session|checkpoint|earlier|previous|messages|"
    r"so far|work)\b|对话|以上|会话|历史|上文|检查点|前文|转录",
    re.IGNORECASE,
)
_WANTS_SHORTER = re.compile(
    r"\b(?:shorter|shorten|too long|more concise(?:ly)?|reduce the length|was cut off)\b"
    r"|更短|缩短|过长|太长|更精简|更简短",
    re.IGNORECASE,
)
_LENGTH_LIMIT = re.compile(
    r"(?:at most|under|no more than|not exceed(?:ing)?|within|up to|maximum(?: of)?|max\.?|"
    r"fewer than|less than|below|不超过|不得超过|最多|控制在|限制在)\s*(?P<number>\d[\d,]*)\s*"
    r"(?P<unit>words?|tokens?|characters?|sentences?|个?字|个?词|句|个? ?token)",
    re.IGNORECASE,
)
# Rough o200k tokens for one of each, for English and Chinese prose.
_TOKENS_PER = {
    "word": 1.35,
    "token": 1.0,
    "character": 0.25,
    "sentence": 35.0,
    "字": 0.8,
    "词": 1.3,
}
_TOKENS_PER["句"] = 30.0

_MATERIAL_TAG = re.compile(
    r"^[ \t]*<(?P<name>(?:the[_-])?(?:(?:previous|prior|earlier|existing|old|past|current|new|"
    r"untrusted|chat|agent|covered|conversation|session|message)[_-])*"
    r"(?:conversation|transcript|history|messages?|dialog(?:ue)?|log|session|chat|events?|source|"
    r"material|input|document|summary|summaries|checkpoint|segments?|data)"
    r"(?:[_-](?:history|log|transcript|messages|so[_-]far|to[_-]summari[sz]e|to[_-]compact|data))*)"
    r"(?:\s[^<>\n]*)?>",
    re.IGNORECASE | re.MULTILINE,
)
# These may also be the form of the answer.
_FORM_TAGS = frozenset({"summary", "checkpoint"})
_TAGS_MAX = 10_000
# Lines of a form to fill in: headings, numbered titles, tags, "[text]", "<!-- text -->", "...".
_FORM_LINE = re.compile(
    r"#{1,6}\s.*|\d{1,2}[.)]\s[^:：]{1,60}[:：]|</?[\w-]+>|(?:[-*]\s+)?(?:\[[^\]]+\]|<!--.*|\.{3}|…)"
)
_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})[^\n`]*\n", re.MULTILINE)
_MATERIAL_LINE = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*|-{2,}[ \t]*|={2,}[ \t]*|\*\*)?(?:(?:here|this) is the |the )?"
    r"(?:(?:conversation|transcript|chat|message|session|full)s?[ \t]*)+"
    r"(?:history|log|messages|transcript)?[ \t]*"
    r"(?:to (?:be )?(?:summari[sz]ed?|compact(?:ed)?)|so far|below|follows)?(?:\*\*)?[ \t]*"
    r"(?:[:：]|-{2,}|={2,})[ \t]*$"
    r"|^[ \t]*(?:#{1,6}[ \t]*)?(?:以下是|下面是)?(?:需要?总结的|待总结的)?"
    r"(?:对话|会话)(?:记录|历史|内容|如下)*[:：][ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A summary request, read: what it asks for and what it gives.

    `length_tokens_max` is the length that the instructions name, None when they name none.
    `wants_shorter` is true for a repair that asks for less than last time.
    """

    outline: Outline
    material: tuple[Piece, ...]
    length_tokens_max: int | None = None
    wants_shorter: bool = False


def read_request(messages: Sequence[Message]) -> SummaryRequest:
    """What these messages ask for and the material that they give."""
    prompts = _instruction_positions(messages)
    instructions: list[str] = []
    material: list[Piece] = []
    has_turns = any(message.role in ("assistant", "tool") for message in messages)
    for position, message in enumerate(messages):
        if position in prompts:
            outer, inner = split_prompt(message.text)
            instructions.append(outer[:_INSTRUCTIONS_CHARACTERS_MAX])
            material.extend(piece for text in inner for piece in read_transcript(text))
        elif message.role != "system" or not _is_agent_prompt(messages, position):
            material.extend(pieces_of_message(message, may_be_transcript=not has_turns))
    if not material and len(prompts) > 1:
        # The only user message is no closing word but the text to summarise.
        material.extend(read_transcript(messages[max(prompts)].text))
        instructions.pop()
    outlines = (read_outline(text) for text in instructions)
    everything = "\n".join(instructions)
    return SummaryRequest(
        outline=next((outline for outline in outlines if outline.sections), Outline()),
        material=tuple(material),
        length_tokens_max=_length_limit(everything),
        wants_shorter=_WANTS_SHORTER.search(everything) is not None,
    )


def _instruction_positions(messages: Sequence[Message]) -> frozenset[int]:
    found: set[int] = set()
    for position in _leading_systems(messages):
        if _asks_in_opening(messages[position].text):
            found.add(position)
            break
    last = len(messages) - 1
    if last >= 0 and messages[last].role == "user" and _asks_to_close(messages[last].text):
        found.add(last)
        first_prompt = last - 2
        if (
            first_prompt >= 0
            and messages[last - 1].role == "assistant"
            and messages[first_prompt].role == "user"
            and _WANTS_SHORTER.search(split_prompt(messages[last].text)[0])
            and _asks_to_close(messages[first_prompt].text)
        ):
            found.add(first_prompt)
    if not found:
        for position, message in enumerate(messages):
            if message.role in ("user", "system") and _asks_in_opening(message.text):
                return frozenset({position})
    return frozenset(found)


def _leading_systems(messages: Sequence[Message]) -> Iterator[int]:
    for position, message in enumerate(messages):
        if message.role != "system":
            return
        yield position


def _is_agent_prompt(messages: Sequence[Message], position: int) -> bool:
    """True for a leading system message that is no earlier summary and follows no prompt."""
    if any(message.role != "system" for message in messages[:position]):
        return False
    if any(_asks_in_opening(message.text) for message in messages[:position]):
        return False
    return EARLIER_SUMMARY.match(messages[position].text) is None


def _asks_in_opening(text: str) -> bool:
    return (
        EARLIER_SUMMARY.match(text) is None
        and _ASKS_FOR_SUMMARY.search(text, 0, _OPENING_CHARACTERS) is not None
    )


def _asks_to_close(text: str) -> bool:
    """True when the part of a last message that isn't material asks for a summary."""
    if EARLIER_SUMMARY.match(text) is not None:
        return False
    outer = split_prompt(text)[0][:_INSTRUCTIONS_CHARACTERS_MAX]
    is_about_it = _ABOUT_THE_CONVERSATION.search(outer) or _WANTS_SHORTER.search(outer)
    return bool(is_about_it and _ASKS_FOR_SUMMARY.search(outer))


@lru_cache(maxsize=8)
def split_prompt(text: str) -> tuple[str, tuple[str, ...]]:
    """The instructions of a prompt message, and the pieces of material inside it.

    From the first opening tag of material to the last closing one everything is material.
    """
    inner: list[str] = []
    first = len(text)
    done = position = 0
    last_of_name: dict[str, int] = {}
    while (tag := _MATERIAL_TAG.search(text, position)) is not None:
        closing = f"</{tag['name']}>"
        if closing not in last_of_name:
            last_of_name[closing] = text.rfind(closing)
        stop = last_of_name[closing] if last_of_name[closing] >= tag.end() else -1
        stands_alone = text[tag.end() : tag.end() + 1] in ("", "\n", "\r")
        may_be_form = tag["name"].lower() in _FORM_TAGS
        is_named_only = stop < 0 and (may_be_form or not stands_alone)
        if is_named_only or (may_be_form and _is_output_tag(text, tag)):
            position = tag.end()
            continue
        if first < tag.start():
            inner.append(text[done : tag.start()])
        first = min(first, tag.start())
        is_summary = re.search("summar|checkpoint", tag["name"], re.IGNORECASE) is not None
        body = text[tag.end() : stop if stop >= 0 else len(text)]
        inner.append(f"[summary]: {body}" if is_summary else body)
        done = position = stop + len(closing) if stop >= 0 else len(text)
    end = max(done, _last_closing(text, first))
    inner.append(text[done:end])
    done = end
    kept, fenced = _split_fences(text[done:])
    inner.extend(fenced)
    cut = _material_start(kept)
    inner.append(kept[cut:])
    outer = [text[:first], kept[:cut]] if first < len(text) else [kept[:cut]]
    return "\n".join(outer), tuple(part for part in inner if part.strip())


def _last_closing(text: str, first: int) -> int:
    """Where the last closing tag ends of all material tags that open from `first` on."""
    opened = islice(_MATERIAL_TAG.finditer(text, first), _TAGS_MAX)
    names = {tag["name"] for tag in opened if tag["name"].lower() not in _FORM_TAGS}
    closings = [f"</{name}>" for name in names]
    return max((text.rfind(closing) + len(closing) for closing in closings), default=0)


def _is_output_tag(text: str, tag: re.Match[str]) -> bool:
    """True for <summary> as the form of the answer: empty, in an example, or with placeholders."""
    body = text[tag.end() : text.find(f"</{tag['name']}>", tag.end())]
    before = text[max(0, tag.start() - _INSTRUCTIONS_CHARACTERS_MAX) : tag.start()]
    is_example = before.rfind("<example") > before.rfind("</example")
    lines = [line.strip() for line in body.split("\n") if line.strip()]
    return is_example or all(map(_FORM_LINE.fullmatch, lines))


def _split_fences(text: str) -> tuple[str, list[str]]:
    """The text without fences that hold material, and what those hold."""
    kept: list[str] = []
    fenced: list[str] = []
    done = 0
    while (fence := _FENCE.search(text, done)) is not None:
        end = text.rfind(f"\n{fence['mark']}", fence.end() - 1)
        close = text.find(f"\n{fence['mark']}", fence.end() - 1)
        body_stop = close if close >= 0 else len(text)
        body = text[fence.end() : body_stop]
        is_labelled = len(label_starts(body, 2)) == 2
        if is_labelled or len(body) > _TEMPLATE_FENCE_CHARACTERS_MAX:
            # Material may hold fences itself: only the last one closes it.
            body_stop = end if end >= fence.end() - 1 else len(text)
            kept.append(text[done : fence.start()])
            fenced.append(text[fence.end() : body_stop])
            done = body_stop + 1 + len(fence["mark"])
        else:
            done_next = body_stop + 1 + len(fence["mark"])
            kept.append(text[done:done_next])
            done = done_next
    kept.append(text[done:])
    return "".join(kept), fenced


def _material_start(text: str) -> int:
    """Where unmarked material begins: after "Conversation:", or at the first role label."""
    marker = _MATERIAL_LINE.search(text)
    labels = label_starts(text, 2)
    starts = [len(text)]
    if marker is not None and text[marker.end() :].strip():
        starts.append(marker.end())
    if len(labels) == 2:
        starts.append(labels[0])
    return min(starts)


def _length_limit(instructions: str) -> int | None:
    limits: list[int] = []
    for match in _LENGTH_LIMIT.finditer(instructions):
        unit = match["unit"].lower().strip("个 ").removesuffix("s")
        limits.append(int(int(match["number"].replace(",", "")) * _TOKENS_PER.get(unit, 1.0)))
    return min(limits) if limits else None
