"""Relaxed maxent diversity: l values that are nearly as frequent as the most frequent one (KG06 section 7).

With a relaxation epsilon and p cliques, each clique says of each class which values are at least (1 - epsilon) times as
frequent as its most frequent one. A class combination in which l values are marked by all cliques has l values at least
(1 - epsilon)^p times as frequent as its most frequent one. That is what holding means here; failing is no proof of the
contrary. Vectors of marks that include another's are dropped, since fewer marks are worse.
"""

from fractions import Fraction

import numpy as np

from checks.budget import FULL
from checks.diversity.criterion import BOUNDARY
from checks.errors import CriterionError
from checks.finding import Verdict, verdict_of
from checks.maxent.outcome import Outcome
from checks.maxent.sensitive_tree import SensitiveTree
from checks.maxent.vector_sets import (
    TooManyVectorsError,
    distinct_positions,
    groups,
    minimal_positions,
    none_doomed,
    work_up,
)
from models.arrays import FloatArray, IndexArray

_UNMARKED = 1e-300
"""Stands for a mark of 0: a combination without a mark is the worst there is and may not be dropped as empty."""


def marks(tree: SensitiveTree, epsilon: Fraction) -> tuple[FloatArray, ...]:
    """For each clique and class 1 at the values near its most frequent one, exactly; shape (classes, values)."""
    if not 0 <= epsilon < 1:
        raise CriterionError(f"the relaxation must be at least 0 and below 1, got {epsilon}")
    marked = []
    for clique, factor in enumerate(tree.conditional_factors):
        bound = float(1 - epsilon) * factor.max(axis=1, keepdims=True)
        near = factor >= bound
        for position, value in np.argwhere(np.abs(factor - bound) <= BOUNDARY * bound).tolist():
            near[position, value] = _is_near(_exact_factor(tree, clique, position), value, epsilon)
        marked.append(np.where(near, 1.0, _UNMARKED))
    return tuple(marked)


def _is_near(factor: list[Fraction], value: int, epsilon: Fraction) -> bool:
    return factor[value] >= (1 - epsilon) * max(factor)


def _exact_factor(tree: SensitiveTree, clique: int, position: int) -> list[Fraction]:
    own = tree.expanded(tree.classes[clique])[position].tolist()
    if not clique:
        return list(map(Fraction, own))
    below = tree.expanded(tree.separators[clique])[tree.inward[clique][position]].tolist()
    return [Fraction(n) / Fraction(total) if n else Fraction(0) for n, total in zip(own, below)]


def _fewest_marks(vectors: FloatArray, block: IndexArray) -> IndexArray:
    distinct = distinct_positions(vectors, block)
    kept = [distinct[g[minimal_positions(vectors[distinct[g]])]] for g in groups(block[distinct])]
    return np.sort(np.concatenate(kept)) if kept else distinct


def relaxed_diversity(tree: SensitiveTree, least: int, epsilon: Fraction, limit: int = FULL.vectors) -> Outcome:
    """Whether every combination of classes has `least` values marked by all cliques.

    Undecided when a step would make more than `limit` vectors.
    """
    try:
        worked_up = work_up(tree, marks(tree, epsilon), np.minimum, _fewest_marks, none_doomed, limit)
    except TooManyVectorsError:
        return Outcome(Verdict.UNDECIDED, None, limit, proven_worst=False)
    if not len(worked_up.vectors):
        return Outcome(Verdict.HOLDS, None, worked_up.examined, proven_worst=True)
    number = (worked_up.vectors > _UNMARKED).sum(axis=1)
    lowest = int(number.argmin())
    combination = tuple(worked_up.chosen[lowest].tolist())
    return Outcome(verdict_of(bool(number[lowest] >= least)), combination, worked_up.examined, proven_worst=True)
