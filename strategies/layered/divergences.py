"""Where `layered` deliberately differs from the original program, in one list.

The functions of this package answer as the original does when they are told `original=True` (and
the strategy when told `as_original=True`); what follows are the defaults. Where `parameter` is
empty, a replay can't do as the original does.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Divergence:
    """One difference: what the original does, what happens here instead, why, and how to get it.

    `parameter` restores the original's way; empty where a replay can't have it.
    """

    name: str
    original: str
    here: str
    reason: str
    parameter: str = ""


DIVERGENCES: tuple[Divergence, ...] = (
    Divergence(
        "broken_json",
        "A request with call arguments or tool parameters that aren't JSON counts as 0 units.",
        "Such raw text counts as one JSON string.",
        "Recorded sessions hold such arguments, and a size of 0 never triggers a compaction.",
        "request_units(original=True)",
    ),
    Divergence(
        "dead_calls",
        "A call without a result, or a result without a call, blocks what is behind it for good.",
        "A call that nothing can answer any more (a user or assistant message followed) is dead, "
        "and its group may be covered. Results that answer a call of the open round belong to its "
        "group even when a user spoke in between.",
        "One orphan must not stop compaction for the rest of a session (H5).",
        "as_original",
    ),
    Divergence(
        "newest_step",
        "The last group stays verbatim in mid_turn, whoever speaks in it.",
        "The newest step that an assistant leads stays verbatim, with what follows it.",
        "Text that a runtime adds in the user's name would push the newest result out of sight.",
        "as_original",
    ),
    Divergence(
        "tiny_bound",
        "A result over the limit is shortened even where reference and marker make it larger.",
        "A result that wouldn't get smaller stays whole.",
        "Shortening exists to save room.",
        "as_original",
    ),
    Divergence(
        "finish_words",
        'A summary that ended with any other word than "stop" or "length" is refused at once.',
        'The words of other vendors for the same two endings count too ("end_turn", "max_tokens").',
        "Otherwise no summary from such a vendor could ever be accepted.",
        "as_original",
    ),
    Divergence(
        "lost_state",
        "A native state with white space or with characters that storing escapes is accepted, and "
        "can't be read again because its id no longer fits.",
        "A state is made compact before its id is computed, and one that isn't compact is refused.",
        "An accepted checkpoint must survive a restart.",
        "check_candidate(original=True)",
    ),
    Divergence(
        "small_window",
        "Shortened results hold 2,048 tokens and summaries 4,096, whatever the window.",
        "At most a sixteenth of the window for each.",
        "In a small window the constants alone would leave no room for the work.",
        "preset foya",
    ),
    Divergence(
        "seen_output",
        "Once an output size is known, the reserve is twice that, from 1,024 to 8,192 tokens, even "
        "beyond the window.",
        "The reserve is min(16,384, window / 4) throughout.",
        "A replay makes no outputs of its own, and the limit could fall to one token.",
    ),
    Divergence(
        "no_stream",
        "After an overflow nothing is recovered once a part of the answer has streamed.",
        "A refused request has answered nothing, so it may always be recovered, once a turn.",
        "A replay has no streams.",
    ),
    Divergence(
        "own_words",
        "The prompts, and the description of the reading tool, are the program's own.",
        "Both are written anew; the summariser gets history as one marked transcript.",
        "Only form and numbers are compared, and no API can refuse the order of such a request.",
    ),
    Divergence(
        "open_request",
        "A manual compaction may cover the newest user message.",
        "It may only when that request is answered; otherwise the automatic boundary is taken.",
        "The current request stays verbatim while it is unanswered (H4).",
    ),
    Divergence(
        "runtime_text",
        "Every message in the user's name is a user message.",
        "Text that a runtime injected in the user's name is no request and no head anchor.",
        "What must stay verbatim is what somebody really asked for (H4).",
    ),
    Divergence(
        "system_prompt",
        "The system prompt isn't part of the history.",
        "Recorded system messages at the start are: they belong to the digest, stay verbatim and "
        "are never summarised.",
        "Recordings hold them, and they must stay (H4).",
    ),
)
