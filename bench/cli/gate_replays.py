"""Replays that `gate` and `compare` need, with progress, and within what may be spent."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from bench.cli.money_options import funded, money_of, save_spending, spent_of
from bench.cli.progress import Progress, clear_line
from bench.runner import execute
from bench.store import Run
from bench.tasks import Task


def replayer(arguments: argparse.Namespace) -> Callable[[Run, Sequence[Task]], None]:
    """A function that performs tasks and stores what comes back, real models paid from a budget."""

    def perform(run: Run, tasks: Sequence[Task]) -> None:
        clear_line()
        if not tasks:
            return
        options = tasks[0].options
        money = money_of(arguments, options)
        progress = Progress(spent_of(run, money))
        try:
            paid = funded(run, tasks, money, progress)
            progress.begin("", sum(len(task.cells) for task in paid))
            execute(run, paid, options.workers, progress.done)
        finally:
            progress.end()
            save_spending(run, money)

    return perform
