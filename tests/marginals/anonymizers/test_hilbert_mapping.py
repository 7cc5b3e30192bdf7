"""The 1-D mapping: groups of different sensitive values, published under the nearest values that cover them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Functional, Simple, satisfies
from marginals import InputError, NothingPublishableError, Role, Table, hilbert
from marginals.anonymizers.local_recoding import eligible_l, hilbert_groups, spread_groups
from models import ContingencyTable, Domain, Hierarchy
from recoding_oracles import classes_hold, requirements, rows_that_fit, tables


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.data())
def test_groups_have_l_rows_or_more_all_different(values: list[int], data: st.DataObject) -> None:
    l = data.draw(st.integers(1, eligible_l(np.array(values))))
    group_of = spread_groups(np.array(values), l)
    for group in range(int(group_of.max()) + 1):
        held = [value for value, own in zip(values, group_of) if own == group]
        assert len(held) == len(set(held)) >= l


def test_a_value_that_must_be_in_every_group_is() -> None:
    """Four of the eight rows are 0, so each of the four pairs takes one; the others come in their order."""
    assert spread_groups(np.array([1, 2, 1, 2, 0, 0, 0, 0]), 2).tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


@given(tables(), st.data())
def test_every_row_is_published_once_in_a_class_that_is_simple_l_diverse(table: Table, data: st.DataObject) -> None:
    values = np.repeat(table.counts.column(table.sensitive[0], 0), table.counts.counts)
    l, k = data.draw(st.integers(1, eligible_l(values))), data.draw(st.integers(1, table.rows))
    recoded = hilbert_groups(table, l, k=k)
    assert recoded.sizes.min() >= k
    assert rows_that_fit(table.counts, recoded.cells) == recoded.rows == table.rows
    assert satisfies(Simple(Fraction(l)), recoded.class_counts(table.sensitive[0])).all()
    with pytest.raises(NothingPublishableError):
        hilbert_groups(table, eligible_l(values) + 1)
    with pytest.raises(NothingPublishableError):
        hilbert_groups(table, l, k=table.rows + 1)


@given(tables(), requirements())
def test_the_first_l_that_satisfies_the_requirement_is_taken(table: Table, requirement: Functional) -> None:
    values = np.repeat(table.counts.column(table.sensitive[0], 0), table.counts.counts)
    tried = [hilbert_groups(table, l) for l in range(2, eligible_l(values) + 1)]
    passing = [recoded for recoded in tried if classes_hold(recoded, table, requirement)]
    if passing:
        assert np.array_equal(hilbert(table, requirement).cells.nodes, passing[0].cells.nodes)
    else:
        with pytest.raises(NothingPublishableError):
            hilbert(table, requirement)


def test_groups_are_published_under_the_nearest_values_that_cover_them() -> None:
    domain = Domain.of({"age": Hierarchy.from_intervals(map(str, range(8)), [2, 4]), "s": Hierarchy.flat("xy")})
    codes = {"age": np.array([0, 1, 4, 6]), "s": np.array([0, 1, 0, 1])}
    counts = ContingencyTable.from_cells(domain, {"age": 0, "s": 0}, codes, np.ones(4, dtype=int))
    recoded = hilbert_groups(Table(counts, {"age": Role.QUASI_IDENTIFIER, "s": Role.SENSITIVE}), 2)
    assert [recoded.labels(i) for i in range(len(recoded))] == [{"age": "0-1"}, {"age": "4-7"}]
    assert [recoded.levels(i) for i in range(len(recoded))] == [{"age": 1}, {"age": 2}]
    both = Table(counts, dict.fromkeys(domain.attributes, Role.SENSITIVE))
    with pytest.raises(InputError, match="one sensitive attribute"):
        hilbert_groups(both, 2)
