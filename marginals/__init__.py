"""Publish anonymized marginals: small generalized tables of counts that meet privacy criteria jointly.

>>> import marginals
>>> table = marginals.read_table(frame, {"age": marginals.Attribute("quasi-identifier", intervals=[5, 10]),
...                                      "diagnosis": "sensitive"})              # doctest: +SKIP
>>> release = marginals.publish(table, marginals.Policy(k_link=5, diversity="entropy:3"))  # doctest: +SKIP
>>> release.write("release")                                                     # doctest: +SKIP
"""

from marginals.ending import guard
from marginals.floors import ensure_own

guard()
for _floor in ("models", "checks"):  # names that a user's own files may have; bottom floor first
    ensure_own(_floor)

__version__ = "0.1.0"

from models.installed import open_door  # noqa: E402 - only once the floor is known to be ours

__all__, __getattr__, __dir__ = open_door(__name__)
