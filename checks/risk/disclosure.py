"""Disclosing records, each value at a level of its own: under rules, or as serves an objective best (LSFB09)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.errors import DisclosureRuleError, IncomparableError
from checks.risk.attackers import (
    Dictionary,
    DictionaryPart,
    Records,
    RecordSpace,
    consistent_counts,
    distance_from_root,
)
from checks.risk.harm import (
    Constant,
    Harm,
    LeastRisk,
    MostUtility,
    Multiplicative,
    Objective,
    Sensitivity,
    as_distribution,
    expected_harm,
    is_better,
    losses,
    product,
    record_weights,
    risk,
    weighted_mean,
)
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray, read_only, whole_numbers
from models.tables.contingency_table import group, pack

# Disclosures: original records with the level at which each of their values is shown (LSFB09 section 7.1).
#
# Whom a rule is about is decided on the original records, and where several rules meet the highest level counts. So
# rules commute, and repeating one changes nothing (Proposition 3).


@dataclass(frozen=True, eq=False)
class Disclosure:
    """What is disclosed of some records. levels: at least that of each original value, shape (records, attributes).

    Raises DomainMismatchError for levels that are no whole numbers, DisclosureRuleError for others that do not fit.
    """

    originals: Records
    levels: IndexArray

    def __post_init__(self) -> None:
        levels = whole_numbers(self.levels, "levels").astype(np.intp)
        if levels.shape != self.originals.nodes.shape or np.any(levels > self.originals.space.heights):
            raise DisclosureRuleError("a disclosure needs a level for each value of each record, none above that of *")
        object.__setattr__(self, "levels", read_only(np.maximum(levels, self.originals.levels)))

    @classmethod
    def of(cls, originals: Records) -> "Disclosure":
        """All records as they are."""
        return cls(originals, originals.levels)

    @cached_property
    def records(self) -> Records:
        """The disclosed records, the paper's delta(x)."""
        return self.originals.generalized(self.levels)

    def level_counts(self) -> dict[str, list[int]]:
        """For each attribute how many records are disclosed at each of its levels, 0 first (LSFB09 Fig. 11)."""
        space = self.originals.space
        columns = zip(space.domain.attributes, space.heights.tolist(), self.levels.T)
        return {attribute: np.bincount(column, minlength=height + 1).tolist() for attribute, height, column in columns}


@dataclass(frozen=True, eq=False)
class Rule:
    """Show an attribute of some records at no finer level. rows: whether it is about each record, shape (records,)."""

    attribute: str
    rows: BoolArray
    level: int


def generalize(disclosure: Disclosure, attribute: str, condition: BoolArray, level: int) -> Disclosure:
    """Some records with an attribute at a level, or higher where it is so already (Definition 7).

    condition: whether a record is one of them, shape (records,); the paper's formula F selects the others.
    Raises DomainMismatchError for an unknown attribute, DisclosureRuleError for a level or condition that does not fit.
    """
    axis = disclosure.originals.space.domain.index(attribute)
    height = int(disclosure.originals.space.heights[axis])
    if isinstance(level, bool) or not isinstance(level, int | np.integer) or not 0 <= level <= height:
        raise DisclosureRuleError(f"{attribute!r} has the levels 0 to {height}, not {level!r}")
    rows = _checked(condition, len(disclosure.originals))
    levels = disclosure.levels.copy()
    levels[rows, axis] = np.maximum(levels[rows, axis], level)
    return replace(disclosure, levels=levels)


def hide(disclosure: Disclosure, attribute: str, condition: BoolArray) -> Disclosure:
    """Some records with an attribute suppressed (Definition 6). Arguments and errors as for `generalize`."""
    axis = disclosure.originals.space.domain.index(attribute)
    return generalize(disclosure, attribute, condition, int(disclosure.originals.space.heights[axis]))


def disclosed(originals: Records, rules: Sequence[Rule]) -> Disclosure:
    """The records with disclosure rules applied; the order of the rules does not matter."""
    disclosure = Disclosure.of(originals)
    for rule in rules:
        disclosure = generalize(disclosure, rule.attribute, rule.rows, rule.level)
    return disclosure


def _checked(condition: NDArray[Any], length: int) -> BoolArray:
    if condition.dtype != np.bool_ or condition.shape != (length,):
        raise DisclosureRuleError(f"a condition needs one truth value for each of {length} records")
    return condition


# Optimal disclosures: for each record the level of each attribute that serves an objective best (LSFB09 section 4).
#
# Two searches that agree: brute force looks at every level vector; branch and bound splits boxes of level vectors, for
# all records at once, and drops a record from a box where no vector can beat what it has. Both the most general and
# the finest vector of a box bound it: generalizing lowers utility, sensitivity and, once an entry is consistent, the
# probability of identification.


