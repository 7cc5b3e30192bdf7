"""Criteria that name values, or compare a class with the whole table."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain
from math import ceil
from typing import ClassVar

import numpy as np

from checks.diversity.criteria import (
    AT_LEAST_ONE,
    WHOLE_AT_LEAST_ONE,
    Distinct,
    DontCareEntropy,
    Entropy,
    NegativeDisclosure,
    NpdRecursive,
    Recursive,
)
from checks.diversity.criterion import Diversity, SensitiveValues, Vectors
from checks.diversity.cuts import ROUNDING, Cases, GroupCases, RatioBounds, empty_tails, light_others, too_rare
from checks.diversity.derived import Projected
from checks.diversity.text import (
    LABELS_MAY_DISCLOSE,
    LABELS_MUST_PROTECT,
    LABELS_OF,
    MAY_EQUAL,
    Clause,
    Grammar,
    Number,
    spelled,
)
from checks.errors import CriterionError
from models.arrays import FloatArray
from models.frozen import frozen
from models.tables.hierarchy import MAX_LEVELS

_NONE, _ALL = Fraction(0), Fraction(1)
"""Bounds of a share that demand nothing."""


@frozen
class ShareRange(Diversity):
    """Criterion that each value has a share between two bounds, in every class.

    lower, upper: for each value; 0 and 1 or more if nothing is demanded. Merging keeps it: shares of a merged class
    are means. Reached: the factor by which the share nearest to its bound is within it, below 1 if it is beyond.
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        is_valid = all(0 <= low < 1 and high >= 0 for low, high in zip(self.lower, self.upper))
        if len(self.lower) != len(self.upper) or not is_valid:
            raise CriterionError("each value needs a lower bound from 0 to below 1, and an upper bound of 0 or more")

    def __str__(self) -> str:
        bounds = (f"{spelled(low)} to {spelled(min(high, Fraction(1)))}" for low, high in zip(self.lower, self.upper))
        return f"shares of {', '.join(bounds)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """Return the factor less 1."""
        return self.reached(vectors) - 1

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return the smallest of bound / share over the upper bounds and of share / bound over the lower ones."""
        shares = np.asarray(vectors / vectors.sum(axis=1, keepdims=True), dtype=np.float64)
        high = np.array([bound if bound < 1 else np.inf for bound in self.upper], dtype=np.float64)
        low = np.array(self.lower, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            within_upper = np.where(shares > 0, high / shares, np.inf)
            within_lower = np.where(low > 0, shares / low, np.inf)
        return np.asarray(np.minimum(within_upper, within_lower).min(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class."""
        total = sum(vector)
        return all(low * total <= v <= high * total for v, low, high in zip(vector, self.lower, self.upper))

    def scaled(self, factor: Fraction) -> "ShareRange | None":
        """Return the criterion with upper bounds divided by the factor and lower ones multiplied; None if one reaches 1."""
        lower = tuple(share * factor for share in self.lower)
        return None if any(share >= 1 for share in lower) else ShareRange(lower, tuple(s / factor for s in self.upper))

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """Return cases in which a value is too frequent, so that all others together are too light, or too rare."""
        possible = bounds.possible()
        bounded = [code for code, share in enumerate(self.upper) if share < 1 and possible[code]]
        heads = np.array([code for code in bounded if self.upper[code] > 0], dtype=np.intp)
        absent = np.array([code for code in bounded if self.upper[code] == 0], dtype=np.intp)
        cases = [empty_tails(absent, bounds.value_count)] if len(absent) else []
        if len(heads):
            cases.append(light_others(bounds, heads, [1 / self.upper[head] - 1 for head in heads.tolist()]))
        least = {code: share for code, share in enumerate(self.lower) if share > 0}
        return [*cases, *([too_rare(bounds, least)] if least else [])]


# t-closeness: the sensitive values of each class are distributed nearly as in the whole table (Li, Li,
# Venkatasubramanian: t-Closeness, ICDE 2007).
#
# The distance is the least work of moving one distribution onto the other (earth mover's distance). For the ground
# distances here it is, up to a unit, the sum over certain sets of values of the differences of the two distributions. If
# all values are 1 apart, the sets are the single values. If values lie evenly on a line, the first and the last 1 apart,
# the sets are the first 1, 2, ... of those that have rows. If the distance is the level at which values merge, `*` counting
# 1, the sets are the values of the hierarchy below `*`.


@frozen
class Closeness(Diversity):
    """t-closeness: a class is no further than t from the whole table. Reached: the distance.

    values: what the columns count, with the rows of the whole table; None until `among` sets it. The whole table stays
    the same when classes merge, so merging keeps closeness. distance: "equal", "ordered" or "hierarchical".
    """

    t: Fraction
    distance: str = "equal"
    values: SensitiveValues | None = None
    name: ClassVar[str] = "t-closeness"
    grammar = Grammar(
        (Number("t", 0, 1, is_closed=True),),
        (
            Clause("equal", "distance", "equal", is_optional=True, is_silent=True),
            Clause("ordered", "distance", "ordered", is_optional=True),
            Clause("hierarchical", "distance", "hierarchical", is_optional=True),
        ),
    )

    @property
    def is_relative(self) -> bool:
        """True if the whole table is not known yet."""
        return self.values is None

    def among(self, values: SensitiveValues) -> "Closeness":
        """Return the criterion with the whole table. Raises CriterionError without rows, or without a needed order."""
        if not any(values.rows):
            raise CriterionError("t-closeness needs a table with rows")
        if self.distance == "ordered" and values.order is None:
            raise CriterionError(f"{self} needs values that lie in an order, and nothing says in which these do")
        return replace(self, values=values)

    def _known_values(self) -> SensitiveValues:
        if self.values is None:
            raise CriterionError(self.lacking())
        return self.values

    def _work(self, differences: Vectors) -> tuple[Vectors, Fraction]:
        """Return the least work of each class in steps, and that of a step: half if one set lacks the excess of
        another.

        differences: shape (classes, values), whole numbers, floats or objects.
        """
        values = self._known_values()
        if self.distance == "ordered":
            line = list(values.order or ())
            along = np.cumsum(differences[:, line], axis=1)[:, :-1]
            return np.abs(along).sum(axis=1), Fraction(1, max(len(line) - 1, 1))
        top = values.hierarchy.height if self.distance == "hierarchical" else values.level + 1
        steps = np.zeros(len(differences), dtype=differences.dtype)
        for level in range(values.level, top):
            above = values.hierarchy.lift(values.level, level)
            order = np.argsort(above, kind="stable")
            sets = np.flatnonzero(np.diff(above[order], prepend=-1))
            steps += np.abs(np.add.reduceat(differences[:, order], sets, axis=1)).sum(axis=1)
        return steps, Fraction(1, 2 * max(top - values.level, 1))

    def slack(self, vectors: Vectors) -> FloatArray:
        """Return the distance below t, both on the scale from 0 to 1."""
        return float(self.t) - self.reached(vectors)

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return the distance of each class from the whole table; for whole numbers of rows it is rounded once."""
        rows, table_rows = vectors.sum(axis=1), np.array(self._known_values().rows, dtype=object)
        total = int(table_rows.sum())
        if vectors.dtype.kind in "iu" and int(rows.max(initial=0)) * total * 2 * (len(table_rows) + MAX_LEVELS) < _MOST:
            steps, unit = self._work(vectors * np.int64(total) - np.outer(rows, table_rows.astype(np.int64)))
            return np.asarray(steps * unit.numerator / (rows * np.float64(total * unit.denominator)), dtype=np.float64)
        steps, unit = self._work(vectors / rows[:, None] - table_rows.astype(np.float64) / float(total))
        return np.asarray(float(unit) * steps, dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class."""
        table_rows = np.array(self._known_values().rows, dtype=object)
        rows, total = sum(vector), table_rows.sum()
        (steps,), unit = self._work((np.array(vector, dtype=object) * total - table_rows * rows)[None])
        return bool(unit * steps <= self.t * rows * total)


_MOST = 2**62
"""Whole numbers up to here are added exactly."""


@frozen
class AtLevel(Diversity):
    """Criterion on the values of a level, or on the published ones if these are coarser.

    Six codes of diseases that are equally likely say nothing if all are in one chapter. Counted by chapters such a
    class has one value, and fails. Raises CriterionError for a level of 0 or less: finer values are never judged.
    """

    diversity: Diversity
    level: int

    def __post_init__(self) -> None:
        if self.level < 1:
            raise CriterionError(f"a criterion on coarser values needs a level of at least 1, got {self.level}")

    def __str__(self) -> str:
        return f"{self.diversity} at level {self.level}"

    def among(self, values: SensitiveValues) -> Diversity:
        """Return the criterion for classes that are counted by finer values, as far as these are finer."""
        coarser = values.coarsened(max(self.level, values.level))
        criterion = self.diversity.among(coarser)
        if coarser.level == values.level:
            return criterion
        above = tuple(values.hierarchy.lift(values.level, coarser.level).tolist())
        return _of_finer(criterion, above, values.hierarchy.labels[coarser.level])

    def stated_among(self, values: SensitiveValues) -> "AtLevel":
        """Return the criterion with the labels of the coarser values."""
        coarser = values.coarsened(max(self.level, values.level))
        return replace(self, diversity=self.diversity.stated_among(coarser))


def _of_finer(criterion: Diversity, above: tuple[int, ...], labels: tuple[str, ...]) -> Diversity:
    """Return a criterion on sums of columns. above: the sum of each column. Sets of values need no sums, and have cuts."""
    if isinstance(criterion, SumsAtMost):
        return criterion.of_finer(above)
    if not isinstance(criterion, Projected) or not isinstance(criterion.diversity, SumsAtMost):
        return Projected(criterion, above, labels)
    places = tuple(criterion.above[code] for code in above)
    present = [place for place in places if place is not None]
    numbers = iter(range(len(present)))
    return Projected(
        criterion.diversity.of_finer(present), tuple(None if place is None else next(numbers) for place in places)
    )


@frozen
class PdRecursive(Diversity):
    """Recursive (c, l)-diversity with a don't-care set (MKGV07 Def. 4.3), as `Recursive`. may_disclose: its labels."""

    c: Fraction
    l: int
    may_disclose: tuple[str, ...]
    strict: bool = True
    name: ClassVar[str] = "pd-recursive"
    grammar = Grammar((Number("c", 0), WHOLE_AT_LEAST_ONE), (MAY_EQUAL, LABELS_MAY_DISCLOSE))

    def among(self, values: SensitiveValues) -> Recursive:
        """Return the criterion with the values that cover only those that may be disclosed."""
        return Recursive(self.c, self.l, self.strict, values.within(self.may_disclose))

    def of_all_values(self) -> Recursive:
        """Return the criterion for a table where no value may be disclosed."""
        return Recursive(self.c, self.l, self.strict)


@frozen
class ProtectedValues(Diversity):
    """Criterion that each of some values has a share of at least `percent` percent. must_protect: their labels."""

    percent: Fraction
    must_protect: tuple[str, ...]
    name: ClassVar[str] = "negative-disclosure"
    grammar = Grammar((Number("percent", 0, 100),), (LABELS_MUST_PROTECT,))

    def among(self, values: SensitiveValues) -> NegativeDisclosure:
        """Return the criterion with the values that cover a protected one."""
        return NegativeDisclosure(self.percent, values.touching(self.must_protect))


@frozen
class NpdRecursiveByLabel(Diversity):
    """Recursive (c1, l)-diversity, with a don't-care set or without, and protected values with c2 percent (Def. 4.4)."""

    c1: Fraction
    c2: Fraction
    l: int
    must_protect: tuple[str, ...]
    may_disclose: tuple[str, ...] = ()
    strict: bool = True
    name: ClassVar[str] = "npd-recursive"
    grammar = Grammar(
        (Number("c1", 0), Number("c2", 0, 100), WHOLE_AT_LEAST_ONE),
        (MAY_EQUAL, LABELS_MAY_DISCLOSE._replace(is_optional=True), LABELS_MUST_PROTECT),
    )

    def among(self, values: SensitiveValues) -> NpdRecursive:
        """Return both halves among these values."""
        recursive = Recursive(self.c1, self.l, self.strict, values.within(self.may_disclose))
        return NpdRecursive(recursive, NegativeDisclosure(self.c2, values.touching(self.must_protect)))


@frozen
class AdjustedEntropy(Diversity):
    """Adjusted entropy is at least ln l (MKGV07 Def. 4.5). may_disclose: labels of the don't-care values."""

    l: Fraction
    may_disclose: tuple[str, ...]
    name: ClassVar[str] = "adjusted-entropy"
    grammar = Grammar((AT_LEAST_ONE,), (LABELS_MAY_DISCLOSE,))

    def among(self, values: SensitiveValues) -> DontCareEntropy | Entropy:
        """Return the criterion with the values that cover only those that may be disclosed."""
        free = values.within(self.may_disclose)
        return DontCareEntropy(self.l, free) if free else self.of_all_values()

    def of_all_values(self) -> Entropy:
        """Return the criterion for a table where no value may be disclosed."""
        return Entropy(self.l)


# Criteria that bound the share of each value by its share in the whole table: the belief of a reader who knows only the
# whole table. With such a prior the posterior of MKGV07 Theorem 3.1 is the share in the class. Shares of a merged class are
# means of those of its parts, so merging keeps all bounds. Other priors are in `checks.population`.


@frozen
class BayesOptimal(Diversity):
    """No belief rises from below rho1 to above rho2, or falls from above 1 - rho1 to below 1 - rho2 (MKGV07 Def. 3.3)."""

    rho1: Fraction
    rho2: Fraction
    name: ClassVar[str] = "bayes-optimal"
    grammar = Grammar((Number("rho1", 0, 1), Number("rho2", 0, 1)))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rho1 >= self.rho2:
            pair = f"{spelled(self.rho1)} and {spelled(self.rho2)}"
            raise CriterionError(f"bayes-optimal:rho1,rho2 needs rho1 below rho2, got {pair}")

    def among(self, values: SensitiveValues) -> ShareRange:
        """Return the criterion with rho2 above the share of each value rarer than rho1 in the whole table."""
        lower = (1 - self.rho2 if share > 1 - self.rho1 else _NONE for share in values.shares)
        upper = (self.rho2 if share < self.rho1 else _ALL for share in values.shares)
        return ShareRange(tuple(lower), tuple(upper))


@frozen
class BeliefDifference(Diversity):
    """No value's share in a class differs from its share in the whole table by more than d (MKGV07 Principle 1)."""

    d: Fraction
    name: ClassVar[str] = "belief-difference"
    grammar = Grammar((Number("d", 0, 1),))

    def among(self, values: SensitiveValues) -> ShareRange:
        """Return the criterion with d below and above each share; the whole table must have rows."""
        lower = (max(share - self.d, _NONE) for share in values.shares)
        return ShareRange(tuple(lower), tuple(share + self.d for share in values.shares))


@frozen
class Alpha(Diversity):
    """Criterion that each of some values has a share of at most alpha. of: their labels.

    The alpha of (alpha, k)-anonymity, whose k is k_link (Wong, Li, Fu, Wang: (alpha, k)-Anonymity, KDD 2006, Defs. 3,
    4).
    """

    alpha: Fraction
    of: tuple[str, ...]
    name: ClassVar[str] = "alpha"
    grammar = Grammar((Number("alpha", 0, 1),), (LABELS_OF,))

    def among(self, values: SensitiveValues) -> ShareRange:
        """Return the criterion with the values that cover a named one."""
        named = values.touching(self.of)
        upper = (self.alpha if code in named else _ALL for code in range(len(values.rows)))
        return ShareRange((_NONE,) * len(values.rows), tuple(upper))

    def of_all_values(self) -> Distinct:
        """Return a criterion that demands nothing, because no row has such a value."""
        return Distinct(1)


@frozen
class SumsAtMost(Diversity):
    """Criterion that some sets of values each have at most a share of a class. Reached: the share nearest to its bound,
    in percent.

    bounds: shares below 1, each with the codes of its set. Shares of a merged class are means of those of its parts,
    so merging keeps them. unbounded: other sets of values that harm.
    """

    bounds: tuple[tuple[Fraction, frozenset[int]], ...]
    unbounded: tuple[frozenset[int], ...] = ()

    def __str__(self) -> str:
        bounds = (f"at most {spelled(100 * share)} percent of {sorted(codes)}" for share, codes in self.bounds)
        return "; ".join(bounds) or "no bound"

    @cached_property
    def _limits(self) -> FloatArray:
        return np.array([float(share) for share, _ in self.bounds])

    def _sums(self, vectors: Vectors) -> Vectors:
        """Return the rows of each set: shape (classes, bounds)."""
        if not self.bounds:
            return np.zeros((len(vectors), 0), dtype=vectors.dtype)
        none = vectors.shape[1]  # a column of zeros beside each set, since some sets are empty
        sets = [[none, *codes] for _, codes in self.bounds]
        starts = np.cumsum([0, *map(len, sets[:-1])])
        padded = np.pad(vectors, ((0, 0), (0, 1)))
        return np.asarray(np.add.reduceat(padded[:, list(chain.from_iterable(sets))], starts, axis=1))

    def slack(self, vectors: Vectors) -> FloatArray:
        """Return the least of bound / share, less 1."""
        with np.errstate(divide="ignore"):
            room = self._limits * vectors.sum(axis=1, keepdims=True) / self._sums(vectors)
        return np.asarray(room.min(axis=1, initial=np.inf) - 1, dtype=np.float64)

    def slack_of_products(self, first: Vectors, second: Vectors) -> FloatArray:
        """Return the slack by a product of matrices for each set."""
        totals, heaviest = first @ second.T, np.zeros((len(first), len(second)))
        for share, codes in self.bounds:
            places = sorted(codes)
            np.maximum(heaviest, first[:, places] / float(share) @ second[:, places].T, out=heaviest)
        room = np.divide(totals, heaviest, out=np.full(totals.shape, np.inf), where=heaviest > 0)
        return np.asarray(room - 1, dtype=np.float64)

    def reached(self, vectors: Vectors) -> FloatArray:
        """Return the percentage of the set that is nearest to its bound, or beyond it; 0 without a bound."""
        if not self.bounds:
            return np.zeros(len(vectors))
        percent = np.asarray(100 * self._sums(vectors) / vectors.sum(axis=1, keepdims=True), dtype=np.float64)
        return np.asarray(percent[np.arange(len(percent)), (percent / self._limits).argmax(axis=1)])

    def nearest(self, vectors: Vectors) -> frozenset[int]:
        """Return the set that is nearest to its bound."""
        return self.bounds[int((self._sums(vectors[:1]) / self._limits).argmax())][1] if self.bounds else frozenset()

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """Return the exact verdict on one class."""
        total = sum(vector)
        return all(sum(vector[code] for code in codes) <= share * total for share, codes in self.bounds)

    def of_finer(self, above: Sequence[int]) -> "SumsAtMost":
        """Return the criterion for finer columns. above: the column here that each of them is part of."""

        def under(codes: frozenset[int]) -> frozenset[int]:
            return frozenset(place for place, code in enumerate(above) if code in codes)

        return SumsAtMost(
            tuple((share, under(codes)) for share, codes in self.bounds), tuple(map(under, self.unbounded))
        )

    def scaled(self, factor: Fraction) -> "SumsAtMost":
        """Return the bounds divided by the factor, without bounds that then demand nothing."""
        return SumsAtMost(tuple((share / factor, codes) for share, codes in self.bounds if share < factor))

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """Return cases in which a set, its most frequent value as head, outweighs all others by more than its bound."""
        possible, cases = bounds.possible(), list[Cases]()
        single = {min(codes): share for share, codes in self.bounds if len(codes) == 1 and possible[min(codes)]}
        if single:
            heads = np.array(list(single), dtype=np.intp)
            cases.append(light_others(bounds, heads, [1 / share - 1 for share in single.values()]))
        for share, codes in self.bounds:
            if len(codes) == 1:
                continue
            named = np.isin(np.arange(bounds.value_count), sorted(codes))
            heads = np.flatnonzero(named & possible & ~(bounds.floor[named] > ROUNDING).any(axis=0))
            weights = np.where(named, float(share) - 1, float(share))
            balance = np.repeat(weights[:, None], len(heads), axis=1)
            highest = np.minimum(bounds.ceiling[:, heads], 0)
            cases.append(GroupCases.of(heads, balance, np.minimum(bounds.floor[:, heads], highest), highest))
        return cases


@frozen
class AtMost(Diversity):
    """Several values together have a share of at most so many percent: the certainty of a reader about harm. of: their
    labels.

    For one value it is the alpha of (alpha, k)-anonymity. For several it bounds their union, so that splitting a value
    into finer ones changes nothing. A published value counts if it covers one of the labels.
    """

    percent: Fraction
    of: tuple[str, ...]
    name: ClassVar[str] = "at-most"
    grammar = Grammar((Number("percent", 0, 100),), (LABELS_OF,))

    def among(self, values: SensitiveValues) -> SumsAtMost:
        """Return the criterion with the values that cover a named one."""
        return SumsAtMost(((self.percent / 100, values.touching(self.of)),))

    def of_all_values(self) -> Distinct:
        """Return a criterion that demands nothing, because no row has such a value."""
        return Distinct(1)

    def of_rows(self, rows_per_person: int) -> "AtMost":
        """Return the bound divided by the rows of each person: n rows of T are at most n of T / r people."""
        return replace(self, percent=self.percent / rows_per_person)


@frozen
class Odds(Diversity):
    """No harmful value, nor all of them together, becomes much likelier than it is among all rows.

    may_disclose: labels of harmless values; all others harm, also those that a later table brings. Let p be a share in
    the whole table. The share in a class is at most a(p) = max(percent / 100, times p / (1 - p + times p)). a(p) is
    rounded up to a whole percent unless times is 1. So the odds grow by no more than that factor, apart from rare
    values. The bound holds as well for each coarser value that covers harmful values only, and for all harmful values
    together. Otherwise splitting a value into finer ones would make it surer. A published value is harmless if it
    covers harmless values only.

    rows_per_person: most rows of each person; then the bounds are those of people.
    """

    times: Fraction
    percent: Fraction
    may_disclose: tuple[str, ...] = ()
    rows_per_person: int = 1
    name: ClassVar[str] = "odds"
    grammar = Grammar(
        (Number("times", 1, is_closed=True), Number("percent", 0, 100, is_closed=True)),
        (LABELS_MAY_DISCLOSE._replace(is_optional=True),),
    )

    def bound(self, share: Fraction) -> Fraction:
        """Return the largest share in a class of rows for a value's share among all rows; 1 is no bound."""
        people = min(_ALL, share * self.rows_per_person)
        most = max(self.percent / 100, self.times * people / (1 - people + self.times * people))
        rounded = Fraction(ceil(100 * most), 100) if self.times > 1 else most
        return _ALL if rounded >= 1 else rounded / self.rows_per_person

    def harmful(self, values: SensitiveValues) -> frozenset[int]:
        """Return the codes of the values that harm."""
        return frozenset(range(len(values.rows))) - values.within(self.may_disclose)

    @lru_cache(1 << 8)  # noqa: B019 - a search asks for each margin with these values
    def among(self, values: SensitiveValues) -> SumsAtMost:
        """Return the bounds of these values, of coarser ones and of all together, as far as these have rows."""
        occurring, total = frozenset(np.flatnonzero(values.rows).tolist()), sum(values.rows)
        harmful = self.harmful(values) & occurring
        sets = dict.fromkeys([*(frozenset((code,)) for code in sorted(harmful)), harmful])
        for level in range(values.level + 1, values.hierarchy.height):
            above = values.hierarchy.lift(values.level, level)
            members = (frozenset(np.flatnonzero(above == code).tolist()) & occurring for code in np.unique(above))
            sets |= dict.fromkeys(codes for codes in members if codes <= harmful)
        held = {codes: sum(values.rows[code] for code in codes) for codes in sets if codes}
        bounds = [(self.bound(Fraction(rows, total)), codes) for codes, rows in held.items()]
        bounded = tuple((share, codes) for share, codes in bounds if share < 1)
        return SumsAtMost(bounded, tuple(codes for share, codes in bounds if share >= 1))

    def of_rows(self, rows_per_person: int) -> "Odds":
        """Return the bounds of people: n rows of T are at most n of T / r people."""
        return replace(self, rows_per_person=rows_per_person)


@frozen
class BetaLikeness(Diversity):
    """Share q of a value in a class exceeds its share p in the whole table by at most beta times p.

    Cao, Karras: Publishing Microdata with a Robust Privacy Guarantee, PVLDB 5(11) 2012, Def. 2 (basic beta-likeness).
    """

    beta: Fraction
    name: ClassVar[str] = "beta-likeness"
    grammar = Grammar((Number("beta", 0),))

    def among(self, values: SensitiveValues) -> ShareRange:
        """Return the criterion with (1 + beta) p above each share; the whole table must have rows."""
        upper = ((1 + self.beta) * share for share in values.shares)
        return ShareRange((_NONE,) * len(values.rows), tuple(upper))
