"""The sets of attributes that margins may show, for the bound of tables with so many that their margins are too many.

Margins of two resolutions of each attribute are told apart (`lower_bound`): not shown, and as fine as it is allowed by
itself. So a margin is a set of attributes; it comes of an allowed margin where the one with the coarsest step of each is
allowed. Sets are found size by size like frequent itemsets (Agrawal and Srikant, VLDB 1994): one is looked at when all that
lack one of its attributes were found. Where a constraint judges margins by the least of their classes, the sets P + c + e
that begin alike are counted together: among the rows of a class of P, with indicators X of all values, as the product X'X.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray
from models.search.bounds.lower_bound import Node, resolved
from models.search.constraint import ClassSize, is_refused_in_all
from models.search.problem import Problem, Stop
from models.tables.mixed_radix import pack
from models.x_log_x import x_log_x

_MOST_INDICATORS = 1 << 25
"""Rows times values, at most, all of which are laid out in single precision."""

_MOST_ROWS = 1 << 21
"""Rows, equal ones counted, so that single precision counts exactly and the terms of all entropies are tabulated."""

_MOST_WORK = 1 << 40
"""Rows times sets of the size after the next, were these as many more as the next are: half a minute, or one and a half."""

_FEWEST_ROWS = 1 << 12
"""Up to so many a set takes about as long as with these."""

_CHUNK = 1 << 17
"""Sets that may be looked at, before those are left out of which some part is not allowed, laid out at once."""

_LARGEST_KEY = 1 << 62
"""Numbers of sets stay below this."""

_KILLING = 0.75
"""A class is worth a look of its own while no more than this share of the sets stays allowed after one."""

_ALONE, _ALONE_PER_ROW = 20_000.0, 2.0
"""Nanoseconds, about, that it takes to count one set by itself: each, and for each row."""

_PER_CLASS, _PER_COUNT, _PER_PRODUCT = 50_000.0, 3.0, 1 / 120
"""The same of sets that are counted at once: for each class, each count of two values in it, and each row and two values."""

_SPARSE = 3
"""Indicators are picked one by one where a range of them holds so many times as many."""


@dataclass(frozen=True, eq=False)
class AttributeSets:
    """Sets of one size that may be shown.

    attributes: of the domain, so many. places: shape (sets, size), of attributes, ascending; the sets themselves ascend.
    entropies: shape (sets,), nats, of the margins that show each attribute as finely as it is allowed by itself.
    """

    attributes: int
    places: IndexArray
    entropies: FloatArray

    @classmethod
    def empty_set(cls, attributes: int) -> "AttributeSets":
        """The set of none, which may always be shown."""
        return cls(attributes, np.empty((1, 0), dtype=np.intp), np.zeros(1))

    def positions(self, places: IndexArray) -> IndexArray:
        """Where sets are that are here; of others the place of any. places: shape (sets, size)."""
        return np.minimum(np.searchsorted(self._keys, self._numbered(places)), len(self._keys) - 1)

    def are_here(self, places: IndexArray) -> BoolArray:
        """Which of some sets of this size are among these; places: shape (sets, size)."""
        return np.asarray(self._keys[self.positions(places)] == self._numbered(places))

    @cached_property
    def _keys(self) -> IndexArray:
        return self._numbered(self.places)

    def _numbered(self, places: IndexArray) -> IndexArray:
        """A number for each set, in their order."""
        keys = np.zeros(len(places), dtype=np.intp)
        for column in places.T:
            keys = keys * self.attributes + column
        return keys

    @cached_property
    def following(self) -> IndexArray:
        """How many sets after each one differ from it in the last attribute alone: shape (sets,)."""
        begins = np.flatnonzero(np.any(self.places[1:, :-1] != self.places[:-1, :-1], axis=1)) + 1
        ends, numbers = np.append(begins, len(self.places)), np.arange(len(self.places))
        return ends[np.searchsorted(ends, numbers, side="right")] - numbers - 1

    def larger(self) -> Iterator[IndexArray]:
        """The sets of one attribute more all of whose parts are here, ascending, in arrays of those that begin alike.

        Shape (sets, size + 1) each: all but their last two attributes are the same.
        """
        chunks = np.cumsum(self.following) // _CHUNK
        for chunk in np.split(np.arange(len(self.places)), np.flatnonzero(np.diff(chunks)) + 1):
            following = self.following[chunk]
            one, before = np.repeat(chunk, following), np.cumsum(following) - following
            other = one + 1 + np.arange(len(one)) - np.repeat(before, following)
            sets = np.column_stack((self.places[one], self.places[other, -1]))
            for column in range(sets.shape[1] - 2):
                sets = sets[self.are_here(np.delete(sets, column, axis=1))]
            if len(sets):
                begins = np.flatnonzero(np.any(sets[1:, :-2] != sets[:-1, :-2], axis=1)) + 1
                yield from np.split(sets, begins)


def attribute_sets(problem: Problem, finest: Node, judged: ClassSize, stop: Stop) -> list[AttributeSets] | None:
    """The sets that may be shown, those of one attribute first. None when stopped, or where there are too many.

    finest: the finest resolution at which each attribute is allowed by itself; 0 for none. judged: how the constraint judges
    some margins by their classes; of each other it is asked.
    """
    shown = np.flatnonzero(finest)
    together = _Together.of(problem, finest, judged)
    if together is None or not len(shown):
        return None
    alone = [problem.cube.entropy(resolved(problem, place, finest[place])) for place in shown.tolist()]
    found = [AttributeSets(len(finest), shown[:, None], np.array(alone))]
    while len(found[-1].places):
        if stop() or _too_many(found[-1], len(together.fine.ones)):
            return None
        larger = _one_larger(found[-1], together, stop)
        if larger is None:
            return None
        found.append(larger)
    return found[:-1]


def _too_many(sets: AttributeSets, rows: int) -> bool:
    """Whether there are likely to be too many of larger sizes, or they cannot be numbered."""
    following = int(sets.following.sum())
    after_the_next = following * following // len(sets.places)
    sizes = sets.places.shape[1] + 1
    return after_the_next * max(rows, _FEWEST_ROWS) > _MOST_WORK or sets.attributes**sizes > _LARGEST_KEY


def _one_larger(sets: AttributeSets, together: "_Together", stop: Stop) -> AttributeSets | None:
    """The sets of one attribute more; None when stopped."""
    places: list[IndexArray] = [np.empty((0, sets.places.shape[1] + 1), dtype=np.intp)]
    entropies: list[FloatArray] = [np.empty(0)]
    for candidates in sets.larger():
        if stop():
            return None
        allowed, own = together.judged(candidates)
        places.append(candidates[allowed])
        entropies.append(own)
    return AttributeSets(sets.attributes, np.concatenate(places), np.concatenate(entropies))


@dataclass(frozen=True, eq=False)
class _Indicators:
    """The rows of a table and, for each value of each attribute at some resolution, whether they hold it.

    columns: codes by place, shape (rows,), of so many sizes. starts: the first indicator of each place, and their number.
    ones: shape (rows, indicators). counts: of equal rows; None where all are 1.
    """

    columns: Sequence[CodeArray]
    sizes: Sequence[int]
    starts: IndexArray
    ones: npt.NDArray[np.float32]
    counts: CountArray | None

    @classmethod
    def of(cls, problem: Problem, resolutions: Sequence[int]) -> "_Indicators | None":
        """None where they are too many."""
        domain = problem.cube.domain
        table = problem.cube.table(sum(domain.attribute_masks))
        levels = [hierarchy.height - own for hierarchy, own in zip(domain.hierarchies, resolutions)]
        sizes = [hierarchy.size(level) for hierarchy, level in zip(domain.hierarchies, levels)]
        if len(table) * sum(sizes) > _MOST_INDICATORS:
            return None
        columns = list(map(table.column, domain.attributes, levels))
        starts = np.concatenate(([0], np.cumsum(sizes)))
        ones = np.zeros((len(table), starts[-1]), dtype=np.float32)
        for start, column in zip(starts.tolist(), columns):
            ones[np.arange(len(table)), start + column.astype(np.intp)] = 1
        return cls(columns, sizes, starts, ones, None if table.is_unweighted else table.counts)

    def classes(self, places: IndexArray) -> tuple[int, Iterator[IndexArray]]:
        """How many classes of some attributes there are, and the rows of each, of the smallest first."""
        keys, _ = pack([self.columns[i] for i in places], [self.sizes[i] for i in places], len(self.ones))
        if len(self.ones) and int(keys.max()) >= len(self.ones):
            keys = np.unique(keys, return_inverse=True)[1]
        rows = np.bincount(keys)
        occupied = np.flatnonzero(rows)
        smallest_first = occupied[np.argsort(rows[occupied], kind="stable")]
        return len(occupied), (np.flatnonzero(keys == key) for key in smallest_first)

    def together(self, rows: IndexArray, values: slice | IndexArray) -> npt.NDArray[np.float32]:
        """How many of some rows hold each two of some values, shape (values, values)."""
        held = self.ones[rows, values] if isinstance(values, slice) else self.ones[rows[:, None], values]
        return held.T @ (held if self.counts is None else held * self.counts[rows, None].astype(np.float32))


class _Pairs:
    """Pairs of attributes, and where the counts of their values are among those of all values that are needed for them."""

    def __init__(self, indicators: _Indicators, pairs: IndexArray) -> None:
        places, positions = np.unique(pairs, return_inverse=True)
        first, after = indicators.starts[places], indicators.starts[places + 1]
        self.values: slice | IndexArray = slice(int(first[0]), int(after[-1]))
        if _SPARSE * int((after - first).sum()) < after[-1] - first[0]:
            self.values = np.concatenate([np.arange(*own) for own in zip(first, after)])
            self._starts = np.concatenate(([0], np.cumsum(after - first)[:-1]))
            self._one, self._other = positions.reshape(pairs.shape).T
        else:
            self._starts = indicators.starts[places[0] : places[-1] + 1] - first[0]
            self._one, self._other = (pairs - places[0]).T
        self.width = int((after - first).sum()) if isinstance(self.values, np.ndarray) else int(after[-1] - first[0])

    def sums(self, of_values: FloatArray) -> FloatArray:
        """Summed over the values of each pair."""
        by_place = np.add.reduceat(np.add.reduceat(of_values, self._starts, axis=0), self._starts, axis=1)
        return np.asarray(by_place[self._one, self._other])

    def any(self, of_values: BoolArray) -> BoolArray:
        """Whether it is so of any values of each pair."""
        by_place = np.logical_or.reduceat(of_values, self._starts, axis=0)
        return np.asarray(np.logical_or.reduceat(by_place, self._starts, axis=1)[self._one, self._other])


@dataclass(frozen=True, eq=False)
class _Together:
    """What judges sets. coarse, fine: the rows with each attribute at its coarsest and its finest resolution. judged_alone:
    of each attribute whether sets with it are put to the constraint. terms: n ln n of each number of rows.
    """

    problem: Problem
    finest: Node
    least: int
    judged_alone: BoolArray
    coarse: _Indicators
    fine: _Indicators
    terms: FloatArray

    @classmethod
    def of(cls, problem: Problem, finest: Node, judged: ClassSize) -> "_Together | None":
        """None where there are too many rows."""
        cube, coarsest = problem.cube, [min(resolution, 1) for resolution in finest]
        if not 0 < cube.total <= _MOST_ROWS or (fine := _Indicators.of(problem, finest)) is None:
            return None
        coarse = fine if coarsest == list(finest) else _Indicators.of(problem, coarsest)
        if coarse is None:
            return None
        alone = np.array([bool(own & ~judged.vertices) for own in cube.domain.attribute_masks])
        terms = x_log_x(np.arange(cube.total + 1))
        return cls(problem, finest, judged.least, alone, coarse, fine, terms)

    def judged(self, sets: IndexArray) -> tuple[IndexArray, FloatArray]:
        """Which of some sets that begin alike may be shown, ascending, and the entropies of these in nats."""
        alone = self.judged_alone[sets].any(axis=1)
        asked, own = self._one_by_one(sets, np.flatnonzero(alone))
        counted, others = self._at_once(sets, np.flatnonzero(~alone))
        allowed = np.concatenate((asked, counted))
        order = np.argsort(allowed)
        return allowed[order], np.concatenate((own, others))[order]

    def _one_by_one(self, sets: IndexArray, left: IndexArray) -> tuple[IndexArray, FloatArray]:
        """As `judged`, of those that are left."""
        allowed, entropies = [], []
        for number in left.tolist():
            places = sets[number].tolist()
            if not is_refused_in_all(self.problem.constraint, sum(resolved(self.problem, i, 1) for i in places)):
                allowed.append(number)
                shown = sum(resolved(self.problem, i, self.finest[i]) for i in places)
                entropies.append(self.problem.cube.entropy(shown))
        return np.array(allowed, dtype=np.intp), np.array(entropies, dtype=np.float64)

    def _at_once(self, sets: IndexArray, left: IndexArray) -> tuple[IndexArray, FloatArray]:
        """As `judged`, of those that are left and that the constraint judges by their classes."""
        if not len(left):
            return left, np.empty(0)
        beginning = sets[0, :-2]
        _, classes = self.coarse.classes(beginning)
        for rows in classes:
            before = len(left)
            left = self._without_small(sets, left, [rows])
            if len(left) > _KILLING * before or not len(left):
                break
        if not len(left):
            return left, np.empty(0)
        pairs = _Pairs(self.fine, sets[left, -2:])
        number, fine_classes = self.fine.classes(beginning)
        counts = pairs.width**2
        at_once = number * (_PER_CLASS + _PER_COUNT * counts) + _PER_PRODUCT * len(self.fine.ones) * counts
        if len(left) * (_ALONE + _ALONE_PER_ROW * len(self.fine.ones)) < at_once:
            return self._one_by_one(sets, left)
        if self.coarse is not self.fine:
            left = self._without_small(sets, left, classes)
            if not len(left):
                return left, np.empty(0)
            pairs = _Pairs(self.fine, sets[left, -2:])
        terms: FloatArray = np.zeros(())
        small = np.zeros(len(left), dtype=np.bool_)
        for rows in fine_classes:
            together = self.fine.together(rows, pairs.values)
            terms = terms + self.terms[together.astype(np.intp)]
            if self.coarse is self.fine:
                small |= pairs.any((together > 0) & (together < self.least))
        total = self.problem.cube.total
        return left[~small], (np.log(total) - pairs.sums(terms) / total)[~small]

    def _without_small(self, sets: IndexArray, left: IndexArray, classes: Iterable[IndexArray]) -> IndexArray:
        """Those that are left of which no class among some of their beginning is too small."""
        for rows in classes:
            pairs = _Pairs(self.coarse, sets[left, -2:])
            counts = self.coarse.together(rows, pairs.values)
            left = left[~pairs.any((counts > 0) & (counts < self.least))]
            if not len(left):
                break
        return left
