"""Model selection: the decomposable graphical model of a table that an information criterion prefers.

The same search as for a release, with no privacy constraint and every attribute at its base values or absent.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import networkx as nx

from models.errors import SelectionError
from models.graphs.collection import Collection
from models.inference.maximum_entropy import MaximumEntropy
from models.search.constraint import MarginLimits
from models.search.greedy import stepwise
from models.search.objective import KL, LikelihoodRatio, Objective, aic, bic
from models.search.problem import Problem, Stop
from models.search.result import SearchResult, Strategy
from models.search.strategies import STRATEGIES
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy

CRITERIA: Mapping[str, Callable[[int], Objective]] = {
    "bic": bic,
    "aic": aic,
    "likelihood-ratio": LikelihoodRatio,
    "kl": lambda rows: KL,  # noqa: ARG005
}
"""Objectives by name, for a number of rows. With "kl" more is always better: only a limit on the margins ends it."""

_STRATEGIES: Mapping[str, Strategy] = {"stepwise": stepwise, **STRATEGIES}


@dataclass(frozen=True, eq=False)
class Selection:
    """A selected model and how it was found.

    >>> import numpy as np
    >>> domain = Domain.of({name: Hierarchy.flat("yn") for name in "ab"})
    >>> cells = dict(zip("ab", np.indices((2, 2)).reshape(2, -1)))
    >>> selected = select(ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, cells, [9, 1, 1, 9]))
    >>> selected.cliques, selected.degrees_of_freedom, sorted(selected.graph.edges)
    ((('a', 'b'),), 0, [('a', 'b')])
    """

    model: MaximumEntropy
    search: SearchResult

    def __repr__(self) -> str:
        cliques = "; ".join(" ".join(clique) for clique in self.cliques)
        return f"Selection({cliques}; deviance {self.deviance:.6g} on {self.degrees_of_freedom} degrees of freedom)"

    @cached_property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The attributes of each maximal clique, in the table's order."""
        order = self.model.domain.attributes
        return tuple(sorted(tuple(sorted(margin, key=order.index)) for margin in self.model.tree.margins))

    @property
    def deviance(self) -> float:
        """Twice the log-likelihood ratio against the saturated model."""
        return self.model.deviance

    @property
    def degrees_of_freedom(self) -> int:
        """Residual degrees of freedom; empty cells count as parameters."""
        return self.model.degrees_of_freedom

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return self.model.aic

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return self.model.bic

    @property
    def graph(self) -> "nx.Graph[str]":
        """The graph of the model on the attributes: not adjacent means independent given the others."""
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.model.domain.attributes)
        for clique in self.cliques:
            graph.add_edges_from(combinations(clique, 2))
        return graph


def _never() -> bool:
    return False


def select(
    table: ContingencyTable,
    criterion: str | Objective = "bic",
    strategy: str | Strategy = stepwise,
    max_attributes: int | None = None,
    stop: Stop = _never,
    seed: int = 0,
) -> Selection:
    """The decomposable model of a table's attributes that a search from the independence model arrives at.

    Every attribute stays in the model, at least by itself.

    criterion: "bic", "aic", "likelihood-ratio" (at 5 percent) or "kl", or an objective, such as
    `LikelihoodRatio(rows, alpha)`. strategy: "stepwise", or one of those of a policy ("greedy", "greedy-backward",
    "greedy-both", "anneal", "genetic", "exact"), or a function of that shape. max_attributes: of a clique. Raises
    SelectionError for an unknown criterion or strategy, or a limit below 1.

    >>> import numpy as np
    >>> domain = Domain.of({name: Hierarchy.flat("yn") for name in "abc"})
    >>> cells = dict(zip("abc", np.indices((2, 2, 2)).reshape(3, -1)))
    >>> table = ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), cells, np.array([9, 9, 1, 1, 1, 1, 9, 9]))
    >>> select(table).cliques
    (('a', 'b'), ('c',))
    """
    if isinstance(criterion, str):
        if criterion not in CRITERIA:
            raise SelectionError(f"there is no criterion {criterion!r}; there is {', '.join(CRITERIA)}")
        criterion = CRITERIA[criterion](table.total)
    if isinstance(strategy, str):
        if strategy not in _STRATEGIES:
            raise SelectionError(f"there is no search strategy {strategy!r}; there is {', '.join(_STRATEGIES)}")
        strategy = _STRATEGIES[strategy]
    if max_attributes is not None and max_attributes < 1:
        raise SelectionError(
            f"max_attributes must be at least 1, since every attribute is in the model; got {max_attributes}"
        )
    cube = DataCube([_at_one_level(table)])
    cube.learn_pairs()
    domain = cube.domain
    apart = tuple(own for own in domain.attribute_masks if own)
    constraint = MarginLimits(domain, max_attributes=max_attributes)
    result = strategy(Problem(cube, constraint, criterion, kept=apart, seed=seed), stop)
    return Selection(MaximumEntropy(Collection.of(cube, result.cliques)), result)


def _at_one_level(table: ContingencyTable) -> ContingencyTable:
    """The same counts over a domain whose values are not generalized."""
    kept = {attribute: table.domain.hierarchy(attribute) for attribute in table.attributes}
    flat = {a: Hierarchy.flat(hierarchy.labels[table.margin[a]]) for a, hierarchy in kept.items()}
    codes = dict(zip(table.attributes, table.codes))
    return ContingencyTable.from_cells(Domain.of(flat), dict.fromkeys(flat, 0), codes, table.counts)
