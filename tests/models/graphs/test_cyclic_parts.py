"""Cyclic parts: nothing is left exactly where there is a junction tree, and what is left is what bounds depend on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import CodedCells, Collection, Margin, Support
from models.graphs.junction_tree import cyclic_parts
from strategies import NOT_DECOMPOSABLE, SHAPES, data_cubes, decomposable_collections, margins, shape_cube


@given(decomposable_collections(max_cells=40))
def test_nothing_is_left_of_a_decomposable_collection(collection: Collection) -> None:
    assert cyclic_parts(collection) == ()


@given(st.data())
def test_nothing_is_left_only_of_a_decomposable_collection(data: st.DataObject) -> None:
    cube = data.draw(data_cubes(max_cells=40))
    drawn = [data.draw(margins(cube.domain)) for _ in range(data.draw(st.integers(1, 5)))]
    collection = Collection.of(cube, map(cube.domain.mask, drawn))
    parts = cyclic_parts(collection)
    assert (parts == ()) is collection.is_decomposable
    for part in parts:
        assert set(part.masks) <= set(collection.masks)
        assert not part.is_decomposable


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str) -> None:
    cube = shape_cube()
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in SHAPES[shape]])
    assert bool(cyclic_parts(collection)) is (shape in NOT_DECOMPOSABLE)


def test_two_cycles_are_two_parts_and_what_hangs_on_them_is_none() -> None:
    cube = shape_cube()
    pairs = [{"a": 0, "b": 0}, {"b": 0, "c": 1}, {"a": 0, "c": 1}, {"c": 0, "d": 0}]
    collection = Collection.of(cube, [cube.domain.mask(pair) for pair in pairs])
    (part,) = cyclic_parts(collection)
    assert [dict(margin) for margin in part.margins] == [dict(m) for m in collection.margins if "d" not in m]


def test_a_margin_that_a_support_links_to_others_is_left() -> None:
    cube = shape_cube()
    cells = CodedCells(cube.domain, Margin({"a": 0, "b": 0}), {"a": np.array([0, 1]), "b": np.array([1, 0])}, 2)
    masks = [cube.domain.mask({name: 0}) for name in "abd"]
    (part,) = cyclic_parts(Collection.of(cube, masks, [Support(cells, np.ones(2))]))
    assert [dict(margin) for margin in part.margins] == [{"a": 0}, {"b": 0}] or len(part.masks) == 2
    assert len(part.supports) == 1
    assert cyclic_parts(Collection.of(cube, masks)) == ()
