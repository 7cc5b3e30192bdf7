"""Jaro similarity of labels: which spellings an attacker takes for the same value (LSFB09 section 7.2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from checks.risk.approximate_consistency import AlikeValues
from checks.risk.dictionary import Dictionary
from checks.risk.record import Records
from marginals.errors import InputError
from models.arrays import IndexArray

THRESHOLD = 0.8
"""The similarity from which on the paper takes two values for consistent."""

_BLOCK = 512
"""Labels that are compared with all others at a time."""


@dataclass(frozen=True)
class Similarity:
    """Attributes whose base values agree when their Jaro similarity is at least a threshold, in (0, 1].

    Raises InputError for another threshold.
    """

    attributes: tuple[str, ...] = ()
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        _check_threshold(self.threshold)

    def objection_to(self, analysis: str) -> str | None:
        """Why an analysis cannot be done, since some values agree that are only similar; None where there are none."""
        if not self.attributes:
            return None
        return f"risk.similar goes with the risk of a table only, not with {analysis}; leave it out"


def alike_labels(
    left: Sequence[str], right: Sequence[str], threshold: float = THRESHOLD
) -> tuple[IndexArray, IndexArray]:
    """The pairs of positions whose labels have a Jaro similarity of at least the threshold: shape (pairs,) each.

    O(len(left) * len(right)). Raises InputError without rapidfuzz, or for a threshold outside (0, 1].
    """
    _check_threshold(threshold)
    try:
        process, distance = import_module("rapidfuzz.process"), import_module("rapidfuzz.distance")
    except ImportError:
        raise InputError("Jaro similarity needs rapidfuzz: pip install rapidfuzz") from None
    firsts, seconds = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
    for start in range(0, len(left), _BLOCK):
        block = left[start : start + _BLOCK]
        scores = process.cdist(block, right, scorer=distance.Jaro.similarity, dtype=np.float64, workers=-1)
        first, second = np.nonzero(scores >= threshold)
        firsts.append(first + start)
        seconds.append(second)
    return np.concatenate(firsts), np.concatenate(seconds)


def alike_values(
    records: Records, dictionary: Dictionary, attributes: Iterable[str], threshold: float = THRESHOLD
) -> dict[int, AlikeValues]:
    """For some attributes the pairs of base values of records and of a dictionary that are alike, equal ones included."""
    alike = {}
    for attribute in attributes:
        axis = records.space.domain.index(attribute)
        labels = records.space.taxonomies[axis].labels
        nodes = [np.unique(r.nodes[r.levels[:, axis] == 0, axis]) for r in (records, dictionary.entries)]
        spellings = [[labels[node] for node in column.tolist()] for column in nodes]
        first, second = alike_labels(spellings[0], spellings[1], threshold)
        alike[axis] = AlikeValues(nodes[0][first], nodes[1][second])
    return alike


def _check_threshold(threshold: float) -> None:
    if not 0 < threshold <= 1:
        raise InputError(f"a threshold of similarity lies above 0 and at most at 1, not at {threshold}")
