"""The criteria that say which values they are about, or compare a class with the whole table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criteria import (
    DontCareEntropy,
    Entropy,
    NegativeDisclosure,
    NpdRecursive,
    Recursive,
    require_one_diverse,
)
from checks.diversity.criterion import (
    MAY_DISCLOSE,
    MUST_PROTECT,
    OF,
    OR_EQUAL,
    Cases,
    Diversity,
    Phrase,
    RatioBounds,
    RelativeDiversity,
    SensitiveValues,
    Vectors,
    among,
    check_l,
    numbers,
    scaled,
    spelled,
    spelled_labels,
    stated_among,
)
from checks.diversity.cuts import TailCases, empty_tails, too_rare
from checks.diversity.odds import ClosenessAtOdds
from checks.errors import CriterionError
from models.arrays import FloatArray
from models.tables.hierarchy import MAX_LEVELS, Hierarchy


@dataclass(frozen=True)
class ShareRange(Diversity):
    """Each value has a share between two bounds, in every class.

    lower, upper: for each value in the order of the columns; 0 and 1 or more where nothing is demanded. Merging keeps it:
    the shares of a merged class are means of those of its parts. Reached: the factor by which the share that comes nearest
    to its bound, or is furthest beyond it, is within that bound; below 1 where it is beyond. Infinite without bounds.
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.lower) != len(self.upper) or not all(0 <= share < 1 for share in self.lower):
            raise CriterionError("each value needs a lower bound from 0 to below 1, and an upper bound")
        if any(share < 0 for share in self.upper):
            raise CriterionError("an upper bound of a share is not negative")

    @classmethod
    def of(
        cls, value_count: int, lower: Mapping[int, Fraction] | None = None, upper: Mapping[int, Fraction] | None = None
    ) -> "ShareRange":
        """Bounds on some of so many values, given by their codes."""
        least, most = lower or {}, upper or {}
        codes = range(value_count)
        return cls(
            tuple(least.get(code, Fraction(0)) for code in codes), tuple(most.get(code, Fraction(1)) for code in codes)
        )

    def __str__(self) -> str:
        bounds = (f"{spelled(low)} to {spelled(min(high, Fraction(1)))}" for low, high in zip(self.lower, self.upper))
        return f"shares of {', '.join(bounds)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """The factor less 1."""
        return self.reached(vectors) - 1

    def reached(self, vectors: Vectors) -> FloatArray:
        """The smallest of bound / share over the upper bounds and of share / bound over the lower ones."""
        shares = np.asarray(vectors / vectors.sum(axis=1, keepdims=True), dtype=np.float64)
        high = np.array([float(bound) if bound < 1 else np.inf for bound in self.upper])
        low = np.array(list(map(float, self.lower)))
        with np.errstate(divide="ignore", invalid="ignore"):
            within_upper = np.where(shares > 0, high / shares, np.inf)
            within_lower = np.where(low > 0, shares / low, np.inf)
        return np.asarray(np.minimum(within_upper, within_lower).min(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        total = sum(vector)
        return all(low * total <= v <= high * total for v, low, high in zip(vector, self.lower, self.upper))

    def scaled(self, factor: Fraction) -> "ShareRange | None":
        """With upper bounds divided and lower ones multiplied by the factor; None where one is 1 or more then."""
        lower = tuple(share * factor for share in self.lower)
        return None if any(share >= 1 for share in lower) else ShareRange(lower, tuple(s / factor for s in self.upper))

    def at_odds(self, odds: Fraction) -> "ShareRange":
        """A value, or all others, weigh odds times as much."""
        lower = tuple(share * odds / (1 + share * (odds - 1)) for share in self.lower)
        upper = tuple(share / (share + odds * (1 - share)) if share < 1 else share for share in self.upper)
        return ShareRange(lower, upper)

    def odds_borne(self, vectors: Vectors) -> FloatArray:
        """The smallest ratio of v / (1 - v) at a bound and at the share, or the other way round for lower bounds."""
        shares = np.asarray(vectors / vectors.sum(axis=1, keepdims=True), dtype=np.float64)
        high, low = np.array(list(map(float, self.upper))), np.array(list(map(float, self.lower)))
        with np.errstate(divide="ignore", invalid="ignore"):
            value_odds = shares / (1 - shares)
            above = np.where((high >= 1) | (shares == 0), np.inf, high / (1 - high) / value_odds)
            below = np.where(low == 0, np.inf, value_odds * (1 - low) / low)
        return np.asarray(np.minimum(above, below).min(axis=1), dtype=np.float64)

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """A value is too frequent: all others together are too light beside it. Or one is too rare."""
        possible = bounds.possible()
        bounded = [code for code, share in enumerate(self.upper) if share < 1 and possible[code]]
        heads = np.array([code for code in bounded if self.upper[code] > 0], dtype=np.intp)
        absent = np.array([code for code in bounded if self.upper[code] == 0], dtype=np.intp)
        cases: list[Cases] = [empty_tails(absent, bounds.value_count)] if len(absent) else []
        if len(heads):
            theta = np.array([float(1 / self.upper[head] - 1) for head in heads.tolist()])
            cases.append(TailCases(heads, bounds.others(heads), np.maximum(theta, 1e-300)))
        least = {code: share for code, share in enumerate(self.lower) if share > 0}
        return [*cases, *([too_rare(bounds, least)] if least else [])]


# t-closeness: the sensitive values of each class are distributed nearly as in the whole table (Li, Li,
# Venkatasubramanian: t-Closeness, ICDE 2007).
#
# The distance is the least work of moving one distribution onto the other (earth mover's distance). On the ground
# distances here it is, up to a unit, the sum over certain sets of values of how much the two distributions differ
# there.


class Distance(Protocol):
    """How far apart the values of a sensitive attribute are."""

    @property
    def name(self) -> str:
        """What a reader calls it."""

    @property
    def unit(self) -> Fraction:
        """The work that a step is."""

    def steps(self, differences: NDArray[Any]) -> NDArray[Any]:
        """The least work of each class, in steps. differences: shape (classes, values), whole numbers, floats or objects."""


@dataclass(frozen=True)
class EqualDistance:
    """All values are 1 apart: half the sum of the absolute differences, the variational distance."""

    name: ClassVar[str] = "equal"

    @property
    def unit(self) -> Fraction:
        """A half: what is missing at one value is too much at another."""
        return Fraction(1, 2)

    def steps(self, differences: NDArray[Any]) -> NDArray[Any]:
        """The sets are the single values."""
        return np.asarray(np.abs(differences).sum(axis=1))


@dataclass(frozen=True)
class OrderedDistance:
    """Values lie evenly on a line, the first and the last 1 apart. order: their codes, lowest first; others have no rows."""

    order: tuple[int, ...]
    name: ClassVar[str] = "ordered"

    @property
    def unit(self) -> Fraction:
        """One step along the line."""
        return Fraction(1, max(len(self.order) - 1, 1))

    def steps(self, differences: NDArray[Any]) -> NDArray[Any]:
        """The sets are the first 1, 2, ... values."""
        along = differences[:, list(self.order)]
        return np.asarray(np.abs(np.cumsum(along, axis=1)[:, :-1]).sum(axis=1))


@dataclass(frozen=True)
class HierarchicalDistance:
    """Values published at `level` are as far apart as one must generalize for them to merge, `*` counting 1."""

    hierarchy: Hierarchy
    level: int = 0
    name: ClassVar[str] = "hierarchical"

    @property
    def unit(self) -> Fraction:
        """Half a step: moving is up and down again."""
        return Fraction(1, 2 * max(self.hierarchy.height - self.level, 1))

    def steps(self, differences: NDArray[Any]) -> NDArray[Any]:
        """The sets are the values of the hierarchy below `*`."""
        total = np.zeros(len(differences), dtype=differences.dtype)
        for level in range(self.level, self.hierarchy.height):
            merged = np.zeros((len(differences), self.hierarchy.size(level)), dtype=differences.dtype)
            for value, parent in enumerate(self.hierarchy.lift(self.level, level).tolist()):
                merged[:, parent] += differences[:, value]
            total += np.abs(merged).sum(axis=1)
        return total


@dataclass(frozen=True)
class TCloseness(Diversity):
    """A class is no further than t from the whole table. Reached: the distance.

    overall: rows of the whole table by sensitive value, in the order of the columns; not all 0. It stays the same when
    classes merge, and so closeness is kept by merging.
    """

    t: Fraction
    overall: tuple[int, ...]
    distance: Distance

    def __post_init__(self) -> None:
        _check_t(self.t)
        if not sum(self.overall) > 0:
            raise CriterionError("t-closeness needs a table with rows")

    def __str__(self) -> str:
        return f"t-closeness:{spelled(self.t)} ({self.distance.name} distance)"

    def slack(self, vectors: NDArray[Any]) -> FloatArray:
        """The distance below t, both on the scale from 0 to 1."""
        return float(self.t) - self.reached(vectors)

    def reached(self, vectors: NDArray[Any]) -> FloatArray:
        """The distance of each class from the whole table; of whole numbers of rows it is rounded once, at the end."""
        rows, whole = vectors.sum(axis=1), np.array(self.overall, dtype=object)
        total, unit = int(whole.sum()), self.distance.unit
        if vectors.dtype.kind in "iu" and int(rows.max(initial=0)) * total * 2 * (len(whole) + MAX_LEVELS) < _MOST:
            differences = vectors * np.int64(total) - np.outer(rows, whole.astype(np.int64))
            steps = self.distance.steps(differences)
            return np.asarray(steps * unit.numerator / (rows * np.float64(total * unit.denominator)), dtype=np.float64)
        shares = whole.astype(np.float64) / float(total)
        steps = self.distance.steps(vectors / rows[:, None] - shares)
        return np.asarray(float(unit) * steps, dtype=np.float64)

    def at_odds(self, odds: Fraction) -> Diversity | None:
        """Over all sets of values, where all values are equally far apart."""
        return ClosenessAtOdds(self.t, self.overall, odds) if isinstance(self.distance, EqualDistance) else None

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        rows, total = sum(vector), sum(self.overall)
        differences = np.array([[v * total - w * rows for v, w in zip(vector, self.overall)]], dtype=object)
        return bool(self.distance.unit * self.distance.steps(differences)[0] <= self.t * rows * total)


_MOST = 2**62
"""Whole numbers up to here are added exactly."""


_DISTANCES = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class Closeness(RelativeDiversity):
    """A class is no further than t from the whole table. distance: "equal", "ordered" or "hierarchical"."""

    t: Fraction
    distance: str = "equal"
    name: ClassVar[str] = "t-closeness"
    parameters: ClassVar[str] = "t [ordered or hierarchical]"

    def __post_init__(self) -> None:
        _check_t(self.t)
        if self.distance not in _DISTANCES:
            raise CriterionError(f"a distance is {', '.join(_DISTANCES)}, not {self.distance!r}")

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.t)}" + ("" if self.distance == "equal" else f" {self.distance}")

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `t`, `t ordered` or `t hierarchical`."""
        first, _, distance = text.strip().partition(" ")
        match numbers(first):
            case [t] if distance in ("", *_DISTANCES):
                return cls(t, distance or "equal")
        return None

    def among(self, values: SensitiveValues) -> TCloseness:
        """With the distribution of the whole table. Raises CriterionError where values must have an order, and have none."""
        return TCloseness(self.t, values.rows, self._distance(values))

    def _distance(self, values: SensitiveValues) -> Distance:
        """Over the values that have rows, since no others are published."""
        if self.distance == "equal":
            return EqualDistance()
        if self.distance == "hierarchical":
            return HierarchicalDistance(values.hierarchy, values.level)
        if (order := values.order) is None:
            raise CriterionError(f"{self} needs values that lie in an order, and nothing says in which these do")
        return OrderedDistance(order)

    def meaning(self) -> str:
        """The distance."""
        how = {
            "equal": "half the sum of the absolute differences",
            "ordered": "what must be moved how far along the order of the values",
            "hierarchical": "what must be moved how far up and down the hierarchy",
        }
        return (
            f"the probabilities of the sensitive values are at most {spelled(self.t)} away from those among all rows "
            f"({how[self.distance]})"
        )

    def reached_in_words(self, value: float) -> str:
        """The distance."""
        return f"{value:.4g} away (limit: at most {spelled(self.t)})"


