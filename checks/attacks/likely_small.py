"""Combinations that few people are likely to have: what a reader suspects who ranks them by the fitted model.

That a count is not certain does not keep a reader from being right about it: of the combinations that a model ranks
first as small, nearly all can be.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial, reduce
from itertools import combinations
from typing import Any

import numpy as np

from models.arrays import CountArray, FloatArray
from models.deadline import Deadline
from models.errors import MarginalsError
from models.inference.marginal_model import MarginalModel

_ATTRIBUTES = 3
_MOST_CELLS = 1 << 18
_MOST_CELLS_IN_ALL = 1 << 22
_MOST_MARGINS = 500
TOPS = (100, 1000)
"""So many combinations that come first are looked at."""

Counted = Callable[[Mapping[str, int]], CountArray]
"""The counts of the table itself, by the cells of a margin: shape (cells,), the last attribute fastest."""


@dataclass(frozen=True)
class Top:
    """The first combinations. expected: share of them that the model takes to be small; right: that are, None if unknown."""

    number: int
    expected: float
    right: float | None


@dataclass(frozen=True)
class LikelySmall:
    """What ranking by the model gives. least: counts from 1 to least - 1 are small. combinations: that were ranked.

    unread: margins that were not looked at. beside: what readers gain who rank the same combinations by less, by what they
    know: the numbers of each value ("independence"), or some of the tables.
    """

    least: int
    combinations: int
    unread: int
    tops: tuple[Top, ...]
    beside: Mapping[str, tuple[Top, ...]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


INDEPENDENCE = "independence"


def likely_small(
    model: MarginalModel,
    attributes: Sequence[str],
    least: int,
    deadline: Deadline,
    counted: Counted | None = None,
    less: Mapping[str, MarginalModel] | None = None,
) -> LikelySmall:
    """Rank what no table shows: the combinations of two and three attributes at their finest published levels.

    attributes: nonsensitive ones. counted: the truth, None where it is not known. less: models of fewer of the tables, by
    what they are called, which show the attributes at the same levels. A count is taken to be Poisson around what a model
    expects.
    """
    domain, collection = model.domain, model.collection
    finest = {a: collection.finest_level(a) for a in attributes if collection.shows(a)}
    rankings = {name: _Ranking(least, knower.expected) for name, knower in {"": model, **(less or {})}.items()}
    rankings[INDEPENDENCE] = _Ranking(least, partial(_independent, model))
    unread = cells = margins = 0
    for number in range(2, _ATTRIBUTES + 1):
        for chosen in combinations(finest, number):
            margin = {a: finest[a] for a in chosen}
            if any(not domain.mask(margin) & ~mask for mask in collection.masks):
                continue
            size = domain.size(margin)
            cells, margins = cells + size, margins + 1
            if deadline.is_over or size > _MOST_CELLS or cells > _MOST_CELLS_IN_ALL or margins > _MOST_MARGINS:
                unread += 1
                continue
            try:
                expected = {name: ranking.expected(margin) for name, ranking in rankings.items()}
            except MarginalsError:  # it takes too much, or too long
                unread += 1
                continue
            counts = None if counted is None else counted(margin)
            for name, ranking in rankings.items():
                ranking.add(expected[name], counts)
    tops = {name: ranking.tops for name, ranking in rankings.items()}
    ranked = rankings[""].ranked
    return LikelySmall(least, ranked, unread, tops.pop(""), {name: some for name, some in tops.items() if some})


def _independent(model: MarginalModel, margin: Mapping[str, int]) -> FloatArray:
    """What is expected of some attributes by the numbers of their values alone."""
    shares = (np.asarray(model.expected({a: level})) / max(model.total, 1) for a, level in margin.items())
    return reduce(np.multiply.outer, shares) * model.total


class _Ranking:
    """The combinations in the order of one reader's chances; of each margin those are kept that come first.

    expect: of a margin the counts that the reader expects.
    """

    def __init__(self, least: int, expect: Callable[[Mapping[str, int]], FloatArray]) -> None:
        self._least, self._expect = least, expect
        self._scores: list[FloatArray] = []
        self._right: list[FloatArray] = []
        self.ranked = 0

    def expected(self, margin: Mapping[str, int]) -> FloatArray:
        """The counts of a margin that the reader expects: shape (cells,). Raises what the reader's model raises."""
        return np.asarray(self._expect(margin)).ravel()

    def add(self, expected: FloatArray, counts: CountArray | None) -> None:
        """The combinations of one more margin. counts: the truth, None where it is not known."""
        chances = _small_chances(expected, self._least)
        first = np.argsort(-chances, kind="stable")[: TOPS[-1]]
        self.ranked += int(np.count_nonzero(chances))
        self._scores.append(chances[first])
        if counts is not None:
            self._right.append(((counts[first] >= 1) & (counts[first] < self._least)).astype(np.float64))

    @property
    def tops(self) -> tuple[Top, ...]:
        """What comes first; none where fewer combinations were ranked."""
        if not self._scores:
            return ()
        score = np.concatenate(self._scores)
        order = np.argsort(-score, kind="stable")
        hits = np.concatenate(self._right) if self._right else None
        return tuple(
            Top(
                number,
                float(score[order[:number]].mean()),
                None if hits is None else float(hits[order[:number]].mean()),
            )
            for number in TOPS
            if number <= np.count_nonzero(score)
        )


def _small_chances(expected: FloatArray, least: int) -> FloatArray:
    """P(1 <= X < least) of Poisson numbers X: shape of what is expected."""
    term = np.exp(-expected)
    chances = np.zeros_like(expected)
    for count in range(1, least):
        term = term * expected / count
        chances += term
    return chances
