"""1-D l-diversity mapping: groups of rows that lie near each other on a Hilbert curve (Ghinita et al., VLDB 2007).

The quasi-identifiers are the axes of a grid. Each group has different sensitive values, and is published under the
nearest values that cover it. TZ09 and TZ11 compare SWEEP with it.
"""

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criterion import Diversity
from marginals.arguments import require_whole_number
from marginals.errors import InputError, NothingPublishableError
from marginals.recoding.local_recoding import LocalRecoding, require_rows, requirement_of
from marginals.tables.table import Table
from models.arrays import CodeArray, IndexArray
from models.tables.generalized_cells import GeneralizedCells, Taxonomy
from models.tables.hierarchy import Hierarchy


def hilbert(table: Table, requirement: Diversity | str | None = None, *, k: int = 1) -> LocalRecoding:
    """Return the mapping for the smallest l whose table satisfies a requirement, tried from 2 on as TZ09 IV.C does.

    Parameters
    ----------
    table
        Rows to be grouped.
    requirement
        For example "functional:0.5,2". With None, each k neighbours on the curve are a class.
    k
        Fewest rows of a class.

    Raises
    ------
    InputError
        The requirement comes without exactly one sensitive attribute.
    NothingPublishableError
        No l satisfies the requirement.

    >>> from marginals.example import table
    >>> hilbert(table, "functional:0.5,2")
    LocalRecoding(48 rows in 10 classes)
    """
    require_whole_number(k, "k", 1)
    criterion = requirement_of(table, requirement)
    if criterion is None:
        cells = _hilbert_order(table)
        require_rows(len(cells), k)
        return _published(table, cells, _joined(np.arange(len(cells)), k))
    _, values = _ordered_rows(table)
    for l in range(2, eligible_l(values) + 1):
        recoded = hilbert_groups(table, l, k=k)
        if recoded.satisfies(criterion):
            return recoded
    demanded = criterion if criterion.name else "what is demanded"
    raise NothingPublishableError(f"the 1-D mapping reaches {demanded} for no l")