def _check_t(t: Fraction) -> None:
    if not 0 <= t <= 1:
        raise CriterionError(f"t-closeness needs t from 0 to 1, got {spelled(t)}")


# A criterion on the values of a level of the sensitive attribute's hierarchy, whatever finer values are published.
#
# Six codes of diseases that are equally likely say nothing where all are in one chapter. Counted by chapters such a
# class has one value, and fails.


@dataclass(frozen=True)
class AtLevel(RelativeDiversity):
    """A criterion on the values of a level, or on the published ones where these are coarser.

    Raises CriterionError for a level of 0 or less: finer values than the published ones are never judged.
    """

    diversity: Diversity
    level: int

    def __post_init__(self) -> None:
        if self.level < 1:
            raise CriterionError(f"a criterion on coarser values needs a level of at least 1, got {self.level}")

    def __str__(self) -> str:
        return f"{self.diversity} at level {self.level}"

    def among(self, values: SensitiveValues) -> Diversity:
        """The criterion for classes that are counted by finer values, as far as these are."""
        judged = values.coarsened(max(self.level, values.level))
        criterion = among(self.diversity, judged)
        if judged.level == values.level:
            return criterion
        above = tuple(values.hierarchy.lift(values.level, judged.level).tolist())
        return Coarsened(criterion, above, values.hierarchy.labels[judged.level])

    def stated_among(self, values: SensitiveValues) -> "AtLevel":
        """With the labels of the coarser values."""
        judged = values.coarsened(max(self.level, values.level))
        return replace(self, diversity=stated_among(self.diversity, judged))

    @property
    def facts(self) -> int:
        """As many as by the values themselves."""
        return self.diversity.facts

    def meaning(self) -> str:
        """What holds of the coarser values."""
        return f"{self.diversity.meaning()}, values being those of level {self.level}"

    def reached_in_words(self, value: float) -> str:
        """What a class reaches by the coarser values."""
        return self.diversity.reached_in_words(value)


