"""Model selection: the decomposable graphical model of a table that an information criterion prefers.

The search is that for a release, without a privacy constraint and with every attribute at its base values.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property, partial, reduce
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING

from models.deadline import NEVER, Deadline
from models.errors import NotDecomposableError, NothingAllowedError, SelectionError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, JunctionTree, maximal_masks
from models.inference.log_linear import adjusted_degrees_of_freedom, estimable_parameters
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.search.doors import GivenObjective, GivenStrategy, named, objective_of, strategy_of
from models.search.exact import exact
from models.search.greedy import backward, forward, stepwise
from models.search.local_search import local
from models.search.lower_bound import LARGEST_LATTICE, lattice_size, with_bound
from models.search.problem import (
    LEAST_GAIN,
    CliqueScore,
    Constraint,
    LikelihoodRatio,
    MarginLimits,
    PenalizedDivergence,
    Problem,
    RefusedMove,
    SearchResult,
    Stop,
    Strategy,
    Unconstrained,
    bic,
)
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube, Parameters, nominal, occupied
from models.tables.hierarchy import Domain, Hierarchy, Mask

if TYPE_CHECKING:
    import networkx as nx


PARAMETERS: Mapping[str, Parameters] = {"nominal": nominal, "adjusted": occupied}
"""Counts of parameters by name: every cell, or the cells that have rows."""


@frozen(eq=False)
class SelectedModel:
    """Model of a table's attributes, with the search that found it.

    collection: decomposable, of a cube that counts every cell. search, problem: the result and the problem of the
    search.

    >>> import numpy as np
    >>> domain = Domain.of({name: Hierarchy.flat("yn") for name in "ab"})
    >>> cells = dict(zip("ab", np.indices((2, 2)).reshape(2, -1)))
    >>> selected = select(ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, cells, [9, 1, 1, 9]))
    >>> selected.cliques, selected.degrees_of_freedom, sorted(selected.graph.edges), selected.gap
    ((('a', 'b'),), 0, [('a', 'b')], 0.0)
    """

    collection: Collection
    search: SearchResult
    problem: Problem

    def __repr__(self) -> str:
        cliques = "; ".join(" ".join(clique) for clique in self.cliques)
        return f"{cliques}; deviance {self.deviance:.6g} on {self.degrees_of_freedom} degrees of freedom"

    @property
    def tree(self) -> JunctionTree:
        """The junction tree of the cliques."""
        return self.collection.junction_tree

    @cached_property
    def model(self) -> MarginalModel:
        """Distribution: expected counts of any margin, bounds, samples; as `Release.model`."""
        return MarginalModel(self.collection)

    @cached_property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """Attributes of each maximal clique, in the table's order."""
        order = self.collection.domain.attributes
        return tuple(sorted(tuple(sorted(margin, key=order.index)) for margin in self.tree.margins))

    @property
    def deviance(self) -> float:
        """Twice the log-likelihood ratio against the saturated model."""
        return self.model.closed_form.deviance

    @property
    def parameters(self) -> int:
        """Free parameters; empty cells count."""
        return self.model.closed_form.parameter_count

    @property
    def degrees_of_freedom(self) -> int:
        """Residual degrees of freedom; empty cells count."""
        return self.model.closed_form.degrees_of_freedom

    @cached_property
    def adjusted_parameters(self) -> int:
        """Free parameters that the rows can estimate."""
        return estimable_parameters(self.collection.cube, self.tree)

    @cached_property
    def adjusted_degrees_of_freedom(self) -> int:
        """Residual degrees of freedom, counting cells that the model can fill and parameters that can be estimated."""
        return adjusted_degrees_of_freedom(self.collection.cube, self.tree)

    @property
    def p_value(self) -> float:
        """Chi-squared p-value of the deviance against the saturated model; 1 for the saturated model itself."""
        return p_value(self.deviance, self.degrees_of_freedom)

    @property
    def adjusted_p_value(self) -> float:
        """Chi-squared p-value with the adjusted degrees of freedom."""
        return p_value(self.deviance, self.adjusted_degrees_of_freedom)

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the rows, in nats."""
        return self.model.closed_form.log_likelihood

    @property
    def aic(self) -> float:
        """Akaike's criterion: 2 parameters - 2 log-likelihood."""
        return self.model.closed_form.aic

    @property
    def bic(self) -> float:
        """Schwarz's criterion: ln(rows) parameters - 2 log-likelihood."""
        return self.model.closed_form.bic

    @property
    def gap(self) -> float | None:
        """Largest possible improvement by another model, on the scale of the criterion: 2 N times that in nats.

        0 if it is proven that no model is better. None if nothing is known; a test of significance has no best model.
        """
        gap = self.search.gap
        return None if gap is None else 2 * self.model.total * gap

    @cached_property
    def refused_moves(self) -> tuple[RefusedMove, ...]:
        """Binding refusals at the model: moves that would gain and are refused, largest gain first."""
        return self.problem.binding(self.collection.masks, lambda: False) or ()

    @property
    def graph(self) -> "nx.Graph[str]":
        """Graph of the model on the attributes; attributes that are not adjacent are independent given the others."""
        import networkx as nx

        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.collection.domain.attributes)
        for clique in self.cliques:
            graph.add_edges_from(combinations(clique, 2))
        return graph


