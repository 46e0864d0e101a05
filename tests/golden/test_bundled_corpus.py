"""The committed corpus is what the generator makes, and what its card says."""

from collections import Counter
from pathlib import Path

import pytest

from bench.corpus import bundled_folder, corpus_folder, corpus_names
from bench.errors import UsageError
from bench.events import Session
from bench.facts import FACT_KINDS
from bench.facts_file import read_facts
from bench.formats.own import session_to_bytes
from bench.generator import KINDS, LANGUAGES, generate, regenerate_bundled, write_corpus
from bench.loading import load_sessions
from bench.tokens import count
from bench.visible_text import visible_text


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "README.md"}


def _tokens(session: Session) -> tuple[int, int]:
    total = results = 0
    for event in session.events:
        tokens = count(visible_text(event.message))
        total += tokens
        results += tokens if event.message.role == "tool" else 0
    return total, results


def test_committed_files_are_what_the_generator_makes(tmp_path: Path) -> None:
    regenerate_bundled(tmp_path)
    made = _files(tmp_path)
    committed = _files(bundled_folder())
    assert made.keys() == committed.keys()
    for name, data in made.items():
        assert data == committed[name], f"{name} differs: generate the corpus anew"


def test_corpus_is_as_large_and_mixed_as_its_card_says() -> None:
    sessions = load_sessions(bundled_folder()).sessions
    assert len(sessions) == 12
    kinds = Counter(session.id.split("-")[0] for session in sessions)
    languages = Counter(session.id.split("-")[1] for session in sessions)
    assert set(kinds) == set(KINDS)
    assert languages == {"en": 8, "zh": 4}
    assert set(languages) == set(LANGUAGES)
    for session in sessions:
        total, results = _tokens(session)
        assert 56_000 < total < 64_000, session.id
        assert results > 0.6 * total, session.id
        assert not session.repairs


def test_facts_belong_to_sessions_and_cover_every_kind() -> None:
    facts = read_facts(bundled_folder() / "facts.jsonl")
    sessions = {session.id for session in load_sessions(bundled_folder()).sessions}
    per_session = Counter(fact.session for fact in facts)
    assert set(per_session) == sessions
    assert min(per_session.values()) >= 18
    assert {fact.kind for fact in facts} == set(FACT_KINDS)


def test_folder_stays_small() -> None:
    assert sum(len(data) for data in _files(bundled_folder()).values()) < 4_000_000


def test_written_lines_are_those_of_the_own_format(tmp_path: Path) -> None:
    (path,) = write_corpus(tmp_path, 1, 90, 4, kinds=("coding",), languages=("zh",))
    made = generate("coding", "zh", 90, 4)
    assert path.read_bytes() == session_to_bytes(made.session)
    assert read_facts(tmp_path / "facts.jsonl") == made.facts


def test_corpus_written_by_anybody_takes_kinds_and_languages_in_turn(tmp_path: Path) -> None:
    paths = write_corpus(tmp_path, 6, 40, seed=10, kinds=("chat", "support"))
    assert [path.stem for path in paths] == [
        "chat-en-0010",
        "support-en-0011",
        "chat-zh-0012",
        "support-zh-0013",
        "chat-en-0014",
        "support-en-0015",
    ]
    assert [session.id for session in load_sessions(tmp_path).sessions] == sorted(
        path.stem for path in paths
    )


def test_wrong_requests_write_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    with pytest.raises(UsageError, match="a session of 5 events: at least 12"):
        write_corpus(folder, 2, 5, seed=1)
    with pytest.raises(UsageError, match="no kind of session 'poetry'"):
        write_corpus(folder, 2, 50, seed=1, kinds=("coding", "poetry"))
    assert not folder.exists()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="can't be written"):
        write_corpus(tmp_path / "file" / "corpus", 1, 50, seed=1)


def test_corpora_are_found_by_name() -> None:
    assert "bundled" in corpus_names()
    assert corpus_folder("bundled") == bundled_folder()
    with pytest.raises(UsageError, match="no corpus of that name, there is: bundled"):
        corpus_folder("elsewhere")


def test_hugging_face_datasets_loads_every_part(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    if not hasattr(datasets, "load_dataset"):
        pytest.skip("the Hugging Face package isn't installed, only our folder of that name is")
    folder = str(bundled_folder())
    cache = str(tmp_path)
    names = datasets.get_dataset_config_names(folder)
    rows = {name: datasets.load_dataset(folder, name, cache_dir=cache)["train"] for name in names}
    facts = (bundled_folder() / "facts.jsonl").read_text(encoding="utf-8")
    assert len(rows["facts"]) == facts.count("\n")
    assert {"coding", "incident", "analysis", "support", "chat"} <= set(rows)
    assert all(len(part) for part in rows.values())