@dataclass(frozen=True)
class Coarsened(Diversity):
    """A criterion on sums of a class's columns. above: for each column which sum it is part of. labels: of the sums.

    Merging classes adds up their sums too, so what merging keeps of the criterion it keeps of this.
    """

    diversity: Diversity
    above: tuple[int, ...]
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return str(self.diversity)

    @cached_property
    def _sums(self) -> FloatArray:
        sums = np.zeros((len(self.above), len(self.labels)))
        sums[np.arange(len(self.above)), list(self.above)] = 1
        return sums

    def sums(self, vectors: Vectors) -> NDArray[Any]:
        """The classes by coarser values: shape (classes, labels)."""
        return np.asarray(vectors @ self._sums)

    def slack(self, vectors: Vectors) -> FloatArray:
        """That of the sums."""
        return self.diversity.slack(self.sums(vectors))

    def reached(self, vectors: Vectors) -> FloatArray:
        """That of the sums."""
        return self.diversity.reached(self.sums(vectors))

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """That of the sums, exactly."""
        exact = [Fraction(0)] * len(self.labels)
        for place, part in zip(self.above, vector):
            exact[place] += part
        return self.diversity.decide(exact)

    def scaled(self, factor: Fraction) -> "Coarsened | None":
        """The criterion itself scaled."""
        judged = scaled(self.diversity, factor)
        return None if judged is None else replace(self, diversity=judged)


