"""All algorithms for maxent diversity agree with brute force, boundary cases included."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import (
    FULL,
    Budget,
    CriterionError,
    Diversity,
    Entropy,
    Finding,
    Functional,
    Induction,
    Question,
    Recursive,
    Verdict,
    by_hull,
    by_join,
    maxent_diversity,
    parse_claim,
    sensitive_tree,
)
from filled_tables import filled, flat_domain, published
from judged_classes import judged_on
from models import Collection, ContingencyTable, DataCube
from privacy_oracles import conditionals, on_boundary
from privacy_strategies import criteria, random_star, sensitive_collections, tree_of, tree_of_classes

numbers = st.fractions(Fraction(1, 3), 4, max_denominator=4)

LARGE = replace(FULL, multiplied=0, joined=0)
"""What a join too large for anything but the algorithms that do not enumerate it has."""

WAYS: dict[str, tuple[dict[str, int], Budget]] = {
    "join": ({}, FULL),
    "products": ({"SMALL_JOIN": 0}, FULL),
    "products of a search": ({}, replace(FULL, proof=0)),
    "large": ({"SMALL_JOIN": 0}, LARGE),
    "large, the worst not proven": ({"SMALL_JOIN": 0}, replace(LARGE, proof=3)),
    "large, boxes at once": ({"SMALL_JOIN": 0}, replace(LARGE, first_branches=0, boxes=3)),
    "large, then the join": ({"SMALL_JOIN": 0}, replace(FULL, multiplied=0, screened=0)),
    "large, too many cases": ({"SMALL_JOIN": 0, "MAX_CASES": 0}, LARGE),
}
"""How each algorithm is forced: limits set small, and budgets."""

MODULES = {"SMALL_JOIN": "checks.maxent.maxent_diversity", "MAX_CASES": "checks.diversity.criterion"}


def ways(
    collection: Collection, sensitive: str, diversity: Diversity, names: Iterable[str] = tuple(WAYS)
) -> Iterator[tuple[str, Finding]]:
    for name, (limits, budget) in ((name, WAYS[name]) for name in names):
        with pytest.MonkeyPatch.context() as patch:
            for limit, value in limits.items():
                patch.setattr(f"{MODULES[limit]}.{limit}", value)
            yield name, maxent_diversity(collection, sensitive, diversity, budget)


@st.composite
def inductions(draw: st.DrawFn, values: int) -> Induction:
    """Each published value stands for 1 to 3 base values; evenly for its own, or in any way."""
    width = draw(st.lists(st.integers(1, 3), min_size=values, max_size=values))
    rows = [[Fraction(s == t, width[t]) for t in range(values) for _ in range(width[t])] for s in range(values)]
    if draw(st.booleans()):
        weights = st.lists(st.integers(0, 3), min_size=len(rows[0]), max_size=len(rows[0])).filter(any)
        rows = [[Fraction(n, sum(drawn)) for n in drawn] for drawn in (draw(weights) for _ in rows)]
    return Induction(tuple(map(tuple, rows)))


@given(sensitive_collections(), st.data())
def test_every_algorithm_agrees_with_brute_force(drawn: tuple[Collection, str], data: st.DataObject) -> None:
    """Several criteria on each collection: verdict always, and the worst value to 1e-9 where it is proven."""
    collection, sensitive = drawn
    tree = tree_of(collection, sensitive)
    vectors = list(conditionals(collection, sensitive).values())
    size = len(tree.labels)
    diversity = data.draw(criteria(size))
    if isinstance(diversity, Functional) and data.draw(st.booleans()):
        diversity = replace(diversity, induction=data.draw(inductions(size)))
    diversity = judged_on(tree, diversity)
    exact = on_boundary(diversity, data.draw(st.sampled_from(vectors)))
    full = Recursive(data.draw(numbers), size)
    some = {"large", *data.draw(st.permutations(list(WAYS)))[:2]}
    for criterion in (diversity, exact, full, on_boundary(full, data.draw(st.sampled_from(vectors)))):
        expected = Verdict.HOLDS if all(criterion.decide(vector) for vector in vectors) else Verdict.FAILS
        worst = min(float(criterion.slack(np.array([[float(v) for v in vector]]))[0]) for vector in vectors)
        for outcome in (by_join(tree, criterion), by_hull(tree, criterion)):
            assert outcome.verdict is expected, criterion
        for name, finding in ways(collection, sensitive, criterion, some):
            assert finding.verdict is expected, (name, criterion)
            if not finding.note and np.isfinite(worst) and finding.worst is not None:
                shares = finding.worst_class.distribution or {}
                reached = criterion.slack(np.array([[shares.get(label, 0.0) for label in tree.labels]]))[0]
                assert reached == pytest.approx(worst, rel=1e-9, abs=1e-9), (name, criterion)


@pytest.mark.parametrize("seed", range(4))
def test_what_one_cut_cannot_exclude_is_decided_near_the_bound(seed: int) -> None:
    """A hundredth below the worst of 8^4 combinations it holds, and just above it fails, by every algorithm."""
    collection = random_star("abcd", 0.12, 9, 8, seed)
    tree = sensitive_tree(collection, "s")
    assert tree is not None
    worst = min(
        float(Entropy(Fraction(1)).reached(vectors).min())
        for _, vectors in tree.combinations(tree.conditional_factors, np.multiply)
    )
    for l, verdict in ((Fraction(worst * 0.99), Verdict.HOLDS), (Fraction(worst * 1.0001), Verdict.FAILS)):
        for name, finding in ways(collection, "s", Entropy(l), ("join", "products", "large")):
            assert finding.verdict is verdict, name


def test_products_too_small_for_floating_point_are_decided() -> None:
    """A class of two rows among 10^12, in each of 30 tables: its products are 10^-360."""
    names = [f"q{i}" for i in range(30)]
    domain = flat_domain(**dict.fromkeys((*names, "s"), 2))
    codes = dict(zip("qs", np.indices((2, 2)).reshape(2, -1)))
    tables = [
        ContingencyTable.from_cells(
            domain, {name: 0, "s": 0}, {name: codes["q"], "s": codes["s"]}, [10**12, 10**12, 1, 1]
        )
        for name in names
    ]
    for some in (tables[:2], tables):
        collection = Collection.of(DataCube(some), [table.mask for table in some])
        for criterion, holds in (
            (Entropy(Fraction(3, 2)), True),
            (Entropy(Fraction(5, 2)), False),
            (Recursive(Fraction(1), 2), False),
            (Recursive(Fraction(1), 2, strict=False), True),
        ):
            assert maxent_diversity(collection, "s", criterion).holds is holds, criterion


def test_a_class_of_one_value_is_proven_to_be_the_worst() -> None:
    """Nothing has less slack than -1; and of an attribute with one value no two are compared."""
    classes = filled(flat_domain(q=2, s=3), [[3, 0, 0], [2, 2, 1]])
    for name, finding in ways(published(classes, "qs"), "s", Recursive(Fraction(3), 2), ("join", "products", "large")):
        assert (finding.verdict, finding.note) == (Verdict.FAILS, ""), name
    alone = filled(flat_domain(q=2, s=1), [[3], [8]])
    for name, finding in ways(published(alone, "qs"), "s", Recursive(Fraction(2), 1)):
        assert finding.verdict is Verdict.HOLDS, name


def test_hull_pruning_hides_no_hair() -> None:
    """The last class is the sum of the others, which are on the boundary, but for one row of 10^13."""
    tree = tree_of_classes((2, 2, 1), (2, 1, 1), (4 * 10**13 + 1, 3 * 10**13, 2 * 10**13))
    assert by_hull(tree, Recursive(Fraction(2), 3, strict=False)).verdict is Verdict.FAILS
    assert by_hull(tree, Recursive(2 + Fraction(1, 10**13), 3, strict=False)).verdict is Verdict.HOLDS


# Relaxed: each combination has l values at least (1 - epsilon)^p times as probable as its most probable one.


def relaxed(
    collection: Collection, least: int, epsilon: Fraction, budget: Budget = FULL, sensitive: str = "s"
) -> Finding:
    claim = parse_claim({"criterion": "relaxed-diversity", "epsilon": "0.5", "l": least, "sensitive": sensitive})
    return replace(claim, epsilon=epsilon).check(Question(collection, [sensitive], budget))


@given(sensitive_collections(), st.integers(2, 4), st.fractions(0, Fraction(9, 10), max_denominator=10))
def test_relaxed_maxent_diversity_is_what_the_join_says(
    drawn: tuple[Collection, str], least: int, epsilon: Fraction
) -> None:
    """By marks alone it is never said to hold where it does not, nor to fail; they hold where each table marks enough."""
    collection, sensitive = drawn
    tree = tree_of(collection, sensitive)
    share, fewest, truth = (1 - epsilon) ** len(tree.classes), len(tree.labels), True
    near = [
        factor >= float(1 - epsilon) * factor.max(axis=1)[:, None] * (1 - 1e-12) for factor in tree.conditional_factors
    ]
    for combinations, _ in tree.combinations([np.ones_like(f) for f in tree.conditional_factors], np.multiply):
        for row in combinations.tolist():
            fewest = min(fewest, int(np.all([marked[i] for marked, i in zip(near, row)], axis=0).sum()))
            vector = tree.exact_vector(row)
            truth &= not any(vector) or sum(value >= share * max(vector) for value in vector) >= least
    assert relaxed(collection, least, epsilon, FULL, sensitive).holds is truth
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
        by_marks = relaxed(collection, least, epsilon, replace(FULL, joined=0), sensitive)
    assert by_marks.verdict is (Verdict.HOLDS if fewest >= least else Verdict.UNDECIDED)
    assert truth or by_marks.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("most", "second"), [(10, 3), (765_513_224_102, 403_112_886_201), (624_347_347_957, 245_755_908_032)]
)
def test_relaxed_diversity_is_decided_exactly_on_its_boundary(
    most: int, second: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In floating point 1 - 0.7 is above 3/10, and the others' shares times the total are above and below the counts."""
    collection = published(filled(flat_domain(q=1, s=2), [most, second]), "qs")
    epsilon = 1 - Fraction(second, most)
    for small_join, fails in ((20_000, Verdict.FAILS), (0, Verdict.UNDECIDED)):
        monkeypatch.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", small_join)
        budget = replace(FULL, joined=0)
        assert relaxed(collection, 2, epsilon, budget).verdict is Verdict.HOLDS
        assert relaxed(collection, 2, epsilon - Fraction(1, 10**12), budget).verdict is fails


@pytest.mark.parametrize("epsilon", [Fraction(-1, 10), Fraction(1), Fraction(3, 2)])
def test_a_relaxation_that_leaves_nothing_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(CriterionError):
        relaxed(published(filled(flat_domain(q=1, s=2), [10, 3]), "qs"), 2, epsilon)
