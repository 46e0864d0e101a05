"""Edges: what is wrong with a model is told before any session is replayed.

A key that is missing or refused, an address where nobody listens, a model that the server doesn't
know, a server that speaks another protocol: each is one line. The list of models answers most of
it without cost; where a server has none, or doesn't list the model, one request for one token does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.errors import RunHalted, UsageError
from bench.models.settings import ModelSettings
from bench.providers.judging_answers import judge_refusal, one_line
from bench.providers.reading import holds_error, mapping, objects, text_of, tokens_of
from bench.providers.remote import RemoteModel
from bench.providers.silent import TruncationWatch
from bench.providers.transport import RawReply, TransportError, exchange
from bench.providers.vendors import Vendor, base_url_of, host_of, is_remote, key_of, parse_remote

_SECONDS_MAX = 20.0
_NAMED_MAX = 5
_WINDOW_NAMES = ("max_model_len", "context_length", "context_window", "max_context_length")


def preflight(specs: Sequence[str], settings: ModelSettings) -> tuple[tuple[str, int], ...]:
    """Checks the remote models among `specs`; returns the windows that servers tell, by spec.

    Raises UsageError, one line. With `is_replay_only` nothing is sent and no key is needed.
    """
    check_cache(settings)
    remote = [spec for spec in dict.fromkeys(specs) if is_remote(spec)]
    if settings.base_url is not None and not remote:
        raise UsageError(
            "--base-url: no model of this run is asked over the network; give --model openai:NAME, "
            "responses:NAME or anthropic:NAME"
        )
    if settings.is_replay_only:
        return ()
    windows: list[tuple[str, int]] = []
    for spec in remote:
        window = _check(spec, settings)
        if window is not None:
            windows.append((spec, window))
    return tuple(windows)


def sending_line(specs: Sequence[str], settings: ModelSettings, tokens: int, sessions: int) -> str:
    """What leaves this machine, before it does: at most so many tokens of so many sessions.

    Empty when nothing is sent.
    """
    hosts = {host_of(settings, spec): None for spec in specs if is_remote(spec)}
    if not hosts or settings.is_replay_only:
        return ""
    plural = "s" if sessions != 1 else ""
    return (
        f"the text of {sessions} session{plural}, at most {tokens:,} tokens, goes to "
        f"{' and '.join(hosts)}"
    )


def check_cache(settings: ModelSettings) -> None:
    """Raises UsageError for a named cache folder that can't be written, or isn't there to read."""
    if settings.cache_folder is None:
        return
    folder = Path(settings.cache_folder)
    if settings.is_replay_only:
        if not folder.is_dir():
            raise UsageError(f"--cache {folder}: no such folder, so there is nothing to replay")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"--cache {folder}: no folder that can be written to: {reason}") from error


def _check(spec: str, settings: ModelSettings) -> int | None:
    """Checks one model; the window that the server tells of it, None where it tells none."""
    vendor, name = parse_remote(spec)
    base_url = base_url_of(vendor, settings)
    try:
        key = key_of(vendor, base_url)
    except UsageError as error:
        raise UsageError(f"--model {spec}: {error}") from error
    reply = _models(vendor, base_url, key, settings)
    listed = _listed(reply)
    if listed and name in listed:
        # llama.cpp tells apart what it was trained with and what it runs with.
        running = tokens_of(mapping(listed[name].get("meta")), "n_ctx")
        return running or tokens_of(listed[name], *_WINDOW_NAMES) or None
    try:
        refusal = RemoteModel(spec, settings, purpose="preflight").probe()
    except RunHalted as halt:
        raise UsageError(f"--model {spec}: {halt.reason}") from halt
    if refusal is None or refusal.kind in ("output_limit", "output_reservation", "rate_limit"):
        return None
    if refusal.status in (404, 405) or "model" in refusal.text.lower():
        known = ", ".join(list(listed)[:_NAMED_MAX])
        offered = f"; it lists {known}" if known else ""
        raise UsageError(
            f"--model {spec}: {base_url} refused it: {refusal.text}{offered}{_hint(reply)}"
        )
    raise UsageError(f"--model {spec}: {base_url} answers with an error: {refusal.text}")


def _models(vendor: Vendor, base_url: str, key: str | None, settings: ModelSettings) -> RawReply:
    """The answer to GET /models. Raises UsageError where nobody answers or refuses the key."""
    seconds = min(settings.timeout_seconds, _SECONDS_MAX)
    try:
        reply = exchange(
            "GET", f"{base_url}/models", headers=vendor.headers(key), timeout_seconds=seconds
        )
    except TransportError as error:
        raise UsageError(
            f"{_named(settings)}{base_url} can't be reached: {one_line(error.text)}"
        ) from error
    if 300 <= reply.status < 400:
        target = one_line(reply.headers.get("location", "elsewhere"))
        raise UsageError(f"{_named(settings)}{base_url} redirects to {target}: give that address")
    if reply.status < 300 and not reply.is_json:
        kind = one_line(reply.headers.get("content-type", "no content type"))[:60]
        raise UsageError(
            f"{_named(settings)}{base_url} speaks another protocol: {base_url}/models is no JSON "
            f"({kind})"
        )
    if reply.status in (401, 403):
        refused = judge_refusal(reply, 0, TruncationWatch())
        whose = f"the key in {vendor.key_variable}" if key else "requests without a key"
        raise UsageError(f"{base_url} refuses {whose}: {refused.error.text}")
    return reply


def _named(settings: ModelSettings) -> str:
    return "--base-url: " if settings.base_url is not None else ""


def _listed(reply: RawReply) -> dict[str, Mapping[str, Any]]:
    """The models of a list, by name; empty where it is none."""
    if reply.status >= 300 or holds_error(reply.payload):
        return {}
    payload = reply.payload
    entries = payload if isinstance(payload, list) else mapping(payload).get("data")
    if not isinstance(entries, list):
        entries = mapping(payload).get("models")
    named = ((text_of(entry.get("id") or entry.get("name")), entry) for entry in objects(entries))
    # Gemini's names carry the folder that they are in.
    return {one_line(name.removeprefix("models/")): entry for name, entry in named if name}


def _hint(reply: RawReply) -> str:
    """What usually is wrong where not even the list of models is found."""
    return " (should the address end in /v1?)" if reply.status == 404 else ""
