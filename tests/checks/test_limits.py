"""What the tests of checks promise holds beyond each limit, too: they run again with the limit set to one or a few."""

import pytest

from models import MarginalsError
from small_limits import gone_beyond, limits_of, listed, run, set_limit

AGAIN = {
    "checks/attacks/test_refusals::test_where_one_class_of_many_can_have_refused_a_pair_it_did": {
        "checks.attacks.algorithm _MOST_LAID_OUT": 0
    },
    "checks/diversity/test_criteria::test_the_verdict_on_each_class_is_that_of_the_definition": {
        "checks.diversity.criterion _MOST_BITS": 1
    },
    "checks/maxent/test_maxent_diversity::test_the_verdict_does_not_hang_on_what_is_looked_at_first": {
        "checks.maxent.branch_and_bound _COMPLETE": 1
    },
    "checks/maxent/test_maxent_diversity::test_every_algorithm_agrees_with_brute_force": {
        "checks.diversity.criteria MAX_CASES": 1,
        "checks.maxent.branch_and_bound _LIKELY": 1,
        "checks.maxent.sensitive_tree BLOCK": 1,
        "checks.maxent.sensitive_tree _CHUNK": 1,
        "models.tables.contingency_table _MAX_SPACE": 6,
    },
    "checks/maxent/test_maxent_diversity::test_verdict_and_worst_value_are_those_of_brute_force": {
        "checks.maxent.branch_and_bound _PROOF_WORK": 1,
        "checks.maxent.maxent_diversity SMALL_JOIN": 1,
        "checks.maxent.maxent_diversity _EXACT": 1,
    },
    "checks/risk/test_risk::test_no_disclosure_lies_beyond_the_frontier": {"checks.risk.disclosure REMEMBERED": 1},
    "checks/test_small_counts::test_the_verdict_is_that_of_integer_programming_for_every_k": {
        "models.tables.contingency_table _MAX_SPACE": 6,
        "models.tables.contingency_table is_dense": lambda *_: False,
    },
    "checks/test_register::test_a_fit_decides_as_one_without_end": {
        "models.inference.class_shares _ROUNDS": 1,
        "models.inference.class_shares _SCALINGS": 1,
    },
    "checks/test_register::test_what_is_said_is_what_all_worlds_say": {
        "checks.register _BLOCK": 1,
        "models.inference.class_shares LISTED": 1,
        "models.inference.class_shares _LARGE": 2,
    },
    "checks/test_changes::test_of_people_who_come_once_as_many_are_shown_as_can_be": {
        "checks.combinatorial _NEAREST_PROGRAMS": 1
    },
    "checks/test_small_counts::test_less_work_says_undecided_and_never_anything_false": {
        "checks.combinatorial JOINT_CELLS": 1,
        "checks.combinatorial _LIMITS": 1,
    },
    "checks/test_small_counts::test_the_cell_shown_is_one_with_the_smallest_count": {
        "checks.combinatorial _FLOW": 1,
        "checks.combinatorial _NUMBERS": 1,
        "models.programs.cell_bounds FLOW_LIMIT": 4,
        "models.programs.packing _FIRST_CELLS": 1,
        "models.programs.packing _IN_A_CHAIN": 1,
        "models.programs.packing _NUMBERS": 1,
    },
    "checks/test_certain_counts::test_a_cycle_of_three_tables_proves_a_count_of_two": {
        "checks.small_combinations _FEW_CELLS": 1,
        "checks.small_combinations _PROVEN_CELLS": 1,
    },
    "checks/test_certain_counts::test_nothing_is_cleared_that_is_certain": {
        "checks.small_combinations FEW_ATTRIBUTES": 1,
        "checks.small_combinations _BLOCK": 1,
        "checks.small_combinations _EXACT_ROWS": 1,
    },
    "checks/test_certain_counts::test_nothing_is_cleared_that_is_certain_beside_the_tables_that_are_kept": {
        "checks.small_combinations _BLOCK": 1,
        "checks.small_combinations _LOOKS": 1,
    },
    "checks/diversity/test_texts::test_every_criterion_of_the_project_keeps_the_laws[t-closeness:0.2 ordered]": {
        "checks.diversity.relative _MOST": 2
    },
}
"""Tests of promises, each with the limits that it runs again below, and their small values."""

REFUSED = {
    "checks/risk/test_risk::test_losses_are_expected_over_the_links": {
        "checks.risk.harm MAX_LINKS": (1, "more than 1 pairs of records could be linked")
    },
    "checks/test_certain_counts::test_nothing_is_cleared_that_is_certain": {
        "checks.small_combinations MOST_MARGINS": (1, "more than the 1 tables that can be examined"),
        "checks.small_combinations _MOST_CELLS": (4, "are too many to be numbered"),
    },
    "checks/test_impossible::test_pairs_that_a_table_shows_as_empty_add_nothing": {
        "checks.impossible _MOST_CELLS": (3, "attributes that have too many values")
    },
}
"""What is too large is refused: tests whose tables are, below a small limit, with what the error says."""

ELSEWHERE = {
    "checks/attacks/test_knowledge": {
        "checks.attacks.knowledge": "MOST_CELLS _MOST_SECONDS",
        "checks.attacks.guesses": "_MOST_CELLS _MOST_CELLS_IN_ALL _MOST_MARGINS",
    },
    "checks/attacks/test_refusals": {
        "checks.attacks.algorithm": "_MOST_CELLS _MOST_CHECKS _MOST_IN_ALL _MOST_MARGINS",
    },
    "checks/diversity/test_implications": {"checks.diversity.implications": "LARGEST_L"},
    "checks/risk/test_risk": {"checks.risk.worst_case": "MOST_CHOICES MOST_LOSSES"},
    "checks/test_assessment": {
        "checks.classes": "LARGEST_L MOST_RULED_OUT",
    },
    "checks/test_claim": {"checks.claims": "MOST_ROWS"},
    "marginals/test_surest": {"checks.maxent.surest": "_MOST_SETS"},
}
"""Limits beyond which other tests go by themselves, or that bound what is said."""


@pytest.mark.parametrize(("test", "limit", "value"), listed(AGAIN))
def test_what_holds_of_small_tables_holds_beyond_the_limit(test, limit, value, monkeypatch):
    set_limit(monkeypatch, limit, value)
    run(test)


@pytest.mark.parametrize(("test", "limit", "value"), listed(REFUSED))
def test_what_is_beyond_the_limit_is_refused(test, limit, value, monkeypatch):
    set_limit(monkeypatch, limit, value[0])
    with pytest.raises(MarginalsError, match=value[1]):
        run(test)


def test_every_constant_that_sounds_like_a_limit_is_gone_beyond():
    assert (
        not limits_of("checks") - {limit for _, limit, _ in (*listed(AGAIN), *listed(REFUSED))} - gone_beyond(ELSEWHERE)
    )
