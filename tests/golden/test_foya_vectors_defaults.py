"""Where the defaults answer differently from the original, a named divergence says why."""

from __future__ import annotations

from foya_cases import (
    Case,
    history,
    listed_message,
    message,
    stored_checkpoint,
    tools,
    unfolded,
    vectors,
)

from strategies.layered import acceptance, bounding, estimate, summary
from strategies.layered.divergences import DIVERGENCES

NAMES = {each.name for each in DIVERGENCES}


@vectors("bound", lambda given: given["kind"] == "bound")
def test_foya_vectors_defaults_differ_only_by_tiny_bound(case: Case) -> None:
    given = case["input"]
    listed = [listed_message(each) for each in given["messages"]]
    limits = given["max_tokens"], given["keep_newest"]
    theirs = bounding.bound(listed, *limits, original=True)
    ours = bounding.bound(listed, *limits)
    assert ours == {
        index: result
        for index, result in theirs.items()
        if result.tokens_after < result.original_tokens
    }
    assert "tiny_bound" in NAMES


@vectors("estimate", lambda given: "messages" in given)
def test_foya_vectors_defaults_differ_only_by_broken_json(case: Case) -> None:
    given = case["input"]
    said, offered = [message(each) for each in given["messages"]], tools(given["tools"])
    theirs = estimate.request_units(said, offered, original=True)
    ours = estimate.request_units(said, offered)
    assert (ours == theirs) == estimate.is_encodable(said, offered)
    assert "broken_json" in NAMES


@vectors("summary", lambda given: given["kind"] == "generate")
def test_foya_vectors_defaults_differ_only_by_finish_words(case: Case) -> None:
    words = summary.STOPPED_ANYWHERE + summary.OUT_OF_ROOM_ANYWHERE
    for reply in case["input"]["replies"]:
        reason = unfolded(reply.get("finish_reason", ""))
        assert _ending(reason, False) == _ending(reason, True) or reason.lower() in words
    assert "finish_words" in NAMES


def _ending(reason: str, original: bool) -> str:
    try:
        summary.check_ending(reason, original=original)
    except summary.InvalidSummary as invalid:
        return invalid.code
    return "stopped"


@vectors("accept", lambda given: given["kind"] == "record")
def test_foya_vectors_defaults_differ_only_by_lost_state(case: Case) -> None:
    given = case["input"]
    candidate, said = stored_checkpoint(given["candidate"]), history(given["events"])
    codes = []
    for original in (True, False):
        try:
            acceptance.check_candidate(candidate, said, None, session_id="s1", original=original)
            codes.append("accepted")
        except acceptance.NotAccepted as refused:
            codes.append(refused.code)
    is_lost = codes[0] == "accepted" and not acceptance.survives_storing(candidate)
    assert codes[1] == ("state_not_canonical" if is_lost else codes[0])
    assert "lost_state" in NAMES
