"""What became of an analysis that a release is wanted for, as only its steward is told: it is judged by the data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WantedTable:
    """An analysis that was wanted, and how near the release comes to it.

    margin: of the published table that shows its attributes together most finely, by the release's levels; None where none
    does.
    kl_divergence: nats from the data's table of these attributes, at base values, to what the release says of it. passing:
    the finest levels at which the table would pass by itself, by those of the config, in words, and as a config demands
    it; None where no level would. obstacle: what kept a table that would pass out of the release, or why none would; None
    where one is published that is as fine.
    """

    attributes: tuple[str, ...]
    weight: float
    margin: Mapping[str, int] | None
    kl_divergence: float
    passing: Mapping[str, int] | None
    passing_in_words: str | None
    demand: str | None
    obstacle: str | None

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "attributes": list(self.attributes),
            "weight": self.weight,
            "margin": None if self.margin is None else dict(self.margin),
            "kl_divergence": self.kl_divergence,
            "would_pass": None if self.passing is None else dict(self.passing),
            "obstacle": self.obstacle,
        }
