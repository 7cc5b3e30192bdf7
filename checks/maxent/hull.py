"""Maxent diversity by sets of vectors that are worked up the junction tree, and by ratios of two values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import count, permutations
from math import inf, prod
from typing import Any

import numpy as np

from checks.diversity.criterion import BOUNDARY, Diversity, ShareBound
from checks.diversity.text import spelled
from checks.finding import FULL, Budget, Verdict, verdict_of
from checks.maxent.sensitive_tree import Combine, FittingClasses, LogTree, Outcome, SensitiveTree
from models.arrays import BoolArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline

# Sets of vectors worked up a junction tree: what the join would enumerate, pruned on the way (KG06 Algorithm 1).
#
# Each clique keeps, for each of its classes, the vectors that its subtree can contribute; classes that look the same
# to the rest of the tree (one separator class) share a block, and within a block a pruning drops what cannot matter.


Prune = Callable[[FloatArray, IndexArray], IndexArray]
"""From vectors, shape (n, values), and the number of each one's block, ascending, to the positions to keep."""

Doomed = Callable[[int, FloatArray, IndexArray], BoolArray]
"""Which of a clique's finished vectors, given their separator classes, no rest of the tree can make matter."""


class TooManyVectorsError(Exception):
    """The sets have outgrown their limit; the answer is undecided."""


@dataclass(frozen=True, eq=False)
class VectorSet:
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
    doomed: Doomed | None = None,
) -> VectorSet:
    """The vectors that are left at the root.

    Raises TooManyVectorsError when a step would make more than `limit`, TimeOverError when the tree's deadline comes.
    """
    cliques = len(tree.classes)
    finished: dict[int, tuple[FloatArray, IndexArray, IndexArray]] = {}
    examined = 0
    for clique in reversed(range(cliques)):
        tree.deadline.check()
        owner: IndexArray = np.arange(len(tree.classes[clique]))
        vectors = factors[clique]
        chosen = np.full((len(owner), cliques), -1, dtype=np.intp)
        chosen[:, clique] = owner
        for child in tree.tree.children[clique]:
            below, below_chosen, block = finished.pop(child)
            tree.deadline.check()
            separator_rows = tree.outward[child][owner]
            starts = np.searchsorted(block, np.arange(len(tree.separators[child]) + 1))
            size = starts[separator_rows + 1] - starts[separator_rows]
            if int(size.sum()) > limit:
                raise TooManyVectorsError
            rows = np.repeat(np.arange(len(owner)), size)
            within = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
            joined = np.repeat(starts[separator_rows], size) + within
            vectors, owner = combine(vectors[rows], below[joined]), owner[rows]
            chosen = np.maximum(chosen[rows], below_chosen[joined])
            examined += len(rows)
            places = np.flatnonzero(vectors.any(axis=1))
            places = places[prune(vectors[places], owner[places])]
            vectors, owner, chosen = vectors[places], owner[places], chosen[places]
        block = tree.inward[clique][owner]
        order = np.argsort(block, kind="stable")
        order = order[vectors[order].any(axis=1)]
        if doomed is not None:
            order = order[~doomed(clique, vectors[order], block[order])]
        places = order[prune(vectors[order], block[order])]
        examined += len(order)
        finished[clique] = vectors[places], chosen[places], block[places]
    vectors, chosen, _ = finished[0]
    return VectorSet(vectors, chosen, examined)


def distinct_positions(vectors: FloatArray, block: IndexArray) -> IndexArray:
    """The first of equal vectors in each block, ascending, so that blocks stay in order."""
    if not len(vectors):
        return np.zeros(0, dtype=np.intp)
    _, first = np.unique(np.column_stack((block, vectors)), axis=0, return_index=True)
    return np.sort(first)


def _within_blocks(block: IndexArray, chosen: Callable[[IndexArray], IndexArray]) -> IndexArray:
    """The positions that are chosen of those in each block, ascending. chosen: from positions to some of their places."""
    order = np.argsort(block, kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(block[order])) + 1)
    kept = [positions if len(positions) == 1 else positions[chosen(positions)] for positions in blocks]
    return np.sort(np.concatenate(kept))


def minimal_positions(vectors: FloatArray, deadline: Deadline = NEVER) -> IndexArray:
    """The vectors that no other is at most, everywhere; of equal ones the first. O(n * minimal).

    Raises TimeOverError when the deadline comes before.
    """
    order = np.argsort(vectors.sum(axis=1), kind="stable")
    remaining, minimal = order, []
    while len(remaining):
        deadline.check()
        lowest = remaining[0]
        minimal.append(lowest)
        remaining = remaining[1:][(vectors[remaining[1:]] < vectors[lowest]).any(axis=1)]
    return np.sort(np.array(minimal, dtype=np.intp))


def minimal_within(vectors: FloatArray, block: IndexArray, deadline: Deadline = NEVER) -> IndexArray:
    """Of each block the vectors that no other of it is at most, everywhere; ascending."""
    distinct = distinct_positions(vectors, block)
    return distinct[_within_blocks(block[distinct], lambda own: minimal_positions(vectors[distinct[own]], deadline))]


