"""What a search minimizes: the KL divergence, with or without a price on parameters.

With N rows, deviance = 2 N KL up to a constant, so AIC / 2N and BIC / 2N are the KL divergence plus 1 / N and ln N / 2N
nats for each parameter. Values are nats a row throughout.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Protocol

LEAST_GAIN = 1e-12
"""Nats. Smaller gains are rounding, or a margin that says nothing new."""


class Objective(Protocol):
    """Whether, and by how much, a change of the model is for the better."""

    def gain(self, divergence: float, parameters: int) -> float:
        """What is gained, in nats, by a change that lowers the KL divergence and takes so many more parameters.

        Positive when the change is for the better; a change and its reverse have opposite gains.
        """


@dataclass(frozen=True)
class PenalizedDivergence:
    """KL divergence plus a price in nats for each free parameter; price 0 is the KL divergence itself."""

    price: float = 0.0

    def gain(self, divergence: float, parameters: int) -> float:
        """The divergence saved less the price of the parameters."""
        return divergence - self.price * parameters if self.price else divergence


KL = PenalizedDivergence()
"""The KL divergence from the data to the maxent distribution."""


def aic(rows: int) -> PenalizedDivergence:
    """Akaike's criterion, divided by twice the number of rows."""
    return PenalizedDivergence(1 / max(rows, 1))


def bic(rows: int) -> PenalizedDivergence:
    """Schwarz's criterion, divided by twice the number of rows."""
    return PenalizedDivergence(log(max(rows, 1)) / (2 * max(rows, 1)))


@dataclass(frozen=True)
class LikelihoodRatio:
    """A change must be significant by the likelihood-ratio test (Lauritzen, Graphical Models, 4.3.2).

    The deviance it saves, 2 N times the divergence, is compared with the chi-squared quantile of its degrees of
    freedom at level `alpha`; the gain is the excess. A stopping rule for stepwise searches: gains do not add up, so
    there is no best model by it.
    """

    rows: int
    alpha: float = 0.05

    def gain(self, divergence: float, parameters: int) -> float:
        """The divergence saved beyond what chance explains."""
        threshold = _quantile(abs(parameters), self.alpha) / (2 * max(self.rows, 1))
        return divergence - (threshold if parameters >= 0 else -threshold)


@lru_cache(maxsize=4096)
def _quantile(degrees_of_freedom: int, alpha: float) -> float:
    from scipy.special import chdtri  # slow to import, and few need it

    return float(chdtri(degrees_of_freedom, alpha)) if degrees_of_freedom else 0.0
