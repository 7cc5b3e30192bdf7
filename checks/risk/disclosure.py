"""Disclosure of records, each value at a level of its own: under rules, or as an objective demands (LSFB09)."""

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from functools import cached_property, lru_cache, partial

import numpy as np

from checks.errors import DisclosureRuleError, IncomparableError
from checks.risk.attackers import Dictionary, Records, consistent_counts, walk_counts
from checks.risk.harm import (
    Harm,
    LeastRisk,
    MostUtility,
    Preference,
    Sensitivity,
    as_distribution,
    expected_harm,
    product,
    score,
    weighted_mean,
)
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray, read_only, read_only_copy, whole_numbers
from models.frozen import frozen

# Disclosures (LSFB09 section 7.1): a rule is about original records, and the highest level of several rules counts. So rules
# commute, and repeating one changes nothing (Proposition 3).


@frozen(eq=False)
class Disclosure:
    """Disclosure of some records. levels: at least that of each original value, shape (records, attributes)."""

    originals: Records
    levels: IndexArray = field(repr=False)

    def __post_init__(self) -> None:
        levels = whole_numbers(self.levels, "levels").astype(np.intp)
        if levels.shape != self.originals.nodes.shape or np.any(levels > self.originals.space.heights):
            raise DisclosureRuleError("a disclosure needs a level for each value of each record, none above that of *")
        object.__setattr__(self, "levels", read_only(np.maximum(levels, self.originals.levels)))

    @classmethod
    def of(cls, originals: Records) -> "Disclosure":
        """Return the disclosure of all records as they are."""
        return cls(originals, originals.levels)

    @cached_property
    def records(self) -> Records:
        """Disclosed records, the paper's delta(x)."""
        return self.originals.generalized(self.levels)

    def level_counts(self) -> dict[str, list[int]]:
        """Return for each attribute how many records are disclosed at each of its levels, 0 first (LSFB09 Fig. 11)."""
        space = self.originals.space
        columns = zip(space.domain.attributes, space.heights.tolist(), self.levels.T)
        return {attribute: np.bincount(column, minlength=height + 1).tolist() for attribute, height, column in columns}


def generalize(disclosure: Disclosure, attribute: str, condition: BoolArray, level: int) -> Disclosure:
    """Raise an attribute of records for which a condition holds to a level, or keep a higher one (Definition 7)."""
    axis = disclosure.originals.space.domain.index(attribute)
    height = int(disclosure.originals.space.heights[axis])
    if isinstance(level, bool) or not isinstance(level, int | np.integer) or not 0 <= level <= height:
        raise DisclosureRuleError(f"{attribute!r} has the levels 0 to {height}, not {level!r}")
    if condition.dtype != np.bool_ or condition.shape != (len(disclosure.originals),):
        raise DisclosureRuleError(f"a condition needs one truth value for each of {len(disclosure.originals)} records")
    levels = disclosure.levels.copy()
    levels[condition, axis] = np.maximum(levels[condition, axis], level)
    return replace(disclosure, levels=levels)


# Optimal disclosures: the best level of each attribute of each record for an objective (LSFB09 section 4).
#
# One walk computes the losses of all records at every level vector. The best level vector of each record, the frontier of
# risk against utility and the best disclosure on average are different summaries of it.

Progress = Callable[[int, int], None]
"""Called with the number of level vectors done, and of all."""

REMEMBERED = 1 << 26
"""Bytes of cached sensitivities, reused at level vectors that differ in other attributes."""


def unwatched(done: int, total: int) -> None:
    """Ignore progress."""


