"""Each record's own trade-offs of loss against utility: the lower convex hull, step by step, the cheapest step first.

Means over records separate: at a price for utility each record takes its own best trade-off (LSFB09 eq. 9). As the price
rises, records step along the lower convex hulls of their own pairs of loss and utility.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from checks.risk.choosing.rolled_counts import RolledCounts
from checks.risk.loss import expected_harm
from checks.risk.optimal_disclosure import DecisionProblem, Progress, unwatched
from checks.risk.record import Records
from checks.risk.sensitivity import Sensitivity, product
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray

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
        shown = np.zeros((len(utilities), len(rows)))
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
                    better |= (losses == loss[at_place]) & (steps > shown[at_place])
                if len(place) == 1:
                    np.copyto(loss[place[0]], losses, where=better)
                    np.copyto(vector[place[0]], number, where=better)
                    if problem.steps is not None:
                        np.copyto(shown[place[0]], steps, where=better)
                else:
                    loss[place[better], rows[better]] = losses[better]
                    vector[place[better], rows[better]] = number
                    if problem.steps is not None:
                        shown[place[better], rows[better]] = steps[better]
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
        loss, each = self.loss[rows], np.arange(len(rows))
        gained = self.utilities[None, :] - self.utilities[place][:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            price = np.where(gained > 0, (loss - loss[each, place][:, None]) / gained, np.inf)
        price = np.where(np.isnan(price), np.inf, price)
        step = price.shape[1] - 1 - np.argmin(price[:, ::-1], axis=1)
        least = price[each, step]
        return np.where(np.isfinite(least), step, -1), least


def _told(problem: DecisionProblem) -> BoolArray:
    """Which attributes any dictionary has: shape (attributes,)."""
    heights = problem.originals.space.heights
    told = np.any([part.levels < heights for each in problem.dictionaries for part in each.parts], axis=0)
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
            shown = np.where(_told(problem), levels, originals.space.heights)
            self._rolled = [RolledCounts(cells, shown, dictionary) for dictionary in problem.dictionaries]

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
        own = tuple(level if axis in sensitivity.axes else 0 for axis, level in enumerate(levels.tolist()))
        if (name, own) not in self._remembered:
            if len(self._remembered) * len(self._people) * 8 > REMEMBERED:
                self._remembered.clear()
            self._remembered[name, own] = sensitivity(self._problem.originals.generalized(own), self._people)
        return self._remembered[name, own]
