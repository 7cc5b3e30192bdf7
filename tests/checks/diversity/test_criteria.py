"""Criteria on one class: verdicts are those of the definitions, ties included, and merging keeps them."""

from fractions import Fraction
from math import exp, log, prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checks import (
    CriterionError,
    Distinct,
    Diversity,
    DontCareEntropy,
    Entropy,
    Functional,
    Induction,
    NegativeDisclosure,
    NpdRecursive,
    Recursive,
    Simple,
    parse_diversity,
    satisfies,
)
from models import Hierarchy
from privacy_oracles import entropy_reaches, is_diverse, is_functional, on_boundary, reached
from privacy_strategies import classes, diversities, numbers
from strategies import hierarchies

codes = st.frozensets(st.integers(0, 5), max_size=3)
disclosures = st.builds(Recursive, numbers(Fraction(1, 12), 4), st.integers(1, 6), st.booleans(), dont_care=codes)
protections = st.builds(
    NegativeDisclosure,
    st.fractions(Fraction(1, 2), 60, max_denominator=4),
    st.frozensets(st.integers(0, 5), min_size=1),
)
criteria = diversities() | disclosures | protections | st.builds(NpdRecursive, disclosures, protections)
"""Those that a policy can spell, and those with a don't-care set, protected values, or both."""

adjusted = st.builds(DontCareEntropy, numbers(1, 6), st.frozensets(st.integers(0, 6), max_size=4))

wide_classes = classes(6).map(lambda counts: counts + [0] * (6 - len(counts)))
"""Counts of six values, so that every code of a set above is one of them."""


@given(criteria, st.lists(wide_classes, max_size=6))
def test_the_verdict_on_each_class_is_that_of_the_definition(diversity: Diversity, drawn: list[list[int]]) -> None:
    expected = [is_diverse(diversity, counts) for counts in drawn]
    assert satisfies(diversity, np.array(drawn, dtype=np.int64).reshape(-1, 6)).tolist() == expected
    assert [diversity.decide(counts) for counts in drawn] == expected


@given(criteria, wide_classes, st.integers(0, 5), st.sampled_from([-1, 0, 1]))
def test_the_verdict_is_exact_on_the_boundary_and_one_row_beside_it(
    diversity: Diversity, counts: list[int], value: int, more: int
) -> None:
    at = on_boundary(diversity, counts)
    beside = list(counts)
    beside[value] = max(counts[value] + more, 0)
    assume(any(beside))
    assert satisfies(at, np.array([counts, beside, counts])).tolist() == [
        is_diverse(at, row) for row in (counts, beside, counts)
    ]


@given(diversities() | disclosures | protections, st.lists(wide_classes, min_size=1, max_size=6))
def test_what_a_class_reaches_is_its_parameter_by_definition(diversity: Diversity, drawn: list[list[int]]) -> None:
    expected = [reached(diversity, counts) for counts in drawn]
    np.testing.assert_allclose(diversity.reached(np.array(drawn)), expected, rtol=1e-12)


def test_a_class_with_half_its_rows_on_one_of_five_values_is_entropy_4_diverse() -> None:
    """ln 4 = 1/2 ln 2 + 4/8 ln 8 exactly, which floating point puts on either side."""
    assert satisfies(Entropy(Fraction(4)), np.array([[1, 1, 1, 1, 4], [4, 1, 1, 1, 1]])).all()
    assert not satisfies(Entropy(Fraction(4)), np.array([[1, 1, 1, 1, 5]])).any()


def test_the_blocks_of_the_3_diverse_table_of_the_paper() -> None:
    """MKGV07 Fig. 4 and the sentence after Def. 4.1: 3 distinct values in each block, entropy 2.8-diverse."""
    blocks = np.array([[1, 1, 2], [1, 2, 1], [1, 1, 2]])
    assert satisfies(Distinct(3), blocks).all()
    assert satisfies(Entropy(Fraction("2.8")), blocks).all()
    assert not satisfies(Entropy(Fraction("2.9")), blocks).any()
    for just, holds in (("2.8284271247461900", True), ("2.8284271247461902", False)):  # the square root of 8
        assert satisfies(Entropy(Fraction(just)), blocks).all() is np.bool_(holds)


def test_the_block_of_the_paper_that_is_2_3_diverse_is_so_where_the_head_may_equal_the_tail() -> None:
    """MKGV07 section 4.3 calls counts 2, 1, 1 recursive (2, 3)-diverse: KG06 Def. 2.5, not MKGV07 Def. 4.2."""
    block = np.array([[2, 1, 1]])
    assert satisfies(Recursive(Fraction(2), 3, strict=False), block).all()
    assert not satisfies(Recursive(Fraction(2), 3), block).any()


def test_one_diversity_is_always_satisfied() -> None:
    """MKGV07 Def. 4.2, last sentence."""
    for diversity in (Distinct(1), Simple(Fraction(1)), Entropy(Fraction(1)), Recursive(Fraction(1, 2), 1)):
        assert satisfies(diversity, np.array([[7, 0], [0, 1], [3, 3]])).all()


def test_values_that_may_be_disclosed_are_not_counted_too_frequent() -> None:
    """MKGV07 section 4.2: 700 healthy of 1000, which may be known, and 300 with hepatitis or cancer: 2-diverse."""
    healthy = np.array([[700, 300, 0], [700, 0, 300]])
    assert not satisfies(Recursive(Fraction(2), 2), healthy).any()
    assert satisfies(Recursive(Fraction(2), 2, dont_care=frozenset({0})), healthy).all()
    assert satisfies(Recursive(Fraction(1, 9), 3, dont_care=frozenset({0, 1, 2})), healthy).all()