def p_value(deviance: float, degrees_of_freedom: int) -> float:
    """Return the probability that chi-squared is at least the deviance; 1 without degrees of freedom.

    >>> round(p_value(3.841459, 1), 4)
    0.05
    """
    from scipy.special import chdtrc  # slow to import, and few need it

    return float(chdtrc(degrees_of_freedom, deviance)) if degrees_of_freedom > 0 else 1.0


@frozen
class Limits:
    """Requirements on a selected model.

    required: groups of attributes that stay adjacent to each other, together a decomposable collection. forbidden:
    groups of attributes that no clique may hold together. max_attributes: most attributes of a clique. constraint:
    further constraint on the collection. Raises SelectionError if the limits are malformed or contradict each other.
    """

    required: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[tuple[str, ...], ...] = ()
    max_attributes: int | None = None
    constraint: Constraint = field(default_factory=Unconstrained)

    def __post_init__(self) -> None:
        most = self.max_attributes
        is_whole = isinstance(most, Integral) and not isinstance(most, bool)
        if most is not None and (not is_whole or most < 1):
            raise SelectionError(
                f"max_attributes must be a whole number of at least 1, since every attribute is in the model; got {most!r}"
            )
        for forbidden in self.forbidden:
            if len(set(forbidden)) < 2:
                raise SelectionError("forbidden lists attributes that no clique may hold together, two or more each")
            for required in self.required:
                if set(forbidden) <= set(required):
                    raise SelectionError(f"{' and '.join(forbidden)} are both required together and forbidden")

    def of(self, domain: Domain) -> MarginLimits:
        """Return the limits as a constraint on collections."""
        withheld = tuple(_mask(domain, names) for names in self.forbidden)
        return MarginLimits(domain, max_attributes=self.max_attributes, withheld=withheld, then=self.constraint)

    def required_margins(self, domain: Domain) -> tuple[Mask, ...]:
        """Return the margins that every collection shows. Raises SelectionError if they have a cycle without a chord."""
        required = tuple(maximal_masks([*domain.attribute_masks, *(_mask(domain, names) for names in self.required)]))
        try:
            _ = JunctionTree.of(domain, required)
        except NotDecomposableError:
            raise SelectionError(
                "what is required has a cycle without a chord, which no decomposable model has; require a chord too"
            ) from None
        return required


def _mask(domain: Domain, names: Iterable[str]) -> Mask:
    return domain.mask(dict.fromkeys(names, 0))


NO_LIMITS = Limits()


def select(
    table: ContingencyTable,
    criterion: GivenObjective = "bic",
    strategy: GivenStrategy = "auto",
    limits: Limits = NO_LIMITS,
    parameters: str = "nominal",
    deadline: Deadline = NEVER,
    seed: int = 0,
) -> SelectedModel:
    """Select a decomposable model of a table's attributes, by a search from the independence model.

    Every attribute stays in the model, at least by itself.

    Parameters
    ----------
    table
        Counts; values are not generalized.
    criterion
        What `objective_of` takes: "bic", "bdeu", `LikelihoodRatio(rows, alpha)` or a function of a clique's counts.
    strategy
        What `strategy_of` takes: "auto", one of `STRATEGIES`, or a function.
    limits
        Requirements on the model.
    parameters
        Parameters that the criterion counts: "nominal", or "adjusted" for those that the rows can estimate.
    deadline
        Time at which the search ends with the best model so far.
    seed
        Seed of strategies that draw at random.

    Raises
    ------
    SelectionError
        For an unknown name, contradicting limits, or parameters that the criterion does not count.
    ExtensionError
        If the criterion or the strategy does not have the expected form.

    >>> import numpy as np
    >>> domain = Domain.of({name: Hierarchy.flat("yn") for name in "abc"})
    >>> cells = dict(zip("abc", np.indices((2, 2, 2)).reshape(3, -1)))
    >>> table = ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), cells, np.array([9, 9, 1, 1, 1, 1, 9, 9]))
    >>> select(table).cliques
    (('a', 'b'), ('c',))
    """
    objective = objective_of(criterion, table.total)
    search = strategy_of(strategy, STRATEGIES)
    flat = at_one_level(table)
    cube = DataCube([flat], parameters=named(parameters, PARAMETERS, "count of parameters"))
    if isinstance(objective, LikelihoodRatio) and parameters != "nominal":
        raise SelectionError(
            "a search by likelihood-ratio tests counts nominal degrees of freedom; for adjusted parameters take bic or aic"
        )
    if isinstance(objective, CliqueScore) and parameters != "nominal":
        raise SelectionError("a score of cliques counts no parameters; adjusted ones are for bic and aic")
    domain = cube.domain
    problem = Problem(cube, limits.of(domain), objective, required=limits.required_margins(domain), seed=seed)
    result = search(problem, deadline)
    if strategy == "auto":
        result = _with_proof(result, problem, deadline)
    return SelectedModel(Collection.of(DataCube([flat]), result.cliques), result, problem)


