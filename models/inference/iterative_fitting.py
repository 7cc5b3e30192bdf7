"""Iterative proportional fitting on a junction tree: the maximum-entropy distribution of any collection.

Only tables over the cliques of the triangulated graph are kept, each with the cells that no marginal shows to be empty
(Jirousek and Preucil 1995). A marginal is fitted in one clique, and the change is passed on along the tree.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Protocol

import numpy as np

from models.arrays import FloatArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError, DomainMismatchError, TimeOverError, TooManyCellsError
from models.graphs.junction_tree import Collection, JunctionTree, Support, triangulated_tree
from models.inference.clique_cells import (
    CELL,
    STEP,
    Axes,
    BoxedCells,
    Buffers,
    CliqueCells,
    ListedCells,
    Projection,
    Script,
    SumPlan,
    clique_cells,
    divided,
    do,
    gathered,
    home_of,
    reciprocals,
    spread,
)
from models.inference.maximum_entropy import ExpectedCells
from models.programs.cell_bounds import occupied_cells
from models.programs.consistent_tables import possible_cells
from models.tables.contingency_table import CodedCells, ContingencyTable
from models.tables.hierarchy import Mask

# Beliefs in the cells of a clique, as one array or as a product of factors, and how they are summed and multiplied.
#
# Fitting multiplies beliefs by factors of margins, so in a box they are the product of a factor for each margin, and
# no array with a number for each cell need ever be written.


_LAYOUTS = 1 << 10
"""Of products, which are remembered: many cliques of a tree are alike."""

_FEWEST = 2
"""Operations that any sum of a product takes."""


class Beliefs(Protocol):
    """A nonnegative number for each cell of a clique. They stay in the arrays that they are in, and scripts change them."""

    def sums(self, projection: Projection, script: Script) -> FloatArray:
        """What they sum to: shape (size of the projection,). It holds until others' sums are looked for or they change."""

    def multiply(self, projection: Projection, factors: FloatArray, script: Script) -> None:
        """Let a script multiply each by the factor of the sum that it is in. factors: shape (size of the projection,)."""

    def divide(self, projection: Projection, shares: FloatArray, script: Script) -> None:
        """Let a script divide each by the share of the sum that it is in; those become 0 that are in sums without one.

        shares: shape (size of the projection,), or shorter.
        """

    def scale(self, factor: float) -> None:
        """Multiply all."""

    def total(self) -> float:
        """Their sum."""

    def array(self) -> FloatArray:
        """All of them, in the shape of the cells."""


def beliefs_in(cells: CliqueCells, projections: Sequence[Projection]) -> Beliefs:
    """The same belief in each cell, in the form in which sums by these projections are the least work.

    Nothing else may be asked of a product: it has no room for other factors.
    """
    if isinstance(cells, BoxedCells) and (whole := STEP + 2 * CELL * prod(cells.shape)) > _FEWEST * STEP:
        layout = Layout.among(cells, projections)
        if sum(layout.plan(projection.axes).work for projection in projections) < whole * len(projections):
            return FactoredBeliefs.of(cells, layout)
    return ArrayBeliefs(cells.even())


@dataclass(frozen=True, eq=False)
class ArrayBeliefs:
    """One number for each cell."""

    beliefs: FloatArray
    buffers: Buffers = field(default_factory=Buffers)

    def sums(self, projection: Projection, script: Script) -> FloatArray:
        """What they sum to."""
        reduced = self.beliefs
        if projection.axes:
            shape = tuple([size for axis, size in enumerate(self.beliefs.shape) if axis not in projection.axes])
            reduced = self.buffers[len(script), shape]
            script.append((np.add.reduce, (self.beliefs, projection.axes, None, reduced)))
        reduced = reduced.reshape(-1)
        if projection.places is None:
            return reduced
        return gathered(reduced, projection.places, projection.size, script, self.buffers)

    def multiply(self, projection: Projection, factors: FloatArray, script: Script) -> None:
        """Let a script multiply each by the factor of the sum that it is in."""
        cell_factors = (
            factors if projection.places is None else spread(factors, projection.places, script, self.buffers)
        )
        script.append((np.multiply, (self.beliefs, cell_factors.reshape(projection.shape), self.beliefs)))

    def divide(self, projection: Projection, shares: FloatArray, script: Script) -> None:
        """Let a script divide each by the share of the sum that it is in."""
        self.multiply(projection, reciprocals(shares, projection.size, script), script)

    def scale(self, factor: float) -> None:
        """Multiply all."""
        np.multiply(self.beliefs, factor, out=self.beliefs)

    def total(self) -> float:
        """Their sum."""
        return float(self.beliefs.sum())

    def array(self) -> FloatArray:
        """All of them."""
        return self.beliefs


