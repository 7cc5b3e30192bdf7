"""Random counts: how many rows lie where two or three attributes have values like those of rows drawn at random.

They are the questions by which releases of one table are compared: which they are depends on the table alone, not on the
levels that its attributes are generalized to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, prod

import numpy as np

from models.accuracy.independent_model import TableModel
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.errors import DomainMismatchError, TooManyCellsError
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Hierarchy

_CELLS = 1 << 21
"""Cells of a model's table that are laid out."""


@dataclass(frozen=True, eq=False)
class RandomCounts:
    """Numbers of rows that have, in each of some attributes, one of the base values that are meant.

    inside: for each attribute which base values each count means, shape (counts, base values). true: rows that have them,
    shape (counts,), each at least 1.
    """

    inside: Mapping[str, BoolArray]
    true: CountArray

    def __len__(self) -> int:
        """Number of counts."""
        return len(self.true)

    def relative_errors(self, model: TableModel) -> FloatArray:
        """Of each count, `|expected - true| / true`, where the model spreads rows evenly over the base values of a group.

        Raises TooManyCellsError where the model's table of the attributes is too large to be laid out, and NotFittedError
        where it has none.
        """
        levels = {attribute: model.finest_levels[attribute] for attribute in self.inside}
        if prod(model.domain.hierarchy(a).size(level) for a, level in levels.items()) > _CELLS:
            raise TooManyCellsError(f"the table of {', '.join(levels)} has more than {_CELLS} cells")
        expected = model.expected(levels)[None]
        for attribute, level in levels.items():
            share = _shares_of_groups(model.domain.hierarchy(attribute), level, self.inside[attribute])
            expected = np.matmul(share[:, None, :], expected.reshape(len(expected), share.shape[1], -1))[:, 0]
        return np.asarray(np.abs(expected.reshape(-1) - self.true) / self.true)


def random_counts(
    table: ContingencyTable, number: int, places: Mapping[str, IndexArray], rng: np.random.Generator
) -> RandomCounts:
    """So many counts of a table at base values, which has rows.

    Each draws two rows, a row as likely as any other. places: for attributes whose values stand in an order the place of
    each, shape (base values,); of these all values from that of the one row to that of the other are meant, of others the
    value of the first row. So no true count is 0, of which no error is a share. Raises DomainMismatchError for a table that
    is coarser, or without rows.
    """
    if not len(table) or any(table.margin.values()):
        raise DomainMismatchError("counts are drawn from a table at base values that has rows")
    cells = _by_labels(table)
    first, second = cells[rng.choice(len(table), (2, number), p=table.counts[cells] / table.total)]
    inside = {}
    matches = np.ones((number, len(table)), dtype=np.bool_)
    for attribute, codes in zip(table.attributes, table.codes):
        place = places.get(attribute)
        if place is None:
            meant = np.arange(table.domain.hierarchy(attribute).size(0)) == codes[first][:, None]
        else:
            ends = np.sort([place[codes[first]], place[codes[second]]], axis=0)
            meant = (place >= ends[0][:, None]) & (place <= ends[1][:, None])
        inside[attribute] = meant
        matches &= meant[:, codes]
    return RandomCounts(inside, matches @ table.counts)


def random_tables(attributes: Sequence[str], most: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """Different pairs and triples of attributes, at most so many of each, all of them where there are no more."""
    chosen: list[tuple[str, ...]] = []
    for size in (2, 3):
        number = min(most, comb(len(attributes), size))
        sets: set[tuple[int, ...]] = set()
        while len(sets) < number:
            sets.add(tuple(sorted(rng.choice(len(attributes), size, replace=False).tolist())))
        chosen += [tuple(attributes[place] for place in places) for places in sorted(sets)]
    return chosen


def _by_labels(table: ContingencyTable) -> IndexArray:
    """The cells in the order of their labels, which is the same however the values are numbered."""
    columns = []
    for attribute, codes in zip(table.attributes, table.codes):
        labels = table.domain.hierarchy(attribute).labels[0]
        rank = np.empty(len(labels), dtype=np.intp)
        rank[sorted(range(len(labels)), key=labels.__getitem__)] = np.arange(len(labels))
        columns.append(rank[codes])
    return np.asarray(np.lexsort(columns[::-1]), dtype=np.intp)


def _shares_of_groups(hierarchy: Hierarchy, level: int, inside: BoolArray) -> FloatArray:
    """Of each group of a level, the share of its base values that each count means: shape (counts, groups)."""
    above = hierarchy.lift(0, level)
    order = np.argsort(above, kind="stable")
    # Of counts, not of shares: adding them up is fastest where the values of a group lie side by side.
    ordered = inside if np.array_equal(order, np.arange(len(order))) else inside[:, order]
    first = np.searchsorted(above[order], np.arange(hierarchy.size(level)))
    found = np.add.reduceat(ordered, first, axis=1, dtype=np.int32)
    return np.asarray(found / hierarchy.leaf_counts(level))
