"""The mathematics of contingency tables and decomposable graphical models. Knows no file and no privacy.

>>> from models import Collection, Domain, Hierarchy
>>> domain = Domain.of(sex=Hierarchy.flat(["f", "m"]))  # doctest: +SKIP
"""

from models.installed import open_door

PROJECT = "anonymized-marginals"
"""Marks this package as ours; `import marginals` checks it, since `models` is a name that others use too."""

__all__, __getattr__, __dir__ = open_door(__name__)
