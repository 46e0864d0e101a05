"""Judgement: which two sides are compared: strategies, prompts or models of one run or of two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.errors import UsageError
from bench.gate.records import CellRecord, RunRecord
from bench.specs import Spec, parse_spec

_NAMED_MAX = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an option pair names of one side: a canonical spec and a model, None where not given."""

    spec: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """The cells of one spec in one run, of one model or of several."""

    record: RunRecord
    spec: str
    cells: tuple[CellRecord, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The models of its cells, in order of appearance."""
        return tuple(dict.fromkeys(cell.model for cell in self.cells))


@dataclass(frozen=True, slots=True)
class Sides:
    """A baseline and a candidate."""

    baseline: Side
    candidate: Side

    @property
    def differ_by_prompt_alone(self) -> bool:
        """True when the two are the same strategy and model with two prompts."""
        ours, theirs = self.baseline, self.candidate
        is_same = without_prompt(ours.spec) == without_prompt(theirs.spec)
        return ours.spec != theirs.spec and is_same and set(ours.models) == set(theirs.models)


def choose_sides(
    baseline: RunRecord, candidate: RunRecord | None, first: Wanted, second: Wanted
) -> tuple[Sides, ...]:
    """All pairs to compare; several when a baseline meets several candidates.

    `first` is what was asked of the baseline, `second` of the candidate; without a second run both
    are sides of the first. Raises UsageError when what was asked for isn't there, or when it isn't
    clear what to compare.
    """
    other = baseline if candidate is None else candidate
    pairs = _paired_specs(baseline, other, first, second, is_one=candidate is None)
    return tuple(
        Sides(
            _side(baseline, one, first.model, "--baseline"),
            _side(other, two, second.model, "--candidate"),
        )
        for one, two in pairs
    )


def without_prompt(spec: str) -> str:
    """The spec without its prompt."""
    parsed = parse_spec(spec)
    kept = tuple(pair for pair in parsed.parameters if pair[0] != "prompt")
    return str(Spec(parsed.target, kept))


def listed(names: Iterable[str]) -> str:
    """Names for a message, at most four of them."""
    known = list(names)
    more = f" and {len(known) - _NAMED_MAX} more" if len(known) > _NAMED_MAX else ""
    return ", ".join(known[:_NAMED_MAX]) + more


def _paired_specs(
    baseline: RunRecord, other: RunRecord, first: Wanted, second: Wanted, *, is_one: bool
) -> list[tuple[str, str]]:
    ours, theirs = _specs(baseline), _specs(other)
    if first.spec is not None and second.spec is not None:
        return [(first.spec, second.spec)]
    if is_one:
        return _within(baseline, ours, first, second)
    if first.spec is not None:
        return [(first.spec, _counterpart(first.spec, theirs, other, "--candidate"))]
    if second.spec is not None:
        return [(_counterpart(second.spec, ours, baseline, "--baseline"), second.spec)]
    if len(ours) == len(theirs) == 1:
        return [(ours[0], theirs[0])]
    by_base = {without_prompt(spec): spec for spec in theirs}
    pairs = [(spec, spec if spec in theirs else by_base.get(without_prompt(spec))) for spec in ours]
    matched = [(one, two) for one, two in pairs if two is not None]
    left = [one for one, two in pairs if two is None]
    left_there = [spec for spec in theirs if spec not in {two for _, two in matched}]
    if left or left_there or not matched:
        raise UsageError(
            "the runs hold different strategies: "
            + "; ".join(
                f"only {run.name} has {listed(specs)}"
                for run, specs in ((baseline, left), (other, left_there))
                if specs
            )
            + "; name what to compare with --baseline SPEC and --candidate SPEC"
        )
    return matched


def _within(
    run: RunRecord, specs: Sequence[str], first: Wanted, second: Wanted
) -> list[tuple[str, str]]:
    has_models = first.model is not None and second.model is not None
    if has_models and first.model != second.model:
        if first.spec or second.spec:
            spec = first.spec or second.spec or ""
            return [(spec, spec)]
        return [(spec, spec) for spec in specs]
    if first.spec is not None and len(specs) > 1:
        return [(first.spec, spec) for spec in specs if spec != first.spec]
    raise UsageError(
        f"{run.name}: holds {listed(specs) or 'no strategy'}: say which two to compare with "
        "--baseline SPEC and --candidate SPEC (or --baseline-model and --candidate-model), or give "
        "a second run"
    )


def _counterpart(spec: str, specs: Sequence[str], run: RunRecord, option: str) -> str:
    if spec in specs:
        return spec
    same = [one for one in specs if without_prompt(one) == without_prompt(spec)]
    if len(same) == 1:
        return same[0]
    if len(specs) == 1:
        return specs[0]
    raise UsageError(
        f"{run.name}: holds no {spec} but {listed(specs) or 'no strategy'}: name one with "
        f"{option} SPEC"
    )


def _specs(run: RunRecord) -> list[str]:
    return list(dict.fromkeys(cell.spec for cell in run.cells))


def _side(run: RunRecord, spec: str, model: str | None, option: str) -> Side:
    of_spec = [cell for cell in run.cells if cell.spec == spec]
    if not of_spec:
        raise UsageError(
            f"{option} {spec}: {run.name} holds no cell of it; it has "
            f"{listed(_specs(run)) or 'no strategy'}"
        )
    cells = tuple(cell for cell in of_spec if model is None or cell.model == model)
    if not cells:
        known = dict.fromkeys(cell.model for cell in of_spec)
        raise UsageError(
            f"{option}-model {model}: {run.name} has no such cell of {spec}; its models are "
            f"{listed(known)}"
        )
    return Side(run, spec, cells)