# Hull pruning: maxent diversity by vector sets that keep extreme points only (KG06 Algorithm 1, Theorem 7.1).
#
# Valid for every criterion that merging passing classes cannot break: a vector that is a nonnegative combination of
# others in its block fails only where one of them fails, and stays such a combination whatever both are multiplied
# with. Whether a vector is one is asked of a linear program (HiGHS), since a convex hull in 14 dimensions does not
# finish; it is dropped only when the combination that the program names reproduces it.


_RESIDUAL = 1e-13
"""How far a combination may miss a vector, relative to a sum of 1, that is dropped for it."""


_PROGRAM = 25
"""Vectors that cost as much as one linear program."""


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


def by_hull(tree: SensitiveTree, diversity: Diversity, budget: Budget = FULL) -> Outcome:
    """Decide any criterion that merging cannot break.

    Undecided when the vectors of a step or the linear programs would be more than the budget has.
    """
    return judge_extremes(extreme_vectors(tree, budget), tree, diversity, budget)


def extreme_vectors(tree: SensitiveTree, budget: Budget = FULL) -> VectorSet | None:
    """The vectors of combinations that no others combine to, for all criteria; None when the budget has too little."""
    programs = count(1)

    def spend() -> None:
        tree.deadline.check()
        if next(programs) * _PROGRAM > budget.vectors:
            raise TooManyVectorsError

    def extreme(vectors: FloatArray, block: IndexArray) -> IndexArray:
        return _within_blocks(block, lambda positions: extreme_positions(vectors[positions], spend))

    return _vector_set(tree, extreme, budget)


def judge_extremes(
    extremes: VectorSet | None, tree: SensitiveTree, diversity: Diversity, budget: Budget = FULL
) -> Outcome:
    """Decide a criterion by the extreme vectors of a tree.

    Near the boundary of the criterion, where a dropped vector could matter, all that differ are judged.
    """
    if extremes is None:
        return Outcome(Verdict.UNDECIDED, None, budget.vectors, proven_worst=False)
    outcome, is_close = _judged(extremes, tree, diversity)
    if is_close and outcome.verdict is Verdict.HOLDS:
        whole = _vector_set(tree, distinct_positions, budget)
        if whole is None:
            return Outcome(Verdict.UNDECIDED, outcome.combination, budget.vectors, proven_worst=False)
        return _judged(whole, tree, diversity)[0]
    return outcome


def _vector_set(tree: SensitiveTree, prune: Prune, budget: Budget) -> VectorSet | None:
    """The vectors that are left at the root; None when the sets outgrow the budget."""
    try:
        return work_up(tree, tree.conditional_factors, np.multiply, prune, budget.vectors)
    except TooManyVectorsError:
        return None


def _judged(worked_up: VectorSet, tree: SensitiveTree, diversity: Diversity) -> tuple[Outcome, bool]:
    """The outcome, and whether some vector is near the boundary."""
    if not len(worked_up.vectors):
        return Outcome(Verdict.HOLDS, None, worked_up.examined, proven_worst=True), False
    slack = diversity.slack(worked_up.vectors)
    close = np.flatnonzero(np.abs(slack) <= BOUNDARY)
    fails = bool(np.any(slack < -BOUNDARY)) or any(
        not diversity.decide(tree.exact_vector(worked_up.chosen[position].tolist())) for position in close
    )
    combination = tuple(worked_up.chosen[int(slack.argmin())].tolist())
    return Outcome(verdict_of(not fails), combination, worked_up.examined, proven_worst=True), bool(len(close))


# Fewest marks: maxent diversity where values count, or do not (KG06 section 7).
#
# Each clique marks some values of each class, and a class combination has those that all of its cliques mark: the values
# with rows, for a demand of so many different ones. For relaxed diversity, with a relaxation epsilon and p cliques, these
# are the values at least (1 - epsilon) times as frequent as the most frequent one. A combination in which l values are
# marked by all has l values at least (1 - epsilon)^p times as frequent as its most frequent one. That is what holding means
# there; failing is no proof of the contrary. Vectors of marks that include another's are dropped, since fewer are worse.


_UNMARKED = 1e-300
"""Stands for a mark of 0 where a combination without a mark is the worst there is and may not be dropped as empty."""


def by_supports(tree: SensitiveTree, least: int, limit: int = FULL.vectors) -> Outcome:
    """Decide whether every class combination has at least `least` values; exact.

    Undecided when a step would make more than `limit` vectors.
    """
    return _fewest_marks(tree, [(factor > 0).astype(np.float64) for factor in tree.conditional_factors], least, limit)


