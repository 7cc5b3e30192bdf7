"""Optimal disclosures: for each record the level of each attribute that serves an objective best (LSFB09 section 4).

Two searches that agree: brute force looks at every level vector; branch and bound splits boxes of level vectors, for
all records at once, and drops a record from a box where no vector can beat what it has. Both the most general and the
finest vector of a box bound it: generalizing lowers utility, sensitivity and, once an entry is consistent, the
probability of identification.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from checks.risk.dictionary import Dictionary, consistent_counts
from checks.risk.disclosure import Disclosure
from checks.risk.errors import DisclosureRuleError
from checks.risk.loss import Harm, as_distribution, expected_harm, record_weights, weighted_mean
from checks.risk.objective import Objective, is_better
from checks.risk.record import Records
from checks.risk.sensitivity import product
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray

Progress = Callable[[int, int], None]
"""Told how much of the work is done, and how much there is: level vectors, or those of each record."""


def unwatched(done: int, total: int) -> None:
    """Ignores progress."""


@dataclass(frozen=True, eq=False)
class DecisionProblem:
    """Records to be disclosed, record i about person i, before attackers with one of some dictionaries.

    prior: the probability of each dictionary; losses are expected over it. Where it is None the loss of a record is the
    largest over the dictionaries, each record facing the one that is worst for it. The mean of these losses is no less
    than the largest risk over the dictionaries, which the minimax rules of section 4 minimize; for one record it is that.
    harm: its sensitivities must not grow when a value is generalized, as those of the modified harmonic mean do not. steps:
    what a step from the root is worth in each attribute; 1 where nothing is said. weights: how often each record counts in
    means over the records, shape (records,); once where nothing is said. Raises DisclosureRuleError.
    """

    originals: Records
    dictionaries: tuple[Dictionary, ...]
    harm: Harm
    prior: tuple[float, ...] | None = (1.0,)
    steps: tuple[float, ...] | None = None
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        if not len(self.originals):
            raise DisclosureRuleError("there are no records to disclose")
        if self.prior is not None:
            as_distribution(np.asarray(self.prior, dtype=np.float64), len(self.dictionaries), "dictionary")
        elif not self.dictionaries:
            raise DisclosureRuleError("a worst case needs at least one dictionary")
        if self.weights is not None:
            object.__setattr__(self, "weights", record_weights(self.weights, len(self.originals)))
        if self.steps is not None and (len(self.steps) != len(self.originals.space) or min(self.steps) < 0):
            raise DisclosureRuleError("a step is worth a number that is not negative, one for each attribute")

    @cached_property
    def _cells(self) -> tuple[Records, IndexArray]:
        return self.originals.distinct()

    @cached_property
    def _finest_counts(self) -> tuple[CountArray, ...]:
        """By dictionary, how many entries are consistent with each original record."""
        return tuple(self.counts(np.arange(len(self.originals)), self.originals.space.heights * 0))

    def counts(self, rows: IndexArray, levels: IndexArray) -> Iterator[CountArray]:
        """By dictionary, how many entries are consistent with some records at a level vector: shape (rows,)."""
        cells, cell_of = self._cells
        needed, place = np.unique(cell_of[rows], return_inverse=True)
        generalized = cells[needed].generalized(levels)
        for dictionary in self.dictionaries:
            yield consistent_counts(generalized, dictionary)[place]

    def utility(self, rows: IndexArray, levels: IndexArray) -> FloatArray:
        """The utility of some records at a level vector: shape (rows,)."""
        return self._worth(
            rows, levels, np.ones(len(self.originals.space)) if self.steps is None else np.array(self.steps)
        )

    def step_count(self, rows: IndexArray, levels: IndexArray) -> FloatArray:
        """How many steps below `*` the values of some records are at a level vector, all together: shape (rows,)."""
        return self._worth(rows, levels, np.ones(len(self.originals.space)))

    def _worth(self, rows: IndexArray, levels: IndexArray, worth: FloatArray) -> FloatArray:
        of_all = self.originals.level_vector
        if of_all is not None:
            return np.full(len(rows), (self.originals.space.heights - np.maximum(of_all, levels)) @ worth)
        disclosed = np.maximum(self.originals.levels[rows], levels)
        return np.asarray((self.originals.space.heights - disclosed) @ worth, dtype=np.float64)

    def loss(self, rows: IndexArray, levels: IndexArray) -> FloatArray:
        """The loss of some records at a level vector, expected over the dictionaries or the largest: shape (rows,)."""
        return self._loss(self.originals[rows].generalized(levels), rows, self.counts(rows, levels))

    def _loss(self, disclosed: Records, people: IndexArray, counts: Iterable[CountArray]) -> FloatArray:
        return self.averaged([self.harm.loss(disclosed, people, of_dictionary) for of_dictionary in counts])

    def loss_and_bound(self, rows: IndexArray, levels: IndexArray) -> tuple[FloatArray, FloatArray]:
        """The loss at a level vector, and a lower bound of that at any finer one: shape (rows,) each.

        Finer values are no less sensitive and no less telling, but may rule out every entry, which identifies nobody.
        """
        disclosed = self.originals[rows].generalized(levels)
        identified, missed = self.harm.identified(disclosed, rows), self.harm.missed(disclosed, rows)
        exact, lower = [], []
        for counts, finest in zip(self.counts(rows, levels), self._finest_counts):
            exact.append(expected_harm(identified, missed, counts))
            # The loss is linear in the probability of identification, so that one of its ends is the least.
            least = np.where(finest[rows] > 0, 1.0 / np.maximum(counts, 1), 0.0)
            most = 1.0 / np.maximum(finest[rows], 1)
            ends = [product(p, identified) + product(1.0 - p, missed) for p in (least, most)]
            lower.append(np.minimum(np.minimum(*ends), exact[-1]))
        return self.averaged(exact), self.averaged(lower)

    def averaged(self, parts: Sequence[FloatArray]) -> FloatArray:
        """What is expected over the dictionaries of what is so under each, or the largest of it: shape (rows,)."""
        if len(parts) == 1:
            return parts[0]
        if self.prior is None:
            return np.asarray(np.max(parts, axis=0))
        weights = np.array(self.prior, dtype=np.float64)[:, None]
        return np.asarray(product(weights, np.stack(parts)).sum(axis=0), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best disclosure found for each record.

    disclosure: with everything suppressed where nothing is allowed. allowed: whether something is, shape (records,).
    loss, utility: shape (records,). evaluated: how many losses of a record at a level vector were computed. weights: how
    often each record counts in means, shape (records,); once where it is None.
    """

    disclosure: Disclosure
    allowed: BoolArray
    loss: FloatArray
    utility: FloatArray
    evaluated: int
    weights: FloatArray | None = None

    def of_rows(self, problem: DecisionProblem, cell_of: IndexArray) -> "Optimum":
        """The same for all records of a problem, of which it knows the distinct ones. cell_of: which of them each is."""
        return Optimum(
            Disclosure(problem.originals, self.disclosure.levels[cell_of]),
            self.allowed[cell_of],
            self.loss[cell_of],
            self.utility[cell_of],
            self.evaluated,
            problem.weights,
        )

    @property
    def risk(self) -> float:
        """Mean loss."""
        return weighted_mean(self.loss, self.weights)

    @property
    def mean_utility(self) -> float:
        """Mean utility."""
        return weighted_mean(self.utility, self.weights)


