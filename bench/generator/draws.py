"""Seeded draws that come out the same on every Python version and under every hash seed.

Only `random.Random(str).random()` is used: its sequence is the one that Python documents as stable,
while `choice`, `shuffle` and `sample` may change between versions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Draw:
    """One stream of seeded draws; `fork(name)` opens an independent one."""

    __slots__ = ("_next", "_seed")

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._next = random.Random(seed).random

    def fork(self, name: str) -> Draw:
        """A stream that depends on the seed and `name` only, not on what was drawn before."""
        return Draw(f"{self._seed}/{name}")

    def chance(self, share: float) -> bool:
        """True in `share` of the draws."""
        return self._next() < share

    def between(self, low: int, high: int, step: int = 1) -> int:
        """An integer from `low` to `high`, both included, in steps of `step`."""
        return low + step * int(self._next() * ((high - low) // step + 1))

    def real(self, low: float, high: float, digits: int = 2) -> float:
        """A number between `low` and `high`, rounded to `digits` decimals."""
        return round(low + (high - low) * self._next(), digits)

    def pick(self, items: Sequence[Item]) -> Item:
        """One of `items`, each as likely as the others."""
        return items[int(self._next() * len(items))]

    def pick_weighted(self, items: Sequence[tuple[Item, float]]) -> Item:
        """One item of (item, weight) pairs."""
        mark = self._next() * sum(weight for _, weight in items)
        for item, weight in items:
            mark -= weight
            if mark < 0:
                return item
        return items[-1][0]

    def some(self, items: Sequence[Item], count: int) -> list[Item]:
        """Up to `count` different places of `items`, in drawn order."""
        rest = list(items)
        taken: list[Item] = []
        while rest and len(taken) < count:
            taken.append(rest.pop(int(self._next() * len(rest))))
        return taken

    def digits(self, count: int) -> str:
        """A string of `count` decimal digits without a leading zero."""
        low = 10 ** (count - 1)
        return str(self.between(low, 10 * low - 1))

    def hexadecimal(self, count: int) -> str:
        """A string of `count` hexadecimal digits."""
        return "".join("0123456789abcdef"[int(self._next() * 16)] for _ in range(count))
