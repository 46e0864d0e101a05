"""Edge: the ledger of a run's money, shared by all its processes: `spending.sqlite`.

Every paid request reserves its worst case here before it is sent and settles what it really cost
after. What was reserved and never settled, because a process died, counts as spent: it may have
been billed. The ledger lies in the run folder, so a resumed run knows what was spent before.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.errors import RunHalted, UsageError
from bench.money import usd_text
from bench.prices import ModelPrice
from bench.providers.purse import Reservation
from bench.providers.results import CallUsage

FILE_NAME = "spending.sqlite"
WARNED_SHARE = 0.8
_WAIT_SECONDS = 0.2
_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS calls (
        id INTEGER PRIMARY KEY, owner TEXT NOT NULL, model TEXT NOT NULL, state TEXT NOT NULL,
        tokens_worst INTEGER NOT NULL, usd_worst REAL, tokens INTEGER, usd REAL)""",
    "CREATE TABLE IF NOT EXISTS warned (limits TEXT PRIMARY KEY)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that a run may spend: US dollars, tokens of input and output; None: no limit.

    `calls_at_once` is how many requests may be under way; None where somebody else limits them.
    """

    usd: float | None = None
    tokens: int | None = None
    calls_at_once: int | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """What a ledger holds: settled and lost calls count as spent, `*_open` is put aside.

    `usd_lost` is the part of `usd` that nobody knows: the worst case of calls whose process died.
    """

    calls: int = 0
    usd: float = 0.0
    usd_lost: float = 0.0
    usd_open: float = 0.0
    tokens: int = 0
    tokens_open: int = 0
    calls_open: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a wish to reserve: `number` of the call, a `refusal`, or neither: wait."""

    number: int | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger in a file; every operation opens it anew, so that any process may use it."""

    path: Path
    limits: Limits

    def reserve(
        self, model: str, *, tokens_worst: int, usd_worst: float | None, owner: str
    ) -> Decision:
        """Puts the worst case of one call aside, if it fits.

        It fits when it does beside everything spent and put aside. When it would fit once the
        calls under way are settled at less than their worst case, the decision is to wait.
        """
        with self._transaction() as connection:
            _lose_calls_of_the_dead(connection)
            totals = _totals(connection)
            refusal = self._refusal(totals, model, tokens_worst, usd_worst)
            if refusal:
                return Decision(refusal=refusal)
            if not self._fits(totals, tokens_worst, usd_worst):
                return Decision()
            cursor = connection.execute(
                "INSERT INTO calls (owner, model, state, tokens_worst, usd_worst) "
                "VALUES (?, ?, 'open', ?, ?)",
                (owner, model, tokens_worst, usd_worst),
            )
            return Decision(cursor.lastrowid)

    def settle(self, number: int, *, tokens: int | None, usd: float | None) -> str:
        """What a call really took; None means unknown: its worst case counts.

        Returns a sentence when this made it 80% of a limit, for the first time.
        """
        with self._transaction() as connection:
            connection.execute(
                "UPDATE calls SET state = 'settled', tokens = coalesce(?, tokens_worst), "
                "usd = coalesce(?, usd_worst) WHERE id = ?",
                (tokens, usd, number),
            )
            return self._warning(connection)

    def lose(self, owner: str) -> None:
        """The process `owner` is gone: what it had under way counts as spent."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE calls SET state = 'lost', tokens = tokens_worst, usd = usd_worst "
                "WHERE owner = ? AND state = 'open'",
                (owner,),
            )

    def totals(self) -> Totals:
        """What is spent and put aside; nothing where there is no ledger yet."""
        if not self.path.exists():
            return Totals()
        with self._transaction() as connection:
            _lose_calls_of_the_dead(connection)
            return _totals(connection)

    def _fits(self, totals: Totals, tokens_worst: int, usd_worst: float | None) -> bool:
        limits = self.limits
        if limits.calls_at_once is not None and totals.calls_open >= limits.calls_at_once:
            return False
        usd, tokens = totals.usd + totals.usd_open, totals.tokens + totals.tokens_open
        if limits.usd is not None and usd_worst is not None and usd + usd_worst > limits.usd:
            return False
        return limits.tokens is None or tokens + tokens_worst <= limits.tokens

    def _refusal(
        self, totals: Totals, model: str, tokens_worst: int, usd_worst: float | None
    ) -> str:
        """Why a call wouldn't fit even if nothing else were under way; empty when it would."""
        limits = self.limits
        if limits.usd is not None and usd_worst is not None:
            needed = totals.usd + usd_worst
            if needed > limits.usd:
                return (
                    f"--budget-usd {limits.usd:g}: {usd_text(totals.usd)} is spent and the next "
                    f"call to {model} may cost up to {usd_text(usd_worst)}; give a larger "
                    f"--budget-usd to go on"
                )
        if limits.tokens is not None and totals.tokens + tokens_worst > limits.tokens:
            return (
                f"--budget-tokens {limits.tokens}: {totals.tokens:,} tokens are spent and the next "
                f"call to {model} may take up to {tokens_worst:,}; give a larger --budget-tokens "
                "to go on"
            )
        return ""

    def _warning(self, connection: sqlite3.Connection) -> str:
        totals, limits = _totals(connection), self.limits
        said: list[str] = []
        if limits.usd is not None and totals.usd >= WARNED_SHARE * limits.usd:
            said.append(f"{usd_text(totals.usd)} of --budget-usd {limits.usd:g}")
        if limits.tokens is not None and totals.tokens >= WARNED_SHARE * limits.tokens:
            said.append(f"{totals.tokens:,} tokens of --budget-tokens {limits.tokens}")
        if not said:
            return ""
        cursor = connection.execute(
            "INSERT OR IGNORE INTO warned VALUES (?)", (f"{limits.usd} {limits.tokens}",)
        )
        return f"{' and '.join(said)} spent" if cursor.rowcount else ""

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            with closing(connection):
                connection.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    connection.execute(statement)
                yield connection
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            # Without its ledger no call may be made: nothing would count it.
            raise UsageError(f"{self.path}: the ledger can't be used: {error}") from error


