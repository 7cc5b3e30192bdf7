"""Margins that are counted many at once are those that are asked for one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from checks import PrivacyConstraint, Requirements
from models import KL, MarginLimits, Problem, Unconstrained
from models.search import lattice_bounds, lower_bound
from models.search.lattice_bounds import BlockLattices, block_bound, joined_blocks, related_blocks
from models.search.lower_bound import allowed_margins, finest_alone, of_margins, of_sets
from models.search.problem import ClassSize
from search_oracles import Countdown, equal_pairs, never
from search_strategies import private_problems

judged_by_classes = private_problems().filter(lambda problem: problem.class_size)
"""Problems under the constraint of a release without other limits on its margins."""


def two_resolutions(problem):
    """The grid that tells apart whether an attribute is shown."""
    return tuple((0, last) if last else (0,) for last in finest_alone(problem))


def all_resolutions(problem):
    """The grid of all that is allowed of each attribute."""
    return tuple(tuple(range(last + 1)) for last in finest_alone(problem))


def a_grid(problem, data):
    """Any resolutions that are allowed of each attribute, the finest one and 0 included."""
    return tuple(
        (0, *sorted(data.draw(st.sets(st.integers(1, last - 1))) if last > 1 else ()), *([last] if last else []))
        for last in finest_alone(problem)
    )


GRIDS = {"two": two_resolutions, "all": all_resolutions}


def asked(problem, grid, stop=never):
    return lattice_bounds.counted_margins(problem, grid, problem.class_size, stop)


def counted(problem, grid):
    """The entropies of the margins that may be shown, by the place of the resolution of each attribute."""
    found = asked(problem, grid)
    if found is None:
        assert not any(finest_alone(problem))
        return {}
    entropies = {}
    for margins in found:
        steps = margins.steps
        for members, own in zip(margins.members, margins.entropies.tolist()):
            node = np.zeros(len(grid), dtype=int)
            node[steps.attributes[members]] = steps.resolutions[members]
            entropies[tuple(node.tolist())] = own
    return entropies


def one_by_one(problem, grid):
    """The same, of each margin by itself."""
    allowed = allowed_margins(problem, never, grid)
    return {node: problem.cube.entropy(mask) for mask, node in allowed.items() if mask}


WAYS = {
    "as in practice": [],
    "each class by itself": [
        (lattice_bounds, "_ALONE", 1e9),
        (lattice_bounds, "_KILLING", 2.0),
        (lower_bound, "_CHUNK", 3),
    ],
    "all classes at once": [(lattice_bounds, "_ALONE", 1e9), (lattice_bounds, "_KILLING", 0.0)],
    "some columns": [(lattice_bounds, "_SPARSE", 0)],
    "by rows": [(lattice_bounds, "_LOOKED_AT", 0.0), (lattice_bounds, "_AT_ONCE", 20)],
    "by cells": [(lattice_bounds, "_LOOKED_AT", 1e9), (lower_bound, "_CHUNK", 3)],
    "margins of many cells by themselves": [(lattice_bounds, "_MOST_CELLS", 4)],
    "numbers that grow too large": [(lower_bound, "_LARGEST_KEY", 1)],
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60)
@given(judged_by_classes, st.data())
def test_margins_are_those_that_are_asked_for_one_by_one(way, problem, data):
    grid = a_grid(problem, data)
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in WAYS[way]:
            patch.setattr(module, name, value)
        found = counted(problem, grid)
    expected = one_by_one(problem, grid)
    event(f"{max((len(own) for own in grid), default=0)} resolutions")
    event(f"{max((np.count_nonzero(node) for node in expected), default=0)} attributes")
    assert set(found) == set(expected)
    assert found == pytest.approx(expected, abs=1e-9)


@given(judged_by_classes, st.data())
def test_margins_ascend(problem, data):
    for margins in asked(problem, a_grid(problem, data)) or ():
        members = margins.members.tolist()
        assert all(own == sorted(set(own)) for own in members)
        assert members == sorted(members)


@pytest.mark.parametrize("which", GRIDS)
@settings(max_examples=60)
@given(judged_by_classes, st.integers(2, 16))
def test_the_bound_is_that_of_the_margins(which, problem, largest):
    problem = replace(problem, objective=KL)
    grid = GRIDS[which](problem)
    found = asked(problem, grid)
    both = [of_margins(problem, allowed_margins(problem, never, grid), grid), *([of_sets(found)] if found else [])]
    lattices = [BlockLattices(problem, margins, grid) for margins in both]
    for blocks_of in (related_blocks, lambda own, most: joined_blocks(own, never, most)):
        blocks = [blocks_of(own, largest) for own in lattices]
        bounds = [block_bound(*each).value for each in zip(lattices, blocks)]
        event("above 0" if bounds[0] > 1e-9 else "0")
        assert blocks[1:] in ([], blocks[:1])
        assert bounds[1:] == pytest.approx(bounds[:1] * len(bounds[1:]), abs=1e-9)


@pytest.mark.parametrize("which", GRIDS)
@settings(max_examples=60)
@given(judged_by_classes, st.integers(0, 8))
def test_a_search_that_is_stopped_finds_nothing(which, problem, turns):
    grid = GRIDS[which](problem)
    looks = Countdown(turns)
    found = asked(problem, grid, looks)
    event("stopped" if looks.asked > turns else "whole")
    assert found is None or sum(map(len, found)) == len(counted(problem, grid))
    assert found is None or looks.asked <= turns


def problem_with_ladders():
    """Three pairs of equal columns with two levels each, where each class must have two rows."""
    cube = equal_pairs(3)
    return Problem(cube, PrivacyConstraint(cube, Requirements((), k_link=2)))


@pytest.mark.parametrize(
    ("module", "name", "which"),
    [
        (lattice_bounds, "_MOST_PRODUCTS", "two"),
        (lattice_bounds, "_MOST_ROWS", "two"),
        (lattice_bounds, "_MOST_INDICATORS", "two"),
        (lattice_bounds, "_MOST_JOINED", "all"),
        (lattice_bounds, "_MOST_ROWS_JOINED", "all"),
        (lattice_bounds, "_MOST_WORK", "all"),
        (lattice_bounds, "_MOST_ROWS", "all"),
    ],
)
def test_what_is_too_large_is_given_up(module, name, which, monkeypatch):
    problem = problem_with_ladders()
    grid = GRIDS[which](problem)
    assert counted(problem, grid) == pytest.approx(one_by_one(problem, grid))
    monkeypatch.setattr(module, name, 1)
    assert asked(problem, grid) is None


def test_limits_on_margins_are_not_judged_by_classes():
    cube = equal_pairs(3)
    private = PrivacyConstraint(cube, Requirements(("x00",), k_link=2))
    judged = ClassSize(2, sum(cube.domain.attribute_masks[1:]))
    assert private.class_size == MarginLimits(cube.domain, then=private).class_size == judged
    for limits in ({"max_cells": 4}, {"max_attributes": 2}, {"envelope": (3,)}):
        assert MarginLimits(cube.domain, then=private, **limits).class_size is None
    assert Unconstrained().class_size is None


def test_margins_that_show_something_withheld_are_not_judged_by_classes():
    """Whatever shows it has the last of its vertices."""
    cube = equal_pairs(3)
    private = PrivacyConstraint(cube, Requirements(("x00",), k_link=2))
    first, second = (cube.domain.attribute_masks[i] for i in (1, 2))
    limits = MarginLimits(cube.domain, then=private, withheld=(first | second, first))
    last_vertices = (1 << second.bit_length() - 1) | (1 << first.bit_length() - 1)
    assert limits.class_size == ClassSize(2, sum(cube.domain.attribute_masks[1:]) & ~last_vertices)
