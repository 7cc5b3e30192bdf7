"""Accuracy of a model: total variation between tables, and errors of random counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, prod

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.errors import DomainMismatchError, TooManyCellsError
from models.inference.calibrated_tree import leaf_shares
from models.inference.marginal_model import MarginalModel
from models.tables.contingency_table import ContingencyTable
from models.tables.generalized_cells import GeneralizedCells, Taxonomy, taxonomy_nodes

# Count queries: how far answers from a generalized table are from the true ones (TZ11 section 5.3.3).
#
# A query asks how many rows have, in some attributes, a value under a given node of the taxonomy: "age 20-29 and
# married". A cell answers as if its rows were spread evenly over the base values that it covers.


def random_count_queries(table: ContingencyTable, conditions: int, number: int, rng: np.random.Generator) -> IndexArray:
    """Draw count queries about a base table, whose true answers are all above 0.

    Attributes and levels below `*` are drawn at random. The values are those of one random row.

    Parameters
    ----------
    table
        Counts at base values, with at least one row.
    conditions
        Attributes that each query restricts.
    number
        Queries to draw.
    rng
        Source of randomness.

    Returns
    -------
    IndexArray
        Nodes of the taxonomies, shape (queries, attributes); `*` stands for no condition.

    Raises
    ------
    DomainMismatchError
        If the domain has fewer attributes than `conditions`, or if the table has no rows or is coarser.
    """
    domain = table.domain
    if not 1 <= conditions <= len(domain.attributes):
        raise DomainMismatchError(f"a query has 1 to {len(domain.attributes)} conditions, not {conditions}")
    if not len(table) or table.attributes != domain.attributes or any(table.margin.values()):
        raise DomainMismatchError("queries are drawn from a base table that has rows")
    rows = rng.choice(len(table), number, p=table.counts / table.total)
    is_condition = rng.random((number, len(domain.attributes))).argsort(axis=1) < conditions
    nodes = np.empty((number, len(domain.attributes)), dtype=np.intp)
    for axis, (hierarchy, codes) in enumerate(zip(domain.hierarchies, table.codes)):
        taxonomy = Taxonomy(hierarchy)
        at_levels = np.stack([taxonomy.at_level(level) for level in range(hierarchy.height)])
        chosen = at_levels[rng.integers(hierarchy.height, size=number), codes[rows]]
        nodes[:, axis] = np.where(is_condition[:, axis], chosen, taxonomy.root)
    return nodes


def answers(cells: GeneralizedCells, queries: IndexArray) -> FloatArray:
    """Return the expected count of each query, shape (queries,).

    Parameters
    ----------
    cells
        Generalized cells; each spreads its rows evenly over the base values that it covers.
    queries
        Nodes, shape (queries, attributes), as `random_count_queries` draws them.

    Raises
    ------
    DomainMismatchError
        If a node lies outside the taxonomies of the cells.
    """
    queries = taxonomy_nodes(queries, cells.taxonomies)
    counted = np.empty(len(queries))
    shares_under = [cache(taxonomy.shares_under) for taxonomy in cells.taxonomies]
    columns = [np.ascontiguousarray(column) for column in cells.nodes.T]
    for position, query in enumerate(queries.tolist()):
        expected: FloatArray = cells.counts.astype(np.float64)
        for taxonomy, shares, column, node in zip(cells.taxonomies, shares_under, columns, query):
            if node != taxonomy.root:
                expected *= shares(node)[column]
        counted[position] = expected.sum()
    return counted


def average_relative_error(base: ContingencyTable, anonymized: GeneralizedCells, queries: IndexArray) -> float:
    """Return the mean relative error of count queries, `|true - estimated| / true` (TZ11 section 5.3.3).

    Parameters
    ----------
    base
        The original table at base values.
    anonymized
        The generalized table that gives the estimates.
    queries
        Nodes, shape (queries, attributes). Queries with the true answer 0 are left out.

    Returns
    -------
    float
        The mean over the queries that count; 0 if there are none.
    """
    true = answers(GeneralizedCells.of(base), queries)
    estimated = answers(anonymized, queries)
    answered = true > 0
    return float(np.mean(np.abs(estimated - true)[answered] / true[answered])) if answered.any() else 0.0


# Random counts: how many rows lie where two or three attributes have values like those of rows drawn at random.
#
# They are the questions by which releases of one table are compared: which they are depends on the table alone, not on
# the levels that its attributes are generalized to.


_CELLS = 1 << 21
"""Largest number of cells of a model's table that is laid out."""