def relaxed_diversity(tree: SensitiveTree, least: int, epsilon: Fraction, limit: int = FULL.vectors) -> Outcome:
    """Whether every combination of classes has `least` values marked by all cliques.

    Undecided when a step would make more than `limit` vectors.
    """
    marked = []
    for clique, factor in enumerate(tree.conditional_factors):
        bound = float(1 - epsilon) * factor.max(axis=1, keepdims=True)
        near = factor >= bound
        for position, value in np.argwhere(np.abs(factor - bound) <= BOUNDARY * bound).tolist():
            exact = tree.exact_factor(clique, position)
            near[position, value] = exact[value] >= (1 - epsilon) * max(exact)
        marked.append(np.where(near, 1.0, _UNMARKED))
    return _fewest_marks(tree, marked, least, limit)


def _fewest_marks(tree: SensitiveTree, marks: Sequence[FloatArray], least: int, limit: int) -> Outcome:
    try:
        worked_up = work_up(tree, marks, np.minimum, partial(minimal_within, deadline=tree.deadline), limit)
    except TooManyVectorsError:
        return Outcome(Verdict.UNDECIDED, None, limit, proven_worst=False)
    if not len(worked_up.vectors):
        return Outcome(Verdict.HOLDS, None, worked_up.examined, proven_worst=True)
    numbers = (worked_up.vectors > _UNMARKED).sum(axis=1)
    lowest = int(numbers.argmin())
    combination = tuple(worked_up.chosen[lowest].tolist())
    return Outcome(verdict_of(bool(numbers[lowest] >= least)), combination, worked_up.examined, proven_worst=True)


@dataclass(frozen=True)
class NearTheTop(Diversity):
    """At least l values are `share` times as frequent as the most frequent one, or more. Reached: the share of the l-th.

    Merging classes does not keep it: it is no demand of a policy.
    """

    l: int
    share: Fraction

    def __str__(self) -> str:
        return f"{self.l} values at least {spelled(self.share)} times as frequent as the most frequent one"

    def slack(self, vectors: FloatArray) -> FloatArray:
        """The share reached less that demanded."""
        return self.reached(vectors) - float(self.share)

    def reached(self, vectors: FloatArray) -> FloatArray:
        """How frequent the l-th most frequent value is beside the first; 0 where there are not so many."""
        if vectors.shape[1] < self.l:
            return np.zeros(len(vectors))
        ordered = -np.sort(-np.asarray(vectors, dtype=np.float64), axis=1)
        return np.asarray(ordered[:, self.l - 1] / ordered[:, 0])

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        least = self.share * max(vector)
        return sum(value >= least for value in vector) >= self.l


# Pairwise ratios: maxent diversity where the tail is a single value (KG06 section 7).
#
# With l as large as the number of sensitive values, recursive (c, l)-diversity bounds the ratio of any two values. The
# largest ratio of each ordered pair over all class combinations comes from one max-product pass along the tree; no
# join. Branch and bound would have to look at every combination with a ratio of exactly c.


def pairwise_ratios(tree: SensitiveTree, bound: ShareBound) -> Outcome:
    """Decide a bound on the ratio of any two values. Linear in the total size of the cliques.

    Ratios near the bound are decided by the same pass with fractions.
    """
    values = len(tree.labels)
    log_tree, pairs = LogTree(tree), list(permutations(range(values), 2))
    if not pairs:
        return Outcome(Verdict.HOLDS, None, 0, proven_worst=True)
    heads, tails = np.array(pairs).T
    coefficients = np.eye(values)[:, tails] - np.eye(values)[:, heads]
    lowest = log_tree.minima(coefficients)
    combination = tuple(log_tree.minimizers(coefficients[:, [int(lowest.argmin())]])[0].tolist())
    slack = np.exp(np.clip(lowest, -700, 700)) / float(bound.head_weight) - 1
    close = [pairs[place] for place in np.flatnonzero(np.abs(slack) <= BOUNDARY)]
    fails = bool(np.any(slack < -BOUNDARY)) or any(
        bound.head_weight * ratio > 1 or (bound.strict and bound.head_weight * ratio == 1)
        for ratio in (_largest_ratio(tree, *pair) for pair in close)
    )
    return Outcome(verdict_of(not fails), combination, len(pairs), proven_worst=True)


def _largest_ratio(tree: SensitiveTree, head: int, tail: int) -> Fraction | float:
    """The largest ratio of two values, by max-product with fractions; 0 if the head always vanishes, maybe infinite."""
    arriving: list[list[Fraction | float]] = [[] for _ in tree.classes]
    for clique in reversed(range(len(tree.classes))):
        best: list[Fraction | float] = [0] * len(tree.separators[clique])
        for position, above in enumerate(tree.inward[clique].tolist()):
            factor = tree.exact_factor(clique, position)
            ratios = [arriving[child][tree.outward[child][position]] for child in tree.tree.children[clique]]
            if factor[head] and all(ratios):
                is_finite = factor[tail] and inf not in ratios
                best[above] = max(best[above], prod(ratios, start=factor[head] / factor[tail]) if is_finite else inf)
        arriving[clique] = best
    return arriving[0][0]
