"""Judgement: exact counts of long texts from what is known of their parts.

Compacting shows much of what was counted before: a summariser's request quotes hundreds of
messages, a shortened result is the beginning and the end of another. The tokenizer first splits a
text into words, each of which it encodes alone, so counts add up wherever a word certainly ends
(`_WORD_END`, `_starts_line`). Between such places only the few characters around a seam are new.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from string import ascii_letters

from bench.joined_texts import pieces_of

_BLOCK_CHARACTERS = 1_024
_BLOCKS_CHARACTERS_MAX = 16_000_000
# A block ends within so many characters, or not at all.
_CUT_CHARACTERS_MAX = 96
# Shorter texts are counted as soon as taken apart.
LONG_CHARACTERS_MIN = 2 * _BLOCK_CHARACTERS

# The tokenizer's own pattern always starts a new word here, whatever stands around it.
# Found as the letter before it and the character behind it.
_WORD_END = re.compile(r"[A-Za-z][\x00-&(-@\[-`{-\x7f]")
_LAST_WORD_END = re.compile(r".*[A-Za-z][\x00-&(-@\[-`{-\x7f]", re.DOTALL)
_LETTERS = frozenset(ascii_letters)
_WORD_ENDING = frozenset(map(chr, range(128))) - _LETTERS - {"'"}
_EDGE_CHARACTERS = 48
# Labels and names are counted with what is around them.
_PIECE_CHARACTERS_MIN = 24
_SEAMS_REMEMBERED = 4_096
# Seams that are longer hardly come again.
_SEAM_CHARACTERS_MAX = 200

# What others than us wrote of a conversation has labels: "[user]" and a text, "[tool call]", a name
# and arguments; or rows of earlier summaries between tags.
_TRANSCRIPT_CHARACTERS_MIN = 16_000
_ROLE_LABEL = r"\[(?:system|user|assistant|tool)(?: [^\]\n]{1,40})?\]"
_LABEL = re.compile(r"\[[^\]\n]{1,60}\]\n|\[[^\]\n]{1,40}\] [^\s]{1,80} |<segment [^>\n]{1,80}>\n")
_BEFORE_LABEL = re.compile(rf"\n(?={_ROLE_LABEL}[\n ]|<segment |</segment>)")


class PartsCounter:
    """Counts texts of at least `LONG_CHARACTERS_MIN` characters.

    `known` tells the tokens of a text that was counted before, None of another; `encode` counts a
    text from scratch. No run in a text may be so long that `encode` has to cut it.
    """

    def __init__(self, known: Callable[[str], int | None], encode: Callable[[str], int]) -> None:
        self._known = known
        self._encode = encode
        self._seams: dict[str, int] = {}
        self._blocks: dict[str, int] = {}
        self._blocks_characters = 0

    def forget(self) -> None:
        """Forgets all parts."""
        self._seams.clear()
        self._blocks.clear()
        self._blocks_characters = 0

    def count(self, text: str) -> int:
        """The tokens of a long text."""
        pieces = pieces_of(text)
        if pieces is None and len(text) >= _TRANSCRIPT_CHARACTERS_MIN:
            pieces = list(self._labelled(text))
        if pieces is not None and len(pieces) > 1:
            return self._of_pieces(pieces)
        return self._of_blocks(text)

    def _labelled(self, text: str) -> Iterator[str]:
        """A text in pieces: labels, what stands behind them, and the lines between."""
        start = 0
        for before in _BEFORE_LABEL.finditer(text):
            yield from self._label_and_body(text[start : before.end()])
            start = before.end()
        yield from self._label_and_body(text[start:])

    def _label_and_body(self, part: str) -> Iterator[str]:
        label = _LABEL.match(part)
        if label is None:
            yield part
            return
        yield label.group()
        for stop in range(max(label.end() + 1, len(part) - 2), len(part) + 1):
            body = part[label.end() : stop]
            if self._known(body) is not None:
                yield body
                yield part[stop:]
                return
        yield part[label.end() :]

    def _of_pieces(self, pieces: Sequence[str], *, is_nested: bool = False) -> int:
        """The tokens of all pieces behind one another."""
        known = self._known
        total = 0
        # What stands behind the last cut.
        seam = ""
        for piece in pieces:
            tokens = known(piece) if len(piece) >= _PIECE_CHARACTERS_MIN else None
            if tokens is None and len(piece) >= LONG_CHARACTERS_MIN:
                tokens = self._of_new_piece(piece, is_nested=is_nested)
            last = None if tokens is None else _last_word_end(piece)
            first = 0
            if last is not None and not (seam[-1:] == "\n" and _starts_line(piece)):
                first = _first_word_end(piece)
            if tokens is None or last is None or first < 0:
                seam += piece
                continue
            total += tokens - self._of_seam(piece[last:])
            if first:
                total -= self._of_seam(piece[:first])
                seam += piece[:first]
            if seam:
                total += self._of_seam(seam)
            seam = piece[last:]
        return total + self._of_seam(seam) if seam else total

    def _of_new_piece(self, piece: str, *, is_nested: bool) -> int:
        """The tokens of a long piece alone."""
        # Results are shortened, then quoted; whoever joins more often is counted in blocks.
        inner = None if is_nested else pieces_of(piece)
        return self._of_blocks(piece) if inner is None else self._of_pieces(inner, is_nested=True)

    def _of_seam(self, text: str) -> int:
        """The tokens of what stands between two cuts; at least one character."""
        known = self._seams.get(text)
        if known is not None:
            return known
        tokens = self._encode(text)
        if len(text) <= _SEAM_CHARACTERS_MAX:
            if len(self._seams) >= _SEAMS_REMEMBERED:
                self._seams.clear()
            self._seams[text] = tokens
        return tokens

    def _of_blocks(self, text: str) -> int:
        """The tokens of a text, in blocks that are measured off from both of its ends.

        So the blocks of its beginning and of its end are those of any text that has the same.
        """
        known = self._blocks.get
        total, start, stop = 0, 0, len(text)
        while (cut := _cut_before(text, start, stop)) is not None:
            tokens = known(text[cut:stop])
            if tokens is None:
                break
            total, stop = total + tokens, cut
        middle = stop // 2
        while (cut := _cut_behind(text, start, stop)) is not None:
            block = text[start:cut]
            tokens = known(block)
            if tokens is None:
                if start >= middle:
                    break
                tokens = self._of_new_block(block)
            total, start = total + tokens, cut
        while (cut := _cut_before(text, start, stop)) is not None:
            block = text[cut:stop]
            tokens = known(block)
            total, stop = total + (self._of_new_block(block) if tokens is None else tokens), cut
        return total + self._encode(text[start:stop]) if start < stop else total

    def _of_new_block(self, block: str) -> int:
        """The tokens of a block that isn't known, remembered."""
        if self._blocks_characters > _BLOCKS_CHARACTERS_MAX:
            self._blocks.clear()
            self._blocks_characters = 0
        self._blocks_characters += len(block)
        tokens = self._blocks[block] = self._encode(block)
        return tokens


