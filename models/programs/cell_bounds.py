"""Sharp bounds: the least and the largest count that a cell can have in any table with the given marginals.

For a decomposable collection and a cell that fixes all separators they are closed forms (Frechet; Dobra and Fienberg
2000): the upper bound is the least clique count, the lower one the clique counts less the separator counts, or 0. Other
cells, and other collections, are bounded by linear programming over the possible cells and then, where the program's
answer is not a whole number that a table attains, by integer programming (HiGHS), within a budget.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import DomainMismatchError, TimeOverError, TooManyCellsError
from models.graphs.junction_tree import Collection, JunctionTree
from models.programs.consistent_tables import (
    ALL_NODES,
    PossibleCells,
    RealNumbers,
    WholeNumbers,
    least,
    least_within,
    possible_cells,
)
from models.tables.contingency_table import CodedCells

CELL_LIMIT = 100_000
"""Possible cells that a program may have."""

SECONDS = 10.0
"""Budget of the programs for one cell."""

_WHOLE = 1e-6
"""Distance within which a program's optimum is taken for a whole number."""


@dataclass(frozen=True)
class CountBounds:
    """lower <= count <= upper for certain. sharp: whether both are attained by tables of whole numbers."""

    lower: int
    upper: int
    sharp: bool


@dataclass(frozen=True)
class Value:
    """A value of an attribute: its code at a level."""

    level: int
    code: int


def cell_bounds(collection: Collection, cell: Mapping[str, Value], seconds: float = SECONDS) -> CountBounds:
    """Bounds on the number of rows with these values; attributes that are not named may have any.

    A value finer than what is published is bounded by its published ancestor, and may be empty unless it is that
    ancestor's only one. Raises DomainMismatchError for an unknown attribute or value.
    """
    cell = {attribute: _checked(collection, attribute, value) for attribute, value in cell.items()}
    published, refined = _published(collection, cell)
    if collection.is_decomposable and (closed := _closed_form(collection, published)) is not None:
        bounds = closed
    else:
        bounds = _programmed(collection, published, seconds)
    return CountBounds(0, bounds.upper, bounds.sharp) if refined else bounds


def bounds_of_cells(
    collection: Collection, levels: Mapping[str, int], codes: Mapping[str, CodeArray], length: int
) -> tuple[CountArray, CountArray]:
    """Lower and upper bounds on the counts of many cells that fix the same attributes: shape (length,) each.

    levels: none finer than published. codes: shape (length,) each. Sharp where the cells fix all separators of a
    decomposable collection; otherwise what each marginal alone says, without any program.
    """
    cell = {
        attribute: Value(level, 0)
        for attribute, level in levels.items()
        if level < collection.domain.hierarchy(attribute).height
    }
    total = collection.cube.total
    lower, upper = np.zeros(length, dtype=np.int64), np.full(length, total)
    for mask in collection.masks:
        counts = _counts(collection, mask, levels, codes, length)
        upper = np.minimum(upper, counts)
        if _shows(collection, mask, cell):
            lower = np.maximum(lower, counts)
    if collection.is_decomposable and cell:
        tree = collection.junction_tree
        kept = _relevant(collection, tree, cell)
        separators = [tree.separators[clique] for clique in kept if tree.parents[clique] in kept]
        if all(_fixes(collection, separator, cell) for separator in separators):
            counted = [_counts(collection, mask, levels, codes, length) for mask in (tree.cliques[c] for c in kept)]
            overlaps = [_counts(collection, separator, levels, codes, length) for separator in separators]
            parts = len(kept) - len(separators)
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


def _checked(collection: Collection, attribute: str, value: Value) -> Value:
    hierarchy = collection.domain.hierarchy(attribute)
    if not 0 <= value.level <= hierarchy.height or not 0 <= value.code < hierarchy.size(value.level):
        raise DomainMismatchError(f"{attribute!r} has no value {value.code} at level {value.level}")
    return value


def _published(collection: Collection, cell: Mapping[str, Value]) -> tuple[dict[str, Value], bool]:
    """The cell in published values, `*` left out, and whether a value was finer than what is published."""
    published: dict[str, Value] = {}
    refined = False
    for attribute, value in cell.items():
        hierarchy = collection.domain.hierarchy(attribute)
        level = max(value.level, collection.finest_level(attribute))
        lift = hierarchy.lift(value.level, level)
        code = int(lift[value.code])
        refined = refined or int((lift == code).sum()) > 1
        if level < hierarchy.height:
            published[attribute] = Value(level, code)
    return published, refined


def _count(collection: Collection, mask: int, cell: Mapping[str, Value]) -> int:
    """Rows of a published margin, coarsened to the cell's levels, in the cell."""
    domain = collection.domain
    margin = domain.margin(mask)
    levels = {a: max(level, cell[a].level) for a, level in margin.items() if a in cell}
    table = collection.cube.table(mask).rolled_up(levels)
    inside: BoolArray = np.ones(len(table), dtype=bool)
    for attribute in table.attributes:
        value, level = cell[attribute], levels[attribute]
        inside &= table.column(attribute, level) == domain.hierarchy(attribute).lift(value.level, level)[value.code]
    return int(table.counts[inside].sum())