@frozen(eq=False)
class DecisionProblem:
    """Records to be disclosed, record i about person i, to attackers with one of some dictionaries.

    prior: the probability of each dictionary. If it is None, the loss of a record is that under its worst dictionary
    (`least_worst_risk` is about all together). weights: of each record in means, by default 1. Raises DisclosureRuleError.
    """

    originals: Records
    dictionaries: tuple[Dictionary, ...]
    harm: Harm
    prior: tuple[float, ...] | None = (1.0,)
    weights: FloatArray | None = None

    def __post_init__(self) -> None:
        length = len(self.originals)
        if not length:
            raise DisclosureRuleError("there are no records to disclose")
        if self.prior is not None:
            as_distribution(np.asarray(self.prior, dtype=np.float64), len(self.dictionaries), "dictionary")
        elif not self.dictionaries:
            raise DisclosureRuleError("a worst case needs at least one dictionary")
        if self.weights is not None:
            weights = read_only_copy(self.weights, np.float64)
            if weights.shape != (length,) or not (np.isfinite(weights).all() and min(weights) >= 0 and weights.any()):
                raise DisclosureRuleError(
                    f"{length} weights were expected, one for each record, finite, none negative, not all 0"
                )
            object.__setattr__(self, "weights", weights)

    @property
    def shares(self) -> FloatArray:
        """Share of each record in means, 1 in all: shape (records,)."""
        weights = np.ones(len(self.originals)) if self.weights is None else self.weights
        return np.asarray(weights / weights.sum())

    def distinct(self) -> tuple["DecisionProblem", IndexArray]:
        """Return the problem of the distinct records without weights, and for each record the number of its distinct one."""
        if self.harm.is_personal:
            return replace(self, weights=None), np.arange(len(self.originals))
        distinct, number = self.originals.distinct()
        return replace(self, originals=distinct, weights=None), number

    def utility(self, rows: IndexArray, levels: IndexArray) -> FloatArray:
        """Return the utility of some records at a level vector, in steps below `*`: shape (rows,)."""
        of_all = self.originals.level_vector
        levels_shown = np.maximum(self.originals.levels[rows] if of_all is None else of_all, levels)
        return np.broadcast_to((self.originals.space.heights - levels_shown).sum(axis=-1).astype(np.float64), len(rows))

    def scores(self, objective: Preference, levels: IndexArray, loss: FloatArray) -> FloatArray:
        """Return the scores of a level vector of all records with some losses by an objective: shape (3, records)."""
        return score(objective, loss, self.utility(np.arange(len(loss)), levels))

    def losses(self, rows: IndexArray, levels: IndexArray) -> FloatArray:
        """Return the losses of records at one or their level vectors under each dictionary: shape (dictionaries, rows)."""
        disclosed = self.originals[rows].generalized(levels)
        return np.stack(
            [
                self.harm.loss(disclosed, rows, consistent_counts(disclosed, dictionary))
                for dictionary in self.dictionaries
            ]
        )

    def loss(self, rows: IndexArray, levels: IndexArray) -> FloatArray:
        """Return the loss of some records at a level vector, expected over dictionaries or the largest: shape (rows,)."""
        return self.averaged(self.losses(rows, levels))

    def averaged(self, parts: FloatArray) -> FloatArray:
        """Return the expectation over the dictionaries, or the maximum: from shape (dictionaries, rows) to (rows,)."""
        if len(parts) == 1 or self.prior is None:
            return np.asarray(parts.max(axis=0))
        return np.asarray(product(np.array(self.prior)[:, None], parts).sum(axis=0), dtype=np.float64)


