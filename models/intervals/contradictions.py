"""Contradictions of published tables, and what is likely where they agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from models.arrays import CountArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.intervals.linked_tables import Interval, LinkedTables
from models.programs.consistent_tables import UNBOUNDED, Equations, Program, propagated, ranges_left, solve


@dataclass(frozen=True)
class Disagreement:
    """A count of which two tables say different things, or one table of its own total and parts.

    tables: their places; the same where one contradicts itself. ranges: the least and the largest count that each leaves.
    """

    cell: int
    tables: tuple[int, int]
    ranges: tuple[Interval, Interval]

    @property
    def gap(self) -> int:
        """Rows between the two ranges, at least 1."""
        return max(1, int(_gaps(*map(np.array, self.ranges))))


def _gaps(one: CountArray, other: CountArray) -> CountArray:
    """Rows between two ranges of each count, each of shape (2, counts); not above 0 where they overlap."""
    return np.asarray(np.maximum(one[0] - other[1], other[0] - one[1]))


def _range(ends: CountArray, cell: int) -> Interval:
    return int(ends[0, cell]), int(ends[1, cell])


def disagreements(linked: LinkedTables) -> list[Disagreement]:
    """The worst disagreement of each table with itself, and of each two tables that do not disagree with themselves.

    Found by propagation, which misses contradictions that only several tables together have, or programs only.
    """
    disagreeing = []
    ranges: dict[int, CountArray] = {}
    for table in range(linked.table_count):
        published = np.stack(linked.ranges([table]))
        equations = linked.equations[linked.equation_tables == table]
        ends = np.stack(propagated(equations, *published))
        if (ends[0] > ends[1]).any():
            cell, its_ranges = _within_one_table(equations, published, linked.sums[table][0][0])
            disagreeing.append(Disagreement(cell, (table, table), its_ranges))
        else:
            ranges[table] = ends
    for one, other in combinations(ranges, 2):
        gap = _gaps(ranges[one], ranges[other])  # not above 0 for a cell that one of the tables tells nothing of
        if gap.max(initial=0) > 0:
            cell = int(np.flatnonzero(gap == gap.max())[-1])  # of equals the one with the most attributes
            disagreeing.append(
                Disagreement(cell, (one, other), (_range(ranges[one], cell), _range(ranges[other], cell)))
            )
    return disagreeing


def _within_one_table(
    equations: Equations, published: CountArray, finest: IndexArray
) -> tuple[int, tuple[Interval, Interval]]:
    """The total that differs most from its parts as they are published, or from what the finest cells add up to."""
    lower, upper = published
    if (lower > upper).any():  # a cell that the table gives twice
        cell = int(np.argmax(lower > upper))
        return cell, ((int(upper[cell]),) * 2, (int(lower[cell]),) * 2)
    is_total = equations.data > 0
    of_finest = np.stack([np.zeros_like(lower), np.full_like(upper, UNBOUNDED)])
    of_finest[:, finest] = published[:, finest]
    by_parts = np.stack(ranges_left(equations, lower, upper))[:, is_total]
    summed = np.concatenate([by_parts, np.stack(propagated(equations, *of_finest))], axis=1)
    cells = np.concatenate([equations.indices[is_total], np.arange(len(lower))])
    gap = _gaps(published[:, cells], summed)
    place = int(np.argmax(gap))
    if gap[place] <= 0:  # only several sums together contradict each other
        return int(cells[0]), ((0, UNBOUNDED), (0, UNBOUNDED))
    return int(cells[place]), (_range(published, int(cells[place])), _range(summed, place))


_TOLERANCE = 1e-6
"""Rows below which a program's correction is taken for none."""


@dataclass(frozen=True)
class JointContradiction:
    """Tables that cannot all be true, though any of them can be left out. tables: their places.

    correction: by how much their counts and ranges must be changed at least, all changes added up.
    """

    tables: tuple[int, ...]
    correction: float


