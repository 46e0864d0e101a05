"""Options about money: what real models cost, how much may be spent, and what it would be."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bench.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from bench.cli.progress import Progress
    from bench.estimating import Estimate
    from bench.models.settings import ModelSettings
    from bench.prices import ModelPrice
    from bench.spending import Ledger, Limits
    from bench.store import Run
    from bench.tasks import RunOptions, Task

BUDGET_USD = 5.0
MONEY_KEYS: tuple[str, ...] = ("prices", "budget_usd", "budget_tokens")


def add_money_options(command: Any, *, has_dry_run: bool = True) -> None:
    """Adds `--dry-run`, `--prices`, `--budget-usd` and `--budget-tokens`."""
    if has_dry_run:
        command.add_argument(
            "--dry-run",
            action="store_true",
            help="say what real models would be asked and what it would cost; no call is made",
        )
    command.add_argument(
        "--prices", metavar="FILE.toml", help="prices of models, in place of bundled ones or added"
    )
    command.add_argument(
        "--budget-usd",
        type=float,
        metavar="X",
        help=f"the most that real models may cost (default {BUDGET_USD:g}); then the run stops "
        "and can be resumed",
    )
    command.add_argument(
        "--budget-tokens",
        type=int,
        metavar="N",
        help="the most tokens of input and output of real models; needed for one without a price",
    )


@dataclass(frozen=True, slots=True)
class Money:
    """The real models of a run with their prices and hosts, and what may be spent on them.

    `free` are the models without a price on this machine's own servers. `is_counted` is false
    where nothing can be sent (`--replay-only`).
    """

    prices: dict[str, ModelPrice | None]
    hosts: dict[str, str]
    as_of: str
    limits: Limits
    free: tuple[str, ...] = ()
    is_counted: bool = True

    @property
    def is_needed(self) -> bool:
        """Whether the run may ask a real model."""
        return self.is_counted and bool(self.prices)


def money_of(arguments: argparse.Namespace, options: RunOptions) -> Money:
    """Prices and limits of the run's real models, checked before any session is read.

    Raises UsageError for a model without a price, unless tokens are limited or its server is on
    this machine.
    """
    from bench.tasks import real_models_of

    return _money_for(arguments, real_models_of(options, options.models), options.settings)


@contextmanager
def limited(
    arguments: argparse.Namespace, models: Sequence[str], settings: ModelSettings
) -> Iterator[ModelSettings]:
    """Settings with a purse, for a command that keeps no run: its ledger goes when it ends.

    Raises UsageError as `money_of` does.
    """
    from bench.probing_options import is_stand_in
    from bench.spending import FILE_NAME, Ledger, LedgerPurse

    money = _money_for(arguments, [model for model in models if not is_stand_in(model)], settings)
    if not money.is_needed:
        yield settings
        return
    with TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / FILE_NAME, money.limits)
        yield replace(settings, purse=LedgerPurse(ledger, money.prices))


def _money_for(
    arguments: argparse.Namespace, models: Sequence[str], settings: ModelSettings
) -> Money:
    from bench.prices import load_prices
    from bench.providers.vendors import base_url_of, host_of, is_loopback, parse_remote
    from bench.spending import Limits

    for option, value in (
        ("--budget-usd", arguments.budget_usd),
        ("--budget-tokens", arguments.budget_tokens),
    ):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and math.isfinite(value) and value > 0):
            raise UsageError(f"{option} {value}: give a number above 0")
    table = load_prices(arguments.prices)
    prices = {model: table.price_of(model) for model in models}
    free: list[str] = []
    for model in (model for model, price in prices.items() if price is None):
        if is_loopback(base_url_of(parse_remote(model)[0], settings)):
            free.append(model)
        elif arguments.budget_tokens is None and not settings.is_replay_only:
            raise UsageError(
                f"--model {model}: has no price (prices as of {table.as_of}), so its cost can't be "
                "limited; give --prices FILE with a row for it, or --budget-tokens N"
            )
    has_price = any(price is not None for price in prices.values())
    usd = arguments.budget_usd
    return Money(
        prices=prices,
        hosts={model: host_of(settings, model) for model in models},
        as_of=table.as_of,
        limits=Limits(
            usd=(BUDGET_USD if usd is None else float(usd)) if has_price else None,
            tokens=arguments.budget_tokens,
        ),
        free=tuple(free),
        is_counted=not settings.is_replay_only,
    )


def funded(
    run: Run,
    tasks: Sequence[Task],
    money: Money,
    progress: Progress,
    *,
    cluster: str | None = None,
) -> list[Task]:
    """The tasks with a purse that pays from the ledger of the run's folder.

    Estimates first, and says what will leave this machine and what that costs.
    """
    from bench.cli.output import note
    from bench.spending import LedgerPurse

    if not money.is_needed or not tasks:
        return list(tasks)
    ledger = ledger_of(run, money)
    estimate = _estimated(tasks, money, progress, cluster)
    if "money" not in run.information():
        run.save_information("money", {**_terms(money), "estimate": estimate.document()})
    else:
        known = run.information()["money"]
        run.save_information("money", {**known, **_terms(money)})
    if estimate.stages:
        spent = ledger.totals().usd
        note(f"compaction-bench: {_sending(estimate, money)} {_cost(estimate, money, spent)}")
    purse = LedgerPurse(ledger, money.prices)
    return [
        replace(
            task,
            options=replace(task.options, settings=replace(task.options.settings, purse=purse)),
        )
        for task in tasks
    ]


def ledger_of(run: Run, money: Money) -> Ledger:
    """The ledger in the folder of a run."""
    from bench.spending import FILE_NAME, Ledger

    return Ledger(run.path.parent / FILE_NAME, money.limits)


def spent_of(run: Run, money: Money) -> Callable[[], str]:
    """A function that tells what is spent by now, for a progress line."""
    if not money.is_needed:
        return lambda: ""
    from bench.money import usd_text

    ledger = ledger_of(run, money)

    def spent() -> str:
        totals = ledger.totals()
        if not totals.calls and not totals.calls_open:
            return ""
        has_price = money.limits.usd is not None
        return usd_text(totals.usd) if has_price else f"{totals.tokens:,} tokens"

    return spent


def save_spending(run: Run, money: Money) -> None:
    """Keeps what the run has spent so far beside its estimate."""
    if money.is_needed:
        totals = ledger_of(run, money).totals()
        run.save_information(
            "spent",
            {
                "usd": totals.usd if money.limits.usd is not None else None,
                "usd_unsettled": totals.usd_lost,
                "tokens": totals.tokens,
                "calls": totals.calls,
            },
        )


def dry_run(tasks: Sequence[Task], money: Money, progress: Progress, *, as_json: bool) -> None:
    """Prints what the tasks would ask and cost; no call is made."""
    from bench.cli.output import print_json

    estimate = _estimated(tasks, money, progress)
    document = {"dry_run": True, **_terms(money), "estimate": estimate.document()}
    if as_json:
        print_json(document)
        return
    if not estimate.stages:
        print("Nothing is paid: no real model is asked by what is left to run.")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(_sending(estimate, money)))
    _print_stages(estimate, console)
    console.print(Text(_cost(estimate, money, 0.0)))
    console.print(
        Text(
            "Expected: as the offline stand-in would compact, nothing read from a prompt cache. "
            "Worst: the same calls with answers at their cap and every try billed. Prices as of "
            f"{money.as_of}; no call was made."
        )
    )


def _estimated(
    tasks: Sequence[Task], money: Money, progress: Progress, cluster: str | None = None
) -> Estimate:
    from bench.estimating import asks_real_model, estimate

    cells = sum(asks_real_model(task.options, cell.model) for task in tasks for cell in task.cells)
    progress.begin("estimating", cells)
    try:
        return estimate(
            tasks,
            money.prices,
            workers=tasks[0].options.workers if tasks else 1,
            cluster=cluster,
            done=progress.done,
        )
    finally:
        progress.end()


def _terms(money: Money) -> dict[str, Any]:
    return {
        "prices_as_of": money.as_of,
        "hosts": money.hosts,
        "without_price": [model for model, price in money.prices.items() if price is None],
        "free_of_charge": list(money.free),
        "budget_usd": money.limits.usd,
        "budget_tokens": money.limits.tokens,
    }


def _sending(estimate: Estimate, money: Money) -> str:
    """What leaves this machine."""
    hosts = list(dict.fromkeys(money.hosts[stage.model] for stage in estimate.stages))
    recorded = sum(stage.recorded for stage in estimate.stages)
    calls = sum(stage.calls for stage in estimate.stages)
    known = f" ({recorded:,} of {calls:,} answers are recorded already)" if recorded else ""
    return (
        f"About {estimate.tokens_sent:,} tokens of {_plural(estimate.sessions, 'session')} go to "
        f"{' and '.join(hosts) or 'nobody'} in {_plural(calls - recorded, 'call')}{known}."
    )


def _cost(estimate: Estimate, money: Money, spent: float) -> str:
    from bench.money import usd_text

    parts: list[str] = []
    if estimate.usd_expected is not None and estimate.usd_worst is not None and money.limits.usd:
        parts.append(
            f"Expected {usd_text(estimate.usd_expected)}, at most "
            f"{usd_text(estimate.usd_worst)}"
            + (f", {usd_text(spent)} spent before" if spent else "")
            + f"; --budget-usd {money.limits.usd:g}."
        )
    if money.limits.tokens is not None:
        parts.append(
            f"Expected {estimate.tokens_expected:,} tokens, at most {estimate.tokens_worst:,}; "
            f"--budget-tokens {money.limits.tokens}."
        )
    if money.free:
        parts.append(
            f"{' and '.join(money.free)}: no price, on this machine, taken as free of charge."
        )
    return " ".join(parts)


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _print_stages(estimate: Estimate, console: Console) -> None:
    """A table for each model."""
    from rich.table import Table
    from rich.text import Text

    from bench.cli.output import harmless
    from bench.money import usd_text

    for model in dict.fromkeys(stage.model for stage in estimate.stages):
        table = Table(box=None, padding=(0, 2, 0, 0))
        table.add_column(Text(harmless(model, 40)), overflow="fold")
        for heading in ("calls", "recorded", "tokens in", "out", "expected", "worst"):
            table.add_column(heading, justify="right")
        for stage in (one for one in estimate.stages if one.model == model):
            usd = (stage.usd, stage.usd_worst)
            table.add_row(
                Text(stage.stage),
                f"{stage.calls:,}",
                f"{stage.recorded:,}",
                f"{stage.tokens_input:,}",
                f"{stage.tokens_output:,}",
                *("no price" if value is None else usd_text(value) for value in usd),
            )
        console.print()
        console.print(table)
    console.print()
