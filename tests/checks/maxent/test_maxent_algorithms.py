"""All algorithms for maxent diversity and k-combinatorial anonymity agree with brute force, boundary cases included."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import (
    FULL,
    Budget,
    CriterionError,
    Distinct,
    Diversity,
    Entropy,
    Functional,
    Induction,
    Recursive,
    SensitiveTree,
    Verdict,
    by_hull,
    by_join,
    sensitive_tree,
)
from checks.combinatorial import by_join as k_combinatorial_by_join
from checks.combinatorial import by_search, by_vector_sets, of_tree
from checks.diversity.criterion import BOUNDARY, LargestRatio, loosened_to, share_bound
from checks.diversity.odds import UnderOdds
from checks.finding import SEARCHING
from checks.maxent.branch_and_bound import branch_and_bound
from checks.maxent.hull import (
    _passes_exactly,
    by_supports,
    extreme_positions,
    marks,
    pairwise_ratios,
    relaxed_diversity,
)
from checks.maxent.maxent_diversity import by_products, decided, relaxed_maxent_diversity
from checks.maxent.sensitive_tree import Outcome
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy
from privacy_oracles import conditionals, is_k_combinatorial, largest_counts, on_boundary
from privacy_strategies import criteria, sensitive_collections, tree_of, tree_of_classes

numbers = st.fractions(Fraction(1, 3), 4, max_denominator=4)


@st.composite
def inductions(draw: st.DrawFn, values: int) -> Induction:
    """Each published value stands for 1 to 3 base values; evenly for its own, or in any way."""
    width = draw(st.lists(st.integers(1, 3), min_size=values, max_size=values))
    rows = [[Fraction(s == t, width[t]) for t in range(values) for _ in range(width[t])] for s in range(values)]
    if draw(st.booleans()):
        weights = st.lists(st.integers(0, 3), min_size=len(rows[0]), max_size=len(rows[0])).filter(any)
        rows = [[Fraction(n, sum(drawn)) for n in drawn] for drawn in (draw(weights) for _ in rows)]
    return Induction(tuple(map(tuple, rows)))


def algorithms(tree: SensitiveTree, diversity: Diversity) -> dict[str, Outcome]:
    """Every algorithm that fits a criterion, by name."""
    outcomes = {"join": by_join(tree, diversity), "hull": by_hull(tree, diversity)}
    outcomes["chosen"] = decided(tree, diversity)[1]
    if (bounded := branch_and_bound(tree, diversity, replace(FULL, proof=10**7))) is not None:
        outcomes["branch and bound"] = bounded
    if isinstance(diversity, Distinct):
        outcomes["supports"] = by_supports(tree, diversity.l)
    bound = share_bound(diversity)
    if bound is not None and (largest := bound.largest_ratio(len(tree.labels))) is not None:
        outcomes["pairwise ratios"] = pairwise_ratios(tree, largest)
    return outcomes


def values_reached(tree: SensitiveTree, diversity: Diversity, outcome: Outcome) -> float:
    assert outcome.combination is not None
    exact = tree.exact_vector(outcome.combination)
    vector = np.array([[float(v / sum(exact)) for v in exact]])
    return float(diversity.slack(vector)[0])


@given(sensitive_collections(), st.data())
def test_every_algorithm_agrees_with_brute_force(drawn: tuple[Collection, str], data: st.DataObject) -> None:
    """Up to three criteria on each collection: verdict always, and the worst value to 1e-9 where it is proven."""
    collection, sensitive = drawn
    tree = tree_of(collection, sensitive)
    vectors = list(conditionals(collection, sensitive).values())
    size = len(tree.labels)
    diversity = data.draw(criteria(size))
    if isinstance(diversity, Functional) and data.draw(st.booleans()):
        diversity = replace(diversity, induction=data.draw(inductions(size)))
    exact = on_boundary(diversity, data.draw(st.sampled_from(vectors)))
    full = Recursive(data.draw(numbers), size)
    for criterion in (diversity, exact, full, on_boundary(full, data.draw(st.sampled_from(vectors)))):
        expected = all(criterion.decide(vector) for vector in vectors)
        worst = min(float(criterion.slack(np.array([[float(v) for v in vector]]))[0]) for vector in vectors)
        for name, outcome in algorithms(tree, criterion).items():
            assert outcome.verdict is (Verdict.HOLDS if expected else Verdict.FAILS), (name, criterion)
            # Beyond the strictest criterion of its kind there is nothing to search with.
            assert outcome.proven_worst or loosened_to(criterion, worst) is None, (name, criterion)
            if outcome.proven_worst and np.isfinite(worst):
                reached = values_reached(tree, criterion, outcome)
                assert reached == pytest.approx(worst, rel=1e-9, abs=1e-9), (name, criterion)


@given(
    sensitive_collections(),
    st.integers(1, 4).map(Fraction) | numbers,
    st.fractions(1, 5, max_denominator=4),
    st.sampled_from([FULL, SEARCHING]),
    st.data(),
)
def test_products_say_what_the_join_says(
    drawn: tuple[Collection, str], l: Fraction, odds: Fraction, budget: Budget, data: st.DataObject
) -> None:
    """The verdict, with a class that bears it out: the worst one, but in a search, which stops at one that fails.

    Also where a class is on the boundary, and at odds.
    """
    collection, sensitive = drawn
    tree = tree_of(collection, sensitive)
    vectors = list(conditionals(collection, sensitive).values())
    for criterion in (
        Entropy(max(l, Fraction(1))),
        on_boundary(Entropy(Fraction(2)), data.draw(st.sampled_from(vectors))),
        UnderOdds(Entropy(max(l, Fraction(1))), odds),
    ):
        outcome, joined = by_products(tree, criterion, budget), by_join(tree, criterion)
        assert (outcome is None) is (len(tree.classes) == 1)
        if outcome is None or joined.combination is None:
            continue
        assert outcome.verdict is joined.verdict
        assert outcome.proven_worst is (budget is FULL or outcome.verdict is Verdict.HOLDS)
        reached = values_reached(tree, criterion, outcome)
        if outcome.proven_worst:
            assert reached == pytest.approx(values_reached(tree, criterion, joined), rel=1e-9, abs=1e-9)
        else:
            assert reached <= BOUNDARY


def test_products_too_small_for_floating_point_are_left_to_other_algorithms() -> None:
    """A class of two rows among 10^12, in each of 30 tables: its products are 10^-360."""
    names = [f"q{i}" for i in range(30)]
    domain = Domain.of({name: Hierarchy.flat(["no", "yes"]) for name in (*names, "s")})
    codes = dict(zip("qs", np.indices((2, 2)).reshape(2, -1)))
    tables = [
        ContingencyTable.from_cells(
            domain, {name: 0, "s": 0}, {name: codes["q"], "s": codes["s"]}, [10**12, 10**12, 1, 1]
        )
        for name in names
    ]
    few, all_of_them = (
        sensitive_tree(Collection.of(DataCube(some), [table.mask for table in some]), "s")
        for some in (tables[:2], tables)
    )
    assert few is not None
    assert all_of_them is not None
    assert by_products(few, Entropy(Fraction(2))) is not None
    assert by_products(all_of_them, Entropy(Fraction(2))) is None


@given(sensitive_collections(), numbers, st.integers(2, 5))
def test_tails_that_are_too_many_to_tell_apart_change_no_verdict(
    drawn: tuple[Collection, str], c: Fraction, l: int
) -> None:
    collection, sensitive = drawn
    tree = tree_of(collection, sensitive)
    diversity = Recursive(c, l)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("checks.diversity.criterion.MAX_CASES", 0)
        outcome = branch_and_bound(tree, diversity)
    expected = all(diversity.decide(vector) for vector in conditionals(collection, sensitive).values())
    assert outcome is not None
    assert outcome.verdict is (Verdict.HOLDS if expected else Verdict.FAILS)


@given(sensitive_collections(max_cells=36), st.integers(1, 6))
def test_k_combinatorial_algorithms_agree_with_integer_programming(drawn: tuple[Collection, str], k: int) -> None:
    """The sensitive cliques alone decide once k-link is out of the way, so the oracle is asked about these."""
    collection, sensitive = drawn
    tree = tree_of(collection, sensitive)
    part = Collection.of(collection.cube, tree.tree.cliques)
    bounds = largest_counts(part, [sensitive])
    expected = Verdict.HOLDS if is_k_combinatorial(bounds, k) else Verdict.FAILS
    positive = bounds[bounds > 0]
    after_search = of_tree(tree, k, replace(FULL, cell_branches=0))
    for finding in (by_search(tree, k), after_search, by_vector_sets(tree, k), k_combinatorial_by_join(tree, k)):
        assert finding.verdict is expected, finding.algorithm
        if finding.verdict is Verdict.FAILS and finding.algorithm != "branch and bound":
            assert finding.worst is not None
            assert finding.worst_class.count == positive.min()


@given(sensitive_collections(), st.integers(1, 4), st.fractions(0, Fraction(9, 10), max_denominator=10))
def test_relaxed_diversity_is_what_the_marks_say_and_never_promises_too_much(
    drawn: tuple[Collection, str], least: int, epsilon: Fraction
) -> None:
    tree = tree_of(*drawn)
    outcome = relaxed_diversity(tree, least, epsilon)
    fewest = min(
        (
            sum(
                all(
                    f[i, s] >= float(1 - epsilon) * f[i].max() * (1 - 1e-12)
                    for f, i in zip(tree.conditional_factors, row)
                )
                for s in range(len(tree.labels))
            )
            for combinations, _ in tree.combinations([np.ones_like(f) for f in tree.conditional_factors], np.multiply)
            for row in combinations.tolist()
        ),
        default=least,
    )
    assert (outcome.verdict is Verdict.HOLDS) == (fewest >= least)
    if outcome.verdict is Verdict.HOLDS:
        factor = (1 - epsilon) ** len(tree.classes)
        for vector in conditionals(*drawn).values():
            assert sum(share >= factor * max(vector) for share in vector) >= least


@given(sensitive_collections(), st.booleans(), st.data())
def test_the_largest_ratio_of_two_values_is_compared_exactly(
    drawn: tuple[Collection, str], strict: bool, data: st.DataObject
) -> None:
    tree = tree_of(*drawn)
    vectors = list(conditionals(*drawn).values())
    pairs = list(permutations(range(len(tree.labels)), 2))
    finite = [(head, tail) for head, tail in pairs if all(v[tail] or not v[head] for v in vectors)]
    head, tail = data.draw(st.sampled_from(finite or pairs) | st.sampled_from(pairs))
    ratios = [v[head] / v[tail] for v in vectors if v[head] and v[tail]]
    c = data.draw(st.sampled_from([*ratios, max(ratios)]) if ratios else numbers)
    expected = (head, tail) in finite and all(ratio < c or (ratio == c and not strict) for ratio in ratios)
    assert _passes_exactly(tree, LargestRatio(c, strict), head, tail) is expected


@given(sensitive_collections(), st.sampled_from([0.0, 1e-18, -1e-18, 1e-12, -1e-12]), st.data())
def test_marks_are_exact(drawn: tuple[Collection, str], beside: float, data: st.DataObject) -> None:
    """A value is marked that is nearly as frequent as the most frequent one, just so or a hair beside it, too."""
    tree = tree_of(*drawn)
    factors = [[list(map(Fraction, own)) for own in tree.expanded(tree.classes[0]).tolist()]]
    for clique in range(1, len(tree.classes)):
        below = tree.expanded(tree.separators[clique])[tree.inward[clique]].tolist()
        above = tree.expanded(tree.classes[clique]).tolist()
        factors.append([[Fraction(a, b) if a else Fraction(0) for a, b in zip(*pair)] for pair in zip(above, below)])
    factor = data.draw(st.sampled_from(data.draw(st.sampled_from(factors))))
    nearest = data.draw(st.sampled_from([value for value in factor if value])) / max(factor)
    epsilon = max(1 - nearest + Fraction(beside), Fraction(0))
    for marked, exact in zip(marks(tree, epsilon), factors):
        assert (marked == 1).tolist() == [[value >= (1 - epsilon) * max(own) for value in own] for own in exact]


@pytest.mark.parametrize("epsilon", [Fraction(-1, 10), Fraction(1), Fraction(3, 2)])
def test_a_relaxation_that_leaves_nothing_is_refused(epsilon: Fraction) -> None:
    tree = tree_of_classes((10, 3))
    with pytest.raises(CriterionError, match="at least 0 and below 1"):
        relaxed_diversity(tree, 2, epsilon)


@pytest.mark.parametrize(
    ("most", "second"), [(10, 3), (765_513_224_102, 403_112_886_201), (624_347_347_957, 245_755_908_032)]
)
def test_relaxed_diversity_is_decided_exactly_on_its_boundary(most: int, second: int) -> None:
    """In floating point 1 - 0.7 is above 3/10, and the others' shares times the total are above and below the counts."""
    tree = tree_of_classes((most, second))
    epsilon = 1 - Fraction(second, most)
    assert relaxed_diversity(tree, 2, epsilon).verdict is Verdict.HOLDS
    for hair in (Fraction(1, 10**12), Fraction(1, 10**24)):
        assert relaxed_diversity(tree, 2, epsilon - hair).verdict is Verdict.FAILS


