"""A criterion among those whose sensitive value is known: rows without a value are no sensitive value of their own.

Let M be the labels that stand for no value, v a class's counts (or probabilities) and v' = (v_s) for s not in M. A
criterion D that leaves out M is satisfied by v exactly when v' = 0 or D is satisfied by v'. So 20 rows of asthma and 5
without a diagnosis share one diagnosis: for whoever has one it is certain. Where nobody's value is known there is none to
be told.

Merging keeps it, as it must be: (u + v)' = u' + v', and of two that pass either one is 0 there, and the sum is the other,
or D is satisfied by both, hence by the sum. Evidence of odds G multiplies the values of v' alone; people of at most r rows
have at most r rows among those with a value. So both may be asked of D first, or of this.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from checks.diversity.criterion import (
    LEAVING_OUT,
    Cases,
    Diversity,
    RatioBounds,
    RelativeDiversity,
    SensitiveValues,
    Vectors,
    among,
    scaled,
    slack_of_products,
    spelled_labels,
    stated_among,
    violations,
)
from checks.diversity.odds import AtOdds, UnderOdds, odds_borne
from checks.errors import CriterionError
from models.arrays import BoolArray, FloatArray, IndexArray
from models.tables.hierarchy import MISSING


def leaving_out(diversity: Diversity, labels: Collection[str]) -> Diversity:
    """A criterion of the rows whose value is known. labels: what stands for no value, with those left out already.

    A criterion that says itself what becomes of such a label stays as it is.
    """
    if isinstance(diversity, AtOdds):
        return replace(diversity, plain=leaving_out(diversity.plain, labels))
    if isinstance(diversity, LeavingOut):
        return LeavingOut(diversity.plain, tuple(sorted({*diversity.labels, *labels})))
    names_it = any(isinstance(named, tuple) and {*labels} & {*named} for named in vars(diversity).values())
    return diversity if names_it or not labels else LeavingOut(diversity, tuple(sorted(labels)))


def standing_for_none(values: SensitiveValues) -> frozenset[int]:
    """The codes of the values under which there is nothing but the value of rows without one."""
    return values.within([MISSING]) if _has_missing(values) else frozenset()


def _has_missing(values: SensitiveValues) -> bool:
    """Whether rows without a value have one of their own. A coarser label is only a name for what is under it."""
    return MISSING in values.hierarchy.labels[0]


@dataclass(frozen=True)
class LeavingOut(RelativeDiversity):
    """A criterion of the rows whose sensitive value is known. labels: what stands for no value, sorted.

    A published value is left out where nothing is under it but these; a label that is none of the values leaves out nothing.
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
        """As the criterion."""
        return self.plain.about_base_values

    def among(self, values: SensitiveValues) -> Diversity:
        """The criterion for classes that are counted by these values, of which it looks at those that are known."""
        unknown = self._unknown(values)
        if not unknown:
            return among(self.plain, values)
        base = values.hierarchy.lift(0, values.level)
        hierarchy = values.hierarchy.restricted_to(np.flatnonzero(~np.isin(base, sorted(unknown))))
        places = tuple(code for code in range(len(values.rows)) if code not in unknown)
        known = SensitiveValues(hierarchy, values.level, tuple(values.rows[code] for code in places))
        return AmongKnown(among(self.plain, known), places, len(values.rows))

    def stated_among(self, values: SensitiveValues) -> Diversity:
        """The same of these values; the criterion itself where each of them is known."""
        labels = values.occurring(self._unknown(values))
        plain = stated_among(self.plain, values)
        return LeavingOut(plain, labels) if labels else plain

    def _unknown(self, values: SensitiveValues) -> frozenset[int]:
        """The codes of the values that are left out; none where none would be left, as there is nothing to judge then."""
        named = {label for labels in values.hierarchy.labels[:-1] for label in labels} - {MISSING}
        labels = [label for label in self.labels if label in named or (label == MISSING and _has_missing(values))]
        unknown = values.within(labels) if labels else frozenset()
        return unknown if len(unknown) < len(values.rows) else frozenset()

    @property
    def facts(self) -> int:
        """Those of the criterion."""
        return self.plain.facts

    def meaning(self) -> str:
        """The criterion, and whose values it is about."""
        return f"{self.plain.meaning()}, counting only those whose value is known (not {spelled_labels(self.labels)})"

    def reached_in_words(self, value: float) -> str:
        """What a class reaches among those whose value is known."""
        return self.plain.reached_in_words(value)


