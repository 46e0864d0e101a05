"""Assembly: the readers of one session's cells: who is asked what, and the controls only once.

Questions are the same for every cell of a session and seed. The controls are asked once for each
reader and seed, whatever windows and models a run has, since neither changes what they show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.events import Session
from bench.judging import ControlAnswers, Judge
from bench.models import Model, ModelSettings, make_model
from bench.observations import AnswerObservation, CallObservation, Replay
from bench.plan import Cell
from bench.probing import ClosedQuestion, closed_questions
from bench.probing_options import ProbeOptions
from bench.providers.simulated import SimulatedProvider
from bench.readers.asking import ask_oracle, ask_questions


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
        return CellReading(answers, controls, tuple(getattr(model, "calls", ())))

    def _ask_controls(self, model: Model, cell: Cell) -> ControlAnswers:
        judge = self._judge
        ceiling = self._ask(model, cell, judge.ceiling)
        oracle = ask_oracle(
            self._provider(model, cell), judge.history, self._asked(cell.seed), ceiling
        )
        return ControlAnswers((*ceiling, *oracle), self._ask(model, cell, judge.floor))

    def _ask(self, model: Model, cell: Cell, seen: Replay) -> tuple[AnswerObservation, ...]:
        answers: list[AnswerObservation] = []
        provider = self._provider(model, cell)
        if "recovered" in self._options.kinds:
            questions = self._asked(cell.seed)
            answers += ask_questions(provider, seen, self._judge.history, questions)
        return tuple(answers)

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
