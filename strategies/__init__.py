"""Compaction strategies, one file or small folder each. They import only the words of `bench`."""