@dataclass(frozen=True, eq=False)
class RandomCounts:
    """Counts of rows that have, in each of some attributes, one of some base values.

    inside: by attribute whether a count is about a base value, shape (counts, base values). true: the counts, above 0.
    """

    inside: Mapping[str, BoolArray]
    true: CountArray

    def relative_errors(self, model: MarginalModel) -> FloatArray:
        """Return `|expected - true| / true` of each count.

        The model spreads rows evenly over the base values of a group. Raises TooManyCellsError if its table is too
        large to be laid out, NotFittedError if it has none.
        """
        levels = {attribute: model.finest_levels[attribute] for attribute in self.inside}
        if prod(model.domain.hierarchy(a).size(level) for a, level in levels.items()) > _CELLS:
            raise TooManyCellsError(f"the table of {', '.join(levels)} has more than {_CELLS} cells")
        expected = model.expected(levels)[None]
        for attribute, level in levels.items():
            hierarchy, inside = model.domain.hierarchy(attribute), self.inside[attribute]
            above = hierarchy.lift(0, level)
            order = np.argsort(above, kind="stable")
            # Counts are added up fastest where the values of a group lie side by side.
            first = np.searchsorted(above[order], np.arange(hierarchy.size(level)))
            ordered = inside if np.array_equal(order, np.arange(len(order))) else inside[:, order]
            share = np.add.reduceat(ordered, first, axis=1, dtype=np.int32) / hierarchy.leaf_counts(level)
            expected = np.matmul(share[:, None, :], expected.reshape(len(expected), share.shape[1], -1))[:, 0]
        return np.asarray(np.abs(expected.reshape(-1) - self.true) / self.true)


def random_counts(
    table: ContingencyTable, number: int, places: Mapping[str, IndexArray], rng: np.random.Generator
) -> RandomCounts:
    """Draw random counts of a table at base values; none of the true counts is 0.

    Each count draws two rows. For an attribute with an order it covers all values from the first row's to the
    second's. For other attributes it covers the value of the first row. places: by attribute with an order, the place
    of each value, shape (base values,). Raises DomainMismatchError if the table is coarser or has no rows.
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
            inside[attribute] = np.arange(table.domain.hierarchy(attribute).size(0)) == codes[first][:, None]
        else:
            ends = np.sort([place[codes[first]], place[codes[second]]], axis=0)
            inside[attribute] = (place >= ends[0][:, None]) & (place <= ends[1][:, None])
        matches &= inside[attribute][:, codes]
    return RandomCounts(inside, matches @ table.counts)


def random_tables(attributes: Sequence[str], most: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
    """Draw different pairs and triples of attributes, at most `most` of each kind."""
    chosen: list[tuple[str, ...]] = []
    for size in (2, 3):
        number = min(most, comb(len(attributes), size))
        sets: set[tuple[int, ...]] = set()
        while len(sets) < number:
            sets.add(tuple(sorted(rng.choice(len(attributes), size, replace=False).tolist())))
        chosen += [tuple(attributes[place] for place in places) for places in sorted(sets)]
    return chosen


def _by_labels(table: ContingencyTable) -> IndexArray:
    """Order the cells by their labels, so that the order does not depend on how values are numbered."""
    labels = (np.array(table.domain.hierarchy(attribute).labels[0], dtype=object) for attribute in table.attributes)
    ranks = (np.unique(of_attribute, return_inverse=True)[1] for of_attribute in labels)
    return np.asarray(np.lexsort([rank[codes] for rank, codes in zip(ranks, table.codes)][::-1]), dtype=np.intp)


def total_variation(data: ContingencyTable, model: MarginalModel) -> float:
    """Return the total variation between data and a model: the largest error in the share of any set of cells.

    It is half the sum of abs(p - q) over all cells. Only cells with rows are visited, because p and q both sum to 1.

    Parameters
    ----------
    data
        Counts; they may be finer than what the model was made from. Their shares are p.
    model
        Its shares are q. Values below a published one are equally likely.

    Returns
    -------
    float
        From 0 to 1; 0 if the data have no rows.

    Raises
    ------
    TooManyCellsError
        If the model's table is too large to be laid out.
    NotFittedError
        If the model has no table.
    """
    if not data.total:
        return 0.0
    coarse = {a: max(data.margin[a], model.finest_levels[a]) for a in data.attributes}
    q = model.expected_of(coarse, data.columns(coarse)[0]) / model.total
    for (attribute, level), codes in zip(coarse.items(), data.codes):
        q = q * leaf_shares(data.domain, attribute, data.margin[attribute], level)[codes]
    return float(np.maximum(data.counts / data.total - q, 0.0).sum())