_FOR_THE_BOUND = 0.5
"""Most seconds for the bound of a large lattice, which is seldom near the value."""


def _with_proof(result: SearchResult, problem: Problem, deadline: Deadline) -> SearchResult:
    if lattice_size(problem) > LARGEST_LATTICE:
        deadline = deadline.earlier(_FOR_THE_BOUND)
    elif result.value is not None and not result.optimal:
        result = replace(exact(problem, deadline.share(2), result), strategy="auto")
    return with_bound(result, problem, deadline)


def at_one_level(table: ContingencyTable) -> ContingencyTable:
    """Return the counts over a domain whose values are not generalized."""
    hierarchies = {attribute: table.domain.hierarchy(attribute) for attribute in table.attributes}
    flat = {a: Hierarchy.flat(hierarchy.labels[table.margin[a]]) for a, hierarchy in hierarchies.items()}
    codes = dict(zip(table.attributes, table.codes))
    return ContingencyTable.from_cells(Domain.of(flat), dict.fromkeys(flat, 0), codes, table.counts)


def fitted(table: ContingencyTable, cliques: Iterable[Iterable[str]]) -> SelectedModel:
    """Return the model with given cliques; attributes in no clique stand by themselves.

    Raises NotDecomposableError if it is not decomposable, DomainMismatchError for an unknown attribute.
    """
    flat = at_one_level(table)
    domain = flat.domain
    masks = tuple(maximal_masks([*domain.attribute_masks, *(_mask(domain, names) for names in cliques)]))
    collection = Collection.of(DataCube([flat]), masks)
    _ = collection.junction_tree
    problem = Problem(collection.cube, objective=bic(table.total), required=domain.attribute_masks)
    divergence = problem.position(masks).divergence
    return SelectedModel(collection, SearchResult("given", collection.masks, divergence, 0, False, ()), problem)


# The default search: local search, and a proof where the lattice is small.


_WORK = 800_000
"""Extensions of collections that exact search may examine after local search."""


def auto(problem: Problem, stop: Stop) -> SearchResult:
    """Return the best collection that local search finds; the same for the same problem unless stopped.

    In a small lattice exact search continues from it for a while, and the result is `optimal` if that proves it. The
    work of each follows from the problem, not from a clock. A test of significance has no best model. For it, two
    stepwise searches run, from the initial collection and from the largest, and the better result is taken. Raises
    NothingAllowedError if no search finds an allowed collection.
    """
    if not isinstance(problem.objective, PenalizedDivergence):
        return replace(_by_tests(problem, stop), strategy="auto")
    looks = _WORK // lattice_size(problem) if _is_small(problem) else 0
    return replace(exact(problem, stop, most=looks), strategy="auto")


def _is_small(problem: Problem) -> bool:
    return lattice_size(problem) <= LARGEST_LATTICE


def _by_tests(problem: Problem, stop: Stop) -> SearchResult:
    results = list[SearchResult]()
    for end in (stepwise, backward)[: 1 + _is_small(problem)]:
        with suppress(NothingAllowedError):
            results.append(end(problem, stop))
    return reduce(partial(_preferred, problem), results) if results else stepwise(problem, stop)


def _preferred(problem: Problem, one: SearchResult, other: SearchResult) -> SearchResult:
    added = _parameters(problem, other) - _parameters(problem, one)
    gained = problem.objective.gain(one.kl_divergence - other.kl_divergence, added)
    return other if gained > LEAST_GAIN else one


def _parameters(problem: Problem, result: SearchResult) -> int:
    return MaximumEntropy(Collection.of(problem.cube, result.cliques)).parameter_count


STRATEGIES: Mapping[str, Strategy] = {
    "auto": auto,
    "local": local,
    "forward": forward,
    "backward": backward,
    "both": stepwise,
    "exact": exact,
}
"""Strategies by the names that a policy uses."""
