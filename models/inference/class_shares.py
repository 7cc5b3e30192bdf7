"""Shares of values in classes of known size, given tables of classes by values: counted, or fitted.

A table says how many rows some unions of classes have of some unions of values. An *arrangement* gives each row of
each class a value so that all tables are matched. If all arrangements are equally likely, the share of a value in a
class is a weighted mean. It runs over the tables of classes by values with these sums. The weight of a table is its
number of arrangements, a product of multinomials. If there are too many tables to list, the maximum-entropy
distribution, their limit, replaces them.
"""

from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, islice
from math import comb, prod
from operator import mul
from typing import TypeVar

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError
from models.frozen import frozen
from models.programs.fitting import Sums, Target, fit


@frozen(eq=False)
class SummedTable:
    """Counts of unions of classes by unions of values.

    class_of: the row of `counts` that each class is in, shape (classes,). value_of: the column that each value is in, shape
    (values,). counts: whole numbers, shape (unions of classes, unions of values).
    """

    class_of: IndexArray
    value_of: IndexArray
    counts: FloatArray

    @cached_property
    def places(self) -> IndexArray:
        """Place of the union of each class and value among the counts, row by row: shape (classes, values)."""
        return np.asarray(self.class_of[:, None] * self.counts.shape[1] + self.value_of, dtype=np.intp)

    @property
    def target(self) -> Target:
        """The counts, and how cells of shape (classes, values) add up to them."""
        return Sums(self.counts.size, self.places.ravel()), self.counts.ravel()

    def sums(self, cells: FloatArray) -> FloatArray:
        """Return the sums of other cells over the unions, shape (unions,). cells: shape (classes, values)."""
        return self.target[0].of(cells)


@frozen(eq=False)
class ClassSums:
    """Classes with their positive numbers of rows, shape (classes,), and tables of the same values about them."""

    sizes: IndexArray
    tables: tuple[SummedTable, ...]

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of each cell, shape (classes, values), propagated from sum to sum."""
        value_of = np.zeros_like(self.tables[0].value_of)
        size_table = SummedTable(np.arange(len(self.sizes)), value_of, self.sizes.astype(np.float64)[:, None])
        upper = np.repeat(size_table.counts, len(value_of), axis=1)
        lower = np.zeros_like(upper)
        for _ in range(_ROUNDS):
            before = lower.sum() - upper.sum()
            for table in (size_table, *self.tables):
                counts = table.counts.ravel()
                upper = np.minimum(upper, (counts - table.sums(lower))[table.places] + lower)
                lower = np.maximum(lower, (counts - table.sums(upper))[table.places] + upper)
            if lower.sum() - upper.sum() == before:
                break
        return lower, upper


_ROUNDS = 100
"""Most rounds of propagation; bounds mostly settle in a few."""


# Counting arrangements: class by class. The state before a class is the remainder of each sum.


LISTED = 500_000
"""Most steps of a count: ways to fill a class, from each state that the classes before it can leave. A step of a large
class counts several times, because its exact number of arrangements has many digits."""

_LARGE = 50
"""Rows of a class for which each way to fill it counts as one step more."""

_Filled = tuple[int, ...]
"""Rows of a class by value."""

Step = tuple[int, int, _Filled]
"""Number of a state, number of the state after a class, and the rows of the class by value."""

_Number = TypeVar("_Number", int, Decimal)

_FLOATING = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Decimal context for numbers of arrangements; each of a million operations rounds the last of its digits."""


@frozen(eq=False)
class CountedShares:
    """Mean share of each value in each class over all arrangements, all equally likely.

    shares: shape (classes, values), to the nearest float, counted to 50 digits. steps: of each class.
    """

    sizes: IndexArray
    steps: Sequence[Sequence[Step]]
    shares: FloatArray
    deadline: Deadline

    @cached_property
    def exact(self) -> list[list[Fraction]]:
        """The shares as fractions. Raises TimeOverError if the deadline comes."""
        total, rows = self._rows
        return [
            [Fraction(row, total * size) for row in class_rows] for class_rows, size in zip(rows, self.sizes.tolist())
        ]

    @property
    def arrangements(self) -> int:
        """Exact number of arrangements. Raises TimeOverError if the deadline comes."""
        return self._rows[0]

    @cached_property
    def _rows(self) -> tuple[int, list[list[int]]]:
        return _rows_in_all(self.steps, lambda _, filled: prod(map(comb, accumulate(filled), filled)), 1, self.deadline)