def brute_force(problem: DecisionProblem, objective: Objective) -> Optimum:
    """The best of all level vectors for each record. The reference: O(records * vectors)."""
    best = _Incumbent(problem, objective)
    rows = np.arange(len(problem.originals))
    for levels in problem.originals.space.level_vectors():
        best.offer(rows, levels, problem.loss(rows, levels))
    return best.optimum()


def branch_and_bound(problem: DecisionProblem, objective: Objective, progress: Progress = unwatched) -> Optimum:
    """The same scores from as few losses as the bounds leave.

    Equal records are looked at once, where the harm does not depend on whom they are about. progress: of pairs of a record
    that is looked at and a level vector.
    """
    if problem.harm.is_personal:
        return _searched(problem, objective, progress)
    cells, cell_of = problem.originals.distinct()
    return _searched(replace(problem, originals=cells, weights=None), objective, progress).of_rows(problem, cell_of)


def _searched(problem: DecisionProblem, objective: Objective, progress: Progress) -> Optimum:
    best = _Incumbent(problem, objective)
    rows, heights = np.arange(len(problem.originals)), problem.originals.space.heights
    waiting = [_Box(heights * 0, heights.copy(), rows, None)]
    everything = waiting[0].pairs
    while waiting:
        box = waiting.pop()
        progress(everything - box.pairs - sum(other.pairs for other in waiting), everything)
        none = np.zeros(len(box.rows)) if box.bound is None else box.bound
        box = box.of(best.could_be_beaten(box.rows, none, box.fine))
        if len(box.rows) and box.bound is None:
            loss, bound = problem.loss_and_bound(box.rows, box.coarse)
            best.offer(box.rows, box.coarse, loss)
            box = replace(box, bound=bound).of(best.could_be_beaten(box.rows, bound, box.fine))
        if len(box.rows) and np.any(box.fine < box.coarse):
            waiting.extend(box.halves())
    progress(everything, everything)
    return best.optimum()


