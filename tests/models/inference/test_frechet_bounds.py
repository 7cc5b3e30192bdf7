"""Bounds of margins and boxes hold, are attained where they say so, and agree with what is published elsewhere."""

import json
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from brute_force import Array, dense_marginal, joint_array, places
from models import (
    BoolArray,
    Collection,
    ContingencyTable,
    CountBounds,
    DataCube,
    Deadline,
    Domain,
    DomainMismatchError,
    FrechetBounds,
    Hierarchy,
    MarginalModel,
)
from strategies import SHAPE_DOMAIN, SHAPES, data_cubes, decomposable_collections, margins, shape_cube


def joint_of(collection: Collection) -> Array:
    return joint_array(collection.cube.table(sum(collection.domain.attribute_masks)))


def indicator(domain: Domain, box: Mapping[str, BoolArray]) -> Array:
    inside = np.ones([h.size(0) for h in domain.hierarchies])
    for axis, attribute in enumerate(domain.attributes):
        if attribute in box:
            others = [other for other in range(inside.ndim) if other != axis]
            inside = inside * np.expand_dims(box[attribute], others)
    return inside


def brute_force(collection: Collection, inside: Array) -> tuple[int, int]:
    """Least and largest number of rows inside by integer programming over all base cells."""
    rows, right, joint = [], [], joint_of(collection)
    for margin in ({}, *collection.margins):
        target = dense_marginal(joint, collection.domain, margin)
        index = np.broadcast_arrays(*places(collection.domain, margin))
        linear = np.ravel_multi_index(index, target.shape).ravel()
        rows.append((linear == np.arange(target.size)[:, None]).astype(float))
        right.append(target.ravel())
    exact = LinearConstraint(np.vstack(rows), np.concatenate(right), np.concatenate(right))
    found = [
        milp(s * inside.ravel(), constraints=exact, integrality=np.ones(joint.size), bounds=Bounds(0, np.inf)).fun * s
        for s in (1, -1)
    ]
    return round(found[0]), round(found[1])


def check_box(collection: Collection, box: Mapping[str, BoolArray], seconds: float) -> CountBounds:
    inside = indicator(collection.domain, box)
    low, high = brute_force(collection, inside)
    bounds = FrechetBounds.of(collection).of_box(box).bounds(seconds)
    assert bounds.lower <= low <= (joint_of(collection) * inside).sum() <= high <= bounds.upper
    if bounds.sharp:
        assert (bounds.lower, bounds.upper) == (low, high)
    for looks in (0, 1, 3):
        counted = count()
        deadline = Deadline(float(looks), lambda counted=counted: float(next(counted)))  # type: ignore[misc]
        early = FrechetBounds.of(collection, deadline).of_box(box).bounds(seconds)
        assert early.lower <= low <= high <= early.upper
        if early.sharp:
            assert (early.lower, early.upper) == (low, high)
    return bounds


@st.composite
def boxes(draw: st.DrawFn, domain: Domain) -> dict[str, BoolArray]:
    """For some attributes a set of values of some level, as base values."""
    box = {}
    for attribute in sorted(draw(st.sets(st.sampled_from(domain.attributes)))):
        hierarchy = domain.hierarchy(attribute)
        level = draw(st.integers(0, hierarchy.height))
        chosen = draw(st.lists(st.booleans(), min_size=hierarchy.size(level), max_size=hierarchy.size(level)))
        box[attribute] = np.array(chosen)[hierarchy.lift(0, level)]
    return box


@settings(max_examples=80)
@given(decomposable_collections(), st.data())
def test_bounds_of_boxes_hold_and_are_attained_where_they_say_so(collection: Collection, data: st.DataObject) -> None:
    box = data.draw(boxes(collection.domain))
    bounds = check_box(collection, box, 0.0)
    model = MarginalModel(collection)
    expected = model.expected_in(model.box(box))
    assert bounds.lower - 1e-9 <= expected <= bounds.upper + 1e-9
    flows = FrechetBounds.of(collection).of_box(box).chain_bounds()
    if flows is not None:  # flows along a chain of cliques are sharp
        assert flows.sharp
        assert (flows.lower, flows.upper) == brute_force(collection, indicator(collection.domain, box))


