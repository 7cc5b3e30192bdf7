"""Disclosing records, each value at a level of its own: under rules, or as serves an objective best (LSFB09)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from checks.errors import DisclosureRuleError, IncomparableError
from checks.risk.attackers import CountWalk, Dictionary, Records, consistent_counts, distance_from_root
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
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray, read_only, whole_numbers

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


def generalize(disclosure: Disclosure, attribute: str, condition: BoolArray, level: int) -> Disclosure:
    """Some records with an attribute at a level, or higher where it is so already (Definition 7).

    condition: whether a record is one of them, shape (records,); the paper's formula F selects the others.
    Raises DomainMismatchError for an unknown attribute, DisclosureRuleError for a level or condition that does not fit.
    """
    axis = disclosure.originals.space.domain.index(attribute)
    height = int(disclosure.originals.space.heights[axis])
    if isinstance(level, bool) or not isinstance(level, int | np.integer) or not 0 <= level <= height:
        raise DisclosureRuleError(f"{attribute!r} has the levels 0 to {height}, not {level!r}")
    if condition.dtype != np.bool_ or condition.shape != (len(disclosure.originals),):
        raise DisclosureRuleError(f"a condition needs one truth value for each of {len(disclosure.originals)} records")
    levels = disclosure.levels.copy()
    levels[condition, axis] = np.maximum(levels[condition, axis], level)
    return replace(disclosure, levels=levels)


# Optimal disclosures: for each record the level of each attribute that serves an objective best (LSFB09 section 4).
#
# One walk computes the losses of all records at every level vector. The best level vector of each record, the frontier of
# risk against utility and the best disclosure on average are what different readers remember of it.


Progress = Callable[[int, int], None]
"""Told how many level vectors are done, and how many there are."""

REMEMBERED = 1 << 26
"""Bytes of sensitivities that are kept, to be used again at level vectors that differ in other attributes."""


def unwatched(done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True, eq=False)
class DecisionProblem:
    """Records to be disclosed, record i about person i, before attackers with one of some dictionaries.

    prior: the probability of each dictionary; losses are expected over it. Where it is None the loss of a record is the
    largest over the dictionaries, each record facing the one that is worst for it; `least_worst_risk` is about all together.
    steps: what a step from the root is worth in each attribute; 1 where nothing is said. weights: how often each record
    counts in means over the records, shape (records,); once where nothing is said. Raises DisclosureRuleError.
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

    @property
    def shares(self) -> FloatArray:
        """The share of each record in means, 1 in all: shape (records,)."""
        weights = np.ones(len(self.originals)) if self.weights is None else self.weights
        return np.asarray(weights / weights.sum())

    def distinct(self) -> tuple["DecisionProblem", IndexArray]:
        """The problem of the different records without weights, and for each record the number of its own among them.

        Records are different if the harm depends on whom they are about.
        """
        if self.harm.is_personal:
            return replace(self, weights=None), np.arange(len(self.originals))
        distinct, number = self.originals.distinct()
        return replace(self, originals=distinct, weights=None), number

    def utility(self, rows: IndexArray, levels: IndexArray) -> FloatArray:
        """The utility of some records at a level vector: shape (rows,)."""
        worth = np.ones(len(self.originals.space)) if self.steps is None else np.array(self.steps)
        return self._worth(rows, levels, worth)

    def step_count(self, rows: IndexArray, levels: IndexArray) -> FloatArray:
        """How many steps below `*` the values of some records are at a level vector, all together: shape (rows,)."""
        return self._worth(rows, levels, np.ones(len(self.originals.space)))

    def _worth(self, rows: IndexArray, levels: IndexArray, worth: FloatArray) -> FloatArray:
        of_all = self.originals.level_vector
        if of_all is not None:
            return np.full(len(rows), (self.originals.space.heights - np.maximum(of_all, levels)) @ worth)
        disclosed = np.maximum(self.originals.levels[rows], levels)
        return np.asarray((self.originals.space.heights - disclosed) @ worth, dtype=np.float64)

    def scores(self, objective: Objective, levels: IndexArray, loss: FloatArray) -> FloatArray:
        """What an objective makes of a level vector of all records with some losses: shape (4, records)."""
        rows = np.arange(len(loss))
        utility = self.utility(rows, levels)
        return objective.score(loss, utility, utility if self.steps is None else self.step_count(rows, levels))

    def loss(self, rows: IndexArray, levels: IndexArray) -> FloatArray:
        """The loss of some records at a level vector, expected over the dictionaries or the largest: shape (rows,)."""
        shown = self.originals[rows].generalized(levels)
        parts = [self.harm.loss(shown, rows, consistent_counts(shown, each)) for each in self.dictionaries]
        return self.averaged(np.stack(parts))

    def averaged(self, parts: FloatArray) -> FloatArray:
        """The expectation, or the maximum, of what is so under each dictionary: shape (rows,) of (dictionaries, rows)."""
        if len(parts) == 1:
            return np.asarray(parts[0])
        if self.prior is None:
            return np.asarray(parts.max(axis=0))
        return np.asarray(product(np.array(self.prior)[:, None], parts).sum(axis=0), dtype=np.float64)


