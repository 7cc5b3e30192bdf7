"""What the tests of models promise holds beyond each limit, too: they run again with the limit set to one or a few."""

import numpy as np
import pytest

from models import Hierarchy, MarginalsError, all_tables
from small_limits import gone_beyond, limits_of, listed, run, set_limit

AGAIN = {
    "models/inference/test_marginal_model::test_bounds_hold_for_collections_of_any_shape": {
        "models.inference.frechet_bounds PROGRAM_LIMIT": 1,
        "models.inference.frechet_bounds _MOST_TREES": 1,
        "models.programs.cell_bounds FLOW_LIMIT": 4,
        "models.programs.cell_bounds _MOST_ORDERS": 1,
        "models.programs.cell_bounds _MOST_PARTS": 1,
    },
    "models/inference/test_maximum_entropy::test_the_closed_form_and_its_figures_equal_brute_force": {
        "models.inference.calibrated_tree _BLOCK": 1,
        "models.tables.data_cube _SMALL": 0,
        "models.tables.contingency_table _MAX_SPACE": 6,
        "models.tables.contingency_table is_dense": lambda *_: False,
    },
    "models/inference/test_marginal_model::test_a_drawn_table_is_a_model_with_every_published_count_and_drawn_once": {
        "models.inference.marginal_model _KEPT": 0,
        "models.inference.plausible_tables _MOST_CELLS": 1,
    },
    "models/inference/test_marginal_model::test_the_same_seed_draws_the_same_rows_of_the_model": {
        "models.inference.calibrated_tree _ROWS_AT_ONCE": 7
    },
    "models/intervals/test_proven_bounds::test_bounds_of_up_to_five_attributes_hold_and_are_sharp_by_a_wider_joint_table": {
        "models.intervals.proofs _AT_ONCE": 1,
        "models.intervals.linked_tables _LISTED": 1,
    },
    "models/intervals/test_proven_bounds::test_all_aurora_minus_aurora_under_65": {"models.intervals.proofs _NEAR": 1},
    "models/intervals/test_proven_bounds::test_bounds_are_those_of_all_populations_that_fit": {
        "models.programs.extremes _HARVESTS": 0,
        "models.programs.extremes _HUGE": 1,
        "models.programs.extremes _LARGE_FROM": 2,
        "models.programs.consistent_tables _SWEEPS": 1,
    },
    "models/search/test_bounds::test_the_default_search_proves_the_best_collection_of_a_small_lattice": {
        "models.search.starts _WORK": 1,
        "models.search.selection _WORK": 1,
    },
    "models/search/test_strategies::test_it_finds_the_best_of_all_collections_under_every_kind_of_constraint": {
        "models.search.lower_bound LARGEST_LATTICE": 2,
    },
    "models/search/test_strategies::test_iterated_local_search_takes_nothing_out_of_what_must_stay": {
        "models.search.local_search MOST_WORK": 1,
        "models.search.local_search _MOST_WALKS": 1,
    },
    "models/search/test_strategies::test_told_to_stop_it_gives_back_an_allowed_collection_and_an_honest_gap": {
        "models.search.exact _MOST_WAITING": 1,
        "models.search.lower_bound _MOST_MARGINS": 1,
    },
    "models/search/test_strategies::test_the_distances_are_those_of_the_maxent_joint": {
        "models.inference.marginal_model _AT_ONCE": 1,
        "models.inference.calibrated_tree CELL_LIMIT": 2,
    },
    "models/tables/test_contingency_table::test_rolling_up_counts_the_generalized_rows": {
        "models.tables.contingency_table _MAX_SPACE": 6,
        "models.tables.contingency_table is_dense": lambda *_: False,
    },
    "models/tables/test_contingency_table::test_any_order_of_questions_gives_the_counts_and_entropies_of_the_base_table": {
        "models.tables.data_cube _ANCESTORS": 1,
        "models.tables.data_cube _LARGE": 1,
        "models.tables.data_cube _SMALL": 0,
        "models.tables.contingency_table _MAX_SPACE": 6,
        "models.tables.contingency_table is_dense": lambda *_: False,
    },
    "models/tables/test_contingency_table::test_tables_between_change_no_answer_and_stay_within_their_room": {
        "models.tables.data_cube _FEWER": 1,
        "models.tables.data_cube _KEPT": 0,
    },
    "models/tables/test_hierarchy::test_numbers_apart_are_intervals_by_themselves_and_divide_theirs": {
        "models.tables.hierarchy _MAX_INT64": 5
    },
    "models/test_accuracy::test_errors_are_those_of_counting_cell_by_cell": {
        "models.inference.calibrated_tree _KEPT_BYTES": 0
    },
}
"""Tests of promises, each with the limits that it runs again below, and their small values."""

