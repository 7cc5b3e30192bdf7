"""Bounds on the least and the largest count that a cell can have in any table with the given marginals.

For a decomposable collection and a cell that fixes all separators they are closed forms, and sharp (Frechet; Dobra and
Fienberg 2000): the upper bound is the least clique count, the lower one the clique counts less the separator counts, or 0.
What lies in any set of the possible cells is bounded by linear programming and then, where the program's answer is not a
whole number that a table attains, by integer programming (HiGHS), within a budget; along a chain of cliques by flows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import DomainMismatchError, TimeOverError
from models.graphs.junction_tree import Collection, without_leaves
from models.programs.consistent_tables import ALL_NODES, PossibleCells, RealNumbers, WholeNumbers, least, least_within
from models.tables.contingency_table import CodedCells

SECONDS = 10.0
"""Budget of a program."""

_WHOLE = 1e-6
"""Distance within which a program's optimum is taken for a whole number."""


@dataclass(frozen=True)
class CountBounds:
    """lower <= count <= upper for certain. sharp: whether both are attained by tables of whole numbers."""

    lower: int
    upper: int
    sharp: bool


def bounds_of_cells(
    collection: Collection, levels: Mapping[str, int], codes: Mapping[str, CodeArray], length: int
) -> tuple[CountArray, CountArray]:
    """Lower and upper bounds on the counts of many cells that fix the same attributes: shape (length,) each.

    levels: none finer than published. codes: shape (length,) each. Sharp where the cells fix all separators of a
    decomposable collection; otherwise what each marginal alone says, without any program.
    """
    fixed = {a: level for a, level in levels.items() if level < collection.domain.hierarchy(a).height}
    total = collection.cube.total
    lower, upper = np.zeros(length, dtype=np.int64), np.full(length, total)
    for mask in collection.masks:
        counts = _counts(collection, mask, levels, codes, length)
        upper = np.minimum(upper, counts)
        if not collection.domain.mask(fixed) & ~mask:
            lower = np.maximum(lower, counts)
    if collection.is_decomposable and fixed:
        tree = collection.junction_tree
        cliques = without_leaves(tree, collection.domain.mask(fixed))
        separators = [tree.separators[clique] for clique in cliques if tree.parents[clique] in cliques]
        if all(_fixes(collection, separator, fixed) for separator in separators):
            counted = [_counts(collection, mask, levels, codes, length) for mask in (tree.cliques[c] for c in cliques)]
            overlaps = [_counts(collection, separator, levels, codes, length) for separator in separators]
            parts = len(cliques) - len(separators)
            both = np.sum(counted, axis=0) - np.sum(overlaps, axis=0, dtype=np.int64)
            lower = np.maximum(lower, both - total * (parts - 1))
    return lower, upper


def _counts(
    collection: Collection, mask: int, levels: Mapping[str, int], codes: Mapping[str, CodeArray], length: int
) -> CountArray:
    """Rows of a published margin, coarsened to the cells' levels, in each cell: shape (length,)."""
    domain = collection.domain
    shared = {a: max(level, levels[a]) for a, level in domain.margin(mask).items() if a in levels}
    table = collection.cube.table(mask).rolled_up(shared)
    if not table.attributes:
        return np.full(length, table.total)
    return table.counts_in(CodedCells(domain, levels, codes, length))


def _fixes(collection: Collection, mask: int, fixed: Mapping[str, int]) -> bool:
    """Whether cells give every attribute of a margin at its level or finer."""
    return all(a in fixed and fixed[a] <= level for a, level in collection.domain.margin(mask).items())


@dataclass(frozen=True, eq=False)
class Extreme:
    """The proven bound of a count, and a table of whole numbers over the cells that attains it, if one was found."""

    bound: float
    table: FloatArray | None

    @property
    def attained(self) -> bool:
        """Whether the bound is sharp."""
        return self.table is not None