def losses_by_vector(
    problem: DecisionProblem, vectors: IndexArray, progress: Progress = unwatched
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the number of each level vector and the losses of all records at it, shape (dictionaries, records).

    vectors: shape (vectors, attributes). They come in the order of their levels in the dictionaries' attributes.
    """
    originals, people = problem.originals, np.arange(len(problem.originals))
    is_told = _told(problem)
    # What no dictionary has tells no entries apart.
    cells, cell_of = Records(originals.space, np.where(is_told, originals.nodes, originals.space.roots)).distinct()
    walks = [CountWalk(cells, dictionary) for dictionary in problem.dictionaries]
    remembered: dict[tuple[str, tuple[int, ...]], FloatArray] = {}

    def harm_at(name: str, sensitivity: Sensitivity, levels: list[int]) -> FloatArray:
        key = name, tuple(level if axis in sensitivity.axes else 0 for axis, level in enumerate(levels))
        if key not in remembered:
            if len(remembered) * len(people) * 8 > REMEMBERED:
                remembered.clear()
            remembered[key] = sensitivity(originals.generalized(key[1]), people)
        return remembered[key]

    order = np.lexsort(vectors[:, is_told].T[::-1]) if is_told.any() else np.arange(len(vectors))
    for done, number in enumerate(order.tolist()):
        progress(done, len(vectors))
        levels = vectors[number]
        identified = harm_at("identified", problem.harm.identified, levels.tolist())
        missed = harm_at("missed", problem.harm.missed, levels.tolist())
        parts = [expected_harm(identified, missed, walk.at(levels)[cell_of]) for walk in walks]
        yield number, np.stack(parts)
    progress(len(vectors), len(vectors))


def _told(problem: DecisionProblem) -> BoolArray:
    """Which attributes any dictionary has: shape (attributes,)."""
    heights = problem.originals.space.heights
    told = np.any([part.levels < heights for dictionary in problem.dictionaries for part in dictionary.parts], axis=0)
    return np.broadcast_to(told, heights.shape)


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

    @property
    def risk(self) -> float:
        """Mean loss."""
        return weighted_mean(self.loss, self.weights)

    @property
    def mean_utility(self) -> float:
        """Mean utility."""
        return weighted_mean(self.utility, self.weights)


def best_of_each(problem: DecisionProblem, objective: Objective, progress: Progress = unwatched) -> Optimum:
    """Return the best of all level vectors for each record. O(different records * vectors).

    Level vectors at which no record has the utility that is asked are left out.
    """
    own, number = problem.distinct()
    rows, heights = np.arange(len(own.originals)), own.originals.space.heights
    vectors = own.originals.space.level_vectors()
    vectors = vectors[[bool(np.any(own.scores(objective, levels, np.zeros(len(rows)))[0] == 0)) for levels in vectors]]
    best, chosen = np.full((4, len(rows)), np.inf), np.tile(heights, (len(rows), 1))
    loss = own.loss(rows, heights)
    for place, parts in losses_by_vector(own, vectors, progress):
        of_vector = own.averaged(parts)
        scores = own.scores(objective, vectors[place], of_vector)
        better = (scores[0] == 0) & is_better(scores, best)
        np.copyto(best, scores, where=better)
        np.copyto(loss, of_vector, where=better)
        chosen[better] = vectors[place]
    disclosure = Disclosure(problem.originals, chosen[number])
    utility = distance_from_root(disclosure.records, problem.steps)
    evaluated = len(vectors) * len(rows)
    return Optimum(disclosure, best[0, number] == 0, loss[number], utility, evaluated, problem.weights)


# Each record's own trade-offs of loss against utility: the lower convex hull, step by step, the cheapest step first.
#
# Means over records separate: at a price for utility each record takes its own best trade-off (LSFB09 eq. 9). As the
# price rises, records step along the lower convex hulls of their own pairs of loss and utility. After any number of steps
# no disclosure has less risk at as much utility.


class Steps(NamedTuple):
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
        own, number = problem.distinct()
        rows, vectors = np.arange(len(own.originals)), own.originals.space.level_vectors()
        # Rounded, since sums of the same step weights in another order are the same utility.
        different = rows if own.originals.level_vector is None else rows[:1]
        worth = np.stack([own.utility(different, levels).round(9) for levels in vectors])
        utilities, place = np.unique(worth, return_inverse=True)
        place = place.reshape(worth.shape)
        loss = np.full((len(utilities), len(rows)), np.inf)
        vector, shown_steps = np.zeros(loss.shape, dtype=np.intp), np.zeros(loss.shape)
        for this, parts in losses_by_vector(own, vectors, progress):
            of_vector = own.averaged(parts)
            at = place[this, 0] if len(different) == 1 else (place[this], rows)
            better = of_vector < loss[at]
            if own.steps is not None:  # else as much utility is as many steps
                steps = own.step_count(rows, vectors[this])
                better |= (of_vector == loss[at]) & (steps > shown_steps[at])
                shown_steps[at] = np.where(better, steps, shown_steps[at])
            loss[at] = np.where(better, of_vector, loss[at])
            vector[at] = np.where(better, this, vector[at])
        return cls(utilities, loss.T[number], vector.T[number], vectors, problem.shares)

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

    @cached_property
    def path(self) -> tuple[FloatArray, FloatArray]:
        """Mean utility and risk at the start and after each step: shape (steps + 1,) each."""
        gain = self.steps.gain * self.shares[self.steps.row]
        utility, risk = self.means(self.place)
        return utility + np.r_[0.0, np.cumsum(gain)], risk + np.r_[0.0, np.cumsum(gain * self.steps.price)]

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
    """Return the frontier over all level vectors for each record (LSFB09 Fig. 4).

    Records that have only infinite losses make it infinite.
    """
    ladder = Ladder.of(problem, progress)
    utility, risk = ladder.path
    # The last of the steps of a price is a point; records that count for nothing move no mean.
    moving = np.flatnonzero(ladder.shares[ladder.steps.row] > 0)
    price = ladder.steps.price[moving]
    is_last = np.diff(price, append=np.inf) > 0
    points = np.r_[0, moving[is_last] + 1]
    utility, risk = utility[points], risk[points]
    if len(moving):
        # Exactly what everybody's last step reaches, without the rounding of the sums.
        utility[-1], risk[-1] = ladder.means(ladder.after(len(ladder.steps.price)))
    return Frontier(read_only(utility), read_only(risk), read_only(np.r_[price[is_last], np.inf]))


# The rule of means: disclosures whose mean loss and mean utility are what is asked for (LSFB09 eqs. 7 and 8, section 8).
#
# Asking every record for a utility is the paper's smaller feasible set. Asking the mean leaves records whose values tell
# much to show less, and others more: at the same mean utility the risk can be a fraction. The cheapest steps are taken
# first, so that less than one step of one record is missing to the best.


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
    utility, risk = ladder.path
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
    place, rows = ladder.after(count), np.arange(len(problem.originals))
    disclosure = Disclosure(problem.originals, ladder.vectors[ladder.vector[rows, place]])
    reached = ladder.loss_at(place), ladder.utilities[place]
    evaluated = len(ladder.vectors) * len(rows)
    optimum = Optimum(disclosure, np.ones(len(rows), dtype=bool), *reached, evaluated, problem.weights)
    return MeanOptimum(optimum, objective, bound)


# Which attributes to disclose when attributes are taken to be independent in the dictionary (LSFB09 section 4.2).
#
# Then `|rho(y)|` is the product over the attributes of how many of N entries agree in each, and a multiplicative loss
# is least for the k attributes with the smallest e^w_j * alpha_j(*) / alpha_j(y_j). Attributes may also be independent in
# clusters only.


MAX_CLUSTER = 12
"""Largest number of attributes of one cluster; every subset of it is counted in the dictionary."""


def selected_disclosure(problem: DecisionProblem, clusters: Sequence[Sequence[int]], disclosed: int) -> Optimum:
    """Return so many attributes of each record, as they are, with the least Phi4 loss if attributes are independent.

    clusters: positions of attributes that may depend on each other; each other attribute is independent of all. The loss
    that comes back is the exact one. Raises DisclosureRuleError for several dictionaries, a Psi that is not 0, a
    sensitivity that is no product over the attributes, for clusters that overlap or are larger than `MAX_CLUSTER`, and
    for another number of attributes than there are.
    """
    originals, attributes = problem.originals, range(len(problem.originals.space))
    if len(problem.dictionaries) != 1:
        raise DisclosureRuleError("attributes are chosen against one dictionary, not against several")
    largest = max(map(len, clusters), default=0)
    if largest > MAX_CLUSTER:
        raise DisclosureRuleError(f"a cluster of {largest} attributes is too large; {MAX_CLUSTER} are the limit")
    exponents = _exponents(problem)
    partition = [*clusters, *([axis] for axis in attributes if not any(axis in cluster for cluster in clusters))]
    if sorted(axis for cluster in partition for axis in cluster) != list(attributes):
        raise DisclosureRuleError("clusters must hold each attribute once")
    if not 0 <= disclosed <= len(attributes):
        raise DisclosureRuleError(f"between 0 and {len(attributes)} attributes can be disclosed, not {disclosed}")
    chosen = _selected(problem, exponents, partition, disclosed)
    disclosure = Disclosure(originals, np.where(chosen, 0, originals.space.heights))
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


def _selected(
    problem: DecisionProblem, exponents: FloatArray, clusters: Sequence[Sequence[int]], disclosed: int
) -> BoolArray:
    """The best choice of so many attributes for each record, the first ones of equally good: shape (records, attributes).

    The clusters share out the number by dynamic programming: `best` has the least score by record and number of attributes,
    NaN where so many cannot be chosen yet. O(sum over clusters of 2^size).
    """
    originals, dictionary = problem.originals, problem.dictionaries[0]
    best = np.full((len(originals), disclosed + 1), np.nan)
    best[:, 0] = 0.0
    chosen = np.zeros((*best.shape, len(originals.space)), dtype=bool)
    for cluster in clusters:
        before, chosen_before = best, chosen
        best, chosen = np.full_like(best, np.nan), np.zeros_like(chosen)
        for size in range(min(len(cluster), disclosed) + 1):
            for subset in combinations(cluster, size):
                levels = originals.space.heights.copy()
                levels[list(subset)] = 0
                counts = consistent_counts(originals.generalized(levels), dictionary)
                score = _score(exponents[:, subset].sum(axis=1), counts, len(dictionary))[:, None]
                smaller = before[:, : disclosed + 1 - size]
                # A part that rules out every entry identifies nobody, whatever the others weigh.
                with np.errstate(invalid="ignore"):
                    sums = np.where(np.isneginf(smaller) | np.isneginf(score), -np.inf, smaller + score)
                better = ~np.isnan(smaller) & ~(best[:, size:] <= sums)
                best[:, size:][better] = sums[better]
                chosen[:, size:][better] = chosen_before[:, : disclosed + 1 - size][better] | np.isin(
                    np.arange(len(originals.space)), subset
                )
    return np.asarray(chosen[:, disclosed])


def _score(exponents: FloatArray, counts: CountArray, entries: int) -> FloatArray:
    """The exponent plus ln(alpha(*) / alpha(y)): -inf where nobody agrees, since then nobody is found."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts == 0, -np.inf, exponents + np.log(entries) - np.log(counts))


# A partial order of dictionaries, and the bound that it gives (LSFB09 Definition 5 and Proposition 1).


def precedes(specific: Dictionary, general: Dictionary) -> bool:
    """Whether specific << general: each of its people has an entry in the other, as general or more (Definition 5).

    Raises IncomparableError where entries have no identifiers.
    """
    if specific.identifiers is None:
        raise IncomparableError("dictionaries are compared person by person, so both need identifiers")
    return _holds(general, specific.entries, specific.identifiers)


def _holds(dictionary: Dictionary, records: Records, identifiers: CountArray) -> bool:
    """Whether a dictionary has an entry for the person of each record that is as general or more."""
    if dictionary.identifiers is None:
        raise IncomparableError("people are looked up by identifier, so the dictionary needs them")
    place = {identifier: row for row, identifier in enumerate(dictionary.identifiers.tolist())}
    rows = np.array([place.get(identifier, -1) for identifier in identifiers.tolist()], dtype=np.intp)
    return bool(np.all(rows >= 0)) and bool(records.is_below(dictionary.entries[rows]).all())


def upper_bound(
    disclosed: Records, originals: Records, identifiers: CountArray, estimated: Dictionary, harm: Harm
) -> float:
    """Return the risk under an estimated dictionary, which no dictionary that it precedes can exceed (Proposition 1).

    Arguments and errors as for `require_bound`.
    """
    require_bound(disclosed, originals, identifiers, estimated, harm)
    return risk(disclosed, estimated, harm)


def require_bound(
    disclosed: Records, originals: Records, identifiers: CountArray, estimated: Dictionary, harm: Harm
) -> None:
    """Raise IncomparableError unless the risk under a dictionary bounds that under any which it precedes.

    disclosed: generalizations of the originals, which are about the people with these identifiers. The proposition
    needs each of them in the estimated dictionary, and that being identified is no less harmful than being missed, as with
    Psi = 0.
    """
    if not bool(originals.is_below(disclosed).all()):
        raise IncomparableError("a disclosed record is no generalization of its original")
    if not _holds(estimated, originals, identifiers):
        raise IncomparableError("the estimated dictionary lacks the person of an original record")
    people = np.arange(len(disclosed))
    if np.any(harm.missed(disclosed, people) > harm.identified(disclosed, people)):
        raise IncomparableError("a record does more harm when its person is not found, so no risk is an upper bound")
