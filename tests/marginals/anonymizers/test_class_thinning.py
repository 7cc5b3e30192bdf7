"""Taking rows from a class until it is diverse, against taking them one by one."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checks import Functional, Induction, satisfies
from marginals.anonymizers.local_recoding import InducedBound
from models import Hierarchy
from recoding_oracles import line_holds, requirements
from strategies import hierarchies


def bound_on(hierarchy: Hierarchy, requirement: Functional, rows: int = 1000) -> InducedBound:
    """For classes counted by the values of all levels, the most general first."""
    values = [(level, code) for level in range(hierarchy.height + 1) for code in range(hierarchy.size(level))][::-1]
    induction = Induction.of_values(hierarchy, values)
    return InducedBound(
        Functional(requirement.tau, requirement.l, induction), np.array([level for level, _ in values]), rows
    )


def class_counts(columns: int) -> st.SearchStrategy[np.ndarray]:
    """1 .. 6 classes with up to 9 rows of a value.

    [[0, 3, 1], [9, 0, 0]]
    """
    row = st.lists(st.just(0) | st.integers(0, 9), min_size=columns, max_size=columns)
    return st.lists(row, min_size=1, max_size=6).map(np.array)


def thinned_one_by_one(counts: list[int], requirement: Functional) -> list[int]:
    """TZ09 Fig. 4, steps 10 to 13, for base values."""
    counts = list(counts)
    while any(counts) and not line_holds([Fraction(c, sum(counts)) for c in counts], requirement):
        counts[max(range(len(counts)), key=lambda value: counts[value])] -= 1
    return counts


@given(class_counts(5), requirements())
def test_thinning_leaves_what_removing_the_dominant_rows_one_by_one_leaves(
    counts: np.ndarray, requirement: Functional
) -> None:
    """Which of several equally frequent values gives up a row is free, so the sorted counts are compared."""
    identity = Induction(tuple(tuple(Fraction(i == j) for j in range(5)) for i in range(5)))
    bound = InducedBound(Functional(requirement.tau, requirement.l, identity), np.zeros(5, dtype=np.intp), 1000)
    left = bound.thinned(counts)
    assert (left <= counts).all()
    for before, after in zip(counts.tolist(), left.tolist()):
        assert sorted(after) == sorted(thinned_one_by_one(before, requirement))


@given(st.data(), hierarchies(), requirements())
def test_masses_are_rows_times_what_each_counts_for(
    data: st.DataObject, hierarchy: Hierarchy, requirement: Functional
) -> None:
    """The product of matrices, and the verdict of the criterion on each class."""
    bound = bound_on(hierarchy, requirement)
    counts = data.draw(class_counts(len(bound.levels)))
    assert bound.masses(counts).tolist() == (counts @ bound.shares).tolist()
    assert bound.holds(counts).tolist() == [not any(row) or bound.requirement.decide(row) for row in counts.tolist()]


@given(st.data(), hierarchies(), requirements())
def test_what_is_left_of_generalized_classes_is_diverse(
    data: st.DataObject, hierarchy: Hierarchy, requirement: Functional
) -> None:
    bound = bound_on(hierarchy, requirement)
    counts = data.draw(class_counts(len(bound.levels)))
    left = bound.thinned(counts)
    assert ((left >= 0) & (left <= counts)).all()
    some = left[left.any(axis=1)]
    assert satisfies(bound.requirement, some).all()
    whole = counts[counts.any(axis=1)]
    passing = satisfies(bound.requirement, whole)
    assert (bound.thinned(whole[passing]) == whole[passing]).all()


@given(st.data(), hierarchies(), requirements())
def test_verdicts_are_those_of_the_criterion_and_stay_exact_for_any_number_of_rows(
    data: st.DataObject, hierarchy: Hierarchy, requirement: Functional
) -> None:
    bound = bound_on(hierarchy, requirement)
    counts = data.draw(class_counts(len(bound.levels)).filter(lambda drawn: drawn.any(axis=1).all()))
    expected = [bound.requirement.decide(row) for row in counts.tolist()]
    assert bound.holds(counts).tolist() == expected
    huge = bound_on(hierarchy, requirement, 2**70)
    assert huge.shares.dtype == object
    assert huge.holds(counts).tolist() == expected
    assert np.array_equal(huge.thinned(counts), bound.thinned(counts))


@given(hierarchies(), requirements())
def test_fewer_values_than_the_fewest_cannot_pass(hierarchy: Hierarchy, requirement: Functional) -> None:
    bound = bound_on(hierarchy, requirement)
    size = hierarchy.size(0)
    level_shares = [line_holds([Fraction(1, n)] * n, requirement) for n in range(1, size + 1)]
    assert level_shares == [n >= bound.fewest_values for n in range(1, size + 1)]


def test_a_class_on_the_line_passes() -> None:
    """(0.5, 3) on frequencies .5, .25, .25: F(1) and F(2) equal psi (TZ09 Example 3)."""
    bound = bound_on(Hierarchy.flat("abcd"), Functional(Fraction(1, 2), 3))
    assert bound.holds(np.array([[0, 2, 1, 1, 0], [0, 3, 1, 1, 0], [0, 2, 1, 0, 0]])).tolist() == [True, False, False]
    assert bound.thinned(np.array([[0, 9, 1, 1, 0]])).tolist() == [[0, 2, 1, 1, 0]]
