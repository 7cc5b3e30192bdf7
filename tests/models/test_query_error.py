"""Count queries on generalized tables, against counting in the laid out joint distribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_force import covered
from models import (
    ContingencyTable,
    Domain,
    DomainMismatchError,
    GeneralizedCells,
    Hierarchy,
    answers,
    average_relative_error,
    random_count_queries,
)
from models.accuracy import CountQueries
from strategies import contingency_tables, domains, margins


@given(st.data())
def test_answers_are_sums_over_the_joint_distribution(data: st.DataObject) -> None:
    domain = data.draw(domains(max_cells=60))
    table: ContingencyTable = data.draw(contingency_tables(domain))
    cells = GeneralizedCells.of(table.rolled_up(data.draw(margins(domain))))
    conditions = data.draw(st.integers(1, len(domain.attributes)))
    queries = random_count_queries(table, conditions, 5, np.random.default_rng(data.draw(st.integers(0, 99))))
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    everywhere = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    joint = cells.probability(everywhere).reshape(shape) * table.total
    for query, answer in zip(queries.nodes, answers(cells, queries)):
        asked = np.ix_(*(np.flatnonzero(covered(t)[node]) for t, node in zip(cells.taxonomies, query)))
        assert answer == pytest.approx(joint[asked].sum())
        assert sum(node != t.root for t, node in zip(cells.taxonomies, query)) == conditions
    assert (answers(GeneralizedCells.of(table), queries) > 0).all()


TABLE = ContingencyTable.from_cells(
    Domain.of({"a": Hierarchy.flat("wxyz"), "b": Hierarchy.flat("01")}),
    {"a": 0, "b": 0},
    {"a": np.array([0, 1, 2]), "b": np.array([0, 0, 1])},
    np.array([6, 2, 4]),
)


def test_the_error_of_a_suppressed_attribute_by_hand() -> None:
    """12 rows spread over 4 values are 3 each: wrong by 3/6, 1/2 and 1/4; the query without an answer is left out."""
    queries = CountQueries(TABLE.domain, np.array([[0, 2], [1, 2], [2, 2], [3, 2]]))
    suppressed = GeneralizedCells.of(TABLE.rolled_up({"b": 0}))
    assert answers(suppressed, queries).tolist() == [3, 3, 3, 3]
    assert average_relative_error(TABLE, suppressed, queries) == pytest.approx((1 / 2 + 1 / 2 + 1 / 4) / 3)
    assert average_relative_error(TABLE, GeneralizedCells.of(TABLE), queries) == 0


def test_what_cannot_be_asked_is_refused() -> None:
    rng = np.random.default_rng(0)
    for conditions in (0, 3):
        with pytest.raises(DomainMismatchError):
            random_count_queries(TABLE, conditions, 1, rng)
    with pytest.raises(DomainMismatchError):
        random_count_queries(TABLE.rolled_up({"a": 0}), 1, 1, rng)
    with pytest.raises(DomainMismatchError):
        CountQueries(TABLE.domain, np.array([[5, 0]]))
    other = GeneralizedCells.of(TABLE.rolled_up({"a": 1}))
    queries = CountQueries(Domain.of({"a": Hierarchy.flat("wx")}), np.array([[0]]))
    with pytest.raises(DomainMismatchError):
        answers(other, queries)