REFUSED = {
    "models/intervals/test_proven_bounds::test_bounds_of_up_to_five_attributes_hold_and_are_sharp_by_a_wider_joint_table": {
        "models.intervals.linked_tables _MOST": (2, "a count is larger than")
    },
    "models/tables/test_contingency_table::test_rolling_up_counts_the_generalized_rows": {
        "models.arrays _MOST_ROWS": (1, "counts must add up to less than")
    },
    "models/inference/test_maximum_entropy::test_the_terms_are_those_of_the_design_matrix": {
        "models.inference.u_terms CELL_LIMIT": (2, "terms are made of 2")
    },
}
"""What is too large is refused: tests whose tables are, below a small limit, with what the error says."""

ELSEWHERE = {
    "marginals/test_interchange": {"models.inference.beside_core": "_MOST_SWEEPS"},
    "models/programs/test_consistent_tables": {
        "models.programs.consistent_tables": "MOST_TABLES _CELLS_IN_TIME",
    },
    "checks/test_limits": {
        "models.inference.class_shares": "LISTED _LARGE _ROUNDS",
        "models.programs.packing": "_FIRST_CELLS _IN_A_CHAIN _NUMBERS",
    },
    "models/search/test_bounds": {
        "models.inference.beside_core": "_CELLS",
        "models.search.further_tables": "_CELLS",
        "models.search.greedy": "MOST_ATTRIBUTES",
    },
    "models/inference/test_possible_tables": {"models.inference.possible_tables": "_MOST_CELLS _MOST_ROWS"},
    "models/tables/test_hierarchy": {"models.tables.hierarchy": "MAX_LABELS MAX_LEVELS _MAX_GRID"},
    "models/test_limits": {"models.programs.consistent_tables": "_MOST_NUMBERS"},
}
"""Limits beyond which other tests go by themselves."""


@pytest.mark.parametrize(("test", "limit", "value"), listed(AGAIN))
def test_what_holds_of_small_tables_holds_beyond_the_limit(test, limit, value, monkeypatch):
    set_limit(monkeypatch, limit, value)
    run(test)


@pytest.mark.parametrize(("test", "limit", "value"), listed(REFUSED))
def test_what_is_beyond_the_limit_is_refused(test, limit, value, monkeypatch):
    set_limit(monkeypatch, limit, value[0])
    with pytest.raises(MarginalsError, match=value[1]):
        run(test)


def test_a_hierarchy_of_too_many_levels_is_refused(monkeypatch):
    set_limit(monkeypatch, "models.tables.hierarchy MAX_LEVELS", 2)
    assert Hierarchy.from_prefixes(["11", "12"], [1]).height == 2
    with pytest.raises(MarginalsError, match="at most 2 levels, not 3"):
        Hierarchy.from_prefixes(["111", "112"], [3, 2, 1])


def test_of_all_tables_all_are_given_or_none(monkeypatch):
    rows, columns = np.repeat(np.arange(2), 3), np.tile(np.arange(3), 2)
    totals = [np.array([3, 4]), np.array([2, 2, 3])]
    every = all_tables([rows, columns], totals)
    given = []
    for most in (11, 12, 30, 60, 100, 200, 400):
        set_limit(monkeypatch, "models.programs.consistent_tables _MOST_NUMBERS", most)
        given.append(all_tables([rows, columns], totals))
    is_given = [tables is not None for tables in given]
    assert is_given == sorted(is_given)
    assert set(is_given) == {False, True}
    assert all(np.array_equal(tables, every) for tables in given if tables is not None)


def test_every_constant_that_sounds_like_a_limit_is_gone_beyond():
    assert (
        not limits_of("models") - {limit for _, limit, _ in (*listed(AGAIN), *listed(REFUSED))} - gone_beyond(ELSEWHERE)
    )
