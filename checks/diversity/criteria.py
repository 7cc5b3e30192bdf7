"""Diversity criteria about a class by itself: how many values it has, and how evenly its rows are distributed.

Each is a class with the base `Diversity`; its text, such as `entropy:6`, is in `registry`.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import comb, log
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criterion import Diversity, SensitiveValues, ShareBound, Vectors, entropy_is_at_least
from checks.diversity.cuts import (
    ROUNDING,
    Cases,
    EntropyCases,
    GroupCases,
    RatioBounds,
    TrimmedCases,
    empty_tails,
    light_tails,
    subsets,
    too_rare,
)
from checks.diversity.text import MAY_EQUAL, Grammar, Number, spelled
from checks.errors import CriterionError
from models.arrays import FloatArray, IndexArray, effective_values, effective_values_of_products, read_only, x_log_x
from models.frozen import frozen
from models.tables.hierarchy import Hierarchy

MAX_CASES = 40_000
"""Most cases that distinguish the sets of values of a tail or a group; beyond it the sets are left open."""

AT_LEAST_ONE = Number("l", 1, is_closed=True)
WHOLE_AT_LEAST_ONE = Number("l", 1, is_closed=True, is_whole=True)

_NO_BOUND = ShareBound(Fraction(0), 0, Fraction(1), strict=False)
"""Bound that every class satisfies."""


class _AtLeast(Diversity):
    """Criterion that demands to reach at least its first parameter, which is at least 1 unless it says otherwise."""

    def scaled(self, factor: Fraction) -> Self | None:
        name, least = next(iter(vars(self).items()))
        return replace(self, **{name: max(least * factor, Fraction(1))})  # type: ignore[type-var]

    def slack(self, vectors: Vectors) -> FloatArray:
        least: Fraction = next(iter(vars(self).values()))
        return np.asarray(self.reached(vectors) / float(least) - 1, dtype=np.float64)


# Functional (tau, l)-diversity: a line bounds the share of a class that the k most frequent values hold (TZ09, TZ11).
#
# With F(k) the share of the k most frequent base values, a class passes when F(k) <= psi(k) for every k, where psi
# rises linearly from psi(1) = tau to psi(l) = 1 and stays there (TZ09 Def. 4). Sensitive values may be published
# generalized: a general value then counts for the base values under it, in proportion to their weights (Def. 2).


@frozen
class Induction:
    """Meaning of published sensitive values for base values: l(v, a) of TZ09 Def. 2.

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
        """Return the induction of published values, given as pairs of level and code, in the order of the columns that
        count them.

        weights: of the base values, their frequency as an adversary may know it; by default 1 each. If all base values
        under a published one have weight 0, the data contradict that knowledge, and each is equally likely.
        """
        size = hierarchy.size(0)
        masses_of = [Fraction(1)] * size if weights is None else [Fraction(weight) for weight in weights]
        if len(masses_of) != size or min(masses_of) < 0:
            raise CriterionError(f"{size} base values need as many weights that are not negative")
        rows = []
        for level, code in values:
            under = np.flatnonzero(hierarchy.lift(0, level) == code).tolist()
            masses = {value: masses_of[value] for value in under if masses_of[value]} or dict.fromkeys(
                under, Fraction(1)
            )
            total = sum(masses.values())
            # Most of thousands of base values have no share, and a plain 0 is a hundred times faster than a fraction.
            row: list[Fraction | int] = [0] * size
            for value, mass in masses.items():
                row[value] = 1 if mass == total else mass / total
            rows.append(tuple(row))
        return cls(tuple(rows))

    @classmethod
    def at_level(cls, hierarchy: Hierarchy, level: int, weights: Sequence[Fraction | int] | None = None) -> "Induction":
        """Return the induction of all values of one level of a hierarchy, in the order of their codes."""
        return cls.of_values(hierarchy, [(level, code) for code in range(hierarchy.size(level))], weights)

    @cached_property
    def matrix(self) -> FloatArray:
        """Shares as floats: shape (published values, base values)."""
        return read_only(np.array(self.shares, dtype=np.float64))

    def exactly(self, vector: Sequence[Fraction | int]) -> list[Fraction]:
        """Return rows by base value for rows by published value, as fractions."""
        rows = ((v * share for v, share in zip(vector, column) if v) for column in zip(*self.shares))
        return [sum(parts, Fraction(0)) for parts in rows]