@dataclass(frozen=True)
class PdRecursive(RelativeDiversity):
    """Recursive (c, l)-diversity with a don't-care set. may_disclose: its labels. `strict` is that of `Recursive`."""

    c: Fraction
    l: int
    may_disclose: tuple[str, ...]
    strict: bool = True
    name: ClassVar[str] = "pd-recursive"
    parameters: ClassVar[str] = f"c,l [{OR_EQUAL}] {MAY_DISCLOSE} LABELS"

    def __post_init__(self) -> None:
        _ = self._of(frozenset())

    def __str__(self) -> str:
        equal = "" if self.strict else f" {OR_EQUAL}"
        return f"{self.name}:{spelled(self.c)},{self.l}{equal} {MAY_DISCLOSE} {spelled_labels(self.may_disclose)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `c,l may disclose LABELS`, l a whole number."""
        match Phrase.read(text, [OR_EQUAL, MAY_DISCLOSE]):
            case Phrase([c, l], {"may disclose": labels, **others}) if l.denominator == 1:
                require_one_diverse(c, int(l), strict=OR_EQUAL not in others)
                return cls(c, int(l), labels, strict=OR_EQUAL not in others)
        return None

    def _of(self, dont_care: frozenset[int]) -> Recursive:
        return Recursive(self.c, self.l, self.strict, dont_care)

    def among(self, values: SensitiveValues) -> Recursive:
        """With the values under which there are only those that may be disclosed."""
        return self._of(values.within(self.may_disclose))

    def stated_among(self, values: SensitiveValues) -> Diversity:
        """The plain criterion where none of the values may be disclosed."""
        labels = values.occurring(values.within(self.may_disclose))
        return PdRecursive(self.c, self.l, labels, self.strict) if labels else self._of(frozenset())

    @property
    def facts(self) -> int:
        """L - 1."""
        return self.l - 1

    def meaning(self) -> str:
        """The most probable of the other values against its tail."""
        bound = "less than" if self.strict else "at most"
        spared = "" if self.l == 2 else f" but the {self.l - 2} most probable ones"
        return (
            f"the most probable sensitive value other than {spelled_labels(self.may_disclose)}, which may be disclosed, is "
            f"{bound} {spelled(self.c)} times as probable as all the rest{spared} together"
        )

    def reached_in_words(self, value: float) -> str:
        """The head against its tail."""
        return self._of(frozenset()).reached_in_words(value)


