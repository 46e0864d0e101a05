"""Edges: what stands in a message, whatever shape a vendor gave it.

Content is text, a list of parts, or something a tool invented. Text is found wherever it is, an
image or a document becomes an attachment, anything else is serialised: nothing turns into an empty
string. Source: the content types of the OpenAI and Anthropic message references.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench.events import Attachment

TEXT_TYPES = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text"})
IMAGE_TYPES = frozenset({"image", "image_url", "input_image", "output_image"})
FILE_TYPES = frozenset(
    {"document", "file", "input_file", "input_audio", "audio", "container_upload"}
)
REASONING_TYPES = frozenset({"thinking", "redacted_thinking", "reasoning"})


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def as_json(value: Any) -> str:
    """The value as JSON text without NaN; never raises."""
    try:
        return _encode(value)
    except ValueError:
        return json.dumps(_without_infinity(value), ensure_ascii=False)
    except (RecursionError, TypeError):
        return json.dumps("(nested too deeply to be shown)")


def _without_infinity(value: Any) -> Any:
    if isinstance(value, float):
        return None if value != value or value in (float("inf"), float("-inf")) else value
    if isinstance(value, list):
        return [_without_infinity(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_infinity(item) for key, item in value.items()}
    return value


def kind_of(record: Mapping[str, Any], key: str = "type") -> str:
    """What a field that tells kinds apart says; empty when it is missing or no text."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def text_of(value: Any) -> str:
    """The text in a field that should hold text: None is empty, other values are serialised."""
    if isinstance(value, str):
        return value
    return "" if value is None else as_json(value)


def flatten(content: Any) -> tuple[str, tuple[Attachment, ...]]:
    """The text and the attachments of any content, parts in order, one line break between them."""
    if isinstance(content, str):
        return content, ()
    if content is None:
        return "", ()
    if isinstance(content, dict):
        if not isinstance(content.get("type"), str):
            return as_json(content), ()
        content = [content]
    if not isinstance(content, list):
        return as_json(content), ()
    if any(not _is_typed(part) for part in content):
        return as_json(content), ()
    texts: list[str] = []
    attachments: list[Attachment] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
            continue
        attachment = attachment_of(part)
        if attachment is not None:
            attachments.append(attachment)
        else:
            texts.append(part_text(part))
    return "\n".join(text for text in texts if text), tuple(attachments)


def _is_typed(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("type"), str))


def part_text(part: dict[str, Any]) -> str:
    """The text of one part that is no attachment; an unknown part is serialised."""
    kind = kind_of(part)
    if kind in TEXT_TYPES:
        return text_of(part.get("text"))
    if kind == "refusal":
        return text_of(part.get("refusal"))
    if kind == "document":
        return _document_text(part)
    # Opaque state says nothing to a reader and would cost thousands of tokens as text.
    if kind.startswith("encrypted_"):
        return ""
    return as_json({key: item for key, item in part.items() if not key.startswith("encrypted_")})


def _document_text(part: dict[str, Any]) -> str:
    source = part.get("source")
    if isinstance(source, dict):
        if source.get("type") == "text":
            return text_of(source.get("data"))
        if source.get("type") == "content":
            return flatten(source.get("content"))[0]
    return as_json(part)


def attachment_of(part: dict[str, Any]) -> Attachment | None:
    """The image or file in a part; None when the part is text or something else."""
    kind = kind_of(part)
    if kind in IMAGE_TYPES:
        return _image(part)
    if kind not in FILE_TYPES:
        return None
    if kind == "document" and isinstance(part.get("source"), dict):
        source = part["source"]
        if source.get("type") in ("text", "content"):
            return None
        return _from_source(source, "application/pdf")
    if kind in ("input_audio", "audio"):
        audio = part.get("input_audio", part)
        if isinstance(audio, dict):
            return Attachment(f"audio/{text_of(audio.get('format')) or 'unknown'}", _address(audio))
    inner = part.get("file", part)
    return _from_address(_address(inner if isinstance(inner, dict) else part), "application/octet")


def _image(part: dict[str, Any]) -> Attachment:
    source = part.get("source")
    if isinstance(source, dict):
        return _from_source(source, "image")
    if isinstance(part.get("data"), str):
        return Attachment(
            text_of(part.get("mimeType") or part.get("media_type")) or "image", part["data"]
        )
    address = part.get("image_url") or part.get("image") or part.get("file_id")
    if isinstance(address, dict):
        address = address.get("url")
    return _from_address(text_of(address), "image")


def _from_source(source: dict[str, Any], otherwise: str) -> Attachment:
    media_type = text_of(source.get("media_type")) or otherwise
    return Attachment(media_type, _address(source))


def _address(fields: dict[str, Any]) -> str:
    for key in ("data", "file_data", "url", "file_url", "file_id", "id", "filename"):
        if isinstance(fields.get(key), str):
            return str(fields[key])
    return ""


def _from_address(address: str, otherwise: str) -> Attachment:
    if address.startswith("data:"):
        described, _, data = address[5:].partition(",")
        return Attachment(described.split(";")[0] or otherwise, data)
    return Attachment(otherwise, address)
