"""Expected cells refuse what no counts can be, and keep their sum when they are summed or refined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import CalibratedTree, DomainMismatchError, MaximumEntropy
from models.inference.maximum_entropy import ExpectedCells
from strategies import coarser_margins, contingency_tables, decomposable_collections, domains


@given(st.data())
def test_summed_counts_are_those_of_the_rolled_up_table(data: st.DataObject) -> None:
    table = data.draw(contingency_tables(data.draw(domains())))
    margin = table.domain.margin(table.domain.mask(data.draw(coarser_margins(table.domain, table.margin))))
    coarse, summed = table.rolled_up(margin), ExpectedCells.of(table).summed(margin)
    assert summed.expected.tolist() == coarse.counts.tolist()
    assert {a: codes.tolist() for a, codes in summed.codes.items()} == {
        a: codes.tolist() for a, codes in coarse.coded_cells.codes.items()
    }
    for attribute, hierarchy in table.domain.items():
        refined = summed.refined(attribute, 0)
        assert refined.expected.sum() == pytest.approx(table.total)
        assert refined.margin.get(attribute, hierarchy.height) == 0
        assert refined.summed(margin).expected == pytest.approx(summed.expected)


@given(decomposable_collections(), st.sampled_from([-1.0, np.nan, np.inf]))
def test_rows_that_are_no_numbers_of_rows_are_refused(collection, wrong) -> None:
    for table in collection.tables:
        cells, expected = ExpectedCells.of(table).cells, table.counts.astype(np.float64)
        with pytest.raises(DomainMismatchError, match="shape"):
            ExpectedCells(cells, expected[1:])
        ExpectedCells(cells, expected)
        assert expected.flags.writeable
        expected[0] = wrong
        with pytest.raises(DomainMismatchError, match="none negative"):
            ExpectedCells(cells, expected)


@given(decomposable_collections())
def test_a_tree_refuses_cells_of_other_margins(collection) -> None:
    tree = CalibratedTree.of(MaximumEntropy(collection))
    if tree.cliques:
        with pytest.raises(DomainMismatchError, match="different margins"):
            CalibratedTree(tree.tree, tree.cliques[1:], tree.total)
