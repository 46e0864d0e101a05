"""Assembly: the command line. Every command is one module; heavy imports happen inside commands."""

from bench.cli.main import main

__all__ = ["main"]