def _last_word_end(piece: str) -> int | None:
    """The last place in a piece where a word certainly ends; None when its end has none."""
    if piece[-1] in _WORD_ENDING and piece[-2] in _LETTERS:
        return len(piece) - 1
    found = _LAST_WORD_END.match(piece, max(0, len(piece) - _EDGE_CHARACTERS))
    return None if found is None else found.end() - 1


def _first_word_end(piece: str) -> int:
    """The first place in a piece where a word certainly ends; below 0 when its start has none."""
    found = _WORD_END.search(piece, 0, _EDGE_CHARACTERS)
    return -1 if found is None else found.end() - 1


def _starts_line(text: str) -> bool:
    """Whether the tokenizer starts a new word between a line break and this text.

    A word that holds a line break may go on with white space and, behind signs, with slashes.
    """
    return not (text[0].isspace() or text[0] == "/")


def _cut_behind(text: str, start: int, stop: int) -> int | None:
    """Where a block that begins at `start` ends, a block's length or a little more behind it."""
    first = start + _BLOCK_CHARACTERS
    found = _WORD_END.search(text, first, min(stop, first + _CUT_CHARACTERS_MAX))
    return None if found is None else found.end() - 1


def _cut_before(text: str, start: int, stop: int) -> int | None:
    """Where a block that ends at `stop` begins."""
    last = stop - _BLOCK_CHARACTERS
    if last <= start:
        return None
    found = _LAST_WORD_END.match(text, max(start, last - _CUT_CHARACTERS_MAX), last)
    return None if found is None else found.end() - 1
