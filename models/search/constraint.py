"""What a search may not choose, as a parameter of the search."""

from collections.abc import Collection as AnyCollection
from typing import NamedTuple, Protocol

from models.domain import Mask


class Refusal(NamedTuple):
    """Why a collection may not be chosen.

    inherited: whether every collection that shows at least as much is refused too, so that a search may prune.
    """

    reason: str
    inherited: bool


class Constraint(Protocol):
    """Any function of this shape."""

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:
        """None when the collection with these maximal cliques may be chosen.

        new: the clique that the last move made; the collection before that move was allowed. 0 where there is no such
        clique, so that all must be looked at.
        """


class Unconstrained:
    """Allows everything: plain model selection."""

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:  # noqa: ARG002
        """None."""
        return None