def counted_shares(sums: ClassSums, most: int = LISTED, deadline: Deadline = NEVER) -> CountedShares | None:
    """Count all arrangements and return their mean shares; None if that takes more than `most` steps.

    Raises TimeOverError, and ContradictionError if no arrangement has the sums.
    """
    lower, upper = (np.rint(bound).astype(int) for bound in sums.bounds)
    if _digits(sums, upper - lower) > _HOPELESS or (steps := _layers(sums, lower, upper, most, deadline)) is None:
        return None
    sizes = sums.sizes.tolist()
    with localcontext(_FLOATING):
        needed = {*sizes, *(part for of_class in steps for *_, filled in of_class for part in filled)}
        products = enumerate(accumulate(range(1, max(sizes) + 1), mul, initial=Decimal(1)))
        factorials = {number: factorial for number, factorial in products if number in needed}

        def ways(place: int, filled: _Filled) -> Decimal:
            return factorials[sizes[place]] / prod(map(factorials.__getitem__, filled), start=Decimal(1))

        total, rows = _rows_in_all(steps, ways, Decimal(1), deadline)
        if not total:
            raise ContradictionError("no table has these marginals")
        shares = [[float(row / (total * size)) for row in of_class] for of_class, size in zip(rows, sizes)]
    return CountedShares(sums.sizes, steps, np.array(shares), deadline)


def _rows_in_all(
    layers: Sequence[Sequence[Step]], ways: Callable[[int, _Filled], _Number], one: _Number, deadline: Deadline
) -> tuple[_Number, list[list[_Number]]]:
    """Return the number of arrangements, and the rows of each class with each value over all; empty if there are none."""
    none = one - one
    behind = [dict.fromkeys([step[1] for step in layers[-1]], one)]
    weights: list[list[_Number]] = []
    for place in reversed(range(len(layers))):
        deadline.check()
        weights.append([ways(place, filled) for _, _, filled in layers[place]])
        arriving: dict[int, _Number] = {}
        for (state, after, _), weight in zip(layers[place], weights[-1]):
            if following := behind[-1].get(after, none):
                arriving[state] = arriving.get(state, none) + weight * following
        behind.append(arriving)
    total = behind[-1].get(0, none)
    if not total:
        return total, []
    ahead: dict[int, _Number] = {0: one}
    rows = []
    for steps, weights_here, following_of in zip(layers, reversed(weights), behind[-2::-1]):
        deadline.check()
        of_class = [none] * len(steps[0][2])
        reached: dict[int, _Number] = {}
        for (state, after, filled), weight in zip(steps, weights_here):
            following = following_of.get(after, none)
            if following and (before := ahead.get(state, none)):
                before *= weight
                reached[after] = reached.get(after, none) + before
                together = before * following
                of_class = [so_far + together * part if part else so_far for so_far, part in zip(of_class, filled)]
        ahead = reached
        rows.append(of_class)
    return total, rows


_HOPELESS = 12.0
"""Digits of the low estimate of the number of tables above which counting does not begin, because it would not end."""


def _digits(sums: ClassSums, room: IndexArray) -> float:
    """Return a low estimate of the digits of the number of tables. room: of each cell between its bounds."""
    if not (free := (room > 0).astype(np.float64)).any():
        return 0.0
    tied = int(free.any(axis=1).sum()) + sum(int((table.sums(free) > 0).sum()) for table in sums.tables)
    directions = max(float(free.sum()) - tied, 0.0)
    return directions * float(np.log10(1 + room[room > 0] / 4).mean())


