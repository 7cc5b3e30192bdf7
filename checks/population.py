"""One table as a sample of a population, whose nonsensitive values are known of everybody.

These criteria are about single tables: which people of a population a collection of marginals could be about is no matter
of its maximum-entropy distribution, so there is no exact check of several tables together.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.classes import equivalence_classes
from checks.diversity.criterion import BOUNDARY
from checks.diversity.text import spelled
from checks.errors import CriterionError
from checks.finding import Algorithm, Finding, WorstClass, verdict_of
from checks.reidentification import require_sample
from models.arrays import BoolArray, CountArray, FloatArray
from models.errors import ContradictionError
from models.tables.contingency_table import ContingencyTable

SINGLE_TABLES = (
    "k-map, delta-presence and bayes-optimal privacy against a population are decided of single tables only, by marginals "
    "assess"
)
"""The refusal where they are asked of a release."""


@dataclass(frozen=True)
class PresenceClass:
    """A class of people of the population, and how many of them are in the table."""

    rows: int
    population: int

    def as_json(self) -> dict[str, Any]:
        """The class as plain values."""
        return {"count": self.rows, "population": self.population, "presence": self.rows / self.population}


def k_map(sizes: CountArray, population: CountArray, k: int) -> Finding:
    """Whether each class of a table has the values of at least k people of the population.

    (Sweeney: k-Anonymity, 2002, section 5, k-map protection.) sizes, population: of each class its rows, and the people with
    its values. Raises CriterionError for k below 1, ContradictionError where the table is no sample.
    """
    if k < 1:
        raise CriterionError(f"k_map needs a whole number of at least 1, got {k}")
    require_sample(sizes, population)
    worst = WorstClass(count=int(population.min())) if len(sizes) else None
    verdict = verdict_of(bool((population >= k).all()))
    return Finding("k-map", verdict, {"k": k}, worst, (Algorithm.EVERY_CLASS,), len(sizes))


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
    fails = np.array([low * people > rows or rows > high * people for rows, people in pairs], dtype=bool)
    worst = None
    if pairs:
        shares = sizes / population
        excess = np.maximum(shares - float(high), float(low) - shares)
        worst = PresenceClass(*pairs[int(np.where(fails | ~fails.any(), excess, -np.inf).argmax())])
    parameters = {"lower": float(low), "upper": float(high)}
    verdict = verdict_of(not fails.any())
    return Finding("delta-presence", verdict, parameters, worst, (Algorithm.EVERY_CLASS,), len(pairs))


# Bayes-optimal privacy: what somebody learns who knows how sensitive values are distributed in the population.
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

    def as_json(self) -> dict[str, Any]:
        """The change as plain values."""
        return asdict(self)


def prior_belief(alike: NDArray[Any]) -> FloatArray:
    """The belief alpha = f(s | q), before anything is published: shape (people, values).

    alike: the population with the same nonsensitive values, by sensitive value. Raises ContradictionError for nobody.
    """
    totals = np.asarray(alike, dtype=np.float64).sum(axis=1, keepdims=True)
    if not (totals > 0).all():
        raise ContradictionError("the population has nobody with the nonsensitive values of somebody in the table")
    return np.asarray(alike / totals, dtype=np.float64)


def posterior_belief(published: NDArray[Any], alike: NDArray[Any], in_class: NDArray[Any]) -> FloatArray:
    """The belief beta, after the table is published (MKGV07 Theorem 3.1): shape (people, values).

    For each person: published, the counts n(q*, s) of his class; alike, f(q, s) or f(s | q), how often each value occurs
    in the population among those like him; in_class, f(q*, s) or f(s | q*), among all who would be in his class. Each
    row in any scale, all of shape (people, values). Raises ContradictionError where the population rules out a published
    value, or that the person is in the table at all.

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


def positive_disclosure(posterior: FloatArray, rows: CountArray, delta: float) -> BoolArray:
    """Where a belief exceeds 1 - delta and is right for somebody (MKGV07 Def. 3.1): shape (people, values).

    rows: of the original table, n(q, s).
    """
    return np.asarray((posterior > 1 - delta) & (rows > 0))


def negative_disclosure(posterior: FloatArray, rows: CountArray, epsilon: float) -> BoolArray:
    """Where a belief is below epsilon and somebody has indeed another value (MKGV07 Def. 3.2): shape (people, values).

    rows: of the original table, n(q, s).
    """
    return np.asarray((posterior < epsilon) & (rows.sum(axis=1, keepdims=True) > rows))


def breach(prior: FloatArray, posterior: FloatArray, rho_1: Fraction, rho_2: Fraction) -> BoolArray:
    """Whether a belief below rho_1 rose above rho_2, or one above 1 - rho_1 fell below 1 - rho_2 (MKGV07 Def. 3.3)."""
    return np.asarray(_excess(prior, posterior, float(rho_1), float(rho_2)) > 0)


def bayes_optimal(
    table: ContingencyTable,
    population: ContingencyTable,
    sensitive: str,
    levels: Mapping[str, int],
    rho_1: Fraction,
    rho_2: Fraction,
) -> Finding:
    """Whether publishing a table generalized to `levels` leaves it without a (rho_1, rho_2)-breach, decided exactly.

    table: the rows, with nonsensitive values as an adversary knows them. population: what she knows of everybody, at
    the levels of the table or finer. levels: of the nonsensitive attributes; those left out are suppressed. Raises
    ContradictionError where the table cannot be a sample of the population.
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
    """By how much the weaker condition of a breach is met, positive where there is one; of arrays or of fractions."""
    rise = np.minimum(rho_1 - prior, posterior - rho_2)
    fall = np.minimum(prior - (1 - rho_1), (1 - rho_2) - posterior)
    return np.maximum(rise, fall)
