"""Layered segments, the strategy `layered`: a checkpoint of the history's prefix, in segments."""
