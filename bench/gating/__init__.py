"""Assembly: comparisons of stored runs, and the gate for summary prompts.

`reading` makes records of run folders and baseline files, `comparing` puts `bench.gate` to work on
them, `naming` finds the lines that tell the story of a lost fact, `drawing` replays missing cells
and fresh seeds, `prompts` reads prompt files and git revisions.
"""
