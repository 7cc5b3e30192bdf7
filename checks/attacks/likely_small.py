"""Combinations that few people are likely to have: what a reader suspects who ranks them by the fitted model.

That a count is not certain does not keep a reader from being right about it: of the combinations that a model ranks
first as small, nearly all can be.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
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

    unread: margins that were not looked at.
    """

    least: int
    combinations: int
    unread: int
    tops: tuple[Top, ...]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def likely_small(
    model: MarginalModel, attributes: Sequence[str], least: int, deadline: Deadline, counted: Counted | None = None
) -> LikelySmall:
    """Rank what no table shows: the combinations of two and three attributes at their finest published levels.

    attributes: nonsensitive ones. counted: the truth, None where it is not known. A count is taken to be Poisson around
    what the model expects.
    """
    domain, collection = model.domain, model.collection
    finest = {a: collection.finest_level(a) for a in attributes if collection.shows(a)}
    ranked = unread = cells = margins = 0
    scores: list[FloatArray] = []
    right: list[FloatArray] = []
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
                expected = np.asarray(model.expected(margin)).ravel()
            except MarginalsError:  # it takes too much, or too long
                unread += 1
                continue
            chances = _small_chances(expected, least)
            first = np.argsort(-chances, kind="stable")[: TOPS[-1]]
            ranked += int(np.count_nonzero(chances))
            scores.append(chances[first])
            if counted is not None:
                counts = counted(margin)[first]
                right.append(((counts >= 1) & (counts < least)).astype(np.float64))
    if not scores:
        return LikelySmall(least, ranked, unread, ())
    score = np.concatenate(scores)
    order = np.argsort(-score, kind="stable")
    hits = np.concatenate(right) if counted is not None else None
    tops = tuple(
        Top(number, float(score[order[:number]].mean()), None if hits is None else float(hits[order[:number]].mean()))
        for number in TOPS
        if number <= np.count_nonzero(score)
    )
    return LikelySmall(least, ranked, unread, tops)


def _small_chances(expected: FloatArray, least: int) -> FloatArray:
    """P(1 <= X < least) of Poisson numbers X: shape of what is expected."""
    term = np.exp(-expected)
    chances = np.zeros_like(expected)
    for count in range(1, least):
        term = term * expected / count
        chances += term
    return chances
