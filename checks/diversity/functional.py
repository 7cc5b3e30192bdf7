"""Functional (tau, l)-diversity: a line bounds how much of a class the k most frequent values may hold (TZ09, TZ11).

With F(k) the share of the k most frequent base values, a class passes when F(k) <= psi(k) for every k, where psi rises
linearly from psi(1) = tau to psi(l) = 1 and stays there (TZ09 Def. 4). Sensitive values may be published generalized:
a general value then counts for the base values under it, in proportion to their weights (Def. 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criterion import Diversity
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.diversity.spelling import numbers, spelled
from checks.diversity.violations.cases import ROUNDING, Cases, RatioBounds
from checks.diversity.violations.group_cases import GroupCases, most_frequent
from checks.diversity.violations.tail_cases import TrimmedCases, empty_tails
from checks.errors import CriterionError
from models.arrays import FloatArray, IndexArray, read_only
from models.tables.hierarchy import Hierarchy


@dataclass(frozen=True)
class Induction:
    """What published sensitive values say about base values: l(v, a) of TZ09 Def. 2.

    shares[v][a]: the share of a row with the published value v that counts for the base value a; each row sums to 1.
    """

    shares: tuple[tuple[Fraction | int, ...], ...]

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
        exact_weights = [Fraction(1)] * size if weights is None else [Fraction(w) for w in weights]
        if len(exact_weights) != size or min(exact_weights) < 0:
            raise CriterionError(f"{size} base values need as many weights that are not negative")
        above = {level: hierarchy.lift(0, level) for level in {level for level, _ in values}}
        rows = []
        for level, code in values:
            under = np.flatnonzero(above[level] == code).tolist()
            masses = [exact_weights[value] for value in under]
            if not any(masses):
                masses = [Fraction(1)] * len(under)
            total = sum(masses)
            # Of thousands of base values most have no share: a plain 0 or 1 is a hundred times quicker than a fraction.
            row: list[Fraction | int] = [0] * size
            for value, mass in zip(under, masses):
                row[value] = int(mass / total) if mass in (0, total) else mass / total
            rows.append(tuple(row))
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
        positive = [[share for share in row if share] for row in self.shares]
        evenly = all(len(set(shares)) == 1 for shares in positive)
        apart = all(sum(share > 0 for share in column) <= 1 for column in zip(*self.shares))
        return read_only(np.array([len(shares) for shares in positive], dtype=np.intp)) if evenly and apart else None

    def exactly(self, vector: Sequence[Fraction | int]) -> list[Fraction]:
        """Rows by base value for rows by published value, as fractions."""
        return [
            sum((Fraction(v) * share for v, share in zip(vector, column) if v), Fraction(0))
            for column in zip(*self.shares)
        ]


@dataclass(frozen=True)
class Functional(Diversity):
    """F(k) <= psi(k) for every k, with the linear psi (TZ09 Def. 4). Reached: the smallest tau that passes at this l.

    induction: for classes counted by published values; without it columns are base values. scale: of psi below l, other
    than 1 for the criterion that a given class just satisfies. odds: of evidence that it must bear (`under_odds`).
    """

    tau: Fraction
    l: int
    induction: Induction | None = None
    scale: Fraction = Fraction(1)
    odds: Fraction = Fraction(1)
    name: ClassVar[str] = "functional"
    parameters: ClassVar[str] = "tau,l"
    about_base_values: ClassVar[bool] = True

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
        text = text if self.odds == 1 else f"{text} against {spelled(self.odds)}"
        return text if self.scale == 1 else f"{text} scaled by {spelled(self.scale)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `tau,l`, l a whole number."""
        match numbers(text):
            case [tau, l] if l.denominator == 1:
                return cls(tau, int(l))
        return None

    def bound(self, k: int) -> Fraction:
        """psi(k), scaled below l."""
        if k >= self.l:
            return Fraction(1)
        psi = self.tau + (1 - self.tau) * Fraction(k - 1, self.l - 1)
        # The k most frequent values weigh odds times as much, all others as they do.
        return self.scale * psi / (psi + self.odds * (1 - psi))

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

    def scaled(self, factor: Fraction) -> "Functional":
        """With psi divided by the factor below l."""
        return replace(self, scale=self.scale / factor)

    def at_odds(self, odds: Fraction) -> "Functional":
        """With a lower psi; evidence is about base values."""
        return replace(self, odds=self.odds * odds)

    def odds_borne(self, vectors: NDArray[Any]) -> FloatArray:
        """The smallest ratio of F / (1 - F) at psi(k) and at F(k)."""
        shares = self.cumulative(vectors)[:, : self.l - 1]
        bounds = self.bounds(shares.shape[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(bounds >= 1, np.inf, bounds / (1 - bounds) * (1 - shares) / shares)
        return np.asarray(ratios.min(axis=1, initial=np.inf), dtype=np.float64)

    def among(self, values: SensitiveValues) -> "Functional":
        """With the base values under each published one equally likely, unless it says already what these are."""
        if self.induction is not None or not values.level:
            return self
        return replace(self, induction=Induction.at_level(values.hierarchy, values.level))

    def violations(self, bounds: RatioBounds) -> list[Cases] | None:
        """For every k < l the k base values that may be the most frequent ones, and the value that is so under the head.

        None where published values do not share their rows evenly among base values of their own, or where there are too
        many such groups and base values are not what is published.
        """
        floor, ceiling = bounds.floor, bounds.ceiling
        leaves = np.ones(len(floor), dtype=np.intp) if self.induction is None else self.induction.leaves
        if leaves is None:
            return None
        # Log-ratios by base value: that of s to h is x_s - ln leaves_s less the same of h.
        offset = np.log(leaves)[:, None] - np.log(leaves)
        above = floor - offset > ROUNDING
        heads = np.flatnonzero(bounds.possible() & ~above.any(axis=0))
        taken = most_frequent(tuple(leaves.tolist()), self.l - 1, bounds.most_cases // max(len(heads), 1))
        if taken is None:
            return None if leaves.max() > 1 else self._largest_groups(heads, bounds)
        # A base value that is always more frequent is among them where the other is.
        taken = taken[~((taken > 0) @ above.T & (taken < leaves)).any(axis=1)]
        head, row = np.nonzero(taken.T[heads] > 0)
        chosen, taken = heads[head], taken[row].T
        psi = self.bounds(int(leaves.sum()))[taken.sum(axis=0) - 1]
        balance = psi - taken / leaves[:, None]
        violable = (balance < 0).any(axis=0)
        chosen, balance = chosen[violable], balance[:, violable]
        highest = np.minimum(ceiling[:, chosen], offset[:, chosen])
        return [GroupCases.of(chosen, balance, np.minimum(floor[:, chosen], highest), highest)]

    def _largest_groups(self, heads: IndexArray, bounds: RatioBounds) -> list[Cases]:
        """The k most frequent values weigh at most k times the head; which ones is left open."""
        values = bounds.value_count
        if values < self.l and self.bound(values) < 1:
            # All values together hold more than they may.
            return [empty_tails(heads, values)]
        highest = np.minimum(bounds.ceiling[:, heads], 0)
        return [
            TrimmedCases(heads, bounds.others(heads), k * float(1 / self.bound(k) - 1), k - 1, highest)
            for k in range(1, self.l)
            if k < values and self.bound(k) < 1
        ]

    @property
    def facts(self) -> int:
        """L - 1."""
        return self.l - 1

    def meaning(self) -> str:
        """The ends of the line."""
        return (
            f"the most probable sensitive value has a probability of at most {spelled(self.tau)}, and at least {self.l} "
            "sensitive values remain possible"
        )

    def reached_in_words(self, value: float) -> str:
        """The smallest tau."""
        return f"This class satisfies it with tau = {value:.3g} or more; {spelled(self.tau)} is claimed"


def excessive_protections(requirement: Functional, vectors: NDArray[Any]) -> FloatArray:
    """How far each class lies below psi: e(E), the sum of `|psi(k) - F(k)|` over all base values (TZ09 Def. 8)."""
    shares = requirement.cumulative(vectors)
    return np.asarray(np.abs(requirement.bounds(shares.shape[1]) - shares).sum(axis=1), dtype=np.float64)


def excessive_protection(requirement: Functional, vectors: NDArray[Any]) -> float:
    """e(P), that of the class that is protected least beyond need (TZ09 Def. 8); 0 for no class at all."""
    return float(excessive_protections(requirement, vectors).min(initial=np.inf)) if len(vectors) else 0.0
