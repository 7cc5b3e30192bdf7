"""The mathematics of contingency tables and decomposable graphical models. Knows no file and no privacy."""

PROJECT = "anonymized-marginals"
"""Marks this package as ours; `import marginals` checks it, since `models` is a name that others use too."""
