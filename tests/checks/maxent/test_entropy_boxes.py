"""Boxes of the entropy: no cut excludes a violation, and where boxes exclude all, brute force finds none."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

from checks import Entropy, SensitiveTree, Verdict, by_join, sensitive_tree
from checks.diversity.criterion import ZERO_LOG, cuts
from checks.diversity.cuts import EntropyCases, lower_lambert
from checks.maxent.branch_and_bound import _STRETCH, Box, box_cut, branch_and_bound, roots, surviving
from checks.maxent.sensitive_tree import LogTree
from models import Collection, ContingencyTable, DataCube, Domain, FloatArray, Hierarchy, IndexArray
from privacy_strategies import sensitive_collections, tree_of

seeds = st.integers(0, 2**32 - 1)


def entropy(y: FloatArray) -> FloatArray:
    """Of shares in proportion to e^y, along the last axis; a y of ZERO_LOG is a share of 0."""
    total = np.exp(y).sum(axis=-1)
    return np.asarray(np.log(total) - (np.exp(y) * y).sum(axis=-1) / total, dtype=np.float64)


def never(_combinations: IndexArray, _x: FloatArray) -> bool:
    return False


def star(marginals: int, size: int, values: int, effect: float, seed: int) -> SensitiveTree:
    """Marginals {A_i, C} of which each shows C in `size` classes, with random counts that agree on C."""
    rng = np.random.default_rng(seed)
    rows = 40_000
    sensitive = rng.choice(values, rows, p=rng.dirichlet(np.full(values, 4.0)))
    columns = {"C": sensitive}
    for i in range(marginals):
        logits = (effect * rng.normal(size=(values, size)))[sensitive]
        columns[f"A{i}"] = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    domain = Domain.of({n: Hierarchy.flat(map(str, range(values if n == "C" else size))) for n in columns})
    ones = np.ones(rows, dtype=np.int64)
    tables = [
        ContingencyTable.from_cells(domain, {n: 0, "C": 0}, {n: columns[n], "C": sensitive}, ones)
        for n in columns
        if n != "C"
    ]
    tree = sensitive_tree(Collection.of(DataCube(tables), [table.mask for table in tables]), "C")
    assert tree is not None
    return tree


def entropy_cases(log_tree: LogTree, l: Fraction) -> EntropyCases:
    """All cases of entropy l-diversity, unscreened."""
    found = Entropy(l).violations(log_tree.ratio_bounds())
    assert found
    assert isinstance(found[0], EntropyCases)
    return found[0]


def all_vectors(tree: SensitiveTree, log_tree: LogTree) -> FloatArray:
    """The log-vectors of all class combinations that have a value in common."""
    chosen = [c for c, v in tree.combinations(tree.conditional_factors, np.multiply) if len(v)]
    return log_tree.vectors(np.concatenate(chosen))


@given(seeds, st.integers(2, 8), st.booleans(), st.floats(0, 0.2))
def test_no_cut_of_a_box_excludes_a_violation_in_it(seed: int, values: int, vanishing: bool, slack: float) -> None:
    """Any direction at all, with weights of both signs; points of the box of less entropy, some exactly on the bound."""
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.uniform(-6, 0, size=(2, values)), axis=0)
    if vanishing:
        low = np.where(rng.random(values) < 0.5, 3 * ZERO_LOG, low)
    high = np.where(rng.random(values) < 0.5, 0.0, high)
    head = int(rng.integers(values))
    low[head] = high[head] = 0
    shape = rng.beta(0.3, 0.3, size=(200, values))
    points = np.where(rng.random((200, values)) < 0.3, low, np.maximum(low, -9) + shape * (high - np.maximum(low, -9)))
    points = np.clip(points, low, high)
    entropies = entropy(points)
    bound = float(np.median(entropies)) if slack == 0 else float(entropies.min()) + slack
    box = Box(head, low, high, np.zeros((0, values + 2)), np.zeros((0, values)))
    for _ in range(20):
        cut = box_cut(box, bound, rng.normal(size=values + 2) * rng.choice([0.1, 1, 10], size=values + 2))
        violations = points[entropies <= bound]
        assert np.all(violations @ cut.coefficients(head) <= cut.bound + 1e-9 * (1 + abs(cut.bound)))


@pytest.mark.parametrize("seed", range(60))
def test_the_cut_of_a_box_is_the_largest_sum_of_its_terms(seed: int) -> None:
    """In a direction of size 1; each term on a fine grid of its interval."""
    rng = np.random.default_rng(seed)
    values, log_effective = int(rng.integers(2, 8)), float(rng.uniform(0.05, 2))
    head, n, m = int(rng.integers(values)), float(rng.uniform(0.01, 0.9)), float(rng.uniform(-0.9, 3))
    low, high = np.sort(rng.uniform(-8, 0, size=(2, values)), axis=0)
    high = np.where(rng.random(values) < 0.3, 0.0, high)
    low[head] = high[head] = 0
    w = rng.choice([-1.0, 0.0, 1.0, 1.0], values) * rng.uniform(0.1, 1, values)
    w[0] += 0.1
    w *= (1 - n) / np.abs(w).sum()
    y = np.linspace(low, high, 50_001)
    terms = w * y + n * np.exp(y) * (y + log_effective - m)
    expected = float(terms.max(axis=0).sum() + n * np.exp(m - 1))
    box = Box(head, low, high, np.zeros((0, values + 2)), np.zeros((0, values)))
    cut = box_cut(box, log_effective, np.append(w, [n / _STRETCH, -n * m / _STRETCH]))
    assert cut.bound == pytest.approx(expected, abs=1e-6)
    assert cut.bound >= expected - 1e-8
    assert cut.weights == pytest.approx(w)


@given(sensitive_collections(), st.data())
def test_a_case_with_a_violation_survives(drawn: tuple[Collection, str], data: st.DataObject) -> None:
    """The bound is what some combination reaches, to which the others are compared; zero-heavy tables."""
    tree = tree_of(*drawn)
    log_tree = LogTree(tree)
    x = all_vectors(tree, log_tree)
    reached = np.exp(entropy(x - x.max(axis=1, keepdims=True)))
    l = Fraction(float(data.draw(st.sampled_from(np.unique(reached).tolist()))) + 1e-12)
    cases = entropy_cases(log_tree, max(l, Fraction(1)))
    left = surviving(log_tree, cases, never, budget=60)
    violated = x[reached <= float(l)]
    heads = {int(head) for head in violated.argmax(axis=1)}
    for head in heads:
        ties = {int(h) for v in violated if v.argmax() == head for h in np.flatnonzero(v >= v.max() - 1e-9)}
        assert any(left[cases.heads == tie].any() for tie in ties), head


@given(sensitive_collections())
def test_the_roots_hold_every_combination(drawn: tuple[Collection, str]) -> None:
    """A value that vanishes in several marginals is below what vanishes in one."""
    tree = tree_of(*drawn)
    log_tree = LogTree(tree)
    x = all_vectors(tree, log_tree)
    boxes = {box.head: box for box in roots(log_tree, entropy_cases(log_tree, Fraction(2)))}
    for vector in x:
        heads = [int(head) for head in np.flatnonzero(vector >= vector.max() - 1e-9) if head in boxes]
        assert heads
        box = boxes[heads[0]]
        y = vector - vector[box.head]
        assert np.all(box.low - 1e-8 <= y)
        assert np.all(y <= box.high + 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_boxes_exclude_what_one_cut_cannot(seed: int) -> None:
    """A hundredth below the worst of 8^4 combinations; brute force agrees, and just above it a case survives."""
    tree = star(4, 8, 9, 0.12, seed)
    log_tree = LogTree(tree)
    x = all_vectors(tree, log_tree)
    worst = float(np.exp(entropy(x - x.max(axis=1, keepdims=True)).min()))
    below, above = Fraction(worst * 0.99), Fraction(worst * 1.0001)
    cases = entropy_cases(log_tree, below)
    weights = cases.support / cases.support.sum(axis=0)
    single = cuts(cases, weights)
    assert (log_tree.minima(single.coefficients) <= single.bounds).any()
    assert not surviving(log_tree, cases, never).any()
    assert surviving(log_tree, entropy_cases(log_tree, above), never).any()
    for l, verdict in ((below, Verdict.HOLDS), (above, Verdict.FAILS)):
        assert by_join(tree, Entropy(l)).verdict is verdict
        outcome = branch_and_bound(tree, Entropy(l))
        assert outcome is not None
        assert outcome.verdict is verdict


def test_without_a_budget_every_case_survives() -> None:
    log_tree = LogTree(star(4, 8, 9, 0.12, 0))
    cases = entropy_cases(log_tree, Fraction(2))
    assert surviving(log_tree, cases, never, budget=0).all()


def test_lower_lambert_is_the_branch_below_minus_one() -> None:
    x = -np.exp(-1 - np.geomspace(1e-6, 600, 200))
    assert lower_lambert(x) == pytest.approx(lambertw(x, -1).real, rel=1e-7)
