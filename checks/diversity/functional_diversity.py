"""Functional (tau, l)-diversity: a line bounds how much of a class the k most frequent values may hold (TZ09, TZ11).

With F(k) the share of the k most frequent base values, a class passes when F(k) <= psi(k) for every k, where psi rises
linearly from psi(1) = tau to psi(l) = 1 and stays there (TZ09 Def. 4). Sensitive values may be published generalized:
a general value then counts for the base values under it, in proportion to their weights (Def. 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from checks.diversity.spelling import spelled
from checks.errors import CriterionError
from models.arrays import FloatArray, IndexArray, read_only
from models.tables.hierarchy import Hierarchy


@dataclass(frozen=True)
class Induction:
    """What published sensitive values say about base values: l(v, a) of TZ09 Def. 2.

    shares[v][a]: the share of a row with the published value v that counts for the base value a; each row sums to 1.
    """

    shares: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        if len({len(row) for row in self.shares}) != 1:
            raise CriterionError("every published value needs a share for each base value")
        if any(sum(row) != 1 or min(row) < 0 for row in self.shares):
            raise CriterionError("the shares of a published value must be nonnegative and sum to 1")

    @classmethod
    def of_values(
        cls, hierarchy: Hierarchy, values: Sequence[tuple[int, int]], weights: Sequence[Fraction | int] | None = None
    ) -> "Induction":
        """For published values given as pairs of level and code, in the order of the columns that will count them.

        weights: of the base values, what an adversary may know of their frequency; by default 1 each. Where all base
        values under a published one have weight 0, the data contradict that knowledge, and each is as likely.
        """
        size = hierarchy.size(0)
        given = [Fraction(1)] * size if weights is None else [Fraction(w) for w in weights]
        if len(given) != size or min(given) < 0:
            raise CriterionError(f"{size} base values need as many weights that are not negative")
        rows = []
        for level, code in values:
            under = [value == code for value in hierarchy.lift(0, level).tolist()]
            masses = [w if held else Fraction(0) for w, held in zip(given, under)]
            if not any(masses):
                masses = [Fraction(held) for held in under]
            total = sum(masses)
            rows.append(tuple(mass / total for mass in masses))
        return cls(tuple(rows))

    @classmethod
    def at_level(cls, hierarchy: Hierarchy, level: int, weights: Sequence[Fraction | int] | None = None) -> "Induction":
        """For all values of one level of a hierarchy, in the order of their codes."""
        return cls.of_values(hierarchy, [(level, code) for code in range(hierarchy.size(level))], weights)

    @classmethod
    def of_taxonomy(cls, hierarchy: Hierarchy, weights: Sequence[Fraction | int] | None = None) -> "Induction":
        """For the values of all levels, base values first and `*` last: what classes of local recoding may hold."""
        values = [(level, code) for level in range(hierarchy.height + 1) for code in range(hierarchy.size(level))]
        return cls.of_values(hierarchy, values, weights)

    @cached_property
    def matrix(self) -> FloatArray:
        """The shares as floats: shape (published values, base values)."""
        return read_only(np.array([[float(share) for share in row] for row in self.shares]))

    @cached_property
    def leaves(self) -> IndexArray | None:
        """How many base values each published value counts for, evenly and alone, shape (values,); None where not so."""
        held = [[share for share in row if share] for row in self.shares]
        evenly = all(len(set(shares)) == 1 for shares in held)
        apart = all(sum(share > 0 for share in column) <= 1 for column in zip(*self.shares))
        return read_only(np.array([len(shares) for shares in held], dtype=np.intp)) if evenly and apart else None

    def exactly(self, vector: Sequence[Fraction | int]) -> list[Fraction]:
        """Rows by base value for rows by published value, as fractions."""
        return [
            sum((Fraction(v) * share for v, share in zip(vector, column) if v), Fraction(0))
            for column in zip(*self.shares)
        ]


@dataclass(frozen=True)
class Functional:
    """F(k) <= psi(k) for every k, with the linear psi (TZ09 Def. 4). Reached: the smallest tau that passes at this l.

    induction: for classes counted by published values; without it columns are base values. scale: of psi below l, other
    than 1 for the criterion that a given class just satisfies.
    """

    tau: Fraction
    l: int
    induction: Induction | None = None
    scale: Fraction = Fraction(1)
    name: ClassVar[str] = "functional"

    def __post_init__(self) -> None:
        if not 0 < self.tau < 1 or self.l < 2:
            raise CriterionError(
                f"functional:tau,l needs tau between 0 and 1 and l of at least 2, got {spelled(self.tau)} and {self.l}"
            )
        if self.scale <= 0:
            raise CriterionError(f"psi is scaled by a positive factor, not {spelled(self.scale)}")

    def __str__(self) -> str:
        text = f"functional:{spelled(self.tau)},{self.l}"
        # Only the plain criterion has a text that can be read back; a scaled one must not be taken for it.
        return text if self.scale == 1 else f"{text} scaled by {spelled(self.scale)}"

    def bound(self, k: int) -> Fraction:
        """psi(k), scaled below l."""
        if k >= self.l:
            return Fraction(1)
        return self.scale * (self.tau + (1 - self.tau) * Fraction(k - 1, self.l - 1))

    def bounds(self, size: int) -> FloatArray:
        """psi(1), ..., psi(size)."""
        return np.array([float(self.bound(k)) for k in range(1, size + 1)])

    def frequencies(self, vectors: NDArray[Any]) -> FloatArray:
        """The (induced) frequency of each base value in each class: shape (classes, base values) (TZ09 Def. 2)."""
        masses = vectors if self.induction is None else vectors @ self.induction.matrix
        return np.asarray(masses / vectors.sum(axis=1, keepdims=True), dtype=np.float64)

    def cumulative(self, vectors: NDArray[Any]) -> FloatArray:
        """F(1), F(2), ...: the share of the k most frequent base values, shape (classes, base values) (TZ09 Def. 3)."""
        return np.asarray(np.cumsum(-np.sort(-self.frequencies(vectors), axis=1), axis=1), dtype=np.float64)

    def slack(self, vectors: NDArray[Any]) -> FloatArray:
        """Relative to psi(k), at the k where it is smallest."""
        shares = self.cumulative(vectors)[:, : self.l - 1]
        return np.asarray((self.bounds(shares.shape[1]) / shares).min(axis=1) - 1, dtype=np.float64)

    def reached(self, vectors: NDArray[Any]) -> FloatArray:
        """The smallest tau at which the class would pass; 1 where there are fewer than l values."""
        shares = self.cumulative(vectors)[:, : self.l - 1] / float(self.scale)
        step = np.arange(shares.shape[1]) / (self.l - 1)
        return np.asarray(((shares - step) / (1 - step)).max(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        masses = sorted(vector if self.induction is None else self.induction.exactly(vector), reverse=True)
        total = sum(masses)
        held = Fraction(0)
        for k, mass in enumerate(masses[: self.l - 1], 1):
            held += mass
            if held > self.bound(k) * total:
                return False
        return True


def excessive_protections(requirement: Functional, vectors: NDArray[Any]) -> FloatArray:
    """How far each class lies below psi: e(E), the sum of `|psi(k) - F(k)|` over all base values (TZ09 Def. 8)."""
    shares = requirement.cumulative(vectors)
    return np.asarray(np.abs(requirement.bounds(shares.shape[1]) - shares).sum(axis=1), dtype=np.float64)


def excessive_protection(requirement: Functional, vectors: NDArray[Any]) -> float:
    """e(P), that of the class that is protected least beyond need (TZ09 Def. 8); 0 for no class at all."""
    return float(excessive_protections(requirement, vectors).min(initial=np.inf)) if len(vectors) else 0.0
