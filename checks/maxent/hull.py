"""Maxent diversity by sets of vectors that are worked up the junction tree, and by ratios of two values."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import count
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criterion import BOUNDARY, Diversity, ShareBound
from checks.finding import FULL, Budget, Verdict, verdict_of
from checks.maxent.sensitive_tree import Combine, FittingClasses, Judge, LogTree, Outcome, SensitiveTree, paired
from models.arrays import FloatArray, IndexArray
from models.deadline import NEVER, Deadline

# Sets of vectors worked up a junction tree: the vectors of the join, pruned on the way (KG06 Algorithm 1).
#
# Each clique keeps, for each of its classes, the vectors that its subtree can contribute. Classes that look the same to
# the rest of the tree (one separator class) share a block. Within a block a pruning drops vectors that cannot matter.


Prune = Callable[[FloatArray, IndexArray], IndexArray]
"""Maps vectors, shape (n, values), and the number of each one's block, ascending, to the positions to keep."""


class TooManyVectorsError(Exception):
    """Sets of vectors that outgrew their limit; the answer is undecided."""


class VectorSet(NamedTuple):
    """Vectors with the class combination behind each: chosen has shape (n, cliques), -1 outside the subtree.

    examined: how many vectors were made on the way.
    """

    vectors: FloatArray
    chosen: IndexArray
    examined: int


def work_up(
    tree: FittingClasses[Any],
    factors: Sequence[FloatArray],
    combine: Combine,
    prune: Prune,
    limit: int,
) -> VectorSet:
    """Return the vectors that remain at the root.

    Raises TooManyVectorsError if a step would make more than `limit`, TimeOverError when the tree's deadline comes.
    """
    cliques = len(tree.classes)
    finished: dict[int, tuple[FloatArray, IndexArray, IndexArray]] = {}
    examined = 0
    for clique in reversed(range(cliques)):
        owner: IndexArray = np.arange(len(tree.classes[clique]))
        vectors = factors[clique]
        chosen = np.full((len(owner), cliques), -1, dtype=np.intp)
        chosen[:, clique] = owner
        for child in tree.tree.children[clique]:
            tree.deadline.check()
            below, below_chosen, block = finished.pop(child)
            starts = np.searchsorted(block, np.arange(len(tree.separators[child]) + 1))
            separator = tree.outward[child][owner]
            if int((starts[separator + 1] - starts[separator]).sum()) > limit:
                raise TooManyVectorsError
            rows, places = paired(starts, separator)
            vectors, owner = combine(vectors[rows], below[places]), owner[rows]
            chosen = np.maximum(chosen[rows], below_chosen[places])
            examined += len(rows)
            left = np.flatnonzero(vectors.any(axis=1))
            left = left[prune(vectors[left], owner[left])]
            vectors, owner, chosen = vectors[left], owner[left], chosen[left]
        tree.deadline.check()
        block = tree.inward[clique][owner]
        order = np.argsort(block, kind="stable")
        order = order[vectors[order].any(axis=1)]
        left = order[prune(vectors[order], block[order])]
        examined += len(order)
        finished[clique] = vectors[left], chosen[left], block[left]
    vectors, chosen, _ = finished[0]
    return VectorSet(vectors, chosen, examined)


def distinct_positions(vectors: FloatArray, block: IndexArray) -> IndexArray:
    """Return the first of equal vectors in each block, ascending, so that blocks stay in order."""
    if not len(vectors):
        return np.zeros(0, dtype=np.intp)
    _, first = np.unique(np.column_stack((block, vectors)), axis=0, return_index=True)
    return np.sort(first)


def _within_blocks(block: IndexArray, chosen: Callable[[IndexArray], IndexArray]) -> IndexArray:
    """Return the positions that are chosen in each block, ascending. chosen: from positions to some of their places."""
    order = np.argsort(block, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(block[order])) + 1)
    selected = [positions if len(positions) == 1 else positions[chosen(positions)] for positions in blocks]
    return np.sort(np.concatenate(selected))


def minimal_within(vectors: FloatArray, block: IndexArray, deadline: Deadline = NEVER) -> IndexArray:
    """Return for each block the vectors that no other vector of it is at most, everywhere; of equal ones the first.
    Ascending.

    Time O(n * minimal). Raises TimeOverError when the deadline comes first.
    """
    distinct = distinct_positions(vectors, block)

    def minimal(positions: IndexArray) -> IndexArray:
        among = vectors[distinct[positions]]
        remaining, minimal_places = np.argsort(among.sum(axis=1), kind="stable"), []
        while len(remaining):
            deadline.check()
            lowest, remaining = remaining[0], remaining[1:]
            minimal_places.append(lowest)
            remaining = remaining[(among[remaining] < among[lowest]).any(axis=1)]
        return np.array(minimal_places, dtype=np.intp)

    return distinct[_within_blocks(block[distinct], minimal)]


# Hull pruning: maxent diversity by vector sets that keep extreme points only (KG06 Algorithm 1, Theorem 7.1).
#
# It is valid for every criterion that merging passing classes cannot break. A vector that is a nonnegative combination of
# others in its block fails only if one of them fails, and multiplication preserves this. A linear program (HiGHS) finds the
# combination, because a convex hull in 14 dimensions does not finish. A vector is dropped only if the combination of the
# program reproduces it.


