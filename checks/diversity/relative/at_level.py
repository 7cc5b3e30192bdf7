"""A criterion on the values of a level of the sensitive attribute's hierarchy, whatever finer values are published.

Six codes of diseases that are equally likely say nothing where all are in one chapter. Counted by chapters such a class has
one value, and fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criterion import Diversity, Vectors
from checks.diversity.relative.relative_diversity import RelativeDiversity
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.errors import CriterionError
from models.arrays import FloatArray


@dataclass(frozen=True)
class AtLevel(RelativeDiversity):
    """A criterion on the values of a level, or on the published ones where these are coarser.

    Raises CriterionError for a level of 0 or less: finer values than the published ones are never judged.
    """

    diversity: Diversity
    level: int

    def __post_init__(self) -> None:
        if self.level < 1:
            raise CriterionError(f"a criterion on coarser values needs a level of at least 1, got {self.level}")

    def __str__(self) -> str:
        return f"{self.diversity} at level {self.level}"

    def among(self, values: SensitiveValues) -> Diversity:
        """The criterion for classes that are counted by finer values, as far as these are."""
        judged = values.coarsened(max(self.level, values.level))
        criterion = self.diversity.among(judged)
        if judged.level == values.level:
            return criterion
        above = tuple(values.hierarchy.lift(values.level, judged.level).tolist())
        return Coarsened(criterion, above, values.hierarchy.labels[judged.level])

    def stated_among(self, values: SensitiveValues) -> "AtLevel":
        """With the labels of the coarser values."""
        judged = values.coarsened(max(self.level, values.level))
        return replace(self, diversity=self.diversity.stated_among(judged))

    @property
    def facts(self) -> int:
        """As many as by the values themselves."""
        return self.diversity.facts

    def meaning(self) -> str:
        """What holds of the coarser values."""
        return f"{self.diversity.meaning()}, values being those of level {self.level}"

    def reached_in_words(self, value: float) -> str:
        """What a class reaches by the coarser values."""
        return self.diversity.reached_in_words(value)


@dataclass(frozen=True)
class Coarsened(Diversity):
    """A criterion on sums of a class's columns. above: for each column which sum it is part of. labels: of the sums.

    Merging classes adds up their sums too, so what merging keeps of the criterion it keeps of this.
    """

    diversity: Diversity
    above: tuple[int, ...]
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return str(self.diversity)

    @cached_property
    def _sums(self) -> FloatArray:
        sums = np.zeros((len(self.above), len(self.labels)))
        sums[np.arange(len(self.above)), list(self.above)] = 1
        return sums

    def sums(self, vectors: Vectors) -> NDArray[Any]:
        """The classes by coarser values: shape (classes, labels)."""
        return np.asarray(vectors @ self._sums)

    def slack(self, vectors: Vectors) -> FloatArray:
        """That of the sums."""
        return self.diversity.slack(self.sums(vectors))

    def reached(self, vectors: Vectors) -> FloatArray:
        """That of the sums."""
        return self.diversity.reached(self.sums(vectors))

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """That of the sums, exactly."""
        exact = [Fraction(0)] * len(self.labels)
        for place, part in zip(self.above, vector):
            exact[place] += part
        return self.diversity.decide(exact)

    def scaled(self, factor: Fraction) -> "Coarsened | None":
        """The criterion itself scaled."""
        scaled = self.diversity.scaled(factor)
        return None if scaled is None else replace(self, diversity=scaled)

    @property
    def facts(self) -> int:
        """As many as by the values themselves."""
        return self.diversity.facts
