"""Guesses of readers about sensitive values and small counts that are not certain."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import combinations
from operator import and_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.classes import EquivalenceClasses, equivalence_classes
from models.arrays import CountArray, FloatArray, IndexArray
from models.deadline import Deadline
from models.errors import MarginalsError
from models.frozen import frozen
from models.inference.class_shares import SummedTable
from models.inference.marginal_model import MarginalModel
from models.programs.fitting import Sums, fit, missed_rows
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Margin

_ROUNDING = 1e-9
"""Relative difference that is due to rounding."""


def sensitive_levels(model: MarginalModel, sensitive: str) -> dict[str, int]:
    """Return the finest levels of the attributes that a release shows together with a sensitive one, the sensitive one
    last.

    Without a junction tree these are all published attributes (KG06 Prop. 7.3). Empty if no margin shows the
    attribute.
    """
    collection, domain = model.collection, model.domain
    first_step = 1 << domain.offsets[domain.index(sensitive)]
    masks = [mask for mask in collection.masks if mask & first_step]
    if masks and not collection.is_decomposable:
        masks = list(collection.masks)
    levels = domain.levels(reduce(int.__or__, masks, 0))
    ordered = [*(attribute for attribute in domain.attributes if attribute != sensitive), sensitive]
    return {name: levels[name] for name in ordered if levels[name] < domain.hierarchy(name).height}


def expected_classes(model: MarginalModel, levels: Mapping[str, int]) -> EquivalenceClasses:
    """Return the classes of the maximum-entropy distribution with positive expected rows; the last attribute is
    sensitive.

    Raises TooManyCellsError if the margin is too large to be laid out.
    """
    *shared, sensitive = levels
    domain, margin = model.domain, Margin({name: levels[name] for name in shared})
    expected = np.asarray(model.expected({**margin, sensitive: levels[sensitive]}))
    rows = expected.reshape(-1, expected.shape[-1])
    occupied = np.flatnonzero(rows.sum(axis=1) > 0)
    codes = dict(zip(margin, np.unravel_index(occupied, expected.shape[:-1]))) if shared else {}
    ordered = tuple(codes[name] for name in sorted(margin, key=domain.index))
    return EquivalenceClasses(domain, margin, ordered, rows[occupied], sensitive, levels[sensitive])


# The deFinetti attack (Kifer, SIGMOD 2009): if classes with many smokers have more cancer, each smoker in a mixed class is
# more likely to have it. The attacker knows everybody's nonsensitive values, guesses the sensitive ones, and learns a naive
# Bayes model from the guesses. Then the attacker guesses anew within the published counts, and so on. Only attributes
# teach something that are published coarser than they are known, or not with the sensitive one.


_ROUNDS = 10
_SWEEPS = 1000
_CHANGE = 1e-6


def published_groups(tables: Iterable[ContingencyTable], people: EquivalenceClasses) -> tuple[SummedTable, ...]:
    """Return the counts of groups of classes in the tables that show the sensitive attribute at the level of `people`."""
    groups = []
    for table in tables:
        if table.margin.get(people.sensitive) == people.level:
            held = equivalence_classes(table, people.sensitive)
            values = np.arange(held.counts.shape[1])
            groups.append(SummedTable(people.positions_in(held), values, held.counts.astype(np.float64)))
    return tuple(groups)


def definetti(people: EquivalenceClasses, groups: Sequence[SummedTable], rounds: int = _ROUNDS) -> FloatArray:
    """Return the rows that the attacker expects by class and sensitive value, shape (classes, values).

    people: only the number of rows of each class is used, because nonsensitive values are known. groups: published
    counts of these people. With no rounds the result is maximum entropy given the published and known counts.
    """
    rows = np.asarray(people.counts.sum(axis=1), dtype=np.float64)
    guess = kept_to_counts(np.ones(people.counts.shape), rows, groups)
    for _ in range(rounds):
        fresh = kept_to_counts(_naive_bayes(people, guess), rows, groups)
        change = np.abs(fresh - guess).sum() / max(rows.sum(), 1)
        guess = fresh
        if change < _CHANGE:
            break
    return guess


def _naive_bayes(people: EquivalenceClasses, guess: FloatArray) -> FloatArray:
    """Return P(s | class) if the attributes are independent given s, estimated from a guess with add-one smoothing."""
    values = guess.sum(axis=0)
    log_odds = np.tile(np.log(values + 1), (len(guess), 1))
    for attribute, codes in zip(people.attributes, people.codes):
        size = people.domain.hierarchy(attribute).size(people.margin[attribute])
        counted = np.zeros((size, len(values)))
        np.add.at(counted, codes, guess)
        log_odds += np.log((counted + 1) / (values + size))[codes]
    odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def kept_to_counts(guess: FloatArray, rows: FloatArray, groups: Sequence[SummedTable]) -> FloatArray:
    """Return the distribution nearest to a guess with all published counts and the people in each class.

    guess: expected rows by class and sensitive value, or weights, shape (classes, values). rows: of each class.
    """
    guess = np.array(guess, dtype=np.float64)
    targets = [(Sums(len(guess), None, (1,)), rows), *(group.target for group in groups)]
    fit(guess, targets, _SWEEPS, _CHANGE * rows.sum(), missed_rows)
    return guess


def shares_of_classes(guess: FloatArray) -> FloatArray:
    """Return the share of each value in each class; 0 in a class without people."""
    sums = guess.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(guess, sums, out=np.zeros(guess.shape), where=sums > 0)
    return shares


def surest_right(
    shares: FloatArray, right: CountArray | FloatArray, sizes: CountArray | FloatArray, numbers: IndexArray
) -> FloatArray:
    """Return for each set of values the share of right guesses among the surest rows; tied rows count in part.

    shares, right: guessed and true rows of each class in each set, shape (classes, sets). sizes: rows of each class.
    numbers: of rows that are guessed, at most all, shape (sets,).
    """
    order = np.argsort(-shares, axis=0, kind="stable")
    sorted_shares = np.take_along_axis(shares, order, 0)
    # Rows that differ by rounding only are equally sure, whatever the order of their classes.
    groups = np.zeros(shares.shape, dtype=np.intp)
    np.cumsum(sorted_shares[:-1] - sorted_shares[1:] > _ROUNDING, axis=0, out=groups[1:])
    groups += len(shares) * np.arange(shares.shape[1])

    def of_groups(weights: NDArray[Any]) -> FloatArray:
        summed = np.bincount(groups.ravel(), weights.ravel(), shares.size)
        return np.asarray(summed.reshape(shares.shape[::-1]).T, dtype=np.float64)

    rows, hits = of_groups(sizes[order]), of_groups(np.take_along_axis(right, order, 0))
    taken = np.clip(numbers - (np.cumsum(rows, axis=0) - rows), 0, rows)
    part = np.divide(taken, rows, out=np.zeros(rows.shape), where=rows > 0)
    hit_shares: FloatArray = (hits * part).sum(axis=0) / np.maximum(taken.sum(axis=0), 1)
    return hit_shares


# Combinations that few people are likely to have: nearly all of the model's first guesses can be right.


_ATTRIBUTES = 3
_MOST_CELLS = 1 << 18
_MOST_CELLS_IN_ALL = 1 << 22
_MOST_MARGINS = 500
_TOPS = (100, 1000)
"""Numbers of leading combinations that are examined."""

Counted = Callable[[Mapping[str, int]], CountArray]
"""Returns the counts of the table itself, by the cells of a margin: shape (cells,), the last attribute fastest."""


@frozen
class Top:
    """Leading combinations. expected: share that the model takes to be small; right: share that is, None if unknown."""

    number: int
    expected: float
    right: float | None


@frozen
class LikelySmall:
    """Result of ranking combinations by the model. least: counts from 1 to least - 1 are small. unread: number of
    margins.
    """

    least: int
    combinations: int
    unread: int
    tops: tuple[Top, ...]


def likely_small(
    model: MarginalModel,
    attributes: Sequence[str],
    least: int,
    deadline: Deadline,
    counted: Counted | None = None,
) -> LikelySmall:
    """Rank combinations that no table shows, of two and three attributes at their finest published levels.

    attributes: nonsensitive ones. counted: the true counts, None if they are not known. A count is taken to be Poisson
    around the model's expectation.
    """
    domain, collection = model.domain, model.collection
    finest = {a: collection.finest_level(a) for a in attributes if collection.shows(a)}
    # Of 100 attributes there are 160,000 combinations: those beyond the limits are counted only.
    steps = {a: domain.mask({a: level}) for a, level in finest.items()}
    tables = {
        a: sum(1 << n for n, mask in enumerate(collection.masks) if not step & ~mask) for a, step in steps.items()
    }
    firsts: list[FloatArray] = []
    unread = cells = margins = ranked = 0
    for names in (names for number in range(2, _ATTRIBUTES + 1) for names in combinations(finest, number)):
        if reduce(and_, map(tables.__getitem__, names)):
            continue
        margins += 1
        if margins > _MOST_MARGINS or cells > _MOST_CELLS_IN_ALL or deadline.is_over:
            unread += 1
            continue
        margin = {name: finest[name] for name in names}
        size = domain.size(margin)
        cells += size
        if size > _MOST_CELLS or cells > _MOST_CELLS_IN_ALL:
            unread += 1
            continue
        try:
            chances = _small_chances(np.asarray(model.expected(margin)), least)
        except MarginalsError:  # too many cells, or too long
            unread += 1
            continue
        counts = np.zeros(size) if counted is None else counted(margin)
        ranked += int(np.count_nonzero(chances))
        first = np.argsort(-chances, kind="stable")[: _TOPS[-1]]
        firsts.append(np.stack([chances[first], (counts[first] >= 1) & (counts[first] < least)]))
    return LikelySmall(least, ranked, unread, _tops(firsts, counted is not None))


def _tops(firsts: Sequence[FloatArray], are_counted: bool) -> tuple[Top, ...]:
    # firsts: of each margin the chances of the first ones, and whether they are small if that was counted: shape (2, n)
    if not firsts:
        return ()
    chances, right = np.concatenate(firsts, axis=1)
    order = np.argsort(-chances, kind="stable")
    means = {number: [float(part[order[:number]].mean()) for part in (chances, right)] for number in _TOPS}
    ranked = np.count_nonzero(chances)
    return tuple(Top(n, mean, hits if are_counted else None) for n, (mean, hits) in means.items() if n <= ranked)


def _small_chances(expected: FloatArray, least: int) -> FloatArray:
    term = np.exp(-expected.ravel())
    chances = np.zeros_like(term)
    for count in range(1, least):
        term = term * expected.ravel() / count
        chances += term
    return chances
