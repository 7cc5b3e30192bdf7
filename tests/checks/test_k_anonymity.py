"""k-anonymity and k-link anonymity: the smallest class of the published tables is found, and monotone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Algorithm, Verdict, WorstClass, k_link
from checks.classes import k_anonymity, nonsensitive_part, smallest_cell
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy
from privacy_oracles import cell_of, class_sizes, marginal, without
from strategies import coarser_margins, data_cubes, decomposable_collections, margins


@st.composite
def collections(draw: st.DrawFn) -> tuple[Collection, list[str]]:
    """Any collection, decomposable or not, with some sensitive attributes or none."""
    cube = draw(data_cubes())
    drawn = [cube.domain.mask(draw(margins(cube.domain))) for _ in range(draw(st.integers(0, 4)))]
    return Collection.of(cube, drawn), draw(st.lists(st.sampled_from(cube.domain.attributes), unique=True))


@given(collections(), st.integers(1, 8))
def test_k_link_fails_where_some_marginal_has_a_class_below_k(drawn: tuple[Collection, list[str]], k: int) -> None:
    """KG06 Def. 4.1, by enumeration."""
    collection, sensitive = drawn
    smallest = min(class_sizes(collection, sensitive), default=k)
    finding = k_link(collection, sensitive, k)
    assert finding.verdict is (Verdict.HOLDS if smallest >= k else Verdict.FAILS)
    assert (finding.criterion, finding.parameters) == ("k-link", {"k": k})


@given(collections())
def test_k_link_shows_the_smallest_class_of_all_marginals(drawn: tuple[Collection, list[str]]) -> None:
    collection, sensitive = drawn
    sizes = class_sizes(collection, sensitive)
    finding = k_link(collection, sensitive, 3)
    assert finding.examined == len(sizes)
    if finding.worst is None:
        assert not sizes
        return
    assert finding.worst_class.count == min(sizes)
    margin = finding.worst_class.margin
    assert margin in [dict(without(published, sensitive)) for published in collection.margins]
    table = marginal(collection, margin)
    assert table[cell_of(collection.domain, margin, finding.worst_class.cell)] == min(sizes)


@given(collections(), st.integers(1, 8), st.data())
def test_k_link_is_inherited_by_every_coarser_collection(
    drawn: tuple[Collection, list[str]], k: int, data: st.DataObject
) -> None:
    collection, sensitive = drawn
    if k_link(collection, sensitive, k).holds:
        domain = collection.domain
        coarser = [domain.mask(data.draw(coarser_margins(domain, margin))) for margin in collection.margins]
        assert k_link(Collection.of(collection.cube, coarser), sensitive, k).holds


@given(st.data(), st.integers(1, 8))
def test_k_anonymity_of_a_table_is_k_link_anonymity_of_it_alone(data: st.DataObject, k: int) -> None:
    collection, sensitive = data.draw(collections())
    for mask, table in zip(collection.masks, collection.tables):
        alone = Collection.of(collection.cube, [mask])
        finding = k_anonymity(table, sensitive, k)
        assert finding.verdict is (Verdict.HOLDS if min(class_sizes(alone, sensitive)) >= k else Verdict.FAILS)
        assert finding.worst == k_link(alone, sensitive, k).worst
        assert (finding.criterion, finding.parameters) == ("k-anonymity", {"k": k})
        assert finding.examined == len(class_sizes(alone, sensitive))


@given(decomposable_collections(), st.data())
def test_the_nonsensitive_part_keeps_every_other_attribute_at_its_level(
    collection: Collection, data: st.DataObject
) -> None:
    domain = collection.domain
    sensitive = data.draw(st.lists(st.sampled_from(domain.attributes), unique=True))
    for mask, margin in zip(collection.masks, collection.margins):
        assert domain.margin(nonsensitive_part(domain, mask, sensitive)) == without(margin, sensitive)


@given(data_cubes())
def test_nothing_published_links_to_nobody(cube: DataCube) -> None:
    finding = k_link(Collection.of(cube, []), [], 1000)
    assert finding.holds
    assert finding.worst is None


@pytest.mark.parametrize(("rows", "holds"), [(4, False), (5, True)])
def test_a_marginal_of_the_sensitive_attribute_alone_has_the_class_of_all_rows(rows: int, holds: bool) -> None:
    domain = Domain.of({"s": Hierarchy.flat(["x", "y"])})
    table = ContingencyTable.from_cells(domain, {"s": 0}, {"s": np.array([0, 1])}, np.array([1, rows - 1]))
    finding = k_link(Collection.of(DataCube([table]), [1]), ["s"], 5)
    assert finding.holds is holds
    assert finding.worst == WorstClass(margin={}, cell={}, count=rows)
    assert (finding.criterion, finding.parameters, finding.algorithms) == ("k-link", {"k": 5}, (Algorithm.MINIMUM,))


def test_the_smallest_cell_of_a_table_counts_sensitive_values() -> None:
    domain = Domain.of({"s": Hierarchy.flat(["x", "y"])})
    table = ContingencyTable.from_cells(domain, {"s": 0}, {"s": np.array([0, 1])}, np.array([4, 9]))
    for least, holds in ((4, True), (5, False)):
        finding = smallest_cell(table, least)
        assert (finding.criterion, finding.holds, finding.parameters) == ("min-cell", holds, {"k": least})
        assert isinstance(finding.worst, WorstClass)
        assert finding.worst.count == 4


def test_the_4_anonymous_table_of_the_paper() -> None:
    """MKGV07 Fig. 2: three blocks of four, whatever their conditions."""
    domain = Domain.of({name: Hierarchy.flat(["0", "1", "2"]) for name in ("block", "condition")})
    codes = {"block": np.repeat([0, 1, 2], 4), "condition": np.array([0, 0, 1, 1, 2, 0, 1, 1, 2, 2, 2, 2])}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ones(12, dtype=np.int64))
    assert k_anonymity(table, ["condition"], 4).holds
    assert not k_anonymity(table, ["condition"], 5).holds
    assert not k_anonymity(table, [], 4).holds
