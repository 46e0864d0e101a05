"""How head/tail strategies guess sizes: a quarter of a token for each byte that isn't blank.

Rule of the original: a text costs floor(non-blank UTF-8 bytes / 4), a message its text + 4, each
call its name + its arguments + 4, each attachment 1,000, a tool its name + description + JSON of
its parameters + 4. Ids and roles are free. The variant by characters, which many other runtimes
use, differs in the cost of a text alone: characters / 4, which is about a third of the truth for
Chinese.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal
from zlib import adler32

from bench.events import Message, ToolDefinition
from bench.strategy import Estimator
from strategies.head_tail.go_text import write_json

EstimatorName = Literal["bytes", "chars"]

TOKENS_PER_MESSAGE = 4
TOKENS_PER_CALL = 4
TOKENS_PER_TOOL = 4
TOKENS_PER_ATTACHMENT = 1_000

# Pruning looks at every tool result in the window each time, and what comes next was measured too.
_CHARACTERS_REMEMBERED = 16_000_000
# What an entry takes beside its text.
_CHARACTERS_BESIDE = 100

_BLANKS = b" \t\n\r\x0b\x0c"
# Every blank becomes a one, all else a zero: the sum is the number of blanks. Adler-32 is 1 and
# that sum in its lower half, while there are fewer than 65,520 of them, and nothing adds up bytes
# faster; deleting the blanks takes half as long again.
_IS_BLANK = bytes(code in _BLANKS for code in range(256))
_SUMMED_BYTES_MAX = 65_000


class _Measured:
    """What texts came to, forgotten all at once when they hold too much."""

    def __init__(self) -> None:
        self.by_text: dict[str, int] = {}
        self.characters = 0


_MEASURED = _Measured()
_known = _MEASURED.by_text.get


def forget() -> None:
    """Forgets what texts came to; only tests and benchmarks need it."""
    _MEASURED.by_text.clear()
    _MEASURED.characters = 0


def text_tokens_by_bytes(text: str) -> int:
    """A quarter of the UTF-8 bytes that are none of the six ASCII blanks, rounded down."""
    known = _known(text)
    if known is not None:
        return known
    if _MEASURED.characters > _CHARACTERS_REMEMBERED:
        forget()
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > _SUMMED_BYTES_MAX:
        tokens = len(data.translate(None, _BLANKS)) // 4
    else:
        blanks = (adler32(data.translate(_IS_BLANK)) & 0xFFFF) - 1
        tokens = (len(data) - blanks) // 4
    _MEASURED.by_text[text] = tokens
    _MEASURED.characters += len(text) + _CHARACTERS_BESIDE
    return tokens


def text_tokens_by_characters(text: str) -> int:
    """A quarter of the characters, rounded down."""
    return len(text) // 4


def text_measure(name: EstimatorName) -> Callable[[str], int]:
    """The cost of a text in tokens, by the name of the estimator."""
    return _TEXT_MEASURES[name]


def estimator(name: EstimatorName) -> Estimator:
    """The estimator with this name; one of its units is one token."""
    return _ESTIMATORS[name]


def messages_tokens(messages: Iterable[Message], name: EstimatorName = "bytes") -> int:
    """The cost of all messages together, in tokens."""
    return sum(map(_ESTIMATORS[name].message_units, messages))


def _estimator(name: EstimatorName) -> Estimator:
    text_tokens = _TEXT_MEASURES[name]

    def message_tokens(message: Message) -> int:
        total = text_tokens(message.text) + TOKENS_PER_MESSAGE
        for call in message.calls:
            total += text_tokens(call.name) + text_tokens(call.arguments) + TOKENS_PER_CALL
        if message.attachments:
            total += TOKENS_PER_ATTACHMENT * len(message.attachments)
        return total

    def tool_tokens(tool: ToolDefinition) -> int:
        total = text_tokens(tool.name) + text_tokens(tool.description) + TOKENS_PER_TOOL
        return total + (text_tokens(write_json(tool.parameters)) if tool.parameters else 0)

    def tools_tokens(tools: Sequence[ToolDefinition]) -> int:
        return sum(map(tool_tokens, tools))

    return Estimator(
        name=f"head_tail {name}", message_units=message_tokens, tools_units=tools_tokens
    )


_TEXT_MEASURES: dict[EstimatorName, Callable[[str], int]] = {
    "bytes": text_tokens_by_bytes,
    "chars": text_tokens_by_characters,
}
_ESTIMATORS: dict[EstimatorName, Estimator] = {
    "bytes": _estimator("bytes"),
    "chars": _estimator("chars"),
}
