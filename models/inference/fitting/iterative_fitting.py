"""Iterative proportional fitting on a junction tree: the maximum-entropy distribution of any collection.

Only tables over the cliques of the triangulated graph are kept, each with the cells that no marginal shows to be empty
(Jirousek and Preucil 1995). A marginal is fitted in one clique, and the change is passed on along the tree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import FloatArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError, DomainMismatchError, TimeOverError, TooManyCellsError
from models.graphs.collection import Collection
from models.graphs.junction_tree import JunctionTree
from models.graphs.triangulation import triangulated_tree
from models.inference.expected_cells import ExpectedCells
from models.inference.fitting.beliefs import ArrayBeliefs, Beliefs, beliefs_in
from models.inference.fitting.clique_cells import CliqueCells, ListedCells, Projection, clique_cells
from models.programs.occupied_cells import occupied_cells
from models.programs.possible_cells import possible_cells
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Mask

TOLERANCE = 1e-11
"""Largest misfit of a published count, as a share of that count, at which fitting stops."""

LISTED = 20_000
"""Possible cells that are listed one by one where a fit along a tree does not converge."""

Target = tuple[Projection, FloatArray]
"""How the beliefs in a clique sum to a marginal, and its counts."""


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
    """Clique beliefs, of which one agrees with all that was fitted so far: the one that was fitted last.

    The cliques are walked through along the tree, and the beliefs of one are brought into line with those of the one
    before, so that a sweep sends two messages through each link, however many marginals there are.
    """

    def __init__(self, collection: Collection, limit: int, deadline: Deadline, form: Callable[..., Beliefs]) -> None:
        self.deadline = deadline
        self.domain = collection.domain
        self.tree = triangulated_tree(collection)
        self.total = float(collection.cube.total)
        self.cells: list[CliqueCells] = []
        for clique in self.tree.cliques:
            deadline.check()
            self.cells.append(clique_cells(collection.within(clique), limit))
        self.links: dict[tuple[int, int], tuple[Projection, Projection]] = {}
        for child, (parent, separator) in enumerate(zip(self.tree.parents, self.tree.separators)):
            if parent >= 0:
                inner, outer = _link(self.cells[child], self.cells[parent], self.domain.margin(separator))
                self.links[child, parent], self.links[parent, child] = (inner, outer), (outer, inner)
        self.targets: list[list[Target]] = [[] for _ in self.cells]
        for mask in collection.masks:
            table = collection.cube.table(mask)
            clique = next(i for i, own in enumerate(self.tree.cliques) if not mask & ~own)
            self.targets[clique].append(_target(self.cells[clique], table))
        supports: list[list[Target]] = [[] for _ in self.cells]
        for support in collection.supports:
            mask = self.domain.mask(support.cells.margin)
            clique = next(i for i, own in enumerate(self.tree.cliques) if not mask & ~own)
            supports[clique].append((self.cells[clique].onto(support.cells), support.weights))
        self.beliefs: list[Beliefs] = []
        for clique, (cells, targets, weights) in enumerate(zip(self.cells, self.targets, supports)):
            linked = (own for (here, _), (own, _) in self.links.items() if here == clique)
            self.beliefs.append(form(cells, [*(projection for projection, _ in (*targets, *weights)), *linked]))
            for projection, factors in weights:
                self.beliefs[clique].multiply(projection, factors)
        self.walk = self._walk()
        self.last = 0
        if self.cells:
            self._start_evenly()

    def _start_evenly(self) -> None:
        """Beliefs in proportion to base values for all cells that can be occupied, counted from the leaves to the root.

        Nothing else would do: what a fit starts with beyond what the marginals show, it keeps.
        """
        for child in reversed(range(1, len(self.cells))):
            parent = self.tree.parents[child]
            if parent >= 0:
                own, other = self.links[child, parent]
                ways = self.beliefs[child].sums(own)
                self.beliefs[parent].multiply(other, ways / max(ways.max(initial=0.0), 1e-300))
        self.beliefs[0].scale(self.total / max(self.beliefs[0].total(), 1e-300))

    def _walk(self) -> list[int]:
        """The cliques in an order that goes from neighbour to neighbour, through each link twice, and ends where it began.

        Cliques of parts that are not connected follow each other; they have nothing to tell each other.
        """
        walk: list[int] = []
        for root in (clique for clique, parent in enumerate(self.tree.parents) if parent < 0):
            waiting = [(root, iter(self.tree.children[root]))]
            walk.append(root)
            while waiting:
                child = next(waiting[-1][1], None)
                if child is None:
                    waiting.pop()
                    walk.extend(clique for clique, _ in waiting[-1:])
                else:
                    walk.append(child)
                    waiting.append((child, iter(self.tree.children[child])))
        return walk

    def _pass(self, clique: int, neighbour: int) -> None:
        """Bring a clique's neighbour into line with it, if it is one."""
        if (clique, neighbour) in self.links:
            own, other = self.links[clique, neighbour]
            rows, present = self.beliefs[clique].sums(own), self.beliefs[neighbour].sums(other)
            self.beliefs[neighbour].multiply(other, rows / np.where(present > 0, present, 1))

    def settle(self) -> None:
        """Bring all cliques into line with the one that was fitted last, those next to it first, and other parts with their
        first one.
        """
        settled: set[int] = set()
        firsts = [clique for clique, parent in enumerate(self.tree.parents) if parent < 0]
        for root in [self.last, *firsts] if firsts else []:
            waiting = [] if root in settled else [root]
            settled.update(waiting)
            while waiting:
                clique = waiting.pop()
                for neighbour in (*self.tree.children[clique], self.tree.parents[clique]):
                    if neighbour >= 0 and neighbour not in settled:
                        self._pass(clique, neighbour)
                        settled.add(neighbour)
                        waiting.append(neighbour)

    def misfit(self) -> float:
        """The largest misfit of a published count, as a share of it, where the cliques agree."""
        worst = 0.0
        for belief, targets in zip(self.beliefs, self.targets):
            for projection, counts in targets:
                worst = max(worst, _misfit(belief.sums(projection)[: len(counts)] / counts))
        return worst

    def sweep(self) -> float:
        """Fit every marginal once; the largest misfit met, as a share of the published count."""
        worst = 0.0
        fitted_cliques: set[int] = set()
        for clique in self.walk:
            self.deadline.check()
            self._pass(self.last, clique)
            self.last = clique
            if clique not in fitted_cliques:
                fitted_cliques.add(clique)
                worst = max(worst, _fit(self.beliefs[clique], self.targets[clique]))
        return worst


