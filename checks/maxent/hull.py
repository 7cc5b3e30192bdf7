"""Maxent diversity by sets of vectors that are worked up the junction tree, and by ratios of two values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from checks.diversity.criterion import BOUNDARY, Diversity, LargestRatio
from checks.diversity.text import spelled
from checks.errors import CriterionError
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


def groups(*keys: IndexArray) -> list[IndexArray]:
    """Positions with equal keys, as one array for each combination of keys."""
    if not len(keys[0]):
        return []
    _, number = np.unique(np.column_stack(keys), axis=0, return_inverse=True)
    number = number.reshape(-1)
    order = np.argsort(number, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(number[order])) + 1)


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


# Hull pruning: maxent diversity by vector sets that keep extreme points only (KG06 Algorithm 1, Theorem 7.1).
#
# Valid for every criterion that merging passing classes cannot break: a vector that is a nonnegative combination of
# others in its block fails only where one of them fails, and stays such a combination whatever both are multiplied
# with. Whether a vector is one is asked of a linear program (HiGHS), since a convex hull in 14 dimensions does not
# finish; it is dropped only when the combination that the program names reproduces it.


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
        extremes = [positions[extreme_positions(vectors[positions], self._spend)] for positions in groups(block)]
        return np.sort(np.concatenate(extremes)) if extremes else np.zeros(0, dtype=np.intp)

    def _spend(self) -> None:
        self._deadline.check()
        self._left -= 1
        if self._left < 0:
            raise TooManyVectorsError


def by_hull(tree: SensitiveTree, diversity: Diversity, budget: Budget = FULL) -> Outcome:
    """Decide any criterion that merging cannot break.

    Undecided when the vectors of a step or the linear programs would be more than the budget has.
    """
    return judge_extremes(extreme_vectors(tree, budget), tree, diversity, budget)


def extreme_vectors(tree: SensitiveTree, budget: Budget = FULL) -> VectorSet | None:
    """The vectors of combinations that no others combine to, for all criteria; None when the budget has too little."""
    return _vector_set(tree, _ExtremeInBlocks(budget.programs, tree.deadline), budget)


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


def by_supports(tree: SensitiveTree, least: int, limit: int = FULL.vectors) -> Outcome:
    """Decide whether every class combination has at least `least` values, by sets of supports; exact.

    Undecided when a step would make more than `limit` of them.
    """
    factors = [(factor > 0).astype(np.float64) for factor in tree.conditional_factors]
    try:
        worked_up = work_up(tree, factors, np.minimum, distinct_positions, limit)
    except TooManyVectorsError:
        return Outcome(Verdict.UNDECIDED, None, limit, proven_worst=False)
    if not len(worked_up.vectors):
        return Outcome(Verdict.HOLDS, None, worked_up.examined, proven_worst=True)
    sizes = worked_up.vectors.sum(axis=1)
    lowest = int(sizes.argmin())
    combination = tuple(worked_up.chosen[lowest].tolist())
    return Outcome(verdict_of(bool(sizes[lowest] >= least)), combination, worked_up.examined, proven_worst=True)


# Relaxed maxent diversity: l values that are nearly as frequent as the most frequent one (KG06 section 7).
#
# With a relaxation epsilon and p cliques, each clique says of each class which values are at least (1 - epsilon) times
# as frequent as its most frequent one. A class combination in which l values are marked by all cliques has l values at
# least (1 - epsilon)^p times as frequent as its most frequent one. That is what holding means here; failing is no
# proof of the contrary. Vectors of marks that include another's are dropped, since fewer marks are worse.


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
            exact = _exact_factor(tree, clique, position)
            near[position, value] = exact[value] >= (1 - epsilon) * max(exact)
        marked.append(np.where(near, 1.0, _UNMARKED))
    return tuple(marked)


def _exact_factor(tree: SensitiveTree, clique: int, position: int) -> list[Fraction]:
    counts = tree.expanded(tree.classes[clique])[position].tolist()
    if not clique:
        return list(map(Fraction, counts))
    below = tree.expanded(tree.separators[clique])[tree.inward[clique][position]].tolist()
    return [Fraction(n) / Fraction(total) if n else Fraction(0) for n, total in zip(counts, below)]


def _fewest_marks(vectors: FloatArray, block: IndexArray) -> IndexArray:
    distinct = distinct_positions(vectors, block)
    minimal = [distinct[g[minimal_positions(vectors[distinct[g]])]] for g in groups(block[distinct])]
    return np.sort(np.concatenate(minimal)) if minimal else distinct


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


def relaxed_diversity(tree: SensitiveTree, least: int, epsilon: Fraction, limit: int = FULL.vectors) -> Outcome:
    """Whether every combination of classes has `least` values marked by all cliques.

    Undecided when a step would make more than `limit` vectors.
    """
    try:
        worked_up = work_up(tree, marks(tree, epsilon), np.minimum, _fewest_marks, limit)
    except TooManyVectorsError:
        return Outcome(Verdict.UNDECIDED, None, limit, proven_worst=False)
    if not len(worked_up.vectors):
        return Outcome(Verdict.HOLDS, None, worked_up.examined, proven_worst=True)
    number = (worked_up.vectors > _UNMARKED).sum(axis=1)
    lowest = int(number.argmin())
    combination = tuple(worked_up.chosen[lowest].tolist())
    return Outcome(verdict_of(bool(number[lowest] >= least)), combination, worked_up.examined, proven_worst=True)


# Pairwise ratios: maxent diversity where the tail is a single value (KG06 section 7).
#
# With l as large as the number of sensitive values, recursive (c, l)-diversity bounds the ratio of any two values. The
# largest ratio of each ordered pair over all class combinations comes from one max-product pass along the tree; no
# join.


def pairwise_ratios(tree: SensitiveTree, largest: LargestRatio) -> Outcome:
    """Decide a bound on the ratio of any two values. Linear in the total size of the cliques.

    Ratios near the bound are decided by the same pass with fractions.
    """
    values = len(tree.labels)
    log_tree = LogTree(tree)
    pairs = [(head, tail) for head in range(values) for tail in range(values) if head != tail]
    if not pairs:
        return Outcome(Verdict.HOLDS, None, 0, proven_worst=True)
    coefficients = np.zeros((values, len(pairs)))
    for column, (head, tail) in enumerate(pairs):
        coefficients[tail, column], coefficients[head, column] = 1, -1
    lowest = log_tree.minima(coefficients)
    combination = tuple(log_tree.minimizers(coefficients[:, [int(lowest.argmin())]])[0].tolist())
    slack = float(largest.c) * np.exp(np.clip(lowest, -700, 700)) - 1
    fails = bool(np.any(slack < -BOUNDARY))
    for pair in np.flatnonzero(np.abs(slack) <= BOUNDARY):
        fails = fails or not _passes_exactly(tree, largest, *pairs[pair])
    return Outcome(verdict_of(not fails), combination, len(pairs), proven_worst=True)


def _passes_exactly(tree: SensitiveTree, bound: LargestRatio, head: int, tail: int) -> bool:
    """Whether the largest ratio of two values stays below c, by max-product with fractions; infinite ratios break it."""
    arriving: list[list[Fraction | None]] = [[] for _ in tree.classes]
    for clique in reversed(range(len(tree.classes))):
        counts = tree.expanded(tree.classes[clique])
        separator = tree.expanded(tree.separators[clique])
        best: list[Fraction | None] = [None] * len(tree.separators[clique])
        for position, above in enumerate(tree.inward[clique].tolist()):
            a, b = (Fraction(int(counts[position, value])) for value in (head, tail))
            if clique:
                a, b = (n / int(separator[above, value]) if n else n for n, value in ((a, head), (b, tail)))
            below = [arriving[child][tree.outward[child][position]] for child in tree.tree.children[clique]]
            if a == 0 or any(ratio is None for ratio in below):
                continue
            if b == 0 or any(ratio is not None and ratio < 0 for ratio in below):
                best[above] = Fraction(-1)
                continue
            ratio = a / b
            for factor in below:
                ratio *= factor if factor is not None else 1
            best_above = best[above]
            if best_above is None or (best_above >= 0 and ratio > best_above):
                best[above] = ratio
        arriving[clique] = best
    ratios = [ratio for ratio in arriving[0] if ratio is not None]
    return all(ratio >= 0 and (ratio < bound.c or (not bound.strict and ratio == bound.c)) for ratio in ratios)
