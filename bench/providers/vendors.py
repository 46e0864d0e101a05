"""Edges: the three protocols that MODEL specs name, where their requests go and with which key."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from bench.errors import UsageError
from bench.models.settings import ModelSettings
from bench.providers.anthropic_wire import API_VERSION, read_anthropic
from bench.providers.chat_wire import read_chat
from bench.providers.responses_wire import OUTPUT_TOKENS_MIN, read_responses
from bench.providers.results import DetailedResult

_LOOPBACK_NAMES = frozenset({"localhost", "::1", "0:0:0:0:0:0:0:1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """One protocol. `format` names it in `bench.wire.formats`, `path` is below the base URL.

    `key_variable` is the environment variable of the key. `output_tokens_min` is the smallest
    output limit that the API accepts.
    """

    name: str
    base_url: str
    path: str
    format: str
    key_variable: str
    read: Callable[[object], DetailedResult]
    output_tokens_min: int = 1

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers of a request; the only place where a key is ever put."""
        if self.name == "anthropic":
            version = {"anthropic-version": API_VERSION}
            return {**version, "x-api-key": key} if key else version
        return {"Authorization": f"Bearer {key}"} if key else {}


VENDORS: Mapping[str, Vendor] = {
    vendor.name: vendor
    for vendor in (
        Vendor(
            name="openai",
            base_url="https://api.openai.com/v1",
            path="/chat/completions",
            format="openai",
            key_variable="OPENAI_API_KEY",
            read=read_chat,
        ),
        Vendor(
            name="responses",
            base_url="https://api.openai.com/v1",
            path="/responses",
            format="responses",
            key_variable="OPENAI_API_KEY",
            read=read_responses,
            output_tokens_min=OUTPUT_TOKENS_MIN,
        ),
        Vendor(
            name="anthropic",
            base_url="https://api.anthropic.com/v1",
            path="/messages",
            format="anthropic",
            key_variable="ANTHROPIC_API_KEY",
            read=read_anthropic,
        ),
    )
}


def is_remote(spec: str) -> bool:
    """True for the spec of a model that is asked over the network."""
    name, separator, _ = spec.strip().partition(":")
    return bool(separator) and name in VENDORS


def parse_remote(spec: str) -> tuple[Vendor, str]:
    """Vendor and model name of a spec for which `is_remote` holds.

    Raises UsageError for a name that is empty or holds blanks or control characters.
    """
    prefix, _, name = spec.strip().partition(":")
    if not name or not name.isprintable() or " " in name or len(name) > 200:
        raise UsageError(
            f"--model {prefix}: write the model's name behind the colon, as in {prefix}:NAME"
        )
    return VENDORS[prefix], name


def base_url_of(vendor: Vendor, settings: ModelSettings) -> str:
    """The address that paths are put behind, without a slash at its end."""
    if settings.base_url is None:
        return vendor.base_url
    address = check_base_url(settings.base_url)
    # Anthropic's own libraries take the address without its version, the others with it.
    if vendor.name == "anthropic" and not address.endswith("/v1"):
        return f"{address}/v1"
    return address


def check_base_url(text: str) -> str:
    """`text` without a slash at its end. Raises UsageError for what is no plain http address.

    A name, a password or a query in it would end up in reports: keys come from the environment.
    """
    try:
        parts = urlsplit(text.strip())
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:
        parts, port_is_fine = SplitResult("", "", "", "", ""), False
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(
            "--base-url: give the plain address, without name, password or query; keys are read "
            "from OPENAI_API_KEY and ANTHROPIC_API_KEY"
        )
    is_plain = text.isprintable() and " " not in text.strip()
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_fine:
        is_plain = False
    if not is_plain:
        shown = "".join(letter if letter.isprintable() else "?" for letter in text)[:80]
        raise UsageError(
            f"--base-url {shown}: no address; write http:// or https://, a host and a path, "
            "as in http://127.0.0.1:8080/v1"
        )
    return text.strip().rstrip("/")


def host_of(settings: ModelSettings, spec: str) -> str:
    """Host and port that requests to the model of this spec go to; empty for a stand-in."""
    if not is_remote(spec):
        return ""
    vendor, _ = parse_remote(spec)
    return urlsplit(base_url_of(vendor, settings)).netloc


def is_loopback(base_url: str) -> bool:
    """True for an address on this machine."""
    host = (urlsplit(base_url).hostname or "").lower()
    return host in _LOOPBACK_NAMES or host.startswith("127.")


def key_of(vendor: Vendor, base_url: str) -> str | None:
    """The key from the environment; None for a server on this machine, which may go without.

    Raises UsageError where a key is needed and there is none, or it can't be one.
    """
    key = os.environ.get(vendor.key_variable, "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(
            f"{vendor.key_variable}: what is in this environment variable can't be a key "
            "(blanks or letters that no header can carry)"
        )
    if key:
        return key
    if is_loopback(base_url):
        return None
    raise UsageError(
        f"no key for {urlsplit(base_url).netloc}: put it into the environment variable "
        f"{vendor.key_variable}"
    )