@dataclass(frozen=True, eq=False)
class _Box:
    """All level vectors between two, for some records. bound: of their losses in it, None before that is known."""

    fine: IndexArray
    coarse: IndexArray
    rows: IndexArray
    bound: FloatArray | None

    @property
    def pairs(self) -> int:
        """How many level vectors of its records it holds."""
        return int(prod((self.coarse - self.fine + 1).tolist())) * len(self.rows)

    def of(self, kept: BoolArray) -> "_Box":
        """The same for some of the records."""
        return replace(self, rows=self.rows[kept], bound=None if self.bound is None else self.bound[kept])

    def halves(self) -> Iterator["_Box"]:
        """The box cut across its widest side; the coarser half comes last, and knows its bound already."""
        axis = int(np.argmax(self.coarse - self.fine))
        middle = (self.fine[axis] + self.coarse[axis]) // 2
        lower, upper = self.coarse.copy(), self.fine.copy()
        lower[axis], upper[axis] = middle, middle + 1
        yield replace(self, coarse=lower, bound=None)
        yield replace(self, fine=upper)


class _Incumbent:
    """The best level vector so far, record by record."""

    def __init__(self, problem: DecisionProblem, objective: Objective) -> None:
        length = len(problem.originals)
        self._problem, self._objective = problem, objective
        self._scores = np.full((4, length), np.inf)
        self._levels = np.tile(problem.originals.space.heights, (length, 1))
        self._loss, self._utility = np.full(length, np.nan), np.full(length, np.nan)
        self._evaluated = 0

    def could_be_beaten(self, rows: IndexArray, loss: FloatArray, fine: IndexArray) -> BoolArray:
        """Whether no more than this loss, with what these levels show, would be better, and allowed."""
        score, _ = self._scored(rows, fine, loss)
        return np.asarray((score[0] == 0) & is_better(score, self._scores[:, rows]))

    def _scored(self, rows: IndexArray, levels: IndexArray, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The scores of a level vector with some losses, and its utilities."""
        utility = self._problem.utility(rows, levels)
        steps = utility if self._problem.steps is None else self._problem.step_count(rows, levels)
        return self._objective.score(loss, utility, steps), utility

    def offer(self, rows: IndexArray, levels: IndexArray, loss: FloatArray) -> None:
        """Take a level vector where it is better."""
        score, utility = self._scored(rows, levels, loss)
        better = (score[0] == 0) & is_better(score, self._scores[:, rows])
        taken = rows[better]
        self._scores[:, taken] = score[:, better]
        self._levels[taken] = levels
        self._loss[taken], self._utility[taken] = loss[better], utility[better]
        self._evaluated += len(rows)

    def optimum(self) -> Optimum:
        """What was best. Records for which nothing was allowed are suppressed."""
        allowed = self._scores[0] == 0
        left = np.flatnonzero(~allowed)
        if len(left):
            suppressed = self._problem.originals.space.heights
            self._loss[left] = self._problem.loss(left, suppressed)
            self._utility[left] = self._problem.utility(left, suppressed)
        disclosure = Disclosure(self._problem.originals, self._levels)
        weights = self._problem.weights
        return Optimum(disclosure, allowed, self._loss, self._utility, self._evaluated, weights)
