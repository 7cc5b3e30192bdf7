"""The best that a search has found so far: told of while it goes on, to whoever watches."""

import time
from collections.abc import Callable
from collections.abc import Collection as AnyCollection
from dataclasses import replace
from math import inf
from typing import Protocol, runtime_checkable

from models.graphs.junction_tree import Collection
from models.search.problem import Position, Problem
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Mask

_PAUSE = 0.5
"""Seconds between two looks at least."""

_SHARE = 0.1
"""Of the time of a search, what looks and telling take at most."""

_TIE = 1e-9
"""Nats by which a collection must be better than the one that was told of."""


@runtime_checkable
class Watching(Protocol):
    """Progress that wants to know the best so far, too."""

    def __call__(self, task: str, done: int, total: int, /) -> None:
        """Told what is being done, how much of it is done, and how much there is (0: unknown)."""

    def found(self, collection: Collection, divergence: float, /) -> None:
        """Told of the best collection so far, and how far it is from the data: KL divergence in nats."""


class BestSoFar:
    """Sees the collections that a search comes to, and tells of the best that its constraint allows.

    It changes nothing that a search finds, and takes a tenth of its time at most. What it tells of is not verified: that
    is for the end. problem: what is searched for, whose objective says what is better. cube: what the margins are of.
    tell: gets a collection and its KL divergence in nats.
    """

    def __init__(
        self,
        problem: Problem,
        cube: DataCube,
        tell: Callable[[Collection, float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._problem, self._cube, self._tell, self._clock = problem, cube, tell, clock
        self._takes_long = bool(problem.price) or problem.wanted is not None
        self._least = self._least_waiting = inf
        self._waiting: Position | None = None
        self._next = 0.0

    def __call__(self, position: Position) -> None:
        """Remember a collection that is better than those before it, until it is time to look whether it is allowed."""
        if self._takes_long and self._clock() < self._next:
            return
        value = self._value(position)
        if value < min(self._least, self._least_waiting) - _TIE:
            self._waiting, self._least_waiting = position, value
        self.look()

    def look(self) -> None:
        """Tell of what waits, where it is allowed and it is time."""
        begun = self._clock()
        if self._waiting is None or begun < self._next:
            return
        position, value = self._waiting, self._least_waiting
        self._waiting, self._least_waiting = None, inf
        if self._is_allowed(position.cliques):
            self._least = value
            self._tell(Collection.of(self._cube, sorted(position.cliques)), position.divergence)
        now = self._clock()
        self._next = now + max(_PAUSE, (now - begun) / _SHARE)

    def _value(self, position: Position) -> float:
        if not self._takes_long:
            return position.divergence
        if self._problem.wanted is not None and position.analyses is None:
            position = replace(position, analyses=self._problem.wanted, known=None)
        return self._problem.value(position)

    def _is_allowed(self, cliques: AnyCollection[Mask]) -> bool:
        return bool(cliques) and self._problem.constraint(cliques, 0) is None
