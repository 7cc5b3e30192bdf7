"""The deFinetti attack: learning from a release who is likely to have what, across its classes (Kifer, SIGMOD 2009).

Classes are not independent of each other: that classes with many smokers have more cancer tells of each smoker in a
mixed class. The attacker knows everybody's nonsensitive values, guesses the sensitive ones, learns a naive Bayes
model from the guesses, guesses anew with the model so that every published count is kept, and so on.

What the attributes tell that are published together with the sensitive one is in the published counts already; there
is something to learn only where they are published coarser than they are known, or not with it.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from checks.classes import EquivalenceClasses, equivalence_classes
from models.arrays import FloatArray
from models.inference.class_shares import SummedTable
from models.programs.fitting import Sums, fit, missed_rows
from models.tables.contingency_table import ContingencyTable

ROUNDS = 10
_SWEEPS = 1000
_CHANGE = 1e-6

_SAME = 1e-9
"""Relative difference that is one of rounding."""


def published_groups(tables: Iterable[ContingencyTable], people: EquivalenceClasses) -> tuple[SummedTable, ...]:
    """The counts of groups of classes in the tables that show the sensitive attribute at the level of `people`."""
    groups = []
    for table in tables:
        if table.margin.get(people.sensitive) == people.level:
            held = equivalence_classes(table, people.sensitive)
            values = np.arange(held.counts.shape[1])
            groups.append(SummedTable(people.positions_in(held), values, held.counts.astype(np.float64)))
    return tuple(groups)


def definetti(people: EquivalenceClasses, groups: Sequence[SummedTable], rounds: int = ROUNDS) -> FloatArray:
    """What the attacker guesses: expected rows by class and sensitive value, shape (classes, values).

    people: only how many rows each class has is used of its counts: nonsensitive values are known. groups: what is
    published of these people. With no rounds it is maximum entropy given what is published and known.
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
    """P(s | class) where the attributes are independent given s, estimated from a guess with add-one smoothing."""
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
    """The guess nearest to one that keeps to all published counts, and to the people in each class.

    guess: expected rows by class and sensitive value, or weights, shape (classes, values). rows: of each class. Iterative
    proportional fitting, which ends after a fixed number of sweeps.
    """
    guess = np.array(guess, dtype=np.float64)
    targets = [(Sums(len(guess), None, (1,)), rows), *(group.target for group in groups)]
    fit(guess, targets, _SWEEPS, _CHANGE * rows.sum(), missed_rows)
    return guess


def confident(guess: FloatArray, people: EquivalenceClasses, number: int) -> float:
    """Share of right guesses among those rows of which a guess is most confident; of equals all count in part.

    number: of rows, at most all.
    """
    sums = guess.sum(axis=1)
    shares = np.divide(guess.max(axis=1), sums, out=np.zeros(len(guess)), where=sums > 0)
    right = _right(guess, people)
    order = np.argsort(-shares, kind="stable")
    sorted_shares = shares[order]
    # Rows that rounding alone tells apart are equally sure, whatever the order of their classes.
    group = np.concatenate([[0], np.cumsum(sorted_shares[:-1] - sorted_shares[1:] > _SAME)])
    rows = np.bincount(group, people.counts.sum(axis=1)[order])
    hits = np.bincount(group, right[order])
    before = np.cumsum(rows) - rows
    taken = np.clip(number - before, 0, rows)
    return float((hits * np.divide(taken, rows, out=np.zeros(len(rows)), where=rows > 0)).sum() / max(taken.sum(), 1))


def accuracy(guess: FloatArray, people: EquivalenceClasses) -> float:
    """Share of the rows whose sensitive value is the likeliest one of their class; ties count in part."""
    return float(_right(guess, people).sum() / people.counts.sum())


def _right(guess: FloatArray, people: EquivalenceClasses) -> FloatArray:
    """Rows of each class with its likeliest sensitive value; ties count in part."""
    likeliest = guess >= guess.max(axis=1, keepdims=True) * (1 - _SAME)
    return np.asarray((people.counts * likeliest).sum(axis=1) / likeliest.sum(axis=1))


def base_rate(people: EquivalenceClasses) -> float:
    """Share of the rows that have the value that most have: what somebody guesses without any release."""
    overall = people.counts.sum(axis=0)
    return float(overall.max() / overall.sum())
