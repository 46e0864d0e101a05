"""Edges: a model behind a network: recorded answer, purse, request, refusals, record.

Made anew for each cell of a run; `calls` then tells everything that it was asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TypeVar
from urllib.parse import urlsplit

from bench.errors import RunHalted, UsageError
from bench.events import Message, ToolDefinition
from bench.models.model import Completion
from bench.models.settings import ModelSettings
from bench.observations import CallObservation
from bench.provider import ProviderError
from bench.providers.anthropic_wire import anthropic_body
from bench.providers.asking import request_of
from bench.providers.cassettes import Recording, call_key, cassettes_of
from bench.providers.chat_dialects import adapted
from bench.providers.chat_wire import OUTPUT_LIMIT_NAMES, chat_body
from bench.providers.judging_answers import recorded_refusal
from bench.providers.native_wire import (
    BETA_HEADER,
    SUMMARY_TOKENS_MAX,
    NativeReply,
    form_of,
    native_betas,
    native_body,
    native_path,
    read_native,
)
from bench.providers.purse import Purse, open_purse
from bench.providers.reading import Payload, UnreadableAnswerError
from bench.providers.responses_wire import responses_body
from bench.providers.results import CallUsage, DetailedResult
from bench.providers.sending import Sender, Tries, Wanted
from bench.providers.silent import TruncationWatch
from bench.providers.vendors import base_url_of, key_of, parse_remote
from bench.strategy import Usage
from bench.tokens import count
from bench.wire.formats import Request

Answer = TypeVar("Answer", DetailedResult, NativeReply)

AGENT = "agent"
_TOKENS_PER_MESSAGE = 4
_TOKENS_PER_CALL = 8
_TOKENS_PER_ATTACHMENT = 1_000
# The vendor's own models insist on the newer name of the limit.
_OWN_HOSTS = ("https://api.openai.com/",)


class RemoteModel:
    """A model that `openai:NAME`, `responses:NAME` or `anthropic:NAME` names.

    `purpose` is what its calls are recorded as and may be changed between them.
    """

    def __init__(self, spec: str, settings: ModelSettings, *, purpose: str = "summary") -> None:
        self._vendor, self._model = parse_remote(spec)
        self._settings = settings
        self._base_url = base_url_of(self._vendor, settings)
        self._cassettes = cassettes_of(settings)
        self._draws: dict[str, int] = defaultdict(int)
        self._watch = TruncationWatch(dict(settings.windows).get(self.name))
        self._purse: Purse | None = None
        is_own = f"{self._base_url}/".startswith(_OWN_HOSTS)
        self._limit_name = OUTPUT_LIMIT_NAMES[is_own]
        self._was_renamed = False
        self.purpose = purpose
        self.calls: list[CallObservation] = []

    @property
    def name(self) -> str:
        """The canonical spec."""
        return f"{self._vendor.name}:{self._model}"

    @property
    def is_stand_in(self) -> bool:
        """A language model answers."""
        return False

    @property
    def format(self) -> str:
        """The format of `bench.wire.formats` that its requests have."""
        return self._vendor.format

    @property
    def route(self) -> str:
        """Protocol, address and model in one string: what opaque state is bound to."""
        return f"{self._vendor.name}/{self._base_url}/{self._model}"

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        """The answer to these messages. Raises ProviderError and RunHalted."""
        request = request_of(messages, (), self._vendor.format)
        result = self.answer(
            request,
            output_tokens_max=output_tokens_max,
            estimate_tokens=estimate_of(messages, ()),
            seed=seed,
        )
        return _completion(result)

    def respond(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition],
        output_tokens_max: int,
        seed: int,
        calls_wanted: bool,
    ) -> Completion:
        """The next message after these; see `bench.models.model.RespondingModel`."""
        request = request_of(messages, tools, self._vendor.format)
        result = self.answer(
            request,
            output_tokens_max=output_tokens_max,
            estimate_tokens=estimate_of(messages, tools),
            seed=seed,
            calls_wanted=calls_wanted,
        )
        return _completion(result)

    def answer(
        self,
        request: Request,
        *,
        output_tokens_max: int,
        estimate_tokens: int,
        seed: int = 0,
        calls_wanted: bool = False,
        purpose: str = "",
    ) -> DetailedResult:
        """The detailed result of a request in the model's own `format`.

        `estimate_tokens` is a count of its input with o200k_base, `purpose` replaces the model's
        own. Agent requests are one conversation that grows: the next one reads from the provider's
        cache what they share. Raises ProviderError and RunHalted.
        """
        least = self._vendor.output_tokens_min
        # Some servers don't show the model what it may not call.
        unsure = 0 if calls_wanted else estimate_of_request(Request(None, [], [], request.tools))
        wanted = Wanted(
            url=f"{self._base_url}{self._vendor.path}",
            headers=self._headers(request.betas),
            build=partial(self._body, request, calls_wanted, purpose == AGENT),
            read=self._vendor.read,
            estimate_tokens=estimate_tokens,
            output_tokens_max=max(least, output_tokens_max),
            output_tokens_min=least,
            unsure_tokens=unsure,
            is_conversation=purpose == AGENT,
            rename=self._rename if self._vendor.name == "openai" else None,
        )
        return self._call(wanted, seed, purpose or self.purpose)

    def native_compact(
        self, request: Request, *, form: str = "", output_tokens_max: int | None = None
    ) -> NativeReply:
        """Compaction by the provider; see `bench.providers.native_wire.NativeModel`."""
        known = form_of(self._vendor.name, form)
        wanted = Wanted(
            url=f"{self._base_url}{native_path(known, self._vendor.path)}",
            headers=self._headers(native_betas(known, request)),
            build=lambda limit: native_body(
                known, request, model=self._model, output_tokens_max=limit
            ),
            read=partial(read_native, known),
            estimate_tokens=estimate_of_request(request),
            output_tokens_max=output_tokens_max or SUMMARY_TOKENS_MAX,
        )
        return self._call(wanted, 0, "native")

    def probe(self) -> ProviderError | None:
        """One request for one token, never recorded: what the server has against this model.

        Raises RunHalted as any call does.
        """
        request = request_of([Message("user", "Say: yes")], (), self._vendor.format)
        sender = replace(self._sender(), settings=replace(self._settings, tries_max=2))
        wanted = Wanted(
            url=f"{self._base_url}{self._vendor.path}",
            headers=self._key_header(),
            build=partial(self._body, request, False, False),
            read=self._vendor.read,
            estimate_tokens=20,
            output_tokens_max=self._vendor.output_tokens_min,
            rename=self._rename if self._vendor.name == "openai" else None,
        )
        try:
            sender.send(wanted, "probe", Tries())
        except ProviderError as error:
            return error
        return None

    def _body(self, request: Request, calls_wanted: bool, is_cached: bool, limit: int) -> Payload:
        if self._vendor.name == "responses":
            return responses_body(
                request, model=self._model, output_tokens_max=limit, calls_wanted=calls_wanted
            )
        if self._vendor.name == "anthropic":
            return anthropic_body(
                request,
                model=self._model,
                output_tokens_max=limit,
                calls_wanted=calls_wanted,
                is_cached=is_cached,
            )
        body = chat_body(
            request,
            model=self._model,
            output_tokens_max=limit,
            calls_wanted=calls_wanted,
            limit_name=self._limit_name,
        )
        return adapted(body, urlsplit(self._base_url).netloc)

    def _rename(self) -> bool:
        """Takes the other name of the output limit, once."""
        if self._was_renamed:
            return False
        self._was_renamed = True
        old, new = OUTPUT_LIMIT_NAMES
        self._limit_name = new if self._limit_name == old else old
        return True

    def _headers(self, betas: Sequence[str]) -> Mapping[str, str]:
        return {BETA_HEADER: ",".join(betas)} if betas else {}

    def _key_header(self) -> Mapping[str, str]:
        """The key, which is read from the environment for every call and kept nowhere."""
        try:
            return self._vendor.headers(key_of(self._vendor, self._base_url))
        except UsageError as error:
            # Told before the run; a worker on another machine may have another environment.
            raise RunHalted(f"{self.name}: {error}") from error

    def _sender(self) -> Sender:
        if self._purse is None:
            self._purse = open_purse(self._settings)
        return Sender(self.name, self._settings, self._purse, self._watch)

    def _call(self, wanted: Wanted[Answer], seed: int, purpose: str) -> Answer:
        """A recorded answer, or a new one that is then recorded."""
        # Recorded under the name that the limit has at first, whatever this server calls it.
        was, self._limit_name = self._limit_name, OUTPUT_LIMIT_NAMES[0]
        body = wanted.build(wanted.output_tokens_max)
        self._limit_name = was
        address = partial(call_key, "POST", wanted.url, body, model=self.name, seed=seed)
        base = address(draw=0)
        key = address(draw=self._draws[base]) if self._draws[base] else base
        seen = CallObservation(
            purpose=purpose,
            model=self.name,
            host=wanted.host,
            key=key,
            outcome="ok",
            is_recorded=True,
            attempts=0,
        )
        recording = self._cassettes.answer(key)
        if recording is not None:
            try:
                answer = wanted.read(recording.payload)
            except (UnreadableAnswerError, ProviderError):
                recording = None
            else:
                self._draws[base] += 1
                self._observe(replace(seen, usd=0.0), answer, recording.refusals, is_ok=True)
                return answer
        if self._settings.is_replay_only:
            self._replay_refusal(wanted, seen)
        answer = self._send(wanted, seen)
        self._draws[base] += 1
        return answer

    def _send(self, wanted: Wanted[Answer], seen: CallObservation) -> Answer:
        wanted = replace(wanted, headers={**wanted.headers, **self._key_header()})
        tries = Tries()
        started = perf_counter()
        about = {"model": self.name, "host": wanted.host, "purpose": seen.purpose}
        outcome, answer = "interrupted", None
        try:
            answer = self._sender().send(wanted, seen.key, tries)
            outcome = "ok"
            recording = Recording(status=200, payload=tries.payload, refusals=tuple(tries.refusals))
            self._cassettes.keep_answer(seen.key, recording, about)
        except ProviderError as error:
            outcome = error.kind
            if tries.refusals[-1:] == ["input_overflow"]:
                recording = Recording(status=error.status, payload=tries.payload)
                self._cassettes.keep_refusal(seen.key, recording, about)
            raise
        except RunHalted:
            outcome = tries.refusals[-1] if tries.refusals else "halted"
            raise
        finally:
            sent = replace(
                seen,
                outcome=outcome,
                is_recorded=False,
                usd=tries.usd,
                usd_worst=tries.usd_worst,
                seconds=perf_counter() - started,
            )
            self._observe(sent, answer, tries.refusals, is_ok=answer is not None)
        return answer

    def _observe(
        self,
        seen: CallObservation,
        answer: DetailedResult | NativeReply | None,
        refusals: Sequence[str],
        *,
        is_ok: bool,
    ) -> None:
        usage = answer.usage if answer is not None else CallUsage()
        self.calls.append(
            replace(
                seen,
                attempts=len(refusals) + is_ok,
                refusals=tuple(refusals),
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=usage.cached_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                finish_reason=answer.finish_reason if answer is not None else "",
            )
        )

    def _replay_refusal(self, wanted: Wanted[Answer], seen: CallObservation) -> None:
        """Where nothing may be sent: the overflow that was recorded, or the end of the run."""
        recording = self._cassettes.refusal(seen.key)
        if recording is None:
            raise RunHalted(
                f"--replay-only: no recorded answer of {self.name} at {wanted.host} to this "
                f"{seen.purpose} call ({seen.key[:12]}): run once without --replay-only"
            )
        refused = recorded_refusal(
            recording.status, recording.payload, wanted.estimate_tokens, self._watch
        )
        self._observe(replace(seen, outcome=refused.label), None, [refused.label], is_ok=False)
        raise refused.error


def _completion(result: DetailedResult) -> Completion:
    """The detailed result in the words of a strategy; usage only where input was counted."""
    usage = None
    if result.usage.input_tokens is not None:
        output = result.usage.output_tokens
        usage = Usage(
            result.usage.input_tokens,
            count(result.text) if output is None else output,
            result.usage.cached_tokens,
        )
    return Completion(result.text, result.finish_reason or "stop", usage, result.calls)


def estimate_of(messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> int:
    """The input tokens of a request with these messages, counted with o200k_base."""
    total = 0
    for message in messages:
        total += _TOKENS_PER_MESSAGE + count(message.text)
        total += _TOKENS_PER_ATTACHMENT * len(message.attachments)
        for call in message.calls:
            total += _TOKENS_PER_CALL + count(call.name) + count(call.arguments)
    for tool in tools:
        total += _TOKENS_PER_CALL + count(tool.name) + count(tool.description)
        total += count(str(dict(tool.parameters)))
    return total


def estimate_of_request(request: Request) -> int:
    """The same for a request that is written already, without what is no text: images, state."""
    total = count(request.system or "")
    stack: list[object] = [*request.messages, *request.tools]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            total += _TOKENS_PER_ATTACHMENT if part.startswith("data:") else count(part)
        elif isinstance(part, list):
            stack += part
        elif isinstance(part, dict):
            total += _TOKENS_PER_MESSAGE
            is_data = part.get("type") == "base64"
            unread = {"encrypted_content", "signature", *(("data",) if is_data else ())}
            stack += [value for name, value in part.items() if name not in unread]
            total += _TOKENS_PER_ATTACHMENT * is_data
    return total
