"""Criteria on one table as a sample of a population, whose nonsensitive values are known of everybody.

They are about single tables: which people of a population a collection of marginals could be about is no matter of its
maximum-entropy distribution, so there is no exact check of several tables together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from checks.classes.reidentification import require_sample
from checks.diversity.spelling import spelled
from checks.errors import CriterionError
from checks.finding import Algorithm, Finding, WorstClass, verdict_of
from models.arrays import CountArray

SINGLE_TABLES = "k-map and delta-presence are decided of single tables only, by marginals assess"
"""What is said where they are asked of a release."""


@dataclass(frozen=True)
class PresenceClass:
    """A class of people of the population, and how many of them are in the table."""

    rows: int
    population: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"count": self.rows, "population": self.population, "presence": self.rows / self.population}


def k_map(sizes: CountArray, population: CountArray, k: int) -> Finding:
    """Whether each class of a table has the values of at least k people of the population.

    (Sweeney: k-Anonymity, 2002, section 5, k-map protection.) sizes, population: of each class its rows, and the people with
    its values. Raises CriterionError for k below 1, ContradictionError where the table is no sample.
    """
    if k < 1:
        raise CriterionError(f"k_map needs a whole number of at least 1, got {k}")
    require_sample(sizes, population)
    holds = not len(sizes) or int(population.min()) >= k
    worst = WorstClass(count=int(population.min())) if len(sizes) else None
    return Finding("k-map", verdict_of(holds), {"k": k}, worst, (Algorithm.EVERY_CLASS,), len(sizes))


def delta_presence(sizes: CountArray, population: CountArray, bounds: tuple[Fraction, Fraction]) -> Finding:
    """Whether the probability that a person of the population is in the table lies between two bounds for everybody.

    (Nergiz, Atzori, Clifton: Hiding the Presence of Individuals from Shared Databases, SIGMOD 2007, Def. 2.) sizes,
    population: for each combination of values that anybody has, the rows with it, maybe none, and the people. Raises
    CriterionError unless 0 <= lower <= upper <= 1, ContradictionError where the table is no sample.
    """
    low, high = bounds
    if not 0 <= low <= high <= 1:
        raise CriterionError(
            f"delta_presence needs two shares from 0 to 1, the lower first, got {spelled(low)} and {spelled(high)}"
        )
    require_sample(sizes, population)
    pairs = list(zip(sizes.tolist(), population.tolist()))
    fails = [low * people > rows or rows > high * people for rows, people in pairs]
    worst = None
    if pairs:
        shares = sizes / population
        excess = np.maximum(shares - float(high), float(low) - shares)
        suspects = np.where(np.array(fails) | ~np.any(fails), excess, -np.inf)
        worst = PresenceClass(*pairs[int(suspects.argmax())])
    parameters: Mapping[str, Any] = {"lower": float(low), "upper": float(high)}
    return Finding(
        "delta-presence", verdict_of(not any(fails)), parameters, worst, (Algorithm.EVERY_CLASS,), len(pairs)
    )