def _totals(connection: sqlite3.Connection) -> Totals:
    spent = connection.execute(
        "SELECT count(*), total(usd), total(CASE WHEN state = 'lost' THEN usd END), "
        "coalesce(sum(tokens), 0) FROM calls WHERE state != 'open'"
    ).fetchone()
    under_way = connection.execute(
        "SELECT total(usd_worst), coalesce(sum(tokens_worst), 0), count(*) FROM calls "
        "WHERE state = 'open'"
    ).fetchone()
    return Totals(spent[0], spent[1], spent[2], under_way[0], spent[3], under_way[1], under_way[2])


def _lose_calls_of_the_dead(connection: sqlite3.Connection) -> None:
    """Calls of processes of this machine that are gone will never be settled."""
    query = "SELECT DISTINCT owner FROM calls WHERE state = 'open'"
    for (owner,) in connection.execute(query).fetchall():
        machine, _, process = owner.rpartition(":")
        if machine == socket.gethostname() and process.isdigit() and not _is_alive(int(process)):
            connection.execute(
                "UPDATE calls SET state = 'lost', tokens = tokens_worst, usd = usd_worst "
                "WHERE owner = ? AND state = 'open'",
                (owner,),
            )


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@dataclass(frozen=True, slots=True)
class LedgerPurse:
    """A purse that pays from a ledger file of this machine; also its own description.

    `prices` holds every model of the run; None is a server of one's own that nobody priced.
    """

    ledger: Ledger
    prices: Mapping[str, ModelPrice | None] = field(default_factory=dict)

    def open(self) -> LedgerPurse:
        """Itself: a ledger is opened for each operation."""
        return self

    def reserve(self, model: str, input_tokens_max: int, output_tokens_max: int) -> Reservation:
        """Waits until the worst case fits beside the calls under way; RunHalted if it never will.

        Raises RunHalted too for a model whose price nobody looked up: it must not count as 0.
        """
        price, usd_worst = priced(self.prices, model, input_tokens_max, output_tokens_max)
        tokens_worst = input_tokens_max + output_tokens_max
        owner = f"{socket.gethostname()}:{os.getpid()}"
        while True:
            try:
                decision = self.ledger.reserve(
                    model, tokens_worst=tokens_worst, usd_worst=usd_worst, owner=owner
                )
            except UsageError as error:
                raise RunHalted(str(error)) from error
            if decision.refusal:
                raise RunHalted(decision.refusal)
            if decision.number is not None:
                return _LedgerReservation(self.ledger, decision.number, price, usd_worst)
            time.sleep(_WAIT_SECONDS)


@dataclass(frozen=True, slots=True)
class PricesOnly:
    """A purse for estimates: says what calls cost and pays nothing; also its own description."""

    prices: Mapping[str, ModelPrice | None] = field(default_factory=dict)

    def open(self) -> PricesOnly:
        """Itself."""
        return self

    def reserve(self, model: str, input_tokens_max: int, output_tokens_max: int) -> Reservation:
        """Nothing is put aside."""
        return _Priced(*priced(self.prices, model, input_tokens_max, output_tokens_max))


@dataclass(frozen=True, slots=True)
class _Priced:
    price: ModelPrice | None
    usd_worst: float | None

    def settle(self, usage: CallUsage | None) -> float | None:
        _, usd = billed(self.price, usage)
        return usd


def priced(
    prices: Mapping[str, ModelPrice | None], model: str, input_tokens: int, output_tokens: int
) -> tuple[ModelPrice | None, float | None]:
    """The price of a model and the worst case of a call; raises RunHalted for a foreign model."""
    if model not in prices:
        raise RunHalted(f"{model}: has no price in this run; nothing was sent to it")
    price = prices[model]
    if price is None:
        return None, None
    return price, price.usd_worst(input_tokens_max=input_tokens, output_tokens_max=output_tokens)


def billed(price: ModelPrice | None, usage: CallUsage | None) -> tuple[int | None, float | None]:
    """Tokens and dollars of a finished call; None where nobody knows, so that the worst counts."""
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None, None
    tokens = usage.input_tokens + usage.output_tokens
    if price is None:
        return tokens, None
    usd = price.usd(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens or 0,
        cache_write_tokens=usage.cache_write_tokens or 0,
    )
    return tokens, usd


@dataclass(frozen=True, slots=True)
class _LedgerReservation:
    ledger: Ledger
    number: int
    price: ModelPrice | None
    usd_worst: float | None

    def settle(self, usage: CallUsage | None) -> float | None:
        tokens, usd = billed(self.price, usage)
        warning = self.ledger.settle(self.number, tokens=tokens, usd=usd)
        if warning:
            say_warning(warning)
        return self.usd_worst if usd is None else usd


def say_warning(warning: str) -> None:
    """One line on stderr, whole also when several processes write."""
    start = "\r\x1b[2K" if sys.stderr.isatty() else ""
    sys.stderr.write(f"{start}compaction-bench: {warning}\n")
    sys.stderr.flush()
