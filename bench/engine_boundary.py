"""Judgement: what a provider has accepted so far, as the engine remembers it (F9)."""

from __future__ import annotations

from typing import NamedTuple


class AcceptedBoundary(NamedTuple):
    """The newest ordinary request that one route served.

    `seq` is the newest event that it showed. Input and output are tokens as the provider counted
    them, `payload_units` the size of the request in units of the strategy's estimator, so that the
    next size can be measured from the provider's own count.
    """

    seq: int
    input_tokens: int
    output_tokens: int
    payload_units: int
