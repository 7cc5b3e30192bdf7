"""What a search gives back: the collection, and how it got there."""

from dataclasses import dataclass
from typing import Protocol

from models.search.constraint import RefusedMove
from models.search.problem import Problem, Stop
from models.tables.domain import Mask


@dataclass(frozen=True)
class Step:
    """One accepted move. before, after: KL divergence in nats. refused: why better candidates were passed over.

    parameters: how many more free parameters the model has by it; None where that is not noted.
    """

    move: str
    before: float
    after: float
    refused: tuple[RefusedMove, ...] = ()
    parameters: int | None = None


@dataclass(frozen=True)
class SearchResult:
    """The best collection found.

    cliques: its maximal margins as masks, ascending. kl_divergence in nats. evaluated: how often the search put a collection
    to the constraint; where two searches came to one, both count. optimal: whether no allowed collection is better, proven.
    steps: the accepted moves in order. bound: nats; no allowed collection has a smaller objective (None: not known). value:
    the objective of the collection (None where the objective is a stopping rule only). wanted: for each wanted margin how
    far it is from the data. What binds where it ended, `Problem.binding` says.
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

    @property
    def gap(self) -> float | None:
        """By how many nats at most some allowed collection is better; None when no bound is known."""
        if self.optimal:
            return 0.0
        return None if self.value is None or self.bound is None else max(self.value - self.bound, 0.0)


class Strategy(Protocol):
    """Any search of this shape."""

    def __call__(self, problem: Problem, stop: Stop) -> SearchResult:
        """The best collection found that the problem allows; the same for the same problem unless stopped early."""
