"""What the harness costs; `python -m tests.benchmarks` measures it. Nothing here is a test."""
