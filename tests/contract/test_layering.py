"""Imports go downward only, and each third-party library has one home."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WORDS = {
    "errors",
    "estimators",
    "events",
    "facts",
    "history",
    "joined_texts",
    "observations",
    "projection",
    "provider",
    "strategy",
}
JUDGEMENT = {
    "cache_folder",
    "cache_prices",
    "canaries",
    "costs",
    "count_cache",
    "counted_stretches",
    "engine",
    "entities",
    "entity_table",
    "found_facts",
    "gate",
    "invariants",
    "matching",
    "metrics",
    "parameters",
    "plan",
    "probing",
    "replay",
    "result_cache",
    "sampling",
    "scoring",
    "session_index",
    "sizes",
    "specs",
    "statistics",
    "tokens",
    "validity",
    "verdict",
    "visible_text",
    "wire",
}
ASSEMBLY = {
    "__main__",
    "before_after",
    "cli",
    "gating",
    "judging",
    "performing",
    "reading_cells",
    "registry",
    "cluster",
    "estimating",
    "local_workers",
    "merging",
    "rescoring",
    "runner",
    "survey",
    "tasks",
    "testing",
}

HOMES = {
    "tiktoken": {"bench/tokens.py"},
    "toktok": {"bench/tokens_fast.py"},
    "orjson": {"strategies/layered/encoding.py"},
    "httpx": {"bench/providers", "bench/foreign"},
    "datasets": {"bench/corpus.py"},
    "sqlite3": {"bench/store.py", "bench/conversation_store.py", "bench/spending.py"},
    "pandas": {"reports"},
    "matplotlib": {"reports"},
    "distributed": {"bench/cluster"},
    "hypothesis": {"bench/testing"},
}


def _modules() -> list[Path]:
    return sorted(
        p for top in ("bench", "strategies", "reports") for p in (ROOT / top).rglob("*.py")
    )


def _imports(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def _layer(name: str) -> int:
    if name in WORDS:
        return 0
    if name in JUDGEMENT or any(name.startswith(f"{known}_") for known in JUDGEMENT):
        return 1
    return 3 if name in ASSEMBLY else 2


def _bench_part(dotted: str) -> str | None:
    parts = dotted.split(".")
    return parts[1] if parts[0] == "bench" and len(parts) > 1 else None


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_downward(path: Path) -> None:
    relative = path.relative_to(ROOT)
    top = relative.parts[0]
    for dotted in _imports(path):
        target = _bench_part(dotted)
        if top == "strategies":
            assert not dotted.startswith("reports"), dotted
            assert target is None or target in WORDS, f"{dotted}: strategies import only words"
        elif top == "reports":
            assert not dotted.startswith("strategies"), dotted
            assert target is None or _layer(target) < 3, dotted
        elif relative.parts[1:] not in (("__init__.py",), ("__main__.py",)):
            own = _layer(relative.parts[1].removesuffix(".py"))
            assert own == 3 or not dotted.startswith(("reports", "strategies")), dotted
            assert target is None or _layer(target) <= own, f"{relative} imports {dotted}"


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_libraries_have_one_home(path: Path) -> None:
    relative = path.relative_to(ROOT).as_posix()
    for dotted in _imports(path):
        homes = HOMES.get(dotted.split(".")[0])
        assert homes is None or any(relative.startswith(home) for home in homes), dotted


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_words_need_only_the_standard_library(path: Path) -> None:
    relative = path.relative_to(ROOT)
    if relative.parts[0] != "bench" or relative.parts[1].removesuffix(".py") not in WORDS:
        return
    allowed = {
        "abc",
        "bisect",
        "collections",
        "contextlib",
        "dataclasses",
        "functools",
        "itertools",
        "json",
        "operator",
        "typing",
    }
    for dotted in _imports(path):
        assert dotted.split(".")[0] in allowed | {"bench", "__future__"}, dotted


def test_files_and_functions_stay_small() -> None:
    for path in _modules():
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 420, f"{path.relative_to(ROOT)} is too long"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 72, f"{path.name}: {node.name}"
