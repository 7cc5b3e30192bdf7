"""Adjusted entropy is the supremum of MKGV07 Def. 4.5, its numbers are those of the paper, and ties are exact."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import CriterionError, DontCareEntropy, satisfies
from privacy_oracles import entropy_reaches
from privacy_strategies import classes, numbers

counts = st.lists(st.just(0) | st.integers(1, 30), min_size=1, max_size=4)
sensitive = st.lists(st.integers(0, 30), min_size=1, max_size=4).filter(any)
dont_care_sets = st.frozensets(st.integers(0, 6), max_size=4)


def entropy(row: list[float]) -> float:
    return -sum(x / sum(row) * log(x / sum(row)) for x in row if x / sum(row) > 0)


def log_entropic_mean(row: list[float]) -> float:
    return sum(x * log(x) for x in row if x) / sum(row)


def adjusted_entropy(dont_care: list[float], at_risk: list[float]) -> float:
    """What the criterion says of one class."""
    criterion = DontCareEntropy(Fraction(2), frozenset(range(len(dont_care))))
    return log(criterion.reached(np.array([[*dont_care, *at_risk]])).item())


def algorithm_1(dont_care: list[int], at_risk: list[int]) -> list[float]:
    """MKGV07 Algorithm 1, line by line: the counts whose normalized entropy it returns."""
    changeable, fixed = sorted(dont_care), [float(n) for n in at_risk]
    mean = log_entropic_mean(fixed)
    while changeable and (changeable[0] == 0 or log(changeable[0]) < mean):
        fixed.append(changeable.pop(0))
        mean = log_entropic_mean(fixed)
    return [*fixed, *(exp(mean) for _ in changeable)]


def test_the_worked_example_of_algorithm_1() -> None:
    """MKGV07 section 4.2: don't-care counts 11, 10, 3, 2 and sensitive counts 3, 4."""
    means = [log_entropic_mean(fixed) for fixed in ([3, 4], [2, 3, 4], [2, 3, 3, 4])]
    assert [round(mean, 3) for mean in means] == [1.263, 1.136, 1.127]
    adjusted = adjusted_entropy([11, 10, 3, 2], [3, 4])
    assert round(adjusted, 3) == 1.773
    assert adjusted == pytest.approx(entropy([exp(means[2]), exp(means[2]), 3, 2, 3, 4]), abs=1e-12)


@given(counts, sensitive)
def test_it_equals_algorithm_1(dont_care: list[int], at_risk: list[int]) -> None:
    assert adjusted_entropy(dont_care, at_risk) == pytest.approx(entropy(algorithm_1(dont_care, at_risk)), abs=1e-12)


def oracle(criterion: DontCareEntropy, vector: list[int]) -> bool:
    """The verdict from whole numbers: the largest entropy over the cutoffs of Theorem 4.1 that lower nothing beyond its
    count. With k counts lowered to e^M the entropy is ln(exp(H) + k), H that of the fixed counts.
    """
    at_risk = [n for code, n in enumerate(vector) if code not in criterion.dont_care and n]
    free = sorted(n for code, n in enumerate(vector) if code in criterion.dont_care and n)
    if not at_risk:
        return True
    for cutoff in range(len(free) + 1):
        fixed, lowered = [*at_risk, *free[:cutoff]], free[cutoff:]
        wanted = criterion.l - len(lowered)
        feasible = all(entropy_reaches(fixed, Fraction(sum(fixed), n)) for n in lowered)
        if feasible and (wanted <= 1 or entropy_reaches(fixed, wanted)):
            return True
    return False


@given(st.builds(DontCareEntropy, numbers(1, 6), dont_care_sets), classes())
def test_the_verdict_is_that_of_whole_numbers(criterion: DontCareEntropy, vector: list[int]) -> None:
    assert criterion.decide(vector) is oracle(criterion, vector)
    rows = np.array([vector, vector[::-1]])
    assert satisfies(criterion, rows).tolist() == [oracle(criterion, row) for row in rows.tolist()]


@pytest.mark.parametrize(
    ("l", "vector", "dont_care"),
    [
        ("4", [1, 1, 5, 7], {2, 3}),  # all lowered to 1
        ("6", [4, 1, 1, 1, 1, 2, 9], {5, 6}),  # M is ln 2, which is the count 2 itself
        ("5", [4, 1, 1, 1, 1, 8], {5}),
        ("4", [1, 1, 1, 1, 4], {7}),
    ],
)
def test_a_class_on_the_boundary_passes_and_beyond_it_fails(l: str, vector: list[int], dont_care: set[int]) -> None:
    exact = DontCareEntropy(Fraction(l), frozenset(dont_care))
    beyond = DontCareEntropy(Fraction(l) + Fraction(1, 10**12), frozenset(dont_care))
    assert satisfies(exact, np.array([vector, vector])).all()
    assert not satisfies(beyond, np.array([vector])).any()
    assert exact.reached(np.array([vector])) == pytest.approx([float(l)])


@given(dont_care_sets, classes(), classes(), st.integers(0, 6))
def test_merging_two_passing_classes_passes(
    dont_care: frozenset[int], one: list[int], other: list[int], code: int
) -> None:
    """MKGV07 Theorem 5.4, at an l that both classes just reach."""
    width = max(len(one), len(other), code + 1)
    rows = np.array([row + [0] * (width - len(row)) for row in (one, other)])
    weaker = DontCareEntropy(Fraction(1), dont_care).reached(rows).min()
    criterion = DontCareEntropy(max(Fraction(int(min(weaker, 9) * 10**6), 10**6), Fraction(1)), dont_care)
    assert satisfies(criterion, rows).all()
    assert satisfies(criterion, rows.sum(axis=0)[None]).all()


def test_a_class_where_all_may_be_disclosed_passes() -> None:
    with pytest.raises(CriterionError):
        DontCareEntropy(Fraction(1, 2), frozenset())
    criterion = DontCareEntropy(Fraction(5), frozenset({0}))
    assert satisfies(criterion, np.array([[9, 0, 0]])).all()
    assert criterion.reached(np.array([[9, 0, 0]])).tolist() == [np.inf]
