"""Collections: repeats and empty margins vanish, and resolutions are the finest that some margin shows."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Collection, DomainMismatchError, NotDecomposableError, equal_cells
from strategies import NOT_DECOMPOSABLE, SHAPE_DOMAIN, SHAPES, data_cubes, margins, shape_cube


@given(data_cubes(), st.data())
def test_order_repeats_and_empty_margins_do_not_matter(cube, data):
    drawn = [cube.domain.mask(margin) for margin in data.draw(st.lists(margins(cube.domain), max_size=5))]
    collection = Collection.of(cube, drawn)
    again = Collection.of(cube, data.draw(st.permutations([*drawn, 0, *drawn])))
    assert collection.masks == again.masks
    assert set(collection.masks) == set(drawn) - {0}
    assert [cube.domain.mask(margin) for margin in collection.margins] == list(collection.masks)


@given(data_cubes(), st.data())
def test_the_tables_are_the_marginals_of_the_base_table(cube, data):
    base = cube.table(cube.domain.mask(dict.fromkeys(cube.domain.attributes, 0)))
    drawn = [cube.domain.mask(margin) for margin in data.draw(st.lists(margins(cube.domain), max_size=5))]
    collection = Collection.of(cube, drawn)
    for margin, table in zip(collection.margins, collection.tables, strict=True):
        assert table.margin == margin
        assert equal_cells([table, base.rolled_up(margin)])


@given(data_cubes(), st.data())
def test_the_finest_level_is_the_finest_that_a_margin_shows(cube, data):
    drawn = data.draw(st.lists(margins(cube.domain), max_size=5))
    collection = Collection.of(cube, map(cube.domain.mask, drawn))
    for attribute, hierarchy in cube.domain.items():
        level = min((margin[attribute] for margin in drawn if attribute in margin), default=hierarchy.height)
        assert collection.finest_level(attribute) == level
        assert collection.shows(attribute) == (level < hierarchy.height)


def test_an_attribute_that_the_domain_lacks_is_refused_by_name():
    with pytest.raises(DomainMismatchError, match="'hat'"):
        Collection.of(shape_cube(), []).finest_level("hat")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_collection_knows_whether_it_is_decomposable(shape):
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    assert collection.is_decomposable == (shape not in NOT_DECOMPOSABLE)
    if collection.is_decomposable:
        assert nx.is_chordal(collection.interaction_graph.to_networkx())
        assert set(collection.junction_tree.cliques) <= set(collection.masks)
    else:
        with pytest.raises(NotDecomposableError):
            _ = collection.junction_tree


def test_a_collection_reads_as_its_margins():
    masks = [SHAPE_DOMAIN.mask({"a": 1, "b": 0}), SHAPE_DOMAIN.mask({"c": 0})]
    assert repr(Collection.of(shape_cube(), masks)) == "Collection(c:0; a:1, b:0)"
