"""Privacy: criteria on one table and on a collection of marginals, attacks, disclosure risk."""

PROJECT = "anonymized-marginals"
"""Marks this package as ours; `import marginals` checks it, since `checks` is a name that others use too."""
