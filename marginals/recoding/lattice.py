"""Full-domain generalization: all minimal single tables that satisfy the requirements.

A node assigns a level to each quasi-identifier. The requirements are monotone, so a verdict settles a whole box. The
search tests the open node whose verdict settles most in the worse case. It begins with tables of two attributes, since
a node fails when its projection does (as Incognito prunes by subsets).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from checks.classes import EquivalenceClasses, equivalence_classes, nonsensitive_part
from checks.diversity.criterion import satisfies
from checks.requirements import Requirements
from marginals.errors import InputError
from marginals.recoding.local_recoding import (
    LocalRecoding,
    average_class_size,
    classification_metric,
    discernibility,
)
from marginals.tables.table import Table
from models.arrays import BoolArray
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.generalized_cells import GeneralizedCells, Taxonomy, information_utility, nodes_of
from models.tables.hierarchy import Margin, Mask

Node = tuple[int, ...]  # levels of the attributes
_GROUP = 64  # combinations of levels that are summed over at once: few products beat sums along many axes


def _summed(nodes: BoolArray, related: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    # Number of the nodes that are related to each node in every group of axes. Exact: there are at most 2^24 nodes.
    sums = nodes.astype(np.float32)
    for matrix in related:  # each product puts its group of axes behind the others, so that in the end all are in place
        sums = sums.reshape(len(matrix), -1).T @ matrix.T
    return sums.reshape(nodes.shape)


class _SettledNodes:
    """Settled nodes, as arrays with an axis for each attribute, indexed by level."""

    def __init__(self, shape: Node) -> None:
        self.passes: BoolArray = np.zeros(shape, dtype=bool)
        self.fails: BoolArray = np.zeros(shape, dtype=bool)
        # For each group of neighbouring axes: combinations of levels, in columns, that are as fine as others, in rows.
        self.finer: list[NDArray[np.float32]] = []
        for length in shape:
            finer = np.tri(length, dtype=np.float32)
            if self.finer and len(self.finer[-1]) * length <= _GROUP:
                self.finer[-1] = np.kron(self.finer[-1], finer)
            else:
                self.finer.append(finer)

    def settle(self, node: Node, passes: bool) -> None:
        if passes:
            self.passes[tuple(slice(level, None) for level in node)] = True
        else:
            self.fails[tuple(slice(None, level + 1) for level in node)] = True

    @property
    def open(self) -> BoolArray:
        return ~(self.passes | self.fails)

    def most_telling(self) -> Node | None:
        # the open node with the largest smaller side: open nodes at or above it, and at or below
        still_open = self.open
        if not still_open.any():
            return None
        below = _summed(still_open, self.finer)
        above = _summed(still_open, [finer.T for finer in self.finer])
        worth = np.where(still_open, np.minimum(below, above), 0)
        return tuple(int(i) for i in np.unravel_index(int(worth.argmax()), worth.shape))

    def minimal(self, attributes: Sequence[str]) -> list[Margin]:
        lowest = self.passes.copy()
        for axis in range(lowest.ndim):
            coarser, finer = np.moveaxis(lowest, axis, 0)[1:], np.moveaxis(self.passes, axis, 0)[:-1]
            coarser &= ~finer
        return [Margin(dict(zip(attributes, map(int, node)))) for node in np.argwhere(lowest)]


Progress = Callable[[int, int], None]  # numbers of settled nodes and of all nodes


@frozen
class SingleTable:
    """Generalized table with its measures of utility.

    `suppressed`: rows of failing classes, published with `*` throughout; together they are one class more.
    `classification_metric`: these rows, and rows whose first sensitive value is not the most frequent of their class
    (Iyengar 2002). `information_utility`: `um` of TZ09 Def. 5.
    """

    levels: Margin
    mask: Mask = field(repr=False)
    height: int
    classes: int
    suppressed: int
    average_class_size: float
    discernibility: int
    classification_metric: int | None
    information_utility: float
    kl_divergence: float


@frozen
class LatticeResult:
    """Minimal tables, best KL divergence first. `nodes`: the number of nodes of the lattice."""

    nodes: int
    minimal: tuple[SingleTable, ...]

    def best(self) -> SingleTable | None:
        """Return the minimal table of the least KL divergence; None if there is none."""
        return next(iter(self.minimal), None)


def single_table(cube: DataCube, levels: Mapping[str, int], requirements: Requirements) -> SingleTable:
    """Return the table at these levels, the sensitive attributes as they are, and rows of failing classes suppressed."""
    public = cube.domain.mask(levels)
    mask = public | cube.domain.mask(dict.fromkeys(requirements.sensitive, 0))
    table, classes = cube.table(mask), cube.table(public)
    fails = failing_classes(cube, mask, requirements)
    kept_counts, suppressed = classes.counts[~fails], int(classes.counts[fails].sum())
    metric = None
    if requirements.sensitive:
        first = requirements.sensitive[0]
        counts = equivalence_classes(table.rolled_up({**levels, first: 0}), first).counts
        metric = suppressed + classification_metric(counts[~fails])
    if suppressed:
        published = _cells_as_shown(cube, mask, requirements)
        kl_divergence = published.kl_divergence(cube.table(sum(cube.domain.attribute_masks)))
        utility = published.information_utility
    else:
        kl_divergence = MaximumEntropy(Collection.of(cube, [mask])).kl_divergence
        utility = information_utility(table)
    return SingleTable(
        Margin(levels),
        mask,
        sum(levels.values()),
        len(kept_counts),
        suppressed,
        average_class_size(kept_counts),
        discernibility(kept_counts, suppressed),
        metric,
        utility,
        kl_divergence,
    )


def _cells_as_shown(cube: DataCube, mask: Mask, requirements: Requirements) -> GeneralizedCells:
    table, rows = _failing_cells(cube, mask, requirements)
    nodes = nodes_of(table)
    for axis, (attribute, hierarchy) in enumerate(cube.domain.items()):
        if attribute not in requirements.sensitive:
            nodes[rows, axis] = Taxonomy(hierarchy).root
    return GeneralizedCells.from_rows(cube.domain, nodes, table.counts)


def _failing_cells(cube: DataCube, mask: Mask, requirements: Requirements) -> tuple[ContingencyTable, BoolArray]:
    table, classes = cube.table(mask), cube.table(nonsensitive_part(cube.domain, mask, requirements.sensitive))
    return table, _failing(cube, table, classes, requirements)[table.positions_in(classes)]


def failing_classes(cube: DataCube, mask: Mask, requirements: Requirements) -> BoolArray:
    """Return which classes are too small, have too small cells, or are not diverse: shape (classes,).

    With several sensitive attributes a class fails when it does for some value of the others (MKGV07 Def. 4.6).
    """
    classes = cube.table(nonsensitive_part(cube.domain, mask, requirements.sensitive))
    return _failing(cube, cube.table(mask), classes, requirements)


def _failing(
    cube: DataCube, table: ContingencyTable, classes: ContingencyTable, requirements: Requirements
) -> BoolArray:
    fails: BoolArray = np.zeros(len(classes), dtype=bool)
    if requirements.class_size is not None:
        fails |= classes.counts < requirements.class_size
    if requirements.cell_size is not None:
        fails[table.positions_in(classes)[table.counts < requirements.cell_size]] = True
    for parts, bad in _not_diverse(cube, table, requirements):
        if bad.any():
            fails[parts.positions_in(classes)[bad]] = True
    return fails


def _not_diverse(
    cube: DataCube, table: ContingencyTable, requirements: Requirements
) -> Iterator[tuple[EquivalenceClasses, BoolArray]]:
    for claim in requirements.diversity_claims:
        if claim.class_diversity is None or claim.sensitive not in table.margin:
            continue
        parts = equivalence_classes(table, claim.sensitive)
        everybody = cube.table(cube.domain.mask({claim.sensitive: parts.level}))
        criterion = claim.class_diversity.among(equivalence_classes(everybody, claim.sensitive).values)
        yield parts, ~satisfies(criterion, parts.counts)


def table_satisfies(cube: DataCube, mask: Mask, requirements: Requirements, spare: int = 0) -> bool:
    """Return whether one table satisfies the requirements, with at most `spare` rows suppressed, themselves a class."""
    if spare:
        table, rows = _failing_cells(cube, mask, requirements)
        sensitive_levels = {a: level for a, level in table.margin.items() if a in requirements.sensitive}
        codes = {a: column[rows] for a, column in zip(table.attributes, table.codes) if a in sensitive_levels}
        suppressed = ContingencyTable.from_cells(cube.domain, sensitive_levels, codes, table.counts[rows])
        if not suppressed.total or suppressed.total > spare:
            return not suppressed.total
        return not _failing(cube, suppressed, suppressed.rolled_up({}), requirements).any()
    public = nonsensitive_part(cube.domain, mask, requirements.sensitive)
    demands = ((requirements.class_size, public), (requirements.cell_size, mask))
    if any(least is not None and cube.counts(part).min(initial=least) < least for least, part in demands):
        return False
    return not requirements.diversity_claims or not any(
        bad.any() for _, bad in _not_diverse(cube, cube.table(mask), requirements)
    )


def finest_level(cube: DataCube, attribute: str, requirements: Requirements) -> int | None:
    """Return the finest level below `*` of a sensitive attribute that all rows together may show; None for no level."""
    masks = (cube.domain.mask({attribute: level}) for level in range(cube.domain.hierarchy(attribute).height))
    return next((level for level, mask in enumerate(masks) if table_satisfies(cube, mask, requirements)), None)


LARGEST_LATTICE = 1 << 24  # nodes; the arrays take some hundred megabytes


def lattice_nodes(cube: DataCube, attributes: Iterable[str]) -> int:
    """Return the number of single tables: the ways to choose a level for each of some attributes."""
    return prod(cube.domain.hierarchy(attribute).height + 1 for attribute in attributes)


def no_progress(settled: int, nodes: int) -> None:
    """Ignore progress."""


def minimal_tables(
    cube: DataCube,
    attributes: tuple[str, ...],
    requirements: Requirements,
    progress: Progress = no_progress,
    suppression: float = 0.0,
) -> LatticeResult:
    """Return all minimal full-domain generalizations of `attributes` that satisfy the requirements; exact.

    `suppression`: share of the rows that may be suppressed. Raises InputError for too many nodes.
    """
    sensitive = cube.domain.mask(dict.fromkeys(requirements.sensitive, 0))
    spare = int(suppression * cube.total)

    def passes(levels: Mapping[str, int]) -> bool:
        return table_satisfies(cube, cube.domain.mask(levels) | sensitive, requirements, spare)

    def within_spare(levels: Mapping[str, int]) -> bool:
        classes = cube.counts(cube.domain.mask(levels))
        return int(classes[classes < (requirements.class_size or 1)].sum()) <= spare

    if not spare or not attributes:
        minimal = minimal_levels(cube, attributes, passes, progress)
    else:
        # A coarser table may leave too few suppressed rows to be a class, so this is not monotone. The number of rows that
        # k-anonymity suppresses is monotone, so it rules nodes out. The others are tested, finer ones first.
        # A node that is coarser than a passing one is not minimal, and not tested.
        lattice = _settled(cube, attributes, within_spare, no_progress)
        candidates, lattice.passes = lattice.passes, np.zeros_like(lattice.passes)
        for done, node in enumerate(np.ndindex(*candidates.shape), 1):
            if candidates[node] and not lattice.passes[node] and passes(dict(zip(attributes, node))):
                lattice.settle(node, True)
            progress(done, candidates.size)
        minimal = lattice.minimal(attributes)
    result = [single_table(cube, levels, requirements) for levels in minimal]
    result.sort(key=lambda table: (table.kl_divergence, tuple(table.levels.values())))
    return LatticeResult(lattice_nodes(cube, attributes), tuple(result))


def minimal_levels(
    cube: DataCube, attributes: tuple[str, ...], passes: Callable[[Margin], bool], progress: Progress = no_progress
) -> list[Margin]:
    """Return all levels of some attributes that pass and below which no others do. `passes`: monotone."""
    if not attributes:  # one table, of the sensitive attributes
        return [Margin({})] if passes(Margin({})) else []
    return _settled(cube, attributes, passes, progress).minimal(attributes)


def _settled(
    cube: DataCube, attributes: tuple[str, ...], passes: Callable[[Margin], bool], progress: Progress
) -> _SettledNodes:
    if (nodes := lattice_nodes(cube, attributes)) > LARGEST_LATTICE:
        raise InputError(
            f"there are {nodes:,} ways to generalize the {len(attributes)} quasi-identifiers, too many to find the best "
            "single table. Use fewer or lower hierarchies, name its levels (base = { age = 1, .. }), or publish without "
            'one (base "none")'
        )
    finest = cube.domain.mask(dict.fromkeys(attributes, 0))
    if cube.holds(finest):
        _ = cube.table(finest)  # all classes are counted from it, which has fewer cells than the whole table
    heights = tuple(cube.domain.hierarchy(attribute).height for attribute in attributes)
    lattice = _SettledNodes(tuple(height + 1 for height in heights))
    every = tuple(range(len(heights)))
    for axes in [*(c for size in (1, 2) if size < len(every) for c in combinations(every, size)), every]:
        where = tuple(slice(None) if axis in axes else heights[axis] for axis in every)
        part = _SettledNodes(tuple(heights[axis] + 1 for axis in axes))
        part.passes, part.fails = lattice.passes[where].copy(), lattice.fails[where].copy()
        while (node := part.most_telling()) is not None:
            level = dict(zip(axes, node))
            full_node = tuple(level.get(axis, heights[axis]) for axis in every)
            verdict = passes(Margin(dict(zip(attributes, full_node))))
            part.settle(node, verdict)
            lattice.settle(full_node, verdict)
            progress(int(lattice.passes.size - lattice.open.sum()), lattice.passes.size)
    return lattice


def published_table(table: Table, levels: Mapping[str, int], requirements: Requirements) -> LocalRecoding:
    """Return the table at some levels, with rows of failing classes suppressed and groups named as in a release."""
    table_levels = {**levels, **dict.fromkeys(table.sensitive, 0)}
    fails = failing_classes(table.cube, table.domain.mask(table_levels), requirements)
    hidden = int(table.cube.counts(table.domain.mask(levels))[fails].sum())
    heights = {name: hierarchy.height for name, hierarchy in table.domain.items()}
    named = table.names({**heights, **table_levels}, requirements.least_count + hidden)
    table = table.with_hierarchies({name: naming.hierarchy for name, naming in named.items()})
    cells = _cells_as_shown(table.cube, table.domain.mask(table_levels), requirements)
    return LocalRecoding(cells, table.quasi_identifiers, table.sensitive)
