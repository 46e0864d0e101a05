"""Edge: a conversation that is going on, kept in a file: the engine of the replays, with a memory.

An event is told once it is in the file. A compaction counts once it is in the file. After a restart
the same projection comes back, or what is damaged is refused by name and the history is used: the
log is never changed. Replays run the same engine (`bench.replay.attempt_request`) and keep nothing,
since nobody resumes them; the seam between the two is `Engine.on_accepted`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from bench import count_cache
from bench.conversation_reading import State, Stored
from bench.conversation_records import (
    CompletionRecord,
    ConversationError,
    Log,
    RecordCheck,
    Refusal,
    StaleWrite,
    Verify,
    projection_of,
    record_of,
)
from bench.conversation_store import Connect, ConversationStore, connect_to_file
from bench.engine import Engine, Prepared
from bench.engine_policy import policy_of
from bench.events import Event, Session, ToolDefinition
from bench.history import History
from bench.invariants import violations
from bench.observations import CompactionObservation, Outcome
from bench.projection import Json, Kept, Projection
from bench.provider import Provider
from bench.replay import Attempt, attempt_request
from bench.strategy import Stage, Strategy

NOT_JSON = (TypeError, ValueError, RecursionError)


class Conversation:
    """One session that goes on: tell events, make requests, rewind, change the provider.

    Use it as a context manager, or call `close`. Methods raise ConversationError when the file
    can't be read or written, and StaleWrite when another process told something first: then
    `refresh` and decide anew. Neither changes what is shown.
    """

    def __init__(
        self,
        store: ConversationStore,
        session_id: str,
        strategy: Strategy,
        provider: Provider,
        verify: Verify | None = None,
        *,
        tools: Sequence[ToolDefinition] = (),
    ) -> None:
        """A conversation in an open store; `open` is the usual way."""
        self.session_id = session_id
        self.compactions: list[CompactionObservation] = []
        self.refusals: list[Refusal] = []
        self._store = store
        self._strategy = strategy
        self._provider = provider
        self._session = Session(session_id, (), tuple(tools))
        self._waived = frozenset(name for name, _ in policy_of(strategy).waives)
        name = type(strategy).__name__
        self._check = RecordCheck(session_id, name, verify, self._waived)
        self._requests = 0
        self._seen = 0
        self._length = 0
        self._engine_turn_seq = 0
        self._is_unsure = False
        self._engine: Engine | None = None
        self._unsaved: list[Json] = []
        self.refresh()

    @classmethod
    def open(
        cls,
        path: Path | str,
        session_id: str,
        strategy: Strategy,
        provider: Provider,
        verify: Verify | None = None,
        *,
        tools: Sequence[ToolDefinition] = (),
        connect: Connect = connect_to_file,
    ) -> Conversation:
        """The conversation `session_id` in the file `path`, new when it isn't there.

        `verify` is the strategy's own pure check of a stored record against the events that are
        effective: a reason to refuse it, or None. ":memory:" keeps everything in memory.
        """
        store = ConversationStore(path, connect=connect)
        try:
            return cls(store, session_id, strategy, provider, verify, tools=tools)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._store.close()
        count_cache.flush()

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What stands

    @property
    def events(self) -> tuple[Event, ...]:
        """The history as it is effective now: all that was told and not taken back."""
        return self._history.events()

    @property
    def projection(self) -> Projection:
        """What the model would be shown now, before anything is compacted."""
        return self._projection.advance()

    @property
    def checkpoint_id(self) -> str:
        """The id of the compaction that stands; a new one must name it (F4.3). Empty: none."""
        return self._current_id

    @property
    def engine(self) -> Engine:
        """The engine of the route in use, with its counters."""
        if self._engine is None:
            raise ConversationError(f"session {self.session_id!a}: was never read")
        return self._engine

    @property
    def provider(self) -> Provider:
        """Where requests go now."""
        return self._provider

    def diagnostics(self) -> tuple[Json, ...]:
        """Every try at compacting and every refusal that was kept, oldest first (F11.4)."""
        return self._store.diagnostics(self.session_id)

    # What happens

    def append(self, event: Event) -> None:
        """Tell one more event; it is in the file when this returns.

        Raises ValueError when `event.seq` isn't the next place. After a failure it can be told
        again, whether or not the first try got into the file.
        """
        was_unsure = self._settle()
        expected = len(self._history) + 1
        if was_unsure and 1 <= event.seq < expected:
            if event.seq == expected - 1 and self._history[event.seq - 1] == event:
                return
            raise StaleWrite(
                "log", f"session {self.session_id!a}: stale: event {event.seq} was told meanwhile"
            )
        if event.seq != expected:
            raise ValueError(f"event seq {event.seq}: expected {expected}")
        try:
            self._length = self._store.append(self.session_id, event, length=self._length)
        except StaleWrite:
            raise
        except ConversationError:
            self._is_unsure = True
            raise
        self._history.append(event)
        self._digests.add(event)
        if event.starts_turn:
            self.engine.begin_turn()
            self._engine_turn_seq = event.seq
        if self._is_held_back or self._was_overtaken_by(event):
            self.refresh()

    def rewind(self, through_seq: int) -> None:
        """Take back every event behind `through_seq` (0: all). The rows stay in the file (F12.4).

        Raises ValueError when there is no such event.
        """
        self._settle()
        if not 0 <= through_seq <= len(self._history):
            known = len(self._history)
            raise ValueError(f"rewind to event {through_seq}: there are events 1 to {known}")
        try:
            self._store.rewind(self.session_id, through_seq, length=self._length)
        except StaleWrite:
            raise
        except ConversationError:
            self._is_unsure = True
            raise
        self.refresh()

    def request(self) -> Attempt:
        """One request of the agent's, compacted before when due, rescued when it is refused.

        `refusal` of the result says why the provider didn't serve it, None when it did. What the
        model answered is told with `append`.
        """
        with self._acting():
            attempt = attempt_request(self.engine, self._provider, self.projection, self._requests)
            self._projection = attempt.projection
        self._requests += 1
        self._save(is_served=attempt.observation.is_served)
        return attempt

    def compact(self) -> Prepared:
        """Tidy an idle session by hand (F2.3)."""
        with self._acting():
            prepared = self.engine.compact_now(self.projection, self._requests)
            self._projection = prepared.lasting
        self._save(is_served=False)
        return prepared

    def switch(self, provider: Provider) -> None:
        """Go on with another provider: its own accepted boundary, never foreign state (F7.3)."""
        self._provider = provider
        self.refresh()

    def note(self, refusal: Refusal) -> None:
        """Keep a refusal for the record, as of a tool call that named what was taken back."""
        self.refusals.append(refusal)
        self._unsaved.append(asdict(refusal))
        self._save(is_served=False)

    def refresh(self) -> None:
        """Read everything anew, verified, as after a restart."""
        self._is_unsure = True
        stored = self._store.read(self.session_id, self._provider.route, self._check)
        self._take_refusals(stored)
        self._take_log(stored.log)
        self._current_id = stored.current_id
        self._used_id = stored.record.id if stored.record is not None else ""
        self._projection = _standing(stored, self._history)
        # A record that speaks of no request any more may be used again with any event.
        self._is_held_back = any(each.failure == "request_covered" for each in stored.refusals)
        self._engine = self._engine_for(stored)
        self._seen = 0
        self._is_unsure = False

    # Inside

    def _take_refusals(self, stored: Stored) -> None:
        """What is refused again and again is said and kept once."""
        new = [each for each in stored.refusals if each not in self.refusals]
        self.refusals += new
        if not stored.is_noted:
            self._unsaved += [asdict(each) for each in new]

    def _take_log(self, log: Log) -> None:
        self._history = History(log.events)
        self._digests = log.digests
        self._length = log.length
        self._rewound_at = log.rewound_at

    def _engine_for(self, stored: Stored) -> Engine:
        """An engine that goes on where the last one stopped, on the provider's route."""
        last, state = self._engine, stored.state
        engine = Engine(self._strategy, self._provider, self._session)
        engine.on_accepted = self._commit
        engine.accepted = stored.boundary
        turn_seq = self._turn_seq()
        if state is not None:
            engine.generation = state.generation
            if state.turn_seq == turn_seq:
                engine.low_water, engine.recoveries = state.low_water, state.recoveries
        if last is not None and turn_seq == self._engine_turn_seq:
            # What couldn't be saved still counts: one recovery a turn, whatever the route (F2.4).
            engine.recoveries = max(engine.recoveries, last.recoveries)
        self._engine_turn_seq = turn_seq
        return engine

    def _turn_seq(self) -> int:
        position = self._history.last_turn_start(len(self._history))
        return 0 if position is None else position + 1

    @contextmanager
    def _acting(self) -> Iterator[None]:
        """Something that may commit. When it is interrupted, the file knows what stands."""
        self._settle()
        try:
            yield
        except BaseException:
            self._is_unsure = True
            raise

    def _settle(self) -> bool:
        """Read anew when the last write may or may not have got into the file."""
        was_unsure = self._is_unsure
        if was_unsure:
            self.refresh()
        return was_unsure

    def _was_overtaken_by(self, event: Event) -> bool:
        """True when an event makes the projection one that breaks a promise.

        A late result may join a group that is covered, and what follows an answer may open a
        covered request again. Then the record is refused, as it would be after a restart.
        """
        view = self.projection
        joins = self._history.group_start(event.seq - 1) < view.tail_start
        asked = view.request_position
        reopens = asked is not None and asked < view.tail_start
        if reopens:
            shown = {item.event.seq - 1 for item in view.head if isinstance(item, Kept)}
            reopens = asked not in shown
        # The promises cost a look at every item, so they are asked only when one may be broken.
        return (joins or reopens) and bool(violations(view, self._waived, on_the_wire=False))

    def _commit(self, candidate: Projection, stage: Stage) -> tuple[Outcome, str]:
        """Keep a result before it counts (F12.1). If that fails, the old one stays (F11.1)."""
        if not stage.is_lasting:
            return "accepted", ""
        try:
            record = record_of(
                candidate,
                self._digests,
                session=self.session_id,
                strategy=self._check.strategy,
                route=self._provider.route,
                previous_id=self._current_id,
            )
            state = self._state(candidate.memory)
            length = self._store.commit(record, state, rewound_at=self._rewound_at)
        except NOT_JSON as error:
            return "failed", f"the memory is no JSON value: {error}"
        except StaleWrite as stale:
            self._is_unsure = True
            return "rejected", str(stale)
        except ConversationError as failed:
            self._is_unsure = True
            if not self._is_standing(record):
                return "failed", str(failed)
        else:
            # Rows that somebody else added meanwhile aren't known here yet.
            self._is_unsure = self._is_unsure or length != self._length + 1
            self._length = length
        self._current_id = self._used_id = record.id
        return "accepted", ""

    def _is_standing(self, record: CompletionRecord) -> bool:
        """Whether a commit that reported a failure got into the file all the same."""
        try:
            return self._store.standing_id(self.session_id) == record.id
        except ConversationError:
            return False

    def _state(self, memory: Json) -> State:
        engine = self.engine
        return State(
            memory=memory,
            turn_seq=self._turn_seq(),
            low_water=engine.low_water,
            recoveries=engine.recoveries,
            generation=engine.generation,
        )

    def _save(self, *, is_served: bool) -> None:
        """Keep what a request left behind. It was served or not, so a failure here is only noted.

        What couldn't be saved is saved with the next request.
        """
        new = self.engine.compactions[self._seen :]
        self._seen += len(new)
        self.compactions += new
        self._unsaved += [{"subject": "compaction", **asdict(each)} for each in new]
        try:
            self._store.save_request(
                self.session_id,
                record_id=self._current_id,
                rewound_at=self._rewound_at,
                # A memory that goes with an older record says nothing about the one that stands.
                state=self._state(self._projection.memory)
                if self._used_id == self._current_id
                else None,
                route=self._provider.route,
                boundary=self.engine.accepted if is_served else None,
                diagnostics=self._unsaved,
            )
        except ConversationError as error:
            self._is_unsure = self._is_unsure or isinstance(error, StaleWrite)
            self.refusals.append(Refusal("state", "not_saved", str(error)))
        except NOT_JSON as error:
            self.refusals.append(Refusal("state", "not_json", f"it is no JSON value: {error}"))
            self._unsaved = []
        else:
            self._unsaved = []


def _standing(stored: Stored, history: History) -> Projection:
    """The projection that stands, with the newest memory that goes with it."""
    whole = Projection.whole(history)
    base = whole if stored.record is None else projection_of(stored.record, history)
    return base if stored.state is None else base.remember(stored.state.memory)
