"""Branch and bound step by step: nothing that could violate a criterion is dropped, whatever is looked at first."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import checks.maxent.branch_and_bound
from checks import FULL, Budget, Diversity, Entropy, Recursive, SensitiveTree, Simple, Verdict
from checks.diversity.criterion import Cases, Cuts, cuts, violations
from checks.diversity.cuts import EntropyCases
from checks.maxent.branch_and_bound import (
    LookAt,
    _enumerate,
    _prove_worst,
    _screen,
    _search,
    _taken_apart,
    _Worst,
    branch_and_bound,
)
from checks.maxent.sensitive_tree import LogTree
from models import BoolArray, Collection, FloatArray, IndexArray
from privacy_oracles import conditionals, on_boundary
from privacy_strategies import criteria, sensitive_collections, tree_of, tree_of_classes


@dataclass(eq=False)
class Blind(_Worst):
    """Judges nothing, and remembers what it was shown."""

    shown: set[tuple[int, ...]] = field(default_factory=set)

    def look_at(self, combinations: IndexArray, x: FloatArray) -> None:  # noqa: ARG002
        self.shown.update(map(tuple, combinations.tolist()))


def all_combinations(tree: SensitiveTree) -> IndexArray:
    """Every class combination, those without a common sensitive value included; of all tuples those that fit."""
    tuples = np.indices([len(classes) for classes in tree.classes]).reshape(len(tree.classes), -1).T
    for clique, parent in enumerate(tree.tree.parents):
        if parent >= 0:
            fits = tree.inward[clique][tuples[:, clique]] == tree.outward[clique][tuples[:, parent]]
            tuples = tuples[fits]
    return tuples


def looked_at(tree: SensitiveTree, diversity: Diversity, *blocks: list[int]) -> bool:
    """Whether a violation is seen when classes of a single table are looked at, some at a time."""
    worst, log_tree = _Worst(tree, diversity), LogTree(tree)
    for block in blocks:
        combinations = np.array(block)[:, None]
        worst.look_at(combinations, log_tree.vectors(combinations))
    return worst.fails


@pytest.mark.parametrize("blocks", [[[0, 1, 2]], [[2, 0, 1]], [[0], [1], [2]], [[2], [0], [1]], [[1], [2, 0]]])
def test_a_violation_that_was_seen_stays_seen(blocks: list[list[int]]) -> None:
    """Whether classes on the boundary are looked at with it, before, or after it."""
    assert looked_at(tree_of_classes((1, 1, 0), (9, 1, 0), (2, 1, 1)), Simple(Fraction(2)), *blocks)
    assert not looked_at(tree_of_classes((1, 1, 0), (2, 2, 0), (2, 1, 1)), Simple(Fraction(2)), *blocks)


def test_classes_are_judged_each_in_its_own_scale() -> None:
    """Their probabilities may be as far apart as floating point can tell, and further."""
    worst = _Worst(tree_of_classes((1, 1), (1, 1)), Recursive(Fraction(2), 2))
    worst.look_at(np.array([[0], [1]]), np.array([[-1.0, -1.5], [-900.0, -903.0]]))
    assert worst.fails
    for scale in (0.0, -900.0):
        worst = _Worst(tree_of_classes((1, 1), (1, 1)), Recursive(Fraction(2), 2))
        worst.look_at(np.array([[0]]), np.array([[scale, scale - 0.5]]))
        assert not worst.fails


@given(sensitive_collections(), st.integers(1, 3), st.data())
def test_every_combination_within_a_cut_is_enumerated(
    drawn: tuple[Collection, str], number: int, data: st.DataObject
) -> None:
    """And no others, but for rounding: any linear forms, in two parts, each bounded by what some combination has."""
    tree = tree_of(*drawn)
    log_tree = LogTree(tree)
    combinations = all_combinations(tree)
    x = log_tree.vectors(combinations)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    parts = []
    for _ in range(2):
        forms = rng.integers(-2, 3, (len(tree.labels), number)).astype(np.float64)
        reached = x @ forms
        bounds = reached[rng.integers(0, len(x), number), np.arange(number)]
        parts.append(Cuts(forms, bounds + 1e-9 * (1 + np.abs(bounds))))
    beyond = np.hstack([x @ cut.coefficients - cut.bounds for cut in parts])
    within = set(map(tuple, combinations[(beyond <= 0).any(axis=1)].tolist()))
    nearly = set(map(tuple, combinations[(beyond <= 1e-6 * (1 + np.abs(x).max())).any(axis=1)].tolist()))
    blind = Blind(tree, Simple(Fraction(2)))
    assert _enumerate(log_tree, parts, blind, 10**9, witness_is_enough=False)
    assert within <= blind.shown <= nearly
    assert not _enumerate(log_tree, parts, blind, 0, witness_is_enough=False)


def cuts_of_shares(cases: Cases, weights: FloatArray) -> Cuts:
    """The cuts of weights for which they are proven: none negative, of the support alone, and 1 together."""
    assert np.all((weights >= 0) & (cases.support | (weights == 0)))
    assert weights.sum(axis=0) == pytest.approx(cases.support.any(axis=0).astype(float))
    return cuts(cases, weights)


@given(sensitive_collections(), st.sampled_from([1, 2, 12]), st.data())
def test_no_bound_excludes_a_violation(drawn: tuple[Collection, str], rounds: int, data: st.DataObject) -> None:
    """Neither the screening of cases nor their boxes; and without a budget nothing is decided."""
    tree = tree_of(*drawn)
    log_tree, diversity = LogTree(tree), data.draw(criteria(len(tree.labels)))
    blind = Blind(tree, diversity)
    cases = violations(diversity, log_tree.ratio_bounds())
    assume(cases is not None)
    assert cases is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks.maxent.branch_and_bound, "cuts", cuts_of_shares)
        screened = [_screen(log_tree, c, blind, rounds, witness_is_enough=True) for c in cases if len(c.heads)]
    remaining = [left for left in screened if left]
    apart = [left for case in remaining if (left := _taken_apart(log_tree, case, blind, 40))]
    for combination in all_combinations(tree):
        vector = tree.exact_vector(combination.tolist())
        if any(vector) and not diversity.decide(vector):
            x = log_tree.vectors(combination[None])[0]
            for kept in (remaining, apart):
                assert any((x @ cut.coefficients <= cut.bounds).any() for _, cut in kept)
    for kept in (remaining, apart):
        assert _search(log_tree, kept, blind, replace(FULL, screened=0), 10**9) == (not kept)


budgets = st.builds(
    lambda first, boxes: replace(FULL, first_branches=first, boxes=boxes, proof=0),
    st.sampled_from([0, 10**7]),
    st.sampled_from([0, 3, 600]),
)


@given(sensitive_collections(), budgets, st.data())
def test_the_verdict_does_not_hang_on_what_is_looked_at_first(
    drawn: tuple[Collection, str], budget: Budget, data: st.DataObject
) -> None:
    """All minimizers unseen, only the enumeration is left to find a violation."""
    tree = tree_of(*drawn)
    diversity = data.draw(criteria(len(tree.labels)))
    vectors = list(conditionals(*drawn).values())
    if data.draw(st.booleans()):
        diversity = on_boundary(diversity, data.draw(st.sampled_from(vectors)))
    expected = Verdict.HOLDS if all(diversity.decide(vector) for vector in vectors) else Verdict.FAILS
    screen, surviving = checks.maxent.branch_and_bound._screen, checks.maxent.branch_and_bound.surviving

    def screened_blindly(
        log_tree: LogTree, cases: Cases, worst: _Worst, rounds: int, *, witness_is_enough: bool
    ) -> tuple[Cases, Cuts] | None:
        return screen(log_tree, cases, Blind(worst.tree, diversity), rounds, witness_is_enough=witness_is_enough)

    def surviving_blindly(log_tree: LogTree, cases: EntropyCases, _look_at: LookAt, boxes: int) -> BoolArray:
        return surviving(log_tree, cases, lambda *_: False, boxes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks.maxent.branch_and_bound, "_screen", screened_blindly)
        patch.setattr(checks.maxent.branch_and_bound, "surviving", surviving_blindly)
        patch.setattr(
            checks.maxent.branch_and_bound,
            "_first",
            lambda t: (np.zeros((0, len(t.x)), int), np.zeros((0, t.x[0].shape[1]))),
        )
        outcome = branch_and_bound(tree, diversity, budget)
        unsearched = branch_and_bound(tree, diversity, replace(budget, branches=0, first_branches=0))
    if outcome is not None and unsearched is not None:
        assert outcome.verdict is expected
        assert unsearched.verdict in (expected, Verdict.UNDECIDED)
        assert not (unsearched.verdict is Verdict.UNDECIDED and unsearched.proven_worst)
        assert not outcome.proven_worst


@given(sensitive_collections(), st.sampled_from([0, 10**9]), st.sampled_from([0, 10**9]), st.data())
def test_the_worst_is_proven_only_where_it_is_the_worst(
    drawn: tuple[Collection, str], branches: int, work: int, data: st.DataObject
) -> None:
    """Of a search that has looked at one combination."""
    tree = tree_of(*drawn)
    log_tree, diversity = LogTree(tree), data.draw(criteria(len(tree.labels)))
    bounds = log_tree.ratio_bounds()
    assume(violations(diversity, bounds) is not None)
    combinations = np.concatenate([chosen for chosen, _ in tree.combinations(tree.conditional_factors, np.multiply)])
    everything, worst = _Worst(tree, diversity), _Worst(tree, diversity)
    everything.look_at(combinations, log_tree.vectors(combinations))
    met = combinations[[data.draw(st.integers(0, len(combinations) - 1))]]
    worst.look_at(met, log_tree.vectors(met))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks.maxent.branch_and_bound, "_PROOF_WORK", work)
        if _prove_worst(log_tree, bounds, worst, replace(FULL, proof=branches)):
            assert worst.slack == pytest.approx(everything.slack, rel=1e-9, abs=1e-9)


def test_what_was_seen_fails_without_a_budget() -> None:
    tree = tree_of_classes((3, 1, 1), (2, 2, 1))
    for diversity in (Entropy(Fraction(3)), Simple(Fraction(3))):
        outcome = branch_and_bound(tree, diversity, replace(FULL, screened=0))
        assert outcome is not None
        assert outcome.verdict is Verdict.FAILS
