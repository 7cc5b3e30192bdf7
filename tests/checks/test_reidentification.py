"""Prosecutor, journalist and marketer risk, and what makes rows unique, against counting row by row."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import CriterionError, WorstClass
from checks.classes import THRESHOLDS, delta_presence, estimated_risks, k_map, reidentification, uniqueness
from dice import Dice, Thrown
from models import ContingencyTable, ContradictionError
from privacy_strategies import dense_tables, sensitive_domains

pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=6)


@given(pairs)
def test_the_risks_are_those_of_every_row(drawn: list[tuple[int, int]]) -> None:
    """1 / f, or 1 / F with a population of f and some more, row by row."""
    rows = [(f, f + more) for f, more in drawn for _ in range(f)]
    sizes, people = np.array([f for f, _ in drawn]), np.array([f + more for f, more in drawn])
    found = reidentification(sizes, people)
    assert found is not None
    assert found.journalist is not None
    for risk, of_row in ((found.prosecutor, [1 / f for f, _ in rows]), (found.journalist, [1 / n for _, n in rows])):
        assert risk.highest == pytest.approx(max(of_row))
        assert risk.average == pytest.approx(sum(of_row) / len(rows))
    exact = [Fraction(1, n) for _, n in rows]
    for bound in THRESHOLDS:
        assert found.journalist.above[bound] == pytest.approx(sum(risk > bound for risk in exact) / len(rows))
    assert found.marketer == found.journalist.average
    assert found.population_unique == sum(pair == (1, 0) for pair in drawn)
    alone = reidentification(sizes)
    assert alone is not None
    assert alone.marketer == pytest.approx(len(drawn) / len(rows))


@given(st.integers(1, 40), st.floats(0.05, 1))
def test_estimated_risks_are_means_over_the_population(f: int, fraction: float) -> None:
    """1 / F summed over negative binomial F, which has F - f people who were passed over."""
    probability, mean = fraction**f, 0.0
    for n in range(f, 20_000):
        mean += probability / n
        probability *= (1 - fraction) * n / (n - f + 1)
    assert estimated_risks(np.array([f]), fraction)[0] == pytest.approx(mean, rel=1e-6)


def test_a_sampling_fraction_tells_how_many_are_unique_in_the_population() -> None:
    found = reidentification(np.array([1, 1, 3]), 0.25)
    assert found is not None
    assert (found.population_unique, found.is_estimated) == (0.5, True)
    assert found.as_json()["estimated"] is True
    for fraction in (0.0, 1.5):
        with pytest.raises(CriterionError, match="sampling fraction"):
            reidentification(np.array([1]), fraction)


@Thrown
def tables(dice: Dice) -> ContingencyTable:
    """A table of three or four columns."""
    return dense_tables.of(dice, sensitive_domains.of(dice, 48, 4)[0])


@given(tables())
def test_the_columns_are_those_of_minimal_sets_that_make_a_row_unique(table: ContingencyTable) -> None:
    columns = [table.column(name, 0).tolist() for name in table.attributes]
    rows = [row for row, count in zip(zip(*columns), table.counts.tolist()) for _ in range(count)]
    axes = range(len(columns))
    unique_by = {
        chosen: {
            i
            for i, row in enumerate(rows)
            if Counter(tuple(r[a] for a in chosen) for r in rows)[tuple(row[a] for a in chosen)] == 1
        }
        for size in range(1, 4)
        for chosen in combinations(axes, size)
    }
    minimal = {
        chosen: found - set().union(*(unique_by[less] for less in unique_by if set(less) < set(chosen)), set())
        for chosen, found in unique_by.items()
    }
    some = set().union(*minimal.values())
    found = uniqueness(table)
    assert found.records == sum(Counter(rows)[row] == 1 for row in rows)
    for axis, name in enumerate(table.attributes):
        own = set().union(*(rows_of for chosen, rows_of in minimal.items() if axis in chosen))
        assert found.columns[name] == pytest.approx(len(own) / max(len(some), 1))


@given(pairs, st.integers(1, 12), st.fractions(0, 1, max_denominator=6), st.fractions(0, 1, max_denominator=6))
def test_k_map_and_delta_presence_are_those_of_every_person(
    drawn: list[tuple[int, int]], k: int, one: Fraction, other: Fraction
) -> None:
    sizes, people = np.array([f for f, _ in drawn]), np.array([f + more for f, more in drawn])
    mapped = k_map(sizes, people, k)
    assert mapped.holds == all(f + more >= k for f, more in drawn)
    assert mapped.worst == (WorstClass(count=min(f + more for f, more in drawn)) if drawn else None)
    assert (dict(mapped.parameters), mapped.examined) == ({"k": k}, len(drawn))
    low, high = sorted((one, other))
    expected = all(low <= Fraction(f, f + more) <= high for f, more in drawn)
    found = delta_presence(sizes, people, (low, high))
    assert found.holds == expected
    assert found.worst is not None
    assert 0 <= found.worst.as_json()["presence"] <= 1


def test_people_who_are_not_in_the_table_count_too() -> None:
    """Nobody of a class being in it tells as much as everybody."""
    sizes, people = np.array([2, 0]), np.array([4, 4])
    assert not delta_presence(sizes, people, (Fraction(1, 4), Fraction(1, 2))).holds
    assert delta_presence(sizes, people, (Fraction(0), Fraction(1, 2))).holds


def test_what_makes_no_sense_is_refused() -> None:
    one = np.array([2])
    with pytest.raises(ContradictionError, match="no sample of it"):
        reidentification(one, np.array([1]))
    with pytest.raises(ContradictionError, match="no sample of it"):
        k_map(one, np.array([1]), 1)
    with pytest.raises(CriterionError, match="at least 1"):
        k_map(one, one, 0)
    with pytest.raises(CriterionError, match="the lower first"):
        delta_presence(one, one, (Fraction(1, 2), Fraction(1, 3)))
    assert reidentification(np.array([], dtype=int)) is None


@given(tables())
def test_smaller_sets_are_looked_at_where_there_are_too_many(table: ContingencyTable) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("checks.classes._MOST_WORK", 0)
        found = uniqueness(table)
    assert found.most == 1
    for name in table.attributes:
        alone = table.rolled_up({name: 0}).counts
        assert (found.columns[name] > 0) == bool((alone == 1).any())