_RESIDUAL = 1e-13
"""Largest error of a combination, relative to a sum of 1, at which the vector is dropped."""


_PROGRAM = 25
"""Vectors that cost as much as one linear program."""


def extreme_positions(vectors: FloatArray, spend: Callable[[], None] = lambda: None) -> IndexArray:
    """Return the vectors that are no nonnegative combination of others, and of parallel ones the first; ascending.

    vectors: shape (n, values), nonnegative, no row all 0. In doubt a vector is kept. spend: called before programs.
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


def by_hull(tree: SensitiveTree, diversity: Diversity, budget: Budget = FULL) -> Outcome:
    """Decide any criterion that merging cannot break, by vectors of extreme combinations (KG06 Algorithm 1).

    Undecided if the vectors of a step or the linear programs exceed the budget.

    Parameters
    ----------
    tree
        Cliques with the sensitive attribute.
    diversity
        The criterion, decided `among` the tree's values.
    budget
        Work that the check may do.
    """
    programs, judge = count(1), Judge(tree, diversity)

    def spend() -> None:
        tree.deadline.check()
        if next(programs) * _PROGRAM > budget.vectors:
            raise TooManyVectorsError

    def extreme(vectors: FloatArray, block: IndexArray) -> IndexArray:
        return _within_blocks(block, lambda positions: extreme_positions(vectors[positions], spend))

    try:
        # Near the boundary of the criterion, where a dropped vector could matter, all distinct vectors are judged.
        for prune in (extreme, distinct_positions):
            result = work_up(tree, tree.conditional_factors, np.multiply, prune, budget.vectors)
            judge.look_at(result.chosen, result.vectors)
            if judge.fails or judge.slack > BOUNDARY:
                break
    except TooManyVectorsError:
        return Outcome(Verdict.UNDECIDED, judge.combination, budget.vectors, proven_worst=False)
    return replace(judge.outcome(), examined=result.examined)


# Supports: maxent diversity by the number of values (KG06 section 7).
#
# Each clique marks the values for which a class has rows, and a class combination has the values that all its cliques mark.
# Vectors of marks that include another's are dropped, because fewer marks are worse.


def by_supports(tree: SensitiveTree, least: int, limit: int = FULL.vectors) -> Outcome:
    """Decide exactly whether every class combination has at least `least` values.

    Undecided if a step would make more than `limit` vectors.
    """
    marks = [(factor > 0).astype(np.float64) for factor in tree.conditional_factors]
    try:
        worked_up = work_up(tree, marks, np.minimum, partial(minimal_within, deadline=tree.deadline), limit)
    except TooManyVectorsError:
        return Outcome(Verdict.UNDECIDED, None, limit, proven_worst=False)
    numbers = worked_up.vectors.sum(axis=1)
    lowest = tuple(worked_up.chosen[int(numbers.argmin())].tolist()) if len(numbers) else None
    return Outcome(verdict_of(bool((numbers >= least).all())), lowest, worked_up.examined, proven_worst=True)


# Pairwise ratios: maxent diversity with a tail of one value (KG06 section 7).
#
# With l as large as the number of sensitive values, recursive (c, l)-diversity bounds the ratio of any two values. The
# largest ratio of each ordered pair over all class combinations comes from one max-product pass along the tree; no
# join. Branch and bound would have to look at every combination with a ratio of exactly c.


def pairwise_ratios(tree: SensitiveTree, bound: ShareBound) -> Outcome:
    """Decide a bound on the ratio of any two values. Linear in the total size of the cliques.

    Ratios near the bound are decided by the same pass with fractions.
    """
    values = len(tree.labels)
    if values < 2:
        return Outcome(Verdict.HOLDS, None, 0, proven_worst=True)
    log_tree = LogTree(tree)
    lowest = log_tree.least_ratios()
    np.fill_diagonal(lowest, np.inf)
    tail, head = divmod(int(lowest.T.argmin()), values)[::-1]
    combination = tuple(log_tree.minimizers(np.eye(values)[:, [tail]] - np.eye(values)[:, [head]])[0].tolist())
    logarithm = log(bound.head_weight.numerator) - log(bound.head_weight.denominator)
    slack = np.expm1(np.clip(lowest - logarithm, -700, 700))
    fails = bool(np.any(slack < -BOUNDARY)) or any(
        bound.head_weight * ratio > 1 or (bound.strict and bound.head_weight * ratio == 1)
        for ratio in (_largest_ratio(tree, *pair) for pair in np.argwhere(np.abs(slack.T) <= BOUNDARY).tolist())
    )
    return Outcome(verdict_of(not fails), combination, values * (values - 1), proven_worst=True)


def _largest_ratio(tree: SensitiveTree, head: int, tail: int) -> Fraction | float:
    """Return the largest ratio of two values by max-product, in fractions; 0 if the head vanishes, maybe infinite."""

    def ratios(clique: int) -> NDArray[np.object_]:
        exact = (tree.exact_factor(clique, position) for position in range(len(tree.classes[clique])))
        ratio_list = [(row[head] / row[tail] if row[tail] else inf) if row[head] else 0 for row in exact]
        return np.array(ratio_list, dtype=object)

    arriving = tree.messages(
        ratios, np.frompyfunc(lambda one, other: one * other if one and other else 0, 2, 1), np.maximum
    )
    largest: Fraction | float = max(arriving[0].tolist())
    return largest
