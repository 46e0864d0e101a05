"""Edge: the hash by which the content of a session is known again."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from bench.events import Session


def session_digest(session: Session) -> str:
    """A hash of what was said, done and offered: 32 hex digits.

    The summaries of recorded compactions count, since `recorded` replays them; id, path, format
    and recorded usage don't. Reasoning doesn't either: it is never sent.
    """
    digest = sha256(_line([asdict(tool) for tool in session.tools]))
    for event in session.events:
        message = event.message
        digest.update(
            _line(
                [
                    message.role,
                    message.text,
                    [[call.id, call.name, call.arguments] for call in message.calls],
                    message.call_id,
                    [[one.media_type, one.data] for one in message.attachments],
                    event.timestamp,
                    event.is_meta,
                ]
            )
        )
    for one in session.recorded_compactions:
        digest.update(_line([one.after_seq, one.kept_from_seq, one.summary]))
    return digest.hexdigest()[:32]


def _line(record: Any) -> bytes:
    # ASCII only: text with a lone surrogate must be hashed too.
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
