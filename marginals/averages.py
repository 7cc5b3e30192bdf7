"""Means, totals and quantiles of a release, as the model estimates them, and between which numbers they certainly lie.

The release bounds how many of the rows have each published value of an attribute, and each published value stands for
numbers between two ends. The bounds of a sum, a mean or a share below a number follow from both
(`models.programs.nested_counts`; design 4.21). Rows without a value are in none of these numbers.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from math import inf, nan, prod
from typing import NamedTuple

import numpy as np

from marginals.answers import Answer, Bounds, Of, answer, frame_of
from marginals.conditions import Meaning, Where
from marginals.cross_tables import index
from marginals.errors import InputError
from marginals.estimates import Attributes, MeantRows, as_margin, basis_in
from marginals.later import pd
from marginals.messages import first_few
from marginals.published_values import known_attribute
from marginals.tables.intervals import LabelNumbers, Range
from models.arrays import BoolArray, FloatArray, IndexArray
from models.errors import TooManyCellsError
from models.graphs.basis import CERTAIN, NO_LEVEL, Basis, Distinction
from models.inference.marginal_model import MarginalModel
from models.programs.nested_counts import NestedCounts, ValueRange

_LAID_OUT = 1 << 20

_ROUNDING = 1e-12  # share of the rows by which a quantile may miss its own
_MOST_GROUPS = 10_000

Limits = tuple[float, float]


class OpenEnds(NamedTuple):
    """Bounds on the numbers of labels without an end.

    meanings: what the publisher says that labels mean, by attribute; ranges among these count. limits: between which
    numbers all values lie.
    """

    meanings: Mapping[str, Mapping[str, str]]
    limits: Limits | None = None


@dataclass(eq=False)
class Amounts:
    """An attribute of some rows as numbers: how many rows have each published value, and which numbers these are."""

    attribute: str
    rows: MeantRows
    ends: OpenEnds

    def __post_init__(self) -> None:
        self.model = self.rows.model
        self.hierarchy = self.model.domain.hierarchy(self.attribute)
        self.finest = self.model.finest_levels[self.attribute]
        self.places: IndexArray = self.hierarchy.lift(0, self.finest).astype(np.intp)  # published codes, by base value
        self.numbers = LabelNumbers.of(self.attribute, self.hierarchy)
        if self.ends.limits is not None:
            low, high = self.ends.limits
            if np.all((self.numbers.low > high) | (self.numbers.high < low)):
                raise InputError(f"no value of {self.attribute!r} lies within the limits {low:g} to {high:g}")
            self.numbers = self.numbers.within(low, high)
        meaning = self.rows.meanings.get(self.attribute)
        if meaning is not None:
            self.numbers = self.numbers.within(meaning.low, meaning.high)
        self.possible = np.ones(self.hierarchy.size(0), dtype=np.bool_) if meaning is None else meaning.possibly
        self.counting: BoolArray = self.possible & self.numbers.may_count

    @property
    def _meanings(self) -> Mapping[str, str]:
        return self.ends.meanings.get(self.attribute, {})

    @cached_property
    def _stated_ends(self) -> tuple[FloatArray, FloatArray]:
        # of base values under labels without an end, as far as their meanings state them
        low, high = np.full(self.hierarchy.size(0), -inf), np.full(self.hierarchy.size(0), inf)
        for label, meaning in self._meanings.items():
            range_, stated = Range.of(label), Range.of(meaning)
            if range_ and stated and range_.is_open and range_.holds(stated) and not stated.is_point:
                for level in range(self.hierarchy.height):
                    inside = self.hierarchy.lift(0, level) == self.hierarchy.code(label, level)
                    low[inside], high[inside] = float(stated.low), float(stated.high)
        return low, high

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        size = self.hierarchy.size(self.finest)
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        numbers = self.numbers.within(*self._stated_ends)
        np.minimum.at(low, self.places[self.counting], numbers.low[self.counting])
        np.maximum.at(high, self.places[self.counting], numbers.high[self.counting])
        has_none = low > high
        return np.where(has_none, 0.0, low), np.where(has_none, 0.0, high)

    @cached_property
    def nested(self) -> NestedCounts:
        """Rows with a number of each published value, then rows without one, in the groups around them."""
        levels_, bounds = range(self.finest, self.hierarchy.height), self.rows.bounds()
        by_level = [self.rows.by({self.attribute: level}) for level in levels_]
        levels = [(sums.lower.ravel(), sums.upper.ravel()) for sums in by_level]
        levels.append((np.array([bounds.lower]), np.array([bounds.upper])))
        lower, upper = levels[0]
        counting, missing = self._published(self.counting), self._published(self.possible & self.numbers.may_miss)
        least = np.concatenate([np.where(counting & ~missing, lower, 0), np.where(missing & ~counting, lower, 0)])
        most = np.concatenate([np.where(counting, upper, 0), np.where(missing, upper, 0)])
        steps = [self.hierarchy.lift(level, level + 1).astype(np.intp) for level in levels_]
        return NestedCounts(((least, most), *levels), (np.tile(np.arange(len(lower)), 2), *steps))

    def _published(self, base_values: BoolArray) -> BoolArray:
        return np.bincount(self.places[base_values], minlength=self.hierarchy.size(self.finest)) > 0

    def _costs(self, ends: FloatArray) -> FloatArray:
        return np.concatenate([np.where(np.isfinite(ends), ends, 0.0), np.zeros(len(ends))])

    def _shares(self, costs: FloatArray) -> ValueRange | None:
        return self.nested.extreme_ratios(costs, np.repeat([1.0, 0.0], len(costs) // 2))

    @cached_property
    def _open(self) -> tuple[BoolArray, BoolArray]:
        low, high = self._ends
        may_have_rows = self.nested.levels[0][1][: len(low)] > 0
        return may_have_rows & (low == -np.inf), may_have_rows & (high == np.inf)

    @property
    def open_labels(self) -> tuple[str, ...]:
        """The published values whose rows may have numbers without end."""
        is_open = self._open[0] | self._open[1]
        return tuple(np.array(self.hierarchy.labels[self.finest], dtype=object)[is_open].tolist())

    @property
    def stated(self) -> tuple[str, ...]:
        """The labels without an end whose meanings bound the numbers of possible rows."""
        low, high = self._stated_ends
        is_used = self.counting & ((low > self.numbers.low) | (high < self.numbers.high))
        labels = self.hierarchy.labels
        lifted = (self.hierarchy.lift(0, level)[is_used].tolist() for level in range(self.hierarchy.height))
        over = {labels[level][code] for level, codes in enumerate(lifted) for code in codes}
        return tuple(f"{label} is {meaning}" for label, meaning in self._meanings.items() if label in over)

    @cached_property
    def is_sharp(self) -> bool:
        """True if one published table shows the attribute and the condition, so that every bound is approached."""
        return self.finest < self.hierarchy.height and bool(self.rows.by({self.attribute: self.finest}).sharp)

    def mean_range(self) -> ValueRange | None:
        """Certain bounds of the mean; None if no row has a number in any table."""
        lows, highs = (self._shares(self._costs(end)) for end in self._ends)
        return lows and highs and self._with_open_ends(lows.lower, highs.upper)

    def total_range(self) -> ValueRange:
        """Certain bounds of the sum."""
        low, high = (self.nested.extremes(self._costs(end)) for end in self._ends)
        return self._with_open_ends(low.lower, high.upper)

    def _with_open_ends(self, lower: float, upper: float) -> ValueRange:
        is_below, is_above = self._open
        return ValueRange(-inf if is_below.any() else lower, inf if is_above.any() else upper)

    def quantile_range(self, probability: float) -> ValueRange | None:
        """Certain bounds of the quantile; None if no row has a number in any table."""
        low, high = self._ends
        present = self.nested.levels[0][1][: len(low)] > 0
        lows, highs = np.unique(low[present]), np.unique(high[present])
        if not len(lows) or self._shares(np.zeros(2 * len(low))) is None:
            return None
        return ValueRange(self._first(lows, low, probability, 1), self._first(highs, high, probability, 0))

    def _first(self, candidates: FloatArray, ends: FloatArray, probability: float, side: int) -> float:
        def reaches(candidate: float) -> bool:
            shares = self._shares(np.concatenate([(ends <= candidate).astype(np.float64), np.zeros(len(ends))]))
            assert shares is not None
            return shares[side] >= probability * (1 - _ROUNDING) and shares[side] > 0

        return float(candidates[bisect_left(candidates[:-1].tolist(), True, key=reaches)])

    def estimated(self, model: MarginalModel) -> "Estimated":
        """Numbers as a model estimates them. Raises InputError if no row with a readable number is expected."""
        expected = model.expected_within({self.attribute: 0}, self.rows.estimated)
        points = self.numbers.points
        spans = self.numbers.high - self.numbers.low
        spread = self.numbers.is_whole & (spans > 0) & np.isfinite(spans)
        sizes = np.where(spread, np.floor(self.numbers.high) - np.ceil(self.numbers.low) + 1, 1)
        if sizes.sum() > _LAID_OUT:
            sizes, spread = np.ones(len(sizes)), np.zeros_like(spread)
        sizes = sizes.astype(np.int64)
        codes = np.repeat(np.arange(len(sizes)), sizes)
        within = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        values = np.where(spread[codes], np.ceil(self.numbers.low[codes]) + within, points[codes])
        weights = (expected / sizes)[codes]
        with_number = ~np.isnan(values)
        self._check_read(np.isnan(points) & self.numbers.may_count & (expected > 0))
        if not weights[with_number].sum() > 0:
            raise InputError("no row with these values is possible, so there is nothing to average")
        distinct, place = np.unique(values[with_number], return_inverse=True)
        return Estimated(distinct, np.bincount(place, weights[with_number]).astype(np.float64))

    def _check_read(self, unread: BoolArray) -> None:
        if unread.any():
            labels = np.array(self.hierarchy.labels[self.finest])[np.unique(self.places[unread])].tolist()
            raise InputError(
                f"{first_few(list(map(repr, labels)))} of {self.attribute!r} cannot be read as numbers; leave their rows "
                "out by where="
            )

    @property
    def basis(self) -> Basis:
        """Basis of the estimates: labels that stand for several numbers are finer than any table."""
        distinctions = self.rows.distinctions({self.attribute: self._coarsest_level})
        if np.any((self.numbers.low != self.numbers.high) & self.counting):
            before = distinctions.get(self.attribute, Distinction(NO_LEVEL, NO_LEVEL))
            distinctions[self.attribute] = Distinction(NO_LEVEL, before.separating_level)
        return basis_in(self.model, distinctions)

    @property
    def _coarsest_level(self) -> int:
        low = self.numbers.low
        for level in range(self.hierarchy.height - 1, 0, -1) if np.array_equal(low, self.numbers.high) else ():
            codes = self.hierarchy.lift(0, level)
            if np.array_equal(low, low[np.unique(codes, return_index=True)[1]][codes]):
                return level
        return 0


class Estimated(NamedTuple):
    """Distinct numbers, ascending, and how many rows are expected of each."""

    values: FloatArray
    rows: FloatArray


def _total(estimated: Estimated) -> float:
    return float(estimated.values @ estimated.rows)


def _mean(estimated: Estimated) -> float:
    return _total(estimated) / float(estimated.rows.sum())


def _quantile(probability: float, estimated: Estimated) -> float:
    shares = np.cumsum(estimated.rows) / estimated.rows.sum()
    place = int(np.searchsorted(shares * (1 + _ROUNDING), probability))
    return float(estimated.values[min(place, len(estimated.values) - 1)])


def _amounts(model: MarginalModel, attribute: str, where: Where, ends: OpenEnds) -> Amounts:
    return Amounts(known_attribute(model.domain, attribute), MeantRows.of(model, where), ends)


def _answer(amounts: Amounts, ask: Callable[["Estimated"], float], ends: Callable[[], ValueRange | None]) -> Answer:
    def bounds() -> Bounds:
        range_ = ends()
        assert range_ is not None, "where nothing is possible nothing is expected"
        return Bounds(*range_, amounts.is_sharp or range_.is_known, amounts.open_labels, amounts.stated)

    model, rows = amounts.model, amounts.rows
    counted = float(amounts.estimated(model).rows.sum())
    of = Of(counted, max(model.expected_in(rows.estimated) - counted, 0.0))
    clips = amounts.ends.limits is not None or bool(amounts.stated)
    return answer(model, lambda table: ask(amounts.estimated(table)), amounts.basis, bounds, of=of, clips=clips)


def mean(model: MarginalModel, attribute: str, where: Where, ends: OpenEnds) -> Answer:
    """Return the mean over the rows that a condition means. Raises InputError where none with a number is possible."""
    amounts = _amounts(model, attribute, where, ends)
    return _answer(amounts, _mean, amounts.mean_range)


def total(model: MarginalModel, attribute: str, where: Where, ends: OpenEnds) -> Answer:
    """Return the sum over the rows that a condition means; 0 where none is possible."""
    amounts = _amounts(model, attribute, where, ends)
    if (bounds := amounts.total_range()) == (0, 0):
        return Answer(0.0, amounts.basis, Bounds(0.0, 0.0, sharp=True))
    return _answer(amounts, _total, lambda: bounds)


def means(model: MarginalModel, attribute: str, by: Attributes, where: Where, ends: OpenEnds) -> "pd.DataFrame":
    """Return the mean of each group of rows with the same values of some attributes, nan where no number is possible."""
    of_all, margin = _amounts(model, attribute, where, ends), as_margin(model, by)
    hierarchies = {a: model.domain.hierarchy(a) for a in margin}
    if not margin or prod(hierarchies[a].size(level) for a, level in margin.items()) > _MOST_GROUPS:
        raise TooManyCellsError(f"means are told of 1 to {_MOST_GROUPS:,} groups; ask for fewer or coarser values")
    above = {a: hierarchies[a].lift(0, level) for a, level in margin.items()}
    groups, answers = list(product(*(range(hierarchies[a].size(level)) for a, level in margin.items()))), []
    for codes in groups:
        group = {a: Meaning.certain(np.asarray(above[a] == code)) for a, code in zip(margin, codes)}
        amounts = replace(of_all, rows=of_all.rows.and_of(group))
        if amounts.mean_range() is None:
            answers.append(Answer(nan, CERTAIN, Bounds(nan, nan, sharp=True)))
        else:
            answers.append(_answer(amounts, _mean, amounts.mean_range))
    labels = index(model.domain, margin, dict(zip(margin, np.array(groups).T)))
    return frame_of(answers, labels)


def quantile(
    model: MarginalModel, attribute: str, probability: float | Sequence[float], where: Where, ends: OpenEnds
) -> "Answer | pd.DataFrame":
    """Return the quantile of a probability, or a frame of those of several. Raises InputError if no row is possible."""
    amounts = _amounts(model, attribute, where, ends)

    def range_(q: float) -> Answer:
        return _answer(amounts, partial(_quantile, q), lambda: amounts.quantile_range(q))

    if not isinstance(probability, Sequence | np.ndarray):
        return range_(float(probability))
    probabilities = pd.Index(list(map(float, probability)), name="probability")
    return frame_of(list(map(range_, probabilities)), probabilities)
