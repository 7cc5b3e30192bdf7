"""The risk that somebody finds a person's row in a table, and the columns that make rows unique.

A *prosecutor* knows that a person is in the table and sees a class of f rows: the risk is 1 / f. A *journalist* does not
know who is in the table, and finds F people of the population who could be meant: 1 / F. A *marketer* links all rows at
random and is right for so many of them on average. Without a population the table is its own. (El Emam, Dankar:
Protecting Privacy Using k-Anonymity, JAMIA 15(5) 2008; Dankar, El Emam: A Method for Evaluating Marketer
Re-identification Risk, EDBT 2010.)
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from checks.errors import CriterionError
from models.arrays import BoolArray, CountArray, FloatArray
from models.errors import ContradictionError
from models.tables.contingency_table import ContingencyTable

THRESHOLDS = (Fraction(1, 3), Fraction(1, 5), Fraction(1, 11), Fraction(1, 20))
"""Risks above which records are counted: those of classes of fewer than 3, 5, 11 and 20."""

_MOST_COLUMNS = 3
"""Columns of the largest sets that are looked at for making records unique."""

_MOST_WORK = 20_000_000
"""Classes times sets of columns that are looked at; where there are more, the sets are smaller."""


@dataclass(frozen=True)
class Risk:
    """The risk of finding a record's person. above: the share of records with more risk than each threshold."""

    highest: float
    average: float
    above: Mapping[Fraction, float]

    @classmethod
    def of(cls, sizes: CountArray, risks: FloatArray) -> "Risk":
        """sizes: rows of each class, one at least. risks: of each of its rows, shape (classes,)."""
        rows = sizes.sum()
        # A risk of 1/n is not above 1/n, whatever rounding says.
        above = {bound: float(sizes[risks > float(bound) * (1 + 1e-12)].sum() / rows) for bound in THRESHOLDS}
        return cls(float(risks.max()), float((sizes * risks).sum() / rows), above)

    def as_json(self) -> dict[str, Any]:
        """The risk as plain values; thresholds as texts such as "1/5"."""
        return {**asdict(self), "above": {str(bound): share for bound, share in self.above.items()}}


@dataclass(frozen=True)
class Reidentification:
    """The risks of one table. journalist: None where nothing is known of a population. Its average is the marketer's.

    population_unique: rows that are unique in the population too. is_estimated: whether both are, from a sampling
    fraction.
    """

    prosecutor: Risk
    journalist: Risk | None = None
    population_unique: float | None = None
    is_estimated: bool = False

    @property
    def marketer(self) -> float:
        """The share of rows that somebody who links all at random links rightly on average."""
        return (self.journalist or self.prosecutor).average

    def as_json(self) -> dict[str, Any]:
        """The risks as plain values."""
        plain: dict[str, Any] = {"prosecutor": self.prosecutor.as_json(), "marketer": self.marketer}
        if self.journalist is None:
            return {**plain, "journalist": None}
        known = {"population_unique": self.population_unique, "estimated": self.is_estimated}
        return {**plain, "journalist": self.journalist.as_json(), **known}


def reidentification(sizes: CountArray, population: CountArray | float | None = None) -> Reidentification | None:
    """The risks of a table with classes of these sizes; None without rows.

    population: for each class how many people of the population have its values; or the sampling fraction, from which
    journalist risk is estimated (`estimated_risks`). Raises ContradictionError where there are fewer people than rows, so
    that the table is no sample of the population, CriterionError for a fraction that is none.

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
    alone = float((single & (population == 1)).sum())
    return Reidentification(prosecutor, Risk.of(sizes, 1 / population), alone)


def estimated_risks(sizes: CountArray, fraction: float) -> FloatArray:
    """The expected 1 / F of classes with f rows, where the table is a random sample of so large a share of a population.

    F given f is negative binomial, which is what a sample tells where nothing is known of F before: F - f people were
    passed over (Benedetti, Franconi: Statistical and Technological Solutions for Controlled Data Dissemination, NTTS 1998).
    So a row that is unique in the table is unique in the population with the probability `fraction`. The expectation is
    fraction / f times the hypergeometric function 2F1(1, 1; f + 1; 1 - fraction).

    >>> estimated_risks(np.array([1, 5]), 1.0)
    array([1. , 0.2])
    """
    if not 0 < fraction <= 1:
        raise CriterionError(f"a sampling fraction is above 0 and at most 1, got {fraction:g}")
    from scipy.special import hyp2f1  # slow to import, and few need it

    return np.asarray(fraction / sizes * hyp2f1(1, 1, sizes + 1, 1 - fraction), dtype=np.float64)


def require_sample(sizes: CountArray, population: CountArray) -> None:
    """Raise ContradictionError where a class has more rows than there are people with its values."""
    if beyond := int((sizes > population).sum()):
        raise ContradictionError(
            f"{beyond:,} of {len(sizes):,} classes have more rows than the population has people with their values, so the "
            "table is no sample of it"
        )


@dataclass(frozen=True)
class Uniqueness:
    """The columns that make records unique.

    records: how many are unique by all columns together. most: columns of the largest sets that were looked at. columns:
    of the records that are unique by a set of up to so many columns, no smaller one making them unique, the share by
    column.
    """

    records: int
    most: int
    columns: Mapping[str, float]


def uniqueness(classes: ContingencyTable) -> Uniqueness:
    """Which columns make records unique, by minimal sample uniques as SUDA2 looks for them.

    (Manning, Haglin, Keane: A Recursive Search Algorithm for Statistical Disclosure Assessment, Data Mining and Knowledge
    Discovery 16(2) 2008.) classes: a table of nonsensitive values. Time: a pass over it for each set of columns.
    """
    single = np.flatnonzero(classes.counts == 1)
    names = list(classes.attributes)
    sets = np.cumsum([comb(len(names), size) for size in range(1, min(len(names), _MOST_COLUMNS) + 1)])
    most = max(int((sets * len(classes) <= _MOST_WORK).sum()), 1)
    minimal: dict[frozenset[str], BoolArray] = {}
    by_column = {name: np.zeros(len(single), dtype=bool) for name in names}
    for size in range(1, min(len(names), most) + 1):
        for chosen in combinations(names, size):
            part = classes.rolled_up({name: classes.margin[name] for name in chosen})
            unique = part.counts[classes.positions_in(part)[single]] == 1
            for smaller, known in minimal.items():
                if smaller < frozenset(chosen):
                    unique &= ~known
            if unique.any():
                minimal[frozenset(chosen)] = unique
                for name in chosen:
                    by_column[name] |= unique
    result = max(int(np.logical_or.reduce(list(by_column.values())).sum()), 1) if names else 1
    return Uniqueness(len(single), most, {name: int(unique.sum()) / result for name, unique in by_column.items()})