@settings(max_examples=60)
@given(data_cubes(max_cells=100), st.data())
def test_bounds_hold_for_collections_of_any_shape(cube: DataCube, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(margins(cube.domain), min_size=1, max_size=4))
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in drawn])
    box = data.draw(boxes(cube.domain))
    bounds = check_box(collection, box, 0.0)
    check_box(collection, box, 5.0)
    if collection.masks:
        model = MarginalModel(collection)
        expected = model.expected_in(model.box(box))
        assert bounds.lower - 1e-6 <= expected <= bounds.upper + 1e-6


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if SHAPES[shape]])
def test_bounds_of_boxes_hold_in_every_shape_and_programs_make_them_sharp(shape: str) -> None:
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    rng = np.random.default_rng(0)
    for _ in range(6):
        box = {a: rng.random(h.size(0)) < 0.5 for a, h in SHAPE_DOMAIN.items() if rng.random() < 0.6}
        check_box(collection, box, 0.0)
        assert check_box(collection, box, 5.0).sharp


def test_a_set_at_both_ends_of_a_chain_is_not_said_to_be_sharp() -> None:
    """No separator is fixed, and no single separator glues two counted tables."""
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES["chain"]))
    ends = {"a": np.array([True, False, True]), "d": np.array([True, False])}
    assert not FrechetBounds.of(collection).of_box(ends).bounds().sharp
    assert FrechetBounds.of(collection).of_box(ends).bounds(5.0).sharp


@given(decomposable_collections(), st.data())
def test_bounds_of_a_margin_hold_for_the_table_and_what_is_expected_of_it(
    collection: Collection, data: st.DataObject
) -> None:
    domain = collection.domain
    margin = dict(data.draw(st.permutations(list(data.draw(margins(domain)).items()))))
    bounds = FrechetBounds.of(collection).of_margin(margin)
    held = [a for a in domain.attributes if a in margin]
    true = dense_marginal(joint_of(collection), domain, margin)
    true = true.reshape([domain.hierarchy(a).size(margin[a]) for a in held]).transpose([held.index(a) for a in margin])
    expected = MarginalModel(collection).expected(margin)
    assert np.all(bounds.lower <= true)
    assert np.all(true <= bounds.upper)
    assert np.all(bounds.lower <= expected + 1e-9)
    assert np.all(expected <= bounds.upper + 1e-9)
    assert np.all(bounds.upper[expected == 0] == 0), "cells that are expected to be empty are empty"
    place = tuple(data.draw(st.integers(0, size - 1)) for size in expected.shape)
    single = {a: domain.hierarchy(a).lift(0, margin[a]) == code for a, code in zip(margin, place)}
    low, high = brute_force(collection, indicator(domain, single))
    assert bounds.lower[place] <= low <= high <= bounds.upper[place]
    if bounds.sharp:
        assert (bounds.lower[place], bounds.upper[place]) == (low, high)


def test_bounds_of_the_czech_autoworkers(shared_vectors: Path) -> None:
    """Dobra and Fienberg's bounds of the 2^6 table given BF, ABCE, ADE."""
    given_ = json.loads((shared_vectors / "autoworkers.json").read_text())
    names = given_["variables"]
    domain = Domain.of({name: Hierarchy.flat(["0", "1"]) for name in names})
    bits = {name: np.arange(64) >> place & 1 for place, name in enumerate(names)}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), bits, np.array(given_["counts"]))
    masks = [domain.mask(dict.fromkeys(clique, 0)) for clique in given_["cliques"]]
    collection = Collection.of(DataCube([table]), masks)
    for place in range(64):
        box = {name: np.arange(2) == bits[name][place] for name in names}
        bounds = FrechetBounds.of(collection).of_box(box).bounds()
        assert bounds == CountBounds(given_["lower"][place], given_["upper"][place], sharp=True)


def test_a_four_cycle_is_bounded_sharply_by_programming() -> None:
    rng = np.random.default_rng(3)
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abcd"})
    codes = {name: rng.integers(0, 2, 30) for name in "abcd"}
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, np.ones(30, dtype=np.int64))
    masks = [domain.mask(dict.fromkeys(pair, 0)) for pair in ("ab", "bc", "cd", "da")]
    collection = Collection.of(DataCube([table]), masks)
    assert not collection.is_decomposable
    for position in np.ndindex(2, 2, 2, 2):
        assert check_box(collection, {name: np.arange(2) == code for name, code in zip("abcd", position)}, 5.0).sharp


def test_an_empty_set_holds_nothing_and_a_set_of_everything_all() -> None:
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES["chain"]))
    source = FrechetBounds.of(collection)
    assert source.of_box({"a": np.zeros(3, dtype=bool)}).bounds() == CountBounds(0, 0, sharp=True)
    total = collection.cube.total
    assert source.of_box({"a": np.ones(3, dtype=bool)}).bounds() == CountBounds(total, total, sharp=True)
    with pytest.raises(DomainMismatchError, match="'a'"):
        source.of_box({"a": np.ones(2, dtype=bool)})
