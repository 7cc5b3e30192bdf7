"""Count queries: how far answers from a generalized table are from the true ones (TZ11 section 5.3.3).

A query asks how many rows have, in some attributes, a value under a given node of the taxonomy: "age 20-29 and married".
A cell answers as if its rows were spread evenly over the base values that it covers.
"""

from dataclasses import dataclass

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.errors import DomainMismatchError
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.generalized_cells import GeneralizedCells
from models.tables.taxonomy import Taxonomy, taxonomy_nodes


@dataclass(frozen=True, eq=False)
class CountQueries:
    """Conjunctions of conditions. nodes: shape (queries, attributes); the node of `*` is no condition.

    Raises DomainMismatchError for nodes outside their taxonomies.
    """

    domain: Domain
    nodes: IndexArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", taxonomy_nodes(self.nodes, list(map(Taxonomy, self.domain.hierarchies))))

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.nodes)


def random_count_queries(
    table: ContingencyTable, conditions: int, number: int, rng: np.random.Generator
) -> CountQueries:
    """Queries about a base table with so many conditions each.

    Each picks attributes at random, and for each of them a level at random, below that of `*`, at which it asks for the
    value of one random row. So no query has the answer 0, of which no error is a share.
    Raises DomainMismatchError when the domain has fewer attributes than there are conditions, or the table no rows.
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
    return CountQueries(domain, nodes)


def answers(cells: GeneralizedCells, queries: CountQueries) -> FloatArray:
    """The expected count for each query: shape (queries,).

    Raises DomainMismatchError when cells and queries are about different domains.
    """
    if cells.domain != queries.domain:
        raise DomainMismatchError("the queries are about another domain than the cells")
    shares: list[dict[int, FloatArray]] = [
        {int(node): taxonomy.shares_under(int(node)) for node in np.unique(nodes)}
        for taxonomy, nodes in zip(cells.taxonomies, queries.nodes.T)
    ]
    columns = [np.ascontiguousarray(column) for column in cells.nodes.T]
    counted = np.empty(len(queries))
    for position, query in enumerate(queries.nodes.tolist()):
        expected: FloatArray = cells.counts.astype(np.float64)
        for taxonomy, shares_of, column, node in zip(cells.taxonomies, shares, columns, query):
            if node != taxonomy.root:
                expected *= shares_of[node][column]
        counted[position] = expected.sum()
    return counted


def average_relative_error(base: ContingencyTable, anonymized: GeneralizedCells, queries: CountQueries) -> float:
    """Mean over the queries of `|true answer - answer from the anonymized table| / true answer`.

    Queries whose true answer is 0 are left out; 0 when no other is left.
    """
    true = answers(GeneralizedCells.of(base), queries)
    estimated = answers(anonymized, queries)
    answered = true > 0
    return float(np.mean(np.abs(estimated - true)[answered] / true[answered])) if answered.any() else 0.0
