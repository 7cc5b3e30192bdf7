"""Every search ends by itself, whatever the table and the objective: none goes round in a circle."""

import os
from itertools import count, product

import numpy as np
import pytest

from models import STRATEGIES, ContingencyTable, Deadline, Domain, Hierarchy, select, stepwise
from models.search import OBJECTIVES
from search_oracles import random_searches_of

NIGHTLY = "MARGINALS_TIMES" in os.environ
TABLES = 20_000 if NIGHTLY else 100

OF_ANY_OBJECTIVE = ["auto", "stepwise", "greedy", "greedy-backward", "greedy-both"]
"""The others refuse the likelihood ratio, by which there is no best model."""

CASES = [
    (name, criterion)
    for name, criterion in product(["auto", "stepwise", *STRATEGIES], OBJECTIVES)
    if criterion != "likelihood-ratio" or name in OF_ANY_OBJECTIVE
]

MANY = 100_000
"""Times that a search of such a table asks whether to stop, at most; it takes some hundred."""


@pytest.fixture(scope="module", autouse=True)
def few_turns():
    """Random searches whose turns are counted anyway."""
    with random_searches_of(proposals=5, patience=3, population=4, generations=2):
        yield


def table_of(shape, counts):
    domain = Domain.of({name: Hierarchy.flat([str(v) for v in range(size)]) for name, size in zip("abcd", shape)})
    codes = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    return ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, np.asarray(counts))


def drawn(seed):
    """Sparse or dense, with weak or strong associations."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(rng.integers(2, 4)) for _ in range(rng.integers(2, 5)))
    counts = rng.gamma(rng.uniform(0.2, 1.5), rng.uniform(1, 15), int(np.prod(shape))).astype(int)
    return table_of(shape, np.maximum(counts, not counts.any()))


def asked(table, name, criterion):
    """How often a search asks whether to stop."""
    looks = count()
    deadline = Deadline(MANY, lambda: next(looks))
    select(table, criterion, stepwise if name == "stepwise" else name, deadline=deadline)
    return next(looks)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "criterion"), CASES)
def test_every_strategy_ends_by_every_objective(name, criterion):
    """100 tables for the stepwise ones by the likelihood ratio, where gains do not add up; ten elsewhere; by night all."""
    tables = TABLES if NIGHTLY or criterion == "likelihood-ratio" else TABLES // 10
    assert max(asked(drawn(seed), name, criterion) for seed in range(tables)) < MANY


@pytest.mark.parametrize("name", OF_ANY_OBJECTIVE)
def test_moves_that_each_gain_do_not_lead_in_a_circle(name):
    """Four collections, each significantly better than the one before it, the first than the last."""
    counts = [4, 11, 3, 13, 15, 14, 19, 10, 11, 20, 15, 2, 5, 12, 2, 6, 7, 9, 26, 5, 12, 3, 8, 1]
    assert asked(table_of((2, 2, 3, 2), counts), name, "likelihood-ratio") < 1_000