def extreme_count(
    cells: PossibleCells,
    inside: BoolArray,
    direction: int,
    seconds: float = SECONDS,
    nodes: int = ALL_NODES,
    deadline: Deadline = NEVER,
) -> Extreme:
    """The largest (direction 1) or least (-1) number of rows in some of the cells, over all consistent tables.

    A linear program first; if its optimum is no table of whole numbers, an integer program, each for so many seconds and
    the second for so many nodes of its search; nodes alone, with infinite seconds, where the answer must not depend on the
    machine. None goes on after the deadline. The bound is proven in any case. Raises ContradictionError when no table of
    nonnegative whole numbers is consistent.
    """
    objective = np.where(inside, -float(direction), 0.0)
    fewest, most = _within_each(cells, inside)
    lowest = -float(most) if direction > 0 else float(fewest)
    relaxed = least(cells, objective, RealNumbers(min(seconds, deadline.left)))
    proven = max(relaxed.bound, lowest)
    if relaxed.table is None:
        return Extreme(-direction * proven, None)
    table = np.round(relaxed.table)
    if np.abs(relaxed.table - table).max(initial=0.0) <= _WHOLE and _is_consistent(cells, table):
        return Extreme(-direction * proven, table)
    whole = least(cells, objective, WholeNumbers(min(seconds, deadline.left), nodes))
    proven = max(proven, whole.bound)
    if whole.is_optimal and whole.table is not None:
        table = np.round(whole.table)
        if _is_consistent(cells, table) and objective @ table <= ceil(proven - _WHOLE):
            return Extreme(-direction * float(objective @ table), table)
    return Extreme(-direction * proven, None)


def _within_each(cells: PossibleCells, inside: BoolArray) -> tuple[int, int]:
    """Bounds of the rows in some cells that each marginal proves by itself, without any program."""
    fewest, most, begin = 0, cells.total, 0
    touched = cells.constraints @ inside.astype(np.float64)
    outside = cells.constraints @ (~inside).astype(np.float64)
    for table in cells.tables:
        span = slice(begin, begin + len(table))
        most = min(most, int(table.counts[touched[span] > 0].sum()))
        fewest = max(fewest, int(table.counts[outside[span] == 0].sum()))
        begin += len(table)
    return fewest, most


def _is_consistent(cells: PossibleCells, table: FloatArray) -> bool:
    """Whether a table of whole numbers has exactly the given marginals."""
    return bool(np.array_equal(np.asarray(cells.constraints @ table), cells.counts))


# Chains of tables that agree on the separators between neighbours: the rows that meet a condition in every table.
#
# Rows are joined freely within a separator cell, so the rows that are in a given set of cells of each table at once
# are a flow: from table to table through the separator cells, at most its count through each cell. What such a flow
# leaves of the counts agrees on the separators again and can be glued, so the largest flow is the largest number of
# such rows (Ford and Fulkerson 1956), and it is whole. For the least number, the rows of the first table's set are
# sent out of the chain wherever they can meet a cell outside; those that cannot be are in every table with these
# counts.


FLOW_LIMIT = 2**31 - 1
"""Rows that the program for maximum flows can count."""


@dataclass(frozen=True, eq=False)
class ChainTable:
    """One table of a chain.

    counts: rows of its cells, shape (cells,). before, after: the separator cell behind and ahead of each cell; at the ends
    of the chain all of them are 0. Raises DomainMismatchError for other shapes.
    """

    counts: CountArray
    before: IndexArray
    after: IndexArray

    def __post_init__(self) -> None:
        if self.before.shape != self.counts.shape or self.after.shape != self.counts.shape:
            raise DomainMismatchError("each cell of a chain has a count and a separator cell on either side")


def most_inside(chain: Sequence[ChainTable], inside: Sequence[BoolArray]) -> int:
    """The most rows that can lie in the given cells of every table at once. inside: for each table, shape (cells,).

    Raises DomainMismatchError for more rows than FLOW_LIMIT.
    """
    cells_inside = [np.flatnonzero(within) for within in inside]
    begins = _begins(chain)
    tails = [begin + table.before[cells] for begin, table, cells in zip(begins, chain, cells_inside)]
    heads = [begin + table.after[cells] for begin, table, cells in zip(begins[1:], chain, cells_inside)]
    rows = [table.counts[cells] for table, cells in zip(chain, cells_inside)]
    return _largest_flow(np.concatenate(tails), np.concatenate(heads), np.concatenate(rows), 0, begins[-1])


