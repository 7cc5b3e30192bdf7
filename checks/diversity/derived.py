"""Criteria derived from other criteria: for rows whose sensitive value is known, for sums of columns, and for people.

Let M be the labels that stand for no value, v a class's counts (or probabilities) and v' = (v_s) for s not in M. A
criterion D that leaves out M is satisfied by v exactly if v' = 0 or D is satisfied by v'. So 20 rows of asthma and 5
without a diagnosis share one diagnosis: it is certain for everybody who has one.

Merging keeps it: (u + v)' = u' + v'. If both pass, either one is 0 there, or both satisfy D and so does the sum.
People of at most r rows have at most r rows among those with a value. So D may be applied to people before or after
leaving out M.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from checks.diversity.criterion import Diversity, SensitiveValues, ShareBound, Vectors
from checks.diversity.text import LEAVING_OUT, spelled_labels
from checks.errors import CriterionError
from models.arrays import FloatArray, IndexArray
from models.frozen import frozen
from models.tables.hierarchy import MISSING


def leaving_out(diversity: Diversity, labels: Collection[str]) -> Diversity:
    """Return a criterion for the rows whose value is known. labels: what stands for no value, added to those already
    left out.

    A criterion that names such a label itself stays as it is.
    """
    if isinstance(diversity, LeavingOut):
        return LeavingOut(diversity.plain, tuple(sorted({*diversity.labels, *labels})))
    names_it = any(isinstance(named, tuple) and {*labels} & {*named} for named in vars(diversity).values())
    return diversity if names_it or not labels else LeavingOut(diversity, tuple(sorted(labels)))


def standing_for_none(values: SensitiveValues) -> frozenset[int]:
    """Return the codes of values that cover only the value of rows without one.

    Empty if only a coarser value has the label, because then it names the values under it.
    """
    return values.within([MISSING]) if MISSING in values.hierarchy.labels[0] else frozenset()


@frozen
class LeavingOut(Diversity):
    """Criterion for the rows whose sensitive value is known. labels: what stands for no value, sorted.

    A published value is left out if it covers only these labels; a label that is none of the values leaves out
    nothing.
    """

    plain: Diversity
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.labels or isinstance(self.plain, LeavingOut):
            raise CriterionError(f"{LEAVING_OUT} needs labels of values, once")

    def __str__(self) -> str:
        return f"{self.plain} {LEAVING_OUT} {spelled_labels(self.labels)}"

    def among(self, values: SensitiveValues) -> Diversity:
        """Return the criterion for classes that are counted by these values, restricted to known ones."""
        if not (unknown := self._unknown(values)):
            return self.plain.among(values)
        places = (code for code in range(len(values.rows)) if code not in unknown)
        place_of = {code: place for place, code in enumerate(places)}
        above = tuple(map(place_of.get, range(len(values.rows))))
        return Projected(self.plain.among(_without(values, unknown)), above)

    def stated_among(self, values: SensitiveValues) -> Diversity:
        """Return the criterion among these values; the plain criterion if each of them is known."""
        if not (unknown := self._unknown(values)):
            return self.plain.stated_among(values)
        plain, labels = self.plain.stated_among(_without(values, unknown)), values.occurring(unknown)
        return LeavingOut(plain, labels) if labels else plain

    def _unknown(self, values: SensitiveValues) -> frozenset[int]:
        """Return the codes of the values that are left out; none if no value would remain to be judged."""
        named = {label for labels in values.hierarchy.labels[:-1] for label in labels if label != MISSING}
        named |= {MISSING} & {*values.hierarchy.labels[0]}
        unknown = values.within(named.intersection(self.labels))
        return unknown if len(unknown) < len(values.rows) else frozenset()


def _without(values: SensitiveValues, codes: Collection[int]) -> SensitiveValues:
    base = values.hierarchy.lift(0, values.level)
    hierarchy = values.hierarchy.restricted_to(np.flatnonzero(~np.isin(base, sorted(codes))))
    return SensitiveValues(
        hierarchy, values.level, tuple(rows for code, rows in enumerate(values.rows) if code not in codes)
    )


@frozen
class Projected(Diversity):
    """Criterion on sums of some of a class's columns; a class without rows in them passes.

    above: for each column the sum that it is part of, None for none. labels: of the sums; empty if each is one column.
    Reached: by the sums, infinite if all are 0.
    """

    diversity: Diversity
    above: tuple[int | None, ...]
    labels: tuple[str, ...] = ()

    @cached_property
    def places(self) -> IndexArray:
        """Columns that are part of a sum."""
        return np.array([place for place, above in enumerate(self.above) if above is not None], dtype=np.intp)

    def sums(self, vectors: Vectors) -> Vectors:
        """Return the sums of each class: shape (classes, sums)."""
        if not self.labels:
            return np.asarray(vectors[:, self.places])
        number = len(self.labels)
        above = [number if above is None else above for above in self.above]
        return np.asarray(vectors @ np.eye(number + 1)[above, :number])

    def _of_sums(self, vectors: Vectors, judge: Callable[[Vectors], FloatArray]) -> FloatArray:
        sums = self.sums(vectors)
        result = np.full(len(vectors), np.inf)
        some = np.asarray(sums.sum(axis=1) > 0)
        if some.any():
            result[some] = judge(sums[some])
        return result

    def slack(self, vectors: Vectors) -> FloatArray:
        """Return the slack of the sums."""
        return self._of_sums(vectors, self.diversity.slack)

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return what the sums reach."""
        return self._of_sums(vectors, self.diversity.reached)

    def nearest(self, vectors: Vectors) -> frozenset[int]:
        """Return the columns of the sums that come nearest to breaking the criterion."""
        sums = self.sums(vectors[:1])
        codes = self.diversity.nearest(sums) if sums.any() else frozenset()
        return frozenset(place for place, code in enumerate(self.above) if code in codes)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class."""
        sums: list[Fraction | int] = [0] * (len(self.labels) or len(self.places))
        for place, part in zip(self.above, vector):
            if place is not None:
                sums[place] += part
        return not any(sums) or self.diversity.decide(sums)

    def scaled(self, factor: Fraction) -> "Projected | None":
        """Return the criterion of the sums, scaled."""
        scaled = self.diversity.scaled(factor)
        return None if scaled is None else replace(self, diversity=scaled)


# Diversity of people, who can have several rows each: it must hold however the rows are distributed among them.
#
# Each person has at most r of the rows of a class, and any one of them may be seen. Let p be the shares of the sensitive
# values among the rows. The shares u that people can have satisfy u_s <= r p_s: a value has no more people than rows, and
# there are at least 1/r times as many people as rows. Of all these u the one that fills up the most frequent values first
# majorizes every other. So a criterion that is inherited by majorized shares holds for all if it holds for that one. For a
# bound on the sum of the most frequent shares, with a weight on the first, this is the same bound divided by r. It is on a
# convex function of the shares, so merging classes keeps it.
#
# The number of people is T / r here. Rounding it up would not survive merging: (1, 1, 1) with r = 2 is at least two people,
# and no value has more than half of them; twice (1, 1, 1) is three people, and a value can have two. Entropy is not kept
# either: with r = 2 the rows (6, 5, 5, 4) are at least as uncertain as 1.96 equally likely values, (15, 1, 1, ...) with 25
# times 1 as 2.62, ten times the one and once the other as 1.94.


def of_people(diversity: Diversity, rows_per_person: int) -> Diversity | None:
    """Return the criterion that a class satisfies if its people, of at most so many rows each, certainly satisfy a
    diversity.

    None if that cannot be decided exactly: for a criterion that bounds neither the most frequent shares nor those of
    certain values.
    """
    if rows_per_person == 1:
        return diversity
    of_rows = diversity.of_rows(rows_per_person)
    return OfPeople(diversity, rows_per_person) if of_rows is None and diversity.share_bound() is not None else of_rows


@frozen
class OfPeople(Diversity):
    """Diversity of people with at most `rows_per_person` rows each. Reached: by the least diverse people.

    eased: factor of the bound. Raises CriterionError if the diversity is no bound on the most frequent shares.
    """

    diversity: Diversity
    rows_per_person: int
    eased: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        _ = self.share_bound()

    def share_bound(self) -> ShareBound:
        """Return the bound on the shares of the rows: the bound on people divided by the rows of each."""
        bound = self.diversity.share_bound()
        if bound is None:
            raise CriterionError(f"{self.diversity} cannot be decided of people who have several rows each")
        return bound._replace(limit=bound.limit * self.eased / self.rows_per_person)

    def slack(self, vectors: Vectors) -> FloatArray:
        """Return the slack relative to the bound."""
        bound = self.share_bound()
        shares = -np.sort(-np.asarray(vectors, dtype=np.float64), axis=1)
        bounded = float(bound.head_weight) * shares[:, 0] + shares[:, : bound.top].sum(axis=1)
        with np.errstate(divide="ignore"):
            return np.asarray(float(bound.limit) * shares.sum(axis=1) / bounded - 1, dtype=np.float64)

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return what the least diverse people reach, whose shares fill up the most frequent values first."""
        rows = -np.sort(-np.asarray(vectors, dtype=np.float64), axis=1)
        filled = np.minimum(self.rows_per_person * np.cumsum(rows / rows.sum(axis=1, keepdims=True), axis=1), 1.0)
        people = np.diff(filled, axis=1, prepend=0.0)
        return self.diversity.reached(np.where(people > 1e-12, people, 0.0))

    def scaled(self, factor: Fraction) -> "OfPeople":
        """Return the criterion with the bound divided by the factor."""
        return replace(self, eased=self.eased / factor)
