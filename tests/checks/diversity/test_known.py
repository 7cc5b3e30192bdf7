"""Criteria among those whose sensitive value is known, against the same criteria on vectors without the other columns."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import FULL, MaxentDiversity, Question, Verdict, by_hull, parse_diversity, satisfies, sensitive_tree
from checks.diversity.criterion import SensitiveValues, among
from checks.diversity.known import LeavingOut
from checks.diversity.odds import AtOdds
from checks.finding import verdict_of
from checks.maxent.branch_and_bound import branch_and_bound
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy

TEXTS = (
    "distinct:2",
    "simple:2",
    "entropy:2",
    "recursive:3,2",
    "recursive:2,3",
    "functional:0.6,2",
    "recursive:3,2 at odds 1.2",
)
VALUES = ("asthma", "flu", "gout", "missing")


def _passes(text: str, known: list[int]) -> bool:
    """The ten-line oracle: nobody's value is known, or the criterion holds of the counts of the known ones alone."""
    if not any(known):
        return True
    values = SensitiveValues(Hierarchy.flat(VALUES[:3]), 0, (1, 1, 1))
    return among(parse_diversity(text), values).decide(known)


def _leaving_out(text: str) -> str:
    plain, odds, number = text.partition(" at odds ")
    return f"{plain} leaving out missing{odds}{number}"


@given(st.sampled_from(TEXTS), st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any))
def test_a_class_is_judged_by_those_whose_value_is_known(text: str, counts: list[int]) -> None:
    values = SensitiveValues(Hierarchy.flat(VALUES), 0, (1, 1, 1, 1))
    criterion = among(parse_diversity(_leaving_out(text)), values)
    assert criterion.decide(counts) == _passes(text, counts[:3])
    assert satisfies(criterion, np.array([counts])).tolist() == [_passes(text, counts[:3])]


@given(
    st.sampled_from(TEXTS),
    st.lists(st.integers(0, 4), min_size=16, max_size=16).filter(any),
    st.lists(st.integers(0, 4), min_size=16, max_size=16).filter(any),
)
def test_two_tables_together_are_judged_by_the_known_values_of_each_combination(
    text: str, first: list[int], second: list[int]
) -> None:
    """v_s is proportional to T1(a, s) T2(b, s) / T(s); by brute force over all a and b."""
    one, two = np.array(first).reshape(4, 4), np.array(second).reshape(4, 4)
    joint = np.einsum("as,bs->abs", one, two)
    if not joint.any():
        return
    hierarchies = {"a": Hierarchy.flat("abcd"), "b": Hierarchy.flat("efgh"), "s": Hierarchy.flat(VALUES)}
    domain = Domain.of(hierarchies)
    cells = np.argwhere(joint)
    table = ContingencyTable.from_cells(
        domain, dict.fromkeys("abs", 0), dict(zip("abs", cells.T)), joint[tuple(cells.T)].astype(np.int64)
    )
    collection = Collection.of(DataCube([table]), [domain.mask({"a": 0, "s": 0}), domain.mask({"b": 0, "s": 0})])
    ab, total = (joint.sum(axis=1), joint.sum(axis=0)), joint.sum(axis=(0, 1))
    vectors = [
        [Fraction(int(ab[0][a, s] * ab[1][b, s]), int(total[s])) if total[s] else Fraction(0) for s in range(4)]
        for a in range(4)
        for b in range(4)
    ]
    expected = all(_passes_exactly(text, vector[:3]) for vector in vectors if any(vector))
    tree = sensitive_tree(collection, "s")
    assert tree is not None
    criterion = among(parse_diversity(_leaving_out(text)), tree.values)
    for outcome in (branch_and_bound(tree, criterion, FULL), by_hull(tree, criterion, FULL)):
        assert outcome is None or outcome.verdict in (verdict_of(expected), Verdict.UNDECIDED)
    finding = MaxentDiversity(parse_diversity(_leaving_out(text)), "s").check(Question(collection, ("s",)))
    assert finding.holds == expected


def _passes_exactly(text: str, known: list[Fraction]) -> bool:
    values = SensitiveValues(Hierarchy.flat(VALUES[:3]), 0, (1, 1, 1))
    return not any(known) or among(parse_diversity(text), values).decide(known)


def test_twenty_of_one_diagnosis_and_five_without_share_it() -> None:
    values = SensitiveValues(Hierarchy.flat(VALUES), 0, (25, 30, 30, 30))
    assert among(parse_diversity("distinct:2"), values).decide([20, 0, 0, 5])
    assert not among(parse_diversity("distinct:2 leaving out missing"), values).decide([20, 0, 0, 5])


@pytest.mark.parametrize(
    "text", ["entropy:3 leaving out missing", 'entropy:3 leaving out missing, "n/a, or so" at odds 1.2']
)
def test_a_text_reads_back_as_itself(text: str) -> None:
    assert str(parse_diversity(text)) == text


def test_what_stands_for_no_value_is_left_out_before_odds_and_only_once() -> None:
    claim = MaxentDiversity(parse_diversity("entropy:3 at odds 1.2"), "s").leaving_out("missing")
    assert isinstance(claim.diversity, AtOdds)
    assert isinstance(claim.diversity.plain, LeavingOut)
    assert claim.leaving_out("missing") == claim
    named = MaxentDiversity(parse_diversity("pd-recursive:3,2 may disclose missing"), "s")
    assert named.leaving_out("missing") == named


def test_of_people_with_several_rows_those_with_a_known_value_are_judged() -> None:
    claim = MaxentDiversity(parse_diversity("distinct:2"), "s", rows_per_person=3).leaving_out("missing")
    criterion = among(claim.class_diversity, SensitiveValues(Hierarchy.flat([*VALUES, "cough"]), 0, (1, 1, 1, 1, 1)))
    assert not criterion.decide([3, 3, 3, 90, 0])
    assert criterion.decide([3, 3, 3, 90, 3])


def test_where_no_value_is_missing_the_claim_is_stated_without() -> None:
    values = SensitiveValues(Hierarchy.flat(VALUES[:3]), 0, (1, 1, 1))
    assert str(parse_diversity("entropy:2 leaving out missing").stated_among(values)) == "entropy:2"
