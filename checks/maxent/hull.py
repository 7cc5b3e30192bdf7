"""Hull pruning: maxent diversity by vector sets that keep extreme points only (KG06 Algorithm 1, Theorem 7.1).

Valid for every criterion that merging passing classes cannot break: a vector that is a nonnegative combination of others
in its block fails only where one of them fails, and stays such a combination whatever both are multiplied with. Whether
a vector is one is asked of a linear program (HiGHS), since a convex hull in 14 dimensions does not finish; it is dropped
only when the combination that the program names reproduces it.
"""

from collections.abc import Callable

import numpy as np

from checks.budget import FULL, Budget
from checks.diversity.criterion import BOUNDARY, Diversity
from checks.finding import Verdict, verdict_of
from checks.maxent.outcome import Outcome
from checks.maxent.sensitive_tree import SensitiveTree
from checks.maxent.vector_sets import Prune, TooManyVectorsError, distinct_positions, groups, none_doomed, work_up
from models.arrays import FloatArray, IndexArray
from models.deadline import Deadline

_RESIDUAL = 1e-13
"""How far a combination may miss a vector, relative to a sum of 1, that is dropped for it."""


def extreme_positions(vectors: FloatArray, spend: Callable[[], None] = lambda: None) -> IndexArray:
    """The vectors that no others combine to with nonnegative weights, and of parallel ones the first; ascending.

    vectors: shape (n, values), nonnegative, no row all 0. Where rounding leaves a doubt the vector is kept. spend: called
    before every linear program.
    """
    shares = vectors / vectors.sum(axis=1, keepdims=True)
    _, first = np.unique(shares, axis=0, return_index=True)
    candidates = np.sort(first)
    if len(candidates) <= 2:
        return candidates
    points = shares[candidates]
    extreme = np.zeros(len(points), dtype=bool)
    for column in points.T:
        for bound in (column.min(), column.max()):
            at_bound = np.flatnonzero(column == bound)
            if len(at_bound) == 1:
                extreme[at_bound] = True
    alive = np.ones(len(points), dtype=bool)
    for position in np.flatnonzero(~extreme):
        alive[position] = False
        if not _is_combination(points[alive], points[position], spend):
            alive[position] = True
    return candidates[alive]


def _is_combination(points: FloatArray, target: FloatArray, spend: Callable[[], None]) -> bool:
    spend()
    from scipy.optimize import linprog  # slow to import, and few need it

    solution = linprog(np.zeros(len(points)), A_eq=points.T, b_eq=target, bounds=(0, None), method="highs")
    if solution.status != 0 or solution.x is None:
        return False
    weights = np.maximum(solution.x, 0)
    return bool(np.abs(weights @ points - target).max() <= _RESIDUAL)


class _ExtremeInBlocks:
    """Keeps the extreme vectors of each block while there are programs left to find them with."""

    def __init__(self, programs: int, deadline: Deadline) -> None:
        self._left = programs
        self._deadline = deadline

    def __call__(self, vectors: FloatArray, block: IndexArray) -> IndexArray:
        kept = [positions[extreme_positions(vectors[positions], self._spend)] for positions in groups(block)]
        return np.sort(np.concatenate(kept)) if kept else np.zeros(0, dtype=np.intp)

    def _spend(self) -> None:
        self._deadline.check()
        self._left -= 1
        if self._left < 0:
            raise TooManyVectorsError


def by_hull(tree: SensitiveTree, diversity: Diversity, budget: Budget = FULL) -> Outcome:
    """Decide any criterion that merging cannot break.

    Undecided when the vectors of a step or the linear programs would be more than the budget has. Near the boundary of
    the criterion, where a dropped vector could matter, it is repeated with nothing but repetitions dropped.
    """
    limit = budget.vectors
    pruned = _by_vector_sets(tree, diversity, _ExtremeInBlocks(budget.programs, tree.deadline), limit)
    if pruned is None:
        return Outcome(Verdict.UNDECIDED, None, limit, proven_worst=False)
    outcome, is_close = pruned
    if is_close and outcome.verdict is Verdict.HOLDS:
        whole = _by_vector_sets(tree, diversity, distinct_positions, limit)
        return whole[0] if whole else Outcome(Verdict.UNDECIDED, outcome.combination, limit, proven_worst=False)
    return outcome


def _by_vector_sets(tree: SensitiveTree, diversity: Diversity, prune: Prune, limit: int) -> tuple[Outcome, bool] | None:
    """The outcome, and whether some vector is near the boundary; None when the sets outgrow their limit."""
    try:
        worked_up = work_up(tree, tree.conditional_factors, np.multiply, prune, none_doomed, limit)
    except TooManyVectorsError:
        return None
    if not len(worked_up.vectors):
        return Outcome(Verdict.HOLDS, None, worked_up.examined, proven_worst=True), False
    slack = diversity.slack(worked_up.vectors)
    close = np.flatnonzero(np.abs(slack) <= BOUNDARY)
    fails = bool(np.any(slack < -BOUNDARY)) or any(
        not diversity.decide(tree.exact_vector(worked_up.chosen[position].tolist())) for position in close
    )
    combination = tuple(worked_up.chosen[int(slack.argmin())].tolist())
    return Outcome(verdict_of(not fails), combination, worked_up.examined, proven_worst=True), bool(len(close))


def by_supports(tree: SensitiveTree, least: int, limit: int = FULL.vectors) -> Outcome:
    """Decide whether every class combination has at least `least` values, by sets of supports; exact.

    Undecided when a step would make more than `limit` of them.
    """
    factors = [(factor > 0).astype(np.float64) for factor in tree.conditional_factors]
    try:
        worked_up = work_up(tree, factors, np.minimum, distinct_positions, none_doomed, limit)
    except TooManyVectorsError:
        return Outcome(Verdict.UNDECIDED, None, limit, proven_worst=False)
    if not len(worked_up.vectors):
        return Outcome(Verdict.HOLDS, None, worked_up.examined, proven_worst=True)
    sizes = worked_up.vectors.sum(axis=1)
    lowest = int(sizes.argmin())
    combination = tuple(worked_up.chosen[lowest].tolist())
    return Outcome(verdict_of(bool(sizes[lowest] >= least)), combination, worked_up.examined, proven_worst=True)
