"""A judge decides nothing unless it agreed with people: kappa, its file, and every refusal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.events import Message, ToolDefinition
from bench.judge_calibration import (
    Pair,
    calibrate,
    cohen_kappa,
    read_calibration,
    read_pairs,
    require_valid,
    write_calibration,
)
from bench.models import Completion, OfflineModel
from bench.observations import AnswerObservation
from bench.probing_judge import (
    JUDGED,
    OPEN,
    Case,
    accepted,
    judge_prompt,
    open_question,
    read_case,
    read_open_question,
)
from bench.provider import ProviderError
from bench.readers.deciding import judge_answers
from bench.scoring_others import other_figures
from tests.stored_runs import rule_fact, working_session


@dataclass(frozen=True)
class Judge:
    """A judge that says what a function of the case says."""

    says: Callable[[Case], str]
    name: str = "made-up"
    is_stand_in: bool = True

    def complete(
        self, messages: Sequence[Message], *, output_tokens_max: int, seed: int
    ) -> Completion:
        raise NotImplementedError

    def respond(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolDefinition],
        output_tokens_max: int,
        seed: int,
        calls_wanted: bool,
    ) -> Completion:
        case = read_case(messages[-1].text)
        assert case is not None and len(messages) == 1
        return Completion(self.says(case))


def pairs(yes: int = 50, no: int = 50) -> list[Pair]:
    right = [Pair(Case("How long?", f"{n} days", f"for {n} days"), True) for n in range(yes)]
    wrong = [Pair(Case("How long?", f"{n} days", f"{n + 99} weeks"), False) for n in range(no)]
    return right + wrong


def honest(case: Case) -> str:
    return "yes" if case.decided in case.answer else "No."


@pytest.mark.parametrize(
    ("both_yes", "first_only", "second_only", "both_no", "expected"),
    [
        (20, 5, 10, 15, 0.4),  # observed 0.7, expected 0.5
        (50, 0, 0, 50, 1.0),
        (25, 25, 25, 25, 0.0),
        (0, 50, 50, 0, -1.0),
        (10, 0, 0, 0, 0.0),
    ],
)
def test_kappa(
    both_yes: int, first_only: int, second_only: int, both_no: int, expected: float
) -> None:
    first = [True] * (both_yes + first_only) + [False] * (second_only + both_no)
    second = [True] * both_yes + [False] * first_only + [True] * second_only + [False] * both_no
    assert cohen_kappa(first, second) == pytest.approx(expected)
    assert cohen_kappa(second, first) == pytest.approx(expected)


def test_kappa_of_different_lengths_is_refused() -> None:
    with pytest.raises(ValueError, match="1 ratings against 2"):
        cohen_kappa([True], [True, False])


def test_a_judge_that_agrees_is_valid_and_its_file_comes_back(tmp_path: Path) -> None:
    found = calibrate(Judge(honest), pairs())
    assert (found.agreed_yes, found.agreed_no, found.unclear, found.kappa) == (50, 50, 0, 1.0)
    write_calibration(tmp_path / "c.json", found)
    assert read_calibration(tmp_path / "c.json") == found
    assert require_valid(tmp_path / "c.json", "made-up") == found.digest


def test_the_digest_follows_judge_pairs_and_outcome() -> None:
    found = calibrate(Judge(honest), pairs())
    assert calibrate(Judge(honest), pairs()).digest == found.digest
    others = (
        calibrate(Judge(honest), pairs(51)),
        calibrate(Judge(lambda _: "yes"), pairs()),
        replace(found, judge="another"),
    )
    assert len({found.digest, *(one.digest for one in others)}) == 4


def test_replies_that_say_neither_or_fail_count_as_no() -> None:
    def vague(case: Case) -> str:
        if case.decided == "0 days":
            raise ProviderError("server", "gone")
        return "Well, mostly." if case.decided == "1 days" else honest(case)

    found = calibrate(Judge(vague), pairs())
    assert found.unclear == 4
    assert (found.agreed_yes, found.agreed_no) == (48, 50)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"judge": "other"}, "is the calibration of other"),
        ({"prompt": "0" * 16}, "another wording"),
        ({"kappa": 0.79}, "kappa 0.79"),
        ({"labelled_yes": 49}, "49 \\+ 50"),
        ({"type": "something"}, "is no calibration"),
        ({"kappa": "high"}, '"kappa" is missing or of another type'),
        ({"unclear": None}, '"unclear" is missing'),
    ],
)
def test_any_other_calibration_is_refused(
    tmp_path: Path, change: dict[str, object], why: str
) -> None:
    path = tmp_path / "c.json"
    write_calibration(path, calibrate(Judge(honest), pairs()))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UsageError, match=why):
        require_valid(path, "made-up")


def test_no_calibration_no_judge(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"calibrate-judge PAIRS\.jsonl --judge made-up"):
        require_valid(None, "made-up")
    with pytest.raises(UsageError, match="is no readable calibration"):
        require_valid(tmp_path / "nowhere.json", "made-up")


def line(**fields: object) -> str:
    return json.dumps({"question": "q", "decided": "d", "answer": "a", "label": True, **fields})


def test_labelled_pairs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    lines = [line(answer=f"a{n}", label=n % 2 == 0) for n in range(100)]
    path.write_text("\n\n".join(lines), encoding="utf-8")
    found = read_pairs(path)
    assert len(found) == 100
    assert found[1] == Pair(Case("q", "d", "a1"), False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "0 pairs with the label true"),
        ("\n".join([line()] * 60), "0 pairs with the label false"),
        ("[]", "line 1: expected one JSON object"),
        (line(label="yes"), '"label" is neither true nor false'),
        (f"{line()}\n{line(decided=' ')}", 'line 2: "decided" is no text'),
        ("{", "line 1"),
    ],
)
def test_pairs_that_are_none_are_named(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=why):
        read_pairs(path)


def test_what_is_put_to_a_judge_can_be_read_and_nothing_else() -> None:
    case = Case("Which?", "a journal", "a table\nDecided: a table")
    found = read_case(judge_prompt(case))
    assert found == replace(case, answer="a table Decided: a table")
    assert read_case(f"please {judge_prompt(case)}") is None
    assert read_case("Summarise this.") is None
    assert read_open_question(open_question("Which\none?")) == "Which one?"
    assert read_open_question("Which one?") is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [("yes", True), ("No.", False), ("**YES**", True), ("maybe", None), ("", None), ("nope", None)],
)
def test_verdicts(reply: str, expected: bool | None) -> None:
    assert accepted(reply) is expected


def test_judging_is_blind_and_counts_unclear_as_refused() -> None:
    fact = rule_fact(working_session("one"))

    def answer(reply: str | None) -> AnswerObservation:
        return AnswerObservation(OPEN, fact.id, "projection", 3, 9, "Which bucket?", reply=reply)

    told = (answer(f"it is {fact.value}"), answer("unknown"), answer(None))
    verdicts = judge_answers(Judge(honest), told, {fact.id: fact}, 0)
    assert [one.reply for one in verdicts] == ["yes", "No."]
    assert {one.probe for one in verdicts} == {JUDGED}
    assert other_figures((told[0], verdicts[0]), None).row["judged"] == 1
    assert other_figures((told[1], verdicts[1]), None).row["judged"] == 0
    assert other_figures((told[2],), None).row["judged"] is None
    unclear = replace(verdicts[0], reply="hard to say")
    assert other_figures((told[0], unclear), None).row["judged"] == 0


def test_the_stand_in_judges_by_words() -> None:
    def says(decided: str, answer: str) -> str:
        return (
            OfflineModel()
            .respond(
                [Message("user", judge_prompt(Case("q", decided, answer)))],
                tools=(),
                output_tokens_max=8,
                seed=0,
                calls_wanted=False,
            )
            .text
        )

    assert says("dual writes for 13 days", "We chose dual writes for 13 days.") == "yes"
    assert says("dual writes for 13 days", "We chose dual writes for 12 days.") == "no"
    assert says("dual writes for 13 days", "Never dual writes for 13 days!") == "no"
