"""Judgement: the folder of everything that is kept between runs and can be made anew."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "COMPACTION_BENCH_CACHE"


def cache_root() -> Path:
    """The folder of all caches: COMPACTION_BENCH_CACHE, else the user's own cache folder.

    Nothing is created here, and it may be that nothing can be: a cache never fails a run.
    """
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("compaction-bench")
