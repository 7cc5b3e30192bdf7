"""k-combinatorial anonymity of any collection, by linear and integer programming over the cells that can be occupied.

For each nonsensitive cell t the largest count U(t) of a consistent table of whole numbers. A table that a program finds
settles every cell on which it puts k rows or more, so most cells need no program of their own.
"""

from collections.abc import Collection as AnyCollection
from dataclasses import replace

import numpy as np

from checks.budget import FULL, Budget
from checks.classes.k_anonymity import nonsensitive_part
from checks.finding import Algorithm, Finding, Verdict, WorstClass
from models.errors import TooManyCellsError
from models.graphs.collection import Collection
from models.programs.cell_bounds import extreme_count
from models.programs.possible_cells import PossibleCells, possible_cells
from models.tables.mixed_radix import group, pack

_WHOLE = 1e-6
"""Bounds as near to a whole number as this are taken for it, as a solver rounds."""


def by_programming(collection: Collection, sensitive: AnyCollection[str], k: int, budget: Budget = FULL) -> Finding:
    """Decide k-combinatorial anonymity; undecided, with the proven interval of a cell, when the budget ends."""
    parameters = {"k": k}
    algorithms = (Algorithm.INTEGER_PROGRAMMING,)
    try:
        cells = possible_cells(collection, budget.cells)
    except TooManyCellsError as error:
        return Finding("k-combinatorial", Verdict.UNDECIDED, parameters, None, algorithms, 0, str(error))
    public = [a for a in collection.domain.attributes if a in cells.margin and a not in sensitive]
    radices = [collection.domain.hierarchy(a).size(cells.margin[a]) for a in public]
    keys, space = pack([cells.codes[a] for a in public], radices, len(cells))
    rows, cell_of = group(keys, space)
    open_cells = np.ones(len(rows), dtype=bool)
    undecided: WorstClass | None = None
    solved = 0
    while open_cells.any():
        target = int(np.flatnonzero(open_cells)[0])
        described = _described(collection, sensitive, cells, public, int(rows[target]))
        if solved >= budget.cell_programs or budget.deadline.is_over:
            undecided = undecided or replace(described, count_between=(0, int(collection.cube.total)))
            break
        extreme = extreme_count(cells, cell_of == target, 1, budget.seconds, budget.nodes, budget.deadline)
        solved += 1
        open_cells[target] = False
        if extreme.table is None:
            if extreme.bound >= 1 - _WHOLE:
                undecided = undecided or replace(described, count_between=(0, int(extreme.bound + _WHOLE)))
            continue
        reached = np.bincount(cell_of, extreme.table, minlength=len(rows))
        largest = int(reached[target])
        if 0 < largest < k:
            worst = replace(described, count=largest)
            return Finding("k-combinatorial", Verdict.FAILS, parameters, worst, algorithms, solved)
        open_cells &= reached < k
    if undecided is not None:
        what = "time was over" if budget.deadline.is_over else "budget of programs ended"
        note = f"the {what} before every cell was decided"
        return Finding("k-combinatorial", Verdict.UNDECIDED, parameters, undecided, algorithms, solved, note)
    return Finding("k-combinatorial", Verdict.HOLDS, parameters, None, algorithms, solved)


def _described(
    collection: Collection, sensitive: AnyCollection[str], cells: PossibleCells, public: list[str], row: int
) -> WorstClass:
    domain = collection.domain
    labels = {a: domain.hierarchy(a).labels[cells.margin[a]][int(cells.codes[a][row])] for a in public}
    margins = [dict(m) for m in collection.margins if nonsensitive_part(domain, domain.mask(m), sensitive)]
    return WorstClass(cell=labels, margins=margins)
