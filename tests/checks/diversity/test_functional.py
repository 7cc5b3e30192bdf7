"""Functional (tau, l)-diversity: the examples of TZ09, the definition itself as oracle, and what merging keeps."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import CriterionError, Functional, Induction, Recursive, Simple, satisfies
from models import Hierarchy
from privacy_oracles import is_functional
from privacy_strategies import classes
from strategies import hierarchies

DISEASES = Hierarchy.from_rows(
    [
        ("hepatitis", "hemal disease", "*"),
        ("anemia", "hemal disease", "*"),
        ("phthisis", "lung disease", "*"),
        ("flu", "lung disease", "*"),
    ]
)
"""TZ09 Fig. 1 (c), as far as its examples tell."""

TAXONOMY = [*DISEASES.labels[0], *DISEASES.labels[1], "*"]

PATIENTS = [
    ["hemal disease", "hemal disease", "hepatitis", "phthisis"],  # tuples 1, 2, 4, 5
    ["hepatitis", "phthisis", "phthisis", "anemia"],  # tuples 6, 7, 8, 10
    ["hepatitis", "phthisis", "hepatitis", "flu"],  # tuples 3, 9, 11, 12
]
"""The classes of the 12 patients in TZ09 Fig. 2 (a), by published disease."""

PUBLISHED = np.array([[patients.count(label) for label in TAXONOMY] for patients in PATIENTS])

requirements = st.builds(
    Functional, st.fractions(Fraction(1, 12), Fraction(11, 12), max_denominator=12), st.integers(2, 7)
)


def of_taxonomy(hierarchy: Hierarchy, weights: list[int] | None = None) -> Induction:
    """For the values of all levels, base values first and `*` last: what classes of local recoding may hold."""
    values = [(level, code) for level in range(hierarchy.height + 1) for code in range(hierarchy.size(level))]
    return Induction.of_values(hierarchy, values, weights)


@pytest.fixture
def half_and_three() -> Functional:
    return Functional(Fraction(1, 2), 3, of_taxonomy(DISEASES))


def test_example_1_induced_frequencies(half_and_three: Functional) -> None:
    """TZ09 Fig. 2 (b)."""
    assert half_and_three.frequencies(PUBLISHED).tolist() == [
        [0.5, 0.25, 0.25, 0],
        [0.25, 0.25, 0.5, 0],
        [0.5, 0, 0.25, 0.25],
    ]
    assert half_and_three.induction is not None
    assert half_and_three.induction.exactly(PUBLISHED[0].tolist()) == [2, 1, 1, 0]


def test_example_2_cumulative_frequencies(half_and_three: Functional) -> None:
    assert half_and_three.cumulative(PUBLISHED).tolist() == [[0.5, 0.75, 1, 1]] * 3


def test_example_3_the_table_is_functional_half_three(half_and_three: Functional) -> None:
    """Its cumulative frequencies lie on the line, so any stricter requirement fails."""
    assert [half_and_three.bound(k) for k in (1, 2, 3, 4)] == [Fraction(1, 2), Fraction(3, 4), 1, 1]
    assert satisfies(half_and_three, PUBLISHED).all()
    assert half_and_three.reached(PUBLISHED).tolist() == [0.5] * 3
    induction = half_and_three.induction
    assert not satisfies(Functional(Fraction(1, 2) - Fraction(1, 10**15), 3, induction), PUBLISHED).any()
    assert not satisfies(Functional(Fraction(1, 2), 4, induction), PUBLISHED).any()


def test_what_existing_measures_let_through() -> None:
    """TZ09 Fig. 1: classes that are recursive (3, 2)- and simple 2-diverse, with chances of 0.714 and 0.9."""
    recursive, simple = [5, 0, 1, 1], [5, 1, 4, 0]
    assert Recursive(Fraction(3), 2).decide(recursive)
    assert Simple(Fraction(2)).decide(simple)
    held = Functional(Fraction(1, 2), 3).cumulative(np.array([recursive, simple]))
    assert held[0, 0] == pytest.approx(5 / 7)
    assert held[1, 1] == pytest.approx(0.9)
    assert not satisfies(Functional(Fraction(1, 2), 3), np.array([recursive, simple])).any()


@given(requirements, classes(max_values=7))
def test_the_verdict_is_the_definition(requirement: Functional, vector: list[int]) -> None:
    expected = is_functional(requirement, [Fraction(n) for n in vector])
    assert requirement.decide(vector) is expected
    assert satisfies(requirement, np.array([vector])).tolist() == [expected]


@given(requirements, classes(max_values=7))
def test_what_is_reached_is_the_boundary(requirement: Functional, vector: list[int]) -> None:
    reached = requirement.reached(np.array([vector]))[0]
    if reached < 1 - 1e-6:
        above = Functional(min(Fraction(reached) + Fraction(1, 10**9), Fraction(1) - Fraction(1, 10**9)), requirement.l)
        below = Functional(Fraction(reached) - Fraction(1, 10**9), requirement.l)
        assert is_functional(above, vector)
        assert not is_functional(below, vector)
    else:
        assert sum(n > 0 for n in vector) < requirement.l or len(vector) < requirement.l


@given(st.data(), hierarchies(max_values=5, max_levels=3))
def test_general_values_count_for_the_base_values_under_them(data: st.DataObject, hierarchy: Hierarchy) -> None:
    """TZ09 Def. 2, with weights."""
    size = hierarchy.size(0)
    weights = data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    values = [(level, code) for level in range(hierarchy.height + 1) for code in range(hierarchy.size(level))]
    counts = data.draw(st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)).filter(any))
    expected = [Fraction(0)] * size
    for (level, code), count in zip(values, counts):
        under = [a for a, row in enumerate(hierarchy.rows()) if row[level] == hierarchy.labels[level][code]]
        ruled_out = not any(weights[a] for a in under)
        for a in under:
            share = Fraction(1, len(under)) if ruled_out else Fraction(weights[a], sum(weights[b] for b in under))
            expected[a] += count * share
    levels = [Induction.at_level(hierarchy, level).shares for level in range(hierarchy.height + 1)]
    assert of_taxonomy(hierarchy).shares == tuple(row for rows in levels for row in rows)
    induction = of_taxonomy(hierarchy, weights)
    assert induction.exactly(counts) == expected
    requirement = data.draw(requirements)
    requirement = Functional(requirement.tau, requirement.l, induction)
    frequencies = requirement.frequencies(np.array([counts]))[0]
    np.testing.assert_allclose(frequencies, [float(f / sum(counts)) for f in expected], atol=1e-12)
    assert requirement.decide(counts) is is_functional(requirement, expected)
    assert satisfies(requirement, np.array([counts])).tolist() == [is_functional(requirement, expected)]


def test_weights_and_shares_that_are_none_are_refused() -> None:
    for weights in ([1, 2], [1, 1, -1, 1]):
        with pytest.raises(CriterionError):
            Induction.at_level(DISEASES, 1, weights)
    for shares in (((1, 0), (1,)), ((Fraction(1, 2), Fraction(1, 3)),), ((2, -1),), ()):
        with pytest.raises(CriterionError):
            Induction(shares)
