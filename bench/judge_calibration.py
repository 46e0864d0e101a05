"""Edge: calibrating a judge against people, and refusing one that wasn't.

Labelled pairs are one JSON object a line: `{"question", "decided", "answer", "label"}`, label true
where the answer states the decision. At least 50 of each label; Cohen's kappa must reach 0.8
(scoring.md, "Layers", 6). The result is a file that holds for one MODEL and one wording of the
prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.models.model import RespondingModel
from bench.probing_judge import Case, accepted, prompt_digest
from bench.provider import ProviderError
from bench.readers.deciding import judge_case

KAPPA_MIN = 0.8
PAIRS_OF_A_LABEL_MIN = 50
FILE_TYPE = "compaction-bench/judge-calibration"
_FIELDS = ("question", "decided", "answer")
_PAIR_FORM = '{"question": "...", "decided": "...", "answer": "...", "label": true}'


@dataclass(frozen=True, slots=True)
class Pair:
    """A case with what people say of it."""

    case: Case
    label: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a judge agreed with people. `unclear` replies were neither yes nor no and count as no.

    `prompt` is the digest of what judges are told, `pairs` that of the labelled pairs.
    """

    judge: str
    prompt: str
    pairs: str
    labelled_yes: int
    labelled_no: int
    agreed_yes: int
    agreed_no: int
    unclear: int
    kappa: float

    @property
    def is_valid(self) -> bool:
        """Whether this judge may be asked."""
        enough = min(self.labelled_yes, self.labelled_no) >= PAIRS_OF_A_LABEL_MIN
        return enough and self.kappa >= KAPPA_MIN

    @property
    def digest(self) -> str:
        """By which results name the calibration that they rest on."""
        return _digest(json.dumps(asdict(self), sort_keys=True))


def read_pairs(path: Path | str) -> tuple[Pair, ...]:
    """The labelled pairs of a file. Raises UsageError naming the file and the line that is wrong,
    or how many pairs of a label are missing.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: can't be read: {error}") from error
    pairs: list[Pair] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            pairs.append(_pair(json.loads(line)))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path} line {number}: {error}; a pair is {_PAIR_FORM}") from error
    for label, name in ((True, "true"), (False, "false")):
        held = sum(pair.label is label for pair in pairs)
        if held < PAIRS_OF_A_LABEL_MIN:
            raise UsageError(
                f"{path}: holds {held} pairs with the label {name}, at least "
                f"{PAIRS_OF_A_LABEL_MIN} are needed"
            )
    return tuple(pairs)


def _pair(row: Any) -> Pair:
    if not isinstance(row, dict):
        raise ValueError("expected one JSON object a line")
    for name in _FIELDS:
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise ValueError(f'"{name}" is no text')
    if not isinstance(row.get("label"), bool):
        raise ValueError('"label" is neither true nor false')
    return Pair(Case(row["question"], row["decided"], row["answer"]), row["label"])


def calibrate(
    judge: RespondingModel,
    pairs: Sequence[Pair],
    *,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Calibration:
    """Puts all pairs to the judge. A reply that says neither, or that never came, is a no."""
    verdicts: list[bool | None] = []
    for number, pair in enumerate(pairs, start=1):
        progress(f"judging pair {number} of {len(pairs)}")
        try:
            verdicts.append(accepted(judge_case(judge, pair.case, seed)))
        except ProviderError:
            verdicts.append(None)
    labels = [pair.label for pair in pairs]
    judged = [verdict is True for verdict in verdicts]
    told = json.dumps([[asdict(pair.case), pair.label] for pair in pairs], sort_keys=True)
    return Calibration(
        judge=judge.name,
        prompt=prompt_digest(),
        pairs=_digest(told),
        labelled_yes=sum(labels),
        labelled_no=len(labels) - sum(labels),
        agreed_yes=sum(a and b for a, b in zip(labels, judged, strict=True)),
        agreed_no=sum(not a and not b for a, b in zip(labels, judged, strict=True)),
        unclear=verdicts.count(None),
        kappa=cohen_kappa(labels, judged),
    )


def cohen_kappa(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Agreement of two raters beyond chance, at most 1 (Cohen 1960); 0 where it isn't defined.

    Raises ValueError when the two are of different length.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} ratings against {len(second)}")
    total = len(first)
    if not total:
        return 0.0
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / total
    yes = (sum(first) / total) * (sum(second) / total)
    no = (1 - sum(first) / total) * (1 - sum(second) / total)
    expected = yes + no
    return 0.0 if expected == 1 else (observed - expected) / (1 - expected)


def write_calibration(path: Path | str, calibration: Calibration) -> None:
    """Keeps a calibration, valid or not. Raises UsageError when the file can't be written."""
    document = {"type": FILE_TYPE, "version": 1, **asdict(calibration)}
    try:
        Path(path).write_text(
            json.dumps(document, indent=1, ensure_ascii=True) + "\n", encoding="utf-8"
        )
    except OSError as error:
        raise UsageError(f"{path}: can't be written: {error.strerror or error}") from error


def read_calibration(path: Path | str) -> Calibration:
    """A calibration as `write_calibration` left it. Raises UsageError for anything else."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is no readable calibration: {error}") from error
    if not isinstance(document, dict) or document.get("type") != FILE_TYPE:
        raise UsageError(f"{path}: is no calibration; compaction-bench calibrate-judge writes one")
    fields = {name: document.get(name) for name in Calibration.__dataclass_fields__}
    for name, value in fields.items():
        wanted = str if name in ("judge", "prompt", "pairs") else (int, float)
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise UsageError(f'{path}: "{name}" is missing or of another type')
    return Calibration(**fields)  # type: ignore[arg-type]


def require_valid(path: Path | str | None, judge: str) -> str:
    """The digest of the calibration that lets this judge be asked.

    Raises UsageError where there is none, or one of another judge, prompt or too low a kappa.
    """
    make = f"compaction-bench calibrate-judge PAIRS.jsonl --judge {judge} --out FILE"
    if path is None:
        raise UsageError(
            f"--judge {judge}: isn't calibrated; give --calibration FILE, from: {make}"
        )
    known = read_calibration(path)
    if known.judge != judge:
        raise UsageError(
            f"{path}: is the calibration of {known.judge}, not of {judge}; run: {make}"
        )
    if known.prompt != prompt_digest():
        raise UsageError(f"{path}: was made with another wording of the prompt; run again: {make}")
    if not known.is_valid:
        raise UsageError(
            f"{path}: {judge} agreed with people at kappa {known.kappa:.2f} over "
            f"{known.labelled_yes} + {known.labelled_no} pairs; at least {KAPPA_MIN} over "
            f"{PAIRS_OF_A_LABEL_MIN} + {PAIRS_OF_A_LABEL_MIN} is needed, so it may decide nothing"
        )
    return known.digest


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
