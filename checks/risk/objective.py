"""What the best disclosure of a record is: the three ways to weigh its loss against its utility (LSFB09 eqs. 7 to 9).

Each asks every record by itself, as the paper's feasible set of section 4 does; for the trade-off, and only for it, that
is the same as asking the means.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import numpy as np

from checks.risk.errors import DisclosureRuleError
from models.arrays import BoolArray, FloatArray


class Objective(Protocol):
    """An order of disclosures in which less loss, more utility and more disclosed steps are never worse."""

    def score(self, loss: FloatArray, utility: FloatArray, steps: FloatArray) -> FloatArray:
        """Shape (4, n): whether it is not allowed, then three costs; the lexicographically least is the best.

        steps: how many steps below `*` all values together are. They differ from utility where steps are worth more in
        some attributes, or nothing in others.
        """
        ...


@dataclass(frozen=True)
class LeastRisk:
    """The least loss with a utility of at least so much (eq. 8); among equals the most utility, then the most steps.

    Raises DisclosureRuleError where it is not finite.
    """

    utility: float

    def __post_init__(self) -> None:
        _require_finite("utility", self.utility)

    def score(self, loss: FloatArray, utility: FloatArray, steps: FloatArray) -> FloatArray:
        """Loss, then utility, then steps."""
        return np.stack([utility < self.utility, loss, -utility, -steps])


@dataclass(frozen=True)
class MostUtility:
    """The most utility with a loss of at most so much (eq. 7); among equals the least loss, then the most steps.

    Raises DisclosureRuleError where it is not finite.
    """

    loss: float

    def __post_init__(self) -> None:
        _require_finite("loss", self.loss)

    def score(self, loss: FloatArray, utility: FloatArray, steps: FloatArray) -> FloatArray:
        """Utility, then loss, then steps."""
        return np.stack([loss > self.loss, -utility, loss, -steps])


@dataclass(frozen=True)
class TradeOff:
    """The least loss - lambda * utility (eq. 9); among equals the most utility, then the most steps.

    price: lambda, the loss that one step of utility is worth. Raises DisclosureRuleError where it is not finite.
    """

    price: float

    def __post_init__(self) -> None:
        _require_finite("price", self.price)

    def score(self, loss: FloatArray, utility: FloatArray, steps: FloatArray) -> FloatArray:
        """The difference, then utility, then steps."""
        return np.stack([np.zeros(len(loss)), loss - self.price * utility, -utility, -steps])


def _require_finite(name: str, value: float) -> None:
    if not isfinite(value):
        raise DisclosureRuleError(f"a {name} to choose by must be a finite number, not {value}")


def is_better(score: FloatArray, than: FloatArray) -> BoolArray:
    """Whether scores come before others, column by column: shape (n,), bool."""
    better: BoolArray = np.less(score[-1], than[-1])
    for own, other in zip(score[-2::-1], than[-2::-1]):
        better = np.less(own, other) | (np.equal(own, other) & better)
    return better