def least_inside(chain: Sequence[ChainTable], inside: Sequence[BoolArray]) -> int:
    """The least number of rows that lie in the given cells of every table at once. inside: for each table, shape (cells,).

    Raises DomainMismatchError for more rows than FLOW_LIMIT.
    """
    begins = _begins(chain)
    outside = begins[-1]
    tails, heads, rows = [], [], []
    for place, (table, within) in enumerate(zip(chain, inside)):
        is_last = place == len(chain) - 1
        # A row outside of the first table's cells counts as gone already; one inside to the last is there for good.
        cells = within if place == 0 else ~within if is_last else np.ones_like(within)
        tails.append(begins[place] + table.before[cells])
        heads.append(np.where(within, begins[place + 1] + table.after, outside)[cells])
        rows.append(table.counts[cells])
    gone = _largest_flow(np.concatenate(tails), np.concatenate(heads), np.concatenate(rows), 0, outside)
    return int(chain[0].counts[inside[0]].sum()) - gone


def _begins(chain: Sequence[ChainTable]) -> list[int]:
    """The number of the first cell behind each table, and of the one cell ahead of the last."""
    sizes = [
        int(max(one.after.max(initial=0), other.before.max(initial=0))) + 1 for one, other in zip(chain, chain[1:])
    ]
    return [0, *np.cumsum([1, *sizes]).tolist()]


def _largest_flow(tails: IndexArray, heads: IndexArray, rows: CountArray, source: int, sink: int) -> int:
    if rows.sum() > FLOW_LIMIT:
        raise DomainMismatchError(f"more than {FLOW_LIMIT} rows are too many for a maximum flow")
    # Slow to import, and few need them.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    capacities = csr_array((rows.astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1))
    return int(maximum_flow(capacities, source, sink).flow_value)


# Occupied cells: the possible cells that some nonnegative table with the given marginals does not leave empty.
#
# A cell can be empty in all of them though each marginal leaves room for it. The maximum-entropy distribution has no
# mass there, and iterative fitting would come near that only slowly, so it is better to leave such cells out.


_MASS = 1e-6
"""Rows from which on a cell counts as occupied: far above what a solver rounds, far below what an optimal vertex has."""


def occupied_cells(cells: PossibleCells, deadline: Deadline = NEVER) -> BoolArray:
    """Whether each cell can be occupied, by real numbers: shape (len(cells),). Raises ContradictionError for no table.

    Each program fills as many of the cells as it can that none before it has filled (Fukuda, Lectures on polyhedral
    computation, 8.3: implicit equalities). Raises TimeOverError when the deadline comes before all is known.
    """
    occupied = np.zeros(len(cells), dtype=np.bool_)
    while not occupied.all():
        filled = (_filled(cells, ~occupied, deadline) > _MASS) & ~occupied
        if not filled.any():
            break
        occupied |= filled
    return occupied


def _filled(cells: PossibleCells, wanted: BoolArray, deadline: Deadline) -> FloatArray:
    """A table with rows, of a row each as far as there are any, in as many of the wanted cells as can be."""
    # Slow to import, and few need them.
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array, eye_array, hstack

    number = len(cells)
    objective = np.concatenate([np.zeros(number), np.where(wanted, -1.0, 0.0)])
    identity = eye_array(number, format="csr")
    within = LinearConstraint(hstack([identity, -identity], format="csr"), 0, np.inf)
    nothing = csr_array((cells.constraints.shape[0], number))
    marginals = LinearConstraint(hstack([cells.constraints, nothing], format="csr"), cells.counts, cells.counts)
    most = np.concatenate([np.full(number, np.inf), np.ones(number)])
    solution = least_within(objective, [within, marginals], RealNumbers(deadline.left), most)
    if solution.table is None:
        raise TimeOverError("the time was over before it was known which cells can be occupied")
    return np.asarray(solution.table[:number], dtype=np.float64)