@dataclass(frozen=True)
class ProtectedValues(RelativeDiversity):
    """Each of some values has a share of at least `percent` percent. must_protect: their labels."""

    percent: Fraction
    must_protect: tuple[str, ...]
    name: ClassVar[str] = "negative-disclosure"
    parameters: ClassVar[str] = f"percent {MUST_PROTECT} LABELS"

    def __post_init__(self) -> None:
        NegativeDisclosure(self.percent, frozenset({0}))

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.percent)} {MUST_PROTECT} {spelled_labels(self.must_protect)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `percent must protect LABELS`."""
        match Phrase.read(text, [MUST_PROTECT]):
            case Phrase([percent], {"must protect": labels}):
                return cls(percent, labels)
        return None

    def among(self, values: SensitiveValues) -> NegativeDisclosure:
        """With the values under which there is a protected one."""
        return NegativeDisclosure(self.percent, values.touching(self.must_protect))

    def stated_among(self, values: SensitiveValues) -> "ProtectedValues":
        """By the labels of those values."""
        return ProtectedValues(self.percent, values.labels_of(values.touching(self.must_protect)))

    def meaning(self) -> str:
        """The least share."""
        prefix = "each of " if len(self.must_protect) > 1 else ""
        return (
            f"{prefix}{spelled_labels(self.must_protect)} has a probability of at least {spelled(self.percent)} percent"
        )

    def reached_in_words(self, value: float) -> str:
        """The smallest share."""
        return f"{value:.4g} percent (limit: at least {spelled(self.percent)})"


@dataclass(frozen=True)
class NpdRecursiveByLabel(RelativeDiversity):
    """Recursive (c1, l)-diversity, with a don't-care set or without, and protected values with c2 percent (Def. 4.4)."""

    positive: PdRecursive | Recursive
    negative: ProtectedValues
    name: ClassVar[str] = "npd-recursive"
    parameters: ClassVar[str] = f"c1,c2,l [{OR_EQUAL}] [{MAY_DISCLOSE} LABELS] {MUST_PROTECT} LABELS"

    def __str__(self) -> str:
        positive, negative = self.positive, self.negative
        numbers = f"{spelled(positive.c)},{spelled(negative.percent)},{positive.l}"
        equal = "" if positive.strict else f" {OR_EQUAL}"
        free = "" if isinstance(positive, Recursive) else f" {MAY_DISCLOSE} {spelled_labels(positive.may_disclose)}"
        return f"{self.name}:{numbers}{equal}{free} {MUST_PROTECT} {spelled_labels(negative.must_protect)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `c1,c2,l may disclose LABELS must protect LABELS`, l a whole number."""
        match Phrase.read(text, [OR_EQUAL, MAY_DISCLOSE, MUST_PROTECT]):
            case Phrase([c, percent, l], {"must protect": protected, **others}) if l.denominator == 1:
                strict, free = OR_EQUAL not in others, others.get(MAY_DISCLOSE)
                require_one_diverse(c, int(l), strict=strict)
                positive = PdRecursive(c, int(l), free, strict) if free else Recursive(c, int(l), strict)
                return cls(positive, ProtectedValues(percent, protected))
        return None

    def among(self, values: SensitiveValues) -> Diversity:
        """Both halves among these values."""
        recursive = self.positive if isinstance(self.positive, Recursive) else self.positive.among(values)
        return NpdRecursive(recursive, self.negative.among(values))

    def stated_among(self, values: SensitiveValues) -> "NpdRecursiveByLabel":
        """Both halves by the labels of these values."""
        positive = stated_among(self.positive, values)
        assert isinstance(positive, PdRecursive | Recursive)
        return NpdRecursiveByLabel(positive, self.negative.stated_among(values))

    @property
    def facts(self) -> int:
        """Those of the recursive half."""
        return self.positive.facts

    def meaning(self) -> str:
        """Both halves."""
        return f"{self.positive.meaning()}, and {self.negative.meaning()}"

    def reached_in_words(self, value: float) -> str:
        """That of the half that is nearer to failing, whichever it is."""
        return f"The nearer of both bounds reaches {value:.4g}"


@dataclass(frozen=True)
class AdjustedEntropy(RelativeDiversity):
    """The adjusted entropy is at least ln l. may_disclose: labels of the don't-care values."""

    l: Fraction
    may_disclose: tuple[str, ...]
    name: ClassVar[str] = "adjusted-entropy"
    parameters: ClassVar[str] = f"l {MAY_DISCLOSE} LABELS"

    def __post_init__(self) -> None:
        check_l("adjusted-entropy:l", self.l)

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.l)} {MAY_DISCLOSE} {spelled_labels(self.may_disclose)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `l may disclose LABELS`."""
        match Phrase.read(text, [MAY_DISCLOSE]):
            case Phrase([l], {"may disclose": labels}):
                return cls(l, labels)
        return None

    def among(self, values: SensitiveValues) -> DontCareEntropy:
        """With the values under which there are only those that may be disclosed."""
        return DontCareEntropy(self.l, values.within(self.may_disclose))

    def stated_among(self, values: SensitiveValues) -> Diversity:
        """The plain criterion where none of the values may be disclosed."""
        labels = values.occurring(values.within(self.may_disclose))
        return AdjustedEntropy(self.l, labels) if labels else Entropy(self.l)

    @property
    def facts(self) -> int:
        """L - 1, rounded up."""
        return ceil(self.l) - 1

    def meaning(self) -> str:
        """The uncertainty."""
        return (
            f"the sensitive value is at least as uncertain as {spelled(self.l)} equally likely ones, where "
            f"{spelled_labels(self.may_disclose)} may be disclosed"
        )

    def reached_in_words(self, value: float) -> str:
        """The effective number of values."""
        return Entropy(self.l).reached_in_words(value)


# Bayes-optimal privacy against somebody who knows of everybody only what the whole table says.
#
# With a prior that does not depend on a person's other values, the posterior of MKGV07 Theorem 3.1 is the share in the
# class, and (rho1, rho2)-privacy (Def. 3.3) bounds shares; merging keeps that. Other priors are those of
# `checks.classes`.


@dataclass(frozen=True)
class BayesOptimal(RelativeDiversity):
    """No belief rises from below rho1 to above rho2, or falls from above 1 - rho1 to below 1 - rho2."""

    rho_1: Fraction
    rho_2: Fraction
    name: ClassVar[str] = "bayes-optimal"
    parameters: ClassVar[str] = "rho1,rho2"

    def __post_init__(self) -> None:
        if not 0 < self.rho_1 < self.rho_2 < 1:
            raise CriterionError(
                f"bayes-optimal:rho1,rho2 needs 0 < rho1 < rho2 < 1, got {spelled(self.rho_1)} and {spelled(self.rho_2)}"
            )

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.rho_1)},{spelled(self.rho_2)}"

    def among(self, values: SensitiveValues) -> ShareRange:
        """With rho2 above the share of each value that is rarer than rho1 in the whole table, which must have rows."""
        shares = list(enumerate(values.shares))
        upper = {code: self.rho_2 for code, share in shares if share < self.rho_1}
        lower = {code: 1 - self.rho_2 for code, share in shares if share > 1 - self.rho_1}
        return ShareRange.of(len(shares), lower, upper)

    def meaning(self) -> str:
        """Both breaches."""
        low, high = spelled(self.rho_1), spelled(self.rho_2)
        return (
            f"no sensitive value with a probability below {low} among all rows has one above {high}, and none with one "
            f"above {spelled(1 - self.rho_1)} has one below {spelled(1 - self.rho_2)}"
        )

    def reached_in_words(self, value: float) -> str:
        """How far the nearest bound is."""
        return f"Within the nearest bound by a factor of {value:.4g}"


# No class has too much of certain values: the alpha of (alpha, k)-anonymity, whose k is k_link.
#
# Wong, Li, Fu, Wang: (alpha, k)-Anonymity, KDD 2006, Defs. 3 and 4.


@dataclass(frozen=True)
class Alpha(RelativeDiversity):
    """Each of some values has a share of at most alpha. of: their labels."""

    alpha: Fraction
    of: tuple[str, ...]
    name: ClassVar[str] = "alpha"
    parameters: ClassVar[str] = f"alpha {OF} LABELS"

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise CriterionError(f"alpha:alpha needs a share between 0 and 1, got {spelled(self.alpha)}")

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.alpha)} {OF} {spelled_labels(self.of)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `alpha of LABELS`."""
        match Phrase.read(text, [OF]):
            case Phrase([alpha], {"of": labels}):
                return cls(alpha, labels)
        return None

    def among(self, values: SensitiveValues) -> ShareRange:
        """With the values under which there is one of those that are named."""
        return ShareRange.of(len(values.rows), upper=dict.fromkeys(values.touching(self.of), self.alpha))

    def stated_among(self, values: SensitiveValues) -> "Alpha":
        """By the labels of those values."""
        return Alpha(self.alpha, values.labels_of(values.touching(self.of)))

    def meaning(self) -> str:
        """The largest share."""
        prefix = "none of " if len(self.of) > 1 else ""
        verb = "has a probability above" if prefix else "has a probability of at most"
        return f"{prefix}{spelled_labels(self.of)} {verb} {spelled(self.alpha)}"

    def reached_in_words(self, value: float) -> str:
        """The largest share."""
        reached = float(self.alpha) / value if value else 1.0
        return f"The most probable of them has a probability of {reached:.4g} (limit: at most {spelled(self.alpha)})"


# Beta-likeness: no sensitive value is much likelier in a class than in the whole table.
#
# Cao, Karras: Publishing Microdata with a Robust Privacy Guarantee, PVLDB 5(11) 2012, Def. 2 (basic beta-likeness).


@dataclass(frozen=True)
class BetaLikeness(RelativeDiversity):
    """The share q of a value in a class exceeds its share p in the whole table by at most beta times p."""

    beta: Fraction
    name: ClassVar[str] = "beta-likeness"
    parameters: ClassVar[str] = "beta"

    def __post_init__(self) -> None:
        if self.beta <= 0:
            raise CriterionError(f"beta-likeness:beta needs a positive beta, got {spelled(self.beta)}")

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.beta)}"

    def among(self, values: SensitiveValues) -> ShareRange:
        """With (1 + beta) p above each share; the whole table must have rows."""
        limits = {code: (1 + self.beta) * share for code, share in enumerate(values.shares)}
        return ShareRange.of(len(values.rows), upper=limits)

    def meaning(self) -> str:
        """The largest gain."""
        return f"no sensitive value is more than {spelled(1 + self.beta)} times as probable as among all rows"

    def reached_in_words(self, value: float) -> str:
        """The largest gain."""
        times = float(1 + self.beta) / value if value else float("inf")
        return f"One is {times:.4g} times as probable (limit: at most {spelled(1 + self.beta)} times)"
