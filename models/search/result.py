"""What a search gives back: the collection, and how it got there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from models.data_cube import DataCube
from models.domain import Mask
from models.search.constraint import Constraint

Stop = Callable[[], bool]
"""Asked between two evaluations; True ends the search with the best collection so far."""


@dataclass(frozen=True)
class Step:
    """One accepted move. before, after: KL divergence in nats. refused: why better candidates were passed over."""

    move: str
    before: float
    after: float
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class SearchResult:
    """The best collection found.

    cliques: its maximal margins as masks, ascending. kl_divergence in nats. evaluated: collections put to the
    constraint. optimal: whether no allowed collection is better, proven. steps: the accepted moves in order.
    """

    strategy: str
    cliques: tuple[Mask, ...]
    kl_divergence: float
    evaluated: int
    optimal: bool
    steps: tuple[Step, ...]


class Strategy(Protocol):
    """Any search of this shape."""

    def __call__(self, cube: DataCube, start: Sequence[Mask], constraint: Constraint, stop: Stop) -> SearchResult:
        """Search from the collection `start`, which the constraint allows, and never show less than it does."""