def _layers(
    sums: ClassSums, lower: IndexArray, upper: IndexArray, most: int, deadline: Deadline
) -> list[list[Step]] | None:
    """Return for each class the steps from each state that the classes before it can leave; None if there are too many."""
    offsets = np.cumsum([0, *(table.counts.size for table in sums.tables)])
    counts = np.concatenate([np.rint(table.counts).astype(int).ravel() for table in sums.tables]).tolist()
    places = np.stack([offset + table.places for offset, table in zip(offsets, sums.tables)], axis=2).tolist()
    last = {place: number for number, of_values in enumerate(places) for of_tables in of_values for place in of_tables}
    # A state packs the remainders of all sums into one integer, so that a step subtracts several at once.
    bits = max(counts, default=0).bit_length()
    states: dict[int, int] = {sum(count << place * bits for place, count in enumerate(counts) if place in last): 0}
    layers: list[list[Step]] = []
    budget = most
    for sum_number, places_of in enumerate(places):
        units = [sum(1 << place * bits for place in of_value) for of_value in places_of]
        counted = sorted({place for of_value in places_of for place in of_value})
        values_of = {
            place: [v for v, value_places in enumerate(places_of) if place in value_places] for place in counted
        }
        several = [(place, values) for place, values in values_of.items() if len(values) > 1]
        ended = sum(((1 << bits) - 1) << place * bits for place in counted if last[place] == sum_number)
        size, low, high = int(sums.sizes[sum_number]), lower[sum_number].tolist(), upper[sum_number].tolist()
        effort = 1 + size // _LARGE
        steps: list[Step] = []
        reached: dict[int, int] = {}
        ways_of: dict[_Filled, list[tuple[_Filled, int]]] = {}  # with what each takes from a state
        for state, number in states.items():
            deadline.check()
            rest = {place: state >> place * bits & (1 << bits) - 1 for place in counted}
            room = tuple(min(top, *map(rest.__getitem__, of_value)) for top, of_value in zip(high, places_of))
            if room not in ways_of:
                ways = _filled(size, low, room, budget // effort + 1)
                ways_of[room] = [(filled, sum(map(mul, filled, units))) for filled in ways]
            budget -= len(ways_of[room]) * effort
            if budget < 0:
                return None
            for filled, taken in ways_of[room]:
                if any(sum(filled[v] for v in values) > rest[place] for place, values in several):
                    continue
                after = state - taken
                if not after & ended:
                    steps.append((number, reached.setdefault(after, len(reached)), filled))
        states = reached
        layers.append(steps)
    return layers


def _filled(rows: int, low: Sequence[int], high: Sequence[int], most: int) -> list[_Filled]:
    """Return `most` ways, or all, to distribute the rows of a class among values, within the bounds of each."""
    result: list[_Filled] = [()]
    for v in range(len(high)):
        ahead, needed = sum(high[v + 1 :]), sum(low[v + 1 :])
        longer = (
            (*head, part)
            for head in result
            for remaining in [rows - sum(head)]
            for part in range(max(low[v], remaining - ahead), min(high[v], remaining - needed) + 1)
        )
        result = list(islice(longer, most))
    return result


# The maximum-entropy distribution of given sums, with a proof of its error.
#
# In class r it is n_r times a softmax over the values of a score, the sum of one multiplier for each published count. The
# multipliers minimize the convex dual function, by proportional fitting and then by Newton's method. The proof: let q be
# the distribution of some multipliers and p any table with the sums that is positive only where q is. Then KL(p || q) =
# KL(p || p*) + KL(p* || q) for the sought p* (Csiszar 1975). All have the same rows in each class, so n_r KL(p*_r || q_r)
# is at most KL(p || q), in rows. A last Newton step gives such a p. Pinsker's inequality bounds the error of the shares.


_SCALINGS, _STEPS, _HALVINGS, _SOLVING = 50, 80, 30, 400
_SCALED = 1e-5
"""Misfit of a count, as a share of it, below which Newton's method takes over from proportional fitting."""
_SOLVED, _PROGRESS = 1e-28, 1e-16
"""Squared misfits, divided by their counts and summed, at which a system is solved: as a share of all rows, and of the
misfit before."""
_NEGLIGIBLE = 1e-16
"""Divergence in rows below which Newton's method ends."""
_ROUNDED = 1e-13
"""Relative error that floating point may cause."""


def fitted_shares(sums: ClassSums, deadline: Deadline = NEVER) -> tuple[FloatArray, FloatArray]:
    """Return the maximum-entropy shares given the sums, shape (classes, values), and a bound on their error.

    The bound is on the sum of absolute differences in each class, infinite without a proof. Raises TimeOverError.
    """
    sizes, possible = sums.sizes.astype(np.float64)[:, None], np.asarray(sums.bounds[1] > 0)
    cells = np.where(possible, sizes, 0.0)
    targets = [*(table.target for table in sums.tables), (Sums(len(sizes), None, (1,)), sizes[:, 0])]
    fit(cells, targets, _SCALINGS, _SCALED, deadline=deadline)
    score = np.log(cells, out=np.full(cells.shape, -np.inf), where=possible & (cells > 0))
    rows, better = np.inf, True
    for _ in range(_STEPS):
        deadline.check()
        expected = _softmax(score, sizes)[0]
        linear, moved = _newton_step(sums.tables, expected, sizes)
        change = moved - (expected / sizes * moved).sum(axis=1, keepdims=True)
        rows = _distance(sums.tables, expected, np.where(possible, change, 0.0))
        if rows <= _NEGLIGIBLE:
            break
        score, better = _descended(score, moved, linear, sizes)
        if not better:
            break
    return _softmax(score, sizes)[0] / sizes, np.sqrt(2 * rows / sizes[:, 0])


def _softmax(score: FloatArray, sizes: FloatArray) -> tuple[FloatArray, float]:
    """Return the rows of each cell, which add up to the size of each class, and the dual without its linear part."""
    top = score.max(axis=1, keepdims=True)
    weights = np.exp(score - top)
    totals = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights * (sizes / totals)), float((sizes * (np.log(totals) + top)).sum())


