"""opencode sessions: the folder `storage` with a file per message and part, or an export.

`session/<project>/<session>.json`, `message/<session>/<message>.json` and
`part/<message>/<part>.json` (older ones: `part/<part>.json` with `messageID`) form one session. It
is read with its session file, without one with its first message file. Exports
(`{"info", "messages": [{"info", "parts"}]}`) are the same in one file. A part whose message file
is missing is kept where the ids put it. Results stand inside the calls; a tool output that opencode
cleared later is still whole in the file. Compactions: a part of type `compaction`, then an
assistant message with `summary: true`. Seen were trimmed fixtures of both generations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.events import Session
from bench.formats.building import CompactionDraft, Draft, SessionBuilder, seconds, whole
from bench.formats.content import flatten, kind_of, text_of
from bench.formats.decoding import DamagedJson, decode_json
from bench.formats.opencode_storage import (
    is_plain,
    lead_file,
    part_files,
    session_of_part,
    storage_of_part,
)
from bench.formats.source import Record, Sample, Source

NAME = "opencode"
RANK = 27
PART = "a part of an opencode session"

_SILENT_PARTS = frozenset({"step-finish", "snapshot", "patch", "agent", "retry"})


def detect(sample: Sample) -> str | None:
    """A session, message or part file of a storage folder, or an export of one session."""
    for record in sample.records:
        if isinstance(record.get("info"), dict) and _has_parts(record.get("messages")):
            return "an object with info and messages that have info and parts"
        if isinstance(record.get("sessionID"), str) and "role" in record:
            return "a message with sessionID"
        if isinstance(record.get("projectID"), str) and "directory" in record:
            return "a session with projectID and directory"
        if sample.shape == "object" and storage_of_part(sample.path) and kind_of(record):
            return "a part in a storage folder"
    return None


def _has_parts(messages: Any) -> bool:
    return isinstance(messages, list) and any(
        isinstance(message, dict) and {"info", "parts"} <= message.keys() for message in messages
    )


def part_of(path: Path) -> Path | None:
    """The file with which a message or a part is read."""
    if path.suffix != ".json":
        return None
    storage = storage_of_part(path)
    if storage is not None:
        session_id = session_of_part(storage, path)
        return lead_file(storage, session_id) if session_id else None
    if path.parent.parent.name == "message":
        lead = lead_file(path.parents[2], path.parent.name)
        return lead if lead != path else None
    return None


@dataclass(slots=True)
class _Told:
    """One message with its parts, in the order of time."""

    info: Record
    where: str
    parts: list[tuple[Record, str]] = field(default_factory=list)

    @property
    def order(self) -> tuple[float, str]:
        moments = [_created(self.info), *(_created(part) for part, _ in self.parts)]
        known = [moment for moment in moments if moment is not None]
        return (known[0] if known else 0.0, text_of(self.info.get("id")))


def _created(record: Record) -> float | None:
    state = record.get("state")
    for holder in (record, state if isinstance(state, dict) else {}):
        moment = holder.get("time")
        if isinstance(moment, dict):
            found = seconds(moment.get("created", moment.get("start")))
            if found is not None:
                return found
    return None


def read(source: Source) -> Iterator[Session]:
    """The session of a storage folder to which the file belongs, or those of an export."""
    for number, record in source.records():
        info, messages = record.get("info"), record.get("messages")
        if isinstance(info, dict) and isinstance(messages, list):
            told = []
            for position, message in enumerate(messages, 1):
                where = f"message {position}"
                if isinstance(message, dict) and isinstance(message.get("info"), dict):
                    parts = message.get("parts")
                    rows = parts if isinstance(parts, list) else []
                    kept = [(part, where) for part in rows if isinstance(part, dict)]
                    told.append(_Told(message["info"], where, kept))
                else:
                    source.log.add("unknown_record", where, "a message without info left out")
            yield from _session(source, info, told)
        else:
            yield from _stored(source, record, number)


def _stored(source: Source, record: Record, number: int) -> Iterator[Session]:
    path = source.path
    if source.sample.shape != "object":
        source.log.add("unknown_record", source.where(number), "no export of a session")
        return
    storage = storage_of_part(path)
    if storage is not None:
        session_id = session_of_part(storage, path)
        if session_id is None:
            source.nothing_because = "a part whose message isn't in the folder"
            return
        info: Record = {"id": session_id}
    elif isinstance(record.get("sessionID"), str):
        storage = path.parents[2] if len(path.parents) > 2 else path.parent
        info = {"id": record["sessionID"]}
    elif isinstance(record.get("id"), str):
        storage = path.parents[2] if len(path.parents) > 2 else path.parent
        info = record
    else:
        source.log.add("unknown_record", source.where(number), "no session, message or part")
        return
    told = _messages(storage, info["id"], source)
    if not told and "role" in record:
        told = [_Told(record, path.name)]
    if not told:
        source.nothing_because = f"a session file without messages beside it in {storage}"
    yield from _session(source, info, told)


def _messages(storage: Path, session_id: str, source: Source) -> list[_Told]:
    found: dict[str, _Told] = {}
    if not is_plain(session_id):
        return []
    for path in sorted((storage / "message" / session_id).glob("*.json")):
        info = _counted(path, storage, source)
        if info is not None:
            message_id = text_of(info.get("id")) or path.stem
            found[message_id] = _Told(info, path.relative_to(storage).as_posix())
    for path in part_files(storage, set(found), session_id):
        part = _counted(path, storage, source)
        if part is None:
            continue
        named = part.get("messageID")
        message_id = named if isinstance(named, str) else path.parent.name
        where = path.relative_to(storage).as_posix()
        if message_id not in found:
            role = "user" if kind_of(part) == "text" and "user" in message_id else "assistant"
            source.log.add(
                "missing_message", where, f"the file of message {message_id} is missing: {role}"
            )
            found[message_id] = _Told({"id": message_id, "role": role}, where)
        found[message_id].parts.append((part, where))
    return sorted(found.values(), key=lambda told: told.order)


def _counted(path: Path, storage: Path, source: Source) -> Record | None:
    """The object in a further file of the session, counted like a line; None when damaged."""
    where = path.relative_to(storage).as_posix()
    source.lines_total += 1
    try:
        value = decode_json(path.read_bytes().strip(), source.log, where)
    except DamagedJson as damage:
        source.skip(source.lines_total, damage.kind, f"{where}: {damage.what}")
        return None
    except OSError as error:
        source.skip(source.lines_total, "unreadable", f"{where}: {error.strerror or error}")
        return None
    if not isinstance(value, dict):
        source.skip(source.lines_total, "not_an_object", f"{where}: a JSON {type(value).__name__}")
        return None
    source.lines_read += 1
    return value


def _session(source: Source, info: Record, told: list[_Told]) -> Iterator[Session]:
    builder = SessionBuilder(text_of(info.get("id")) or source.name)
    if isinstance(info.get("parentID"), str) and info["parentID"]:
        builder.subagent_of = info["parentID"]
    if isinstance(info.get("directory"), str):
        builder.cluster = info["directory"]
    compaction: CompactionDraft | None = None
    first_drafts: dict[str, int] = {}
    for message in told:
        first_drafts[text_of(message.info.get("id"))] = len(builder.drafts)
        compaction = _add_message(builder, message, compaction, first_drafts)
    session = builder.finish(source, NAME)
    if session is not None:
        yield session


def _add_message(
    builder: SessionBuilder,
    told: _Told,
    compaction: CompactionDraft | None,
    first_drafts: dict[str, int],
) -> CompactionDraft | None:
    """Add one message; the compaction whose summary is still to come."""
    timestamp = _created(told.info)
    role = kind_of(told.info, "role")
    for part, where in told.parts:
        if kind_of(part) == "compaction":
            compaction = builder.add_compaction(where)
            compaction.trigger = "manual" if part.get("auto") is False else "auto"
            tail = first_drafts.get(text_of(part.get("tail_start_id")))
            if tail is not None and tail < len(builder.drafts):
                compaction.kept_from = builder.drafts[tail]
    if role == "assistant" and told.info.get("summary") is True:
        compaction = compaction or builder.add_compaction(told.where)
        compaction.summary = "\n".join(
            text_of(part.get("text")) for part, _ in told.parts if kind_of(part) == "text"
        )
        return None
    if role not in ("user", "assistant"):
        builder.log.add("unknown_role", told.where, f"a message of role {role!r} left out")
        return compaction
    parts = [row for row in told.parts if kind_of(row[0]) not in _SILENT_PARTS | {"compaction"}]
    if not parts and compaction is not None and role == "user":
        return compaction  # The message that only asked for the compaction.
    last: Draft | None = None
    for step in _steps(parts):
        last = _add_step(builder, role, told.where, step, timestamp)
    if last is None:
        builder.log.add("empty_message", told.where, f"an empty {role} message left out")
    elif role == "assistant" and isinstance(told.info.get("tokens"), dict):
        _add_usage(builder, last, told.info["tokens"])
    return compaction


def _steps(parts: list[tuple[Record, str]]) -> list[list[tuple[Record, str]]]:
    """The parts of each request to the model: older messages hold a whole chain of them."""
    steps: list[list[tuple[Record, str]]] = [[]]
    for row in parts:
        if kind_of(row[0]) == "step-start":
            steps.append([])
        else:
            steps[-1].append(row)
    return [step for step in steps if step]


def _add_step(
    builder: SessionBuilder,
    role: str,
    where: str,
    parts: list[tuple[Record, str]],
    timestamp: float | None,
) -> Draft:
    """One message and the results of its calls."""
    draft = builder.add("user" if role == "user" else "assistant", where, timestamp=timestamp)
    draft.is_meta = role == "user" and all(part.get("synthetic") is True for part, _ in parts)
    results: list[tuple[Any, Record, str]] = []
    for part, place in parts:
        kind = kind_of(part)
        if kind == "text":
            draft.texts.append(text_of(part.get("text")))
        elif kind == "reasoning":
            draft.reasoning.append(text_of(part.get("text")))
        elif kind == "file":
            _add_file(draft, part)
        elif kind == "tool":
            state = part.get("state")
            state = state if isinstance(state, dict) else {}
            builder.add_call(draft, part.get("callID"), part.get("tool"), state.get("input"))
            results.append((part.get("callID"), state, place))
        elif kind == "subtask":
            draft.texts.append(text_of(part.get("prompt")))
        else:
            builder.log.add("unknown_record", place, f"a part of type {kind!r} left out")
    for call_id, state, place in results:
        output = state.get("output", state.get("error"))
        if output is None:
            continue  # It never came back.
        result = builder.add_result(call_id, output, place, timestamp=timestamp)
        files = state.get("attachments")
        for file in files if isinstance(files, list) else []:
            if isinstance(file, dict):
                _add_file(result, file)
    return draft


def _add_file(draft: Draft, part: Record) -> None:
    media_type = text_of(part.get("mime"))
    url = text_of(part.get("url"))
    if media_type.startswith("text/") and not url.startswith("data:"):
        draft.texts.append(f"[file {text_of(part.get('filename')) or url}]")
    else:
        draft.attachments += flatten([{"type": "input_file", "file_data": url}])[1]


def _add_usage(builder: SessionBuilder, draft: Draft, tokens: Record) -> None:
    """Fresh input, cache reads and cache writes are counted apart."""
    cache = tokens.get("cache")
    cache = cache if isinstance(cache, dict) else {}
    fresh, read_tokens = whole(tokens.get("input")), whole(cache.get("read"))
    total = (fresh or 0) + (read_tokens or 0) + (whole(cache.get("write")) or 0)
    if total:
        builder.add_usage(draft, total, read_tokens, whole(tokens.get("output")))