@dataclass(frozen=True, eq=False)
class FactoredBeliefs:
    """The product of some factors, each an array with length 1 along the axes on which it does not depend.

    A factor may leave the range of floating point though no belief does, or be divided by 0: `np.errstate` tells.
    """

    layout: "Layout"
    factors: tuple[FloatArray, ...]
    buffers: Buffers = field(default_factory=Buffers)

    @classmethod
    def of(cls, cells: BoxedCells, layout: "Layout") -> "FactoredBeliefs":
        """The same belief in each possible cell."""
        factors = []
        for shape in layout.shapes:
            factors.append(np.empty(shape))
            factors[-1].fill(1.0)
        for pattern in cells.patterns:
            factors[home_of(layout.scopes, _axes(pattern.shape))] *= pattern
        return cls(layout, tuple(factors))

    def sums(self, projection: Projection, script: Script) -> FloatArray:
        """What they sum to."""
        reduced = self.layout.plan(projection.axes).sums(self.factors, script, self.buffers)
        if projection.places is None:
            return reduced
        return gathered(reduced, projection.places, projection.size, script, self.buffers)

    def multiply(self, projection: Projection, factors: FloatArray, script: Script) -> None:
        """Let a script multiply each by the factor of the sum that it is in."""
        home = self.factors[self.layout.plan(projection.axes).home]
        cell_factors = (
            factors if projection.places is None else spread(factors, projection.places, script, self.buffers)
        )
        script.append((np.multiply, (home, cell_factors.reshape(projection.shape), home)))

    def divide(self, projection: Projection, shares: FloatArray, script: Script) -> None:
        """Let a script divide each by the share of the sum that it is in."""
        if projection.places is None:
            home = self.factors[self.layout.plan(projection.axes).home]
            script.append((np.divide, (home, shares.reshape(projection.shape), home)))
        else:
            self.multiply(projection, reciprocals(shares, projection.size, script), script)

    def scale(self, factor: float) -> None:
        """Multiply all."""
        np.multiply(self.factors[0], factor, out=self.factors[0])

    def total(self) -> float:
        """Their sum."""
        script: Script = []
        total = self.layout.plan(tuple(range(len(self.layout.shape)))).sums(self.factors, script, self.buffers)
        do(script)
        return float(total[0])

    def array(self) -> FloatArray:
        """All of them."""
        shape = self.layout.shape
        first, *others = self.factors
        product = first
        for factor in others:
            is_whole = product is not first and product.shape == shape
            product = np.multiply(product, factor, out=product if is_whole else None)
        return product if product.shape == shape else np.broadcast_to(product, shape).copy()


@dataclass(frozen=True, eq=False)
class Layout:
    """Which factors a product in a box has. scopes: their axes, none depends on axes of another alone. shapes: of them."""

    shape: tuple[int, ...]
    scopes: tuple[Axes, ...]
    shapes: tuple[tuple[int, ...], ...]
    plans: dict[tuple[int, ...], SumPlan] = field(default_factory=dict)

    @classmethod
    def among(cls, cells: BoxedCells, projections: Iterable[Projection]) -> "Layout":
        """With room for the patterns of possible cells, and for factors of these projections."""
        patterns = tuple(_axes(pattern.shape) for pattern in cells.patterns)
        return cls._of(cells.shape, tuple(projection.axes for projection in projections), patterns)

    @classmethod
    @lru_cache(_LAYOUTS)
    def _of(cls, shape: tuple[int, ...], summed: tuple[tuple[int, ...], ...], patterns: tuple[Axes, ...]) -> "Layout":
        everything = frozenset(range(len(shape)))
        asked = {*(everything - frozenset(axes) for axes in summed), frozenset(), *patterns}
        scopes = tuple(sorted((inner for inner in asked if not any(inner < other for other in asked)), key=sorted))
        shapes = tuple(tuple(size if i in scope else 1 for i, size in enumerate(shape)) for scope in scopes)
        return cls(shape, scopes, shapes)

    def plan(self, summed: tuple[int, ...]) -> SumPlan:
        """How the product is summed over some axes."""
        if summed not in self.plans:
            self.plans[summed] = SumPlan.of(self.scopes, summed, self.shape)
        return self.plans[summed]


def _axes(shape: Sequence[int]) -> Axes:
    """Those along which an array is longer than 1."""
    return frozenset(axis for axis, size in enumerate(shape) if size > 1)


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
        outward, other = self.links[clique, neighbour], self.links[neighbour, clique]
        rows, present = self.beliefs[clique].sums(outward, script), self.beliefs[neighbour].sums(other, script)
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
    tree, cells, arrays = fitter.tree, fitter.cells, [belief.array() for belief in fitter.beliefs]
    del fitter  # whose buffers take more room than all cells
    fit = Fit(
        tree, tuple(ExpectedCells(cell.cells, cell.of_possible(array)) for cell, array in zip(cells, arrays)), residual
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


class Targets:
    """The counts of some tables. Beliefs are fitted to each table once in a sweep."""

    def __init__(self, tables: Iterable[ContingencyTable]) -> None:
        self._shares = np.ones(sum(map(len, tables)))
        """Of the published counts, what they were fitted as before they were fitted to last."""
        self._next = 0
        self._summing: Script = []

    def fit(self, beliefs: Beliefs, projection: Projection, table: ContingencyTable, script: Script) -> None:
        """Let a script bring beliefs into line with the next of the tables."""
        shares = self._shares[self._next : self._next + len(table)]
        self._next += len(table)
        summing: Script = []
        sums = beliefs.sums(projection, summing)
        summing.append((np.divide, (sums[: len(table)], table.counts.astype(np.float64), shares)))
        self._summing += summing
        script += summing
        beliefs.divide(projection, shares, script)

    def misfit(self) -> float:
        """The largest misfit met, as a share of the published count, each count's when it was fitted to last."""
        largest = float(np.maximum.reduce(self._shares, initial=1.0))
        least = float(np.minimum.reduce(self._shares, initial=1.0))
        return max(largest - 1, 1 - least) if largest < np.inf else np.inf

    def misfit_now(self) -> float:
        """The same of beliefs as they are."""
        do(self._summing)
        return self.misfit()
