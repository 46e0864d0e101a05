"""Settings for all tests: property tests are the same on every machine and have no deadline."""

import os
import signal

from hypothesis import settings

# What an earlier run of the tests found must not answer for this one. Tests of the caches turn them
# on in folders of their own.
os.environ["COMPACTION_BENCH_COUNT_CACHE"] = "off"
os.environ["COMPACTION_BENCH_SCORE_CACHE"] = "off"

# Started in the background of a script, tests would hand on that Ctrl-C is ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("project", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("project")
