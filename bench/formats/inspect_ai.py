"""inspect_ai logs: `.json` (one EvalLog) and `.eval` (a zip archive, one file per sample).

Every epoch of a sample is a session. Content that stands among the attachments of its sample is
put back in its place. Usage comes from the model events. A `.eval` archive is read sample by
sample; a file in it that is packed in a way this Python doesn't know is skipped and named.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from bench.events import Session
from bench.formats.building import SessionBuilder, whole
from bench.formats.chat import add_message, tool_definitions
from bench.formats.content import kind_of, text_of
from bench.formats.decoding import DamagedJson, decode_json
from bench.formats.source import Record, Sample, Source

NAME = "inspect-ai"
RANK = 22

_REFERENCES = ("attachment://", "tc://")
_UNPACKED_BYTES_MAX = 1 << 30
"""A sample larger than this is skipped: a small archive may claim to hold anything."""


def detect(sample: Sample) -> str | None:
    """An object with eval and samples, or an archive with header.json and samples."""
    for record in sample.records:
        if isinstance(record.get("eval"), dict) and isinstance(record.get("samples"), list):
            return "an object with eval and samples"
        if _is_sample(record):
            return "an object with epoch, target and messages"
    if sample.shape == "archive":
        try:
            with zipfile.ZipFile(sample.path) as archive:
                names = archive.namelist()
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
            return "an archive named .eval" if sample.path.suffix == ".eval" else None
        if any(map(_holds_sample, names)):
            return "a zip archive with samples/*.json"
        if "header.json" in names or "_journal/start.json" in names:
            return "a zip archive with header.json or _journal/start.json"
    return None


def _holds_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _is_sample(record: Mapping[str, Any]) -> bool:
    return {"epoch", "target"} <= record.keys() and isinstance(record.get("messages"), list)


def read(source: Source) -> Iterator[Session]:
    """One session for every sample and epoch."""
    if source.sample.shape == "archive":
        yield from _read_archive(source)
        return
    for number, record in source.records():
        samples = record.get("samples")
        if not isinstance(samples, list):
            task, samples = "", [record]
        else:
            task = _task(record)
        for position, sample in enumerate(samples, 1):
            place = f"sample {position}, "
            if source.sample.shape != "object":
                place = f"{source.where(number)}, {place}"
            if isinstance(sample, dict) and isinstance(sample.get("messages"), list):
                yield from _session(source, sample, task, place)
            else:
                source.log.add("unknown_record", place.rstrip(", "), "a sample without messages")


def _task(log: Mapping[str, Any]) -> str:
    described = log.get("eval")
    return text_of(described.get("task")) if isinstance(described, dict) else ""


def _read_archive(source: Source) -> Iterator[Session]:
    try:
        archive = zipfile.ZipFile(source.path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        source.lines_total += 1
        source.skip(1, "damaged_archive", f"no complete zip archive: {error}")
        return
    with archive:
        header = _task_of(archive, source)
        members = [info for info in archive.infolist() if _holds_sample(info.filename)]
        for number, info in enumerate(members, 1):
            source.lines_total += 1
            sample = _unpacked(archive, info, source, number)
            if sample is None:
                continue
            if not isinstance(sample.get("messages"), list):
                source.skip(number, "unknown_record", f"{info.filename}: a sample without messages")
                continue
            source.lines_read += 1
            yield from _session(source, sample, header, f"{info.filename}, ")


def _task_of(archive: zipfile.ZipFile, source: Source) -> str:
    names = archive.namelist()
    for name in ("header.json", "_journal/start.json"):
        if name in names:
            source.lines_total += 1
            header = _unpacked(archive, archive.getinfo(name), source, 0)
            if header is not None:
                source.lines_read += 1
                return _task(header)
    return ""


def _unpacked(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: Source, number: int
) -> Record | None:
    """The object in a member; None when there is none, which is then noted as skipped."""
    if info.file_size > _UNPACKED_BYTES_MAX:
        source.skip(
            number,
            "too_large",
            f"{info.filename}: {info.file_size:,} bytes unpacked, at most {_UNPACKED_BYTES_MAX:,}",
        )
        return None
    try:
        value = decode_json(archive.read(info), source.log, info.filename)
    except NotImplementedError:
        what = f"{info.filename}: packed by method {info.compress_type}, unknown to this Python"
        source.skip(number, "unknown_compression", what)
    except DamagedJson as damage:
        source.skip(number, damage.kind, f"{info.filename}: {damage.what}")
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        source.skip(number, "damaged_archive", f"{info.filename}: {error}")
    else:
        if isinstance(value, dict):
            return value
        source.skip(number, "not_an_object", f"{info.filename}: a JSON {type(value).__name__}")
    return None


def _session(source: Source, sample: Record, task: str, place: str) -> Iterator[Session]:
    named = f"{task or source.name}-{text_of(sample.get('id'))}"
    builder = SessionBuilder(f"{named}-epoch-{text_of(sample.get('epoch'))}")
    builder.cluster = f"inspect/{named}"
    found = sample.get("attachments")
    attachments = found if isinstance(found, dict) else {}
    usage = _usage_by_message(sample)
    missing = 0
    for position, message in enumerate(sample["messages"], 1):
        where = f"{place}message {position}"
        if not isinstance(message, dict):
            builder.log.add("not_an_object", where, f"a {type(message).__name__} left out")
            continue
        try:
            message, lacking = _resolved(message, attachments)
        except RecursionError:
            builder.log.add("too_deep", where, "nested too deeply: attachments left as they are")
            lacking = 0
        missing += lacking
        draft = add_message(builder, message, where)
        counted = usage.get(text_of(message.get("id")))
        if draft is not None and counted is not None and draft.role == "assistant":
            builder.add_usage(draft, *counted)
    if missing:
        builder.log.add(
            "dangling_pointer", place.rstrip(", "), f"{missing} attachments aren't in the sample"
        )
    builder.tools = _tools(sample)
    session = builder.finish(source, NAME)
    if session is not None:
        yield session


def _resolved(value: Any, attachments: Mapping[str, Any]) -> tuple[Any, int]:
    """The value with references to attachments replaced, and how many lead nowhere."""
    if isinstance(value, str):
        for prefix in _REFERENCES:
            if value.startswith(prefix):
                found = attachments.get(value.removeprefix(prefix))
                return (found, 0) if isinstance(found, str) else (value, 1)
        return value, 0
    if isinstance(value, list):
        pairs = [_resolved(item, attachments) for item in value]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    if isinstance(value, dict):
        found_pairs = {key: _resolved(item, attachments) for key, item in value.items()}
        return (
            {key: item for key, (item, _) in found_pairs.items()},
            sum(count for _, count in found_pairs.values()),
        )
    return value, 0


def _model_events(sample: Record) -> Iterator[Record]:
    events = sample.get("events")
    for event in events if isinstance(events, list) else []:
        if isinstance(event, dict) and kind_of(event, "event") == "model":
            yield event


def _usage_by_message(sample: Record) -> dict[str, tuple[int, int | None, int | None]]:
    """Input, cached and output tokens by the id of the message that the model gave."""
    found = {}
    for event in _model_events(sample):
        output = event.get("output")
        usage = output.get("usage") if isinstance(output, dict) else None
        choices = output.get("choices") if isinstance(output, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(usage, dict) or not isinstance(message, dict):
            continue
        total, written = whole(usage.get("total_tokens")), whole(usage.get("output_tokens"))
        # Whether input_tokens counts cached ones depends on the provider; the total always does.
        shown = whole(usage.get("input_tokens"))
        if total is not None and written is not None and total >= written:
            shown = total - written
        if shown is not None and text_of(message.get("id")):
            cached = whole(usage.get("input_tokens_cache_read"))
            found[text_of(message.get("id"))] = (shown, cached, written)
    return found


def _tools(sample: Record) -> Any:
    for event in _model_events(sample):
        tools = tool_definitions(event.get("tools"))
        if tools:
            return tools
    return ()
