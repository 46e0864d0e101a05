"""Settings for all tests: property tests are the same on every machine and have no deadline."""

import os

from hypothesis import settings

# What an earlier run of the tests found must not answer for this one. Tests of the caches turn them
# on in folders of their own.
os.environ["COMPACTION_BENCH_COUNT_CACHE"] = "off"
os.environ["COMPACTION_BENCH_SCORE_CACHE"] = "off"

settings.register_profile("project", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("project")
