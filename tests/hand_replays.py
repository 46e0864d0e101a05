"""Replays by hand: what each request showed is said by a function, no engine and no provider."""

from collections.abc import Callable, Sequence

from bench.events import Event, Message, Session, ToolCall
from bench.facts import Fact, Use
from bench.found_facts import find_uses
from bench.history import History
from bench.observations import CompactionObservation, Replay, RequestObservation, Retries, Stopped
from bench.projection import Kept, Projection, Written
from bench.scoring import Scores, score
from bench.session_index import SessionIndex

Show = Callable[[Projection], Projection]


def call(name: str, arguments: str, text: str = "", call_id: str = "c") -> Message:
    """An assistant message with one call."""
    return Message("assistant", text, (ToolCall(call_id, name, arguments),))


def session_of(*messages: Message | str, name: str = "by-hand") -> Session:
    """A session of these messages; a text is a user's, after a user's it is the agent's."""
    events: list[Event] = []
    for message in messages:
        if isinstance(message, str):
            is_answer = bool(events) and events[-1].message.role == "user"
            message = Message("assistant" if is_answer else "user", message)
        events.append(Event(len(events) + 1, message))
    return Session(name, tuple(events))


def everything(view: Projection) -> Projection:
    """What keep_all shows."""
    return view


def pinned_only(view: Projection) -> Projection:
    """What every strategy shows: leading system messages and the newest request, with its group."""
    index = SessionIndex(Session("", view.events))
    shown = index.always_shown(view.stop + 1) or (0, 0)
    return view.with_items(
        [
            item
            for item in view.items
            if isinstance(item, Kept)
            and (item.event.seq <= index.leading_system or shown[0] <= item.event.seq <= shown[1])
        ]
    )


def summary_of(text: str, last_seq: int) -> Show:
    """One written message instead of the events 1..last_seq, as soon as they are past."""

    def show(view: Projection) -> Projection:
        if view.stop <= last_seq:
            return view
        items = [item for item in view.items if item.seqs[0] > last_seq]
        return view.with_items([Written(Message("user", text), 1, last_seq), *items])

    return show


def replay_by_hand(
    session: Session,
    show: Show = everything,
    *,
    stopped_at: int | None = None,
    compacted_at: Sequence[int] = (),
) -> Replay:
    """A replay in which request i is shown `show(everything before it)`.

    Request `stopped_at` isn't served and is the last. `compacted_at` are seqs of recorded answers
    before whose request a compaction was accepted.
    """
    history = History(session.events)
    requests: list[RequestObservation] = []
    heads: list[tuple[object, ...]] = []
    answers = [event.seq for event in session.events if event.message.role == "assistant"]
    for index, seq in enumerate(answers):
        view = show(Projection.whole(history, seq - 1))
        if view.head not in heads:
            heads.append(view.head)
        is_served = index != stopped_at
        head = heads.index(view.head)
        requests.append(
            RequestObservation(index, seq, is_served, 0, 0, 0, head, view.tail_start, view.stop)
        )
        if not is_served:
            break
    return Replay(
        session=session.id,
        requests=tuple(requests),
        requests_total=len(answers),
        heads=tuple(heads),  # type: ignore[arg-type]
        compactions=tuple(_accepted(seq) for seq in compacted_at),
        retries=Retries(),
        stopped=None if stopped_at is None else Stopped(stopped_at, "too large"),
    )


def scores_of(
    session: Session, replay: Replay, facts: Sequence[Fact] = (), uses: Sequence[Use] | None = None
) -> Scores:
    """The scores of a replay by hand."""
    index = SessionIndex(session)
    found = find_uses(index) if uses is None else uses
    return score(index, facts, found, replay, History(session.events))


def _accepted(seq: int) -> CompactionObservation:
    return CompactionObservation(
        request=0,
        at_seq=seq,
        trigger="budget",
        phase="automatic",
        stage="compact",
        outcome="accepted",
        reason="",
        generation=1,
        segments=0,
        covered_messages=0,
        covered_first_seq=0,
        covered_last_seq=0,
        tokens_before=0,
        tokens_after=0,
        estimate_before=0,
        estimate_after=0,
        asked=0,
        ask_input_tokens=0,
        ask_output_tokens=0,
        head_before=0,
        head=0,
    )
