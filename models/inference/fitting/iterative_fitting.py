"""Iterative proportional fitting on a junction tree: the maximum-entropy distribution of any collection.

Only tables over the cliques of the triangulated graph are kept, each with the cells that no marginal shows to be empty
(Jirousek and Preucil 1995). A marginal is fitted in one clique, and the change is passed on along the tree.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from models.deadline import NEVER, Deadline
from models.errors import ContradictionError, DomainMismatchError, TimeOverError, TooManyCellsError
from models.graphs.collection import Collection
from models.graphs.junction_tree import JunctionTree
from models.graphs.support import Support
from models.graphs.triangulation import triangulated_tree
from models.inference.expected_cells import ExpectedCells
from models.inference.fitting.beliefs import ArrayBeliefs, Beliefs, beliefs_in
from models.inference.fitting.clique_cells import CliqueCells, ListedCells, Projection, clique_cells
from models.inference.fitting.operations import Script, divided, do
from models.inference.fitting.targets import Targets
from models.programs.occupied_cells import occupied_cells
from models.programs.possible_cells import possible_cells
from models.tables.coded_cells import CodedCells
from models.tables.contingency_table import ContingencyTable
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
    """Clique beliefs, of which one agrees with all that was fitted so far: the one that was fitted last.

    The cliques are walked through along the tree, and the beliefs of one are brought into line with those of the one
    before, so that a sweep sends two messages through each link, however many marginals there are.
    """

    def __init__(self, collection: Collection, limit: int, deadline: Deadline, form: Callable[..., Beliefs]) -> None:
        self.deadline = deadline
        self.collection = collection
        self.tree = triangulated_tree(collection)
        self.cells: list[CliqueCells] = []
        for clique in self.tree.cliques:
            deadline.check()
            self.cells.append(clique_cells(collection.within(clique), limit))
        self.links = self._links()
        projections: list[list[Projection]] = [[] for _ in self.cells]
        for (here, _), projection in self.links.items():
            projections[here].append(projection)
        published: list[tuple[int, Projection, ContingencyTable]] = []
        for mask, table in zip(collection.masks, collection.tables):
            home, projection = self._onto(mask, table.coded_cells)
            published.append((home, projection, table))
            projections[home].append(projection)
        supports: list[tuple[int, Projection, Support]] = []
        for support in collection.supports:
            home, projection = self._onto(collection.domain.mask(support.cells.margin), support.cells)
            supports.append((home, projection, support))
            projections[home].append(projection)
        self.beliefs: list[Beliefs] = list(map(form, self.cells, projections))
        for home, projection, support in supports:
            padded = np.append(support.weights, np.zeros(projection.size - len(support.cells)))  # others are impossible
            weighting: Script = []
            self.beliefs[home].multiply(projection, padded, weighting)
            do(weighting)
        if self.cells:
            self._start_evenly()
        self.messages = {link: self._message(*link) for link in self.links}
        self.targets = Targets(collection.tables)
        self.fits: list[Script] = [[] for _ in self.cells]
        for home, projection, table in published:
            self.targets.fit(self.beliefs[home], projection, table, self.fits[home])
        self.last = 0
        self.steps = self._steps()

    def _onto(self, mask: Mask, cells: CodedCells) -> tuple[int, Projection]:
        """The first clique that shows a margin, and how it sums to some cells of it."""
        for home, clique in enumerate(self.tree.cliques):
            if not mask & ~clique:
                return home, self.cells[home].onto(cells)
        raise DomainMismatchError("no clique of the tree shows a margin of its collection")

    def _neighbours(self, clique: int) -> list[int]:
        """The children of a clique, then its parent, if it has one."""
        return [neighbour for neighbour in (*self.tree.children[clique], self.tree.parents[clique]) if neighbour >= 0]

    def _links(self) -> dict[tuple[int, int], Projection]:
        """For each clique and neighbour how the clique sums to the same as the neighbour does, over their separator."""
        links = {}
        for child, (parent, separator) in enumerate(zip(self.tree.parents, self.tree.separators)):
            if parent >= 0:
                margin = self.tree.domain.margin(separator)
                links[child, parent], links[parent, child] = _link(self.cells[child], self.cells[parent], margin)
        return links

    def _start_evenly(self) -> None:
        """Beliefs in proportion to base values for all cells that can be occupied, counted from the leaves to the root.

        Nothing else would do: what a fit starts with beyond what the marginals show, it keeps.
        """
        for child in reversed(range(1, len(self.cells))):
            parent = self.tree.parents[child]
            if parent >= 0:
                script: Script = []
                ways = self.beliefs[child].sums(self.links[child, parent], script)
                do(script)
                script = []
                shares = ways / max(ways.max(initial=0.0), 1e-300)
                self.beliefs[parent].multiply(self.links[parent, child], shares, script)
                do(script)
        even = not self.links and not self.collection.supports
        total = self.cells[0].count if even else self.beliefs[0].total()
        self.beliefs[0].scale(self.collection.cube.total / max(total, 1e-300))

    def _message(self, clique: int, neighbour: int) -> Script:
        """What brings a clique's neighbour into line with it."""
        script: Script = []
        own, other = self.links[clique, neighbour], self.links[neighbour, clique]
        rows, present = self.beliefs[clique].sums(own, script), self.beliefs[neighbour].sums(other, script)
        self.beliefs[neighbour].multiply(other, divided(rows, present, script), script)
        return script

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
                for neighbour in self._neighbours(clique):
                    if neighbour not in settled:
                        do(self.messages[clique, neighbour])
                        settled.add(neighbour)
                        waiting.append(neighbour)

    def _steps(self) -> list[tuple[int, Script]]:
        """What a sweep does in one clique after the other: it hears from the one before, and is fitted the first time."""
        steps: list[tuple[int, Script]] = []
        last, fits = 0, dict(enumerate(self.fits))
        for clique in self._walk():
            steps.append((clique, [*self.messages.get((last, clique), ()), *fits.pop(clique, ())]))
            last = clique
        return steps

    def sweep(self) -> float:
        """Fit every marginal once; the largest misfit met, as a share of the published count."""
        for clique, script in self.steps:
            self.deadline.check()
            self.last = clique
            do(script)
        return self.targets.misfit()


