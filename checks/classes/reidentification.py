"""The risk that somebody finds a person's row, as the field counts it: prosecutor, journalist and marketer.

A *prosecutor* knows that a person is in the table and sees a class of f rows: 1 / f. A *journalist* does not know who is in
the table, and finds F people of the population who could be meant: 1 / F. A *marketer* links all rows at random and is
right for so many of them on average. Without a population the table is its own. (El Emam, Dankar: Protecting Privacy Using
k-Anonymity, JAMIA 15(5) 2008; Dankar, El Emam: A Method for Evaluating Marketer Re-identification Risk, EDBT 2010.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from models.arrays import BoolArray, CountArray
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
    def of(cls, sizes: CountArray, candidates: CountArray) -> "Risk":
        """sizes: rows of each class, one at least. candidates: people who could be meant in each, shape (classes,)."""
        rows = sizes.sum()
        above = {
            bound: float(sizes[candidates * bound.numerator < bound.denominator].sum() / rows) for bound in THRESHOLDS
        }
        return cls(float(1 / candidates.min()), float((sizes / candidates).sum() / rows), above)

    def as_json(self) -> dict[str, Any]:
        """As plain values; thresholds as texts such as "1/5"."""
        above = {str(bound): share for bound, share in self.above.items()}
        return {"highest": self.highest, "average": self.average, "above": above}


@dataclass(frozen=True)
class Reidentification:
    """The risks of one table. journalist: None without a population. Its average is the marketer's."""

    prosecutor: Risk
    journalist: Risk | None = None

    @property
    def marketer(self) -> float:
        """The share of rows that somebody links rightly on average who links all at random."""
        return (self.journalist or self.prosecutor).average

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        journalist = None if self.journalist is None else self.journalist.as_json()
        return {"prosecutor": self.prosecutor.as_json(), "journalist": journalist, "marketer": self.marketer}


def reidentification(sizes: CountArray, population: CountArray | None = None) -> Reidentification | None:
    """The risks of a table with classes of these sizes; None without rows.

    population: for each class how many people of the population have its values. Raises ContradictionError where these are
    fewer than its rows, so that the table is no sample of the population.

    >>> found = reidentification(np.array([1, 4]), np.array([10, 4]))
    >>> found.prosecutor.highest, found.prosecutor.average, round(found.marketer, 3)
    (1.0, 0.4, 0.22)
    """
    if not len(sizes):
        return None
    if population is None:
        return Reidentification(Risk.of(sizes, sizes))
    require_sample(sizes, population)
    return Reidentification(Risk.of(sizes, sizes), Risk.of(sizes, population))


def require_sample(sizes: CountArray, population: CountArray) -> None:
    """Raise ContradictionError where a class has more rows than there are people with its values."""
    if beyond := int((sizes > population).sum()):
        raise ContradictionError(
            f"{beyond:,} of {len(sizes):,} classes have more rows than the population has people with their values, so the "
            "table is no sample of it"
        )


@dataclass(frozen=True)
class Uniqueness:
    """What makes records unique.

    records: how many are unique by all columns together. most: columns of the largest sets that were looked at. columns: of
    the records that are unique by a set of up to so many columns, no smaller set of which makes them unique, the share with
    such a set that the column belongs to.
    """

    records: int
    most: int
    columns: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"records": self.records, "most": self.most, "columns": dict(self.columns)}


def uniqueness(classes: ContingencyTable) -> Uniqueness:
    """Which columns make records unique, by minimal sample uniques as SUDA2 looks for them.

    (Manning, Haglin, Keane: A Recursive Search Algorithm for Statistical Disclosure Assessment, Data Mining and Knowledge
    Discovery 16(2) 2008.) classes: a table of nonsensitive values. Time: a pass over it for each set of up to three columns,
    of up to two or one where that is too much.
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
    found = max(int(np.logical_or.reduce(list(by_column.values())).sum()), 1) if names else 1
    return Uniqueness(len(single), most, {name: int(unique.sum()) / found for name, unique in by_column.items()})
