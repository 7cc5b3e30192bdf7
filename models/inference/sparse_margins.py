"""Sparse margins of a maximum-entropy distribution: only the cells that can be occupied, joined along the tree.

For margins with too many cells to be laid out; `models.inference.tree_margins` lays out the others.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from models.inference.expected_cells import ExpectedCells
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.coded_cells import CodedCells
from models.tables.contingency_table import ContingencyTable
from models.tables.join import match
from models.tables.margin import Margin


def expected_marginal(q: MaximumEntropy, margin: Mapping[str, int]) -> ExpectedCells:
    """Expected counts over any margin, published or not, without the cells of expected count 0.

    Values below the finest published level share their parent's expected count equally. Raises DomainMismatchError for an
    unknown attribute or level.
    """
    domain = q.domain
    target = domain.margin(domain.mask(margin))
    published = {a: max(level, q.collection.finest_level(a)) for a, level in target.items()}
    upward: dict[int, ExpectedCells] = {}
    result = ExpectedCells(CodedCells(domain, Margin({}), {}, 1), np.array([float(q.cube.total)]))
    for clique in reversed(range(len(q.tree.cliques))):
        separator = q.separator_tables[clique]
        cells = ExpectedCells.of(q.clique_tables[clique])
        for child in q.tree.children[clique]:
            cells = _joined(cells, upward.pop(child), q.separator_tables[child])
        cells = cells.summed(_finest(cells.margin, (published, separator.margin)))
        if q.tree.parents[clique] < 0:
            result = _joined(result, cells, separator)
        else:
            upward[clique] = cells
    for attribute, level in target.items():
        result = result.refined(attribute, level)
    cells = result.summed(target)
    return cells[cells.expected > 0]


def _finest(margin: Mapping[str, int], needed: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The coarsest margin below a given one from which all that is needed can be summed, as far as from the given one."""
    levels = {}
    for attribute, level in margin.items():
        if others := [other[attribute] for other in needed if attribute in other]:
            levels[attribute] = max(level, min(others))
    return levels


def _joined(left: ExpectedCells, right: ExpectedCells, separator: ContingencyTable) -> ExpectedCells:
    """Cells of two parts that agree on the separator; expected counts multiplied, over the separator's count."""
    domain = left.domain
    left_rows, right_rows = match(*left.cells.keys_with(right.cells))
    expected = left.expected[left_rows] * right.expected[right_rows]
    kept = left[left_rows].cells
    expected /= separator.counts_in(kept) if separator.attributes else max(separator.total, 1)
    codes, margin = {}, {}
    for attribute in domain.attributes:
        sides = [
            (s.margin[attribute], s, rows)
            for s, rows in ((left, left_rows), (right, right_rows))
            if attribute in s.margin
        ]
        if sides:
            level, side, rows = min(sides, key=lambda option: option[0])
            codes[attribute], margin[attribute] = side.codes[attribute][rows], level
    return ExpectedCells(CodedCells(domain, Margin(margin), codes, len(expected)), expected)
