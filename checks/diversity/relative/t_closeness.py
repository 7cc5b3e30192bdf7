"""t-closeness: the sensitive values of each class are distributed nearly as in the whole table (Li, Li,
Venkatasubramanian: t-Closeness, ICDE 2007).

The distance is the least work of moving one distribution onto the other (earth mover's distance). On the ground
distances here it is, up to a unit, the sum over certain sets of values of how much the two distributions differ there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criterion import Diversity
from checks.diversity.odds.closeness_at_odds import ClosenessAtOdds
from checks.diversity.relative.relative_diversity import RelativeDiversity
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.diversity.spelling import numbers, spelled
from checks.errors import CriterionError
from models.arrays import FloatArray
from models.tables.hierarchy import Hierarchy


class Distance(Protocol):
    """How far apart the values of a sensitive attribute are."""

    @property
    def name(self) -> str:
        """What a reader calls it."""

    def unit(self, value_count: int) -> Fraction:
        """What a difference of 1 in one set of values costs."""

    def work(self, differences: NDArray[Any]) -> NDArray[Any]:
        """Sum over the sets of the absolute differences. differences: shape (classes, values), floats or objects."""


@dataclass(frozen=True)
class EqualDistance:
    """All values are 1 apart: half the sum of the absolute differences, the variational distance."""

    name: ClassVar[str] = "equal"

    def unit(self, value_count: int) -> Fraction:  # noqa: ARG002
        """A half: what is missing at one value is too much at another."""
        return Fraction(1, 2)

    def work(self, differences: NDArray[Any]) -> NDArray[Any]:
        """The sets are the single values."""
        return np.asarray(np.abs(differences).sum(axis=1))


@dataclass(frozen=True)
class OrderedDistance:
    """Values lie evenly on a line in the order of their codes, the first and the last 1 apart."""

    name: ClassVar[str] = "ordered"

    def unit(self, value_count: int) -> Fraction:
        """One step along the line."""
        return Fraction(1, max(value_count - 1, 1))

    def work(self, differences: NDArray[Any]) -> NDArray[Any]:
        """The sets are the first 1, 2, ... values."""
        return np.asarray(np.abs(np.cumsum(differences, axis=1)[:, :-1]).sum(axis=1))


@dataclass(frozen=True)
class HierarchicalDistance:
    """Values published at `level` are as far apart as one must generalize for them to merge, `*` counting 1."""

    hierarchy: Hierarchy
    level: int = 0
    name: ClassVar[str] = "hierarchical"

    def unit(self, value_count: int) -> Fraction:  # noqa: ARG002
        """Half a step: moving is up and down again."""
        return Fraction(1, 2 * max(self.hierarchy.height - self.level, 1))

    def work(self, differences: NDArray[Any]) -> NDArray[Any]:
        """The sets are the values of the hierarchy below `*`."""
        total = np.zeros(len(differences), dtype=differences.dtype)
        for level in range(self.level, self.hierarchy.height):
            above = self.hierarchy.lift(self.level, level)
            merged = np.zeros((len(differences), self.hierarchy.size(level)), dtype=differences.dtype)
            for value, parent in enumerate(above.tolist()):
                merged[:, parent] += differences[:, value]
            total += np.abs(merged).sum(axis=1)
        return total


@dataclass(frozen=True)
class TCloseness(Diversity):
    """A class is no further than t from the whole table. Reached: the distance.

    overall: rows of the whole table by sensitive value, in the order of the columns; not all 0. It stays the same when
    classes merge, and so closeness is kept by merging.
    """

    t: Fraction
    overall: tuple[int, ...]
    distance: Distance
    name: ClassVar[str] = "t-closeness"

    def __post_init__(self) -> None:
        _check_t(self.t)
        if not sum(self.overall) > 0:
            raise CriterionError("t-closeness needs a table with rows")

    def __str__(self) -> str:
        return f"t-closeness:{spelled(self.t)} ({self.distance.name} distance)"

    def slack(self, vectors: NDArray[Any]) -> FloatArray:
        """The distance below t, both on the scale from 0 to 1."""
        return float(self.t) - self.reached(vectors)

    def reached(self, vectors: NDArray[Any]) -> FloatArray:
        """The distance of each class from the whole table."""
        whole = np.array(self.overall, dtype=np.float64)
        differences = vectors / vectors.sum(axis=1, keepdims=True) - whole / whole.sum()
        unit = float(self.distance.unit(len(whole)))
        return np.asarray(unit * self.distance.work(differences), dtype=np.float64)

    def at_odds(self, odds: Fraction) -> Diversity | None:
        """Over all sets of values, where all values are equally far apart."""
        return ClosenessAtOdds(self.t, self.overall, odds) if isinstance(self.distance, EqualDistance) else None

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        rows, total = sum(vector), sum(self.overall)
        differences = np.array([[v * total - w * rows for v, w in zip(vector, self.overall)]], dtype=object)
        return bool(self.distance.unit(len(self.overall)) * self.distance.work(differences)[0] <= self.t * rows * total)


_DISTANCES = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class Closeness(RelativeDiversity):
    """A class is no further than t from the whole table. distance: "equal", "ordered" or "hierarchical"."""

    t: Fraction
    distance: str = "equal"
    name: ClassVar[str] = "t-closeness"
    parameters: ClassVar[str] = "t [ordered or hierarchical]"

    def __post_init__(self) -> None:
        _check_t(self.t)
        if self.distance not in _DISTANCES:
            raise CriterionError(f"a distance is {', '.join(_DISTANCES)}, not {self.distance!r}")

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.t)}" + ("" if self.distance == "equal" else f" {self.distance}")

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `t`, `t ordered` or `t hierarchical`."""
        first, _, distance = text.strip().partition(" ")
        match numbers(first):
            case [t] if distance in ("", *_DISTANCES):
                return cls(t, distance or "equal")
        return None

    def among(self, values: SensitiveValues) -> TCloseness:
        """With the distribution of the whole table."""
        distances: dict[str, Distance] = {
            "equal": EqualDistance(),
            "ordered": OrderedDistance(),
            "hierarchical": HierarchicalDistance(values.hierarchy, values.level),
        }
        return TCloseness(self.t, values.rows, distances[self.distance])

    def meaning(self) -> str:
        """The distance."""
        how = {
            "equal": "half the sum of the absolute differences",
            "ordered": "what must be moved how far along the order of the values",
            "hierarchical": "what must be moved how far up and down the hierarchy",
        }
        return (
            f"the probabilities of the sensitive values are at most {spelled(self.t)} away from those among all rows "
            f"({how[self.distance]})"
        )

    def reached_in_words(self, value: float) -> str:
        """The distance."""
        return f"{value:.4g} away; at most {spelled(self.t)} is claimed"


def _check_t(t: Fraction) -> None:
    if not 0 <= t <= 1:
        raise CriterionError(f"t-closeness needs t from 0 to 1, got {spelled(t)}")
