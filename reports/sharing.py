"""A run without what only its owner may see: no excerpts, no paths, hashed ids."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from reports.frames import RunData
from reports.text import hashed

if TYPE_CHECKING:
    import pandas

_LEFT_OUT = "(text left out)"


def shared(data: RunData) -> RunData:
    """The same numbers; sessions are named by a hash, texts and warnings are left out."""
    frames = {
        field.name: _hashed_sessions(getattr(data, field.name))
        for field in fields(data)
        if field.name != "about"
    }
    frames["facts"] = frames["facts"].assign(
        text=_LEFT_OUT, source_line="", summary_line="", question="", answer=""
    )
    frames["inventions"] = frames["inventions"].assign(text=_LEFT_OUT, line="")
    frames["cells"] = frames["cells"].assign(
        reason=[_LEFT_OUT if reason else "" for reason in frames["cells"]["reason"]]
    )
    frames["compactions"] = frames["compactions"].assign(reason="")
    count = len(data.about.warnings)
    warnings = (f"{count} warnings, left out here",) if count else ()
    return RunData(replace(data.about, command="", warnings=warnings), **frames)


def _hashed_sessions(frame: pandas.DataFrame) -> pandas.DataFrame:
    names = {name: hashed(str(name)) for name in frame["session"].unique()}
    return frame.assign(session=frame["session"].map(names).astype(object))
