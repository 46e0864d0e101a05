"""Judgement: is the candidate worse than the baseline? Pure decisions over stored results.

`records` is what a comparison needs of a run, `pairing` puts two sides of it side by side,
`decision` decides with the session as the unit, `facts` names what got worse, `lints` looks at the
form of summaries and `calibration` compares a thing with itself.
"""
