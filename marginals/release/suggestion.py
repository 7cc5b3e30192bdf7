"""What a steward could add to the analyses that a release is wanted for, with its price tried out."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Suggestion:
    """Two attributes whose association the release loses.

    error: total variation of their table at base values in the release. weight: as an analysis that is wanted, the smallest
    of those tried that at least halves the error; None where none does. error_then: with that weight. price: nats by which
    the KL divergence of the whole grows for it; negative where the search came to a better release on the way. was_tried:
    whether there was time to.
    """

    attributes: tuple[str, str]
    error: float
    weight: float | None = None
    error_then: float | None = None
    price: float | None = None
    was_tried: bool = True

    def as_json(self) -> dict[str, Any]:
        """The suggestion as plain values."""
        return {
            "attributes": list(self.attributes),
            "error": self.error,
            "weight": self.weight,
            "error_then": self.error_then,
            "price": self.price,
            "tried": self.was_tried,
        }