def joint_contradiction(linked: LinkedTables, deadline: Deadline = NEVER) -> JointContradiction | None:
    """Of tables that contradict each other as few as still do; None where real numbers fit, or time is over.

    Tables are left out one by one as long as the others contradict each other (deletion filter: Chinneck 2008, 6.2).
    """
    contradicting = list(range(linked.table_count))
    if not _correction(linked, contradicting, deadline):
        return None
    for table in tuple(contradicting):
        others = [other for other in contradicting if other != table]
        if deadline.is_over:
            return None
        if _correction(linked, others, deadline):
            contradicting = others
    return JointContradiction(tuple(contradicting), _correction(linked, contradicting, deadline))


def _correction(linked: LinkedTables, tables: Sequence[int], deadline: Deadline) -> float:
    """The least sum of changes after which some tables fit together in real numbers; 0 where it is not known."""
    from scipy.sparse import block_array, csr_array, eye_array  # slow to import, and few need it

    ranges = [(linked.tables[table].lower, linked.tables[table].upper) for table in tables]
    cells = np.concatenate([[], *(linked.published[table] for table in tables)])
    lower, upper = (np.concatenate([[], *(ends[side] for ends in ranges)]) for side in (0, 1))
    number, size = len(cells), len(linked)
    picked = csr_array((np.ones(number), (np.arange(number), cells.astype(np.intp))), shape=(number, size))
    eye = eye_array(number)
    # The counts, what is added to published ones and what is taken from them, and what these are then.
    equations = block_array([[linked.equations, None, None, None], [picked, eye, -eye, -eye]], format="csr")
    zeros = np.zeros(size + 2 * number)
    upper[upper >= UNBOUNDED] = np.inf
    ends = np.append(zeros, lower), np.append(zeros + np.inf, upper)
    objective = np.repeat([0.0, 1.0, 0.0], [size, 2 * number, number])
    bound = solve(
        objective, Program(equations.astype(np.float64), np.zeros(equations.shape[0]), *ends), deadline.left
    ).bound
    return bound if bound > _TOLERANCE else 0.0


# Estimates: what is likely where little is certain. Each table by itself: of all real counts of its finest cells whose
# sums lie within the bounds, those that are most alike (Bregman's method with interval constraints: Censor and Lent 1981).


_SWEEPS = 200
"""Through all sums of a table."""

_CLOSE = 1e-4
"""Rows by which counts still change when no more is done."""


def estimated_counts(
    linked: LinkedTables, lower: CountArray, upper: CountArray, deadline: Deadline = NEVER
) -> FloatArray:
    """An estimate of each count within its bounds: shape (cells,); NaN for counts without one when time is over."""
    result = np.full(len(linked), np.nan)
    least, most = lower.astype(np.float64), np.where(upper >= UNBOUNDED, np.inf, upper)
    for sums in linked.sums:
        if deadline.is_over:
            break
        for cells, counts in reversed(_fitted(sums, least, most)):
            result[cells] = np.where(np.isnan(result[cells]), counts, result[cells])
    result[lower == upper] = least[lower == upper]
    return np.asarray(np.clip(result, least, most))


def _fitted(
    sums: Sequence[tuple[IndexArray, IndexArray]], least: FloatArray, most: FloatArray
) -> list[tuple[IndexArray, FloatArray]]:
    """The finest cells of a table and its totals, each with their counts."""

    def summed(cells: IndexArray, places: IndexArray) -> FloatArray:
        totals = np.bincount(places + 1, counts, minlength=len(cells) + 1)[1:]  # finest cells at -1 are part of none
        return np.asarray(totals, dtype=np.float64)

    finest = sums[0][0]
    counts = np.where(most[finest] > 0, np.maximum(least[finest], 1).mean() if len(finest) else 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ends = [(np.log(least[cells]), np.log(most[cells])) for cells, _ in sums]
        corrections = [np.zeros(len(cells)) for cells, _ in sums]
        for _ in range(_SWEEPS):
            before = counts
            for (cells, places), (low, high), correction in zip(sums, log_ends, corrections):
                logs = np.log(summed(cells, places))
                steps = np.clip(correction, low - logs, high - logs)
                steps = np.where(logs > -np.inf, np.nan_to_num(steps, posinf=0.0, neginf=0.0), 0.0)
                correction -= steps
                counts = counts * np.append(np.exp(steps), 1.0)[places]
            if np.abs(counts - before).max(initial=0.0) < _CLOSE:
                break
    return [(cells, summed(cells, places)) for cells, places in sums]
