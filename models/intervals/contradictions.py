"""Contradictions of published tables, and what is likely where they agree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.intervals.linked_tables import LinkedTables, Sums
from models.programs.consistent_tables import UNBOUNDED, Equations, propagated


@dataclass(frozen=True)
class Disagreement:
    """A count of which two tables say different things, or one table of its own total and parts.

    tables: their places among all; both the same where one contradicts itself. ranges: the least and the largest count that
    each of them leaves, UNBOUNDED for no end. gap: rows between the two ranges, at least 1.
    """

    cell: int
    tables: tuple[int, int]
    ranges: tuple[tuple[int, int], tuple[int, int]]
    gap: int


def disagreements(linked: LinkedTables) -> list[Disagreement]:
    """The worst disagreement of each table with itself, and of each two tables that do not disagree with themselves.

    Found by propagation, which misses contradictions that only several tables together have, or programs only.
    """
    disagreeing = []
    alone: dict[int, tuple[CountArray, CountArray]] = {}
    for table in range(linked.table_count):
        bounds = _published_by(linked, (table,))
        equations = linked.equations.only(linked.equations.tables == table)
        lower, upper = propagated(equations, *bounds)
        if (lower > upper).any():
            disagreeing.append(_of_one_table(table, linked.finest[table], equations, *bounds))
        else:
            alone[table] = lower, upper
    cells_of = {table: _cells_of(linked, table) for table in alone}
    for one, other in combinations(alone, 2):
        both = cells_of[one] & cells_of[other]
        gap = np.maximum(alone[one][0] - alone[other][1], alone[other][0] - alone[one][1])
        gap[~both] = 0
        if len(gap) and gap.max() > 0:
            cell = int(np.flatnonzero(gap == gap.max())[-1])  # of equals the one with the most attributes
            ranges = [(int(alone[t][0][cell]), int(alone[t][1][cell])) for t in (one, other)]
            disagreeing.append(Disagreement(cell, (one, other), (ranges[0], ranges[1]), int(gap[cell])))
    return disagreeing


def _published_by(linked: LinkedTables, tables: tuple[int, ...]) -> tuple[CountArray, CountArray]:
    """What some tables publish of each cell; the ends of one table that gives a cell twice are kept apart by it."""
    lower = np.zeros(len(linked), dtype=np.int64)
    upper = np.full(len(linked), UNBOUNDED, dtype=np.int64)
    of_tables = np.isin(linked.published.tables, tables)
    np.maximum.at(lower, linked.published.cells[of_tables], linked.published.lower[of_tables])
    np.minimum.at(upper, linked.published.cells[of_tables], linked.published.upper[of_tables])
    return lower, upper


def _cells_of(linked: LinkedTables, table: int) -> BoolArray:
    """Cells that a table shows or adds up to."""
    inside: BoolArray = np.zeros(len(linked), dtype=np.bool_)
    inside[linked.published.cells[linked.published.tables == table]] = True
    inside[linked.finest[table]] = True
    of_table = linked.equations.tables[linked.equations.rows] == table
    inside[linked.equations.cells[of_table]] = True
    return inside


def _of_one_table(
    table: int, finest: IndexArray, equations: Equations, lower: CountArray, upper: CountArray
) -> Disagreement:
    """The total that differs most from its parts, as they are published."""
    twice = np.flatnonzero(lower > upper)
    if len(twice):
        cell = int(twice[0])
        return Disagreement(
            cell, (table, table), ((int(upper[cell]),) * 2, (int(lower[cell]),) * 2), int(lower[cell] - upper[cell])
        )
    candidates = [*_gaps(equations, lower, upper), *_gaps_to_finest(finest, equations, lower, upper)]
    worst = max(candidates, key=lambda disagreement: disagreement.gap, default=None)
    if worst is None or worst.gap <= 0:  # only several sums together contradict each other
        cell = int(equations.cells[equations.begins[0]])
        return Disagreement(cell, (table, table), ((0, UNBOUNDED), (0, UNBOUNDED)), 1)
    return Disagreement(worst.cell, (table, table), worst.ranges, worst.gap)


def _gaps_to_finest(
    finest: IndexArray, equations: Equations, lower: CountArray, upper: CountArray
) -> Iterator[Disagreement]:
    """What the finest cells add up to, against the published total that differs most from it."""
    least, most = np.zeros_like(lower), np.full_like(upper, UNBOUNDED)
    least[finest], most[finest] = lower[finest], upper[finest]
    least, most = propagated(equations, least, most)
    gap = np.maximum(lower - most, least - upper)
    cell = int(np.argmax(gap))
    ranges = (int(lower[cell]), int(upper[cell])), (int(least[cell]), int(most[cell]))
    yield Disagreement(cell, (0, 0), ranges, int(gap[cell]))


def _gaps(equations: Equations, lower: CountArray, upper: CountArray) -> Iterator[Disagreement]:
    ends = [*equations.begins[1:].tolist(), len(equations.rows)]
    for begin, end in zip(equations.begins.tolist(), ends):
        cells, signs = equations.cells[begin:end], equations.signs[begin:end]
        total, parts = int(cells[signs > 0][0]), cells[signs < 0]
        least, most = (
            int(lower[parts].sum()),
            min(int(np.minimum(upper[parts], UNBOUNDED // len(parts)).sum()), UNBOUNDED),
        )
        if (upper[parts] >= UNBOUNDED).any():
            most = UNBOUNDED
        whole = int(lower[total]), int(upper[total])
        yield Disagreement(total, (0, 0), (whole, (least, most)), max(whole[0] - most, least - whole[1]))


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
    # Slow to import, and few need them.
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    of_tables = np.isin(linked.published.tables, tables)
    cells, lower = linked.published.cells[of_tables], linked.published.lower[of_tables].astype(np.float64)
    upper: CountArray = linked.published.upper[of_tables]
    number, size = len(cells), len(linked)
    picked = csr_array((np.ones(number), (np.arange(number), cells)), shape=(number, size))
    change = eye_array(number, format="csr")
    bounded = np.flatnonzero(upper < UNBOUNDED)
    at_most = hstack([picked, -change], format="csr")[bounded]
    inequalities = vstack([hstack([-picked, -change]), at_most], format="csr")
    equations = hstack(
        [linked.equations.matrix(size).astype(np.float64), csr_array((len(linked.equations), number))], format="csr"
    )
    solve: Any = linprog  # its stubs know no sparse matrices
    result = solve(
        np.concatenate([np.zeros(size), np.ones(number)]),
        A_ub=inequalities,
        b_ub=np.concatenate([-lower, upper[bounded].astype(np.float64)]),
        A_eq=equations if len(linked.equations) else None,
        b_eq=np.zeros(len(linked.equations)) if len(linked.equations) else None,
        bounds=(0, None),
        method="highs",
        options={"time_limit": deadline.left} if np.isfinite(deadline.left) else {},
    )
    return float(result.fun) if result.status == 0 and result.fun > _TOLERANCE else 0.0


# Estimates: the maximum-entropy counts within proven bounds, which say what is likely where little is certain.
#
# Each table by itself: of all real counts of its finest cells whose sums lie within the bounds, those that are most
# alike (Bregman's method with interval constraints: Censor and Lent 1981).


_SWEEPS = 200
"""Through all sums of a table."""

_CLOSE = 1e-4
"""Rows by which counts still change when no more is done."""


def estimated_counts(
    linked: LinkedTables, lower: CountArray, upper: CountArray, deadline: Deadline = NEVER
) -> FloatArray:
    """An estimate of each count within its bounds: shape (cells,); NaN for counts without one when time is over."""
    result = np.full(len(linked), np.nan)
    exact = lower == upper
    for table, finest in enumerate(linked.finest):
        if deadline.is_over:
            break
        every = (Sums(finest, np.arange(len(finest))), *linked.sums[table])
        counts = _fitted(every, lower, upper)
        for cells, places in every[::-1]:
            inside = places >= 0
            summed = np.bincount(places[inside], counts[inside], minlength=len(cells))
            result[cells] = np.where(np.isnan(result[cells]), summed, result[cells])
    result[exact] = lower[exact]
    ends = upper.astype(np.float64)
    ends[upper >= UNBOUNDED] = np.inf
    return np.asarray(np.clip(result, lower, ends), dtype=np.float64)


def _fitted(sums: tuple[Sums, ...], lower: CountArray, upper: CountArray) -> FloatArray:
    finest = sums[0].cells
    some = np.maximum(lower[finest], 1)
    counts = np.where(upper[finest] > 0, float(some.mean()) if len(some) else 1.0, 0.0)
    corrections = [np.zeros(len(sums_of.cells)) for sums_of in sums]
    with np.errstate(divide="ignore"):
        lows = [np.log(lower[sums_of.cells].astype(np.float64)) for sums_of in sums]
        highs = [
            np.where(upper[sums_of.cells] >= UNBOUNDED, np.inf, np.log(upper[sums_of.cells].astype(np.float64)))
            for sums_of in sums
        ]
    for _ in range(_SWEEPS):
        before = counts
        for number, sums_of in enumerate(sums):
            inside = sums_of.places >= 0
            at = sums_of.places[inside]
            summed = np.bincount(at, counts[inside], minlength=len(sums_of.cells))
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(summed)
                steps = np.clip(corrections[number], lows[number] - logs, highs[number] - logs)
            steps = np.where(summed > 0, np.nan_to_num(steps, posinf=0.0, neginf=0.0), 0.0)
            corrections[number] -= steps
            counts = counts.copy()
            counts[inside] *= np.exp(steps)[at]
        if np.abs(counts - before).max(initial=0.0) < _CLOSE:
            break
    return counts