Progress = Callable[[int, int], None]
"""Told how much of the work is done, and how much there is: level vectors, or those of each record."""


def unwatched(done: int, total: int) -> None:
    """Ignores progress."""


@dataclass(frozen=True, eq=False)
class DecisionProblem:
    """Records to be disclosed, record i about person i, before attackers with one of some dictionaries.

    prior: the probability of each dictionary; losses are expected over it. Where it is None the loss of a record is the
    largest over the dictionaries, each record facing the one that is worst for it; `least_worst_risk` is about all together.
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
    often each record counts in means, shape (records,); once where it is None. bound: what no disclosure can beat, where
    this one is not proven to be best.
    """

    disclosure: Disclosure
    allowed: BoolArray
    loss: FloatArray
    utility: FloatArray
    evaluated: int
    weights: FloatArray | None = None
    bound: float | None = None

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

    def of(self, is_open: BoolArray) -> "_Box":
        """The same for some of the records."""
        return replace(self, rows=self.rows[is_open], bound=None if self.bound is None else self.bound[is_open])

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
        remaining_indices = np.flatnonzero(~allowed)
        if len(remaining_indices):
            suppressed = self._problem.originals.space.heights
            self._loss[remaining_indices] = self._problem.loss(remaining_indices, suppressed)
            self._utility[remaining_indices] = self._problem.utility(remaining_indices, suppressed)
        disclosure = Disclosure(self._problem.originals, self._levels)
        weights = self._problem.weights
        return Optimum(disclosure, allowed, self._loss, self._utility, self._evaluated, weights)


# Each record's own trade-offs of loss against utility: the lower convex hull, step by step, the cheapest step first.
#
# Means over records separate: at a price for utility each record takes its own best trade-off (LSFB09 eq. 9). As the
# price rises, records step along the lower convex hulls of their own pairs of loss and utility.


REMEMBERED = 1 << 26
"""Bytes of sensitivities that are kept, to be used again at level vectors that differ in other attributes."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of single records along their hulls, by rising price: shape (steps,) each.

    row: of which record. to: the utility that it reaches, by number. gain: in utility. price: the loss for each of it.
    """

    row: IndexArray
    to: IndexArray
    gain: FloatArray
    price: FloatArray


