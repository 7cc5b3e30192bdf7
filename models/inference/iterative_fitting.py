"""Iterative proportional fitting on a junction tree: the maximum-entropy distribution of any collection.

Only tables over the cliques of the triangulated graph are kept, each with the cells that no marginal shows to be empty
(Jirousek and Preucil 1995). A marginal is fitted in one clique, and the change is passed on along the tree.
"""

from dataclasses import dataclass

import numpy as np

from models.arrays import IndexArray
from models.errors import ContradictionError, DomainMismatchError, TooManyCellsError
from models.graphs.collection import Collection
from models.graphs.junction_tree import JunctionTree
from models.graphs.triangulation import triangulated_tree
from models.inference.expected_cells import ExpectedCells
from models.programs.occupied_cells import occupied_cells
from models.programs.possible_cells import possible_cells
from models.tables.domain import Mask

TOLERANCE = 1e-11
"""Largest misfit of a published count, as a share of that count, at which fitting stops."""

LISTED = 20_000
"""Possible cells that are listed one by one where a fit along a tree does not converge."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Expected counts over the cliques of a junction tree. residual: largest misfit of a count, as a share of it."""

    tree: JunctionTree
    cliques: tuple[ExpectedCells, ...]
    residual: float

    def marginal(self, mask: Mask) -> ExpectedCells:
        """Expected counts over a margin that one clique shows. Raises DomainMismatchError when none does."""
        for clique, cells in zip(self.tree.cliques, self.cliques):
            if not mask & ~clique:
                return cells.summed(self.tree.domain.margin(mask))
        raise DomainMismatchError("no clique of the fit shows this margin")


class _Fitter:
    """Clique beliefs that always agree on their separators."""

    def __init__(self, collection: Collection, limit: int) -> None:
        self.domain = collection.domain
        self.tree = triangulated_tree(collection)
        self.total = float(collection.cube.total)
        self.cells: list[ExpectedCells] = []
        for clique in self.tree.cliques:
            possible = possible_cells(collection.within(clique), limit)
            self.cells.append(ExpectedCells(possible.coded_cells, np.ones(len(possible))))
        self.links: list[list[tuple[int, IndexArray, IndexArray, int]]] = [[] for _ in self.cells]
        for child, (parent, separator) in enumerate(zip(self.tree.parents, self.tree.separators)):
            if parent >= 0:
                shared = self.cells[child].summed(self.domain.margin(separator)).cells
                size = len(shared)
                inner = self.cells[child].cells.positions_in(shared)
                outer, is_reached = self.cells[parent].cells.look_up(shared)
                # Cells of the parent beyond the child's reach cannot be occupied; they share a place of their own.
                outer = np.where(is_reached, outer, size)
                self.links[child].append((parent, inner, outer, size + 1))
                self.links[parent].append((child, outer, inner, size + 1))
        self.targets = []
        for mask in collection.masks:
            table = collection.cube.table(mask)
            clique = next(i for i, own in enumerate(self.tree.cliques) if not mask & ~own)
            place = self.cells[clique].cells.positions_in(table.coded_cells)
            self.targets.append((clique, place, table.counts.astype(np.float64)))
        self.beliefs = [cells.expected for cells in self.cells]
        for support in collection.supports:
            mask = self.domain.mask(support.cells.margin)
            clique = next(i for i, own in enumerate(self.tree.cliques) if not mask & ~own)
            self.beliefs[clique] = self.beliefs[clique] * support.weights_of(self.cells[clique].cells)
        if self.cells:
            self._start_evenly()

    def _start_evenly(self) -> None:
        """Beliefs in proportion to base values for all cells that can be occupied, counted from the leaves to the root.

        Nothing else would do: what a fit starts with beyond what the marginals show, it keeps.
        """
        for child in reversed(range(1, len(self.cells))):
            for parent, own, other, size in self.links[child]:
                if parent == self.tree.parents[child]:
                    ways = np.bincount(own, self.beliefs[child], minlength=size)
                    self.beliefs[parent] = self.beliefs[parent] * (ways / max(ways.max(initial=0.0), 1e-300))[other]
        root = self.beliefs[0]
        self.beliefs[0] = root * (self.total / max(root.sum(), 1e-300))
        self._spread_from(0)

    def _spread_from(self, start: int) -> None:
        """Bring all other cliques into line with one, those next to it first."""
        waiting = [(start, -1)]
        while waiting:
            clique, came_from = waiting.pop()
            for neighbour, own, other, size in self.links[clique]:
                if neighbour != came_from:
                    rows = np.bincount(own, self.beliefs[clique], minlength=size)
                    present = np.bincount(other, self.beliefs[neighbour], minlength=size)
                    self.beliefs[neighbour] = (
                        self.beliefs[neighbour] * (rows / np.where(present > 0, present, 1))[other]
                    )
                    waiting.append((neighbour, clique))

    def sweep(self) -> float:
        """Fit every marginal once; the largest misfit met, as a share of the published count."""
        worst = 0.0
        for clique, place, counts in self.targets:
            fitted = np.bincount(place, self.beliefs[clique], minlength=len(counts))
            worst = max(worst, float((np.abs(fitted - counts) / counts).max(initial=0.0)))
            self.beliefs[clique] = self.beliefs[clique] * (counts / np.where(fitted > 0, fitted, 1))[place]
            self._spread_from(clique)
        return worst


def iterative_fit(collection: Collection, limit: int = 200_000, sweeps: int = 2_000) -> Fit:
    """The maximum-entropy distribution of a collection, decomposable or not, as expected counts.

    Raises TooManyCellsError when a clique has more than `limit` possible cells. The residual says how well it converged.
    """
    fitter = _Fitter(collection, limit)
    residual = np.inf
    for _ in range(sweeps):
        residual = fitter.sweep()
        if residual <= TOLERANCE:
            break
    fitted = (ExpectedCells(cells.cells, belief) for cells, belief in zip(fitter.cells, fitter.beliefs))
    fit = Fit(fitter.tree, tuple(fitted), residual)
    if residual <= TOLERANCE:
        return fit
    listed = _fit_of_occupied(collection, sweeps)
    return fit if listed is None or listed.residual >= residual else listed


def _fit_of_occupied(collection: Collection, sweeps: int) -> Fit | None:
    """The fit on a list of all cells that some table can occupy, as 0 is approached slowly; None for too many."""
    try:
        possible = possible_cells(collection, LISTED)
        occupied = occupied_cells(possible)
    except (TooManyCellsError, ContradictionError):
        return None
    cells = ExpectedCells(possible.coded_cells, np.ones(len(possible)))[occupied]
    beliefs = cells.expected
    for support in collection.supports:
        beliefs = beliefs * support.weights_of(cells.cells)
    targets = [(cells.cells.positions_in(table.coded_cells), table.counts) for table in possible.tables]
    residual = np.inf
    for _ in range(sweeps):
        residual = 0.0
        for place, counts in targets:
            fitted = np.bincount(place, beliefs, minlength=len(counts))
            residual = max(residual, float((np.abs(fitted - counts) / counts).max(initial=0.0)))
            beliefs = beliefs * (counts / np.where(fitted > 0, fitted, 1))[place]
        if residual <= TOLERANCE:
            break
    tree = JunctionTree.of(collection.domain, [collection.domain.mask(possible.margin)])
    return Fit(tree, (ExpectedCells(cells.cells, beliefs),), residual)
