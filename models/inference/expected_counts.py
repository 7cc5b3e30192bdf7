"""Inference in the maximum-entropy distribution: expected counts of boxes and of whole margins, along the tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import CodeArray, FloatArray
from models.errors import DomainMismatchError
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.join import match, shared_keys
from models.tables.margin import Margin
from models.tables.mixed_radix import pack, tally


@dataclass(frozen=True, eq=False)
class ExpectedCells:
    """Expected counts over the cells of a margin that can be occupied.

    codes: for each attribute its codes at the margin's level, shape (cells,). expected: shape (cells,), rows.
    """

    margin: Margin
    codes: Mapping[str, CodeArray]
    expected: FloatArray


def expectation(q: MaximumEntropy, weights: Mapping[str, FloatArray]) -> float:
    """Expected sum over the rows of prod_B w_B(x_B), in rows; the expected count of a box for 0/1 weights.

    weights: for some attributes a weight for each base value, shape (size(0),); 1 for the other attributes.
    One pass over the clique tables, leaves to root. Raises DomainMismatchError for weights of another shape.
    """
    pending = {attribute: np.asarray(weight, dtype=np.float64) for attribute, weight in weights.items()}
    for attribute, weight in pending.items():
        if weight.shape != (q.domain.hierarchy(attribute).size(0),):
            raise DomainMismatchError(f"weights of {attribute!r} must have one entry for each base value")
    rows = float(q.cube.total)
    mean = 1.0
    mass = [table.counts.astype(np.float64) for table in q.clique_tables]
    for clique in reversed(range(len(mass))):
        table = q.clique_tables[clique]
        for attribute, codes in zip(table.attributes, table.codes):
            level = table.margin[attribute]
            if attribute in pending and q.collection.finest_level(attribute) == level:
                mass[clique] *= _leaf_means(q.domain, attribute, level, pending.pop(attribute))[codes]
        parent = q.tree.parents[clique]
        if parent < 0:
            mean *= float(mass[clique].sum()) / rows if rows else 0.0
            continue
        separator = q.separator_tables[clique]
        message = np.bincount(table.positions_in(separator), mass[clique], minlength=len(separator))
        mass[parent] *= (message / separator.counts)[q.clique_tables[parent].positions_in(separator)]
    for weight in pending.values():
        mean *= float(weight.mean())
    return rows * mean


def expected_marginal(q: MaximumEntropy, margin: Mapping[str, int]) -> ExpectedCells:
    """Expected counts over any margin, published or not: a sparse join along the tree that keeps only what is asked.

    Values below the finest published level share their parent's expected count equally. Cells of expected count 0 are
    left out.
    """
    wanted = q.domain.margin(q.domain.mask(margin))
    shown = {attribute: max(level, q.collection.finest_level(attribute)) for attribute, level in wanted.items()}
    upward: dict[int, ExpectedCells] = {}
    result = ExpectedCells(Margin({}), {}, np.array([float(q.cube.total)]))
    for clique in reversed(range(len(q.tree.cliques))):
        table, separator = q.clique_tables[clique], q.separator_tables[clique]
        cells = ExpectedCells(table.margin, dict(zip(table.attributes, table.codes)), table.counts.astype(np.float64))
        for child in q.tree.children[clique]:
            cells = _joined(q.domain, cells, upward.pop(child), q.separator_tables[child])
        cells = summed(q.domain, cells, _finest(cells.margin, (shown, separator.margin)))
        if q.tree.parents[clique] < 0:
            result = _joined(q.domain, result, cells, separator)
        else:
            upward[clique] = cells
    for attribute, level in wanted.items():
        result = _spread(q.domain, result, attribute, level)
    cells = summed(q.domain, result, wanted)
    possible = cells.expected > 0
    return ExpectedCells(cells.margin, {a: c[possible] for a, c in cells.codes.items()}, cells.expected[possible])


def _finest(held: Margin, wishes: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The margin that can still answer every wish as far as the held one can."""
    levels = {}
    for attribute, level in held.items():
        if wished := [wish[attribute] for wish in wishes if attribute in wish]:
            levels[attribute] = max(level, min(wished))
    return levels


def _leaf_means(domain: Domain, attribute: str, level: int, weight: FloatArray) -> FloatArray:
    hierarchy = domain.hierarchy(attribute)
    sums = np.bincount(hierarchy.lift(0, level), weight, minlength=hierarchy.size(level))
    return np.asarray(sums / hierarchy.leaf_counts(level), dtype=np.float64)


def _joined(
    domain: Domain,
    left: ExpectedCells,
    right: ExpectedCells,
    separator: ContingencyTable,
) -> ExpectedCells:
    """Cells of two parts that agree on the separator; expected counts multiplied, over the separator's count."""
    shared, levels = separator.attributes, separator.margin
    radices = [domain.hierarchy(a).size(levels[a]) for a in shared]
    sides = [
        [domain.hierarchy(a).lift(part.margin[a], levels[a])[part.codes[a]] for a in shared] for part in (left, right)
    ]
    keys = shared_keys(sides[0], sides[1], radices, (len(left.expected), len(right.expected)))
    first, second = match(*keys)
    expected = left.expected[first] * right.expected[second]
    if shared:
        expected /= separator.counts_of({a: column[first] for a, column in zip(shared, sides[0])})
    else:
        expected /= max(separator.total, 1)
    codes, margin = {}, {}
    for attribute in domain.attributes:
        held = [(p.margin[attribute], p, rows) for p, rows in ((left, first), (right, second)) if attribute in p.margin]
        if held:
            level, part, rows = min(held, key=lambda option: option[0])
            codes[attribute], margin[attribute] = part.codes[attribute][rows], level
    return ExpectedCells(Margin(margin), codes, expected)


def summed(domain: Domain, cells: ExpectedCells, margin: Mapping[str, int]) -> ExpectedCells:
    """Cells of a coarser margin, in ascending order."""
    kept = [a for a in domain.attributes if a in margin]
    columns = [domain.hierarchy(a).lift(cells.margin[a], margin[a])[cells.codes[a]] for a in kept]
    radices = [domain.hierarchy(a).size(margin[a]) for a in kept]
    keys, space = pack(columns, radices, len(cells.expected))
    rows, _ = tally(keys, space, np.ones(len(keys), dtype=np.int64))
    sums = np.bincount(np.searchsorted(keys[rows], keys), cells.expected, minlength=len(rows))
    return ExpectedCells(
        Margin({a: margin[a] for a in kept}), {a: c[rows] for a, c in zip(kept, columns)}, sums.astype(np.float64)
    )


def _spread(domain: Domain, cells: ExpectedCells, attribute: str, level: int) -> ExpectedCells:
    """Cells refined to a level below what they show: each child gets the share of its base values."""
    hierarchy = domain.hierarchy(attribute)
    own = cells.margin.get(attribute, hierarchy.height)
    if own <= level:
        return cells
    codes = cells.codes.get(attribute, np.zeros(len(cells.expected), dtype=np.int64))
    parents = hierarchy.lift(level, own)
    cell, child = match(codes, parents)
    share = hierarchy.leaf_counts(level)[child] / hierarchy.leaf_counts(own)[parents[child]]
    refined = {a: column[cell] for a, column in cells.codes.items()} | {attribute: child}
    return ExpectedCells(
        Margin({**cells.margin, attribute: level}), refined, np.asarray(cells.expected[cell] * share, dtype=np.float64)
    )
