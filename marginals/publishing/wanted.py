"""Analyses that a release is wanted for: attributes that readers look at together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from marginals.errors import InputError


@dataclass(frozen=True)
class Wanted:
    """Attributes that are wanted in one table, and how much that counts besides the other analyses.

    Raises InputError for no attribute, one that is named twice, or a weight that is not above 0.

    >>> Wanted(("dead", "age")).weight
    1.0
    """

    attributes: tuple[str, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        names = self.attributes
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise InputError("the attributes of a wanted analysis are a list of different names")
        if isinstance(self.weight, bool) or not isinstance(self.weight, int | float) or not 0 < self.weight < inf:
            raise InputError("the weight of a wanted analysis is a number above 0")

    @classmethod
    def of(cls, entry: object) -> "Wanted":
        """From one section of a config: `attributes`, and maybe `weight`. Raises InputError for anything else."""
        if isinstance(entry, Wanted):
            return entry
        named = entry.get("attributes") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(named, Sequence) or isinstance(named, str):
            raise InputError('wanted is a list of analyses such as { attributes = ["dead", "age"], weight = 1.0 }')
        if others := [key for key in entry if key not in ("attributes", "weight")]:
            raise InputError(
                f"unknown key search.wanted.{others[0]}; known are search.wanted.attributes, search.wanted.weight"
            )
        return cls(tuple(named), entry.get("weight", 1.0))


def wanted_together(wanted: Iterable[Wanted], margins: Sequence[Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    """For each wanted analysis its attributes, its weight, and the first margin that shows them together, or None.

    >>> list(wanted_together([Wanted(("dead", "age"))], [{"age": 1, "dead": 0, "sex": 0}]))
    [{'attributes': ['dead', 'age'], 'weight': 1.0, 'margin': {'age': 1, 'dead': 0, 'sex': 0}}]
    """
    for analysis in wanted:
        names = set(analysis.attributes)
        margin = next((dict(margin) for margin in margins if names <= set(margin)), None)
        yield {"attributes": list(analysis.attributes), "weight": analysis.weight, "margin": margin}
