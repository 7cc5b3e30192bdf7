"""Bayes-optimal privacy: what somebody learns who knows how sensitive values are distributed in the population.

MKGV07 section 3. Alice knows, for people like Bob (q), how often each sensitive value s occurs in the population; that
is her prior belief. The published class that Bob is in changes it to a posterior belief (Theorem 3.1). Merging classes
can break this criterion (Theorem 5.1), so no search may prune with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.classes.equivalence_classes import EquivalenceClasses, equivalence_classes
from checks.diversity.criterion import BOUNDARY
from checks.diversity.spelling import spelled
from checks.errors import CriterionError
from checks.finding import Algorithm, Finding, verdict_of
from models.arrays import BoolArray, CountArray, FloatArray
from models.errors import ContradictionError
from models.tables.contingency_table import ContingencyTable


@dataclass(frozen=True)
class ChangeOfBelief:
    """What somebody believes of a person before and after a table is published: the probability of a sensitive value.

    cell: the person's nonsensitive values.
    """

    cell: Mapping[str, str]
    value: str
    prior: float
    posterior: float

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def prior_belief(alike: NDArray[Any]) -> FloatArray:
    """The belief alpha = f(s | q), before anything is published: shape (people, values).

    alike: how often each sensitive value occurs in the population among those with the same nonsensitive values, in any
    scale. Raises ContradictionError where there is nobody.
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
    weights = np.divide(
        published * np.asarray(alike, dtype=np.float64), in_class, out=np.zeros(occurs.shape), where=occurs
    )
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
    """Where a belief below rho_1 rose above rho_2, or one above 1 - rho_1 fell below 1 - rho_2 (MKGV07 Def. 3.3)."""
    return _excess(prior, posterior, float(rho_1), float(rho_2)) > 0


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
    alike = _in_population(population, people)
    in_class = _in_population(population, published)[class_of]
    prior, posterior = prior_belief(alike), posterior_belief(counts, alike, in_class)
    excess = _excess(prior, posterior, float(rho_1), float(rho_2))
    breached = excess > 0
    for person, value in np.argwhere(np.abs(excess) <= BOUNDARY).tolist():
        before = Fraction(int(alike[person, value]), int(alike[person].sum()))
        after = _exact_posterior(*(array[person].tolist() for array in (counts, alike, in_class)))[value]
        breached[person, value] = _exact_breach(before, after, rho_1, rho_2)
    worst = None
    if breached.size:
        suspects = np.where(breached | ~breached.any(), excess, -np.inf)
        at, shown = divmod(int(suspects.argmax()), excess.shape[1])
        worst = ChangeOfBelief(
            people.labels(at),
            table.domain.hierarchy(sensitive).labels[people.level][shown],
            float(prior[at, shown]),
            float(posterior[at, shown]),
        )
    parameters = {"rho_1": float(rho_1), "rho_2": float(rho_2), "sensitive": sensitive}
    verdict = verdict_of(not breached.any())
    return Finding("bayes-optimal", verdict, parameters, worst, (Algorithm.EVERY_BELIEF,), breached.size)


def _excess(prior: FloatArray, posterior: FloatArray, rho_1: float, rho_2: float) -> FloatArray:
    """Positive where there is a breach, negative where there is none: by how much the weaker condition is met."""
    rise = np.minimum(rho_1 - prior, posterior - rho_2)
    fall = np.minimum(prior - (1 - rho_1), (1 - rho_2) - posterior)
    return np.maximum(rise, fall)


def _exact_posterior(published: Sequence[int], alike: Sequence[int], in_class: Sequence[int]) -> list[Fraction]:
    weights = [Fraction(n * f, g) if n else Fraction(0) for n, f, g in zip(published, alike, in_class)]
    total = sum(weights)
    return [weight / total for weight in weights]


def _exact_breach(prior: Fraction, posterior: Fraction, rho_1: Fraction, rho_2: Fraction) -> bool:
    rises = prior < rho_1 and posterior > rho_2
    return rises or (prior > 1 - rho_1 and posterior < 1 - rho_2)


def _in_population(population: ContingencyTable, classes: EquivalenceClasses) -> CountArray:
    """Rows of the population with the nonsensitive values of each class, by value: shape (classes, values)."""
    values = classes.counts.shape[1]
    codes = {a: np.repeat(column, values) for a, column in zip(classes.attributes, classes.codes)}
    codes[classes.sensitive] = np.tile(np.arange(values), len(classes))
    table = population.rolled_up({**classes.margin, classes.sensitive: classes.level})
    return table.counts_of(codes).reshape(len(classes), values)