@dataclass(frozen=True, eq=False)
class Ladder:
    """The least loss of each record by utility, and how it is reached.

    utilities: those that occur, ascending. loss, vector: by record and utility the least loss, infinite where there is
    none, and the number of the level vector that has it, of several the one with most steps; shape (records, utilities).
    vectors: all level vectors. shares: of each record in means, 1 in all; shape (records,).
    """

    utilities: FloatArray
    loss: FloatArray
    vector: IndexArray
    vectors: IndexArray
    shares: FloatArray

    @classmethod
    def of(cls, problem: DecisionProblem, progress: Progress = unwatched) -> "Ladder":
        """The ladder of a problem, from all level vectors."""
        weights = np.ones(len(problem.originals)) if problem.weights is None else problem.weights
        shares = weights / weights.sum()
        if problem.harm.is_personal:
            return replace(cls._of_each(problem, progress), shares=shares)
        # Equal records have equal losses, and need them once.
        distinct, number = problem.originals.distinct()
        once = cls._of_each(replace(problem, originals=distinct, weights=None), progress)
        return replace(once, loss=once.loss[number], vector=once.vector[number], shares=shares)

    @classmethod
    def _of_each(cls, problem: DecisionProblem, progress: Progress) -> "Ladder":
        rows = np.arange(len(problem.originals))
        vectors = problem.originals.space.level_vectors()
        # Rounded, since sums of the same step weights in another order are the same utility.
        different = rows if problem.originals.level_vector is None else rows[:1]
        worth = [problem.utility(different, levels).round(9) for levels in vectors]
        utilities = np.unique(np.concatenate(worth))
        loss = np.full((len(utilities), len(rows)), np.inf)
        vector = np.zeros((len(utilities), len(rows)), dtype=np.intp)
        shown_steps = np.zeros((len(utilities), len(rows)))
        at = _Losses(problem)
        done = 0
        for alike in _same_counts(problem, vectors):
            counts = at.counts(vectors[alike[0]])
            for number in alike.tolist():
                losses = at.losses(vectors[number], counts)
                place = np.searchsorted(utilities, worth[number])
                at_place = (place[0],) if len(place) == 1 else (place, rows)
                better = losses < loss[at_place]
                if problem.steps is not None:
                    # Where all steps are worth the same, as much utility is as many steps.
                    steps = np.broadcast_to(problem.step_count(different, vectors[number]), rows.shape)
                    better |= (losses == loss[at_place]) & (steps > shown_steps[at_place])
                if len(place) == 1:
                    np.copyto(loss[place[0]], losses, where=better)
                    np.copyto(vector[place[0]], number, where=better)
                    if problem.steps is not None:
                        np.copyto(shown_steps[place[0]], steps, where=better)
                else:
                    loss[place[better], rows[better]] = losses[better]
                    vector[place[better], rows[better]] = number
                    if problem.steps is not None:
                        shown_steps[place[better], rows[better]] = steps[better]
            done += len(alike)
            progress(done, len(vectors))
        return cls(utilities, loss.T, vector.T, vectors, np.full(len(rows), 1 / len(rows)))

    @cached_property
    def place(self) -> IndexArray:
        """Where each record begins: the most useful among its least losses, as the number of a utility."""
        last = self.loss.shape[1] - 1
        return np.asarray(last - np.argmin(self.loss[:, ::-1], axis=1))

    def loss_at(self, place: IndexArray) -> FloatArray:
        """The loss of each record at a utility of its own, given by number."""
        return np.asarray(self.loss[np.arange(len(place)), place])

    @cached_property
    def steps(self) -> Steps:
        """All steps of all records, by rising price, those of one record in its order."""
        place, rows = self.place.copy(), np.arange(len(self.loss))
        parts: list[tuple[IndexArray, IndexArray, FloatArray, FloatArray]] = [(rows[:0], rows[:0], *np.zeros((2, 0)))]
        while len(rows):
            step, price = self._next(rows, place)
            moved = step >= 0
            rows, place, step = rows[moved], place[moved], step[moved]
            parts.append((rows, step, self.utilities[step] - self.utilities[place], price[moved]))
            place = step
        row, to, gain, price = map(np.concatenate, zip(*parts))
        order = np.argsort(price, kind="stable")
        return Steps(row[order], to[order], gain[order], price[order])

    def means(self, place: IndexArray) -> tuple[float, float]:
        """The mean utility and the risk when each record is at a utility of its own, given by number."""
        return float(self.shares @ self.utilities[place]), float(product(self.shares, self.loss_at(place)).sum())

    def after(self, count: int) -> IndexArray:
        """Where each record is after so many steps, as the number of a utility."""
        place = self.place.copy()
        # Of several steps of a record the last is assigned last, and reaches the most.
        place[self.steps.row[:count]] = self.steps.to[:count]
        return place

    def _next(self, rows: IndexArray, place: IndexArray) -> tuple[IndexArray, FloatArray]:
        """For each record the next vertex of its hull, -1 at the last, and the price of going there."""
        loss, record = self.loss[rows], np.arange(len(rows))
        gained = self.utilities[None, :] - self.utilities[place][:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            price = np.where(gained > 0, (loss - loss[record, place][:, None]) / gained, np.inf)
        price = np.where(np.isnan(price), np.inf, price)
        step = price.shape[1] - 1 - np.argmin(price[:, ::-1], axis=1)
        least = price[record, step]
        return np.where(np.isfinite(least), step, -1), least


def _told(problem: DecisionProblem) -> BoolArray:
    """Which attributes any dictionary has: shape (attributes,)."""
    heights = problem.originals.space.heights
    told = np.any([part.levels < heights for dictionary in problem.dictionaries for part in dictionary.parts], axis=0)
    return np.broadcast_to(told, heights.shape)


def _same_counts(problem: DecisionProblem, vectors: IndexArray) -> Iterator[IndexArray]:
    """The numbers of all level vectors, those together at which as many entries are consistent with every record.

    They differ in attributes only that no dictionary has.
    """
    _, number = np.unique(vectors[:, _told(problem)], axis=0, return_inverse=True)
    order = np.argsort(number.ravel(), kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(number.ravel()[order])) + 1)