def _newton_step(tables: Sequence[SummedTable], expected: FloatArray, sizes: FloatArray) -> tuple[float, FloatArray]:
    """Return the changes by a Newton step: of the linear part of the dual function, and of the score of each cell."""
    from scipy.sparse.linalg import LinearOperator, cg  # slow to import, and few need it

    counts = np.concatenate([table.counts.ravel() for table in tables])
    scale = np.where(counts > 0, 1 / np.sqrt(np.maximum(counts, 1)), 0.0)
    ends = np.cumsum([table.counts.size for table in tables])[:-1]

    def gathered(cells: FloatArray) -> FloatArray:
        return np.asarray(scale * np.concatenate([table.sums(cells) for table in tables]))

    def moved(scaled: FloatArray) -> FloatArray:
        parts = zip(tables, np.split(scale * scaled, ends))
        return np.asarray(sum(part[table.places] for table, part in parts), dtype=np.float64)

    def curved(scaled: FloatArray) -> FloatArray:
        way = moved(scaled)
        return gathered(expected * (way - (expected / sizes * way).sum(axis=1, keepdims=True)))

    misfit = scale * counts - gathered(expected)
    solved = max(_SOLVED * float(sizes.sum()), _PROGRESS * float(misfit @ misfit))
    matrix = LinearOperator((len(counts),) * 2, matvec=curved, dtype=np.float64)
    scaled, _ = cg(matrix, misfit, rtol=0.0, atol=np.sqrt(solved), maxiter=_SOLVING)
    return float(counts @ (scale * scaled)), moved(scaled)


def _distance(tables: Sequence[SummedTable], expected: FloatArray, change: FloatArray) -> float:
    """Return an upper bound, in rows, on the KL divergence of the exact distribution; infinite if sums are not met."""
    changed = expected * (1 + change)
    misfit = max(float(np.abs(table.counts.ravel() - table.sums(changed)).max(initial=0.0)) for table in tables)
    if not np.isfinite(changed).all() or changed.min() < -_ROUNDED or misfit > _ROUNDED * expected.sum():
        return np.inf
    ratio = np.maximum(1 + change, 0.0)
    terms = np.where(ratio > 0, ratio * np.log(np.where(ratio > 0, ratio, 1.0)) - ratio + 1, 1.0)
    small = np.abs(change) < 1e-4  # where the logarithm loses the digits
    return float((expected * np.where(small, change**2, terms)).sum())


def _descended(score: FloatArray, moved: FloatArray, linear: float, sizes: FloatArray) -> tuple[FloatArray, bool]:
    before = _softmax(score, sizes)[1]
    for length in 0.5 ** np.arange(_HALVINGS):
        if _softmax(score + length * moved, sizes)[1] - length * linear <= before + 1e-12 * abs(before):
            return score + length * moved, True
    return score, False