def _fixes(collection: Collection, mask: int, cell: Mapping[str, Value]) -> bool:
    """Whether a cell gives every attribute of a margin at its level or finer."""
    return all(a in cell and cell[a].level <= level for a, level in collection.domain.margin(mask).items())


def _relevant(collection: Collection, tree: JunctionTree, cell: Mapping[str, Value]) -> list[int]:
    """The cliques left after pruning leaves that add no attribute of the cell to their neighbour's."""
    domain = collection.domain
    fixed = domain.mask({attribute: value.level for attribute, value in cell.items()})
    kept = set(range(len(tree.cliques)))
    while True:
        for clique in sorted(kept, reverse=True):
            neighbours = [c for c in tree.children[clique] if c in kept]
            if tree.parents[clique] in kept:
                neighbours.append(tree.parents[clique])
            linked = {n: tree.cliques[clique] & tree.cliques[n] for n in neighbours}
            if len(kept) > 1 and len(neighbours) <= 1:
                shared = next(iter(linked.values()), 0)
                if not fixed & tree.cliques[clique] & ~shared:
                    kept.remove(clique)
                    break
        else:
            return sorted(kept)


def _closed_form(collection: Collection, cell: Mapping[str, Value]) -> CountBounds | None:
    tree = collection.junction_tree
    total = collection.cube.total
    if not cell or not tree.cliques:
        return CountBounds(total, total, sharp=True)
    kept = _relevant(collection, tree, cell)
    counts = [_count(collection, tree.cliques[clique], cell) for clique in kept]
    separators = [tree.separators[clique] for clique in kept if tree.parents[clique] in kept]
    parts = len(kept) - len(separators)
    if not all(_fixes(collection, separator, cell) for separator in separators):
        return None
    overlap = sum(_count(collection, separator, cell) for separator in separators) + total * (parts - 1)
    return CountBounds(max(sum(counts) - overlap, 0), min(counts), sharp=True)


def _outer(collection: Collection, cell: Mapping[str, Value]) -> CountBounds:
    """Bounds that hold for any collection: the least of the marginals' counts, and 0 or one marginal's own count."""
    counts = [_count(collection, mask, cell) for mask in collection.masks]
    whole = [c for mask, c in zip(collection.masks, counts) if _shows(collection, mask, cell)]
    return CountBounds(max(whole, default=0), min([*counts, collection.cube.total]), sharp=bool(whole))


def _shows(collection: Collection, mask: int, cell: Mapping[str, Value]) -> bool:
    fixed = collection.domain.mask({attribute: value.level for attribute, value in cell.items()})
    return not fixed & ~mask


def _programmed(collection: Collection, cell: Mapping[str, Value], seconds: float) -> CountBounds:
    outer = _outer(collection, cell)
    if outer.sharp:
        return outer
    try:
        cells = possible_cells(collection, CELL_LIMIT)
    except TooManyCellsError:
        return outer
    inside: BoolArray = np.ones(len(cells), dtype=bool)
    for attribute, value in cell.items():
        level = cells.margin[attribute]
        lift = collection.domain.hierarchy(attribute).lift(level, value.level)
        inside &= lift[cells.codes[attribute]] == value.code
    upper = extreme_count(cells, inside, 1, seconds)
    lower = extreme_count(cells, inside, -1, seconds)
    return CountBounds(
        max(outer.lower, ceil(lower.bound - _WHOLE)),
        min(outer.upper, floor(upper.bound + _WHOLE)),
        lower.attained and upper.attained,
    )


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
        own = slice(begin, begin + len(table))
        most = min(most, int(table.counts[touched[own] > 0].sum()))
        fewest = max(fewest, int(table.counts[outside[own] == 0].sum()))
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
    kept = [np.flatnonzero(within) for within in inside]
    begins = _begins(chain)
    tails = [begin + table.before[cells] for begin, table, cells in zip(begins, chain, kept)]
    heads = [begin + table.after[cells] for begin, table, cells in zip(begins[1:], chain, kept)]
    rows = [table.counts[cells] for table, cells in zip(chain, kept)]
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
        kept = within if place == 0 else ~within if is_last else np.ones_like(within)
        tails.append(begins[place] + table.before[kept])
        heads.append(np.where(within, begins[place + 1] + table.after, outside)[kept])
        rows.append(table.counts[kept])
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
    found = least_within(objective, [within, marginals], RealNumbers(deadline.left), most)
    if found.table is None:
        raise TimeOverError("the time was over before it was known which cells can be occupied")
    return np.asarray(found.table[:number], dtype=np.float64)