class _Losses:
    """The losses of all records at one level vector after the other."""

    def __init__(self, problem: DecisionProblem) -> None:
        self._problem, self._people = problem, np.arange(len(problem.originals))
        self._remembered: dict[tuple[str, tuple[int, ...]], FloatArray] = {}
        originals = problem.originals
        levels = originals.level_vector
        # What no dictionary has tells no entries apart.
        told = np.where(_told(problem), originals.nodes, originals.space.roots)
        cells, self._cell_of = Records(originals.space, told).distinct()
        self._rolled = None
        if levels is not None:
            known_levels = np.where(_told(problem), levels, originals.space.heights)
            self._rolled = [RolledCounts(cells, known_levels, dictionary) for dictionary in problem.dictionaries]

    def counts(self, levels: IndexArray) -> list[CountArray]:
        """By dictionary, how many entries are consistent with each record: shape (records,)."""
        if self._rolled is None:
            return list(self._problem.counts(self._people, levels))
        return [rolled.at(levels.tolist())[self._cell_of] for rolled in self._rolled]

    def losses(self, levels: IndexArray, counts: list[CountArray]) -> FloatArray:
        """The loss of each record, expected over the dictionaries: shape (records,)."""
        harm = self._problem.harm
        identified = self._sensitivity("identified", harm.identified, levels)
        missed = self._sensitivity("missed", harm.missed, levels)
        return self._problem.averaged([expected_harm(identified, missed, one) for one in counts])

    def _sensitivity(self, name: str, sensitivity: Sensitivity, levels: IndexArray) -> FloatArray:
        """What it is for all records at a level vector; the same at all that differ elsewhere only."""
        sensitive_levels = tuple(level if axis in sensitivity.axes else 0 for axis, level in enumerate(levels.tolist()))
        if (name, sensitive_levels) not in self._remembered:
            if len(self._remembered) * len(self._people) * 8 > REMEMBERED:
                self._remembered.clear()
            self._remembered[name, sensitive_levels] = sensitivity(
                self._problem.originals.generalized(sensitive_levels), self._people
            )
        return self._remembered[name, sensitive_levels]


# Which attributes to disclose when attributes are taken to be independent in the dictionary (LSFB09 section 4.2).
#
# Then `|rho(y)|` is the product over the attributes of how many of N entries agree in each, and a multiplicative loss
# is least for the k attributes with the smallest e^w_j * alpha_j(*) / alpha_j(y_j): one pass over the dictionary, and
# no search. Attributes may also be independent in clusters only.


MAX_CLUSTER = 12
"""Largest number of attributes of one cluster; every subset of it is counted in the dictionary."""


def attribute_counts(records: Records, dictionary: Dictionary) -> CountArray:
    """How many entries agree with each value of each record: shape (records, attributes). O(N m + n m)."""
    columns = []
    for taxonomy, entered, sought in zip(records.space.taxonomies, dictionary.entries.nodes.T, records.nodes.T):
        below = np.bincount(entered, minlength=taxonomy.size)
        above = np.zeros_like(below)
        node_counts = below.copy()
        for node, parent in enumerate(taxonomy.parents[:-1].tolist()):
            below[parent] += below[node]
        for node in range(taxonomy.root - 1, -1, -1):
            above[node] = above[taxonomy.parents[node]] + node_counts[taxonomy.parents[node]]
        columns.append((below + above)[sought])
    return np.stack(columns, axis=1).astype(np.int64)


def select_independent(records: Records, dictionary: Dictionary, weights: FloatArray, disclosed: int) -> BoolArray:
    """The attributes to disclose of each record for the least Phi4 loss: shape (records, attributes).

    disclosed: how many attributes each record shows. weights: the exponents w_j, shape (attributes,) or (records,
    attributes). Of attributes that are equally good the first ones are taken. Raises DisclosureRuleError for more
    attributes than there are.
    """
    counts = attribute_counts(records, dictionary)
    _check(disclosed, len(records.space))
    scores = _scores(np.broadcast_to(weights, counts.shape), counts, len(dictionary))
    chosen = np.zeros(counts.shape, dtype=bool)
    np.put_along_axis(chosen, np.argsort(scores, axis=1, kind="stable")[:, :disclosed], True, axis=1)
    return chosen


def select_clustered(
    records: Records, dictionary: Dictionary, weights: FloatArray, clusters: Sequence[Sequence[int]], disclosed: int
) -> BoolArray:
    """The same where only attributes of different clusters are independent. clusters: positions, a partition.

    Exact: every subset of a cluster is counted in the dictionary, and the clusters share out the number of disclosed
    attributes by dynamic programming. O(sum over clusters of 2^size).
    """
    if sorted(axis for cluster in clusters for axis in cluster) != list(range(len(records.space))):
        raise DisclosureRuleError("clusters must hold each attribute once")
    _check(disclosed, len(records.space))
    exponents = np.broadcast_to(weights, records.nodes.shape)
    best = np.full((len(records), disclosed + 1), np.inf)
    best[:, 0] = 0.0
    selected = np.zeros((len(records), disclosed + 1, len(records.space)), dtype=bool)
    reachable = 0
    for cluster in clusters:
        options = _cluster_options(records, dictionary, exponents, cluster)
        best, selected = _combined(best, selected, options, reachable, disclosed)
        reachable += len(cluster)
    return selected[:, disclosed]


