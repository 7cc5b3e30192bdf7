"""k-anonymity and k-link anonymity: the smallest class of the published tables is found, and monotone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Algorithm, Requirements, Verdict, WorstClass, k_link
from filled_tables import filled, flat_domain, published
from models import Collection
from privacy_oracles import cell_of, class_sizes, marginal, without
from strategies import data_cubes, margins


@st.composite
def collections(draw: st.DrawFn) -> tuple[Collection, list[str]]:
    """Any collection, decomposable or not, with some sensitive attributes or none."""
    cube = draw(data_cubes())
    drawn = [cube.domain.mask(draw(margins(cube.domain))) for _ in range(draw(st.integers(0, 4)))]
    return Collection.of(cube, drawn), draw(st.lists(st.sampled_from(cube.domain.attributes), unique=True))


@given(collections(), st.integers(1, 8))
def test_k_link_fails_where_some_marginal_has_a_class_below_k(drawn: tuple[Collection, list[str]], k: int) -> None:
    """KG06 Def. 4.1, by enumeration; shown is the smallest class of all."""
    collection, sensitive = drawn
    sizes = class_sizes(collection, sensitive)
    finding = k_link(collection, sensitive, k)
    assert finding.verdict is (Verdict.HOLDS if min(sizes, default=k) >= k else Verdict.FAILS)
    assert (finding.criterion, finding.parameters, finding.examined) == ("k-link", {"k": k}, len(sizes))
    if finding.worst is None:
        assert not sizes
        return
    assert finding.worst_class.count == min(sizes)
    margin = finding.worst_class.margin
    assert margin in [dict(without(published, sensitive)) for published in collection.margins]
    table = marginal(collection, margin)
    assert table[cell_of(collection.domain, margin, finding.worst_class.cell)] == min(sizes)


@given(st.data(), st.integers(1, 8))
def test_k_anonymity_of_a_table_is_k_link_anonymity_of_it_alone(data: st.DataObject, k: int) -> None:
    collection, sensitive = data.draw(collections())
    for mask, table in zip(collection.masks, collection.tables):
        alone = Collection.of(collection.cube, [mask])
        (finding, cells) = Requirements(tuple(sensitive), k_link=k, min_cell=k).of_table(table)
        assert (cells.criterion, cells.parameters) == ("min-cell", {"k": k})
        assert cells.holds is bool((table.counts >= k).all())
        assert cells.worst_class.count == table.counts.min()
        assert finding.verdict is (Verdict.HOLDS if min(class_sizes(alone, sensitive)) >= k else Verdict.FAILS)
        assert finding.worst == k_link(alone, sensitive, k).worst
        assert (finding.criterion, finding.parameters) == ("k-anonymity", {"k": k})
        assert finding.examined == len(class_sizes(alone, sensitive))


@pytest.mark.parametrize(("rows", "holds"), [(4, False), (5, True)])
def test_a_marginal_of_the_sensitive_attribute_alone_has_the_class_of_all_rows(rows: int, holds: bool) -> None:
    finding = k_link(published(filled(flat_domain(s="xy"), [1, rows - 1]), "s"), ["s"], 5)
    assert finding.holds is holds
    assert finding.worst == WorstClass(margin={}, cell={}, count=rows)
    assert (finding.criterion, finding.parameters, finding.algorithms) == ("k-link", {"k": 5}, (Algorithm.MINIMUM,))


def test_the_4_anonymous_table_of_the_paper() -> None:
    """MKGV07 Fig. 2: three blocks of four, whatever their conditions."""
    table = filled(flat_domain(block=3, condition=3), [[2, 2, 0], [1, 2, 1], [0, 0, 4]])
    for sensitive, k, holds in ((("condition",), 4, True), (("condition",), 5, False), ((), 4, False)):
        (finding,) = Requirements(sensitive, k_link=k).of_table(table)
        assert finding.holds is holds