@frozen
class Functional(Diversity):
    """Functional (tau, l)-diversity: F(k) <= psi(k) for every k, with the linear psi (TZ09 Def. 4).

    Reached: the smallest tau that passes at this l. induction: for classes counted by published values; without it
    columns are base values. scale: of psi below l.
    """

    tau: Fraction
    l: int
    induction: Induction | None = None
    scale: Fraction = Fraction(1)
    name: ClassVar[str] = "functional"
    grammar = Grammar((Number("tau", 0, 1), Number("l", 2, is_closed=True, is_whole=True)))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale <= 0:
            raise CriterionError(f"psi is scaled by a positive factor, not {spelled(self.scale)}")

    def __str__(self) -> str:
        # Only the plain criterion has a text that can be read back; a scaled one must differ from it.
        return super().__str__() + ("" if self.scale == 1 else f" scaled by {spelled(self.scale)}")

    @property
    def about_base_values(self) -> bool:
        """True if base values are judged; they are."""
        return True

    def bound(self, k: int) -> Fraction:
        """Return psi(k), scaled below l."""
        return Fraction(1) if k >= self.l else self.scale * (self.tau + (1 - self.tau) * Fraction(k - 1, self.l - 1))

    def bounds(self, size: int) -> FloatArray:
        """Return psi(1), ..., psi(size)."""
        return np.array([float(self.bound(k)) for k in range(1, size + 1)])

    def frequencies(self, vectors: NDArray[Any]) -> FloatArray:
        """Return the (induced) frequency of each base value in each class: shape (classes, base values) (TZ09 Def. 2)."""
        masses = vectors if self.induction is None else vectors @ self.induction.matrix
        return np.asarray(masses / vectors.sum(axis=1, keepdims=True), dtype=np.float64)

    def cumulative(self, vectors: NDArray[Any]) -> FloatArray:
        """Return F(1), F(2), ...: shares of the k most frequent base values, shape (classes, base values) (TZ09 Def. 3)."""
        return np.asarray(np.cumsum(-np.sort(-self.frequencies(vectors), axis=1), axis=1), dtype=np.float64)

    def slack(self, vectors: NDArray[Any]) -> FloatArray:
        """Return the slack relative to psi(k), at the k where it is smallest."""
        shares = self.cumulative(vectors)[:, : self.l - 1]
        return np.asarray((self.bounds(shares.shape[1]) / shares).min(axis=1) - 1, dtype=np.float64)

    def reached(self, vectors: NDArray[Any]) -> FloatArray:
        """Return the smallest tau at which the class would pass; 1 if there are fewer than l values."""
        shares = self.cumulative(vectors)[:, : self.l - 1] / float(self.scale)
        step = np.arange(shares.shape[1]) / (self.l - 1)
        return np.asarray(((shares - step) / (1 - step)).max(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class."""
        masses = sorted(vector if self.induction is None else self.induction.exactly(vector), reverse=True)
        total = sum(masses)
        held = Fraction(0)
        for k, mass in enumerate(masses[: self.l - 1], 1):
            held += mass
            if held > self.bound(k) * total:
                return False
        return True

    def scaled(self, factor: Fraction) -> "Functional":
        """Return the criterion with psi divided by the factor below l."""
        return replace(self, scale=self.scale / factor)

    def among(self, values: SensitiveValues) -> "Functional":
        """Return the criterion with equally likely base values under each published one, unless it has its own induction."""
        if self.induction is not None or not values.level:
            return self
        return replace(self, induction=Induction.at_level(values.hierarchy, values.level))

    def violations(self, bounds: RatioBounds) -> list[Cases] | None:
        """Return cases for every k < l: the k values that may be most frequent, and the most frequent one as the head.

        None if published values stand for several base values.
        """
        if self.induction is not None:
            return None
        values, heads, sizes = bounds.value_count, bounds.leading(), range(1, min(self.l - 1, bounds.value_count) + 1)
        if sum(comb(values, k) for k in sizes) * len(heads) > MAX_CASES:
            return self._largest_groups(heads, bounds)
        taken = np.concatenate([np.eye(values, dtype=bool)[subsets(values, k)].any(axis=1) for k in sizes])
        # If a value is among them, so is each one that is always more frequent.
        taken = taken[~(taken @ (bounds.floor > ROUNDING).T & ~taken).any(axis=1)]
        head, row = np.nonzero(taken.T[heads])
        chosen, group = heads[head], taken[row].T
        balance = self.bounds(values)[group.sum(axis=0) - 1] - group
        violable = (balance < 0).any(axis=0)
        chosen, balance = chosen[violable], balance[:, violable]
        highest = np.minimum(bounds.ceiling[:, chosen], 0)
        return [GroupCases.of(chosen, balance, np.minimum(bounds.floor[:, chosen], highest), highest)]

    def _largest_groups(self, heads: IndexArray, bounds: RatioBounds) -> list[Cases]:
        """Return cases in which the k most frequent values weigh at most k times the head; the values are left open."""
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


def excessive_protections(requirement: Functional, vectors: NDArray[Any]) -> FloatArray:
    """Return how far each class lies below psi: e(E), the sum of `|psi(k) - F(k)|` over all base values (TZ09 Def. 8)."""
    shares = requirement.cumulative(vectors)
    return np.asarray(np.abs(requirement.bounds(shares.shape[1]) - shares).sum(axis=1), dtype=np.float64)


def excessive_protection(requirement: Functional, vectors: NDArray[Any]) -> float:
    """Return e(P), the excessive protection of the class that has least of it (TZ09 Def. 8); 0 if there is no class."""
    return float(excessive_protections(requirement, vectors).min()) if len(vectors) else 0.0


@frozen
class Recursive(Diversity):
    """Recursive (c, l)-diversity: the most frequent value is less frequent than c times the tail (MKGV07 Defs. 4.2 and
    4.3).

    The tail of a value is the sum over the others without the l - 2 most frequent of them. Values of the don't-care
    set Y, given by their codes, may be disclosed, so the most frequent value outside Y decides. If `strict` is False,
    the head may equal c times the tail (KG06 Def. 2.5). 1-diversity always holds. A text in the form of KG06 with l =
    1 and c < 1 is refused, because it is `simple:1/c`. Reached: the smallest c at which the class would pass, or
    infinite.
    """

    c: Fraction
    l: int
    strict: bool = True
    dont_care: frozenset[int] = frozenset()
    name: ClassVar[str] = "recursive"
    grammar = Grammar((Number("c", 0), WHOLE_AT_LEAST_ONE), (MAY_EQUAL,))

    def __str__(self) -> str:
        # Codes say nothing to a reader, so this text cannot be read back; it must differ from the plain one.
        return f"pd-{super().__str__()} without {sorted(self.dont_care)}" if self.dont_care else super().__str__()

    def share_bound(self) -> ShareBound | None:
        """Return the bound: 1/c of the largest share is less than the rest after the l - 1 largest ones.

        None with a don't-care set: its values may fill a class, so that shares of the others say nothing.
        """
        if self.l == 1:
            return _NO_BOUND
        return None if self.dont_care else ShareBound(1 / Fraction(self.c), self.l - 1, Fraction(1), self.strict)

    def tail_size(self, values: int) -> int:
        """Return how many of the `values` columns the tail adds up."""
        return max(values - self.l + 1, 0)

    def heads(self, values: int) -> list[int]:
        """Return the codes that may not be too frequent; none for l = 1."""
        return [value for value in range(values) if value not in self.dont_care] if self.l > 1 else []

    def slack(self, vectors: Vectors) -> FloatArray:
        """Return the slack relative to c."""
        with np.errstate(divide="ignore"):
            return np.asarray(float(self.c) / self.reached(vectors) - 1, dtype=np.float64)

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return head over tail."""
        values = vectors.shape[1]
        heads = self.heads(values)
        if not heads:
            return np.zeros(len(vectors))
        others = np.array(vectors, dtype=np.float64)
        place = np.asarray(heads)[others[:, heads].argmax(axis=1)]
        rows = np.arange(len(others))
        head = others[rows, place]
        others[rows, place] = np.inf
        tail = np.sort(others, axis=1)[:, : self.tail_size(values)].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(head > 0, head / tail, 0.0), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class."""
        if not (heads := self.heads(len(vector))):
            return True
        others = list(vector)
        head = others.pop(max(heads, key=others.__getitem__))
        most = self.c * sum(sorted(others)[: self.tail_size(len(vector))])
        return head == 0 or head < most or (not self.strict and head == most)

    def scaled(self, factor: Fraction) -> "Recursive":
        """Return the criterion with c divided by the factor."""
        return replace(self, c=self.c / factor)

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """Return cases in which the tail of a value outside the don't-care set weighs at most 1/c times that value.

        There is one for each head and each possible set of values of its tail. If there are too many sets, there is
        one for each head.
        """
        values, floor, possible = bounds.value_count, bounds.floor, bounds.possible()
        size, careful, theta = self.tail_size(values), self.heads(values), 1 / float(self.c)
        heads = np.array(
            [h for h in careful if possible[h] and not (floor[careful, h] > ROUNDING).any()], dtype=np.intp
        )
        if not len(heads):
            return []
        if size == 0:
            return [empty_tails(heads, values)]
        if len(heads) * comb(values - 1, size) > MAX_CASES:
            highest = np.minimum(bounds.ceiling[:, heads], 1e3)
            return [TrimmedCases(heads, bounds.others(heads), theta, values - 1 - size, highest)]
        # A value that exceeds theta by itself cannot be in the tail of a violation.
        is_light = (floor[:, heads] <= log(theta) + ROUNDING) & bounds.others(heads)
        tails = [light[subsets(len(light), size)] for light in map(np.flatnonzero, is_light.T)]
        chosen = np.repeat(heads, list(map(len, tails)))
        support = np.zeros((values, len(chosen)), dtype=bool)
        support[np.concatenate(tails).T, np.arange(len(chosen))] = True
        return [light_tails(chosen, support, np.full(len(chosen), theta))]


# Entropy l-diversity where some sensitive values may be disclosed: the don't-care set (MKGV07 Defs. 4.5, Algorithm 1).
#
# More rows with a don't-care value are no greater risk, so their counts may be lowered before the entropy is taken.
# The adjusted entropy is the largest that lowering can reach. At the optimum the smallest don't-care counts stay as
# they are (they are *fixed*), and the remaining k are lowered to e^M, M the log-entropic mean of the fixed counts
# (Theorem 4.1). With H the entropy of the fixed counts, exp of the adjusted entropy is then exp(H) + k.


@frozen
class DontCareEntropy(_AtLeast):
    """Adjusted entropy is at least ln l (MKGV07 Def. 4.5). Reached: exp of the adjusted entropy.

    dont_care: the codes of the values that may be disclosed. A class with only these reaches infinity (Def. 4.3).
    """

    l: Fraction
    dont_care: frozenset[int]
    name: ClassVar[str] = "dont-care-entropy"
    grammar = Grammar((AT_LEAST_ONE,))

    def reached(self, vectors: NDArray[Any]) -> FloatArray:
        """Return the effective number of equally likely values once don't-care counts are lowered."""
        free = np.isin(np.arange(vectors.shape[1]), sorted(self.dont_care))
        sensitive = vectors[:, ~free]
        return np.where(sensitive.any(axis=1), _effective_values(vectors[:, free], sensitive), np.inf)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class.

        A don't-care count n is fixed iff ln n < M. Then the entropy of the counts fixed so far, W rows, is below ln(W
        / n).
        """
        fixed = [v for code, v in enumerate(vector) if v > 0 and code not in self.dont_care]
        if not fixed:
            return True
        lowered = sorted((v for code, v in enumerate(vector) if v > 0 and code in self.dont_care), reverse=True)
        while lowered and not entropy_is_at_least(fixed, Fraction(sum(fixed)) / lowered[-1]):
            fixed.append(lowered.pop())
        still_needed = self.l - len(lowered)
        return still_needed <= 1 or entropy_is_at_least(fixed, still_needed)


def _effective_values(dont_care: NDArray[Any], sensitive: NDArray[Any]) -> FloatArray:
    """Return exp of the adjusted entropy of each class that has sensitive rows. Both: shape (classes, values)."""
    limits = np.sort(np.asarray(dont_care, dtype=np.float64), axis=1)
    # The sums once the smallest 0, 1, ... don't-care counts are fixed, too.
    mass = np.cumsum(np.column_stack((sensitive.sum(axis=1), limits)), axis=1)
    log_mean = np.cumsum(np.column_stack((x_log_x(sensitive).sum(axis=1), x_log_x(limits))), axis=1)
    np.divide(log_mean, mass, out=log_mean, where=mass > 0)
    with np.errstate(divide="ignore"):
        fixed = np.count_nonzero(np.log(limits) < log_mean[:, :-1], axis=1)
    rows = np.arange(len(limits))
    return np.asarray(mass[rows, fixed] * np.exp(-log_mean[rows, fixed]) + (limits.shape[1] - fixed), dtype=np.float64)


@frozen
class Simple(_AtLeast):
    """Simple l-diversity: no sensitive value has a share above 1/l. Reached: 1 / largest share."""

    l: Fraction
    name: ClassVar[str] = "simple"
    grammar = Grammar((AT_LEAST_ONE,))

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return 1 / largest share."""
        return np.asarray(vectors.sum(axis=1) / vectors.max(axis=1), dtype=np.float64)

    def share_bound(self) -> ShareBound:
        """Return the bound: the largest share is at most 1/l."""
        return _NO_BOUND if self.l <= 1 else ShareBound(Fraction(0), 1, Fraction(1) / self.l, strict=False)


@frozen
class Entropy(_AtLeast):
    """Entropy l-diversity: the entropy of the sensitive values is at least ln l (MKGV07 Def. 4.1). Reached: its exp."""

    l: Fraction
    name: ClassVar[str] = "entropy"
    grammar = Grammar((AT_LEAST_ONE,))

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return the effective number of equally likely values."""
        return effective_values(np.asarray(vectors, dtype=np.float64))

    def slack_of_products(self, first: Vectors, second: Vectors) -> FloatArray:
        """Return the slack relative to l."""
        slack = effective_values_of_products(first, second)
        slack /= float(self.l)
        slack -= 1
        return slack

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class."""
        return entropy_is_at_least(vector, self.l)

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """Return cases in which the entropy is at most ln l, under a most frequent value."""
        if self.l <= 1:
            return []
        heads = bounds.leading()
        highest = np.minimum(bounds.ceiling[:, heads], 0)
        lowest = np.minimum(bounds.floor[:, heads], highest)
        return [EntropyCases(heads, bounds.others(heads), float(self.l), lowest, highest)]


@frozen
class Distinct(Diversity):
    """Distinct l-diversity: at least l different sensitive values. Reached: their number."""

    l: int
    name: ClassVar[str] = "distinct"
    grammar = Grammar((WHOLE_AT_LEAST_ONE,))

    def slack(self, vectors: Vectors) -> FloatArray:
        """Return the slack, never near 0: a half is added to the whole number of values."""
        return np.asarray((self.reached(vectors) - self.l + 0.5) / self.l, dtype=np.float64)

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return the number of values with a positive share."""
        return np.asarray(np.count_nonzero(vectors, axis=1), dtype=np.float64)

    def share_bound(self) -> ShareBound:
        """Return the bound: all but l - 1 values have some share."""
        return ShareBound(Fraction(0), self.l - 1, Fraction(1), strict=True)


@frozen
class NegativeDisclosure(_AtLeast):
    """Every protected value has a share of at least `percent` percent (the second half of MKGV07 Def. 4.4).

    protected: codes of the values whose absence may not be learnt. Reached: the smallest of their shares, in percent.
    """

    percent: Fraction
    protected: frozenset[int]

    def __post_init__(self) -> None:
        if not 0 < self.percent < 100 or not self.protected:
            raise CriterionError("negative disclosure needs a percentage between 0 and 100, and values to protect")

    def __str__(self) -> str:
        return f"negative-disclosure:{spelled(self.percent)} of {sorted(self.protected)}"

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return the smallest share of a protected value, in percent."""
        smallest = vectors[:, sorted(self.protected)].min(axis=1)
        return np.asarray(100 * smallest / vectors.sum(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class."""
        return 100 * min(vector[value] for value in self.protected) >= self.percent * sum(vector)

    def scaled(self, factor: Fraction) -> "NegativeDisclosure | None":
        """Return the criterion with factor times the percentage; None for 100 or more."""
        percent = self.percent * factor
        return NegativeDisclosure(percent, self.protected) if percent < 100 else None

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """Return cases in which a protected value is rarer than percent."""
        return [too_rare(bounds, dict.fromkeys(self.protected, self.percent / 100))]


@frozen
class NpdRecursive(Diversity):
    """Recursive (c, l)-diversity with a don't-care set, and no negative disclosure of the protected values (Def. 4.4).

    Reached: by the half that is nearer to failing.
    """

    positive: Recursive
    negative: NegativeDisclosure

    def __str__(self) -> str:
        return f"npd: {self.positive}, {self.negative}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """Return the smaller slack."""
        return np.minimum(self.positive.slack(vectors), self.negative.slack(vectors))

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return the value that the half with the smaller slack reaches."""
        nearer = self.positive.slack(vectors) <= self.negative.slack(vectors)
        return np.where(nearer, self.positive.reached(vectors), self.negative.reached(vectors))

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class."""
        return self.positive.decide(vector) and self.negative.decide(vector)

    def scaled(self, factor: Fraction) -> "NpdRecursive | None":
        """Return both halves scaled; None if the second cannot be."""
        negative = self.negative.scaled(factor)
        return None if negative is None else NpdRecursive(self.positive.scaled(factor), negative)

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """Return the violations of both halves."""
        return [*self.positive.violations(bounds), *self.negative.violations(bounds)]
