"""Bounds on the share of each sensitive value: what several criteria come to once the values are known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from checks.diversity.criterion import Diversity, Vectors
from checks.diversity.spelling import spelled
from checks.diversity.violations.cases import Cases, RatioBounds
from checks.diversity.violations.tail_cases import TailCases, empty_tails, too_rare
from checks.errors import CriterionError
from models.arrays import FloatArray


@dataclass(frozen=True)
class ShareRange(Diversity):
    """Each value has a share between two bounds, in every class.

    lower, upper: for each value in the order of the columns; 0 and 1 or more where nothing is demanded. Merging keeps it:
    the shares of a merged class are means of those of its parts. Reached: the factor by which the share that comes nearest
    to its bound, or is furthest beyond it, is within that bound; below 1 where it is beyond. Infinite without bounds.
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.lower) != len(self.upper) or not all(0 <= share < 1 for share in self.lower):
            raise CriterionError("each value needs a lower bound from 0 to below 1, and an upper bound")
        if any(share < 0 for share in self.upper):
            raise CriterionError("an upper bound of a share is not negative")

    @classmethod
    def of(
        cls, value_count: int, lower: Mapping[int, Fraction] | None = None, upper: Mapping[int, Fraction] | None = None
    ) -> "ShareRange":
        """Bounds on some of so many values, given by their codes."""
        least, most = lower or {}, upper or {}
        codes = range(value_count)
        return cls(
            tuple(least.get(code, Fraction(0)) for code in codes), tuple(most.get(code, Fraction(1)) for code in codes)
        )

    def __str__(self) -> str:
        bounds = (f"{spelled(low)} to {spelled(min(high, Fraction(1)))}" for low, high in zip(self.lower, self.upper))
        return f"shares of {', '.join(bounds)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """The factor less 1."""
        return self.reached(vectors) - 1

    def reached(self, vectors: Vectors) -> FloatArray:
        """The smallest of bound / share over the upper bounds and of share / bound over the lower ones."""
        shares = np.asarray(vectors / vectors.sum(axis=1, keepdims=True), dtype=np.float64)
        high = np.array([float(bound) if bound < 1 else np.inf for bound in self.upper])
        low = np.array(list(map(float, self.lower)))
        with np.errstate(divide="ignore", invalid="ignore"):
            within_upper = np.where(shares > 0, high / shares, np.inf)
            within_lower = np.where(low > 0, shares / low, np.inf)
        return np.asarray(np.minimum(within_upper, within_lower).min(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        total = sum(vector)
        return all(low * total <= v <= high * total for v, low, high in zip(vector, self.lower, self.upper))

    def scaled(self, factor: Fraction) -> "ShareRange | None":
        """With upper bounds divided and lower ones multiplied by the factor; None where one is 1 or more then."""
        lower = tuple(share * factor for share in self.lower)
        return None if any(share >= 1 for share in lower) else ShareRange(lower, tuple(s / factor for s in self.upper))

    def at_odds(self, odds: Fraction) -> "ShareRange":
        """A value, or all others, weigh odds times as much."""
        lower = tuple(share * odds / (1 + share * (odds - 1)) for share in self.lower)
        upper = tuple(share / (share + odds * (1 - share)) if share < 1 else share for share in self.upper)
        return ShareRange(lower, upper)

    def odds_borne(self, vectors: Vectors) -> FloatArray:
        """The smallest ratio of v / (1 - v) at a bound and at the share, or the other way round for lower bounds."""
        shares = np.asarray(vectors / vectors.sum(axis=1, keepdims=True), dtype=np.float64)
        high, low = np.array(list(map(float, self.upper))), np.array(list(map(float, self.lower)))
        with np.errstate(divide="ignore", invalid="ignore"):
            own = shares / (1 - shares)
            above = np.where((high >= 1) | (shares == 0), np.inf, high / (1 - high) / own)
            below = np.where(low == 0, np.inf, own * (1 - low) / low)
        return np.asarray(np.minimum(above, below).min(axis=1), dtype=np.float64)

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """A value is too frequent: all others together are too light beside it. Or one is too rare."""
        possible = bounds.possible()
        bounded = [code for code, share in enumerate(self.upper) if share < 1 and possible[code]]
        heads = np.array([code for code in bounded if self.upper[code] > 0], dtype=np.intp)
        absent = np.array([code for code in bounded if self.upper[code] == 0], dtype=np.intp)
        cases: list[Cases] = [empty_tails(absent, bounds.value_count)] if len(absent) else []
        if len(heads):
            theta = np.array([float(1 / self.upper[head] - 1) for head in heads.tolist()])
            cases.append(TailCases(heads, bounds.others(heads), np.maximum(theta, 1e-300)))
        least = {code: share for code, share in enumerate(self.lower) if share > 0}
        return [*cases, *([too_rare(bounds, least)] if least else [])]
