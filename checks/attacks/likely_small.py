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
    readers = {name: knower.expected for name, knower in {"": model, **(less or {})}.items()}
    readers[INDEPENDENCE] = partial(_independent, model)
    firsts: dict[str, list[FloatArray]] = {name: [] for name in readers}
    combined = (names for number in range(2, _ATTRIBUTES + 1) for names in combinations(finest, number))
    unread = cells = margins = ranked = 0
    for margin in ({name: finest[name] for name in names} for names in combined):
        if any(not domain.mask(margin) & ~mask for mask in collection.masks):
            continue
        size = domain.size(margin)
        cells, margins = cells + size, margins + 1
        if deadline.is_over or size > _MOST_CELLS or cells > _MOST_CELLS_IN_ALL or margins > _MOST_MARGINS:
            unread += 1
            continue
        try:
            chances = {name: _small_chances(np.asarray(expected(margin)), least) for name, expected in readers.items()}
        except MarginalsError:  # it takes too much, or too long
            unread += 1
            continue
        counts = np.zeros(size) if counted is None else counted(margin)
        ranked += int(np.count_nonzero(chances[""]))
        for name, own in chances.items():
            first = np.argsort(-own, kind="stable")[: TOPS[-1]]
            firsts[name].append(np.stack([own[first], (counts[first] >= 1) & (counts[first] < least)]))
    tops = {name: _tops(own, counted is not None) for name, own in firsts.items()}
    return LikelySmall(least, ranked, unread, tops.pop(""), {name: some for name, some in tops.items() if some})


def _independent(model: MarginalModel, margin: Mapping[str, int]) -> FloatArray:
    """The counts of some attributes that are expected by the numbers of their values alone."""
    shares = (np.asarray(model.expected({a: level})) / max(model.total, 1) for a, level in margin.items())
    return reduce(np.multiply.outer, shares) * model.total


def _tops(firsts: Sequence[FloatArray], are_counted: bool) -> tuple[Top, ...]:
    """The combinations that come first of all margins; none if fewer were ranked.

    firsts: of each margin the chances of the first ones, and whether they are small if that was counted: shape (2, n).
    """
    if not firsts:
        return ()
    chances, right = np.concatenate(firsts, axis=1)
    order = np.argsort(-chances, kind="stable")
    means = {number: [float(own[order[:number]].mean()) for own in (chances, right)] for number in TOPS}
    ranked = np.count_nonzero(chances)
    return tuple(Top(n, mean, hits if are_counted else None) for n, (mean, hits) in means.items() if n <= ranked)


def _small_chances(expected: FloatArray, least: int) -> FloatArray:
    """P(1 <= X < least) of Poisson numbers X that are expected: shape (cells,)."""
    term = np.exp(-expected.ravel())
    chances = np.zeros_like(term)
    for count in range(1, least):
        term = term * expected.ravel() / count
        chances += term
    return chances
