"""Settings for all tests: property tests are the same on every machine and have no deadline."""

from hypothesis import settings

settings.register_profile("project", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("project")