def losses_by_vector(
    problem: DecisionProblem, vectors: IndexArray, progress: Progress = unwatched
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the number of each level vector and the losses of all records at it, shape (dictionaries, records)."""
    originals, people, space = problem.originals, np.arange(len(problem.originals)), problem.originals.space
    held = [levels < space.heights for dictionary in problem.dictionaries for levels, *_ in dictionary.parts]
    is_held = np.broadcast_to(np.any(held, axis=0), len(space))
    # Attributes that no dictionary has do not distinguish entries.
    cells, cell_of = Records(space, np.where(is_held, originals.nodes, space.roots)).distinct()
    counts = [walk_counts(cells, dictionary) for dictionary in problem.dictionaries]
    parts = (problem.harm.identified, problem.harm.missed)
    sensitivities = [(harm_part, np.isin(range(len(space)), list(harm_part.weights.axes))) for harm_part in parts]

    @lru_cache(max(REMEMBERED // (8 * len(people)), 1))
    def harm_at(sensitivity: Sensitivity, levels: tuple[int, ...]) -> FloatArray:
        return sensitivity(originals.generalized(levels), people)

    order = np.lexsort(vectors[:, is_held].T[::-1]) if is_held.any() else np.arange(len(vectors))
    for done, number in enumerate(order.tolist()):
        progress(done, len(vectors))
        levels = vectors[number]
        identified, missed = (
            harm_at(harm_part, tuple((levels * weighs).tolist())) for harm_part, weighs in sensitivities
        )
        yield number, np.stack([expected_harm(identified, missed, count(levels)[cell_of]) for count in counts])
    progress(len(vectors), len(vectors))


@frozen(eq=False)
class Optimum:
    """Best disclosure found for each record.

    disclosure: with everything suppressed if nothing is allowed. allowed: whether something is. loss, utility: of each
    record, shape (records,). evaluated: how many losses of a record at a level vector were computed. weights: as those
    of the problem. bound: the value that no disclosure can beat, if this one is not proven to be best.
    """

    disclosure: Disclosure
    allowed: BoolArray
    loss: FloatArray
    utility: FloatArray
    evaluated: int
    weights: FloatArray | None = None
    bound: float | None = None

    @classmethod
    def of(
        cls, problem: DecisionProblem, levels: IndexArray, loss: FloatArray, evaluated: int, bound: float | None = None
    ) -> "Optimum":
        """Return the disclosure of all records at some levels, which are allowed. levels: one vector for each record."""
        utility = problem.utility(np.arange(len(loss)), levels)
        allowed, disclosure = np.ones(len(loss), dtype=bool), Disclosure(problem.originals, levels)
        return cls(disclosure, allowed, loss, utility, evaluated, problem.weights, bound)

    @property
    def risk(self) -> float:
        """Mean loss."""
        return weighted_mean(self.loss, self.weights)

    @property
    def mean_utility(self) -> float:
        """Mean utility."""
        return weighted_mean(self.utility, self.weights)


def best_of_each(problem: DecisionProblem, objective: Preference, progress: Progress = unwatched) -> Optimum:
    """Return the best of all level vectors for each record. O(different records * vectors)."""
    distinct, number = problem.distinct()
    records, vectors = len(distinct.originals), distinct.originals.space.level_vectors()
    is_useful = [(distinct.scores(objective, levels, np.zeros(records))[0] == 0).any() for levels in vectors]
    vectors = vectors[np.array(is_useful, dtype=bool)]
    places = np.zeros((len(vectors), 1), dtype=np.intp)
    best, vector = _best_vectors(distinct, vectors, places, partial(distinct.scores, objective), progress)
    allowed = best[0, 0] == 0
    levels = np.vstack([vectors, distinct.originals.space.heights])[np.where(allowed, vector[0], -1)]
    loss = distinct.loss(np.arange(records), levels)
    optimum = Optimum.of(problem, levels[number], loss[number], len(vectors) * records)
    return replace(optimum, allowed=allowed[number])


def _best_vectors(
    problem: DecisionProblem,
    vectors: IndexArray,
    places: IndexArray,
    scores: Callable[[IndexArray, FloatArray], FloatArray],
    progress: Progress,
) -> tuple[FloatArray, IndexArray]:
    """Return the least scores of each record at each place, lexicographically, and the numbers of their level vectors.

    places: of each vector, for all records or for each; shape (vectors, 1 or records). scores: of a vector and losses,
    shape (scores, records). Returns shapes (scores, places, records) and (places, records); infinite and -1 if there
    is no vector.
    """
    rows = np.arange(len(problem.originals))
    chosen = np.full((int(places.max(initial=0)) + 1, len(rows)), -1)
    best = np.full((len(scores(problem.originals.space.heights, np.zeros(len(rows)))), *chosen.shape), np.inf)
    for number, parts in losses_by_vector(problem, vectors, progress):
        at = (places[number], rows)
        of_vector, best_so_far = scores(vectors[number], problem.averaged(parts)), best[:, *at]
        better: BoolArray = np.zeros(len(rows), dtype=bool)
        for value, other in zip(of_vector[::-1], best_so_far[::-1]):
            better = (value < other) | ((value == other) & better)
        best[:, *at], chosen[at] = np.where(better, of_vector, best_so_far), np.where(better, number, chosen[at])
    return best, chosen


# Means over records separate: at a price for utility each record takes its own best trade-off (LSFB09 eq. 9). As the price
# rises, records step along the lower convex hulls of their own pairs of loss and utility, the cheapest step first. After
# any number of steps no disclosure has less risk at as much utility.


def _climb(
    problem: DecisionProblem, progress: Progress
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray, Callable[[int, float], Optimum]]:
    """Return the mean utility and the risk at the start and after each step along the hulls, shape (steps + 1,).

    It also returns the rising price of each step, and whether it moves the means, shape (steps,). The last entry is a
    function to the disclosure after so many steps, with a bound.
    """
    utilities, loss, vector, vectors = _least_losses(problem, progress)
    every = np.arange(len(loss))
    # Each record begins with the most useful of its least losses.
    start: IndexArray = len(utilities) - 1 - np.argmin(loss[:, ::-1], axis=1)
    rows, place = every, start
    steps: list[tuple[IndexArray, IndexArray, FloatArray, FloatArray]] = [(every[:0], every[:0], *np.zeros((2, 0)))]
    while len(rows):
        # The next vertex of each record's hull: the cheapest utility, ties to the largest.
        gain = utilities[None, :] - utilities[place][:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            price = np.where(gain > 0, (loss[rows] - loss[rows, place][:, None]) / gain, np.nan)
        price = np.nan_to_num(price, nan=np.inf, posinf=np.inf, neginf=-np.inf)
        step = len(utilities) - 1 - np.argmin(price[:, ::-1], axis=1)
        least = price[np.arange(len(rows)), step]
        moved = np.isfinite(least)
        rows, step, gained, prices = rows[moved], step[moved], (utilities[step] - utilities[place])[moved], least[moved]
        steps.append((rows, step, gained, prices))
        place = step
    record, reached, gained, prices = map(np.concatenate, zip(*steps))
    order = np.argsort(prices, kind="stable")
    record, reached, gained, prices = record[order], reached[order], gained[order], prices[order]

    def places(count: int) -> IndexArray:
        after = start.copy()
        # The last step of a record is assigned last, and reaches furthest.
        after[record[:count]] = reached[:count]
        return after

    def optimum(count: int, bound: float) -> Optimum:
        place = places(count)
        levels = vectors[vector[every, place]]
        return Optimum.of(problem, levels, loss[every, place], len(vectors) * len(every), bound)

    shares = problem.shares
    ends = [(shares @ utilities[p], product(shares, loss[every, p]).sum()) for p in (start, places(len(prices)))]
    gained = gained * shares[record]
    utility, risk = (first + np.r_[0.0, np.cumsum(steps)] for first, steps in zip(ends[0], (gained, gained * prices)))
    # The exact end of everybody's last step, without the rounding of the sums.
    utility[-1], risk[-1] = ends[1]
    return utility, risk, prices, shares[record] > 0, optimum


def _least_losses(
    problem: DecisionProblem, progress: Progress
) -> tuple[FloatArray, FloatArray, IndexArray, IndexArray]:
    """Return the utilities that occur, the least loss of each record at each, its level vector, and all vectors."""
    distinct, number = problem.distinct()
    rows, vectors = np.arange(len(distinct.originals)), distinct.originals.space.level_vectors()
    different = rows if distinct.originals.level_vector is None else rows[:1]
    worth = np.stack([distinct.utility(different, levels) for levels in vectors])
    utilities, places = np.unique(worth, return_inverse=True)

    places = places.reshape(worth.shape)
    best, vector = _best_vectors(distinct, vectors, places, lambda _, loss: loss[None], progress)
    return utilities, best[0].T[number], vector.T[number], vectors


@frozen(eq=False)
class Frontier:
    """Optimal pairs of mean utility and risk, both rising: shape (points,) each.

    price: for each point the least loss per step of utility at which the next step is taken; infinite at the last.
    Between points the line is a lower bound, and steps of single records come within their own size of it.
    """

    utility: FloatArray
    risk: FloatArray
    price: FloatArray

    def __len__(self) -> int:
        """Number of points."""
        return len(self.utility)

    def thinned(self, points: int) -> "Frontier":
        """Return at most so many of its points, evenly spread over utility, with both ends."""
        if len(self) <= points:
            return self
        nearest = np.searchsorted(self.utility, np.linspace(self.utility[0], self.utility[-1], points))
        positions = np.unique(np.minimum(nearest, len(self) - 1))
        return Frontier(self.utility[positions], self.risk[positions], self.price[positions])


def frontier(problem: DecisionProblem, progress: Progress = unwatched) -> Frontier:
    """Return the frontier over all level vectors for each record (LSFB09 Fig. 4), infinite without a finite loss."""
    utility, risk, price, moves, _ = _climb(problem, progress)
    # The last step at a price is a point; records of weight 0 move no mean.
    moving = np.flatnonzero(moves)
    is_last = np.diff(price[moving], append=np.inf) > 0
    points = np.r_[0, moving[is_last] + 1]
    return Frontier(
        read_only(utility[points]), read_only(risk[points]), read_only(np.r_[price[moving][is_last], np.inf])
    )


# The rule of means (LSFB09 eqs. 7 and 8, section 8): a utility is demanded of the mean, not of every record. So records
# whose values tell much show less, and others more. At the same mean utility the risk can be a fraction.


def best_on_average(
    problem: DecisionProblem, objective: LeastRisk | MostUtility, progress: Progress = unwatched
) -> Optimum:
    """Return the least risk with at least a mean utility (eq. 8), or the most mean utility with at most a risk.

    The result is at most a step of one record worse than the best. The bound is the least risk that any disclosure
    with that mean utility can have, or the most mean utility with that risk (eq. 7). Raises DisclosureRuleError if no
    finite risk is allowed.
    """
    utility, risk, _, _, optimum = _climb(problem, progress)
    if not np.isfinite(risk[0]):
        raise DisclosureRuleError("every disclosure of the records has an infinite risk")
    if isinstance(objective, LeastRisk):
        # Rounding errors of sums must not cause a further step.
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
    return optimum(count, bound)


# A partial order of dictionaries, and the bound that it gives (LSFB09 Definition 5 and Proposition 1).


def precedes(specific: Dictionary, general: Dictionary) -> bool:
    """Return whether each person of one dictionary has an entry in the other, equally or more general (Definition 5)."""
    return _holds(general, specific.entries, specific.identifiers)


def _holds(dictionary: Dictionary, records: Records, identifiers: CountArray | None) -> bool:
    """Return whether a dictionary has an entry for the person of each record that is equally or more general."""
    if dictionary.identifiers is None or identifiers is None:
        raise IncomparableError("people are compared by identifier, so dictionaries need them")
    place = {identifier: row for row, identifier in enumerate(dictionary.identifiers.tolist())}
    rows = np.array([place.get(identifier, -1) for identifier in identifiers.tolist()], dtype=np.intp)
    return bool(np.all(rows >= 0)) and bool(records.is_below(dictionary.entries[rows]).all())


def require_bound(
    disclosed: Records, originals: Records, identifiers: CountArray, estimated: Dictionary, harm: Harm
) -> None:
    """Raise IncomparableError unless the risk under a dictionary bounds that under any which it precedes (Proposition
    1).

    disclosed: generalizations of the originals, which are about the people with these identifiers, all in the
    dictionary. Being identified must be no less harmful than being missed, as with Psi = 0.
    """
    if not bool(originals.is_below(disclosed).all()):
        raise IncomparableError("a disclosed record is no generalization of its original")
    if not _holds(estimated, originals, identifiers):
        raise IncomparableError("the estimated dictionary lacks the person of an original record")
    people = np.arange(len(disclosed))
    if np.any(harm.missed(disclosed, people) > harm.identified(disclosed, people)):
        raise IncomparableError("a record does more harm when its person is not found, so no risk is an upper bound")
