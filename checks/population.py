"""Risks of one table as a sample of a population: that a person's row is found, and that somebody is known to be in it.

A *prosecutor* knows that a person is in the table and sees a class of f rows: the risk is 1 / f. A *journalist* does
not know who is in the table, and finds F people of the population who may be meant: 1 / F. A *marketer* links all rows
at random and is right for that share of them on average. Without a population the table is its own. (El Emam, Dankar:
Protecting Privacy Using k-Anonymity, JAMIA 15(5) 2008; Dankar, El Emam: A Method for Evaluating Marketer
Re-identification Risk, EDBT 2010.)
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from checks.diversity.text import spelled
from checks.errors import CriterionError
from checks.finding import Algorithm, Finding, WorstClass, verdict_of
from models.arrays import CountArray, FloatArray
from models.errors import ContradictionError
from models.frozen import frozen

THRESHOLDS = (Fraction(1, 3), Fraction(1, 5), Fraction(1, 11), Fraction(1, 20))
"""Risks above which records are counted: those of classes of fewer than 3, 5, 11 and 20."""


@frozen
class Risk:
    """Risk of finding a record's person. above: the share of records with more risk than each threshold."""

    highest: float
    average: float
    above: Mapping[Fraction, float]

    @classmethod
    def of(cls, sizes: CountArray, risks: FloatArray) -> "Risk":
        """Return the risk of classes with these sizes, at least one. risks: of each of a class's rows, shape (classes,)."""
        rows = sizes.sum()
        # A risk of 1/n is not above 1/n, whatever rounding says.
        above = {bound: float(sizes[risks > float(bound) * (1 + 1e-12)].sum() / rows) for bound in THRESHOLDS}
        return cls(float(risks.max()), float((sizes * risks).sum() / rows), above)


@frozen
class Reidentification:
    """Risks of one table. journalist: None if nothing is known of a population. Its average is the marketer's.

    population_unique: rows that are unique in the population too. is_estimated: whether both are estimates.
    """

    prosecutor: Risk
    journalist: Risk | None = None
    population_unique: float | None = None
    is_estimated: bool = False

    @property
    def marketer(self) -> float:
        """Share of rows that a random link of all rows links rightly on average."""
        return (self.journalist or self.prosecutor).average

    def as_json(self) -> dict[str, Any]:
        """Return the risks as plain values."""
        risks = {"prosecutor": self.prosecutor, "marketer": self.marketer, "journalist": self.journalist}
        of_population = {"population_unique": self.population_unique, "estimated": self.is_estimated}
        return risks | (of_population if self.journalist else {})


def reidentification(sizes: CountArray, population: CountArray | float | None = None) -> Reidentification | None:
    """Return the risks of a table with classes of these sizes; None without rows.

    population: for each class how many people of the population have its values; or the sampling fraction, from which
    journalist risk is estimated (`estimated_risks`). Raises ContradictionError if there are fewer people than rows, so
    that the table is no sample of the population. Raises CriterionError for an invalid fraction.
    """
    if not len(sizes):
        return None
    prosecutor, single = Risk.of(sizes, 1 / sizes), sizes == 1
    if population is None:
        return Reidentification(prosecutor)
    if isinstance(population, float):
        estimated = Risk.of(sizes, estimated_risks(sizes, population))
        return Reidentification(prosecutor, estimated, population * float(single.sum()), is_estimated=True)
    require_sample(sizes, population)
    unique_rows = float((single & (population == 1)).sum())
    return Reidentification(prosecutor, Risk.of(sizes, 1 / population), unique_rows)


def estimated_risks(sizes: CountArray, fraction: float) -> FloatArray:
    """Return the expected 1 / F of classes with f rows, if the table is a random sample of this share of a population.

    F given f is negative binomial, if nothing is known of F before: F - f people were passed over. (Benedetti,
    Franconi: Statistical and Technological Solutions for Controlled Data Dissemination, NTTS 1998.) So a row that is
    unique in the table is unique in the population with the probability `fraction`. The expectation is fraction / f
    times the hypergeometric function 2F1(1, 1; f + 1; 1 - fraction).
    """
    if not 0 < fraction <= 1:
        raise CriterionError(f"a sampling fraction is above 0 and at most 1, got {fraction:g}")
    from scipy.special import hyp2f1  # slow to import, and few need it

    return np.asarray(fraction / sizes * hyp2f1(1, 1, sizes + 1, 1 - fraction), dtype=np.float64)


def require_sample(sizes: CountArray, population: CountArray) -> None:
    """Raise ContradictionError if a class has more rows than there are people with its values."""
    if beyond := int((sizes > population).sum()):
        raise ContradictionError(
            f"{beyond:,} of {len(sizes):,} classes have more rows than the population has people with their values, so the "
            "table is no sample of it"
        )


# Criteria of a table and a population in which everybody's nonsensitive values are known. They are about single tables,
# because a maximum-entropy distribution does not say which people a collection of marginals could be about.


SINGLE_TABLES = "k-map and delta-presence are decided of single tables only, by marginals assess"
"""Refusal of these criteria for a release."""


@frozen
class PresenceClass:
    """Class of people of the population, and how many of them are in the table."""

    count: int
    population: int
    PLAIN: ClassVar = ("count", "population", "presence")

    @property
    def presence(self) -> float:
        """Share of them that is in the table."""
        return self.count / self.population


def k_map(sizes: CountArray, population: CountArray, k: int) -> Finding:
    """Decide whether each class of a table has the values of at least k people of the population.

    (Sweeney: k-Anonymity, 2002, section 5, k-map protection.) sizes, population: for each class its rows, and the
    people with its values. Raises CriterionError for k below 1, ContradictionError if the table is no sample.
    """
    if k < 1:
        raise CriterionError(f"k_map needs a whole number of at least 1, got {k}")
    require_sample(sizes, population)
    worst = WorstClass(count=int(population.min())) if len(sizes) else None
    verdict = verdict_of(bool((population >= k).all()))
    return Finding("k-map", verdict, {"k": k}, worst, (Algorithm.EVERY_CLASS,), len(sizes))


def delta_presence(sizes: CountArray, population: CountArray, bounds: tuple[Fraction, Fraction]) -> Finding:
    """Decide whether everybody's probability of being in the table lies between two bounds.

    (Nergiz, Atzori, Clifton: Hiding the Presence of Individuals from Shared Databases, SIGMOD 2007, Def. 2.) sizes,
    population: for each combination of values that anybody has, the rows, maybe none, and the people. Raises
    CriterionError unless 0 <= lower <= upper <= 1, ContradictionError if the table is no sample.
    """
    low, high = bounds
    if not 0 <= low <= high <= 1:
        raise CriterionError(
            f"delta_presence needs two shares from 0 to 1, the lower first, got {spelled(low)} and {spelled(high)}"
        )
    require_sample(sizes, population)
    pairs = list(zip(sizes.tolist(), population.tolist()))
    fails = np.array([low * people > rows or rows > high * people for rows, people in pairs], dtype=bool)
    worst = None
    if pairs:
        shares = sizes / population
        excess = np.maximum(shares - float(high), float(low) - shares)
        worst = PresenceClass(*pairs[int(np.where(fails | ~fails.any(), excess, -np.inf).argmax())])
    parameters = {"lower": float(low), "upper": float(high)}
    verdict = verdict_of(not fails.any())
    return Finding("delta-presence", verdict, parameters, worst, (Algorithm.EVERY_CLASS,), len(pairs))
