"""Edges: a model endpoint on loopback, for foreign code that asks a model by itself."""

from bench.proxy.model_proxy import ModelProxy

__all__ = ["ModelProxy"]
