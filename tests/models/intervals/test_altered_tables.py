"""Tables that were altered: what is called contradictory is, by integer programs on labels alone, and the named ones are."""

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from label_oracles import LabelledTables, random_labelled_tables
from linked_labels import linked_labels
from models import UNBOUNDED, ContradictionError, disagreements, joint_contradiction, proven_bounds

MANY = 10_000
"""People of a kind, more than any table has; so many stand for no end."""


def altered(rng: np.random.Generator, published: LabelledTables) -> LabelledTables:
    """One to three counts moved by one to three."""
    tables = [(attributes, list(cells)) for attributes, cells in published.tables]
    for _ in range(rng.integers(1, 4)):
        _, cells = tables[rng.integers(len(tables))]
        if cells:
            place, step = rng.integers(len(cells)), int(rng.integers(-3, 4))
            labels, low, high = cells[place]
            cells[place] = (labels, max(low + step, 0), None if high is None else max(high + step, 0))
    return replace(published, tables=tuple((attributes, tuple(cells)) for attributes, cells in tables))


def rows(published: LabelledTables, tables: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which people each cell of some tables counts, and the ends of its range."""
    cells = [cell for table in tables for cell in published.tables[table][1]]
    people = len(list(published.combinations()))
    inside = np.array([published.inside(labels) for labels, _, _ in cells]).reshape(-1, people)
    low = np.array([cell[1] for cell in cells], dtype=float)
    high = np.array([np.inf if cell[2] is None else cell[2] for cell in cells], dtype=float)
    return inside, low, high


def extreme(published: LabelledTables, tables: Sequence[int], objective: np.ndarray) -> float | None:
    """The least of an objective over all populations that fit some tables; None where there are none."""
    inside, low, high = rows(published, tables)
    constraints = [LinearConstraint(inside, low, high)] if len(inside) else []
    found = milp(objective, constraints=constraints, bounds=Bounds(0, MANY), integrality=np.ones(len(objective)))
    assert found.status in (0, 2)
    return None if found.status == 2 else (-np.inf if found.fun <= -MANY else round(found.fun))


def fit(published: LabelledTables, tables: Sequence[int]) -> bool:
    size = len(list(published.combinations()))
    return extreme(published, tables, np.zeros(size)) is not None


def least_change(published: LabelledTables, tables: Sequence[int]) -> float:
    """By how much ranges must be widened in all, in real numbers."""
    inside, low, high = rows(published, tables)
    number, size = inside.shape
    bounded = np.isfinite(high)
    widened = np.block([[-inside, -np.eye(number)], [inside[bounded], -np.eye(number)[bounded]]])
    costs = np.concatenate([np.zeros(size), np.ones(number)])
    return float(linprog(costs, A_ub=widened, b_ub=np.concatenate([-low, high[bounded]])).fun)


def compare(seed: int) -> tuple[bool, bool, bool]:
    """Whether the tables contradict each other, whether that is said, and whether it is named by which tables."""
    rng = np.random.default_rng(seed)
    published = altered(rng, random_labelled_tables(rng))
    linked = linked_labels(published)
    every = range(len(published.tables))
    try:
        bounds = proven_bounds(linked)
    except ContradictionError:
        pass
    else:
        fits = fit(published, every)
        assert fits or not bounds.decided.all()
        return not fits, False, False
    assert not fit(published, every)
    pairs = disagreements(linked)
    for each in pairs:
        assert not fit(published, sorted(set(each.tables)))
        inside = published.inside(linked.named(each.cell)).astype(float)
        assert each.gap >= 1
        for table, ends in zip(each.tables, each.ranges):
            if each.tables[0] != each.tables[1] and fit(published, [table]):  # or only programs tell that it does not
                least, most = extreme(published, [table], inside), extreme(published, [table], -inside)
                assert least is not None
                assert most is not None
                assert ends[0] <= least
                assert ends[1] == UNBOUNDED or -most <= ends[1]
    together = None if pairs else joint_contradiction(linked)
    if together is not None:
        assert not fit(published, together.tables)
        assert together.correction <= least_change(published, together.tables) + 1e-6
        for table in together.tables:
            others = [each for each in together.tables if each != table]
            assert least_change(published, others) < 1e-6
    return True, True, bool(pairs) or together is not None


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
@example(13951998)  # a table that contradicts itself
def test_what_is_said_of_altered_tables_is_so(seed: int) -> None:
    compare(seed)


@pytest.mark.skipif("MARGINALS_TIMES" not in os.environ, reason="many random tables are altered by `make nightly`")
def test_contradictions_of_many_altered_tables_are_named() -> None:
    found = np.array([compare(seed) for seed in range(600)])
    contradictory, said, named = found.sum(axis=0)
    assert contradictory > 300
    assert said >= 0.99 * contradictory
    assert named >= 0.99 * contradictory
