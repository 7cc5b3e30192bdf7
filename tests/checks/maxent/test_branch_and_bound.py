"""Cuts and branch and bound: nothing that could violate a criterion is dropped, whatever is looked at first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import checks.maxent.branch_and_bound
from checks import FULL, Distinct, Verdict, by_hull, by_join
from checks.diversity.criterion import BOUNDARY
from checks.diversity.cuts import Cases, Cuts
from checks.maxent.branch_and_bound import branch_and_bound
from checks.maxent.sensitive_tree import Judge, LogTree
from models import Collection, FloatArray, IndexArray
from privacy_oracles import conditionals, on_boundary
from privacy_strategies import criteria, sensitive_collections, tree_of, tree_of_classes


class Blind(Judge):
    """Judges nothing."""

    def look_at(self, combinations: IndexArray, vectors: FloatArray) -> None:
        """Look away."""


@given(sensitive_collections(), st.data())
def test_the_verdict_does_not_hang_on_what_is_looked_at_first(
    drawn: tuple[Collection, str], data: st.DataObject
) -> None:
    """All minimizers unseen, only the enumeration is left to find a violation."""
    tree = tree_of(*drawn)
    diversity = data.draw(criteria(len(tree.labels)))
    vectors = list(conditionals(*drawn).values())
    if data.draw(st.booleans()):
        diversity = on_boundary(diversity, data.draw(st.sampled_from(vectors)))
    expected = Verdict.HOLDS if all(diversity.decide(vector) for vector in vectors) else Verdict.FAILS
    screen, budget = checks.maxent.branch_and_bound._screen, replace(FULL, proof=0)

    def screened_blindly(
        log_tree: LogTree, cases: Cases, worst: Judge, rounds: int, *, witness_is_enough: bool
    ) -> tuple[Cases, Cuts] | None:
        return screen(log_tree, cases, Blind(worst.tree, diversity), rounds, witness_is_enough=witness_is_enough)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks.maxent.branch_and_bound, "_screen", screened_blindly)
        patch.setattr(
            checks.maxent.branch_and_bound,
            "_first",
            lambda t: (np.zeros((0, len(t.x)), int), np.zeros((0, t.x[0].shape[1]))),
        )
        outcome = branch_and_bound(tree, diversity, budget)
        unsearched = branch_and_bound(tree, diversity, replace(budget, branches=0))
    if outcome is not None and unsearched is not None:
        assert outcome.verdict is expected
        assert unsearched.verdict in (expected, Verdict.UNDECIDED)
        assert not (unsearched.verdict is Verdict.UNDECIDED and unsearched.proven_worst)
        assert not outcome.proven_worst


@dataclass(frozen=True)
class AtTheLine(Distinct):
    """Somebody's own criterion, of which every class has this slack."""

    of_every_class: float = 0.0
    holds: bool = True

    def slack(self, vectors: FloatArray) -> FloatArray:
        return np.full(len(vectors), self.of_every_class)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:  # noqa: ARG002
        return self.holds


@pytest.mark.parametrize("near", [-BOUNDARY, -BOUNDARY / 2, 0.0, BOUNDARY / 2, BOUNDARY])
@pytest.mark.parametrize("holds", [True, False])
def test_up_to_the_line_itself_a_verdict_is_exact(near: float, holds: bool) -> None:
    tree = tree_of_classes((1, 2, 3), (3, 1, 1))
    for outcome in (by_join(tree, AtTheLine(2, near, holds)), by_hull(tree, AtTheLine(2, near, holds))):
        assert outcome.verdict is (Verdict.HOLDS if holds else Verdict.FAILS)
