"""Edges: the money of a run: every paid request reserves its worst case before it is sent.

The seam between those who send (the models of this package) and those who count. A purse travels as
plain data, `ModelSettings.purse`, from which each process opens its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bench.providers.results import CallUsage

if TYPE_CHECKING:
    from bench.models.settings import ModelSettings


class Reservation(Protocol):
    """The worst case of one request, put aside until its cost is known."""

    @property
    def usd_worst(self) -> float | None:
        """The dollars that were put aside; None where the model has no price."""
        ...

    def settle(self, usage: CallUsage | None) -> float | None:
        """The request is over; returns its dollars, None where the model has no price.

        `usage` None means that nobody knows what it cost (a time-out, an answer without usage):
        the worst case counts. A refusal settles with `bench.providers.results.NOTHING_USED`.
        """
        ...


class Purse(Protocol):
    """Pays for requests. Every try of a request reserves anew, recorded answers reserve nothing."""

    def reserve(self, model: str, input_tokens_max: int, output_tokens_max: int) -> Reservation:
        """Puts the worst case of one request to `model` (a MODEL spec) aside.

        Raises `bench.errors.RunHalted` when it might cost more than is left.
        """
        ...


class PurseDescription(Protocol):
    """Plain data that every process opens its purse from."""

    def open(self) -> Purse:
        """The purse; all that are opened from equal descriptions share their money."""
        ...


class FreePurse:
    """Lets everything pass and counts nothing: servers of one's own."""

    def reserve(self, model: str, input_tokens_max: int, output_tokens_max: int) -> Reservation:
        """Nothing is put aside."""
        return _FREE


class _FreeReservation:
    @property
    def usd_worst(self) -> float | None:
        """Nobody named a price."""
        return None

    def settle(self, usage: CallUsage | None) -> float | None:
        """Nobody named a price."""
        return None


_FREE = _FreeReservation()


def open_purse(settings: ModelSettings) -> Purse:
    """The purse that these settings describe; a free one where they describe none."""
    return FreePurse() if settings.purse is None else settings.purse.open()
