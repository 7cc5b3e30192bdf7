"""The bound by blocks: below every allowed collection, with one block the bound of the whole lattice, and not trivial."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from models import Deadline, MarginLimits, Problem, forward, with_bound
from models.search.lattice_bounds import BlockLattices, block_bound, joined_blocks, of_blocks, related_blocks
from models.search.lower_bound import allowed_margins, finest_alone, lower_bound, of_margins, whole_grid
from search_oracles import Countdown, allowed_values, equal_pairs, never
from search_strategies import private_problems, problems

any_problem = problems() | private_problems()


@given(any_problem, st.data())
def test_no_allowed_collection_is_below_the_bound_whatever_the_blocks(problem, data):
    """Parameters may have a price; one block is the bound of the whole lattice, and no other split has a larger one."""
    best = min(allowed_values(problem).values())
    grid, allowed = whole_grid(problem), allowed_margins(problem, never)
    homes = data.draw(st.lists(st.integers(0, 2), min_size=len(grid), max_size=len(grid)))
    blocks = [tuple(i for i, home in enumerate(homes) if home == number) for number in sorted(set(homes))]
    lattices = BlockLattices(problem, of_margins(problem, allowed, grid), grid)
    bound, whole = block_bound(lattices, blocks).value, lower_bound(problem, allowed).value
    event("above 0" if bound > 1e-9 else "0")
    event("tight" if bound > best - 1e-9 else "not tight")
    assert 0 <= bound <= whole + 1e-9
    assert whole <= best + 1e-9
    assert block_bound(lattices, [tuple(range(len(grid)))]).value == pytest.approx(whole, abs=1e-9)


@settings(max_examples=60)
@given(any_problem, st.integers(1, 200))
def test_no_allowed_collection_is_below_the_bound_of_finer_and_finer_grids(problem, most):
    unpriced = Problem(problem.cube, problem.constraint, kept=problem.kept)
    best = min(allowed_values(unpriced).values())
    assert all(0 <= bound <= best + 1e-9 for bound in of_blocks(unpriced, finest_alone(unpriced), most, never, never))
    if any(finest_alone(unpriced)):
        assert not list(of_blocks(unpriced, finest_alone(unpriced), most, Countdown(0), Countdown(0)))


@settings(max_examples=60)
@given(any_problem, st.data())
def test_margins_are_given_up_exactly_where_more_would_be_looked_at(problem, data):
    """Before they are all made: of hundreds of attributes there are more than fit into memory."""
    looks = Countdown(10**9)
    allowed = allowed_margins(problem, looks)
    looked = looks.asked
    most = data.draw(st.integers(max(looked - 3, 0), looked + 3))
    found = allowed_margins(problem, never, most=most)
    assert found == (allowed if looked <= most else None)


def test_attributes_that_tell_most_of_each_other_share_a_block():
    problem = Problem(cube := equal_pairs(8), MarginLimits(cube.domain, max_cells=16))
    grid = whole_grid(problem)
    lattices = BlockLattices(problem, of_margins(problem, allowed_margins(problem, never), grid), grid)
    alone = block_bound(lattices, [(i,) for i in range(16)]).value
    for blocks in (related_blocks(lattices), joined_blocks(lattices, never)):
        assert sorted(place for block in blocks for place in block) == list(range(16))
        assert all(any({2 * i, 2 * i + 1} <= set(block) for block in blocks) for i in range(8))
        assert block_bound(lattices, blocks).value > alone + 1


@settings(max_examples=60)
@given(any_problem, st.integers(1, 40), st.integers(0, 30))
def test_blocks_are_joined_only_while_that_makes_the_bound_larger(problem, largest, turns):
    """However many margins a block may have, and however soon it is to stop; each attribute is in one block."""
    problem = Problem(problem.cube, problem.constraint)
    grid = whole_grid(problem)
    lattices = BlockLattices(problem, of_margins(problem, allowed_margins(problem, never), grid), grid)
    blocks = joined_blocks(lattices, Countdown(turns), largest)
    alone = [(place,) for place in range(len(grid))]
    event(f"{max(map(len, blocks))} attributes in a block")
    assert sorted(place for block in blocks for place in block) == list(range(len(grid)))
    assert all(lattices.size(block) <= largest for block in blocks if len(block) > 1)
    assert block_bound(lattices, blocks).value >= block_bound(lattices, alone).value - 1e-9


@pytest.mark.slow
def test_the_bound_of_a_wide_table_is_near_the_best_collection():
    """Twenty attributes: three billion margins, of which no lattice can be laid out. The best collection is the pairs."""
    problem = Problem(cube := equal_pairs(10), MarginLimits(cube.domain, max_cells=16))
    result = with_bound(forward(problem, never), problem)
    best = problem.value(problem.position([0b1111 << 4 * i for i in range(10)]))
    assert result.bound is not None
    assert 0.9 * best <= result.bound <= min(best, result.value) + 1e-9


@pytest.mark.slow
def test_a_first_bound_has_more_time_than_a_better_one():
    problem = Problem(cube := equal_pairs(10), MarginLimits(cube.domain, max_cells=16))
    result = forward(problem, never)
    whole = with_bound(result, problem).bound
    assert with_bound(result, problem, better=0.0).bound == pytest.approx(whole, abs=1e-9)
    assert with_bound(result, problem, first=0.0).bound == pytest.approx(0, abs=1e-9)
    assert with_bound(result, problem, Deadline(0.0)) is result
