"""Cuts: what they exclude never violates the criterion."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checks.functional_diversity import Functional, Induction
from checks.log_cuts import cases_of, cuts
from checks.log_tree import LogTree
from checks.sensitive_tree import sensitive_tree
from models.collection import Collection
from models.hierarchy import Hierarchy
from privacy_strategies import functionals, sensitive_collections


@pytest.mark.parametrize("most_cases", [40_000, 0], ids=["groups", "largest groups"])
@settings(max_examples=60)
@given(drawn=sensitive_collections(), diversity=functionals(), leaves=st.none() | st.integers(1, 3), data=st.data())
def test_every_class_that_breaks_functional_diversity_is_within_the_cut_of_some_case(
    drawn: tuple[Collection, str], diversity: Functional, leaves: int | None, data: st.DataObject, most_cases: int
) -> None:
    """Whatever the weights; with too many groups to tell apart, by the bound on the largest ones."""
    collection, sensitive = drawn
    tree = sensitive_tree(collection, sensitive)
    assume(tree is not None)
    assert tree is not None
    values = len(tree.labels)
    if leaves is not None and most_cases:
        widths = [data.draw(st.integers(1, leaves)) for _ in range(values)]
        rows = [(f"{s}.{i}", str(s), "*") for s in range(values) for i in range(widths[s])]
        diversity = replace(diversity, induction=Induction.at_level(Hierarchy.from_rows(rows), 1))
    log_tree = LogTree(tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.log_cuts.MAX_CASES", most_cases)
        found = cases_of(diversity, *log_tree.ratio_bounds())
    assert found is not None
    screened = []
    for cases in found:
        drawn_weights = np.random.default_rng(data.draw(st.integers(0, 99))).random(cases.support.shape) * cases.support
        screened.append(cuts(cases, drawn_weights / np.maximum(drawn_weights.sum(axis=0), 1e-300)))
    for combinations, _ in tree.combinations(tree.conditional_factors, np.multiply):
        x = log_tree.vectors(combinations)
        for combination, row in zip(combinations.tolist(), x):
            if not diversity.decide(tree.exact_vector(combination)):
                assert any(np.any(row @ cut.coefficients <= cut.bounds) for cut in screened)
