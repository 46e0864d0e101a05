"""Edges: providers, and what their refusals mean."""

from __future__ import annotations

from bench.provider_errors import ErrorClass, classify_error

__all__ = ["ErrorClass", "classify_error"]
