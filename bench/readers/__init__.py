"""Edges: readers, who answer questions from what a projection shows, and nothing else."""