def selected_disclosure(problem: DecisionProblem, clusters: Sequence[Sequence[int]], disclosed: int) -> Optimum:
    """So many attributes of each record, as they are, with the least Phi4 loss if attributes are independent.

    clusters: positions of attributes that may depend on each other; each other attribute is independent of all. The loss
    that comes back is the exact one. Raises DisclosureRuleError for several dictionaries, a Psi that is not 0, a
    sensitivity that is no product over the attributes, for clusters that overlap or are larger than `MAX_CLUSTER`, and
    for another number of attributes than there are.
    """
    if len(problem.dictionaries) != 1:
        raise DisclosureRuleError("attributes are chosen against one dictionary, not against several")
    largest = max(map(len, clusters), default=0)
    if largest > MAX_CLUSTER:
        raise DisclosureRuleError(f"a cluster of {largest} attributes is too large; {MAX_CLUSTER} are the limit")
    grouped = {axis for cluster in clusters for axis in cluster}
    partition = [*clusters, *([axis] for axis in range(len(problem.originals.space)) if axis not in grouped)]
    exponents = _exponents(problem)
    if clusters:
        chosen = select_clustered(problem.originals, problem.dictionaries[0], exponents, partition, disclosed)
    else:
        chosen = select_independent(problem.originals, problem.dictionaries[0], exponents, disclosed)
    disclosure = Disclosure(problem.originals, np.where(chosen, 0, problem.originals.space.heights))
    loss = losses(disclosure.records, problem.dictionaries[0], problem.harm)
    utility = distance_from_root(disclosure.records, problem.steps)
    return Optimum(disclosure, np.ones(len(loss), dtype=bool), loss, utility, len(loss), problem.weights)


def _exponents(problem: DecisionProblem) -> FloatArray:
    """What e is raised to for each value of each record: shape (records, attributes)."""
    harm, originals = problem.harm, problem.originals
    if harm.missed.is_personal or harm.missed(originals, np.arange(len(originals))).any():
        raise DisclosureRuleError(
            "attributes are chosen as independent ones only where a person who is missed has no harm"
        )
    if isinstance(harm.identified, Constant):
        return np.zeros(originals.nodes.shape)
    if not isinstance(harm.identified, Multiplicative):
        raise DisclosureRuleError("attributes are chosen as independent ones only by a multiplicative sensitivity")
    weights = harm.identified.weights
    exponents = np.zeros(originals.nodes.shape)
    for number, term in enumerate(weights.terms):
        of_term = weights.of_terms[..., number]
        if len(term) > 1 and np.any(of_term):
            raise DisclosureRuleError("attributes are chosen as independent ones only without interactions")
        if len(term) == 1:
            exponents[:, term[0]] += product(of_term, weights.shares[term[0]][originals.nodes[:, term[0]]])
    return exponents


Option = tuple[tuple[int, ...], FloatArray]
"""Some attributes of a cluster, and the score of disclosing them for each record."""


def _cluster_options(
    records: Records, dictionary: Dictionary, weights: FloatArray, cluster: Sequence[int]
) -> list[Option]:
    options: list[Option] = []
    for size in range(len(cluster) + 1):
        for subset in combinations(cluster, size):
            hidden = records.space.heights.copy()
            hidden[list(subset)] = 0
            counts = consistent_counts(records.generalized(hidden), dictionary)
            options.append((subset, _scores(weights[:, subset].sum(axis=1), counts, len(dictionary))))
    return options


def _combined(
    best: FloatArray, selected: BoolArray, options: Sequence[Option], reachable: int, disclosed: int
) -> tuple[FloatArray, BoolArray]:
    """The best of each number of attributes once one more cluster may contribute."""
    combined, chosen = np.full_like(best, np.inf), np.zeros_like(selected)
    settled = np.zeros(best.shape, dtype=bool)
    for subset, score in options:
        for number in range(min(reachable, disclosed - len(subset)) + 1):
            total = number + len(subset)
            # A part that rules out every entry identifies nobody, whatever the others weigh.
            impossible = np.isneginf(best[:, number]) | np.isneginf(score)
            sums = np.where(impossible, -np.inf, best[:, number] + np.where(impossible, 0.0, score))
            better = (sums < combined[:, total]) | ~settled[:, total]
            combined[better, total] = sums[better]
            chosen[better, total] = selected[better, number]
            for axis in subset:
                chosen[better, total, axis] = True
            settled[:, total] = True
    return combined, chosen