@dataclass(frozen=True)
class AmongKnown(Diversity):
    """A criterion on some of a class's columns; a class that has nothing there passes.

    places: the columns in order. size: how many there are of all. Reached: what the criterion says of them, infinite where
    the class has nothing there.
    """

    diversity: Diversity
    places: tuple[int, ...]
    size: int

    def __str__(self) -> str:
        return str(self.diversity)

    def known(self, vectors: Vectors) -> Vectors:
        """The classes by the values that are known: shape (classes, known values)."""
        return vectors[:, list(self.places)]

    def _where_known(self, vectors: Vectors, of_known: Callable[[Vectors], FloatArray]) -> FloatArray:
        known = self.known(vectors)
        result = np.full(len(vectors), np.inf)
        some = np.asarray(known.sum(axis=1) > 0)
        if some.any():
            result[some] = of_known(known[some])
        return result

    def slack(self, vectors: Vectors) -> FloatArray:
        """That among the known values."""
        return self._where_known(vectors, self.diversity.slack)

    def reached(self, vectors: Vectors) -> FloatArray:
        """That among the known values."""
        return self._where_known(vectors, self.diversity.reached)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        known = [vector[place] for place in self.places]
        return not any(known) or self.diversity.decide(known)

    def slack_of_products(self, first: Vectors, second: Vectors) -> FloatArray | None:
        """That of the products of the known values, which is infinite where these are 0 throughout."""
        return slack_of_products(self.diversity, self.known(first), self.known(second))

    def scaled(self, factor: Fraction) -> "AmongKnown | None":
        """The criterion itself scaled."""
        judged = scaled(self.diversity, factor)
        return None if judged is None else replace(self, diversity=judged)

    def at_odds(self, odds: Fraction) -> "AmongKnown":
        """The criterion itself against evidence, which says nothing where no value is known."""
        return replace(self, diversity=UnderOdds(self.diversity, odds).judged)

    def odds_borne(self, vectors: Vectors) -> FloatArray:
        """Those of the known values; infinite where there are none."""
        return self._where_known(vectors, lambda known: odds_borne(self.diversity, known))

    def violations(self, bounds: RatioBounds) -> list[Cases] | None:
        """Those of the criterion, by the ratios of the known values alone."""
        places = np.array(self.places, dtype=np.intp)
        square = np.ix_(places, places)
        cases_by_value = violations(self.diversity, RatioBounds(bounds.floor[square], bounds.ceiling[square]))
        return None if cases_by_value is None else [Placed(cases, places, self.size) for cases in cases_by_value]


@dataclass(frozen=True, eq=False)
class Placed(Cases):
    """Cases of some of the values, as cases of all: the others have no weight in them. places: the values, of `size`."""

    cases: Cases
    places: IndexArray
    size: int
    heads: IndexArray = field(init=False)
    support: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", self.places[self.cases.heads])
        object.__setattr__(self, "support", self._spread(self.cases.support).astype(bool))

    def _spread(self, of_places: FloatArray | BoolArray) -> FloatArray:
        whole = np.zeros((self.size, *of_places.shape[1:]))
        whole[self.places] = of_places
        return whole

    def bound(self, weights: FloatArray) -> FloatArray:
        """That of the cases."""
        return self.cases.bound(weights[self.places])

    def kept(self, which: BoolArray) -> "Placed":
        """Some of the cases."""
        return Placed(self.cases.kept(which), self.places, self.size)

    def target(self, x: FloatArray) -> FloatArray:
        """That of the cases."""
        return self._spread(self.cases.target(x[self.places]))

    @property
    def targets(self) -> Sequence[Callable[[FloatArray], FloatArray]]:
        """Those of the cases."""

        def placed(target: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
            return lambda x: self._spread(target(x[self.places]))

        return tuple(map(placed, self.cases.targets))

    def form(self, weights: FloatArray) -> FloatArray:
        """That of the cases."""
        return self._spread(self.cases.form(weights[self.places]))
