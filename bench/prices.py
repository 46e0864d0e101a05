"""Edge: what real models cost, from a dated table that people can replace and extend.

The table is `prices.toml` beside this module, US dollars for a million tokens; its head says where
the figures come from and what a row means. What has no price here has none: nobody counts it as 0.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.errors import UsageError

_TABLE = Path(__file__).with_name("prices.toml")
_PER_TOKENS = 1_000_000
_DATE_AT_END = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")
_RATE_NAMES = ("input", "output", "cache_read", "cache_write")


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The rates of a model; `long_rates` hold for requests of more than `long_above_tokens`."""

    rates: Rates
    long_rates: Rates | None = None
    long_above_tokens: int | None = None

    def usd(
        self,
        *,
        input_tokens: int,
        output_tokens: int,
        cached_tokens: int = 0,
        cache_write_tokens: int = 0,
    ) -> float:
        """What a request costs. `input_tokens` holds the tokens read from and written to caches."""
        rates = self._rates(input_tokens)
        plain = max(0, input_tokens - cached_tokens - cache_write_tokens)
        return (
            plain * rates.input
            + cached_tokens * rates.cache_read
            + cache_write_tokens * rates.cache_write
            + output_tokens * rates.output
        ) / _PER_TOKENS

    def usd_worst(self, *, input_tokens_max: int, output_tokens_max: int) -> float:
        """The most that a request of this size can cost: nothing cached, everything written."""
        rates = self._rates(input_tokens_max)
        dearest = max(rates.input, rates.cache_write)
        return (input_tokens_max * dearest + output_tokens_max * rates.output) / _PER_TOKENS

    def _rates(self, input_tokens: int) -> Rates:
        if self.long_rates is not None and input_tokens > (self.long_above_tokens or 0):
            return self.long_rates
        return self.rates


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by name; `as_of` is the day of the bundled table, `source` says what it holds."""

    models: Mapping[str, ModelPrice]
    as_of: str
    source: str

    def price_of(self, model: str) -> ModelPrice | None:
        """The price of a MODEL such as "openai:gpt-5"; None when nobody told it.

        Looked up as it is, then without the provider, then both without a date at the end.
        """
        name = model.partition(":")[2] or model
        undated = _DATE_AT_END.sub("", name)
        for key in (model, name, _DATE_AT_END.sub("", model), undated):
            if key in self.models:
                return self.models[key]
        return None


def load_prices(path: Path | str | None = None) -> PriceTable:
    """The bundled table, with the rows of the file `path` in place of its own or added to them.

    Raises UsageError that names the file, the row and what would be right.
    """
    bundled = _bundled()
    if path is None:
        return bundled
    own = _read(Path(path), f"--prices {path}")
    as_of = f"{bundled.as_of}; {own.as_of} for {len(own.models)} from {Path(path).name}"
    return PriceTable({**bundled.models, **own.models}, as_of, f"{bundled.source}; {path}")


@cache
def _bundled() -> PriceTable:
    return _read(_TABLE, _TABLE.name)


def _read(path: Path, where: str) -> PriceTable:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{where}: can't be read as TOML: {' '.join(reason.split())}") from error
    rows = document.get("models")
    if not isinstance(rows, dict) or not rows:
        raise UsageError(
            f'{where}: there is no table [models] with rows such as "name" = {{ input = 1.25, '
            "output = 10 } (US dollars for a million tokens)"
        )
    models = {str(name): _price(row, f"{where}: {name}") for name, row in rows.items()}
    as_of = document.get("as_of", "no day given")
    return PriceTable(models, str(as_of), str(document.get("source", path.name)))


def _price(row: Any, where: str) -> ModelPrice:
    if not isinstance(row, dict):
        raise UsageError(f"{where}: must be a table such as {{ input = 1.25, output = 10 }}")
    unknown = sorted(set(row) - {*_RATE_NAMES, "long"})
    if unknown:
        raise UsageError(
            f"{where}: unknown key {unknown[0]}, there are: {', '.join(_RATE_NAMES)}, long"
        )
    rates = _rates(row, where)
    tier = row.get("long")
    if tier is None:
        return ModelPrice(rates)
    above = tier.get("above_tokens") if isinstance(tier, dict) else None
    if isinstance(above, bool) or not isinstance(above, int) or above < 1:
        raise UsageError(f"{where}: long needs above_tokens, a whole number of tokens")
    return ModelPrice(rates, _rates(tier, f"{where}: long"), above)


def _rates(row: Mapping[str, Any], where: str) -> Rates:
    values: dict[str, float] = {}
    for name in _RATE_NAMES:
        value: Any = row.get(name)
        if value is None and name in ("cache_read", "cache_write"):
            value = values["input"]
        if not _is_amount(value):
            raise UsageError(
                f"{where}: {name} must be US dollars for a million tokens, 0 or more"
                + ("" if value is not None else " (it isn't there)")
            )
        values[name] = float(value)
    return Rates(**values)


def _is_amount(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value >= 0
