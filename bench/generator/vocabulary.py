"""The shape of the words that one language brings: sentences with {slots} that a world fills.

`words_en` and `words_zh` hold the sentences of work, `facts_en` and `facts_zh` what can be planted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KindWords:
    """The sentences of one kind of session.

    A request is one of `requests`, sometimes with one of `contexts` and one of `wishes`; a final
    message is one of `findings`, some of `details` and one of `offers`. `plan` holds plan items,
    `thoughts` what the agent says before it calls a tool, by tool name, "" for any tool. Which
    findings answer a request is the same in all languages, see ANSWERS in `speech`; `queries` are
    what the web is searched for, request by request.
    """

    system: str
    requests: tuple[str, ...]
    contexts: tuple[str, ...]
    wishes: tuple[str, ...]
    findings: tuple[str, ...]
    details: tuple[str, ...]
    offers: tuple[str, ...]
    plan: tuple[str, ...]
    thoughts: Mapping[str, tuple[str, ...]]
    queries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactWords:
    """One fact that can be planted, in the kinds of session named in `scopes`.

    `value` may hold draws such as `<120-480/5>`. `statement` says the fact and names its subject;
    `use` is what the agent says when it needs it. An update has `first`, which states {old} before
    `statement` supersedes it. `near` is a distractor: the same kind of thing about another subject.
    """

    kind: str
    scopes: str
    subject: str
    value: str
    statement: str
    use: str
    question: str
    first: str = ""
    near: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """All sentences of one language."""

    language: str
    people: tuple[str, ...]
    teams: tuple[str, ...]
    docstrings: tuple[str, ...]
    comments: tuple[str, ...]
    log_messages: tuple[tuple[str, str], ...]
    cities: tuple[str, ...]
    page_sentences: tuple[str, ...]
    review_sentences: tuple[str, ...]
    help_sentences: tuple[str, ...]
    message_sentences: tuple[str, ...]
    notes: tuple[str, ...]
    goods: tuple[str, ...]
    packing: tuple[str, ...]
    kinds: Mapping[str, KindWords]
    facts: tuple[FactWords, ...]
    negation_prefixes: tuple[str, ...]
    joiner: str
    cues: tuple[str, ...]
    acknowledgements: tuple[str, ...]
    injections: tuple[str, ...]
    secrets: tuple[str, ...]
    unanswerable: tuple[str, ...]
