"""Accuracy of a model: total variation between tables, and errors of random counts."""

from functools import cache

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.errors import DomainMismatchError
from models.inference.calibrated_tree import leaf_shares
from models.inference.marginal_model import MarginalModel
from models.tables.contingency_table import ContingencyTable
from models.tables.generalized_cells import GeneralizedCells, Taxonomy, taxonomy_nodes

# Count queries: how far answers from a generalized table are from the true ones (TZ11 section 5.3.3).
#
# A query asks how many rows have, in some attributes, a value under a given node of the taxonomy: "age 20-29 and
# married". A cell answers as if its rows were spread evenly over the base values that it covers.


def random_count_queries(
    table: ContingencyTable, conditions: int, number: int, rng: "np.random.Generator"
) -> IndexArray:
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
