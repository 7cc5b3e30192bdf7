"""Jaro similarity of labels: which spellings an attacker takes for the same value (LSFB09 section 7.2)."""

from collections.abc import Iterable, Sequence
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


def alike_labels(
    left: Sequence[str], right: Sequence[str], threshold: float = THRESHOLD
) -> tuple[IndexArray, IndexArray]:
    """The pairs of positions whose labels have a Jaro similarity of at least the threshold: shape (pairs,) each.

    O(len(left) * len(right)). Raises InputError without rapidfuzz, or for a threshold outside (0, 1].
    """
    if not 0 < threshold <= 1:
        raise InputError(f"a similarity to ask for lies above 0 and at most at 1, not at {threshold}")
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
        held = [np.unique(r.nodes[r.levels[:, axis] == 0, axis]) for r in (records, dictionary.entries)]
        names = [[labels[node] for node in nodes.tolist()] for nodes in held]
        first, second = alike_labels(names[0], names[1], threshold)
        alike[axis] = AlikeValues(held[0][first], held[1][second])
    return alike