def _link(child: CliqueCells, parent: CliqueCells, separator: Mapping[str, int]) -> tuple[Projection, Projection]:
    """How a clique and its parent sum to the same sums over their separator."""
    if isinstance(child, ListedCells) and isinstance(parent, ListedCells):
        # Cells of the parent beyond the child's reach cannot be occupied; they share a sum of their own.
        reached = ExpectedCells(child.cells, child.even()).summed(separator).cells
        return child.onto(reached), parent.onto_reached(reached)
    return child.onto_box(separator), parent.onto_box(separator)


def iterative_fit(collection: Collection, limit: int = 200_000, sweeps: int = 2_000, deadline: Deadline = NEVER) -> Fit:
    """The maximum-entropy distribution of a collection, decomposable or not, as expected counts.

    The residual says how well it converged before so many sweeps, or the deadline. Raises TooManyCellsError when a clique
    has more than `limit` possible cells, TimeOverError when the deadline comes before the first sweep ends.
    """
    deadline.check()
    try:
        with np.errstate(all="raise"):
            fitter, residual = _swept(collection, limit, sweeps, deadline, beliefs_in)
    except FloatingPointError:  # factors of beliefs grow and shrink where the beliefs themselves do not
        fitter, residual = _swept(collection, limit, sweeps, deadline, lambda cells, _: ArrayBeliefs(cells.even()))
    tree, cells, arrays = fitter.tree, fitter.cells, [own.array() for own in fitter.beliefs]
    del fitter  # whose buffers take more room than all cells
    fit = Fit(
        tree, tuple(ExpectedCells(own.cells, own.of_possible(array)) for own, array in zip(cells, arrays)), residual
    )
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
        residual = fitter.targets.misfit_now()
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
    targets = Targets(possible.tables)
    script: Script = []
    for table in possible.tables:
        targets.fit(beliefs, cells.onto(table.coded_cells), table, script)
    residual = np.inf
    for _ in range(sweeps):
        deadline.check()
        do(script)
        residual = targets.misfit()
        if residual <= TOLERANCE:
            break
    tree = JunctionTree.of(collection.domain, [collection.domain.mask(possible.margin)])
    return Fit(tree, (ExpectedCells(cells.cells, beliefs.array()),), residual)
