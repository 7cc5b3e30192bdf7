"""Risks of one table as a sample of a population: that a person's row is found, and that somebody is known to be in it.

A *prosecutor* knows that a person is in the table and sees a class of f rows: the risk is 1 / f. A *journalist* does
not know who is in the table, and finds F people of the population who may be meant: 1 / F. A *marketer* links all rows
at random and is right for that share of them on average. Without a population the table is its own. (El Emam, Dankar:
Protecting Privacy Using k-Anonymity, JAMIA 15(5) 2008; Dankar, El Emam: A Method for Evaluating Marketer
Re-identification Risk, EDBT 2010.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from checks.classes import equivalence_classes
from checks.diversity.criterion import BOUNDARY
from checks.diversity.text import spelled
from checks.errors import CriterionError
from checks.finding import Algorithm, Finding, WorstClass, verdict_of
from models.arrays import CountArray, FloatArray
from models.errors import ContradictionError
from models.tables.contingency_table import ContingencyTable

THRESHOLDS = (Fraction(1, 3), Fraction(1, 5), Fraction(1, 11), Fraction(1, 20))
"""Risks above which records are counted: those of classes of fewer than 3, 5, 11 and 20."""


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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

    >>> found = reidentification(np.array([1, 4]), np.array([10, 4]))
    >>> found.prosecutor.highest, found.prosecutor.average, round(found.marketer, 3)
    (1.0, 0.4, 0.22)
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

    >>> estimated_risks(np.array([1, 5]), 1.0)
    array([1. , 0.2])
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


SINGLE_TABLES = (
    "k-map, delta-presence and bayes-optimal privacy against a population are decided of single tables only, by marginals "
    "assess"
)
"""Refusal of these criteria for a release."""


@dataclass(frozen=True)
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


# Bayes-optimal privacy: what a reader learns who knows how sensitive values are distributed in the population.
#
# MKGV07 section 3. Alice knows, for people like Bob (q), how often each sensitive value s occurs in the population;
# that is her prior belief. The published class that Bob is in changes it to a posterior belief (Theorem 3.1). Merging
# classes can break this criterion (Theorem 5.1), so no search may prune with it.


@dataclass(frozen=True)
class ChangeOfBelief:
    """Belief about a person before and after a table is published: the probability of a sensitive value.

    cell: the person's nonsensitive values.
    """

    cell: Mapping[str, str]
    value: str
    prior: float
    posterior: float


def prior_belief(alike: NDArray[Any]) -> FloatArray:
    """Return the belief alpha = f(s | q), before anything is published: shape (people, values).

    alike: the population with the same nonsensitive values, by sensitive value. Raises ContradictionError if it is
    empty.
    """
    totals = np.asarray(alike, dtype=np.float64).sum(axis=1, keepdims=True)
    if not (totals > 0).all():
        raise ContradictionError("the population has nobody with the nonsensitive values of somebody in the table")
    return np.asarray(alike / totals, dtype=np.float64)


def posterior_belief(published: NDArray[Any], alike: NDArray[Any], in_class: NDArray[Any]) -> FloatArray:
    """Return the belief beta, after the table is published (MKGV07 Theorem 3.1): shape (people, values).

    Three arrays have a row for each person, in any scale. published: the counts n(q*, s) of the person's class. alike:
    f(q, s) or f(s | q), how often each value occurs in the population among similar people. in_class: f(q*, s) or f(s
    | q*), among all who would be in the class. Raises ContradictionError if the population rules out a published
    value, or the person's presence in the table.

    >>> posterior_belief(np.array([[36, 16]]), np.array([[15, 35]]), np.array([[40, 60]])).round(3)
    array([[0.591, 0.409]])
    """
    occurs = np.asarray(published) > 0
    if np.any(occurs & ~(np.asarray(in_class) > 0)):
        raise ContradictionError("a class shows a sensitive value that nobody of the population who would be in it has")
    weights = np.zeros(occurs.shape)
    np.divide(published * np.asarray(alike, dtype=np.float64), in_class, out=weights, where=occurs)
    totals = weights.sum(axis=1, keepdims=True)
    if not (totals > 0).all():
        raise ContradictionError("a class shows none of the sensitive values that somebody in it can have")
    return np.asarray(weights / totals, dtype=np.float64)


def bayes_optimal(
    table: ContingencyTable,
    population: ContingencyTable,
    sensitive: str,
    levels: Mapping[str, int],
    rho_1: Fraction,
    rho_2: Fraction,
) -> Finding:
    """Decide exactly whether publishing a table generalized to `levels` causes no (rho_1, rho_2)-breach.

    table: the rows, with nonsensitive values as an adversary knows them. population: what the adversary knows, at the
    levels of the table or finer. levels: of nonsensitive attributes; others are suppressed. Raises ContradictionError
    for no sample.
    """
    if not 0 < rho_1 < rho_2 < 1:
        raise CriterionError(f"0 < rho_1 < rho_2 < 1 does not hold for {spelled(rho_1)} and {spelled(rho_2)}")
    people = equivalence_classes(table, sensitive)
    coarse = {a: level for a, level in levels.items() if a != sensitive}
    published = equivalence_classes(table.rolled_up({**coarse, sensitive: people.level}), sensitive)
    class_of = table.rolled_up(people.margin).positions_in(table.rolled_up(coarse))
    counts = published.counts[class_of]
    alike, in_classes = (
        equivalence_classes(population.rolled_up({**of.margin, sensitive: of.level}), sensitive).counts_in(of)
        for of in (people, published)
    )
    in_class = in_classes[class_of]
    prior, posterior = prior_belief(alike), posterior_belief(counts, alike, in_class)
    excess = _excess(prior, posterior, float(rho_1), float(rho_2))
    breached = excess > 0
    for person, value in np.argwhere(np.abs(excess) <= BOUNDARY).tolist():
        before = Fraction(int(alike[person, value]), int(alike[person].sum()))
        rows = zip(*(array[person].tolist() for array in (counts, alike, in_class)))
        weights = [Fraction(count * like, of_class) if count else Fraction(0) for count, like, of_class in rows]
        breached[person, value] = _excess(before, weights[value] / sum(weights), rho_1, rho_2) > 0
    worst = None
    if breached.size:
        suspects = np.where(breached | ~breached.any(), excess, -np.inf)
        at, suspect = divmod(int(suspects.argmax()), excess.shape[1])
        label = table.domain.hierarchy(sensitive).labels[people.level][suspect]
        worst = ChangeOfBelief(people.labels(at), label, float(prior[at, suspect]), float(posterior[at, suspect]))
    parameters = {"rho_1": float(rho_1), "rho_2": float(rho_2), "sensitive": sensitive}
    verdict = verdict_of(not breached.any())
    return Finding("bayes-optimal", verdict, parameters, worst, (Algorithm.EVERY_BELIEF,), breached.size)


def _excess(prior: Any, posterior: Any, rho_1: Any, rho_2: Any) -> Any:
    """Return by how much the weaker condition of a breach is met, positive if there is one; for arrays or fractions."""
    rise = np.minimum(rho_1 - prior, posterior - rho_2)
    fall = np.minimum(prior - (1 - rho_1), (1 - rho_2) - posterior)
    return np.maximum(rise, fall)