def test_a_sensitive_attribute_with_one_value_has_no_ratio_to_break() -> None:
    outcome = pairwise_ratios(tree_of_classes((3,), (8,)), LargestRatio(Fraction(2), strict=True))
    assert (outcome.verdict, outcome.examined, outcome.proven_worst) == (Verdict.HOLDS, 0, True)


def test_a_class_of_one_value_is_proven_to_be_the_worst() -> None:
    """Nothing has less slack than -1."""
    outcome = branch_and_bound(tree_of_classes((3, 0, 0), (2, 2, 1)), Recursive(Fraction(3), 2))
    assert outcome is not None
    assert (outcome.verdict, outcome.proven_worst) == (Verdict.FAILS, True)


def test_hull_pruning_hides_no_hair() -> None:
    """The last class is the sum of the others, which are on the boundary, but for one row of 10^13."""
    tree = tree_of_classes((2, 2, 1), (2, 1, 1), (4 * 10**13 + 1, 3 * 10**13, 2 * 10**13))
    assert len(extreme_positions(tree.conditional_factors[0])) == 2
    assert by_hull(tree, Recursive(Fraction(2), 3, strict=False)).verdict is Verdict.FAILS
    assert by_hull(tree, Recursive(2 + Fraction(1, 10**13), 3, strict=False)).verdict is Verdict.HOLDS