@pytest.mark.parametrize(("percent", "protected"), [(0, {1}), (100, {1}), (5, set())])
def test_negative_disclosure_without_a_percentage_or_values_is_refused(percent: int, protected: set[int]) -> None:
    with pytest.raises(CriterionError):
        NegativeDisclosure(Fraction(percent), frozenset(protected))


@pytest.mark.parametrize(
    "text",
    [
        "recursive:1/3,1 or equal",
        "recursive:0.99,1 or equal",
        "pd-recursive:1/2,1 or equal may disclose a",
        "npd-recursive:1/2,5,1 or equal must protect a",
    ],
)
def test_one_diversity_that_a_paper_does_not_except_is_not_passed_by_everybody(text: str) -> None:
    """KG06 Def. 2.5 with l = 1: the head is at most c times all rows. That 1-diversity always holds is said in MKGV07."""
    with pytest.raises(CriterionError, match="write simple:"):
        parse_diversity(text)
    assert parse_diversity("recursive:1,1 or equal").decide([1])
    assert not parse_diversity("simple:3").decide([1])


# Adjusted entropy is the supremum of MKGV07 Def. 4.5, its numbers are those of the paper, and ties are exact.


counts = st.lists(st.just(0) | st.integers(1, 30), min_size=1, max_size=4)
sensitive = st.lists(st.integers(0, 30), min_size=1, max_size=4).filter(any)


def entropy(row: list[float]) -> float:
    return -sum(x / sum(row) * log(x / sum(row)) for x in row if x / sum(row) > 0)


def log_entropic_mean(row: list[float]) -> float:
    return sum(x * log(x) for x in row if x) / sum(row)


def adjusted_entropy(dont_care: list[float], at_risk: list[float]) -> float:
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


@given(adjusted, classes())
def test_adjusted_entropy_is_decided_in_whole_numbers(criterion: DontCareEntropy, vector: list[int]) -> None:
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


def test_a_class_where_all_may_be_disclosed_passes() -> None:
    with pytest.raises(CriterionError):
        DontCareEntropy(Fraction(1, 2), frozenset())
    criterion = DontCareEntropy(Fraction(5), frozenset({0}))
    assert satisfies(criterion, np.array([[9, 0, 0]])).all()
    assert criterion.reached(np.array([[9, 0, 0]])).tolist() == [np.inf]


# Entropy against a logarithm is decided exactly: on the boundary, a hair beside it, and in any scale.


Factor = tuple[list[int], int | Fraction]
uniform: st.SearchStrategy[Factor] = st.integers(1, 6).map(lambda n: ([1] * n, n))
uneven: st.SearchStrategy[Factor] = st.sampled_from([([1, 1, 1, 1, 4], 4), ([8, 2, 1, 1, 1], Fraction(13, 4))])
boundary_classes = st.lists(uniform | uneven, min_size=1, max_size=2)
"""Classes whose entropy is the logarithm of a rational number; that of independent classes is the sum."""


def reaches(weights: list[int] | list[Fraction], effective: Fraction) -> bool:
    return Entropy(max(effective, Fraction(1))).decide(weights)


@given(classes(), st.integers(1, 10**400) | st.just(1))
def test_weights_beyond_floating_point_are_decided_alike(counts: list[int], scale: int) -> None:
    """Of whole numbers without a common divisor: a row more or less for each value."""
    nearly = [count * scale + 1 for count in counts if count]
    shares = [Fraction(n, sum(nearly)) for n in nearly]
    effective = float(np.exp(-sum(float(share) * np.log(float(share)) for share in shares)))
    assert not reaches(nearly, Fraction(effective * (1 + 1e-9)))
    assert reaches(nearly, Fraction(effective * (1 - 1e-9)))


@given(
    boundary_classes,
    st.sampled_from([12, 45, 60, 500]),
    st.integers(1, 10**15) | st.fractions(Fraction(1, 10**9), 10**9),
)
def test_a_class_on_the_boundary_passes_and_fails_a_hair_beyond_in_any_scale(
    factors: list[Factor], digits: int, scale: Fraction | int
) -> None:
    weights = np.array([1])
    for counts, _ in factors:
        weights = np.outer(weights, counts).ravel()
    effective, hair = Fraction(prod(effective for _, effective in factors)), Fraction(1, 10**digits)
    scaled = [weight * scale for weight in weights.tolist()]
    assert reaches(scaled, effective)
    assert reaches(scaled, effective * (1 - hair))
    assert not reaches(scaled, effective * (1 + hair))


# Functional (tau, l)-diversity: the examples of TZ09, the definition itself as oracle, and what merging keeps.


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


@given(st.fractions(Fraction(1, 9), 99, max_denominator=9), st.fractions(Fraction(1, 9), 3, max_denominator=9))
def test_negative_disclosure_is_scaled_by_its_percentage(percent: Fraction, factor: Fraction) -> None:
    """All percent and more are demanded of nobody; with a positive half it is what both are."""
    scaled = NegativeDisclosure(percent, frozenset({0, 2})).scaled(factor)
    expected = NegativeDisclosure(percent * factor, frozenset({0, 2})) if percent * factor < 100 else None
    assert scaled == expected
    positive = Recursive(Fraction(3), 2)
    both = NpdRecursive(positive, NegativeDisclosure(percent, frozenset({0, 2}))).scaled(factor)
    assert both == (expected and NpdRecursive(positive.scaled(factor), expected))
