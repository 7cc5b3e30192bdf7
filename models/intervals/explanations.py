"""Explanations: published counts that a bound follows from, added and subtracted."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray
from models.intervals.certificate import MULTIPLE, proven_sum, reduced_objective
from models.intervals.linked_tables import LinkedTables
from models.intervals.proven_bounds import ProvenBounds
from models.programs.equations import UNBOUNDED, Equations

_NEAR = 3_000
"""Cells around one that its explanation is looked for among."""

_SLACK = 1e-4
"""By which ranges are widened for the program, so that of all explanations it finds one with few counts."""


@dataclass(frozen=True)
class Term:
    """A count that is added so many times, or subtracted. Its range: as published, or as worked out before."""

    times: Fraction
    cell: int
    lower: int
    upper: int
    is_published: bool


@dataclass(frozen=True)
class Explanation:
    """A count is the sum of the terms, whatever it is, and so at least (or at most) the bound.

    tables: places of the tables whose sums are used. is_whole: whether the bound follows from them; otherwise also from
    counts being whole numbers, or from more tables than were looked at.
    """

    terms: tuple[Term, ...]
    tables: tuple[int, ...]
    is_whole: bool


def explained(linked: LinkedTables, bounds: ProvenBounds, cell: int, *, upper: bool) -> Explanation:
    """Why a count is at least what its lower bound says, or at most what its upper one says."""
    near, equations = _neighbourhood(linked, cell)
    goal = int(bounds.upper[cell] if upper else bounds.lower[cell])
    shown = linked.is_published[near]
    published = linked.lower[near], linked.upper[near]
    mixed = np.where(shown, published[0], bounds.lower[near]), np.where(shown, published[1], bounds.upper[near])
    place = int(np.searchsorted(near, cell))
    mixed[0][place], mixed[1][place] = linked.lower[cell], linked.upper[cell]
    best = Explanation((), (), is_whole=False)
    for low, high in (published, mixed):
        found = _solved(linked, near, equations, (low, high), (place, upper, goal))
        if found is not None and found.is_whole:
            return found
        best = found if found is not None and not best.terms else best
    return best


def _neighbourhood(linked: LinkedTables, cell: int) -> tuple[IndexArray, Equations]:
    """Cells around a cell, sorted, and the equations that are wholly among them."""
    equations = linked.equations
    inside: BoolArray = np.zeros(len(linked), dtype=np.bool_)
    inside[cell] = True
    while True:
        touched = np.zeros(len(equations), dtype=np.bool_)
        touched[equations.rows[inside[equations.cells]]] = True
        wider = inside.copy()
        wider[equations.cells[touched[equations.rows]]] = True
        if wider.sum() > _NEAR or np.array_equal(wider, inside):
            if inside.sum() == 1:
                inside = wider
            break
        inside = wider
    whole = np.logical_and.reduceat(inside[equations.cells], equations.begins) if len(equations) else np.zeros(0, bool)
    near, kept = np.flatnonzero(inside), equations.only(whole)
    return near, Equations(kept.rows, np.searchsorted(near, kept.cells), kept.signs, kept.tables)


def _solved(
    linked: LinkedTables,
    near: IndexArray,
    equations: Equations,
    ranges: tuple[CountArray, CountArray],
    asked: tuple[int, bool, int],
) -> Explanation | None:
    from scipy.optimize import linprog  # slow to import, and few need it

    (lower, upper), (place, is_upper, goal) = ranges, asked
    if not len(equations):
        return None
    objective = np.zeros(len(near), dtype=np.int64)
    objective[place] = -1 if is_upper else 1
    widened = np.stack([lower - _SLACK, np.where(upper >= UNBOUNDED, np.inf, upper + _SLACK)], axis=1)
    solve: Any = linprog  # its stubs know no sparse matrices
    found = solve(
        objective.astype(np.float64),
        A_eq=equations.matrix(len(near)).astype(np.float64),
        b_eq=np.zeros(len(equations)),
        bounds=widened,
        method="highs",
    )
    if found.status != 0:
        return None
    reduced, multipliers = reduced_objective(objective, equations, found.eqlin.marginals)
    proven = -(-proven_sum(reduced, lower, upper) // MULTIPLE)
    sign = -1 if is_upper else 1
    terms: Sequence[Term] = [
        Term(
            Fraction(sign * int(reduced[number]), MULTIPLE),
            int(near[number]),
            int(lower[number]),
            int(upper[number]),
            bool(linked.is_published[near[number]]),
        )
        for number in np.flatnonzero(reduced).tolist()
    ]
    tables = np.unique(equations.tables[np.flatnonzero(multipliers)])
    return Explanation(tuple(terms), tuple(map(int, tables)), sign * proven == goal)