def _fit(beliefs: Beliefs, targets: Sequence[Target]) -> float:
    """Fit marginals one after the other, in place; the largest misfit met, as a share of the published count."""
    worst = 0.0
    for projection, counts in targets:
        shares = beliefs.sums(projection)[: len(counts)] / counts
        misfit = _misfit(shares)
        worst = max(worst, misfit)
        beliefs.multiply(projection, 1 / (shares if misfit < 1 else np.where(shares > 0, shares, 1)))
    return worst


def _link(child: CliqueCells, parent: CliqueCells, separator: Mapping[str, int]) -> tuple[Projection, Projection]:
    """How a clique and its parent sum to the same sums over their separator."""
    if isinstance(child, ListedCells) and isinstance(parent, ListedCells):
        # Cells of the parent beyond the child's reach cannot be occupied; they share a sum of their own.
        reached = ExpectedCells(child.cells, child.even()).summed(separator).cells
        return child.onto(reached), parent.onto_reached(reached)
    return child.onto_box(separator), parent.onto_box(separator)


def _target(cells: CliqueCells, table: ContingencyTable) -> Target:
    """What a clique is fitted to by a marginal."""
    return cells.onto(table.coded_cells), table.counts.astype(np.float64)


def _misfit(shares: FloatArray) -> float:
    """The largest misfit of a fitted count, as a share of the published one. shares: of the fitted ones in these."""
    largest, least = float(shares.max(initial=1.0)), float(shares.min(initial=1.0))
    return max(largest - 1, 1 - least) if largest < np.inf else np.inf


def iterative_fit(collection: Collection, limit: int = 200_000, sweeps: int = 2_000, deadline: Deadline = NEVER) -> Fit:
    """The maximum-entropy distribution of a collection, decomposable or not, as expected counts.

    The residual says how well it converged before so many sweeps, or the deadline. Raises TooManyCellsError when a clique
    has more than `limit` possible cells, TimeOverError when the deadline comes before the first sweep ends.
    """
    deadline.check()
    try:
        with np.errstate(over="raise", under="raise", invalid="raise"):
            fitter, residual = _swept(collection, limit, sweeps, deadline, beliefs_in)
    except FloatingPointError:  # factors of beliefs grow and shrink where the beliefs themselves do not
        fitter, residual = _swept(collection, limit, sweeps, deadline, lambda cells, _: ArrayBeliefs(cells.even()))
    fitted = (
        ExpectedCells(cells.cells, cells.of_possible(own.array())) for cells, own in zip(fitter.cells, fitter.beliefs)
    )
    fit = Fit(fitter.tree, tuple(fitted), residual)
    if residual <= TOLERANCE or deadline.is_over:
        return fit
    try:
        listed = _fit_of_occupied(collection, sweeps, deadline)
    except TimeOverError:
        return fit
    return fit if listed is None or listed.residual >= residual else listed


def _swept(
    collection: Collection, limit: int, sweeps: int, deadline: Deadline, form: Callable[..., Beliefs]
) -> tuple[_Fitter, float]:
    """A fitter whose cliques agree after so many sweeps, or the deadline, and its largest misfit. form: of its beliefs."""
    fitter = _Fitter(collection, limit, deadline, form)
    residual = np.inf
    try:
        for _ in range(sweeps):
            residual = fitter.sweep()
            if residual <= TOLERANCE:
                break
        fitter.settle()
    except TimeOverError:
        if residual == np.inf:
            raise
        fitter.settle()
        residual = fitter.misfit()
    return fitter, residual


def _fit_of_occupied(collection: Collection, sweeps: int, deadline: Deadline) -> Fit | None:
    """The fit on a list of all cells that some table can occupy, as 0 is approached slowly; None for too many."""
    try:
        possible = possible_cells(collection, LISTED)
        occupied = occupied_cells(possible, deadline)
    except (TooManyCellsError, ContradictionError):
        return None
    cells = ListedCells(ExpectedCells(possible.coded_cells, np.ones(len(possible)))[occupied].cells)
    beliefs = ArrayBeliefs(cells.even())
    for support in collection.supports:
        np.multiply(beliefs.beliefs, support.weights_of(cells.cells), out=beliefs.beliefs)
    targets = [_target(cells, table) for table in possible.tables]
    residual = np.inf
    for _ in range(sweeps):
        deadline.check()
        residual = _fit(beliefs, targets)
        if residual <= TOLERANCE:
            break
    tree = JunctionTree.of(collection.domain, [collection.domain.mask(possible.margin)])
    return Fit(tree, (ExpectedCells(cells.cells, beliefs.array()),), residual)
