"""Contradictions: which published tables cannot be true together, and by how much."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray
from models.intervals.linked_tables import LinkedTables
from models.programs.equations import UNBOUNDED, Equations
from models.programs.propagation import propagated


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
    found = []
    alone: dict[int, tuple[CountArray, CountArray]] = {}
    for table in range(linked.table_count):
        own = _published_by(linked, (table,))
        equations = linked.equations.only(linked.equations.tables == table)
        lower, upper = propagated(equations, *own)
        if (lower > upper).any():
            found.append(_of_one_table(table, linked.finest[table], equations, *own))
        else:
            alone[table] = lower, upper
    shown = {table: _cells_of(linked, table) for table in alone}
    for one, other in combinations(alone, 2):
        both = shown[one] & shown[other]
        gap = np.maximum(alone[one][0] - alone[other][1], alone[other][0] - alone[one][1])
        gap[~both] = 0
        if len(gap) and gap.max() > 0:
            cell = int(np.flatnonzero(gap == gap.max())[-1])  # of equals the one with the most attributes
            ranges = [(int(alone[t][0][cell]), int(alone[t][1][cell])) for t in (one, other)]
            found.append(Disagreement(cell, (one, other), (ranges[0], ranges[1]), int(gap[cell])))
    return found


def _published_by(linked: LinkedTables, tables: tuple[int, ...]) -> tuple[CountArray, CountArray]:
    """What some tables publish of each cell; the ends of one table that gives a cell twice are kept apart by it."""
    lower = np.zeros(len(linked), dtype=np.int64)
    upper = np.full(len(linked), UNBOUNDED, dtype=np.int64)
    own = np.isin(linked.published.tables, tables)
    np.maximum.at(lower, linked.published.cells[own], linked.published.lower[own])
    np.minimum.at(upper, linked.published.cells[own], linked.published.upper[own])
    return lower, upper


def _cells_of(linked: LinkedTables, table: int) -> BoolArray:
    """Cells that a table shows or adds up to."""
    inside: BoolArray = np.zeros(len(linked), dtype=np.bool_)
    inside[linked.published.cells[linked.published.tables == table]] = True
    inside[linked.finest[table]] = True
    own = linked.equations.tables[linked.equations.rows] == table
    inside[linked.equations.cells[own]] = True
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
    worst = max(candidates, key=lambda each: each.gap, default=None)
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
