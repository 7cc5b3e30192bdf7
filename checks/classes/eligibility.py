"""Eligible requirements: those that some table made of the given one can satisfy, by generalizing it (TZ09 section I).

With every quasi-identifier suppressed all rows are one class, and no generalization of the quasi-identifiers satisfies
more: the k most frequent values of a union of classes never hold more of it than of the class in which they hold most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from checks.classes.assessment import Reached, eligible
from checks.classes.equivalence_classes import equivalence_classes
from checks.diversity.criterion import Diversity, satisfies
from checks.diversity.functional import Functional, excessive_protection
from models.tables.contingency_table import ContingencyTable

LARGEST_L = 20
"""The smallest tau is told for l up to this."""

DECIMALS = 6
"""To so many decimals a tau is told, rounded up, so that it can be asked for."""


@dataclass(frozen=True)
class Eligibility:
    """The strongest requirements that any generalization of one table satisfies in one sensitive attribute.

    reached: of each kind but the functional one. tau: for l = 2, 3, ..., `LARGEST_L` the smallest tau of (tau, l)-diversity;
    1 where no tau will do. generalized: the smallest tau where sensitive values are generalized too, as SWEEP does, at
    every l up to the number of values: 1 / values. excess: by requirement the excessive protection of the table that was
    looked at, None where it does not satisfy it.
    """

    reached: Reached
    tau: tuple[Fraction, ...]
    generalized: Fraction
    excess: Mapping[str, float | None]

    @property
    def values(self) -> int:
        """How many different values occur."""
        return self.generalized.denominator

    def as_json(self) -> dict[str, Any]:
        """As plain values; null where no c or tau will do."""
        return self.reached.as_json() | {
            "functional_tau": {str(l): rounded_up(tau) if tau < 1 else None for l, tau in enumerate(self.tau, 2)},
            "values": self.values,
            "functional_tau_generalized": rounded_up(self.generalized) if self.values > 1 else None,
            "excessive_protection": dict(self.excess),
        }


def eligibility(
    table: ContingencyTable,
    base: ContingencyTable,
    sensitive: Sequence[str],
    demanded: Mapping[str, Sequence[Diversity]],
) -> dict[str, Eligibility]:
    """What is eligible for a table, by sensitive attribute, and how far beyond need its classes are protected.

    table: as it is to be judged. base: the same with base values of its sensitive attributes, of which its quasi-identifiers
    do not matter. The other sensitive attributes stay as they are (MKGV07 Def. 4.6). demanded: of which functional ones the
    excess is told, by sensitive attribute. Both tables must have rows.
    """
    result = {}
    for attribute in sensitive:
        others = [other for other in sensitive if other != attribute]
        kept = {name: base.margin[name] for name in (attribute, *others)}
        suppressed = equivalence_classes(base.rolled_up(kept), attribute)
        occurring = int((suppressed.counts.sum(axis=0) > 0).sum())
        classes = np.unique(-np.sort(-suppressed.counts, axis=1), axis=0).tolist()
        largest = min(occurring, LARGEST_L)
        tau = tuple(max(smallest_tau(counts, l) for counts in classes) for l in range(2, largest + 1))
        excess = {
            str(one): _excess(table, attribute, one)
            for one in demanded.get(attribute, ())
            if isinstance(one, Functional)
        }
        result[attribute] = Eligibility(eligible(base, attribute, others), tau, Fraction(1, occurring), excess)
    return result


def smallest_tau(counts: Sequence[int], l: int) -> Fraction:
    """The smallest tau with which one class is (tau, l)-diverse, exactly; 1 where none below will do.

    counts: of its values, the largest first. psi(k) = tau + (1 - tau) (k - 1) / (l - 1) must be at least F(k) for all k < l.
    """
    total, held, smallest = sum(counts), 0, Fraction(0)
    for k, count in enumerate(counts[: l - 1], 1):
        held += count
        step = Fraction(k - 1, l - 1)
        smallest = max(smallest, (Fraction(held, total) - step) / (1 - step))
    return smallest


def rounded_up(tau: Fraction) -> float:
    """A tau to `DECIMALS` decimals, never below it."""
    return float(Fraction(ceil(tau * 10**DECIMALS), 10**DECIMALS))


def _excess(table: ContingencyTable, sensitive: str, requirement: Functional) -> float | None:
    classes = equivalence_classes(table, sensitive)
    judged = requirement.among(classes.values)
    return excessive_protection(judged, classes.counts) if satisfies(judged, classes.counts).all() else None
