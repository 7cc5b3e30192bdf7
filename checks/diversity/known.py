"""Criteria on fewer columns: a criterion among those whose sensitive value is known, and any criterion on sums of columns.

Let M be the labels that stand for no value, v a class's counts (or probabilities) and v' = (v_s) for s not in M. A
criterion D that leaves out M is satisfied by v exactly when v' = 0 or D is satisfied by v'. So 20 rows of asthma and 5
without a diagnosis share one diagnosis: for whoever has one it is certain. Where nobody's value is known there is none to
be told.

Merging keeps it, as it must be: (u + v)' = u' + v', and of two that pass either one is 0 there, and the sum is the other,
or D is satisfied by both, hence by the sum. People of at most r rows have at most r rows among those with a value, so D
may be asked of people first, or this.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from checks.diversity.criterion import Diversity, SensitiveValues, Vectors
from checks.diversity.text import LEAVING_OUT, spelled_labels
from checks.errors import CriterionError
from models.arrays import FloatArray, IndexArray
from models.tables.hierarchy import MISSING


def leaving_out(diversity: Diversity, labels: Collection[str]) -> Diversity:
    """A criterion of the rows whose value is known. labels: what stands for no value, with those left out already.

    A criterion that says itself what becomes of such a label stays as it is.
    """
    if isinstance(diversity, LeavingOut):
        return LeavingOut(diversity.plain, tuple(sorted({*diversity.labels, *labels})))
    names_it = any(isinstance(named, tuple) and {*labels} & {*named} for named in vars(diversity).values())
    return diversity if names_it or not labels else LeavingOut(diversity, tuple(sorted(labels)))


def standing_for_none(values: SensitiveValues) -> frozenset[int]:
    """The codes of the values under which there is nothing but the value of rows without one.

    None if only a coarser value has its label, which is a name for what is under it.
    """
    return values.within([MISSING]) if MISSING in values.hierarchy.labels[0] else frozenset()


@dataclass(frozen=True)
class LeavingOut(Diversity):
    """A criterion of the rows whose sensitive value is known. labels: what stands for no value, sorted.

    A published value is left out if nothing is under it but these; a label that is none of the values leaves out nothing.
    """

    plain: Diversity
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.labels or isinstance(self.plain, LeavingOut):
            raise CriterionError(f"{LEAVING_OUT} needs labels of values, once")

    def __str__(self) -> str:
        return f"{self.plain} {LEAVING_OUT} {spelled_labels(self.labels)}"

    @property
    def about_base_values(self) -> bool:
        """Whether the criterion is about base values."""
        return self.plain.about_base_values

    def among(self, values: SensitiveValues) -> Diversity:
        """The criterion for classes that are counted by these values, of which it looks at those that are known."""
        unknown = self._unknown(values)
        if not unknown:
            return self.plain.among(values)
        base = values.hierarchy.lift(0, values.level)
        hierarchy = values.hierarchy.restricted_to(np.flatnonzero(~np.isin(base, sorted(unknown))))
        places = [code for code in range(len(values.rows)) if code not in unknown]
        known = SensitiveValues(hierarchy, values.level, tuple(values.rows[code] for code in places))
        place_of = {code: place for place, code in enumerate(places)}
        return Projected(self.plain.among(known), tuple(map(place_of.get, range(len(values.rows)))))

    def stated_among(self, values: SensitiveValues) -> Diversity:
        """The same of these values; the criterion itself if each of them is known."""
        labels = values.occurring(self._unknown(values))
        plain = self.plain.stated_among(values)
        return LeavingOut(plain, labels) if labels else plain

    def _unknown(self, values: SensitiveValues) -> frozenset[int]:
        """The codes of the values that are left out; none if no value would remain, as there is nothing to judge then."""
        named = {label for labels in values.hierarchy.labels[:-1] for label in labels if label != MISSING}
        named |= {MISSING} & {*values.hierarchy.labels[0]}
        unknown = values.within(named.intersection(self.labels))
        return unknown if len(unknown) < len(values.rows) else frozenset()


@dataclass(frozen=True)
class Projected(Diversity):
    """A criterion on sums of some of a class's columns; a class that has nothing in these passes.

    Merging classes adds up their sums too, so what merging keeps of the criterion it keeps of this. above: for each column
    which sum it is part of, None for none. labels: of the sums; empty if each is one column. Reached: what the criterion
    says of the sums, infinite if all are 0.
    """

    diversity: Diversity
    above: tuple[int | None, ...]
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(self.diversity)

    @cached_property
    def places(self) -> IndexArray:
        """The columns that are part of a sum."""
        return np.array([place for place, above in enumerate(self.above) if above is not None], dtype=np.intp)

    def sums(self, vectors: Vectors) -> Vectors:
        """The sums of each class: shape (classes, sums)."""
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
        """The slack of the sums."""
        return self._of_sums(vectors, self.diversity.slack)

    def reached(self, vectors: Vectors) -> FloatArray:
        """What the sums reach."""
        return self._of_sums(vectors, self.diversity.reached)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        sums: list[Fraction | int] = [0] * (len(self.labels) or len(self.places))
        for place, part in zip(self.above, vector):
            if place is not None:
                sums[place] += part
        return not any(sums) or self.diversity.decide(sums)

    def scaled(self, factor: Fraction) -> "Projected | None":
        """The criterion itself scaled."""
        judged = self.diversity.scaled(factor)
        return None if judged is None else replace(self, diversity=judged)
