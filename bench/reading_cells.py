"""Assembly: the readers of one session's cells: who is asked what, and the controls only once.

Questions are the same for every cell of a session and seed. The controls are asked once for each
reader and seed, whatever windows and models a run has, since neither changes what they show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from bench.events import Session
from bench.judging import ControlAnswers, Judge
from bench.models import Model, ModelSettings, RespondingModel, make_model
from bench.observations import AnswerObservation, CallObservation, Replay
from bench.plan import Cell
from bench.probing import RECOVERED, ClosedQuestion, closed_questions
from bench.probing_actions import AGAIN, NEXT_ACTION, action_seqs
from bench.probing_options import ProbeOptions
from bench.providers.simulated import SimulatedProvider
from bench.readers.acting import ask_actions
from bench.readers.asking import ask_oracle, ask_questions
from bench.readers.deciding import ask_decisions, judge_answers


@dataclass(frozen=True, slots=True)
class CellReading:
    """What readers answered for a cell, what they answered for its controls, and the calls made.

    The calls of the controls are those of the first cell that needed them.
    """

    answers: tuple[AnswerObservation, ...] = ()
    controls: ControlAnswers | None = None
    calls: tuple[CallObservation, ...] = ()


class SessionReaders:
    """Asks for the cells of one session."""

    def __init__(
        self, session: Session, judge: Judge, options: ProbeOptions, settings: ModelSettings
    ) -> None:
        self._session = session
        self._judge = judge
        self._options = options
        self._settings = settings
        self._questions: dict[int, tuple[ClosedQuestion, ...]] = {}
        self._controls: dict[tuple[str, int], ControlAnswers] = {}
        self._judging_model: Model | None = None
        self._judge_calls_told = 0

    def read(self, cell: Cell, seen: Replay) -> CellReading:
        """The answers for one cell. Raises RunHalted when no reader could go on."""
        if not self._options.kinds:
            return CellReading()
        reader = self._options.reader_of(cell.model)
        model = make_model(reader, self._settings, purpose="reader")
        controls = self._controls.get((reader, cell.seed))
        if controls is None:
            controls = self._ask_controls(model, cell)
            self._controls[reader, cell.seed] = controls
        if cell.is_control:
            answers = controls.ceiling if cell.spec == "keep_all" else controls.floor
        else:
            answers = self._ask(model, cell, seen)
        return CellReading(answers, controls, self._calls(model))

    def _ask_controls(self, model: Model, cell: Cell) -> ControlAnswers:
        judge = self._judge
        ceiling = self._ask(model, cell, judge.ceiling)
        provider = self._provider(model, cell)
        ceiling += ask_oracle(provider, judge.history, self._asked(cell.seed), ceiling)
        if NEXT_ACTION in self._options.kinds:
            # Its own noise: the same full requests again, with another seed.
            ceiling += ask_actions(
                provider,
                judge.ceiling,
                judge.history,
                action_seqs(judge.index),
                view=AGAIN,
                seed=cell.seed + 1,
            )
        return ControlAnswers(ceiling, self._ask(model, cell, judge.floor))

    def _ask(self, model: Model, cell: Cell, seen: Replay) -> tuple[AnswerObservation, ...]:
        answers: list[AnswerObservation] = []
        provider = self._provider(model, cell)
        judge, questions = self._judge, self._asked(cell.seed)
        if RECOVERED in self._options.kinds:
            answers += ask_questions(provider, seen, judge.history, questions)
        if NEXT_ACTION in self._options.kinds:
            answers += ask_actions(provider, seen, judge.history, action_seqs(judge.index))
        if self._options.judge is not None:
            answers += self._judged(self._options.judge, provider, seen, cell)
        return tuple(answers)

    def _judged(
        self, judge: str, provider: SimulatedProvider, seen: Replay, cell: Cell
    ) -> tuple[AnswerObservation, ...]:
        """Decisions in free words, and what the judge says of them."""
        if self._judging_model is None:
            self._judging_model = make_model(judge, self._settings, purpose="judge")
        facts = {fact.id: fact for fact in self._judge.facts}
        told = ask_decisions(provider, seen, self._judge.history, self._asked(cell.seed), facts)
        model = cast("RespondingModel", self._judging_model)
        return (*told, *judge_answers(model, told, facts, cell.seed))

    def _calls(self, reader: Model) -> tuple[CallObservation, ...]:
        """The calls of a reader, and those of the judge since it was last asked for them."""
        calls = tuple(getattr(reader, "calls", ()))
        judged = tuple(getattr(self._judging_model, "calls", ()))
        new, self._judge_calls_told = judged[self._judge_calls_told :], len(judged)
        return (*calls, *new)

    def _asked(self, seed: int) -> tuple[ClosedQuestion, ...]:
        if seed not in self._questions:
            judge = self._judge
            self._questions[seed] = closed_questions(judge.index, judge.facts, judge.uses, seed)
        return self._questions[seed]

    def _provider(self, model: Model, cell: Cell) -> SimulatedProvider:
        # The window is the arbiter's: a question behind a request that just fits is no overflow.
        return SimulatedProvider(
            model, cell.window, tools=self._session.tools, seed=cell.seed, ignore_window=True
        )


def controls_among(
    answers: Sequence[tuple[Cell, tuple[AnswerObservation, ...]]], cell: Cell
) -> ControlAnswers | None:
    """The answers of the stored controls that belong to a cell; None when one is missing."""
    by_control = {
        other.spec: found
        for other, found in answers
        if other.is_control and (other.model, other.seed) == (cell.model, cell.seed)
    }
    if not (by_control.get("keep_all") and "empty" in by_control):
        return None
    return ControlAnswers(by_control["keep_all"], by_control["empty"])
