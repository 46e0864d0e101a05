"""`facts.jsonl`: what is written is read back, a wrong row is named with what would be right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import UsageError
from bench.facts import FACT_KINDS, Fact, Probe
from bench.facts_file import (
    fact_from_json,
    fact_to_json,
    facts_beside,
    read_facts,
    write_facts,
)

FACT = Fact(
    id="f1",
    session="harbour",
    kind="update",
    subject="超时",
    value="4500 ms",
    aliases=("4.5 s",),
    stale=("3000 ms",),
    source_seqs=(3, 9),
    born_seq=9,
    probe=Probe(20, "How long?"),
    must_keep=True,
)
WORDS = st.text(max_size=12)
NAMES = st.text(min_size=1, max_size=12).filter(str.strip)
SEQS = st.integers(1, 10_000)
FACTS = st.builds(
    Fact,
    id=NAMES,
    session=NAMES,
    kind=st.sampled_from(FACT_KINDS),
    subject=WORDS,
    value=NAMES,
    aliases=st.lists(WORDS, max_size=2).map(tuple),
    stale=st.lists(WORDS, max_size=2).map(tuple),
    source_seqs=st.lists(SEQS, max_size=3).map(tuple),
    born_seq=SEQS,
    probe=st.builds(Probe, st.none() | SEQS, WORDS),
    must_keep=st.booleans(),
)


def row(**changes: object) -> str:
    return json.dumps({**fact_to_json(FACT), **changes})


def test_the_shape_is_that_of_the_contract(tmp_path: Path) -> None:
    write_facts(tmp_path / "facts.jsonl", [FACT])
    text = (tmp_path / "facts.jsonl").read_text(encoding="utf-8")
    assert text == (
        '{"id": "f1", "session": "harbour", "kind": "update", "subject": "超时", '
        '"value": "4500 ms", "aliases": ["4.5 s"], "stale": ["3000 ms"], "source_seqs": [3, 9], '
        '"born_seq": 9, "probe": {"at_seq": 20, "question": "How long?"}, "must_keep": true}\n'
    )


@given(FACTS)
def test_facts_are_read_back(fact: Fact) -> None:
    assert fact_from_json(json.loads(json.dumps(fact_to_json(fact)))) == fact


def test_files_are_read_back_in_order(tmp_path: Path) -> None:
    facts = (FACT, Fact("f0", "quay", "path", "", "src/a.py\u2028b"))
    write_facts(tmp_path / "facts.jsonl", facts)
    first = (tmp_path / "facts.jsonl").read_bytes()
    assert read_facts(tmp_path / "facts.jsonl") == facts
    write_facts(tmp_path / "facts.jsonl", facts)
    assert (tmp_path / "facts.jsonl").read_bytes() == first


def test_people_may_leave_things_out(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    short = {"id": "a", "session": "s", "kind": "constraint", "value": "at most 80 rows"}
    path.write_bytes(b"\xef\xbb\xbf\r\n" + json.dumps(short).encode() + b"\r\n\n")
    assert read_facts(path) == (Fact("a", "s", "constraint", "", "at most 80 rows"),)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "a fact is [], expected a JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": "a"}', '"session" is missing'),
        (row(value=" "), '"value" is empty'),
        (row(id=7), '"id" is 7, expected text'),
        (row(kind="hunch"), "expected one of constraint"),
        (row(stale="3000 ms"), '"stale" is "3000 ms", expected a list of texts'),
        (row(aliases=[1]), '"aliases" is [1]'),
        (row(source_seqs=3), '"source_seqs" is 3, expected a list'),
        (row(source_seqs=[0]), '"source_seqs" is 0, expected a seq'),
        (row(born_seq=True), '"born_seq" is true, expected a seq'),
        (row(probe={"at_seq": "9"}), '"probe.at_seq" is "9", expected a seq'),
        (row(probe={"when": 9}), '"probe" has no field "when", there are: at_seq, question'),
        (row(probe=[1]), '"probe" is [1], expected a JSON object'),
        (row(must_keep="yes"), '"must_keep" is "yes", expected true or false'),
        (row(note="x"), 'a fact has no field "note"'),
        (row(), "id 'f1' stands for another fact of session 'harbour' on line 1"),
    ],
)
def test_wrong_rows_are_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text(f"{row()}\n{line}\n", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_facts(path)
    message = str(caught.value)
    assert message.startswith(f"{path} line 2: ")
    assert said in message
    assert "\n" not in message


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"facts\.jsonl: can't be read"):
        read_facts(tmp_path / "facts.jsonl")
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"bytes\.jsonl: can't be read"):
        read_facts(tmp_path / "bytes.jsonl")
    with pytest.raises(UsageError, match="can't be written"):
        write_facts(tmp_path / "none" / "facts.jsonl", [FACT])


def test_facts_lie_beside_their_sessions(tmp_path: Path) -> None:
    write_facts(tmp_path / "facts.jsonl", [FACT])
    (tmp_path / "empty").mkdir()
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "empty" / "c.jsonl", ""]
    assert facts_beside(paths) == {"harbour": (FACT,)}
