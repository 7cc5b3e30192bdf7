"""Search problems: the data, the constraint, the objective, the position of a search, and its result."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import field, replace
from enum import Enum
from functools import cached_property, lru_cache
from math import inf, log
from typing import NamedTuple, Protocol

import numpy as np

from models.arrays import CountArray
from models.errors import SelectionError
from models.frozen import frozen
from models.graphs.interaction_graph import (
    AddEdge,
    AddVertex,
    InteractionGraph,
    Move,
    RemoveEdge,
    RemoveVertex,
    allowed_moves,
    describe,
)
from models.graphs.junction_tree import Collection, JunctionTree, maximal_masks
from models.inference.maximum_entropy import MaximumEntropy
from models.installed import name_of
from models.search.wanted import WantedAnalyses, apart
from models.tables.data_cube import DataCube, Score
from models.tables.hierarchy import Domain, Mask, vertices_of

# Position of a search: a valid decomposable collection with its value, and the changes by moves.
#
# A move touches only the cliques around its vertices, so value, graph and cliques are updated.


class Change(NamedTuple):
    """Changes by a move: KL divergence saved in nats, free parameters added, and the clique it makes (0: none).

    If a score judges cliques, the complexity added replaces the parameters (`DataCube.complexity`).
    """

    divergence: float
    parameters: float
    clique: Mask


@frozen(eq=False)
class Position:
    """Collection during a search: its graph, maximal cliques and KL divergence in nats.

    cube: holds the base table. graph, cliques, divergence: the collection. analyses: wanted analyses.
    """

    cube: DataCube
    graph: InteractionGraph
    cliques: frozenset[Mask]
    divergence: float
    analyses: WantedAnalyses | None = None

    @classmethod
    def of(
        cls, cube: DataCube, masks: Iterable[Mask], analyses: WantedAnalyses | None = None, *, crossing: bool = True
    ) -> "Position":
        """Return the position of a decomposable collection. crossing: as of `InteractionGraph`, for its moves."""
        cliques = frozenset(maximal_masks(masks))
        divergence = MaximumEntropy(Collection.of(cube, cliques)).kl_divergence
        graph = InteractionGraph.of(cube.domain, cliques, crossing=crossing)
        return cls(cube, graph, cliques, divergence, analyses)

    @cached_property
    def wanted(self) -> tuple[float, ...]:
        """Distance of each wanted margin from the data, computed on first use."""
        return self.analyses.distances(self.cliques) if self.analyses else ()

    @cached_property
    def tree(self) -> JunctionTree:
        """The junction tree of the cliques."""
        return JunctionTree.of(self.cube.domain, self.cliques)

    @property
    def complexity(self) -> float:
        """The complexity that is priced: free parameters, as the cube counts the cells of a margin, or their replacement."""
        return self._sum(self.cube.complexity)

    def _sum(self, of: Callable[[Mask], float]) -> float:
        return sum(map(of, self.tree.cliques)) - sum(map(of, self.tree.separators))

    def change(self, move: Move) -> Change:
        """Return the changes by an allowed move."""
        match move:
            case AddEdge(first, second):
                return self._joining(move.separator(self.graph), 1 << first, self.graph.joined_steps(second))
            case RemoveEdge(first, second):
                parted = self.graph.joined_steps(second)
                divergence, parameters, _ = self._joining(move.separator(self.graph), 1 << first, parted)
                return Change(-divergence, -parameters, 0)
            case AddVertex(vertex):
                steps = self.cube.domain.coarser_steps(vertex)
                clique = steps | 1 << vertex
                entropy, complexity = self.cube.entropy, self.cube.complexity
                divergence = entropy(steps) - entropy(clique) + self._leaves(vertex)
                return Change(divergence, complexity(clique) - complexity(steps), clique)
            case RemoveVertex(vertex):
                after = replace(self, cliques=self.cliques_after(move))
                saved = self._sum(self.cube.entropy) - after._sum(self.cube.entropy) - self._leaves(vertex)
                return Change(saved, after.complexity - self.complexity, 0)

    def _joining(self, separator: Mask, first: Mask, second: Mask) -> Change:
        divergence, parameters = (
            apart(of, separator, first, second) for of in (self.cube.entropy, self.cube.complexity)
        )
        return Change(divergence, -parameters, separator | first | second)

    def _leaves(self, vertex: int) -> float:
        attribute, level = self.cube.domain.induced_attributes[vertex]
        return self.cube.log_leaves(attribute, level + 1) - self.cube.log_leaves(attribute, level)

    def cliques_after(self, move: Move) -> frozenset[Mask]:
        """Return the maximal cliques after an allowed move."""
        match move:
            case AddEdge():
                return with_clique(self.cliques, move.clique(self.graph))
            case AddVertex(vertex):
                return with_clique(self.cliques, self.cube.domain.coarser_steps(vertex) | 1 << vertex)
            case RemoveEdge(first, second):
                return without_edge(self.cliques, 1 << first, self.graph.joined_steps(second))
            case RemoveVertex(vertex):
                return frozenset(maximal_masks(c & ~(1 << vertex) for c in self.cliques))

    def after(self, move: Move, change: Change) -> "Position":
        """Return the position after an allowed move."""
        divergence = self.divergence - change.divergence
        return replace(self, graph=move.apply(self.graph), cliques=self.cliques_after(move), divergence=divergence)

    def wanted_gain(self, move: Move) -> float:
        """Return the weighted decrease of the distances of the wanted margins by an allowed move; negative if they grow."""
        if not self.analyses:
            return 0.0
        return self.analyses.weighted(self.wanted) - self.analyses.value(self.cliques_after(move))


def with_clique(cliques: frozenset[Mask], clique: Mask) -> frozenset[Mask]:
    """Return the maximal cliques after an edge or a vertex was added, which makes a clique."""
    return frozenset([old for old in cliques if old & ~clique] + [clique])


def without_edge(cliques: frozenset[Mask], first: Mask, second: Mask) -> frozenset[Mask]:
    """Return the maximal cliques after a vertex was parted from the steps of another attribute, which tears a clique."""
    edge = first | second & -second
    others = [c for c in cliques if edge & ~c]
    (torn,) = (c for c in cliques if not edge & ~c)
    halves = (torn ^ first, torn ^ second)
    return frozenset(others + [half for half in halves if not any(not half & ~c for c in others)])


class RefusalScope(Enum):
    """Set of further collections that are refused as well, so that a search may prune them.

    FINER: every collection that shows at least as much. LONGER: every collection that extends this one in perfect
    sequence, so that its junction tree contains this one's; FINER implies it. ITSELF: none.
    """

    FINER = "finer"
    LONGER = "longer"
    ITSELF = "itself"


class Refusal(NamedTuple):
    """Reason why a collection may not be chosen, and the scope of the refusal; by default only this collection.

    reason: words for the trace. scope: further collections that are refused.
    """

    reason: str
    scope: RefusalScope = RefusalScope.ITSELF


class RefusedMove(NamedTuple):
    """Move, in words, that a constraint refuses, and the reason."""

    move: str
    reason: str


class Constraint(Protocol):
    """Protocol of constraints on collections; the verdict on a collection must be the same each time.

    A `PruningConstraint` tells a search more, and is searched faster.
    """

    def __call__(self, cliques: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        """Return None if the collection with these maximal cliques may be chosen, else the refusal.

        new: the clique that the last move made; the other cliques were allowed before it. It is 0 if there is no such
        clique, so that all cliques must be checked. A refusal because of a single clique has the scope FINER. If there
        is a new clique, FINER means that this clique is the reason, so that a search may never try it again.
        """


class PruningConstraint(ABC):
    """Constraint with further questions that let a search examine fewer collections; the default answers are always
    right.
    """

    @abstractmethod
    def __call__(self, cliques: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        """Return the verdict on a collection, as every constraint does."""

    @property
    def jointly_judged(self) -> Mask:
        """Vertices such that joint verdicts depend only on the margins with one of them, wherever these lie."""
        return ALL_VERTICES

    crossing_levels: bool = True
    """True if two margins may show two attributes at levels that cross, without a margin as fine in both
    (`Domain.crossings`)."""

    def of_margin(self, margin: Mask) -> Refusal | None:
        """Return the refusal of every collection that shows a margin, if the margin is refused for good; or None."""
        refusal = self((margin,), margin)
        return refusal if refusal is not None and refusal.scope is RefusalScope.FINER else None


ALL_VERTICES: Mask = -1
"""Mask of all vertices of any domain."""


@frozen
class _OfFunction(PruningConstraint):
    function: Constraint

    def __call__(self, cliques: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        return self.function(cliques, new)


def pruning(constraint: Constraint) -> PruningConstraint:
    """Return a constraint as a `PruningConstraint`; a plain function gets the default answers.

    >>> pruning(lambda cliques, new: None).jointly_judged == ALL_VERTICES
    True
    """
    return constraint if isinstance(constraint, PruningConstraint) else _OfFunction(constraint)


class Unconstrained(PruningConstraint):
    """Constraint that allows everything: plain model selection."""

    jointly_judged: Mask = 0

    def __call__(self, _cliques: AnyCollection[Mask], _new: Mask, /) -> Refusal | None:
        """Return None."""
        return None


def too_many_attributes(limit: int) -> str:
    """Return the reason for refusing a margin of more attributes."""
    return f"a margin of more than {limit} attributes"


@frozen
class MarginLimits(PruningConstraint):
    """Limits of each margin, checked before another constraint.

    domain: attributes with their hierarchies. max_cells, max_attributes: most cells of a margin, empty ones included,
    and most attributes. withheld: margins that nothing published may show. then: the other constraint. envelope:
    margins, one of which must show each published margin; None if anything may be published. common: induced
    attributes that every margin must show. isolated: attributes that no margin shows with others. crossing_levels:
    whether two margins may show two attributes at crossing levels, without a margin as fine in both. A reader who
    knows impossible combinations can subtract such margins. finest: margins of some attributes; a margin that shows
    all of these shows none of them more finely.
    """

    domain: Domain
    max_cells: int | None = None
    max_attributes: int | None = None
    withheld: tuple[Mask, ...] = ()
    then: Constraint = field(default_factory=Unconstrained)
    envelope: tuple[Mask, ...] | None = None
    common: Mask = 0
    isolated: tuple[Mask, ...] = ()
    crossing_levels: bool = True
    finest: tuple[Mask, ...] = ()

    @property
    def jointly_judged(self) -> Mask:
        """The other constraint's vertices; no move of a search makes levels cross that did not cross before."""
        return self._then.jointly_judged

    @cached_property
    def _then(self) -> PruningConstraint:
        return pruning(self.then)

    @cached_property
    def _finest(self) -> list[tuple[Mask, Mask]]:
        """Coarsest levels of the attributes of each finest margin, and their levels beyond it."""
        levels = [[mask for mask in self.domain.attribute_masks if mask & finest] for finest in self.finest]
        return [(sum(mask & -mask for mask in masks), sum(masks) & ~one) for masks, one in zip(levels, self.finest)]

    def __call__(self, cliques: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        """Return the refusal of a clique beyond the limits or of crossing levels, or the other constraint's verdict."""
        return self._beyond(cliques, new) or self._crossing(cliques, new) or self.then(cliques, new)

    def _beyond(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:
        for clique in [new] if new else cliques:
            if reason := self._excess(clique):
                return Refusal(reason, RefusalScope.FINER)
        if self.common and any(self.common & ~clique for clique in cliques):
            return Refusal(f"a margin that does not show {self.domain.margin(self.common)}, as all must")
        return None

    def _crossing(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:
        for one in () if self.crossing_levels else [new] if new else cliques:
            for *places, _ in self.domain.crossings(one, cliques):
                names = " and ".join(self.domain.attributes[place] for place in sorted(places))
                reason = f"two margins that show {names} at crossing levels (search.crossing_levels)"
                return Refusal(reason, RefusalScope.LONGER)
        return None

    def of_margin(self, margin: Mask) -> Refusal | None:
        """Return the refusal of everything that shows a margin, or None."""
        if reason := self._excess(margin):
            return Refusal(reason, RefusalScope.FINER)
        return self._then.of_margin(margin)

    def _excess(self, clique: Mask) -> str | None:
        if self.max_attributes is not None and len(self.domain.margin(clique)) > self.max_attributes:
            return too_many_attributes(self.max_attributes)
        if self.max_cells is not None and self.domain.cell_count(clique) > self.max_cells:
            return f"a margin of more than {self.max_cells} cells"
        for withheld in self.withheld:
            if not withheld & ~clique:
                return f"a margin that shows {self.domain.margin(withheld)}, which is to be withheld"
        for coarsest, beyond in self._finest:
            if clique & beyond and not coarsest & ~clique:
                names = " and ".join(self.domain.margin(coarsest))
                return f"a margin that would keep out the best further table of {names}"
        for attribute_mask in self.isolated:
            if clique & attribute_mask and clique & ~attribute_mask:
                name = next(iter(self.domain.margin(attribute_mask)))
                return f"a margin of {name} and others, and it is to be published by itself alone"
        if self.envelope is not None and not any(not clique & ~mask for mask in self.envelope):
            return "a margin that shows more than the releases of the ledger"
        return None


# Objectives: the KL divergence, with or without a price on parameters.
#
# With N rows, deviance = 2 N KL up to a constant, so AIC / 2N and BIC / 2N are the KL divergence plus 1 / N and ln N /
# 2N nats for each parameter. Values are nats a row throughout.


LEAST_GAIN = 1e-12
"""Nats below which a gain is rounding, or a margin that says nothing new."""


class Objective(Protocol):
    """Protocol of objectives: the gain of a change of the model.

    A gain may depend on the two numbers only. Gains that add up over moves are a multiple of the divergence less one
    of the parameters. Such an objective is treated as that `PenalizedDivergence`. Any other objective is a rule for
    stopping.
    """

    def gain(self, divergence: float, parameters: float) -> float:
        """Return the gain, in nats, of a change that lowers the KL divergence and takes so many more parameters.

        It is positive if the change is for the better; a change and its reverse have opposite gains.
        """


@frozen
class PenalizedDivergence:
    """Objective: KL divergence plus a price in nats for each free parameter.

    price: nats; with 0 the objective is the KL divergence itself. Raises SelectionError if the price is negative or no
    number.
    """

    price: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.price, bool) or not isinstance(self.price, int | float) or not 0 <= self.price < inf:
            raise SelectionError(f"the price of a parameter is a number of nats of at least 0, not {self.price!r}")

    def gain(self, divergence: float, parameters: float) -> float:
        """Return the divergence saved less the price of the parameters."""
        return divergence - self.price * parameters if self.price else divergence


@frozen
class CliqueScore(PenalizedDivergence):
    """Score of models that is a sum over their cliques less that over their separators (Dawid and Lauritzen 1993).

    score: of a clique, from its counts. A search minimizes an equivalent divergence: the score divided by the rows,
    negated, up to a constant. price: of the complexity that a scored cube computes from it, always 1.

    >>> CliqueScore(BDeu(1.0))
    CliqueScore(BDeu(sample_size=1.0))
    """

    price: float = field(default=1.0, init=False)
    score: Score

    def __repr__(self) -> str:
        return f"CliqueScore({name_of(self.score)})"


@frozen
class BDeu:
    """Logarithm of the marginal likelihood of a clique with Dirichlet probabilities (Dawid and Lauritzen 1993).

    sample_size: rows that the prior is worth, spread evenly over the cells. So the prior of a margin is that of every
    clique that holds it. Raises SelectionError if it is not above 0.

    >>> import numpy as np
    >>> round(BDeu(2.0)(np.array([1]), 2), 4)  # one row of two cells that are as likely
    -0.6931
    """

    sample_size: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.sample_size, bool) or not 0 < self.sample_size < inf:
            raise SelectionError(f"the sample size of a prior is a number above 0, not {self.sample_size!r}")

    def __call__(self, counts: CountArray, cells: int, /) -> float:
        """Return the score of a margin, in nats."""
        from scipy.special import gammaln  # slow to import, and few need it

        prior, rows = self.sample_size / cells, counts.sum()
        of_all = gammaln(self.sample_size) - gammaln(self.sample_size + rows)
        return float(of_all + (gammaln(prior + counts) - gammaln(prior)).sum())


_PROBES = ((1.0, 0), (0.0, 1), (0.3, 7), (-2.0, 5), (1e-6, 1), (0.25, -12), (0.0, 1000))
"""Changes that test whether the gains of an objective add up."""


def additive(objective: Objective) -> Objective:
    """Return the penalized divergence that an objective is a multiple of, if its gains add up; else the objective
    itself.

    >>> class Twice:
    ...     def gain(self, divergence, parameters):
    ...         return 2 * divergence - 0.1 * parameters
    >>> additive(Twice()), additive(LikelihoodRatio(100))
    (PenalizedDivergence(price=0.05), LikelihoodRatio(rows=100, alpha=0.05))
    """
    if isinstance(objective, PenalizedDivergence | LikelihoodRatio):
        return objective
    gains = [float(objective.gain(divergence, parameters)) for divergence, parameters in _PROBES]
    scale, price = gains[0], -gains[1]
    if not scale > 0 or price < 0:
        return objective
    expected = [scale * divergence - price * parameters for divergence, parameters in _PROBES]
    return PenalizedDivergence(price / scale) if np.allclose(gains, expected, rtol=1e-9, atol=1e-15) else objective


KL = PenalizedDivergence()
"""KL divergence from the data to the maximum-entropy distribution."""


def aic(rows: float) -> PenalizedDivergence:
    """Return Akaike's criterion, divided by twice the number of rows."""
    return PenalizedDivergence(1 / max(rows, 1))


def bic(rows: float) -> PenalizedDivergence:
    """Return Schwarz's criterion, divided by twice the number of rows.

    Parameters
    ----------
    rows
        Number of rows.
    """
    return PenalizedDivergence(log(max(rows, 1)) / (2 * max(rows, 1)))


@frozen
class LikelihoodRatio:
    """Stopping rule: a change must be significant by the likelihood-ratio test (Lauritzen, Graphical Models, 4.3.2).

    The deviance it saves, 2 N times the divergence, is compared with the chi-squared quantile of its degrees of
    freedom. The gain is the excess. Gains do not add up, so there is no best model. rows: number of rows N. alpha:
    level of the test.
    """

    rows: float
    alpha: float = 0.05

    def gain(self, divergence: float, parameters: float) -> float:
        """Return the divergence saved beyond what chance explains."""
        threshold = _quantile(abs(parameters), self.alpha) / (2 * max(self.rows, 1))
        return divergence - (threshold if parameters >= 0 else -threshold)


@lru_cache(maxsize=4096)
def _quantile(degrees_of_freedom: float, alpha: float) -> float:
    from scipy.special import chdtri  # slow to import, and few need it

    return float(chdtri(degrees_of_freedom, alpha)) if degrees_of_freedom else 0.0


Stop = Callable[[], bool]
"""Called between two evaluations; True ends the search with the best collection so far."""


@frozen(eq=False)
class Problem:
    """Model search: the data, the objective and the allowed collections.

    cube: holds the base table; with a score of cliques it becomes a cube that counts with this score. constraint,
    objective: what is allowed, and what is minimized. required: decomposable margins that every collection shows,
    which the constraint allows. start: collection where a stepwise search begins, allowed and with the required
    margins; by default `required`. seed: seed of searches that draw at random. wanted: analyses whose weighted
    distances the objective counts. Raises NotDecomposableError if `required` or `start` is not decomposable. Raises
    SelectionError if the start lacks a required margin.
    """

    cube: DataCube
    constraint: Constraint = field(default_factory=Unconstrained)
    objective: Objective = KL
    required: tuple[Mask, ...] = ()
    start: tuple[Mask, ...] | None = None
    seed: int = 0
    wanted: WantedAnalyses | None = None

    def __post_init__(self) -> None:
        objective = additive(self.objective)
        object.__setattr__(self, "objective", objective)
        if isinstance(objective, CliqueScore) and self.cube.score is None:
            object.__setattr__(self, "cube", self.cube.scored(objective.score))
        for masks in {self.required, self.initial}:
            _ = Collection.of(self.cube, masks).junction_tree
        if not self.is_kept(self.initial):
            raise SelectionError("the start must show every required margin")

    @property
    def initial(self) -> tuple[Mask, ...]:
        """Collection that a stepwise search starts from."""
        return self.required if self.start is None else self.start

    @property
    def jointly_judged(self) -> Mask:
        """Vertices of the margins that the constraint judges together, wherever these lie."""
        return self._pruning.jointly_judged

    @property
    def crossing(self) -> bool:
        """True if two margins may show two attributes at crossing levels."""
        return self._pruning.crossing_levels

    def may_go_with(self, margin: Mask, cliques: AnyCollection[Mask]) -> bool:
        """Return whether levels may cross, or no levels of a margin cross those of another one (`Domain.crossings`)."""
        return self.crossing or not any(self.cube.domain.crossings(margin, cliques))

    def refuses(self, margin: Mask) -> bool:
        """Return whether the constraint refuses every collection that shows a margin."""
        return self._pruning.of_margin(margin) is not None

    @cached_property
    def _pruning(self) -> PruningConstraint:
        return pruning(self.constraint)

    @property
    def has_levels(self) -> bool:
        """True if some attribute can be shown at several levels."""
        return len(self.cube.domain.attributes) < self.cube.domain.vertex_count

    @property
    def priced(self) -> PenalizedDivergence:
        """The objective. Raises SelectionError if it does not add up over the margins."""
        if not isinstance(self.objective, PenalizedDivergence):
            raise SelectionError(
                "this objective is a rule for stopping stepwise searches: its gains do not add up, there is no best model"
            )
        return self.objective

    @property
    def price(self) -> float:
        """Nats for each parameter. Raises SelectionError if the objective does not add up over the margins."""
        return self.priced.price

    def position(self, masks: Iterable[Mask]) -> Position:
        """Return the position of a search at a decomposable collection."""
        return Position.of(self.cube, masks, self.wanted, crossing=self.crossing)

    def value(self, position: Position) -> float:
        """Return the objective in nats, wanted analyses included. Raises SelectionError for a stopping rule."""
        value = position.divergence
        if self.price:
            value += self.price * position.complexity
        return value + (self.wanted.weighted(position.wanted) if self.wanted else 0.0)

    def pair_gain(self, first: Mask, second: Mask) -> float:
        """Return the gain of a margin over two parts of it without a common attribute, in nats."""
        saved, parameters = (apart(of, 0, first, second) for of in (self.cube.entropy, self.cube.complexity))
        return self.objective.gain(saved, -parameters)

    def binding(self, cliques: AnyCollection[Mask], stop: Stop) -> tuple[RefusedMove, ...] | None:
        """Return the binding refusals at a collection: the refused moves that would gain, largest gain first.

        Every move from the collection is put to the constraint, whatever search led there. None if `stop` ended it.
        """
        position = self.position(cliques)
        gaining: list[tuple[float, str, frozenset[Mask], Mask]] = []
        for move in allowed_moves(position.graph):
            if stop():
                return None
            change = position.change(move)
            gain = self.objective.gain(*change[:2]) + position.wanted_gain(move)
            if gain > LEAST_GAIN and self.is_kept(after := position.cliques_after(move)):
                gaining.append((-gain, describe(move, position.graph), after, change.clique))
        refused = []
        for _, move_in_words, after, new in sorted(gaining, key=lambda gaining_move: gaining_move[:2]):
            if stop():
                return None
            if refusal := self.constraint(after, new):
                refused.append(RefusedMove(move_in_words, refusal.reason))
        return tuple(refused)

    def is_kept(self, cliques: AnyCollection[Mask]) -> bool:
        """Return whether a collection shows all required margins."""
        return all(any(not mask & ~clique for clique in cliques) for mask in self.required)

    def may_part(self, together: Mask) -> bool:
        """Return whether the required margins stay shown if no margin shows these vertices together any more."""
        return all(together & ~mask for mask in self.required)


def from_independence(problem: Problem, common: Mask = 0) -> Problem:
    """Return the problem with the independence model as its start: the required margins, and every attribute by itself.

    Each attribute is shown as finely as the constraint allows, one after another. An attribute that is refused beside
    the ones before it is left out.

    Parameters
    ----------
    problem
        The search problem.
    common
        Induced attributes that every margin shows; all attributes are independent given these.
    """
    domain = problem.cube.domain
    start = tuple(maximal_masks(problem.required))
    for attribute_mask in domain.attribute_masks:
        for step in reversed(list(vertices_of(attribute_mask))):
            margin = attribute_mask & ((2 << step) - 1) | common
            extended = tuple(maximal_masks((*start, margin)))
            if Collection.of(problem.cube, extended).is_decomposable and problem.constraint(extended, 0) is None:
                start = extended
                break
    return replace(problem, start=start)


@frozen
class Step:
    """Accepted move. before, after: KL divergence in nats.

    parameters: the number of free parameters that it adds; None if it is not recorded.
    """

    move: str
    before: float
    after: float
    parameters: float | None = None


@frozen
class SearchResult:
    """Best collection that a search found.

    strategy: name of the strategy. cliques: maximal margins as masks, ascending. kl_divergence: nats. evaluated:
    number of collections put to the constraint. optimal: whether it is proven that no allowed collection is better.
    steps: accepted moves, in order. value: the objective; None for a stopping rule. bound: nats; no allowed collection
    has a smaller objective. None if no bound is known. wanted: distance of each wanted margin from the data. stopped:
    whether time ended the search.
    """

    strategy: str
    cliques: tuple[Mask, ...]
    kl_divergence: float
    evaluated: int
    optimal: bool
    steps: tuple[Step, ...]
    value: float | None = None
    bound: float | None = None
    wanted: tuple[float, ...] = ()
    stopped: bool = False

    @property
    def cost(self) -> float:
        """The value; infinite if there is none."""
        return inf if self.value is None else self.value

    @property
    def gap(self) -> float | None:
        """Most nats by which an allowed collection can be better; None if no bound is known."""
        if self.optimal:
            return 0.0
        return None if self.value is None or self.bound is None else max(self.value - self.bound, 0.0)


class Strategy(Protocol):
    """Protocol of search strategies."""

    def __call__(self, problem: Problem, stop: Stop) -> SearchResult:
        """Return the best allowed collection found; the same for the same problem unless stopped early."""


def staircase(
    ones: Sequence[Mask], others: Sequence[Mask], is_allowed: Callable[[Mask], bool]
) -> Iterator[tuple[Mask, Mask]]:
    """Yield margins of one attribute, coarsest first, each with the finest margin of another that is allowed beside it.

    others: margins of the other attribute, coarsest first. Everything coarser than an allowed margin is taken to be
    allowed. A margin is examined only if the next coarser one is allowed, because others may have too many cells to
    count. It ends once nothing is allowed beside a margin.

    >>> list(staircase([0b1, 0b11], [0b100, 0b1100], lambda margin: margin != 0b1111))
    [(1, 12), (3, 4)]
    """
    fine = -1
    for one in ones:
        if not is_allowed(one):
            return
        if fine < 0:
            while fine + 1 < len(others) and is_allowed(others[fine + 1]) and is_allowed(one | others[fine + 1]):
                fine += 1
        else:
            while fine >= 0 and not is_allowed(one | others[fine]):
                fine -= 1
        if fine < 0:
            return
        yield one, others[fine]
