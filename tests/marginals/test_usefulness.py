"""What analysts lose: errors of random counts and predictions, of releases and of anonymized tables alike."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marginals
from marginals.example import attributes, frame, publication, release, table
from marginals.recoding import query_error
from models import Collection, MarginalModel, Taxonomy, random_count_queries


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


def test_nothing_is_lost_by_the_table_itself() -> None:
    twice = marginals.read_table(pd.concat([frame, frame]), attributes)
    whole = marginals.recoding.hilbert(twice, k=2)
    assert whole.information_utility == 1
    assert query_error(whole, twice, 2) == 0
    pytest.importorskip("sklearn")
    assert marginals.recoding.prediction_accuracy(whole, twice, "diagnosis").relative == 1


def test_predictions_are_between_the_commonest_value_and_the_rows() -> None:
    pytest.importorskip("sklearn")
    told = marginals.recoding.prediction_accuracy(release, table, "diagnosis")
    assert told.commonest == frame["diagnosis"].value_counts().max() / len(frame)
    assert told.commonest < told.learnt <= told.from_rows
    assert told == marginals.recoding.prediction_accuracy(release, table, "diagnosis")
    assert marginals.plain(told)["relative"] == told.learnt / told.from_rows
