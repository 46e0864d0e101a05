"""The options of real models, what they are checked for, and what is said before anything is sent.

Nothing heavy is imported for the parser; httpx comes only with a model that is asked over the
network.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.cli.output import note
from bench.errors import UsageError

if TYPE_CHECKING:
    from bench.models.settings import ModelSettings
    from bench.plan import PlannedSession
    from bench.tasks import RunOptions, Task

MODEL_KEYS = ("base_url", "cache", "replay_only", "timeout", "concurrency", "arbiter")
ARBITERS = ("simulated", "live")
_CONCURRENCY_MAX = 1_000


def add_model_options(command: Any, *, has_arbiter: bool = False) -> None:
    """`--base-url`, `--cache`, `--replay-only`, `--timeout`, and for runs two more."""
    command.add_argument(
        "--base-url",
        metavar="URL",
        help="where real models are asked, instead of the vendor; keys are read from "
        "OPENAI_API_KEY and ANTHROPIC_API_KEY, a server on this machine may go without",
    )
    command.add_argument(
        "--cache",
        metavar="DIR",
        help="where answers of real models are kept and found again (default: "
        "COMPACTION_BENCH_CACHE, else the user's cache folder)",
    )
    command.add_argument(
        "--replay-only", action="store_true", help="use kept answers alone, never the network"
    )
    command.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="for one whole answer (default 120)"
    )
    if has_arbiter:
        command.add_argument(
            "--concurrency",
            type=int,
            metavar="N",
            help="requests under way to one host, over all processes (default 4)",
        )
        command.add_argument(
            "--arbiter",
            choices=ARBITERS,
            help="who accepts requests: simulated (default), or live, the real --model; controls "
            "stay simulated",
        )


def settings_of(arguments: argparse.Namespace) -> ModelSettings:
    """What the options say about real models. Raises UsageError."""
    from bench.models.settings import DEFAULT_SETTINGS

    base_url = arguments.base_url
    if base_url is not None:
        from bench.providers.vendors import check_base_url

        base_url = check_base_url(str(base_url))
    timeout = DEFAULT_SETTINGS.timeout_seconds
    if arguments.timeout is not None:
        timeout = float(arguments.timeout)
        if not 0 < timeout <= 86_400:
            raise UsageError(f"--timeout {arguments.timeout:g}: give seconds, more than 0")
    concurrency = getattr(arguments, "concurrency", None)
    if concurrency is not None and not 1 <= concurrency <= _CONCURRENCY_MAX:
        raise UsageError(f"--concurrency {concurrency}: from 1 to {_CONCURRENCY_MAX}")
    return replace(
        DEFAULT_SETTINGS,
        base_url=base_url,
        cache_folder=None if arguments.cache is None else str(arguments.cache),
        is_replay_only=bool(arguments.replay_only),
        timeout_seconds=timeout,
        concurrency=concurrency or DEFAULT_SETTINGS.concurrency,
    )


def arbiter_of(arguments: argparse.Namespace, models: Sequence[str]) -> str:
    """ "simulated" or "live". Raises UsageError for a live arbiter without a real model."""
    arbiter = arguments.arbiter or ARBITERS[0]
    if arbiter not in ARBITERS:
        raise UsageError(f"--arbiter {arbiter}: there are {' and '.join(ARBITERS)}")
    if arbiter == "live":
        from bench.providers.vendors import is_remote

        stand_ins = [model for model in models if not is_remote(model)]
        if stand_ins:
            raise UsageError(
                f"--arbiter live: {stand_ins[0]} can't accept or refuse requests; give --model "
                "openai:NAME, responses:NAME or anthropic:NAME"
            )
    return str(arbiter)


def arbiter_label(options: RunOptions) -> str:
    """Who accepted requests, for reports."""
    if options.arbiter != "live":
        return "simulated provider"
    from bench.providers.vendors import host_of

    hosts = dict.fromkeys(host_of(options.settings, model) for model in options.models)
    return f"live: {', '.join(hosts)} (controls and sizes before sending: simulated provider)"


def remote_models(options: RunOptions) -> tuple[str, ...]:
    """The models of a run that are asked over the network: summarisers, readers and the judge."""
    from bench.providers.vendors import is_remote

    asked: list[str] = []
    for model in options.models:
        asked += [model, options.probes.reader_of(model) if options.probes.kinds else model]
    if options.probes.judge is not None:
        asked.append(options.probes.judge)
    return tuple(dict.fromkeys(model for model in asked if is_remote(model)))


def checked_models(options: RunOptions) -> RunOptions:
    """The options with the windows that servers tell. Raises UsageError for what can't work."""
    remote = remote_models(options)
    settings = options.settings
    if not remote and settings.base_url is None and settings.cache_folder is None:
        return options
    from bench.providers.preflight import preflight

    return replace(options, settings=replace(settings, windows=preflight(remote, settings)))


def check_model(spec: str, settings: ModelSettings) -> ModelSettings:
    """The same for one model."""
    from bench.providers.vendors import is_remote

    if not is_remote(spec) and settings.base_url is None and settings.cache_folder is None:
        return settings
    from bench.providers.preflight import preflight

    return replace(settings, windows=preflight([spec], settings))


def tell_host(spec: str, settings: ModelSettings, tokens: int) -> None:
    """One line on stderr before the first request of one session of so many tokens."""
    from bench.providers.vendors import is_remote

    if is_remote(spec):
        from bench.providers.preflight import sending_line

        line = sending_line([spec], settings, tokens, 1)
        if line:
            note(f"compaction-bench: {line}")


def tell_hosts(
    options: RunOptions, tasks: Iterable[Task], surveyed: Mapping[str, PlannedSession]
) -> None:
    """One line on stderr before the first request: how much of whose text goes where."""
    remote = remote_models(options)
    if not remote:
        return
    from bench.providers.preflight import sending_line

    sessions = [task.session.id for task in tasks if not all(c.is_control for c in task.cells)]
    tokens = sum(surveyed[session].peak_tokens for session in sessions)
    line = sending_line(remote, options.settings, tokens, len(sessions)) if sessions else ""
    if line:
        note(f"compaction-bench: {line}")
