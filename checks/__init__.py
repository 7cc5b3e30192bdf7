"""Privacy: criteria on one table and on a collection of marginals, attacks, disclosure risk."""

from models.installed import open_door

PROJECT = "anonymized-marginals"
"""Marks this package as ours; `import marginals` checks it, since `checks` is a name that others use too."""

__all__, __getattr__, __dir__ = open_door(__name__)