def hilbert_groups(table: Table, l: int, *, k: int = 1) -> LocalRecoding:
    """Return the table in groups of at least l rows with different sensitive values, joined up to k rows."""
    require_whole_number(k, "k", 1)
    require_whole_number(l, "l", 1)
    cells, values = _ordered_rows(table)
    if l > eligible_l(values):
        raise NothingPublishableError(f"no grouping is simple {l}-diverse: a sensitive value has too many rows")
    require_rows(len(values), k)
    return _published(table, cells, _joined(spread_groups(values, l), -(-k // l)))


def _published(table: Table, cells: IndexArray, group_of: IndexArray) -> LocalRecoding:
    order = np.argsort(group_of, kind="stable")
    starts = np.flatnonzero(np.diff(group_of[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    nodes = np.empty((len(order), len(table.domain.attributes)), dtype=np.intp)
    for axis, (attribute, hierarchy) in enumerate(table.domain.items()):
        codes = table.base_counts.column(attribute, 0)[cells[order]]
        nodes[:, axis] = codes if attribute in table.sensitive else np.repeat(_nearest(hierarchy, codes, starts), sizes)
    return LocalRecoding.of(table, GeneralizedCells.from_rows(table.domain, nodes, np.ones(len(order), dtype=np.int64)))


def eligible_l(values: CodeArray) -> int:
    """Largest l for which rows with these sensitive values can be grouped: at most 1/l of a group may have one value."""
    return len(values) // int(np.bincount(values).max())


def spread_groups(values: CodeArray, l: int) -> IndexArray:
    """Group of each row of an order, given its sensitive value: l or more rows with different values.

    Each group takes the first rows left, one of a value. It also takes each value with as many rows left as groups can
    be formed, or the last groups could not be filled. `l`: at most `eligible_l`.
    """
    waiting = [np.flatnonzero(values == value)[::-1].tolist() for value in np.unique(values)]
    group_of = [0] * len(values)
    heads = sorted((rows.pop(), rows) for rows in waiting)  # the first row of each value, and those after it
    remaining, number = len(values), 0
    while remaining:
        most = remaining // l
        if max(len(after) for _, after in heads) + 1 >= most:
            heads.sort(key=lambda head: len(head[1]) + 1 < most)  # what is due comes first, each in the order of rows
            size = max(l, sum(len(after) + 1 >= most for _, after in heads))
        else:
            size = l
        taken, heads = heads[:size], heads[size:]
        for row, after in taken:
            group_of[row] = number
            if after:
                heads.append((after.pop(), after))
        heads.sort()
        remaining -= size
        number += 1
    return np.array(group_of, dtype=np.intp)


def _joined(group_of: IndexArray, number: int) -> IndexArray:
    return np.minimum(group_of // number, max((int(group_of.max()) + 1) // number - 1, 0))


def _ordered_rows(table: Table) -> tuple[IndexArray, CodeArray]:
    if len(table.sensitive) != 1:
        raise InputError(f"the 1-D mapping needs one sensitive attribute, and the table has {len(table.sensitive)}")
    cells = _hilbert_order(table)
    return cells, table.base_counts.column(table.sensitive[0], 0)[cells]


def _hilbert_order(table: Table) -> IndexArray:
    # Values are spread over axes of the same length, so that all weigh alike.
    hierarchies = {attribute: table.domain.hierarchy(attribute) for attribute in table.quasi_identifiers}
    longest = max((hierarchy.size(0) for hierarchy in hierarchies.values()), default=1)
    side = 1 << (longest - 1).bit_length()
    points = np.zeros((len(table.base_counts), max(len(hierarchies), 1)), dtype=np.int64)
    for axis, (attribute, hierarchy) in enumerate(hierarchies.items()):
        ranks = np.argsort(np.lexsort([hierarchy.lift(0, level) for level in range(hierarchy.height + 1)]))
        points[:, axis] = (ranks * side // hierarchy.size(0))[table.base_counts.column(attribute, 0)]
    words = hilbert_words(points, max((side - 1).bit_length(), 1))
    order = np.lexsort(tuple(words.T[::-1]))  # equal points keep their order
    return np.repeat(order, table.base_counts.counts[order])


def _nearest(hierarchy: Hierarchy, codes: CodeArray, starts: IndexArray) -> IndexArray:
    taxonomy = Taxonomy(hierarchy)
    nearest = np.full(len(starts), taxonomy.root)
    for level in reversed(range(hierarchy.height)):
        nodes = taxonomy.at_level(level)[codes]
        lowest = np.minimum.reduceat(nodes, starts)
        nearest = np.where(lowest == np.maximum.reduceat(nodes, starts), lowest, nearest)
    return nearest


def hilbert_words(points: CodeArray, bits: int) -> NDArray[np.int64]:
    """Position of grid points on the Hilbert curve, as digits in base 2^axes: shape (n, bits).

    `points`: shape (n, axes), each coordinate in 0 .. 2^bits - 1, at most 62 axes (Skilling, AIP Conf. Proc. 707,
    2004).

    >>> corner_to_corner = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    >>> hilbert_words(corner_to_corner, 1).ravel().tolist()
    [0, 1, 2, 3]
    """
    axes = [column.astype(np.int64) for column in points.T]
    for bit in range(bits - 1, 0, -1):
        low = (1 << bit) - 1
        for axis in axes:
            inverted = (axis >> bit & 1).astype(bool)
            exchanged = np.where(inverted, 0, (axes[0] ^ axis) & low)
            axes[0] ^= np.where(inverted, low, exchanged)
            axis ^= exchanged
    for before, axis in zip(axes, axes[1:]):
        axis ^= before
    turned = np.zeros(len(points), dtype=np.int64)
    for bit in range(bits - 1, 0, -1):
        turned ^= np.where(axes[-1] >> bit & 1, (1 << bit) - 1, 0)
    words = np.zeros((len(points), bits), dtype=np.int64)
    for axis in axes:
        for place in range(bits):
            words[:, place] = words[:, place] << 1 | (axis ^ turned) >> (bits - 1 - place) & 1
    return words
