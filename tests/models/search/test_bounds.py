"""Lower bounds: no allowed collection is below one, in small lattices, grids, blocks, and with margins counted at once."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from checks import PrivacyConstraint, Requirements
from models import (
    KL,
    ContingencyTable,
    DataCube,
    Deadline,
    Domain,
    Hierarchy,
    LikelihoodRatio,
    MarginLimits,
    Problem,
    forward,
    with_bound,
)
from models.search.lattice_bounds import (
    BlockLattices,
    block_bound,
    counted_margins,
    joined_blocks,
    of_blocks,
    related_blocks,
)
from models.search.lower_bound import (
    allowed_margins,
    finest_alone,
    lower_bound,
    of_finest_levels,
    of_margins,
    whole_grid,
)
from search_oracles import Countdown, allowed_values, equal_pairs, never
from search_strategies import private_problems, problems

any_problem = problems() | private_problems()


def grid_of(problem, data):
    """Any resolutions that are allowed of each attribute, the finest one and 0 included."""
    return tuple(
        (0, *sorted(data.draw(st.sets(st.integers(1, last - 1))) if last > 1 else ()), *([last] if last else []))
        for last in finest_alone(problem)
    )


@given(any_problem, st.data())
def test_no_allowed_collection_is_below_a_bound(problem, data):
    """Of the lattice, a grid, blocks and finer grids, however soon blocks stop."""
    best, finest = min(allowed_values(problem).values()), finest_alone(problem)
    allowed, looks = allowed_margins(problem, never), Countdown(10**9)
    whole = lower_bound(problem, allowed).value
    assert with_bound(forward(problem, never), problem).bound == pytest.approx(whole, abs=1e-12)
    assert 0 <= whole <= best + 1e-9
    event("above 0" if whole > 1e-9 else "0")
    event("tight" if whole > best - 1e-9 else "not tight")
    unpriced, grid = replace(problem, objective=KL), grid_of(problem, data)
    in_grid = lower_bound(unpriced, allowed_margins(unpriced, never, grid), grid).value
    assert of_finest_levels(problem, finest) - 1e-9 <= in_grid <= best + 1e-9
    every = whole_grid(problem)
    homes = data.draw(st.lists(st.integers(0, 2), min_size=len(every), max_size=len(every)))
    blocks = [tuple(i for i, home in enumerate(homes) if home == number) for number in sorted(set(homes))]
    lattices = BlockLattices(problem, of_margins(problem, allowed, every), every)
    assert 0 <= block_bound(lattices, blocks).value <= whole + 1e-9
    assert block_bound(lattices, [tuple(range(len(every)))]).value == pytest.approx(whole, abs=1e-9)
    largest, turns = data.draw(st.integers(1, 40)), data.draw(st.integers(0, 30))
    joined = joined_blocks(lattices, Countdown(turns), largest)
    assert sorted(place for block in joined for place in block) == list(range(len(every)))
    assert all(lattices.size(block) <= largest for block in joined if len(block) > 1)
    alone = block_bound(lattices, [(place,) for place in range(len(every))]).value
    assert problem.price or block_bound(lattices, joined).value >= alone - 1e-9
    most = data.draw(st.integers(1, 200))
    assert all(0 <= bound <= best + 1e-9 for bound in of_blocks(unpriced, finest, most, never, never))
    assert not any(finest) or not list(of_blocks(unpriced, finest, most, Countdown(0), Countdown(0)))
    allowed_margins(problem, looks)
    most = data.draw(st.integers(max(looks.asked - 3, 0), looks.asked + 3))
    assert allowed_margins(problem, never, most=most) == (allowed if looks.asked <= most else None), "given up in time"


@settings(max_examples=60)
@given(any_problem, st.integers(1, 20))
def test_beyond_the_largest_lattice_not_all_margins_are_told_apart(problem, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("models.search.lattice_bounds"), "LARGEST_LATTICE", 1)
        patch.setattr(import_module("models.search.lattice_bounds"), "LARGEST_GRID", most)
        result = with_bound(forward(problem, never), problem)
        assert result.bound is not None
        assert 0 <= result.bound <= min(allowed_values(problem).values()) + 1e-9
        known = replace(result, bound=-1.0)
        assert with_bound(known, problem) is known, "a bound that is known stays"
        patch.setattr(DataCube, "holds", lambda *_: False)
        without_table = with_bound(forward(problem, never), problem)
        assert without_table.bound <= result.bound + 1e-9
        late = with_bound(forward(problem, never), problem, Deadline(0.0))
        assert (late.bound, late.gap) == (None, None)
    rule = replace(problem, objective=LikelihoodRatio(problem.cube.total))
    assert with_bound(forward(rule, never), rule).bound is None, "a rule for stopping"


def test_attributes_that_tell_most_of_each_other_share_a_block():
    problem = Problem(cube := equal_pairs(8), MarginLimits(cube.domain, max_cells=16))
    grid = whole_grid(problem)
    lattices = BlockLattices(problem, of_margins(problem, allowed_margins(problem, never), grid), grid)
    alone = block_bound(lattices, [(i,) for i in range(16)]).value
    for blocks in (related_blocks(lattices), joined_blocks(lattices, never)):
        assert sorted(place for block in blocks for place in block) == list(range(16))
        assert all(any({2 * i, 2 * i + 1} <= set(block) for block in blocks) for i in range(8))
        assert block_bound(lattices, blocks).value > alone + 1


def test_the_bound_of_a_wide_table_is_near_the_best_collection_and_a_first_bound_has_more_time():
    """Twenty attributes: three billion margins, of which no lattice can be laid out. The best collection is the pairs."""
    problem = Problem(cube := equal_pairs(10), MarginLimits(cube.domain, max_cells=16))
    result = forward(problem, never)
    found = with_bound(result, problem)
    best = problem.value(problem.position([0b1111 << 4 * i for i in range(10)]))
    assert 0.9 * best <= found.bound <= min(best, result.value) + 1e-9

    assert with_bound(result, problem, better=0.0).bound == pytest.approx(found.bound, abs=1e-9)
    assert with_bound(result, problem, first=0.0).bound == pytest.approx(0, abs=1e-9)
    assert with_bound(result, problem, Deadline(0.0)) is result


judged_by_classes = private_problems().filter(lambda problem: problem.class_size)


"""Problems under the constraint of a release without other limits on its margins."""


WAYS = {
    "as in practice": [],
    "each class by itself": [
        ("lattice_bounds._ALONE", 1e9),
        ("lattice_bounds._KILLING", 2.0),
        ("lower_bound._CHUNK", 3),
    ],
    "all classes at once": [("lattice_bounds._ALONE", 1e9), ("lattice_bounds._KILLING", 0.0)],
    "some columns": [("lattice_bounds._SPARSE", 0)],
    "by rows": [("lattice_bounds._LOOKED_AT", 0.0), ("lattice_bounds._AT_ONCE", 20)],
    "by cells": [("lattice_bounds._LOOKED_AT", 1e9), ("lower_bound._CHUNK", 3)],
    "margins of many cells by themselves": [("lattice_bounds._MOST_CELLS", 4)],
    "numbers that grow too large": [("lower_bound._LARGEST_KEY", 1)],
}


def counted(problem, grid, stop=never):
    """The entropies of the margins that may be shown, by the place of the resolution of each attribute."""
    found = counted_margins(problem, grid, problem.class_size, stop)
    if found is None:
        return None if any(map(any, grid)) else {}
    entropies = {}
    for margins in found:
        steps = margins.steps
        for members, own in zip(margins.members, margins.entropies.tolist()):
            node = np.zeros(len(grid), dtype=int)
            node[steps.attributes[members]] = steps.resolutions[members]
            entropies[tuple(node.tolist())] = own
    return entropies


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=60)
@given(judged_by_classes, st.data(), st.integers(0, 8))
def test_margins_counted_at_once_are_those_that_are_asked_for_one_by_one(way, problem, data, turns):
    """Or none, where it is told to stop."""
    grid = grid_of(problem, data)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in WAYS[way]:
            patch.setattr(f"models.search.{name}", value)
        found, stopped = counted(problem, grid), counted(problem, grid, Countdown(turns))
    expected = {m: problem.cube.entropy(mask) for mask, m in allowed_margins(problem, never, grid).items() if mask}
    event(f"{max((len(own) for own in grid), default=0)} resolutions")
    assert found == pytest.approx(expected, abs=1e-9)
    assert stopped is None or stopped == found


@pytest.mark.parametrize(
    ("name", "ladders"),
    [
        *((name, False) for name in ("_MOST_PRODUCTS", "_MOST_ROWS", "_MOST_INDICATORS")),
        *((name, True) for name in ("_MOST_JOINED", "_MOST_ROWS_JOINED", "_MOST_WORK", "_MOST_ROWS")),
    ],
)
def test_too_many_margins_are_not_counted_at_once(name, ladders, monkeypatch):
    cube = equal_pairs(3)
    problem = Problem(cube, PrivacyConstraint(cube, Requirements((), k_link=2)))
    grid = tuple(tuple(range(last + 1)) if ladders else (0, last) for last in finest_alone(problem))
    assert counted(problem, grid)
    monkeypatch.setattr(f"models.search.lattice_bounds.{name}", 1)
    assert counted(problem, grid) is None


def test_margins_are_judged_by_classes_unless_limits_come_first():
    """Whatever shows something withheld has the last of its vertices."""
    cube = equal_pairs(3)
    own = sum(cube.domain.attribute_masks[1:])
    private = PrivacyConstraint(cube, Requirements(("x00",), k_link=2))
    assert private.class_size == MarginLimits(cube.domain, then=private).class_size == (2, own)
    for limits in ({"max_cells": 4}, {"max_attributes": 2}, {"envelope": (3,)}):
        assert MarginLimits(cube.domain, then=private, **limits).class_size is None
    first, second = (cube.domain.attribute_masks[i] for i in (1, 2))
    limits = MarginLimits(cube.domain, then=private, withheld=(first | second, first))
    last_vertices = (1 << second.bit_length() - 1) | (1 << first.bit_length() - 1)
    assert limits.class_size == (2, own & ~last_vertices)


def test_time_is_looked_at_between_any_two_margins(monkeypatch):
    """Counting the margins of a lattice can take longer than everything else."""
    rng, names = np.random.default_rng(0), "abcdefgh"
    domain, codes = Domain.of(dict.fromkeys(names, Hierarchy.flat("01"))), rng.integers(0, 2, (8, 500))
    table = ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), dict(zip(names, codes)), np.ones(500))
    problem = Problem(DataCube([table]))
    asked, known, entropy = set(), [], DataCube.entropy
    monkeypatch.setattr(DataCube, "entropy", lambda cube, mask: asked.add(mask) or entropy(cube, mask))
    result = forward(problem, Countdown(0))

    def recording():
        known.append(len(asked))
        return 0.0

    assert with_bound(result, problem, Deadline(1.0, recording)).bound == 0
    known.append(len(asked))
    assert max(np.diff(known)) == 1
