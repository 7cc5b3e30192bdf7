"""Counts as unknowns of linear and integer programs: which cells are possible, and how large they can be."""