@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any), min_size=1, max_size=12))
def test_extreme_vectors_combine_to_all_that_were_dropped(rows: list[list[int]]) -> None:
    from scipy.optimize import nnls

    vectors = np.array(rows, dtype=np.float64)
    kept = extreme_positions(vectors)
    for vector in vectors:
        assert nnls(vectors[kept].T, vector)[1] < 1e-8
    for position in kept:
        others = vectors[[i for i in kept if i != position]]
        if len(others):
            assert nnls(others.T, vectors[position])[1] > 1e-12


@given(sensitive_collections(), st.integers(2, 4), st.fractions(0, Fraction(9, 10), max_denominator=10))
def test_relaxed_maxent_diversity_is_what_the_join_says(
    drawn: tuple[Collection, str], least: int, epsilon: Fraction
) -> None:
    """By marks alone it is never said to hold where it does not, nor to fail."""
    collection, sensitive = drawn
    tree = tree_of(collection, sensitive)
    share = (1 - epsilon) ** len(tree.classes)
    vectors = [
        tree.exact_vector(row)
        for rows, _ in tree.combinations(tree.conditional_factors, np.multiply)
        for row in rows.tolist()
    ]
    truth = all(sum(value >= share * max(vector) for value in vector) >= least for vector in vectors)
    assert relaxed_maxent_diversity(collection, sensitive, least, epsilon).holds is truth
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
        by_marks = relaxed_maxent_diversity(collection, sensitive, least, epsilon, replace(FULL, joined=0))
    assert by_marks.verdict is not Verdict.FAILS
    assert truth or by_marks.verdict is Verdict.UNDECIDED