def _scores(weights: FloatArray, counts: CountArray, entries: int) -> FloatArray:
    """The exponent plus ln(alpha(*) / alpha(y)): -inf where nobody agrees, since then nobody is found."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = weights + np.log(entries) - np.log(counts)
    return np.where(counts == 0, -np.inf, scores)


def _check(disclosed: int, attributes: int) -> None:
    if not 0 <= disclosed <= attributes:
        raise DisclosureRuleError(f"between 0 and {attributes} attributes can be disclosed, not {disclosed}")


# How many entries of a dictionary are consistent with each of some records, for one level vector after the other.
#
# The cells of records and entries at a level vector are made of those at a finer one, which are few already: so a walk
# through all level vectors costs little more than looking up, for each, the count of every record's cell.


@dataclass(frozen=True, eq=False)
class _Cells:
    """Records and entries that agree in all attributes at some levels, put together.

    levels: by attribute. columns: of the attributes that are told, codes at their levels, shape (cells,) each. counts:
    of entries by cell. cell_of: for each record the number of its cell.
    """

    levels: tuple[int, ...]
    columns: tuple[CodeArray, ...]
    counts: CountArray
    cell_of: IndexArray


class RolledCounts:
    """The counts of some records that all have the same levels, best asked for level vectors in ascending order.

    Raises DomainMismatchError through records of another space than the dictionary's.
    """

    def __init__(self, records: Records, levels: IndexArray, dictionary: Dictionary) -> None:
        self._parts = [_Walk(records, levels, part) for part in dictionary.parts]
        self._length = len(records)

    def at(self, levels: Sequence[int]) -> CountArray:
        """How many entries are consistent with each record at a level vector: shape (records,)."""
        if len(self._parts) == 1:
            return self._parts[0].at(levels)
        return np.asarray(sum((part.at(levels) for part in self._parts), np.zeros(self._length, dtype=np.int64)))


class _Walk:
    """The way from the finest cells of one part to those last asked for: the cells after each attribute was rolled up."""

    def __init__(self, records: Records, levels: IndexArray, part: DictionaryPart) -> None:
        self._space = records.space
        self._finest = np.maximum(levels, part.levels)
        self._axes = np.flatnonzero(self._finest < self._space.heights).tolist()
        self._path = [_finest_cells(records, part, self._finest.tolist(), self._axes)]

    def at(self, levels: Sequence[int]) -> CountArray:
        """How many entries of the part are consistent with each record at a level vector."""
        wanted = np.maximum(self._finest, levels).tolist()
        for place, axis in enumerate(self._axes):
            reached = self._path[place + 1] if place + 1 < len(self._path) else None
            if reached is not None and reached.levels[axis] == wanted[axis]:
                continue
            below = reached if reached is not None and reached.levels[axis] < wanted[axis] else self._path[place]
            del self._path[place + 1 :]
            self._path.append(_rolled_up(self._space, below, place, axis, wanted[axis], self._axes))
        cells = self._path[-1]
        return cells.counts[cells.cell_of]


def _finest_cells(records: Records, part: DictionaryPart, levels: list[int], axes: Sequence[int]) -> _Cells:
    space = records.space
    columns, radices = [], []
    for axis in axes:
        level = levels[axis]
        above = (space.ancestors[axis][level] - space.taxonomies[axis].offsets[level]).astype(np.int32)
        columns.append(np.concatenate([above[records.nodes[:, axis]], above[part.columns[axis]]]))
        radices.append(space.domain.hierarchies[axis].size(level))
    first, number = group(*pack(columns, radices, len(records) + len(part.counts)))
    held = np.bincount(number[len(records) :], part.counts, minlength=len(first)).astype(np.int64)
    return _Cells(tuple(levels), tuple(column[first] for column in columns), held, number[: len(records)])


def _rolled_up(space: RecordSpace, cells: _Cells, place: int, axis: int, level: int, axes: Sequence[int]) -> _Cells:
    """The cells with one attribute, the one told at this place, at a coarser level."""
    before = cells.levels[axis]
    if level == before:
        return cells
    levels = tuple(level if other == axis else cell_level for other, cell_level in enumerate(cells.levels))
    lifted = space.domain.hierarchies[axis].lift(before, level).astype(np.int32)[cells.columns[place]]
    columns = (*cells.columns[:place], lifted, *cells.columns[place + 1 :])
    radices = [space.domain.hierarchies[other].size(levels[other]) for other in axes]
    first, number = group(*pack(columns, radices, len(cells.counts)))
    if len(first) == len(cells.counts):
        return replace(cells, levels=levels, columns=columns)
    counts = np.bincount(number, cells.counts, minlength=len(first)).astype(np.int64)
    return _Cells(levels, tuple(column[first] for column in columns), counts, number[cells.cell_of])


# The frontier of risk against utility: no disclosure of the records has less risk at as much utility (LSFB09 Fig. 4).
#
# Means over the records separate: at a price for utility each record takes its own best trade-off (eq. 9). As the
# price rises, records step along the lower convex hull of their own pairs of loss and utility, the cheapest step of
# all first.


@dataclass(frozen=True, eq=False)
class Frontier:
    """Optimal pairs of mean utility and risk, both rising: shape (points,) each.

    price: for each point the least loss per step of utility at which the next step is taken; infinite at the last.
    At each point the risk is the least for that mean utility; between points the line is a lower bound, and steps of
    single records come within their own size of it.
    """

    utility: FloatArray
    risk: FloatArray
    price: FloatArray

    def __len__(self) -> int:
        """Number of points."""
        return len(self.utility)

    def least_risk(self, utility: float) -> float:
        """A lower bound on the risk of any disclosure with at least this mean utility; infinite where there is none."""
        if utility > self.utility[-1]:
            return float("inf")
        return float(np.interp(utility, self.utility, self.risk))

    def thinned(self, points: int) -> "Frontier":
        """Some of its points, evenly spread over utility, with both ends. points: their largest number, 2 or more."""
        if len(self) <= points:
            return self
        nearest = np.searchsorted(self.utility, np.linspace(self.utility[0], self.utility[-1], points))
        positions = np.unique(np.minimum(nearest, len(self) - 1))
        return Frontier(self.utility[positions], self.risk[positions], self.price[positions])

    def outlined(self, points: int) -> "Frontier":
        """A line with the same ends that nowhere lies above this one. points: their largest number, 3 or more.

        The frontier is convex, so that it lies above the lines through any of its edges; where these meet are the points.
        """
        if len(self) <= points:
            return self
        spread = np.linspace(self.utility[0], self.utility[-1], points - 1)
        edges = np.searchsorted(self.utility, spread, side="right") - 1
        edges = np.unique(np.clip(edges, 0, len(self) - 2))
        slope = self.price[edges]
        left, right = edges[:-1] + 1, edges[1:]
        start, end = self.utility[left], self.utility[right]
        rise = self.risk[right] - self.risk[left]
        met = start + (slope[1:] * (end - start) - rise) / (slope[1:] - slope[:-1])
        met = np.clip(met, start, end)
        low = np.minimum(self.risk[left] + slope[:-1] * (met - start), self.risk[right] - slope[1:] * (end - met))
        return Frontier(
            np.r_[self.utility[0], met, self.utility[-1]], np.r_[self.risk[0], low, self.risk[-1]], np.r_[slope, np.inf]
        )


def frontier(problem: DecisionProblem, progress: Progress = unwatched) -> Frontier:
    """The frontier over all level vectors for each record. Records that have only infinite losses make it infinite.

    progress: told of the level vectors that are looked at, and of all.
    """
    ladder = Ladder.of(problem, progress)
    start_utility, start_risk = ladder.means(ladder.place)
    steps, share = ladder.steps, ladder.shares[ladder.steps.row]
    # Records that count for nothing move no mean.
    distinct, at = np.unique(steps.price[share > 0], return_inverse=True)
    by_price = np.bincount(at, (steps.gain * share)[share > 0], minlength=len(distinct))
    rising_utility = start_utility + np.r_[0.0, np.cumsum(by_price)]
    rising_risk = start_risk + np.r_[0.0, np.cumsum(by_price * distinct)]
    if len(distinct):
        # Exactly what everybody's last step reaches, without the rounding of the sums.
        rising_utility[-1], rising_risk[-1] = ladder.means(ladder.after(len(steps.price)))
    return Frontier(read_only(rising_utility), read_only(rising_risk), read_only(np.r_[distinct, np.inf]))


# The rule of means: disclosures whose mean loss and mean utility are what is asked for (LSFB09 eqs. 7 and 8, section
# 8).
#
# Asking every record for a utility, as branch and bound does, is the paper's smaller feasible set. Asking the mean
# leaves records whose values tell much to show less, and others more: at the same mean utility the risk can be a
# fraction.
#
# Steps along the records' own hulls are taken, the cheapest first. After any number of steps no disclosure has less
# risk at as much utility, so what misses the best is less than one step of one record; `bound` says how much that is
# at most.


@dataclass(frozen=True, eq=False)
class MeanOptimum:
    """A disclosure that is best on average over the records, but for less than a step of one record.

    objective: what was asked of the means. bound: what no disclosure can beat: the least risk with that mean utility, or
    the most mean utility with that risk.
    """

    optimum: Optimum
    objective: LeastRisk | MostUtility
    bound: float


def best_on_average(
    problem: DecisionProblem, objective: LeastRisk | MostUtility, progress: Progress = unwatched
) -> MeanOptimum:
    """The least risk with a mean utility of at least so much (eq. 8), or the most mean utility with so much risk (eq. 7).

    Raises DisclosureRuleError where no disclosure with a finite risk is allowed.
    """
    ladder = Ladder.of(problem, progress)
    gain, price = ladder.steps.gain * ladder.shares[ladder.steps.row], ladder.steps.price
    start_utility, start_risk = ladder.means(ladder.place)
    utility = start_utility + np.r_[0.0, np.cumsum(gain)]
    risk = start_risk + np.r_[0.0, np.cumsum(gain * price)]
    if not np.isfinite(risk[0]):
        raise DisclosureRuleError("every disclosure of the records has an infinite risk")
    if isinstance(objective, LeastRisk):
        # What sums of floats miss is no reason for a step more.
        count = int(np.searchsorted(utility, objective.utility - 1e-9 * max(1.0, objective.utility)))
        if count == len(utility):
            raise DisclosureRuleError(
                f"no disclosure with a finite risk has a mean utility of {objective.utility:g}; the most is {utility[-1]:g}"
            )
        bound = float(np.interp(objective.utility, utility, risk))
    else:
        count = int(np.searchsorted(risk, objective.loss + 1e-12 * risk[-1], side="right")) - 1
        if count < 0:
            raise DisclosureRuleError(
                f"no disclosure has a mean loss of at most {objective.loss:g}; the least is {risk[0]:g}"
            )
        bound = float(np.interp(objective.loss, risk, utility))
    return MeanOptimum(_optimum(problem, ladder, ladder.after(count)), objective, bound)


def _optimum(problem: DecisionProblem, ladder: Ladder, place: IndexArray) -> Optimum:
    rows = np.arange(len(place))
    disclosure = Disclosure(problem.originals, ladder.vectors[ladder.vector[rows, place]])
    allowed = np.ones(len(place), dtype=bool)
    evaluated = len(ladder.vectors) * len(place)
    return Optimum(disclosure, allowed, ladder.loss_at(place), ladder.utilities[place], evaluated, problem.weights)


def precedes(specific: Dictionary, general: Dictionary) -> bool:
    """Whether specific << general: each of its people has an entry in the other, as general or more (Definition 5).

    Raises IncomparableError where entries have no identifiers.
    """
    if specific.identifiers is None or general.identifiers is None:
        raise IncomparableError("dictionaries are compared person by person, so both need identifiers")
    rows = _rows_of(specific.identifiers, general.identifiers)
    return bool(np.all(rows >= 0)) and bool(specific.entries.is_below(general.entries[rows]).all())


def contains(dictionary: Dictionary, originals: Records, identifiers: CountArray) -> bool:
    """Whether a dictionary has an entry for the person of each original record, which may be more general."""
    if dictionary.identifiers is None:
        raise IncomparableError("people are looked up by identifier, so the dictionary needs them")
    rows = _rows_of(identifiers, dictionary.identifiers)
    return bool(np.all(rows >= 0)) and bool(originals.is_below(dictionary.entries[rows]).all())


def upper_bound(
    disclosed: Records, originals: Records, identifiers: CountArray, estimated: Dictionary, harm: Harm
) -> float:
    """The risk under an estimated dictionary, which no dictionary that it precedes can exceed (Proposition 1).

    Arguments and errors as for `require_bound`.
    """
    require_bound(disclosed, originals, identifiers, estimated, harm)
    return risk(disclosed, estimated, harm)


def require_bound(
    disclosed: Records, originals: Records, identifiers: CountArray, estimated: Dictionary, harm: Harm
) -> None:
    """Nothing where the risk under an estimated dictionary is an upper bound of that under any which it precedes.

    disclosed: generalizations of the originals, which are about the people with these identifiers. The proposition
    needs each of them in the estimated dictionary, and that being identified is no less harmful than being missed, as with
    Psi = 0. Raises IncomparableError where one of these is not so.
    """
    if not bool(originals.is_below(disclosed).all()):
        raise IncomparableError("a disclosed record is no generalization of its original")
    if not contains(estimated, originals, identifiers):
        raise IncomparableError("the estimated dictionary lacks the person of an original record")
    people = np.arange(len(disclosed))
    if np.any(harm.missed(disclosed, people) > harm.identified(disclosed, people)):
        raise IncomparableError("a record does more harm when its person is not found, so no risk is an upper bound")


def _rows_of(sought: CountArray, identifiers: CountArray) -> IndexArray:
    """For each identifier the row of its entry, -1 where it has none."""
    order = np.argsort(identifiers, kind="stable")
    if not len(identifiers):
        return np.full(len(sought), -1, dtype=np.intp)
    place = np.minimum(np.searchsorted(identifiers[order], sought), len(identifiers) - 1)
    return np.where(identifiers[order[place]] == sought, order[place], -1)
