"""What analysts lose: errors of random counts and predictions, of releases and of anonymized tables alike."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from marginals import Policy, query_error
from marginals.example import attributes, frame, publication, release, table
from marginals.recoding.local_recoding import LocalRecoding
from models import Collection, MarginalModel, Taxonomy, random_count_queries
from written_bundles import release_of


@given(st.integers(1, 3), st.integers(0, 99))
def test_the_errors_of_a_release_are_those_of_what_is_expected_of_base_cells(conditions: int, seed: int) -> None:
    """Brute force: every base cell of the model, added up where it satisfies the conditions of the same queries."""
    queries = random_count_queries(table.base_counts, conditions, 5, np.random.default_rng(seed))
    model = MarginalModel(Collection.of(table.cube, publication.steward.search.cliques))
    expected = model.expected(dict.fromkeys(table.domain.attributes, 0))
    counted = np.zeros(expected.shape)
    counted[tuple(table.base_counts.codes)] = table.base_counts.counts
    taxonomies = list(map(Taxonomy, table.domain.hierarchies))
    errors = []
    for query in queries.tolist():
        inside = [
            cell
            for cell in product(*map(range, expected.shape))
            if all(t.shares_under(n)[code] > 0 for t, n, code in zip(taxonomies, query, cell))
        ]
        true = sum(counted[cell] for cell in inside)
        errors.append(abs(sum(expected[cell] for cell in inside) - true) / true)
    assert query_error(release, table, conditions, 5, seed) == pytest.approx(np.mean(errors))


@pytest.mark.parametrize("k", [2, 4, 8, 12])
def test_a_table_is_measured_alike_as_a_marginal_and_as_a_recoding(k: int) -> None:
    found = marginals.anonymize(table, Policy(k_link=k, diversity="none")).minimal[0]
    margin = table.domain.mask({**found.levels, "diagnosis": 0})
    alone = release_of(Collection.of(table.cube, [margin]), table.roles)
    for conditions in (1, 2, 3):
        recoded = query_error(LocalRecoding.full_domain(table, found.levels), table, conditions, 50)
        assert recoded == pytest.approx(query_error(alone, table, conditions, 50))


def test_nothing_is_lost_by_the_table_itself() -> None:
    twice = marginals.read_table(pd.concat([frame, frame]), attributes)
    (found,) = marginals.anonymize(twice, Policy(k_link=2, diversity="none")).minimal
    assert set(found.levels.values()) == {0}
    whole = LocalRecoding.full_domain(twice, found.levels)
    assert query_error(whole, twice, 2) == 0
    pytest.importorskip("sklearn")
    assert marginals.prediction_accuracy(whole, twice, "diagnosis").relative == 1


def test_predictions_are_between_the_commonest_value_and_the_rows() -> None:
    pytest.importorskip("sklearn")
    told = marginals.prediction_accuracy(release, table, "diagnosis")
    assert told.commonest == frame["diagnosis"].value_counts().max() / len(frame)
    assert told.commonest < told.learnt <= told.from_rows
    assert told == marginals.prediction_accuracy(release, table, "diagnosis")
    assert marginals.plain(told)["relative"] == told.learnt / told.from_rows
