"""Judgement: projections as requests that real APIs would accept, and checks that they would."""
