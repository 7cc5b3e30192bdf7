"""The homogeneity and the background-knowledge attack, against trying every choice of values to rule out."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import CriterionError, EquivalenceClasses, equivalence_classes
from checks.classes import (
    AffectedClasses,
    average,
    background_knowledge,
    falls_to,
    homogeneity,
    knowledge_needed,
    nearly_homogeneous,
)
from models import ContingencyTable, Domain, Hierarchy
from privacy_strategies import classes as rows_of_a_class

shares = st.sampled_from(
    [Fraction(1), Fraction(19, 20), Fraction(3, 4), Fraction(1, 2), Fraction(2, 3)]
) | st.fractions(Fraction(1, 100), 1)


def classes_with(rows: list[list[int]]) -> EquivalenceClasses:
    """Classes with these counts by sensitive value."""
    width = max(map(len, rows))
    counts = np.array([row + [0] * (width - len(row)) for row in rows])
    domain = Domain.of({"q": Hierarchy.flat(map(str, range(len(rows)))), "s": Hierarchy.flat(map(str, range(width)))})
    codes = dict(zip("qs", np.indices(counts.shape).reshape(2, -1)))
    table = ContingencyTable.from_cells(domain, {"q": 0, "s": 0}, codes, counts.ravel())
    return equivalence_classes(table, "s")


INPATIENTS = classes_with([[2, 2, 0], [1, 1, 2], [0, 0, 4]])
"""MKGV07 Fig. 2: heart disease, viral infection and cancer in three classes of four."""


def falls(row: list[int], ruled_out: int, share: Fraction) -> bool:
    """Whether some choice of values to rule out leaves one with at least this share of what is left."""
    values = range(len(row))
    for gone in combinations(values, min(ruled_out, len(row) - 1)):
        left = [row[value] for value in values if value not in gone]
        if sum(left) and max(left) >= share * sum(left):
            return True
    return False


@given(st.lists(rows_of_a_class(5), min_size=1, max_size=6), st.integers(0, 5), shares)
def test_a_class_falls_when_some_choice_of_values_betrays_it(
    rows: list[list[int]], ruled_out: int, share: Fraction
) -> None:
    classes = classes_with(rows)
    expected = [falls(row, ruled_out, share) for row in classes.counts.tolist()]
    assert falls_to(classes, ruled_out, share).tolist() == expected


@given(st.lists(rows_of_a_class(5), min_size=1, max_size=6), shares)
def test_knowledge_needed_is_the_least_that_suffices(rows: list[list[int]], share: Fraction) -> None:
    classes = classes_with(rows)
    expected = [next(n for n in range(9) if falls(row, n, share)) for row in classes.counts.tolist()]
    assert knowledge_needed(classes, share).tolist() == expected
    sizes = classes.counts.sum(axis=1)
    for number, found in background_knowledge(classes, range(4), share).items():
        which = [needed <= number for needed in expected]
        assert found == AffectedClasses(sum(which), int(sizes[which].sum()))


@given(st.lists(rows_of_a_class(5), min_size=1, max_size=6))
def test_with_certainty_a_class_falls_when_all_values_but_one_are_ruled_out(rows: list[list[int]]) -> None:
    classes = classes_with(rows)
    assert knowledge_needed(classes).tolist() == (np.count_nonzero(classes.counts, axis=1) - 1).tolist()


def test_bob_and_umeko() -> None:
    """MKGV07 section 1.1: Bob's class is homogeneous; Umeko's falls to somebody who can rule out heart disease."""
    assert homogeneity(INPATIENTS) == AffectedClasses(1, 4)
    assert knowledge_needed(INPATIENTS).tolist() == [1, 2, 0]
    assert background_knowledge(INPATIENTS, [1, 2]) == {1: AffectedClasses(2, 8), 2: AffectedClasses(3, 12)}


def test_nearly_homogeneous_is_95_percent_and_no_less() -> None:
    """MKGV07 section 6: the most frequent value appears in at least 95% of the rows."""
    classes = classes_with([[19, 1], [189, 11], [20, 0], [950_000_000, 50_000_001]])
    assert nearly_homogeneous(classes).tolist() == [True, False, True, False]
    assert homogeneity(classes) == AffectedClasses(2, 40)
    assert homogeneity(classes, Fraction(1)) == AffectedClasses(1, 20)


def test_shares_of_any_precision_are_exact() -> None:
    """Far beyond 64 bits."""
    classes = classes_with([[19, 1]])
    tiny = Fraction(1, 10**30)
    assert nearly_homogeneous(classes, Fraction(19, 20) - tiny).all()
    assert not nearly_homogeneous(classes, Fraction(19, 20) + tiny).any()


def test_the_average_is_over_all_tables() -> None:
    """MKGV07 Fig. 9: affected tables of all, then means that count unaffected tables as 0."""
    found = average([AffectedClasses(2, 40), AffectedClasses(0, 0), AffectedClasses(1, 5), AffectedClasses(1, 3)])
    assert (found.tables, found.affected_tables, found.classes, found.rows) == (4, 3, 1.0, 12.0)
    assert average([]).classes == 0.0


@pytest.mark.parametrize(("ruled_out", "share"), [(-1, Fraction(1)), (0, Fraction(0)), (1, Fraction(3, 2))])
def test_attacks_that_make_no_sense_are_refused(ruled_out: int, share: Fraction) -> None:
    with pytest.raises(CriterionError):
        falls_to(INPATIENTS, ruled_out, share)
