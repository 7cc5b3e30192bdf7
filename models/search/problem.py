"""A search problem: the data, the constraint, the objective, the margins that must stay, and where a search starts."""

from collections.abc import Callable, Iterable
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass, field, replace

from models.errors import SelectionError
from models.graphs.collection import Collection
from models.graphs.junction_tree import maximal_masks
from models.graphs.moves import allowed_moves, describe
from models.inference.maximum_entropy import MaximumEntropy
from models.search.constraint import Constraint, RefusedMove, Unconstrained, pivot_of
from models.search.objective import KL, LEAST_GAIN, Objective, PenalizedDivergence
from models.search.position import Position
from models.search.wanted import WantedAnalyses
from models.tables.data_cube import DataCube
from models.tables.domain import Mask, vertices_of

Stop = Callable[[], bool]
"""Asked between two evaluations; True ends the search with the best collection so far."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A model search.

    cube: must hold the base table. kept: margins that every collection shows, together a decomposable collection that
    the constraint allows. start: where a stepwise search begins, showing at least what is kept and allowed too; by
    default `kept`. seed: of the searches that draw at random. wanted: analyses of which the objective
    counts too how far each is from the data, times its weight. Raises NotDecomposableError when kept or start are not
    decomposable, SelectionError when start does not show what is kept.
    """

    cube: DataCube
    constraint: Constraint = field(default_factory=Unconstrained)
    objective: Objective = KL
    kept: tuple[Mask, ...] = ()
    start: tuple[Mask, ...] | None = None
    seed: int = 0
    wanted: WantedAnalyses | None = None

    def __post_init__(self) -> None:
        for masks in {self.kept, self.initial}:
            _ = Collection.of(self.cube, masks).junction_tree
        if not self.is_kept(self.initial):
            raise SelectionError("the start must show every margin that is to be kept")

    @property
    def initial(self) -> tuple[Mask, ...]:
        """The collection that a stepwise search starts from."""
        return self.kept if self.start is None else self.start

    @property
    def pivot(self) -> Mask:
        """The vertices whose margins the constraint judges jointly."""
        return pivot_of(self.constraint, self.cube.domain)

    @property
    def price(self) -> float:
        """Nats for each parameter. Raises SelectionError for an objective that does not add up over the margins."""
        if not isinstance(self.objective, PenalizedDivergence):
            raise SelectionError(
                "this objective is a rule for stopping stepwise searches; there is no best model by it"
            )
        return self.objective.price

    def position(self, masks: Iterable[Mask]) -> Position:
        """Where a search is that has come to a decomposable collection."""
        return Position.of(self.cube, masks, self.wanted)

    def value(self, position: Position) -> float:
        """The objective in nats, wanted analyses counted. Raises SelectionError for one that is a stopping rule only."""
        value = position.divergence
        if self.price:
            value += self.price * MaximumEntropy(Collection.of(self.cube, position.cliques)).parameter_count
        return value + (self.wanted.weighted(position.wanted) if self.wanted else 0.0)

    def binding(self, cliques: AnyCollection[Mask], stop: Stop) -> tuple[RefusedMove, ...] | None:
        """What binds at a collection: the moves that would gain, and that the constraint refuses, the largest gain first.

        Every move from the collection is put to the constraint, whatever search came there. None where `stop` ended that.
        """
        position = self.position(cliques)
        gaining: list[tuple[float, str, frozenset[Mask], Mask]] = []
        for move in allowed_moves(position.graph):
            if stop():
                return None
            after, change = position.cliques_after(move), position.change(move)
            gain = self.objective.gain(*change[:2]) + position.wanted_gain(move)
            if gain > LEAST_GAIN and self.is_kept(after):
                gaining.append((-gain, describe(move, position.graph), after, change.clique))
        refused = []
        for _, move_in_words, after, new in sorted(gaining, key=lambda each: each[:2]):
            if stop():
                return None
            if refusal := self.constraint(after, new):
                refused.append(RefusedMove(move_in_words, refusal.reason))
        return tuple(refused)

    def is_kept(self, cliques: AnyCollection[Mask]) -> bool:
        """Whether a collection shows all that must be shown."""
        return all(any(not mask & ~clique for clique in cliques) for mask in self.kept)

    def may_part(self, together: Mask) -> bool:
        """Whether a collection that shows all that must be shown still does once no margin shows these vertices together."""
        return all(together & ~mask for mask in self.kept)


def from_independence(problem: Problem, common: Mask = 0) -> Problem:
    """The problem begun at the independence model: besides what is kept, every attribute by itself.

    Each is shown as finely as the constraint allows it by itself, attribute by attribute; one that is refused beside
    those before it is left out. common: what every margin shows, given which all attributes are independent.
    """
    domain = problem.cube.domain
    start = tuple(maximal_masks(problem.kept))
    for own in domain.attribute_masks:
        for step in reversed(list(vertices_of(own))):
            margin = own & ((2 << step) - 1) | common
            extended = tuple(maximal_masks((*start, margin)))
            if Collection.of(problem.cube, extended).is_decomposable and problem.constraint(extended, 0) is None:
                start = extended
                break
    return replace(problem, start=start)
