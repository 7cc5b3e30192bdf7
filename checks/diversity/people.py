"""Diversity of people where a person can have several rows: it must hold however the rows are shared among people.

Somebody is one of the people whose rows make up a class. Each has at most r of them, and one row of each is looked at, any
one. With p the shares of the sensitive values among the rows, the shares u that people can have then are those with
u_s <= r p_s: no value is that of more people than it has rows, and there are at least 1/r times as many people as rows. Of
all these u the one that fills up the most frequent values first majorizes every other, so a criterion that is kept by
whatever is majorized holds of all of them as soon as it holds of that one. For a criterion that bounds the sum of the most
frequent shares, with a weight on the first, this is the same bound divided by r. Such a bound is on a convex function of
the shares, so it is kept by merging classes, which searches and checks need.

The number of people is T / r here, not rounded up. Rounded up it would be exact of one class, but not kept by merging:
(1, 1, 1) with r = 2 is two people at least, no value that of more than half of them; twice (1, 1, 1) is three, and a value
can be that of two. Nor is the entropy, rounded or not: with r = 2 the rows (6, 5, 5, 4) are as uncertain as 1.96 equally
likely values at least, (15, 1, 1, ...) with 25 times 1 as 2.62, ten times the one and once the other as 1.94.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from checks.diversity.criterion import Diversity, ShareBound, Vectors
from checks.errors import CriterionError
from models.arrays import FloatArray


def of_people(diversity: Diversity, rows_per_person: int) -> Diversity | None:
    """The criterion that a class satisfies if its people, of at most so many rows each, satisfy a diversity for certain.

    None if that cannot be decided exactly: for a criterion that is no bound on the most frequent shares.

    >>> from checks.diversity.criteria import Distinct
    >>> two_of_people = of_people(Distinct(2), 3)
    >>> two_of_people.decide([3, 6]), two_of_people.decide([4, 4, 5])
    (False, False)
    >>> two_of_people.decide([3, 3, 3, 3])
    True
    """
    if rows_per_person == 1:
        return diversity
    return None if diversity.share_bound() is None else OfPeople(diversity, rows_per_person)


@dataclass(frozen=True)
class OfPeople(Diversity):
    """A diversity that holds of people, at most `rows_per_person` rows each. Reached: that of the least diverse people.

    eased: what the bound is multiplied with. Raises CriterionError for a diversity that is no bound on the most frequent
    shares.
    """

    diversity: Diversity
    rows_per_person: int
    eased: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        _ = self.share_bound()

    def __str__(self) -> str:
        return str(self.diversity)

    def share_bound(self) -> ShareBound:
        """The bound on the shares of the rows: that of the people divided by the rows of each."""
        bound = self.diversity.share_bound()
        if bound is None:
            raise CriterionError(f"{self.diversity} cannot be decided of people who have several rows each")
        return bound._replace(limit=bound.limit * self.eased / self.rows_per_person)

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to the bound."""
        bound = self.share_bound()
        shares = -np.sort(-np.asarray(vectors, dtype=np.float64), axis=1)
        bounded = float(bound.head_weight) * shares[:, 0] + shares[:, : bound.top].sum(axis=1)
        with np.errstate(divide="ignore"):
            return np.asarray(float(bound.limit) * shares.sum(axis=1) / bounded - 1, dtype=np.float64)

    def reached(self, vectors: Vectors) -> FloatArray:
        """What the diversity says of the least diverse people, whose shares fill up the most frequent values first."""
        rows = -np.sort(-np.asarray(vectors, dtype=np.float64), axis=1)
        filled = np.minimum(self.rows_per_person * np.cumsum(rows / rows.sum(axis=1, keepdims=True), axis=1), 1.0)
        people = np.diff(filled, axis=1, prepend=0.0)
        return self.diversity.reached(np.where(people > 1e-12, people, 0.0))

    def scaled(self, factor: Fraction) -> "OfPeople":
        """The criterion with the bound divided by the factor."""
        return replace(self, eased=self.eased / factor)
