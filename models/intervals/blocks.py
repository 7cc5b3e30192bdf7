"""Blocks: unknown counts that equations link, apart from all others, so that each block is bounded by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray
from models.programs.equations import Equations


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of which propagation leaves a range, and the equations between them.

    cells: their numbers among all. equations: about cells by their place in `cells`. known: what the counts that are known
    add to each equation, shape (equations,).
    """

    cells: IndexArray
    equations: Equations
    known: CountArray

    def __len__(self) -> int:
        """Number of cells."""
        return len(self.cells)


def blocks(equations: Equations, lower: CountArray, upper: CountArray) -> list[Block]:
    """The blocks, the smallest first. lower, upper: propagated, shape (cells,)."""
    from scipy.sparse import coo_array  # slow to import, and few need it
    from scipy.sparse.csgraph import connected_components

    size = len(lower)
    open_cells: BoolArray = lower < upper
    entries = open_cells[equations.cells]
    rows, cells, signs = equations.rows[entries], equations.cells[entries], equations.signs[entries]
    known = np.zeros(len(equations), dtype=np.int64)
    fixed = ~entries
    np.add.at(known, equations.rows[fixed], equations.signs[fixed] * lower[equations.cells[fixed]])
    # A graph of cells and equations.
    links = coo_array((np.ones(len(rows)), (cells, size + rows)), shape=(size + len(equations),) * 2)
    _, part = connected_components(links, directed=False)
    return _apart(part.astype(np.intp), np.flatnonzero(open_cells), (rows, cells, signs), equations, known)


def _apart(
    part: IndexArray,
    open_cells: IndexArray,
    entries: tuple[IndexArray, IndexArray, CountArray],
    equations: Equations,
    known: CountArray,
) -> list[Block]:
    rows, cells, signs = entries
    place = np.zeros(len(part), dtype=np.intp)
    by_cell = np.argsort(part[open_cells], kind="stable")
    by_entry = np.argsort(part[cells], kind="stable")
    cell_groups = _groups(part[open_cells][by_cell])
    entry_groups = dict(_groups(part[cells][by_entry]))
    made = []
    for number, span in cell_groups:
        own = open_cells[by_cell[span]]
        place[own] = np.arange(len(own))
        inside = by_entry[entry_groups[number]] if number in entry_groups else np.zeros(0, dtype=np.intp)
        used, row = np.unique(rows[inside], return_inverse=True)
        order = np.argsort(row, kind="stable")
        own_equations = Equations(row[order], place[cells[inside]][order], signs[inside][order], equations.tables[used])
        made.append(_without_doubles(Block(own, own_equations, known[used])))
    return sorted(made, key=len)


def _groups(sorted_parts: IndexArray) -> Sequence[tuple[int, slice]]:
    values, begins = np.unique(sorted_parts, return_index=True)
    ends = [*begins[1:].tolist(), len(sorted_parts)]
    return [(int(value), slice(int(begin), end)) for value, begin, end in zip(values, begins, ends)]


def _without_doubles(block: Block) -> Block:
    """The same block with equations that say the same kept once."""
    equations = block.equations
    if not len(equations):
        return block
    # A random number for each cell tells sums apart; an equation that was left out wrongly would only loosen bounds.
    rng = np.random.default_rng(0)
    marks = rng.integers(1, 2**61, size=len(block))
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(equations.signs * marks[equations.cells], equations.begins)
    first = np.zeros(len(equations), dtype=np.bool_)
    sides = np.where(sums < 0, -1, 1)
    said = np.stack([sums * sides, block.known * sides], axis=1)
    first[np.unique(said, axis=0, return_index=True)[1]] = True
    return Block(block.cells, equations.only(first), block.known[first])
