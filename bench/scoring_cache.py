"""Judgement: where entity extraction and scoring keep their results for every later run.

What they find depends on a session, its facts, what a replay saw and the code that looks: the same
key means the same result.
"""

from __future__ import annotations

import os
from functools import cache

from bench.cache_folder import cache_root
from bench.result_cache import ResultCache

SWITCH_VARIABLE = "COMPACTION_BENCH_SCORE_CACHE"


@cache
def shared() -> ResultCache | None:
    """The results of this machine; None when COMPACTION_BENCH_SCORE_CACHE is off."""
    if os.environ.get(SWITCH_VARIABLE, "").strip().lower() in ("off", "0", "no", "false"):
        return None
    return ResultCache(cache_root() / "scores")
